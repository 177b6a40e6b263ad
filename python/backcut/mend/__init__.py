"""Repairs: the rounds in which a history is mended. What messages look like is known to the mender of each format, in its own module.

Nothing is changed but for what ``check`` finds, in this order: what one message alone has wrong; ids; results without a call; results
away from their call; calls without a result; the order. It ends: nothing that was taken out comes back, no call is ever added and
each is answered once, a made id is like no other, and what was moved stands where its rule wants it until something else is taken
out. Should a rule ever undo another, the number of rounds is bounded, and ``check`` tells what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from .. import engine
from ..report import Change, Repaired, Violation
from ..wire import Reader
from ..wire.common import Outline, Tie, read_history
from ..wire.pairing import Pairing, Place, again, continues, pair
from .common import RESUMED, Loose, Mender

__all__ = ["repair"]

_ROUNDS = 20
_HARMLESS = ("pending_call", "empty_history")


def repair(messages: Any, format: str) -> Repaired:
    """Mends what ``check`` finds; ``messages`` itself where that is nothing."""
    found = engine.check(messages, format)
    if all(violation.code in _HARMLESS for violation in found):
        return Repaired(messages, ())
    reader = Reader(read_history(messages), format)
    work = _Work(reader, messages)
    for _ in range(_ROUNDS):
        before = len(work.changes)
        for step in _STEPS:
            step(work)
        if len(work.changes) == before or all(code in _HARMLESS for code in work.found()):
            break
    return Repaired([entry.message for entry in work.entries], tuple(sorted(work.changes, key=lambda change: change.index)))


@dataclass(slots=True)
class _Entry:
    """A message as it is by now, and the place in the history that it is told by."""

    origin: int
    message: Any


class _Work:
    """A history that is being mended."""

    def __init__(self, reader: Reader, messages: Sequence[Any]) -> None:
        self.wire = reader.format
        name = self.wire.name
        self.mender: Mender = import_module(f".{name.replace('-', '_')}", __package__).MENDER
        self.entries = [_Entry(index, message) for index, message in enumerate(messages)]
        self.last = messages[-1]
        self.changes: list[Change] = []
        self._found: tuple[int, dict[str, list[Violation]]] | None = None

    def found(self) -> dict[str, list[Violation]]:
        """What ``check`` finds by now, by code."""
        if self._found is None or self._found[0] != len(self.changes):
            by_code: dict[str, list[Violation]] = {}
            for violation in engine.check([entry.message for entry in self.entries], self.wire.name):
                by_code.setdefault(violation.code, []).append(violation)
            self._found = len(self.changes), by_code
        return self._found[1]

    def places(self, *codes: str) -> list[int]:
        """The messages at which one of these codes is found, in order."""
        found = self.found()
        return sorted({violation.index for code in codes for violation in found.get(code, ())})

    def outlines(self) -> list[Outline]:
        return [self.wire.outline(entry.message, index) for index, entry in enumerate(self.entries)]

    def pairing(self, outlines: Sequence[Outline]) -> Pairing:
        """How calls and results go together, by the places of all messages: what is not sent has a part in it no more than in ``check``."""
        places = [index for index, outline in enumerate(outlines) if outline.sent or outline.turn != "system"]
        there = [outlines[index] if outlines[index].sent else replace(outlines[index], ties=()) for index in places]
        pairing = pair(there, self.wire.merges)

        def at(place: Place) -> Place:
            return places[place[0]], place[1]

        pairing = Pairing(
            answers={at(result): at(call) for result, call in pairing.answers.items()},
            away={at(result) for result in pairing.away},
            dead=[at(call) for call in pairing.dead],
        )
        _first_come(outlines, pairing, self.wire.merges)
        return self.mender.paired([entry.message for entry in self.entries], outlines, pairing)

    def turn_end(self, outlines: Sequence[Outline], at: int) -> int:
        """Behind the turn of the model's that holds this message."""
        at += 1
        while at < len(outlines) and continues(outlines, at, self.wire.merges):
            at += 1
        return at

    def tell(self, action: str, index: int, message: str, ids: Iterable[str | None] = ()) -> None:
        self.changes.append(Change(action, index, message, tuple(dict.fromkeys(each for each in ids if each is not None))))

    def compact(self) -> None:
        """Takes out the messages of which nothing is left."""
        self.entries = [entry for entry in self.entries if entry.message is not None]

    def put(self, groups: Sequence[tuple[int, int, Loose]]) -> None:
        """Puts results behind the turns of their calls: where that turn ends, whom the result is told by, and the result."""
        for end, origin, loose in sorted(groups, key=lambda group: group[0], reverse=True):
            at, last = end, None
            while at < len(self.entries):
                turn = self._turn(at)
                if turn == "result":
                    last = at
                elif turn is not None:
                    break
                at += 1
            if last is None and self.mender.alternates and at < len(self.entries) and self._turn(at) == "user":
                last = at
            if last is not None and (joined := self.mender.add(self.entries[last].message, loose)) is not None:
                self.entries[last].message = joined
                continue
            after = end if last is None else last + 1
            near = self.entries[max(end - 1, 0)].message
            self.entries[after:after] = [_Entry(origin, message) for message in self.mender.own(loose, near)]

    def _turn(self, at: int) -> str | None:
        """The turn of a message; ``None`` of one that is gone or not sent."""
        message = self.entries[at].message
        outline = None if message is None else self.wire.outline(message, at)
        return None if outline is None or not outline.sent else outline.turn


