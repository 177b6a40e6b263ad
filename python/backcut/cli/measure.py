"""What each message is, and how large, in the library's own figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ..window import ContextWindow

__all__ = ["Measure", "Request", "Size", "label", "request"]

_PROBES: dict[str, dict[str, Any]] = {
    "gemini": {"role": "user", "parts": [{"text": ""}]},
    "bedrock": {"role": "user", "content": [{"text": ""}]},
    "langchain": {"type": "human", "content": ""},
    "pydantic-ai": {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": ""}]},
}
_PROBE: dict[str, Any] = {"role": "user", "content": ""}
"""A user turn of the other formats."""


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


class Measure:
    """Measures the messages of one history, in the format that it is in.

    Attributes:
        head: how many messages stand in front of the body.
        lead: what the first message of the body leaves in the head where it is cut, as the edits of a plan.
        newest: where the newest group begins: it is all that is sent when next to nothing may be.
    """

    def __init__(self, messages: Sequence[Any], options: dict[str, Any]) -> None:
        from .. import context_window

        wire = context_window(format=options.get("format", "auto")).plan(messages).report.format
        self._options = {**options, "format": wire}
        self._probe = _PROBES.get(wire, _PROBE)
        # Where nothing but the newest message is kept, and that is the probe, the rest is the head.
        plan = self._least().plan([*messages, self._probe])
        self.lead = plan.edits
        self.head = len(plan.kept) - 1 - len(plan.edits)
        newest = self._least().plan(messages)
        left = {edit.index for edit in newest.edits}
        self.newest = next((index for index in newest.kept if index >= self.head and index not in left), self.head)

    def _least(self) -> ContextWindow:
        from .. import context_window

        return context_window(max_turns=1, start="any", notice=False, on_overflow="keep", format=self._options["format"])

    def each(self, messages: Sequence[Any], capped: bool = False) -> list[Size]:
        """The size of each message, after the cap on tool results if ``capped``."""
        from .. import context_window

        how = _counting(self._options)
        if "tokenizer" not in how and "model" not in how:
            how["tokenizer"] = "o200k_base"  # what count() takes; a window that is not asked for tokens counts none
        if capped:
            how |= {name: self._options[name] for name in ("max_chars_per_tool", "tool_keep") if name in self._options}
        window = context_window(**how)
        # With the probe in front, each is measured as one of the body, whatever its role.
        base = window.plan([self._probe]).report.tokens_sent or 0
        reports = [window.plan([self._probe, message]).report for message in messages]
        return [Size((report.tokens_sent or 0) - base, report.chars_sent) for report in reports]


def label(message: Mapping[str, Any]) -> str:
    """What a message is in its own words: its role, or what its format has instead."""
    inner = message.get("message")  # of an entry of pi's
    if "role" not in message and isinstance(inner, Mapping):
        return label(inner)
    if "lc" in message:  # LangChain's own serialization: the name of the class is the end of its path
        return str((message.get("id") or [""])[-1])
    return next((message[key] for key in ("role", "type", "kind") if isinstance(message.get(key), str)), "")
