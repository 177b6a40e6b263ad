"""compat="thena": what ThenaJS's contextWindow() did, each of its vectors as a golden case.

``S10 u5 t101`` are a system message of 10 characters, a user turn of 5, an observation of 101; ``N`` is the notice.
"""

from __future__ import annotations

from typing import Any

import pytest

import backcut
from support import DEFAULT_NOTICE, snapshot

ROLES = {"S": "system", "D": "developer", "u": "user", "a": "assistant", "t": "tool"}
MARKER = "\n… [truncated]"


def expand(sketch: str) -> list[dict[str, Any]]:
    """Messages for a sketch such as ``S10 u5``; ``N`` is the default notice."""
    notice = {"role": "system", "content": DEFAULT_NOTICE}
    return [notice if word == "N" else {"role": ROLES[word[0]], "content": word[0] * int(word[1:])} for word in sketch.split()]


VECTORS = [
    # number, input, options, output, trimmed, orphans, sent, original
    ("01", "S10 u5 a5", {"max_turns": 5}, None, False, 0, 3, 3),
    ("02", "S10 u5 a5 t5 a5 t5 a5 t5", {"max_turns": 3}, "S10 N a5 t5", True, 1, 4, 8),
    ("03", "S10 u5 a5 t5 a5 t5", {"max_turns": 2}, "S10 N a5 t5", True, 0, 4, 6),
    ("04", "S10 u5 a5 t5", {"max_turns": 1}, "S10 N", True, 1, 2, 4),
    ("05", "S10 u5 a5 t5 t5 t5", {"max_turns": 2}, "S10 N", True, 2, 2, 6),
    ("06", "S10 u5 a5", {"max_turns": 0}, "S10 N u5 a5", True, 0, 4, 3),
    ("07", "S10 u5 a5", {"max_chars": 0}, "S10 N a5", True, 0, 3, 3),
    ("08", "S10 u5 a5", {"max_chars": 10}, None, False, 0, 3, 3),
    ("09", "S10 u5 a5", {"max_chars": 9}, "S10 N a5", True, 0, 3, 3),
    ("10", "S10 u1000", {"max_chars": 10}, None, False, 0, 2, 2),
    ("15", "S10 t5 u5", {"max_turns": 10}, "S10 u5", False, 1, 2, 3),
    ("17", "S10 u5 a5 u5", {"max_turns": 1, "notice": False}, "S10 u5", True, 0, 2, 4),
    ("18", "S10 u5 a5 u5", {"max_turns": 1, "notice": ""}, "S10 S0 u5", True, 0, 3, 4),
    ("19", "", {"max_turns": 1}, None, False, 0, 0, 0),
]


def thena(messages: list[Any], **options: Any) -> backcut.Trimmed:
    return backcut.context_window(compat="thena", **options).trim(messages)


@pytest.mark.parametrize(
    ("sketch", "options", "output", "trimmed", "orphans", "sent", "original"), [v[1:] for v in VECTORS], ids=[v[0] for v in VECTORS]
)
def test_vector(sketch: str, options: dict[str, Any], output: str | None, trimmed: bool, orphans: int, sent: int, original: int) -> None:
    messages = expand(sketch)
    before = snapshot(messages)
    result, report = thena(messages, **options)
    assert list(result) == (messages if output is None else expand(output))
    assert (result is messages) == (output is None)
    facts = (report.window_trimmed, report.window_orphans_dropped, report.messages_sent, report.messages_original)
    assert facts == (trimmed, orphans, sent, original)
    assert snapshot(messages) == before


def test_vector_11() -> None:
    messages = expand("S10 u5 a5 t101")
    result, report = thena(messages, max_chars_per_tool=100)
    assert result[-1] == {"role": "tool", "content": "t" * 100 + MARKER}
    assert len(result[-1]["content"]) == 114
    assert result[:3] == messages[:3]
    assert (report.window_trimmed, report.window_orphans_dropped, report.messages_sent, report.messages_original) == (False, 0, 4, 4)
    assert report.tools_truncated == 1


def test_cap_of_zero_leaves_the_marker() -> None:
    assert thena(expand("u5 a5 t5"), max_chars_per_tool=0).messages[-1]["content"] == MARKER


def test_cap_holds_exactly() -> None:
    messages = expand("u5 a5 t100")
    assert thena(messages, max_chars_per_tool=100).messages is messages


