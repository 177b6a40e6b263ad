"""Who counts tokens how fast, and whether the counts are right: ``python benches/tokens.py``.

It is not called tokenizers.py: a module of that name would hide the package that other trimmers import.
Exit code 1 when a count of backcut is wrong, 0 otherwise, however slow it was.
"""

from __future__ import annotations

import argparse
import base64
import dataclasses
import importlib.util
import json
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import peers
import report
import texts
from counters import BARE, LIBRARIES
from measure import fresh_python
from report import Row, figure, measured

WORKER = Path(__file__).with_name("counters.py")
REFERENCE, *OTHERS = LIBRARIES
OURS = "backcut"
KINDS = {"English": 6.0, "code": 8.0, "JSON": 15.0, "CJK and emoji": 4.0}
"""How many times as fast as the reference each must be on text that was never seen."""


@dataclass(frozen=True)
class Question:
    """A row: what is measured of each library, and what is asked of ours."""

    what: str
    key: str
    """Its name among the figures."""
    unit: str
    less_is_better: bool = False
    asked: float | None = None
    relative: bool = False
    """Whether it is a matter of times the reference, and ``asked`` too."""
    counts: tuple[str, ...] = ()
    """The counts that say whether it was done right."""
    compared: bool = True
    """Whether the best of the others is named."""
    control: str = ""
    """The figure that tells how much of it the machine gives at the moment."""

    @property
    def row(self) -> Row:
        unit = "×" if self.relative else self.unit
        return Row(self.what, asked=self.asked, at_least=self.relative or not self.less_is_better, unit=unit)


@dataclass
class Seen:
    """What was measured of one library: for each question a figure a round, and the counts."""

    figures: dict[str, list[float]] = field(default_factory=dict)
    counts: list[dict[str, list[int]]] = field(default_factory=list)
    failed: str = ""

    def note(self, figures: dict[str, float]) -> None:
        for key, value in figures.items():
            self.figures.setdefault(key, []).append(value)


