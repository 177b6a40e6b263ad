"""The pictures: who takes how long and is right, how it grows, and what the cache saves."""

from __future__ import annotations

from typing import Any

from .inputs import FIXED, HALF
from .svg import OKABE_ITO, PALE, SHAPES, Log, Picture, duration, times

Found = dict[str, Any]
OURS = "backcut, tokens"

GROWTH = (
    OURS,
    "langchain-core trim_messages, approximate",
    "langchain-core trim_messages, tiktoken",
    "litellm trim_messages",
    "strands SlidingWindowConversationManager",
    "autogen-core TokenLimitedChatCompletionContext",
    "agent-framework TruncationStrategy",
    "haystack SlidingWindowCompactor",
)
"""As many as there are colours; the table has all."""


def all_of(found: Found) -> dict[str, str]:
    """Each picture by the name of its file."""
    drawn = {"ratios": ratios(found), "growth": growth(found), "cache": cache(found)}
    return {name: str(picture) for name, picture in drawn.items() if picture is not None}


def caption(found: Found) -> list[str]:
    """The machine and the versions, in lines that fit."""
    facts = found["facts"]
    general = ("date", "machine", "system", "python", "backcut", "input", "took")
    words = [f"{name} {facts[name]}" for name in facts if name not in general]
    lines = ["{date}, {machine}, {system}, Python {python}, backcut {backcut}; {input}.".format_map(facts)]
    line = ""
    for word in words:
        if len(line) + len(word) > 120:
            lines.append(line)
            line = ""
        line += (", " if line else "") + word
    return [*lines, line]


def pick(found: Found, **wanted: Any) -> list[Found]:
    return [row for row in found["rows"] if all(row.get(key) == value for key, value in wanted.items())]


def ratios(found: Found) -> Picture | None:
    """One dot a peer: its time over backcut's at one ceiling; hollow where an answer was wrong."""
    length = max((row["length"] for row in found["rows"] if row.get("kind") == "warm" and row["length"] <= 1_000), default=0)
    rows = [row for row in pick(found, kind="warm", length=length, ceiling=HALF) if not row["peer"].startswith("backcut")]
    rows = [row for row in rows if "per_backcut" in row or "timeout" in row]
    if not rows:
        return None
    ours = next((row for row in pick(found, kind="warm", length=length, ceiling=HALF) if row["peer"] == OURS and "seconds" in row), None)

    def stopped(row: Found) -> float:
        return float(row["timeout"] / ours["seconds"]["median"]) if ours else 1e4

    values = (row["per_backcut"]["median"] if "per_backcut" in row else stopped(row) for row in rows)
    placed = sorted(zip(values, rows, strict=True), key=lambda pair: pair[0])
    left, right, top, step = 330.0, 860.0, 64.0, 24.0
    bottom = top + step * len(placed)
    title = f"Time of one call / backcut's, {length:,} messages to half"
    picture = Picture(900, bottom + 50, title, [_LEGEND, *caption(found)])
    ends = [row["per_backcut"][end] for row in rows if "per_backcut" in row for end in ("low", "high")]
    axis = Log([1.0, *(value for value, _ in placed), *ends], left, right)
    for tick in axis.ticks():
        picture.line([(axis(tick), top - 12), (axis(tick), bottom)], "#888888" if tick == 1 else PALE)
        picture.text(axis(tick), bottom + 18, times(tick), anchor="middle", size=11)
    picture.text(axis(1), top - 18, "as fast as backcut", anchor="middle", size=11, fill="#555555")
    for k, (value, row) in enumerate(placed):
        y = top + step * (k + 0.5)
        picture.text(left - 14, y + 4, row["peer"], anchor="end")
        if "per_backcut" not in row:
            picture.line([(axis(value), y), (min(axis(value) + 26, 890), y)], OKABE_ITO[6], 1.5, "3 3")
            picture.mark(axis(value), y, OKABE_ITO[6], "cross")
            picture.text(axis(value) - 10, y + 4, f"> {times(value)}", anchor="end", size=11)
            continue
        wrong = row["right"] < row["of"]
        colour = OKABE_ITO[0] if wrong else OKABE_ITO[1]
        picture.line([(axis(row["per_backcut"]["low"]), y), (axis(row["per_backcut"]["high"]), y)], colour, 2)
        picture.mark(axis(value), y, colour, "diamond" if wrong else "circle", hollow=wrong)
        inward = axis(row["per_backcut"]["high"]) > right - 40
        beside = axis(row["per_backcut"]["low"]) - 12 if inward else axis(row["per_backcut"]["high"]) + 12
        picture.text(beside, y + 4, times(value), size=11, anchor="end" if inward else "start")
    return picture


