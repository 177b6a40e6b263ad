"""Anthropic Messages, each rule by a case worked out by hand (``docs/rules.md``)."""

from __future__ import annotations

from typing import Any

import pytest

import backcut
from chat import said, system, text_part, user
from engines import Both
from support import DEFAULT_NOTICE, cheap, snapshot

Message = dict[str, Any]
LONG = len(DEFAULT_NOTICE)
IMAGE = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
NOTE = text_part(DEFAULT_NOTICE)


def use(call_id: str | None, arguments: Any = None, **more: Any) -> Message:
    return {"type": "tool_use", "id": call_id, "name": "f", "input": {} if arguments is None else arguments, **more}


def answer(call_id: str | None, content: Any = "result") -> Message:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


def search(call_id: str) -> Message:
    return {"type": "server_tool_use", "id": call_id, "name": "web_search", "input": {"query": "q"}}


def hits(call_id: str) -> Message:
    hit = {"type": "web_search_result", "title": "Title", "url": "a.b", "encrypted_content": "secret", "page_age": None}
    return {"type": "web_search_tool_result", "tool_use_id": call_id, "content": [hit]}


def code(call_id: str) -> Message:
    return {"type": "server_tool_use", "id": call_id, "name": "code_execution", "input": {"code": "f()"}}


def ran(call_id: str) -> Message:
    content = {"type": "code_execution_result", "stdout": "out", "stderr": "", "return_code": 0, "content": []}
    return {"type": "code_execution_tool_result", "tool_use_id": call_id, "content": content}


def by(call_id: str) -> Message:
    return {"caller": {"type": "code_execution_20250825", "tool_id": call_id}}


def thinking(text: str = "hm", signature: str = "sig") -> Message:
    return {"type": "thinking", "thinking": text, "signature": signature}


REDACTED = {"type": "redacted_thinking", "data": "sealed"}


def call(*ids: str | None) -> Message:
    return said([use(call_id) for call_id in ids])


def result(*ids: str | None, text: Any = "result") -> Message:
    return user([answer(call_id, text) for call_id in ids])


def pair(call_id: str, text: Any = "result") -> list[Message]:
    return [call(call_id), result(call_id, text=text)]


def plan(messages: list[Any], **options: Any) -> backcut.Plan:
    return backcut.context_window(format="anthropic", **options).plan(messages)


def kept(messages: list[Any], **options: Any) -> tuple[int, ...]:
    return plan(messages, **({"notice": False} | options)).kept


def trimmed(messages: list[Any], **options: Any) -> backcut.Trimmed[list[Any]]:
    before = snapshot(messages)
    result = backcut.trim(messages, format="anthropic", **options)
    assert snapshot(messages) == before
    return result


def size(messages: list[Any]) -> int:
    return backcut.count(messages, format="anthropic", tokenizer=len)


def chars(*messages: Any) -> int:
    return backcut.trim(list(messages), format="anthropic").report.chars_sent


def found(*messages: Any) -> list[tuple[str, int, tuple[str, ...]]]:
    return [(each.code, each.index, each.ids) for each in backcut.check(list(messages), format="anthropic")]


def codes(*messages: Any) -> list[str]:
    return [each[0] for each in found(*messages)]


# Sizes


@pytest.mark.parametrize(
    ("content", "chars_of_it", "tokens"),
    [
        ("hello", 5, 5),
        ([text_part("hello"), text_part("you")], 8, 8),
        ([use("a", {"x": "é"})], len('{"x":"é"}'), 3 + 1 + len('{"x":"é"}')),
        ([thinking("hmm", "signed")], 3, 3 + 6),
        ([REDACTED], 0, 6),
        ([search("s"), hits("s")], 13 + 5 + 3, 3 + 10 + 13 + 3 + 5 + 3 + 6),
        ([code("s"), ran("s")], 14 + 3, 3 + 14 + 14 + 3 + 3),
        ([{"type": "mcp_tool_use", "id": "m", "name": "ask", "input": {}, "server_name": "x"}], 2, 3 + 3 + 2),
        ([{"type": "compaction", "content": "so far", "encrypted_content": "1234"}], 6, 6 + 4),
        ([{"type": "wonder", "text": "well"}, {"type": "container_upload", "file_id": "f"}], 4, 4),
    ],
)
def test_size_of_what_the_model_says(content: Any, chars_of_it: int, tokens: int) -> None:
    assert chars(user("q"), said(content)) == 1 + chars_of_it
    assert size([said(content)]) == 3 + 3 + len("assistant") + tokens


