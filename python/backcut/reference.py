"""The reference twin: the rules of ``docs/rules.md`` in plain Python, written for reading, with no regard for speed.

It has the face of the compiled core (``_core.pyi``), gives the same answers and raises the same errors; tests assert that on
generated histories. ``BACKCUT_PURE=1`` in the environment selects it where no wheel can be installed.

Reading is in :mod:`backcut.facts`, the cap in :mod:`backcut.cap`, counting in :mod:`backcut.meter`; here is
what is sent: sections 3 and 5 to 9.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .cap import cap, cap_thena, capped, texts_under_cap
from .errors import BudgetError
from .facts import FORMAT, HEAD, RESULTS, Facts, get, pair, read, read_content, read_history, read_role, size_in_bytes
from .figures import DEFAULT, Figures, resolve
from .meter import Meter, Tokenizer, limit_memory, memory_limits
from .report import Edit, Notice, PartCut, Plan, Trimmed, TrimReport, Violation

__all__ = ["Tokenizer", "Window", "check", "count_messages", "figures", "limit_memory", "memory_limits"]


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
        self.compat = compat

    def trim(self, messages: Any, tools: Any, system: Any) -> Trimmed:
        """Plans, and builds what was planned."""
        from .edit import apply_plan

        # Read once, so that a tokenizer that changes the history meanwhile does no harm.
        history = read_history(messages)
        plan = self.plan(history, tools, system)
        unchanged = plan.report.first_changed is None
        return Trimmed(messages if unchanged else apply_plan(plan, history), plan.report)

    def plan(self, messages: Any, tools: Any, system: Any) -> Plan:
        """What a trim would do."""
        if self.compat == "thena":
            return _plan_thena(self, messages)
        return _Search(self, messages, tools, system).plan()


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

    def __init__(self, messages: list[Any], roles: list[str], offset: int, window: Window, meter: Meter | None) -> None:
        self.messages = messages
        self.roles = roles
        self.size = len(messages)
        self.cuts: dict[int, tuple[PartCut, ...]] = {}
        self.original: dict[int, Facts] = {}
        self._offset = offset
        self._window = window
        self._meter = meter
        self._facts: dict[int, Facts] = {}
        self._tokens: dict[int, int] = {}
        self._chars_behind = {self.size: 0}
        self._tokens_behind = {self.size: 0}

    def facts(self, at: int) -> Facts:
        """What the message says, capped."""
        if at not in self._facts:
            role = self.roles[at]
            facts = read(self.messages[at], self._offset + at, role, self._window.format, names=self._meter is not None)
            self.original[at] = facts
            most = self._window.max_chars_per_tool
            if role in RESULTS and most is not None and (cuts := cap(facts, most, self._window.tool_keep)):
                self.cuts[at] = cuts
                facts = capped(facts, cuts)
            self._facts[at] = facts
        return self._facts[at]

    def tokens(self, at: int) -> int:
        """Tokens of the message, capped."""
        if self._meter is None:
            return 0
        if at not in self._tokens:
            self._tokens[at] = self._meter.message(self.facts(at))
        return self._tokens[at]

    def chars_behind(self, begin: int) -> int:
        """Characters of the messages from ``begin`` on."""
        return self._behind(begin, self._chars_behind, lambda at: self.facts(at).chars)

    def tokens_behind(self, begin: int) -> int:
        """Tokens of the messages from ``begin`` on."""
        return self._behind(begin, self._tokens_behind, self.tokens)

    def _behind(self, begin: int, sums: dict[int, int], size: Callable[[int], int]) -> int:
        for at in range(self.size - len(sums), begin - 1, -1):
            sums[at] = sums[at + 1] + size(at)
        return sums[begin]

    def measure(self, at: int, size: Callable[[str], int]) -> int:
        """Size of the message on the grid of ``trim_to``: of a capped observation its share, wherever its cut lies."""
        facts = self.facts(at)
        if at not in self.cuts:
            return sum(map(size, facts.texts))
        original, most = self.original[at], self._window.max_chars_per_tool or 0
        shared = [part.text or "" for part in texts_under_cap(original)]
        others = [text for part in original.content or () for text in part.others]
        return most * sum(map(size, shared)) // sum(map(len, shared)) + sum(map(size, others))


class _Search:
    """One search for the longest tail that fits."""

    def __init__(self, window: Window, messages: Any, tools: Any, system: Any) -> None:
        self.window = window
        history = read_history(messages)
        roles = [read_role(message, index, window.format) for index, message in enumerate(history)]
        self.head = next((index for index, role in enumerate(roles) if role not in HEAD), len(history))
        self.head_role = roles[self.head - 1] if self.head else "system"
        self.meter = Meter(window.tokenizer, window.figures, window.max_tokens) if window.tokenizer is not None else None
        self.fixed_tokens = window.figures.reply + self.meter.tools(tools) + self.meter.system(system) if self.meter else 0
        for index in range(self.head):
            facts = read(history[index], index, roles[index], window.format, names=self.meter is not None)
            self.fixed_tokens += self.meter.message(facts) if self.meter else 0
        self.notice = window.notice or None
        contents = [get(message, "content") for message in history[: self.head]]
        self.carried = any(isinstance(content, str) and content == self.notice for content in contents)
        self.body = _Body(history[self.head :], roles[self.head :], self.head, window, self.meter)
        ceilings = (("max_turns", window.max_turns), ("max_chars", window.max_chars), ("max_tokens", window.max_tokens))
        self.ceilings = [(name, limit) for name, limit in ceilings if limit is not None]
        self.turn_before = _turn_before(self.body.roles)
        self.boundaries = _boundaries(self.body.messages, self.body.roles)

    # Ceilings

    def value(self, ceiling: str, kept: _Kept) -> int:
        """What a ceiling sees of a candidate."""
        body, task = self.body, kept.task
        if ceiling == "max_turns":
            return body.size - kept.begin + (task is not None)
        placed = self.placed(kept)
        if ceiling == "max_chars":
            total = body.chars_behind(kept.begin) + (body.facts(task).chars if task is not None else 0)
            if self.carried and self.notice is not None:
                total += len(self.notice)
            return total + (placed.chars if placed else 0)
        total = self.fixed_tokens + body.tokens_behind(kept.begin) + (body.tokens(task) if task is not None else 0)
        return total + (placed.tokens if placed else 0)

    def fits(self, kept: _Kept) -> bool:
        """Whether a candidate meets every ceiling."""
        if kept.task is not None:
            self.body.facts(kept.task)
        return all(self.value(ceiling, kept) <= limit for ceiling, limit in self.ceilings)

    def placed(self, kept: _Kept) -> _Placed | None:
        """The notice that a candidate needs."""
        body, text = self.body, self.notice
        left_out = body.size - kept.begin + (kept.task is not None) < body.size
        if text is None or self.carried or not kept.with_notice or not left_out:
            return None
        if self.window.notice_role == "user":
            return self._folded(kept, text)
        role = self.head_role if self.window.notice_role == "auto" else "system"
        tokens = self.window.figures.message + self.meter.text(role) + self.meter.text(text) if self.meter else 0
        return _Placed(role, None, len(text), tokens)

    def _folded(self, kept: _Kept, text: str) -> _Placed | None:
        at = kept.task
        if at is None:
            at = next((k for k in range(kept.begin, self.body.size) if self.body.roles[k] == "user"), None)
        if at is None:
            return None
        content = self.body.facts(at).content
        count = self.meter.text if self.meter else lambda _: 0
        first = content[0] if content else None
        if first is not None and first.place is None:
            said = first.text or ""
            if said == text or said.startswith(text + "\n\n"):
                return None
            joined = f"{text}\n\n{said}"
            return _Placed("user", at, len(text) + 2, count(joined) - count(said))
        if first is not None and first.is_text and first.text == text:
            return None
        return _Placed("user", at, len(text), count(text))

    # Candidates

    def task_of(self, begin: int) -> int | None:
        """The nearest plain user turn before a tail that does not begin with one."""
        if self.window.start != "user" or self.body.roles[begin] == "user":
            return None
        return self.turn_before[begin]

    def candidates(self, with_notice: bool, with_task: bool) -> Iterator[_Kept]:
        """Every tail that may be sent, from the newest group back."""
        starts = [at for at in self.boundaries if self.body.roles[at] not in HEAD]
        # Where no user turn stands before the newest group or begins it, no tail can begin with one, and all may be sent.
        strict = with_task and self.window.start == "user" and "user" in self.body.roles[: starts[-1] + 1]
        for begin in reversed(starts):
            task = self.task_of(begin) if with_task else None
            if strict and task is None and self.body.roles[begin] != "user":
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
        if newest.task is not None:
            variants += [(True, False), (False, False)]
        for with_notice, with_task in variants:
            candidates = list(self.candidates(with_notice, with_task))
            if self.fits(candidates[0]):
                kept = self.on_grid(candidates) if self.window.trim_to is not None else self.longest_tail(candidates, longest)
                return self.result(kept, longest=longest, task_dropped=not with_task)
        least = _Kept(newest.begin, None, with_notice=False)
        if self.window.on_overflow == "raise":
            name, most, needed = next((name, most, needed) for name, most in self.ceilings if (needed := self.value(name, least)) > most)
            raise BudgetError(needed, most, name, self.head + newest.begin)
        return self.result(least, longest=longest, task_dropped=newest.task is not None, over_budget=True)

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
        if ceiling == "max_turns":
            return self.body.size - begin
        return self.body.chars_behind(begin) if ceiling == "max_chars" else self.body.tokens_behind(begin)

    def _dropped(self, ceiling: str) -> list[int]:
        """For each index of the body what stands before it, in the unit of a ceiling's grid."""
        if ceiling == "max_turns":
            return list(range(self.body.size + 1))
        size = len if ceiling == "max_chars" else size_in_bytes
        sizes = [self.body.measure(at, size) for at in reversed(range(self.body.size))][::-1]
        if ceiling == "max_tokens" and self.meter is not None:
            sizes = [each + self.meter.frame_in_bytes(self.body.facts(at)) for at, each in enumerate(sizes)]
        sums = [0]
        for each in sizes:
            sums.append(sums[-1] + each)
        return sums

    # The plan

    def result(self, kept: _Kept, *, longest: int = 0, task_dropped: bool = False, over_budget: bool = False) -> Plan:
        """The plan that sends ``kept``."""
        body, head, placed = self.body, self.head, self.placed(kept)
        sent = [*([kept.task] if kept.task is not None else []), *range(kept.begin, body.size)]
        indices = (*range(head), *(head + at for at in sent))
        notice = None
        if placed is not None and self.notice is not None:
            folded = placed.folded_into is not None
            notice = Notice(self.notice, placed.role, head + (sent.index(placed.folded_into) if folded else 0), folded)
        edits = tuple(Edit(head + at, body.cuts[at]) for at in sent if at in body.cuts)
        report = _report(
            indices,
            edits,
            notice,
            original=head + body.size,
            trimmed=len(sent) < body.size,
            orphans=self._orphans(longest, kept.begin),
            task_dropped=task_dropped,
            chars_capped=sum(_chars_capped(body.original[at], body.cuts[at]) for at in sent if at in body.cuts),
            chars=self.value("max_chars", kept),
            tokens=self.value("max_tokens", kept) if self.meter else None,
            over_budget=over_budget,
        )
        return Plan(indices, edits, notice, report)

    def _orphans(self, longest: int, begin: int) -> int:
        """How many messages would have fitted, had the rest of their group fitted too."""
        group = self.group_of(longest)
        if longest in (group, self.body.size) or group >= begin:
            return 0
        return min((at for at in self.boundaries if at > longest), default=self.body.size) - longest


