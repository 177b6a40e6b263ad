"""Requests as JSON text for tests: written in every way that says the same, judged by ``json`` of Python alone, and compared."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from random import Random
from types import ModuleType
from typing import Any

import pytest

from backcut.request import beside
from support import CORE, TWIN, engine_window, outcome

ENGINES: list[ModuleType] = [engine for engine in (CORE, TWIN) if engine is not None and hasattr(engine.Window, "trim_json")]

both_read_json = pytest.mark.skipif(len(ENGINES) < 2, reason="core and twin cannot be compared: one of them has no trim_json")


# Judging


class RefusedError(Exception):
    """Not JSON, or a key twice."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise RefusedError("a key twice")
    return dict(pairs)


def _refuse(constant: str) -> Any:
    raise RefusedError(constant)


def _integer(literal: str) -> int:
    return int(literal) if len(literal) < 4_000 else 0


def strict(body: bytes | str) -> Any:
    """What ``json`` reads of a body, which has to be JSON in UTF-8 without doubts."""
    try:
        text = body.decode() if isinstance(body, bytes) else body.encode().decode()
        return json.loads(text, object_pairs_hook=_once, parse_constant=_refuse, parse_int=_integer)
    except (ValueError, RecursionError) as error:
        raise RefusedError(str(error)) from error


def spans(text: str, key: str | None) -> list[str]:
    """The messages of a body as they are written, found by the decoder of ``json``."""
    decoder, blank = json.JSONDecoder(), " \t\n\r"

    def skip(at: int) -> int:
        while text[at] in blank:
            at += 1
        return at

    at = skip(0)
    while key is not None:
        _, end = decoder.raw_decode(text, skip(at + 1))
        name = json.loads(text[skip(at + 1) : end])
        at = skip(skip(end) + 1)
        if name == key:
            break
        at = skip(decoder.raw_decode(text, at)[1])
    found = []
    at = skip(at + 1)
    while text[at] != "]":
        _, end = decoder.raw_decode(text, at)
        found.append(text[at:end])
        at = skip(end)
        at = skip(at + 1) if text[at] == "," else at
    return found


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: the order of keys, and whether a number is an integer, are a part of it."""
    return json.dumps(one) == json.dumps(other)


# Asking


def by_objects(engine: ModuleType, options: Mapping[str, Any], body: Any, key: str | None) -> tuple[Any, Any]:
    """The request as the trim of its objects leaves it, and the report."""
    array = body if key is None else body[key]
    tools, system = (None, None) if key is None else beside(key, body.get)
    trimmed = engine_window(engine, options).trim(array, tools, system)
    return trimmed.messages if key is None else body | {key: trimmed.messages}, trimmed.report


def facts(found: tuple[str, Any]) -> tuple[str, Any]:
    """An outcome without how a value that is wrong is shown: objects are shown by Python's types, a body by JSON's."""
    kind, each = found
    return found if kind in ("answer", "JsonError") else (kind, {name: fact for name, fact in each.items() if name != "found"})


def joined(body: bytes, pieces: tuple[tuple[int, int] | bytes, ...]) -> bytes:
    assert all(piece if isinstance(piece, bytes) else piece[0] < piece[1] for piece in pieces)
    assert not any(isinstance(one, bytes) and isinstance(other, bytes) for one, other in pairwise(pieces))
    return b"".join(piece if isinstance(piece, bytes) else body[slice(*piece)] for piece in pieces)


def check(engine: ModuleType, options: Mapping[str, Any], body: bytes, key: str | None, array: str | None) -> tuple[str, Any]:
    """Trims a body that can be read, and holds the result against the trim of its objects. What became of it.

    Args:
        engine: which engine.
        options: of the window.
        body: the body.
        key: the field that is asked for.
        array: the field in which the messages stand; ``None`` where the body is their array.
    """
    window = engine_window(engine, options)
    found = outcome(lambda: window.trim_json(body, key))
    expected = outcome(lambda: by_objects(engine, options, strict(body), array))
    plan = outcome(lambda: window.plan_json(body, key))
    assert plan[0] == found[0] == expected[0], (found, expected)
    if found[0] != "answer":
        assert facts(found) == facts(expected) == facts(plan)
        return found
    result, report = found[1]
    assert (strict(result), report) == (strict(result), expected[1][1])
    assert same(strict(result), expected[1][0])
    assert plan[1].report == report
    assert joined(body, plan[1].pieces) == result
    if report.first_changed is None:
        assert result is body
        assert plan[1].pieces == ((0, len(body)),)
        return found
    _only_what_changes_is_new(engine, options, body, result, array)
    # The other kinds of bodies, and the result once more.
    for kind in (bytearray, memoryview, bytes.decode):
        assert outcome(lambda kind=kind: window.trim_json(kind(body), key)) == found
    if not report.over_budget and options.get("trim_to") is None and options.get("compat") is None:
        assert window.trim_json(result, key).body is result
    return found


def _only_what_changes_is_new(engine: ModuleType, options: Mapping[str, Any], body: bytes, result: bytes, array: str | None) -> None:
    """Messages that are kept, and all around the array, are as they were written."""
    before, after = spans(body.decode(), array), spans(result.decode(), array)
    whole = strict(body)
    tools, system = (None, None) if array is None else beside(array, whole.get)
    plan = engine_window(engine, options).plan(whole if array is None else whole[array], tools, system)
    edited = {edit.index for edit in plan.edits}
    places = list(plan.kept)
    if plan.notice is not None and not plan.notice.folded:
        places.insert(plan.notice.at, -1)
    elif plan.notice is not None:
        edited.add(places[plan.notice.at])
    assert [text for text, place in zip(after, places, strict=True) if place >= 0 and place not in edited] == [
        before[place] for place in places if place >= 0 and place not in edited
    ]
    front, back = body.index(before[0].encode()), body.rindex(before[-1].encode()) + len(before[-1].encode())
    assert result.startswith(body[:front])
    assert result.endswith(body[back:])


def agree(options: Mapping[str, Any], body: Any, key: str | None) -> tuple[str, Any]:
    """What both engines make of a body; it must be the same, byte for byte."""
    found = [outcome(lambda engine=engine: engine_window(engine, options).trim_json(body, key)) for engine in ENGINES]
    pieces = [outcome(lambda engine=engine: engine_window(engine, options).plan_json(body, key)) for engine in ENGINES]
    for each, plan in zip(found, pieces, strict=True):
        assert facts(each) == facts(found[0]), (options, body)
        assert facts(plan) == facts(pieces[0]), (options, body)
    return found[0]


# Writing


class Writer:
    """Writes a value as JSON in one of the ways that are open: blanks, the order of keys, escapes, forms of numbers."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._blanks = random.choice(["", " ", " \n\t\r"])
        self._colon = random.choice([":", ": "])
        self._escapes = random.choice([0.0, 0.0, 0.05, 0.5])
        self._ascii = random.random() < 0.3
        self._shuffles = random.random() < 0.3

    def value(self, value: Any) -> str:
        if isinstance(value, str):
            return self.text(value)
        if value is None or isinstance(value, bool):
            return json.dumps(value)
        if isinstance(value, int):
            return str(value)
        if isinstance(value, float):
            return self._real(value)
        if isinstance(value, Mapping):
            # A key of Python's that is no text is one in JSON, and may be there already.
            members = list({self._key(key): item for key, item in value.items()}.items())
            if self._shuffles:
                self._random.shuffle(members)
            items = [f"{self.text(key)}{self.blank()}{self._colon}{self.blank()}{self.value(item)}" for key, item in members]
            return self._list("{}", items)
        return self._list("[]", [self.value(item) for item in value])

    def blank(self) -> str:
        return "".join(self._random.choices(self._blanks, k=self._random.randrange(3))) if self._blanks else ""

    def text(self, text: str) -> str:
        return '"' + "".join(map(self._sign, text)) + '"'

    def _key(self, key: Any) -> str:
        return key if isinstance(key, str) else json.dumps(key)

    def _list(self, brackets: str, items: list[str]) -> str:
        inner = ",".join(f"{self.blank()}{item}{self.blank()}" for item in items)
        return f"{brackets[0]}{inner or self.blank()}{brackets[1]}"

    def _sign(self, sign: str) -> str:
        if sign in '"\\' or sign < " ":
            return json.dumps(sign)[1:-1] if self._random.random() < 0.8 else self._units(sign)
        if "\ud800" <= sign <= "\udfff" or (self._ascii and sign > "~") or self._random.random() < self._escapes:
            return self._units(sign)
        return "\\/" if sign == "/" and self._random.random() < self._escapes else sign

    def _units(self, sign: str) -> str:
        units = sign.encode("utf-16-be", "surrogatepass").hex()
        units = units.upper() if self._random.random() < 0.5 else units
        return "".join(f"\\u{units[k : k + 4]}" for k in range(0, len(units), 4))

    def _real(self, value: float) -> str:
        if value != value or value in (float("inf"), float("-inf")):
            return self._random.choice(["1e400", "-1E+400", "0.5"])
        return self._random.choice([repr(value), f"{value:.6E}", f"{value:e}".replace("e", "E")])


