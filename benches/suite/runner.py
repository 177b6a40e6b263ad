"""Runs each peer in a process of its own, and stops it where it takes too long: that is recorded, not left out."""

from __future__ import annotations

import importlib.metadata
import json
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from .cells import Cell
from .inputs import CEILINGS, FIXED, HALF, LENGTHS
from .peer import Peer

BENCHES = Path(__file__).resolve().parents[1]
PATIENCE = 120.0
"""Seconds for what is not timed: imports, histories, other rounds."""

Row = dict[str, Any]


def plan(smoke: bool) -> list[Cell]:
    """What is asked of each peer, short ones first: who is stopped at one length is not asked for a longer one."""
    if smoke:
        return [Cell("warm", 10, HALF, 0.02), Cell("warm", 100, HALF, 0.02), Cell("loop", 12, FIXED)]
    spent = {10: (0.03, 4), 100: (0.08, 3), 1_000: (0.3, 2), 10_000: (0.2, 1)}
    cells = [Cell("warm", length, ceiling, *spent[length]) for ceiling in CEILINGS for length in LENGTHS]
    return [*cells, *(Cell("cold", length, HALF, 0.3) for length in (100, 1_000)), Cell("loop", 200, FIXED)]


def absent(package: str) -> str:
    """Why a peer cannot be asked; nothing where it can."""
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        # The core may lie on the path without being installed.
        return "" if package == "backcut" else f"{package} is not installed"
    return ""


def measure(peer: type[Peer], cells: Sequence[Cell], limit: float) -> Iterator[Row]:
    """A row for each cell, whatever happens."""
    missing = absent(peer.package)
    if missing:
        yield {"peer": peer.name, "absent": missing}
        return
    pending = list(cells)
    while pending:
        failed = ""
        for row, left in _process(peer.name, pending, limit):
            pending = left
            failed = row.get("error", "") if row.get("died") else ""
            yield row if "error" in row or "timeout" in row else summary(row)
        if failed:  # it will not do better with another cell
            yield from ({"peer": peer.name} | asdict(cell) | {"error": failed} for cell in pending)
            return


def _process(peer: str, cells: list[Cell], limit: float) -> Iterator[tuple[Row, list[Cell]]]:
    """The rows of one process, each with what is left to do; it ends early where it is stopped or dies."""
    lines: queue.Queue[str] = queue.Queue()
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (str(BENCHES), os.environ.get("PYTHONPATH"))))}
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as noise,
        subprocess.Popen(_command(peer, cells), env=env, stdout=subprocess.PIPE, stderr=noise, text=True) as child,
    ):
        assert child.stdout is not None
        threading.Thread(target=_forward, args=(child.stdout, lines), daemon=True).start()
        left, patience = list(cells), PATIENCE
        while left:
            now = left[0]
            base = {"peer": peer} | asdict(now)
            try:
                line = lines.get(timeout=patience)
            except queue.Empty:
                child.kill()
                yield base | {"timeout": patience}, (left := left[1:])
                for cell in [cell for cell in left if (cell.kind, cell.ceiling) == (now.kind, now.ceiling)]:
                    left.remove(cell)
                    yield {"peer": peer} | asdict(cell) | {"timeout": patience, "tried": now.length}, list(left)
                return
            if not line:
                noise.seek(0)
                said = noise.read().strip().splitlines() or [f"exit code {child.wait()}"]
                yield base | {"error": said[-1][:160], "died": True}, left[1:]
                return
            told = json.loads(line)
            if told.pop("event") == "done":
                left = left[1:]
                yield {"peer": peer} | told, list(left)
                patience = PATIENCE
            else:
                patience = PATIENCE if line.startswith('{"event": "prepare"') else limit * (3 if now.kind == "loop" else 1)


def _command(peer: str, cells: list[Cell]) -> list[str]:
    return [sys.executable, "-m", "suite.cells", peer, json.dumps([asdict(cell) for cell in cells])]


def _forward(source: IO[str], lines: queue.Queue[str]) -> None:
    for line in source:
        if line.startswith('{"event"'):  # peers print, too
            lines.put(line)
    lines.put("")


def spread(values: Sequence[float]) -> dict[str, float]:
    """The median, and from where to where the middle 80 % lie."""
    tenths = statistics.quantiles(values, n=10, method="inclusive") if len(values) > 1 else [values[0]] * 9
    return {"median": statistics.median(values), "low": tenths[0], "high": tenths[-1]}


def summary(row: Row) -> Row:
    """The row with medians in the place of rounds."""
    if "theirs" not in row:
        return row
    loops, ours, theirs = row.pop("loop"), row.pop("ours"), row.pop("theirs")
    verdicts = row.pop("verdicts")
    faults = sorted({fault for verdict in verdicts for fault in verdict["faults"]})
    return row | {
        "rounds": len(theirs),
        "seconds": spread(theirs),
        "per_loop": spread([a / b for a, b in zip(theirs, loops, strict=True)]),
        "per_backcut": spread([a / b for a, b in zip(theirs, ours, strict=True)]),
        "right": sum(verdict["right"] for verdict in verdicts),
        "of": len(verdicts),
        "faults": faults,
        "share": statistics.median(verdict["share"] for verdict in verdicts),
    }
