"""Public bug reports of other trimmers in the wire formats in which they happened, told again in our own words: here they do not happen.

Where a report is about a cut, every ceiling is tried: each number of messages and each number of characters. What
``test_bug_cases`` shows of Chat arrays is not repeated.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest

import backcut
from chat import call as chat_call
from chat import result as chat_result
from chat import said as chat_said
from chat import user as chat_user
from dresses import FORMATS, MERGING, TASK_GIVES_WAY, Dress, boundaries, chars, compact, head_length, longest, problems, turn
from histories import BASE64
from support import DEFAULT_NOTICE, cheap, snapshot

NO_RESULT = "No result: the call was not completed."
RESUMED = "[…conversation resumed…]"
FOLDING = tuple(wire for wire in FORMATS if wire not in TASK_GIVES_WAY)
"""Formats in which the notice stands in a user turn."""

A, G, B, P = Dress("anthropic"), Dress("gemini"), Dress("bedrock"), Dress("pi")
L, Y, R, C = Dress("langchain"), Dress("pydantic-ai"), Dress("openai-responses"), Dress("openai-chat")

every_format = pytest.mark.parametrize("d", [Dress(wire) for wire in FORMATS], ids=FORMATS)
other_formats = pytest.mark.parametrize("d", [Dress(wire) for wire in FORMATS if wire != "openai-chat"], ids=lambda d: d.wire)
folding = pytest.mark.parametrize("d", [Dress(wire) for wire in FOLDING], ids=FOLDING)


def is_mixed(wire: str, message: Any) -> bool:
    """A request of pydantic-ai that holds system text beside what the user says."""
    return (
        wire == "pydantic-ai" and turn(wire, message).kind != "system" and any(p["part_kind"] == "system-prompt" for p in message["parts"])
    )


def cut(
    d: Dress, messages: Sequence[Any], *, sound: bool = True, edited: bool = False, measured: bool = True, **options: Any
) -> Sequence[Any]:
    """Trims, and asserts what holds of every trim: pairs, the beginning, the end, the ceilings, and that it is final.

    ``sound``: whether the history is; ``edited``: whether kept messages may be changed (capped, thinking stripped); ``measured``: whether
    we know ourselves how many characters it has.
    """
    wire, options = d.wire, {"on_overflow": "keep", **options}
    assert not sound or problems(wire, messages) == []
    before = snapshot(messages)
    sent, report = backcut.trim(messages, format=wire, **options)
    assert snapshot(messages) == before
    assert report.format == wire
    again = backcut.trim(sent, format=wire, **options)
    assert again.messages is sent

    place = {id(message): k for k, message in enumerate(messages)}
    own = [place[id(message)] for message in sent if id(message) in place]
    new = [k for k, message in enumerate(sent) if id(message) not in place]
    assert own == sorted(set(own)), "order, and nothing twice"
    body = sent[head_length(wire, sent) :]
    assert body
    assert turn(wire, sent[-1]).kind == turn(wire, messages[-1]).kind
    if not edited:
        mixed = is_mixed(wire, messages[0])
        assert len(new) <= (options.get("notice") is not False) + mixed
        assert sent[-1] is messages[-1] or new == [len(sent) - 1]
        if measured and not mixed:
            head, rest = messages[: head_length(wire, messages)], sent[head_length(wire, messages) :]
            carried = len(DEFAULT_NOTICE) * (options.get("notice") is not False and DEFAULT_NOTICE in compact(list(head)))
            assert report.chars_sent == chars(wire, rest) + carried
    if not report.over_budget:
        assert len(body) <= options.get("max_turns", len(body))
        assert report.chars_sent <= options.get("max_chars", report.chars_sent)
    if sound:
        assert problems(wire, sent) == []
        assert {v.code for v in backcut.check(sent, format=wire)} <= {"pending_call"}
        old = messages[head_length(wire, messages) :]
        users = [k for k, message in enumerate(old) if turn(wire, message).kind == "user"]
        must = bool(users) and users[0] <= boundaries(wire, old)[-1] and not report.task_dropped
        assert not report.task_dropped or wire in TASK_GIVES_WAY
        if must and report.window_trimmed and options.get("start") != "any":
            assert turn(wire, body[0]).kind == "user"
    return sent


def every_ceiling(d: Dress, messages: Sequence[Any], *, sound: bool = True, measured: bool = True, **options: Any) -> list[Sequence[Any]]:
    """All that can be sent: :func:`cut` at each number of messages and of characters. Of a sound history it is the longest there is."""
    sent = []
    for turns in range(1, len(messages) + 1):
        silent = cut(d, messages, sound=sound, measured=measured, max_turns=turns, notice=False, **options)
        sent += [silent, cut(d, messages, sound=sound, measured=measured, max_turns=turns, **options)]
        if sound and not options:
            kept, over = longest(d.wire, messages, turns)
            extra = int(is_mixed(d.wire, messages[0]) and 0 not in kept)
            assert [id(message) for message in silent][extra:] == [id(messages[k]) for k in kept]
            assert backcut.trim(messages, format=d.wire, max_turns=turns, on_overflow="keep").report.over_budget == over
    whole = backcut.trim(messages, format=d.wire, max_turns=len(messages)).report.chars_sent
    assert not measured or is_mixed(d.wire, messages[0]) or whole >= chars(d.wire, messages[head_length(d.wire, messages) :])
    for limit in range(1, whole + 2):
        for notice in (None, False):
            sent.append(cut(d, messages, sound=sound, measured=measured, max_chars=limit, notice=notice, **options))
    return sent


def codes(d: Dress, messages: Sequence[Any]) -> list[tuple[str, int, tuple[str, ...]]]:
    return [(v.code, v.index, v.ids) for v in backcut.check(messages, format=d.wire)]


def mended(d: Dress, messages: Sequence[Any]) -> Any:
    """Repairs, and asserts what holds of every repair."""
    before = snapshot(messages)
    repaired = backcut.repair(messages, format=d.wire)
    assert snapshot(messages) == before
    assert repaired.messages is not messages
    assert repaired.changes
    assert all(0 <= change.index < len(messages) for change in repaired.changes)
    assert {v.code for v in backcut.check(repaired.messages, format=d.wire)} <= {"pending_call"}
    assert problems(d.wire, repaired.messages) == []
    again = backcut.repair(repaired.messages, format=d.wire)
    assert again.messages is repaired.messages
    assert not again.changes
    return repaired


def touched(repaired: Any) -> list[tuple[int, tuple[str, ...]]]:
    return [(change.index, tuple(change.ids)) for change in repaired.changes]


def is_untouched(d: Dress, messages: Sequence[Any]) -> bool:
    """Whether repair leaves a history that needs none."""
    repaired = backcut.repair(messages, format=d.wire)
    return repaired.messages is messages and not repaired.changes


def task_with_rounds(d: Dress, rounds: int, *, ids: Callable[[int], str] = "c{}".format) -> list[Any]:
    return [*d.user("task"), *(m for k in range(rounds) for m in d.pair(ids(k), text=f"round {k}")), *d.said()]


# 1. A front cut leaves a result without its call


def test_b05_keep_last_n_moves_to_a_clean_boundary() -> None:
    """Keeping the last three or four of a LangChain history made it begin with a ToolMessage."""
    messages = [*L.system(), *L.user("q"), *L.call("a", "b"), *L.results("a", "b"), *L.said(), *L.user("and now?")]
    every_ceiling(L, messages)
    assert [messages.index(m) for m in cut(L, messages, max_turns=3, notice=False)] == [0, 1, 5, 6]


@pytest.mark.parametrize("beside", [False, True])
def test_b06_first_plus_last_n_slice_falls_on_a_boundary(beside: bool) -> None:
    """The first request of pydantic-ai was kept beside a plain slice of the last ones, which began with a tool-return part."""
    system = Y.system("be terse")
    first = [{"kind": "request", "parts": [*system[0]["parts"], *Y.user("q")[0]["parts"]]}] if beside else [*system, *Y.user("q")]
    messages = [*first, *Y.pair("a"), *Y.pair("b"), *Y.said(), *Y.user("next"), *Y.pair("c"), *Y.said("end")]
    every_ceiling(Y, messages)
    sent = cut(Y, messages, max_turns=4, notice=False)
    assert list(sent) == [*system, *messages[-4:]]
    assert [p["content"] for p in cut(Y, messages, max_turns=4)[1]["parts"]] == [f"{DEFAULT_NOTICE}\n\nnext"]


@pytest.mark.parametrize("d", [Y, G], ids=["pydantic-ai", "gemini"])
def test_b08_target_count_keeps_the_system_message(d: Dress) -> None:
    """A reducer to three messages sent the tool's result first.

    The shape of Semantic Kernel (calls and results are items of a message) is none of ours: told in the two that are near.
    """
    messages = [*d.system(), *d.user("q"), *d.pair("1"), *d.user("next"), *d.said()]
    every_ceiling(d, messages)
    assert list(cut(d, messages, max_turns=3, notice=False)) == [*d.system(), *messages[-2:]]


@other_formats
def test_b12_trimming_what_was_trimmed_stays_sound(d: Dress) -> None:
    """A chat memory was trimmed to three at every message that came in, and lost the call of a result that was still there."""
    script = [*d.user("one"), *d.pair("a"), *d.said("two"), *d.user("three"), *d.pair("b"), *d.said("four"), *d.user("five")]
    for turns in range(1, 7):
        history: list[Any] = []
        for message in script:
            history.append(message)
            history = list(cut(d, history, max_turns=turns))
            assert compact(history).count(DEFAULT_NOTICE) <= 1


def ag2(*ids: str) -> dict[str, Any]:
    """Many results in one message."""
    return {"role": "tool", "content": "both", "tool_responses": [{"role": "tool", "tool_call_id": i, "content": "result"} for i in ids]}


def test_b15_one_message_answers_two_calls() -> None:
    """AG2 answers a batch in one message: what it answers must not be told by that message's own id, which it has not."""
    messages = [
        chat_user("q"),
        chat_call("a", "b"),
        ag2("a", "b"),
        chat_said("so"),
        chat_user("next"),
        chat_call("c"),
        ag2("c"),
        chat_said("end"),
    ]
    assert problems("openai-chat", messages) == []
    for turns in range(1, len(messages) + 1):
        sent = backcut.trim(messages, format="openai-chat", max_turns=turns, on_overflow="keep", notice=False).messages
        assert problems("openai-chat", sent) == []
        assert [id(m) for m in sent] == [id(messages[k]) for k in longest("openai-chat", messages, turns)[0]]


