"""The cap on an observation, for the reference twin: section 3.3 of ``docs/rules.md`` in plain Python."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from .graphemes import ceil, floor
from .report import PartCut
from .wire.common import Piece

__all__ = ["cap", "cap_thena", "chars_capped"]

_MARKERS = {"head": "\n… [truncated]", "tail": "… [truncated]\n", "head_tail": "\n… [truncated]\n"}


def cap(texts: Sequence[Piece], most: int, keep: str) -> tuple[PartCut, ...]:
    """How the texts of an observation are cut to at most ``most`` code points, marker included; no cuts if they are not longer."""
    if sum(map(_length, texts)) <= most:
        return ()
    marker = _MARKERS[keep]
    room = most - len(marker)
    if room < 0:
        return _first_code_points(texts, most, "")
    front = {"head": room, "tail": 0, "head_tail": -(-room // 2)}[keep]
    return _front_and_back(texts, front, room - front, marker, spare=-1 if keep == "tail" else 0)


def cap_thena(texts: Sequence[Piece], most: int) -> tuple[PartCut, ...]:
    """ThenaJS's cap: the first ``most`` code points, and the marker on top."""
    return _first_code_points(texts, most, _MARKERS["head"]) if sum(map(_length, texts)) > most else ()


def chars_capped(texts: Sequence[Piece], cuts: Sequence[PartCut]) -> int:
    """How many characters go from an observation; its marker is set off against them."""
    left = {piece.path: _length(piece) for piece in texts}
    items = {piece.item: piece.path for piece in texts}
    for cut in cuts:
        left[items[cut.path] if cut.dropped else cut.path] = 0 if cut.dropped else cut.head + len(cut.marker) + cut.tail
    return max(0, sum(map(_length, texts)) - sum(left.values()))


def _length(piece: Piece) -> int:
    return len(piece.text)


def _dropped(piece: Piece) -> PartCut:
    """Nothing is left of a text: its item goes, or where it is in no list it stays, empty."""
    return PartCut(piece.path if piece.item is None else piece.item, 0, 0, "", dropped=piece.item is not None)


def _first_code_points(parts: Sequence[Piece], most: int, marker: str) -> tuple[PartCut, ...]:
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
            cuts.append(PartCut(part.path, own, 0, here, dropped=False) if own or here else _dropped(part))
        left -= own
    return tuple(cuts)


def _front_and_back(parts: Sequence[Piece], front: int, back: int, marker: str, spare: int) -> tuple[PartCut, ...]:
    """Keeps at most ``front`` code points of the joined texts' front and ``back`` of their end, with the marker between.

    ``spare`` is the text that becomes the marker alone where nothing of any text stays.
    """
    ends = list(itertools.accumulate(_length(part) for part in parts))
    starts = [end - _length(part) for part, end in zip(parts, ends, strict=True)]
    # The front piece ends in text p, the back piece begins in text q; both give way to the edge of a grapheme cluster.
    p = max(k for k, start in enumerate(starts) if start <= front)
    q = min(k for k, end in enumerate(ends) if end >= ends[-1] - back)
    front_end = starts[p] + floor(parts[p].text, front - starts[p])
    back_start = starts[q] + ceil(parts[q].text, ends[-1] - back - starts[q])
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
            cuts.append(PartCut(part.path, head, tail, marker, dropped=False))
        elif head + tail == 0:
            if p <= k <= q or _length(part) > 0:  # an empty text in front of p or behind q was whole and stays so
                cuts.append(_dropped(part))
        elif head + tail < _length(part):
            cuts.append(PartCut(part.path, head, tail, "", dropped=False))
    return tuple(cuts)
