"""Speed as ratios within one run, and whether the answers were right: ``python benches/run.py``.

Exit code 1 when an answer is wrong, 0 otherwise, however slow it was.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import backcut
import peers
import report
from conversations import ROOT, Message, Session, chars, load, same_end, tile, unseen
from measure import bare_loop, first_count, import_time, interleave, median_of, processor_time, ratios
from report import Row, measured

SETS = 4
"""Different histories of each length."""

LANGCHAIN = "langchain-core `trim_messages`"


@dataclass(frozen=True)
class Effort:
    """How long everything may take."""

    rounds: int
    peer_rounds: int
    starts: int
    limit: float
    peers: bool


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="backcut against a bare loop and against other trimmers: ratios within one run.")
    parser.add_argument("--smoke", action="store_true", help="a few rounds without peers: does it work at all")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds of each row (400; 12 with --smoke)")
    parser.add_argument("--no-peers", action="store_true", help="leave the other trimmers out")
    parser.add_argument("--limit", type=float, default=120.0, metavar="S", help="seconds after which litellm is stopped (120)")
    parser.add_argument("--machine", default="", metavar="WORDS", help="what kind of machine this is, for the table")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there too")
    parser.add_argument("--markdown", action="store_true", help="print the table for a document")
    parser.add_argument("--update", action="store_true", help="write it into README.md and CHANGELOG.md too")
    asked = parser.parse_args(argv)
    rounds = max(SETS, asked.rounds or (12 if asked.smoke else 400))
    effort = Effort(rounds, 2 if asked.smoke else 5, 3 if asked.smoke else 21, asked.limit, not (asked.no_peers or asked.smoke))

    talks, source = load()
    facts = report.machine(asked.machine, source)
    rows = []
    for row in every_row(talks, effort):
        print(f"  {row.what}: {row.verdict}", file=sys.stderr, flush=True)
        rows.append(row)
    page = report.as_markdown(rows, facts)
    print(page if asked.markdown else "\n".join([*(f"{name}: {value}" for name, value in facts.items()), "", report.as_text(rows)]))
    if asked.json:
        asked.json.write_text(report.as_json(rows, facts), encoding="utf-8")
    if asked.update:
        report.update(ROOT / "README.md", "figures", page)
        report.update(ROOT / "CHANGELOG.md", "performance", page)
    return int(any(row.wrong for row in rows))


def every_row(talks: Sequence[Sequence[Message]], effort: Effort) -> Iterator[Row]:
    tiled = [tile(talks, 1_000, seed) for seed in range(SETS)]
    histories = [history for history, _ in tiled]
    yield by_chars(histories, effort)
    yield agent_loop(tiled, effort)
    yield warm(histories, effort)
    yield cold(histories, effort)
    yield by_length(talks, effort)
    yield from against_langchain(histories, effort)
    yield against_litellm(histories[0], effort)
    yield imported(effort)
    yield from counted(effort)


# Is it right? ---------------------------------------------------------------------------------------------------------


def fault(history: Sequence[Message], **ceiling: int) -> str:
    """What is wrong with the trimmed history, if anything: sound, within the ceiling, cut at all, and not just the head."""
    sent, told = backcut.trim(history, **ceiling)
    (unit, limit) = next(iter(ceiling.items()))
    newest_turn = max(k for k, message in enumerate(sent) if message["role"] == "assistant")
    broken = [v for v in backcut.check(sent) if not (v.code == "pending_call" and v.index == newest_turn)]
    if broken:
        return f"not sound: {broken[0]}"
    used = chars(sent[1:]) if unit == "max_chars" else backcut.count(sent)
    if used > limit or used != (told.chars_sent if unit == "max_chars" else told.tokens_sent):
        return f"{used} {unit.removeprefix('max_')} of {limit}, the report says {told}"
    own = [message for message in sent if any(message is m for m in history)]
    if not told.window_trimmed or len(own) < 3 or sent[-1] is not history[-1] or len(sent) - len(own) > 1:
        return f"{len(own)} of {len(history)} messages kept, {len(sent)} sent: {told}"
    return ""


def half(history: Sequence[Message], unit: str) -> int:
    """Half of what the ceiling sees of the whole history."""
    return (backcut.trim(history).report.chars_sent if unit == "max_chars" else backcut.count(history)) // 2


def first(faults: Iterator[str]) -> str:
    """The first fault there is."""
    return next(filter(None, faults), "")


# The rows -------------------------------------------------------------------------------------------------------------


def against_loop(history: list[Message], unit: str, rounds: int) -> list[float]:
    window = backcut.context_window(**{unit: half(history, unit)})
    window.trim(history)
    return ratios(*interleave(rounds, lambda: window.trim(history), lambda: bare_loop(history)))


def by_chars(histories: Sequence[list[Message]], effort: Effort) -> Row:
    values = [value for history in histories for value in against_loop(history, "max_chars", effort.rounds // SETS)]
    wrong = first(fault(history, max_chars=half(history, "max_chars")) for history in histories)
    return measured(Row("1,000 messages to half, by characters / loop", asked=1.0, wrong=wrong), values)


def warm(histories: Sequence[list[Message]], effort: Effort) -> Row:
    values = [value for history in histories for value in against_loop(history, "max_tokens", effort.rounds // SETS)]
    wrong = first(fault(history, max_tokens=half(history, "max_tokens")) for history in histories)
    return measured(Row("the same, nothing new since the last call / loop", wrong=wrong), values)


def agent_loop(tiled: Sequence[tuple[list[Message], Iterator[Message]]], effort: Effort) -> Row:
    values: list[float] = []
    wrong = ""
    appended = 0

    def play(base: list[Message], coming: Iterator[Message]) -> Session:
        window = backcut.context_window(max_tokens=half(base, "max_tokens"))
        session = Session(base, coming, prepare=window.trim)
        candidates = (lambda: window.trim(session.history), lambda: bare_loop(session.history))

        def grow() -> None:
            session.step()
            bare_loop(session.history)  # whoever comes first finds the caches as warm as whoever comes second

        values.extend(ratios(*interleave(effort.rounds // SETS, *candidates, before=grow)))
        return session

    for base, coming in tiled:
        session = play(base, coming)
        appended += session.appended
        wrong = wrong or fault(session.history, max_tokens=half(base, "max_tokens"))
    note = f"the new message has {appended / len(values):.0f} characters on average; the mean ratio is {sum(values) / len(values):.2f}"
    return measured(Row("1,000 messages to half, by tokens, one new message a call / loop", asked=3.0, wrong=wrong, note=note), values)


def cold(histories: Sequence[list[Message]], effort: Effort) -> Row:
    values: list[float] = []
    wrong = ""

    def play(history: list[Message]) -> list[Message]:
        window = backcut.context_window(max_tokens=half(history, "max_tokens"))
        fresh: list[Message] = []

        def renew() -> None:
            fresh[:] = [unseen(message) for message in history]

        candidates = (lambda: window.trim(fresh), lambda: bare_loop(fresh))
        values.extend(ratios(*interleave(effort.peer_rounds, *candidates, before=renew)))
        return fresh

    for history in histories:
        wrong = wrong or fault(play(history), max_tokens=half(history, "max_tokens"))
    return measured(Row("the same, no text ever seen before / loop", wrong=wrong), values)


def by_length(talks: Sequence[Sequence[Message]], effort: Effort) -> Row:
    window = backcut.context_window(max_tokens=8_000)
    long: list[float] = []
    middle: list[float] = []
    wrong = ""
    for seed in range(SETS):
        histories = same_end(talks, (100, 1_000, 10_000), seed)
        for history in histories:
            wrong = wrong or fault(history, max_tokens=8_000)
        sent = [window.trim(history).messages for history in histories]
        if any(len(a) != len(b) for a, b in pairwise(sent)):
            wrong = wrong or "not the same messages kept of the same end"
        short_s, middle_s, long_s = interleave(effort.rounds // SETS, *(lambda h=history: window.trim(h) for history in histories))
        long += ratios(long_s, short_s)
        middle += ratios(middle_s, short_s)
    note = f"at 1,000 messages {sorted(middle)[len(middle) // 2]:.2f} times the time at 100"
    return measured(Row("to 8,000 tokens, time at 10,000 messages / at 100", asked=2.0, wrong=wrong, note=note), long)


def against_langchain(histories: Sequence[list[Message]], effort: Effort) -> Iterator[Row]:
    for counter, unit, asked in (("approximate", "max_chars", 100.0), ("tiktoken", "max_tokens", 1_000.0)):
        row = Row(f"{LANGCHAIN}, {counter} counter / backcut by {unit.removeprefix('max_')}", asked=asked, at_least=True)
        values: list[float] = []
        answers = []
        try:
            for history in histories if effort.peers else ():
                theirs, plain = peers.langchain(history, counter)
                answers.append(plain(theirs()))
                window = backcut.context_window(**{unit: half(history, unit)})
                for _ in range(effort.peer_rounds):
                    seconds = processor_time(theirs)
                    values.append(seconds / median_of(lambda h=history, w=window: w.trim(h), 9))
        except peers.Absent as absent:
            row = replace(row, note=str(absent))
        if values:
            wrong = first(fault(history, **{unit: half(history, unit)}) for history in histories)
            row = measured(replace(row, wrong=wrong, note=_judged(answers)), values)
        yield row


def against_litellm(history: list[Message], effort: Effort) -> Row:
    row = Row("litellm `trim_messages` / backcut by tokens", asked=10_000.0, at_least=True)
    if not effort.peers:
        return row
    limit = half(history, "max_tokens")
    window = backcut.context_window(max_tokens=limit)
    before = median_of(lambda: window.trim(history), 50)
    try:
        seconds, sent = peers.litellm(history, limit, effort.limit)
    except peers.Absent as absent:
        return replace(row, note=str(absent))
    ours = (before + median_of(lambda: window.trim(history), 50)) / 2
    note = f"stopped after {seconds:.0f} s" if sent is None else _judged([sent])
    wrong = fault(history, max_tokens=limit)
    return measured(replace(row, more_than=sent is None, wrong=wrong, note=note), [seconds / ours])


def _judged(answers: Sequence[Any]) -> str:
    """What backcut.check says of a peer's answers."""
    found = [len(backcut.check(answer)) for answer in answers]
    return f"its own answer breaks the format's rules in {sum(map(bool, found))} of {len(found)} histories" if any(found) else ""


def imported(effort: Effort) -> Row:
    added, bare = import_time(effort.starts)
    # Milliseconds hang on the machine and on what else it does: the start itself tells how much.
    note = f"starting Python took {bare:.0f} ms in the same run"
    return measured(Row("`import backcut`, more than starting Python", asked=30.0, unit="ms", note=note), added)


def counted(effort: Effort) -> Iterator[Row]:
    whole, alone, right = first_count(effort.starts)
    wrong = "" if right else 'count("hello") is not 1'
    yield measured(Row('import and first `count("hello")` in a fresh process', asked=30.0, unit="ms", wrong=wrong), whole)
    yield measured(Row("that count alone", unit="ms", wrong=wrong), alone)


if __name__ == "__main__":
    sys.exit(main())
