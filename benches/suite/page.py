"""The tables: what is worth reading between the markers of ``index.md``, and every row in ``peers.md``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import report
from report import figure

from .figures import OURS, Found, pick, rows_base, strategies
from .inputs import CEILINGS, FIXED, HALF
from .peers import BY_NAME
from .svg import duration, times

TEMPLATE = "<!-- short -->\n\n<!-- ratios -->\n\n<!-- loop -->\n\n<!-- cache -->\n\n<!-- bytes -->\n\n<!-- targets -->\n"


def write(found: Found, folder: Path) -> None:
    """Puts the tables into the page, which is made where there is none."""
    index = folder / "index.md"
    if not index.is_file():
        index.write_text(TEMPLATE, encoding="utf-8")
    blocks = {"short": short, "ratios": ratios, "loop": loop, "cache": cache, "bytes": in_bytes, "targets": targets}
    for name, block in blocks.items():
        report.update(index, name, block(found))
    (folder / "peers.md").write_text(everything(found), encoding="utf-8")


def table(heading: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Markdown; the first columns are texts, all others figures."""
    marks = ["---" if k < left else "--:" for k in range(len(heading))]
    return "\n".join("| " + " | ".join(line) + " |" for line in (list(heading), marks, *rows)) + "\n"


def own_faults(found: Found) -> list[Found]:
    """Rows in which backcut itself is wrong or fails."""
    own = [row for row in found["rows"] if row["peer"].startswith("backcut")]
    failed = [row | {"faults": [_state(row)]} for row in own if "error" in row or "timeout" in row]
    unsound = {"ceiling": FIXED, "faults": ["unsound"]}
    steps = [row | {"peer": row["name"], "length": row["calls"]} | unsound for row in found["money"] if row["wrong"]]
    bodies = [row | {"peer": "backcut, bytes", "ceiling": row["unit"]} for row in found["bodies"] if row["faults"]]
    return [*(row for row in own if row.get("faults")), *failed, *steps, *bodies]


def main_rows(found: Found) -> list[Found]:
    """One row a peer: half of the longest history up to 1,000 messages."""
    length = max((row["length"] for row in found["rows"] if row.get("kind") == "warm" and row["length"] <= 1_000), default=0)
    return pick(found, kind="warm", length=length, ceiling=HALF)


def right_rows(found: Found, peer: str) -> tuple[int, int]:
    """In how many rows of those that it was asked every answer of a peer was right; one that failed or was stopped is not."""
    rows = [row for row in found["rows"] if row["peer"] == peer and "skipped" not in row]
    return sum(not row.get("faults") and "error" not in row and "timeout" not in row for row in rows), len(rows)


def short(found: Found) -> str:
    """A few sentences that hold for this run."""
    rows = main_rows(found)
    peers = [row for row in rows if not row["peer"].startswith("backcut")]
    timed = [row for row in peers if "per_backcut" in row]
    slow = sorted((row for row in timed if row["per_backcut"]["median"] > 1), key=lambda row: row["per_backcut"]["median"])
    fast = sorted((row for row in timed if row["per_backcut"]["median"] <= 1), key=lambda row: row["per_backcut"]["median"])
    stopped = [row["peer"] for row in peers if "timeout" in row]
    missing = [f"{row['peer']} ({row['absent']})" for row in found["rows"] if "absent" in row]
    asked = sorted({row["peer"] for row in found["rows"] if "absent" not in row and not row["peer"].startswith("backcut")})
    best = sorted((right_rows(found, peer)[0] / right_rows(found, peer)[1], peer) for peer in asked)[::-1][:4]
    wrong = own_faults(found)
    said = []
    if slow:
        length = slow[0]["length"]
        ends = [f"{times(row['per_backcut']['median'])} ({row['peer']})" for row in (slow[0], slow[-1])]
        told = f"- **Speed.** At {length:,} messages cut to half, {len(slow)} of {len(peers)} peers take {' to '.join(ends)} its time"
        said.append(told + (f"; stopped: {', '.join(stopped)}." if stopped else "."))
    told = "; ".join(f"{row['peer']}, {times(row['per_backcut']['median'])}{_but(row)}" for row in fast)
    said.append(f"- **Who is faster** there: {told or 'nobody'}.")
    if faster := _faster_elsewhere(found):
        said.append(f"- **Who is faster elsewhere:** {faster}.")
    told = ", ".join(f"{peer} ({right_rows(found, peer)[0]} of {right_rows(found, peer)[1]} rows)" for _, peer in best)
    said.append(f"- **Most often right** of {len(asked)} peers that ran: {told}.")
    said.append(f"- **backcut** was {'wrong in ' + str(len(wrong)) + ' rows' if wrong else 'right in every row'}.")
    if own := _slowest(found):
        said.append(f"- **Where backcut is slow,** beside the bare loop: {own}.")
    if missing:
        said.append(f"- Not here: {'; '.join(missing)}.")
    return "\n".join(said) + "\n"


