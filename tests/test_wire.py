"""What the twin asks of a wire format, where no format that is there shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import backcut
from backcut.report import PartCut
from chat import said, text_part, user
from support import DEFAULT_NOTICE, TWIN, cheap, engine_window

FIRST = user([text_part("rules!"), text_part("first")])


@pytest.fixture
def leading(monkeypatch: pytest.MonkeyPatch) -> Callable[..., backcut.Plan]:
    """A format whose first message holds, in its first block, what instructs."""
    from backcut.wire import anthropic

    def lead(message: Any) -> tuple[PartCut, ...] | None:
        blocks = message["content"]
        if message["role"] != "user" or isinstance(blocks, str) or blocks[0]["text"] != "rules!":
            return None
        return tuple(PartCut(("content", k), 0, 0, "", True) for k in range(1, len(blocks)))

    monkeypatch.setattr(anthropic, "lead", lead)
    return lambda messages, **options: engine_window(TWIN, {"format": "anthropic", **options}).plan(messages, None, None)


def test_what_instructs_stays_in_the_head(leading: Callable[..., backcut.Plan]) -> None:
    messages = [FIRST, said("a"), user("b"), said("c")]
    found = leading(messages, max_turns=2, tokenizer="cheap")
    assert found.kept == (0, 2, 3)
    assert found.edits == (backcut.Edit(0, (PartCut(("content", 1), 0, 0, "", True),)),)
    assert found.notice == backcut.Notice(DEFAULT_NOTICE, "user", 1, True)
    sent = found.apply(messages)
    assert sent == [user([text_part("rules!")]), user(f"{DEFAULT_NOTICE}\n\nb"), said("c")]
    assert found.report.chars_sent == len(DEFAULT_NOTICE) + 4
    assert found.report.tokens_sent == backcut.count(sent, format="anthropic", tokenizer=cheap)
    assert (found.report.messages_sent, found.report.first_changed) == (3, 0)


def test_it_counts_as_the_head_does_where_the_message_is_kept(leading: Callable[..., backcut.Plan]) -> None:
    messages = [FIRST, said("a")]
    assert leading(messages, max_chars=6, tokenizer="cheap").report.first_changed is None
    assert leading(messages, max_chars=6).report.chars_sent == 6
    kept_as_task = leading([FIRST, said("a"), said("b"), user([{"type": "tool_result", "tool_use_id": "x"}])], max_turns=4)
    assert kept_as_task.kept == (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("value", "path", "text"),
    [
        ("plain", (), "plain"),
        ({"output": "said"}, ("output",), "said"),
        ({"any": "said"}, ("any",), "said"),
        ({"output": 5}, (), '{"output":5}'),
        ({"a": "x", "b": "ü"}, (), '{"a":"x","b":"ü"}'),
        ([1, None], (), "[1,null]"),
        ({1: "x"}, (), '{"1":"x"}'),
    ],
)
def test_what_a_result_says_that_is_json(value: Any, path: tuple[str, ...], text: str) -> None:
    from backcut.wire.common import result_text

    assert result_text(value, ("parts", 0, "response"), 7) == (("parts", 0, "response", *path), text)


def test_a_result_that_is_no_json() -> None:
    from backcut.wire.common import result_text

    with pytest.raises(backcut.FormatError) as caught:
        result_text({1, 2}, ("parts", 0, "response"), 7)
    assert (caught.value.index, caught.value.path, caught.value.found) == (7, "parts[0].response", "set")