def _boundaries(messages: Sequence[Any], roles: Sequence[str]) -> list[int]:
    """Where a body may be cut: in front of what is no result, except between a call and its late result."""
    welded = {at for result, call in pair(messages, roles).late.items() for at in range(call + 1, result + 1)}
    return [at for at, role in enumerate(roles) if at == 0 or (role not in RESULTS and at not in welded)]


def _turn_before(roles: Sequence[str]) -> list[int | None]:
    """For each message the nearest user turn before it."""
    turns: list[int | None] = [None]
    for at, role in enumerate(roles):
        turns.append(at if role == "user" else turns[-1])
    return turns


def _chars_capped(facts: Facts, cuts: tuple[PartCut, ...]) -> int:
    """How many characters went from an observation; its marker is set off against them."""
    before = sum(len(part.text or "") for part in texts_under_cap(facts))
    after = sum(len(part.text or "") for part in texts_under_cap(capped(facts, cuts)))
    return max(0, before - after)


def _report(
    indices: Sequence[int],
    edits: Sequence[Edit],
    notice: Notice | None,
    *,
    original: int,
    trimmed: bool,
    orphans: int,
    task_dropped: bool,
    chars_capped: int,
    chars: int,
    tokens: int | None,
    over_budget: bool,
) -> TrimReport:
    edited = {edit.index for edit in edits}
    sent = [index if index not in edited else None for index in indices]
    if notice is not None and notice.folded:
        sent[notice.at] = None
    elif notice is not None:
        sent.insert(notice.at, None)
    same = next((place for place, index in enumerate(sent) if index != place), len(sent))
    return TrimReport(
        window_trimmed=trimmed,
        messages_original=original,
        messages_sent=len(sent),
        window_orphans_dropped=orphans,
        task_dropped=task_dropped,
        tools_truncated=len(edits),
        chars_capped=chars_capped,
        chars_sent=chars,
        tokens_sent=tokens,
        first_changed=None if same == len(sent) == original else same,
        over_budget=over_budget,
        thinking_invalidated=False,
        format=FORMAT,
    )


