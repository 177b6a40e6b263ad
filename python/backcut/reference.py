"""The reference twin: the rules of ``docs/rules.md`` in plain Python, written for reading, with no regard for speed.

It has the face of the compiled core (``_core.pyi``), gives the same answers and raises the same errors; tests assert that on
generated histories. ``BACKCUT_PURE=1`` in the environment selects it where no wheel can be installed.

Reading is in :mod:`backcut.wire`, one file a format, the cap in :mod:`backcut.cap`, counting in :mod:`backcut.meter`; here is
what is sent: sections 3 and 5 to 9.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import accumulate, chain
from typing import Any

from . import bodies
from .bodies import request_field
from .cap import cap, cap_thena, chars_capped
from .edit import apply_plan, edit_message, says_first, text_to_fold_into
from .errors import BudgetError, OptionError
from .figures import DEFAULT, Figures, resolve
from .meter import Meter, Tokenizer, limit_memory, memory_limits
from .report import Edit, JsonPlan, Lines, Notice, PartCut, Plan, Trimmed, TrimmedJson, TrimReport
from .violations import check
from .wire import Reader, openai_chat
from .wire.common import Facts, Outline, Path, Piece, edited, read_history, size_in_bytes
from .wire.pairing import continues, pair

__all__ = ["Tokenizer", "Window", "check", "count_messages", "figures", "limit_memory", "memory_limits", "request_field"]


class Window:
    """One set of options, validated before; see ``backcut.context_window`` for what each means."""

    def __init__(
        self,
        *,
        format: str,
        max_turns: int | None,
        max_chars: int | None,
        max_tokens: int | None,
        reserve_tokens: int,
        max_chars_per_tool: int | None,
        tokenizer: Tokenizer | None,
        figures: Figures | None,
        model: str | None,
        start: str,
        notice: str | None,
        notice_role: str,
        tool_keep: str,
        trim_to: float | None,
        on_overflow: str,
        thinking: str,
        compat: str | None,
    ) -> None:
        self.format = format
        self.max_turns = max_turns
        self.max_chars = max_chars
        self.max_tokens = None if max_tokens is None else max_tokens - reserve_tokens
        self.max_chars_per_tool = max_chars_per_tool
        self.tokenizer = tokenizer
        self.figures = resolve(figures, model, "" if tokenizer is None else tokenizer.name)
        self.start = start
        self.notice = notice
        self.notice_role = notice_role
        self.tool_keep = tool_keep
        self.trim_to = trim_to
        self.on_overflow = on_overflow
        self.thinking = thinking
        self.compat = compat

    def trim(self, messages: Any, tools: Any, system: Any, hint: str = "openai-chat") -> Trimmed:
        """Plans, and builds what was planned."""
        # Read once, so that a tokenizer that changes the history meanwhile does no harm.
        history = read_history(messages)
        plan = self.plan(history, tools, system, hint)
        unchanged = plan.report.first_changed is None
        return Trimmed(messages if unchanged else apply_plan(plan, history), plan.report)

    def plan(self, messages: Any, tools: Any, system: Any, hint: str = "openai-chat") -> Plan:
        """What a trim would do; ``hint`` is the format where ``auto`` finds none."""
        if self.compat == "thena":
            return _plan_thena(self, messages)
        return _Search(self, messages, tools, system, hint).plan()

    def count(self, messages: Any, tools: Any, system: Any, format: str) -> int:
        """Tokens of the whole request, nothing of it cut; the window has a tokenizer."""
        assert self.tokenizer is not None
        return _count(Meter(self.tokenizer, self.figures), messages, format, tools, system)

    def trim_json(self, body: Any, key: str | None) -> TrimmedJson:
        """The same of a request in JSON."""
        return bodies.trim_json(self, body, key)

    def plan_json(self, body: Any, key: str | None) -> JsonPlan:
        """The pieces of which that would consist."""
        return bodies.plan_json(self, body, key)

    def trim_lines(self, chunk: bytes, key: str | None, on_error: str, reports: bool) -> Lines:
        """Many requests, one a line."""
        return bodies.trim_lines(self, chunk, key, on_error, reports)


@dataclass(frozen=True, slots=True)
class _Kept:
    """A candidate for what is sent of the body, by index in the body: a tail, and the task in front of it."""

    begin: int
    task: int | None
    with_notice: bool


@dataclass(frozen=True, slots=True)
class _Placed:
    """A notice as it would be placed, and what it costs there."""

    role: str
    folded_into: int | None
    """The user turn of the body that carries it."""
    chars: int
    tokens: int


class _Body:
    """The messages behind the head as they would be sent, read when they are asked for, from the newest back."""

    def __init__(
        self, messages: list[Any], outlines: list[Outline], offset: int, reader: Reader, window: Window, meter: Meter | None
    ) -> None:
        self.messages = messages
        self.outlines = outlines
        self.turns = [outline.turn for outline in outlines]
        self.size = len(messages)
        self.cuts: dict[int, list[tuple[PartCut, ...]]] = {}
        """Of each message with observations that are capped, how each of these is cut."""
        self.original: dict[int, Facts] = {}
        self.lead: tuple[PartCut, ...] | None = None
        """What the first message leaves of itself in the head where it is cut."""
        self._last_user = max((at for at, turn in enumerate(self.turns) if turn == "user"), default=-1)
        self._offset = offset
        self._reader = reader
        self._window = window
        self._meter = meter
        self._facts: dict[int, Facts] = {}
        self._tokens: dict[tuple[int, bool], int] = {}
        self._sums: dict[tuple[str, bool], dict[int, int]] = {}

    def read(self, at: int) -> Facts:
        """What the message says."""
        return self._reader.read(self.messages[at], self._offset + at, self.outlines[at], names=self._meter is not None)

    def facts(self, at: int) -> Facts:
        """What the message says, capped."""
        if at not in self._facts:
            facts = self.read(at)
            if at == 0 and self.lead is not None:
                # What may stay in the head counts as the head does, wherever it stands.
                stays = edited(facts, self.lead).pieces
                facts = replace(facts, pieces=tuple(replace(p, kind="opaque") if p in stays else p for p in facts.pieces))
            self.original[at] = facts
            most = self._window.max_chars_per_tool
            if most is not None:
                cuts = [found for texts in facts.observations if (found := cap(texts, most, self._window.tool_keep))]
                if cuts:
                    self.cuts[at] = cuts
                    facts = edited(facts, list(chain(*cuts)))
            self._facts[at] = facts
        return self._facts[at]

    def thinking(self, at: int) -> tuple[PartCut, ...]:
        """What takes the signed thinking out of the message: nothing, unless its turn is completed."""
        if at >= self._last_user or self.facts(at).thinking_stays:
            return ()
        return tuple(PartCut(path, 0, 0, "", dropped=True) for path in self.facts(at).thinking)

    def sent(self, at: int, stripped: bool) -> Facts | None:
        """What is sent of the message, with or without the thinking of completed turns; ``None`` if nothing is left."""
        facts = self.facts(at)
        cuts = self.thinking(at) if stripped else ()
        if not cuts:
            return facts
        return None if facts.only_thinking else edited(facts, cuts)

    def value(self, ceiling: str, at: int, stripped: bool) -> int:
        """What a ceiling sees of the message."""
        if ceiling == "max_turns" and not stripped:
            return 1  # without a look at it
        facts = self.sent(at, stripped)
        if facts is None:
            return 0
        if ceiling == "max_chars":
            return facts.chars
        return self._count(at, stripped, facts) if ceiling == "max_tokens" else 1

    def _count(self, at: int, stripped: bool, facts: Facts) -> int:
        if self._meter is None:
            return 0
        key = at, stripped and at < self._last_user
        if key not in self._tokens:
            self._tokens[key] = self._meter.message(facts)
        return self._tokens[key]

    def behind(self, ceiling: str, begin: int, stripped: bool) -> int:
        """What a ceiling sees of the messages from ``begin`` on."""
        sums = self._sums.setdefault((ceiling, stripped), {self.size: 0})
        for at in range(self.size - len(sums), begin - 1, -1):
            sums[at] = sums[at + 1] + self.value(ceiling, at, stripped)
        return sums[begin]

    def measure(self, at: int, ceiling: str) -> int:
        """Size of the message on the grid of ``trim_to``: of a capped observation its share, wherever its cut lies."""
        if ceiling == "max_turns":
            return 1
        size, counting = (len, ("said",)) if ceiling == "max_chars" else (size_in_bytes, ("said", "opaque"))
        self.facts(at)
        facts = self.original[at]
        most = self._window.max_chars_per_tool
        total = 0
        for texts in facts.observations:
            chars = sum(len(piece.text) for piece in texts)
            if most is not None and chars > most:
                total += most * sum(size(piece.text) for piece in texts) // chars
            else:
                total += sum(size(piece.text) for piece in texts if piece.kind == "said")
        total += sum(size(piece.text) for piece in facts.pieces if piece.observation is None and piece.kind in counting)
        if ceiling == "max_tokens" and self._meter is not None:
            total += self._meter.frame_in_bytes(self.facts(at))
        return total


class _Search:
    """One search for the longest tail that fits."""

    def __init__(self, window: Window, messages: Any, tools: Any, system: Any, hint: str) -> None:
        self.window = window
        history = read_history(messages)
        reader = Reader(history, window.format, hint)
        self.format = reader.format
        outlines = reader.outlines(history)
        self.head = next((index for index, outline in enumerate(outlines) if outline.turn != "system"), len(history))
        is_developer = self.head > 0 and outlines[self.head - 1].role == "developer"
        self.head_role = "developer" if is_developer else "system"
        self.meter = Meter(window.tokenizer, window.figures, window.max_tokens) if window.tokenizer is not None else None
        self.fixed_tokens = window.figures.reply + self.meter.tools(tools) + self.meter.system(system) if self.meter else 0
        for index in range(self.head):
            facts = reader.read(history[index], index, outlines[index], names=self.meter is not None)
            self.fixed_tokens += self.meter.message(facts) if self.meter else 0
        self.notice = window.notice or None
        said = [text_to_fold_into(message, self.format.name) for message in history[: self.head]]
        self.carried = any(text is not None and text == self.notice for text in said)
        self.body = _Body(history[self.head :], outlines[self.head :], self.head, reader, window, self.meter)
        self.lead_tokens = 0
        if self.body.size and (cuts := self.format.lead(self.body.messages[0])) is not None:
            self.body.lead = cuts
            copy = edit_message(self.body.messages[0], cuts)
            facts = reader.read(copy, self.head, reader.outline(copy, self.head), names=self.meter is not None)
            self.lead_tokens = self.meter.message(facts) if self.meter else 0
        ceilings = (("max_turns", window.max_turns), ("max_chars", window.max_chars), ("max_tokens", window.max_tokens))
        self.ceilings = [(name, limit) for name, limit in ceilings if limit is not None]
        self.turn_before = _turn_before(self.body.turns)
        self.boundaries = _boundaries(self.body.outlines, self.format.merges)

    # Ceilings

    def leaves_out(self, kept: _Kept) -> bool:
        """Whether a candidate is not all of the body."""
        return kept.begin > (kept.task is not None)

    def strips(self, kept: _Kept) -> bool:
        """Whether a candidate is sent without the signed thinking of completed turns."""
        return self.window.thinking == "strip" and self.leaves_out(kept)

    def leads(self, kept: _Kept) -> bool:
        """Whether the first message leaves a part of itself in the head."""
        return self.body.lead is not None and kept.begin > 0 and kept.task != 0

    def value(self, ceiling: str, kept: _Kept) -> int:
        """What a ceiling sees of a candidate."""
        body, task, stripped = self.body, kept.task, self.strips(kept)
        total = body.behind(ceiling, kept.begin, stripped)
        if task is not None:
            total += body.value(ceiling, task, stripped)
        placed = self.placed(kept)
        if ceiling == "max_chars":
            total += len(self.notice) if self.carried and self.notice is not None else 0
            total += placed.chars if placed else 0
        elif ceiling == "max_tokens":
            total += self.fixed_tokens + (self.lead_tokens if self.leads(kept) else 0)
            total += placed.tokens if placed else 0
        return total

    def fits(self, kept: _Kept) -> bool:
        """Whether a candidate meets every ceiling."""
        if kept.task is not None:
            self.body.facts(kept.task)
        return all(self.value(ceiling, kept) <= limit for ceiling, limit in self.ceilings)

    def placed(self, kept: _Kept) -> _Placed | None:
        """The notice that a candidate needs."""
        text = self.notice
        if text is None or self.carried or not kept.with_notice or not self.leaves_out(kept):
            return None
        if self.window.notice_role == "user" or not self.format.has_system_turns:
            return self._folded(kept, text)
        role = self.head_role if self.window.notice_role == "auto" else "system"
        tokens = self.window.figures.message + self.meter.text(role) + self.meter.text(text) if self.meter else 0
        return _Placed(role, None, len(text), tokens)

    def _folded(self, kept: _Kept, text: str) -> _Placed | None:
        at = kept.task
        if at is None:
            at = next((k for k in range(kept.begin, self.body.size) if self.body.turns[k] == "user"), None)
        if at is None:
            return None
        self.body.facts(at)
        message = self.body.messages[at]
        if says_first(message, text, self.format.name):
            return None
        count = self.meter.text if self.meter else lambda _: 0
        said = text_to_fold_into(message, self.format.name)
        if said is None:
            return _Placed("user", at, len(text), count(text))
        return _Placed("user", at, len(text) + 2, count(f"{text}\n\n{said}") - count(said))

    # Candidates

    def task_of(self, begin: int) -> int | None:
        """The nearest plain user turn before a tail that does not begin with one."""
        if self.window.start != "user" or self.body.turns[begin] == "user":
            return None
        return self.turn_before[begin]

    def candidates(self, with_notice: bool, with_task: bool) -> Iterator[_Kept]:
        """Every tail that may be sent, from the newest group back."""
        starts = [at for at in self.boundaries if self.body.turns[at] != "system"]
        # Where no user turn stands before the newest group or begins it, no tail can begin with one, and all may be sent.
        strict = with_task and self.window.start == "user" and "user" in self.body.turns[: starts[-1] + 1]
        for begin in reversed(starts):
            task = self.task_of(begin) if with_task else None
            if strict and task is None and self.body.turns[begin] != "user":
                return
            yield _Kept(begin, task, with_notice)

    def group_of(self, at: int) -> int:
        """Where the group of a message begins."""
        return max((boundary for boundary in self.boundaries if boundary <= at), default=0)

    # The search

    def plan(self) -> Plan:
        """The longest tail, and what else is done."""
        whole = _Kept(0, None, with_notice=False)
        if self.body.size == 0:
            limit = self.window.max_tokens
            over_budget = limit is not None and self.fixed_tokens > limit
            if limit is not None and over_budget and self.window.on_overflow == "raise":
                raise BudgetError(self.fixed_tokens, limit, "max_tokens", None)
            return self.result(whole, over_budget=over_budget)
        longest = self.longest_suffix()
        if longest == 0:
            return self.result(whole, longest=longest)
        newest = next(self.candidates(with_notice=True, with_task=True))
        # Groups are read whole, and with trim_to all that will be measured, so that errors do not depend on the search.
        read_to = 0 if self.window.trim_to is not None else min(self.group_of(longest), newest.begin)
        for at in reversed(range(read_to, self.body.size)):
            self.body.facts(at)
        variants = [(True, True), (False, True)]
        task_may_go = newest.task is not None and not self.format.insists_on_user
        if task_may_go:
            variants += [(True, False), (False, False)]
        for with_notice, with_task in variants:
            candidates = list(self.candidates(with_notice, with_task))
            if self.fits(candidates[0]):
                kept = self.on_grid(candidates) if self.window.trim_to is not None else self.longest_tail(candidates, longest)
                return self.result(kept, longest=longest, task_dropped=not with_task)
        least = _Kept(newest.begin, None if task_may_go else newest.task, with_notice=False)
        if self.window.on_overflow == "raise":
            name, most, needed = next((name, most, needed) for name, most in self.ceilings if (needed := self.value(name, least)) > most)
            raise BudgetError(needed, most, name, self.head + newest.begin)
        return self.result(least, longest=longest, task_dropped=task_may_go, over_budget=True)

    def longest_suffix(self) -> int:
        """Where the longest message suffix begins that meets the ceilings, wherever that is. Reads back until one is passed."""
        begin = self.body.size
        while begin > 0:
            self.body.facts(begin - 1)
            if not self.fits(_Kept(begin - 1, None, with_notice=False)):
                break
            begin -= 1
        return begin

    def longest_tail(self, candidates: list[_Kept], longest: int) -> _Kept:
        """The longest candidate that fits. What begins before the longest suffix cannot."""
        return [kept for kept in candidates if kept.begin >= longest and self.fits(kept)][-1]

    @staticmethod
    def furthest(candidates: list[_Kept], fits: Callable[[_Kept], bool]) -> _Kept:
        """The last candidate before one that does not fit; the first is known to."""
        best = candidates[0]
        for kept in candidates[1:]:
            if not fits(kept):
                break
            best = kept
        return best

    def on_grid(self, candidates: list[_Kept]) -> _Kept:
        """The cut that stays where it is until the window is full again: for each ceiling on its grid, the furthest of them."""
        oldest_first = candidates[::-1]
        return max((self._on_grid_of(name, limit, oldest_first) for name, limit in self.ceilings), key=lambda kept: kept.begin)

    def _on_grid_of(self, ceiling: str, limit: int, oldest_first: list[_Kept]) -> _Kept:
        least = self.furthest(oldest_first[::-1], lambda kept: self.value(ceiling, kept) <= limit)
        dropped = self._dropped(ceiling)
        size = 4 * limit if ceiling == "max_tokens" else limit
        step = max(1, math.floor((1.0 - (self.window.trim_to or 0.0)) * size + 0.5))
        # The grid's k-th cut, k being 1 or more, is the first candidate that drops k steps; the first that fits is wanted.
        too_long = [kept for kept in oldest_first if kept.begin < least.begin]
        if not too_long and self.value(ceiling, _Kept(0, None, with_notice=False)) <= limit:
            return least  # the ceiling asks for no cut at all
        fitting = oldest_first[len(too_long) :]
        while step > 1:
            steps = dropped[too_long[-1].begin] // step + 1 if too_long else 1
            cut = next((kept for kept in fitting if dropped[kept.begin] >= steps * step), fitting[-1])
            if self._is_enough(ceiling, cut, fitting[0]):
                return cut
            # The step takes too much: a large group lies across the line, or the guess of 4 bytes a token is far off.
            step //= 2
        return fitting[0]

    def _is_enough(self, ceiling: str, cut: _Kept, longest: _Kept) -> bool:
        """Whether a cut keeps at least half of the share that it should go back to, of what a ceiling sees of the tail."""
        kept, most = (self._behind(ceiling, each.begin) for each in (cut, longest))
        return 2.0 * kept >= (self.window.trim_to or 0.0) * most

    def _behind(self, ceiling: str, begin: int) -> int:
        """What a ceiling sees of a tail alone."""
        return self.body.behind(ceiling, begin, self.window.thinking == "strip" and begin > 0)

    def _dropped(self, ceiling: str) -> list[int]:
        """For each index of the body what stands before it, in the unit of a ceiling's grid."""
        sizes = [self.body.measure(at, ceiling) for at in reversed(range(self.body.size))][::-1]
        return [0, *accumulate(sizes)]

    # The plan

    def result(self, kept: _Kept, *, longest: int = 0, task_dropped: bool = False, over_budget: bool = False) -> Plan:
        """The plan that sends ``kept``."""
        body, head, placed = self.body, self.head, self.placed(kept)
        sent: list[_Sent] = []
        facts_sent: list[Facts] = []
        changed = self.leaves_out(kept)
        for at in [*([kept.task] if kept.task is not None else []), *range(kept.begin, body.size)]:
            stripped = changed and self.window.thinking == "strip"
            facts = body.sent(at, stripped)
            capping = body.cuts.get(at, [])
            if facts is not None:
                facts_sent.append(facts)
                sent.append(_Sent(head + at, facts, (*chain(*capping), *(body.thinking(at) if stripped else ()))))
            changed = changed or facts is None or bool(sent[-1].cuts)
        chars = sum(facts.chars for facts in facts_sent) + (len(self.notice) if self.carried and self.notice is not None else 0)
        tokens = self.fixed_tokens + sum(map(self.meter.message, facts_sent)) if self.meter else None
        if placed is not None:
            chars, tokens = chars + placed.chars, None if tokens is None else tokens + placed.tokens
        if self.leads(kept) and body.lead is not None:
            sent.insert(0, _Sent(head, None, body.lead))
            tokens = None if tokens is None else tokens + self.lead_tokens
        notice = None
        if placed is not None and self.notice is not None:
            leads, indices = self.leads(kept), [each.index for each in sent]
            at = int(leads) if placed.folded_into is None else indices.index(head + placed.folded_into, int(leads))
            notice = Notice(self.notice, placed.role, head + at, placed.folded_into is not None)
        capped = [each.index - head for each in sent if each.facts is not None and each.index - head in body.cuts]
        report = _report(
            [*(_Sent(index, None, ()) for index in range(head)), *sent],
            notice,
            self.format.name,
            original=head + body.size,
            trimmed=self.leaves_out(kept),
            orphans=self._orphans(longest, kept.begin),
            task_dropped=task_dropped,
            tools_truncated=sum(len(body.cuts[at]) for at in capped),
            chars_capped=sum(_chars_capped(body.original[at], body.cuts[at]) for at in capped),
            chars=chars,
            tokens=tokens,
            over_budget=over_budget,
        )
        edits = tuple(Edit(each.index, each.cuts) for each in sent if each.cuts)
        return Plan((*range(head), *(each.index for each in sent)), edits, notice, report)

    def _orphans(self, longest: int, begin: int) -> int:
        """How many messages would have fitted, had the rest of their group fitted too."""
        group = self.group_of(longest)
        if longest in (group, self.body.size) or group >= begin:
            return 0
        return min((at for at in self.boundaries if at > longest), default=self.body.size) - longest


