"""LangChain, its objects and what they are written to, each rule by a case worked out by hand (``docs/formats/langchain.md``)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

import backcut
from agreement import agree
from chat import text_part
from engines import ENGINES
from pictures import PICTURE, png, wav
from pictures import text as encoded
from support import DEFAULT_NOTICE, cheap, engine_window, needs_both, snapshot
from wires import langchain as judge

Message = dict[str, Any]
LONG = len(DEFAULT_NOTICE)
MARKER = "\n… [truncated]"
IMAGE = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
NOTE = text_part(DEFAULT_NOTICE)


def human(content: Any = "task", **more: Any) -> Message:
    return {"type": "human", "content": content, **more}


def ai(content: Any = "done", **more: Any) -> Message:
    return {"type": "ai", "content": content, "tool_calls": [], "invalid_tool_calls": [], "additional_kwargs": {}, **more}


def system(content: Any = "You are terse.") -> Message:
    return {"type": "system", "content": content}


def tool(call_id: Any, content: Any = "result", **more: Any) -> Message:
    return {"type": "tool", "content": content, "tool_call_id": call_id, "name": "f", "artifact": {"raw": "x" * 99}, **more}


def a_call(call_id: Any, args: Any = None) -> Message:
    return {"name": "f", "args": {} if args is None else args, "id": call_id, "type": "tool_call"}


def an_invalid_call(call_id: Any) -> Message:
    return {"name": "f", "args": '{"x": ', "id": call_id, "error": "no JSON", "type": "invalid_tool_call"}


def a_function(call_id: Any) -> Message:
    return {"id": call_id, "type": "function", "function": {"name": "f", "arguments": "{}"}}


def a_block(call_id: Any) -> Message:
    return {"type": "tool_use", "id": call_id, "name": "f", "input": {}}


def call(*ids: Any) -> Message:
    return ai("", tool_calls=[a_call(call_id) for call_id in ids])


def pair(call_id: str, text: Any = "result") -> list[Message]:
    return [call(call_id), tool(call_id, text)]


LEGACY = ai("", additional_kwargs={"function_call": {"name": "f", "arguments": "{}"}})
FUNCTION = {"type": "function", "name": "f", "content": "result"}

CLASSES = {"human": "HumanMessage", "ai": "AIMessage", "system": "SystemMessage", "tool": "ToolMessage", "function": "FunctionMessage"}


def plain(message: Message) -> Message:
    return message


def stored(message: Message) -> Message:
    return {"type": message["type"], "data": message}


def constructed(message: Message) -> Message:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", CLASSES[message["type"]]], "kwargs": message}


def by_role(message: Message) -> Message:
    return {"role": message["type"]} | {key: value for key, value in message.items() if key != "type"}


def an_object(message: Message) -> Any:
    return SimpleNamespace(**({"name": None, "id": None, "response_metadata": {"much": "x" * 99}} | message))


every_form = pytest.mark.parametrize(
    ("wrap", "path"), [(plain, ()), (stored, ("data",)), (constructed, ("kwargs",)), (by_role, ()), (an_object, ())]
)


def plan(messages: list[Any], **options: Any) -> backcut.Plan:
    return backcut.context_window(format="langchain", **options).plan(messages)


def kept(messages: list[Any], **options: Any) -> tuple[int, ...]:
    return plan(messages, **({"notice": False} | options)).kept


def trimmed(messages: list[Any], **options: Any) -> backcut.Trimmed[list[Any]]:
    before = snapshot(messages)
    result = backcut.trim(messages, format="langchain", **options)
    assert snapshot(messages) == before
    return result


def size(messages: list[Any]) -> int:
    return backcut.count(messages, format="langchain", tokenizer=len)


def chars(*messages: Any) -> int:
    return backcut.trim(list(messages), format="langchain").report.chars_sent


def found(*messages: Any) -> list[tuple[str, int, tuple[str, ...]]]:
    return [(each.code, each.index, each.ids) for each in backcut.check(list(messages), format="langchain")]


# Sizes


@pytest.mark.parametrize(
    ("message", "chars_of_it", "tokens"),
    [
        (human("hello"), 5, 4 + 5),
        (human("hello", name="bob", id="run-1"), 5, 4 + 5 + 1 + 3),
        (human([text_part("hello"), "you", IMAGE]), 8, 4 + 8 + 765),
        (human([{"type": "image_url", "image_url": {"url": PICTURE}}]), 0, 4 + 85 + 340),
        (human([{"type": "image", "base64": encoded(png(100, 100)), "mime_type": "image/png"}]), 0, 4 + 85 + 170),
        (human([{"type": "image", "source_type": "base64", "data": encoded(png(100, 100))}]), 0, 4 + 85 + 170),
        (human([{"type": "image", "source": {"type": "base64", "data": encoded(png(100, 100))}}]), 0, 4 + 85 + 170),
        (human([{"type": "audio", "base64": encoded(wav(0.25, 100))}, {"type": "file", "file": {"file_id": "x"}}]), 0, 4 + 3 + 1500),
        (ai("hello"), 5, 9 + 5),
        (ai(None), 0, 9),
        (ai("", tool_calls=[a_call("a", {"x": "é"})]), 9, 9 + 3 + 1 + 9),
        (ai("", tool_calls=[a_call("a")], invalid_tool_calls=[an_invalid_call("b")]), 2 + 6, 9 + 4 + 2 + 4 + 6),
        (ai("", tool_calls=[a_function("a")]), 2, 9 + 4 + 2),
        (ai("", additional_kwargs={"tool_calls": [a_function("a")]}), 2, 9 + 4 + 2),
        (ai("", tool_calls=[a_call("a")], additional_kwargs={"tool_calls": [a_function("a")]}), 2, 9 + 4 + 2),
        (LEGACY, 2, 9 + 4 + 2),
        (ai([text_part("x"), a_block("a")], tool_calls=[a_call("a")]), 1 + 2, 9 + 1 + 4 + 2),
        (ai([text_part("x"), a_block("a")]), 1 + 2, 9 + 1 + 4 + 2),
        (ai([{"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}]), 2, 9 + 4 + 2),
        (ai([{"type": "thinking", "thinking": "hmm", "signature": "sig!"}]), 3, 9 + 3 + 4),
        (ai([{"type": "redacted_thinking", "data": "sealed"}]), 0, 9 + 6),
        (ai([{"type": "reasoning", "reasoning": "hmm", "extras": {"signature": "sig!"}}]), 3, 9 + 3 + 4),
        (ai([{"type": "reasoning", "summary": [text_part("hmm")], "encrypted_content": "sealed"}]), 3, 9 + 3 + 6),
        (ai([{"type": "reasoning_content", "reasoning_content": {"text": "hmm", "signature": "sig!"}}]), 3, 9 + 3 + 4),
        (ai([{"type": "refusal", "refusal": "no"}, {"type": "wonder", "text": "well"}]), 6, 9 + 6),
        (tool("a", "hello"), 5, 4 + 3 + 5),
        (tool("a", ["one", text_part("two"), IMAGE]), 6, 4 + 3 + 6 + 765),
        (FUNCTION, 6, 8 + 3 + 6),
    ],
)
def test_size(message: Message, chars_of_it: int, tokens: int) -> None:
    for wrap in (plain, stored, constructed, by_role, an_object):
        assert size([wrap(message)]) == 3 + 3 + tokens
        assert chars(human("q"), wrap(message)) == 1 + chars_of_it


@pytest.mark.parametrize(
    ("message", "role"),
    [
        ({"type": "HumanMessageChunk", "content": "x"}, "user"),
        ({"type": "AIMessageChunk", "content": "x"}, "assistant"),
        ({"role": "user", "content": "x"}, "user"),
        ({"role": "assistant", "content": "x"}, "assistant"),
        ({"role": "developer", "content": "x"}, "developer"),
        ({"type": "chat", "role": "assistant", "content": "x"}, "assistant"),
        ({"type": "ChatMessageChunk", "role": "system", "content": "x"}, "system"),
        ({"type": "generic", "data": {"role": "critic", "content": "x"}}, "user"),
        ({"lc": 1, "id": ["langchain_core", "messages", "AIMessageChunk"], "kwargs": {"content": "x"}}, "assistant"),
    ],
)
def test_kinds_and_their_roles(message: Message, role: str) -> None:
    assert size([message]) == 3 + 3 + len(role) + 1


# Groups


@every_form
def test_a_call_and_its_results_are_one_group(wrap: Callable[[Message], Any], path: tuple[str, ...]) -> None:
    valid, invalid = a_call("a"), an_invalid_call("b")
    messages = [human("q"), ai("", tool_calls=[valid], invalid_tool_calls=[invalid]), tool("b"), tool("a"), ai("so")]
    history = [wrap(each) for each in messages]
    assert found(*history) == []
    assert [kept(history, max_turns=n, start="any") for n in (1, 3, 4)] == [(4,), (4,), (1, 2, 3, 4)]
    assert found(*history[:3]) == [("pending_call", 1, ("a",))]


@pytest.mark.parametrize("more", [{"additional_kwargs": {"tool_calls": [a_function("a")]}}, {"tool_calls": [a_function("a")]}])
def test_calls_as_the_provider_gave_them(more: Message) -> None:
    messages = [human("q"), ai("", **more), tool("a"), ai("so")]
    assert found(*messages) == []
    assert found(*messages[:2], human("r")) == [("unanswered_call", 1, ("a",))]


def test_functions_are_a_family_of_their_own() -> None:
    messages = [human("q"), LEGACY, FUNCTION, ai("so")]
    assert found(*messages) == []
    assert kept(messages, max_turns=2, start="any") == (3,)
    assert found(human("q"), LEGACY, tool("a"), ai("so")) == [("unanswered_call", 1, ()), ("orphan_result", 2, ("a",))]


def test_blocks_alone_are_no_calls_and_their_results_stay_with_them() -> None:
    """Most adapters leave such blocks out."""
    messages = [human("q"), ai([a_block("a")]), tool("a"), ai("so")]
    assert found(*messages) == [("orphan_result", 2, ("a",))]
    assert [kept(messages, max_turns=n, start="any") for n in (2, 3)] == [(3,), (1, 2, 3)]


def test_a_late_result_welds() -> None:
    messages = [human("q"), call("a"), human("wait"), tool("a"), human("next")]
    assert found(*messages) == [("late_result", 3, ("a",))]
    assert [kept(messages, max_turns=n, start="any") for n in (3, 4)] == [(4,), (1, 2, 3, 4)]


def test_messages_of_the_model_in_a_row_are_turns_of_their_own() -> None:
    messages = [human("q"), ai("a"), ai("b"), *pair("c")]
    assert found(*messages) == []
    assert kept(messages, max_turns=3, start="any") == (2, 3, 4)


def test_the_task_stays() -> None:
    messages = [system(), human("o" * 99), ai("x"), human("task"), *pair("a", "12345"), *pair("b", "12345")]
    least = 4 + 2 + 5
    assert kept(messages, max_chars=least) == (0, 3, 6, 7)
    with pytest.raises(backcut.BudgetError) as caught:
        plan(messages, max_chars=least - 1)
    assert (caught.value.needed, caught.value.ceiling, caught.value.index) == (least, "max_chars", 6)
    assert kept(messages, max_chars=least - 1, on_overflow="keep") == (0, 3, 6, 7)


# Notice


@every_form
@pytest.mark.parametrize("role", ["auto", "system", "user"])
def test_the_notice_is_folded(wrap: Callable[[Message], Any], path: tuple[str, ...], role: Any) -> None:
    for content, noted, longer in (("new", f"{DEFAULT_NOTICE}\n\nnew", 2), ([IMAGE], [NOTE, IMAGE], 0), (["new"], [NOTE, "new"], 0)):
        messages = [wrap(each) for each in (system(), human("old"), ai("x"), human(content), ai("y"))]
        cut, report = trimmed(messages, max_turns=2, notice_role=role, tokenizer=len)
        assert cut == [messages[0], wrap(human(noted)), messages[4]]
        assert report.chars_sent == chars(messages[3]) + LONG + longer + 1
        assert report.tokens_sent == size(cut)
        assert backcut.trim(cut, format="langchain", max_turns=2, notice_role=role).messages is cut


@every_form
def test_a_notice_in_the_head_is_carried(wrap: Callable[[Message], Any], path: tuple[str, ...]) -> None:
    messages = [wrap(each) for each in (system(DEFAULT_NOTICE), human("old"), ai("x"), human("new"))]
    cut, report = trimmed(messages, max_turns=1)
    assert (cut, report.chars_sent) == ([messages[0], messages[3]], LONG + 3)


# Cap


@every_form
def test_each_result_has_its_own_cap(wrap: Callable[[Message], Any], path: tuple[str, ...]) -> None:
    blocks = ["a" * 10, IMAGE, text_part("b" * 30), "c"]
    messages = [human("q"), call("a", "b", "c"), tool("a", "x" * 40), tool("b", "short"), tool("c", blocks), LEGACY, FUNCTION]
    history = [wrap(each) for each in messages]
    cut, report = trimmed(history, max_chars_per_tool=30, tokenizer=len)
    assert cut[2] == wrap(tool("a", "x" * 16 + MARKER))
    assert cut[4] == wrap(tool("c", ["a" * 10, IMAGE, text_part("b" * 6 + MARKER)]))
    assert [k for k in range(7) if cut[k] is not history[k]] == [2, 4]
    assert (report.tools_truncated, report.chars_capped, report.first_changed) == (2, 10 + 11, 2)
    assert (report.chars_sent, report.tokens_sent) == (chars(*cut), size(cut))
    first, second = plan(history, max_chars_per_tool=30).edits
    assert first.cuts == (backcut.PartCut((*path, "content"), 16, 0, MARKER, False),)
    assert [(part.path, part.dropped) for part in second.cuts] == [
        ((*path, "content", 2, "text"), False),
        ((*path, "content", 3), True),
    ]


def test_a_function_is_capped_too() -> None:
    assert trimmed([human("q"), LEGACY, FUNCTION | {"content": "x" * 40}], max_chars_per_tool=20).messages[2]["content"] == "x" * 6 + MARKER


# Thinking


@every_form
@pytest.mark.parametrize(
    "thought",
    [
        {"type": "thinking", "thinking": "hmm", "signature": "sig"},
        {"type": "redacted_thinking", "data": "sealed"},
        {"type": "reasoning", "reasoning": "hmm", "extras": {"signature": "sig"}},
        {"type": "reasoning_content", "reasoning_content": {"text": "hmm", "signature": "sig"}},
    ],
)
def test_signed_thinking_of_completed_turns_is_stripped_behind_a_cut(
    wrap: Callable[[Message], Any], path: tuple[str, ...], thought: Message
) -> None:
    acted = ai([thought, text_part("x")], tool_calls=[a_call("a")])
    thinks, acts = ai([thought]), ai([thought], tool_calls=[a_call("a")])
    made = [human("old"), ai("x"), human("one"), acted, tool("a"), acts, tool("a"), thinks, human("two"), thinks, acts, tool("a")]
    history = [wrap(each) for each in made]
    cut, report = trimmed(history, max_turns=9, thinking="strip", notice=False, tokenizer=len)
    assert cut == [
        history[2],
        wrap(ai([text_part("x")], tool_calls=[a_call("a")])),
        history[4],
        wrap(ai([], tool_calls=[a_call("a")])),
        history[6],
        *history[8:],
    ]
    assert plan(history, max_turns=9, thinking="strip").edits[0].cuts[0].path == (*path, "content", 0)
    assert report.thinking_invalidated, "the live turn's"
    assert (report.chars_sent, report.tokens_sent) == (chars(*cut), size(cut))


def test_thinking_without_a_signature_stays() -> None:
    thoughts = [{"type": "thinking", "thinking": "a"}, {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "x"}]
    messages = [human("old"), ai("x"), human("one"), ai(thoughts), human("two")]
    cut, report = trimmed(messages, max_turns=3, thinking="strip", notice=False)
    assert cut == messages[2:]
    assert not report.thinking_invalidated


# Check


@every_form
@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([ai("hi"), human("q"), ai("")], []),
        ([human(None), human(""), human([]), system(None)], [("missing_content", n, ()) for n in range(3)]),
        ([human("q"), call(None), tool("a")], [("missing_id", 1, ())]),
        ([human("q"), call("a"), tool("")], [("missing_id", 2, ())]),
        ([human("q"), call("a", "a"), tool("a"), tool("a")], [("duplicate_id", 1, ("a",))]),
        ([human("q"), call("a"), human("r")], [("unanswered_call", 1, ("a",))]),
        ([human("q"), call("a"), tool("a"), tool("a")], [("orphan_result", 3, ("a",))]),
        ([human("q"), ai("", invalid_tool_calls=[an_invalid_call("a")]), human("r")], [("unanswered_call", 1, ("a",))]),
        ([human("q"), call("a"), system(), tool("a")], [("late_result", 3, ("a",))]),
    ],
)
def test_codes(wrap: Callable[[Message], Any], path: tuple[str, ...], messages: list[Message], expected: list[Any]) -> None:
    assert found(*map(wrap, messages)) == expected
    assert found() == [("empty_history", 0, ())]


# Detection


@pytest.mark.parametrize(
    "message",
    [
        *(wrap(each) for each in (human(), ai(), system(), tool("a"), FUNCTION) for wrap in (plain, stored, constructed)),
        by_role(human()),
        by_role(ai()),
        an_object(human()),
        {"role": "assistant", "content": "", "tool_calls": [a_call("a")]},
        {"type": "AIMessageChunk", "content": "x"},
        {"type": "generic", "data": {"role": "critic", "content": "x"}},
        {"type": "ai", "content": None, "tool_calls": [a_call("a")]},
        {"type": "human", "content": None},
        {"type": "ai"},
        an_object({"type": "ai", "content": None}),
        {"type": "message", "role": "assistant", "content": "x", "tool_calls": [a_call("a")]},
    ],
)
def test_shapes_that_decide(message: Any) -> None:
    for engine in ENGINES:
        found = engine_window(engine, {"format": "auto"}).plan([{"role": "user", "content": "q"}, message], None, None)
        assert found.report.format == "langchain"


@pytest.mark.parametrize(
    ("message", "form"),
    [
        ({"type": "OtherMessageChunk", "content": "x"}, "openai-responses"),
        ({"type": "HumanMessage", "content": "x"}, "openai-responses"),
        ({"role": "assistant", "stopReason": 5, "content": "x"}, "openai-chat"),
        ({"role": "user", "kind": 5, "parts": [], "content": "x"}, "openai-chat"),
    ],
)
def test_shapes_of_others(message: Message, form: str) -> None:
    for engine in ENGINES:
        assert engine_window(engine, {"format": "auto"}).plan([message], None, None).report.format == form


def test_parts_of_any_provider_are_its_own() -> None:
    image = {"type": "image", "source": {"type": "url", "url": "a.b"}}
    messages = [
        human([IMAGE, image, {"type": "input_text", "text": "x"}]),
        ai([a_block("a")], tool_calls=[a_call("a")]),
        tool("a", [IMAGE]),
    ]
    for wrap in (plain, stored, constructed, by_role, an_object):
        assert backcut.check([wrap(each) for each in messages]) == []


# Reading

KINDS = "one of human, ai, system, developer, tool, function, chat"
REMOVE = "a message, not the command to remove one"


@pytest.mark.parametrize(
    ("message", "path", "wrong", "expected"),
    [
        (None, "", "NoneType", "a mapping or an object with a role"),
        ({"type": "wonder"}, "type", "'wonder'", KINDS),
        ({"type": 5}, "type", "int", KINDS),
        ({}, "type", "nothing", KINDS),
        ({"role": "model"}, "role", "'model'", KINDS),
        ({"type": "remove", "content": "", "id": "m"}, "type", "'remove'", REMOVE),
        ({"type": "remove", "data": {"id": "m"}}, "type", "'remove'", REMOVE),
        ({"lc": 1, "id": ["RemoveMessage"], "kwargs": {"id": "m"}}, "id", "'RemoveMessage'", REMOVE),
        ({"lc": 1, "id": ["PromptTemplate"], "kwargs": {}}, "id", "'PromptTemplate'", "a list that ends in the class of a message"),
        ({"lc": 1, "id": [], "kwargs": {}}, "id", "list", "a list that ends in the class of a message"),
        ({"lc": 1, "id": [None], "kwargs": {}}, "id", "NoneType", "a list that ends in the class of a message"),
        ({"lc": 1, "type": "not_implemented", "id": ["AIMessage"]}, "kwargs", "nothing", "a mapping with the fields of the message"),
        (human(5), "content", "int", "a string, a list of blocks or null"),
        (stored(human(5)), "data.content", "int", "a string, a list of blocks or null"),
        (human([None]), "content[0]", "NoneType", "a string or a mapping"),
        (constructed(human(["x", text_part(5)])), "kwargs.content[1].text", "int", "a string"),
        (human([text_part(None)]), "content[0].text", "nothing", "a string"),
        (ai("", tool_calls={}), "tool_calls", "dict", "a list of calls or null"),
        (stored(ai("", invalid_tool_calls=[5])), "data.invalid_tool_calls[0]", "int", "a mapping with a name"),
        (call(5), "tool_calls[0].id", "int", "a string or null"),
        (ai("", tool_calls=[a_call("a") | {"name": 5}]), "tool_calls[0].name", "int", "a string"),
        (ai("", tool_calls=[a_call("a", {1, 2})]), "tool_calls[0].args", "set", "a string or a JSON value"),
        (
            ai("", additional_kwargs={"tool_calls": [{"function": {"name": 5}}]}),
            "additional_kwargs.tool_calls[0].function.name",
            "int",
            "a string",
        ),
        (ai("", additional_kwargs={"function_call": {"name": 5}}), "additional_kwargs.function_call.name", "int", "a string"),
        (ai([a_block("a") | {"name": 5}]), "content[0].name", "int", "a string"),
        (tool(5), "tool_call_id", "int", "a string or null"),
        (tool("a", 5), "content", "int", "a string, a list of blocks or null"),
        (tool("a", [5]), "content[0]", "int", "a string or a mapping"),
    ],
)
def test_what_cannot_be_read(message: Any, path: str, wrong: str, expected: str) -> None:
    for operation in (plan, lambda messages: backcut.check(messages, format="langchain")):
        with pytest.raises(backcut.FormatError) as caught:
            operation([human("q"), message], **({"max_chars": 100} if operation is plan else {}))
        error = caught.value
        assert (error.index, error.path, error.found, error.expected) == (1, path, wrong, expected)


def test_what_is_wrong_in_front_of_the_cut_does_not_matter() -> None:
    messages = [human(5), ai([None], tool_calls=[5, {"id": 5}]), tool(5, 5), human("old"), human("q"), ai("a")]
    assert kept(messages, max_chars=2) == (4, 5)


# Models of pydantic


def test_models_are_copied_and_not_made_anew() -> None:
    pydantic = pytest.importorskip("pydantic")
    base: Any = pydantic.BaseModel
    extra = pydantic.ConfigDict(extra="allow")
    fields = {"type": (str, ...), "content": (str | list[Any], ...), "id": (str | None, None), "name": (str | None, None)}
    model = pydantic.create_model("BaseMessage", __config__=extra, **fields)
    assert issubclass(model, base)
    made = [human("old"), ai("x"), human("new", id="m-1"), call("a"), tool("a", "y" * 40)]
    messages = [model(**each) for each in made]
    cut, report = trimmed(messages, max_turns=3, max_chars_per_tool=20)
    assert [type(each) for each in cut] == [model] * 3
    assert (cut[0].content, cut[0].id) == (f"{DEFAULT_NOTICE}\n\nnew", "m-1")
    assert (cut[2].content, cut[2].tool_call_id) == ("y" * 6 + MARKER, "a")
    assert cut[1] is messages[3]
    assert report.chars_sent == chars(*cut)
    assert backcut.check(messages) == []


# Real conversations


def test_real_conversations(corpus: Path) -> None:
    """Found to be LangChain's and sound; under every ceiling sound, within it, from a user turn on, and final."""
    lines = (corpus / "rendered.langchain.jsonl").read_text(encoding="utf-8").splitlines()
    talks = [json.loads(line)["messages"] for line in lines]
    assert [len(messages) for messages in talks] == [121, 59]
    for messages in talks:
        whole = backcut.trim(messages, tokenizer=cheap).report
        assert (whole.format, backcut.check(messages)) == ("langchain", [])
        for ceiling, all_of_it in (("max_turns", len(messages)), ("max_chars", whole.chars_sent), ("max_tokens", whole.tokens_sent or 0)):
            for share in (25, 50, 75):
                options = {ceiling: all_of_it * share // 100, "tokenizer": cheap, "max_chars_per_tool": 2_000}
                cut, report = backcut.trim(messages, **options)
                used = {"max_turns": len(cut), "max_chars": report.chars_sent, "max_tokens": report.tokens_sent or 0}
                assert used[ceiling] <= options[ceiling]
                assert cut[0]["type"] == "human"
                assert (judge.problems(cut), backcut.check(cut)) == ([], [])
                assert report.tokens_sent == backcut.count(cut, tokenizer=cheap)
                assert backcut.trim(cut, **options).messages is cut


# The twin


@needs_both
@pytest.mark.parametrize("form", judge.FORMS)
def test_the_twin_agrees(form: str) -> None:
    for seed in range(60):
        random = Random(f"{form} {seed}")
        history = judge.history(random, turns=1 + seed % 16, live=seed % 3 == 0, form=form)
        agree(judge, history, random)
        name, broken = judge.breakages(history, Random(f"damage {seed}"))
        if name != "command_between":  # which is refused, not judged
            agree(judge, broken, random)
