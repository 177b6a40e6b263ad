"""Two runs of ``side_by_side.py``: ``python benches/compare.py BEFORE.json AFTER.json``.

Compared are ratios, never times: of the peers' rows those to the bare loop. A change counts where the middle 80 % of both runs lie
apart, and by half as much again where there were less than five rounds. The exit code is 1 when an answer of backcut is wrong that
was right before.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="two runs of side_by_side.py: what became faster, slower, right or wrong.")
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--all", action="store_true", help="the rows that did not change, too")
    asked = parser.parse_args(argv)
    before, after = (json.loads(path.read_text(encoding="utf-8")) for path in (asked.before, asked.after))
    for name in sorted(before["facts"].keys() | after["facts"].keys()):
        if before["facts"].get(name) != after["facts"].get(name):
            print(f"{name}: {before['facts'].get(name)} → {after['facts'].get(name)}")
    lines = [line for line in changes(before, after) if asked.all or line[1] != "same"]
    for what, mark, told in lines:
        print(f"{mark:8}  {what}: {told}")
    print(f"{len(lines)} rows told" if lines else "nothing changed beyond the spread")
    return int(any(mark == "WRONG" and what.startswith("backcut") for what, mark, _ in lines))


def keyed(found: Row) -> dict[str, Row]:
    """Every row by what it says that it is."""
    rows = {f"{row['peer']}, {row['kind']}, {row['length']} messages, {row['ceiling']}": row for row in found["rows"] if "kind" in row}
    rows |= {f"backcut trim_json, {row['length']} messages, {row['unit']}": row | {"per_loop": row["per_copy"]} for row in found["bodies"]}
    return rows


def state(row: Row) -> str:
    """How its answer is, in a word or two."""
    if "error" in row:
        return "error"
    if "timeout" in row:
        return "stopped"
    return "wrong" if row.get("faults") else "right"


def changes(before: Row, after: Row) -> Iterator[tuple[str, str, str]]:
    """What, a mark, and the figures; rows that only one of them has are told as such."""
    old, new = keyed(before), keyed(after)
    for what in [*old, *(name for name in new if name not in old)]:
        if what not in old or what not in new:
            yield what, "new" if what in new else "gone", state(new.get(what) or old[what])
            continue
        a, b = old[what], new[what]
        if state(a) != state(b):
            yield what, "WRONG" if state(b) != "right" else "right", f"{state(a)} → {state(b)}: {', '.join(b.get('faults', ()))}"
            continue
        if "per_loop" not in a or "per_loop" not in b:
            continue
        x, y = a["per_loop"], b["per_loop"]
        slack = 1.5 if min(a.get("rounds", 99), b.get("rounds", 99)) < 5 else 1.0
        mark = "slower" if y["low"] > x["high"] * slack else "faster" if y["high"] * slack < x["low"] else "same"
        yield what, mark, f"{x['median']:.3g}× → {y['median']:.3g}× ({y['median'] / x['median'] - 1:+.0%})"


if __name__ == "__main__":
    sys.exit(main())