def _boundaries(outlines: Sequence[Outline], merges: bool) -> list[int]:
    """Where a body may be cut: in front of what is no result, except within a turn, and where a weld holds."""
    welded = {at for first, last in pair(outlines, merges).welds for at in range(first + 1, last + 1)}
    return [
        at
        for at, outline in enumerate(outlines)
        if at == 0 or (outline.turn != "result" and at not in welded and not continues(outlines, at, merges))
    ]


def _turn_before(turns: Sequence[str]) -> list[int | None]:
    """For each message the nearest user turn before it."""
    before: list[int | None] = [None]
    for at, turn in enumerate(turns):
        before.append(at if turn == "user" else before[-1])
    return before


def _chars_capped(facts: Facts, cuts: Sequence[tuple[PartCut, ...]]) -> int:
    """How many characters went from the observations of a message, each of which has its own cuts."""
    return sum(chars_capped(texts, own) for own in cuts for texts in facts.observations if own[0].path in _paths(texts))


def _paths(texts: Sequence[Piece]) -> set[Path | None]:
    return {path for piece in texts for path in (piece.path, piece.item)}


@dataclass(frozen=True, slots=True)
class _Sent:
    """A message of the result, by its place in the history."""

    index: int
    facts: Facts | None
    """``None`` where nothing of it can have been invalidated."""
    cuts: tuple[PartCut, ...]


