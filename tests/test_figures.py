"""Figures: their defaults, those of each family, and that each can be overridden everywhere."""

from __future__ import annotations

import pickle
from dataclasses import asdict, fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import backcut
from backcut import Figures, OptionError, context_window
from backcut.figures import _FAMILIES, DEFAULT, MOST, NAMES
from choices import options
from cli_support import Put, Run
from histories import histories
from pictures import audio, image, png, wav
from support import CORE, TWIN, cheap, engine_tokenizer, engine_window, needs_both, outcome

pytest_plugins = ["cli_fixtures"]

ENGINES = [pytest.param(engine, id=name) for name, engine in (("core", CORE), ("twin", TWIN)) if engine is not None]

MODELS = [
    *("gpt-4o", "gpt-4o-2024-08-06", "gpt-4o-mini", "chatgpt-4o-latest", "gpt-4", "gpt-4-turbo", "gpt-4.1", "gpt-4.1-mini", "gpt-4.1-nano"),
    *(
        "gpt-4.5-preview",
        "gpt-3.5-turbo",
        "gpt-35-turbo",
        "gpt-5",
        "gpt-5-2025-08-07",
        "gpt-5-mini",
        "gpt-5-nano",
        "gpt-5.1",
        "gpt-5.2-pro",
    ),
    *("gpt-5.3-codex", "gpt-5.4", "gpt-5.4-mini", "gpt-5.4-nano", "gpt-5.5", "gpt-5.6", "gpt-6-astra", "o1", "o1-pro", "o3", "o4-mini"),
    *("ft:gpt-4o-mini:acme/x", "openai/gpt-5", "claude-instant", "claude-3-haiku", "claude-opus-4-1", "claude-opus-4-7", "claude-opus-4.8"),
    *("claude-sonnet-4-6", "claude-fable-5", "openrouter/anthropic/claude-haiku-4-5", "gemini-1.5-pro", "gemini-2.5-flash", "gemini-3-pro"),
    *("llama-4", "", "/", "ft:", "gpt", "claude"),
]


# The table


@pytest.mark.parametrize("engine", ENGINES)
def test_the_defaults_are_the_engines(engine: Any) -> None:
    assert engine.figures(None) == asdict(Figures()) == asdict(DEFAULT)
    assert sorted(engine.figures(None)) == sorted(NAMES)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("model", MODELS)
def test_a_family_is_the_engines(engine: Any, model: str) -> None:
    assert engine.figures(model) == asdict(Figures.of(model))


@needs_both
@given(
    st.sampled_from([prefix for prefixes, _ in _FAMILIES for prefix in prefixes]),
    st.sampled_from(["", "ft:", "a/", "x"]),
    st.text(max_size=9) | st.just("\ud800"),
)
def test_any_name_is_known_to_both(prefix: str, front: str, rest: str) -> None:
    model = front + prefix + rest
    assert CORE.figures(model) == TWIN.figures(model) == asdict(Figures.of(model))


def test_every_row_of_the_table_is_met() -> None:
    assert {Figures.of(model) for model in MODELS} == {figures for _, figures in _FAMILIES} | {DEFAULT}


def test_an_image_of_unknown_size_is_one_of_1024() -> None:
    for model in MODELS:
        figures = Figures.of(model)
        known, unknown = image(png(1024, 1024)), {"type": "image_url", "image_url": "u"}
        assert counted([known], figures) == counted([unknown], figures)


# Overriding

TOOL = {
    "name": "f",
    "parameters": {"properties": {"a": {"enum": ["x", "y"]}, "b": {"anyOf": [{"type": "string"}]}}},
}
MESSAGES = [
    {"role": "system", "content": "s"},
    {
        "role": "user",
        "name": "n",
        "content": [
            {"type": "image_url", "image_url": "u", "detail": "low"},
            {"type": "image_url", "image_url": "u"},
            image(png(1024, 512)),
            {"type": "input_audio", "input_audio": {}},
            audio(wav(0.5)),
            {"type": "file", "file": {}},
            {"type": "file", "file": {}},
        ],
    },
    {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "1", "content": "ok"},
]
TIMES = {
    "reply": 1,
    "message": 4 + 1,  # and the system text
    "name": 1,
    "call": 1,
    "image_low": 1,
    "image": 1,
    "image_base": 1,
    "image_tile": 2,
    "audio": 1,
    "file": 2,
    "tool": 2,
    "properties": 2,
    "property": 2 * 3,
    "enumeration": -2,
    "item": 2 * 2,
    "tools_end": 1,
}
"""How often a figure is in the request."""


def counted(content: list[Any], figures: Figures) -> set[int]:
    messages = [{"role": "user", "content": content}]
    engines = [engine for engine in (CORE, TWIN) if engine is not None]
    return {each.count_messages(messages, engine_tokenizer(each, "cheap"), "openai-chat", None, None, figures) for each in engines}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", TIMES)