def _read_all(messages: Any, form: str, *, names: bool) -> list[Facts]:
    """All messages, oldest first: their roles, then the rest."""
    history = read_history(messages)
    roles = [read_role(message, index, form) for index, message in enumerate(history)]
    return [read(message, index, roles[index], form, names=names) for index, message in enumerate(history)]


def _plan_thena(window: Window, messages: Any) -> Plan:
    """The rules of ThenaJS's ``contextWindow()``, quirks included: section 8."""
    history = read_history(messages)
    roles = [read_role(message, index, window.format) for index, message in enumerate(history)]
    head = next((index for index, role in enumerate(roles) if role not in HEAD), len(history))
    body = list(range(head, len(history)))
    facts = {index: read_content(history[index], index, roles[index], window.format) for index in body}
    most = window.max_chars_per_tool
    cuts: dict[int, tuple[PartCut, ...]] = {}
    if most is not None:
        cuts = {index: found for index in body if roles[index] == "tool" and (found := cap_thena(facts[index], most))}
    sent = {index: capped(facts[index], cuts[index]) if index in cuts else facts[index] for index in body}
    chars = {index: sum(map(len, message.content_texts)) for index, message in sent.items()}

    trimmed = False
    if window.max_turns is not None and len(body) > window.max_turns:
        body = body[-window.max_turns :]  # of which 0 keeps all
        trimmed = True
    left = sum(chars[index] for index in body)
    while window.max_chars is not None and len(body) > 1 and left > window.max_chars:
        left -= chars[body.pop(0)]
        trimmed = True
    orphans = 0
    while body and roles[body[0]] == "tool":
        left -= chars[body.pop(0)]
        orphans += 1

    indices = (*range(head), *body)
    edits = tuple(Edit(index, cuts[index]) for index in body if index in cuts)
    notice = Notice(window.notice, "system", head, folded=False) if trimmed and window.notice is not None else None
    report = _report(
        indices,
        edits,
        notice,
        original=len(history),
        trimmed=trimmed,
        orphans=orphans,
        task_dropped=False,
        chars_capped=sum(_chars_capped(facts[edit.index], edit.cuts) for edit in edits),
        chars=left,
        tokens=None,
        over_budget=window.max_chars is not None and left > window.max_chars,
    )
    return Plan(indices, edits, notice, report)


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
    meter = Meter(tokenizer, resolve(figures, model, tokenizer.name))
    facts = _read_all(messages, format, names=True)
    return meter.figures.reply + sum(map(meter.message, facts)) + meter.tools(tools) + meter.system(system)


