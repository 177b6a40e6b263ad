"""Conversations in the place of real ones, made up in their shape: lengths, calls and sizes as they are in a corpus of agents."""

from __future__ import annotations

import json
import random
from pydoc_data.topics import topics
from typing import Any

Message = dict[str, Any]

TOOLS = ("read_file", "search", "run_tests", "list_orders", "get_user", "write_file")


def generate(count: int = 60, seed: int = 0) -> list[list[Message]]:
    """``count`` conversations, the same each time for the same Python."""
    chosen = random.Random(seed)
    words = " ".join(topics[name] for name in sorted(topics)).split()
    return [_talk(chosen, words, k) for k in range(count)]


def _talk(chosen: random.Random, words: list[str], number: int) -> list[Message]:
    def text(median: int) -> str:
        """English of about so many characters; a few texts are very long, as results of tools are."""
        start = chosen.randrange(len(words))
        return " ".join(words[start : start + max(1, int(median * chosen.lognormvariate(0, 0.9) / 7))])

    talk: list[Message] = [{"role": "system", "content": text(1_500)}]
    length = int(26 * chosen.lognormvariate(0, 0.6)) + 5
    while len(talk) < length:
        talk.append({"role": "user", "content": text(150)})
        for step in range(chosen.choice((0, 1, 2, 4, 8))):
            calls = [f"call_{number}_{len(talk)}_{step}_{k}" for k in range(2 if chosen.random() < 0.1 else 1)]
            talk.append({"role": "assistant", "content": None, "tool_calls": [_call(name, chosen, text(60)) for name in calls]})
            talk += [{"role": "tool", "tool_call_id": name, "content": text(700)} for name in calls]
        talk.append({"role": "assistant", "content": text(300)})
    return talk


def _call(name: str, chosen: random.Random, text: str) -> dict[str, Any]:
    arguments = json.dumps({"query": text, "limit": chosen.randrange(100)})
    return {"id": name, "type": "function", "function": {"name": chosen.choice(TOOLS), "arguments": arguments}}
