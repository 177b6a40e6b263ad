"""What is timed: real conversations, joined until they are as long as wanted."""

from __future__ import annotations

import itertools
import json
import os
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import backcut
from standin import generate

Message = dict[str, Any]

ROOT = Path(__file__).resolve().parents[1]
FALLBACK_HEAD: Message = {"role": "system", "content": "You are a careful agent. Use your tools, and say when you are not sure."}


def load() -> tuple[list[list[Message]], str]:
    """The conversations, and what they are.

    They come from the folder BACKCUT_CORPUS, or from ../shared/corpus beside the repository; without either made-up ones
    stand in. Taken are those that the bare loop can read (each content a string or null) and that are sound.
    """
    named = os.environ.get("BACKCUT_CORPUS")
    folder = Path(named) if named else ROOT.parent / "shared" / "corpus"
    lines = (line for file in sorted(folder.glob("*.openai-chat.jsonl")) for line in file.read_text(encoding="utf-8").splitlines())
    talks = [talk for talk in (json.loads(line)["messages"] for line in lines) if _is_plain(talk)]
    if talks:
        return talks, f"{len(talks)} real conversations"
    made_up = generate()
    return list(made_up), f"{len(made_up)} made-up conversations (no corpus here)"


def _is_plain(talk: Sequence[Message]) -> bool:
    readable = all(isinstance(message.get("content", 0), str | None) and "function_call" not in message for message in talk)
    calls = all("function" in call for message in talk for call in message.get("tool_calls") or ())
    return readable and calls and len(talk) >= 4 and not backcut.check(talk)


def endless(talks: Sequence[Sequence[Message]], seed: int) -> Iterator[Message]:
    """The messages of whole conversations in a random order, without an end; the ids of each copy are its own."""
    shuffled = random.Random(seed)
    for copy in itertools.count():
        for k, talk in enumerate(shuffled.sample(talks, len(talks))):
            for message in talk:
                yield _with_own_ids(message, f"{copy}.{k}")


def _with_own_ids(message: Message, copy: str) -> Message:
    fresh: Message = json.loads(json.dumps(message))  # no object and no text is shared with another copy
    for call in fresh.get("tool_calls") or ():
        call["id"] = f"{call['id']}.{copy}"
    if fresh.get("tool_call_id") is not None:
        fresh["tool_call_id"] = f"{fresh['tool_call_id']}.{copy}"
    return fresh


def tile(talks: Sequence[Sequence[Message]], length: int, seed: int) -> tuple[list[Message], Iterator[Message]]:
    """A history of about ``length`` messages, and how it would go on.

    Only the first system message is kept. The end is taken back to where all calls are answered.
    """
    stream = endless(talks, seed)
    start = list(itertools.islice(stream, max(map(len, talks))))
    head = next((message for message in start if message["role"] == "system"), FALLBACK_HEAD)
    rest = (message for message in itertools.chain(start, stream) if message["role"] != "system")
    history = [head, *itertools.islice(rest, length - 1)]
    taken: list[Message] = []
    while backcut.check(history):
        taken.append(history.pop())
    return history, itertools.chain(reversed(taken), rest)


def same_end(talks: Sequence[Sequence[Message]], lengths: Sequence[int], seed: int) -> list[list[Message]]:
    """Histories of these lengths, the shortest first, with one head and one end: what is kept of each is the same."""
    end, _ = tile(talks, lengths[0], seed)
    histories = [end]
    for k, length in enumerate(lengths[1:]):
        front, _ = tile(talks, length - len(end) + 1, seed + 1_000 + k)
        histories.append([end[0], *front[1:], *end[1:]])
    return histories


class Session:
    """An agent at work: a history to which message after message is appended, each with a text that was never seen.

    When it has grown by ``grows_by`` messages it starts over with the first history, and ``prepare`` sees that one.
    """

    def __init__(
        self, base: Sequence[Message], coming: Iterator[Message], prepare: Callable[[list[Message]], object], grows_by: int = 50
    ) -> None:
        self.history = list(base)
        self.appended = 0
        """Characters of all that was appended."""
        self._base, self._coming, self._prepare, self._grows_by = base, coming, prepare, grows_by
        prepare(self.history)

    def step(self) -> None:
        """Appends the next message."""
        if len(self.history) >= len(self._base) + self._grows_by:
            self.history = list(self._base)
            self._prepare(self.history)
            # What comes next must not answer a call of the history that was left.
            self._coming = itertools.dropwhile(lambda message: message["role"] == "tool", self._coming)
        self.history.append(unseen(next(self._coming)))
        self.appended += chars(self.history[-1:])


_marks = itertools.count()


def unseen(message: Message) -> Message:
    """The message with texts that no message ever had."""
    mark = next(_marks)
    fresh: Message = json.loads(json.dumps(message))
    if fresh["content"]:
        fresh["content"] = f"[{mark}] {fresh['content']}"
    for call in fresh.get("tool_calls") or ():
        rest = call["function"]["arguments"].lstrip().removeprefix("{").lstrip()
        call["function"]["arguments"] = f'{{"step": {mark}{", " * (not rest.startswith("}"))}{rest}'
    return fresh


def chars(messages: Sequence[Message]) -> int:
    """Characters by the rules of ``max_chars``, for messages such as these; counted here, not by backcut."""
    total = 0
    for message in messages:
        total += len(message["content"] or "")
        if message["role"] == "assistant":
            total += sum(len(message.get(key) or "") for key in ("refusal", "reasoning_content", "reasoning"))
            total += sum(len(call["function"]["arguments"]) for call in message.get("tool_calls") or ())
    return total
