"""Every option: what is taken, what is refused and with which sentence, and what one asks of another."""

from __future__ import annotations

import enum
import fractions
import functools
import inspect
import pickle
import sys
import warnings
from typing import Any

import pytest

import backcut
from backcut import OptionError, context_window
from backcut.options import TABLE, WindowOptions
from support import DEFAULT_NOTICE

CEILINGS = ("max_turns", "max_chars", "max_tokens", "max_chars_per_tool")
CHOICES = {
    "start": ("user", "any"),
    "notice_role": ("auto", "system", "user"),
    "tool_keep": ("head", "tail", "head_tail"),
    "on_overflow": ("raise", "keep"),
    "thinking": ("keep", "strip"),
}


class Indexed:
    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


class Small(enum.IntEnum):
    TEN = 10


def refusal(**options: Any) -> OptionError:
    with pytest.raises(OptionError) as caught:
        context_window(**options)
    return caught.value


def test_the_three_lists_of_options_are_one() -> None:
    parameters = inspect.signature(context_window).parameters
    named = [p for p in parameters.values() if p.kind is p.KEYWORD_ONLY]
    assert [p.name for p in named] == list(WindowOptions.__annotations__)
    assert [p.name for p in named if p.name != "warn_index_failure"] == list(TABLE)
    # None stands for the default text; all other defaults read the same.
    assert {p.name: p.default for p in named if p.name not in ("warn_index_failure", "notice")} == {
        name: row.default for name, row in TABLE.items() if name != "notice"
    }
    assert parameters["notice"].default is None
    assert parameters["warn_index_failure"].default is None


def test_defaults_pass_their_own_checks() -> None:
    for name, row in TABLE.items():
        assert row.name == name
        assert row.check(name, row.default) == row.default


@pytest.mark.parametrize("name", CEILINGS)
@pytest.mark.parametrize(
    ("value", "number"), [(1, 1), (12, 12), (Indexed(7), 7), (Small.TEN, 10), (sys.maxsize, sys.maxsize), (10**30, 10**30)]
)
def test_a_ceiling_is_an_integer(name: str, value: Any, number: int) -> None:
    read = getattr(context_window(**{name: value}), name)
    assert read == number
    assert type(read) is int


@pytest.mark.parametrize("name", CEILINGS)
@pytest.mark.parametrize("value", [0, -1, True, False, 1.0, 1.5, "12", b"1", [1], Indexed(0), float("nan"), object()])
def test_a_ceiling_is_nothing_else(name: str, value: Any) -> None:
    error = refusal(**{name: value})
    assert (error.option, error.value) == (name, value)
    assert error.allowed == "must be an integer of at least 1, or None for no ceiling"
    assert isinstance(error, ValueError)
    assert isinstance(error, backcut.BackcutError)


def test_numpy_integers_are_ceilings() -> None:
    numpy = pytest.importorskip("numpy")
    assert type(context_window(max_turns=numpy.int64(3)).max_turns) is int
    assert context_window(max_turns=1, trim_to=numpy.float32(0.5)).trim_to == 0.5
    assert refusal(max_turns=numpy.bool_(True)).option == "max_turns"


def test_reserve_tokens_lies_below_max_tokens() -> None:
    assert context_window(max_tokens=10, reserve_tokens=9).reserve_tokens == 9
    assert context_window(reserve_tokens=0).reserve_tokens == 0
    assert str(refusal(max_tokens=10, reserve_tokens=10)) == "reserve_tokens=10: must be below max_tokens, which is 10"
    assert refusal(reserve_tokens=1).allowed == "is a part of max_tokens, which is not given"
    for value in (-1, None, True, 2.0, "3"):
        assert refusal(max_tokens=10, reserve_tokens=value).allowed == "must be an integer of at least 0"


def test_what_is_free_is_exact_beyond_machine_words() -> None:
    history = [{"role": "user", "content": "x" * 100}]
    window = context_window(max_tokens=10**30 + 20, reserve_tokens=10**30, tokenizer=len)
    with pytest.raises(backcut.BudgetError) as caught:
        window.trim(history)
    assert caught.value.limit == 20
    for unlimited in (
        context_window(max_tokens=10**30, reserve_tokens=7),
        context_window(max_turns=sys.maxsize, max_chars=sys.maxsize, trim_to=0.5),
    ):
        assert unlimited(history) is history


@pytest.mark.parametrize("value", [0.5, 0.001, 0.999, fractions.Fraction(1, 3)])
def test_trim_to_is_a_share(value: Any) -> None:
    read = context_window(max_turns=5, trim_to=value).trim_to
    assert read == float(value)
    assert type(read) is float