def _report(
    messages: Sequence[_Sent],
    notice: Notice | None,
    format: str,
    *,
    original: int,
    trimmed: bool,
    orphans: int,
    task_dropped: bool,
    tools_truncated: int,
    chars_capped: int,
    chars: int,
    tokens: int | None,
    over_budget: bool,
) -> TrimReport:
    sent = [None if each.cuts else each.index for each in messages]
    thinks = [each.facts is not None and bool(each.facts.thinking) for each in messages]
    if notice is not None and notice.folded:
        sent[notice.at] = None
    elif notice is not None:
        sent.insert(notice.at, None)
        thinks.insert(notice.at, False)
    same = next((place for place, index in enumerate(sent) if index != place), len(sent))
    return TrimReport(
        window_trimmed=trimmed,
        messages_original=original,
        messages_sent=len(sent),
        window_orphans_dropped=orphans,
        task_dropped=task_dropped,
        tools_truncated=tools_truncated,
        chars_capped=chars_capped,
        chars_sent=chars,
        tokens_sent=tokens,
        first_changed=None if same == len(sent) == original else same,
        over_budget=over_budget,
        thinking_invalidated=any(thinks[same:]),
        format=format,
    )


def _plan_thena(window: Window, messages: Any) -> Plan:
    """The rules of ThenaJS's ``contextWindow()``, quirks included: section 8."""
    history = read_history(messages)
    reader = Reader(history, window.format)  # ThenaJS knows one format, whatever stands beside its messages
    if reader.format.name != openai_chat.name:
        raise OptionError("compat", "thena", f"is for openai-chat, not for {reader.format.name}")
    outlines = reader.outlines(history)
    head = next((index for index, outline in enumerate(outlines) if outline.turn != "system"), len(history))
    body = list(range(head, len(history)))
    facts: dict[int, Facts] = {}
    for index in body:
        facts[index] = openai_chat.read_content(history[index], index, outlines[index])
        reader.refuse_parts(history[index], index)
    most = window.max_chars_per_tool
    cuts: dict[int, tuple[PartCut, ...]] = {}
    if most is not None:
        tools = [index for index in body if outlines[index].role == "tool"]
        cuts = {index: found for index in tools for texts in facts[index].observations if (found := cap_thena(texts, most))}
    sent = {index: edited(facts[index], cuts.get(index, ())) for index in body}

    trimmed = False
    if window.max_turns is not None and len(body) > window.max_turns:
        body = body[-window.max_turns :]  # of which 0 keeps all
        trimmed = True
    left = sum(sent[index].chars for index in body)
    while window.max_chars is not None and len(body) > 1 and left > window.max_chars:
        left -= sent[body.pop(0)].chars
        trimmed = True
    orphans = 0
    while body and outlines[body[0]].role == "tool":
        left -= sent[body.pop(0)].chars
        orphans += 1

    indices = (*range(head), *body)
    capped = [index for index in body if index in cuts]
    notice = Notice(window.notice, "system", head, folded=False) if trimmed and window.notice is not None else None
    report = _report(
        [_Sent(index, None, cuts.get(index, ())) for index in indices],
        notice,
        reader.format.name,
        original=len(history),
        trimmed=trimmed,
        orphans=orphans,
        task_dropped=False,
        tools_truncated=len(capped),
        chars_capped=sum(_chars_capped(facts[index], [cuts[index]]) for index in capped),
        chars=left,
        tokens=None,
        over_budget=window.max_chars is not None and left > window.max_chars,
    )
    return Plan(indices, tuple(Edit(index, cuts[index]) for index in capped), notice, report)


def figures(model: str | None) -> dict[str, int]:
    """The figures of a model by name; without one those that are counted with where nothing is said."""
    return asdict(DEFAULT if model is None else Figures.of(model))


def count_messages(
    messages: Any,
    tokenizer: Tokenizer,
    format: str,
    tools: Any,
    system: Any,
    figures: Figures | None = None,
    model: str | None = None,
) -> int:
    """Tokens of a request."""
    return _count(Meter(tokenizer, resolve(figures, model, tokenizer.name)), messages, format, tools, system)


def _count(meter: Meter, messages: Any, format: str, tools: Any, system: Any) -> int:
    history = read_history(messages)
    facts = Reader(history, format).read_all(history)
    return meter.figures.reply + sum(map(meter.message, facts)) + meter.tools(tools) + meter.system(system)
