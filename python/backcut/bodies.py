"""Requests as JSON text, for the reference twin: where the messages stand, what is beside them, and what is sent."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .document import encode, parse
from .errors import BackcutError, FormatError
from .report import JsonPlan, Lines, Plan, TrimmedJson, TrimReport
from .request import ARRAYS, alone, beside
from .splice import Piece, joined, splice

if TYPE_CHECKING:
    from .reference import Window

__all__ = ["plan_json", "request_field", "trim_json", "trim_lines"]


class Request:
    """A request that was read from JSON text."""

    def __init__(self, body: Any, key: str | None) -> None:
        self.text = encode(body)
        document = parse(self.text)
        fields: dict[str, Any] = document.value if isinstance(document.value, dict) else {}
        name, array = "", document
        if not isinstance(document.value, list):
            keys = ARRAYS if key is None else (key,)
            there = [name for name in keys if fields.get(name) is not None]
            if not there:
                raise FormatError(None, "", _found(document.value), _expected(keys))
            name = there[0]
            array = document.items[document.keys.index(name)]
        self.tools, self.system = beside(name, fields.get)
        self.hint = _hint(name, fields)
        one = alone(name, array.value)
        self.array = array if one is None else None
        """Where the messages stand; ``None`` where a shorthand does, of which nothing can go."""
        self.messages = array.value if one is None else [one]

    def plan(self, window: Window) -> Plan:
        """What the window makes of it."""
        return window.plan(self.messages, self.tools, self.system, self.hint)

    def pieces(self, plan: Plan) -> tuple[Piece, ...]:
        """What the plan makes of the text."""
        if self.array is None or plan.report.first_changed is None:
            return ((0, len(self.text)),)
        return splice(self.text, self.array, plan)

    def written(self, plan: Plan) -> bytes:
        """The same in one."""
        return joined(self.text, self.pieces(plan))


def trim_json(window: Window, body: Any, key: str | None) -> TrimmedJson:
    """The body with what fits of its messages."""
    request = Request(body, key)
    plan = request.plan(window)
    pieces = request.pieces(plan)
    return TrimmedJson(body if len(pieces) == 1 else joined(request.text, pieces), plan.report)


def plan_json(window: Window, body: Any, key: str | None) -> JsonPlan:
    """The pieces of which that body would consist."""
    request = Request(body, key)
    plan = request.plan(window)
    return JsonPlan(request.pieces(plan), plan.report)


def request_field(body: Any, name: str) -> str | None:
    """A text at the top of a request, such as its ``model``; ``None`` where there is none."""
    document = parse(encode(body))
    value = document.value.get(name) if isinstance(document.value, dict) else None
    return value if isinstance(value, str) else None


_LINE = re.compile(rb"([^\n]*?)(\r?\n|\Z)")


def trim_lines(window: Window, chunk: bytes, key: str | None, on_error: str, reports: bool) -> Lines:
    """Each line of ``chunk`` trimmed as a body of its own; blank lines stay as they are.

    Args:
        window: what trims.
        chunk: whole lines; the last may lack its end.
        key: where the messages stand.
        on_error: what becomes of a line that cannot be trimmed: ``raise`` ends in front of it, ``skip`` leaves it out, ``keep`` leaves it
            as it is.
        reports: whether the reports of all lines are wanted.
    """
    output: list[bytes] = []
    errors: list[tuple[int, Exception]] = []
    found: list[tuple[int, TrimReport]] = []
    sums = dict.fromkeys(_SUMS, 0)
    for number, (line, end) in enumerate(_LINE.findall(chunk)):
        try:
            written, report = _trim_line(window, line, key, sums) if line.strip(b" \t\r") else (line, None)
        except BackcutError as error:
            errors.append((number, error))
            if on_error == "raise":
                break
            written, report = line, None
            if on_error == "skip":
                written = end = b""
                sums["lines"] += 1
        output += [written, end]
        sums["lines"] += bool(end)
        if reports and report is not None:
            found.append((number, report))
    return Lines(output=b"".join(output), **sums, errors=errors, reports=found)


_SUMS = Lines._fields[1:-2]


def _trim_line(window: Window, line: bytes, key: str | None, sums: dict[str, int]) -> tuple[bytes, TrimReport]:
    """The line as it is written; what was done is added to ``sums``."""
    request = Request(line, key)
    plan = request.plan(window)
    report = plan.report
    tokens = 0 if report.tokens_sent is None else window.count(request.messages, request.tools, request.system, request.hint)
    own = {
        "conversations": 1,
        "changed": report.first_changed is not None,
        "trimmed": report.window_trimmed,
        "over_budget": report.over_budget,
        "messages_before": report.messages_original,
        "messages_after": report.messages_sent,
        "tools_truncated": report.tools_truncated,
        "chars_capped": report.chars_capped,
        "tokens_before": tokens,
        "tokens_after": report.tokens_sent or 0,
    }
    for name, value in own.items():
        sums[name] += value
    return request.written(plan), report


def _found(value: Any) -> str:
    """What stands in the place of a request."""
    if isinstance(value, dict):
        names = ", ".join(value)
        return f"an object with {names if len(names) <= _SHOWN else names[: _SHOWN - 1] + '…'}" if value else "an empty object"
    kinds = {str: "a string", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


_SHOWN = 60
"""How many characters of the names in an object are shown."""


def _expected(keys: Sequence[str]) -> str:
    *others, last = [f'"{key}"' for key in keys]
    names = f"{', '.join(others)} or {last}" if others else last
    return f"an array of messages, or an object with {names}"


def _hint(array: str, fields: Mapping[str, Any]) -> str:
    """The format of messages that do not show it, by what stands beside them."""
    if array == "contents":
        return "gemini"
    if array == "input":
        return "openai-responses"
    system = fields.get("system")
    if fields.get("anthropic_version") is not None:
        return "anthropic"
    if any(fields.get(name) is not None for name in ("inferenceConfig", "toolConfig")) or _is_typeless(system):
        return "bedrock"
    return "openai-chat" if system is None else "anthropic"


def _is_typeless(system: Any) -> bool:
    """Whether a system text is a list of texts that have no type, as only Bedrock has it."""
    parts = system if isinstance(system, list) else ()
    return any(isinstance(part, dict) and isinstance(part.get("text"), str) and part.get("type") is None for part in parts)
