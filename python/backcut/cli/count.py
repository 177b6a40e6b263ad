"""``backcut count``: what conversations and texts cost."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from .errors import CommandError, say
from .io import Output, Source
from .measure import Measure, Request, Size, label, request
from .options import given, in_words, reading
from .progress import watched
from .table import number, table

__all__ = ["run"]


class _Counted(NamedTuple):
    """A conversation or a text of the input, and what it costs."""

    place: dict[str, Any]
    """The file, where there are several, and the line, where a file has several conversations."""
    whole: Request
    chars: int
    roles: list[str]
    sizes: list[Size]
    is_text: bool = False


class _Row(NamedTuple):
    """What is kept of it where it is one of many."""

    place: dict[str, Any]
    tokens: int
    chars: int
    messages: int


def run(arguments: argparse.Namespace) -> int:
    """Counts everything in every input."""
    from .. import OptionError
    from ..tokens import choose

    options = given(arguments, "model", "tokenizer", "figures", "format")
    try:
        counter = choose(options.get("tokenizer"), options.get("model"))
        counter.count("")  # what is wrong with the options is not the input's fault
        request([], None, None, options)
    except OptionError as error:
        raise CommandError(in_words(error)) from error
    if not counter.is_exact:
        say(f"backcut: {counter.name} is an estimate")
    files = arguments.file or ["-"]
    how = {"tokenizer": counter.name, "exact": counter.is_exact}
    rows: list[_Row] = []
    with Output(arguments.output) as output:
        for file in files:
            for counted in _count(Source(file, **reading(arguments)), arguments.text, options, len(files) > 1):
                if arguments.json:
                    output.write(json.dumps({**counted.place, **how, **_as_dict(counted)}) + "\n")
                elif counted.place:
                    rows.append(_Row(counted.place, counted.whole.total, counted.chars, len(counted.roles)))
                else:
                    output.write(_text(counted) if counted.is_text else _tables(counted))
        if rows:
            output.write(_summary(rows))
        output.deliver()
    return 0


def _count(source: Source, as_text: bool, options: dict[str, Any], named: bool) -> Iterator[_Counted]:
    place = {"file": source.name} if named else {}
    source.hint = "; --text counts it as plain text"
    contents = source.text() if as_text else source.contents()
    if isinstance(contents, str):
        if not as_text:
            say(f"backcut: {source.name}: counted as plain text")
        yield _of_text(place, contents, options)
        return
    for conversation in watched(source, contents):
        messages = conversation.messages
        with conversation.blamed():
            whole = request(messages, conversation.tools, conversation.system, options)
            sizes = Measure(messages, options).each(messages)
        line = {"line": conversation.line} if source.many else {}
        roles = [label(message) for message in messages]
        yield _Counted({**place, **line}, whole, sum(size.chars for size in sizes), roles, sizes)


def _of_text(place: dict[str, Any], text: str, options: dict[str, Any]) -> _Counted:
    from .. import count

    return _Counted(place, Request(count(text, **options), 0, 0, 0), len(text), [], [], True)


def _by_role(counted: _Counted) -> dict[str, dict[str, int]]:
    """Tokens, characters and messages by role, in the order in which the roles come up."""
    found: dict[str, dict[str, int]] = {}
    for role, size in zip(counted.roles, counted.sizes, strict=True):
        row = found.setdefault(role, {"tokens": 0, "chars": 0, "messages": 0})
        row["tokens"] += size.tokens
        row["chars"] += size.chars
        row["messages"] += 1
    return found


def _as_dict(counted: _Counted) -> dict[str, Any]:
    whole = counted.whole
    if counted.is_text:
        return {"tokens": whole.total, "chars": counted.chars}
    return {
        "tokens": whole.total,
        "overhead": whole.overhead,
        "tools": whole.tools,
        "system": whole.system,
        "roles": _by_role(counted),
        "messages": [{"role": role, **size._asdict()} for role, size in zip(counted.roles, counted.sizes, strict=True)],
    }


def _text(counted: _Counted) -> str:
    return table(["tokens", "chars"], [[number(counted.whole.total), number(counted.chars)]], right="tokens chars")


def _summary(rows: list[_Row]) -> str:
    """One line for each conversation and text, and their total."""
    names = [name for name in ("file", "line") if any(name in row.place for row in rows)]
    cells = [[*(str(row.place.get(name, "")) for name in names), *map(number, row[1:])] for row in rows]
    sums = [number(sum(column)) for column in list(zip(*rows, strict=True))[1:]]
    cells.append(["total", *[""] * (len(names) - 1), *sums])
    return table([*names, "tokens", "chars", "messages"], cells, right="line tokens chars messages")


def _tables(counted: _Counted) -> str:
    whole = counted.whole
    messages = enumerate(zip(counted.roles, counted.sizes, strict=True))
    by_message = [[str(index), role, number(size.tokens), number(size.chars)] for index, (role, size) in messages]
    by_role = [[role, *map(number, row.values())] for role, row in _by_role(counted).items()]
    besides = {"tools": whole.tools, "system text": whole.system, "request": whole.overhead}
    by_role += [[name, number(tokens), "", ""] for name, tokens in besides.items() if tokens]
    by_role.append(["total", number(whole.total), number(counted.chars), number(len(counted.roles))])
    first = table(["message", "role", "tokens", "chars"], by_message, right="message tokens chars")
    return f"{first}\n{table(['role', 'tokens', 'chars', 'messages'], by_role, right='tokens chars messages')}"
