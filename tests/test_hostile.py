"""What nobody should send: values of every kind at every place of a history. Core and twin answer alike, or refuse alike."""

from __future__ import annotations

import enum
from types import ModuleType
from typing import Any

import pytest

import backcut
from agreement import options
from hostile import damaged
from support import CORE, TWIN, cheap, engine_tokenizer, engine_window, needs_both, outcome, same_messages
from wires import anthropic, bedrock, clones, gemini, langchain, openai_responses, pi, pydantic_ai

WIRES = (anthropic, bedrock, clones, gemini, langchain, openai_responses, pi, pydantic_ai)
ENGINES = [pytest.param(engine, id=name) for name, engine in (("core", CORE), ("twin", TWIN)) if engine is not None]

each_engine = pytest.mark.parametrize("engine", ENGINES)


def said(call: Any) -> tuple[str, Any]:
    """The outcome of ``call``; an exception of a hostile object's own is one kind of outcome."""
    try:
        return outcome(call)
    except (ValueError, RuntimeError) as error:
        if str(error).startswith("hostile"):
            return "raised", None
        raise


def agree(history: list[Any], form: str, window: dict[str, Any]) -> None:
    """Both engines say the same. Which field of an object that raises is looked at, each may choose."""
    ways: list[Any] = [
        lambda engine: engine.count_messages(history, engine_tokenizer(engine, "cheap"), form, None, None),
        lambda engine: [(violation.code, violation.index, violation.ids) for violation in engine.check(history, form)],
        lambda engine: engine_window(engine, window).plan(history, None, None),
    ]
    for way in ways:
        core, twin = said(lambda way=way: way(CORE)), said(lambda way=way: way(TWIN))
        assert core == twin or "raised" in (core[0], twin[0])
    if core[0] == twin[0] == "answer":
        cuts = [engine_window(engine, window).trim(history, None, None).messages for engine in (CORE, TWIN)]
        assert same_messages(*cuts)
        assert same_messages(core[1].apply(history), cuts[0])


@needs_both
@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.__name__.removeprefix("wires."))
def test_core_and_twin_agree(wire: ModuleType) -> None:
    for seed in range(150):
        random, history = damaged(wire, seed)
        form = random.choice([wire.FORMAT, wire.FORMAT, "auto"])
        agree(history, form, {"format": form, **options(random)})


class Word(str, enum.Enum):  # noqa: UP042 - as the SDKs have them
    """What has the value of a string, and another hash and another form."""

    USE = "tool_use"
    TEXT = "text"
    ODD = "odd"


def codes(engine: Any, history: list[Any], form: str) -> list[tuple[str, int]]:
    return [(violation.code, violation.index) for violation in engine.check(history, form)]


@each_engine
@pytest.mark.parametrize("kind", [[], {}, ["text"], 5, b"text", ()])
def test_a_type_that_is_no_word(engine: Any, kind: Any) -> None:
    history = [{"role": "user", "content": "go"}, {"role": "assistant", "content": [{"type": kind, "text": "four"}]}]
    assert codes(engine, history, "anthropic") == []
    count = engine.count_messages(history, engine_tokenizer(engine, "cheap"), "anthropic", None, None)
    assert count == engine.count_messages(
        [history[0], {"role": "assistant", "content": "four"}], engine_tokenizer(engine, "cheap"), "anthropic", None, None
    )


@each_engine
def test_a_type_that_is_an_enumeration(engine: Any) -> None:
    call = {"type": Word.USE, "id": "a", "name": "f", "input": {}}
    history = [{"role": "user", "content": "go"}, {"role": "assistant", "content": [{"type": Word.TEXT, "text": "x"}, call]}]
    assert codes(engine, history, "anthropic") == [("pending_call", 1)]
    assert codes(engine, history, "auto") == [("pending_call", 1)]


@each_engine
def test_a_role_that_is_an_enumeration_is_shown_as_its_word(engine: Any) -> None:
    with pytest.raises(backcut.FormatError) as error:
        engine.check([{"role": Word.ODD, "content": "x"}], "openai-chat")
    assert error.value.found == "'odd'"


