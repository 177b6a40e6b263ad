"""Core and twin agree on everything that they say, on every history that can be thought of.

The brute force of ``brute.py`` is the third opinion: it knows neither.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brute import Ceilings, longest
from choices import TOOLS, malformed, options, thena_options, tools
from histories import histories
from sizes import request_tokens
from strict import problems
from support import CORE, TWIN, cheap, engine_tokenizer, engine_window, needs_both, outcome, same_messages, snapshot

ENGINES = [pytest.param(engine, id=name) for name, engine in (("core", CORE), ("twin", TWIN)) if engine is not None]


def assert_agree(history: Sequence[Any], chosen: Mapping[str, Any], tools: Any = None, system: Any = None) -> None:
    """Core and twin plan alike, build alike, fail alike, and leave ``history`` alone."""
    core, twin = engine_window(CORE, chosen), engine_window(TWIN, chosen)
    before = snapshot(history)
    assert outcome(lambda: core.plan(history, tools, system)) == outcome(lambda: twin.plan(history, tools, system))
    kind, left = outcome(lambda: core.trim(history, tools, system))
    other, right = outcome(lambda: twin.trim(history, tools, system))
    assert kind == other
    if kind == "answer":
        assert left.report == right.report
        assert same_messages(left.messages, right.messages)
        assert (left.messages is history) == (right.messages is history)
    else:
        assert left == right
    assert snapshot(history) == before


extras = st.tuples(st.sampled_from([None, None, TOOLS]), st.sampled_from([None, None, "Be brief.", ["One.", {"text": "Two."}]]))


@needs_both
@given(st.data())
def test_trim(data: st.DataObject) -> None:
    history = data.draw(histories())
    assert_agree(history, data.draw(options(history)), *data.draw(extras))


@needs_both
@given(st.data())
def test_trim_exact_tokens(oracle: Callable[[str], Any], data: st.DataObject) -> None:
    history = data.draw(histories(max_segments=5))
    assert_agree(history, data.draw(options(history, tokenizers=("o200k_base", "cl100k_base"))), *data.draw(extras))


@needs_both
@given(st.data())
def test_trim_long(data: st.DataObject) -> None:
    """A history repeated many times over, where ids come back and the cut is far from the front."""
    piece = data.draw(histories(max_segments=4))
    history = piece * data.draw(st.integers(2, 12))
    assert_agree(history, data.draw(options(history)))


@needs_both
@given(st.data())
def test_thena(data: st.DataObject) -> None:
    history = data.draw(histories())
    assert_agree(history, data.draw(thena_options(history)))


@needs_both
@given(st.data())
def test_malformed(data: st.DataObject) -> None:
    history = data.draw(malformed())
    readable = [message for message in history if isinstance(message, dict) and message.get("role") == "user"]
    assert_agree(history, data.draw(st.sampled_from([{"max_turns": 1}, {"max_chars": 40}, {"max_tokens": 30, "tokenizer": "cheap"}])))
    assert_agree(history, {"max_turns": max(1, len(readable)), "max_chars_per_tool": 5})
    core, twin = (outcome(lambda engine=engine: engine.check(history, "openai-chat")) for engine in (CORE, TWIN))
    assert core[0] == twin[0]
    assert core[0] == "answer" or core[1] == twin[1]


@needs_both
@pytest.mark.parametrize(
    "container", ["text", b"bytes", bytearray(b"x"), memoryview(b"x"), {"role": "user"}, {1, 2}, None, 5, iter([]), range(2)]
)
def test_containers(container: Any) -> None:
    core, twin = (engine_window(engine, {"max_turns": 1}) for engine in (CORE, TWIN))
    assert outcome(lambda: core.trim(container, None, None)) == outcome(lambda: twin.trim(container, None, None))


@needs_both
@given(histories(), extras)
@example([], (None, None))
def test_count(oracle: Callable[[str], Any], history: list[Any], extra: tuple[Any, Any]) -> None:
    for name in ("cheap", "o200k_base", "cl100k_base"):
        core, twin = (engine.count_messages(history, engine_tokenizer(engine, name), "openai-chat", *extra) for engine in (CORE, TWIN))
        assert core == twin


@needs_both
@given(schemas=tools)
@example([{"name": "f", "parameters": {"properties": {1: {"type": "string"}, "a": None}}}])
@example([{"name": "f", "parameters": {"properties": {"a": {"items": {"items": {"enum": ["x"]}}}}}}])
def test_tools(schemas: list[Any]) -> None:
    core, twin = (
        outcome(lambda engine=engine: engine.count_messages([], engine_tokenizer(engine, "cheap"), "openai-chat", schemas, None))
        for engine in (CORE, TWIN)
    )
    assert core == twin


@needs_both
@given(histories())
@example([])
def test_check(history: list[Any]) -> None:
    """Codes, places and ids; each finds its own words for the sentence."""
    core, twin = (engine.check(history, "openai-chat") for engine in (CORE, TWIN))
    assert [violation._replace(message="") for violation in core] == [violation._replace(message="") for violation in twin]
    assert all(violation.message for violation in [*core, *twin])


@needs_both
@pytest.mark.parametrize("name", ["o200k_base", "o200k_harmony", "cl100k_base"])
@given(text=st.text(st.characters(), max_size=200), limit=st.integers(0, 60), keep=st.sampled_from(["head", "tail"]))
def test_tokenizer(oracle: Callable[[str], Any], name: str, text: str, limit: int, keep: str) -> None:
    core, twin = engine_tokenizer(CORE, name), engine_tokenizer(TWIN, name)
    assert core.count(text) == twin.count(text)
    assert core.count_up_to(text, limit) == twin.count_up_to(text, limit)
    assert core.truncate(text, limit, keep) == twin.truncate(text, limit, keep)


@pytest.mark.parametrize("engine", ENGINES)
@given(history=histories(), extra=st.sampled_from([(), TOOLS]))
def test_count_by_hand(engine: Any, history: list[Any], extra: Sequence[Any]) -> None:
    """Each engine counts as ``sizes.py``, which was written from the formulas alone."""
    assert engine.count_messages(history, engine_tokenizer(engine, "cheap"), "openai-chat", extra, None) == request_tokens(
        history, cheap, extra
    )


@pytest.mark.parametrize("engine", ENGINES)
@given(data=st.data())
def test_longest_tail(engine: Any, data: st.DataObject) -> None:
    """Each engine keeps what trying every boundary finds best."""
    history = data.draw(histories())
    chosen = data.draw(options(history))
    chosen = {key: chosen[key] for key in ("max_turns", "max_chars", "max_tokens", "start") if key in chosen} | {"tokenizer": "cheap"}
    ceilings = Ceilings(chosen.get("max_turns"), chosen.get("max_chars"), chosen.get("max_tokens"), cheap)
    best = longest(history, ceilings, start=chosen.get("start", "user"))
    kind, plan = outcome(lambda: engine_window(engine, chosen).plan(history, None, None))
    assert kind == ("BudgetError" if best is None else "answer")
    if best is not None:
        assert plan.kept == best.kept
        assert (plan.notice is not None, plan.report.task_dropped) == (best.notice, best.task_dropped)


_SAME_CODES = {
    "empty_history": "empty",
    "missing_content": "null_content",
    "empty_tool_calls": "empty_tool_calls",
    "mixed_calls": "both_kinds_of_call",
    "duplicate_id": "same_id_twice_in_a_batch",
    "media_in_result": "media_in_result",
}


@pytest.mark.parametrize("engine", ENGINES)
@given(history=histories())
def test_check_by_the_strict_judge(engine: Any, history: list[Any]) -> None:
    """Each engine's check calls sound what ``strict.py`` calls sound, and names what is wrong inside a message alike."""
    found, judged = engine.check(history, "openai-chat"), problems(history)
    assert bool(found) == bool(judged)
    assert bool([v for v in found if v.code != "pending_call"]) == bool(problems(history, accepts_live_end=True))
    for code, name in _SAME_CODES.items():
        assert [v.index for v in found if v.code == code] == [p.index for p in judged if p.code == name]