def _slowest(found: Found) -> str:
    """Its own rows that are furthest from the loop, each way of counting once."""
    rows = [row for row in found["rows"] if row["peer"].startswith("backcut") and "per_loop" in row]
    worst = {row["peer"]: row for row in sorted(rows, key=lambda row: row["per_loop"]["median"])}
    told = []
    for row in worst.values():
        kind = " of unseen texts" if row["kind"] == "cold" else ""
        told.append(f"{row['peer']}, {row['length']:,} messages{kind} to {row['ceiling']}, {times(row['per_loop']['median'])}")
    return "; ".join(told)


def _but(row: Found) -> str:
    return f" (right in {row['right']} of {row['of']})" if row["right"] < row["of"] else ""


def _faster_elsewhere(found: Found) -> str:
    """Peers that some other warm row shows ahead of backcut."""
    rows = [row for row in found["rows"] if row.get("kind") in ("warm", "cold") and "per_backcut" in row and row not in main_rows(found)]
    told: dict[str, list[Found]] = {}
    for row in rows:
        if row["per_backcut"]["median"] < 1 and not row["peer"].startswith("backcut"):
            told.setdefault(row["peer"], []).append(row)
    return "; ".join(f"{peer} {_where(where)}" for peer, where in told.items())


def _where(rows: list[Found]) -> str:
    """A few rows in few words: all of them stand in the other page."""
    right = sum(row["right"] == row["of"] for row in rows)
    best = min(rows, key=lambda row: row["per_backcut"]["median"])
    kind = " of unseen texts" if best["kind"] == "cold" else ""
    told = f"{times(best['per_backcut']['median'])} at {best['length']:,} messages{kind} to {best['ceiling']}"
    return f"in {len(rows)} row{'s' * (len(rows) > 1)} ({told}; right in {right})"


def _state(row: Found) -> str:
    if "absent" in row:
        return row["absent"]
    if "error" in row:
        return f"error: {row['error']}"
    if "timeout" in row:
        at = f" at {row['tried']:,} messages" if "tried" in row else ""
        return f"stopped after {row['timeout']:g} s{at}"
    if "skipped" in row:
        return row["skipped"]
    return ", ".join(row["faults"]) or ("right; fits" if row.get("fits") else "right")


def _cells(row: Found) -> list[str]:
    """Ratios, share, verdict; dashes where there is nothing."""
    if "per_loop" not in row:
        return ["–", "–", "–", "–", _state(row)]
    own = row["peer"].startswith("backcut")
    beside = "–" if own else times(row["per_backcut"]["median"])
    spread = row["per_loop"] if own else row["per_backcut"]
    right = _state(row) if row["right"] == row["of"] else f"{row['right']} of {row['of']}: {_state(row)}"
    return [beside, f"{times(spread['low'])} to {times(spread['high'])}", times(row["per_loop"]["median"]), f"{row['share']:.2f}", right]


def ratios(found: Found) -> str:
    rows = [*main_rows(found), *(row for row in found["rows"] if "absent" in row)]
    rows = sorted(rows, key=lambda row: (not row["peer"].startswith("backcut"), row.get("per_backcut", {}).get("median", 1e12)))
    of = {row["peer"]: right_rows(found, row["peer"]) for row in rows}
    lines = [[row["peer"], BY_NAME[row["peer"]].unit, *_cells(row), "{} of {}".format(*of[row["peer"]])] for row in rows]
    heading = ["at the same ceiling", "counts", "/ backcut", "10–90 %", "/ bare loop", "budget used", "answer", "right in all rows"]
    return f"![Time of one call beside backcut's](ratios.svg)\n\n{table(heading, lines, 2)}"


