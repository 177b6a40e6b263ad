"""Public bug reports of other trimmers, told again in our own words: here they do not happen.

Reports about another wire format are tested where they hold for Chat arrays too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest

import backcut
from chat import call, developer, image, legacy, pair, result, said, system, text_part, user
from histories import BASE64
from sizes import body, body_chars
from strict import is_sound, problems
from support import DEFAULT_NOTICE, Recorder, cheap, outcome, snapshot


def cut(messages: list[Any], **options: Any) -> Sequence[Any]:
    """Trims, and asserts what holds of every trim of a sound history."""
    before = snapshot(messages)
    sent, report = backcut.trim(messages, **options)
    assert snapshot(messages) == before
    assert body(sent) or not body(messages)
    if is_sound(messages):
        assert is_sound(sent), problems(sent)
        assert {v.code for v in backcut.check(sent)} <= {"pending_call"}
    if not report.over_budget:
        assert len(body(sent)) <= options.get("max_turns", len(sent))
        assert body_chars(sent) <= options.get("max_chars", 10**9)
    again = backcut.trim(sent, **options)
    assert again.messages is sent
    return sent


def codes(messages: Sequence[Any]) -> list[str]:
    return [violation.code for violation in backcut.check(messages)]


NOTICE = {"role": "system", "content": DEFAULT_NOTICE}


# 1. A front cut leaves a result without its call


@pytest.mark.parametrize("tokens", range(1, 60))
def test_b01_small_budget_keeps_the_live_pair_whole_or_says_so(tokens: int) -> None:
    messages = [system(), user("look it up"), *pair("a", "what was found")]
    kind, sent = outcome(lambda: cut(messages, max_tokens=tokens, tokenizer=cheap))
    if kind == "BudgetError":
        assert sent["needed"] > sent["limit"] == tokens
        assert (sent["ceiling"], sent["index"]) == ("max_tokens", 2)
    else:
        assert list(sent[-2:]) == messages[-2:]
        assert sent[0] is messages[0]


def test_b04_system_content_as_a_list_keeps_its_shape() -> None:
    messages = [system([text_part("x")]), user("one"), said("two"), user("three")]
    sent = cut(messages, max_turns=1)
    assert sent[0] is messages[0]
    assert sent == [system([text_part("x")]), NOTICE, user("three")]


@pytest.mark.parametrize(("turns", "kept"), [(1, [6]), (2, [6]), (3, [1, 5, 6]), (4, [1, 5, 6]), (5, [1, 5, 6])])
def test_b05_keep_last_n_moves_to_a_clean_boundary(turns: int, kept: list[int]) -> None:
    messages = [system(), user("q"), call("a", "b"), result("a"), result("b"), said("so"), user("and now?")]
    assert backcut.context_window(max_turns=turns).plan(messages).kept == (0, *kept)
    cut(messages, max_turns=turns)


def test_b06_first_plus_last_n_slice_falls_on_a_boundary() -> None:
    messages = [system(), user("q"), *pair("a"), *pair("b"), said("so")]
    assert cut(messages, max_turns=3) == [system(), NOTICE, user("q"), said("so")]


def test_b07_keep_last_three_never_puts_a_result_behind_the_system_message() -> None:
    messages = [system(), user("q"), *pair("a"), said("so")]
    assert cut(messages, max_turns=3) == [system(), NOTICE, user("q"), said("so")]


def test_b08_target_count_keeps_the_system_message() -> None:
    messages = [system(), user("q"), *pair("1"), user("next"), said("so")]
    assert cut(messages, max_turns=3) == [system(), NOTICE, user("next"), said("so")]


def test_b10_results_go_with_their_call() -> None:
    messages = [user("q"), *pair("a"), user("next"), said("so")]
    for turns in range(2, 5):
        assert cut(messages, max_turns=turns, notice=False) == messages[3:]


def test_b11_forty_tool_rounds_in_one_turn_keep_the_task() -> None:
    messages = [system(), user("the task"), *(m for k in range(40) for m in pair(f"c{k}", f"round {k}"))]
    sent = cut(messages, max_turns=35)
    assert list(sent) == [system(), NOTICE, user("the task"), *messages[-34:]]
    assert backcut.trim(messages, max_turns=35).report.task_dropped is False


def test_b12_trimming_what_was_trimmed_stays_sound() -> None:
    history: list[Any] = []
    for message in [user("one"), *pair("a"), said("two"), user("three"), *pair("b"), said("four")]:
        history.append(message)
        history = list(cut(history, max_turns=3))
        assert is_sound(history)
        assert sum(m["content"] == DEFAULT_NOTICE for m in history) <= 1
    assert history == [NOTICE, user("three"), said("four")]


@pytest.mark.parametrize("turns", range(2, 12))
def test_b13_a_window_of_rows_never_begins_with_a_result(turns: int) -> None:
    messages = [m for k in range(5) for m in (user(f"q{k}"), *pair(f"c{k}"), said("so"))]
    assert cut(messages, max_turns=turns, notice=False)[0]["role"] == "user"


def test_b14_a_buffer_never_begins_with_a_result() -> None:
    messages = [user("q"), call("a", "b"), result("a"), result("b"), said("so"), user("next"), said("end")]
    for turns in range(2, 7):
        roles = [m["role"] for m in cut(messages, max_turns=turns, notice=False)]
        assert roles in (["user", "assistant"], ["user", "assistant", "user", "assistant"])


@pytest.mark.parametrize("turns", range(1, 7))
def test_b16_b17_sound_whatever_the_provider_would_let_pass(turns: int) -> None:
    messages = [user("q"), *pair("a"), *pair("b"), said("so")]
    sent = cut(messages, max_turns=turns, notice=False)
    assert problems(sent, accepts_live_end=False) == []


def test_b18_a_run_of_results_is_not_split() -> None:
    messages = [user("q"), *pair("c1"), said("so")]
    assert cut(messages, max_chars=8, notice=False) == [user("q"), said("so")]


@pytest.mark.parametrize("option", [{"max_turns": 3}, {"max_chars": 30}, {"max_tokens": 24, "tokenizer": cheap}])
@pytest.mark.parametrize("more", [{}, {"trim_to": 0.5}, {"on_overflow": "keep"}, {"start": "any"}, {"max_chars_per_tool": 4}])
def test_b21_soundness_belongs_to_every_way_of_cutting(option: dict[str, Any], more: dict[str, Any]) -> None:
    cut([user("q"), *pair("a", "x" * 9), user("r"), *pair("b", "y" * 9), said("so")], **option, **more)


def test_b22_no_user_turn_at_all_still_trims() -> None:
    messages = [m for k in range(6) for m in pair(f"c{k}")]
    assert cut(messages, max_turns=6, notice=False) == messages[-6:]
    assert cut(messages, max_turns=5, notice=False) == messages[-4:]


def test_b26_a_big_batch_never_lifts_a_hard_cap() -> None:
    batch = [call(*(f"c{k}" for k in range(8))), *(result(f"c{k}") for k in range(8))]
    messages = [user("q"), said("hm"), user("go"), *batch, said("so")]
    assert cut(messages, max_turns=5, notice=False) == [user("go"), said("so")]
    with pytest.raises(backcut.BudgetError) as error:
        backcut.trim(messages[:-1], max_turns=5)
    assert (error.value.needed, error.value.limit, error.value.ceiling, error.value.index) == (9, 5, "max_turns", 3)


def test_b29_each_tighter_retry_is_sound() -> None:
    messages = [user("q"), *(m for k in range(9) for m in pair(f"c{k}", "x" * 20)), said("so")]
    for limit in range(250, 3, -1):
        cut(messages, max_chars=limit, notice=False)


# 2. A cut leaves a call without its result


def test_b33_an_open_batch_is_cut_before_only() -> None:
    live = [call("a", "b"), result("a")]
    messages = [user("old"), said("so"), user("new"), *live]
    assert cut(messages, max_turns=3, notice=False) == [user("new"), *live]
    assert cut(messages, max_turns=2, notice=False) == live
    assert codes(live) == ["pending_call"]


@pytest.mark.parametrize("turns", range(1, 8))
def test_b38_b39_b43_b44_a_batch_of_three_is_atomic(turns: int) -> None:
    batch = [call("a", "b", "c"), result("c"), result("a"), result("b")]
    sent = cut([user("q"), *batch, user("next"), said("so")], max_turns=turns, notice=False)
    assert [m in sent for m in batch] in ([False] * 4, [True] * 4)


def test_b42_human_gate_with_half_of_the_answers() -> None:
    messages = [user("q"), call("a", "b"), result("a"), user("instead do this"), said("so")]
    assert codes(messages) == ["unanswered_call"]
    assert backcut.check(messages)[0].ids == ("b",)
    assert cut(messages, max_turns=2, notice=False) == messages[3:]
    assert cut(messages, max_turns=5) is messages, "trim mends nothing"


def test_b45_an_error_or_a_denial_is_a_result_too() -> None:
    messages = [user("q"), call("a", "b"), result("a", "error: no such file"), result("b", ""), said("so")]
    assert codes(messages) == []
    assert cut(messages, max_turns=2, notice=False) == [user("q"), said("so")]


def test_b51_b53_calls_without_results_are_named_and_left() -> None:
    messages = [user("q"), call("a", "b", "c", text="let me see"), result("a"), result("c"), user("well?")]
    assert [(v.code, v.index, v.ids) for v in backcut.check(messages)] == [("unanswered_call", 1, ("b",))]
    assert cut(messages, max_turns=9) is messages
    dropped = [user("q"), call("a", text="let me see"), user("well?")]
    assert codes(dropped) == ["unanswered_call"]
    assert cut(dropped, max_turns=2, notice=False) == [user("well?")]


# 3. Start, end, alternation


def test_b56_b62_a_window_begins_with_the_user() -> None:
    messages = [user("q"), *pair("a"), *pair("b"), user("next"), *pair("c")]
    for turns in range(3, 8):
        assert cut(messages, max_turns=turns, notice=False)[0]["role"] == "user"


def test_b59_a_kept_result_is_not_edited_unless_asked() -> None:
    messages = [user("q"), *pair("a", "x" * 500), *pair("b", "y" * 500), said("so")]
    assert all(any(m is kept for kept in messages) for m in cut(messages, max_turns=4, notice=False))


def test_b60_every_observation_is_capped_not_the_oldest_alone() -> None:
    messages = [user("q"), *pair("a", "x" * 20), *pair("b", "y" * 900), *pair("c", "z" * 90)]
    sent = cut(messages, max_chars_per_tool=50)
    assert [len(m["content"]) for m in sent if m["role"] == "tool"] == [20, 50, 50]


def test_b61_a_history_of_pairs_alone_is_held_too() -> None:
    messages = [user("q"), *(m for k in range(50) for m in pair(f"c{k}"))]
    assert len(cut(messages, max_turns=9, notice=False)) == 9


def test_b65_one_call_reaches_the_fixed_point() -> None:
    messages = [said("hello"), said("there"), *pair("a"), said("so"), user("q"), said("end")]
    for turns in range(2, 7):
        assert cut(messages, max_turns=turns, notice=False) == messages[-2:]


def test_b66_b67_the_end_of_the_history_is_the_end_of_what_is_sent() -> None:
    for end in (user("and?"), said("so"), pair("z")[1]):
        messages = [user("q"), said("a"), user("r"), *([call("z")] if end["role"] == "tool" else []), end]
        for turns in range(1, 5):
            kind, sent = outcome(functools.partial(cut, messages, max_turns=turns))
            assert sent["needed"] > turns if kind == "BudgetError" else sent[-1] is end


def same_role_neighbours(messages: Sequence[Any]) -> int:
    roles = [m["role"] for m in messages if m["role"] in ("user", "assistant")]
    return sum(a == b for a, b in pairwise(roles))


@pytest.mark.parametrize("role", ["auto", "user"])
def test_b68_no_new_neighbours_of_one_role(role: str) -> None:
    messages = [system(), *(m for k in range(6) for m in (user(f"question {k}"), said(f"answer {k}")))]
    for turns in range(1, 12):
        assert same_role_neighbours(cut(messages, max_turns=turns, notice_role=role)) == 0


def test_b69_a_cancelled_call_is_named_and_goes_with_what_it_welds() -> None:
    messages = [user("q"), call("a"), user("stop"), result("a"), user("next"), said("so")]
    assert codes(messages) == ["late_result"]
    assert cut(messages, max_turns=4, notice=False) == messages[-2:]
    assert cut(messages, max_turns=3, notice=False) == messages[-2:]


def test_b70_no_user_turn_is_put_behind_a_result() -> None:
    messages = [user("q"), *pair("a"), said("so"), user("next"), *pair("b"), said("end")]
    for turns in range(2, 8):
        roles = [m["role"] for m in cut(messages, max_turns=turns)]
        assert ("tool", "user") not in pairwise(roles)


def test_b71_as_many_results_as_calls() -> None:
    messages = [user("q"), *(m for k in range(5) for m in (call(f"a{k}", f"b{k}"), result(f"b{k}"), result(f"a{k}"))), said("so")]
    for turns in range(2, 16):
        sent = cut(messages, max_turns=turns)
        assert sum(len(m.get("tool_calls", ())) for m in sent) == sum(m["role"] == "tool" for m in sent)


@pytest.mark.parametrize("head", [[system("s" * 400)], [developer("d" * 400)], [system(), developer(), system()]])
def test_b74_b75_the_system_prompt_stays_near_the_limit(head: list[Any]) -> None:
    messages = [*head, *(m for k in range(9) for m in (user(f"q{k}"), said("so")))]
    for tokens in range(1, 200, 7):
        kind, sent = outcome(functools.partial(cut, messages, max_tokens=tokens, tokenizer=cheap))
        if kind == "BudgetError":
            assert sent["needed"] > tokens
        else:
            assert all(a is b for a, b in zip(head, sent, strict=False))


def test_b78_the_notice_is_no_task() -> None:
    messages = [user("first task"), said("so"), user("second task"), said("end")]
    assert cut(messages, max_turns=2) == [NOTICE, *messages[2:]]
    assert cut(messages, max_turns=2, notice=False) == messages[2:]


# 4. Ids


def reused(ids: Sequence[str], rounds: int) -> list[Any]:
    return [
        user("q"),
        *(m for k in range(rounds) for m in (call(*ids, text=f"round {k}"), *(result(i, f"{k}:{i}") for i in ids))),
        said("so"),
    ]


@pytest.mark.parametrize("ids", [("call_0",), ("terminal_46",), ("bash:0", "bash:1"), ("",)])
def test_b80_b82_b83_b84_an_id_that_comes_back_belongs_to_the_nearest_call(ids: Sequence[str]) -> None:
    messages = reused(ids, 8)
    round_length = 1 + len(ids)
    if ids != ("",):
        assert codes(messages) == []
    for turns in range(2, len(messages)):
        sent = cut(messages, max_turns=turns, notice=False)
        rounds = (turns - 2) // round_length
        assert list(sent) == [messages[0], *messages[len(messages) - 1 - rounds * round_length :]]


def test_b80_441_copies_of_one_result_change_nothing() -> None:
    messages = [user("q"), call("a"), *(result("a", f"copy {k}") for k in range(441)), said("so"), user("next"), said("end")]
    assert codes(messages) == ["orphan_result"] * 440
    assert cut(messages, max_turns=10, notice=False) == [messages[0], *messages[-3:]]


def test_b86_no_message_is_sent_twice() -> None:
    messages = [user("task"), *(m for k in range(9) for m in pair("same", f"{k}"))]
    for turns in range(3, 19):
        sent = cut(messages, max_turns=turns, notice=False)
        assert len({id(m) for m in sent}) == len(sent)


def test_b87_b88_ids_are_not_touched() -> None:
    odd = "fc_" + "x" * 450 + "|y"
    messages = [user("q"), *pair("b"), user("r"), *pair(odd)]
    assert list(cut(messages, max_turns=3, notice=False)) == messages[3:]


# 5. Reasoning


def test_b94_b96_reasoning_is_kept_or_dropped_with_its_turn() -> None:
    thinking = [{**call(f"c{k}"), "reasoning_content": "hm " * 30, "reasoning_details": [{"data": BASE64}]} for k in range(4)]
    messages = [user("q"), *(m for k in range(4) for m in (thinking[k], result(f"c{k}")))]
    for limit in range(110, 420, 9):
        sent = cut(messages, max_chars=limit, notice=False)
        assert all(any(m is t for t in thinking) for m in sent if m["role"] == "assistant")


# 6. Counting


@pytest.mark.parametrize("text", ["<|endoftext|>", "a<|endoftext|>b", "<|im_start|>system", "<|endofprompt|>", "<|start|>user<|message|>"])
def test_b106_what_looks_like_a_special_token_is_text(oracle: Callable[[str], Any], text: str) -> None:
    for name in ("o200k_base", "cl100k_base"):
        expected = len(oracle(name).encode_ordinary(text))
        assert expected > 1
        assert backcut.count(text, tokenizer=name) == expected
    assert cut([user(text), said(text), user(text)], max_tokens=40)[-1]["content"] == text


def test_b107_null_content_beside_calls_costs_nothing() -> None:
    """3 + (3 + assistant) + (3 + name + arguments)."""
    assert backcut.count([call("a")], tokenizer=len) == 3 + (3 + 9) + (3 + 1 + 2)
    absent = call("a")
    del absent["content"]
    assert backcut.count([absent], tokenizer=len) == 3 + (3 + 9) + (3 + 1 + 2)


@pytest.mark.parametrize("key", ["arguments", "reasoning_content", "reasoning", "input", "legacy"])
def test_b108_arguments_and_reasoning_count(key: str) -> None:
    big = "x" * 4_000
    turns: dict[str, list[Any]] = {
        "arguments": pair("a", arguments=big),
        "input": [said(None, tool_calls=[{"id": "a", "type": "custom", "custom": {"name": "f", "input": big}}]), result("a")],
        "legacy": [said(None, function_call={"name": "f", "arguments": big}), legacy()[1]],
    }
    messages = [user("q"), *turns.get(key, [said("hm", **{key: big})]), user("next"), said("so")]
    assert backcut.count(messages, tokenizer=cheap) > 1_000
    assert list(cut(messages, max_tokens=900, tokenizer=cheap, notice=False)) == messages[-2:]
    assert list(cut(messages, max_chars=3_999, notice=False)) == messages[-2:]


@pytest.mark.parametrize(
    "content",
    [None, "", [], ["loose"], [text_part("x")], [{"type": "tool_use", "id": "a", "input": {}}], [{"type": "wonder", "text": "x"}], [{}]],
)
def test_b109_b111_no_shape_of_content_stops_the_counter(content: Any) -> None:
    for make in (user, said, system):
        assert backcut.count([make(content)], format="openai-chat", tokenizer=cheap) >= 3 + 3


@pytest.mark.parametrize("kind", ["image_url", "image", "input_image", "input_audio", "file", "mystery"])
def test_b113_b118_media_have_a_fixed_cost_and_are_never_read(kind: str) -> None:
    seen = Recorder()
    huge = BASE64 + "A" * 10_000_000
    part = image(huge) if kind == "image_url" else {"type": kind, kind: {"data": huge, "url": huge}}
    small = {**part, kind: {"data": "", "url": ""}}
    messages = [user([text_part("what is this?"), part]), said("a cat"), user("sure?"), said("yes")]
    assert backcut.count(messages, tokenizer=seen, format="openai-chat") == backcut.count(
        [user([text_part("what is this?"), small]), *messages[1:]], tokenizer=cheap, format="openai-chat"
    )
    backcut.trim(messages, max_tokens=40, max_chars=40, tokenizer=seen, format="openai-chat")
    assert seen.texts
    assert max(map(len, seen.texts)) < 100
    assert backcut.trim(messages, max_chars=100, format="openai-chat").messages is messages


@pytest.mark.parametrize("text", ["a" * 100_000, "^" * 1_000_000, " " * 100_000, "=-" * 50_000, "\n" * 100_000, "中" * 33_000])
def test_b116_long_runs_are_counted(text: str) -> None:
    """Linear work: under the file's time limit where others need minutes. (No figure is measured.)"""
    count = backcut.count(text)
    assert 0 < count <= len(text)
    assert backcut.trim([user(text), said("so"), user("next")], max_tokens=50).messages[-1] == user("next")


