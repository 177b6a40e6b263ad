"""One window, many threads: the same answers as one alone, and nobody waits for ever."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import backcut
from chat import pair, said, system, user
from support import at_once, cheap

THREADS = 10
pytestmark = pytest.mark.timeout(120)


def talk(seed: int) -> list[Any]:
    turns = [m for k in range(30) for m in (user(f"{seed} asks {k} " * 4), *pair(f"c{k}", f"{seed} found {k} " * 9), said(f"{seed}: {k}"))]
    return [system(f"You are {seed}."), *turns]


OPTIONS: list[dict[str, Any]] = [
    {"max_turns": 21},
    {"max_chars": 2_000, "max_chars_per_tool": 60},
    {"max_tokens": 600},
    {"max_tokens": 600, "tokenizer": cheap, "trim_to": 0.5},
]


@pytest.mark.parametrize("options", OPTIONS, ids=["turns", "chars", "tokens", "callable"])
def test_one_window_one_history(options: dict[str, Any], oracle: Callable[[str], Any]) -> None:
    history = talk(0)
    alone = backcut.context_window(**options).trim(history)
    window = backcut.context_window(**options)
    for answer in at_once(THREADS, lambda number: [window.trim(history) for _ in range(5)]):
        assert answer == [alone] * 5


@pytest.mark.parametrize("options", OPTIONS, ids=["turns", "chars", "tokens", "callable"])
def test_one_window_many_histories_with_nothing_remembered(options: dict[str, Any], oracle: Callable[[str], Any]) -> None:
    """All threads meet texts that no one has counted before, some of them the same."""
    alone = [backcut.context_window(**options).trim(talk(number % 3)) for number in range(THREADS)]
    window = backcut.context_window(**options)
    assert at_once(THREADS, lambda number: window.trim(talk(number % 3))) == alone


def test_many_windows_one_cold_tokenizer(oracle: Callable[[str], Any]) -> None:
    histories = [talk(number + 100) for number in range(THREADS)]
    found = at_once(THREADS, lambda number: backcut.count(histories[number], tokenizer="cl100k_base"))
    assert found == [backcut.count(history, tokenizer="cl100k_base") for history in histories]


def test_a_tokenizer_that_trims_and_waits() -> None:
    """A callback that comes back into the same window, while other threads are in it, finds no locked door."""
    inner = backcut.context_window(max_tokens=200, tokenizer=cheap)
    short = talk(7)[:9]

    def counting(text: str) -> int:
        if text.endswith("29"):
            inner.trim(short)
            window.trim(short)
        return cheap(text)

    window = backcut.context_window(max_tokens=600, tokenizer=counting)
    histories = [talk(number) for number in range(THREADS)]
    expected = [backcut.context_window(max_tokens=600, tokenizer=cheap).trim(history) for history in histories]
    assert at_once(THREADS, lambda number: window.trim(histories[number])) == expected


def test_growing_histories_side_by_side() -> None:
    window = backcut.context_window(max_tokens=300, tokenizer=cheap)

    def grow(number: int) -> list[Any]:
        full, history, seen = talk(number), [], []
        for message in full:
            history.append(message)
            if message["role"] != "tool":
                seen.append(window.plan(history).kept)
        return seen

    assert at_once(THREADS, grow) == [grow(number) for number in range(THREADS)]
