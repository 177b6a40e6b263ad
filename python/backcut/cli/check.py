"""``backcut check``: what a provider would refuse, without asking one."""

from __future__ import annotations

import argparse
import json

from .io import Output, Source
from .options import given, reading
from .progress import watched
from .table import number, table

__all__ = ["run"]

_LIVE = "pending_call"
"""The code of a live end: the next call's business, no violation yet."""


def run(arguments: argparse.Namespace) -> int:
    """Lists the violations of every conversation of the input."""
    from .. import check

    options = given(arguments, "format")
    source = Source(arguments.file, **reading(arguments))
    rows: list[list[str]] = []
    checked = 0
    unsound = False
    with Output(arguments.output) as output:
        for conversation in watched(source):
            with conversation.blamed():
                violations = check(conversation.messages, **options)
            wrong = any(violation.code != _LIVE for violation in violations)
            unsound = unsound or wrong
            checked += 1
            if arguments.json:
                line = {"line": conversation.line} if source.many else {}
                found = [violation._asdict() for violation in violations]
                output.write(json.dumps({**line, "sound": not wrong, "violations": found}) + "\n")
                continue
            for each in violations:
                place = [str(conversation.line)] if source.many else []
                rows.append([*place, str(each.index), each.code, " ".join(each.ids), each.message])
        if not arguments.json:
            output.write(_shown(rows, source.many, checked))
        output.deliver()
    return int(unsound)


def _shown(rows: list[list[str]], many: bool, checked: int) -> str:
    if not rows:
        return f"sound: {number(checked)} conversations\n" if many else "sound\n"
    names = ["message", "code", "ids", "what is wrong"]
    return table(["line", *names] if many else names, rows, right="line message")