@pytest.mark.parametrize("d", [Y, L], ids=["pydantic-ai", "langchain"])
def test_b18_a_run_of_results_is_not_split(d: Dress) -> None:
    """Removing a contiguous run stopped between a call and its result.

    The AI SDK's ModelMessage has calls as parts of the model's message and results as a message of their own, so do these two.
    """
    every_ceiling(d, [*d.user("q"), *d.pair("c1"), *d.said()])
    every_ceiling(d, [*d.user("q"), *d.call("c1", "c2"), *d.results("c1", "c2"), *d.pair("c3"), *d.said()])


@every_format
@pytest.mark.parametrize(
    "more", [{}, {"trim_to": 0.5}, {"start": "any"}, {"thinking": "strip"}, {"notice_role": "user"}, {"max_chars_per_tool": 4}]
)
def test_b21_soundness_belongs_to_every_way_of_cutting(d: Dress, more: dict[str, Any]) -> None:
    """One of two code paths was checked; the other sent orphans to Claude."""
    messages = [
        *d.user("q"),
        *d.pair("a", text="x" * 9),
        *d.said(),
        *d.user("r"),
        *d.call("b", "c"),
        *d.results("b", "c", text="y" * 9),
        *d.said(),
    ]
    for option in ({"max_turns": 3}, {"max_turns": 5}, {"max_chars": 30}, {"max_tokens": 24, "tokenizer": cheap}):
        if more.get("start") == "any" and d.wire in ("anthropic", "gemini", "bedrock"):
            sent = backcut.trim(messages, format=d.wire, on_overflow="keep", **option, **more).messages
            assert [p for p in problems(d.wire, sent) if "begins with a model" not in p] == []
        elif "trim_to" in more:  # a function of the whole history: what it gives is not trimmed again
            assert problems(d.wire, backcut.trim(messages, format=d.wire, on_overflow="keep", **option, **more).messages) == []
        else:
            cut(d, messages, edited="max_chars_per_tool" in more, **option, **more)


def mixed(d: Dress, *before: str, ids: Sequence[str] = ("x",), after: Sequence[str] = ()) -> dict[str, Any]:
    """A user message with texts before and behind its results."""
    (message,) = d.results(*ids)
    key = "parts" if d.wire == "gemini" else "content"
    texts = [
        [d.user(text)[0][key][0] if d.wire != "anthropic" else {"type": "text", "text": text} for text in side] for side in (before, after)
    ]
    return {**message, key: [*texts[0], *message[key], *texts[1]]}


@pytest.mark.parametrize("before", range(5))
def test_b23_an_orphan_is_a_block_and_not_a_message(before: int) -> None:
    """A result without its call stood at index 0 to 4 of a user message that said other things too: nobody looked there."""
    said = [f"said {k}" for k in range(before)]
    messages = [*A.user("q"), *A.said(), mixed(A, *said, after=["go on"]), *A.said("end")]
    assert ("orphan_result", 2, ("x",)) in codes(A, messages)
    repaired = mended(A, messages)
    assert (2, ("x",)) in touched(repaired)
    assert [m is n for m, n in zip(repaired.messages, messages, strict=True)] == [True, True, False, True]
    assert [block["text"] for block in repaired.messages[2]["content"]] == [*said, "go on"]


@pytest.mark.parametrize("before", range(1, 5))
def test_b23_text_in_front_of_a_result_is_named_and_moved_behind(before: int) -> None:
    """The same with the call there: the provider wants results first."""
    said = [f"said {k}" for k in range(before)]
    messages = [*A.user("q"), *A.call("x"), mixed(A, *said), *A.said("end")]
    assert [code for code, index, _ in codes(A, messages) if index == 2] == ["text_before_result"]
    content = mended(A, messages).messages[2]["content"]
    assert [block["type"] for block in content] == ["tool_result", *["text"] * before]
    assert content[0] is messages[2]["content"][before]
    assert [block["text"] for block in content[1:]] == said


@pytest.mark.parametrize("d", [A, G], ids=["anthropic", "gemini"])
def test_b24_behind_a_hole_in_the_middle_the_text_survives(d: Dress) -> None:
    """The first pair was kept before a tail whose first message answered a call in the hole, and said something as well."""
    broken = [*d.user("q"), *d.said("hello"), *d.results("x", more="go on"), *d.said("end")]
    assert codes(d, broken) == [("orphan_result", 2, ("x",))]
    repaired = mended(d, broken)
    assert touched(repaired) == [(2, ("x",))]
    assert list(repaired.messages) == [*broken[:2], mixed(d, ids=(), after=["go on"]), broken[3]]
    assert all(repaired.messages[k] is broken[k] for k in (0, 1, 3))
    every_ceiling(
        d, [*d.user("q"), *d.said("hello"), *d.call("x"), *d.results("x", more="go on"), *d.said("more"), *d.user("next"), *d.said("end")]
    )


