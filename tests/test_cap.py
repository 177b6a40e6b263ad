"""The cap on observations and the token formula (``docs/rules.md``, sections 3.3 and 2), worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import backcut
from chat import call, image, pair, result, said, system, text_part, user
from histories import BASE64, texts

HEAD, TAIL, BOTH = "\n… [truncated]", "… [truncated]\n", "\n… [truncated]\n"
A = "0123456789" * 4


def capped(content: Any, cap: int, keep: str = "head") -> Any:
    history = [user("q"), call("a"), result("a", content)]
    sent = backcut.trim(history, max_chars_per_tool=cap, tool_keep=keep).messages
    assert history[2]["content"] is content
    assert (sent is history) == (sent[2] is history[2])
    return sent[2]["content"]


@pytest.mark.parametrize(
    ("keep", "cap", "expected"),
    [
        ("head", 40, A),
        ("head", 20, A[:6] + HEAD),
        ("tail", 20, TAIL + A[-6:]),
        ("head_tail", 20, A[:3] + BOTH + A[-2:]),
        ("head_tail", 21, A[:3] + BOTH + A[-3:]),
        ("head", 14, HEAD),
        ("tail", 14, TAIL),
        ("head_tail", 15, BOTH),
        ("head", 13, A[:13]),
        ("tail", 13, A[:13]),
        ("head_tail", 14, A[:14]),
        ("tail", 1, A[:1]),
    ],
)
def test_a_string(keep: str, cap: int, expected: str) -> None:
    assert len(expected) <= cap
    assert capped(A, cap, keep) == expected


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        ("head", [text_part("abcde"), text_part("f" + HEAD)]),
        ("tail", [text_part(TAIL + "GHIJK"[-1:]), text_part("vwxyz")]),
        ("head_tail", [text_part("abc" + BOTH), text_part("yz")]),
    ],
)
def test_parts_share_the_cap(keep: str, expected: list[Any]) -> None:
    parts = [text_part("abcde"), text_part("f" * 20 + "GHIJK"), text_part("vwxyz")]
    assert capped(parts, 20, keep) == expected


def test_media_stay_and_text_behind_the_cut_goes() -> None:
    picture = image(BASE64)
    assert capped([text_part("a" * 30), picture, text_part("b" * 30)], 20) == [text_part("a" * 6 + HEAD), picture]
    assert capped([picture, "loose" * 9], 20) == [picture, "looselo"[:6] + HEAD]


def test_something_always_remains() -> None:
    assert capped([text_part("ab"), text_part("c" * 30)], 14) == [text_part(HEAD)]
    assert capped([text_part("a" * 30), text_part("bc")], 14, "tail") == [text_part(TAIL)]


def test_below_the_marker_over_parts() -> None:
    assert capped([text_part("ab"), text_part("c" * 30), text_part("d")], 5) == [text_part("ab"), text_part("ccc")]


@pytest.mark.parametrize("cluster", ["👩\u200d👩\u200d👧", "e\u0301\u0323", "🇩🇪", "\r\n", "각", "👍🏽"])
@pytest.mark.parametrize("keep", ["head", "tail", "head_tail"])
def test_no_cluster_is_cut(cluster: str, keep: str) -> None:
    text = cluster * 30
    for cap in range(15, 45):
        if len(text) > cap:
            left = capped(text, cap, keep).replace("… [truncated]", "|")
            front, _, back = left.partition("|")
            assert front.removesuffix("\n").replace(cluster, "") in ("", "\r"), (cap, front)
            assert len(left) + len("… [truncated]") - 1 <= cap
            assert back.removeprefix("\n").replace(cluster, "") == ""


@given(text=texts, cap=st.integers(1, 60), keep=st.sampled_from(["head", "tail", "head_tail"]))
def test_front_and_back_of_any_text(text: str, cap: int, keep: str) -> None:
    """At most the cap, the pieces the text's own ends, and cut where ``\\X`` of an independent engine would cut."""
    regex = pytest.importorskip("regex", reason="regex (which tiktoken brings) says where a grapheme cluster ends")
    left = capped(text, cap, keep)
    marker = {"head": HEAD, "tail": TAIL, "head_tail": BOTH}[keep]
    if len(text) <= cap:
        assert left == text
        return
    assert len(left) <= cap
    if cap < len(marker):
        assert left == text[:cap]
        return
    room = cap - len(marker)
    front_room, back_room = {"head": (room, 0), "tail": (0, room), "head_tail": (room - room // 2, room // 2)}[keep]
    if "\ud800" <= max(text, default="") <= "\udfff" or any("\ud800" <= c <= "\udfff" for c in text):
        assert len(left) <= cap
        return
    ends = [0, *(match.end() for match in regex.finditer(r"\X", text))]
    front = max(end for end in ends if end <= front_room)
    back = min(end for end in ends if end >= len(text) - back_room)
    assert left == text[:front] + marker + text[back:]


def test_function_messages_are_observations_and_others_are_not() -> None:
    function = {"role": "function", "name": "f", "content": A}
    history = [system(A), user(A), said(None, function_call={"name": "f", "arguments": A}), function, said(A)]
    sent = backcut.trim(history, max_chars_per_tool=20).messages
    assert [m is h for m, h in zip(sent, history, strict=True)] == [True, True, True, False, True]
    assert sent[3] == {"role": "function", "name": "f", "content": A[:6] + HEAD}


def test_the_head_is_not_capped_and_nothing_is_capped_that_is_not_sent() -> None:
    history = [user("q"), *pair("a", A), *pair("b", A)]
    report = backcut.trim(history, max_chars_per_tool=20, max_turns=3).report
    assert (report.tools_truncated, report.chars_capped) == (1, 20)


# Tokens, each text counted by its length


def count(messages: Any, **more: Any) -> int:
    return backcut.count(messages, tokenizer=len, format="openai-chat", **more)


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], 3),
        ([user("abc")], 3 + 3 + 4 + 3),
        ([{**user("abc"), "name": "ann"}], 3 + 3 + 4 + 3 + (1 + 3)),
        ([{**user("abc"), "name": ""}], 3 + 3 + 4 + 3),
        ([{"role": "user"}], 3 + 3 + 4),
        ([user([text_part("ab"), "c", {"type": "refusal", "refusal": "no"}])], 3 + 3 + 4 + 5),
        ([user([image(BASE64)])], 3 + 3 + 4 + 765),
        ([user([image(BASE64, detail="low")])], 3 + 3 + 4 + 85),
        ([user([{"type": "input_image", "image_url": BASE64, "detail": "low"}])], 3 + 3 + 4 + 85),
        ([user([{"type": "input_audio", "input_audio": {"data": BASE64}}])], 3 + 3 + 4 + 300),
        ([user([{"type": "file", "file": {"file_data": BASE64}}])], 3 + 3 + 4 + 1500),
        ([user([{"type": "wonder", "text": "ab", "data": BASE64}])], 3 + 3 + 4 + 2),
        ([user([{"type": "wonder", "thinking": "abc"}])], 3 + 3 + 4 + 3),
        ([user([{"type": "wonder", "content": [{"text": "ab"}, {"text": "c"}, {"no": 1}]}])], 3 + 3 + 4 + 3),
        ([said(None, refusal="no")], 3 + 3 + 9 + 2),
        ([said("x", reasoning_content="abc", reasoning="de")], 3 + 3 + 9 + 1 + 3 + 2),
        ([said("x", reasoning_content=["abc"])], 3 + 3 + 9 + 1),
        ([said(None, audio={"id": "audio_1"})], 3 + 3 + 9 + 300),
        ([call("a", arguments='{"x":1}', name="read")], 3 + 3 + 9 + (3 + 4 + 7)),
        ([call("a", "b", name="read")], 3 + 3 + 9 + 2 * (3 + 4 + 2)),
        ([call("a", arguments={"x": [1, "é"], "y": None}, name="read")], 3 + 3 + 9 + (3 + 4 + len('{"x":[1,"é"],"y":null}'))),
        ([said(None, tool_calls=[{"id": "a", "type": "custom", "custom": {"name": "sh", "input": "ls -l"}}])], 3 + 3 + 9 + (3 + 2 + 5)),
        ([said(None, function_call={"name": "read", "arguments": "{}"})], 3 + 3 + 9 + (3 + 4 + 2)),
        ([{**call("a"), "content": [{"type": "tool_use", "id": "a", "input": {}, "text": "twice"}]}], 3 + 3 + 9 + (3 + 1 + 2)),
        ([result("a-very-long-id", "abc")], 3 + 3 + 4 + 3),
        ([{"role": "function", "name": "f", "content": "abc"}], 3 + 3 + 8 + 3 + (1 + 1)),
        ([{**user("abc"), "extra": "x" * 99}], 3 + 3 + 4 + 3),
    ],
)
def test_count(messages: list[Any], expected: int) -> None:
    assert count(messages) == expected
    if messages:
        assert backcut.trim(messages, max_tokens=expected, tokenizer=len, format="openai-chat").messages is messages
        assert backcut.trim(messages, tokenizer=len, format="openai-chat").report.tokens_sent == expected