# The steps, each for the codes that it names


def _alone(work: _Work) -> None:
    """What one message has wrong by itself."""
    codes: dict[int, set[str]] = {}
    for code in work.mender.alone_codes:
        for index in work.places(code):
            codes.setdefault(index, set()).add(code)
    if not codes:
        return
    outlines = work.outlines()
    groups = []
    for index, wrong in codes.items():
        entry = work.entries[index]
        mended = work.mender.alone(entry.message, wrong)
        for action, sentence, ids in mended.told:
            work.tell(action, entry.origin, sentence, ids)
        entry.message = mended.message
        if mended.loose:
            groups.append((work.turn_end(outlines, index), entry.origin, Loose(mended.loose)))
    work.put(groups)
    work.compact()


def _ids(work: _Work) -> None:
    """Ids where there are none, or none that may be, or one for two: on both sides of a pair."""
    flagged = {code: work.places(code) for code in ("missing_id", "invalid_id", "duplicate_id")}
    if not any(flagged.values()):
        return
    outlines = work.outlines()
    pairing = work.pairing(outlines)
    wrong = {name for violation in work.found().get("invalid_id", ()) for name in violation.ids}
    used = {name for outline in outlines for tie in outline.ties for name in (tie.id, tie.alias) if name is not None}
    callers = {tie.caller for outline in outlines for tie in outline.ties}
    twice = {place for place, _ in again(outlines, work.wire.merges)}
    results = {call: result for result, call in pairing.answers.items()}
    names: dict[Place, str] = {}
    for index, outline in enumerate(outlines):
        for k, tie in enumerate(outline.ties):
            if tie.kind != "call" or not work.mender.has_id(tie):
                continue
            if tie.id is None or tie.id in wrong or (index, k) in twice:
                name = _new(work.mender.id_of(tie), work.entries[index].origin, k, used)
                names[index, k] = name
                if (tie.family, tie.id) in callers:
                    _called_by(work, outlines, pairing, (index, k), name)
                if (result := results.get((index, k))) is not None:
                    names[result] = name
    for result, call in pairing.answers.items():
        tie = outlines[result[0]].ties[result[1]]
        if result not in names and tie.id is None and result[0] in flagged["missing_id"]:
            known = work.mender.known_as(work.entries[call[0]].message, outlines[call[0]].ties[call[1]])
            if known is not None:
                names[result] = known
    by_message: dict[int, dict[int, str]] = {}
    for (index, k), name in names.items():
        by_message.setdefault(index, {})[k] = name
    for index, renamed in sorted(by_message.items()):
        entry = work.entries[index]
        entry.message = work.mender.rename(entry.message, renamed)
        work.tell("made_id", entry.origin, "a call or a result got an id of its own", renamed.values())


