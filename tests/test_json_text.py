"""What is JSON and what is not: accepted and refused as ``json`` of Python does, with the place of what is wrong."""

from __future__ import annotations

import json
import pickle
from random import Random
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import backcut
from bodies import ENGINES, RefusedError, Writer, both_read_json, strict
from fuzz_json import fuzz
from support import CORE, TWIN, engine_window, outcome
from test_json_properties import every_engine
from wild import SEED

DEEPEST = 512


def refusal(engine: ModuleType, body: Any) -> tuple[int, str, str] | None:
    """Where a body is no JSON, what stands there and what should; ``None`` if it is JSON, whatever else is wrong with it."""
    kind, found = outcome(lambda: engine_window(engine, {}).trim_json(body, None))
    if kind != "JsonError":
        return None
    assert (found["index"], found["path"]) == (None, "")
    return found["offset"], found["found"], found["expected"]


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


SIGNS = [
    # name, body, offset
    ("nothing", b"", 0),
    ("blanks", b" \n\t\r ", 5),
    ("mark", b"\xef\xbb\xbf[]", 0),
    ("mark inside", b"[\xef\xbb\xbf]", 1),
    ("NUL", b"[]\x00", 2),
    ("NUL in front", b"\x00[]", 0),
    ("form feed", b"[1\x0c]", 1),
    ("vertical tab", b"[\x0b]", 1),
    ("no-break space", "[\u00a0]".encode(), 1),
    ("garbage", b"[] x", 3),
    ("two values", b"{}{}", 2),
    ("two numbers", b"[1 2]", 3),
    ("comma at the end", b"[1,]", 3),
    ("comma in front", b"[,1]", 1),
    ("comma in an object", b'{"a":1,}', 7),
    ("no comma", b'{"a":1"b":2}', 6),
    ("no colon", b'{"a" 1}', 5),
    ("comma for colon", b'{"a",1}', 4),
    ("no value", b'{"a":}', 5),
    ("no key", b"{1:2}", 1),
    ("single quotes", b"['a']", 1),
    ("wrong bracket", b"[}", 1),
    ("wrong bracket behind", b'{"a":1]', 6),
    ("open array", b"[1", 2),
    ("open object", b'{"a":1', 6),
    ("open in blanks", b"[ ", 2),
    ("behind a colon", b'{"a":', 5),
    ("comment", b"[1] // one", 4),
]
STRINGS = [
    ("open", b'["abc', 1),
    ("open key", b'{"abc', 1),
    ("open behind a backslash", b'["abc\\', 1),
    ("open behind an escaped quote", b'["abc\\"]', 1),
    ("line end", b'["a\nb"]', 3),
    ("NUL", b'["\x00"]', 2),
    ("unit separator", b'["\x1f"]', 2),
    ("line end in a key", b'{"a\n":1}', 3),
    ("escape", b'["a\\x"]', 3),
    ("escape in a key", b'{"\\a":1}', 2),
    ("short unicode", b'["\\u12"]', 2),
    ("no hexadecimal", b'["\\u12g4"]', 2),
    ("sign in unicode", b'["\\u+123"]', 2),
    ("blank in unicode", b'["\\u 123"]', 2),
    ("capital escape", b'["\\N"]', 2),
    ("escaped line end", b'["\\\n"]', 2),
    ("second of two", b'["\\n\\q"]', 4),
    ("the first flaw", b'["\\q\n"]', 2),
]
SCALARS = [
    (token, b"[0, %s]" % token.encode(), 4)
    for token in (
        *("tru", "True", "truex", "nul", "none", "NaN", "Infinity", "-Infinity", "-", "+1", "01", "-01", "00", "1.", ".5", "1.e5"),
        *("1e", "1e+", "0x10", "1_000", "1e5.5", "--1", "1\u0661", "\u0661", "é", "undefined", "1a", "t", "-a"),
    )
] + [("alone", b"tru", 0), ("NaN as value", b'{"a":NaN}', 5)]
UTF8 = [
    ("stray byte", b'["\xff"]', 2),
    ("continuation", b'["a\x80"]', 3),
    ("cut short", b'["\xe2\x82"]', 2),
    ("overlong", b'["\xc0\xaf"]', 2),
    ("surrogate", b'["\xed\xa0\x80"]', 2),
    ("beyond Unicode", b'["\xf4\x90\x80\x80"]', 2),
    ("outside of strings", b"[\xff]", 1),
    ("behind what is no JSON", b"[x] \xff", 4),
    ("at the end", b"[]\xc3", 2),
]
KEYS = [
    ("twice", b'{"a":1,"a":1}', 7),
    ("inside", b'[{"b":{"a":1, "a":2}}]', 14),
    ("escaped", b'{"a":1,"\\u0061":2}', 7),
    ("the first escaped", b'{"\\u0061":1,"a":2}', 12),
    ("both escaped", b'{"\\u00e9":1,"\\u00E9":2}', 12),
    ("pair", '{"\U0001f600":1,"\\ud83d\\ude00":2}'.encode(), 10),
    ("empty", b'{"":1,"":2}', 6),
    ("far apart", b'{"a":1,"b":{"a":3},"c":[{"a":4}],"a":5}', 33),
    (
        "among many",
        ("{" + ",".join(f'"k{k}":{k}' for k in range(40)) + ',"k7":0}').encode(),
        1 + sum(len(f'"k{k}":{k},') for k in range(40)),
    ),
    ("without a colon", b'{"a":1,"a"', 7),
]
DEPTHS = [
    ("arrays", nested(DEEPEST + 1), DEEPEST),
    ("objects", b'{"a":' * DEEPEST + b"[]", 5 * DEEPEST),
    ("far too deep", nested(100_000), DEEPEST),
    ("never closed", b"[" * 100_000, DEEPEST),
]
REFUSED = [
    pytest.param(body, offset, id=f"{kind}: {name}")
    for kind, table in (("sign", SIGNS), ("string", STRINGS), ("scalar", SCALARS), ("utf-8", UTF8), ("key", KEYS))
    for name, body, offset in table
]