_LEGEND = "Median, and the middle 80 % of rounds. Filled: all answers right. Hollow: not all. Cross: stopped, so at least this."


def growth(found: Found) -> Picture | None:
    """Time over length, both axes logarithmic."""
    lines = []
    for name in GROWTH:
        rows = sorted((row for row in pick(found, kind="warm", ceiling=HALF, peer=name) if "seconds" in row), key=lambda row: row["length"])
        if rows:
            lines.append((name, rows))
    if not lines:
        return None
    lengths = sorted({row["length"] for _, rows in lines for row in rows})
    left, right, top, bottom = 70.0, 560.0, 50.0, 440.0
    picture = Picture(900, bottom + 56, "How one call to half grows with the history", [_GROWS, *caption(found)])
    across = Log([float(length) for length in lengths], left, right)
    up = Log([row["seconds"][end] for _, rows in lines for row in rows for end in ("low", "high")], bottom, top)
    for tick in across.ticks():
        picture.line([(across(tick), top), (across(tick), bottom)], PALE)
        picture.text(across(tick), bottom + 18, f"{tick:,.0f}", anchor="middle", size=11)
    picture.text((left + right) / 2, bottom + 38, "messages", anchor="middle")
    for tick in up.ticks():
        picture.line([(left, up(tick)), (right, up(tick))], PALE)
        picture.text(left - 8, up(tick) + 4, duration(tick), anchor="end", size=11)
    last_y: list[float] = []
    for k, (name, rows) in enumerate(sorted(lines, key=lambda pair: -pair[1][-1]["seconds"]["median"])):
        colour, shape = OKABE_ITO[GROWTH.index(name) % len(OKABE_ITO)], SHAPES[k % 4]
        points = [(across(row["length"]), up(row["seconds"]["median"])) for row in rows]
        picture.line(points, colour, 3 if name == OURS else 1.6)
        for (x, y), row in zip(points, rows, strict=True):
            picture.line([(x, up(row["seconds"]["low"])), (x, up(row["seconds"]["high"]))], colour, 1)
            picture.mark(x, y, colour, shape, hollow=row["right"] < row["of"], size=4)
        y = max([points[-1][1], *(other + 17 for other in last_y[-1:])])
        last_y.append(y)
        picture.line([points[-1], (right + 14, y - 4)], colour, 0.6, "2 3")
        picture.text(right + 20, y, name, fill=colour, weight="bold" if name == OURS else "normal")
    return picture


_GROWS = "Medians with the middle 80 % of rounds; hollow: not every answer right. A line that ends was stopped at the next length."


def cache(found: Found) -> Picture | None:
    """What 200 growing requests cost, part by part."""
    rows = strategies(found)
    if not rows:
        return None
    left, top, step = 330.0, 56.0, 24.0
    bottom = top + step * len(rows)
    calls = rows[0]["calls"]
    picture = Picture(900, bottom + 40, f"Input cost of {calls} growing requests of at most 8,000 tokens", [_COST, *caption(found)])
    widest = max(row["cost"] for row in rows)
    for k, row in enumerate(rows):
        y = top + step * k
        scale = 300.0 / widest
        fresh = row["cost"] - 0.1 * row["cached"]
        picture.text(left - 14, y + 15, row["name"], anchor="end", weight="bold" if row["name"].startswith("backcut") else "normal")
        picture.box(left, y + 3, 0.1 * row["cached"] * scale, step - 7, OKABE_ITO[1])
        picture.box(left + 0.1 * row["cached"] * scale, y + 3, fresh * scale, step - 7, OKABE_ITO[4])
        told = f"{row['cost'] / rows_base(rows):.2f}, {row['cached'] / row['sent']:.0%} read, {row['sent'] / row['calls']:,.0f} tokens"
        told += "" if row["right"] else ", not all right"
        picture.text(left + row["cost"] * scale + 8, y + 15, told, size=11)
    return picture


_COST = "Blue: read from the cache at 0.1; orange: written at 1.25. Beside: cost / backcut's sliding window, share read, tokens a request."


def rows_base(rows: list[Found]) -> float:
    return float(next((row["cost"] for row in rows if row["name"] == "backcut, sliding"), rows[0]["cost"]))


def strategies(found: Found) -> list[Found]:
    """Everybody's bill, the cheapest first."""
    listed = [row | {"right": not row["wrong"]} for row in found["money"]]
    for row in pick(found, kind="loop", ceiling=FIXED):
        if "cost" in row and not row["peer"].startswith("backcut"):
            listed.append(row | {"name": row["peer"], "right": not row["faults"]})
    return sorted((row for row in listed if row["sent"]), key=lambda row: row["cost"])
