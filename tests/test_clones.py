"""What clones of Chat Completions add to a message (``docs/formats/openai-chat.md``)."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any

import pytest

import backcut
from chat import call, result, said, text_part, user
from pictures import png
from pictures import text as base64_of
from support import CORE, TWIN, cheap, engine_window, needs_both, outcome, same_messages, snapshot
from wires import clones as wire

Message = dict[str, Any]
FRAME = {"user": 3 + 4, "assistant": 3 + 9, "tool": 3 + 4}
"""What a message costs with ``len`` as tokenizer, texts aside."""
TEXT = "0123456789" * 5
CUT = "012345\n… [truncated]"


def size(*messages: Any) -> int:
    return backcut.count(list(messages), tokenizer=len) - 3


def chars(*messages: Any) -> int:
    return backcut.trim(list(messages)).report.chars_sent


def codes(*messages: Any) -> list[tuple[str, int]]:
    return [(each.code, each.index) for each in backcut.check(list(messages))]


def capped(message: Message, *before: Message) -> Message:
    messages = [user(), *before, message]
    before_it = snapshot(messages)
    sent, report = backcut.trim(messages, max_chars_per_tool=20, tokenizer=len)
    assert snapshot(messages) == before_it
    assert report.tokens_sent == 3 + size(*sent)
    assert backcut.trim(sent, max_chars_per_tool=20).messages is sent
    made: Message = sent[-1]
    return made


# Sizes


@pytest.mark.parametrize(
    ("message", "chars_of_it", "tokens"),
    [
        (said("x", thinking="deep"), 5, 5),
        (said("x", thinking=True), 1, 1),
        (said(None, tool_plan="look"), 4, 4),
        (said("x", citations=[{"text": "x", "sources": []}], prefix=True), 1, 1),
        (said("x", reasoning_content="deep"), 5, 5),
        (said([{"type": "thinking", "thinking": [text_part("hm"), text_part("so")]}, text_part("x")]), 5, 5),
        (said([text_part("x"), {"type": "reference", "reference_ids": [1]}]), 1, 1),
        (said("x", reasoning_details=[{"type": "reasoning.text", "text": "deep", "signature": "sig"}]), 5, 8),
        (said("x", reasoning_details=[{"type": "reasoning.summary", "summary": "so"}]), 3, 3),
        (said("x", reasoning_details=[{"type": "reasoning.encrypted", "data": "sealed"}]), 1, 7),
        (said("x", reasoning_details="deep"), 1, 1),
        # Both say the same.
        (said("x", reasoning="deep", reasoning_details=[{"type": "reasoning.text", "text": "deep"}]), 5, 5),
        (said("x", reasoning_content="deep", reasoning_details=[{"type": "reasoning.text", "text": "deep"}]), 5, 5),
    ],
)
def test_size_of_what_the_model_says(message: Message, chars_of_it: int, tokens: int) -> None:
    assert chars(user("q"), message) == 1 + chars_of_it
    assert size(message) == FRAME["assistant"] + tokens
    # At a glance and read in full, with a tokenizer, the characters are the same.
    assert backcut.trim([user("q"), message], tokenizer=len).report.chars_sent == 1 + chars_of_it


def test_what_others_say_is_no_thinking() -> None:
    assert chars(user("q") | {"thinking": "x", "tool_plan": "x", "reasoning_details": [{"text": "x"}]}) == 1


def test_images_of_ollama() -> None:
    picture = base64_of(png(8, 8))
    for role in ("user", "tool"):
        message = {"role": role, "content": "look", "images": [picture, "AAAA"]}
        assert size(message) == FRAME[role] + 4 + 255 + 765
        assert chars(user("q"), message) == 5
    assert size(user("look") | {"images": "AAAA"}) == FRAME["user"] + 4


def test_calls_of_ollama_have_no_ids() -> None:
    """Results are told apart by their place."""
    asked = said("", tool_calls=[{"function": {"name": "f", "arguments": {"x": 1}}}] * 2)
    results = [{"role": "tool", "content": text, "tool_name": "f"} for text in ("one", "two")]
    assert size(asked) == FRAME["assistant"] + 2 * (3 + 1 + 7)
    assert size(results[0]) == FRAME["tool"] + 3
    messages = [user("q"), asked, *results, user("r"), said("y")]
    window = backcut.context_window(max_turns=4, notice=False)
    assert window.plan(messages).kept == (4, 5)
    assert codes(*messages) == [("missing_id", index) for index in (1, 2, 3)]


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"data": "said"}, "said"),
        ({"id": "1", "data": {"a": "é"}}, '{"id":"1","data":{"a":"é"}}'),
        ({"data": {"a": 1}}, '{"data":{"a":1}}'),
    ],
)
def test_a_document_of_cohere_is_a_text(document: Message, text: str) -> None:
    part = {"type": "document", "document": document}
    assert size(user([part])) == FRAME["user"] + len(text)
    assert size(result("a", [part])) == FRAME["tool"] + len(text)
    assert chars(user("q"), result("a", [part])) == 1 + len(text)
    assert codes(user(), call("a"), result("a", [part])) == []


def test_other_documents_are_files() -> None:
    assert size(user([{"type": "document", "document": "id"}])) == FRAME["user"] + 1500
    assert codes(user(), call("a"), result("a", [{"type": "document", "document": "id"}])) == [("media_in_result", 2)]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"data": TEXT}, {"data": CUT}),
        ({"text": TEXT}, {"text": CUT}),
        ({"id": "1", "data": TEXT}, {"data": '{"id":\n… [truncated]'}),
        ({"data": "short"}, {"data": "short"}),
    ],
)
def test_a_document_is_capped(document: Message, expected: Message) -> None:
    part = {"type": "document", "document": document}
    sent = capped(result("a", [part]), call("a"))
    assert sent["content"] == [part | {"document": expected}]


# Many results in one message


def responses(*ids: str | None, text: Any = "result", content: Any = None) -> Message:
    listed = [{"tool_call_id": each, "role": "tool", "content": text} for each in ids]
    return {"role": "tool", "tool_responses": listed, "content": content}


def test_each_response_is_sent_as_a_message() -> None:
    """The content beside them repeats them, and is not."""
    assert size(responses("a", "b", content="result\n\nresult")) == 2 * (FRAME["tool"] + 6)
    assert chars(user("q"), call("a", "b", arguments=""), responses("a", "b", content="x")) == 1 + 12
    assert size(responses("a", text={"x": 1})) == FRAME["tool"] + 7
    assert size(responses("a", text=None)) == FRAME["tool"]


def test_what_is_a_result_itself_has_no_responses() -> None:
    message = responses("b", "c", content="own") | {"tool_call_id": "a"}
    assert size(message) == FRAME["tool"] + 3
    assert codes(user(), call("a"), message) == []
    for odd in ([], "text", [5], None):
        assert size({"role": "tool", "content": "own", "tool_responses": odd}) == FRAME["tool"] + 3
    assert size(user("own") | {"tool_responses": [{"content": "x"}]}) == FRAME["user"] + 3


def test_all_of_a_batch_are_answered_at_once() -> None:
    messages = [user("q"), call("a", "b"), responses("a", "b"), user("r"), said("y")]
    assert codes(*messages) == []
    assert backcut.context_window(max_turns=3, notice=False).plan(messages).kept == (3, 4)
    assert codes(user("q"), call("a", "b"), responses("a")) == [("pending_call", 1)]
    assert codes(user("q"), call("a"), responses("a", "b")) == [("orphan_result", 2)]
    assert codes(user("q"), call("a", "b"), responses("a", None)) == [("missing_id", 2)]
    assert codes(user("q"), call("a"), user("r"), responses("a")) == [("late_result", 3)]


def test_each_response_has_a_cap_of_its_own() -> None:
    message = responses("a", "b", text=TEXT, content="beside")
    message["tool_responses"][1]["content"] = "short"
    sent = capped(message, call("a", "b"))
    assert [each["content"] for each in sent["tool_responses"]] == [CUT, "short"]
    assert sent["content"] == "beside"
    plan = backcut.context_window(max_chars_per_tool=20).plan([user(), call("a", "b"), responses("a", "b", text=TEXT)])
    assert [cut.path for cut in plan.edits[0].cuts] == [("tool_responses", k, "content") for k in (0, 1)]
    assert plan.report.tools_truncated == 2


def test_a_response_that_is_no_json_names_its_place() -> None:
    with pytest.raises(backcut.FormatError) as caught:
        backcut.trim([user(), call("a", "b"), responses("a", "b", text={1, 2})], max_turns=9)
    assert (caught.value.index, caught.value.path) == (2, "tool_responses[0].content")


# Made histories

SEEDS = range(120)


@pytest.mark.parametrize("dress", wire.DRESSES)
def test_made_histories_stay_sound(dress: str) -> None:
    for seed in SEEDS:
        live = seed % 3 == 0
        history = wire.history(Random(seed), turns=1 + seed % 12, live=live, dress=dress)
        found = {code for code, _ in codes(*history)}
        assert found <= ({"pending_call"} if live else set()) | ({"missing_id"} if dress == "ollama" else set()), seed
        assert backcut.count(history, tokenizer=cheap) == 3 + wire.size_tokens(history, cheap), seed
        whole = backcut.trim(history, tokenizer=cheap).report
        for share in (1, 2, 3):
            for name, most in (("max_chars", whole.chars_sent), ("max_tokens", whole.tokens_sent), ("max_turns", len(history))):
                options: dict[str, Any] = {name: max(1, (most or 0) * share // 4), "on_overflow": "keep", "tokenizer": cheap, "notice": "N"}
                sent, report = backcut.trim(history, **options)
                assert wire.is_sound(sent) or report.task_dropped, (seed, options)
                assert report.tokens_sent == backcut.count(sent, tokenizer=cheap)
                spent = {"max_chars": report.chars_sent, "max_tokens": report.tokens_sent, "max_turns": 0}[name]
                assert report.over_budget or (spent or 0) <= options[name], (seed, options)


def planned(engine: Any, options: dict[str, Any], history: list[Any]) -> Any:
    return engine_window(engine, options).plan(history, None, None)


@needs_both
@pytest.mark.parametrize("dress", wire.DRESSES)
def test_core_and_twin_agree(dress: str) -> None:
    for seed in range(150):
        random = Random(seed)
        history = wire.history(random, turns=1 + seed % 10, live=seed % 3 == 0, dress=dress)
        if seed % 2:
            _, history = wire.breakages(history, random)
        options: dict[str, Any] = {"max_chars": random.randrange(1, 400), "on_overflow": "keep", "format": "openai-chat"}
        options |= random.choice([{}, {"tokenizer": "cheap"}, {"max_tokens": random.randrange(20, 300), "tokenizer": "cheap"}])
        options |= random.choice([{}, {"max_chars_per_tool": random.randrange(1, 40)}])
        core, twin = (outcome(partial(planned, engine, options, history)) for engine in (CORE, TWIN))
        assert core == twin, (seed, options)
        if core[0] == "answer":
            assert same_messages(core[1].apply(history), twin[1].apply(history))
        found = [{(each.code, each.index) for each in engine.check(history, "openai-chat")} for engine in (CORE, TWIN)]
        assert found[0] == found[1], seed