DETECTED = [
    # what a key holds decides only if it is a word, and only what is absent is absent
    ({"kind": b"request", "parts": []}, "openai-chat"),
    ({"role": "user", "parts": [{"text": "x"}]}, "gemini"),
    ({"role": "assistant", "content": "x", "stopReason": 5}, "openai-chat"),
    ({"role": "assistant", "content": "x", "stopReason": "stop"}, "pi"),
    ({"role": "user", "type": "ToolMessageChunk", "content": "x", "tool_call_id": "a"}, "langchain"),
    ({"role": "user", "type": "PromptMessageChunk", "content": "x"}, "openai-responses"),
    ({"role": "user", "type": "AI", "content": "x"}, "openai-responses"),
    ({"role": "assistant", "content": None, "tool_calls": [5, {"name": "f", "args": {}}]}, "openai-chat"),
    ({"role": "assistant", "type": "odd", "tool_calls": [{"name": "f", "args": {}}]}, "langchain"),
    ({"role": 5, "type": "custom", "content": "x"}, "openai-responses"),
]


@needs_both
@pytest.mark.parametrize(("message", "form"), DETECTED)
def test_what_a_shape_tells(message: Any, form: str) -> None:
    for engine in (CORE, TWIN):
        auto = outcome(lambda e=engine: engine_window(e, {"format": "auto", "max_turns": 5}).plan([message], None, None))
        named = outcome(lambda e=engine: engine_window(e, {"format": form, "max_turns": 5}).plan([message], None, None))
        assert auto == named


RESULT = {"type": "tool_result", "tool_use_id": "a", "content": "x"}
PAIR = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
]


@each_engine
@pytest.mark.parametrize("first", ["text", {}, {"type": "odd"}, {"type": "image", "source": {}}])
def test_anything_before_a_result(engine: Any, first: Any) -> None:
    assert ("text_before_result", 2) in codes(engine, [*PAIR, {"role": "user", "content": [first, RESULT]}], "anthropic")
    assert codes(engine, [*PAIR, {"role": "user", "content": [RESULT, first]}], "anthropic") == []


@each_engine
def test_results_come_first_in_result_messages_only(engine: Any) -> None:
    history = [{"role": "user", "content": "go"}, {"role": "assistant", "content": [{"type": "text", "text": "x"}, RESULT]}]
    assert codes(engine, history, "anthropic") == [("misplaced_block", 1)]


@each_engine
def test_an_unknown_block_before_a_result_of_bedrock(engine: Any) -> None:
    call = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a", "name": "f", "input": {}}}]}
    result = {"toolResult": {"toolUseId": "a", "content": [{"text": "x"}]}}
    front = [{"role": "user", "content": [{"text": "go"}]}, call]
    assert codes(engine, [*front, {"role": "user", "content": [{}, result]}], "bedrock") == [("text_before_result", 2)]
    assert codes(engine, [*front, {"role": "user", "content": [{"cachePoint": {"type": "default"}}, result]}], "bedrock") == []


@each_engine
def test_where_system_messages_of_anthropic_may_stand(engine: Any) -> None:
    system, user, model = ({"role": role, "content": "x"} for role in ("system", "user", "assistant"))
    for history, places in (
        ([user, system, system, user], [1, 2]),
        ([user, system, system, model], []),
        ([user, system, system], []),
        ([system, system, user], [0, 1]),
        ([system, system], [0, 1]),
    ):
        assert [index for code, index in codes(engine, history, "anthropic") if code == "misplaced_system"] == places


@each_engine
@pytest.mark.parametrize("blank", ["", " ", "\x1c\x1f", "\x85", "\u3000", "\n"])
def test_a_blank_string_among_blocks(engine: Any, blank: str) -> None:
    history = [{"role": "user", "content": ["go", blank]}]
    assert codes(engine, history, "anthropic") == [("blank_text", 0)]