def test_capped_length_is_what_max_chars_sees() -> None:
    """10 + 14 of marker + 5 + 5: the cap makes it fit."""
    assert [m["role"] for m in thena(expand("u5 a5 t101"), max_chars_per_tool=10, max_chars=34).messages] == ["user", "assistant", "tool"]
    assert [m["role"] for m in thena(expand("u5 a5 t101"), max_chars_per_tool=10, max_chars=33, notice=False).messages] == [
        "assistant",
        "tool",
    ]


def test_turns_before_chars() -> None:
    result, report = thena(expand("S10 u5 a5 u5 a5"), max_turns=3, max_chars=10)
    assert list(result) == expand("S10 N u5 a5")
    assert report.chars_sent == 10


def test_no_options_pass_everything() -> None:
    messages = expand("S10 t5 u5")
    assert list(thena(messages).messages) == expand("S10 u5"), "the orphan goes without any ceiling, as it did"
    messages = expand("S10 u5 a5 t5")
    assert thena(messages).messages is messages


def test_arguments_do_not_count() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "x" * 500}}
    messages = [{"role": "user", "content": "u" * 5}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    result, report = thena(messages, max_chars=5)
    assert result is messages
    assert report.chars_sent == 5


def test_notice_of_ones_own() -> None:
    result = thena(expand("u5 a5"), max_turns=1, notice="gone").messages
    assert result == [{"role": "system", "content": "gone"}, *expand("a5")]


def test_alias() -> None:
    with pytest.warns(DeprecationWarning, match="warn_index_failure"):
        window = backcut.context_window(compat="thena", max_turns=1, warn_index_failure="old name")
    assert window.trim(expand("u5 a5")).messages[0] == {"role": "system", "content": "old name"}


@pytest.mark.parametrize(("notice", "first"), [("new", "new"), (False, "aaaaa"), ("", "")])
def test_notice_wins_over_its_alias(notice: Any, first: str) -> None:
    with pytest.warns(DeprecationWarning, match="warn_index_failure"):
        window = backcut.context_window(compat="thena", max_turns=1, notice=notice, warn_index_failure="old")
    assert window.trim(expand("u5 a5")).messages[0]["content"] == first


def test_alias_false_cuts_silently() -> None:
    with pytest.warns(DeprecationWarning, match="warn_index_failure"):
        window = backcut.context_window(compat="thena", max_turns=1, warn_index_failure=False)
    assert list(window.trim(expand("u5 a5")).messages) == expand("a5")


def test_deviation_code_points() -> None:
    """ThenaJS counts UTF-16 units: there an emoji is two of the ten."""
    messages = [{"role": "user", "content": "🙂" * 5}, {"role": "assistant", "content": "a" * 5}]
    assert thena(messages, max_chars=10).messages is messages
    tool = [*messages, {"role": "tool", "content": "🙂" * 5}]
    assert thena(tool, max_chars_per_tool=3).messages[-1]["content"] == "🙂" * 3 + MARKER


def test_deviation_developer_belongs_to_the_head() -> None:
    result, report = thena(expand("S10 D5 u5 a5 u5"), max_turns=1)
    assert list(result) == expand("S10 D5 N u5")
    assert report.messages_sent == 4


def test_system_in_the_middle_is_ordinary() -> None:
    assert list(thena(expand("S10 u5 S5 u5"), max_turns=2, notice=False).messages) == expand("S10 S5 u5")


def test_chars_still_over_is_said() -> None:
    report = thena(expand("S10 u1000"), max_chars=10).report
    assert (report.over_budget, report.window_trimmed, report.chars_sent, report.tokens_sent) == (True, False, 1000, None)


@pytest.mark.parametrize("option", [{"max_tokens": 5}, {"start": "any"}, {"trim_to": 0.5}, {"tool_keep": "tail"}, {"on_overflow": "keep"}])
def test_what_the_original_has_not_is_refused(option: dict[str, Any]) -> None:
    with pytest.raises(backcut.OptionError) as error:
        backcut.context_window(compat="thena", max_turns=1, **option)
    assert error.value.option == next(iter(option))


@pytest.mark.parametrize("option", ["max_turns", "max_chars", "max_chars_per_tool"])
def test_zero_is_allowed_here_only(option: str) -> None:
    backcut.context_window(compat="thena", **{option: 0})
    with pytest.raises(backcut.OptionError):
        backcut.context_window(compat="thena", **{option: -1})
    with pytest.raises(backcut.OptionError):
        backcut.context_window(**{option: 0})
