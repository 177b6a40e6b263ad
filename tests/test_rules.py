"""Each rule of a cut by a case worked out by hand (``docs/rules.md``)."""

from __future__ import annotations

from typing import Any

import pytest

import backcut
from chat import call, developer, legacy, pair, result, said, system, text_part, user
from support import DEFAULT_NOTICE

N = {"role": "system", "content": DEFAULT_NOTICE}
LONG = len(DEFAULT_NOTICE)


def plan(messages: list[Any], **options: Any) -> backcut.Plan:
    return backcut.context_window(**options).plan(messages)


def sent(messages: list[Any], **options: Any) -> list[Any]:
    return list(backcut.trim(messages, **options).messages)


def kept(messages: list[Any], **options: Any) -> tuple[int, ...]:
    return plan(messages, **options).kept


# Order and head


def test_capped_lengths_are_what_the_ceilings_see() -> None:
    """q1 + {}2 + 20 = 23; uncapped it would be 3 + 900."""
    messages = [user("q"), *pair("a", "x" * 900)]
    assert kept(messages, max_chars=23, max_chars_per_tool=20) == (0, 1, 2)
    assert kept(messages, max_chars=22, max_chars_per_tool=20, notice=False) == (1, 2)


def test_head_is_outside_turns_and_chars_and_inside_tokens() -> None:
    messages = [system("s" * 100), developer("d" * 100), user("u"), said("a")]
    assert sent(messages, max_turns=2) == sent(messages, max_chars=2) == messages
    whole = 3 + (3 + 6 + 100) + (3 + 9 + 100) + (3 + 4 + 1) + (3 + 9 + 1)
    assert sent(messages, max_tokens=whole, tokenizer=len) == messages
    assert kept(messages, max_tokens=whole - 1, tokenizer=len, notice=False) == (0, 1, 3)


def test_only_the_leading_run_is_head() -> None:
    messages = [system(), user("a"), system("mid"), developer("mid"), user("b")]
    assert kept(messages, max_turns=1, notice=False) == (0, 4)


def test_fits_means_at_most() -> None:
    messages = [user("abc"), said("de")]
    assert kept(messages, max_chars=5) == (0, 1)
    assert kept(messages, max_chars=4, notice=False) == (1,)
    assert kept(messages, max_turns=2) == (0, 1)


def test_whatever_fits_comes_back_as_it_is() -> None:
    for messages in ([], [system()], [result("a")], [said("x"), result("b")], pair("a")):
        assert backcut.trim(messages, max_turns=5, max_chars=500, max_tokens=500).messages is messages


def test_no_ceiling_no_cut() -> None:
    messages = [user("x" * 10_000)] * 50
    assert backcut.trim(messages).messages is messages


def test_ceilings_hold_at_once() -> None:
    messages = [user("a" * 10), user("b" * 10), user("c" * 10), user("d" * 10)]
    assert kept(messages, max_turns=3, max_chars=25, notice=False) == (2, 3)
    assert kept(messages, max_turns=1, max_chars=25, notice=False) == (3,)
    assert kept(messages, max_turns=3, max_chars=25, max_tokens=3 + 17, tokenizer=len, notice=False) == (3,)


# Groups


def test_results_in_any_order_and_a_batch_is_one_group() -> None:
    messages = [user("q"), call("a", "b"), result("b"), result("a"), said("so")]
    assert backcut.check(messages) == []
    assert [kept(messages, max_turns=n, start="any", notice=False) for n in (1, 2, 3, 4)] == [(4,), (4,), (4,), (1, 2, 3, 4)]


def test_missing_ids_are_matched_by_place() -> None:
    messages = [user("q"), call(None, None), result(None), result(None), said("so")]
    assert {v.code for v in backcut.check(messages)} == {"missing_id"}
    assert kept(messages, max_turns=3, notice=False) == (0, 4)


def test_ids_on_both_sides_must_be_equal() -> None:
    messages = [user("q"), call("a"), result("b"), said("so")]
    assert [(v.code, v.index) for v in backcut.check(messages)] == [("unanswered_call", 1), ("orphan_result", 2)]


def test_an_id_opened_anew_closes_the_older_call() -> None:
    """The result at 4 belongs to the call at 3; the one at 1 stays dead and welds nothing."""
    messages = [user("q"), call("a"), said("hm"), call("a"), result("a"), said("so")]
    assert [(v.code, v.index) for v in backcut.check(messages)] == [("unanswered_call", 1)]
    assert kept(messages, max_turns=4, start="any", notice=False) == (2, 3, 4, 5)


