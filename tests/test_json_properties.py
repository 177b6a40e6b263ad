"""``trim_json`` on bodies written in every way: the cut, the report and the messages are those of the trim of objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import agreement
from bodies import ENGINES, agree, both_read_json, check, layouts, request
from choices import BROKEN, TOOLS, options, thena_options
from histories import plain_histories
from support import CORE
from test_formats import CORPUS, every_wire

every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.__name__.rpartition(".")[2])

seeds = st.integers(0, 2**32 - 1)
places = st.sampled_from([(None, "messages"), (None, "messages"), (None, None), ("history", "history")])
"""The field that is asked for, and the one in which the messages stand; ``None`` for a bare array."""


def chat(seed: int, messages: list[Any], array: str | None) -> bytes:
    random = Random(seed)
    beside: dict[str, Any] = {"tools": TOOLS, "system": random.choice(["Be brief.", [{"text": "a"}, {"text": "b"}]])}
    return request(random, messages, array, **{name: beside[name] for name in beside if random.random() < 0.3})


@every_engine
@given(data=st.data(), seed=seeds, place=places)
def test_as_the_objects_are_trimmed(engine: ModuleType, data: st.DataObject, seed: int, place: tuple[str | None, str | None]) -> None:
    history = data.draw(plain_histories())
    check(engine, data.draw(options(history)), chat(seed, history, place[1]), *place)


@every_engine
@given(data=st.data(), seed=seeds)
def test_with_folded_notices(engine: ModuleType, data: st.DataObject, seed: int) -> None:
    history = data.draw(plain_histories())
    chosen = data.draw(options(history)) | {"notice_role": "user", "on_overflow": "keep"}
    check(engine, chosen, chat(seed, history, "messages"), None, "messages")


@every_engine
@given(data=st.data(), seed=seeds)
def test_thena(engine: ModuleType, data: st.DataObject, seed: int) -> None:
    history = data.draw(plain_histories())
    check(engine, data.draw(thena_options(history)), chat(seed, history, "messages"), None, "messages")


def _is_json(message: Any) -> bool:
    try:
        return json.loads(json.dumps(message)) == message
    except (TypeError, ValueError, RecursionError):
        return False


@every_engine
@pytest.mark.parametrize("broken", [entry for entry in BROKEN if _is_json(entry[1])], ids=lambda entry: entry[0])
def test_what_cannot_be_read(engine: ModuleType, broken: tuple[str, Any, str, str, str]) -> None:
    """The same error, with the same place."""
    history = [{"role": "user", "content": "one"}, broken[1], {"role": "user", "content": "two"}, broken[1]]
    for limits in ({"max_turns": 2}, {"max_chars": 3}, {"max_tokens": 99, "tokenizer": "cheap"}):
        kind, facts = check(engine, limits, chat(1, history, "messages"), None, "messages")
        assert kind == "FormatError"
        assert (facts["index"] in (1, 3), facts["path"], facts["expected"]) == (True, broken[2], broken[4])


ARRAYS = {"openai-responses": "input", "gemini": "contents"}


@every_engine
@every_wire
def test_every_format(engine: ModuleType, wire: ModuleType) -> None:
    for seed in range(24):
        random = Random(seed)
        history = wire.history(random, turns=1 + seed % 4, live=seed % 5 == 0)
        if seed % 3 == 2:
            _, history = wire.breakages(history, random)
        array = ARRAYS.get(wire.FORMAT, "messages")
        for _ in range(4):
            window = {"format": wire.FORMAT, "notice_role": random.choice(["auto", "user"]), **agreement.options(random)}
            check(engine, window, request(random, history, array), None, array)


# Core and twin


@both_read_json
@given(data=st.data(), seed=seeds, place=places)
def test_core_and_twin_agree(data: st.DataObject, seed: int, place: tuple[str | None, str | None]) -> None:
    history = data.draw(plain_histories())
    agree(data.draw(st.one_of(options(history), thena_options(history))), chat(seed, history, place[1]), place[0])


@both_read_json
@every_wire
def test_core_and_twin_agree_on_every_format(wire: ModuleType) -> None:
    for seed in range(60):
        random = Random(seed)
        history = wire.history(random, turns=1 + seed % 4, live=seed % 5 == 0)
        if seed % 2:
            _, history = wire.breakages(history, random)
        for _ in range(4):
            window = {"format": random.choice([wire.FORMAT, "auto"]), **agreement.options(random)}
            agree(window, request(random, history, ARRAYS.get(wire.FORMAT, "messages")), None)


# Real conversations


@cache
def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def conversations(corpus: Path, step: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every so many conversations of each file, as bodies, with their format."""
    for path in sorted(corpus.glob("*.jsonl")):
        name = path.name.split(".")[1]
        form = CORPUS.get(name, name)
        for line in _lines(path)[::step]:
            talk = json.loads(line)
            yield form, {"model": "m", ARRAYS.get(form, "messages"): talk["messages"], "tools": talk.get("tools") or [], "stream": False}


def limits(messages: list[Any], share: int) -> Iterator[dict[str, Any]]:
    """Ceilings of that share of a conversation in messages, and about of its characters and tokens."""
    chars = len(json.dumps(messages, ensure_ascii=False))
    yield {"max_turns": max(1, len(messages) * share // 100)}
    yield {"max_chars": max(1, chars * share // 100)}
    yield {"max_tokens": max(1, chars * share // 400), "tokenizer": "cheap"}


@every_engine
def test_real_conversations(engine: ModuleType, corpus: Path) -> None:
    """At a quarter, half and three quarters in every unit, written as the usual libraries do it."""
    answers = 0
    for number, (form, body) in enumerate(conversations(corpus, 1 if engine is CORE else 25)):
        array = ARRAYS.get(form, "messages")
        ways = list(layouts(body))
        for k, (share, more) in enumerate(product((25, 50, 75), ({"max_chars_per_tool": 400, "tool_keep": "head_tail"}, {}))):
            for limit in limits(body[array], share):
                window = {"format": form, "on_overflow": "keep", "thinking": ("keep", "strip")[k % 2], **limit, **more}
                answers += check(engine, window, ways[(number + k) % len(ways)], None, array)[0] == "answer"
    assert answers > 50


@both_read_json
def test_core_and_twin_agree_on_real_conversations(corpus: Path) -> None:
    for number, (form, body) in enumerate(conversations(corpus, 5)):
        ways = list(layouts(body))
        for k, limit in enumerate(limit for share in (25, 75) for limit in limits(body[ARRAYS.get(form, "messages")], share)):
            agree({"on_overflow": "keep", "max_chars_per_tool": 200, "format": "auto", **limit}, ways[(number + k) % len(ways)], None)


@every_engine
@given(seed=seeds)
@example(0)
def test_the_tokens_are_those_of_the_request(engine: ModuleType, seed: int) -> None:
    """Tools and system text in the body cost what they cost beside objects."""
    history = [{"role": "user", "content": "task"}, {"role": "assistant", "content": "x" * 40}] * 3
    bare, full = (
        check(engine, {"tokenizer": "cheap", "max_tokens": 9_000}, request(Random(seed), history, "messages", **more), None, "messages")
        for more in ({}, {"tools": TOOLS, "system": "Be brief."})
    )
    assert full[1].report.tokens_sent > bare[1].report.tokens_sent