@pytest.mark.parametrize(
    ("content", "chars_of_it", "tokens"),
    [
        ([answer("a", "hello")], 5, 3 + 5),
        ([answer("a", None), answer("b", [])], 0, 3 + 3),
        ([answer("a", [text_part("one"), IMAGE, text_part("two")]), text_part("and")], 9, 3 + 3 + 765 + 3 + 3),
        ([IMAGE], 0, 765),
        ([{"type": "document", "source": {"type": "base64", "data": "AAAA"}, "title": "T"}], 1, 1 + 1500),
        ([{"type": "document", "source": {"type": "text", "data": "plain"}, "context": "why"}], 8, 8),
        ([{"type": "document", "source": {"type": "content", "content": [text_part("part"), IMAGE]}}], 4, 4 + 765),
        ([{"type": "search_result", "source": "s", "title": "t", "content": [text_part("text")]}], 6, 6),
    ],
)
def test_size_of_what_the_user_sends(content: Any, chars_of_it: int, tokens: int) -> None:
    assert chars(user(content)) == chars_of_it
    assert size([user(content)]) == 3 + 3 + len("user") + tokens


def test_a_result_has_a_figure() -> None:
    messages = [*pair("a"), result("b", "c")]
    counts = [backcut.count(messages, format="anthropic", tokenizer=cheap, figures={"result": n}) for n in (0, 1_000)]
    assert counts[1] - counts[0] == 3 * 1_000


# Groups


def test_a_batch_and_its_results_are_one_group() -> None:
    messages = [user("q"), call("a", "b"), result("b", "a"), said("so")]
    assert found(*messages) == []
    assert [kept(messages, max_turns=n, start="any") for n in (1, 2, 3)] == [(3,), (3,), (1, 2, 3)]


def test_results_may_be_split_over_messages() -> None:
    messages = [user("q"), call("a", "b"), result("b"), result("a"), said("so")]
    assert found(*messages) == []
    assert kept(messages, max_turns=3, start="any") == (4,)


def test_a_message_with_a_result_and_a_text_is_a_result() -> None:
    """It is no place to begin, and no task."""
    messages = [user("task"), call("a"), user([answer("a"), text_part("and be quick")]), *pair("b"), said("so")]
    assert found(*messages) == []
    assert kept(messages, max_turns=4) == (0, 3, 4, 5)
    assert kept(messages, max_turns=5) == (0, 3, 4, 5)


def test_messages_of_the_model_in_a_row_are_one_turn() -> None:
    messages = [user("q"), said("let me see"), call("a"), call("b"), result("a", "b"), said("so")]
    assert found(*messages) == []
    assert [kept(messages, max_turns=n, start="any") for n in (4, 5)] == [(5,), (1, 2, 3, 4, 5)]


def test_a_late_result_welds() -> None:
    messages = [user("q"), call("a"), user("wait"), result("a"), user("next")]
    assert found(*messages) == [("late_result", 3, ("a",))]
    assert [kept(messages, max_turns=n, start="any") for n in (3, 4)] == [(4,), (1, 2, 3, 4)]


def test_orphans_and_late_results_in_one_message() -> None:
    messages = [user("q"), call("a"), user("wait"), result("a", "zz"), said("so")]
    assert found(*messages) == [("late_result", 3, ("a",)), ("orphan_result", 3, ("zz",))]


def test_an_id_opened_anew_closes_the_older_call() -> None:
    messages = [user("q"), call("a"), user("hm"), call("a"), result("a"), said("so")]
    assert found(*messages) == [("unanswered_call", 1, ("a",))]
    assert kept(messages, max_turns=4) == (2, 3, 4, 5)


