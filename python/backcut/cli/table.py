"""Tables and bars in plain text, as wide as the terminal."""

from __future__ import annotations

import shutil
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence

__all__ = ["bar", "number", "printable", "table", "width"]

_LEAST = 24
"""A last column is never wrapped to less than this many signs, whatever the terminal says."""


def width() -> int:
    """The columns of the terminal, 80 where there is none."""
    return shutil.get_terminal_size().columns or 80


def number(value: int | None) -> str:
    """A number with its thousands apart."""
    return "" if value is None else f"{value:,}"


def printable(text: str) -> str:
    """``text`` with what could steer a terminal escaped: it comes from whoever wrote the conversation."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def _columns(text: str) -> int:
    """How many columns of a terminal ``text`` takes."""
    wide = sum(unicodedata.east_asian_width(sign) in "WF" for sign in text)
    return len(text) + wide - sum(unicodedata.combining(sign) != 0 for sign in text)


def _padded(text: str, columns: int, right: bool) -> str:
    gap = " " * (columns - _columns(text))
    return gap + text if right else text + gap


def table(names: Sequence[str], rows: Iterable[Sequence[str]], right: str = "", total: int | None = None) -> str:
    """Rows under their names.

    Args:
        names: the columns, each headed by its name.
        rows: their cells; those of the last column are wrapped to what is left of the line.
        right: the names, separated by spaces, of the columns that are set flush right.
        total: columns of the line; those of the terminal if ``None``.
    """
    flush = [name in right.split() for name in names]
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(_columns, column)) for column in zip(names, *cells, strict=True)]
    before = sum(widths[:-1]) + 2 * (len(names) - 1)
    room = max((total or width()) - before, _LEAST)
    lines = []
    for row in [list(names), *cells]:
        *others, last = row
        start = "  ".join(_padded(cell, columns, flushed) for cell, columns, flushed in zip(others, widths, flush, strict=False))
        wrapped = [_padded(last, widths[-1], True)] if flush[-1] else textwrap.wrap(last, room) or [""]
        lines.append(f"{start}  {wrapped[0]}".rstrip())
        lines.extend(" " * before + more for more in wrapped[1:])
    return "\n".join(lines) + "\n"


def bar(part: int, whole: int, columns: int) -> str:
    """A bar of ``columns`` signs, filled as ``part`` fills ``whole``; what is there at all shows."""
    if not whole or columns < 1:
        return ""
    filled = min(columns, max(part > 0, round(columns * part / whole)))
    return "█" * filled + "░" * (columns - filled)