QUESTIONS = (
    *(Question(f"{kind}, unseen", f"unseen {kind}", "MB/s", asked=asked, relative=True, counts=(kind,)) for kind, asked in KINDS.items()),
    *(Question(f"{kind}, equal strings again", f"again {kind}", "MB/s", asked=20.0, relative=True, counts=(kind,)) for kind in KINDS),
    *(Question(f"{kind}, known text cut elsewhere", f"recut {kind}", "MB/s", asked=20.0, relative=True, counts=(kind,)) for kind in KINDS),
    *(Question(f"{name}, unseen", name, "ms", True, 5.0, True, counts=(name,)) for name in texts.hard(0)),
    Question("message of 60 bytes, equal to one before", "short again", "ns", True, 12.0, True, counts=("short",)),
    Question("message of 60 bytes, new, of known words", "short recut", "ns", True, 12.0, True, counts=("short",)),
    Question("two threads / one, texts of 100 KB", "two threads, long", "×", asked=1.8, control="two threads, machine"),
    Question("two threads / one, texts of 2 KB", "two threads, short", "×"),
    Question("speed that another thread keeps during a long count", "other thread", "%", asked=80.0, control="other thread, machine"),
    Question("(the two threads, if they hash: what the machine gives now)", "two threads, machine", "×", compared=False),
    Question("(the other thread, if the first hashes)", "other thread, machine", "%", compared=False),
    Question("fresh process to the first count, less Python's own start, by the clock", "whole process", "ms", True, 30.0),
    Question("import, load and first count", "whole", "ms", True),
    Question("load and first count, without the import", "alone", "ms", True, 30.0),
    Question("memory that it adds by the first count", "first memory", "MB", True),
    Question("memory that it adds in a warm minute", "minute memory", "MB", True, 40.0),
    Question("size installed", "installed", "MB", True, compared=False),
)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Token counters side by side: ratios within one run, and whether the counts are right.")
    parser.add_argument("--smoke", action="store_true", help="one round over a tenth of the text: does it work at all")
    parser.add_argument("--encoding", default="o200k_base", choices=("o200k_base", "cl100k_base"))
    parser.add_argument("--rounds", type=int, default=7, metavar="N", help="processes of each library (7)")
    parser.add_argument(
        "--only", nargs="+", default=OTHERS, choices=OTHERS, metavar="LIBRARY", help=f"beside {REFERENCE}; of {', '.join(OTHERS)}"
    )
    parser.add_argument(
        "--minute", nargs="?", type=float, const=60.0, metavar="S", help="count for a minute (or S seconds) to see what memory it takes"
    )
    parser.add_argument("--wheel", type=Path, metavar="FILE", help="tell the size of this wheel too")
    parser.add_argument("--machine", default="", metavar="WORDS", help="what kind of machine this is, for the table")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there too")
    parser.add_argument("--markdown", action="store_true", help="print the table for a document")
    asked = parser.parse_args(argv)
    rounds = 1 if asked.smoke else asked.rounds

    try:
        peers.provide_vocabularies()
    except peers.Absent as absent:
        raise SystemExit(f"nothing to compare with: {absent}") from None
    chosen = [name for name in LIBRARIES if name in {REFERENCE, *asked.only}]
    missing = [name for name in chosen if importlib.util.find_spec(name) is None]
    seen = {name: Seen(failed="not installed" if name in missing else "") for name in chosen}
    kinds = texts.load()
    facts = report.machine(asked.machine, "; ".join(f"{name}: {kind.source}" for name, kind in kinds.items()), tuple(LIBRARIES.values()))
    facts |= {"encoding": asked.encoding, "rounds": str(rounds)} | dict.fromkeys((LIBRARIES[name] for name in missing), "not installed")
    if asked.wheel:
        facts["wheel"] = f"{asked.wheel.name}, {asked.wheel.stat().st_size / 1e6:.1f} MB"

    with tempfile.TemporaryDirectory(prefix="backcut-bench-") as scratch:
        bench = Bench(asked.encoding, Path(scratch), seen)
        bench.write_vocabulary()
        for turn in range(rounds):
            bench.write_turn(turn, kinds, share=0.1 if asked.smoke else 1.0)
            bench.speeds(turn)
        bench.starts(1 if asked.smoke else 11)
        if asked.minute:
            bench.minutes(asked.minute)
    for name, of_it in seen.items():
        if not of_it.failed:
            of_it.note({"installed": installed_size(name)})

    rows = [Line(question, seen) for question in QUESTIONS]
    wrong = [f"{line.question.what}: {line.ours.wrong}" for line in rows if line.ours.wrong]
    page = as_markdown(rows, facts) if asked.markdown else as_text(rows, facts)
    print("\n".join([page, *(f"{name}: {of_it.failed}" for name, of_it in seen.items() if of_it.failed), *wrong]))
    if asked.json:
        asked.json.write_text(json.dumps({"facts": facts, "rows": [line.as_dict() for line in rows]}, indent=2, ensure_ascii=False) + "\n")
    return int(bool(wrong))


# Measuring --------------------------------------------------------------------------------------------------------------