@pytest.mark.parametrize("answered", [(), ("a",)])
def test_the_live_end_is_whole(answered: tuple[str, ...]) -> None:
    messages = [user("q"), said("hm"), user("go"), call("a", "b"), *([result(*answered)] if answered else [])]
    open_calls = ("b",) if answered else ("a", "b")
    assert found(*messages) == [("pending_call", 3, open_calls)]
    assert kept(messages, max_turns=len(messages) - 2) == tuple(range(2, len(messages)))


# Server tools


def test_a_server_tool_is_settled_within_the_turn() -> None:
    messages = [user("q"), said([search("s"), hits("s"), text_part("so")]), user("r")]
    assert found(*messages) == []
    paused = [user("q"), said([search("s")]), said([hits("s"), text_part("so")]), user("r")]
    assert found(*paused) == []
    assert [kept(paused, max_turns=n, start="any") for n in (1, 2, 3)] == [(3,), (3,), (1, 2, 3)]


def test_server_calls_and_client_calls_are_families_of_their_own() -> None:
    messages = [user("q"), said([use("a"), search("a"), hits("a")]), result("a"), said("so")]
    assert found(*messages) == []
    assert found(user("q"), said([search("a")]), result("a")) == [("pending_call", 1, ("a",)), ("orphan_result", 2, ("a",))]
    assert found(user("q"), said([hits("a"), search("a")])) == [("pending_call", 1, ("a",)), ("orphan_result", 1, ("a",))]
    assert found(user("q"), said([search("a")]), user("r")) == [("unanswered_call", 1, ("a",))]
    mcp = {"type": "mcp_tool_result", "tool_use_id": "m", "content": "x"}
    assert found(user("q"), said([{"type": "mcp_tool_use", "id": "m", "name": "f", "input": {}}, mcp])) == []
    assert codes(user("q"), said([search("m"), mcp]))[0] == "pending_call"


def test_a_server_result_in_a_later_turn_welds() -> None:
    messages = [user("q"), said([search("s")]), user("wait"), said([hits("s")]), user("r")]
    assert found(*messages) == [("late_result", 3, ("s",))]
    assert kept(messages, max_turns=3) == (4,)


def test_code_that_calls_tools_is_one_unit_with_them() -> None:
    """Its result has to wait for theirs, so that it comes late is no flaw."""
    run = [said([code("s"), use("a", **by("s"))]), result("a"), said([use("b", **by("s"))]), result("b"), said([ran("s"), text_part("so")])]
    messages = [user("q"), *run, user("r"), said("x")]
    assert found(*messages) == []
    assert [kept(messages, max_turns=n) for n in (3, 6, 7, 8)] == [(6, 7), (6, 7), (6, 7), tuple(range(8))]
    assert kept(messages, max_turns=7, start="any") == tuple(range(1, 8))


def test_code_that_still_runs_is_a_live_end() -> None:
    messages = [user("q"), *pair("x"), said([code("s"), use("a", **by("s"))]), result("a"), said([use("b", **by("s"))])]
    assert found(*messages) == [("pending_call", 3, ("s",)), ("pending_call", 5, ("b",))]
    assert kept(messages, max_turns=4) == (0, 3, 4, 5)
    dead = [*messages, result("b"), user("stop"), said("ok")]
    assert found(*dead) == [("unanswered_call", 3, ("s",))]


# What gives way


def test_the_task_stays() -> None:
    messages = [user("o" * 99), said("x"), user("task"), *pair("a", "12345"), *pair("b", "12345")]
    least = 4 + 2 + 5
    assert kept(messages, max_chars=least) == (2, 5, 6)
    with pytest.raises(backcut.BudgetError) as caught:
        plan(messages, max_chars=least - 1)
    assert (caught.value.needed, caught.value.limit, caught.value.ceiling, caught.value.index) == (least, least - 1, "max_chars", 5)
    over = plan(messages, max_chars=least - 1, on_overflow="keep")
    assert (over.kept, over.report.over_budget, over.report.task_dropped) == ((2, 5, 6), True, False)
    assert kept(messages, max_chars=least - 4, start="any") == (5, 6)


