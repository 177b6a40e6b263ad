"""The tokenizers, called as their users call them, and the process in which one of them works.

Run as a script it is that process: ``counters.py LIBRARY ENCODING FOLDER TASK``, what it measured printed as JSON. It imports nothing of
this repository but the library it is asked to time.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import importlib
import json
import os
import statistics
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

BARE = "nothing"
"""The library that is none: what a process costs without one."""

LIBRARIES = {
    "tiktoken": "tiktoken",
    "backcut": "backcut",
    "fastokens": "fastokens",
    "gigatoken": "gigatoken",
    "toktok": "toktok-rs",
    "splintr": "splintr-rs",
}
"""Modules and the packages they come from; the first is the reference."""

MESSAGE = 2_000
LONG = 100_000
WORDS = 9
"""Words of a message of about 60 bytes."""
PASSES = 3


@dataclass(frozen=True)
class Counter:
    """How a library tells the number of tokens."""

    call: Callable[[str], Any]
    sized: bool
    """Whether it tells the tokens, and ``len`` their number."""

    def counts(self, texts: Sequence[str]) -> list[int]:
        call = self.call
        return [len(call(text)) for text in texts] if self.sized else [call(text) for text in texts]

    def seconds(self, texts: Sequence[str], now: Callable[[], float] = process_time) -> float:
        """Of the processor, all threads together: other work on the machine interrupts long calls and must not count against them."""
        start = now()
        self.counts(texts)
        return now() - start


HASH = Counter(lambda text: hashlib.md5(text.encode(), usedforsecurity=False), sized=False)
"""What leaves other threads alone as far as the machine does: the measure of what can be had of it at the moment."""


def load(library: str, module: Any, encoding: str, folder: Path) -> Counter:
    """The library's tokenizer. Special tokens are text, where the library can do that."""
    vocabulary = str(folder / f"{encoding}.tiktoken")
    if library == "backcut":
        return Counter(module.tokenizer(encoding).count, sized=False)
    if library == "tiktoken":
        return Counter(module.get_encoding(encoding).encode_ordinary, sized=True)
    if library == "fastokens":
        native = importlib.import_module("fastokens._native").Tokenizer  # the module's own class stands in for that of `tokenizers`
        return Counter(native.from_tiktoken(vocabulary, encoding=encoding).encode_ordinary, sized=True)
    if library == "gigatoken":
        return Counter(module.Tokenizer.from_tiktoken(vocabulary).encode, sized=True)  # it always sees special tokens
    if library == "toktok":
        return Counter(module._encoding(encoding).count, sized=False)  # its public function takes lists, which takes longer
    if library == "splintr":
        return Counter(module.Tokenizer.from_pretrained(encoding).encode_ordinary, sized=True)
    return Counter(len, sized=False)


# Tasks ------------------------------------------------------------------------------------------------------------------


def first(library: str, encoding: str, folder: Path) -> dict[str, Any]:
    """Milliseconds of the processor to the first count, and what the library then holds."""
    before, start = resident(), process_time()
    module = importlib.import_module(library) if library != BARE else None
    imported = process_time()
    counts = load(library, module, encoding, folder).counts(["hello"])
    done = process_time()
    return {"whole": (done - start) * 1e3, "alone": (done - imported) * 1e3, "memory": resident() - before, "counts": counts}


