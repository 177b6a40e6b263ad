"""Lines by the chunk, through threads, in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TypeVar

__all__ = ["cores", "in_order", "whole_lines"]

_A = TypeVar("_A")
_B = TypeVar("_B")


def whole_lines(read: Callable[[int], bytes], size: int) -> Iterator[bytes]:
    """What ``read`` gives, in chunks of about ``size`` bytes that end where a line does; a longer line grows its chunk."""
    held: list[bytes | memoryview] = []
    length = 0
    while block := read(size):
        held.append(block)
        length += len(block)
        end = block.rfind(b"\n") + 1
        if length < size or not end:
            continue
        held[-1] = memoryview(block)[:end]  # copied once, by the next line
        yield b"".join(held)
        held = [block[end:]] if end < len(block) else []
        length = len(block) - end
    if held:
        yield b"".join(held)


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "process_cpu_count"):  # from Python 3.13 on
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_order(work: Callable[[_A], _B], given: Iterable[_A], workers: int) -> Generator[tuple[_A, _B], None, None]:
    """Each of ``given`` with what ``work`` makes of it, in order.

    ``work`` runs in ``workers`` threads, at most ``workers + 2`` pieces of it are under way, and the next of ``given`` is asked for
    in the caller's own thread, when there is room for it. When the generator is closed, or work fails, what was not begun is not.
    One worker is the caller's own thread.
    """
    if workers == 1:
        for each in given:
            yield each, work(each)
        return
    from concurrent.futures import Future, ThreadPoolExecutor

    pool = ThreadPoolExecutor(workers, "backcut")
    pending: deque[tuple[_A, Future[_B]]] = deque()
    try:
        for each in given:
            pending.append((each, pool.submit(work, each)))
            if len(pending) == workers + 2:
                first, future = pending.popleft()
                yield first, future.result()
        while pending:
            first, future = pending.popleft()
            yield first, future.result()
    finally:
        pool.shutdown(cancel_futures=True)
