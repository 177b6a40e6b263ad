"""Requests as JSON text, for the reference twin: where the messages stand, what is beside them, and what is sent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .document import Node, encode, parse
from .errors import BackcutError, FormatError
from .report import JsonPlan, Lines, Plan, TrimmedJson, TrimReport
from .request import ARRAYS, alone, beside, hint
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
        if isinstance(document.value, list):
            name, array = "", document
        else:
            there = [name for name in ARRAYS if _holds(name, fields.get(name))] if key is None else [key]
            if not there or fields.get(there[0]) is None:
                raise FormatError(None, key or "", _found(document), _EXPECTED)
            name = there[0]
            array = document.items[document.keys.index(name)]
        one = alone(name, array.value) if key is None else None
        if one is None and not isinstance(array.value, list):
            raise FormatError(None, name, _kind(array.value), _EXPECTED)
        self.tools, self.system = beside(name, fields.get)
        self.hint = hint(name, fields.get, self.system)
        self.array = array if one is None else None
        """Where the messages stand; ``None`` where a shorthand does, of which nothing can go."""
        self.messages = array.value if one is None else [one]

    def plan(self, window: Window) -> Plan:
        """What the window makes of it."""
        try:
            return window.plan(self.messages, self.tools, self.system, self.hint)
        except FormatError as error:
            raise FormatError(error.index, error.path, _KINDS.get(error.found, error.found), error.expected) from None

    def changes(self, plan: Plan) -> bool:
        """Whether the plan makes another text of it."""
        return self.array is not None and plan.report.first_changed is not None

    def pieces(self, plan: Plan) -> tuple[Piece, ...]:
        """What the plan makes of the text."""
        return splice(self.text, self.array, plan) if self.array is not None and self.changes(plan) else ((0, len(self.text)),)

    def written(self, plan: Plan) -> bytes:
        """The same in one."""
        return joined(self.text, self.pieces(plan))


def trim_json(window: Window, body: Any, key: str | None) -> TrimmedJson:
    """The body with what fits of its messages."""
    request = Request(body, key)
    plan = request.plan(window)
    return TrimmedJson(request.written(plan) if request.changes(plan) else body, plan.report)


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


_LINE = re.compile(rb"([^\n]*?)(\r?\n|\r?\Z)")


def trim_lines(window: Window, chunk: bytes, key: str | None, on_error: str, reports: bool) -> Lines:
    """Each line of ``chunk`` trimmed as a body of its own; blank lines stay as they are.

    Args:
        window: what trims.
        chunk: whole lines; the last may lack its end.
        key: where the messages stand.
        on_error: what becomes of a line that cannot be trimmed: ``raise`` ends in front of it, ``skip`` leaves it out, ``keep`` leaves it
            as it is. What a caller's own code raises is nothing of the line's, and ends in front of it in any case.
        reports: whether the reports of all lines are wanted.
    """
    output: list[bytes] = []
    errors: list[tuple[int, Exception]] = []
    found: list[tuple[int, TrimReport]] = []
    sums = dict.fromkeys(_SUMS, 0)
    for number, (line, end) in enumerate(_LINE.findall(chunk)):
        written = [line, end]
        try:
            if line.strip(b" \t\r"):
                written[0], report = _trim_line(window, line, key, sums)
                found.append((number, report))
        except Exception as error:
            errors.append((number, error))
            if on_error == "raise" or not isinstance(error, BackcutError):
                break
            if on_error == "skip":
                written = []
        output += written
        sums["lines"] += end.endswith(b"\n")
    return Lines(output=b"".join(output), **sums, errors=errors, reports=found if reports else [])


_SUMS = Lines._fields[1:-2]


def _trim_line(window: Window, line: bytes, key: str | None, sums: dict[str, int]) -> tuple[bytes, TrimReport]:
    """The line as it is written; what was done is added to ``sums``."""
    request = Request(line, key)
    plan = request.plan(window)
    report = plan.report
    tokens = report.tokens_sent or 0
    if report.tokens_sent is not None and report.first_changed is not None:
        tokens = window.count(request.messages, request.tools, request.system, report.format)
    own = {
        "conversations": 1,
        "changed": request.changes(plan),
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


_EXPECTED = "an array of messages, alone or in an object under messages, input or contents"
_KINDS = {
    "dict": "an object",
    "list": "an array",
    "str": "a string",
    "bool": "true or false",
    "NoneType": "null",
    "int": "a number",
    "float": "a number",
}
"""What JSON calls the types of Python."""

_SHOWN = 8
"""How many keys of an object are shown."""


def _kind(value: Any) -> str:
    return _KINDS[type(value).__name__]


def _found(document: Node) -> str:
    """What stands in the place of a request."""
    if not isinstance(document.value, dict):
        return _kind(document.value)
    names = ", ".join(document.keys[:_SHOWN]) + (", …" if len(document.keys) > _SHOWN else "")
    return f"an object with {names}" if document.keys else "an empty object"


def _holds(array: str, value: Any) -> bool:
    """Whether the messages stand there. What is neither a list nor a shorthand under the later names is something else."""
    kinds: dict[str, Any] = {"messages": object, "input": (list, str), "contents": (list, str, dict)}
    return value is not None and isinstance(value, kinds[array])
