"""Hypothesis strategies for options, and for histories that are broken on purpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from histories import OTHER_NOTICE, Message, plain_histories
from sizes import body, body_chars, request_tokens
from support import cheap

Draw = Callable[[Any], Any]

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "search",
            "description": "Searches the notes.",
            "parameters": {
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "What to look for."},
                    "order": {"type": ["string", "null"], "enum": ["new", "old", None]},
                    "range": {"type": "object", "properties": {"from": {"type": "integer"}, "to": {"type": "integer"}}},
                    "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
                },
            },
        },
    },
    {"name": "bare", "input_schema": {"type": "object", "properties": {}}},
    {"type": "custom", "custom": {"name": "shell", "description": "Runs a command."}},
]


_words = st.sampled_from(["", "a", "type", "What to do.", "..", "日本語", "é.", "\ud800"])
_odd = st.sampled_from([None, 5, "text", [1], {}, True])


def _fields(**known: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A mapping with some of these keys, now and then with a value that makes no sense."""
    return st.fixed_dictionaries({}, optional={key: st.one_of(value, value, value, value, _odd) for key, value in known.items()})


_leaves = _fields(type=_words, description=_words, enum=st.lists(st.one_of(_words, st.integers(), st.none()), max_size=3))
_schemas = st.recursive(
    _leaves,
    lambda inner: _fields(
        type=st.one_of(_words, st.lists(_words, max_size=2)),
        description=_words,
        enum=st.lists(_words, max_size=2),
        properties=st.dictionaries(_words, inner, max_size=3),
        items=inner,
    ),
    max_leaves=8,
)
_functions = _fields(name=_words, description=_words, parameters=_schemas, input_schema=_schemas)
tools = st.lists(st.one_of(_functions, _fields(type=st.just("function"), function=_functions, custom=_functions)), max_size=3)
"""Tool schemas of every shape, nested and odd ones too."""


@st.composite
def options(draw: Draw, history: Sequence[Any], *, tokenizers: Sequence[str] = ("cheap",)) -> dict[str, Any]:
    """Options of the façade for ``history``: ceilings that matter for it, alone and together, and everything else."""
    chosen: dict[str, Any] = {}
    ceilings = draw(st.sets(st.sampled_from(["max_turns", "max_chars", "max_tokens", "max_chars_per_tool"]), min_size=1))
    if "max_turns" in ceilings:
        chosen["max_turns"] = draw(st.integers(1, len(body(history)) + 1))
    if "max_chars" in ceilings:
        chosen["max_chars"] = draw(st.integers(1, body_chars(history) + 60))
    if "max_tokens" in ceilings:
        chosen["tokenizer"] = draw(st.sampled_from(tokenizers))
        chosen["reserve_tokens"] = draw(st.sampled_from([0, 0, 1, 20]))
        chosen["max_tokens"] = chosen["reserve_tokens"] + draw(st.integers(1, request_tokens(history, cheap) + 30))
    elif draw(st.booleans()):
        chosen["tokenizer"] = draw(st.sampled_from(tokenizers))
    if "max_chars_per_tool" in ceilings:
        chosen["max_chars_per_tool"] = draw(st.one_of(st.integers(1, 20), st.integers(1, 60)))
        chosen["tool_keep"] = draw(st.sampled_from(["head", "tail", "head_tail"]))
    rest = {
        "start": st.sampled_from(["user", "any"]),
        "notice": st.sampled_from([None, OTHER_NOTICE, "", False]),
        "notice_role": st.sampled_from(["auto", "system", "user"]),
        "trim_to": st.sampled_from([0.25, 0.5, 0.7, 0.9, 0.999]),
        "on_overflow": st.sampled_from(["raise", "keep"]),
    }
    if not ceilings - {"max_chars_per_tool"}:
        del rest["trim_to"]
    for name, values in rest.items():
        if draw(st.integers(0, 2)) == 0:
            chosen[name] = draw(values)
    return chosen


@st.composite
def thena_options(draw: Draw, history: Sequence[Any]) -> dict[str, Any]:
    """Options that ``compat="thena"`` allows."""
    limits = {"max_turns": len(history) + 1, "max_chars": body_chars(history) + 5, "max_chars_per_tool": 40}
    chosen: dict[str, Any] = {name: draw(st.integers(0, most)) for name, most in limits.items() if draw(st.booleans())}
    return chosen | {"compat": "thena", "notice": draw(st.sampled_from([None, OTHER_NOTICE, "", False]))}


def cyclic() -> list[Any]:
    """A list that holds itself."""
    loop: list[Any] = []
    loop.append(loop)
    return loop


def nested(depth: int) -> list[Any]:
    """A list in a list in a list, ``depth`` deep."""
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def _call(**fields: Any) -> Message:
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}} | fields]}


def _said(**fields: Any) -> Message:
    return {"role": "assistant", "content": "x"} | fields


