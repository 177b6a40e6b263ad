"""What a type checker must see. Not run, but read by mypy: ``mypy tests/typing_checks.py``."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Literal, assert_type

import backcut
from backcut import ContextWindow, Figures, JsonlSummary, Plan, Tokenizer, Trimmed, TrimReport, Violation, WindowOptions
from backcut import nonsense as nonsense  # type: ignore[attr-defined]

window = backcut.context_window(max_turns=12, max_tokens=1_000, tokenizer=len, notice=False, on_report=print)
history: list[dict[str, str]] = [{"role": "user", "content": "Hello"}]

assert_type(window, ContextWindow)
assert_type(window.max_turns, int | None)
assert_type(window.reserve_tokens, int)
assert_type(window.format, str)
assert_type(window.notice, str | Literal[False])
assert_type(window.trim_to, float | None)
assert_type(window.figures, Figures | None)
assert_type(window.on_report, Callable[[TrimReport], object] | None)

assert_type(window.trim(history), Trimmed[list[dict[str, str]]])
assert_type(window.trim(history).messages, list[dict[str, str]])
assert_type(window.trim(tuple(history)).messages, Sequence[dict[str, str]])
assert_type(window.trim(tuple(history), tools=[{}], system="S").report, TrimReport)
assert_type(window.plan(history), Plan)
assert_type(window.plan(history).apply(history), list[dict[str, str]])
assert_type(window.plan(history).apply(tuple(history)), Sequence[dict[str, str]])
assert_type(window(history), list[dict[str, str]])
assert_type(window(tuple(history)), Sequence[dict[str, str]])
assert_type(backcut.trim(history, tools=None, system=["S"], max_turns=1, start="any"), Trimmed[list[dict[str, str]]])
assert_type(backcut.count("text"), int)
assert_type(backcut.count(history, model="gpt-4o"), int)
assert_type(backcut.count(history, figures={"image": 1_000}), int)
assert_type(backcut.count(history, figures=Figures(image=1_000)), int)
assert_type(Figures.of("gpt-4o").image, int)
assert_type(backcut.check(history), list[Violation])
assert_type(backcut.tokenizer("gpt-4o"), Tokenizer)
assert_type(backcut.tokenizer("gpt-4o").count_up_to("text", 5), int | None)
assert_type(backcut.tokenizer(Path("tokenizer.json")).is_exact, bool)
backcut.register_model("my-*", "o200k_base")
backcut.register_model("my-model", Path("tokenizer.json"))
assert_type(backcut.__version__, str)

options: WindowOptions = {"max_tokens": 8_000, "model": "gpt-4o"}
assert_type(backcut.context_window(**options), ContextWindow)
assert_type(backcut.trim(history, **options), Trimmed[list[dict[str, str]]])

assert_type(backcut.trim_many([history], window), list[Trimmed[list[dict[str, str]]]])
assert_type(backcut.trim_many(iter([tuple(history)]), window), list[Trimmed[Sequence[dict[str, str]]]])
assert_type(backcut.trim_jsonl("a.jsonl", Path("b.jsonl"), window, progress=True), JsonlSummary)
with gzip.open("a.gz") as packed, open("b", "wb", buffering=0) as raw:  # noqa: PTH123
    assert_type(backcut.trim_jsonl(packed, raw, window, on_error="skip", progress=print).tokens_before, int | None)
    backcut.trim_jsonl(sys.stdin, raw, window)  # type: ignore[arg-type]
    backcut.trim_jsonl(packed, sys.stdout, window)  # type: ignore[arg-type]


def sound(trimmed: Trimmed) -> bool:  # without a parameter: of any sequence
    assert_type(trimmed.messages, Sequence[Any])
    return not backcut.check(trimmed.messages)


sound(window.trim(history))


loose: list[dict[str, Any]] = []
assert_type(window.trim(loose), Trimmed[list[dict[str, Any]]])
assert_type(window(loose), list[dict[str, Any]])
anything: Any = []
assert_type(window.trim(anything), Any)


class Message:
    """A message of an SDK, say."""


def send(messages: list[Message]) -> None: ...


def keep(history: list[Message]) -> None:
    messages, report = window.trim(history)
    send(messages)
    send(window(history))
    assert_type(report, TrimReport)


def call_next(request: dict[str, Any]) -> int:
    return len(request)


async def call_next_async(request: dict[str, Any]) -> int:
    return len(request)


assert_type(window({"messages": history}, call_next), int)
answer: Awaitable[int] = window({"messages": history}, call_next_async)


@window.wrap
def chat(model: str, messages: list[dict[str, str]], *, temperature: float = 1.0) -> bytes:
    return b""


assert_type(chat("m", history, temperature=0.5), bytes)


class Words:
    def encode(self, text: str) -> list[str]:
        return text.split()


backcut.context_window(tokenizer=Words())
backcut.context_window(tokenizer=backcut.tokenizer("gpt-4o"))
backcut.context_window(tokenizer=Path("tokenizer.json"))

# What must not pass. An ignore that is not needed is an error too.
backcut.context_window(max_token=5)  # type: ignore[arg-type]
backcut.context_window(start="assistant")  # type: ignore[arg-type]
backcut.context_window(tokenizer=5)  # type: ignore[arg-type]
backcut.context_window(notice=True)  # type: ignore[arg-type]
backcut.context_window(max_turns=1.5)  # type: ignore[arg-type]
backcut.trim(history, max_token=5)  # type: ignore[call-overload]
backcut.trim(history, tool_keep="middle")  # type: ignore[call-overload]
backcut.nonsense  # type: ignore[attr-defined]  # noqa: B018
chat("m")  # type: ignore[call-arg]


# The loop of README.md as it stands there: a test compares the two.
def readme_loop() -> None:
    window = backcut.context_window(max_tokens=4_000, reserve_tokens=500, model="gpt-4o")

    history: list[dict[str, Any]] = [
        {"role": "system", "content": "You are a careful database engineer."},
        {"role": "user", "content": "Find out why the nightly report is slow."},
    ]

    def call_model(messages: list[dict[str, Any]]) -> dict[str, Any]:  # stands for your provider's client
        call = {"id": "call_1", "type": "function", "function": {"name": "read_log", "arguments": '{"lines": 40}'}}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    def run_tool(call: dict[str, Any]) -> str:  # stands for your tools
        return "2026-11-30 02:14:07 SELECT * FROM orders WHERE day = $1  -- 812 ms, sequential scan\n" * 12

    for _ in range(25):
        messages, report = window.trim(history)  # the history itself is never changed
        reply = call_model(messages)
        history.append(reply)  # to the history, never to messages
        for call in reply["tool_calls"]:
            history.append({"role": "tool", "tool_call_id": call["id"], "content": run_tool(call)})

    assert report.window_trimmed
    assert report.tokens_sent is not None
    assert report.tokens_sent <= 4_000 - 500
    assert [m["role"] for m in messages[:4]] == ["system", "system", "user", "assistant"]  # prompt, notice, task, newest work
    assert backcut.check(messages) == []  # sound: nothing that a server of this format is known to refuse
