"""What a profile-guided build learns from: ``maturin build --release --pgo`` runs it with the instrumented extension.

All that is called often, in every format, on texts that a Python has at hand and on conversations made of them. Nothing is timed;
how often each runs is such that none drowns the others.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import backcut
import texts
from conversations import Message
from formats import FORMATS, written

MESSAGES = 300
SHARE = 300_000
"""Characters of each kind of text."""


def main() -> None:
    # The same everywhere, and other texts than those that builds.py measures with.
    os.environ["BACKCUT_CORPUS"] = str(Path(__file__).with_name("no corpus"))
    dice = random.Random(1)
    kinds = {name: some(kind.parts(0)[0]) for name, kind in texts.load().items()}
    tokens(kinds)
    chat = conversation(kinds, dice)
    for name in FORMATS:
        history = chat if name == "openai-chat" else json.loads(json.dumps(written(chat, name)))
        objects(name, history, times=150 if name == "openai-chat" else 25)
        bodies(name, history, times=20 if name == "openai-chat" else 5)
    agent(chat, kinds)
    lines(chat)


def some(found: Sequence[str]) -> list[str]:
    """The first texts, as many as are needed."""
    sizes = itertools.accumulate(map(len, found))
    return [text for text, size in zip(found, sizes, strict=False) if size <= SHARE]


def tokens(kinds: dict[str, list[str]]) -> None:
    """Unseen, with known pieces and known; shortened from both ends; and what is hard by its shape."""
    mixed = [text for row in zip(*kinds.values(), strict=False) for text in row]
    for encoding, times in (("o200k_base", 6), ("cl100k_base", 3), ("p50k_base", 1), ("gpt2", 1), ("approximate", 1)):
        tokenizer = backcut.tokenizer(encoding)
        for turn in range(times):
            for text in mixed:
                tokenizer.count(text)
                tokenizer.count(f"{turn} {text}")
                tokenizer.truncate(text, 50, keep="head" if turn % 2 else "tail")
        for text in texts.hard(0).values():
            tokenizer.count(text[:10_000])


def conversation(kinds: dict[str, list[str]], dice: random.Random) -> list[Message]:
    """An agent at work: questions, calls, results of every kind, answers."""
    pieces = {name: itertools.cycle(found) for name, found in kinds.items()}

    def text(name: str, most: int) -> str:
        return next(pieces[name])[: dice.randrange(20, most)]

    talk: list[Message] = [{"role": "system", "content": text("English", 1_500)}]
    k = 0
    while len(talk) < MESSAGES:
        k += 1
        kind = dice.choice(list(kinds))
        talk.append({"role": "user", "content": text("English", 300)})
        for call in range(dice.randrange(4)):
            arguments = json.dumps({"path": text("English", 40), "page": k, "options": {"deep": True, "tags": [kind, "ß"]}})
            function = {"name": "read_log", "arguments": arguments}
            listed = [{"id": f"call_{k}_{call}", "type": "function", "function": function}]
            talk.append({"role": "assistant", "content": None, "tool_calls": listed})
            talk.append({"role": "tool", "tool_call_id": f"call_{k}_{call}", "content": text(kind, 2_000)})
        talk.append({"role": "assistant", "content": text(kind, 600)})
    return talk


def windows(name: str, history: Sequence[Any]) -> Iterator[backcut.ContextWindow]:
    """The options that are used most."""
    whole = backcut.trim(history, format=name, tokenizer="o200k_base").report
    chars, size = whole.chars_sent, whole.tokens_sent or 0
    yield backcut.context_window(format=name, max_chars=chars // 2)
    yield backcut.context_window(format=name, max_tokens=size // 2)
    yield backcut.context_window(format=name, max_tokens=size // 2, max_chars_per_tool=500, notice="Older messages were left out.")
    yield backcut.context_window(format=name, max_chars=chars // 2, trim_to=0.7)
    yield backcut.context_window(format=name, max_turns=len(history) // 2)
    yield backcut.context_window(format=name, max_tokens=size * 2)
    yield backcut.context_window(max_chars=chars // 10)


def objects(name: str, history: list[Any], times: int) -> None:
    for window in windows(name, history):
        for _ in range(times):
            window.trim(history)
        window.plan(history)
    for _ in range(times):
        backcut.check(history, format=name)
        backcut.count(history, format=name)


def bodies(name: str, history: list[Any], times: int) -> None:
    key = {"gemini": "contents", "openai-responses": "input"}.get(name, "messages")
    request = {"model": "gpt-4o", key: history}
    dumped = [json.dumps(request), json.dumps(request, ensure_ascii=False, separators=(",", ":")), json.dumps(request, indent=1)]
    found = [body.encode() for body in dumped]
    for window in windows(name, history):
        for k in range(times):
            backcut.trim_json(found[k % len(found)], window)


def agent(chat: list[Message], kinds: dict[str, list[str]]) -> None:
    """Message after message, all counted again each time."""
    window = backcut.context_window(max_tokens=backcut.count(chat) // 2)
    history = list(chat)
    for k, text in enumerate(itertools.islice(itertools.cycle(kinds["English"] + kinds["code"]), 200)):
        history.append({"role": "assistant" if k % 2 else "user", "content": f"{k} {text[:800]}"})
        window.trim(history)


def lines(chat: list[Message]) -> None:
    window = backcut.context_window(max_chars=10_000)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.jsonl"), Path(folder, "out.jsonl")
        source.write_text((json.dumps({"messages": chat[:60]}) + "\n") * 100, encoding="utf-8")
        backcut.trim_jsonl(source, target, window)


if __name__ == "__main__":
    main()
