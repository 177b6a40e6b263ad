"""``backcut count``: what a conversation or a text costs."""

from __future__ import annotations

import argparse
import json
from typing import Any

from .errors import CommandError
from .io import Output, Source
from .measure import Request, Size, each, request
from .options import given, in_words
from .progress import watched
from .table import number, table

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> int:
    """Counts every conversation of the input, or all of it as one text."""
    from .. import OptionError, count

    options = given(arguments, "model", "tokenizer", "figures", "format")
    try:
        count("", **options)  # what is wrong with the options is not the input's fault
    except OptionError as error:
        raise CommandError(in_words(error)) from error
    source = Source(arguments.file)
    with Output(arguments.output) as output:
        if arguments.text:
            output.write(_text(source.text(), options, arguments.json))
        else:
            _conversations(source, options, arguments.json, output)
        output.deliver()
    return 0


def _text(text: str, options: dict[str, Any], as_json: bool) -> str:
    from .. import count

    found = {"tokens": count(text, **options), "chars": len(text)}
    if as_json:
        return json.dumps(found) + "\n"
    return table(list(found), [[number(value) for value in found.values()]], right="tokens chars")


def _conversations(source: Source, options: dict[str, Any], as_json: bool, output: Output) -> None:
    rows: list[tuple[int, ...]] = []
    for conversation in watched(source):
        messages = conversation.messages
        with conversation.blamed():
            whole = request(messages, conversation.tools, conversation.system, options)
            sizes = each(messages, options)
        roles = [message["role"] for message in messages]
        if as_json:
            line = {"line": conversation.line} if source.many else {}
            output.write(json.dumps({**line, **_as_dict(roles, sizes, whole)}) + "\n")
        elif source.many:
            rows.append((conversation.line, whole.total, sum(size.chars for size in sizes), len(messages)))
        else:
            output.write(_tables(roles, sizes, whole))
    if rows:
        cells = [[str(line), *map(number, figures)] for line, *figures in rows]
        sums = [number(sum(row[column] for row in rows)) for column in (1, 2, 3)]
        output.write(table(["line", "tokens", "chars", "messages"], [*cells, ["total", *sums]], right="line tokens chars messages"))


def _by_role(roles: list[str], sizes: list[Size]) -> dict[str, dict[str, int]]:
    """Tokens, characters and messages by role, in the order in which the roles come up."""
    found: dict[str, dict[str, int]] = {}
    for role, size in zip(roles, sizes, strict=True):
        row = found.setdefault(role, {"tokens": 0, "chars": 0, "messages": 0})
        row["tokens"] += size.tokens
        row["chars"] += size.chars
        row["messages"] += 1
    return found


def _as_dict(roles: list[str], sizes: list[Size], whole: Request) -> dict[str, Any]:
    return {
        "tokens": whole.total,
        "overhead": whole.overhead,
        "tools": whole.tools,
        "system": whole.system,
        "roles": _by_role(roles, sizes),
        "messages": [{"role": role, **size._asdict()} for role, size in zip(roles, sizes, strict=True)],
    }


def _tables(roles: list[str], sizes: list[Size], whole: Request) -> str:
    messages = enumerate(zip(roles, sizes, strict=True))
    by_message = [[str(index), role, number(size.tokens), number(size.chars)] for index, (role, size) in messages]
    by_role = [[role, *map(number, row.values())] for role, row in _by_role(roles, sizes).items()]
    besides = {"tools": whole.tools, "system text": whole.system, "request": whole.overhead}
    by_role += [[name, number(tokens), "", ""] for name, tokens in besides.items() if tokens]
    by_role.append(["total", number(whole.total), number(sum(size.chars for size in sizes)), number(len(roles))])
    first = table(["message", "role", "tokens", "chars"], by_message, right="message tokens chars")
    return f"{first}\n{table(['role', 'tokens', 'chars', 'messages'], by_role, right='tokens chars messages')}"
