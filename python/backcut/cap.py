"""The cap on an observation, for the reference twin: section 3.3 of ``docs/rules.md`` in plain Python."""

from __future__ import annotations

import itertools
from dataclasses import replace

from .facts import Facts, Part
from .graphemes import ceil, floor
from .report import PartCut

__all__ = ["cap", "cap_thena", "capped", "texts_under_cap"]

_MARKERS = {"head": "\n… [truncated]", "tail": "… [truncated]\n", "head_tail": "\n… [truncated]\n"}


def texts_under_cap(facts: Facts) -> list[Part]:
    """The parts of an observation whose texts share its cap."""
    return [part for part in facts.content or () if part.text is not None]


def cap(facts: Facts, most: int, keep: str) -> tuple[PartCut, ...]:
    """How an observation is cut to at most ``most`` code points, marker included; no cuts if it is not longer."""
    parts = texts_under_cap(facts)
    total = sum(_length(part) for part in parts)
    if total <= most:
        return ()
    marker = _MARKERS[keep]
    room = most - len(marker)
    if room < 0:
        return _first_code_points(parts, most, "")
    front = {"head": room, "tail": 0, "head_tail": -(-room // 2)}[keep]
    return _front_and_back(parts, front, room - front, marker, spare=-1 if keep == "tail" else 0)


def cap_thena(facts: Facts, most: int) -> tuple[PartCut, ...]:
    """ThenaJS's cap: the first ``most`` code points, and the marker on top."""
    parts = texts_under_cap(facts)
    if sum(_length(part) for part in parts) <= most:
        return ()
    return _first_code_points(parts, most, _MARKERS["head"])


def _length(part: Part) -> int:
    return len(part.text or "")


def _first_code_points(parts: list[Part], most: int, marker: str) -> tuple[PartCut, ...]:
    """Keeps the first ``most`` code points of the joined texts; the marker stands at the end of what is left, however little."""
    kept, left = [], most
    for part in parts:
        kept.append(min(left, _length(part)))
        left -= kept[-1]
    marked = max((k for k, own in enumerate(kept) if own > 0), default=0) if marker else -1
    cuts, left = [], most
    for k, (part, own) in enumerate(zip(parts, kept, strict=True)):
        here = marker if k == marked else ""
        if left == 0 or own < _length(part) or here:
            gone = own == 0 and not here and part.place is not None
            cuts.append(PartCut(part.place, own, 0, here, dropped=gone))
        left -= own
    return tuple(cuts)


def _front_and_back(parts: list[Part], front: int, back: int, marker: str, spare: int) -> tuple[PartCut, ...]:
    """Keeps at most ``front`` code points of the joined texts' front and ``back`` of their end, with the marker between.

    ``spare`` is the text that becomes the marker alone where nothing of any text stays.
    """
    ends = list(itertools.accumulate(_length(part) for part in parts))
    starts = [end - _length(part) for part, end in zip(parts, ends, strict=True)]
    # The front piece ends in text p, the back piece begins in text q; both give way to the edge of a grapheme cluster.
    p = max(k for k, start in enumerate(starts) if start <= front)
    q = min(k for k, end in enumerate(ends) if end >= ends[-1] - back)
    front_end = starts[p] + floor(parts[p].text or "", front - starts[p])
    back_start = starts[q] + ceil(parts[q].text or "", ends[-1] - back - starts[q])
    heads = [max(0, min(front_end, end) - start) for start, end in zip(starts, ends, strict=True)]
    tails = [max(0, end - max(back_start, start)) for start, end in zip(starts, ends, strict=True)]
    if any(heads):
        marked = max(k for k, head in enumerate(heads) if head)
    elif any(tails):
        marked = min(k for k, tail in enumerate(tails) if tail)
    else:
        marked = range(len(parts))[spare]
    cuts = []
    for k, (part, head, tail) in enumerate(zip(parts, heads, tails, strict=True)):
        if k == marked:
            cuts.append(PartCut(part.place, head, tail, marker, dropped=False))
        elif head + tail == 0:
            if p <= k <= q or _length(part) > 0:  # an empty text in front of p or behind q was whole and stays so
                cuts.append(PartCut(part.place, 0, 0, "", dropped=True))
        elif head + tail < _length(part):
            cuts.append(PartCut(part.place, head, tail, "", dropped=False))
    return tuple(cuts)


def capped(facts: Facts, cuts: tuple[PartCut, ...]) -> Facts:
    """The observation as it is sent."""
    by_place = {cut.part: cut for cut in cuts}
    parts = []
    for part in facts.content or ():
        cut = by_place.get(part.place)
        if cut is None or part.text is None:
            parts.append(part)
        elif not cut.dropped:
            text = part.text[: cut.head] + cut.marker + part.text[len(part.text) - cut.tail :]
            parts.append(replace(part, text=text))
    return replace(facts, content=tuple(parts))
