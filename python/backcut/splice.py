"""A plan, carried out on the text of a request, for the reference twin: only what changes is written, all else stays byte for byte.

The rules are those of ``docs/json.md``; what is written says the same as what :mod:`backcut.edit` builds of objects.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from .document import Node, characters
from .edit import block, cut_value, fold_into, fold_place
from .report import PartCut, Plan

__all__ = ["Piece", "joined", "splice"]

Piece: TypeAlias = tuple[int, int] | bytes
"""A place in the text, or bytes that are new."""

_Path: TypeAlias = tuple[str | int, ...]
_Cuts: TypeAlias = Sequence[tuple[_Path, PartCut]]

_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPED = re.compile('["\\\\\x00-\x1f\ud800-\udfff]')
_ESCAPED_IN_ASCII = re.compile('["\\\\]|[^ -~]')


def splice(text: bytes, messages: Node, plan: Plan) -> tuple[Piece, ...]:
    """The pieces of the text in which the messages, an array, are as ``plan`` says."""
    return _tidy(_Splice(text, messages, plan).pieces())


def joined(text: bytes, pieces: Sequence[Piece]) -> bytes:
    """The text that the pieces are."""
    return b"".join(piece if isinstance(piece, bytes) else text[slice(*piece)] for piece in pieces)


def _tidy(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """The same without empty ones, and with neighbours as one where they can be."""
    tidy: list[Piece] = []
    for piece in pieces:
        last = tidy[-1] if tidy else None
        if isinstance(piece, bytes):
            if isinstance(last, bytes):
                tidy[-1] = last + piece
            elif piece:
                tidy.append(piece)
        elif isinstance(last, tuple) and last[1] == piece[0]:
            tidy[-1] = last[0], piece[1]
        elif piece[0] < piece[1]:
            tidy.append(piece)
    return tuple(tidy)


@dataclass(frozen=True, slots=True)
class _Style:
    """How what is new is written: as the text around it is."""

    is_ascii: bool
    """Whether the text has nothing else."""
    is_spaced: bool
    """Whether the first message has a space behind its first colon."""

    @property
    def comma(self) -> bytes:
        return b", " if self.is_spaced else b","

    @property
    def colon(self) -> bytes:
        return b": " if self.is_spaced else b":"

    def text(self, text: str) -> bytes:
        """A text, without quotes. A lone surrogate, which UTF-8 does not have, is an escape in any case."""
        return (_ESCAPED_IN_ASCII if self.is_ascii else _ESCAPED).sub(lambda sign: _escape(sign[0]), text).encode()

    def value(self, value: Any) -> bytes:
        """A text, a list or a mapping."""
        if isinstance(value, str):
            return b'"' + self.text(value) + b'"'
        if isinstance(value, list):
            return b"[" + self.comma.join(map(self.value, value)) + b"]"
        return b"{" + self.comma.join(self.value(key) + self.colon + self.value(item) for key, item in value.items()) + b"}"


def _escape(sign: str) -> str:
    units = sign.encode("utf-16-be", "surrogatepass").hex()
    return _SHORT.get(sign) or "".join(f"\\u{units[k : k + 4]}" for k in range(0, len(units), 4))


class _Splice:
    def __init__(self, text: bytes, messages: Node, plan: Plan) -> None:
        self._text = text
        self._nodes = messages.items
        self._plan = plan
        spaced = any(not text.startswith(b":", value.begin - 1) for value in messages.items[0].items[:1])
        self._style = _Style(text.isascii(), spaced)

    def pieces(self) -> list[Piece]:
        """All of the text."""
        plan, nodes, notice = self._plan, self._nodes, self._plan.notice
        cuts = {edit.index: edit.cuts for edit in plan.edits}
        written: list[tuple[int | None, list[Piece]]] = []
        for place, index in enumerate(plan.kept):
            fold = notice is not None and notice.folded and notice.at == place
            where = fold_place(nodes[index].value, plan.report.format) if fold else None
            written.append((index, self._write(nodes[index], [(cut.path, cut) for cut in cuts.get(index, ())], where, None)))
        if notice is not None and not notice.folded:
            written.insert(notice.at, (None, [self._style.value({"role": notice.role, "content": notice.text})]))
        pieces: list[Piece] = [(0, nodes[0].begin)]
        before: int | None = None
        for later, own in written:
            if len(pieces) > 1:
                pieces.append(self._joint(nodes, 1 if before is None or later is None else later))
            pieces += own
            before = later
        return [*pieces, (nodes[-1].end, len(self._text))]

    def _joint(self, nodes: Sequence[Node], later: int) -> Piece:
        """What stands in front of an item that has one before it."""
        return (nodes[later - 1].end, nodes[later].begin) if later < len(nodes) else self._style.comma

    def _write(self, node: Node, cuts: _Cuts, fold: _Path | None, key: str | int | None) -> list[Piece]:
        """What stands at ``key``, with cuts by path from there, and the notice folded in at a path."""
        own = next((cut for path, cut in cuts if not path), None)
        notice = self._notice if fold == () else None
        if not cuts and fold is None:
            return [(node.begin, node.end)]
        if isinstance(node.value, str):
            return self._string(node, own, notice)
        if own is not None:
            return [self._style.value(cut_value(node.value, own, key))]
        if node.value and isinstance(node.value, list):
            return self._list(node, cuts, fold)
        if isinstance(node.value, dict):
            return self._object(node, cuts, fold)
        return [self._folded(node.value)]  # null, or a list without anything in it

    def _string(self, node: Node, cut: PartCut | None, notice: str | None) -> list[Piece]:
        front = b"" if notice is None else self._style.text(f"{notice}\n\n")
        pieces: list[Piece] = [(node.begin, node.begin + 1), front]
        if cut is None:
            return [*pieces, (node.begin + 1, node.end)]
        at = characters(self._text, node)
        return [*pieces, (at[0], at[cut.head]), self._style.text(cut.marker), (at[len(at) - 1 - cut.tail], node.end)]

    def _list(self, node: Node, cuts: _Cuts, fold: _Path | None) -> list[Piece]:
        items = node.items
        gone = {path[0] for path, cut in cuts if len(path) == 1 and cut.dropped}
        left = [k for k in range(len(items)) if k not in gone]
        if not left:
            return [b"[]" if fold is None else self._folded([])]
        pieces: list[Piece] = [(node.begin, items[0].begin)]
        if fold == ():
            pieces += [self._style.value(block(self._notice, self._plan.report.format)), self._joint(items, 1)]
        for place in left:
            if place != left[0]:
                pieces.append(self._joint(items, place))
            pieces += self._write(items[place], *_inside(place, cuts, fold), place)
        return [*pieces, (items[-1].end, node.end)]

    def _object(self, node: Node, cuts: _Cuts, fold: _Path | None) -> list[Piece]:
        pieces: list[Piece] = []
        at = node.begin
        for key, item in zip(node.keys, node.items, strict=True):
            pieces += [(at, item.begin), *self._write(item, *_inside(key, cuts, fold), key)]
            at = item.end
        if fold and fold[0] not in node.keys:
            name = self._style.value(str(fold[0])) + self._style.colon
            pieces.append((self._style.comma if node.keys else b"") + name + self._folded(None))
        return [*pieces, (at, node.end)]

    @property
    def _notice(self) -> str:
        return "" if self._plan.notice is None else self._plan.notice.text

    def _folded(self, nothing: Any) -> bytes:
        """The notice where nothing was: null, or an empty list."""
        return self._style.value(fold_into(nothing, self._notice, self._plan.report.format))


def _inside(key: str | int, cuts: _Cuts, fold: _Path | None) -> tuple[_Cuts, _Path | None]:
    """Of cuts, and of the place of a notice, what lies behind a key."""
    return [(path[1:], cut) for path, cut in cuts if path[0] == key], fold[1:] if fold and fold[0] == key else None
