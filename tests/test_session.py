"""A growing session: whatever is said, called, answered, trimmed, stored and asked for, the promises hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import backcut
from brute import boundaries, newest
from sizes import body, body_chars, chars, request_tokens
from strict import is_sound, problems
from support import DEFAULT_NOTICE, cheap, get, head_length, outcome, snapshot

WORDS = st.sampled_from(
    ["go on", "what now?", "日本語のテキスト", "x" * 60, "", "👩\u200d👩\u200d👧 and 🇩🇪", "a longer line of plain words. " * 3]
)

WINDOWS = st.fixed_dictionaries(
    {},
    optional={
        "max_turns": st.integers(1, 14),
        "max_chars": st.integers(1, 700),
        "max_tokens": st.integers(1, 260),
        "max_chars_per_tool": st.integers(1, 60),
        "tool_keep": st.sampled_from(["head", "tail", "head_tail"]),
        "start": st.sampled_from(["user", "any"]),
        "notice": st.sampled_from([None, False, "", "[cut]"]),
        "notice_role": st.sampled_from(["auto", "system", "user"]),
        "trim_to": st.sampled_from([0.4, 0.7, 0.95]),
        "on_overflow": st.sampled_from(["raise", "keep"]),
    },
).filter(lambda options: "trim_to" not in options or options.keys() & {"max_turns", "max_chars", "max_tokens"})


def notice_of(options: dict[str, Any]) -> str | None:
    given = options.get("notice")
    return DEFAULT_NOTICE if given is None else given or None


def carriers(messages: Sequence[Any], text: str) -> int:
    """Messages that say ``text``: alone, or in front."""
    return sum(message["content"] == text or str(message["content"]).startswith(f"{text}\n\n") for message in messages)


def said_in_head(messages: Sequence[Any], text: str | None) -> int:
    """Characters of the notice, new or carried, in the head of what is sent."""
    return len(text) if text and any(message["content"] == text for message in messages[: head_length(messages)]) else 0


def first_difference(history: Sequence[Any], result: Sequence[Any]) -> int | None:
    if result is history:
        return None
    same = [a is b for a, b in zip(history, result, strict=False)]
    return same.index(False) if False in same else len(same)


def assert_ceilings(messages: Sequence[Any], options: dict[str, Any]) -> None:
    """Every ceiling, measured anew on what would be sent. Nothing else of the notice: it is in the array."""
    text, kept = notice_of(options), list(body(messages))
    size = sum(map(chars, kept)) + said_in_head(messages, text)
    assert len(kept) <= options.get("max_turns", len(kept))
    assert size <= options.get("max_chars", size)
    if "max_tokens" in options:
        assert request_tokens(messages, cheap) <= options["max_tokens"]
    cap = options.get("max_chars_per_tool")
    if cap is not None:
        assert all(len(message["content"]) <= cap for message in kept if message["role"] in ("tool", "function"))


def assert_whole_groups(history: Sequence[Any], kept: Sequence[int], start: str) -> None:
    """What is kept: the head, perhaps one task, and the end of the history from a boundary on."""
    h = head_length(history)
    assert list(kept[:h]) == list(range(h))
    tail = [i - h for i in kept[h:]]
    b = next(i for i, place in enumerate(tail) if tail[i:] == list(range(place, len(history) - h)))
    task, at = tail[:b], tail[b]
    assert at in boundaries(history[h:])
    assert at == 0 or history[h + at]["role"] not in ("system", "developer")
    assert len(task) <= (start == "user")
    for i in task:
        assert history[h + i]["role"] == "user"
        assert not any(message["role"] == "user" for message in history[h + i + 1 : h + at])


class Session(RuleBasedStateMachine):
    """Plays an agent server that keeps the full history and trims it before each model call."""

    def __init__(self) -> None:
        super().__init__()
        self.history: list[dict[str, Any]] = []
        self.waiting: list[str] = []
        self.options: dict[str, Any] = {"max_turns": 6}
        self.turn = 0
        self.last: tuple[int, backcut.Plan] | None = None

    @initialize(roles=st.lists(st.sampled_from(["system", "developer"]), max_size=2), text=WORDS)
    def begin(self, roles: list[str], text: str) -> None:
        self.history = [{"role": role, "content": text} for role in roles]

    @precondition(lambda self: not self.waiting)
    @rule(text=WORDS, as_list=st.booleans())
    def user(self, text: str, as_list: bool) -> None:
        self.history.append({"role": "user", "content": [{"type": "text", "text": text}] if as_list else text})

    @precondition(lambda self: not self.waiting)
    @rule(role=st.sampled_from(["assistant", "assistant", "system", "developer"]), text=WORDS)
    def say(self, role: str, text: str) -> None:
        self.history.append({"role": role, "content": text})

    @precondition(lambda self: not self.waiting)
    @rule(size=st.integers(1, 3), same_ids=st.booleans(), text=st.one_of(st.none(), WORDS))
    def call(self, size: int, same_ids: bool, text: str | None) -> None:
        self.turn += 1
        self.waiting = [f"call_{k}" if same_ids else f"t{self.turn}_{k}" for k in range(size)]
        calls = [{"id": i, "type": "function", "function": {"name": "f", "arguments": f'{{"n":{self.turn}}}'}} for i in self.waiting]
        self.history.append({"role": "assistant", "content": text, "tool_calls": calls})

    @precondition(lambda self: self.waiting)
    @rule(data=st.data(), text=WORDS, repeat=st.integers(0, 5))
    def answer(self, data: st.DataObject, text: str, repeat: int) -> None:
        name = data.draw(st.sampled_from(self.waiting))
        self.waiting.remove(name)
        self.history.append({"role": "tool", "tool_call_id": name, "content": text * repeat})

    @precondition(lambda self: self.waiting)
    @rule(text=WORDS)
    def answer_all(self, text: str) -> None:
        self.history += [{"role": "tool", "tool_call_id": name, "content": text} for name in reversed(self.waiting)]
        self.waiting = []

    @precondition(lambda self: not self.waiting)
    @rule(text=WORDS)
    def legacy(self, text: str) -> None:
        self.history.append({"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": text}})
        self.history.append({"role": "function", "name": "f", "content": text})

    @rule(options=WINDOWS)
    def change_budget(self, options: dict[str, Any]) -> None:
        self.options, self.last = options, None

    @rule()
    def store_what_was_sent(self) -> None:
        """Some servers store the trimmed history and go on from there."""
        kind, trimmed = outcome(lambda: self.window().trim(self.history))
        if kind == "answer":
            self.history, self.last = list(trimmed.messages), None

    def window(self) -> backcut.ContextWindow:
        return backcut.context_window(**self.options, tokenizer=cheap)

    @invariant()
    def promises_hold(self) -> None:
        history, options, window = self.history, self.options, self.window()
        before = snapshot(history)
        kind, trimmed = outcome(lambda: window.trim(history))
        plan_kind, plan = outcome(lambda: window.plan(history))
        assert snapshot(history) == before, "the input was touched"
        assert kind == plan_kind
        if kind != "answer":
            self.assert_refused(kind, trimmed)
            return
        messages, report = trimmed
        assert window.trim(history) == trimmed, "not deterministic"
        assert plan.report == report
        assert plan.apply(history) == messages
        assert (report.messages_original, report.messages_sent) == (len(history), len(messages))
        assert report.first_changed == first_difference(history, messages)
        assert report.chars_sent == body_chars(messages) + said_in_head(messages, notice_of(options))
        assert report.tokens_sent == request_tokens(messages, cheap)
        assert (messages is history) == (len(plan.kept) == len(history) and not plan.edits)
        again = window.trim(messages)
        assert again.messages is messages, "not idempotent"
        if not report.over_budget:
            assert_ceilings(messages, options)
        if is_sound(history):
            assert is_sound(messages), problems(messages)
        self.assert_same_objects(messages, plan)
        if body(history):
            assert body(messages), "only the head is left"
            assert_whole_groups(history, plan.kept, options.get("start", "user"))
        self.assert_notice(messages, plan)
        self.assert_cut_stays(plan)

    def assert_refused(self, kind: str, facts: dict[str, Any]) -> None:
        """Refused only where the newest group alone breaks the ceiling that is named."""
        assert kind == "BudgetError"
        assert self.options.get("on_overflow") != "keep"
        assert facts["needed"] > facts["limit"] == self.options[facts["ceiling"]]
        if facts["index"] is not None:
            assert facts["index"] == head_length(self.history) + newest(body(self.history))
        self.last = None

    def assert_same_objects(self, messages: Sequence[Any], plan: backcut.Plan) -> None:
        edited = {edit.index for edit in plan.edits}
        own = [m for i, m in enumerate(messages) if plan.notice is None or plan.notice.folded or i != plan.notice.at]
        assert len(own) == len(plan.kept)
        for index, message in zip(plan.kept, own, strict=True):
            folded = plan.notice is not None and plan.notice.folded and message is messages[plan.notice.at]
            if index in edited or folded:
                assert message is not self.history[index]
                assert {**message, "content": None} == {**self.history[index], "content": None}
            else:
                assert message is self.history[index]

    def assert_notice(self, messages: Sequence[Any], plan: backcut.Plan) -> None:
        text = notice_of(self.options)
        if text is None or plan.notice is None:
            assert plan.notice is None
            return
        assert plan.report.window_trimmed
        assert plan.notice.text == text
        carrier = messages[plan.notice.at]
        assert get(carrier, "role") == plan.notice.role
        if not plan.notice.folded:
            assert carrier == {"role": plan.notice.role, "content": text}
            assert plan.notice.at == head_length(self.history)
            assert carriers(messages[: plan.notice.at + 1], text) == 1

    def assert_cut_stays(self, plan: backcut.Plan) -> None:
        """With ``trim_to`` the cut of the last call stays as long as what it keeps, grown meanwhile, still fits."""
        if "trim_to" in self.options and self.last is not None and plan.report.window_trimmed:
            length, before = self.last
            grown = [*before.kept, *range(length, len(self.history))]
            if self.same_grid(before, plan, length) and self.fits(grown, plan):
                # Where a step takes too much it is halved, and then a cut may move early: forward, never back. It cannot where
                # every message is a group for itself and the grid is in the ceiling's own unit.
                assert plan.kept[-1] - len(plan.kept) >= before.kept[-1] - len(before.kept) - 1
                even = all(message["role"] == "user" or message["content"] == "so it is" for message in self.history)
                if even and "max_tokens" not in self.options:
                    assert list(plan.kept) == grown
        self.last = (len(self.history), plan)

    def same_grid(self, before: backcut.Plan, plan: backcut.Plan, length: int) -> bool:
        """Whether the last call cut on the grid, and nothing but the history's length is different now."""
        missing = set(range(length)) - set(before.kept)
        h = head_length(self.history)
        least = h + newest(self.history[h:length])
        least = max((i for i in range(h, least) if self.history[i]["role"] == "user"), default=least)  # with the task in front
        on_grid = bool(missing) and max(missing) + 1 < least
        one_ceiling = len(self.options.keys() & {"max_turns", "max_chars", "max_tokens"}) == 1  # each has a grid of its own
        first_user = next((i for i, message in enumerate(self.history) if message["role"] == "user"), 0)  # it moves every cut
        same_shape = (before.notice is None, before.report.task_dropped) == (plan.notice is None, plan.report.task_dropped)
        return on_grid and one_ceiling and first_user < length and same_shape and not before.edits and not plan.edits

    def fits(self, kept: Sequence[int], plan: backcut.Plan) -> bool:
        messages = [self.history[i] for i in kept]
        if plan.notice is not None:
            if plan.notice.folded:
                return False
            messages.insert(head_length(self.history), {"role": plan.notice.role, "content": plan.notice.text})
        try:
            assert_ceilings(messages, self.options)
        except AssertionError:
            return False
        return True


@given(
    ceiling=st.sampled_from([("max_turns", 6, 20), ("max_chars", 40, 200), ("max_tokens", 60, 200)]),
    share=st.sampled_from([0.3, 0.5, 0.8]),
    data=st.data(),
)
def test_a_cut_on_the_grid_stays(ceiling: tuple[str, int, int], share: float, data: st.DataObject) -> None:
    """One window, and a session that only grows: most of its cuts are the cut of the call before."""
    name, low, high = ceiling
    session = Session()
    session.options = {name: data.draw(st.integers(low, high)), "trim_to": share, "notice": False}
    session.user("begin", as_list=False)
    for step in data.draw(st.lists(st.sampled_from(["user", "say"] * 5 + ["call", "legacy"]), min_size=10, max_size=40)):
        if step == "user":
            session.user("and then?", as_list=False)
        elif step == "say":
            session.say("assistant", "so it is")
        elif step == "legacy":
            session.legacy("abc")
        else:
            session.call(2, same_ids=True, text=None)
            session.answer_all("found it")
        session.promises_hold()


Session.TestCase.settings = settings(stateful_step_count=25)
TestSession = Session.TestCase
