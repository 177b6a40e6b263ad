"""What a wire format costs: the same conversation in each, beside openai-chat: ``python benches/formats.py``.

Ratios of processor time within one run, by characters and by tokens with nothing new; the median of all rounds.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import backcut
from conversations import ROOT, Message
from measure import processor_time

FORMATS = ("openai-chat", "openai-responses", "anthropic", "gemini", "bedrock", "langchain", "pi", "pydantic-ai")
FILES = {"bedrock": "bedrock-converse"}
"""Formats whose files are called otherwise."""

CALLS = 20
"""Calls that are timed together."""

Talk = dict[str, list[Any]]
"""One conversation, by format."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="the time of a trim in each wire format beside openai-chat: ratios within one run.")
    parser.add_argument("--rounds", type=int, default=60, metavar="N", help="rounds of each conversation (60)")
    parser.add_argument("--talks", type=int, default=4, metavar="N", help="conversations, the longest first (4)")
    asked = parser.parse_args(argv)
    talks = list(load())[: asked.talks]
    print(f"{len(talks)} conversations of {', '.join(str(len(talk['openai-chat'])) for talk in talks)} messages in openai-chat.\n")
    print("| format | by characters | by tokens, nothing new |\n| --- | --: | --: |")
    columns = [ratios(talks, unit, asked.rounds) for unit in ("max_chars", "max_tokens")]
    for name in FORMATS:
        print(f"| `{name}` | " + " | ".join(f"{column[name]:.2f}×" for column in columns) + " |")
    return 0


def ratios(talks: Sequence[Talk], unit: str, rounds: int) -> dict[str, float]:
    """The median of time / time of openai-chat for each format; formats take turns within a round."""
    found: dict[str, list[float]] = {name: [] for name in FORMATS}
    for talk in talks:
        windows = {name: half(talk[name], name, unit) for name in FORMATS}
        gc.collect()
        gc.disable()
        try:
            for number in range(rounds + 1):
                at = number % len(FORMATS)
                seconds = {}
                for name in FORMATS[at:] + FORMATS[:at]:
                    seconds[name] = processor_time(partial(repeat, windows[name], talk[name]))
                if number > 0:  # the first round warms up
                    for name in FORMATS:
                        found[name].append(seconds[name] / seconds["openai-chat"])
        finally:
            gc.enable()
    return {name: statistics.median(values) for name, values in found.items()}


def repeat(window: Any, history: list[Any]) -> None:
    for _ in range(CALLS):
        window.trim(history)


def half(history: list[Any], name: str, unit: str) -> Any:
    """A window of half of the history."""
    whole = backcut.trim(history, format=name, tokenizer="o200k_base").report
    size = whole.chars_sent if unit == "max_chars" else whole.tokens_sent
    options: dict[str, Any] = {"format": name, unit: (size or 0) // 2}
    return backcut.context_window(**options)


# The conversations ----------------------------------------------------------------------------------------------------


def load() -> Iterator[Talk]:
    """Conversations that the corpus has in more than one format, the longest first, else that of examples/. Formats that the
    corpus does not have are written from openai-chat."""
    named = os.environ.get("BACKCUT_CORPUS")
    folder = Path(named) if named else ROOT.parent / "shared" / "corpus"
    rendered: dict[str, Talk] = {}
    for name in FORMATS:
        file = folder / f"rendered.{FILES.get(name, name)}.jsonl"
        for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
            talk = json.loads(line)
            rendered.setdefault(talk["rendered_from"], {})[name] = talk["messages"]
    talks = [talk for talk in rendered.values() if len(talk) > 1 and "openai-chat" in talk and talk["openai-chat"]]
    if not talks:
        example = json.loads((ROOT / "examples" / "agent_run.json").read_text(encoding="utf-8"))
        talks = [{"openai-chat": example["messages"]}]
    for talk in sorted(talks, key=lambda talk: -len(talk["openai-chat"])):
        # As a parser makes it: each key is one object.
        yield {name: talk.get(name) or json.loads(json.dumps(written(talk["openai-chat"], name))) for name in FORMATS}


def written(chat: Sequence[Message], name: str) -> list[Any]:
    """A conversation of openai-chat in another format, without its system text."""
    said: list[Any] = []
    for message in chat:
        role, content = message["role"], message.get("content") or ""
        text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
        if role in ("system", "developer"):
            continue
        if role == "assistant":
            calls = [
                (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
                for call in message.get("tool_calls") or ()
            ]
            said += _model(name, text, calls)
        elif role == "tool":
            results = _result(name, message["tool_call_id"], text)
            if said and name in ("anthropic", "gemini", "bedrock", "pydantic-ai") and said[-1].get("results"):
                said[-1]["message"][PARTS[name]] += results[0]["message"][PARTS[name]]
            else:
                said += results
        else:
            said += _user(name, text)
    return [each["message"] for each in said]


PARTS = {"anthropic": "content", "bedrock": "content", "gemini": "parts", "pydantic-ai": "parts"}


def _user(name: str, text: str) -> list[Any]:
    messages: dict[str, Message] = {
        "gemini": {"role": "user", "parts": [{"text": text}]},
        "bedrock": {"role": "user", "content": [{"text": text}]},
        "langchain": {"type": "human", "content": text},
        "pi": {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 0},
        "pydantic-ai": {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text, "timestamp": "0"}]},
    }
    return [{"message": messages.get(name, {"role": "user", "content": text})}]


