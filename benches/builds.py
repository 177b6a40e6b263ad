"""The same code, built in several ways: ``python benches/builds.py fat=FOLDER thin=FOLDER ...``, the first is 1 ×.

A folder is one into which a wheel was installed: ``pip install --no-deps --target FOLDER dist/backcut-*.whl``. Each has a process of
its own; in every round they take turns with the same operation on the same input, and only the processor's time counts.
What is shown is the median of time / time of the first, round by round, with the middle 80 %, and how their fastest tenths compare:
what other work on the machine takes away is least in those.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import thread_time_ns
from typing import Any

TURNS = 60
"""Rounds, the warming ones among them: each has texts of its own."""
WARMING = 2

Batch = Callable[[int], object]
"""An operation, some milliseconds long, in a round."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Builds side by side: ratios of processor time within one run.")
    parser.add_argument("builds", nargs="+", metavar="NAME=FOLDER")
    parser.add_argument("--only", default="", metavar="WORD", help="operations with this word in their name")
    asked = parser.parse_args(argv)
    workers = {name: Worker(folder) for name, _, folder in (build.partition("=") for build in asked.builds)}
    first, *others = workers
    print(f"| operation | {' | '.join(f'{name} / {first}' for name in others)} |\n| --- |{' --: |' * len(others)}")
    for operation in workers[first].operations:
        if asked.only not in operation:
            continue
        seen: dict[str, list[int]] = {name: [] for name in workers}
        for turn in range(TURNS):
            at = turn % len(workers)
            order = [*workers][at:] + [*workers][:at]
            for name in order:
                took = workers[name].time(operation, turn)
                if turn >= WARMING:
                    seen[name].append(took)
        print(f"| {operation} | {' | '.join(ratio(seen[name], seen[first]) for name in others)} |", flush=True)
    return 0


def ratio(above: Sequence[int], below: Sequence[int]) -> str:
    found = [a / b for a, b in zip(above, below, strict=True)]
    tenths = statistics.quantiles(found, n=10)
    fastest = statistics.quantiles(above, n=10)[0] / statistics.quantiles(below, n=10)[0]
    return f"{statistics.median(found):.2f} ({tenths[0]:.2f} to {tenths[-1]:.2f}), fastest {fastest:.2f}"


class Worker:
    """A process with one build."""

    def __init__(self, folder: str) -> None:
        env = os.environ | {"PYTHONPATH": str(Path(folder).resolve()), "PYTHONHASHSEED": "0"}
        command = [sys.executable, __file__, "--worker"]
        self._process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.operations: list[str] = self._ask(None)
        if Path(folder).resolve() not in Path(str(self._ask(None))).parents:
            raise SystemExit(f"there is no backcut in {folder}")

    def time(self, operation: str, turn: int) -> int:
        """Nanoseconds of the processor."""
        return int(self._ask([operation, turn]))

    def _ask(self, question: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        if question is not None:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


# In the worker ----------------------------------------------------------------------------------------------------------


def work() -> None:
    import backcut

    batches = dict(operations())
    print(json.dumps(list(batches)))
    print(json.dumps(backcut.__file__), flush=True)
    gc.collect()
    gc.freeze()
    gc.disable()
    for line in sys.stdin:
        operation, turn = json.loads(line)
        start = thread_time_ns()
        batches[operation](turn)
        print(thread_time_ns() - start, flush=True)


def operations() -> Iterator[tuple[str, Batch]]:
    """On inputs that a profile was not made of: real conversations, where there are any, and the texts that were left out."""
    import backcut
    import texts
    from conversations import load, tile, unseen
    from formats import written

    talks, _ = load()
    history, coming = tile(talks, 1_000, 0)
    half = backcut.context_window(max_chars=backcut.trim(history).report.chars_sent // 2)
    tokens = backcut.context_window(max_tokens=backcut.count(history) // 2)

    def objects(window: backcut.ContextWindow, messages: list[Any]) -> Batch:
        return lambda _: [window.trim(messages) for _ in range(20)]

    yield "objects, by characters", objects(half, history)
    yield "objects, by tokens, nothing new", objects(tokens, history)
    growing = list(history)
    new = [unseen(message) for message in itertools.islice(coming, 10 * TURNS)]

    def grow(turn: int) -> None:
        for message in new[10 * turn : 10 * turn + 10]:
            growing.append(message)
            tokens.trim(growing)

    yield "objects, by tokens, a new message a call", grow
    for name in ("anthropic", "gemini"):
        messages = json.loads(json.dumps(written(history, name)))
        size = backcut.trim(messages, format=name).report.chars_sent
        yield f"objects, {name}, by characters", objects(backcut.context_window(format=name, max_chars=size // 2), messages)
    yield "check", lambda _: [backcut.check(history) for _ in range(4)]

    body = json.dumps({"model": "gpt-4o", "messages": history}).encode()
    fits = backcut.context_window(max_chars=10**9)
    yield "trim_json, to half", lambda _: [backcut.trim_json(body, half) for _ in range(10)]
    yield "trim_json, it fits", lambda _: [backcut.trim_json(body, fits) for _ in range(10)]

    tokenizer = backcut.tokenizer("o200k_base")
    for name, kind in texts.load().items():
        left = kind.parts(0)[1]
        yield f"tokens, {name}, unseen", lambda turn, left=left: [tokenizer.count(text) for text in left[turn::TURNS]]
        yield f"tokens, {name}, known pieces", lambda turn, left=left[::TURNS]: [tokenizer.count(f"{turn} {text}") for text in left]
    text = " ".join(texts.load()["English"].parts(0)[1][:100])
    yield "truncate", lambda _: [tokenizer.truncate(text, 2_000, keep="tail") for _ in range(10)]


if __name__ == "__main__":
    if sys.argv[1:] == ["--worker"]:
        work()
    else:
        sys.exit(main())