def test_first_the_notice_gives_way() -> None:
    messages = [user("o" * 99), said("x"), user("task"), *pair("a", "12345"), *pair("b", "12345")]
    least = 4 + 2 + 5
    found = [plan(messages, max_chars=least + LONG + 2 - n) for n in (0, 1)]
    assert [each.notice is not None for each in found] == [True, False]
    assert [each.kept for each in found] == [(2, 5, 6), (2, 3, 4, 5, 6)]


# Notice


@pytest.mark.parametrize("role", ["auto", "system", "user"])
def test_the_notice_is_folded(role: Any) -> None:
    messages = [user("old"), said("x"), user("new"), said("y")]
    cut, report = trimmed(messages, max_turns=2, notice_role=role)
    assert cut == [user(f"{DEFAULT_NOTICE}\n\nnew"), said("y")]
    assert (report.chars_sent, report.messages_sent, report.first_changed) == (LONG + 2 + 4, 2, 0)
    assert cut[1] is messages[3]
    assert plan(messages, max_turns=2, notice_role=role).notice == backcut.Notice(DEFAULT_NOTICE, "user", 0, True)
    assert backcut.trim(cut, format="anthropic", max_turns=2, notice_role=role).messages is cut


def test_the_notice_is_a_block_of_its_own_in_a_list() -> None:
    messages = [user("old"), said("x"), user([IMAGE]), *pair("a"), *pair("b"), said("y")]
    cut, report = trimmed(messages, max_turns=4, tokenizer=len)
    assert cut == [user([NOTE, IMAGE]), *messages[5:]]
    assert cut[0]["content"][1] is IMAGE
    assert report.tokens_sent == size(cut)
    assert report.chars_sent == chars(*cut)
    assert backcut.trim(cut, format="anthropic", max_turns=4).messages is cut


def test_where_there_is_no_user_turn_the_notice_is_silent() -> None:
    messages = [said("a"), said("b"), *pair("a"), said("c")]
    assert plan(messages, max_turns=1, start="any").notice is None


def test_the_head_is_kept() -> None:
    messages = [system(), user("old"), said("x"), user("new")]
    assert trimmed(messages, max_turns=1).messages == [system(), user(f"{DEFAULT_NOTICE}\n\nnew")]


# Cap


def test_each_result_has_its_own_cap() -> None:
    messages = [
        user("q"),
        call("a", "b", "c"),
        user([answer("a", "x" * 40), answer("b", "short"), answer("c", "y" * 30), text_part("z" * 99)]),
    ]
    cut, report = trimmed(messages, max_chars_per_tool=20, tokenizer=len)
    marker = "\n… [truncated]"
    expected = [answer("a", "x" * 6 + marker), answer("b", "short"), answer("c", "y" * 6 + marker), text_part("z" * 99)]
    assert cut[2]["content"] == expected
    assert (report.tools_truncated, report.chars_capped, report.first_changed) == (2, 20 + 10, 2)
    assert report.chars_sent == chars(*cut)
    assert report.tokens_sent == size(cut)
    assert cut[2]["content"][1] is messages[2]["content"][1]
    (edit,) = plan(messages, max_chars_per_tool=20).edits
    assert edit.cuts == (
        backcut.PartCut(("content", 0, "content"), 6, 0, marker, False),
        backcut.PartCut(("content", 2, "content"), 6, 0, marker, False),
    )


def test_blocks_of_a_result_share_its_cap() -> None:
    inner = [text_part("a" * 10), IMAGE, text_part("b" * 30), text_part("c")]
    messages = [user("q"), call("a"), result("a", text=inner)]
    cut, report = trimmed(messages, max_chars_per_tool=30)
    assert cut[2]["content"][0]["content"] == [inner[0], IMAGE, text_part("b" * 6 + "\n… [truncated]")]
    assert (report.tools_truncated, report.chars_capped) == (1, 41 - 30)
    (edit,) = plan(messages, max_chars_per_tool=30).edits
    assert [(part.path, part.dropped) for part in edit.cuts] == [
        (("content", 0, "content", 2, "text"), False),
        (("content", 0, "content", 3), True),
    ]


