"""Whether the core and the twin agree on a history in any format, whose judge is given."""

from __future__ import annotations

from random import Random
from typing import Any

from support import CORE, TWIN, engine_window, outcome, same_messages


def options(random: Random) -> dict[str, Any]:
    """A window at random, with at least one ceiling or a cap."""
    ceilings = {"max_turns": (1, 30), "max_chars": (1, 3_000), "max_tokens": (4, 3_000), "max_chars_per_tool": (1, 80)}
    chosen = random.sample(sorted(ceilings), random.randrange(1, 4))
    more: dict[str, list[Any]] = {
        "start": ["user", "any"],
        "on_overflow": ["raise", "keep"],
        "thinking": ["keep", "strip"],
        "notice": [None, False, "N"],
        "tool_keep": ["head", "tail", "head_tail"],
        "trim_to": [None, None, 0.3, 0.8],
    }
    window = {name: random.randrange(*ceilings[name]) for name in chosen} | {name: random.choice(each) for name, each in more.items()}
    if not {*chosen} - {"max_chars_per_tool"}:
        window["trim_to"] = None
    return {"tokenizer": "cheap", **window}


def agree(wire: Any, history: list[Any], random: Random) -> None:
    """Both engines find the same, plan the same and build the same; what is sound stays so."""
    checks = [outcome(lambda e=e: [(v.code, v.index, v.ids) for v in e.check(history, wire.FORMAT)]) for e in (CORE, TWIN)]
    assert checks[0] == checks[1]
    assert checks[0][0] == "answer"
    sound = not wire.problems(history)
    assert sound == all(code == "pending_call" for code, *_ in checks[0][1]), (checks[0], wire.problems(history))
    for _ in range(4):
        window = {"format": wire.FORMAT, **options(random)}
        plans = [outcome(lambda e=e, w=window: engine_window(e, w).plan(history, None, None)) for e in (CORE, TWIN)]
        assert plans[0] == plans[1], window
        if plans[0][0] == "answer":
            cuts = [engine_window(e, window).trim(history, None, None).messages for e in (CORE, TWIN)]
            assert same_messages(*cuts)
            assert not sound or wire.problems(cuts[0]) == [], window
