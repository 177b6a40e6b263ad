"""The conversation and the tools of the example run."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

from .world import BRANCHES, World, pretty, pytest_run

SYSTEM = """You are the operations agent of Krume & Korn, a bakery chain in Leipzig, Lyon, Kyoto and Amman.
You work on the source tree and on the running services through tools.

- Look before you change. Say what you found, with file and line, before you say what you would do.
- Answer in the language of the question.
- Call tools in parallel where they do not depend on each other.
- Money: see docs/money.md. Never round twice. Never touch a booking: reverse it.
- Nothing is sent to customers without a yes from Mara (operations) or Jonas (finance).
"""

Call = tuple[str, dict[str, Any], str]
"""A tool's name, its arguments, and what it will say."""


class Run:
    """The conversation while it grows."""

    def __init__(self, seed: int) -> None:
        self.world = World(seed)
        self.messages: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}]
        self._random = random.Random(seed + 1)

    def _id(self) -> str:
        signs = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
        return "call_" + "".join(signs[int(self._random.random() * len(signs))] for _ in range(24))

    def user(self, text: str) -> None:
        """Somebody asks."""
        self.messages.append({"role": "user", "content": text})

    def say(self, text: str) -> None:
        """The agent answers."""
        self.messages.append({"role": "assistant", "content": text})

    def do(self, text: str | None, *calls: Call, thought: str | None = None, order: Sequence[int] | None = None) -> None:
        """The agent calls tools; the results come in ``order``."""
        ids = [self._id() for _ in calls]
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if thought is not None:
            message["reasoning_content"] = thought
        message["tool_calls"] = [
            {"id": key, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}}
            for key, (name, arguments, _result) in zip(ids, calls, strict=True)
        ]
        self.messages.append(message)
        for index in order if order is not None else range(len(calls)):
            self.messages.append({"role": "tool", "tool_call_id": ids[index], "content": calls[index][2]})

    # --- the tools

    def read(self, path: str, start: int = 1, end: int = 400) -> Call:
        """``read_file``."""
        if path not in self.world.files:
            return "read_file", {"path": path}, f"error: ENOENT: no such file: {path}"
        arguments: dict[str, Any] = {"path": path} if (start, end) == (1, 400) else {"path": path, "start": start, "end": end}
        return "read_file", arguments, self.world.read(path, start, end)

    def find(self, query: str, under: str = "") -> Call:
        """``search``."""
        return "search", {"query": query, "under": under} if under else {"query": query}, self.world.search(query, under)

    def files(self, folder: str) -> Call:
        """``list_files``."""
        return "list_files", {"folder": folder}, self.world.listing(folder)

    def patch(self, path: str, old: str, new: str) -> Call:
        """``apply_patch``."""
        difference = self.world.patch(path, old, new)
        return "apply_patch", {"path": path, "diff": difference}, f"applied to {path}, {len(self.world.files[path].splitlines())} lines now"

    def test(self, target: str, passed: list[str], failed: dict[str, str] | None = None, seconds: str = "1.84") -> Call:
        """``run_tests``."""
        return "run_tests", {"target": target}, pytest_run(target, passed, failed, seconds)

    def get(self, url: str, answer: object) -> Call:
        """``http_get``."""
        return "http_get", {"url": url}, "HTTP/1.1 200 OK\ncontent-type: application/json; charset=utf-8\n\n" + pretty(answer)

    def query(self, sql: str, table: str) -> Call:
        """``sql``."""
        return "sql", {"database": "ledger", "query": sql}, table


def _tool(name: str, does: str, required: list[str], **properties: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": does, "parameters": schema}}


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


LINE = {"type": "integer", "description": "A line number, from 1.", "minimum": 1}

TOOLS = [
    _tool("read_file", "Reads a text file with line numbers.", ["path"], path=_text("Path in the source tree."), start=LINE, end=LINE),
    _tool("list_files", "Lists files under a folder with their size.", ["folder"], folder=_text("Folder in the source tree.")),
    _tool(
        "search", "Finds a text in all files.", ["query"], query=_text("What to find, literally."), under=_text("Only below this folder.")
    ),
    _tool("apply_patch", "Changes a file.", ["path", "diff"], path=_text("Path in the source tree."), diff=_text("A unified diff.")),
    _tool("run_tests", "Runs tests with pytest.", ["target"], target=_text("A file or a folder.")),
    _tool("http_get", "Asks a running service. Read only.", ["url"], url=_text("An address below https://*.krume.example/.")),
    _tool(
        "read_log", "Reads the log of a service.", ["service"], service=_text("Its name."), since=_text("Day and hour, such as 03-02T00.")
    ),
    _tool(
        "sql",
        "Runs a query that only reads.",
        ["database", "query"],
        database={"type": "string", "enum": ["orders", "ledger"], "description": "Which database."},
        query=_text("One SELECT."),
    ),
    _tool(
        "run_job",
        "Starts a job of the night run.",
        ["job", "dry_run"],
        job=_text("Its name."),
        dry_run={"type": "boolean", "description": "Only say what would be done."},
        scope={
            "type": "object",
            "description": "What it is to work on.",
            "properties": {
                "branches": {"type": "array", "items": {"type": "string", "enum": [branch.code for branch in BRANCHES]}},
                "since": _text("First day, such as 2026-03-01."),
            },
        },
    ),
]
