"""What cannot be read is refused, with place and expectation; nothing is changed and nothing falls over."""

from __future__ import annotations

import pickle
import sys
import types
from collections import UserList
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

import backcut
from chat import call, pair, result, said, system, user
from choices import ARGUMENTS, BROKEN, NAMELESS_CALL, ROLES, cyclic, nested
from support import cheap, snapshot

TOO_DEEP = {"deep arguments", "cycle in arguments"}
everything_broken = pytest.mark.parametrize(
    ("name", "message", "path", "found", "expected"),
    [*BROKEN, NAMELESS_CALL],
    ids=[entry[0].replace(" ", "_") for entry in [*BROKEN, NAMELESS_CALL]],
)
OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "trim": lambda messages: backcut.trim(messages, max_chars=10_000, max_chars_per_tool=5, format="openai-chat"),
    "tokens": lambda messages: backcut.trim(messages, max_tokens=10_000, tokenizer=cheap, format="openai-chat"),
    "plan": lambda messages: backcut.context_window(max_chars=10_000, format="openai-chat").plan(messages),
    "count": lambda messages: backcut.count(messages, tokenizer=cheap, format="openai-chat"),
}
every_operation = pytest.mark.parametrize("operation", OPERATIONS)


@every_operation
@everything_broken
def test_broken_message(operation: str, name: str, message: Any, path: str, found: str, expected: str) -> None:
    history = [system(), user("one"), message, said("two"), user("three")]
    before = None if name in TOO_DEEP else snapshot(history)
    with pytest.raises(backcut.FormatError) as caught:
        OPERATIONS[operation](history)
    error = caught.value
    assert (error.index, error.path, error.found, error.expected) == (2, path, found, expected)
    assert str(error).startswith("messages[2]")
    assert expected in str(error)
    assert isinstance(error, ValueError)
    assert before is None or snapshot(history) == before
    assert history[2] is message


@everything_broken
def test_check_refuses_or_lists(name: str, message: Any, path: str, found: str, expected: str) -> None:
    """``check`` reads no arguments; whatever else it cannot read it refuses in the same words."""
    history = [user("one"), message]
    try:
        assert isinstance(backcut.check(history, format="openai-chat"), list)
    except backcut.FormatError as error:
        facts = (error.index, error.path, error.found, error.expected)
    else:
        return
    assert facts == (1, path, found, expected)


@pytest.mark.parametrize("where", [0, 1, 4])
def test_a_role_is_checked_wherever_it_stands(where: int) -> None:
    """Even far in front of the cut, where nothing else is read."""
    history: list[Any] = [user("x"), said("y"), user("x"), said("y"), user("x")]
    history[where] = {"role": "robot", "content": "z"}
    with pytest.raises(backcut.FormatError) as caught:
        backcut.trim(history, max_turns=1, format="openai-chat")
    assert (caught.value.index, caught.value.path, caught.value.found) == (where, "role", "'robot'")


def test_the_oldest_wrong_role_is_named_first() -> None:
    history = [user("x"), {"role": "a"}, {"role": "b"}, {"role": "user", "content": 5}]
    with pytest.raises(backcut.FormatError) as caught:
        backcut.trim(history, max_turns=9, format="openai-chat")
    assert (caught.value.index, caught.value.path) == (1, "role")


def test_of_two_wrong_fields_the_newest_message_and_the_first_row_are_named() -> None:
    wrong = {"role": "assistant", "content": 5, "tool_calls": "x"}
    with pytest.raises(backcut.FormatError) as caught:
        backcut.trim([user("x"), wrong, wrong], max_chars=9)
    assert (caught.value.index, caught.value.path) == (2, "content")


def test_what_lies_before_the_cut_is_not_read() -> None:
    history = [user("x"), {"role": "user", "content": 5}, said("y" * 50), user("z")]
    assert backcut.trim(history, max_chars=20, notice=False, start="any").messages == history[-1:]


def generator() -> Iterator[Any]:
    yield user()


CONTAINERS: list[Any] = [
    "text",
    b"bytes",
    bytearray(b"x"),
    memoryview(b"x"),
    {"messages": []},
    {1},
    None,
    5,
    iter([user()]),
    generator(),
    object(),
    user,
]


@every_operation
@pytest.mark.parametrize("container", CONTAINERS, ids=lambda container: type(container).__name__)
def test_container(operation: str, container: Any) -> None:
    if operation == "count" and isinstance(container, str):
        assert OPERATIONS[operation](container) == cheap(container), "count takes a text"
        return
    with pytest.raises(backcut.FormatError) as caught:
        OPERATIONS[operation](container)
    error = caught.value
    assert (error.index, error.path, error.found) == (None, "", type(container).__name__)
    assert error.expected.startswith("a sequence of messages")