def test_a_late_result_welds() -> None:
    messages = [user("q"), call("a"), user("wait"), said("ok"), result("a"), user("next")]
    assert [(v.code, v.index, v.ids) for v in backcut.check(messages)] == [("late_result", 4, ("a",))]
    for n in (1, 2, 3, 4):
        assert kept(messages, max_turns=n, start="any", notice=False) == (5,)
    assert kept(messages, max_turns=5, start="any", notice=False) == (1, 2, 3, 4, 5)


def test_an_orphan_stays_with_the_message_before_it() -> None:
    messages = [user("q"), said("hm"), result("zz"), said("so")]
    assert kept(messages, max_turns=2, start="any", notice=False) == (3,)
    assert kept(messages, max_turns=3, start="any", notice=False) == (1, 2, 3)


def test_a_dead_call_does_not_stop_trimming() -> None:
    messages = [user("q"), call("dead"), user("r"), said("a"), user("s"), said("b")]
    assert [kept(messages, max_turns=n, notice=False) for n in (2, 4)] == [(4, 5), (2, 3, 4, 5)]


@pytest.mark.parametrize("answered", [0, 1])
def test_the_live_end_is_whole_and_untouched(answered: int) -> None:
    messages = [user("q"), said("hm"), user("go"), call("a", "b"), *[result("a", "x" * 40)][:answered]]
    assert backcut.check(messages)[0].code == "pending_call"
    assert kept(messages, max_turns=2 + answered, notice=False) == tuple(range(2, len(messages)))
    capped = sent(messages, max_chars_per_tool=20)
    assert [len(m["content"]) for m in capped if m["role"] == "tool"] == [20] * answered


def test_legacy_pairs_are_groups() -> None:
    messages = [user("q"), *legacy(), said("so")]
    assert backcut.check(messages) == []
    assert kept(messages, max_turns=2, start="any", notice=False) == (3,)


def test_a_system_message_is_no_place_to_begin() -> None:
    messages = [user("q"), said("a"), system("note"), said("b")]
    assert kept(messages, max_turns=2, start="any", notice=False) == (3,)
    assert kept(messages[:3], max_turns=2, start="any", notice=False) == (1, 2)
    with pytest.raises(backcut.BudgetError) as caught:
        backcut.trim(messages[:3], max_turns=1)
    assert (caught.value.needed, caught.value.index) == (2, 1), "the newest group is the last that is no system message, with all behind it"


# Start


def test_the_task_stays_in_front_and_counts() -> None:
    messages = [user("old"), said("x"), user("task"), *pair("a"), *pair("b"), *pair("c")]
    assert kept(messages, max_turns=6, notice=False) == (2, 5, 6, 7, 8)
    assert kept(messages, max_turns=5, notice=False) == (2, 5, 6, 7, 8)
    assert kept(messages, max_turns=4, notice=False) == (2, 7, 8)
    assert kept(messages, max_turns=4, notice=False, start="any") == (5, 6, 7, 8)


def test_without_any_user_turn_the_tail_starts_at_a_boundary() -> None:
    messages = [said("hello"), *pair("a"), *pair("b")]
    assert kept(messages, max_turns=4, notice=False) == (1, 2, 3, 4)


def test_before_the_first_user_turn_no_tail_begins() -> None:
    messages = [said("hello"), said("there"), user("q"), said("so")]
    assert kept(messages, max_turns=3, notice=False) == (2, 3)
    assert kept(messages, max_turns=3, notice=False, start="any") == (1, 2, 3)


# Nothing fits


def test_first_the_notice_gives_way_then_the_task() -> None:
    messages = [user("o" * 100), said("x"), user("task"), *pair("a", "12345"), *pair("b", "12345")]
    newest = 2 + 5
    with_task = newest + 4
    ladder = [plan(messages, max_chars=n) for n in (with_task + LONG, with_task + LONG - 1, with_task, with_task - 1, newest)]
    assert [p.kept for p in ladder] == [(2, 5, 6), (2, 3, 4, 5, 6), (2, 5, 6), (5, 6), (5, 6)]
    assert [p.notice is not None for p in ladder] == [True, False, False, False, False]
    assert [p.report.task_dropped for p in ladder] == [False, False, False, True, True]
    with pytest.raises(backcut.BudgetError) as caught:
        plan(messages, max_chars=newest - 1)
    error = caught.value
    assert (error.needed, error.limit, error.ceiling, error.index) == (newest, newest - 1, "max_chars", 5)


