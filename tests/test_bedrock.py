"""Bedrock Converse, each rule by a case worked out by hand, in both engines (``docs/formats/bedrock.md``)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import backcut
from engines import Both, RefusedError
from pictures import png
from pictures import text as base64
from support import DEFAULT_NOTICE
from wires import bedrock

Message = dict[str, Any]
B = Both("bedrock")
LONG = len(DEFAULT_NOTICE)
MARKER = "\n… [truncated]"
IMAGE = {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://a/b.png"}}}}
DOCUMENT = {"document": {"format": "pdf", "name": "a report", "source": {"bytes": "AAAA"}}}
POINT = {"cachePoint": {"type": "default"}}
SEALED = {"reasoningContent": {"redactedContent": "sealed"}}


def text(said: Any) -> Message:
    return {"text": said}


def user(*blocks: Any) -> Message:
    return {"role": "user", "content": [text(block) if isinstance(block, str) else block for block in blocks]}


def said(*blocks: Any) -> Message:
    return user(*blocks) | {"role": "assistant"}


def use(call_id: Any, given: Any = None, **more: Any) -> Message:
    return {"toolUse": {"toolUseId": call_id, "name": "f", "input": {} if given is None else given, **more}}


def answer(call_id: Any, *content: Any, **more: Any) -> Message:
    blocks = [text(block) if isinstance(block, str) else block for block in content]
    return {"toolResult": {"toolUseId": call_id, "content": blocks, **more}}


def pair(call_id: str, result: str = "result") -> list[Message]:
    return [said(use(call_id)), user(answer(call_id, result))]


def thought(said: str = "hm", signature: str | None = "sig") -> Message:
    return {"reasoningContent": {"reasoningText": {"text": said} | ({} if signature is None else {"signature": signature})}}


def server(call_id: str) -> list[Message]:
    return [use(call_id, type="server_tool_use"), answer(call_id, {"json": {"stdOut": "42", "exitCode": 0}}, type="code_result")]


def kept(messages: list[Any], **options: Any) -> tuple[int, ...]:
    return B.plan(messages, **({"notice": False} | options)).kept


# Sizes


@pytest.mark.parametrize(
    ("content", "chars", "tokens"),
    [
        ("hello", 5, 5),
        ([text("hello"), "you"], 8, 8),
        ([use("a", {"x": "é"})], 9, 3 + 1 + 9),
        ([{"toolUse": {"toolUseId": "a"}}], 0, 3),
        ([thought("hmm", "signed")], 3, 3 + 6),
        ([thought("hmm", None)], 3, 3),
        ([SEALED], 0, 6),
        ([{"reasoningContent": {"redactedContent": b"sealed"}}], 0, 0),
        (server("s"), 2 + 28, 3 + 1 + 2 + 3 + 28),
        ([POINT, text("x")], 1, 1),
        ([{"citationsContent": {"content": [text("so"), text("there")], "citations": [{"title": "not read"}]}}], 7, 7),
        ([{"somethingNew": {"text": "unread"}}], 0, 0),
        ([], 0, 0),
        (None, 0, 0),
    ],
)
def test_size_of_what_the_model_says(content: Any, chars: int, tokens: int) -> None:
    message = {"role": "assistant", "content": content}
    assert B.chars(user("q"), message) == 1 + chars
    assert B.count([message]) == 3 + 3 + len("assistant") + tokens


@pytest.mark.parametrize(
    ("block", "chars", "tokens"),
    [
        (answer("a", "hello"), 5, 3 + 5),
        (answer("a", "one", IMAGE, "two"), 6, 3 + 3 + 765 + 3),
        (answer("a", {"json": {"output": "hello"}}), 5, 3 + 5),
        (answer("a", {"json": {"n": 1}}, {"json": {}}, {"json": [1, 2]}, {"json": "s"}), 7 + 2 + 5 + 1, 3 + 7 + 2 + 5 + 1),
        (answer("a", DOCUMENT, {"video": {"format": "mp4", "source": {}}}), 0, 3 + 1500 + 1500),
        (answer("a"), 0, 3),
        ({"toolResult": {"toolUseId": "a"}}, 0, 3),
        ({"toolResult": {"toolUseId": "a", "content": "plain"}}, 5, 3 + 5),
        (answer("a", {"searchResult": {"source": "s", "title": "t", "content": [text("found")]}}), 7, 3 + 7),
        (IMAGE, 0, 765),
        ({"image": {"format": "png", "source": {"bytes": base64(png(512, 512))}}}, 0, 85 + 170),
        ({"image": {"format": "png", "source": {"bytes": png(512, 512)}}}, 0, 765),
        (DOCUMENT, 0, 1500),
        ({"document": {"format": "txt", "name": "n", "context": "why", "source": {"text": "plain"}}}, 8, 8),
        ({"document": {"format": "txt", "name": "n", "source": {"content": [text("part")]}}}, 4, 4),
        ({"video": {"format": "mp4", "source": {"bytes": "AAAA"}}}, 0, 1500),
        ({"audio": {"format": "mp3", "source": {"bytes": "AAAA"}}}, 0, 300),
        ({"guardContent": {"text": {"text": "guarded", "qualifiers": ["query"]}}}, 7, 7),
        ({"guardContent": {"image": {"format": "png", "source": {"bytes": "AAAA"}}}}, 0, 765),
    ],
)
def test_size_of_what_the_user_sends(block: Any, chars: int, tokens: int) -> None:
    assert B.chars(user(block)) == chars
    assert B.count([user(block)]) == 3 + 3 + len("user") + tokens


SPEC = {"name": "f", "description": "Does it.", "inputSchema": {"json": {"type": "object", "properties": {"a": {"type": "string"}}}}}


def test_tools_and_system() -> None:
    one = 7 + len("f:Does it") + 3 + 3 + len("a:string:")
    assert B.count([], {"tools": [{"toolSpec": SPEC}], "toolChoice": {"auto": {}}}) == 3 + one + 12
    assert B.count([], [{"toolSpec": SPEC}, {"toolSpec": SPEC}]) == 3 + 2 * one + 12
    assert B.count([], [{"toolSpec": SPEC}, POINT, {"systemTool": {"name": "nova_grounding"}}]) == 3 + one + 2 * (7 + 1) + 12
    assert B.count([], {"tools": []}) == 3
    assert B.count([], system=[text("be"), POINT, text("brief")]) == 3 + 3 + len("system") + 7
    for tools, path in (({"toolChoice": {}}, "tools"), ({"tools": [5]}, "tools[0]"), (5, "tools")):
        with pytest.raises(RefusedError) as caught:
            B.count([], tools)
        assert caught.value.facts["path"] == path
    with pytest.raises(RefusedError) as caught:
        B.count([], system=[{"image": {}}])
    assert (caught.value.facts["path"], caught.value.facts["expected"]) == ("system[0]", "a string or a mapping with text")


# Groups


def test_a_batch_and_its_results_are_one_group() -> None:
    messages = [user("q"), said(use("a"), use("b")), user(answer("b", "x"), answer("a", "x")), said("so")]
    assert B.found(*messages) == []
    assert [kept(messages, max_turns=n, start="any") for n in (1, 2, 3)] == [(3,), (3,), (1, 2, 3)]


def test_a_message_with_a_result_and_a_text_is_a_result() -> None:
    messages = [user("task"), said(use("a")), user(answer("a", "x"), "and be quick"), *pair("b"), said("so")]
    assert B.found(*messages) == []
    assert kept(messages, max_turns=4) == (0, 3, 4, 5)


def test_messages_of_the_model_in_a_row_are_one_turn() -> None:
    messages = [user("q"), said("let me see"), said(use("a")), user(answer("a", "x")), said("so")]
    assert B.found(*messages) == [("repeated_role", 2, ())]
    assert [kept(messages, max_turns=n, start="any") for n in (3, 4)] == [(4,), (1, 2, 3, 4)]


def test_the_live_end_is_whole() -> None:
    messages = [user("q"), said("hm"), user("go"), said(use("a"), use("b")), user(answer("a", "x"))]
    assert B.found(*messages) == [("pending_call", 3, ("b",))]
    assert kept(messages, max_turns=3) == (2, 3, 4)


def test_a_server_tool_is_settled_within_the_turn() -> None:
    assert B.found(user("q"), said(*server("s"), text("so")), user("r")) == []
    assert B.found(user("q"), said(*server("a"), use("a")), user(answer("a", "x")), said("so")) == []
    assert B.found(user("q"), said(server("s")[0]), user("r")) == [("unanswered_call", 1, ("s",))]
    assert B.found(user("q"), said(server("s")[1]), user("r")) == [("orphan_result", 1, ("s",))]


def test_the_task_stays() -> None:
    messages = [user("o" * 99), said("x"), user("task"), *pair("a", "12345"), *pair("b", "12345")]
    least = 4 + 2 + 5
    assert kept(messages, max_chars=least) == (2, 5, 6)
    with pytest.raises(RefusedError) as caught:
        B.plan(messages, max_chars=least - 1)
    assert caught.value.kind == "BudgetError"


def test_all_that_there_is_may_be_too_much() -> None:
    """Then nothing is trimmed, and no thinking invalidated."""
    messages = [user("task"), said(thought(), use("a")), user(answer("a", "x" * 40))]
    cut, report = B.trim(messages, max_chars=9, on_overflow="keep")
    assert cut is messages
    assert (report.window_trimmed, report.over_budget, report.thinking_invalidated) == (False, True, False)


# Roles take turns


def test_a_task_in_front_of_a_models_turn() -> None:
    """A tail that begins with the user needs no task, so the two never stand side by side."""
    messages = [user("task"), *pair("a"), *pair("b"), said("so"), user("next"), said("x")]
    for limit in range(1, len(messages) + 1):
        cut = B.trim(messages, max_turns=limit, on_overflow="keep").messages
        assert B.found(*cut) == []


@pytest.mark.parametrize("content", [[thought()], [SEALED, thought()], [thought(), POINT]])
def test_a_message_of_thinking_alone_keeps_it(content: list[Message]) -> None:
    """Without it two user messages would stand side by side, or a message without content be sent."""
    messages = [user("o"), said("x"), user("q"), said(*content), user("r"), said("y")]
    for thinking in ("keep", "strip"):
        cut, report = B.trim(messages, max_turns=4, notice=False, thinking=thinking)
        assert all(each is known for each, known in zip(cut, messages[2:], strict=True))
        assert report.thinking_invalidated is True
        assert report.chars_sent == B.chars(*cut)


def test_thinking_of_completed_turns_is_stripped() -> None:
    messages = [user("o"), said("x"), user("q"), said(thought(), "so"), user("r"), said(SEALED, use("a")), user(answer("a", "x"))]
    cut, report = B.trim(messages, max_turns=5, notice=False, thinking="strip", tokenizer="cheap")
    assert cut == [user("q"), said("so"), user("r"), messages[5], messages[6]]
    assert (report.thinking_invalidated, report.chars_sent) == (True, B.chars(*cut))
    assert B.trim([*messages[:5], said("y")], max_turns=4, notice=False, thinking="strip").report.thinking_invalidated is False
    assert B.trim(messages, thinking="strip").messages is messages


def test_unsigned_thinking_is_text() -> None:
    messages = [user("o"), said("x"), user("q"), said(thought("hm", None)), user("r"), said("y")]
    report = B.trim(messages, max_turns=4, notice=False, thinking="strip").report
    assert (report.messages_sent, report.thinking_invalidated) == (4, False)


# Notice


def test_the_notice_is_a_block_of_its_own() -> None:
    messages = [user("old"), said("x"), user(IMAGE, "new"), said("y")]
    cut, report = B.trim(messages, max_turns=2)
    assert cut == [user(DEFAULT_NOTICE, IMAGE, "new"), messages[3]]
    assert report.chars_sent == LONG + 4 == B.chars(*cut)


def test_the_notice_in_front_of_a_text() -> None:
    messages = [user("old"), said("x"), {"role": "user", "content": "new"}]
    assert B.trim(messages, max_turns=1).messages == [{"role": "user", "content": f"{DEFAULT_NOTICE}\n\nnew"}]
    assert B.trim([user("old"), said("x"), {"role": "user"}], max_turns=1).messages == [user(DEFAULT_NOTICE)]


# Cap


def test_each_result_has_its_own_cap_and_shares_it_among_its_blocks() -> None:
    given = [answer("a", "x" * 40), answer("b", "short"), answer("c", "y" * 15, IMAGE, {"json": {"z": "z" * 30}}, "w"), text("t" * 99)]
    messages = [user("q"), said(use("a"), use("b"), use("c")), user(*given)]
    cut, report = B.trim(messages, max_chars_per_tool=30, tokenizer="cheap")
    expected = [answer("a", "x" * 16 + MARKER), given[1], answer("c", "y" * 15, IMAGE, {"json": {"z": "z" + MARKER}}), given[3]]
    assert cut[2]["content"] == expected
    assert cut[2]["content"][1] is given[1]
    assert (report.tools_truncated, report.chars_capped) == (2, 10 + 16)
    assert report.chars_sent == B.chars(*cut)
    (edit,) = B.plan(messages, max_chars_per_tool=30).edits
    assert edit.cuts == (
        backcut.PartCut(("content", 0, "toolResult", "content", 0, "text"), 16, 0, MARKER, False),
        backcut.PartCut(("content", 2, "toolResult", "content", 2, "json", "z"), 1, 0, MARKER, False),
        backcut.PartCut(("content", 2, "toolResult", "content", 3), 0, 0, "", True),
    )


def test_json_is_cut_as_json_and_written_as_a_mapping() -> None:
    whole = {"rows": ["é" * 30, 1, None], "more": True}
    cut = B.trim([user("q"), said(use("a")), user(answer("a", {"json": whole}))], max_chars_per_tool=20).messages
    assert cut[2] == user(answer("a", {"json": {"output": '{"rows' + MARKER}}))


def test_what_the_provider_ran_is_not_cut() -> None:
    messages = [user("q"), said(use("s", type="server_tool_use"), answer("s", "x" * 40, type="code_result"), text("so"))]
    assert B.trim(messages, max_chars_per_tool=20).messages is messages


def test_a_text_in_place_of_blocks_is_cut() -> None:
    messages = [user("q"), said(use("a")), user({"toolResult": {"toolUseId": "a", "content": "x" * 40}})]
    cut = B.trim(messages, max_chars_per_tool=20).messages
    assert cut[2] == user({"toolResult": {"toolUseId": "a", "content": "x" * 6 + MARKER}})


# Check


@pytest.mark.parametrize(
    ("messages", "found"),
    [
        ([], [("empty_history", 0, ())]),
        ([said("x")], [("first_not_user", 0, ())]),
        ([user(answer("a", "x"))], [("first_not_user", 0, ()), ("orphan_result", 0, ("a",))]),
        ([user("q"), user("r")], [("repeated_role", 1, ())]),
        ([user("q"), said("x"), said("y")], [("repeated_role", 2, ())]),
        ([user("q"), said()], [("missing_content", 1, ())]),
        ([{"role": "user"}, {"role": "assistant", "content": ""}], [("missing_content", 0, ()), ("missing_content", 1, ())]),
        ([user(" ")], [("blank_text", 0, ())]),
        ([{"role": "user", "content": "\n"}], [("blank_text", 0, ())]),
        ([user("q"), said(use("a")), user(answer("a", ""))], []),
        ([user("q"), said(use("a")), user(answer("a", status="error"))], [("empty_result", 2, ())]),
        ([user("q"), said(use("a")), user(answer("a", status="success"))], []),
        ([user("q"), said(use("a")), user(answer("a", "x", status="error"))], []),
        ([user(DOCUMENT)], [("document_without_text", 0, ())]),
        ([user(DOCUMENT, "read this")], []),
        ([user("q"), said(use("a")), user(answer("a", DOCUMENT))], []),
        ([user("q"), said(use("a")), user(answer("a", "x"), DOCUMENT)], [("document_without_text", 2, ())]),
        ([user(use("a"), "q")], [("misplaced_block", 0, ())]),
        ([user("q", thought())], [("misplaced_block", 0, ())]),
        ([user("q"), said(answer("a", "x"))], [("misplaced_block", 1, ())]),
        ([user("q"), said(use("a")), user("first", answer("a", "x"))], [("text_before_result", 2, ())]),
        ([user("q"), said(use("a")), user({"newBlock": {}}, answer("a", "x"))], [("text_before_result", 2, ())]),
        ([user("q"), said(use("a")), user(POINT, answer("a", "x"))], []),
        ([user("q"), said(use(None)), user(answer("", "x"))], [("missing_id", 1, ()), ("missing_id", 2, ())]),
        ([user("q"), said(use("a b")), user(answer("a b", "x"))], [("invalid_id", 1, ("a b",)), ("invalid_id", 2, ("a b",))]),
        ([user("q"), said(use("x" * 64)), user(answer("x" * 64, "x"))], []),
        ([user("q"), said(use("x" * 65))], [("invalid_id", 1, ("x" * 65,)), ("pending_call", 1, ("x" * 65,))]),
        ([user("q"), said(use("a"), use("a")), user(answer("a", "x"), answer("a", "x"))], [("duplicate_id", 1, ("a",))]),
        ([user("q"), said(use("a")), user("hm")], [("unanswered_call", 1, ("a",))]),
        ([user("q"), said(use("a"))], [("pending_call", 1, ("a",))]),
        ([user("q"), said(use("a")), user("hm"), said("x"), user(answer("a", "x"))], [("late_result", 4, ("a",))]),
    ],
)
def test_codes(messages: list[Message], found: list[Any]) -> None:
    assert B.found(*messages) == found


# Detection and errors


@pytest.mark.parametrize(
    "block",
    [
        *(text("x"), use("a"), answer("a"), thought(), IMAGE, DOCUMENT, POINT),
        *({"video": {}}, {"guardContent": {}}, {"citationsContent": {}}),
    ],
)
def test_detected(block: Message) -> None:
    assert Both("auto").plan([{"role": "user", "content": "hi"}, said(block)]).report.format == "bedrock"


def test_a_part_of_another_format_is_ambiguous() -> None:
    other = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]}
    with pytest.raises(RefusedError) as caught:
        Both("auto").plan([user("q"), other])
    assert "looks like openai-chat" in caught.value.facts["allowed"]
    assert B.plan([user("q"), other]).kept == (0, 1)


@pytest.mark.parametrize(
    ("message", "path", "seen", "expected"),
    [
        (5, "", "int", "a mapping or an object with a role"),
        ({"content": []}, "role", "nothing", "one of user, assistant"),
        ({"role": "system", "content": []}, "role", "'system'", "one of user, assistant"),
        ({"role": "user", "content": 5}, "content", "int", "a string, a list of blocks or null"),
        (user(None), "content[0]", "NoneType", "a string or a mapping"),
        (user("a", text(5)), "content[1].text", "int", "a string"),
        (said({"toolUse": "f"}), "content[0].toolUse", "str", "a mapping"),
        (said({"toolUse": {"name": 5}}), "content[0].toolUse.name", "int", "a string or null"),
        (said(use(5)), "content[0].toolUse.toolUseId", "int", "a string or null"),
        (said(use("a", {"x": {1}})), "content[0].toolUse.input", "dict", "a string or a JSON value"),
        (user({"toolResult": []}), "content[0].toolResult", "list", "a mapping"),
        (user({"toolResult": {"content": 5}}), "content[0].toolResult.content", "int", "a string, a list of blocks or null"),
        (user(answer("a", "x", 5)), "content[0].toolResult.content[1]", "int", "a string or a mapping"),
        (user(answer("a", text(5))), "content[0].toolResult.content[0].text", "int", "a string"),
        (user(answer("a", {"json": {"x": {1}}})), "content[0].toolResult.content[0].json", "dict", "a JSON value"),
        (said({"reasoningContent": 5}), "content[0].reasoningContent", "int", "a mapping"),
        (said({"reasoningContent": {"reasoningText": "hm"}}), "content[0].reasoningContent.reasoningText", "str", "a mapping"),
    ],
)
def test_errors_say_where(message: Any, path: str, seen: str, expected: str) -> None:
    with pytest.raises(RefusedError) as caught:
        B.plan([user("q"), message])
    assert caught.value.kind == "FormatError"
    facts = caught.value.facts
    assert (facts["index"], facts["path"], facts["found"], facts["expected"]) == (1, path, seen, expected)


# Histories that are written, and real ones


@pytest.mark.parametrize("seed", range(60))
def test_written_histories(seed: int) -> None:
    random = Random(seed)
    messages = bedrock.history(random, turns=random.randrange(1, 6), live=seed % 3 == 0)
    assert B.chars(*messages) == bedrock.size_chars(messages)
    assert [code for code in B.codes(*messages) if code != "pending_call"] == []
    for cap in (None, 40):
        for ceiling, whole in (("max_chars", bedrock.size_chars(messages)), ("max_turns", len(messages))):
            for percent in (25, 50, 75):
                options: dict[str, Any] = {ceiling: max(1, whole * percent // 100), "on_overflow": "keep", "max_chars_per_tool": cap}
                cut, report = B.trim(messages, thinking=random.choice(["keep", "strip"]), **options)
                assert bedrock.problems(cut) == []
                assert report.chars_sent == bedrock.size_chars(cut)
                assert report.over_budget or (report.chars_sent if ceiling == "max_chars" else len(cut)) <= options[ceiling]


KNOWN: dict[str, Any] = {}
"""What is unsound in the corpus: nothing."""


def real(corpus: Path) -> Iterator[Message]:
    for name in ("pydantic-ai.bedrock-converse.jsonl", "rendered.bedrock-converse.jsonl"):
        yield from map(json.loads, (corpus / name).read_text(encoding="utf-8").splitlines())


def test_real_conversations(corpus: Path) -> None:
    seen = 0
    for conversation in real(corpus):
        seen += 1
        messages, known = conversation["messages"], KNOWN.get(conversation["id"], [])
        assert Both("auto").plan(messages).report.format == "bedrock"
        assert B.found(*messages) == known
        assert B.count(messages, conversation.get("tools"), conversation.get("system")) > 0
        whole = {"max_chars": B.chars(*messages), "max_tokens": B.plan(messages, tokenizer="cheap").report.tokens_sent or 0}
        for ceiling, size in (whole | {"max_turns": len(messages)}).items():
            for percent in (25, 50, 75):
                limit = max(1, size * percent // 100)
                cut, report = B.trim(messages, **{ceiling: limit, "tokenizer": "cheap", "on_overflow": "keep", "notice": False})
                sent = {"max_chars": report.chars_sent, "max_tokens": report.tokens_sent or 0, "max_turns": len(cut)}[ceiling]
                assert report.over_budget or sent <= limit
                assert {code for code in B.codes(*cut) if code != "pending_call"} <= {code for code, _, _ in known}
    assert seen == 46