@pytest.mark.parametrize("container", [CONTAINERS[0], CONTAINERS[4], None], ids=["str", "dict", "None"])
def test_check_container(container: Any) -> None:
    with pytest.raises(backcut.FormatError):
        backcut.check(container)


def test_a_generator_is_not_consumed() -> None:
    messages = generator()
    with pytest.raises(backcut.FormatError):
        backcut.trim(messages, max_turns=1)
    assert next(messages) == user()


@pytest.mark.parametrize("make", [list, tuple, UserList], ids=["list", "tuple", "UserList"])
def test_any_sequence_will_do(make: Callable[[Any], Any]) -> None:
    history = make([user("one"), said("two"), user("three")])
    assert list(backcut.trim(history, max_turns=1, notice=False).messages) == [user("three")]
    assert backcut.trim(history, max_turns=3).messages is history


def test_errors_pickle() -> None:
    with pytest.raises(backcut.FormatError) as caught:
        backcut.trim([{"role": "user", "content": 5}], max_chars=5)
    again = pickle.loads(pickle.dumps(caught.value))
    assert vars(again) == vars(caught.value)
    assert str(again) == str(caught.value)


# Structures that go on for ever, or very deep


@pytest.mark.parametrize("value", [cyclic(), nested(100_000), {"x": cyclic()}], ids=["cycle", "deep", "cycle_in_mapping"])
@pytest.mark.parametrize("field", ["arguments", "input", "legacy"])
def test_arguments_that_cannot_be_written_as_json(value: Any, field: str) -> None:
    turns = {
        "arguments": call("a", arguments=value),
        "input": said(None, tool_calls=[{"id": "a", "type": "custom", "custom": {"name": "f", "input": value}}]),
        "legacy": said(None, function_call={"name": "f", "arguments": value}),
    }
    paths = {"arguments": "tool_calls[0].function.arguments", "input": "tool_calls[0].custom.input", "legacy": "function_call.arguments"}
    with pytest.raises(backcut.FormatError) as caught:
        backcut.trim([user(), turns[field]], max_chars=100)
    assert (caught.value.index, caught.value.path, caught.value.expected) == (1, paths[field], ARGUMENTS)


def test_cycles_where_nothing_is_read() -> None:
    """Unknown keys and unknown parts may hold what they like."""
    loop = cyclic()
    message = {
        "role": "user",
        "content": [{"type": "odd", "payload": loop, "content": loop}, {"type": "image_url", "image_url": loop}],
        "extra": loop,
    }
    assert backcut.count([message], tokenizer=len) == 3 + 3 + 4 + 765
    assert backcut.trim([message], max_chars=5).messages == [message]


def test_a_message_that_holds_itself() -> None:
    message = user("hello")
    message["self"] = message
    history = [message, said("x" * 50), message]
    assert backcut.trim(history, max_turns=1, notice=False).messages[0] is message


@pytest.mark.parametrize("depth", [64, 65, 100_000])
def test_deep_tool_schema(depth: int) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"p": schema}}
    tools = [{"name": "fine"}, {"type": "function", "function": {"name": "f", "parameters": schema}}]
    if depth == 64:
        assert backcut.count([], tokenizer=len, tools=tools) > 0
        return
    with pytest.raises(backcut.FormatError) as caught:
        backcut.count([], tokenizer=len, tools=tools)
    assert caught.value.path == "tools[1]"


# Very long texts


def test_a_huge_text_is_never_tokenized() -> None:
    """200 MB: above 128 bytes for each token of the ceiling nothing is counted (it would take many seconds and the test's time limit)."""
    huge = "a" * 200_000_000
    history = [user(huge), said("so"), user("next")]
    sent, report = backcut.trim(history, max_tokens=1_000)
    assert list(sent[-2:]) != history[-2:] or sent[0] is not history[0]
    assert sent[-1] is history[-1]
    assert report.window_trimmed
    with pytest.raises(backcut.BudgetError) as caught:
        backcut.trim([user("q"), said("so"), user(huge)], max_tokens=1_000)
    assert (caught.value.ceiling, caught.value.limit, caught.value.index) == ("max_tokens", 1_000, 2)
    assert caught.value.needed >= len(huge) // 128
    sent = backcut.trim([user("q"), said("so"), user(huge)], max_tokens=1_000, on_overflow="keep")
    assert sent.report.over_budget
    assert sent.messages[-1]["content"] is huge


def test_a_huge_observation_is_capped() -> None:
    huge = "b" * 100_000_000
    sent = backcut.trim([user("q"), call("a"), result("a", huge)], max_chars_per_tool=1_000, max_tokens=2_000).messages
    assert len(sent[-1]["content"]) == 1_000


def test_a_huge_conversation_of_pairs() -> None:
    history = [user("q"), *(m for k in range(20_000) for m in pair("same", "x"))]
    assert len(backcut.trim(history, max_turns=11, notice=False).messages) == 11


# Objects with a will of their own