def _first_come(outlines: Sequence[Outline], pairing: Pairing, merges: bool) -> None:
    """Calls of one turn that share an id are answered in their order, as nothing else tells them apart."""
    sharing: dict[tuple[int, str, str], list[Place]] = {}
    begin = 0
    for index, outline in enumerate(outlines):
        begin = begin if continues(outlines, index, merges) else index
        for k, tie in enumerate(outline.ties):
            if tie.kind == "call" and tie.id is not None:
                sharing.setdefault((begin, tie.family, tie.id), []).append((index, k))
    results = {call: result for result, call in pairing.answers.items()}
    dead = set(pairing.dead)
    for calls in sharing.values():
        given = sorted(results[call] for call in calls if call in results)
        pairing.answers.update(zip(given, calls, strict=False))
        if 0 < len(given) < len(calls):
            dead = dead.difference(calls[: len(given)]).union(calls[len(given) :])
    pairing.dead = sorted(dead)


def _new(prefix: str, index: int, k: int, used: set[str]) -> str:
    """An id made from the place of a call, and like no other."""
    name = f"{prefix}_{index}_{k}"
    while name in used:
        name += "_"
    used.add(name)
    return name


def _orphans(work: _Work) -> None:
    """Results that answer nothing go; what the user says beside them stays."""
    if not work.places("orphan_result"):
        return
    outlines = work.outlines()
    answers = work.pairing(outlines).answers
    for index, outline in enumerate(outlines):
        if outline.refers:
            break  # what follows may answer what is not seen
        ties = outline.ties
        gone = {k for k, tie in enumerate(ties) if tie.kind == "result" and (index, k) not in answers}
        _take_out(work, index, ties, gone, "dropped_result", "a result that answers no call was dropped")
    work.compact()


def _take_out(work: _Work, index: int, ties: Sequence[Tie], gone: set[int], action: str, sentence: str) -> None:
    if gone:
        entry = work.entries[index]
        entry.message = work.mender.take(entry.message, gone)[0]
        work.tell(action, entry.origin, sentence, (ties[k].id for k in sorted(gone)))


def _called_by(work: _Work, outlines: Sequence[Outline], pairing: Pairing, call: Place, name: str | None) -> None:
    """Calls that were made by a call say so by its other id, or, where it goes, no longer; so do their results."""
    of = outlines[call[0]].ties[call[1]]
    key, results = (of.family, of.id), {called: result for result, called in pairing.answers.items()}
    places: dict[int, set[int]] = {}
    for index in range(call[0], len(outlines)):
        ties = outlines[index].ties
        if index > call[0] and any(tie.kind == "call" and (tie.family, tie.id) == key for tie in ties):
            break
        for k, tie in enumerate(ties):
            if tie.caller == key:
                for at, which in [(index, k), *([results[index, k]] if (index, k) in results else [])]:
                    places.setdefault(at, set()).add(which)
    for index, ks in sorted(places.items()):
        entry = work.entries[index]
        message = work.mender.called_by(entry.message, ks, name)
        if message is not entry.message:
            entry.message = message
            action, sentence = ("dropped_field", "no longer names the call that made it, which was dropped")
            if name is not None:
                action, sentence = ("made_id", "names the call that made it by its new id")
            work.tell(action, entry.origin, f"a call or a result {sentence}", (outlines[index].ties[k].id for k in sorted(ks)))


