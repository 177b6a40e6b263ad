"""The window as a value: what it shows, how it compares and travels, and that it never changes."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import subprocess
import sys
import weakref
from typing import Any

import pytest

import backcut
from backcut import BudgetError, ContextWindow, FormatError, OptionError, Plan, Tokenizer, Trimmed, TrimReport, context_window
from backcut.engine import PURE
from backcut.options import TABLE
from support import DEFAULT_NOTICE, Recorder, cheap

HISTORY: list[Any] = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}, {"role": "user", "content": "three"}]
SENT: list[Any] = [{"role": "system", "content": DEFAULT_NOTICE}, HISTORY[2]]
TOOLS = [{"type": "function", "function": {"name": "look", "description": "Looks."}}]

OPTIONS: list[dict[str, Any]] = [
    {},
    {"max_turns": 1},
    {"max_turns": 12, "max_chars": 60_000, "max_chars_per_tool": 4_000, "tool_keep": "head_tail"},
    {"max_tokens": 1_000, "reserve_tokens": 100, "model": "gpt-4o", "trim_to": 0.5},
    {"max_tokens": 1_000, "tokenizer": "cl100k_base", "on_overflow": "keep", "start": "any"},
    {"max_tokens": 1_000, "tokenizer": cheap, "on_report": print},
    {"notice": False, "max_chars": 10, "thinking": "strip", "format": "openai-chat"},
    {"notice": "cut", "notice_role": "user", "max_turns": 3},
    {"compat": "thena", "max_turns": 0, "notice": ""},
]
every_set = pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options) or "none")


@every_set
def test_options_read_as_attributes(options: dict[str, Any]) -> None:
    window = context_window(**options)
    for name, row in TABLE.items():
        assert getattr(window, name) == options.get(name, row.default)


@every_set
def test_equal_options_are_equal_windows(options: dict[str, Any]) -> None:
    window = context_window(**options)
    assert window == context_window(**options)
    assert hash(window) == hash(context_window(**options))
    assert window == ContextWindow(**options)
    for other in OPTIONS:
        assert (window == context_window(**other)) is (other == options)
    assert window != options


def test_spelling_out_a_default_changes_nothing() -> None:
    window = context_window(max_turns=5)
    assert window == context_window(max_turns=5, start="user", reserve_tokens=0, notice=DEFAULT_NOTICE, tokenizer=None)
    assert window != context_window(max_turns=5, notice=False)
    assert len({window, context_window(max_turns=5), context_window(max_turns=6)}) == 2


@every_set
def test_pickle_and_copy(options: dict[str, Any]) -> None:
    window = context_window(**options)
    for twin in (pickle.loads(pickle.dumps(window)), copy.copy(window), copy.deepcopy(window)):
        assert type(twin) is ContextWindow
        assert twin == window
        assert repr(twin) == repr(window)
        assert twin.trim(HISTORY).messages == window.trim(HISTORY).messages


def test_a_built_in_tokenizer_is_its_name() -> None:
    window = context_window(max_tokens=100, tokenizer=backcut.tokenizer("gpt-4"))
    assert window.tokenizer == "cl100k_base"
    assert window == context_window(max_tokens=100, tokenizer="cl100k_base")
    assert pickle.loads(pickle.dumps(window)) == window
    ours = Tokenizer("ours", cheap)
    assert context_window(tokenizer=ours).tokenizer is ours


def test_tokenizers_and_callbacks_need_not_be_hashable() -> None:
    class Unhashable(Recorder):
        __hash__ = None  # type: ignore[assignment]

    first, second = Unhashable(), Unhashable()
    assert hash(context_window(tokenizer=first)) == hash(context_window(tokenizer=first))
    assert context_window(tokenizer=first) == context_window(tokenizer=first)
    assert context_window(tokenizer=first) != context_window(tokenizer=second)


def test_repr_shows_what_is_not_a_default() -> None:
    assert repr(context_window()) == "ContextWindow()"
    assert repr(context_window(notice=False, max_turns=12, start="user")) == "ContextWindow(max_turns=12, notice=False)"
    window = context_window(max_tokens=9, reserve_tokens=2, model="gpt-4o", trim_to=0.25)
    assert eval(repr(window), {"ContextWindow": ContextWindow}) == window


@pytest.mark.parametrize("name", ["max_turns", "_trim", "_values", "new"])
def test_a_window_is_frozen(name: str) -> None:
    window = context_window(max_turns=1)
    with pytest.raises(AttributeError, match="frozen"):
        setattr(window, name, 5)
    with pytest.raises(AttributeError, match="frozen"):
        delattr(window, name)
    assert window.max_turns == 1
    assert not hasattr(window, "__dict__")


def test_a_window_can_be_referred_to_weakly() -> None:
    window = context_window()
    reference = weakref.ref(window)
    assert reference() is window
    del window
    gc.collect()
    assert reference() is None


def test_trim_plan_and_call_agree() -> None:
    window = context_window(max_turns=1)
    trimmed = window.trim(HISTORY)
    assert isinstance(trimmed, Trimmed)
    assert isinstance(trimmed.report, TrimReport)
    assert trimmed.messages == SENT
    assert trimmed.messages[1] is HISTORY[2]
    assert window(HISTORY) == window(messages=HISTORY) == SENT
    plan = window.plan(HISTORY)
    assert isinstance(plan, Plan)
    assert plan.kept == (2,)
    assert plan.report == trimmed.report
    assert plan.apply(HISTORY) == SENT
    assert backcut.trim(HISTORY, max_turns=1) == trimmed


def test_what_fits_is_the_object_that_came_in() -> None:
    for history in (HISTORY, tuple(HISTORY), []):
        window = context_window(max_turns=3, max_chars=100, max_tokens=500)
        assert window(history) is history
        assert window.trim(history).messages is history
        assert window.plan(history).apply(history) is history
        assert backcut.trim(history, max_turns=3).messages is history


def test_a_report_is_plain_data() -> None:
    report = context_window(max_turns=1).trim(HISTORY).report
    assert report.as_dict() == report._asdict()
    assert report.window_trimmed is True
    assert (report.messages_original, report.messages_sent, report.first_changed, report.format) == (3, 2, 0, "openai-chat")
    assert pickle.loads(pickle.dumps(report)) == report
    assert report.tokens_sent is None


@pytest.mark.parametrize("options", [{"max_tokens": 500}, {"model": "gpt-4o"}, {"tokenizer": cheap}])
def test_tokens_are_told_where_they_were_asked_for(options: dict[str, Any]) -> None:
    tokens = backcut.trim(HISTORY, **options).report.tokens_sent
    assert tokens == backcut.count(HISTORY, tokenizer=options.get("tokenizer"), model=options.get("model"))


def test_on_report_is_called_after_each_trim() -> None:
    reports: list[TrimReport] = []
    window = context_window(max_turns=1, on_report=reports.append)
    expected = window.trim(HISTORY).report
    window(HISTORY)
    window({"messages": HISTORY}, lambda request: request)
    window.wrap(lambda messages: messages)(HISTORY)
    backcut.trim(HISTORY, max_turns=1, on_report=reports.append)
    assert reports == [expected] * 5
    window.plan(HISTORY)
    with pytest.raises(FormatError):
        window.trim([{"role": "nobody"}])
    assert len(reports) == 5


def test_what_on_report_raises_comes_through() -> None:
    def fail(report: TrimReport) -> None:
        raise LookupError(report.messages_sent)

    with pytest.raises(LookupError, match="2"):
        context_window(max_turns=1, on_report=fail).trim(HISTORY)


def test_count() -> None:
    assert backcut.count("", tokenizer=len) == 0
    assert backcut.count("four", tokenizer=len) == 4
    assert backcut.count([], tokenizer=len) == 3
    history = [{"role": "user", "content": "hello"}]
    bare = backcut.count(history, tokenizer=len)
    assert bare == 3 + 3 + len("user") + len("hello")
    assert backcut.count(history, tokenizer=len, system="S") == bare + 3 + len("system") + 1
    assert backcut.count(history, tokenizer=len, tools=TOOLS) == backcut.trim(history, tokenizer=len, tools=TOOLS).report.tokens_sent
    assert backcut.count("Hello") == backcut.tokenizer("o200k_base").count("Hello")
    for name, value in (("tools", []), ("system", "")):
        with pytest.raises(OptionError) as caught:
            backcut.count("text", tokenizer=len, **{name: value})  # type: ignore[arg-type]
        assert (caught.value.option, caught.value.value) == (name, value)
    with pytest.raises(OptionError, match="name of a model"):
        backcut.count("text", model=5)  # type: ignore[arg-type]


def test_check() -> None:
    assert backcut.check(HISTORY) == []
    (violation,) = backcut.check([{"role": "user", "content": "hi"}, {"role": "tool", "tool_call_id": "a", "content": "x"}])
    assert (violation.code, violation.index, violation.ids) == ("orphan_result", 1, ("a",))


def test_failed_calls_change_nothing() -> None:
    window = context_window(max_chars=3)
    with pytest.raises(BudgetError) as caught:
        window.trim(HISTORY)
    assert (caught.value.ceiling, caught.value.needed, caught.value.limit, caught.value.index) == ("max_chars", 5, 3, 2)
    assert window == context_window(max_chars=3)
    assert len(HISTORY) == 3


def test_the_public_names() -> None:
    assert len(set(backcut.__all__)) == len(backcut.__all__)
    for name in backcut.__all__:
        assert getattr(backcut, name) is not None
    assert isinstance(backcut.__version__, str)
    with pytest.raises(AttributeError, match="mangle"):
        backcut.mangle  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.skipif(PURE, reason="the twin is written for reading, not for a quick start")
def test_import_is_light() -> None:
    code = "import sys; before = set(sys.modules); import backcut; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "backcut.window" in loaded
    assert not {"inspect", "dataclasses", "difflib", "numbers", "importlib.metadata", "asyncio", "json", "tiktoken"} & set(loaded)


def test_a_missing_core_says_what_to_do() -> None:
    code = (
        "import sys; sys.modules['backcut._core'] = None\n"
        "try:\n    import backcut\nexcept ImportError as error:\n    print(type(error).__name__, error.name, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=_without_pure())
    assert done.stdout.startswith("ImportError backcut._core the compiled core backcut._core is not there")
    assert "BACKCUT_PURE=1" in done.stdout


def _without_pure() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "BACKCUT_PURE"}
