"""On real conversations: sound, within every ceiling, as long as can be, and nothing else touched.

A ceiling of N % is N % of the body's messages, of the body's characters, or of the tokens that the whole request
has: each in the unit that the ceiling is made of. What is used of a ceiling is what is sent, in that same unit.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import backcut
from brute import Ceilings, Found, longest
from sizes import body, body_chars, chars, request_tokens
from strict import is_sound, problems
from support import DEFAULT_NOTICE, head_length, outcome, snapshot

FILES = ("pydantic-ai", "rendered", "swe-agent", "tau-bench", "tau2-bench")
UNITS = ("turns", "chars", "tokens")
CEILINGS = [*((unit, share) for unit in UNITS for share in (25, 50, 75)), ("tokens", 8_000)]
NAMES = [f"{unit}-{share}" for unit, share in CEILINGS]


@dataclass(frozen=True)
class Conversation:
    file: str
    name: str
    messages: list[dict[str, Any]]
    tools: list[Any]
    sound: bool


@functools.cache
def _read(path: Path) -> tuple[Conversation, ...]:
    file = path.name.partition(".")[0]
    talks = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return tuple(
        Conversation(file, f"{file}:{number}", talk["messages"], talk.get("tools") or [], is_sound(talk["messages"]))
        for number, talk in enumerate(talks, 1)
    )


@pytest.fixture(scope="session")
def conversations(corpus: Path) -> tuple[Conversation, ...]:
    found = tuple(talk for name in FILES for talk in _read(corpus / f"{name}.openai-chat.jsonl"))
    assert len(found) >= 150
    assert {path.name for path in corpus.glob("*.openai-chat.jsonl")} == {f"{name}.openai-chat.jsonl" for name in FILES}
    return found


@pytest.fixture(scope="session")
def count(oracle: Callable[[str], Any]) -> Callable[[str], int]:
    """tiktoken's own count, remembered for each text."""
    encoding = oracle("o200k_base")
    return functools.lru_cache(None)(lambda text: len(encoding.encode_ordinary(text)))


def measure(talk: Conversation, messages: Sequence[Any], unit: str, count: Callable[[str], int]) -> int:
    """What ``messages`` weigh in the unit of a ceiling, a notice behind the head included."""
    if unit == "tokens":
        return request_tokens(messages, count, talk.tools)
    notice = [m for m in messages[head_length(talk.messages) : head_length(messages)] if m["content"] == DEFAULT_NOTICE]
    return len(body(messages)) if unit == "turns" else body_chars(messages) + sum(map(chars, notice))