def summary() -> dict[str, Any]:
    return {"role": "compactionSummary", "summary": "what was", "tokensBefore": 1000, "timestamp": 0}


@pytest.mark.parametrize("d", [P, A], ids=["pi", "anthropic"])
def test_b28_no_cut_where_a_call_is_open(d: Dress) -> None:
    """A summary took the place of a call, and the kept tail began with its result: the session could not be used any more."""
    every_ceiling(d, task_with_rounds(d, 4))
    stands_for = [summary()] if d is P else d.user("what was")
    broken = [*stands_for, *d.results("gone"), *d.pair("a"), *d.said()]
    assert [(code, ids) for code, _, ids in codes(d, broken)] == [("orphan_result", ("gone",))]
    repaired = mended(d, broken)
    assert touched(repaired) == [(1, ("gone",))]
    assert [id(m) for m in repaired.messages] == [id(m) for m in [broken[0], *broken[2:]]]


def test_b28_a_summary_of_pi_is_a_user_turn() -> None:
    """What the sender says for the user counts as the user's: a tail may begin with it."""
    messages = [*P.user("q"), *P.pair("z"), summary(), *P.pair("a"), *P.said(), *P.user("next"), *P.pair("b"), *P.said()]
    for turns in range(1, len(messages) + 1):
        kept, _ = longest("pi", messages, turns)
        assert [id(m) for m in cut(P, messages, max_turns=turns, notice=False)] == [id(messages[k]) for k in kept]
    assert cut(P, messages, max_turns=8, notice=False)[0] is messages[3]


def test_b29_each_tighter_retry_is_sound() -> None:
    """Every retry dropped more from the front of a Responses input, and each made the same orphan."""
    sent = every_ceiling(R, task_with_rounds(R, 6))
    assert len({len(each) for each in sent}) >= 6


def test_b30_a_turn_cap_never_leaves_a_function_response() -> None:
    """A cap on turns removed the functionCall and kept its functionResponse."""
    every_ceiling(G, [*G.user("q"), *G.pair("a", "b"), *G.said(), *G.user("next"), *G.pair("c"), *G.said("end")])


# 2. A cut leaves a call without its result


def reasoning(name: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "reasoning",
        "id": f"rs_{name}",
        "summary": [{"type": "summary_text", "text": "hm"}],
        "encrypted_content": BASE64,
        **more,
    }


def test_b31_a_call_whose_output_was_lost_gets_one() -> None:
    """The host compacted the output away: "No tool output found". (The report would rather lose the call; a result keeps what was done.)"""
    messages = [*R.user("q"), reasoning("1"), *R.call("a"), *R.said("hm"), *R.user("next")]
    assert codes(R, messages) == [("unanswered_call", 2, ("a",))]
    repaired = mended(R, messages)
    assert touched(repaired) == [(2, ("a",))]
    (output,) = [item for item in repaired.messages if item.get("type") == "function_call_output"]
    assert (output["call_id"], output["output"]) == ("a", NO_RESULT)
    assert [id(m) for m in repaired.messages if m is not output] == [id(m) for m in messages]
    assert repaired.messages.index(output) > 2
    assert backcut.trim(messages, format="openai-responses", max_turns=9).messages is messages, "trim mends nothing"


def test_b32_what_is_pending_is_named() -> None:
    """Compaction was asked for while a call had no output yet."""
    messages = [*R.user("q"), *R.pair("a"), reasoning("1"), *R.call("b", "c"), *R.results("c")]
    assert codes(R, messages) == [("pending_call", 4, ("b",))]
    assert is_untouched(R, messages)
    for sent in every_ceiling(R, messages):
        assert list(sent[-4:]) == messages[-4:]


@other_formats
def test_b33_an_open_batch_is_cut_before_only(d: Dress) -> None:
    """Compaction ran between a call and its output."""
    for live in (d.call("a", "b"), [*d.call("a", "b"), *d.results("b")]):
        messages = [*d.user("old"), *d.pair("z"), *d.said(), *d.user("new"), *live]
        assert {code for code, *_ in codes(d, messages)} == {"pending_call"}
        assert is_untouched(d, messages)
        for sent in every_ceiling(d, messages):
            assert [id(m) for m in sent[-len(live) :]] == [id(m) for m in live]


@pytest.mark.parametrize("d", [Y, G], ids=["pydantic-ai", "gemini"])
@pytest.mark.parametrize("start", range(1, 8))
def test_b38_an_extracted_range_has_both_or_neither(d: Dress, start: int) -> None:
    """A range was taken out of a history, and the other half of its pairs lay outside.

    The shape of Semantic Kernel is none of ours: told in the two that are near. What was taken out is repaired.
    """
    messages = [*d.user("q"), *d.pair("a"), *d.pair("b", "c"), *d.said(), *d.user("next"), *d.pair("e"), *d.said("end")]
    every_ceiling(d, messages)
    part = messages[start:-1]
    if problems(d.wire, part):
        mended(d, part)
    else:
        assert is_untouched(d, part)


@other_formats
def test_b39_b43_b44_a_batch_of_three_is_atomic(d: Dress) -> None:
    """One or two results of three went (LangChain), half of them (Anthropic), one observation (OpenHands): a batch is one thing."""
    batch = [*d.call("a", "b", "c"), *d.results("c"), *d.results("a", "b")]
    if d.wire == "bedrock":
        batch = [*d.call("a", "b", "c"), *d.results("c", "a", "b")]
    for sent in every_ceiling(d, [*d.user("q"), *batch, *d.said(), *d.user("next"), *d.said("end")]):
        assert len({any(m is each for m in sent) for each in batch}) == 1


def test_b44_a_batch_in_several_messages_is_one() -> None:
    """One reply of the model was stored as one message for each call, and so were the results."""
    batch = [*A.call("a"), *A.call("b"), *A.results("a"), *A.results("b")]
    for sent in every_ceiling(A, [*A.user("q"), *batch, *A.said(), *A.user("next"), *A.said("end")]):
        assert len({any(m is each for m in sent) for each in batch}) == 1


def test_b42_a_human_gate_with_half_of_the_answers() -> None:
    """Two calls waited for a human, one was answered, and then he said something else."""
    messages = [*L.user("q"), *L.call("a", "b"), *L.results("a"), *L.user("instead do this"), *L.said()]
    assert codes(L, messages) == [("unanswered_call", 1, ("b",))]
    repaired = mended(L, messages)
    assert touched(repaired) == [(1, ("b",))]
    made = repaired.messages[3]
    assert (made["type"], made["tool_call_id"], made["content"], made["status"]) == ("tool", "b", NO_RESULT, "error")
    assert [id(m) for m in repaired.messages if m is not made] == [id(m) for m in messages]
    for turns in range(1, 6):
        sent = cut(L, messages, sound=False, max_turns=turns, notice=False)
        assert len({any(m is each for m in sent) for each in messages[1:3]}) == 1


