"""How far a long run has come, shown to whoever watches."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

from .conversation import Conversation
from .errors import say
from .io import Source
from .table import bar, number, width

__all__ = ["watched"]

_PATIENCE = 1.0
"""Seconds before anything is shown: most runs are over by then."""
_PERIOD = 0.1
"""Seconds between two pictures."""


def watched(source: Source, conversations: Iterator[Conversation] | None = None) -> Iterator[Conversation]:
    """The conversations of ``source`` (``conversations``, if it was begun already), with a progress bar where standard error is a
    terminal.
    """
    conversations = iter(source) if conversations is None else conversations
    if sys.stderr is None or not sys.stderr.isatty():
        yield from conversations
        return
    begun = time.monotonic()
    due = begun + _PATIENCE
    shown = False
    try:
        for count, conversation in enumerate(conversations):
            yield conversation
            now = time.monotonic()
            if source.many and now >= due:
                say("\r" + picture(count + 1, source.done, source.size, now - begun), end="")
                due, shown = now + _PERIOD, True
    finally:
        if shown:
            say("\r" + " " * (width() - 1) + "\r", end="")


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