def _late(work: _Work) -> None:
    """Results move to right behind the turn of their call."""
    flagged = set(work.places("late_result"))
    if not flagged:
        return
    outlines = work.outlines()
    pairing = work.pairing(outlines)
    moves: dict[int, dict[int, list[int]]] = {}
    for index, k in sorted(pairing.away):
        if index in flagged:
            call, _ = pairing.answers[index, k]
            if outlines[index].turn == "model":  # the provider's own: it belongs into the model's message
                moves.setdefault(index, {}).setdefault(-1, []).append(k)
            else:
                moves.setdefault(index, {}).setdefault(work.turn_end(outlines, call), []).append(k)
    groups = []
    inside: list[tuple[Place, Loose]] = []
    gone = {index: {k for places in targets.values() for k in places} for index, targets in moves.items()}
    for index, targets in moves.items():
        entry, ties = work.entries[index], outlines[index].ties
        whole = entry.message
        ks = sorted(gone[index])
        entry.message, pieces = work.mender.take(whole, gone[index])
        for end, places in targets.items():
            loose = Loose([pieces[k] for k in places], whole if entry.message is None and len(targets) == 1 else None)
            if end >= 0:
                groups.append((end, entry.origin, loose))
            else:
                inside += [(pairing.answers[index, k], Loose([pieces[k]])) for k in places]
        work.tell("moved_result", entry.origin, "a late result was moved to right behind its call", (ties[k].id for k in ks))
    for (index, k), loose in sorted(inside, key=lambda each: each[0], reverse=True):
        before = sum(other < k for other in gone.get(index, ()))
        work.entries[index].message = work.mender.insert(work.entries[index].message, k - before, loose)
    work.put(groups)
    work.compact()


def _dead(work: _Work) -> None:
    """Calls without a result get one that says so; those of the provider's own tools go, as nobody else can answer them."""
    flagged = work.places("unanswered_call")
    if not flagged:
        return
    outlines = work.outlines()
    turns = {work.turn_end(outlines, index) for index in flagged}
    callers = {tie.caller for outline in outlines for tie in outline.ties}
    dead: dict[int, list[int]] = {}
    pairing = work.pairing(outlines)
    for index, k in sorted(pairing.dead):
        if work.turn_end(outlines, index) in turns:
            dead.setdefault(index, []).append(k)
    groups = []
    for index, ks in dead.items():
        entry, ties = work.entries[index], outlines[index].ties
        made = {k: answer for k in ks if (answer := work.mender.answer(entry.message, k, ties[k])) is not None}
        if made:
            work.tell("answered_call", entry.origin, "a call without a result was answered with an error", (ties[k].id for k in made))
            groups.append((work.turn_end(outlines, index), entry.origin, Loose(list(made.values()))))
        gone = {k for k in ks if k not in made}
        for k in sorted(gone):
            if (ties[k].family, ties[k].id) in callers:
                _called_by(work, outlines, pairing, (index, k), None)
        _take_out(work, index, ties, gone, "dropped_call", "a call that only its provider could have answered was dropped")
    work.put(groups)
    work.compact()


def _results_first(work: _Work) -> None:
    """Results to the front of their message; where more results follow, all else goes behind those, as the messages are one turn."""
    flagged = work.places("text_before_result")
    if not flagged:
        return
    turns = [outline.turn for outline in work.outlines()]
    for index in reversed(flagged):
        entry, last = work.entries[index], index
        while last + 1 < len(turns) and turns[last + 1] == "result":
            last += 1
        entry.message, rest = work.mender.parted(entry.message)
        results, behind = work.mender.parted(work.entries[last].message)
        # In the order in which it was said.
        for more in (rest, behind):
            results = results if more is None else work.mender.join(results, more)
        work.entries[last].message = results
        work.tell("moved_result", entry.origin, "results were moved in front of what else the message says")