class Angry(Mapping[str, Any]):
    """A mapping that raises at the key it is told."""

    def __init__(self, at: str, data: dict[str, Any]) -> None:
        self.at, self.data = at, data

    def __getitem__(self, key: str) -> Any:
        if key == self.at:
            raise ZeroDivisionError(key)
        return self.data[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)


class Reluctant:
    """An object whose ``content`` raises."""

    role = "user"

    @property
    def content(self) -> str:
        raise ZeroDivisionError("content")


@pytest.mark.parametrize("message", [Angry("role", user()), Angry("content", user()), Reluctant()], ids=["role", "content", "attribute"])
def test_what_a_message_raises_comes_through(message: Any) -> None:
    history = [user("a"), message, user("b")]
    with pytest.raises(ZeroDivisionError):
        backcut.trim(history, max_chars=100)
    assert history == [user("a"), message, user("b")]


def test_a_quiet_mapping_is_read_like_a_dict() -> None:
    history = [Angry("nothing", user("a")), said("b"), Angry("nothing", user("c"))]
    assert backcut.trim(history, max_turns=1, notice=False).messages == [history[2]]


def test_an_object_without_role() -> None:
    with pytest.raises(backcut.FormatError) as caught:
        backcut.trim([types.SimpleNamespace(content="x")], max_turns=1)
    assert (caught.value.path, caught.value.found, caught.value.expected) == ("role", "nothing", ROLES)


# Tokenizers with a will of their own


class Meddler:
    """A tokenizer that changes the history while it is being read."""

    def __init__(self, history: list[Any], how: str) -> None:
        self.history, self.how, self.done = history, how, False

    def __call__(self, text: str) -> int:
        if not self.done and text.startswith("long"):
            self.done = True
            if self.how == "clear":
                self.history.clear()
            elif self.how == "append":
                self.history.extend([user("new")] * 1_000)
            elif self.how == "pop":
                del self.history[2:]
            elif self.how == "content":
                for message in self.history:
                    message["content"] = None
            else:
                self.history[:] = [7] * len(self.history)
        return len(text)


@pytest.mark.parametrize("how", ["clear", "append", "pop", "content", "replace"])
def test_mutation_during_the_call_does_no_harm(how: str) -> None:
    """The answer may be either history's, or an error: never a crash, never a hang, never a panic (which is no ``Exception``)."""
    history = [user("long " * k) for k in range(1, 40)]
    given = {id(message) for message in history}
    window = backcut.context_window(max_tokens=600, tokenizer=Meddler(history, how), notice=False)
    try:
        sent = list(window.trim(history).messages)
    except (ValueError, RuntimeError, IndexError):
        return
    assert sent
    assert all(id(message) in given or message in (user("new"), 7) for message in sent)


class NoNumberError(Exception):
    pass


def failing(text: str) -> int:
    raise NoNumberError(text)


def test_what_a_tokenizer_raises_comes_through_and_the_window_lives_on() -> None:
    angry = [True]

    def moody(text: str) -> int:
        return failing(text) if angry[0] else len(text)

    window = backcut.context_window(max_tokens=30, tokenizer=moody)
    history = [user("a" * 10), said("b" * 10), user("c" * 10)]
    before = snapshot(history)
    with pytest.raises(NoNumberError):
        window.trim(history)
    assert snapshot(history) == before
    angry[0] = False
    assert window.trim(history).messages == [history[-1]]
    with pytest.raises(NoNumberError):
        backcut.count("x", tokenizer=failing)


@pytest.mark.parametrize("nonsense", [-1, None, "5", 2.5, [1], 2**80], ids=repr)
def test_a_tokenizer_that_answers_nonsense(nonsense: Any) -> None:
    """Refused as what it is, or (a number that is only large) taken at its word; never counted as if it were right."""
    history = [user("a"), said("b"), user("c")]
    with pytest.raises((backcut.BackcutError, TypeError, ValueError, OverflowError)):
        backcut.trim(history, max_tokens=30, tokenizer=lambda text: nonsense)


def test_recursion_is_left_as_it_was() -> None:
    limit = sys.getrecursionlimit()
    with pytest.raises(backcut.FormatError):
        backcut.trim([user(), call("a", arguments=nested(100_000))], max_chars=100)
    assert sys.getrecursionlimit() == limit


@pytest.mark.parametrize(("beside", "path"), [({"tools": 5}, "tools"), ({"tools": [3]}, "tools[0]"), ({"system": 5}, "system")])
def test_what_is_wrong_beside_the_messages_is_not_said_to_be_in_them(beside: dict[str, Any], path: str) -> None:
    with pytest.raises(backcut.FormatError) as caught:
        backcut.trim([{"role": "user", "content": "hi"}], max_tokens=100, tokenizer=cheap, **beside)
    assert (caught.value.index, caught.value.path) == (None, path)
    assert str(caught.value).startswith(f"{path}: expected ")
