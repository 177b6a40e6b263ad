"""Edited copies: only what changes is new, whatever the message is made of, and the original is never touched."""

from __future__ import annotations

import collections
import copy
import dataclasses
import types
from typing import Any, NamedTuple

import pytest

import backcut
from backcut import Edit, FormatError, Notice, PartCut, Plan, TrimReport
from backcut.edit import apply_plan, edit_message, fold_notice, says_first, with_field
from support import get, snapshot

MARKER = "\n… [truncated]"
WHOLE = (PartCut(("content",), 3, 0, MARKER, False),)
CUTS = (
    PartCut(("content", 1, "text"), 2, 1, "--", False),
    PartCut(("content", 3), 0, 6, "", False),
    PartCut(("content", 4), 0, 0, "", True),
)
LONG = "abcdefghij" * 3


@dataclasses.dataclass
class Loose:
    role: str
    content: Any
    extra: list[int]


@dataclasses.dataclass(frozen=True)
class Frozen:
    role: str
    content: Any
    extra: list[int]


@dataclasses.dataclass(frozen=True, slots=True)
class FrozenSlots:
    role: str
    content: Any
    extra: list[int]


class Named(NamedTuple):
    role: str
    content: Any
    extra: list[int]


class Watched:
    """A class whose constructor and ``__setattr__`` do more than they should."""

    made = 0

    def __init__(self, role: str, content: Any, extra: list[int]) -> None:
        type(self).made += 1
        self.__dict__.update(role=role, content=content, extra=extra)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("frozen")


class Slotted:
    __slots__ = ("content", "extra", "role")

    def __init__(self, role: str, content: Any, extra: list[int]) -> None:
        self.role, self.content, self.extra = role, content, extra


class Replaced:
    """Frozen in its own way, with the way out that Python 3.13 names."""

    __slots__ = ("_fields",)

    def __init__(self, role: str, content: Any, extra: list[int]) -> None:
        self._fields = {"role": role, "content": content, "extra": extra}

    role = property(lambda self: self._fields["role"])
    content = property(lambda self: self._fields["content"])
    extra = property(lambda self: self._fields["extra"])

    def __replace__(self, **changes: Any) -> Replaced:
        return Replaced(**(self._fields | changes))


class Titled(dict[str, Any]):
    pass


def plain(role: str, content: Any, extra: list[int]) -> dict[str, Any]:
    return {"role": role, "content": content, "extra": extra}


def proxy(role: str, content: Any, extra: list[int]) -> types.MappingProxyType[str, Any]:
    return types.MappingProxyType(plain(role, content, extra))


def titled(role: str, content: Any, extra: list[int]) -> Titled:
    return Titled(plain(role, content, extra))


def user_dict(role: str, content: Any, extra: list[int]) -> collections.UserDict[str, Any]:
    return collections.UserDict(plain(role, content, extra))


def namespace(role: str, content: Any, extra: list[int]) -> types.SimpleNamespace:
    return types.SimpleNamespace(role=role, content=content, extra=extra)


