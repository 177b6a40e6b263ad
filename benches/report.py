"""The table: rows, and how they are written."""

from __future__ import annotations

import dataclasses
import datetime
import importlib.metadata
import json
import os
import platform
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import backcut
from backcut import engine

PACKAGES = ("langchain-core", "litellm", "tiktoken")


@dataclass(frozen=True)
class Row:
    """One thing asked and what came of it."""

    what: str
    asked: float | None = None
    """The limit; ``None``: nothing is asked, it is told for information."""
    at_least: bool = False
    unit: str = "×"
    median: float | None = None
    low: float | None = None
    high: float | None = None
    """The middle of all rounds, and the tenth and the ninetieth part of them; ``None``: not measured."""
    more_than: bool = False
    """Whether the peer was stopped, so that the true ratio is higher."""
    wrong: str = ""
    """What is wrong with backcut's answer, if anything."""
    note: str = ""

    @property
    def verdict(self) -> str:
        if self.wrong:
            return "WRONG"
        if self.median is None:
            return "not run"
        if self.asked is None:
            return "–"
        held = self.median >= self.asked if self.at_least else self.median <= self.asked
        # A peer that was stopped before it had taken long enough proves nothing.
        return "pass" if held else "not proven" if self.more_than else "falls short"

    @property
    def answer(self) -> str:
        return "wrong" if self.wrong else "–" if self.median is None else "right"


def measured(row: Row, values: Sequence[float]) -> Row:
    """The row with its figures."""
    tenths = statistics.quantiles(values, n=10, method="inclusive") if len(values) > 1 else [values[0]] * 9
    return dataclasses.replace(row, median=statistics.median(values), low=tenths[0], high=tenths[-1])


def figure(value: float, unit: str) -> str:
    """With as many digits as say something."""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f}{' ' * (unit != '×')}{unit}"


def _cells(row: Row) -> list[str]:
    asked = (
        "–" if row.asked is None else f"{'≥' if row.at_least else '≤'} {figure(row.asked, row.unit).replace('.00', '').replace('.0', '')}"
    )
    if row.median is None or row.low is None or row.high is None:
        return [row.what, asked, "–", "–", row.verdict, row.answer]
    spread = "one run" if row.low == row.high else f"{figure(row.low, row.unit)} to {figure(row.high, row.unit)}"
    return [row.what, asked, f"{'> ' * row.more_than}{figure(row.median, row.unit)}", spread, row.verdict, row.answer]


HEADING = ["what", "asked", "measured", "spread (10–90 %)", "", "answer"]


def as_text(rows: Sequence[Row]) -> str:
    """For the terminal, with what there is to say below."""
    table = [HEADING, *map(_cells, rows)]
    widths = [max(len(line[k]) for line in table) for k in range(len(HEADING))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in table]
    lines.insert(1, "  ".join("-" * width for width in widths))
    notes = [f"{row.what}: {text}" for row in rows for text in (row.wrong, row.note) if text]
    return "\n".join([*lines, *([""] if notes else []), *notes])


def as_markdown(rows: Sequence[Row], facts: dict[str, str]) -> str:
    """For a document: the rows for which something is asked, where they were measured, and what there is to say."""
    asked = [row for row in rows if row.asked is not None]
    cells = [_cells(row)[:-1] for row in asked]
    table = [[*HEADING[:4], ""], ["---", "--:", "--:", "--:", "---"], *([a, b, f"**{c}**", d, e] for a, b, c, d, e in cells)]
    versions = ", ".join(
        f"{name} {facts[key]}" for key, name in (("python", "Python"), *zip(PACKAGES, PACKAGES, strict=True)) if key in facts
    )
    wrong = "; ".join(row.what for row in rows if row.wrong)
    return "\n".join(
        [
            f"`python benches/run.py`, {facts['date']}, on a {facts['machine']}: {versions}. Each figure is the",
            f"median of ratios within one run, over {facts['input']} joined to long ones; *loop* is",
            '`sum(len(m["content"] or "") for m in messages)` over the same list.',
            f"**Wrong answers: {wrong}.**" if wrong else "Every answer of backcut was sound and within its ceiling.",
            "",
            *("| " + " | ".join(line) + " |" for line in table),
            "",
            *(f"- {row.what}: {row.note}." for row in asked if row.note),
            "",
        ]
    )


def as_json(rows: Sequence[Row], facts: dict[str, str]) -> str:
    listed = [dataclasses.asdict(row) | {"verdict": row.verdict} for row in rows]
    return json.dumps({"facts": facts, "rows": listed}, indent=2, ensure_ascii=False) + "\n"


def update(path: Path, marker: str, text: str) -> None:
    """Puts ``text`` between ``<!-- marker -->`` and ``<!-- /marker -->``; the second is made where it is not there yet."""
    page = path.read_text(encoding="utf-8")
    block = f"<!-- {marker} -->\n\n{text}\n<!-- /{marker} -->"
    found = re.compile(rf"<!-- {marker} -->(?:.*?<!-- /{marker} -->)?", re.DOTALL)
    if not found.search(page):
        raise SystemExit(f"{path.name} has no place <!-- {marker} -->")
    path.write_text(found.sub(lambda _: block, page, count=1), encoding="utf-8")


def machine(kind: str, source: str, packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """What a figure depends on; nothing that tells whose machine it is."""
    facts: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "python": platform.python_version()
        + ("" if platform.python_implementation() == "CPython" else f" ({platform.python_implementation()})"),
        "system": f"{platform.system()} {platform.machine()}",
        "machine": kind or f"{os.cpu_count()}-core machine",
        "backcut": backcut.__version__ + (", twin in plain Python" if engine.PURE else ""),
        "input": source,
    }
    for name in packages:
        try:
            facts[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return facts