def refused(d: Dress) -> list[Any]:
    """A call that was denied, and one that went wrong, as the format says it."""
    match d.wire:
        case "pydantic-ai":
            retry = {"part_kind": "retry-prompt", "tool_name": "f", "tool_call_id": "a", "content": "no such file"}
            denied = {"part_kind": "tool-return", "tool_name": "f", "tool_call_id": "b", "content": "denied", "outcome": "denied"}
            return [{"kind": "request", "parts": [retry, denied]}]
        case "anthropic":
            return [{"role": "user", "content": [{**b, "is_error": True} for b in A.results("a", "b")[0]["content"]]}]
        case "bedrock":
            return [
                {
                    "role": "user",
                    "content": [{"toolResult": {**b["toolResult"], "status": "error"}} for b in B.results("a", "b")[0]["content"]],
                }
            ]
        case "gemini":
            failed = [{"functionResponse": {"id": i, "name": "f", "response": {"error": "denied"}}} for i in ("a", "b")]
            return [{"role": "user", "parts": failed}]
        case "pi":
            return [{**m, "isError": True} for m in P.results("a", "b")]
        case "langchain":
            return [{**m, "status": "error"} for m in L.results("a", "b")]
    return [{**m, "status": "incomplete"} for m in R.results("a", "b")]


@other_formats
def test_b45_an_error_or_a_denial_is_a_result_too(d: Dress) -> None:
    """Rejections and errors were not counted as results, so their calls were taken for open ones."""
    messages = [*d.user("q"), *d.call("a", "b"), *refused(d), *d.said(), *d.user("next"), *d.said("end")]
    assert codes(d, messages) == []
    assert is_untouched(d, messages)
    every_ceiling(d, messages)


def test_b45_a_retry_that_names_no_tool_is_what_the_user_says() -> None:
    """In pydantic-ai such a part asks the model itself to try again."""
    retry = {"kind": "request", "parts": [{"part_kind": "retry-prompt", "content": "not JSON"}]}
    messages = [*Y.user("q"), *Y.pair("a"), *Y.said("{"), retry, *Y.said("{}")]
    assert codes(Y, messages) == []
    every_ceiling(Y, messages)
    assert list(cut(Y, messages, max_turns=2, notice=False)) == messages[-2:]


def test_b51_three_calls_of_which_two_were_made() -> None:
    """Three toolUse were stored and two executed: the third gets its result in the same turn, as Bedrock wants it."""
    messages = [*B.user("q"), *B.call("a", "b", "c", text="let me see"), *B.results("a", "c"), *B.said()]
    assert codes(B, messages) == [("unanswered_call", 1, ("b",))]
    repaired = mended(B, messages)
    assert touched(repaired) == [(1, ("b",))]
    assert [m is n for m, n in zip(repaired.messages, messages, strict=True)] == [True, True, False, True]
    results = [block["toolResult"] for block in repaired.messages[2]["content"]]
    assert sorted(each["toolUseId"] for each in results) == ["a", "b", "c"]
    made = next(each for each in results if each["toolUseId"] == "b")
    assert (made["status"], made["content"]) == ("error", [{"text": NO_RESULT}])


@other_formats
def test_b53_calls_without_any_result_and_the_text_beside_them(d: Dress) -> None:
    """A client dropped the results and kept the calls (Chat on its way to Bedrock). What the model said beside them stays."""
    messages = [*d.user("q"), *d.call("a", text="let me see"), *d.user("well?")]
    call_at = len(messages) - 2
    assert codes(d, messages) == [("unanswered_call", call_at, ("a",))]
    repaired = mended(d, messages)
    assert touched(repaired) == [(call_at, ("a",))]
    assert [id(m) for m in repaired.messages[: call_at + 1]] == [id(m) for m in messages[: call_at + 1]]
    assert NO_RESULT in compact(list(repaired.messages[call_at + 1 :]))
    assert "well?" in compact(repaired.messages[-1])
    every_ceiling(d, messages, sound=False)


# 3. Start, end, alternation


@pytest.mark.parametrize("d", [B, G], ids=["bedrock", "gemini"])
def test_b56_b62_a_window_begins_with_the_user(d: Dress) -> None:
    """A window (a slice for a side request) began with a call: "function call turn comes immediately after a user turn"."""
    messages = [*d.user("q"), *d.pair("a1"), *d.pair("a2"), *d.said(), *d.user("next"), *d.pair("a3")]
    for sent in every_ceiling(d, messages):
        assert turn(d.wire, sent[0]).kind == "user"
    headless = [*d.pair("a1")]
    assert [code for code, *_ in codes(d, headless)] == ["first_not_user"]
    repaired = mended(d, headless)
    assert RESUMED in compact(repaired.messages[0])
    assert [id(m) for m in repaired.messages[1:]] == [id(m) for m in headless]


def test_b59_a_kept_result_is_not_edited_unless_asked() -> None:
    """A result inside the window was replaced by an error text."""
    messages = [*B.user("q"), *B.pair("a", text="x" * 50), *B.pair("b", text="y" * 50), *B.said()]
    every_ceiling(B, messages)  # which asserts that all that is kept is the same object


def test_b60_every_observation_is_capped_not_the_oldest_alone() -> None:
    """Only the oldest result was tried, which was small; the huge one stayed."""
    messages = [*B.user("q"), *B.pair("a", text="x" * 20), *B.pair("b", text="y" * 900), *B.pair("c", text="z" * 90)]
    sent, report = backcut.trim(messages, format="bedrock", max_chars_per_tool=50)
    assert [chars("bedrock", [m]) for m in sent if turn("bedrock", m).kind == "result"] == [20, 50, 50]
    assert report.tools_truncated == 2
    assert problems("bedrock", sent) == []
    assert backcut.trim(sent, format="bedrock", max_chars_per_tool=50).messages is sent


def test_b61_a_history_of_pairs_alone_is_held_too() -> None:
    """With nothing but direct tool calls in it, the window was ignored."""
    every_ceiling(B, [*B.user("q"), *(m for k in range(8) for m in B.pair(f"c{k}", text="r"))])
    headless = [m for k in range(20) for m in B.pair(f"c{k}")]
    assert list(cut(B, headless, sound=False, max_turns=9, notice=False)) == headless[-8:]


def test_b63_a_second_turn_of_responses_that_answers_nothing() -> None:
    """Two functionResponse turns in a row, the second an orphan."""
    messages = [*G.user("q"), *G.call("a"), *G.results("a"), *G.results("x"), *G.said()]
    assert codes(G, messages) == [("orphan_result", 3, ("x",))]
    repaired = mended(G, messages)
    assert touched(repaired) == [(3, ("x",))]
    assert [id(m) for m in repaired.messages] == [id(messages[k]) for k in (0, 1, 2, 4)]


def test_b63_responses_in_two_turns_are_one_run() -> None:
    """Both are wanted: the batch is whole, and cut as one."""
    every_ceiling(G, [*G.user("q"), *G.call("a", "b"), *G.results("a"), *G.results("b"), *G.said(), *G.user("next"), *G.said()])


def nameless(*texts: str) -> list[Any]:
    """A Gemini batch without ids."""
    calls = [{"functionCall": {"name": "f", "args": {}}} for _ in texts]
    return [
        {"role": "model", "parts": calls},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": text}}} for text in texts]},
    ]


def test_b64_as_many_responses_as_calls() -> None:
    """Compression kept three calls and two responses: "number of function response parts"."""
    every_ceiling(G, [*G.user("q"), *nameless("1", "2", "3"), *nameless("4"), *G.said(), *G.user("next"), *nameless("5", "6")])
    broken = [*G.user("q"), *G.call("a", "b", "c"), *G.results("a", "b"), *G.said()]
    assert codes(G, broken) == [("unanswered_call", 1, ("c",))]
    repaired = mended(G, broken)
    assert [p["functionResponse"]["id"] for m in repaired.messages for p in m["parts"] if "functionResponse" in p] == ["a", "b", "c"]
    assert compact(list(repaired.messages)).count(NO_RESULT) == 1
    half = [*G.user("q"), nameless("1", "2")[0], nameless("1")[1], *G.said()]
    assert [code for code, *_ in codes(G, half)] == ["unanswered_call"]
    assert sum("functionResponse" in p for m in mended(G, half).messages for p in m["parts"]) == 2