def _model(name: str, text: str, calls: Sequence[tuple[str, str, Any]]) -> list[Any]:
    match name:
        case "openai-responses":
            items: list[Message] = (
                [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}] if text else []
            )
            items += [{"type": "function_call", "call_id": i, "name": f, "arguments": json.dumps(a)} for i, f, a in calls]
            return [{"message": item} for item in items]
        case "anthropic":
            blocks: list[Message] = [{"type": "text", "text": text}] if text else []
            blocks += [{"type": "tool_use", "id": i, "name": f, "input": a} for i, f, a in calls]
            message: Message = {"role": "assistant", "content": blocks}
        case "gemini":
            blocks = [{"text": text}] if text else []
            message = {"role": "model", "parts": blocks + [{"functionCall": {"id": i, "name": f, "args": a}} for i, f, a in calls]}
        case "bedrock":
            blocks = [{"text": text}] if text else []
            message = {"role": "assistant", "content": blocks + [{"toolUse": {"toolUseId": i, "name": f, "input": a}} for i, f, a in calls]}
        case "langchain":
            listed = [{"name": f, "args": a, "id": i, "type": "tool_call"} for i, f, a in calls]
            message = {"type": "ai", "content": text, "additional_kwargs": {}, "tool_calls": listed, "invalid_tool_calls": []}
        case "pi":
            blocks = [{"type": "text", "text": text}] if text else []
            blocks += [{"type": "toolCall", "id": i, "name": f, "arguments": a} for i, f, a in calls]
            message = {
                "role": "assistant",
                "content": blocks,
                "api": "a",
                "provider": "p",
                "model": "m",
                "stopReason": "toolUse",
                "timestamp": 0,
            }
        case _:
            blocks = [{"part_kind": "text", "content": text, "id": None}] if text else []
            blocks += [{"part_kind": "tool-call", "tool_name": f, "args": a, "tool_call_id": i, "id": None} for i, f, a in calls]
            message = {"kind": "response", "parts": blocks, "model_name": "m", "timestamp": "0"}
    return [{"message": message}]


def _result(name: str, of: str, text: str) -> list[Any]:
    message: Message
    match name:
        case "openai-responses":
            message = {"type": "function_call_output", "call_id": of, "output": text}
        case "anthropic":
            message = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": of, "content": text}]}
        case "gemini":
            message = {"role": "user", "parts": [{"functionResponse": {"id": of, "name": "f", "response": {"output": text}}}]}
        case "bedrock":
            message = {"role": "user", "content": [{"toolResult": {"toolUseId": of, "content": [{"text": text}], "status": "success"}}]}
        case "langchain":
            message = {"type": "tool", "content": text, "tool_call_id": of, "name": "f", "status": "success"}
        case "pi":
            blocks = [{"type": "text", "text": text}]
            message = {"role": "toolResult", "toolCallId": of, "toolName": "f", "content": blocks, "isError": False, "timestamp": 0}
        case _:
            part = {"part_kind": "tool-return", "tool_name": "f", "content": text, "tool_call_id": of, "timestamp": "0"}
            message = {"kind": "request", "parts": [part]}
    return [{"message": message, "results": True}]


if __name__ == "__main__":
    sys.exit(main())
