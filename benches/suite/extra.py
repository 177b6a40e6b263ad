"""Beside the trimmers: requests as bytes against what memory gives, and counting against litellm's counter."""

from __future__ import annotations

import importlib.util
import json
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import backcut
from conversations import Message
from measure import interleave
from peers import MODEL, token_count

from .inputs import histories
from .judge import counter, soundness
from .runner import Row, spread


def bodies(talks: Sequence[Sequence[Message]], lengths: Sequence[int], rounds: int) -> Iterator[Row]:
    """``trim_json`` at half of the tokens beside a copy of the body, which is the most that memory gives, and ``json.loads``."""
    tokens = counter(token_count())
    for length in lengths:
        (history,) = histories(talks, length, 1, tokens)
        body = json.dumps({"model": MODEL, "messages": history}).encode()
        for unit, limit in (("max_chars", backcut.trim(history).report.chars_sent // 2), ("max_tokens", backcut.count(history) // 2)):
            window = backcut.context_window(**{unit: limit})
            sent = json.loads(backcut.trim_json(body, window).body)["messages"]
            copied, parsed, ours = interleave(
                rounds, lambda b=body: bytearray(b), lambda b=body: json.loads(b), lambda b=body, w=window: backcut.trim_json(b, w)
            )
            yield {
                "length": length,
                "bytes": len(body),
                "unit": unit,
                "faults": soundness(sent),
                "per_copy": spread([a / b for a, b in zip(ours, copied, strict=True)]),
                "per_parse": spread([a / b for a, b in zip(ours, parsed, strict=True)]),
                "rate": len(body) / spread(ours)["median"],
                "copy_rate": len(body) / spread(copied)["median"],
            }


def counts(talks: Sequence[Sequence[Message]], lengths: Sequence[int], rounds: int) -> Iterator[Row]:
    """Counting a whole history that was counted before: ``backcut.count``, litellm's ``token_counter``, tiktoken over all texts.

    Each is held against the texts alone, counted by tiktoken: what it has more is frames and names.
    """
    tokens, text = counter(token_count()), token_count()
    ways: dict[str, Callable[[list[Message]], int]] = {
        "backcut.count": backcut.count,
        "tiktoken over all contents": lambda history: sum(text(message["content"] or "") for message in history),
    }
    if importlib.util.find_spec("litellm"):
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        warnings.simplefilter("ignore")
        from litellm.utils import token_counter

        ways["litellm token_counter"] = lambda history: token_counter(model=MODEL, messages=history)
    for length in lengths:
        (history,) = histories(talks, length, 1, tokens)
        texts = sum(map(tokens, history))
        found: dict[str, Any] = {name: way(history) for name, way in ways.items()}
        seconds = interleave(rounds, *(lambda w=way, h=history: w(h) for way in ways.values()))
        for name, own in zip(ways, seconds, strict=True):
            yield {
                "name": name,
                "length": length,
                "per_backcut": spread([a / b for a, b in zip(own, seconds[0], strict=True)]),
                "per_text": found[name] / texts,
            }