def pydantic_model(role: str, content: Any, extra: list[int]) -> Any:
    pydantic = pytest.importorskip("pydantic")

    class Strict(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(frozen=True, extra="forbid", revalidate_instances="always")
        role: str
        content: Any
        extra: Any

    return Strict(role=role, content=content, extra=None).model_copy(update={"extra": extra})


def attrs_frozen(role: str, content: Any, extra: list[int]) -> Any:
    attrs = pytest.importorskip("attrs")
    return attrs.make_class("Attrs", ["role", "content", "extra"], frozen=True, slots=True)(role, content, extra)


KINDS = [
    plain,
    proxy,
    titled,
    user_dict,
    Loose,
    Frozen,
    FrozenSlots,
    Named,
    Watched,
    Slotted,
    Replaced,
    namespace,
    pydantic_model,
    attrs_frozen,
]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


@every_kind
def test_a_string_content_is_cut_in_a_copy(kind: Any) -> None:
    extra = [1, 2]
    message = kind("tool", LONG, extra)
    before = snapshot(message)
    twin = edit_message(message, WHOLE)
    assert twin is not message
    assert get(twin, "content") == f"abc{MARKER}"
    assert get(twin, "role") == "tool"
    assert get(twin, "extra") is extra
    assert get(message, "content") == LONG
    assert snapshot(message) == before


@every_kind
def test_a_part_is_cut_in_a_copy_and_the_others_are_shared(kind: Any) -> None:
    image = {"type": "image_url", "image_url": {"url": "…"}}
    cached = {"type": "text", "text": LONG, "cache_control": image}
    parts = [{"type": "text", "text": "kept"}, cached, image, "a plain string", {"type": "text", "text": "behind"}]
    message = kind("tool", parts, [1])
    before = snapshot(message)
    twin = edit_message(message, CUTS)
    content = get(twin, "content")
    assert content == [parts[0], {"type": "text", "text": "ab--j", "cache_control": image}, image, "string"]
    assert content[0] is parts[0]
    assert content[2] is image
    assert content[1]["cache_control"] is image
    assert snapshot(message) == before


@dataclasses.dataclass(frozen=True)
class TextPart:
    text: str
    type: str = "text"


@pytest.mark.parametrize("make", [dict, TextPart, types.SimpleNamespace, lambda text: types.MappingProxyType({"text": text})])
def test_parts_may_be_of_any_kind(make: Any) -> None:
    part, other = make(text=LONG), make(text="other")
    twin = edit_message({"role": "tool", "content": [other, part]}, (PartCut(("content", 1, "text"), 1, 1, "…", False),))
    assert get(twin["content"][1], "text") == "a…j"
    assert twin["content"][0] is other
    assert get(part, "text") == LONG


@every_kind
def test_a_notice_is_folded_into_a_copy(kind: Any) -> None:
    part = {"type": "text", "text": "hello"}
    for content, expected in (
        ("hello", "NOTE\n\nhello"),
        ("", "NOTE\n\n"),
        (None, "NOTE"),
        ([part], [{"type": "text", "text": "NOTE"}, part]),
    ):
        message = kind("user", content, [1])
        before = snapshot(message)
        twin = fold_notice(message, "NOTE")
        assert get(twin, "content") == expected
        assert get(twin, "role") == "user"
        assert snapshot(message) == before
        if isinstance(content, list):
            assert get(twin, "content")[1] is part


def test_the_kind_of_message_stays() -> None:
    for kind in KINDS:
        if kind in (pydantic_model, attrs_frozen):
            continue
        message = kind("tool", LONG, [])
        expected = dict if kind in (proxy, user_dict) else type(message)
        assert type(edit_message(message, WHOLE)) is expected


def test_pydantic_models_stay_models_and_are_not_validated() -> None:
    pydantic = pytest.importorskip("pydantic")
    validated: list[Any] = []

    class Message(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(extra="allow", validate_assignment=True)
        role: str
        content: str

        @pydantic.field_validator("content")
        @classmethod
        def seen(cls, value: str) -> str:
            validated.append(value)
            return value

    message = Message(role="tool", content=LONG, note=[1])
    twin = edit_message(message, WHOLE)
    assert type(twin) is Message
    assert twin.model_dump() == {"role": "tool", "content": f"abc{MARKER}", "note": [1]}
    assert twin.note is message.note
    assert message.content == LONG
    assert validated == [LONG]


def test_no_constructor_runs() -> None:
    message = Watched("tool", LONG, [])
    made = Watched.made
    edit_message(message, WHOLE)
    assert Watched.made == made


def test_an_object_that_keeps_its_fields_elsewhere_is_not_changed_through_its_copy() -> None:
    class Elsewhere:
        def __init__(self) -> None:
            self.__dict__["fields"] = {"role": "tool", "content": LONG}

        def __getattr__(self, name: str) -> Any:
            try:
                return self.__dict__["fields"][name]
            except KeyError:
                raise AttributeError(name) from None

        def __setattr__(self, name: str, value: object) -> None:
            self.__dict__["fields"][name] = value

    message = Elsewhere()
    twin = edit_message(message, WHOLE)
    assert twin.content == f"abc{MARKER}"
    assert message.content == LONG


def test_tuples_of_parts_stay_tuples() -> None:
    parts = ({"type": "text", "text": LONG}, "other")
    twin = edit_message({"role": "tool", "content": parts}, (PartCut(("content", 0, "text"), 1, 0, "", False),))
    assert twin["content"] == ({"type": "text", "text": "a"}, "other")
    assert fold_notice({"role": "user", "content": parts}, "N")["content"] == ({"type": "text", "text": "N"}, *parts)


@pytest.mark.parametrize(
    ("head", "tail", "marker", "expected"),
    [
        (0, 0, "", ""),
        (0, 0, "M", "M"),
        (2, 0, "M", "abM"),
        (0, 2, "M", "Mij"),
        (2, 2, "M", "abMij"),
        (10, 0, "", "abcdefghij"),
        (0, 10, "", "abcdefghij"),
    ],
)
def test_what_stays_of_a_text(head: int, tail: int, marker: str, expected: str) -> None:
    assert edit_message({"content": "abcdefghij"}, (PartCut(("content",), head, tail, marker, False),)) == {"content": expected}


def test_code_points_are_counted_in_the_text_as_it_is() -> None:
    text = "\ud83dé\U0001f600\udc00z"
    twin = edit_message({"content": text}, (PartCut(("content",), 3, 2, "|", False),))
    assert twin["content"] == "\ud83dé\U0001f600|\udc00z"


def test_the_order_of_keys_stays() -> None:
    twin = edit_message({"role": "tool", "content": LONG, "tool_call_id": "a"}, WHOLE)
    assert list(twin) == ["role", "content", "tool_call_id"]


# Plans.


def report(messages: int, **changes: Any) -> TrimReport:
    values: dict[str, Any] = dict.fromkeys(TrimReport._fields, 0)
    return TrimReport(**(values | {"messages_original": messages, "format": "openai-chat"} | changes))


HISTORY: list[Any] = [
    {"role": "system", "content": "S"},
    {"role": "user", "content": "old"},
    {"role": "user", "content": "new"},
    {"role": "tool", "content": LONG},
]


def test_a_plan_without_changes_gives_the_history_itself() -> None:
    plan = Plan((0, 1, 2, 3), (), None, report(4))
    assert plan.apply(HISTORY) is HISTORY
    as_tuple = tuple(HISTORY)
    assert apply_plan(plan, as_tuple) is as_tuple


def test_a_plan_keeps_edits_and_places_a_notice() -> None:
    before = snapshot(HISTORY)
    plan = Plan((0, 2, 3), (Edit(3, WHOLE),), Notice("cut", "system", 1, False), report(4))
    result = plan.apply(HISTORY)
    assert result == [HISTORY[0], {"role": "system", "content": "cut"}, HISTORY[2], {"role": "tool", "content": f"abc{MARKER}"}]
    assert type(result) is list
    assert result[0] is HISTORY[0]
    assert result[2] is HISTORY[2]
    assert snapshot(HISTORY) == before


def test_a_plan_folds_a_notice() -> None:
    before = snapshot(HISTORY)
    result = apply_plan(Plan((0, 2, 3), (), Notice("cut", "user", 1, True), report(4)), tuple(HISTORY))
    assert result == [HISTORY[0], {"role": "user", "content": "cut\n\nnew"}, HISTORY[3]]
    assert result[2] is HISTORY[3]
    assert snapshot(HISTORY) == before


def test_a_plan_with_an_edit_alone_gives_a_new_list() -> None:
    result = apply_plan(Plan((0, 1, 2, 3), (Edit(3, WHOLE),), None, report(4)), tuple(HISTORY))
    assert type(result) is list
    assert [a is b for a, b in zip(result, HISTORY, strict=True)] == [True, True, True, False]


def test_a_plan_for_another_history_is_refused() -> None:
    plan = Plan((0, 1, 2, 3), (), None, report(4))
    with pytest.raises(FormatError, match="expected the planned history of 4 messages, found 3 messages"):
        plan.apply(HISTORY[:3])
    with pytest.raises(ValueError, match="found 5 messages"):
        plan.apply([*HISTORY, HISTORY[0]])


# Copies that are none, and look-ups that change what they look at


class SharesItsNamespace:
    """As models of pydantic 1 do: ``copy.copy`` gives a twin with the same ``__dict__``."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__ = fields

    def __reduce__(self) -> Any:
        return object.__new__, (SharesItsNamespace,), self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        object.__setattr__(self, "__dict__", state)


class CopiesToItself(SharesItsNamespace):
    def __copy__(self) -> CopiesToItself:
        return self


def test_a_copy_that_shares_its_namespace_leaves_the_original_alone() -> None:
    thing = SharesItsNamespace(role="tool", content="long " * 100)
    assert copy.copy(thing).__dict__ is thing.__dict__
    edited = with_field(thing, "content", "short")
    assert (edited.content, edited.role, thing.content) == ("short", "tool", "long " * 100)


def test_what_cannot_be_copied_is_refused_and_not_changed() -> None:
    thing = CopiesToItself(role="tool", content="long")
    with pytest.raises(backcut.FormatError, match="an object that can be copied"):
        with_field(thing, "content", "short")
    assert thing.content == "long"


def test_reading_puts_nothing_into_a_mapping() -> None:
    """A look-up of a ``defaultdict`` makes what it does not find."""
    inner: Any = collections.defaultdict(lambda: None, role="user", content="hi")
    for message in (types.MappingProxyType(inner), collections.ChainMap({}, inner), collections.UserDict(inner)):
        assert backcut.trim([message], max_tokens=100, tokenizer=len).report.chars_sent == 2
        assert dict(inner) == {"role": "user", "content": "hi"}


def test_a_text_deep_inside_is_cut_and_all_beside_it_is_shared() -> None:
    beside = {"type": "image"}
    block = {"type": "tool_result", "content": [beside, {"type": "text", "text": LONG}, "gone"], "tool_use_id": "a"}
    message = types.SimpleNamespace(role="user", content=(block, beside))
    before = snapshot(message)
    cuts = (
        PartCut(("content", 0, "content", 1, "text"), 1, 1, "…", False),
        PartCut(("content", 0, "content", 2), 0, 0, "", True),
        PartCut(("content", 1), 0, 0, "", True),
    )
    twin = edit_message(message, cuts)
    assert twin.content == ({"type": "tool_result", "content": [beside, {"type": "text", "text": "a…j"}], "tool_use_id": "a"},)
    assert twin.content[0]["content"][0] is beside
    assert snapshot(message) == before


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("response", {"a": 1, "b": "ü"}, {"output": '{"a":…}'}),
        ("json", [1, 2, 3, 4], {"output": "[1,2,…]"}),
        ("content", {"a": 1, "b": 2}, '{"a":…}'),
        ("response", "a text!", "a tex…!"),
    ],
)
def test_what_is_no_text_is_cut_as_json(key: str, value: Any, expected: Any) -> None:
    message = {"parts": [{key: value}]}
    assert edit_message(message, (PartCut(("parts", 0, key), 5, 1, "…", False),)) == {"parts": [{key: expected}]}
    assert message == {"parts": [{key: value}]}


@pytest.mark.parametrize(
    ("format", "message", "expected"),
    [
        ("anthropic", {"content": "q"}, {"content": "N\n\nq"}),
        ("anthropic", {"content": ["x"]}, {"content": [{"type": "text", "text": "N"}, "x"]}),
        ("openai-responses", {"content": ["x"]}, {"content": [{"type": "input_text", "text": "N"}, "x"]}),
        ("bedrock", {"content": [{"text": "q"}]}, {"content": [{"text": "N"}, {"text": "q"}]}),
        ("gemini", {"parts": [{"text": "q"}]}, {"parts": [{"text": "N"}, {"text": "q"}]}),
        ("gemini", {"parts": None}, {"parts": [{"text": "N"}]}),
        ("pi", {"role": "user", "content": "q"}, {"role": "user", "content": "N\n\nq"}),
        (
            "pi",
            {"type": "message", "message": {"content": []}},
            {"type": "message", "message": {"content": [{"type": "text", "text": "N"}]}},
        ),
        ("langchain", {"type": "human", "data": {"content": "q"}}, {"type": "human", "data": {"content": "N\n\nq"}}),
        ("langchain", {"lc": 1, "kwargs": {"content": ["q"]}}, {"lc": 1, "kwargs": {"content": [{"type": "text", "text": "N"}, "q"]}}),
        ("langchain", {"type": "human", "content": "q", "data": {}}, {"type": "human", "content": "N\n\nq", "data": {}}),
        (
            "pydantic-ai",
            {"parts": [{"part_kind": "system-prompt", "content": "s"}, {"part_kind": "user-prompt", "content": ["q"]}]},
            {"parts": [{"part_kind": "system-prompt", "content": "s"}, {"part_kind": "user-prompt", "content": ["N", "q"]}]},
        ),
    ],
)
def test_a_notice_is_folded_where_the_format_has_its_texts(format: str, message: Any, expected: Any) -> None:
    before = snapshot(message)
    twin = fold_notice(message, "N", format)
    assert twin == expected
    assert snapshot(message) == before
    assert says_first(twin, "N", format)
    assert not says_first(message, "N", format)


def test_a_block_is_of_the_kind_of_its_neighbour() -> None:
    class Picky:
        def __init__(self, *, text: str) -> None:
            raise ValueError

    twin = fold_notice({"role": "user", "content": [TextPart("q")]}, "N", "anthropic")
    assert twin["content"] == [TextPart("N"), TextPart("q")]
    for odd in (Picky.__new__(Picky), types.SimpleNamespace(text="q", type="text"), object()):
        block = fold_notice({"parts": [odd]}, "N", "gemini")["parts"][0]
        assert get(block, "text") == "N"