def loop(found: Found) -> str:
    rows = sorted(pick(found, kind="loop"), key=lambda row: row.get("total", 1e12))
    lines = []
    for row in rows:
        if "total" not in row:
            lines.append([row["peer"], "–", "–", "–", _state(row)])
            continue
        wrong = ", ".join(f"{fault} {times_}×" for fault, times_ in sorted(row["faults"].items(), key=lambda pair: -pair[1])) or "right"
        beside = "–" if row["peer"].startswith("backcut") else times(row["total"] / row["ours_total"])
        lines.append([row["peer"], beside, duration(row["total"]), f"{row['changes']}", wrong])
    calls = next((row["calls"] for row in rows if "calls" in row), 0)
    return f"![Time over length](growth.svg)\n\n{table(['agent', '/ backcut', f'{calls} calls', 'new beginnings', 'answers'], lines)}"


def cache(found: Found) -> str:
    rows = strategies(found)
    lines = [
        [
            row["name"],
            f"{row['cost'] / rows_base(rows):.2f}",
            f"{row['cached'] / row['sent']:.0%}",
            f"{row['sent'] / row['calls']:,.0f}",
            f"{row['changes']}",
            "right" if row["right"] else "not always",
        ]
        for row in rows
    ]
    heading = ["strategy", "cost", "read from the cache", "tokens a request", "new beginnings", "answers"]
    return f"![What the cache saves](cache.svg)\n\n{table(heading, lines)}"


def in_bytes(found: Found) -> str:
    lines = [
        [
            f"{row['length']:,} messages, {row['bytes'] / 1e6:.2f} MB, to half by `{row['unit']}`",
            times(row["per_copy"]["median"]),
            times(row["per_parse"]["median"]),
            f"{row['rate'] / 1e9:.2f} GB/s",
            f"{row['copy_rate'] / 1e9:.1f} GB/s",
            ", ".join(row["faults"]) or "right",
        ]
        for row in found["bodies"]
    ]
    counted = [
        [f"{row['name']}, {row['length']:,} messages", times(row["per_backcut"]["median"]), f"{row['per_text']:.3f}"]
        for row in found["counts"]
    ]
    first = table(["`trim_json`", "/ copying the bytes", "/ `json.loads`", "speed", "a copy's speed", "answer"], lines)
    return first + "\n" + table(["counting all, known texts", "/ `backcut.count`", "of the texts' tokens"], counted)


def targets(found: Found) -> str:
    """What was asked of the window and of counting."""
    if not found["targets"]:
        return "Not measured in this run.\n"
    lines = []
    for row in found["targets"]:
        if row.get("median") is None:
            lines.append([row["what"], "–", "–", row["verdict"]])
            continue
        unit = "×" if row.get("relative") else row["unit"]  # of counting, most is asked as times of tiktoken
        asked = f"{'≥' if row['at_least'] else '≤'} {row['asked']:,g}{' ' * (unit != '×')}{unit}"
        mark = row["verdict"].replace("falls short", "**short**")
        lines.append([row["what"], asked, f"{'> ' * row['more_than']}{figure(row['median'], unit)}", mark])
    return table(["what", "asked", "measured", ""], lines)


def everything(found: Found) -> str:
    """A page of all rows, with absolute times."""
    facts = found["facts"]
    lines = [
        "# Every row",
        "",
        "What [the page before](index.md) is taken from; `benches/side_by_side.py` wrote it. `/ backcut`: time of a call over",
        "backcut's at the same ceiling in the same round, by exact tokens, or by messages for who counts messages; the median of all",
        "rounds. Budget used: tokens of the answer, counted by tiktoken, over the ceiling.",
        "",
        *(f"- {name}: {value}" for name, value in facts.items()),
        *(f"- {peer.name}: {peer.note}" for peer in BY_NAME.values() if peer.note),
    ]
    for kind, words in (("warm", "texts that were there before"), ("cold", "texts never seen before")):
        for ceiling in CEILINGS:
            if rows := pick(found, kind=kind, ceiling=ceiling):
                lines += ["", f"## To {ceiling}, {words}", "", table(_HEADING, [_line(row) for row in rows])]
    return "\n".join(_squeezed(lines))


_HEADING = ["who, messages", "/ backcut", "10–90 %", "/ bare loop", "budget used", "answer", "median"]


def _line(row: Found) -> list[str]:
    median = duration(row["seconds"]["median"]) if "seconds" in row else "–"
    return [f"{row['peer']}, {row['length']:,}", *_cells(row), median]


def _squeezed(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield line.rstrip("\n")
    yield ""


__all__ = ["OURS", "own_faults", "short", "write"]