FUNCTION = "a mapping with a name"
ARGUMENTS = "a string or a JSON value"
OBJECT = "a mapping or an object with a role"
AT_ARGUMENTS = "tool_calls[0].function.arguments"
ROLES = "one of system, developer, user, assistant, tool, function"

BROKEN: list[tuple[str, Any, str, str, str]] = [
    # name, message, path, found, expected
    ("none", None, "", "NoneType", OBJECT),
    ("text", "hello", "", "str", OBJECT),
    ("bytes", b"hello", "", "bytes", OBJECT),
    ("number", 7, "", "int", OBJECT),
    ("list", [{"role": "user"}], "", "list", OBJECT),
    ("tuple", ("user", "hello"), "", "tuple", OBJECT),
    ("no role", {"content": "x"}, "role", "nothing", ROLES),
    ("null role", {"role": None, "content": "x"}, "role", "nothing", ROLES),
    ("number as role", {"role": 3, "content": "x"}, "role", "int", ROLES),
    ("unknown role", {"role": "usr", "content": "x"}, "role", "'usr'", ROLES),
    ("long role", {"role": "u" * 99, "content": "x"}, "role", "'" + "u" * 58 + "…", ROLES),
    ("number as content", {"role": "user", "content": 5}, "content", "int", "a string, a list of parts or null"),
    ("mapping as content", {"role": "user", "content": {"type": "text"}}, "content", "dict", "a string, a list of parts or null"),
    ("bytes as content", {"role": "user", "content": b"x"}, "content", "bytes", "a string, a list of parts or null"),
    ("number as part", {"role": "user", "content": ["x", 5]}, "content[1]", "int", "a string or a mapping"),
    ("null as part", {"role": "user", "content": [None]}, "content[0]", "NoneType", "a string or a mapping"),
    ("number as text", {"role": "user", "content": [{"type": "text", "text": 5}]}, "content[0].text", "int", "a string"),
    ("no text", {"role": "user", "content": [{"type": "text"}]}, "content[0].text", "nothing", "a string"),
    ("list as refusal part", _said(content=[{"type": "refusal", "refusal": []}]), "content[0].refusal", "list", "a string"),
    ("number as refusal", _said(refusal=1), "refusal", "int", "a string or null"),
    ("mapping as calls", _said(tool_calls={"id": "a"}), "tool_calls", "dict", "a list of calls or null"),
    ("text as calls", _said(tool_calls="a"), "tool_calls", "str", "a list of calls or null"),
    ("text as call", _said(tool_calls=["a"]), "tool_calls[0]", "str", "a mapping with function or custom"),
    ("null as call", _said(tool_calls=[None]), "tool_calls[0]", "NoneType", "a mapping with function or custom"),
    ("number as id", _call(id=7), "tool_calls[0].id", "int", "a string or null"),
    ("text as function", _call(function="f"), "tool_calls[0].function", "str", FUNCTION),
    ("number as function name", _call(function={"name": 1}), "tool_calls[0].function.name", "int", "a string"),
    ("text as custom", _said(tool_calls=[{"custom": "f"}]), "tool_calls[0].custom", "str", FUNCTION),
    ("set as input", _said(tool_calls=[{"custom": {"name": "f", "input": {1}}}]), "tool_calls[0].custom.input", "set", ARGUMENTS),
    ("bytes as arguments", _call(function={"name": "f", "arguments": b"{}"}), AT_ARGUMENTS, "bytes", ARGUMENTS),
    ("object in arguments", _call(function={"name": "f", "arguments": {"x": object()}}), AT_ARGUMENTS, "dict", ARGUMENTS),
    ("cycle in arguments", _call(function={"name": "f", "arguments": cyclic()}), AT_ARGUMENTS, "list", ARGUMENTS),
    ("deep arguments", _call(function={"name": "f", "arguments": nested(100_000)}), AT_ARGUMENTS, "list", ARGUMENTS),
    ("list as legacy call", _said(function_call=["f"]), "function_call", "list", FUNCTION),
    ("number as legacy name", _said(function_call={"name": 1}), "function_call.name", "int", "a string"),
    ("set as legacy arguments", _said(function_call={"name": "f", "arguments": {1}}), "function_call.arguments", "set", ARGUMENTS),
    ("number as result id", {"role": "tool", "tool_call_id": 7, "content": "x"}, "tool_call_id", "int", "a string or null"),
]
"""Each malformed message with the place, what stands there and what should (``docs/rules.md`` 1)."""

NAMELESS_CALL = ("call without function", _said(tool_calls=[{"id": "a"}]), "tool_calls[0]", "dict", "a mapping with function or custom")


@st.composite
def malformed(draw: Draw) -> list[Any]:
    """A history with at least one message that cannot be read."""
    messages: list[Any] = draw(plain_histories(max_segments=4))
    for _ in range(draw(st.integers(1, 2))):
        broken = draw(st.sampled_from([entry for entry in BROKEN if entry[0] != "deep arguments"]))[1]
        messages.insert(draw(st.integers(0, len(messages))), broken)
    return messages