@pytest.mark.parametrize("d", [G, A, B], ids=["gemini", "anthropic", "bedrock"])
def test_b65_one_call_reaches_the_fixed_point(d: Dress) -> None:
    """Leading model turns were dropped, which orphaned the results behind them, and so on in a loop."""
    leading = [*d.call("a"), *d.results("a"), *d.said()]
    messages = [*leading, *d.user("q"), *d.said("end")]
    for turns in range(2, 5):
        assert list(cut(d, messages, sound=False, max_turns=turns, notice=False)) == messages[-2:]
    assert codes(d, messages) == [("first_not_user", 0, ())]
    repaired = mended(d, messages)
    assert [id(m) for m in repaired.messages[1:]] == [id(m) for m in messages]
    orphaned = messages[1:]
    assert ("orphan_result", 0, ("a",)) in codes(d, orphaned)
    assert [id(m) for m in mended(d, orphaned).messages][-3:] == [id(m) for m in orphaned[-3:]]


@pytest.mark.parametrize("d", [G, A], ids=["gemini", "anthropic"])
@pytest.mark.parametrize("end", ["user", "said", "result"])
def test_b66_b67_the_end_of_the_history_is_the_end_of_what_is_sent(d: Dress, end: str) -> None:
    """What was sent ended with the model's words, or nothing but these was left: "does not support assistant message prefill"."""
    last = {"user": d.user("and?"), "said": d.said("summary"), "result": d.pair("z")}[end]
    messages = [*d.user("q"), *d.pair("a"), *d.said(), *d.user("r"), *(d.said("hm") if end == "user" else []), *last]
    for sent in every_ceiling(d, messages):
        assert turn(d.wire, sent[-1]).kind == {"said": "model"}.get(end, end)
        assert [turn(d.wire, m).kind for m in sent] != ["model"]


@every_format
@pytest.mark.parametrize("role", ["auto", "user"])
def test_b68_no_new_neighbours_of_one_role(d: Dress, role: str) -> None:
    """Trimming put two user turns side by side: "roles must alternate"."""
    messages = [*d.system(), *(m for k in range(4) for m in (*d.user(f"q{k}"), *d.pair(f"c{k}"), *d.said(f"a{k}")))]
    for sent in every_ceiling(d, messages, notice_role=role):
        kinds = [turn(d.wire, m).kind for m in sent]
        assert ("user", "user") not in pairwise(kinds)
        assert ("result", "user") not in pairwise(kinds)


MISTRAL = ("a1B2c3D4e", "f5G6h7I8j", "k9L0m1N2o")
"""Nine characters, as its older models want them."""


def test_b69_a_late_result_goes_to_its_call() -> None:
    """Mistral: a call was cancelled, the user spoke, and then the result came after all: "Unexpected role 'tool' after role 'user'"."""
    a = MISTRAL[0]
    messages = [chat_user("q"), chat_call(a), chat_user("stop"), chat_result(a), chat_user("next"), chat_said("so")]
    assert codes(C, messages) == [("late_result", 3, (a,))]
    repaired = mended(C, messages)
    assert touched(repaired) == [(3, (a,))]
    assert [id(m) for m in repaired.messages] == [id(messages[k]) for k in (0, 1, 3, 2, 4, 5)]


def test_b70_b71_b87_pairs_bridges_and_ids_of_mistral_stay() -> None:
    """Mistral: a user turn came behind a result, counts of calls and results differed, ids were no longer nine characters."""
    a, b, c = MISTRAL
    messages = [*C.user("q"), *C.call(a, b), *C.results(b, a), *C.said(), *C.user("next"), *C.pair(c), *C.said("end")]
    for sent in every_ceiling(C, messages):
        kinds = [turn("openai-chat", m).kind for m in sent]
        assert ("result", "user") not in pairwise(kinds)
        assert sum(len(m.get("tool_calls", ())) for m in sent) == kinds.count("result")
        assert all(i in MISTRAL for m in sent for i in [m.get("tool_call_id", a), *(each["id"] for each in m.get("tool_calls", ()))])


def ollama(*texts: str) -> list[Any]:
    """A batch of Ollama's own API: arguments are an object, and there are no ids."""
    calls = [{"function": {"name": "f", "arguments": {"k": k}}} for k in range(len(texts))]
    return [
        {"role": "assistant", "content": "", "tool_calls": calls},
        *({"role": "tool", "tool_name": "f", "content": text} for text in texts),
    ]


def test_b73_the_system_prompt_and_a_user_turn_stay_in_ollama_too() -> None:
    """The server itself cut from the front, without a word: system prompt and last user turn went. Whoever trims first keeps both."""
    messages = [
        *C.system(),
        *(m for k in range(3) for m in (*C.user(f"q{k}"), *ollama(f"r{k}", f"s{k}"), *C.said(f"a{k}"))),
        *C.user("next"),
        *ollama("t"),
    ]
    head = messages[0]
    for turns in range(3, len(messages) + 1):
        sent = backcut.trim(messages, format="openai-chat", max_turns=turns, notice=False).messages
        assert [id(m) for m in sent] == [id(messages[k]) for k in longest("openai-chat", messages, turns)[0]]
        assert sent[0] is head
        assert sent[1]["role"] == "user"


@pytest.mark.parametrize("d", [R, L, Y, C], ids=["openai-responses", "langchain", "pydantic-ai", "openai-chat"])
def test_b74_b75_the_system_prompt_is_never_cut(d: Dress) -> None:
    """A reducer took the system message for the oldest one (Semantic Kernel: told in the formats that have one)."""
    messages = [*d.system("s" * 40), *d.system("t" * 9), *(m for k in range(4) for m in (*d.user(f"q{k}"), *d.said(f"a{k}")))]
    for sent in every_ceiling(d, messages):
        assert all(a is b for a, b in zip(sent[:2], messages[:2], strict=True))


@folding
def test_b78_the_notice_is_no_task(d: Dress) -> None:
    """A notice in a user turn was taken for a task. Here it stands in front of what the user says, and the words are all there."""
    messages = [*d.user("first task"), *d.said(), *d.user("second task"), *d.said("end")]
    sent = cut(d, messages, max_turns=2)
    assert len(sent) == 2
    assert sent[1] is messages[3]
    inner = compact(sent[0])
    assert inner.index(DEFAULT_NOTICE) < inner.index("second task")
    assert list(cut(d, messages, max_turns=2, notice=False)) == messages[2:]
    assert turn(d.wire, sent[0]).kind == "user"


# 4. Ids


def test_b80_441_copies_of_one_result_go() -> None:
    """An id was used again at every turn, and each turn sent all results with that id once more."""
    messages = [chat_user("q"), chat_call("a"), *(chat_result("a", f"copy {k}") for k in range(441)), chat_said("so")]
    repaired = mended(C, messages)
    assert {index for index, _ in touched(repaired)} == set(range(3, 443))
    assert [id(m) for m in repaired.messages] == [id(messages[k]) for k in (0, 1, 2, 443)]


