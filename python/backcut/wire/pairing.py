"""Which result answers which call: section 4 of ``docs/rules.md``, for every format alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from .common import Outline, Tie

__all__ = ["Pairing", "Place", "again", "continues", "pair"]

Place: TypeAlias = tuple[int, int]
"""A call or a result: the index of its message, and which of that message's ties it is."""


@dataclass(slots=True)
class Pairing:
    """Which result answers which call, by index of the message."""

    orphans: dict[int, list[str | None]] = field(default_factory=dict)
    """Messages with results that answer nothing, with their ids."""
    unanswered: dict[int, list[str | None]] = field(default_factory=dict)
    """Messages with calls that have no result, with their ids."""
    until: dict[int, int] = field(default_factory=dict)
    """For these the last message of what the call belongs to: its turn, or that of the last call that it has made."""
    welds: list[tuple[int, int]] = field(default_factory=list)
    """Messages that must not be parted: all from the first to the second."""
    answers: dict[Place, Place] = field(default_factory=dict)
    """Every result that answers a call, and that call."""
    away: set[Place] = field(default_factory=set)
    """The late ones among them."""
    dead: list[Place] = field(default_factory=list)
    """Every call that has no result."""


@dataclass(slots=True)
class _Call:
    """A call that waits for its result."""

    at: int
    place: int
    tie: Tie
    until: int
    answered: bool = False
    has_called: bool = False


def continues(outlines: Sequence[Outline], at: int, merges: bool) -> bool:
    """Whether a message belongs to the same turn of the model's as the one before it."""
    return merges and at > 0 and outlines[at].turn == outlines[at - 1].turn == "model"


def again(outlines: Sequence[Outline], merges: bool) -> Iterator[tuple[Place, int]]:
    """Calls with the id of another call of their turn, and how many there are by then. What a provider answers within the message is
    settled there.
    """
    seen: Counter[tuple[str, str]] = Counter()
    for index, outline in enumerate(outlines):
        if not continues(outlines, index, merges):
            seen.clear()
        for k in _unsettled(outline.ties):
            tie = outline.ties[k]
            if tie.id is not None:
                seen[tie.family, tie.id] += 1
                if (times := seen[tie.family, tie.id]) > 1:
                    yield (index, k), times


def _unsettled(ties: Sequence[Tie]) -> list[int]:
    calls: list[int] = []
    for k, tie in enumerate(ties):
        if tie.kind == "call":
            calls.append(k)
        elif tie.id is not None:
            own = next((call for call in calls if (ties[call].family, ties[call].id) == (tie.family, tie.id)), None)
            calls = [call for call in calls if call != own]
    return calls


def _keys(tie: Tie) -> Iterator[tuple[str, str]]:
    return ((tie.family, name) for name in (tie.id, tie.alias) if name is not None)


def pair(outlines: Sequence[Outline], merges: bool) -> Pairing:
    """Walks a history in order and pairs its calls and results.

    Args:
        outlines: the messages.
        merges: whether messages of the model's in a row are one turn.
    """
    pairing = Pairing()
    everything: list[_Call] = []
    waiting: dict[tuple[str, str], _Call] = {}
    latest: dict[tuple[str, str], _Call] = {}

    def answer_from_afar(tie: Tie, at: int, place: int) -> None:
        call = next((waiting.pop(key) for key in _keys(tie) if key in waiting and not waiting[key].answered), None)
        if call is None:
            pairing.orphans.setdefault(at, []).append(tie.id)
            return
        call.answered = True
        pairing.answers[at, place] = call.at, call.place
        pairing.welds.append((call.at, at))
        # A provider answers its own call once the client has answered those beside it, or those that it made.
        waited = tie.family in ("server", "mcp") and all(each.turn != "user" for each in outlines[call.at : at])
        if not call.has_called and not waited:
            pairing.away.add((at, place))

    at = 0
    while at < len(outlines):
        if outlines[at].turn != "model":
            for place, tie in enumerate(outlines[at].ties):
                if tie.kind == "result" and (at, place) not in pairing.answers:
                    answer_from_afar(tie, at, place)
            at += 1
            continue
        end = at + 1
        while end < len(outlines) and continues(outlines, end, merges):
            end += 1
        # Within the turn first: what the provider ran itself.
        calls: list[_Call] = []
        for k in range(at, end):
            for place, tie in enumerate(outlines[k].ties):
                if tie.kind == "call":
                    calls.append(_Call(k, place, tie, end - 1))
                    continue
                own = next((call for call in calls if not call.answered and set(_keys(call.tie)) & set(_keys(tie))), None)
                if own is not None:
                    own.answered = True
                    pairing.answers[k, place] = own.at, own.place
                else:
                    answer_from_afar(tie, k, place)
        everything += calls
        pairing.answers |= _pair_run([call for call in calls if not call.answered], outlines, end)
        # Opening an id anew closes an older open call for good; of two calls with one id the last is open.
        for call in calls:
            for key in _keys(call.tie):
                waiting.pop(key, None)
                latest[key] = call
        for call in calls:
            if not call.answered:
                waiting.update((key, call) for key in _keys(call.tie))
            caller = latest.get(call.tie.caller) if call.tie.caller is not None else None
            if caller is not None:
                caller.has_called = True
                caller.until = max(caller.until, end - 1)
                if caller.at < call.at:
                    pairing.welds.append((caller.at, call.at))
        at = end
    for call in everything:
        if not (call.answered or call.tie.optional):
            pairing.unanswered.setdefault(call.at, []).append(call.tie.id)
            pairing.until[call.at] = max(call.until, pairing.until.get(call.at, 0))
            pairing.dead.append((call.at, call.place))
    return pairing


def _pair_run(calls: list[_Call], outlines: Sequence[Outline], begin: int) -> dict[Place, Place]:
    """Pairs the calls of a turn with the results that stand directly behind it, and says with which."""
    end = begin
    while end < len(outlines) and outlines[end].turn == "result":
        end += 1
    run = [(at, place, tie) for at in range(begin, end) for place, tie in enumerate(outlines[at].ties) if tie.kind == "result"]
    paired: dict[Place, Place] = {}
    for by_id in (True, False):
        for at, place, tie in run:
            open_calls = [call for call in calls if call.tie.family == tie.family and not call.answered]
            if by_id:
                matches = [call for call in open_calls if set(_keys(call.tie)) & set(_keys(tie))][-1:]
            else:
                matches = [call for call in open_calls if not (call.tie.id and tie.id)]
            if (at, place) not in paired and matches:
                matches[0].answered = True
                paired[at, place] = matches[0].at, matches[0].place
    return paired