TAKEN = [
    *(
        b"[]",
        b"{}",
        b" [ ] ",
        b"0",
        b"-0",
        b'""',
        b"null",
        b"true",
        b"[1e400,-1E-400,1.5,0.0,-0.0,0e0,1E+2]",
        b'["\\/\\"\\\\\\b\\f\\n\\r\\t\\u00e9"]',
    ),
    *(
        b'["\\ud800"]',
        b'["\\udc00\\ud800"]',
        b'["\\ud83d\\u0041"]',
        b'["\x7f"]',
        '["\u2028\ufeff\U0010ffff"]'.encode(),
        b'{"\\ud800":1,"\\ud801":2}',
    ),
    *(
        b'{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]}',
        b'{"a":1,"A":2," a":3,"a ":4}',
        b"[" + b"9" * 10_000 + b"]",
        b"[-" + b"1" * 5_000 + b".5]",
    ),
    *(nested(DEEPEST), b'{"a":' * DEEPEST + b"1" + b"}" * DEEPEST, b"[" + b"[]," * 5_000 + b"[]]"),
]


@every_engine
@pytest.mark.parametrize(("body", "offset"), REFUSED)
def test_what_is_no_json_is_refused_with_its_place(engine: ModuleType, body: bytes, offset: int) -> None:
    found = refusal(engine, body)
    assert found is not None
    assert found[0] == offset
    assert refusal(engine, bytearray(body)) == refusal(engine, memoryview(body)) == found
    with pytest.raises(RefusedError):
        strict(body)
    if found[2] != "UTF-8":
        assert refusal(engine, body.decode()) == found


@every_engine
@pytest.mark.parametrize(("body", "offset"), [entry[1:] for entry in DEPTHS], ids=[entry[0] for entry in DEPTHS])
def test_what_is_too_deep_is_refused(engine: ModuleType, body: bytes, offset: int) -> None:
    """At the first bracket too many, whatever stands behind."""
    assert refusal(engine, body) == (offset, "the 513th", "at most 512 levels of arrays and objects")


@every_engine
@pytest.mark.parametrize("body", TAKEN, ids=lambda body: repr(body[:40]))
def test_what_is_json_is_taken(engine: ModuleType, body: bytes) -> None:
    """Even if it is no request."""
    assert refusal(engine, body) is None
    strict(body)


