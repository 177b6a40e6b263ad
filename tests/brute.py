"""The longest tail by trying every boundary: no memory, no shortcut, no walk from the back.

Groups come from a naive walk forward. Covers the default mode without ``trim_to``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sizes import Count, chars, request_tokens
from support import DEFAULT_NOTICE, get, head_length

_RESULTS = {"tool": "tool", "function": "legacy"}


def _opened(message: Any) -> list[tuple[str, str | None]]:
    """The calls of a message: family and id."""
    if get(message, "role") != "assistant":
        return []
    calls: list[tuple[str, str | None]] = [("tool", get(call, "id") or None) for call in get(message, "tool_calls") or ()]
    return calls + ([("legacy", None)] if get(message, "function_call") is not None else [])


def _result_id(message: Any) -> str | None:
    return (get(message, "tool_call_id") or None) if get(message, "role") == "tool" else None


def answers(body: Sequence[Any]) -> dict[int, int]:
    """Which message's call each result answers; results that answer nothing are not in it."""
    owner: dict[int, int] = {}
    open_by_id: dict[str, list[int]] = {}
    i = 0
    while i < len(body):
        calls = _opened(body[i])
        if not calls:
            if get(body[i], "role") == "tool" and open_by_id.get(_result_id(body[i]) or ""):
                owner[i] = open_by_id[_result_id(body[i]) or ""].pop()
            i += 1
            continue
        end = i + 1
        while end < len(body) and get(body[end], "role") in _RESULTS:
            end += 1
        free = list(enumerate(calls))
        for by_id in (True, False):
            for j in range(i + 1, end):
                if j in owner:
                    continue
                family, given = _RESULTS[get(body[j], "role")], _result_id(body[j])
                fits = [
                    (k, call)
                    for k, call in free
                    if call[0] == family and (given is not None and call[1] == given if by_id else given is None or call[1] is None)
                ]
                if fits:
                    free.remove(fits[-1 if by_id else 0])
                    owner[j] = i
        for _, call_id in calls:
            if call_id is not None:
                open_by_id[call_id] = []
        for _, (_, call_id) in free:
            if call_id is not None:
                open_by_id[call_id].append(i)
        for j in range(i + 1, end):
            left = open_by_id.get(_result_id(body[j]) or "")
            if j not in owner and left:
                owner[j] = left.pop()
        i = end
    return owner


def boundaries(body: Sequence[Any]) -> list[int]:
    """Every index at which a group begins."""
    owner = answers(body)
    inside = {i for j, call in owner.items() for i in range(call + 1, j + 1)}
    return [i for i, message in enumerate(body) if i == 0 or (get(message, "role") not in _RESULTS and i not in inside)]


@dataclass(frozen=True)
class Ceilings:
    """What must hold of the kept body (turns, chars) and of the request (tokens)."""

    turns: int | None = None
    chars: int | None = None
    tokens: int | None = None
    count: Count = len
    tools: Sequence[Any] = ()
    each: int = 7

    def hold(self, head: Sequence[Any], kept: Sequence[Any], notice: Sequence[Any]) -> bool:
        carried = len(DEFAULT_NOTICE) if any(get(message, "content") == DEFAULT_NOTICE for message in head) else 0
        size = carried + sum(map(chars, [*notice, *kept]))
        return (
            (self.turns is None or len(kept) <= self.turns)
            and (self.chars is None or size <= self.chars)
            and (self.tokens is None or request_tokens([*head, *notice, *kept], self.count, self.tools, self.each) <= self.tokens)
        )


@dataclass(frozen=True)
class Found:
    """The longest tail: indices into the history, whether a notice stands in it, whether its task was dropped."""

    kept: tuple[int, ...]
    notice: bool
    task_dropped: bool


def newest(body: Sequence[Any]) -> int:
    """Where the newest group begins in the body."""
    return [b for b in boundaries(body) if get(body[b], "role") not in ("system", "developer")][-1]


def longest(history: Sequence[Any], ceilings: Ceilings, *, start: str = "user", notice: bool = True) -> Found | None:
    """The longest tail that holds, by brute force; ``None`` where not even the newest group fits."""
    h = head_length(history)
    head, body = history[:h], history[h:]
    everything = tuple(range(len(history)))
    if not body:  # only tokens see a lone head
        return Found(everything, False, False) if replace(ceilings, chars=None).hold(head, (), ()) else None
    if ceilings.hold(head, body, ()):
        return Found(everything, False, False)
    carried = any(get(message, "content") == DEFAULT_NOTICE for message in head)
    role = get(head[-1], "role") if head else "system"
    message = {"role": role, "content": DEFAULT_NOTICE}
    places = [b for b in boundaries(body) if get(body[b], "role") not in ("system", "developer")]
    users = [i for i, turn in enumerate(body[: places[-1] + 1]) if get(turn, "role") == "user"]

    def with_task(b: int) -> list[int] | None:
        rest = list(range(b, len(body)))
        if start == "any" or not users or get(body[b], "role") == "user":
            return rest
        before = [u for u in users if u < b]
        return [before[-1], *rest] if before else None

    def alone(b: int) -> list[int] | None:
        return list(range(b, len(body)))

    g = places[-1]
    shapes: list[tuple[bool, Callable[[int], list[int] | None]]] = [(True, with_task), (False, with_task)]
    if start == "user" and len(with_task(g) or ()) > len(alone(g) or ()):
        shapes += [(True, alone), (False, alone)]
    for has_notice, shape in shapes:

        def fits(b: int, has_notice: bool = has_notice, shape: Callable[[int], list[int] | None] = shape) -> list[int] | None:
            kept = shape(b)
            if kept is None:
                return None
            placed = (message,) if has_notice and notice and not carried and len(kept) < len(body) else ()
            return kept if ceilings.hold(head, [body[i] for i in kept], placed) else None

        if fits(g) is None:
            continue
        kept = next(found for b in places if (found := fits(b)) is not None)
        placed = has_notice and notice and not carried and len(kept) < len(body)
        return Found((*range(h), *(h + i for i in kept)), placed, shape is alone)
    return None
