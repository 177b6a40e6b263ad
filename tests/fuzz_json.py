"""Damages bodies at random and holds what ``trim_json`` makes of them against ``json`` of Python, the objects, and the other engine.

By hand: ``python tests/fuzz_json.py --seconds 600 [--seed 1]``. A piece of it is a part of the tests. What it finds is printed as a
``bytes`` and the options of the window.
"""

from __future__ import annotations

import argparse
import sys
import time
from random import Random
from types import ModuleType
from typing import Any

from bodies import ENGINES, RefusedError, agree, by_objects, facts, request, same, strict
from support import engine_window, outcome

_INSERTED = [
    *(b'"', b"\\", b"\\u0041", b"\\ud83d", b"\\ude00", b"\\u00e9", b"\\/", b'\\"', b"\\x", b"{", b"}", b"[", b"]", b",", b":", b" ", b"\n"),
    *(b"\x00", b"\x1f", b"\x0c", b"\x7f", b"\xff", b"\xc3", b"\xa9", "é".encode(), "😀".encode(), "\ufeff".encode(), b"0", b"-", b"1e400"),
    *(b"null", b"true", b"NaN", b'"role":"user",', b'"content":"x",', b'"messages":[],', b'{"role":"user","content":"x"},', b"[" * 600),
]
_ROLES = ("system", "user", "assistant", "tool")


def _seed_body(random: Random) -> bytes:
    """A body that is sound, or nearly."""
    messages = []
    for k in range(random.randrange(1, 9)):
        role = random.choice(_ROLES)
        text = random.choice(["", "ok", "line\n" * 4, "é😀" * 9, 'a"b\\c/', "\ud800"])
        content: Any = random.choice([text, [{"type": "text", "text": text}, {"type": "text", "text": "more"}], None, []])
        message: dict[str, Any] = {"role": role, "content": content}
        if role == "tool":
            message["tool_call_id"] = f"c{k - 1}"
        elif role == "assistant" and random.random() < 0.6:
            arguments = random.choice(["{}", {"n": [1.0, -0.0, 2**70, None], "é": "\x7f"}])
            message["tool_calls"] = [{"id": f"c{k}", "type": "function", "function": {"name": "f", "arguments": arguments}}]
        messages.append(message)
    return request(random, messages, random.choice(["messages", "messages", "input", "contents", None]))


def _damaged(random: Random, body: bytes, other: bytes) -> bytes:
    """One damage: a bit, a byte, a cut, something inserted, a piece taken twice or from another body."""
    at, end = sorted(random.randrange(len(body) + 1) for _ in range(2))
    match random.randrange(7):
        case 0 if body:
            at = min(at, len(body) - 1)
            return body[:at] + bytes([body[at] ^ 1 << random.randrange(8)]) + body[at + 1 :]
        case 1:
            return body[:at] + bytes([random.randrange(256)]) + body[at + 1 :]
        case 2:
            return body[:at]
        case 3:
            return body[:at] + body[min(end, at + random.randrange(1, 9)) :]
        case 4:
            return body[:at] + body[at:end] * 2 + body[end:]
        case 5:
            begin = random.randrange(len(other) + 1)
            return body[:at] + other[begin : begin + random.randrange(1, 60)] + body[end:]
        case _:
            return body[:at] + random.choice(_INSERTED) + body[at:]


def _options(random: Random) -> dict[str, Any]:
    return {
        "max_turns": random.choice([None, 1, 2, 4]),
        "max_chars": random.choice([None, 5, 40, 100]),
        "max_tokens": random.choice([None, None, 20, 60]),
        "max_chars_per_tool": random.choice([None, 3, 16, 25]),
        "tool_keep": random.choice(["head", "tail", "head_tail"]),
        "notice": random.choice([None, False, "N"]),
        "notice_role": random.choice(["auto", "user"]),
        "on_overflow": random.choice(["raise", "keep"]),
        "tokenizer": "cheap",
        "format": random.choice(["auto", "openai-chat", "anthropic", "openai-responses", "gemini"]),
    }


def examine(body: bytes, options: dict[str, Any]) -> str:
    """Raises where a body shows a fault; the kind of the outcome."""
    found = agree(options, body, None)
    for engine in ENGINES:
        _examine(engine, body, options)
    return found[0]


def _examine(engine: ModuleType, body: bytes, options: dict[str, Any]) -> None:
    kind, found = outcome(lambda: engine_window(engine, options).trim_json(body, None))
    try:
        whole = strict(body)
    except RefusedError:
        assert kind == "JsonError"
        assert 0 <= found["offset"] <= len(body)
        return
    assert kind != "JsonError" or "levels" in found["expected"]
    if kind == "answer":
        strict(found.body)
    # Shorthands, and the envelope's word on the format, are the body's alone.
    array = None if isinstance(whole, list) else _array(whole)
    if kind == "JsonError" or array == "" or options["format"] == "auto":
        return
    expected = outcome(lambda: by_objects(engine, options, whole, array))
    assert facts((kind, found))[0] == expected[0]
    if kind == "answer":
        assert same(strict(found.body), expected[1][0])
        assert found.report == expected[1][1]
    else:
        assert facts((kind, found)) == facts(expected)


def _array(whole: Any) -> str:
    """Where a request has an array of messages; empty where it has none, or something else comes first."""
    if not isinstance(whole, dict):
        return ""
    name = next((name for name in ("messages", "input", "contents") if whole.get(name) is not None), "")
    if not isinstance(whole.get(name), list):
        return ""
    is_content = any(isinstance(each, dict) and {"role", "parts"} & {key for key in each if each[key] is not None} for each in whole[name])
    return name if name != "contents" or is_content else ""


def fuzz(seed: int, rounds: int | None = None, seconds: float = 0.0) -> dict[str, int]:
    """Examines ``rounds`` bodies, or as many as there is time for; how often there was which outcome."""
    random, end = Random(seed), time.monotonic() + seconds
    kinds: dict[str, int] = {}
    done = 0
    while done < rounds if rounds is not None else time.monotonic() < end:
        body, other, options = _seed_body(random), _seed_body(random), _options(random)
        for _ in range(random.choice([0, 1, 1, 2, 4])):
            body = _damaged(random, body, other)
        try:
            kind = examine(body, options)
        except BaseException:  # a panic of the core is no Exception
            sys.stderr.write(f"seed {seed}, body {done}:\n{body!r}\n{options!r}\n")
            raise
        kinds[kind] = kinds.get(kind, 0) + 1
        done += 1
    return kinds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    kinds = fuzz(arguments.seed, seconds=arguments.seconds)
    sys.stdout.write(f"{sum(kinds.values())} bodies: {', '.join(f'{count} {kind}' for kind, count in sorted(kinds.items()))}\n")


if __name__ == "__main__":
    main()
