"""``backcut explain``: message by message what a trim would do, why, and where the window goes."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from .conversation import Conversation
from .errors import say
from .io import Output, Source
from .measure import Measure, label, request
from .options import given, make_window, reading
from .progress import watched
from .table import bar, number, table, width

if TYPE_CHECKING:
    from ..report import Plan

__all__ = ["run"]


class _Row(NamedTuple):
    """One message, or the notice."""

    place: int | None
    """Index into the history; ``None`` for a notice of its own."""
    role: str
    chars: int
    tokens: int
    action: str
    why: str
    part: str
    """Which part of the window it fills; empty if it is cut."""


def run(arguments: argparse.Namespace) -> int:
    """Explains the trim of every conversation of the input; one that cannot be met as if it were sent all the same."""
    from ..errors import BudgetError

    options = given(arguments)
    window = make_window(options)
    source = Source(arguments.file, **reading(arguments))
    failures: list[str] = []
    with Output(arguments.output) as output:
        for conversation in watched(source):
            with conversation.blamed():
                beside = {"tools": conversation.tools, "system": conversation.system}
                try:
                    plan = window.plan(conversation.messages, **beside)
                except BudgetError as error:
                    failures.append(f"{conversation.place()}: {error}")
                    plan = make_window({**options, "on_overflow": "keep"}).plan(conversation.messages, **beside)
                case = _Case(conversation, plan, options)
                rows = case.rows()
            parts = case.parts(rows)
            if arguments.json:
                line = {"line": conversation.line} if source.many else {}
                output.write(json.dumps({**line, **_as_dict(rows, parts, plan)}) + "\n")
            else:
                title, end = (f"line {conversation.line}\n\n", "\n") if source.many else ("", "")
                output.write(f"{title}{_rows(rows)}\n{_bars(parts, case.limit)}{end}")
        output.deliver()
    for failure in failures:
        say(f"backcut: error: {failure}")
    return 3 if failures else 0


class _Case:
    """One conversation, what is planned for it, and what follows from that."""

    def __init__(self, conversation: Conversation, plan: Plan, options: dict[str, Any]) -> None:
        self.messages = conversation.messages
        self.plan = plan
        self.options = options
        self.reserve: int = options.get("reserve_tokens", 0)
        self.limit: int | None = options.get("max_tokens")
        self.request = request(self.messages, conversation.tools, conversation.system, options)
        self.fixed = self.request.overhead + self.request.tools + self.request.system
        self.measure = Measure(self.messages, options)
        self.head = self.measure.head
        self.sizes = self.measure.each(self.messages)
        self.result = plan.apply(self.messages)
        self.edits = {edit.index: edit for edit in plan.edits}
        self.leads = [edit.index for edit in plan.edits if edit in self.measure.lead]

    def _task(self) -> int | None:
        """The user turn that is kept away from its place, in front of the tail."""
        body = [index for index in self.plan.kept if index >= self.head and index not in self.leads]
        return body[0] if len(body) > 1 and body[1] != body[0] + 1 else None

    def _part(self, index: int, task: int | None) -> str:
        """Which part of the window a kept message fills."""
        if index < self.head or index in self.leads:
            return "head"
        return "task" if index == task else "newest" if index >= self.measure.newest else "history"

    def _edited(self, index: int) -> str:
        """How a kept message is edited."""
        if index in self.leads:
            return "its system text alone"
        how = "parts left out" if all(cut.dropped for cut in self.edits[index].cuts) else "capped"
        return f"{how}, was {number(self.sizes[index].chars)} chars"

    def rows(self) -> list[_Row]:
        """The history in its order, the notice where it is sent."""
        task = self._task()
        notice = self.plan.notice
        kept = iter(self.plan.kept)
        reasons = self._reasons()
        rows: list[_Row] = []
        done = 0

        def cut(stop: int) -> None:
            nonlocal done
            within = bool(rows) and rows[-1].part in ("history", "newest")
            for index in range(done, stop):
                size = self.sizes[index]
                why = "nothing but signed thinking" if within else reasons[index]
                rows.append(_Row(index, label(self.messages[index]), size.chars, size.tokens, "cut", why, ""))
            done = stop

        for place, (message, size) in enumerate(zip(self.result, self.measure.each(self.result), strict=True)):
            here = notice is not None and notice.at == place
            if here and notice is not None and not notice.folded:
                rows.append(_Row(None, label(message), size.chars, size.tokens, "notice", "stands for what was cut", "notice"))
                continue
            index = next(kept)
            cut(index)
            part = self._part(index, task)
            why = ["fits" if part == "history" else part]
            if here:
                why.append("carries the notice")
            if index in self.edits:
                why.append(self._edited(index))
            action = "edited" if len(why) > 1 else "kept"
            rows.append(_Row(index, label(message), size.chars, size.tokens, action, "; ".join(why), part))
            done = index + 1
        cut(len(self.messages))
        return rows

    def _reasons(self) -> list[str]:
        """For each message behind the head, why it is cut if it is."""
        options = self.options
        sizes = self.measure.each(self.messages, capped=True)
        turns = chars = 0
        tokens = self.fixed + sum(size.tokens for size in sizes[: self.head])
        budget = None if self.limit is None else self.limit - self.reserve
        limits = {"max_turns": options.get("max_turns"), "max_chars": options.get("max_chars"), "max_tokens": budget}
        fine = "behind the trim_to line" if "trim_to" in options else "no room beside notice and task"
        reasons = [""] * len(self.messages)
        fitting: list[int] = []
        for index in reversed(range(self.head, len(self.messages))):
            turns, chars, tokens = turns + 1, chars + sizes[index].chars, tokens + sizes[index].tokens
            have = {"max_turns": turns, "max_chars": chars, "max_tokens": tokens}
            over = next((name for name, most in limits.items() if most is not None and have[name] > most), None)
            if over is None:
                fitting.append(index)
            reasons[index] = f"over {over}" if over else fine
        for index in fitting[len(fitting) - self.plan.report.window_orphans_dropped :]:
            reasons[index] = "part of a dropped group"
        return reasons

    def parts(self, rows: list[_Row]) -> dict[str, int]:
        """Tokens by part of the window."""
        filled = {"request": self.request.overhead, "tools": self.request.tools, "system text": self.request.system}
        filled |= dict.fromkeys(("head", "notice", "task", "history", "newest"), 0)
        for row in rows:
            if row.part:
                filled[row.part] += row.tokens
        if self.limit is not None:
            filled["reserve"] = self.reserve
            filled["free"] = max(self.limit - sum(filled.values()), 0)
        return {name: tokens for name, tokens in filled.items() if tokens}


def _as_dict(rows: list[_Row], parts: dict[str, int], plan: Plan) -> dict[str, Any]:
    messages = [
        {"index": place, "role": role, "chars": chars, "tokens": tokens, "action": action, "why": why}
        for place, role, chars, tokens, action, why, _part in rows
    ]
    return {"messages": messages, "window": parts, "report": plan.report.as_dict()}


def _rows(rows: list[_Row]) -> str:
    names = ["message", "role", "chars", "tokens", "action", "why"]
    places = ("" if row.place is None else str(row.place) for row in rows)
    cells = [[place, row.role, number(row.chars), number(row.tokens), row.action, row.why] for place, row in zip(places, rows, strict=True)]
    return table(names, cells, right="message chars tokens")


def _bars(parts: dict[str, int], limit: int | None) -> str:
    whole = limit if limit is not None else sum(parts.values())
    most = max(whole, 1)
    columns = max(10, min(width() - 40, 60))
    cells = [[name, number(tokens), f"{100 * tokens / most:.1f}%", bar(tokens, whole, columns)] for name, tokens in parts.items()]
    cells.append(["window" if limit is not None else "total", number(whole), "100.0%", ""])
    return table(["part", "tokens", "share", "of the window" if limit is not None else "of the request"], cells, right="tokens share")
