"""How far a long run has come, shown to whoever watches."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

from .errors import say
from .table import bar, number, width

if TYPE_CHECKING:
    from ..jsonl import JsonlProgress
    from .conversation import Conversation
    from .io import Source

__all__ = ["Bar", "watched"]

_PATIENCE = 1.0
"""Seconds before anything is shown: most runs are over by then."""
_PERIOD = 0.1
"""Seconds between two pictures."""


class Bar:
    """A bar on standard error, where that is a terminal, from the time on that a run turns out to be long."""

    def __init__(self) -> None:
        self._terminal = sys.stderr is not None and sys.stderr.isatty()
        self._begun = time.monotonic()
        self._due = self._begun + _PATIENCE
        self._shown = False

    def __call__(self, progress: JsonlProgress) -> None:
        """Draws how far a run has come."""
        self.draw(progress.conversations, progress.done, progress.total)

    def draw(self, count: int, done: int, size: int | None) -> None:
        """Draws so many conversations, and so many bytes of all, unless it is too early for another picture."""
        now = time.monotonic()
        if self._terminal and now >= self._due:
            say("\r" + picture(count, done, size, now - self._begun), end="")
            self._due, self._shown = now + _PERIOD, True

    def close(self) -> None:
        """Wipes it away."""
        if self._shown:
            say("\r" + " " * (width() - 1) + "\r", end="")


def watched(source: Source, conversations: Iterator[Conversation] | None = None) -> Iterator[Conversation]:
    """The conversations of ``source`` (``conversations``, if it was begun already), with a progress bar where standard error is a
    terminal.
    """
    with closing(Bar()) as shown:
        for count, conversation in enumerate(iter(source) if conversations is None else conversations):
            yield conversation
            if source.many:
                shown.draw(count + 1, source.done, source.size)


def picture(count: int, done: int, size: int | None, seconds: float) -> str:
    """One line: the bar, conversations, their rate, and when it will be over; without a size only what is known."""
    rate = f"{number(count)} conversations, {number(round(count / seconds))}/s" if seconds else ""
    if not size:
        return rate.ljust(width() - 1)[: width() - 1]
    left = round(seconds * max(size - done, 0) / done) if done else 0
    clock = f"{left // 3600}:{left % 3600 // 60:02}:{left % 60:02}" if left >= 3600 else f"{left // 60}:{left % 60:02}"
    rest = f" {min(100, 100 * done // size):3}%  {rate}  ETA {clock}"
    columns = max(width() - 1 - len(rest), 0)
    return (bar(done, size, min(columns, 40)) + rest).ljust(width() - 1)[: width() - 1]