@each_engine
def test_thinking_that_is_a_list_in_an_unknown_part(engine: Any) -> None:
    part = {"type": "odd", "thinking": [{"type": "text", "text": "12345"}], "content": [{"type": "text", "text": "no"}]}
    for form in ("anthropic", "langchain", "openai-chat"):
        window = engine_window(engine, {"format": form, "max_chars": 100})
        assert window.plan([{"role": "user", "content": [part]}], None, None).report.chars_sent == 5, form


@each_engine
def test_a_result_under_a_name_that_is_no_text(engine: Any) -> None:
    """It is JSON like any other, since JSON has other names than Python."""
    for form, result in (
        ("gemini", {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {1: "12345"}}}]}),
        ("bedrock", {"role": "user", "content": [{"toolResult": {"toolUseId": "a", "content": [{"json": {1: "12345"}}]}}]}),
        ("pydantic-ai", {"kind": "request", "parts": [{"part_kind": "tool-return", "tool_name": "f", "content": {1: "12345"}}]}),
    ):
        window = engine_window(engine, {"format": form, "max_chars": 100})
        assert window.plan([result], None, None).report.chars_sent == len('{"1":"12345"}'), form


@each_engine
def test_calls_tell_the_format_whatever_stands_beside_them(engine: Any) -> None:
    first = {"role": "user", "content": [{"type": "input_text", "text": "x"}]}
    part = {"type": "thinking", "thinking": "x"}
    assert codes(engine, [first, {"type": "odd", "content": [part], "tool_calls": []}], "auto") == []
    with pytest.raises(backcut.OptionError, match="anthropic"):
        engine.check([first, {"role": "user", "content": [part]}], "auto")


@each_engine
@pytest.mark.parametrize(("place", "found"), [([None], "NoneType"), ([], "list"), (None, "nothing"), (["x", 5], "int"), (["x"], "'x'")])
def test_a_class_of_langchain_that_is_none(engine: Any, place: Any, found: str) -> None:
    with pytest.raises(backcut.FormatError) as error:
        engine.check([{"lc": 1, "id": place, "kwargs": {}}], "langchain")
    assert (error.value.path, error.value.found) == ("id", found)


@each_engine
def test_nobody_signs_what_stands_in_a_message_of_the_users(engine: Any) -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "Eq=="}
    history = [
        {"role": "user", "content": [thought]},
        {"role": "assistant", "content": [{"type": "text", "text": "long " * 40}]},
        {"role": "assistant", "content": [{"type": "text", "text": "long " * 40}]},
        {"role": "user", "content": "more"},
    ]
    for thinking in ("keep", "strip"):
        window = engine_window(engine, {"format": "anthropic", "max_chars_per_tool": 5, "max_turns": 1, "thinking": thinking})
        assert not window.plan(history, None, None).report.thinking_invalidated
        window = engine_window(engine, {"format": "anthropic", "max_chars": 5_000, "thinking": thinking})
        assert window.trim([*history, *history], None, None).messages == [*history, *history]


@each_engine
def test_ids_are_shown_so_that_utf8_can_say_them(engine: Any) -> None:
    history = [{"role": "user", "content": "go"}, {"role": "tool", "tool_call_id": "a\ud800\udc00", "content": "x"}]
    found = engine.check(history, "openai-chat")
    assert [(violation.code, violation.ids) for violation in found] == [("orphan_result", ("a\ufffd\ufffd",))]


@each_engine
def test_a_fold_where_tokens_were_not_counted(engine: Any) -> None:
    """Messages beyond a ceiling are measured for the grid and not counted in tokens."""
    history = [{"type": "human", "content": "word " * 90}, {"type": "human", "content": "word " * 90}, {"type": "human", "content": "a"}]
    window = engine_window(engine, {"format": "langchain", "tokenizer": "cheap", "max_chars": 2_000, "max_turns": 1, "trim_to": 0.3})
    messages, report = window.trim(history, None, None)
    assert len(messages) == 1
    assert report.tokens_sent == backcut.count(messages, tokenizer=cheap, format="langchain")
