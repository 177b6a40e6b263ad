"""How large each message is, in the library's own figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["Request", "Size", "each", "request"]

_PROBE = {"role": "user", "content": ""}
"""Put in front of a message, so that it is measured as one of the body, whatever its role."""


class Size(NamedTuple):
    """What one message weighs."""

    tokens: int
    chars: int


class Request(NamedTuple):
    """Tokens of a request, and of what is in it besides messages."""

    total: int
    overhead: int
    tools: int
    system: int


def _counting(options: dict[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in ("tokenizer", "model", "figures", "format") if name in options}


def request(messages: Sequence[Any], tools: Any, system: Any, options: dict[str, Any]) -> Request:
    """What the whole request costs; ``options`` are those of a window."""
    from .. import count

    how = _counting(options)
    empty = count([], **how)
    return Request(
        total=count(messages, tools=tools, system=system, **how),
        overhead=empty,
        tools=count([], tools=tools, **how) - empty,
        system=count([], system=system, **how) - empty,
    )


def each(messages: Sequence[Any], options: dict[str, Any], capped: bool = False) -> list[Size]:
    """The size of each message, after the cap on tool results if ``capped``."""
    from .. import context_window

    how = _counting(options)
    if "tokenizer" not in how and "model" not in how:
        how["tokenizer"] = "o200k_base"  # what count() takes; a window that is not asked for tokens counts none
    if capped:
        how |= {name: options[name] for name in ("max_chars_per_tool", "tool_keep") if name in options}
    window = context_window(**how)
    base = window.plan([_PROBE]).report.tokens_sent or 0
    reports = [window.plan([_PROBE, message]).report for message in messages]
    return [Size((report.tokens_sent or 0) - base, report.chars_sent) for report in reports]
