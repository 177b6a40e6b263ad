"""The command line: ``backcut repair``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import backcut
from cli_support import CALLS, HISTORY, Put, Run, lines

pytest_plugins = ["cli_fixtures"]

ANSWER = {"role": "tool", "tool_call_id": "a", "content": "none"}


class Change(NamedTuple):
    action: str
    index: int  # type: ignore[assignment]  # in place of tuple.index
    message: str
    ids: tuple[str, ...]


class Repaired(NamedTuple):
    messages: Sequence[Any]
    changes: Sequence[Change]


@pytest.fixture(autouse=True)
def formats(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Puts a repair in the place of the real one that answers a call which is last. The value: the formats it was asked for."""
    asked: list[str] = []

    def repair(messages: Sequence[Any], *, format: str = "auto") -> Repaired:
        asked.append(format)
        backcut.check(messages, format=format)  # what cannot be read is refused
        if not messages or not messages[-1].get("tool_calls"):
            return Repaired(messages, ())
        return Repaired([*messages, ANSWER], (Change("answered", len(messages) - 1, "answered a dead call\x1b", ("a",)),))

    monkeypatch.setattr(backcut, "repair", repair, raising=False)
    return asked


def test_repair(run: Run, put: Put, formats: list[str]) -> None:
    text = json.dumps({"n": 1.50, "messages": CALLS[:2]}, indent=2)
    code, out, err = run("repair", "--format", "openai-chat", put(text))
    assert code == 0
    assert out == json.dumps({"n": 1.50, "messages": [*CALLS[:2], ANSWER]}, indent=2)
    assert err.splitlines()[0] == "backcut: 1 change"
    assert err.splitlines()[1].split() == ["message", "action", "ids", "what", "was", "done"]
    assert err.splitlines()[2].split() == ["1", "answered", "a", "answered", "a", "dead", "call\\x1b"]
    run("repair", put(text))
    assert formats == ["openai-chat", "auto"]


def test_what_is_sound_comes_back_byte_for_byte(run: Run, put: Put) -> None:
    for text in (json.dumps(HISTORY, indent=1) + "\n\n", "[ ]", lines({"messages": HISTORY})):
        assert run("repair", put(text)) == (0, text, "backcut: unchanged\n")


def test_repair_of_many(run: Run, put: Put) -> None:
    path = put("\n" + lines(HISTORY, CALLS[:2], {"messages": CALLS[:2]}))
    code, out, err = run("repair", path)
    assert (code, out) == (0, "\n" + lines(HISTORY, [*CALLS[:2], ANSWER], {"messages": [*CALLS[:2], ANSWER]}))
    assert err.splitlines()[0] == "backcut: 3 conversations, 2 changed"
    assert [line.split()[:3] for line in err.splitlines()[1:]] == [
        ["line", "message", "action"],
        ["3", "1", "answered"],
        ["4", "1", "answered"],
    ]
    _, out, err = run("repair", "--report", "json", path)
    assert [json.loads(line) for line in err.splitlines()] == [
        {"line": 2, "changes": []},
        *(
            {"line": at, "changes": [{"action": "answered", "index": 1, "message": "answered a dead call\x1b", "ids": ["a"]}]}
            for at in (3, 4)
        ),
    ]
    assert run("repair", "--report", "none", path) == (0, out, "")


def test_repair_into_the_input(run: Run, put: Put) -> None:
    path = put(CALLS[:2])
    assert run("repair", path, "-o", path, "--report", "none") == (0, "", "")
    assert json.loads(Path(path).read_text(encoding="utf-8")) == [*CALLS[:2], ANSWER]


def test_what_cannot_be_read_writes_nothing(run: Run, put: Put, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    code, out, err = run("repair", put(lines(CALLS[:2], [{"role": "boss"}])), "-o", str(target))
    assert (code, out) == (2, "")
    assert "in.json:2:2: messages[0].role: " in err
    assert err.count("\n") == 1
    assert not target.exists()
    assert "--format telex: " in run("repair", "--format", "telex", put(HISTORY))[2]
