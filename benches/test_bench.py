"""The same operations for pytest-benchmark: ``pytest benches/test_bench.py``. Compare within a group, not across machines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import backcut
import peers
from conversations import Message, Session, load, same_end, tile, unseen
from measure import bare_loop
from suite.inputs import HALF, budget, histories, true_budget
from suite.judge import counter, judge
from suite.peer import Peer
from suite.peers import PEERS
from suite.runner import absent

pytest.importorskip("pytest_benchmark")

# Other packages may warn as they like.
pytestmark = pytest.mark.filterwarnings("default")

LENGTHS = (100, 1_000, 10_000)


@pytest.fixture(scope="module")
def talks() -> Sequence[Sequence[Message]]:
    return load()[0]


@pytest.fixture(scope="module")
def history(talks: Sequence[Sequence[Message]]) -> list[Message]:
    """1,000 messages."""
    return tile(talks, 1_000, 0)[0]


@pytest.fixture(scope="module")
def by_length(talks: Sequence[Sequence[Message]]) -> dict[int, list[Message]]:
    return dict(zip(LENGTHS, same_end(talks, LENGTHS, 0), strict=True))


@pytest.fixture(scope="module")
def half_chars(history: list[Message]) -> backcut.ContextWindow:
    return backcut.context_window(max_chars=backcut.trim(history).report.chars_sent // 2)


@pytest.fixture(scope="module")
def half_tokens(history: list[Message]) -> backcut.ContextWindow:
    return backcut.context_window(max_tokens=backcut.count(history) // 2)


def sound(trimmed: backcut.Trimmed) -> bool:
    return trimmed.report.window_trimmed and not backcut.check(trimmed.messages)


def peer(make: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return make(*arguments)
    except peers.Absent as absent:
        pytest.skip(str(absent))


@pytest.mark.benchmark(group="1,000 messages to half, by characters")
@pytest.mark.parametrize("who", ["loop", "backcut", "langchain approximate"])
def test_chars(benchmark: Any, history: list[Message], half_chars: backcut.ContextWindow, who: str) -> None:
    if who == "loop":
        benchmark(bare_loop, history)
    elif who == "backcut":
        assert sound(benchmark(half_chars.trim, history))
    else:
        benchmark(peer(peers.langchain, history, "approximate")[0])


@pytest.mark.benchmark(group="1,000 messages to half, by tokens, nothing new since the last call")
@pytest.mark.parametrize("who", ["loop", "backcut", "langchain tiktoken"])
def test_tokens_warm(benchmark: Any, history: list[Message], half_tokens: backcut.ContextWindow, who: str) -> None:
    if who == "loop":
        benchmark(bare_loop, history)
    elif who == "backcut":
        assert sound(benchmark(half_tokens.trim, history))
    else:
        benchmark.pedantic(peer(peers.langchain, history, "tiktoken")[0], rounds=5, warmup_rounds=1)


@pytest.mark.benchmark(group="1,000 messages, by tokens, no text ever seen before")
@pytest.mark.parametrize("who", ["loop", "backcut to half", "tiktoken counts all"])
def test_tokens_cold(benchmark: Any, history: list[Message], half_tokens: backcut.ContextWindow, who: str) -> None:
    def fresh() -> tuple[tuple[list[Message]], dict[str, Any]]:
        return ([unseen(message) for message in history],), {}

    work: Callable[[list[Message]], Any] = half_tokens.trim
    if who == "loop":
        work = bare_loop
    elif who == "tiktoken counts all":
        tokens = peer(peers.token_count)

        def work(messages: list[Message]) -> int:
            return sum(tokens(message["content"] or "") for message in messages)

    benchmark.pedantic(work, setup=fresh, rounds=10)


@pytest.mark.benchmark(group="1,000 messages to half, by tokens, one new message a call")
@pytest.mark.parametrize("who", ["loop", "backcut"])
def test_agent_loop(benchmark: Any, talks: Sequence[Sequence[Message]], half_tokens: backcut.ContextWindow, who: str) -> None:
    session = Session(*tile(talks, 1_000, 0), prepare=half_tokens.trim)
    work = bare_loop if who == "loop" else half_tokens.trim

    def grow() -> tuple[tuple[list[Message]], dict[str, Any]]:
        half_tokens.trim(session.history)  # the call before, whoever is timed
        session.step()
        return (session.history,), {}

    benchmark.pedantic(work, setup=grow, rounds=200)


@pytest.mark.benchmark(group="to 8,000 tokens")
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("who", ["loop", "backcut"])
def test_fixed_ceiling(benchmark: Any, by_length: dict[int, list[Message]], who: str, length: int) -> None:
    work = bare_loop if who == "loop" else backcut.context_window(max_tokens=8_000).trim
    answer = benchmark(work, by_length[length])
    assert who == "loop" or sound(answer)


@pytest.mark.benchmark(group="100 messages to half, by tokens, against litellm")
@pytest.mark.parametrize("who", ["backcut", "litellm"])
def test_litellm(benchmark: Any, by_length: dict[int, list[Message]], who: str) -> None:
    """At 100 messages only: at 1,000 one call of it takes the better part of a minute; ``run.py`` waits for that."""
    messages = by_length[100]
    limit = backcut.count(messages) // 2
    if who == "backcut":
        assert sound(benchmark(backcut.context_window(max_tokens=limit).trim, messages))
        return
    trim_messages = pytest.importorskip("litellm.utils").trim_messages
    benchmark.pedantic(trim_messages, args=(messages,), kwargs={"model": peers.MODEL, "max_tokens": limit}, rounds=3, warmup_rounds=1)


@pytest.mark.parametrize("length", [10, 100, 1_000])
@pytest.mark.parametrize("kind", PEERS, ids=lambda kind: kind.name)
def test_side_by_side(benchmark: Any, talks: Sequence[Sequence[Message]], kind: type[Peer], length: int) -> None:
    """Every peer in the same row; what is wrong with its answer goes into the row, too. ``side_by_side.py`` asks more of them."""
    missing = absent(kind.package) or (length > 100 and kind.name.startswith(("litellm", "llama-index")) and "one call takes many seconds")
    if missing:
        pytest.skip(missing)
    tokens = counter(peer(peers.token_count))
    (history,) = histories(talks, length, 1, tokens)
    ready = kind(history)
    limit = budget(ready, HALF, tokens)
    assert limit is not None
    benchmark.group = f"{length:,} messages to half, side by side"
    answer = benchmark.pedantic(lambda call: call(), setup=lambda: ((ready.call(limit),), {}), rounds=5, warmup_rounds=1)
    told = judge(
        history,
        ready.plain(answer),
        limit=limit,
        used=ready.used(answer),
        tokens=tokens,
        true_limit=true_budget(history, HALF, tokens),
    )
    benchmark.extra_info |= told.as_dict()