@dataclass
class Bench:
    """Runs each library in processes of its own; in each round they take turns."""

    encoding: str
    folder: Path
    seen: dict[str, Seen]

    def write_vocabulary(self) -> None:
        """For the libraries that bring none along."""
        import tiktoken

        ranks = tiktoken.get_encoding(self.encoding)._mergeable_ranks
        lines = (b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in ranks.items())
        (self.folder / f"{self.encoding}.tiktoken").write_bytes(b"".join(lines))

    def write_turn(self, turn: int, kinds: dict[str, texts.Kind], share: float) -> None:
        """The texts of a round: what to warm up with, mixed as messages are, and what comes unseen then."""
        warm: list[str] = []
        unseen: dict[str, list[str]] = {}
        for name, kind in kinds.items():
            known, new = kind.parts(turn)
            warm += known[: int(len(known) * share)]
            unseen[name] = new[: int(len(new) * share)]
        random.Random(turn).shuffle(warm)
        variants = [texts.hard(3 * turn + k) for k in range(3)]
        hard = {name: [variant[name] for variant in variants] for name in variants[0]}
        words = texts.words(kinds["English"].parts(turn)[0], int(18_000 * share))
        self.turn_file(turn).write_text(json.dumps({"warm": warm, "unseen": unseen, "hard": hard, "words": words}), encoding="utf-8")

    def turn_file(self, turn: int) -> Path:
        return self.folder / f"{turn}.json"

    def speeds(self, turn: int) -> None:
        def note(of_it: Seen, answer: dict[str, Any]) -> None:
            of_it.note(answer["figures"])
            of_it.counts.append(answer["counts"])

        self.each(turn, note, "speed", self.turn_file(turn).name)

    def starts(self, times: int) -> None:
        # The rounds before have written the byte code and read the files, the bare process has not.
        self.run(BARE, "first")

        def note(of_it: Seen, answer: dict[str, Any]) -> None:
            start = perf_counter()
            self.run(BARE, "first")
            bare = (perf_counter() - start) * 1e3
            of_it.note({"whole process": answer["process"] - bare, "whole": answer["whole"], "alone": answer["alone"]})
            of_it.note({"first memory": answer["memory"]} if answer["memory"] else {})

        for turn in range(times):
            self.each(turn, note, "first")

    def minutes(self, seconds: float) -> None:
        def note(of_it: Seen, answer: dict[str, Any]) -> None:
            of_it.note({"minute memory": answer["memory"]} if answer["memory"] else {})

        self.each(0, note, "minute", self.turn_file(0).name, str(seconds))

    def each(self, turn: int, note: Callable[[Seen, dict[str, Any]], None], *task: str) -> None:
        present = [name for name, of_it in self.seen.items() if not of_it.failed]
        for k in range(len(present)):
            name = present[(k + turn) % len(present)]
            print(f"  {task[0]} {turn + 1}: {name}", file=sys.stderr, flush=True)
            start = perf_counter()
            try:
                answer = self.run(name, *task)
            except subprocess.CalledProcessError as error:
                if name in {REFERENCE, OURS}:
                    raise SystemExit(f"{name} failed: {error.stderr}") from None
                self.seen[name].failed = "failed: " + (error.stderr.strip().splitlines() or ["no reason given"])[-1]
                continue
            note(self.seen[name], answer | {"process": (perf_counter() - start) * 1e3})

    def run(self, name: str, *task: str) -> dict[str, Any]:
        # -P: the modules of this folder are not on the way of what the library imports.
        answer: dict[str, Any] = json.loads(
            fresh_python(str(self.folder / "bytecode"), "-P", str(WORKER), name, self.encoding, str(self.folder), *task)
        )
        return answer


def installed_size(module: str) -> float:
    """MB of the module's own folder; what it depends on is not in it."""
    spec = importlib.util.find_spec(module)
    folders = spec.submodule_search_locations if spec and spec.submodule_search_locations else []
    files = (path for folder in folders for path in Path(folder).rglob("*") if path.is_file() and path.suffix != ".pyc")
    return sum(path.stat().st_size for path in files) / 1e6