@pytest.mark.parametrize("text", ["\ud800", "a\ud800b", "\udc00\ud800", "x \ud83d"])
def test_b121_a_lone_surrogate_is_counted_and_kept(oracle: Callable[[str], Any], text: str) -> None:
    assert backcut.count(text) == len(oracle("o200k_base").encode_ordinary(text))
    messages = [user("q"), said("so"), user(text)]
    assert cut(messages, max_tokens=40)[-1] is messages[-1]
    assert messages[-1]["content"] == text
    assert cut(messages, max_turns=1)[-1] is messages[-1]


def test_b122_room_for_the_reply_is_kept_free() -> None:
    messages = [user("q" * 40), said("s" * 40), user("n" * 40)]
    whole = backcut.count(messages, tokenizer=cheap)
    assert cut(messages, max_tokens=whole + 7, reserve_tokens=7, tokenizer=cheap) is messages
    assert len(cut(messages, max_tokens=whole + 6, reserve_tokens=7, tokenizer=cheap, notice=False)) == 1
    with pytest.raises(backcut.OptionError):
        backcut.context_window(max_tokens=7, reserve_tokens=7)


# 7. Cache stability


def test_b123_the_cut_stays_for_many_turns() -> None:
    window = backcut.context_window(max_turns=40, trim_to=0.5, notice=False)
    history: list[Any] = []
    firsts: list[int] = []
    for k in range(150):
        history += [user(f"q{k}"), said(f"a{k}")]
        firsts.append(window.plan(history).kept[0])
    moves = sum(a != b for a, b in pairwise(firsts))
    assert moves == len(range(42, 301, 20)), "once in twenty messages, not at every turn"
    assert firsts == sorted(firsts)
    sliding = backcut.context_window(max_turns=40, notice=False)
    assert sliding.plan(history).kept[0] == 260


def test_b125_a_shortened_output_has_the_same_bytes_ever_after() -> None:
    window = backcut.context_window(max_chars_per_tool=30)
    history = [user("q")]
    sent: list[Any] = []
    for k in range(10):
        history += pair(f"c{k}", f"output {k} " * 20)
        now = list(window.trim(history).messages)
        assert now[: len(sent)] == sent, "the prefix is never rewritten"
        sent = now
    again = window.trim([*sent, user("next")])
    assert again.report.tools_truncated == 0
