"""Values that are counted as compact JSON: the core makes it, or only measures it, and is right to the character."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import backcut

TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.text('ab"\\\n\r\t\b\f\x00\x0b\x1f\x7f é→😀', max_size=200)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=5) | st.lists(inner, max_size=3).map(tuple) | st.dictionaries(TEXTS, inner, max_size=5),
    max_leaves=20,
)


def json_of(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def size(value: Any) -> tuple[int, int]:
    """Characters and tokens, each a character, of an argument: first measured alone, then made."""
    history = [
        {"role": "user", "content": "task"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": value}]},
    ]
    bare = [history[0], {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f"}]}]
    measured = [backcut.trim(messages, format="anthropic", max_chars=10**9).report.chars_sent for messages in (history, bare)]
    made = [backcut.trim(messages, format="anthropic", max_tokens=10**9, tokenizer=len).report.tokens_sent for messages in (history, bare)]
    assert made[0] is not None
    assert made[1] is not None
    return measured[0] - measured[1], made[0] - made[1]


@given(VALUES)
def test_any_plain_value(value: Any) -> None:
    value = {"value": value}
    assert size(value) == (len(json_of(value)),) * 2


@pytest.mark.parametrize("escaped", [chr(byte) for byte in range(0x20)] + ['"', "\\", "\x7f", "\u2028"])
@pytest.mark.parametrize("before", [0, 1, 7, 8, 15, 16, 63, 64, 100])
def test_each_escape_in_each_place(escaped: str, before: int) -> None:
    value = {"a" * before + escaped + "b" * 20: "c" * before + escaped * 3 + "d" * (before // 2)}
    assert size(value) == (len(json_of(value)),) * 2


@pytest.mark.parametrize(
    "value",
    [
        {1: "int", 2.5: "float", None: "null", False: "bool"},
        {"big": 10**30, "small": -(10**30), "least": -(2**63), "most": 2**63 - 1, "more": 2**63},
        {"floats": [1e16, 1e-7, -0.0, 0.1, 1e308, 5e-324]},
        {"subclass": type("Words", (str,), {})("said")},
        {"flags": [True, False, None], "empty": [{}, [], (), ""]},
        {"surrogate": "\ud800"},
    ],
    ids=lambda value: str(next(iter(value))),
)
def test_what_is_left_to_json(value: Any) -> None:
    assert size(value) == (len(json_of(value)),) * 2


def test_deep_values() -> None:
    value: Any = {"end": 1}
    for _ in range(200):
        value = {"in": [value]}
    assert size(value) == (len(json_of(value)),) * 2
