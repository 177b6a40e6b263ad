"""``backcut trim``: conversations in, what fits of them out, in the same shape."""

from __future__ import annotations

import argparse
import json
import tempfile
from typing import IO, Any

from .errors import say
from .io import Output, Source
from .options import given, make_window, reading
from .progress import watched
from .table import number

__all__ = ["run"]

_CEILINGS = ("max_turns", "max_chars", "max_tokens", "max_chars_per_tool")


def run(arguments: argparse.Namespace) -> int:
    """Trims every conversation of the input."""
    options = given(arguments)
    window = make_window(options)
    source = Source(arguments.file, **reading(arguments))
    total = _Total()
    # Reports wait for the output: there is none of a trim that was not written.
    with Output(arguments.output) as output, tempfile.SpooledTemporaryFile(1 << 24) as reports:
        for conversation in watched(source):
            with conversation.blamed():
                trimmed = window.trim(conversation.messages, tools=conversation.tools, system=conversation.system)
                rendered = conversation.render(trimmed.messages)
            output.write(rendered)
            total.add(trimmed.report)
            if arguments.report == "json":
                line = {"line": conversation.line} if source.many else {}
                reports.write(json.dumps({**line, **trimmed.report.as_dict()}).encode() + b"\n")
        output.deliver()
        _report(arguments.report, total, reports, any(name in options for name in _CEILINGS))
    return 0


class _Total:
    """The reports of all conversations, added up."""

    def __init__(self) -> None:
        self.last: Any = None
        self.conversations = self.changed = self.cut = self.capped = self.chars = self.over = 0
        self.before = self.after = self.tokens = 0

    def add(self, report: Any) -> None:
        self.last = report
        self.conversations += 1
        self.changed += report.first_changed is not None
        self.cut += report.window_trimmed
        self.capped += report.tools_truncated
        self.chars += report.chars_capped
        self.over += report.over_budget
        self.before += report.messages_original
        self.after += report.messages_sent
        self.tokens += report.tokens_sent or 0


def _report(how: str, total: _Total, reports: IO[bytes], ceiling: bool) -> None:
    if how == "json":
        reports.seek(0)
        for line in reports:
            say(line.decode(), end="")
    elif how == "text":
        say("backcut: " + "; ".join(_sentence(total)))
        if not ceiling:
            say("backcut: no ceiling was given (such as --max-tokens), so nothing could be cut")


def _sentence(total: _Total) -> list[str]:
    """What was done, in a few words each."""
    many = total.conversations > 1
    said = [f"{number(total.conversations)} conversations, {number(total.changed)} changed"] if many else []
    if total.changed:
        said.append(f"{number(total.before)} messages in, {number(total.after)} out")
    else:
        said.append(f"{number(total.before)} messages, unchanged")
    if total.capped:
        said.append(f"{number(total.capped)} tool results shortened by {number(total.chars)} characters")
    if total.last.tokens_sent is not None:
        said.append(f"{number(total.tokens)} tokens")
    if many:
        if total.over:
            said.append(f"{number(total.over)} over budget")
        return said
    if total.last.task_dropped:
        said.append("the task did not fit")
    if total.last.over_budget:
        said.append("over budget")
    if total.changed:
        said.append(f"as before up to message {number(total.last.first_changed)}")
    return said