@every_format
@pytest.mark.parametrize("same", ["call_0", "terminal_46", "bash-0"])
def test_b80_b82_b83_b84_an_id_that_comes_back_belongs_to_the_nearest_call(d: Dress, same: str) -> None:
    """Ids were taken for unique: results went to the first call with that id, pruning hit the newest output.

    (OpenCode keeps call and result in one part, which is none of our shapes.)
    """
    messages = [*task_with_rounds(d, 4, ids=lambda _: same), *d.user("next"), *d.pair(same), *d.said()]
    assert codes(d, messages) == []
    assert is_untouched(d, messages)
    every_ceiling(d, messages)


def test_b83_a_turn_that_ends_up_empty_goes() -> None:
    """Kimi: results were attached to the first call of that id, and later assistant turns were empty: "must not be empty"."""
    messages = [chat_user("q"), chat_call("terminal_46"), chat_result("terminal_46"), chat_said(None), chat_user("next"), chat_said("so")]
    assert [(code, index) for code, index, _ in codes(C, messages)] == [("missing_content", 3)]
    repaired = mended(C, messages)
    assert [index for index, _ in touched(repaired)] == [3]
    assert [id(messages[k]) for k in (0, 1, 2, 4, 5)] == [id(m) for m in repaired.messages if any(m is n for n in messages)]


@pytest.mark.parametrize("d", [A, G, B, Y], ids=["anthropic", "gemini", "bedrock", "pydantic-ai"])
def test_b86_no_block_is_sent_twice(d: Dress) -> None:
    """After text was put into messages, ids stood there twice. Where the notice is folded in, everything is there once."""
    messages = [*d.user("task"), *(m for k in range(4) for m in d.pair(f"id-{k}", text=f"text-{k}")), *d.said(), *d.user("next"), *d.said()]
    for sent in every_ceiling(d, messages):
        inner = json.dumps(list(sent), ensure_ascii=False)
        for k in range(4):
            assert inner.count(f'"id-{k}"') in (0, 2)
            assert inner.count(f'"text-{k}"') in (0, 1)


def test_b88_foreign_and_long_item_ids_are_not_touched() -> None:
    """Item ids of another model, or of more than 64 characters, came along after a switch; a call's call_id is another thing."""
    long = "fc_" + "x" * 450 + "|y"
    call = [{**item, "id": long} for item in R.call(f"call_{long}")]
    messages = [
        *R.user("q"),
        *R.pair("b"),
        *R.user("r"),
        *call,
        *R.results(f"call_{long}"),
        *[{**item, "id": "msg_other"} for item in R.said()],
    ]
    assert codes(R, messages) == []
    assert is_untouched(R, messages)
    every_ceiling(R, messages)
    without = [{key: value for key, value in item.items() if key != "id"} for item in messages]
    assert codes(R, without) == [], "ids are optional on items"


# 5. Reasoning, thinking, signatures


def in_front_of_its_call(sent: Sequence[Any], messages: Sequence[Any]) -> bool:
    """Whether every reasoning item that is sent has the same item behind it as it had."""
    follows = {id(a): b for a, b in pairwise(messages)}
    return all(follows[id(a)] is b for a, b in pairwise(sent) if a.get("type") == "reasoning")


def test_b89_reasoning_goes_with_its_call() -> None:
    """The call was dropped for want of an output and its reasoning stayed: "without its required following item"."""
    messages = [
        *R.user("q"),
        reasoning("1"),
        *R.pair("a"),
        reasoning("2"),
        *R.call("b", "c"),
        *R.results("b", "c"),
        reasoning("3"),
        *R.said(),
    ]
    for sent in every_ceiling(R, messages):
        assert in_front_of_its_call(sent, messages)
    broken = [*R.user("q"), reasoning("1"), *R.user("next"), *R.said()]
    assert [(code, index) for code, index, _ in codes(R, broken)] == [("reasoning_without_follower", 1)]
    repaired = mended(R, broken)
    assert [index for index, _ in touched(repaired)] == [1]
    assert [id(m) for m in repaired.messages] == [id(broken[k]) for k in (0, 2, 3)]


def test_b90_a_turn_of_reasoning_alone_goes() -> None:
    """A reply was stopped while it was thinking, and more was said later."""
    messages = [*R.user("q"), *R.said(), *R.user("r"), reasoning("1"), reasoning("2"), *R.user("again"), reasoning("3"), *R.said()]
    assert {(code, index) for code, index, _ in codes(R, messages)} <= {
        ("reasoning_without_follower", 3),
        ("reasoning_without_follower", 4),
    }
    repaired = mended(R, messages)
    assert [id(m) for m in repaired.messages] == [id(messages[k]) for k in (0, 1, 2, 5, 6, 7)]


def test_b91_a_run_of_reasoning_belongs_to_the_next_item() -> None:
    """Two reasoning items in a row before one message."""
    run = [reasoning("1"), reasoning("2"), *R.said()]
    messages = [*R.user("q"), *run, *R.user("next"), reasoning("3"), *R.said("end")]
    assert codes(R, messages) == []
    for sent in every_ceiling(R, messages):
        assert len({any(m is each for m in sent) for each in run}) == 1
        assert in_front_of_its_call(sent, messages)


def test_b93_no_bare_ids_are_made() -> None:
    """Items were sent as ids that the server had not stored: "Item with id 'rs_' not found"."""
    messages = [*R.user("q"), reasoning("1"), *R.pair("a"), reasoning("2"), *R.said(), *R.user("next"), reasoning("3"), *R.said("end")]
    for sent in every_ceiling(R, messages):
        assert all(item.get("type") != "item_reference" for item in sent)
        assert all(item["encrypted_content"] == BASE64 for item in sent if item.get("type") == "reasoning")


def test_b94_reasoning_is_never_shortened() -> None:
    """Long reasoning was turned into a message, and the call behind it had none."""
    long = [reasoning(f"{k}", summary=[{"type": "summary_text", "text": "hm " * 30}]) for k in range(3)]
    messages = [*R.user("q"), *(m for k in range(3) for m in (long[k], *R.pair(f"c{k}", text="x" * 40))), *R.said()]
    every_ceiling(R, messages)
    capped = backcut.trim(messages, format="openai-responses", max_chars_per_tool=20, max_turns=7).messages
    assert all(any(m is each for each in long) for m in capped if m.get("type") == "reasoning")
    assert in_front_of_its_call([m for m in capped if m.get("type") != "function_call_output"], [m for m in messages if "output" not in m])


def thinking(k: int = 0) -> dict[str, Any]:
    return {"type": "thinking", "thinking": f"hm {k}", "signature": f"sig{k}"}


REDACTED = {"type": "redacted_thinking", "data": BASE64}


def thought(k: int, *messages: dict[str, Any]) -> list[Any]:
    """The same model turn with thinking of both kinds in front."""
    return [{**m, "content": [thinking(k), REDACTED, *m["content"]]} for m in messages]


def thoughtful() -> list[Any]:
    """Two completed turns and a tool loop that goes on, all with thinking."""
    loop = [*thought(3, *A.call("c", text="I look")), *A.results("c")]
    first = [*A.user("one"), *thought(1, *A.call("a")), *A.results("a"), *thought(0, *A.said("first"))]
    return [*first, *A.user("two"), *thought(2, *A.said("second")), *A.user("three"), *loop]


def blocks(messages: Sequence[Any]) -> list[Any]:
    return [block for m in messages if m["role"] == "assistant" for block in m["content"]]


@pytest.mark.parametrize("mode", ["keep", "strip"])
def test_b96_the_latest_assistant_with_thinking_is_all_or_nothing(mode: str) -> None:
    """A text block beside the thinking of the latest turn was deleted: "cannot be modified"."""
    messages = thoughtful()
    whole = chars("anthropic", messages)
    ceilings: list[dict[str, Any]] = [*({"max_turns": k} for k in range(1, 11)), *({"max_chars": k} for k in range(1, whole + 2))]
    for ceiling in ceilings:
        sent = cut(A, messages, edited=mode == "strip", thinking=mode, **ceiling)
        assert [m for m in sent if m["role"] == "assistant"][-1] is messages[-2]