def test_what_the_provider_gave_back_is_not_capped() -> None:
    messages = [user("q"), said([search("s"), hits("s")])]
    assert trimmed(messages, max_chars_per_tool=1).messages is messages


# Thinking

STEPS = [
    user("one"),
    said([thinking("a" * 10), use("a")]),
    result("a"),
    said([thinking("b" * 10), REDACTED]),
    said("so"),
    user("two"),
    said([thinking("c" * 10), use("c")]),
    result("c"),
]
OLD = [user("old"), said("x")]


def test_thinking_stays_and_is_reported() -> None:
    found = plan([*OLD, *STEPS], max_turns=8)
    assert (found.edits, found.report.thinking_invalidated) == ((), True)
    assert not plan([*OLD, *STEPS]).report.thinking_invalidated
    assert not plan([*OLD, *STEPS[:1], said("x")], max_turns=2).report.thinking_invalidated


def test_thinking_of_completed_turns_is_stripped_behind_a_cut() -> None:
    """That of the live turn stays, and what is left empty goes whole."""
    messages = [*OLD, *STEPS]
    cut, report = trimmed(messages, max_turns=8, thinking="strip", tokenizer=len)
    assert cut == [user(f"{DEFAULT_NOTICE}\n\none"), said([use("a")]), STEPS[2], *STEPS[4:]]
    found = plan(messages, max_turns=8, thinking="strip")
    assert found.kept == (2, 3, 4, 6, 7, 8, 9)
    assert found.edits == (backcut.Edit(3, (backcut.PartCut(("content", 0), 0, 0, "", True),)),)
    assert found.apply(messages) == cut
    assert (report.messages_sent, report.first_changed, report.thinking_invalidated, report.tools_truncated) == (7, 0, True, 0)
    assert (report.chars_sent, report.tokens_sent) == (chars(*cut), size(cut))
    assert cut[2] is messages[4]
    assert backcut.trim(cut, format="anthropic", max_turns=8, thinking="strip").messages is cut


def test_what_is_stripped_makes_room() -> None:
    messages = [*OLD, *STEPS]
    sent = 3 + 2 + 6 + 2 + 3 + 10 + 2 + 6
    assert [kept(messages, max_chars=n, thinking="strip") for n in (sent, sent - 1)] == [(2, 3, 4, 6, 7, 8, 9), (2, 6, 7, 8, 9)]
    assert kept(messages, max_chars=sent, thinking="keep") == (7, 8, 9)
    assert kept(messages, max_turns=7, thinking="strip") == (2, 3, 4, 6, 7, 8, 9), "a message that goes is no turn"


def test_a_history_that_fits_keeps_its_thinking() -> None:
    assert trimmed(STEPS, max_turns=8, thinking="strip").messages is STEPS
    assert plan([*OLD, *STEPS], max_turns=10, thinking="strip").kept == tuple(range(10))


def test_thinking_behind_a_capped_result_is_stripped() -> None:
    """What stands before the first edit is as it was."""
    long = [*STEPS[:2], result("a", text="x" * 50), *STEPS[3:]]
    cut, report = trimmed(long, max_chars_per_tool=20, thinking="strip", tokenizer=len)
    assert cut[:2] == long[:2]
    assert cut[3:] == long[4:]
    assert (report.window_trimmed, report.messages_sent, report.first_changed) == (False, 7, 2)
    assert (report.chars_sent, report.tokens_sent) == (chars(*cut), size(cut))
    assert report.thinking_invalidated, "the live turn's"
    assert not plan(long[:5], max_chars_per_tool=20, thinking="strip").edits[1:], "no plain user turn behind: not completed"


# Detection


def test_the_first_message_that_decides() -> None:
    for messages in ([user("q"), call("a")], [user("q"), said([thinking()])], [user([IMAGE])], [user("q"), said([search("s")])]):
        assert backcut.trim(messages).report.format == "anthropic"
    assert backcut.trim([user("q"), said([text_part("x")])]).report.format == "openai-chat"


