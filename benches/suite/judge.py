"""Whether an answer is right. Nothing is asked of the peer itself, and little of backcut.

An answer is sound if ``backcut.check`` and the strict checker of the test tree find nothing, and right if besides it keeps the
system prompt, the task, the newest message and the ceiling.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import backcut
from conversations import ROOT, Message

sys.path.append(str(ROOT / "tests"))
try:
    import strict
finally:
    sys.path.pop()


@dataclass
class Verdict:
    """What there is to say of one answer; a fault is a few words that a table can show."""

    faults: list[str] = field(default_factory=list)
    messages: int = 0
    """Of the answer."""
    share: float | None = None
    """Of the true budget: tokens of the answer over the ceiling's part of the whole, both counted here."""

    @property
    def right(self) -> bool:
        return not self.faults

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"right": self.right}


def judge(
    history: Sequence[Message], answer: Sequence[Message], *, limit: float, used: float, tokens: Callable[[Message], int], true_limit: float
) -> Verdict:
    """Judges ``answer``, the trimmed ``history``.

    Args:
        history: all messages.
        answer: what is sent of them, as plain messages.
        limit: the ceiling, in the unit of whoever trimmed.
        used: what the answer has of it.
        tokens: an independent count of a message.
        true_limit: the ceiling in those tokens.
    """
    faults = soundness(answer)
    kept = matched(history, answer)
    body = [index for index in kept if history[index]["role"] != "system"]
    if used > limit:
        faults.append("silent no-op" if len(answer) == len(history) and len(kept) == len(history) else "over its ceiling")
    if history[0]["role"] == "system" and 0 not in kept:
        faults.append("system prompt lost")
    if not body:
        faults.append("nothing left but the system prompt")
    else:
        if body[-1] != len(history) - 1:
            faults.append("newest message lost")
        if not task_kept(history, body):
            faults.append("task lost")
    return Verdict(faults, len(answer), sum(map(tokens, answer)) / true_limit)


def soundness(answer: Sequence[Message]) -> list[str]:
    """What a provider would refuse, by both judges; a last turn whose results are still to come is as it should be."""
    newest = max((k for k, message in enumerate(answer) if message["role"] == "assistant"), default=-1)
    ours = [f.code for f in backcut.check(answer, format="openai-chat") if not (f.code == "pending_call" and f.index == newest)]
    theirs = [problem.code for problem in strict.problems(answer, accepts_live_end=True)]
    if bool(ours) != bool(theirs):
        return [f"unsound by one judge ({(ours or theirs)[0]})"]
    return [f"unsound ({theirs[0]})"] if theirs else []


def _key(message: Message) -> tuple[Any, ...]:
    calls = tuple((call["id"], call["function"]["name"]) for call in message.get("tool_calls") or ())
    return message["role"], message.get("content") or "", calls, message.get("tool_call_id")


def matched(history: Sequence[Message], answer: Sequence[Message]) -> list[int]:
    """Where the messages of the answer stand in the history, in order; what was rewritten or added stands nowhere.

    Equal messages may come more than once: read from the end, each takes the last place that is left.
    """
    keys = [_key(message) for message in history]
    found: list[int] = []
    end = len(keys)
    places: dict[tuple[Any, ...], list[int]] = {}
    for index, key in enumerate(keys):
        places.setdefault(key, []).append(index)
    for message in reversed(answer):
        here = places.get(_key(message), [])
        while here and here[-1] >= end:
            here.pop()
        if here:
            end = here.pop()
            found.append(end)
    return found[::-1]


def task_kept(history: Sequence[Message], body: Sequence[int]) -> bool:
    """Whether the user turn that began the run in which the cut falls is there."""
    first = body[0]
    if history[first]["role"] == "user":
        # What comes next may lie behind a gap: then the run of that message is the one that was cut.
        behind = next((index for k, index in enumerate(body[1:]) if index != body[k] + 1), None)
        if behind is None or history[behind]["role"] == "user":
            return True
        first = behind
    task = max((index for index in range(first) if history[index]["role"] == "user"), default=None)
    return task is None or task in body


def counter(tokens: Callable[[str], int]) -> Callable[[Message], int]:
    """A message's tokens: its texts, the names and the arguments of its calls. Frames are left out, so it is never too high."""
    of = functools.lru_cache(maxsize=None)(tokens)

    def count(message: Message) -> int:
        content = message.get("content")
        text = content if isinstance(content, str) else "" if content is None else json.dumps(content)
        calls = message.get("tool_calls") or ()
        return of(text) + sum(of(call["function"]["name"]) + of(call["function"]["arguments"]) for call in calls)

    return count


def prefix_kept(before: Sequence[Message], now: Sequence[Message]) -> int:
    """Messages at the beginning of a request that the request before began with, too."""
    same = 0
    while same < min(len(before), len(now)) and before[same] == now[same]:
        same += 1
    return same
