"""backcut and its peers side by side, each row with whether the answer was right: ``python benches/side_by_side.py``.

Writes raw figures, tables and pictures into docs/performance/, or where ``--into`` says. ``compare.py`` compares two runs. The
exit code is 1 when an answer of backcut is wrong.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import report
from conversations import ROOT, load
from peers import provide_vocabularies, token_count
from suite import extra, figures, money, page, runner
from suite.judge import counter
from suite.peers import PEERS


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="backcut and its peers side by side, each row with whether the answer was right.")
    parser.add_argument("--smoke", action="store_true", help="seconds: does it work at all; needs --into")
    parser.add_argument("--only", nargs="+", metavar="WORD", default=[], help="peers whose name has one of these words")
    parser.add_argument("--limit", type=float, default=4.0, metavar="S", help="seconds after which one call of a peer is stopped (4)")
    parser.add_argument("--no-targets", action="store_true", help="leave out run.py and tokens.py")
    parser.add_argument("--machine", default="", metavar="WORDS", help="what kind of machine this is, for the captions")
    parser.add_argument("--into", type=Path, default=ROOT / "docs" / "performance", metavar="FOLDER", help="(docs/performance)")
    parser.add_argument("--again", action="store_true", help="measure nothing: write tables and pictures of results.json again")
    asked = parser.parse_args(argv)
    results = asked.into / "results.json"
    if asked.again:
        found = json.loads(results.read_text(encoding="utf-8"))
    else:
        found = measured(asked)
        results.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for name, picture in figures.all_of(found).items():
        (asked.into / f"{name}.svg").write_text(picture, encoding="utf-8")
    page.write(found, asked.into)
    wrong = [f"{row['peer']}, {row['length']} messages, {row['ceiling']}: {', '.join(row['faults'])}" for row in page.own_faults(found)]
    versions = ", ".join(f"{name} {value}" for name, value in found["facts"].items())
    print("\n".join([versions, "", page.short(found), *(f"WRONG: {line}" for line in wrong)]))
    return int(bool(wrong))


def measured(asked: argparse.Namespace) -> dict[str, Any]:
    start = perf_counter()
    provide_vocabularies()
    talks, source = load()
    chosen = [peer for peer in PEERS if not asked.only or any(word.lower() in peer.name.lower() for word in asked.only)]
    rows = []
    for peer in chosen:
        for row in runner.measure(peer, runner.plan(asked.smoke), asked.limit):
            rows.append(row)
        print(f"  {perf_counter() - start:4.0f} s  {peer.name}", file=sys.stderr, flush=True)
    lengths = (100,) if asked.smoke else (100, 1_000, 10_000)
    packages = tuple(dict.fromkeys(["tiktoken", *(peer.package for peer in PEERS if peer.package != "backcut")]))
    # Beside tiktoken alone: what is asked is asked against it. The other libraries have a page of their own.
    counting = [] if asked.smoke or asked.no_targets else targets("tokens.py", "--rounds", "1", "--only", "backcut")
    found: dict[str, Any] = {
        "facts": report.machine(asked.machine, source, packages),
        "rows": rows,
        "money": money.steps(talks, 12 if asked.smoke else 200, counter(token_count())),
        "bodies": list(extra.bodies(talks, lengths, 20 if asked.smoke else 100)),
        "counts": list(extra.counts(talks, lengths[:2], 3 if asked.smoke else 9)),
        "targets": [] if asked.smoke or asked.no_targets else [*targets("run.py", "--rounds", "200", "--limit", "15"), *counting],
    }
    print(f"  {perf_counter() - start:4.0f} s  all", file=sys.stderr, flush=True)
    found["facts"]["took"] = f"{perf_counter() - start:.0f} s"
    return found


def targets(script: str, *options: str) -> list[dict[str, Any]]:
    """The rows of another benchmark for which something is asked, each with its verdict."""
    with tempfile.TemporaryDirectory(prefix="backcut-bench-") as folder:
        told = Path(folder) / "rows.json"
        command = [sys.executable, str(ROOT / "benches" / script), *options, "--json", str(told)]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if not told.is_file():
            return [{"what": script, "verdict": "not run", "note": (done.stderr.strip().splitlines() or ["no reason given"])[-1]}]
        rows = json.loads(told.read_text(encoding="utf-8"))["rows"]
    return [row | {"from": script} for row in rows if row["asked"] is not None]


if __name__ == "__main__":
    sys.exit(main())