def test_without_the_task_the_tail_is_the_longest_without_it() -> None:
    messages = [user("t" * 100), *pair("a", "12345"), *pair("b", "12345"), *pair("c", "12345")]
    found = plan(messages, max_chars=14 + LONG)
    assert (found.kept, found.report.task_dropped) == ((3, 4, 5, 6), True)
    assert found.notice is not None


def test_ceilings_are_named_in_order() -> None:
    messages = [user("q"), call("a", "b"), result("a", "x" * 50), result("b")]
    for options, ceiling, needed in [
        ({"max_turns": 2, "max_chars": 5, "max_tokens": 5}, "max_turns", 3),
        ({"max_turns": 3, "max_chars": 5, "max_tokens": 5}, "max_chars", 4 + 50 + 6),
        (
            {"max_turns": 3, "max_chars": 99, "max_tokens": 6, "reserve_tokens": 1},
            "max_tokens",
            3 + (3 + 9 + 12) + (3 + 4 + 50) + (3 + 4 + 6),
        ),
    ]:
        with pytest.raises(backcut.BudgetError) as caught:
            backcut.trim(messages, tokenizer=len, **options)
        error = caught.value
        limit = options[ceiling] - options.get("reserve_tokens", 0)
        assert (error.ceiling, error.needed, error.limit, error.index) == (ceiling, needed, limit, 1)


def test_keep_sends_the_newest_group_over_the_budget() -> None:
    messages = [system(), user("task"), *pair("a", "x" * 50)]
    trimmed = backcut.trim(messages, max_chars=10, on_overflow="keep")
    assert trimmed.messages == [messages[0], *messages[2:]]
    report = trimmed.report
    assert (report.over_budget, report.task_dropped, report.window_trimmed, report.chars_sent) == (True, True, True, 52)
    assert backcut.trim(trimmed.messages, max_chars=10, on_overflow="keep").messages is trimmed.messages


@pytest.mark.parametrize("messages", [[], [system("s" * 50)], [system("s" * 50), developer("d")]])
def test_a_lone_head_over_max_tokens(messages: list[Any]) -> None:
    needed = 3 + sum(3 + len(m["role"]) + len(m["content"]) for m in messages)
    with pytest.raises(backcut.BudgetError) as caught:
        backcut.trim(messages, max_tokens=2, tokenizer=len)
    error = caught.value
    assert (error.needed, error.limit, error.ceiling, error.index) == (needed, 2, "max_tokens", None)
    trimmed = backcut.trim(messages, max_tokens=2, tokenizer=len, on_overflow="keep")
    assert trimmed.messages is messages
    assert trimmed.report.over_budget
    assert backcut.trim(messages, max_turns=1, max_chars=1).messages is messages


# trim_to


def test_trim_to_cuts_on_a_grid_of_messages() -> None:
    messages = [user(str(k % 10)) for k in range(100)]
    grid = {"max_turns": 10, "trim_to": 0.6, "notice": False}
    firsts = [kept(messages[:n], **grid)[0] for n in range(1, 25)]
    assert firsts == [0] * 10 + [4] * 4 + [8] * 4 + [12] * 4 + [16] * 2


def test_trim_to_is_rounded_up_to_a_boundary() -> None:
    """Step 4: the fourth message lies inside a pair, so the cut is at the fifth."""
    messages = [user("q"), *pair("a"), *pair("b"), *pair("c"), *pair("d"), *pair("e")]
    assert kept(messages, max_turns=10, trim_to=0.6, notice=False, start="any") == tuple(range(5, 11))


def test_trim_to_by_chars() -> None:
    """Step 50 of 100: 12 messages of 10 characters are cut at 50."""
    messages = [user("x" * 10) for _ in range(12)]
    assert kept(messages, max_chars=100, trim_to=0.5, notice=False) == tuple(range(5, 12))


def test_trim_to_by_tokens_measures_bytes() -> None:
    """The limit is 100 tokens, 400 bytes, so the step is 200 bytes. A message is 13 times é, two bytes each, and 4 tokens of frame."""
    messages = [user("é" * 13) for _ in range(8)]
    assert 3 + 4 * 20 <= 100 < 3 + 5 * 20, "by len, role 4 and text 16 make 20 tokens a message, of which four fit"
    assert 4 * 42 < 200 <= 5 * 42
    assert kept(messages, max_tokens=100, trim_to=0.5, notice=False, tokenizer=len) == (5, 6, 7)