def test_b98_both_kinds_of_thinking_go() -> None:
    """Only ``thinking`` was stripped and ``redacted_thinking`` was left."""
    messages = thoughtful()
    for turns in range(5, len(messages)):
        sent = cut(A, messages, edited=True, thinking="strip", max_turns=turns, notice=False)
        completed = [m for m in sent if m is not messages[-2]]
        assert {block["type"] for block in blocks(completed)} <= {"text", "tool_use"}
        assert len(sent) == len(cut(A, messages, max_turns=turns, notice=False)), "no turn here is thinking alone"


def test_b98_a_turn_of_thinking_alone_goes_whole() -> None:
    """An empty message would be refused too."""
    messages = [
        *A.user("one"),
        *A.said(),
        *A.user("two"),
        *thought(1, {"role": "assistant", "content": []}),
        *A.said("hm"),
        *A.user("three"),
        *A.said(),
    ]
    sent = cut(A, messages, edited=True, thinking="strip", max_turns=5, notice=False)
    assert list(sent) == [messages[2], *messages[4:]]


def test_b99_kept_thinking_behind_a_cut_is_reported() -> None:
    """A tail was kept behind a new beginning: "Invalid signature in thinking block", at every request from then on."""
    messages = thoughtful()
    trim = functools.partial(backcut.trim, messages, format="anthropic", notice=False)
    assert trim(max_turns=6).report.thinking_invalidated
    assert not trim(max_turns=len(messages)).report.thinking_invalidated
    completed = messages[:-2] + A.said("end")
    assert backcut.trim(completed, format="anthropic", max_turns=5, notice=False).report.thinking_invalidated
    stripped = backcut.trim(completed, format="anthropic", max_turns=5, thinking="strip", notice=False)
    assert "signature" not in compact(list(stripped.messages[:-1]))


def test_b101_a_signature_is_never_edited() -> None:
    """Signatures of another model: kept to the letter, or gone with their block."""
    messages = thoughtful()
    signed = [f"sig{k}" for k in range(4)]
    for turns in range(3, len(messages) + 1):
        for mode in ("keep", "strip"):
            sent = backcut.trim(messages, format="anthropic", max_turns=turns, thinking=mode).messages
            for block in blocks(sent):
                assert block.get("signature", "sig0") in signed
                assert block["type"] != "thinking" or any(block is each for each in blocks(messages))
    unchanged = backcut.trim(messages, format="anthropic", max_turns=len(messages), thinking="strip")
    assert unchanged.messages is messages, "nothing was cut: nothing is stripped"


def server(call_id: str, answered: bool, kind: str = "web_search") -> list[Any]:
    use = {"type": "server_tool_use", "id": call_id, "name": kind, "input": {"query": "x"}}
    content = [{"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": BASE64}]
    return [use, {"type": f"{kind}_tool_result", "tool_use_id": call_id, "content": content}] if answered else [use]


def assistant(*parts: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(parts)}


TEXT = {"type": "text", "text": "so"}


def test_b103_a_server_call_without_its_result() -> None:
    """The last assistant turn held a ``server_tool_use`` without result; only ``tool_use`` was looked for."""
    live = [*A.user("q"), assistant(TEXT, *server("srvtoolu_1", answered=False))]
    assert codes(A, live) == [("pending_call", 1, ("srvtoolu_1",))]
    assert is_untouched(A, live)
    dead = [*live, *A.user("next"), *A.said()]
    assert codes(A, dead) == [("unanswered_call", 1, ("srvtoolu_1",))]
    repaired = mended(A, dead)
    assert touched(repaired) == [(1, ("srvtoolu_1",))]
    assert TEXT in repaired.messages[1]["content"]
    assert [id(m) for m in repaired.messages[2:]] == [id(m) for m in dead[2:]]


def test_b103_a_server_result_may_come_in_the_next_message() -> None:
    """A turn that paused goes on in a second assistant message: together they are one."""
    pair = [assistant(*server("srvtoolu_1", answered=False)), assistant(server("srvtoolu_1", answered=True)[1], TEXT)]
    messages = [*A.user("q"), *pair, *A.user("next"), *A.said()]
    assert codes(A, messages) == []
    for sent in every_ceiling(A, messages, measured=False):
        assert len({any(m is each for m in sent) for each in pair}) == 1


def test_b104_what_is_encrypted_has_no_characters() -> None:
    """Results of a search are encrypted; a ceiling in characters is about what can be read."""
    messages = [*A.user("q"), assistant(*server("srvtoolu_1", answered=True), TEXT)]
    assert backcut.trim(messages, format="anthropic", max_turns=9).report.chars_sent < len(BASE64)


@pytest.mark.parametrize("kind", ["advisor", "web_search", "bash_code_execution"])
def test_b104_blocks_of_one_turn_are_never_split(kind: str) -> None:
    """After an edit the result of a server tool had lost its ``server_tool_use``."""
    both = assistant(*server("srvtoolu_1", answered=True, kind=kind), TEXT)
    again = {**both, "content": [*both["content"]]}
    every_ceiling(A, [*A.user("q"), both, *A.user("next"), again, *A.user("more"), *A.said()], measured=False)
    broken = [*A.user("q"), assistant(both["content"][1], TEXT), *A.user("next"), *A.said()]
    assert codes(A, broken) == [("orphan_result", 1, ("srvtoolu_1",))]
    repaired = mended(A, broken)
    assert touched(repaired) == [(1, ("srvtoolu_1",))]
    assert repaired.messages[1]["content"] == [TEXT]


def test_b105_signed_turns_are_normal() -> None:
    """A fallback refused every signed turn, and there was nothing left to keep."""
    messages = [*G.user("q")]
    for k in range(4):
        model, response = G.pair(f"c{k}")
        messages += [{"role": "model", "parts": [{**model["parts"][0], "thoughtSignature": BASE64}]}, response]
    messages += [{"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": "so", "thoughtSignature": BASE64}]}]
    for mode in ("keep", "strip"):
        for turns in range(4, len(messages) + 1):
            sent, report = backcut.trim(messages, format="gemini", max_turns=turns, thinking=mode, notice=False)
            assert [id(m) for m in sent] == [id(messages[k]) for k in longest("gemini", messages, turns)[0]]
            assert not report.thinking_invalidated, "these signatures say nothing of what stands before them"


# 6. Counting


@other_formats
def test_b106_what_looks_like_a_special_token_is_text(d: Dress, oracle: Callable[[str], Any]) -> None:
    """A text that held ``<|endoftext|>`` stopped the counter, and the conversation was dead for good."""
    special, plain = "<|endoftext|><|im_start|>", "x"
    expected = len(oracle("o200k_base").encode_ordinary(special)) - len(oracle("o200k_base").encode_ordinary(plain))
    counts = [
        backcut.count([*d.user(t), *d.call("a", text=t), *d.results("a", text=t)], format=d.wire, tokenizer="o200k_base")
        for t in (special, plain)
    ]
    assert counts[0] - counts[1] == 3 * expected


