"""What a type checker must see. Not run, but read by mypy: ``mypy tests/typing_checks.py``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, assert_type

import backcut
from backcut import ContextWindow, Plan, Tokenizer, Trimmed, TrimReport, Violation

window = backcut.context_window(max_turns=12, max_tokens=1_000, tokenizer=len, notice=False, on_report=print)
history: list[dict[str, str]] = [{"role": "user", "content": "Hello"}]

assert_type(window, ContextWindow)
assert_type(window.max_turns, int | None)
assert_type(window.reserve_tokens, int)
assert_type(window.format, str)
assert_type(window.notice, str | Literal[False])
assert_type(window.trim_to, float | None)
assert_type(window.on_report, Callable[[TrimReport], object] | None)

assert_type(window.trim(history), Trimmed)
assert_type(window.trim(tuple(history), tools=[{}], system="S").report, TrimReport)
assert_type(window.plan(history), Plan)
assert_type(window.plan(history).apply(history), Sequence[Any])
assert_type(window(history), Sequence[Any])
assert_type(backcut.trim(history, tools=None, system=["S"], max_turns=1, start="any"), Trimmed)
assert_type(backcut.count("text"), int)
assert_type(backcut.count(history, model="gpt-4o"), int)
assert_type(backcut.check(history), list[Violation])
assert_type(backcut.tokenizer("gpt-4o"), Tokenizer)
assert_type(backcut.tokenizer("gpt-4o").count_up_to("text", 5), int | None)
assert_type(backcut.__version__, str)


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

# What must not pass. An ignore that is not needed is an error too.
backcut.context_window(max_token=5)  # type: ignore[arg-type]
backcut.context_window(start="assistant")  # type: ignore[arg-type]
backcut.context_window(notice=True)  # type: ignore[arg-type]
backcut.context_window(max_turns=1.5)  # type: ignore[arg-type]
backcut.trim(history, max_token=5)  # type: ignore[call-arg]
backcut.trim(history, tool_keep="middle")  # type: ignore[arg-type]
chat("m")  # type: ignore[call-arg]