# Telling ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """A question and what came of it."""

    question: Question
    seen: dict[str, Seen]

    def values(self, name: str) -> list[float]:
        """A figure a round; times the reference where that is asked."""
        own = self.absolute(name)
        if not self.question.relative:
            return own
        return self._times(own, self.absolute(REFERENCE))

    def absolute(self, name: str) -> list[float]:
        of_it = self.seen.get(name)
        return [] if of_it is None or of_it.failed else of_it.figures.get(self.question.key, [])

    def _times(self, above: Sequence[float], below: Sequence[float]) -> list[float]:
        """How many times better, round by round."""
        pairs = [(b, a) if self.question.less_is_better else (a, b) for a, b in zip(above, below, strict=True)]
        return [a / b for a, b in pairs]

    def wrong(self, name: str) -> str:
        """How many counts are not the reference's, if any."""
        if not self.absolute(name):
            return ""
        pairs = [
            (own, true)
            for ours, theirs in zip(self.seen[name].counts, self.seen[REFERENCE].counts, strict=True)
            for key in self.question.counts
            for own, true in zip(ours[key], theirs[key], strict=True)
        ]
        differ = sum(own != true for own, true in pairs)
        return f"{differ} of {len(pairs)} counts differ from {REFERENCE}'s" if differ else ""

    @property
    def ours(self) -> Row:
        values = self.values(OURS)
        if not values:
            return self.question.row
        given = self.seen[OURS].figures.get(self.question.control)
        # Where the machine itself gives less than is asked, to be short of it says nothing.
        busy = given is not None and statistics.median(given) < (self.question.asked or 0.0)
        return measured(dataclasses.replace(self.question.row, wrong=self.wrong(OURS), more_than=busy), values)

    @property
    def fastest(self) -> tuple[str, Row] | None:
        """The best of the others, counts right, and how many times better ours is; both must hold their own in the same rounds."""
        ours = self.absolute(OURS)
        best = min if self.question.less_is_better else max
        others = [name for name in self.seen if name != OURS and self.absolute(name) and not self.wrong(name)]
        if not ours or not others or not self.question.compared:
            return None
        name = best(others, key=lambda other: statistics.median(self.absolute(other)))
        theirs = self.absolute(name)
        return name, measured(Row(self.question.what, asked=1.0, at_least=True), self._times(ours, theirs))

    def cell(self, name: str) -> str:
        values, plain = self.values(name), self.absolute(name)
        if not values:
            return "–"
        wrong = " ≠" if self.wrong(name) else ""
        if not self.question.relative:
            return figure(statistics.median(values), self.question.unit) + wrong
        return f"{figure(statistics.median(values), '×')} ({figure(statistics.median(plain), self.question.unit)}){wrong}"

    def cells(self) -> list[str]:
        row, fastest = self.ours, self.fastest
        asked = "–" if row.asked is None else f"{'≥' if row.at_least else '≤'} {row.asked:g}{' ' * (row.unit != '×')}{row.unit}"
        spread = "–" if row.low is None or row.high is None or row.low == row.high else f"{row.low:.3g} to {row.high:.3g}"
        level = (
            "–"
            if fastest is None
            else f"{figure(fastest[1].median or 0.0, '×')} {fastest[0]}: {'pass' if fastest[1].verdict == 'pass' else 'short'}"
        )
        return [
            row.what,
            asked,
            row.verdict.replace("falls short", "short"),
            self.cell(OURS),
            spread,
            level,
            *map(self.cell, others(self.seen)),
        ]

    def as_dict(self) -> dict[str, Any]:
        libraries = {
            name: {"rounds": self.absolute(name), "median": self.cell(name), "wrong": self.wrong(name)}
            for name in self.seen
            if self.absolute(name)
        }
        fastest = self.fastest and {"name": self.fastest[0], **dataclasses.asdict(self.fastest[1]), "verdict": self.fastest[1].verdict}
        question = {"unit": self.question.unit, "relative": self.question.relative}
        return dataclasses.asdict(self.ours) | {"verdict": self.ours.verdict, "fastest": fastest, "libraries": libraries} | question


def others(seen: dict[str, Seen]) -> list[str]:
    return [name for name, of_it in seen.items() if name != OURS and not of_it.failed]


def _table(rows: Sequence[Line]) -> list[list[str]]:
    heading = ["what", "asked", "", OURS, "spread (10–90 %)", "against the best other", *others(rows[0].seen)]
    return [heading, *(line.cells() for line in rows)]


def as_text(rows: Sequence[Line], facts: dict[str, str]) -> str:
    table = _table(rows)
    widths = [max(len(line[k]) for line in table) for k in range(len(table[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in table]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([*(f"{name}: {value}" for name, value in facts.items()), "", *lines, "", *_legend()])


def as_markdown(rows: Sequence[Line], facts: dict[str, str]) -> str:
    heading, *table = _table(rows)
    lines = [heading, ["---", *["--:"] * (len(heading) - 1)], *table]
    told = [f"- {name}: {value}" for name, value in facts.items()]
    return "\n".join([*told, "", *("| " + " | ".join(line) + " |" for line in lines), "", *_legend(), ""])


def _legend() -> tuple[str, ...]:
    return (
        f"×: times as fast as {REFERENCE} in the same round, median of the rounds, and the median itself in brackets; ≠: not its counts.",
        "Unseen: a process is warmed on 60 % of all kinds of text and counts the other 40 % once.",
        "Equal strings again: other objects with the same text, which a memory of whole texts may answer.",
        "Known text cut elsewhere: no string was seen before, only what it is made of, which shows the memory of pieces.",
    )


if __name__ == "__main__":
    sys.exit(main())