def limit_of(talk: Conversation, unit: str, share: int, count: Callable[[str], int]) -> int:
    return share if share > 100 else max(1, measure(talk, talk.messages, unit, count) * share // 100)


@dataclass(frozen=True)
class Cut:
    """One conversation under one ceiling: what backcut did and what brute force finds."""

    talk: Conversation
    limit: int
    before: Any
    kind: str
    answer: Any
    plan: Any
    best: Found | None


@pytest.fixture(scope="session")
def cuts(conversations: tuple[Conversation, ...], count: Callable[[str], int]) -> Callable[[str, int], list[Cut]]:
    """All cuts of one ceiling, made once."""

    def make(unit: str, share: int) -> Iterator[Cut]:
        for talk in conversations:
            limit = limit_of(talk, unit, share, count)
            window = backcut.context_window(**{f"max_{unit}": limit})
            before = snapshot(talk.messages)
            kind, answer = outcome(functools.partial(window.trim, talk.messages, tools=talk.tools or None))
            plan = window.plan(talk.messages, tools=talk.tools or None) if kind == "answer" else None
            ceilings = Ceilings(**{unit: limit}, count=count, tools=talk.tools)
            yield Cut(talk, limit, before, kind, answer, plan, longest(talk.messages, ceilings))

    return functools.cache(lambda unit, share: list(make(unit, share)))


every_ceiling = pytest.mark.parametrize(("unit", "share"), CEILINGS, ids=NAMES)


@every_ceiling
def test_sound(cuts: Callable[[str, int], list[Cut]], unit: str, share: int) -> None:
    judged = [cut for cut in cuts(unit, share) if cut.kind == "answer" and cut.talk.sound]
    assert len(judged) >= 40
    for cut in judged:
        sent = cut.answer.messages
        assert is_sound(sent), (cut.talk.name, problems(sent))
        assert [v.code for v in backcut.check(sent)] in ([], ["pending_call"]), cut.talk.name


@every_ceiling
def test_ceiling_holds(cuts: Callable[[str, int], list[Cut]], count: Callable[[str], int], unit: str, share: int) -> None:
    for cut in cuts(unit, share):
        if cut.kind != "answer":
            continue
        report = cut.answer.report
        assert measure(cut.talk, cut.answer.messages, unit, count) <= cut.limit, cut.talk.name
        assert not report.over_budget
        assert report.chars_sent == measure(cut.talk, cut.answer.messages, "chars", count)
        if unit == "tokens":
            assert report.tokens_sent == measure(cut.talk, cut.answer.messages, unit, count)


@every_ceiling
def test_longest_tail(cuts: Callable[[str, int], list[Cut]], unit: str, share: int) -> None:
    """Every boundary tried, none keeps more; refused only where even the newest group is too much."""
    for cut in cuts(unit, share):
        if cut.best is None:
            assert cut.kind == "BudgetError", cut.talk.name
            assert cut.answer["ceiling"] == f"max_{unit}"
            assert cut.answer["needed"] > cut.answer["limit"] == cut.limit
            continue
        assert cut.kind == "answer", (cut.talk.name, cut.answer)
        assert cut.plan.kept == cut.best.kept, cut.talk.name
        assert (cut.plan.notice is not None, cut.answer.report.task_dropped) == (cut.best.notice, cut.best.task_dropped), cut.talk.name


@every_ceiling
def test_nothing_else_touched(cuts: Callable[[str, int], list[Cut]], unit: str, share: int) -> None:
    for cut in cuts(unit, share):
        assert snapshot(cut.talk.messages) == cut.before, cut.talk.name
        if cut.kind != "answer":
            continue
        sent = cut.answer.messages
        own = [m for i, m in enumerate(sent) if cut.plan.notice is None or i != cut.plan.notice.at]
        assert all(m is cut.talk.messages[i] for i, m in zip(cut.plan.kept, own, strict=True)), cut.talk.name
        if not cut.answer.report.window_trimmed:
            assert sent is cut.talk.messages


@every_ceiling
def test_never_only_the_head(cuts: Callable[[str, int], list[Cut]], unit: str, share: int) -> None:
    answered = [cut for cut in cuts(unit, share) if cut.kind == "answer"]
    assert answered
    assert all(len(body(cut.answer.messages)) >= 1 for cut in answered)


@every_ceiling
def test_sent_again_unchanged(cuts: Callable[[str, int], list[Cut]], unit: str, share: int) -> None:
    for cut in cuts(unit, share):
        if cut.kind == "answer":
            window = backcut.context_window(**{f"max_{unit}": cut.limit})
            assert window.trim(cut.answer.messages, tools=cut.talk.tools or None).messages is cut.answer.messages, cut.talk.name


def joined(talk: Conversation) -> Conversation:
    """The same conversation played until it has a hundred messages, as a long session has."""
    h = head_length(talk.messages)
    times = -(-100 // len(talk.messages[h:]))
    return dataclasses.replace(talk, messages=[*talk.messages[:h], *talk.messages[h:] * times])


def share_used(talk: Conversation, unit: str, count: Callable[[str], int]) -> float | None:
    """How much of a ceiling of 50 % is used; ``None`` where head and newest group alone are more."""
    limit = limit_of(talk, unit, 50, count)
    kind, answer = outcome(lambda: backcut.trim(talk.messages, tools=talk.tools or None, **{f"max_{unit}": limit}))
    return measure(talk, answer.messages, unit, count) / limit if kind == "answer" else None


@pytest.mark.parametrize("unit", UNITS)
def test_share_of_the_ceiling_used(
    conversations: tuple[Conversation, ...], count: Callable[[str], int], unit: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half of a long conversation is used to 95 % and more.

    A short one is made of few groups, and one that does not fit leaves a hole; that nobody could fill it is what
    ``test_longest_tail`` shows. So the short ones are printed, and what is judged are long ones.
    """
    whole = [talk for talk in conversations if talk.sound and len(talk.messages) >= 6]
    lines = []
    medians = {}
    for what, talks in (("as they are", whole), ("at 100 messages", [joined(talk) for talk in whole])):
        shares = {name: [share_used(talk, unit, count) for talk in talks if name in (talk.file, "all")] for name in (*FILES, "all")}
        for name, found in shares.items():
            used = [share for share in found if share is not None]
            medians[what, name] = statistics.median(used)
            lines.append(f"{what:>16} {name:<12} median {medians[what, name]:.3f} of {len(used):>3}, refused {len(found) - len(used)}")
    with capsys.disabled():
        print(f"\n  share of a 50 % ceiling used, {unit}\n    " + "\n    ".join(lines))
    assert medians["at 100 messages", "all"] >= 0.95
