"""How it is timed: candidates take turns, so that whatever else the machine does hits all of them alike."""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from time import perf_counter_ns, thread_time

from conversations import Message

Call = Callable[[], object]


def bare_loop(messages: Sequence[Message]) -> int:
    """The measure of all things: visits every message once and does next to nothing."""
    return sum(len(m["content"] or "") for m in messages)


def interleave(rounds: int, *candidates: Call, before: Call | None = None) -> list[list[float]]:
    """Seconds of each candidate, a figure a round; ``before`` is called at the start of each round and not timed."""
    seconds: list[list[float]] = [[] for _ in candidates]
    gc.collect()
    was_on = gc.isenabled()
    gc.disable()
    try:
        for number in range(rounds):
            if before is not None:
                before()
            for k in range(len(candidates)):
                turn = (k + number) % len(candidates)
                call = candidates[turn]
                start = perf_counter_ns()
                call()
                seconds[turn].append((perf_counter_ns() - start) / 1e9)
    finally:
        if was_on:
            gc.enable()
    return seconds


def median_of(call: Call, rounds: int) -> float:
    """The median of a few calls one after the other, for what is far faster than what it is compared with."""
    return statistics.median(interleave(rounds, call)[0])


def processor_time(call: Call) -> float:
    """Seconds of the processor for one long call: other work that interrupts it must not count against it."""
    start = thread_time()
    call()
    return thread_time() - start


def ratios(above: Sequence[float], below: Sequence[float]) -> list[float]:
    """Round by round."""
    return [a / b for a, b in zip(above, below, strict=True)]


# Fresh processes ----------------------------------------------------------------------------------------------------

_FIRST_COUNT = """
from time import perf_counter_ns
start = perf_counter_ns()
import backcut
ready = perf_counter_ns()
tokens = backcut.count("hello")
done = perf_counter_ns()
print((done - start) / 1e6, (done - ready) / 1e6, tokens)
"""


def fresh_python(cache: str, *arguments: str) -> str:
    """What a new Python prints."""
    # Byte code is kept away from the sources, and kept at all: an installed package has its own.
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"} | {"PYTHONPYCACHEPREFIX": cache}
    return subprocess.run([sys.executable, *arguments], env=env, check=True, capture_output=True, text=True).stdout


def import_time(rounds: int) -> tuple[list[float], float]:
    """Milliseconds that ``import backcut`` adds to the start of Python, a figure a round, and those of the start itself."""
    with tempfile.TemporaryDirectory() as cache:
        with_it = lambda: fresh_python(cache, "-c", "import backcut")  # noqa: E731
        without = lambda: fresh_python(cache, "-c", "pass")  # noqa: E731
        interleave(1, with_it, without)
        loaded, bare = interleave(rounds, with_it, without)
    return [(a - b) * 1e3 for a, b in zip(loaded, bare, strict=True)], statistics.median(bare) * 1e3


def first_count(rounds: int) -> tuple[list[float], list[float], bool]:
    """Milliseconds to the first count with and without the import, and whether the count was right."""
    with tempfile.TemporaryDirectory() as cache:
        fresh_python(cache, "-c", _FIRST_COUNT)
        seen = [fresh_python(cache, "-c", _FIRST_COUNT).split() for _ in range(rounds)]
    return [float(whole) for whole, _, _ in seen], [float(alone) for _, alone, _ in seen], all(tokens == "1" for _, _, tokens in seen)
