"""Requests as bytes: ``trim_json`` beside parsing, trimming the objects and writing them again: ``python benches/bodies.py``.

Ratios of times by the clock within one run; the candidates of a round take turns. What is compared with is orjson, the fastest way
from Python to objects and back; where it is not installed, the module ``json``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import backcut
from conversations import Message, endless, load
from measure import interleave, ratios

SIZES = (100_000, 1_000_000, 10_000_000)
"""Bytes of a body."""
FASTEST = 1.0
"""Gigabytes a second at which a body that fits is asked to pass."""
FASTER = {"max_chars": 8.0, "max_tokens": 5.0}
"""How many times as fast as the way through objects ``trim_json`` is asked to be, to half, with nothing new to count."""

Parse, Write = Callable[[bytes], Any], Callable[[Any], bytes]


@dataclass(frozen=True)
class Body:
    """A request to time."""

    name: str
    data: bytes
    messages: list[Message]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="trim_json beside objects: ratios within one run, and gigabytes a second.")
    parser.add_argument("--rounds", type=int, default=40, metavar="N", help="rounds of each row (40)")
    parser.add_argument("--smoke", action="store_true", help="seconds: does it work at all")
    asked = parser.parse_args(argv)
    sizes, rounds = (SIZES[:1], 3) if asked.smoke else (SIZES, asked.rounds)
    parse, write, name = codec()
    talks, what = load()
    print(f"{what}; objects by {name}.\n")
    asked_of = [
        f"fits, by characters (asked ≥ {FASTEST:g} GB/s)",
        *(f"to half of `{name}` (≥ {least:g}×)" for name, least in FASTER.items()),
    ]
    print(f"| body | {' | '.join(asked_of)} |")
    print("| --- | --: | --: | --: |")
    wrong = 0
    for body in bodies(talks, sizes):
        whole = backcut.trim(body.messages, tokenizer="o200k_base").report
        roomy = backcut.context_window(max_chars=whole.chars_sent + 1)
        cells = [f"{fits(body, roomy, rounds):.2f} GB/s"]
        for ceiling in FASTER:
            window = backcut.context_window(**{ceiling: (whole.chars_sent if ceiling == "max_chars" else whole.tokens_sent or 0) // 2})
            found = beside_objects(body, window, parse, write, rounds)
            wrong += found is None
            cells.append("wrong" if found is None else f"{statistics.median(found):.1f}× ({tenth(found, 1):.1f} to {tenth(found, 9):.1f})")
        print(f"| {body.name} | {' | '.join(cells)} |", flush=True)
    return int(wrong > 0)


def codec() -> tuple[Parse, Write, str]:
    """How objects are read and written."""
    try:
        import orjson
    except ImportError:
        return (
            json.loads,
            lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(),
            "json (orjson is not installed)",
        )
    return orjson.loads, orjson.dumps, f"orjson {orjson.__version__}"


def bodies(talks: Sequence[Sequence[Message]], sizes: Sequence[int]) -> Iterator[Body]:
    """Requests of about so many bytes: compact as SDKs write them, and one as ``json.dumps`` does, with blanks and in ASCII."""
    for size in sizes:
        messages: list[Message] = []
        stream = (message for message in endless(talks, size) if message["role"] != "system" or not messages)
        length = 0
        for message in stream:
            # To a place where all calls are answered.
            if length >= size and message["role"] == "user":
                break
            messages.append(message)
            length += len(json.dumps(message, ensure_ascii=False, separators=(",", ":"))) + 1
        request = {"model": "gpt-4o", "messages": messages, "stream": True}
        yield Body(f"{size / 1e6:g} MB", json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode(), messages)
        if size == SIZES[1]:
            yield Body(f"{size / 1e6:g} MB, in ASCII with blanks", json.dumps(request).encode(), messages)


def fits(body: Body, window: backcut.ContextWindow, rounds: int) -> float:
    """Gigabytes a second of a body that comes back as it is."""
    calls = repeated(body)
    seconds = interleave(rounds, lambda: [backcut.trim_json(body.data, window) for _ in calls])[0]
    assert backcut.trim_json(body.data, window).body is body.data
    return len(body.data) * len(calls) / statistics.median(seconds) / 1e9


def beside_objects(body: Body, window: backcut.ContextWindow, parse: Parse, write: Write, rounds: int) -> list[float] | None:
    """How many times as fast as objects, round by round; ``None`` where what is sent is not the same."""

    def by_objects() -> bytes:
        request = parse(body.data)
        request["messages"] = window.trim(request["messages"]).messages
        return write(request)

    calls = repeated(body)
    if json.loads(backcut.trim_json(body.data, window).body) != json.loads(by_objects()):
        return None
    objects, ours = interleave(rounds, lambda: [by_objects() for _ in calls], lambda: [backcut.trim_json(body.data, window) for _ in calls])
    return ratios(objects, ours)


def repeated(body: Body) -> range:
    """So many calls are timed together that the clock is fine enough."""
    return range(max(1, 1_000_000 // len(body.data)))


def tenth(values: Sequence[float], number: int) -> float:
    return statistics.quantiles(values, n=10)[number - 1] if len(values) > 1 else values[0]


if __name__ == "__main__":
    sys.exit(main())