def test_trim_to_by_tokens_serves_short_messages() -> None:
    """Where frames outweigh texts the grid must count them, or no step is reached and all but the newest group goes."""
    history = [user("ok, go on") if k % 2 == 0 else said("yes") for k in range(2_000)]
    for length in range(200, 2_001, 100):
        tokens = backcut.trim(history[:length], max_tokens=1_000, trim_to=0.5, tokenizer=lambda text: 1 + len(text) // 4).report.tokens_sent
        assert tokens is not None
        # Half of the window, but for the grid's guess of 4 bytes a token.
        assert 300 <= tokens <= 1_000, length


def kept_of_growing(history: list[Any], **options: Any) -> list[tuple[int, int]]:
    """For each length at which something is cut: messages kept with ``trim_to``, and without."""
    without = {key: value for key, value in options.items() if key != "trim_to"}
    lengths = range(2, len(history) + 1)
    return [(len(found.kept), len(plan(history[:n], **without).kept)) for n in lengths if (found := plan(history[:n], **options)).notice]


def test_trim_to_beside_a_long_head() -> None:
    """A step is half of the ceiling, but the head leaves less than that: the window is not emptied for it."""
    history = [system("rule " * 500), user("go")]
    for k in range(60):
        history += [said(f"step {k} " * 5), user(f"next {k} " * 5)]
    found = kept_of_growing(history, max_tokens=4_000, trim_to=0.5, tokenizer=len)
    assert found
    assert all(kept >= longest // 4 for kept, longest in found)


def test_trim_to_beside_a_large_group() -> None:
    """The line falls into a tool result that takes most of the window: it stays, for behind it there is next to nothing."""
    call_and_result = pair("1", "F" * 5_800)
    history = [user("a" * 4_100), said("b" * 100), user("read the file"), *call_and_result, said("I read it."), user("Explain.")]
    assert kept(history, max_chars=10_000, trim_to=0.75, notice=False)[0] == 2


@pytest.mark.parametrize("text", ["0123456789", "deadbeef 07 ", "3.14159, 2.71828, "])
def test_trim_to_with_dense_texts(text: str) -> None:
    """Two bytes a token and less, where the grid supposes four."""
    history = [user(text * 8) if k % 2 == 0 else said(text * 8) for k in range(120)]
    found = kept_of_growing(history, max_tokens=1_000, trim_to=0.5)
    assert found
    assert all(4 * kept >= longest - 1 for kept, longest in found)


def test_the_furthest_cut_of_the_ceilings_wins() -> None:
    messages = [user("x" * 10) for _ in range(12)]
    assert kept(messages, max_turns=10, max_chars=100, trim_to=0.5, notice=False)[0] == 5
    assert kept(messages, max_turns=10, max_chars=60, trim_to=0.5, notice=False)[0] == 6


def test_a_step_past_the_newest_group_leaves_it() -> None:
    messages = [user("x" * 90), user("y" * 90)]
    assert kept(messages, max_chars=100, trim_to=0.01, notice=False) == (1,)


# Notice


@pytest.mark.parametrize(
    ("head", "role", "expected"),
    [
        ([], "auto", "system"),
        ([system()], "auto", "system"),
        ([developer()], "auto", "developer"),
        ([system(), developer()], "auto", "developer"),
        ([developer()], "system", "system"),
    ],
)
def test_notice_behind_the_head(head: list[Any], role: str, expected: str) -> None:
    messages = [*head, user("a"), said("b"), user("c")]
    assert sent(messages, max_turns=1, notice_role=role) == [*head, {"role": expected, "content": DEFAULT_NOTICE}, user("c")]
    found = plan(messages, max_turns=1, notice_role=role).notice
    assert found == backcut.Notice(DEFAULT_NOTICE, expected, len(head), False)


@pytest.mark.parametrize(
    ("content", "folded"),
    [
        ("next", f"{DEFAULT_NOTICE}\n\nnext"),
        ("", f"{DEFAULT_NOTICE}\n\n"),
        (["next"], [text_part(DEFAULT_NOTICE), "next"]),
        ([], [text_part(DEFAULT_NOTICE)]),
        (None, DEFAULT_NOTICE),
    ],
)
def test_notice_folded_into_the_user_turn(content: Any, folded: Any) -> None:
    turn = {"role": "user", "content": content, "name": "ann"}
    messages = [system(), user("a"), said("b"), turn]
    result_ = sent(messages, max_turns=1, notice_role="user")
    assert result_ == [system(), {"role": "user", "content": folded, "name": "ann"}]
    assert turn["content"] == content
    assert plan(messages, max_turns=1, notice_role="user").notice == backcut.Notice(DEFAULT_NOTICE, "user", 1, True)


@pytest.mark.parametrize("content", [f"{DEFAULT_NOTICE}\n\nx", DEFAULT_NOTICE, [text_part(DEFAULT_NOTICE), "x"], [DEFAULT_NOTICE]])
def test_a_user_turn_that_carries_the_notice_gets_no_second(content: Any) -> None:
    messages = [user("a"), said("b"), user(content)]
    found = plan(messages, max_turns=1, notice_role="user")
    assert (found.kept, found.notice) == ((2,), None)


def test_no_user_turn_to_fold_into_is_silence() -> None:
    messages = [*pair("a"), *pair("b")]
    found = plan(messages, max_turns=2, notice_role="user")
    assert (found.kept, found.notice) == ((2, 3), None)


def test_one_notice_ever() -> None:
    history = [system(), user("a"), said("b"), user("c"), said("d")]
    first = sent(history, max_turns=2)
    assert first == [system(), N, user("c"), said("d")]
    grown = [*first, user("e"), said("f")]
    assert sent(grown, max_turns=2) == [system(), N, user("e"), said("f")]


def test_a_carried_notice_counts_in_max_chars() -> None:
    messages = [system(), N, user("c"), said("d")]
    assert sent(messages, max_chars=LONG + 2) is not None
    assert kept(messages, max_chars=LONG + 2) == (0, 1, 2, 3)
    assert kept(messages, max_chars=LONG + 1) == (0, 1, 3)
    assert backcut.trim(messages, max_chars=LONG + 2).report.chars_sent == LONG + 2


@pytest.mark.parametrize("notice", ["", False])
def test_silence(notice: Any) -> None:
    assert sent([user("a"), said("b"), user("c")], max_turns=1, notice=notice) == [user("c")]


def test_no_notice_where_nothing_was_removed() -> None:
    messages = [user("q"), *pair("a", "x" * 100)]
    assert [m["role"] for m in sent(messages, max_chars_per_tool=20, max_turns=3)] == ["user", "assistant", "tool"]


# Report


def test_first_changed() -> None:
    messages = [system(), user("a"), said("b"), user("c"), *pair("t", "x" * 50)]
    assert backcut.trim(messages, max_turns=9).report.first_changed is None
    assert backcut.trim(messages, max_turns=3).report.first_changed == 1
    assert backcut.trim(messages, max_chars_per_tool=20).report.first_changed == 5
    assert backcut.trim([user("a"), said("b"), said("c")], max_turns=2, notice=False).report.first_changed == 1


def test_orphans_dropped() -> None:
    """Three messages fit, the oldest of them in the middle of a batch: two went that had room."""
    messages = [user("q"), call("a", "b"), result("a"), result("b"), said("so")]
    report = backcut.trim(messages, max_turns=3, start="any", notice=False).report
    assert (report.window_orphans_dropped, report.messages_sent) == (2, 1)
    assert backcut.trim(messages, max_turns=4, start="any", notice=False).report.window_orphans_dropped == 0
    assert backcut.trim(messages, max_turns=1, start="any", notice=False).report.window_orphans_dropped == 0


def test_every_figure_of_a_report() -> None:
    messages = [system(), user("old"), said("x"), user("task"), *pair("a", "y" * 50), said("end")]
    trimmed = backcut.trim(messages, max_turns=4, max_chars_per_tool=20, tokenizer=len)
    cut = "y" * 6 + "\n… [truncated]"
    assert trimmed.messages == [messages[0], N, *messages[3:5], result("a", cut), messages[6]]
    body = 4 + 2 + 20 + 3
    roles = len("system" * 2 + "user" + "assistant" + "tool" + "assistant")
    assert trimmed.report == backcut.TrimReport(
        window_trimmed=True,
        messages_original=7,
        messages_sent=6,
        window_orphans_dropped=0,
        task_dropped=False,
        tools_truncated=1,
        chars_capped=30,
        chars_sent=body + LONG,
        tokens_sent=3 + 6 * 3 + roles + len(system()["content"]) + LONG + body + 3 + 1,
        first_changed=1,
        over_budget=False,
        thinking_invalidated=False,
        format="openai-chat",
    )