def test_each_figure_can_be_overridden(engine: Any, name: str) -> None:
    def count(figures: Figures | None) -> int:
        tokens: int = engine.count_messages(MESSAGES, engine_tokenizer(engine, "cheap"), "openai-chat", [TOOL, TOOL], "t", figures)
        return tokens

    changed = Figures(**{name: getattr(DEFAULT, name) + 1})
    assert count(changed) - count(DEFAULT) == TIMES[name]
    assert count(DEFAULT) == count(None)
    assert count(Figures(**{name: MOST})) >= 0
    assert count(Figures(**{name: 0})) >= 0


def test_the_rest_is_how_images_and_audio_are_measured() -> None:
    assert set(NAMES) - set(TIMES) - {"result"} == {
        *("image_percent", "image_cell", "image_cells", "image_whole", "image_long", "image_short", "audio_second")
    }
    base = backcut.count(MESSAGES, tokenizer=cheap)
    for name, value, more in (
        ("image_percent", 200, 425),
        ("image_percent", 101, 5),
        ("image_cell", 1024, -170),
        ("image_cell", 0, 340),
        ("image_cells", 1, -170),
        ("image_long", 512, -170),
        ("image_short", 256, -170),
        ("audio_second", 100, 45),
        ("audio_second", 0, 295),
    ):
        assert backcut.count(MESSAGES, tokenizer=cheap, figures={name: value}) - base == more, name


@needs_both
@given(st.data())
def test_both_engines_trim_alike_by_any_figures(data: st.DataObject) -> None:
    history = data.draw(histories())
    values = data.draw(st.dictionaries(st.sampled_from(NAMES), st.integers(0, 50) | st.sampled_from([0, 1_000, MOST]), max_size=6))
    chosen = data.draw(options(history)) | {"figures": Figures(**values)}
    core, twin = engine_window(CORE, chosen), engine_window(TWIN, chosen)
    assert outcome(lambda: core.plan(history, [TOOL], "s")) == outcome(lambda: twin.plan(history, [TOOL], "s"))


def test_a_window_counts_with_its_figures() -> None:
    history = [{"role": "user", "content": "12345"}] * 10
    assert len(backcut.trim(history, max_tokens=33, tokenizer=len, notice=False).messages) == 2
    assert len(backcut.trim(history, max_tokens=33, tokenizer=len, notice=False, figures={"message": 0, "reply": 0}).messages) == 3
    window = context_window(max_tokens=33, tokenizer=len, notice=False, figures=Figures(message=20, reply=0))
    report = window.trim(history).report
    assert (report.messages_sent, report.tokens_sent) == (1, 29)


# The option


def test_a_mapping_overrides_what_model_and_tokenizer_say() -> None:
    tool = [{"name": "f"}]

    def count(**options: Any) -> int:
        return backcut.count([], tools=tool, **options)

    assert count(model="gpt-4") - count(model="gpt-4o") == 3
    assert count(tokenizer="cl100k_base") == count(model="gpt-4") == count(model="gpt-4o", tokenizer="cl100k_base")
    assert count(model="gpt-4", tokenizer="o200k_base") == count()
    assert count(model="gpt-4", figures={"image": 1}) == count(model="gpt-4")
    assert count(model="gpt-4", figures={"tool": 7}) == count() == count(model="gpt-4", figures=Figures())
    window = context_window(model="gpt-4", figures={"image": 1})
    assert window.figures == replace(Figures.of("gpt-4"), image=1)
    assert context_window(tokenizer="cl100k_base", figures={"image": 1}).figures == Figures(image=1, tool=10)
    assert context_window(model="claude-opus-5", tokenizer="o200k_base", figures={}).figures == Figures.of("claude-opus-5")
    assert context_window(model="gpt-4").figures is None


def test_windows_pickle_compare_and_hash_with_figures() -> None:
    window = context_window(max_turns=3, tokenizer="o200k_base", figures={"image": 1})
    assert window == context_window(max_turns=3, tokenizer="o200k_base", figures=Figures(image=1))
    assert window != context_window(max_turns=3, tokenizer="o200k_base")
    assert hash(window) == hash(context_window(max_turns=3, tokenizer="o200k_base", figures=Figures(image=1)))
    again = pickle.loads(pickle.dumps(window))
    assert again == window
    assert again.figures == window.figures
    assert repr(window) == "ContextWindow(max_turns=3, tokenizer='o200k_base', figures=Figures(image=1))"
    assert {Figures(), Figures(image=765), Figures(image=1)} == {Figures(image=1), DEFAULT}


@pytest.mark.parametrize(
    ("figures", "sentence"),
    [
        ({"imag": 1}, "figures='imag': no such figure; did you mean image?"),
        ({"zzz": 1}, "figures='zzz': no such figure"),
        ({5: 1}, "figures=5: no such figure"),
        ({"image": -1}, "figures=-1: image must be an integer from 0 to 4,294,967,295"),
        ({"image": True}, "figures=True: image must be an integer from 0 to 4,294,967,295"),
        ({"image": 1.5}, "figures=1.5: image must be"),
        ({"image": None}, "figures=None: image must be"),
        ({"image": MOST + 1}, "figures=4294967296: image must be"),
        (5, "figures=5: must be a backcut.Figures, a mapping from names of figures to integers, or None"),
        ("image=5", "figures='image=5': must be a backcut.Figures"),
        ([("image", 5)], "figures=[('image', 5)]: must be a backcut.Figures"),
    ],
)
def test_what_is_refused(figures: Any, sentence: str) -> None:
    for call in (
        lambda: context_window(max_tokens=10, figures=figures),
        lambda: backcut.trim([], figures=figures),
        lambda: backcut.count("", figures=figures),
    ):
        with pytest.raises(OptionError) as caught:
            call()
        assert str(caught.value).startswith(sentence)
        assert caught.value.option == "figures"