EXTRA: dict[str, Any] = {
    "model": "m",
    "stream": True,
    "temperature": 0.7,
    "seed": 12345678901234567890123,
    "stop": ["\n\n", "\u2028"],
    "metadata": {"a/b": "</script>", "n": [1, 2.5, None, {"deep": [[]]}], "": "\ud83d\ude00"},
    "messages2": [],
}
"""What a request has besides, which backcut knows nothing of."""


def request(random: Random, messages: list[Any], array: str | None, **more: Any) -> bytes:
    """A body with these messages, as the array alone where ``array`` is ``None``."""
    writer = Writer(random)
    extra = {name: EXTRA[name] for name in random.sample(sorted(EXTRA), random.randrange(len(EXTRA)))} | more
    fields = list(extra.items())
    if array is not None:
        fields.insert(random.randrange(len(fields) + 1), (array, messages))
    text = writer.value(messages if array is None else dict(fields))
    return f"{writer.blank()}{text}{writer.blank()}".encode()


def layouts(body: Any) -> Iterator[bytes]:
    """A body as the usual libraries write it."""
    ways: list[Callable[[Any], str]] = [
        json.dumps,
        lambda value: json.dumps(value, separators=(",", ":"), ensure_ascii=False),
        lambda value: json.dumps(value, indent=2, ensure_ascii=False),
        lambda value: json.dumps(value, separators=(",", ":")),
    ]
    for way in ways:
        yield way(body).encode()
