"""Pi, bare messages and the entries of its sessions, each rule by a case worked out by hand (``docs/formats/pi.md``)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

import backcut
from agreement import agree
from chat import text_part, user
from pictures import png
from pictures import text as picture_text
from support import DEFAULT_NOTICE, cheap, needs_both, snapshot
from wires import pi as judge

Message = dict[str, Any]
LONG = len(DEFAULT_NOTICE)
MARKER = "\n… [truncated]"
IMAGE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}


def said(content: Any = "done", reason: str = "stop", **more: Any) -> Message:
    content = [text_part(content)] if isinstance(content, str) else content
    return {"role": "assistant", "content": content, "stopReason": reason, **more}


def use(call_id: str | None, arguments: Any = None, **more: Any) -> Message:
    return {"type": "toolCall", "id": call_id, "name": "f", "arguments": {} if arguments is None else arguments, **more}


def call(*ids: str | None, reason: str = "toolUse") -> Message:
    return said([use(call_id) for call_id in ids], reason)


def result(call_id: str | None, text: Any = "result", **more: Any) -> Message:
    content = [text_part(text)] if isinstance(text, str) else text
    return {"role": "toolResult", "toolCallId": call_id, "toolName": "f", "content": content, "isError": False, **more}


def pair(call_id: str, text: Any = "result") -> list[Message]:
    return [call(call_id), result(call_id, text)]


def bash(command: str = "ls", output: str = "a.txt", **more: Any) -> Message:
    return {"role": "bashExecution", "command": command, "output": output, "exitCode": 0, "cancelled": False, "truncated": False, **more}


SECRET = bash("env", "PATH=/", excludeFromContext=True)


def custom(content: Any = "note") -> Message:
    return {"role": "custom", "customType": "x", "content": content, "display": True, "details": {"much": "x" * 99}}


def summary(text: Any = "so far", role: str = "compactionSummary") -> Message:
    return {"role": role, "summary": text, "tokensBefore": 1}


def thinking(text: str = "hmm", signature: str | None = "sig", **more: Any) -> Message:
    return {"type": "thinking", "thinking": text, **({} if signature is None else {"thinkingSignature": signature}), **more}


def entry(message: Any, **more: Any) -> Message:
    return {"type": "message", "id": "e1", "parentId": None, "timestamp": "2025-12-17T19:39:21.535Z", "message": message, **more}


SESSION = {"type": "session", "version": 3, "id": "s", "timestamp": "2025-12-17T19:39:21.535Z", "cwd": "/w", "provider": "anthropic"}
LEVEL = {"type": "thinking_level_change", "thinkingLevel": "high"}
STATE = {"type": "custom", "customType": "x", "data": {"n": 1}}


def plan(messages: list[Any], **options: Any) -> backcut.Plan:
    return backcut.context_window(format="pi", **options).plan(messages)


def kept(messages: list[Any], **options: Any) -> tuple[int, ...]:
    return plan(messages, **({"notice": False} | options)).kept


def trimmed(messages: list[Any], **options: Any) -> backcut.Trimmed[list[Any]]:
    before = snapshot(messages)
    result = backcut.trim(messages, format="pi", **options)
    assert snapshot(messages) == before
    return result


def size(messages: list[Any]) -> int:
    return backcut.count(messages, format="pi", tokenizer=len)


def chars(*messages: Any) -> int:
    return backcut.trim(list(messages), format="pi").report.chars_sent


def found(*messages: Any) -> list[tuple[str, int, tuple[str, ...]]]:
    return [(each.code, each.index, each.ids) for each in backcut.check(list(messages), format="pi")]


# Sizes


@pytest.mark.parametrize(
    ("message", "chars_of_it", "tokens"),
    [
        (user("hello"), 5, 4 + 5),
        (user([text_part("hello"), IMAGE, text_part("you")]), 8, 4 + 8 + 765),
        (user([{**IMAGE, "data": picture_text(png(100, 100))}]), 0, 4 + 85 + 170),
        (user([]), 0, 4),
        (said("hello"), 5, 9 + 5),
        (said([use("a", {"x": "é"})]), len('{"x":"é"}'), 9 + 3 + 1 + len('{"x":"é"}')),
        (said([use("a", {}, thoughtSignature="seal")]), 2, 9 + 3 + 1 + 2 + 4),
        (said([thinking("hmm", "signed")]), 3, 9 + 3 + 6),
        (said([thinking("hmm", None)]), 3, 9 + 3),
        (said([thinking("[Reasoning redacted]", "sealed", redacted=True)]), 0, 9 + 6),
        (said([{"type": "wonder", "text": "well"}]), 4, 9 + 4),
        (said([text_part("x"), use("a")], "aborted"), 0, 0),
        (said([thinking()], "error", api="anthropic-messages"), 0, 0),
        (result("a", "hello", details={"raw": "x" * 99}), 5, 4 + 3 + 5),
        (result("a", [text_part("one"), IMAGE]), 3, 4 + 3 + 3 + 765),
        (result("a", []), 0, 4 + 3),
        (bash("ls", "a.txt"), 7, 4 + 7),
        (SECRET, 0, 0),
        (custom("note"), 4, 4 + 4),
        (custom([text_part("note")]), 4, 4 + 4),
        (summary("so far"), 6, 4 + 6),
        (summary("so far", "branchSummary"), 6, 4 + 6),
    ],
)
def test_size(message: Message, chars_of_it: int, tokens: int) -> None:
    frame = 3 if tokens else 0
    assert size([message]) == 3 + frame + tokens
    assert chars(user("q"), message) == 1 + chars_of_it
    assert (size([entry(message)]), chars(user("q"), entry(message))) == (size([message]), 1 + chars_of_it)


@pytest.mark.parametrize(
    ("raw", "bare"),
    [
        ({"type": "compaction", "summary": "so far", "firstKeptEntryId": "e", "tokensBefore": 5}, summary("so far")),
        ({"type": "branch_summary", "summary": "there", "fromId": "e"}, summary("there", "branchSummary")),
        ({"type": "custom_message", "customType": "x", "content": "note", "display": True}, custom("note")),
        ({"type": "custom_message", "customType": "x", "content": [text_part("note")], "display": True}, custom([text_part("note")])),
        *((each, SECRET) for each in (SESSION, LEVEL, STATE)),
        *(({"type": kind}, SECRET) for kind in ("model_change", "label", "session_info")),
    ],
)
def test_entries_cost_what_their_messages_do(raw: Message, bare: Message) -> None:
    assert size([raw]) == size([bare])
    assert chars(user("q"), raw) == chars(user("q"), bare)


# Groups


def test_a_call_and_its_results_are_one_group() -> None:
    messages = [user("q"), call("a", "b"), result("b"), result("a"), said("so")]
    assert found(*messages) == []
    assert [kept(messages, max_turns=n, start="any") for n in (1, 2, 3, 4)] == [(4,), (4,), (4,), (1, 2, 3, 4)]


def test_messages_of_the_model_in_a_row_are_turns_of_their_own() -> None:
    messages = [user("q"), said("a"), said("b"), *pair("c")]
    assert found(*messages) == []
    assert [kept(messages, max_turns=n, start="any") for n in (2, 3)] == [(3, 4), (2, 3, 4)]


@pytest.mark.parametrize("between", [user("wait"), summary(), bash(), custom()])
def test_what_the_user_says_between_a_call_and_its_result_makes_it_late(between: Message) -> None:
    messages = [user("q"), call("a"), between, result("a"), user("next"), said("x")]
    assert found(*messages) == [("late_result", 3, ("a",))]
    assert [kept(messages, max_turns=n) for n in (4, 5)] == [(4, 5), (4, 5)]
    assert kept(messages, max_turns=5, start="any") == (1, 2, 3, 4, 5)


@pytest.mark.parametrize("between", [LEVEL, STATE, SECRET, entry(SECRET)])
def test_what_is_not_sent_may_stand_there_and_parts_nothing(between: Message) -> None:
    messages = [user("q"), call("a"), between, result("a"), said("x")]
    assert found(*messages) == []
    assert [kept(messages, max_turns=n, start="any") for n in (3, 4)] == [(4,), (1, 2, 3, 4)]
    assert found(user("q"), call("a"), between) == [("pending_call", 1, ("a",))]
    assert found(user("q"), call("a"), between, user("r")) == [("unanswered_call", 1, ("a",))]


def test_a_turn_that_broke_off_keeps_its_results_and_calls_nothing() -> None:
    broken = [call("a", "b", reason="aborted"), result("a")]
    messages = [user("q"), *broken, user("r"), said("x")]
    assert found(*messages) == [("orphan_result", 2, ("a",))]
    assert found(user("q"), call("a", None, "a", reason="error"), user("r")) == []
    assert [kept(messages, max_turns=n, start="any") for n in (3, 4)] == [(3, 4), (1, 2, 3, 4)]
    assert found(user("q"), call("a"), said("", "aborted"), result("a")) == [("late_result", 3, ("a",))]
    assert found(user("q"), call("a"), said("", "aborted")) == [("unanswered_call", 1, ("a",))]


# Where a tail begins


@pytest.mark.parametrize("turn", [bash(), custom(), summary(), summary(role="branchSummary")])
def test_what_is_sent_as_the_users_is_a_task_and_a_beginning(turn: Message) -> None:
    messages = [user("old"), said("x"), turn, *pair("a"), *pair("b")]
    for history in (messages, [entry(each) for each in messages]):
        assert kept(history, max_turns=5) == (2, 3, 4, 5, 6)
        assert kept(history, max_turns=3) == (2, 5, 6)


def test_what_is_not_sent_is_neither() -> None:
    messages = [user("task"), said("x"), SECRET, LEVEL, *pair("a")]
    assert kept(messages, max_turns=3) == (0, 4, 5)
    assert kept(messages, max_turns=2, start="any") == (4, 5)
    assert kept(messages, max_turns=4, start="any") == (4, 5)
    assert kept([*messages, LEVEL], max_turns=3, start="any") == (4, 5, 6)


def test_the_first_entries_are_the_head() -> None:
    messages = [SESSION, LEVEL, entry(user("old")), entry(said("x")), entry(user("new")), entry(said("y"))]
    assert kept(messages, max_turns=2) == (0, 1, 4, 5)
    assert kept(messages, max_chars=4) == (0, 1, 4, 5)


def test_the_task_stays() -> None:
    messages = [user("o" * 99), said("x"), user("task"), *pair("a", "12345"), *pair("b", "12345")]
    least = 4 + 2 + 5
    assert kept(messages, max_chars=least) == (2, 5, 6)
    with pytest.raises(backcut.BudgetError) as caught:
        plan(messages, max_chars=least - 1)
    assert (caught.value.needed, caught.value.ceiling, caught.value.index) == (least, "max_chars", 5)
    assert kept(messages, max_chars=least - 1, on_overflow="keep") == (2, 5, 6)


def test_a_task_and_the_group_behind_it_may_be_all_there_is() -> None:
    report = plan([user("task"), *pair("a")], max_chars=1, on_overflow="keep").report
    assert (report.over_budget, report.window_trimmed, report.first_changed) == (True, False, None)


# Notice


@pytest.mark.parametrize("role", ["auto", "system", "user"])
@pytest.mark.parametrize(
    ("turn", "noted", "longer"),
    [
        (user("new"), user(f"{DEFAULT_NOTICE}\n\nnew"), 2),
        (user([IMAGE]), user([text_part(DEFAULT_NOTICE), IMAGE]), 0),
        (custom("new"), custom(f"{DEFAULT_NOTICE}\n\nnew"), 2),
        (summary("new"), summary(f"{DEFAULT_NOTICE}\n\nnew"), 2),
        (summary("new", "branchSummary"), summary(f"{DEFAULT_NOTICE}\n\nnew", "branchSummary"), 2),
        ({"type": "compaction", "summary": "new"}, {"type": "compaction", "summary": f"{DEFAULT_NOTICE}\n\nnew"}, 2),
        ({"type": "custom_message", "content": "new"}, {"type": "custom_message", "content": f"{DEFAULT_NOTICE}\n\nnew"}, 2),
    ],
)
def test_the_notice_is_folded(turn: Message, noted: Message, longer: int, role: Any) -> None:
    for wrap in (lambda message: message, entry):
        if wrap is entry and "role" not in turn:
            continue
        messages = [wrap(user("old")), wrap(said("x")), wrap(turn), wrap(said("y"))]
        cut, report = trimmed(messages, max_turns=2, notice_role=role, tokenizer=len)
        assert cut == [wrap(noted), messages[3]]
        assert report.chars_sent == chars(turn) + 1 + LONG + longer
        assert report.tokens_sent == size(cut)
        assert backcut.trim(cut, format="pi", max_turns=2, notice_role=role).messages is cut


def test_a_command_has_no_room_for_it() -> None:
    for turn in (bash(), entry(bash())):
        messages = [user("old"), said("x"), turn, said("y")]
        cut, report = trimmed(messages, max_turns=2)
        assert cut == messages[2:]
        assert cut[0] is turn
        assert (report.window_trimmed, report.chars_sent) == (True, 8)


# Cap


def test_each_result_has_its_own_cap() -> None:
    blocks = [text_part("a" * 10), IMAGE, text_part("b" * 30), text_part("c")]
    messages = [user("q"), call("a", "b", "c"), result("a", "x" * 40), result("b", "short"), result("c", blocks), bash(output="z" * 99)]
    for history, path in ((messages, ()), ([entry(each) for each in messages], ("message",))):
        cut, report = trimmed(history, max_chars_per_tool=30, tokenizer=len)
        inner = [each if not path else each["message"] for each in cut]
        assert inner[2] == result("a", "x" * 16 + MARKER)
        assert inner[4]["content"] == [blocks[0], IMAGE, text_part("b" * 6 + MARKER)]
        assert inner[4]["content"][1] is IMAGE
        assert cut[3] is history[3]
        assert cut[5] is history[5]
        assert (report.tools_truncated, report.chars_capped, report.first_changed) == (2, 10 + 11, 2)
        assert (report.chars_sent, report.tokens_sent) == (chars(*cut), size(cut))
        first, second = plan(history, max_chars_per_tool=30).edits
        assert first.cuts == (backcut.PartCut((*path, "content", 0, "text"), 16, 0, MARKER, False),)
        assert [(part.path, part.dropped) for part in second.cuts] == [
            ((*path, "content", 2, "text"), False),
            ((*path, "content", 3), True),
        ]


# Thinking

OLD = [user("old"), said("x")]


def run(**more: Any) -> list[Message]:
    return [
        user("one"),
        said([thinking("a" * 10), use("a")], "toolUse", **more),
        result("a"),
        said([thinking("b" * 10), thinking("", "sealed", redacted=True)], **more),
        user("two"),
        said([thinking("c" * 10), use("c")], "toolUse", **more),
        result("c"),
    ]


@pytest.mark.parametrize(
    "more", [{}, {"api": "anthropic-messages"}, {"provider": "amazon-bedrock"}, {"api": "bedrock-converse-stream", "provider": "x"}]
)
def test_signed_thinking_of_completed_turns_is_stripped_behind_a_cut(more: Message) -> None:
    messages = [*OLD, *run(**more)]
    for wrap, path in ((lambda message: message, ()), (entry, ("message",))):
        history = [wrap(each) for each in messages]
        cut, report = trimmed(history, max_turns=7, thinking="strip", notice=False, tokenizer=len)
        assert cut == [history[2], wrap(said([use("a")], "toolUse", **more)), history[4], *history[6:]]
        assert plan(history, max_turns=7, thinking="strip", notice=False).edits[0].cuts[0].path == (*path, "content", 0)
        assert report.thinking_invalidated, "the live turn's"
        assert (report.chars_sent, report.tokens_sent) == (chars(*cut), size(cut))
        assert backcut.trim(cut, format="pi", max_turns=7, thinking="strip").messages is cut


@pytest.mark.parametrize("more", [{"api": "openai-responses", "provider": "anthropic"}, {"provider": "google"}])
def test_thinking_of_other_providers_stays(more: Message) -> None:
    messages = [*OLD, *run(**more)]
    cut, report = trimmed(messages, max_turns=7, thinking="strip", notice=False)
    assert cut == messages[2:]
    assert not report.thinking_invalidated
    unsigned = [user("old"), said("x"), user("one"), said([thinking("a", None)]), user("two")]
    assert not plan(unsigned, max_turns=3, thinking="strip").report.thinking_invalidated


def test_thinking_that_is_not_sent_is_nothing() -> None:
    broken = [*OLD, user("one"), said([thinking()], "aborted"), user("two")]
    assert trimmed(broken, max_turns=3, thinking="strip", notice=False).messages == broken[2:]
    assert not plan(broken, max_turns=3).report.thinking_invalidated


# Check


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], [("empty_history", 0, ())]),
        ([said("hi"), user("q")], []),
        ([user(None), user(""), user([]), custom(None), summary(None), summary("")], [("missing_content", n, ()) for n in range(6)]),
        ([bash(None), said([]), result("a", []), said(None)], [("missing_content", 0, ()), ("orphan_result", 2, ("a",))]),  # type: ignore[arg-type]
        ([user("q"), call(None), result("a")], [("missing_id", 1, ())]),
        ([user("q"), call("a"), result("")], [("missing_id", 2, ())]),
        ([user("q"), call("a", "a"), result("a"), result("a")], [("duplicate_id", 1, ("a",))]),
        ([user("q"), call("a"), user("r")], [("unanswered_call", 1, ("a",))]),
        ([user("q"), call("a", "b"), result("b")], [("pending_call", 1, ("a",))]),
        ([user("q"), call("a"), result("a"), result("a")], [("orphan_result", 3, ("a",))]),
        ([user("q"), call("call_1|fc_1"), result("call_1|fc_1")], []),
    ],
)
def test_codes(messages: list[Any], expected: list[Any]) -> None:
    assert found(*messages) == expected
    assert found(*map(entry, messages)) == expected


# Detection


@pytest.mark.parametrize(
    "message",
    [
        result("a"),
        bash(),
        custom(),
        summary(),
        summary(role="branchSummary"),
        said("x"),
        {"role": "assistant", "content": [use("a")]},
        {"role": "assistant", "content": [thinking()]},
        user([IMAGE]),
        entry(user("q")),
        SESSION,
        LEVEL,
        STATE,
        *({"type": kind} for kind in ("model_change", "label", "session_info")),
        {"type": "compaction", "summary": "x"},
        {"type": "branch_summary", "summary": "x"},
        {"type": "custom_message", "content": "x"},
    ],
)
def test_shapes_that_decide(message: Message) -> None:
    assert backcut.trim([user("q"), message]).report.format == "pi"


def test_thinking_in_a_history_of_pi_is_pis() -> None:
    messages = [user("q"), said([thinking("hm", None)]), {"role": "assistant", "content": [thinking("hm", None)]}]
    assert backcut.check(messages) == []


def test_another_format_further_on_is_ambiguous() -> None:
    with pytest.raises(backcut.OptionError) as caught:
        backcut.check([user("q"), said("x"), {"role": "tool", "content": "x", "tool_call_id": "a"}])
    assert "messages[2] looks like openai-chat" in caught.value.allowed


# Reading

ROLES = "one of user, assistant, toolResult, bashExecution, custom, branchSummary, compactionSummary"
ENTRIES = (
    "one of message, compaction, branch_summary, custom_message, custom, session, session_info, label, model_change, thinking_level_change"
)


@pytest.mark.parametrize(
    ("message", "path", "wrong", "expected"),
    [
        (None, "", "NoneType", "a mapping or an object with a role"),
        ({"role": "tool"}, "role", "'tool'", ROLES),
        ({"role": 5}, "role", "int", ROLES),
        ({}, "role", "nothing", ROLES),
        ({"type": "wonder"}, "type", "'wonder'", ENTRIES),
        ({"type": 5}, "type", "int", ENTRIES),
        ({"type": "message"}, "message", "nothing", "a mapping or an object with a role"),
        (entry("x"), "message", "str", "a mapping or an object with a role"),
        (entry({"role": "system"}), "message.role", "'system'", ROLES),
        (user(5), "content", "int", "a string, a list of blocks or null"),
        (entry(user(5)), "message.content", "int", "a string, a list of blocks or null"),
        (user([None]), "content[0]", "NoneType", "a string or a mapping"),
        (entry(user([text_part("x"), text_part(5)])), "message.content[1].text", "int", "a string"),
        (user([text_part(None)]), "content[0].text", "nothing", "a string"),
        (said([use(5)]), "content[0].id", "int", "a string or null"),  # type: ignore[arg-type]
        (said([use("a") | {"name": 5}]), "content[0].name", "int", "a string"),
        (said([use("a", {1, 2})]), "content[0].arguments", "set", "a string or a JSON value"),
        (result(5), "toolCallId", "int", "a string or null"),  # type: ignore[arg-type]
        (result("a", 5), "content", "int", "a string, a list of blocks or null"),
        (result("a", [5]), "content[0]", "int", "a string or a mapping"),
        (bash(5), "command", "int", "a string or null"),  # type: ignore[arg-type]
        (summary(5), "summary", "int", "a string or null"),
    ],
)
def test_what_cannot_be_read(message: Any, path: str, wrong: str, expected: str) -> None:
    for operation in (plan, lambda messages: backcut.check(messages, format="pi")):
        with pytest.raises(backcut.FormatError) as caught:
            operation([user("q"), message], **({"max_chars": 100} if operation is plan else {}))
        error = caught.value
        assert (error.index, error.path, error.found, error.expected) == (1, path, wrong, expected)


def test_what_is_wrong_in_front_of_the_cut_does_not_matter() -> None:
    messages = [user(5), said([None, use(5)]), result(5, 5), entry(summary(5)), user("old"), user("q"), said("a")]  # type: ignore[arg-type]
    assert kept(messages, max_chars=2) == (5, 6)


def test_objects_are_read_by_their_attributes() -> None:
    made = [user("old"), said("x"), user("new"), call("a"), result("a", "y" * 40)]
    messages = [SimpleNamespace(**each, toolCalls=None) for each in made]
    cut, report = trimmed(messages, max_turns=3, max_chars_per_tool=20)
    assert vars(cut[0])["content"] == f"{DEFAULT_NOTICE}\n\nnew"
    assert vars(cut[2])["content"] == [text_part("y" * 6 + MARKER)]
    assert cut[1] is messages[3]
    assert report.chars_sent == chars(*cut)


# Real conversations


def test_real_sessions(corpus: Path) -> None:
    """Found to be Pi's and sound; under every ceiling sound, within it, from a user turn on, and final."""
    lines = (corpus / "pi-mono.pi-session-jsonl.jsonl").read_text(encoding="utf-8").splitlines()
    sessions = [json.loads(line)["messages"] for line in lines]
    assert [len(messages) for messages in sessions] == [462, 1019]
    for messages in sessions:
        whole = backcut.trim(messages, tokenizer=cheap).report
        assert (whole.format, backcut.check(messages)) == ("pi", [])
        for ceiling, all_of_it in (("max_turns", len(messages)), ("max_chars", whole.chars_sent), ("max_tokens", whole.tokens_sent or 0)):
            for share in (25, 50, 75):
                options = {ceiling: all_of_it * share // 100, "tokenizer": cheap, "max_chars_per_tool": 2_000}
                cut, report = backcut.trim(messages, **options)
                assert {"max_turns": len(cut) - 1, "max_chars": report.chars_sent, "max_tokens": report.tokens_sent}[ceiling] <= options[
                    ceiling
                ]
                assert cut[0] is messages[0]
                assert cut[1]["message"]["role"] == "user"
                assert (judge.problems(cut), backcut.check(cut)) == ([], [])
                assert report.tokens_sent == backcut.count(cut, tokenizer=cheap)
                assert backcut.trim(cut, **options).messages is cut


def test_real_calls_that_nobody_answered(corpus: Path) -> None:
    """18 calls stand in turns that broke off; were those sent, they would be dead."""
    lines = (corpus / "pi-mono.pi-session-jsonl.jsonl").read_text(encoding="utf-8").splitlines()
    messages = json.loads(lines[1])["messages"]
    for each in messages:
        if each["type"] == "message" and each["message"].get("stopReason") in ("error", "aborted"):
            each["message"]["stopReason"] = "stop"
    assert Counter({each.index: len(each.ids) for each in backcut.check(messages)}) == {32: 16, 233: 1, 842: 1}


# The twin


@needs_both
@pytest.mark.parametrize("wrap", judge.RAW, ids=["bare", "entries"])
def test_the_twin_agrees(wrap: Callable[[Any], list[Message]]) -> None:
    for seed in range(120):
        random = Random(seed)
        history = wrap(judge.history(random, turns=1 + seed % 16, live=seed % 3 == 0))
        agree(judge, history, random)
        agree(judge, judge.breakages(history, Random(f"damage {seed}"))[1], random)
