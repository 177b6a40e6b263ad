"""What the reference twin finds wrong in a history: section 9 of ``docs/rules.md``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from .report import Violation
from .wire import CODES, Format, Reader
from .wire.common import Outline, read_history
from .wire.pairing import again, pair

__all__ = ["check"]


def check(messages: Any, format: str) -> list[Violation]:
    """What a provider would refuse: section 9."""
    history = read_history(messages)
    reader = Reader(history, format)
    facts = reader.read_all(history)
    if not facts:
        return [Violation("empty_history", 0, "there is no message", ())]
    # What is not sent neither calls nor answers; and what is no part of the conversation does not come between a call and its result.
    places = [index for index, read in enumerate(facts) if read.outline.sent or read.outline.turn != "system"]
    outlines = [facts[index].outline for index in places]
    outlines = [outline if outline.sent else replace(outline, ties=()) for outline in outlines]
    form = reader.format
    unpaired = _unpaired(outlines, form, places)
    found = [*form.flaws(history, facts), *_duplicates(outlines, form.merges, places), *unpaired]
    found = [violation._replace(ids=tuple(map(_shown, violation.ids))) for violation in found]
    return sorted(found, key=lambda violation: (violation.index, CODES.index(violation.code)))


def _shown(id: str) -> str:
    """An id that UTF-8 can say: each half of a surrogate pair as U+FFFD."""
    return re.sub("[\ud800-\udfff]", "\ufffd", id)


def _duplicates(outlines: Sequence[Outline], merges: bool, places: Sequence[int]) -> Iterator[Violation]:
    """Ids that calls of one turn share, each once. ``places``: where each message stands."""
    twice = [place for place, times in again(outlines, merges) if times == 2]
    for index, found in groupby(twice, key=lambda place: place[0]):
        yield Violation("duplicate_id", places[index], "two calls have the same id", _named([outlines[index].ties[k].id for _, k in found]))


def _unpaired(outlines: Sequence[Outline], form: Format, places: Sequence[int]) -> Iterator[Violation]:
    """Calls without results, and results that do not stand behind their call. ``places``: where each message stands."""
    pairing = pair(outlines, form.merges)
    for index, ids in pairing.unanswered.items():
        if all(outline.turn == "result" for outline in outlines[pairing.until[index] + 1 :]):
            yield Violation("pending_call", places[index], "a call has no result yet", _named(ids))
        else:
            yield Violation("unanswered_call", places[index], "a call has no result", _named(ids))
    ties = {(index, k): tie for index, outline in enumerate(outlines) for k, tie in enumerate(outline.ties)}
    away = sorted(place for place in pairing.away if ties[place].family not in form.takes_late)
    for index, late in groupby(away, key=lambda place: place[0]):
        first, *others = late
        sentence = f"this result does not stand behind its call in messages[{places[pairing.answers[first][0]]}]"
        yield Violation("late_result", places[index], sentence, _named([ties[place].id for place in (first, *others)]))
    # What is referred to may be the call.
    seen = next((index for index, outline in enumerate(outlines) if outline.refers), len(outlines))
    for index, ids in pairing.orphans.items():
        if index < seen:
            yield Violation("orphan_result", places[index], "this result answers no call", _named(ids))


def _named(ids: Sequence[str | None]) -> tuple[str, ...]:
    return tuple(name for name in ids if name is not None)