def test_another_format_further_on_is_ambiguous() -> None:
    chat = said(None, tool_calls=[{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}])
    for messages, expected in (
        ([user("q"), chat, user("r"), call("b")], "messages[3] looks like anthropic, the messages before it like openai-chat"),
        (
            [user("q"), call("b"), {"role": "tool", "content": "x"}],
            "messages[2] looks like openai-chat, the messages before it like anthropic",
        ),
    ):
        for operation in (backcut.trim, backcut.check, lambda messages: backcut.count(messages, tokenizer=len)):
            more: Any = {"max_turns": 1, "start": "any"} if operation is backcut.trim else {}
            with pytest.raises(backcut.OptionError) as caught:
                operation(messages, **more)
            assert (caught.value.option, caught.value.value) == ("format", "auto")
            assert expected in caught.value.allowed
        backcut.check(messages[:2])


def test_thena_knows_chat_completions_alone() -> None:
    with pytest.raises(backcut.OptionError, match="compat"):
        backcut.context_window(compat="thena", format="anthropic")
    with pytest.raises(backcut.OptionError) as caught:
        backcut.trim([user("q"), call("a")], compat="thena", max_turns=1)
    assert (caught.value.option, caught.value.value) == ("compat", "thena")


# Reading


@pytest.mark.parametrize(
    ("message", "path", "wrong", "expected"),
    [
        ({"role": "tool", "content": "x"}, "role", "'tool'", "one of user, assistant, system"),
        (None, "", "NoneType", "a mapping or an object with a role"),
        (user(5), "content", "int", "a string, a list of blocks or null"),
        (user([None]), "content[0]", "NoneType", "a string or a mapping"),
        (user([text_part(None)]), "content[0].text", "nothing", "a string"),
        (user([text_part(5)]), "content[0].text", "int", "a string"),
        (said([thinking(5)]), "content[0].thinking", "int", "a string or null"),  # type: ignore[arg-type]
        (said([use(5)]), "content[0].id", "int", "a string or null"),  # type: ignore[arg-type]
        (said([use("a") | {"name": 5}]), "content[0].name", "int", "a string"),
        (said([use("a", {1, 2})]), "content[0].input", "set", "a string or a JSON value"),
        (user([answer(5)]), "content[0].tool_use_id", "int", "a string or null"),  # type: ignore[arg-type]
        (user([answer("a", 5)]), "content[0].content", "int", "a string, a list of blocks or null"),
        (user([answer("a", [None])]), "content[0].content[0]", "NoneType", "a string or a mapping"),
        (user([answer("a", [text_part(5)])]), "content[0].content[0].text", "int", "a string"),
    ],
)
def test_what_cannot_be_read(message: Any, path: str, wrong: str, expected: str) -> None:
    for operation in (plan, lambda messages: backcut.check(messages, format="anthropic")):
        with pytest.raises(backcut.FormatError) as caught:
            operation([user("q"), message], **({"max_chars": 100} if operation is plan else {}))
        error = caught.value
        assert (error.index, error.path, error.found, error.expected) == (1, path, wrong, expected)


def test_what_is_wrong_in_front_of_the_cut_does_not_matter() -> None:
    messages = [user(5), said([None, use(5), thinking(5)]), user("old"), user("q"), said("a")]  # type: ignore[arg-type]
    assert kept(messages, max_chars=2) == (3, 4)


