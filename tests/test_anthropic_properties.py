"""What holds of every history of Anthropic Messages."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import backcut
from anthropic_histories import broken, options, sound
from support import CORE, TWIN, cheap, engine_window, facade_options, needs_both, outcome, same_messages, snapshot


def check(messages: Any) -> set[str]:
    return {violation.code for violation in backcut.check(messages, format="anthropic")}


def thinks(message: Any) -> bool:
    blocks = message["content"] if isinstance(message["content"], list) else []
    return any(block["type"] in ("thinking", "redacted_thinking") for block in blocks)


@given(st.data())
def test_sound_histories_are_sound(data: st.DataObject) -> None:
    assert check(data.draw(sound())) <= {"pending_call"}


@pytest.mark.parametrize("histories", [sound, broken])
@given(data=st.data())
def test_the_report_is_of_what_is_sent(histories: Any, data: st.DataObject) -> None:
    history = data.draw(histories())
    chosen = data.draw(options(history))
    window = backcut.context_window(**facade_options(chosen))
    before = snapshot(history)
    try:
        sent, report = window.trim(history)
    except backcut.BudgetError:
        return
    finally:
        assert snapshot(history) == before
    assert report.messages_sent == len(sent)
    assert report.tokens_sent == backcut.count(sent, format="anthropic", tokenizer=cheap)
    same = next((k for k, (old, new) in enumerate(zip(history, sent, strict=False)) if old is not new), min(len(history), len(sent)))
    assert report.first_changed == (None if sent is history else same)
    assert report.thinking_invalidated == (sent is not history and any(map(thinks, sent[same:])))
    if not report.over_budget:
        body = [message for message in sent if message["role"] != "system"]
        assert len(body) <= chosen.get("max_turns", len(body))
        assert report.chars_sent <= chosen.get("max_chars", report.chars_sent)
        assert report.tokens_sent <= chosen.get("max_tokens", report.tokens_sent)
    if chosen["start"] == "user":
        assert check(sent) <= check(history)
    if "trim_to" not in chosen:
        assert window.trim(sent).messages is sent


@needs_both
@pytest.mark.parametrize("histories", [sound, broken])
@given(data=st.data())
def test_core_and_twin_agree(histories: Any, data: st.DataObject) -> None:
    history = data.draw(histories())
    chosen = data.draw(options(history))
    core, twin = (engine_window(engine, chosen) for engine in (CORE, TWIN))  # type: ignore[arg-type]
    assert outcome(lambda: core.plan(history, None, None)) == outcome(lambda: twin.plan(history, None, None))
    left, right = (outcome(lambda window=window: window.trim(history, None, None)) for window in (core, twin))
    assert left[0] == right[0]
    assert left[0] != "answer" or same_messages(left[1].messages, right[1].messages)
    found = [[each._replace(message="") for each in engine.check(history, "anthropic")] for engine in (CORE, TWIN)]  # type: ignore[union-attr]
    assert found[0] == found[1]