def _drop_reasoning(work: _Work) -> None:
    flagged = work.places("reasoning_without_follower")
    if work.entries and work.entries[-1].message is not work.last:
        # At the end it may wait for its item, unless that was there and had to go.
        behind = len(work.entries)
        while behind and work.mender.is_reasoning(work.entries[behind - 1].message):
            behind -= 1
        flagged = sorted({*flagged, *range(behind, len(work.entries))})
    for index in flagged:
        entry = work.entries[index]
        entry.message = None
        work.tell("dropped_message", entry.origin, "reasoning without the item that it led to was dropped")
    work.compact()


def _systems(work: _Work) -> None:
    """System messages to where they may stand: in front of the next turn of the model's, or the end."""
    flagged = work.places("misplaced_system")
    if not flagged:
        return
    outlines = work.outlines()
    if all(outline.turn == "system" for outline in outlines):
        _begin(work, 0)
        return
    ends = {}
    for index in flagged:
        model = (k for k in range(index, len(outlines)) if outlines[k].turn == "model" and outlines[max(k - 1, 0)].turn != "system")
        ends[index] = next((k for k in model if any(outline.turn != "system" for outline in outlines[:k])), len(outlines))
    moved: dict[int, list[_Entry]] = {}
    for index, end in ends.items():
        moved.setdefault(end, []).append(work.entries[index])
        work.tell("moved_message", work.entries[index].origin, "a system message was moved to where it may stand")
    entries: list[_Entry] = []
    for index in range(len(outlines) + 1):
        entries += moved.get(index, [])
        entries += [] if index in ends or index == len(outlines) else [work.entries[index]]
    work.entries = entries


def _triggers(work: _Work) -> None:
    """A trigger moves to the end, where one is enough, and none may stand behind calls that wait for their results."""
    flagged = work.places("misplaced_trigger")
    if not flagged:
        return
    last = work.entries[flagged[-1]]
    is_there = work.mender.is_trigger(work.entries[-1].message)
    is_live = bool(work.places("pending_call"))
    for index in flagged:
        entry = work.entries[index]
        if entry is last and not (is_there or is_live):
            work.tell("moved_message", entry.origin, "a compaction trigger was moved to the end")
        else:
            why = "calls wait for their results" if is_live else "there is one"
            work.tell("dropped_message", entry.origin, f"a compaction trigger was dropped, as at the end {why}")
    kept = [entry for index, entry in enumerate(work.entries) if index not in flagged]
    work.entries = kept if is_there or is_live else [*kept, last]


def _join(work: _Work) -> None:
    """Neighbours of one role become one message."""
    flagged = set(work.places("repeated_role"))
    entries: list[_Entry] = []
    for index, entry in enumerate(work.entries):
        if index in flagged and entries:
            work.tell("joined_messages", entry.origin, "a message was joined to the one before it, which has the same role")
            entries[-1] = _Entry(entries[-1].origin, work.mender.join(entries[-1].message, entry.message))
        else:
            entries.append(entry)
    work.entries = entries


def _first(work: _Work) -> None:
    for index in work.places("first_not_user")[:1]:
        _begin(work, index)


def _begin(work: _Work, index: int) -> None:
    """A turn of the user's, as a conversation must begin with one."""
    entry = work.entries[index]
    work.entries.insert(index, _Entry(entry.origin, work.mender.user(RESUMED, entry.message)))
    work.tell("added_turn", entry.origin, "a turn of the user's was put in front")


def _marks(work: _Work) -> None:
    if not work.places("too_many_cache_marks"):
        return
    for index, message in work.mender.unmarked([entry.message for entry in work.entries]).items():
        work.entries[index].message = message
        work.tell("dropped_field", work.entries[index].origin, "a cache mark was dropped: the last four stay")


_STEPS: tuple[Callable[[_Work], None], ...] = (
    _alone,
    _ids,
    _orphans,
    _late,
    _dead,
    _results_first,
    _triggers,
    _drop_reasoning,
    _first,
    _systems,
    _join,
    _marks,
)
