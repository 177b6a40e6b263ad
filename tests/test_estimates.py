"""Estimates: their names, which model gets which, and that they keep the promises of exact counts."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import backcut
from backcut import Tokenizer
from backcut.models import APPROXIMATE, BUILT_IN, ESTIMATES, tokenizer_of
from support import CORE, TWIN, needs_both

ENGINES = [pytest.param(engine, id=name) for name, engine in (("core", CORE), ("twin", TWIN)) if engine is not None]
SCALED = {estimate.name: (estimate.base, *estimate.factor) for estimate in ESTIMATES}
NAMES = [APPROXIMATE, *SCALED]
KINDS = [APPROXIMATE, "estimate-claude"]
"""One of each kind, where the figures do not matter."""

# Words of all scripts, signs, blanks and their borders, short and in long runs.
_PIECES = (
    "a word Word HTTPServer getElementById x1 9f3a Qm7Zk 123 1234567 é straße Tiếng Привет λόγος שלום العربية नमस्ते ภาษาไทย ဘာသာ ខ្មែរ "
    "かなカナ 漢字 한국어 հայերեն ქართული ( ({ }); == --- ... // '\" _ \\ # 😀 👍🏽 ❤️ ✓ ─── ═ → … “ ” — ‍ \ue000 𠀀 ᚠ \x1c"
)
PIECES = _PIECES.split(" ")
BLANKS = [" ", "  ", "\t", "\n", "\r\n", "\n\n    ", " \t ", "\xa0", "\u3000", "\u1680", "\u2028", "\x85"]
texts = st.lists(
    st.one_of(
        st.sampled_from(PIECES),
        st.sampled_from(BLANKS),
        st.tuples(st.sampled_from([*PIECES, *BLANKS]), st.integers(2, 40)),
        st.characters(),
    ).map(lambda piece: piece if isinstance(piece, str) else piece[0] * piece[1]),
    max_size=25,
).map("".join)


def make(engine: Any, name: str) -> Any:
    return engine.Tokenizer(name, scaled=SCALED.get(name))


# What they are called, and for whom they are.


@pytest.mark.parametrize("name", NAMES)
def test_the_name_says_what_it_is(name: str) -> None:
    tokenizer = backcut.tokenizer(name)
    assert tokenizer.name == name
    assert not tokenizer.is_exact
    assert tokenizer is backcut.tokenizer(name)
    assert name == APPROXIMATE or name.startswith("estimate-")


def test_all_others_are_exact() -> None:
    assert all(backcut.tokenizer(name).is_exact for name in BUILT_IN)
    assert Tokenizer("mine", len).is_exact  # whoever brings a counter is taken at their word
    assert Tokenizer("approximate", len).is_exact


def test_the_table_is_sound() -> None:
    for estimate in ESTIMATES:
        assert estimate.base in BUILT_IN
        assert estimate.factor[0] >= estimate.factor[1] > 0
        assert estimate.source
        assert estimate.date
    assert len(SCALED) == len(ESTIMATES)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("claude-3-opus-20240229", "estimate-claude"),
        ("claude-3-5-sonnet-latest", "estimate-claude"),
        ("claude-3.5-sonnet", "estimate-claude"),
        ("claude-2.1", "estimate-claude"),
        ("claude-instant-1.2", "estimate-claude"),
        ("claude-sonnet-4-20250514", "estimate-claude"),
        ("claude-sonnet-4-5", "estimate-claude"),
        ("claude-sonnet-4-5-20250929", "estimate-claude"),
        ("claude-opus-4-1-20250805", "estimate-claude"),
        ("claude-opus-4-6", "estimate-claude"),
        ("claude-opus-4-7", "estimate-claude-4.7"),
        ("claude-opus-4.8", "estimate-claude-4.7"),
        ("claude-opus-4-10", "estimate-claude-4.7"),
        ("claude-opus-5", "estimate-claude-4.7"),
        ("claude-5-sonnet-20261001", "estimate-claude-4.7"),
        ("claude-something-20270101", "estimate-claude-4.7"),  # of no version that could be read: the higher estimate
        ("claude-something", "estimate-claude-4.7"),
        ("gemini-2.5-pro", "estimate-gemini"),
        ("gemini-3-flash-preview", "estimate-gemini"),
        # As others write them.
        ("anthropic/claude-sonnet-4-5", "estimate-claude"),
        ("openrouter/anthropic/claude-sonnet-4.5", "estimate-claude"),
        ("openrouter/anthropic/claude-3.7-sonnet:thinking", "estimate-claude"),
        ("anthropic.claude-v2", "estimate-claude"),
        ("anthropic.claude-opus-4-7-v1:0", "estimate-claude-4.7"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "estimate-claude"),
        ("global.anthropic.claude-opus-5-v1:0", "estimate-claude-4.7"),
        ("bedrock/anthropic.claude-3-5-sonnet-20241022-v2:0", "estimate-claude"),
        ("bedrock/eu-west-1/anthropic.claude-v2:1", "estimate-claude"),
        ("bedrock/us-gov-west-1/anthropic.claude-v2:1", "estimate-claude"),
        ("bedrock/converse/us.anthropic.claude-haiku-4-5-20251001-v1:0", "estimate-claude"),
        ("vertex_ai/claude-opus-4@20250514", "estimate-claude"),
        ("vertex_ai/gemini-2.5-flash", "estimate-gemini"),
        ("gemini/gemini-2.5-pro", "estimate-gemini"),
        ("models/gemini-2.5-pro", "estimate-gemini"),
        ("publishers/google/models/gemini-2.5-pro", "estimate-gemini"),
        ("google-gla:gemini-2.5-pro", "estimate-gemini"),
        ("anthropic:claude-sonnet-4-5", "estimate-claude"),
        ("openai/gpt-4o", "o200k_base"),
        ("openai:gpt-5-mini", "o200k_base"),
        ("azure/gpt-4o", "o200k_base"),
        ("azure/gpt-35-turbo", "cl100k_base"),
        ("azure/eu/gpt-4o-2024-08-06", "o200k_base"),
        ("openrouter/openai/gpt-4o:extended", "o200k_base"),
        ("openai.gpt-oss-120b-1:0", "o200k_harmony"),
        ("openai/ft:gpt-4o:acme", "o200k_base"),
    ],
)
def test_the_tokenizer_of_a_model(model: str, name: str) -> None:
    assert backcut.tokenizer(model).name == name
    assert backcut.context_window(max_tokens=50, model=model).trim([{"role": "user", "content": "hi"}]).report.tokens_sent is not None


@pytest.mark.parametrize(
    "model",
    [
        "claude",
        "my-claude-3",
        "somebody/claude-3-opus",
        "somebody/gpt-4o-at-home",
        "openrouter/somebody/gpt-4o",
        "azure/my-deployment",
        "my.anthropic.claude-3",
        "anthropic.gemma-3",
        "gpt-4o:somebody",
        "openai/",
        "/gpt-4o",
        "gemma-3-27b",
        "Claude-3-opus",
    ],
)
def test_a_model_that_only_looks_like_one_is_not_guessed(model: str) -> None:
    assert tokenizer_of(model) is None
    with pytest.raises(backcut.OptionError):
        backcut.context_window(model=model, max_tokens=5)


# Scaled: promises in exact arithmetic.


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", KINDS[1:])
@given(text=texts)
def test_a_scaled_count_is_the_product_rounded_up(oracle: Callable[[str], Any], engine: Any, name: str, text: str) -> None:
    base, numerator, denominator = SCALED[name]
    tokens = engine.Tokenizer(base).count(text)
    assert make(engine, name).count(text) == ceil(tokens * Fraction(numerator, denominator))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", KINDS)
@given(text=texts, limit=st.integers(0, 80), keep=st.sampled_from(["head", "tail"]))
@example(text="x" * 3_000, limit=80, keep="head")
def test_limits(oracle: Callable[[str], Any], engine: Any, name: str, text: str, limit: int, keep: str) -> None:
    tokenizer = make(engine, name)
    count = tokenizer.count(text)
    assert tokenizer.count_up_to(text, limit) == (count if count <= limit else None)
    if name in SCALED:
        base, numerator, denominator = SCALED[name]
        fits = engine.Tokenizer(base).count(text) <= floor(limit / Fraction(numerator, denominator))
        assert fits == (count <= limit)
    piece = tokenizer.truncate(text, limit, keep)
    assert text.startswith(piece) if keep == "head" else text.endswith(piece)
    assert tokenizer.count(piece) <= limit
    assert piece == text or count > limit


@needs_both
@pytest.mark.parametrize("name", KINDS)
@given(text=texts, limit=st.integers(0, 60), keep=st.sampled_from(["head", "tail"]))
def test_core_and_twin_agree(oracle: Callable[[str], Any], name: str, text: str, limit: int, keep: str) -> None:
    core, twin = make(CORE, name), make(TWIN, name)
    assert core.count(text) == twin.count(text)
    assert core.count_up_to(text, limit) == twin.count_up_to(text, limit)
    assert core.truncate(text, limit, keep) == twin.truncate(text, limit, keep)
    assert core.is_exact is twin.is_exact is False


@needs_both
def test_core_and_twin_agree_on_every_code_point() -> None:
    core, twin = make(CORE, APPROXIMATE), make(TWIN, APPROXIMATE)
    # All of the first two planes and some of the others, which are all alike.
    for first in [*range(0, 0x20000, 61), *range(0x20000, 0x10FF00, 0x1001)]:
        text = "".join(f"{chr(point)}a {chr(point)}{chr(point)}" for point in range(first, first + 61))
        assert core.count(text) == twin.count(text), hex(first)


@pytest.mark.parametrize("engine", ENGINES)
@given(text=texts)
def test_no_estimate_is_below_what_bytes_allow(oracle: Callable[[str], Any], engine: Any, text: str) -> None:
    """The engines do not tokenize what is sure to be too long: 128 bytes a token are the most."""
    size = len(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode())
    for name in NAMES:
        assert make(engine, name).count(text) >= -(-size // 128)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("text", "most"), [(" " * 100_000, 800), ("\n" * 100_000, 6_300), ("=" * 100_000, 2_100), ("a" * 100_000, 80_000)])
def test_long_runs_are_counted_in_one_pass(engine: Any, text: str, most: int) -> None:
    assert len(text) / 128 <= make(engine, APPROXIMATE).count(text) <= most


@pytest.mark.parametrize("name", NAMES)
def test_estimates_pickle(name: str) -> None:
    tokenizer = backcut.tokenizer(name)
    twin = pickle.loads(pickle.dumps(tokenizer))
    assert (twin.name, twin.is_exact) == (name, False)
    assert twin.count("one two three") == tokenizer.count("one two three") > 0
    window = backcut.context_window(max_tokens=5, tokenizer=tokenizer)
    assert window == backcut.context_window(max_tokens=5, tokenizer=name) == pickle.loads(pickle.dumps(window))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("estimate-x",), "built-in"),
        (("x", None, ("o100k_base", 2, 1)), "built-in"),
        (("x", None, ("approximate", 2, 1)), "built-in"),
        (("x", None, ("o200k_base", 1, 2)), "at least 1"),
        (("x", None, ("o200k_base", 1, 0)), "at least 1"),
        (("x", len, ("o200k_base", 2, 1)), "counter"),
    ],
)
def test_what_cannot_be_an_estimate_is_refused(engine: Any, arguments: tuple[Any, ...], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        engine.Tokenizer(*arguments)


def test_a_ceiling_holds_by_the_estimate() -> None:
    history = [{"role": "user", "content": f"question {k}: " + "some words " * k} for k in range(1, 40)]
    for name in NAMES:
        window = backcut.context_window(max_tokens=300, tokenizer=name)
        messages, report = window.trim(history)
        assert report.tokens_sent is not None
        assert report.tokens_sent == backcut.count(messages, tokenizer=name) <= 300
        assert report.window_trimmed


def test_each_text_is_estimated_on_its_own() -> None:
    texts = ["one", "two words", "three"]
    counter = backcut.tokenizer("estimate-claude")
    messages = [{"role": "user", "content": text} for text in texts]
    whole = 3 + sum(3 + counter.count("user") + counter.count(text) for text in texts)
    assert backcut.count(messages, model="claude-sonnet-4-5") == whole


# How good the approximate one is; benches/estimates.py tells it in full.


@pytest.mark.parametrize(
    ("text", "within"),
    [
        ("The quick brown fox jumps over the lazy dog, and nobody has ever asked the dog what it thinks of that.", 0.1),
        ("def add(self, name: str) -> None:\n    self.names.append(name)\n    return self.count(name)\n", 0.15),
        ('{"id": 17, "name": "sensor", "values": [1.5, 2.25, 3.125], "ok": true}', 0.15),
        ("d2hhdCBpcyB0aGlzIHRleHQgYWJvdXQ/IG5vYm9keSBrbm93cywgYnV0IGl0IGlzIGxvbmc=" * 3, 0.25),
        ("9e107d9d372bb6826bd81d3542a419d6 e4d909c290d0fb1ca068ffaddf22cbd0", 0.15),
        ("吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。", 0.3),
        ("         deep\n\n\n\t\t\tdeeper", 0.3),
    ],
)
def test_the_approximate_count_is_about_right(text: str, within: float) -> None:
    exact = backcut.tokenizer("o200k_base").count(text)
    assert backcut.tokenizer(APPROXIMATE).count(text) == pytest.approx(exact, rel=within, abs=2)