def speed(library: str, encoding: str, folder: Path, turn: str) -> dict[str, Any]:
    """Every row of speed: rates in MB/s, milliseconds of hard inputs, nanoseconds of short messages, and all counts."""
    counter = load(library, importlib.import_module(library), encoding, folder)
    given = json.loads((folder / turn).read_text(encoding="utf-8"))
    gc.disable()
    counter.counts(given["warm"])
    figures: dict[str, float] = {}
    counts: dict[str, list[int]] = {}
    for kind, texts in given["unseen"].items():
        start = process_time()
        counts[kind] = counter.counts(texts)
        figures[f"unseen {kind}"] = rate(texts, process_time() - start)
        figures[f"again {kind}"] = statistics.median(rate(texts, counter.seconds(fresh(texts))) for _ in range(PASSES))
        cuts = [recut(texts, MESSAGE, MESSAGE * k // (PASSES + 1)) for k in range(1, PASSES + 1)]
        figures[f"recut {kind}"] = statistics.median(rate(cut, counter.seconds(cut)) for cut in cuts)
    for name, variants in given["hard"].items():
        spent = []
        counts[name] = []
        for text in variants:
            start = process_time()
            counts[name] += counter.counts([text])
            spent.append((process_time() - start) * 1e3)
        figures[name] = statistics.median(spent)
    short = [messages(given["words"], shift) for shift in range(WORDS)]
    counts["short"] = counter.counts(short[0])
    figures["short again"] = statistics.median(nanoseconds(counter, fresh(short[0])) for _ in range(2 * PASSES))
    counter.counts([*chain(*short[1:-PASSES])])
    figures["short recut"] = statistics.median(nanoseconds(counter, texts) for texts in short[-PASSES:])
    ascii_texts = [text for texts in given["unseen"].values() for text in texts if text.isascii()]
    figures["two threads, long"] = two_threads(counter, partial(recut, ascii_texts * 4, LONG))
    figures["two threads, short"] = two_threads(counter, partial(recut, ascii_texts, MESSAGE))
    figures["other thread"] = other_thread(counter, "\n".join(ascii_texts * 4))
    figures["two threads, machine"] = two_threads(HASH, partial(recut, ascii_texts * 4, LONG))
    figures["other thread, machine"] = other_thread(HASH, "\n".join(ascii_texts * 4))
    return {"figures": figures, "counts": counts}


def minute(library: str, encoding: str, folder: Path, turn: str, seconds: str) -> dict[str, Any]:
    """What the library holds after it has counted messages of all kinds, each with a name of its own, for so long."""
    texts = json.loads((folder / turn).read_text(encoding="utf-8"))["warm"]
    before = resident()
    counter = load(library, importlib.import_module(library), encoding, folder)
    end = perf_counter() + float(seconds)
    number = 0
    while perf_counter() < end:
        for text in texts:
            number += 1
            # New identifiers, as ids and paths in real messages are: a memory without a bound would grow by them.
            counter.counts([f"{number * 0x9E3779B97F4A7C15 % 2**64:016x} {text[number % MESSAGE :]}"])
    return {"memory": resident() - before}


# Parts of them ----------------------------------------------------------------------------------------------------------


def rate(texts: Sequence[str], seconds: float) -> float:
    return sum(len(text.encode()) for text in texts) / seconds / 1e6


def nanoseconds(counter: Counter, texts: Sequence[str]) -> float:
    return counter.seconds(texts) / len(texts) * 1e9


def fresh(texts: Sequence[str]) -> list[str]:
    """Equal strings that are other objects."""
    return [text.encode().decode() for text in texts]


def recut(texts: Sequence[str], size: int, shift: int) -> list[str]:
    """The same words cut elsewhere: no string was seen before, though all that it is made of was."""
    joined = "\n".join(texts)
    return [joined[start : start + size] for start in range(shift, len(joined) - size + 1, size)]


def messages(words: Sequence[str], shift: int) -> list[str]:
    """Short messages of words in a row; for each shift others."""
    return [" ".join(words[start : start + WORDS]) for start in range(shift, len(words) - WORDS, WORDS)]


def two_threads(counter: Counter, cut: Callable[[int], list[str]]) -> float:
    """How much more two threads do than one in the same time; each has strings of its own, none seen before."""
    gains = []
    for number in range(PASSES):
        alone, *both = (cut(1 + 3 * number + k) for k in range(3))
        single = counter.seconds(alone, perf_counter)
        start = threading.Barrier(3)

        def work(texts: list[str], start: threading.Barrier = start) -> None:
            start.wait()
            counter.counts(texts)

        workers = [threading.Thread(target=work, args=(texts,)) for texts in both]
        for worker in workers:
            worker.start()
        begun = perf_counter()
        start.wait()
        for worker in workers:
            worker.join()
        gains.append(2 * single / (perf_counter() - begun))
    return statistics.median(gains)


def other_thread(counter: Counter, text: str) -> float:
    """Percent of its speed that a thread of plain Python keeps while long texts are counted."""
    ticks, stop = [0], threading.Event()

    def tick() -> None:
        while not stop.is_set():
            ticks[0] += 1

    worker = threading.Thread(target=tick)
    worker.start()
    try:
        kept = []
        for number in range(PASSES):
            begun, seen = perf_counter(), ticks[0]
            stop.wait(0.1)
            free = (ticks[0] - seen) / (perf_counter() - begun)
            variants = [f"{number}.{k}{text}" for k in range(8)]
            begun, seen = perf_counter(), ticks[0]
            for variant in variants:
                counter.call(variant)
                if perf_counter() - begun > 0.1:
                    break
            kept.append((ticks[0] - seen) / (perf_counter() - begun) / free * 100)
        return statistics.median(kept)
    finally:
        stop.set()
        worker.join()


def resident() -> float:
    """MB of this process in memory; 0 where the system does not tell."""
    with contextlib.suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    return 0.0


TASKS: dict[str, Callable[..., dict[str, Any]]] = {"first": first, "speed": speed, "minute": minute}

if __name__ == "__main__":
    _, _library, _encoding, _folder, _task, *_rest = sys.argv
    print(json.dumps(TASKS[_task](_library, _encoding, Path(_folder), *_rest)))
