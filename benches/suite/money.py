"""What a growing conversation costs where the provider keeps the beginning of the last request in a cache.

The price of a token of fresh input is 1. Read from the cache it is 0.1, written to it 1.25: the ratios in Anthropic's price list
("Prompt caching", entries of five minutes) for most of its models. OpenAI and others bill a read at 0.1 to 0.5. Each request begins
with what the one before began with, or it does not; what it has in common is read, all else is written. Replies are not counted, nor
that a cache takes no less than about a thousand tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import backcut
from conversations import Message, tile

from .judge import prefix_kept

READ, WRITE = 0.1, 1.25
STEPS = (0.9, 0.7, 0.5)


class Bill:
    """Adds up requests."""

    def __init__(self, tokens: Callable[[Message], int]) -> None:
        self._tokens = tokens
        self.sent = self.cached = 0

    def request(self, before: Sequence[Message], sent: Sequence[Message]) -> None:
        self.sent += sum(map(self._tokens, sent))
        self.cached += sum(map(self._tokens, sent[: prefix_kept(before, sent)]))

    def as_dict(self) -> dict[str, Any]:
        """``cost`` in tokens of fresh input."""
        return {"sent": self.sent, "cached": self.cached, "cost": READ * self.cached + WRITE * (self.sent - self.cached)}


def talk(talks: Sequence[Sequence[Message]], calls: int) -> list[Message]:
    """Ten messages, and one for each call."""
    full, coming = tile(talks, calls + 10, 0)
    return [*full, *(next(coming) for _ in range(calls + 10 - len(full)))]


def steps(talks: Sequence[Sequence[Message]], calls: int, tokens: Callable[[Message], int]) -> list[dict[str, Any]]:
    """The same loop as of every peer, with backcut's ``trim_to``: a sliding window first."""
    full = talk(talks, calls)
    rows = []
    for step in (None, *STEPS):
        window = backcut.context_window(max_tokens=8_000, trim_to=step)
        bill, before, changes, wrong = Bill(tokens), [], 0, 0
        for end in range(11, len(full) + 1):
            sent = list(window.trim(full[:end]).messages)
            changes += prefix_kept(before, sent) < len(before)
            wrong += any(found.code != "pending_call" for found in backcut.check(sent))
            bill.request(before, sent)
            before = sent
        name = "backcut, sliding" if step is None else f"backcut, trim_to={step}"
        rows.append({"name": name, "changes": changes, "wrong": wrong, "calls": calls} | bill.as_dict())
    return rows