def check(messages: Any, format: str) -> list[Violation]:
    """What a provider would refuse: section 9."""
    facts = _read_all(messages, format, names=True)
    if not facts:
        return [Violation("empty_history", 0, "there is no message", ())]
    history = list(messages)
    pairing = pair(history, [message.role for message in facts])
    found = []

    def report(code: str, index: int, sentence: str, ids: Sequence[str | None] = ()) -> None:
        found.append(Violation(code, index, sentence, tuple(name for name in ids if name)))

    for index, message in enumerate(facts):
        calls = message.tool_calls or ()
        ids = [call.id for call in calls]
        name = get(history[index], "name")
        result_id = [message.result_id]
        if message.content is None and not (message.calls or message.refused or message.audio):
            report("missing_content", index, f"this {message.role} message has no content")
        if message.tool_calls == ():
            report("empty_tool_calls", index, "tool_calls is an empty list; leave the key out")
        if calls and message.function_call:
            report("mixed_calls", index, "tool_calls and function_call do not go together")
        if None in ids:
            report("missing_id", index, "a call has no id")
        if message.role == "tool" and message.result_id is None:
            report("missing_id", index, "this result has no tool_call_id")
        if message.role == "function" and not (isinstance(name, str) and name):
            report("missing_id", index, "this result has no name")
        if twice := [call_id for k, call_id in enumerate(ids) if call_id and ids[:k].count(call_id) == 1]:
            report("duplicate_id", index, "two calls have the same id", twice)
        if message.role == "tool" and not all(part.is_text for part in message.content or ()):
            report("media_in_result", index, "a result may hold text only")
        if index in pairing.unanswered:
            live = all(later.role in RESULTS for later in facts[index + 1 :])
            code = "pending_call" if live else "unanswered_call"
            report(code, index, "a call has no result yet" if live else "a call has no result", pairing.unanswered[index])
        if index in pairing.late:
            report("late_result", index, f"this result does not stand behind its call in messages[{pairing.late[index]}]", result_id)
        if index in pairing.orphans:
            report("orphan_result", index, "this result answers no call", result_id)
    return found