# Check


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], [("empty_history", 0, ())]),
        ([said("hi"), user("q")], [("first_not_user", 0, ())]),
        ([result("a"), said("x")], [("first_not_user", 0, ()), ("orphan_result", 0, ("a",))]),
        ([user(None), user(""), user([]), said("")], [("missing_content", n, ()) for n in range(3)]),
        ([user("q"), said([]), user("r")], [("missing_content", 1, ())]),
        ([user(" \n"), said([text_part("")]), user("r")], [("blank_text", 0, ()), ("blank_text", 1, ())]),
        ([user("q"), call("a"), user([text_part("x"), answer("a")])], [("text_before_result", 2, ())]),
        ([user("q"), call("a", "b"), user([answer("a"), IMAGE, answer("b")])], [("text_before_result", 2, ())]),
        ([user("q"), call("a"), user(["x", answer("a")])], [("text_before_result", 2, ())]),
        # Messages with results in a row are one, and so the text of the first stands before the results of the second.
        ([user("q"), call("a", "b"), user([answer("a"), text_part("x")]), result("b")], [("text_before_result", 2, ())]),
        ([user("q"), call("a", "b"), result("a"), user([answer("b"), text_part("x")]), user("y")], []),
        ([user("q"), said([text_part("x"), answer("a")])], [("misplaced_block", 1, ())]),
        ([user(["", "q"])], [("blank_text", 0, ())]),
        ([user([{"type": ["text"], "text": "q"}])], []),
        ([said([{"type": "compaction", "content": "so far"}, text_part("x")]), user("q")], []),
        ([said([text_part("x"), {"type": "compaction", "content": "so far"}]), user("q")], [("first_not_user", 0, ())]),
        ([system("s"), user("q")], [("misplaced_system", 0, ())]),
        ([system("s"), system("t"), user("q")], [("misplaced_system", 0, ()), ("misplaced_system", 1, ())]),
        ([user("q"), system("s"), system("t"), user("r")], [("misplaced_system", 1, ()), ("misplaced_system", 2, ())]),
        ([user("q"), system("s"), user("r")], [("misplaced_system", 1, ())]),
        ([user("q"), system("s"), system("t"), said("a"), user("r"), system("u")], []),
        ([user("q"), call("a:0"), result("a:0")], [("invalid_id", 1, ("a:0",)), ("invalid_id", 2, ("a:0",))]),
        (
            [user("q"), call("a:0", "a:0")],
            [("invalid_id", 1, ("a:0", "a:0")), ("duplicate_id", 1, ("a:0",)), ("pending_call", 1, ("a:0", "a:0"))],
        ),
        ([user("q"), call(None), result("a")], [("missing_id", 1, ())]),
        ([user("q"), call("a"), result(None)], [("missing_id", 2, ())]),
        ([user("q"), call("a", "a"), result("a", "a")], [("duplicate_id", 1, ("a",))]),
        ([user("q"), call("a"), call("a"), result("a", "a")], [("duplicate_id", 2, ("a",))]),
        ([user("q"), said([search("s"), hits("s"), search("s"), hits("s")])], []),
        ([user("q"), said([answer("a")])], [("misplaced_block", 1, ())]),
        ([user([use("a")])], [("misplaced_block", 0, ())]),
        ([user([hits("a")])], [("misplaced_block", 0, ())]),
        ([user("q"), call("a"), user("r")], [("unanswered_call", 1, ("a",))]),
        ([user("q"), call("a"), result("a", "a")], [("orphan_result", 2, ("a",))]),
    ],
)
def test_codes(messages: list[Any], expected: list[Any]) -> None:
    assert Both("anthropic").found(*messages) == expected


def test_at_most_four_cache_marks() -> None:
    marked = text_part("x") | {"cache_control": {"type": "ephemeral"}}
    turn = [user([marked]), said([marked])]
    assert found(*turn, *turn) == []
    assert found(*turn, *turn, user("q"), said([marked]), user([marked])) == [("too_many_cache_marks", 5, ())]


def test_a_trimmed_history_is_as_sound_as_it_was() -> None:
    messages = [*OLD, *STEPS, said([search("s"), hits("s"), text_part("x")]), user("three"), *pair("d"), said("end")]
    assert found(*messages) == []
    cuts = set()
    for turns in range(1, len(messages)):
        for thinking in ("keep", "strip"):
            cut = backcut.trim(messages, format="anthropic", max_turns=turns, thinking=thinking, on_overflow="keep").messages
            assert found(*cut) == []
            cuts.add(len(cut))
    assert len(cuts) > 4
