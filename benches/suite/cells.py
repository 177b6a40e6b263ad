"""What one process measures: the cells of one peer, a line of JSON each, so that it can be stopped in the middle.

Beside the peer, in turns within a round, go the bare loop and backcut at the same ceiling: a ratio is taken within the round.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import statistics
import sys
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from time import perf_counter, process_time
from typing import Any

import backcut
from conversations import Message, load, tile, unseen
from measure import bare_loop, interleave
from peers import token_count

from . import money
from .inputs import FIXED, budget, histories, true_budget
from .judge import Verdict, counter, judge, prefix_kept
from .peer import Peer
from .peers import BY_NAME, Backcut, BackcutMessages

SLOW = 0.05
"""Seconds from which on a call is timed by the processor's time: other work would interrupt it, but not a short one."""


@dataclass(frozen=True)
class Cell:
    """One row of one peer."""

    kind: str
    """``warm``, ``cold`` or ``loop``."""
    length: int
    ceiling: str
    spend: float = 1.0
    """To be spent on rounds, for each history."""
    histories: int = 1


def main(peer: str, cells: str) -> None:
    """The process: measures ``cells`` (JSON), in their order."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    warnings.simplefilter("ignore")
    kind, talks = BY_NAME[peer], load()[0]
    tokens = counter(token_count())
    say("prepare")
    small, _ = tile(talks, 20, 99)
    warm = kind(small)
    say("prepare")
    logging.disable()
    warm.call(2 * warm.count(warm.own))()  # it fits: imports and vocabularies, and nothing to complain of
    for each in json.loads(cells):
        cell = Cell(**each)
        say("prepare")
        try:
            answer = loop(kind, talks, cell, tokens) if cell.kind == "loop" else trims(kind, talks, cell, tokens)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {str(error).splitlines()[0][:160] if str(error) else ''}"}
        say("done", **asdict(cell), **answer)


def say(event: str, **more: Any) -> None:
    print(json.dumps({"event": event, **more}), flush=True)


def trims(kind: type[Peer], talks: Sequence[Sequence[Message]], cell: Cell, tokens: Any) -> dict[str, Any]:
    """Times one ceiling over a few histories of a length; each answer is judged."""
    rounds: list[tuple[float, float, float]] = []
    verdicts: list[Verdict] = []
    for history in histories(talks, cell.length, cell.histories, tokens):
        peer = kind(history)
        limit = budget(peer, cell.ceiling, tokens)
        if limit is None:
            return {"skipped": "counts messages"}
        total = peer.count(peer.own)
        say("call")
        first, answer = once(peer.call(limit))
        say("prepare")
        sent = peer.plain(answer)
        told = judge(
            history,
            sent,
            limit=limit,
            used=peer.used(answer),
            tokens=tokens,
            true_limit=true_budget(history, cell.ceiling, tokens),
        )
        if kind is Backcut and sum(map(tokens, sent)) > limit:
            told.faults.append("over the ceiling by an independent count")
        if total <= limit:
            told.faults = [fault for fault in told.faults if fault != "silent no-op"]
        verdicts.append(told)
        rounds += timed(peer, limit, cell, first)
        if first > 1:
            break
    loops, ours, theirs = zip(*rounds, strict=True)
    return {
        "verdicts": [verdict.as_dict() for verdict in verdicts],
        "fits": total <= limit,
        "loop": list(loops),
        "ours": list(ours),
        "theirs": list(theirs),
    }


def once(call: Any) -> tuple[float, Any]:
    start, busy = perf_counter(), process_time()
    answer = call()
    busy, seconds = process_time() - busy, perf_counter() - start
    return (busy if seconds > SLOW else seconds), answer


def beside(kind: type[Peer], history: Sequence[Message], cell: Cell, tokens: Any) -> tuple[Backcut, int]:
    """backcut at the same ceiling: in messages for those who count messages, by exact tokens for all others."""
    ours = (BackcutMessages if kind.unit == "messages" else Backcut)(history)
    limit = budget(ours, cell.ceiling, tokens)
    assert limit is not None
    return ours, limit


def timed(peer: Peer, limit: int, cell: Cell, first: float) -> list[tuple[float, float, float]]:
    """Seconds of the loop, of backcut and of the peer, round by round."""
    kind, plain = type(peer), list(peer.history)
    state: dict[str, Any] = {"plain": plain}
    ours, our_limit = beside(kind, plain, cell, counter(token_count()))

    def renew() -> None:
        if cell.kind == "cold":
            state["plain"] = [unseen(message) for message in plain]
            state["peer"], state["ours"] = kind(state["plain"]).call(limit), type(ours)(state["plain"]).call(our_limit)
        else:
            state["peer"] = state["again"].call(limit)

    state["again"], state["ours"] = peer, ours.call(our_limit)
    if isinstance(peer, Backcut):  # its texts are known to whoever comes second: it is measured once
        few = max(20, min(400, int(cell.spend / (first + 2e-5 * len(plain) * (cell.kind == "cold")))))
        both = interleave(few, lambda: bare_loop(state["plain"]), lambda: state["peer"](), before=renew)
        return [(loops, own, own) for loops, own in zip(*both, strict=True)]
    if cell.kind == "warm":
        state["ours"]()
    if first > SLOW and cell.kind == "warm":
        # Too long to take turns with: the others are measured often, before and after.
        few = max(1, min(5, int(cell.spend / first)))
        listed = [first, *(once(peer.call(limit))[0] for _ in range(few - 1))]
        loops, our = interleave(15, lambda: bare_loop(plain), state["ours"])
        return [(statistics.median(loops), statistics.median(our), seconds) for seconds in listed]
    rounds = max(1 if first > 0.5 else 3, min(200, int(cell.spend / (first + 2e-5 * len(plain) * (6 if cell.kind == "cold" else 1)))))
    return list(
        zip(
            *interleave(rounds, lambda: bare_loop(state["plain"]), lambda: state["ours"](), lambda: state["peer"](), before=renew),
            strict=True,
        )
    )


def loop(kind: type[Peer], talks: Sequence[Sequence[Message]], cell: Cell, tokens: Any) -> dict[str, Any]:
    """An agent at work: a message more at each call, from ten to ``length`` messages more, always to 8,000 tokens.

    Told are the sum of the peer's times, how often it changed what the request before began with, and what that costs. A call
    that it refuses is a fault like others.
    """
    full = money.talk(talks, cell.length)
    mean = sum(map(tokens, full)) / len(full)
    by_messages = max(4, round(8_000 / mean))  # about as many as 8,000 tokens are here
    options = {"max_turns": by_messages} if kind.unit == "messages" else {"max_tokens": 8_000}
    window = backcut.context_window(**options)
    window.trim(full[:10])
    spent = spent_ours = spent_loop = 0.0
    changes = 0
    faults: dict[str, int] = {}
    before: list[Message] = []
    bill = money.Bill(tokens)
    gc.disable()
    say("call")
    for end in range(11, len(full) + 1):
        history = full[:end]
        peer = kind(history)
        limit = budget(peer, FIXED, tokens) or by_messages
        call = peer.call(limit)
        try:
            seconds, answer = once(call)
        except Exception as error:
            faults[f"refused ({type(error).__name__})"] = faults.get(f"refused ({type(error).__name__})", 0) + 1
            continue
        spent += seconds
        spent_ours += once(lambda h=history: window.trim(h))[0]
        spent_loop += once(lambda h=history: bare_loop(h))[0]
        sent = peer.plain(answer)
        true_limit = sum(map(tokens, history)) * 1.0 if kind.unit == "messages" else 8_000.0
        for fault in judge(history, sent, limit=limit, used=peer.used(answer), tokens=tokens, true_limit=true_limit).faults:
            faults[fault] = faults.get(fault, 0) + 1
        changes += prefix_kept(before, sent) < len(before)
        bill.request(before, sent)
        before = sent
    gc.enable()
    told = {"total": spent, "ours_total": spent_ours, "loop_total": spent_loop, "changes": changes, "faults": faults}
    return told | {"calls": len(full) - 10} | bill.as_dict()


if __name__ == "__main__":
    main(*sys.argv[1:])
