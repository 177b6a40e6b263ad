"""``backcut repair``: what a provider would refuse in, what it takes out, in the same shape."""

from __future__ import annotations

import argparse
import json
import tempfile

from .errors import say
from .io import Output, Source
from .options import given, reading
from .progress import watched
from .table import number, table

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> int:
    """Repairs every conversation of the input."""
    from .. import repair

    options = given(arguments, "format")
    source = Source(arguments.file, **reading(arguments))
    rows: list[list[str]] = []
    seen = changed = 0
    # What is said waits for the output: there are no changes of a repair that was not written.
    with Output(arguments.output) as output, tempfile.SpooledTemporaryFile(1 << 24) as reports:
        for conversation in watched(source):
            with conversation.blamed():
                repaired = repair(conversation.messages, **options)
                rendered = conversation.render(repaired.messages)
            output.write(rendered)
            seen += 1
            changed += bool(repaired.changes)
            if arguments.report == "json":
                line = {"line": conversation.line} if source.many else {}
                report = {**line, "changes": [change._asdict() for change in repaired.changes]}
                reports.write(json.dumps(report).encode() + b"\n")
            elif arguments.report == "text":
                place = [str(conversation.line)] if source.many else []
                rows += ([*place, str(each.index), each.action, " ".join(each.ids), each.message] for each in repaired.changes)
        output.deliver()
        reports.seek(0)
        for told in reports:
            say(told.decode(), end="")
        if arguments.report == "text":
            say(_shown(rows, source.many, seen, changed), end="")
    return 0


def _shown(rows: list[list[str]], many: bool, seen: int, changed: int) -> str:
    if many:
        summary = f"backcut: {number(seen)} conversations, {number(changed)} changed\n"
    else:
        summary = f"backcut: {number(len(rows))} change{'s' if len(rows) > 1 else ''}\n" if rows else "backcut: unchanged\n"
    names = ["message", "action", "ids", "what was done"]
    return summary + (table(["line", *names] if many else names, rows, right="line message") if rows else "")