@pytest.mark.parametrize(
    "value",
    [
        0,
        1,
        0.0,
        1.0,
        -0.5,
        1.5,
        True,
        "0.5",
        float("nan"),
        float("inf"),
        fractions.Fraction(10**400),
        1 - fractions.Fraction(1, 10**30),
        0.5j,
        [0.5],
        fractions.Fraction(3, 2),
    ],
)
def test_trim_to_is_nothing_else(value: Any) -> None:
    error = refusal(max_turns=5, trim_to=value)
    assert error.option == "trim_to"
    assert error.value is value
    assert error.allowed == "must be a real number above 0 and below 1, or None"


def test_trim_to_needs_a_ceiling() -> None:
    for name in ("max_turns", "max_chars", "max_tokens"):
        assert context_window(**{name: 100}, trim_to=0.5).trim_to == 0.5
    assert "give max_turns, max_chars or max_tokens" in refusal(trim_to=0.5).allowed
    assert "give max_turns, max_chars or max_tokens" in refusal(max_chars_per_tool=5, trim_to=0.5).allowed


@pytest.mark.parametrize(("name", "choice"), [(name, choice) for name, choices in CHOICES.items() for choice in choices])
def test_choices_are_taken(name: str, choice: str) -> None:
    assert getattr(context_window(**{name: choice}), name) == choice


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("value", [None, "", "nothing", 1, True, ["head"]])
def test_other_choices_are_refused_and_the_allowed_named(name: str, value: Any) -> None:
    error = refusal(**{name: value})
    assert error.option == name
    assert all(repr(choice) in error.allowed for choice in CHOICES[name])


def test_a_misspelt_choice_names_the_nearest() -> None:
    assert refusal(tool_keep="head_tial").allowed == "must be 'head', 'tail' or 'head_tail'; did you mean head_tail?"
    assert refusal(compat="Thena").allowed.endswith("did you mean thena?")
    assert refusal(format="openai_chat").allowed.endswith("did you mean openai-chat?")
    assert refusal(format="antropic").allowed.endswith("did you mean anthropic?")


@pytest.mark.parametrize(
    ("name", "meant"),
    [("max_token", "max_tokens"), ("maxTurns", "max_turns"), ("max_char_per_tool", "max_chars_per_tool"), ("onreport", "on_report")],
)
def test_an_unknown_option_names_the_nearest(name: str, meant: str) -> None:
    assert str(refusal(**{name: 5})) == f"{name}=5: unknown option; did you mean {meant}?"
    with pytest.raises(OptionError, match=f"did you mean {meant}"):
        backcut.trim([], **{name: 5})  # type: ignore[arg-type]


def test_an_unknown_option_like_no_other() -> None:
    assert str(refusal(zzz=1)) == "zzz=1: unknown option"


def test_notice() -> None:
    assert context_window().notice == DEFAULT_NOTICE
    assert context_window(notice=None).notice == DEFAULT_NOTICE
    assert context_window(notice="cut").notice == "cut"
    assert context_window(notice="").notice == ""
    assert context_window(notice=False).notice is False
    values: list[Any] = [True, 0, 1, b"cut", ["cut"], "half a pair: \ud83d"]
    for value in values:
        assert refusal(notice=value).option == "notice"


def test_notice_as_it_is_sent() -> None:
    history = [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}]

    def texts(**options: Any) -> list[str]:
        return [message["content"] for message in context_window(max_turns=1, **options)(history)]

    assert texts() == [DEFAULT_NOTICE, "two"]
    assert texts(notice="cut") == ["cut", "two"]
    assert texts(notice=False) == texts(notice="") == ["two"]
    assert texts(notice="", compat="thena") == ["", "two"]


def test_the_deprecated_name_of_notice() -> None:
    with pytest.warns(DeprecationWarning, match="notice"):
        assert context_window(warn_index_failure="old").notice == "old"
    with pytest.warns(DeprecationWarning, match="notice"):
        assert context_window(warn_index_failure=False).notice is False
    with pytest.warns(DeprecationWarning, match="notice"):
        assert context_window(warn_index_failure="old", notice="new").notice == "new"
    with pytest.warns(DeprecationWarning, match="notice"):
        assert context_window(warn_index_failure="old", notice=False).notice is False
    with pytest.warns(DeprecationWarning, match="notice"):
        assert context_window(warn_index_failure="old", notice=None).notice == "old"
    assert refusal(warn_index_failure=True).option == "warn_index_failure"
    assert refusal(warn_index_failure=5, notice="new").option == "warn_index_failure"


