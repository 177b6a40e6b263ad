"""How much memory may be taken by what is remembered of earlier counts."""

from __future__ import annotations

import operator
import sys

from . import engine
from .errors import OptionError

__all__ = ["limit_memory", "memory_limits"]


def limit_memory(*, texts: int | None = None, pieces: int | None = None) -> None:
    """Sets how much memory backcut may take to remember what it has counted, for the whole process.

    Remembering is what makes a conversation that grew by one message cost the counting of one message. No setting changes a
    count. A lower limit holds at once, but for pieces that another thread is using, where it holds from its next count on; any
    thread may call this at any time.

    Args:
        texts: bytes that the texts remembered by *one tokenizer* take, their objects and their places together (default 16 MiB);
            those of JSON bodies, beside them, take as much again at most.
            A text that takes more than 1/16 of it is not remembered, and counts anew each time. 0 remembers none. Texts that
            the caller holds anyway are not copied.
        pieces: bytes that the counts of pieces of text take, for *each thread* that counts at the same time, at most 16, and
            *each vocabulary* in use, at most 4: ``o200k``, ``cl100k``, ``p50k``, ``r50k`` (default 3 MiB; more than 1 GiB is
            1 GiB). Two thirds are for pieces of at most 15 bytes, one for longer ones, each rounded down to a power of two. 0
            remembers none. The pure-Python engine remembers no pieces.

    Raises:
        OptionError: a limit is neither ``None``, which leaves it as it is, nor an integer of at least 0.

    >>> limit_memory(texts=64 << 20)  # for histories of very many or very long messages
    >>> memory_limits()
    {'texts': 67108864, 'pieces': 3145728}
    """
    limits = (_limit("texts", texts), _limit("pieces", pieces))  # both before the first is set: a failed call changes nothing
    engine.limit_memory(*limits)


def memory_limits() -> dict[str, int]:
    """What :func:`limit_memory` has set, or the defaults: bytes by the names of its arguments, so that ``**`` sets them again."""
    return engine.memory_limits()


def _limit(name: str, value: object) -> int | None:
    if value is None:
        return None
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if number < 0:
        raise OptionError(name, value, "must be an integer of at least 0, in bytes, or None to leave it as it is")
    return min(number, sys.maxsize)
