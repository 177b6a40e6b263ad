"""JSONL: two threads beside one, MB/s, and the memory of a process that trims a large file: ``python benches/jsonl.py``.

Ratios are of times by the clock within one run; the candidates of a round take turns.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import backcut
from backcut.pipeline import cores
from conversations import Message, load
from measure import interleave, ratios

GAIN = 1.8
"""How many times as fast two threads are asked to be."""
SEEN = 200
"""So many lines are trimmed by a simple loop, too, to see whether the answers are right."""

CHILD = """
import re, sys, backcut
from pathlib import Path
def peak():  # of this program alone: what getrusage tells begins with the process that it was forked from
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024
window = backcut.context_window(**{sys.argv[3]: int(sys.argv[4])}, on_overflow="keep")
before = peak()
summary = backcut.trim_jsonl(sys.argv[1], sys.argv[2], window)
print(before, peak(), summary.conversations, summary.seconds)
"""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="JSONL: two threads beside one, MB/s, and the memory that a large file takes.")
    parser.add_argument("--rounds", type=int, default=7, metavar="N", help="rounds of each kind (7)")
    parser.add_argument("--megabytes", type=int, default=100, metavar="N", help="size of the file that is timed (100)")
    parser.add_argument("--large", type=float, default=2.0, metavar="GB", help="size of the file whose memory is looked at (2; 0: none)")
    parser.add_argument("--smoke", action="store_true", help="seconds: does it work at all")
    asked = parser.parse_args(argv)
    if asked.smoke:
        asked.rounds, asked.megabytes, asked.large = 2, 2, 0.01
    talks, what = load()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.jsonl"), Path(folder, "out.jsonl")
        size = write(source, talks, asked.megabytes * 1_000_000)
        print(f"{size / 1e6:.0f} MB of request bodies: {what}; {cores()} cores.\n")
        print("| window | MB/s, one thread | MB/s, two | two / one | hashing at that moment |  |\n| --- | --: | --: | --: | --: | --- |")
        for name, options in windows(talks).items():
            window = backcut.context_window(**options, on_overflow="keep")
            right = is_right(source, target, window)
            wrong += not right
            trims = [partial(backcut.trim_jsonl, source, os.devnull, window, workers=n) for n in (1, 2)]
            hashes = [partial(hashed, source.read_bytes()[:30_000_000], n) for n in (1, 2)]
            one, two, alone, both = interleave(asked.rounds, *trims, *hashes)
            gain, possible = statistics.median(ratios(one, two)), 2 * statistics.median(ratios(alone, both))
            verdict = "pass" if gain >= GAIN else "not proven" if possible < GAIN else "falls short"
            speeds = " | ".join(f"{size / 1e6 / statistics.median(times):.0f}" for times in (one, two))
            print(f"| {name} | {speeds} | **{gain:.2f}×** (asked ≥ {GAIN}×) | {possible:.2f}× | {verdict if right else 'WRONG'} |")
        for end in (".jsonl", ".gz", ".zst"):
            packed(source, Path(folder, f"out{end}"), size, backcut.context_window(max_chars=10_000, on_overflow="keep"))
        if asked.large:
            size = write(source, talks, int(asked.large * 1e9))
            for ceiling, limit in (("max_chars", 10_000), ("max_tokens", 4_000)):
                told = subprocess.run(
                    [sys.executable, "-c", CHILD, str(source), str(target), ceiling, str(limit)], capture_output=True, check=True, text=True
                ).stdout.split()
                before, peak, seconds = float(told[0]), float(told[1]), float(told[3])
                verdict = "pass" if peak < 200 else "falls short"
                print(f"\n{size / 1e9:.2f} GB, {ceiling}={limit}: {int(told[2]):,} conversations, {size / 1e6 / seconds:.0f} MB/s")
                print(f"peak memory **{peak:.0f} MB**, {before:.0f} MB before the call (asked < 200): {verdict}")
    return int(wrong > 0)


def hashed(data: bytes, threads: int) -> None:
    """What needs no lock and no memory: so much can so many threads gain on this machine just now."""
    pool = [Thread(target=hashlib.sha256, args=(data,)) for _ in range(threads)]
    for thread in pool:
        thread.start()
    for thread in pool:
        thread.join()


def windows(talks: Sequence[Sequence[Message]]) -> dict[str, dict[str, Any]]:
    """What is asked: everything fits, half of a middling conversation by characters, and by tokens."""
    chars = int(statistics.median(sum(len(message.get("content") or "") for message in talk) for talk in talks))
    tokens = int(statistics.median(backcut.count(talk) for talk in talks))
    return {
        "all fits, by characters": {"max_chars": 1 << 40},
        "to half, by characters": {"max_chars": chars // 2},
        "to half, by tokens": {"max_tokens": tokens // 2},
    }


def bodies(talks: Sequence[Sequence[Message]]) -> Iterator[bytes]:
    """Request bodies without an end, no two alike."""
    shuffled = random.Random(1)
    for number in itertools.count():
        talk = [dict(message) for message in shuffled.choice(talks)]
        talk[-1]["content"] = f"{talk[-1].get('content') or ''} {number}"
        yield json.dumps({"model": "gpt-4o", "id": number, "messages": talk}, ensure_ascii=number % 2 == 0).encode() + b"\n"


def write(path: Path, talks: Sequence[Sequence[Message]], size: int) -> int:
    """A file of at least ``size`` bytes; of a large one the first 64 MB come again and again."""
    written = 0
    block: list[bytes] = []
    with path.open("wb") as stream:
        for body in bodies(talks):
            written += stream.write(body)
            block.append(body)
            if written >= min(size, 64_000_000):
                break
        joined = b"".join(block)
        while written < size:
            written += stream.write(joined)
    return written


def is_right(source: Path, target: Path, window: backcut.ContextWindow) -> bool:
    """Whether the first lines are what a simple loop makes of them, and none is missing."""
    summary = backcut.trim_jsonl(source, target, window)
    with source.open("rb") as given, target.open("rb") as made:
        for body, line in itertools.islice(zip(given, made, strict=True), SEEN):
            if line != bytes(backcut.trim_json(body[:-1], window).body) + b"\n":
                return False
    with target.open("rb") as made:
        return sum(1 for _ in made) == summary.conversations == summary.lines


def packed(source: Path, target: Path, size: int, window: backcut.ContextWindow) -> None:
    """How fast such a file is written, down to the disk, and read again."""
    try:
        written = backcut.trim_jsonl(source, target, backcut.context_window())
        read = backcut.trim_jsonl(target, target.with_name("again.jsonl"), window)
    except ImportError as error:
        print(f"\n{target.suffix}: {error}")
        return
    print(
        f"\n{target.suffix}: written at {size / 1e6 / written.seconds:.0f} MB/s, read and trimmed at {size / 1e6 / read.seconds:.0f} MB/s"
    )


if __name__ == "__main__":
    sys.exit(main())