def test_the_deprecated_name_without_a_value_is_not_given() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert context_window(warn_index_failure=None).notice == DEFAULT_NOTICE
        assert context_window(warn_index_failure=None, notice=False).notice is False


@pytest.mark.parametrize("make", [context_window, backcut.ContextWindow, lambda **options: backcut.trim([], **options)])
def test_the_warning_points_to_the_caller(make: Any) -> None:
    line = make.__code__.co_firstlineno if make.__module__ == __name__ else inspect.currentframe().f_lineno + 2  # type: ignore[union-attr]
    with pytest.warns(DeprecationWarning, match="it is called notice now") as seen:
        make(warn_index_failure="old")
    assert [(warning.filename, warning.lineno) for warning in seen] == [(__file__, line)]


def test_on_report_is_callable() -> None:
    reports: list[backcut.TrimReport] = []
    assert context_window(on_report=reports.append).on_report == reports.append
    assert refusal(on_report="print").allowed == "must be a function that takes a TrimReport, or None"


def test_on_report_is_no_coroutine_function() -> None:
    async def report(_: backcut.TrimReport) -> None:
        pass

    class Callback:
        async def __call__(self, report: backcut.TrimReport) -> None:
            pass

    for value in (report, Callback(), functools.partial(report)):
        assert "not a coroutine function" in refusal(on_report=value).allowed


def test_what_on_report_raises_comes_through() -> None:
    def fail(_: backcut.TrimReport) -> None:
        raise KeyError("ours")

    window = context_window(on_report=fail)
    with pytest.raises(KeyError, match="ours"):
        window([])
    with pytest.raises(KeyError, match="ours"):
        window({"messages": []}, lambda request: pytest.fail("sent"))


def test_model_is_a_name() -> None:
    assert context_window(model="gpt-4o").model == "gpt-4o"
    assert refusal(model=4).allowed == "must be the name of a model, or None"
    # The tokenizer wins, so the model need not be known; but it must still be a name.
    assert context_window(tokenizer=len, model="llama-of-ours").model == "llama-of-ours"
    assert refusal(tokenizer=len, model=4).option == "model"


@pytest.mark.parametrize("name", ["max_turns", "max_chars", "max_chars_per_tool"])
def test_thena_allows_zero(name: str) -> None:
    assert getattr(context_window(**{name: 0}, compat="thena"), name) == 0
    error = refusal(**{name: -1}, compat="thena")
    assert error.allowed == 'must be an integer of at least 0 (compat="thena"), or None for no ceiling'
    for value in (False, 0.0, "0"):
        assert refusal(**{name: value}, compat="thena").option == name


@pytest.mark.parametrize(
    "option",
    [
        {"max_tokens": 100},
        {"tokenizer": "o200k_base"},
        {"tokenizer": len},
        {"model": "gpt-4o"},
        {"start": "any"},
        {"notice_role": "user"},
        {"tool_keep": "tail"},
        {"trim_to": 0.5, "max_turns": 1},
        {"on_overflow": "keep"},
        {"thinking": "strip"},
        {"reserve_tokens": 5},
    ],
    ids=lambda option: next(iter(option)),
)
def test_thena_has_no_other_options(option: dict[str, Any]) -> None:
    error = refusal(compat="thena", **option)
    assert error.option == next(iter(option))
    assert "the original has no such option" in error.allowed


def test_thena_takes_its_own_options_and_the_defaults_of_others() -> None:
    window = context_window(
        compat="thena",
        max_turns=1,
        max_chars=2,
        max_chars_per_tool=3,
        notice="cut",
        format="openai-chat",
        on_report=print,
        start="user",
        reserve_tokens=0,
    )
    assert (window.compat, window.max_turns, window.max_chars, window.max_chars_per_tool) == ("thena", 1, 2, 3)
    with pytest.warns(DeprecationWarning, match="notice"):
        assert context_window(compat="thena", warn_index_failure=False).notice is False


def test_errors_pickle_with_their_facts() -> None:
    error = refusal(max_turns="12")
    twin = pickle.loads(pickle.dumps(error))
    assert (type(twin), vars(twin), str(twin)) == (OptionError, vars(error), str(error))


def test_string_subclasses_are_choices() -> None:
    class End(enum.StrEnum):
        TAIL = "tail"

    window = context_window(tool_keep=End.TAIL)  # type: ignore[arg-type]
    assert type(window.tool_keep) is str
    assert window == context_window(tool_keep="tail")