@every_engine
@pytest.mark.parametrize(("text", "offset"), [('["\ud800"]', 2), ('["é\udfff"]', 4), ("\ud83d\ude00", 0), ("[] \ud800", 3)])
def test_a_text_with_half_a_pair(engine: ModuleType, text: str, offset: int) -> None:
    """Offsets are those of the UTF-8, which such a text does not have from there on."""
    found = refusal(engine, text)
    assert found is not None
    assert (found[0], found[2]) == (offset, "text that UTF-8 can say")


SMALL = '{"model": "é", "messages": [{"role": "user", "content": "a\\n\\ud83d\\ude00 \\" é"}, {"n": [-1.5e3, true]}], "x": {}}'.encode()


@every_engine
def test_cut_short_at_every_byte(engine: ModuleType) -> None:
    for end in range(len(SMALL)):
        body = SMALL[:end]
        found = refusal(engine, body)
        assert found is not None, body
        assert found[0] <= end
        with pytest.raises(RefusedError):
            strict(body)
    assert refusal(engine, SMALL) is None


@every_engine
def test_every_byte_changed(engine: ModuleType) -> None:
    """To each of the signs of JSON, and to some that are none."""
    for at in range(len(SMALL)):
        for sign in b'{}[]:,"\\ 0-e.u\n\x00\x7f\xc3\xff':
            judged(engine, SMALL[:at] + bytes([sign]) + SMALL[at + 1 :])


def judged(engine: ModuleType, body: bytes) -> None:
    """The engine and ``json`` say the same; places lie inside."""
    kind, _ = outcome(lambda: refusal(engine, body))
    assert kind == "answer"
    found = refusal(engine, body)
    try:
        strict(body)
    except RefusedError:
        assert found is not None, body
        assert 0 <= found[0] <= len(body)
        return
    assert found is None or "levels" in found[2], (found, body)


_TOKENS = [
    *('{"a":', '{"b": ', "[", "]", "}", ",", ":", '"', '"a"', '"\\u0061"', '"a":', "1", "-0", "1.5e-3", "01", "true", "null", "NaN", "\\"),
    *("\\u00", "\\ud83d", "\\n", " ", "\n", "\x0c", "\x00", "é", "😀", "\ufeff", "\u00a0", '{"messages":[{"role":"user","content":"x"}]}'),
]


@every_engine
@given(st.lists(st.sampled_from(_TOKENS), max_size=12).map("".join))
def test_any_signs(engine: ModuleType, text: str) -> None:
    judged(engine, text.encode())


@every_engine
@given(st.binary(max_size=12))
def test_any_bytes(engine: ModuleType, body: bytes) -> None:
    judged(engine, body)
    judged(engine, b'["' + body + b'"]')


@both_read_json
@pytest.mark.parametrize(("body", "offset"), REFUSED)
def test_core_and_twin_say_the_same(body: bytes, offset: int) -> None:
    assert refusal(CORE, body) == refusal(TWIN, body)  # type: ignore[arg-type]


@both_read_json
@given(st.lists(st.sampled_from(_TOKENS), max_size=12).map("".join))
def test_core_and_twin_say_the_same_of_any_signs(text: str) -> None:
    assert refusal(CORE, text.encode()) == refusal(TWIN, text.encode())  # type: ignore[arg-type]


@every_engine
@given(
    value=st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_whatever_is_written_can_be_read(engine: ModuleType, value: Any) -> None:
    for seed in range(3):
        text = Writer(Random(seed)).value(value)
        assert refusal(engine, text) is None
        json.loads(text)


def test_the_error() -> None:
    window = backcut.context_window(max_turns=2)
    with pytest.raises(backcut.JsonError) as caught:
        backcut.trim_json(b'{"messages": [tru]}', window)
    error = caught.value
    assert isinstance(error, backcut.FormatError)
    assert isinstance(error, ValueError)
    assert (error.offset, error.index, error.path, error.found, error.expected) == (14, None, "", "'t'", "a value")
    assert str(error) == "at byte 14: expected a value, found 't'"
    error.add_note("line 7")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is backcut.JsonError
    assert (str(again), vars(again)) == (str(error), vars(error))


def test_engines_are_asked() -> None:
    assert ENGINES


def test_damaged_bodies() -> None:
    """A piece of ``fuzz_json.py``: all outcomes are there, and none is wrong."""
    kinds = fuzz(SEED, rounds=400)
    assert {"answer", "JsonError", "FormatError"} <= set(kinds)