@pytest.mark.parametrize(
    "block",
    [
        {"type": "tool_use", "id": "a", "name": "f", "input": {"path": "x" * 400}},
        {"type": "thinking", "thinking": "x" * 400, "signature": "s"},
        {"type": "thinking", "thinking": "", "signature": "x" * 400},
        {"type": "redacted_thinking", "data": "x" * 400},
        {"type": "server_tool_use", "id": "a", "name": "web_search", "input": {"query": "x" * 400}},
        {"type": "mcp_tool_use", "id": "a", "name": "f", "server_name": "s", "input": {"q": "x" * 400}},
        {"type": "text", "text": "x" * 400},
        {"type": "wonder", "text": "x" * 400},
    ],
    ids=lambda block: block["type"],
)
def test_b109_every_block_of_an_assistant_has_a_cost(block: dict[str, Any]) -> None:
    """Blocks of calls and results raised; one that nobody knows counts by its text."""
    small: dict[str, Any] = {
        key: {} if key == "input" else "x" if isinstance(value, str) and len(value) == 400 else value for key, value in block.items()
    }
    big, little = (backcut.count([*A.user(), assistant(b)], format="anthropic", tokenizer=cheap) for b in (block, small))
    assert 95 <= big - little <= 105


@pytest.mark.parametrize("content", ["x" * 400, [{"type": "text", "text": "x" * 400}], [{"type": "text", "text": "x" * 200}] * 2])
def test_b109_results_cost_what_they_say(content: Any) -> None:
    results = [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": c}]} for c in (content, "x")]
    big, little = (backcut.count([*A.user(), *A.call("a"), each], format="anthropic", tokenizer=cheap) for each in results)
    assert big - little == 99


@pytest.mark.parametrize(
    "content",
    ["", [], ["loose"], [{"type": "text", "text": "x"}], [{"type": "tool_use", "id": "a", "input": {}}], [{"type": "wonder"}], [{}]],
)
def test_b111_no_shape_of_content_stops_the_counter(content: Any) -> None:
    """Tool calls or list content broke LangChain's counter."""
    messages = [{"type": "human", "content": content}, {**L.call("a")[0], "content": content}, *L.results("a")]
    assert (
        backcut.count(messages, format="langchain", tokenizer=cheap)
        > backcut.count(messages[:1], format="langchain", tokenizer=cheap)
        >= 3 + 3
    )


def picture(d: Dress, data: str) -> dict[str, Any]:
    """A user turn with a text and an image."""
    url = f"data:image/png;base64,{data}"
    match d.wire:
        case "anthropic":
            image: Any = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
        case "gemini":
            image = {"inlineData": {"mimeType": "image/png", "data": data}}
        case "bedrock":
            image = {"image": {"format": "png", "source": {"bytes": data}}}
        case "pi":
            image = {"type": "image", "mimeType": "image/png", "data": data}
        case "openai-responses":
            return {"role": "user", "content": [{"type": "input_text", "text": "what?"}, {"type": "input_image", "image_url": url}]}
        case "pydantic-ai":
            image = {"kind": "binary", "media_type": "image/png", "data": data}
            return {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": ["what?", image]}]}
        case _:
            image = {"type": "image_url", "image_url": {"url": url}}
    (message,) = d.user("what?")
    key = "parts" if d.wire == "gemini" else "content"
    text = message[key] if isinstance(message[key], list) else [{"type": "text", "text": "what?"}]
    return {**message, key: [*text, image]}


@other_formats
def test_b113_a_picture_has_a_fixed_cost(d: Dress) -> None:
    """A first message with one screenshot counted as 400,000 tokens, and was summarised away."""
    small, huge = (
        backcut.count([picture(d, data), *d.said()], format=d.wire, tokenizer=cheap) for data in (BASE64, BASE64 + "A" * 1_000_000)
    )
    assert small == huge
    plain = backcut.count([*d.user("what?"), *d.said()], format=d.wire, tokenizer=cheap)
    assert plain + 50 < small < plain + 2_000
    messages = [picture(d, "A" * 100_000), *d.said()]
    assert backcut.trim(messages, format=d.wire, max_chars=50).messages is messages


def test_b114_a_data_url_inside_a_text_is_text(oracle: Callable[[str], Any]) -> None:
    """pi: a data URL of a million characters stood in a text block and was taken for an image, or for four characters a token."""
    text = "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAA" * 400
    expected = len(oracle("o200k_base").encode_ordinary(text)) - len(oracle("o200k_base").encode_ordinary("x"))
    big, little = (backcut.count([*P.user(t), *P.said()], format="pi", tokenizer="o200k_base") for t in (text, "x"))
    assert big - little == expected > len(text) // 4


@other_formats
@pytest.mark.parametrize("text", ["a\ud800b", "\udc00\ud800"])
def test_b121_a_lone_surrogate_is_counted_and_kept(d: Dress, oracle: Callable[[str], Any], text: str) -> None:
    """Half a surrogate pair was already there when the history came in: "surrogates not allowed"."""
    expected = len(oracle("o200k_base").encode_ordinary(text)) - len(oracle("o200k_base").encode_ordinary("x"))
    counts = [backcut.count([*d.user(t), *d.said()], format=d.wire, tokenizer="o200k_base") for t in (text, "x")]
    assert counts[0] - counts[1] == expected
    messages = [*d.user("q"), *d.said(), *d.user(text), *d.pair("a", text=text), *d.said()]
    for turns in range(1, 7):
        cut(d, messages, max_turns=turns)
    cut(d, messages, max_tokens=40)


@pytest.mark.parametrize("d", [P, A], ids=["pi", "anthropic"])
def test_b122_room_for_the_reply_is_kept_free(d: Dress) -> None:
    """pi filled the window to the brim and left no room for the reply; so did its retry."""
    messages = [*d.user("q" * 40), *d.said("s" * 40), *d.user("n" * 40)]
    whole = backcut.count(messages, format=d.wire, tokenizer=cheap)
    assert cut(d, messages, max_tokens=whole + 7, reserve_tokens=7, tokenizer=cheap) is messages
    assert list(cut(d, messages, max_tokens=whole + 6, reserve_tokens=7, tokenizer=cheap, notice=False)) == messages[-1:]


# 7. Cache stability


@other_formats
def test_b123_the_cut_stays_for_many_turns(d: Dress) -> None:
    """The window slid at every turn, and next to nothing of the prompt cache was read."""
    window = backcut.context_window(max_turns=40, trim_to=0.5, notice=False, format=d.wire)
    history: list[Any] = []
    firsts: list[int] = []
    for k in range(100):
        history += [*d.user(f"q{k}"), *d.said(f"a{k}")]
        firsts.append(window.plan(history).kept[0])
    assert sum(a != b for a, b in pairwise(firsts)) == len(range(42, 201, 20)), "once in twenty messages, not at every turn"
    assert firsts == sorted(firsts)


@other_formats
def test_b125_a_shortened_output_has_the_same_bytes_ever_after(d: Dress) -> None:
    """Old outputs were shortened at a border that moved with every turn, which rewrote the prefix each time.

    (Told of the AI SDK, whose shape is none of ours: in all of ours.)
    """
    window = backcut.context_window(max_chars_per_tool=30, format=d.wire)
    history = [*d.user("q")]
    sent: list[Any] = []
    for k in range(10):
        history += d.pair(f"c{k}", text=f"output {k} " * 20)
        now = list(window.trim(history).messages)
        assert now[: len(sent)] == sent, "the prefix is never rewritten"
        assert problems(d.wire, now) == []
        sent = now
    assert all(chars(d.wire, [m]) <= 30 for m in sent if turn(d.wire, m).kind == "result")
    assert window.trim([*sent, *d.user("next")]).report.tools_truncated == 0


def test_merging_formats_are_formats() -> None:
    """What the judge believes of each format is about formats that there are."""
    assert set(MERGING) | set(TASK_GIVES_WAY) <= set(FORMATS)