def test_a_text_alone_has_no_overhead() -> None:
    assert count("abcde") == 5
    assert count("") == 0


def test_system_outside_of_the_array_is_one_message() -> None:
    assert count([], system="abc") == 3 + 3 + 6 + 3
    assert count([], system=["abc", {"text": "de"}]) == 3 + 3 + 6 + 5


def test_tools() -> None:
    tool = {
        "name": "search",
        "description": "Finds things.",
        "parameters": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What."},
                "order": {"type": "string", "enum": ["new", "old"]},
                "range": {"type": "object", "properties": {"from": {"type": "integer"}}},
                "tags": {"type": ["array", "null"], "items": {"type": "string", "enum": ["a", 1]}},
            },
        },
    }
    properties = (
        (3 + len("query:string:What"))
        + (3 + len("order:string:") - 3 + 2 * (3 + 3))
        + (3 + len("range:object:") + 3 + (3 + len("from:integer:")))
        + (3 + len("tags:array|null:") - 3 + 2 * (3 + 1))
    )
    whole = 7 + len("search:Finds things") + 3 + properties + 12
    for shape in ({"type": "function", "function": tool}, tool, {**tool, "input_schema": tool["parameters"], "parameters": None}):
        assert count([], tools=[shape]) == 3 + whole
    assert count([], tools=[tool, {"name": "bare"}]) == 3 + whole + 7 + len("bare:")
    assert count([], tools=[{"type": "custom", "custom": {"name": "sh", "description": "Runs."}}]) == 3 + 7 + len("sh:Runs") + 12
    assert count([], tools=[]) == 3


def test_tools_cost_more_with_cl100k() -> None:
    tool = {"name": "search"}
    for name, each in (("o200k_base", 7), ("cl100k_base", 10)):
        assert backcut.count([], tokenizer=name, tools=[tool]) == 3 + each + backcut.count("search:", tokenizer=name) + 12


def test_tools_and_system_are_counted_in_max_tokens_and_never_changed() -> None:
    messages = [user("a"), said("b"), user("c")]
    plain = count(messages)
    tools = [{"name": "search"}]
    window = backcut.context_window(max_tokens=plain, tokenizer=len, notice=False)
    assert window.trim(messages).messages is messages
    assert window.plan(messages, system="").kept != (0, 1, 2)
    with pytest.raises(backcut.BudgetError):
        window.trim(messages, tools=tools, system="s" * 40)
    assert tools == [{"name": "search"}]
