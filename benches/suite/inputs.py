"""What is trimmed, and to what."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from conversations import Message, tile

from .peer import Peer

LENGTHS = (10, 100, 1_000, 10_000)
HALF, FIXED, ONE_OVER = "half", "8,000 tokens", "one message over"
CEILINGS = (HALF, FIXED, ONE_OVER)
TOKENS = 8_000


_made: dict[tuple[int, int], list[list[Message]]] = {}


def histories(talks: Sequence[Sequence[Message]], length: int, count: int, tokens: Callable[[Message], int]) -> list[list[Message]]:
    """``count`` histories of about ``length`` messages, whose newest three are no more than a quarter of all but the head.

    Short ones often end with one large result: then no answer to half would be right, and it would not be a comparison.
    """
    if (length, count) in _made:
        return _made[length, count]
    found = _made[length, count] = []
    for seed in itertools.count():
        history, _ = tile(talks, length, seed)
        sizes = list(map(tokens, history))
        if len(history) >= 0.7 * length and 4 * sum(sizes[-3:]) <= sum(sizes[1:]):
            found.append(history)
        if len(found) == count:
            return found
    raise AssertionError("count() has no end")


def budget(peer: Peer, ceiling: str, tokens: Callable[[Message], int]) -> int | None:
    """The ceiling in the peer's own unit; ``None`` where it has no such ceiling.

    Half is the head and half of the rest: what no trimmer may cut is not halved.
    """
    total = peer.count(peer.own)
    if ceiling == ONE_OVER:
        return total - 1
    head = peer.count(peer.own[:1]) if not peer.outside else 0
    if ceiling == HALF:
        return (total + head) // 2
    if peer.unit == "messages":
        return None
    if peer.unit == "characters":
        return 4 * TOKENS
    return TOKENS - (tokens(peer.history[0]) if peer.outside else 0)


def true_budget(history: Sequence[Message], ceiling: str, tokens: Callable[[Message], int]) -> float:
    """The same ceiling in tokens that are counted independently."""
    total = sum(map(tokens, history))
    return {HALF: (total + tokens(history[0])) / 2, FIXED: float(TOKENS), ONE_OVER: total - 1.0}[ceiling]