def test_figures_are_checked_and_frozen() -> None:
    class Three:
        def __index__(self) -> int:
            return 3

    assert type(Figures(image=Three()).image) is int  # type: ignore[arg-type]
    assert backcut.count("", figures={"image": Three()}) == 0  # type: ignore[dict-item]
    for value in (-1, True, "3", MOST + 1):
        with pytest.raises(OptionError, match="image must be an integer"):
            Figures(image=value)  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        Figures().image = 3  # type: ignore[misc]
    assert [field.name for field in fields(Figures)] == list(NAMES)
    assert repr(Figures()) == "Figures()"
    assert eval(repr(Figures.of("gpt-4.1-mini")), {"Figures": Figures}) == Figures.of("gpt-4.1-mini")


def test_thena_has_no_figures() -> None:
    with pytest.raises(OptionError, match="the original has no such option"):
        context_window(compat="thena", max_turns=1, figures={"image": 1})


# The command line


def test_figures_of_the_command_line(run: Run, put: Put) -> None:
    history = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]}, {"role": "user", "content": "hi"}]
    code, out, _ = run("count", "--json", "--figure", "image=10", "--figure", "reply=0", "--figure", "image=20", put(history))
    assert (code, f'"tokens": {backcut.count(history, figures={"image": 20, "reply": 0})}' in out) == (0, True)
    code, out, err = run("trim", "--max-tokens", "60", "--figure", "image=20", put(history))
    assert (code, "unchanged" in err) == (0, True)
    code, out, _ = run("explain", "--max-tokens", "60", "--json", "--figure", "image-low=1", "--figure", "image=20", put(history))
    assert (code, '"tokens": 24' in out) == (0, True)


@pytest.mark.parametrize("command", ["trim", "count", "explain"])
@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("image", "argument --figure: expected NAME=N, found 'image'"),
        ("image=many", "argument --figure: expected a whole number, found 'many'"),
        ("imag=5", "--figure imag: no such figure; did you mean image?"),
        ("image=-5", "--figure -5: image must be an integer from 0 to 4,294,967,295"),
    ],
)
def test_wrong_figures_of_the_command_line(run: Run, put: Put, command: str, value: str, sentence: str) -> None:
    code, out, err = run(command, "--figure", value, put([]))
    assert (code, out) == (2, "")
    assert f"backcut: error: {sentence}" in err


SERVED = [
    ("openai:gpt-4o-mini", "gpt-4o-mini"),
    ("azure/gpt-4o-mini", "gpt-4o-mini"),
    ("openrouter/openai/gpt-5-mini", "gpt-5-mini"),
    ("anthropic:claude-sonnet-4-5", "claude-sonnet-4-5"),
    ("us.anthropic.claude-opus-4-7-v1:0", "claude-opus-4-7"),
    ("bedrock/eu-west-1/anthropic.claude-v2:1", "claude-v2"),
    ("vertex_ai/claude-opus-4@20250514", "claude-opus-4"),
    ("models/gemini-2.5-pro", "gemini-2.5-pro"),
    ("ft:gpt-4o-mini:acme/x", "gpt-4o-mini"),
]


@pytest.mark.parametrize(("served", "plain"), SERVED)
def test_figures_know_a_model_by_every_name_that_tokenizers_know(served: str, plain: str) -> None:
    assert Figures.of(served) == Figures.of(plain)
    history = [{"role": "user", "content": [image(png(1024, 1024))]}]
    assert backcut.count(history, model=served) == backcut.count(history, model=plain)
    window = [context_window(model=name, max_tokens=100_000).trim(history).report.tokens_sent for name in (served, plain)]
    assert window[0] == window[1]


def test_a_registered_model_has_the_pictures_of_the_model_that_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backcut.models._registered", {})
    backcut.register_model("my-deployment", "azure/gpt-4o-mini")
    backcut.register_model("my-own-*", "o200k_base")
    assert Figures.of("my-deployment") == Figures.of("azure/my-deployment") == Figures.of("gpt-4o-mini")
    assert Figures.of("my-own-model") == DEFAULT
    history = [{"role": "user", "content": [image(png(1024, 1024))]}]
    assert backcut.count(history, model="my-deployment") == backcut.count(history, model="gpt-4o-mini")


@pytest.mark.parametrize("model", [None, 5, b"gpt-4o", ["gpt-4o"]])
def test_figures_of_what_is_no_name(model: Any) -> None:
    with pytest.raises(OptionError, match="must be the name of a model") as caught:
        Figures.of(model)
    assert (caught.value.option, caught.value.value) == ("model", model)
