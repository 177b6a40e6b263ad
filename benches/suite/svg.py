"""As much SVG as three pictures need: no library draws them, and they are the same on every machine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

OKABE_ITO = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7A7A00")
"""Colours that people with any kind of colour vision tell apart; the yellow, too pale on white, is darkened."""
SHAPES = ("circle", "square", "triangle", "diamond", "cross")
INK, PALE = "#222222", "#DDDDDD"


class Picture:
    """A white sheet, drawn on from the top left."""

    def __init__(self, width: float, height: float, title: str, caption: Sequence[str]) -> None:
        self.width, self.height = width, height + 16 * len(caption) + 8
        self._parts = [f'<rect width="{width:g}" height="{self.height:g}" fill="white"/>']
        self._title = title
        self.text(16, 24, title, size=15, weight="bold")
        for k, line in enumerate(caption):
            self.text(16, height + 16 * (k + 1) - 6, line, size=11, fill="#555555")

    def text(
        self, x: float, y: float, words: str, *, size: float = 12, anchor: str = "start", weight: str = "normal", fill: str = INK
    ) -> None:
        look = f'font-size="{size:g}" text-anchor="{anchor}" font-weight="{weight}" fill="{fill}"'
        self._parts.append(f'<text x="{x:.1f}" y="{y:.1f}" {look}>{escape(words)}</text>')

    def line(self, points: Sequence[tuple[float, float]], colour: str = INK, width: float = 1.0, dash: str = "") -> None:
        listed = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self._parts.append(f'<polyline points="{listed}" fill="none" stroke="{colour}" stroke-width="{width:g}"{dashed}/>')

    def box(self, x: float, y: float, width: float, height: float, colour: str, edge: str = "none") -> None:
        self._parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}" stroke="{edge}"/>')

    def mark(self, x: float, y: float, colour: str, shape: str = "circle", *, hollow: bool = False, size: float = 5.0) -> None:
        look = f'fill="{"white" if hollow else colour}" stroke="{colour}" stroke-width="1.6"'
        if shape == "circle":
            self._parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:g}" {look}/>')
            return
        if shape == "cross":
            self.line([(x - size, y - size), (x + size, y + size)], colour, 2)
            self.line([(x - size, y + size), (x + size, y - size)], colour, 2)
            return
        corners = {
            "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
            "triangle": ((0, -1.2), (1.1, 0.9), (-1.1, 0.9)),
            "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
        }[shape]
        listed = " ".join(f"{x + dx * size:.1f},{y + dy * size:.1f}" for dx, dy in corners)
        self._parts.append(f'<polygon points="{listed}" {look}/>')

    def __str__(self) -> str:
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" font-family="sans-serif" role="img">'
        return "\n".join([head, f"<title>{escape(self._title)}</title>", *self._parts, "</svg>", ""])


class Log:
    """A logarithmic axis: from values to places."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        self.low = math.floor(math.log10(min(values)))
        self.high = max(math.ceil(math.log10(max(values))), self.low + 1)
        self._start, self._end = start, end

    def __call__(self, value: float) -> float:
        return self._start + (math.log10(value) - self.low) / (self.high - self.low) * (self._end - self._start)

    def ticks(self) -> Iterator[float]:
        return (10.0**power for power in range(self.low, self.high + 1))


def times(value: float) -> str:
    """A ratio with as many digits as say something."""
    return f"{value:,.0f}×" if value >= 10 else f"{value:.1f}×" if value >= 1 else f"{value:.2g}×"


def duration(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1 or unit == "µs":
            value = seconds * factor
            return f"{value:,.0f} {unit}" if value >= 10 else f"{value:.1f} {unit}"
    raise AssertionError("the last unit takes all")
