"""Tokenizers: by name, by model, and whatever else can count."""

from __future__ import annotations

import pickle
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import backcut
from backcut import OptionError, Tokenizer, engine
from backcut.errors import nearest
from backcut.models import APPROXIMATE, BUILT_IN, DEFAULT, ESTIMATES, encoding_of, known_names, tokenizer_of
from backcut.tokens import as_tokenizer, choose
from support import CORE, TWIN, Recorder, cheap

TEXT = "Hello, wörld! <|endoftext|> 你好 12345"


def refusal(call: Callable[[], object]) -> OptionError:
    with pytest.raises(OptionError) as caught:
        call()
    return caught.value


class Words:
    """A tokenizer of the plainest kind."""

    def encode(self, text: str) -> list[str]:
        return text.split()


class Special:
    """A tokenizer that adds special tokens unless told otherwise, as those of Hugging Face do."""

    def encode(self, sequence: str, pair: str | None = None, add_special_tokens: bool = True) -> list[str]:
        return ["<s>", *sequence.split(), "</s>"] if add_special_tokens else sequence.split()


class Ordinary:
    """A tokenizer that looks for special tokens in ``encode``, as tiktoken does."""

    name = "ordinary"

    def encode(self, text: str) -> list[str]:
        raise ValueError("a special token")

    def encode_ordinary(self, text: str) -> list[str]:
        return text.split()


class Needy:
    def encode(self, text: str, bos: bool, eos: bool) -> list[int]:
        return []


class Plain:
    def __len__(self) -> int:
        return 1


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model was registered yet."""
    monkeypatch.setattr("backcut.models._registered", {})


# Names and models.


def test_the_table_is_tiktokens() -> None:
    model = pytest.importorskip("tiktoken.model")
    names = [*model.MODEL_TO_ENCODING, *(prefix + tail for prefix in model.MODEL_PREFIX_TO_ENCODING for tail in ("", "x", "2024-05-13"))]
    assert len(names) > 80
    assert {name: encoding_of(name) for name in names} == {name: model.encoding_name_for_model(name) for name in names}
    assert set(model.MODEL_TO_ENCODING.values()) | set(model.MODEL_PREFIX_TO_ENCODING.values()) == set(BUILT_IN)


@pytest.mark.parametrize("name", ["claude-4-sonnet", "gpt", "o2", "", "GPT-4O", "gpt-4.5", "o200k_base"])
def test_the_table_knows_no_other_models(name: str) -> None:
    model = pytest.importorskip("tiktoken.model")
    with pytest.raises(KeyError):
        model.encoding_name_for_model(name)
    assert encoding_of(name) is None


def test_every_suggested_name_is_one(fresh: None) -> None:
    others = [APPROXIMATE, *(estimate.name for estimate in ESTIMATES)]
    for name in known_names():
        model = name.removesuffix("...")
        assert name in (*BUILT_IN, *others) or tokenizer_of(model) in (*BUILT_IN, *others) or encoding_of(model + "-") in BUILT_IN, name


@pytest.mark.parametrize("name", BUILT_IN)
def test_one_tokenizer_for_each_encoding(name: str) -> None:
    assert backcut.tokenizer(name) is backcut.tokenizer(name)
    assert isinstance(backcut.tokenizer(name), Tokenizer)
    assert backcut.tokenizer(name).name == name


def test_models_share_the_tokenizer_of_their_encoding() -> None:
    assert backcut.tokenizer("gpt-4o") is backcut.tokenizer("o200k_base")
    assert backcut.tokenizer("gpt-5-mini-2026") is backcut.tokenizer("o200k_base")
    assert backcut.tokenizer("gpt-4-0613") is backcut.tokenizer("cl100k_base")
    assert backcut.tokenizer("gpt-oss-120b") is backcut.tokenizer("o200k_harmony")
    assert backcut.tokenizer("ft:gpt-4o:acme") is backcut.tokenizer("o200k_base")


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base", "p50k_base", "r50k_base"])
def test_built_in_encodings_count_as_tiktoken_does(name: str, oracle: Callable[[str], Any]) -> None:
    for text in ("", "Hello", TEXT, "a" * 1000, " \n\n  x"):
        assert backcut.tokenizer(name).count(text) == len(oracle(name).encode_ordinary(text))


def test_encodings_of_older_models_are_there() -> None:
    assert backcut.tokenizer("text-davinci-003") is backcut.tokenizer("p50k_base")
    # Code: p50k has tokens for runs of blanks, r50k has not.
    indented = "        return"
    assert [backcut.tokenizer(name).count(indented) for name in ("p50k_base", "p50k_edit", "r50k_base", "gpt2")] == [2, 2, 8, 8]


@pytest.mark.parametrize(
    ("name", "meant"), [("gpt4o", "gpt-4o"), ("o200k", "o200k_base"), ("cl100k-base", "cl100k_base"), ("gpt-4.5", "gpt-4.5")]
)
def test_an_unknown_name_names_the_nearest(name: str, meant: str) -> None:
    error = refusal(lambda: backcut.tokenizer(name))
    assert (error.option, error.value) == ("tokenizer", name)
    assert f"did you mean {meant}" in error.allowed


@pytest.mark.parametrize("name", ["gemma-3-27b", "mistral-large", "glm-4.5", "grok-4", "kimi-k2", "llama-3.1-70b", "o2", ""])
def test_a_model_of_another_house_is_not_taken_for_a_mistyped_one(name: str) -> None:
    error = refusal(lambda: backcut.context_window(model=name))
    assert "did you mean" not in error.allowed
    assert 'tokenizer="o200k_base"' in error.allowed


@pytest.mark.parametrize("name", ["gpt-4oo", "GPT-4O", "gpt-4", "gpt-oss", "o200k"])
def test_each_name_is_suggested_once(name: str) -> None:
    near = nearest(name, known_names())
    assert len(set(near)) == len(near) > 0
    assert len(set(known_names())) == len(known_names())
    if name not in known_names():
        assert 'tokenizer="o200k_base"' in refusal(lambda: backcut.tokenizer(name)).allowed


def test_an_unknown_name_like_no_other_says_what_helps() -> None:
    allowed = refusal(lambda: backcut.count("x", model="zzzz")).allowed
    assert "known encodings are o200k_base" in allowed
    assert "any function from str to int" in allowed
    assert refusal(lambda: backcut.tokenizer(4)).allowed == "the name of an encoding or model"  # type: ignore[arg-type]


def test_the_tokenizer_wins_over_the_model_and_there_is_a_default() -> None:
    assert choose(None, None) is backcut.tokenizer(DEFAULT)
    assert choose(None, "gpt-4") is backcut.tokenizer("cl100k_base")
    assert choose("o200k_harmony", "gpt-4") is backcut.tokenizer("o200k_harmony")
    assert backcut.count("a b c", tokenizer=Words(), model="no such model") == 3


# Tokenizers of other houses.


@pytest.mark.parametrize(
    "source", [Words(), Special(), Ordinary(), lambda text: len(text.split())], ids=["words", "special", "ordinary", "function"]
)
def test_whatever_counts_is_a_tokenizer(source: Any) -> None:
    made = as_tokenizer(source)
    assert isinstance(made, Tokenizer)
    assert made.count("one two three") == 3
    assert made.count("") == 0
    assert backcut.count("one two", tokenizer=source) == 2


def test_a_tokenizer_is_itself() -> None:
    for tokenizer in (backcut.tokenizer("gpt-4o"), Tokenizer("ours", cheap)):
        assert as_tokenizer(tokenizer) is tokenizer
    assert as_tokenizer("gpt-4o") is backcut.tokenizer("gpt-4o")


def test_its_name_is_the_sources() -> None:
    assert as_tokenizer(Ordinary()).name == "ordinary"
    assert as_tokenizer(Words()).name == "Words"
    assert as_tokenizer(cheap).name == "cheap"
    assert as_tokenizer(Recorder()).name == "Recorder"


@pytest.mark.parametrize("value", [5, 1.5, None, [], b"o200k_base", Plain(), object(), Words, str, len.__class__])
def test_what_cannot_count_is_refused(value: Any) -> None:
    error = refusal(lambda: as_tokenizer(value))
    assert (error.option, error.value) == ("tokenizer", value)
    assert "a function from str to int" in error.allowed


def test_whole_numbers_of_other_houses_are_tokens() -> None:
    numpy = pytest.importorskip("numpy")
    assert backcut.count("one two", tokenizer=lambda text: numpy.int64(len(text.split()))) == 2
    assert type(backcut.count("one two", tokenizer=lambda text: numpy.uint8(2))) is int


@pytest.mark.parametrize("value", [1.0, None, "1", True, -1])
def test_what_is_no_whole_number_of_tokens_is_an_error_of_the_function(value: Any) -> None:
    with pytest.raises(TypeError, match="an int of at least 0"):
        backcut.count("hello", tokenizer=lambda text: value)


def test_an_encode_that_needs_more_than_a_text_is_refused_at_once() -> None:
    error = refusal(lambda: backcut.context_window(max_tokens=9, tokenizer=Needy()))
    assert "must be callable with a text alone" in error.allowed
    assert "bos" in error.allowed


def test_what_a_tokenizer_raises_comes_through() -> None:
    class BrokenError(Exception):
        pass

    def count(text: str) -> int:
        raise BrokenError(text)

    with pytest.raises(BrokenError, match="hello"):
        backcut.count("hello", tokenizer=count)
    with pytest.raises(BrokenError):
        backcut.context_window(max_tokens=5, tokenizer=count).trim([{"role": "user", "content": "hello"}])


def test_tiktoken_encodings_count_special_tokens_as_text(oracle: Callable[[str], Any]) -> None:
    encoding = oracle("cl100k_base")
    assert as_tokenizer(encoding).count(TEXT) == len(encoding.encode_ordinary(TEXT))
    assert as_tokenizer(encoding).name == "cl100k_base"


def test_hugging_face_tokenizers_add_no_special_tokens() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    model = tokenizers.models.WordLevel({"[UNK]": 0, "[CLS]": 1, "hello": 2, "world": 3}, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(single="[CLS] $A", special_tokens=[("[CLS]", 1)])
    assert len(tokenizer.encode("hello world")) == 3
    assert as_tokenizer(tokenizer).count("hello world") == 2


@pytest.mark.parametrize("source", [Words(), Special(), Ordinary(), cheap], ids=["words", "special", "ordinary", "function"])
def test_wrapped_tokenizers_pickle(source: Any) -> None:
    twin = pickle.loads(pickle.dumps(as_tokenizer(source)))
    assert isinstance(twin, Tokenizer)
    assert twin.name == as_tokenizer(source).name
    assert twin.count("one two three") == as_tokenizer(source).count("one two three")


@pytest.mark.parametrize("name", BUILT_IN[:1])
def test_built_in_tokenizers_pickle(name: str) -> None:
    twin = pickle.loads(pickle.dumps(backcut.tokenizer(name)))
    assert twin.name == name
    assert twin.count("one two three") == backcut.tokenizer(name).count("one two three")


# Cutting texts.

SPLIT_PAIR = "\ud83d" + "\ude00"


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base", "p50k_base", "r50k_base", "approximate", "estimate-claude"])
@pytest.mark.parametrize("keep", ["head", "tail"])
def test_what_fits_comes_back_as_it_is(name: str, keep: str, oracle: Callable[[str], Any]) -> None:
    tokenizer = backcut.tokenizer(name)
    for text in ("", "Hello", TEXT, "a\ud800b", SPLIT_PAIR, "🇩🇪" * 5, "word " * 50):
        tokens = tokenizer.count(text)
        for limit in (tokens, tokens + 1, 10**6, 2**63 - 1):
            assert tokenizer.truncate(text, limit, keep) is text
        assert tokenizer.truncate(text, 0, keep) == ""


@pytest.mark.skipif(engine.PURE, reason="the twin is readable, not fast")
@pytest.mark.parametrize("keep", ["head", "tail"])
@pytest.mark.parametrize("unit", ["some words ", "漢字かな。", '{"a":1},', "🇩🇪", "e\u0301", "x", " ", "\ud800", "é" * 300 + " "])
def test_a_cut_of_a_long_text_is_that_of_a_short_one(unit: str, keep: str, oracle: Callable[[str], Any]) -> None:
    """What lies beyond the limit's reach changes nothing, and the piece has at most so many tokens."""
    tokenizer = backcut.tokenizer("o200k_base")
    for limit in (1, 7, 50):
        short, long = (unit * number for number in (12_800 // len(unit) + 4, 200_000 // len(unit)))
        piece = tokenizer.truncate(long, limit, keep)
        assert piece == tokenizer.truncate(short, limit, keep)
        assert tokenizer.count(piece) <= limit
        assert long.startswith(piece) if keep == "head" else long.endswith(piece)


@pytest.mark.parametrize("keep", ["head", "tail"])
def test_lone_surrogates_come_back_as_they_went_in(keep: str, oracle: Callable[[str], Any]) -> None:
    tokenizer = backcut.tokenizer("o200k_base")
    text = "a\ud800 b\udc00 " + SPLIT_PAIR + " c" + "\udfff"
    for limit in range(tokenizer.count(text) + 2):
        piece = tokenizer.truncate(text, limit, keep)
        assert tokenizer.count(piece) <= limit
        assert text.startswith(piece) if keep == "head" else text.endswith(piece)
        # A split pair counts as the character that it means, and is kept or left as one.
        assert piece.count("\ud83d") == piece.count("\ude00")


@pytest.mark.parametrize("keep", ["head", "tail"])
@pytest.mark.parametrize("filler", ["wörter und ", "漢字かな。"])
def test_cutting_and_counting_up_to_a_limit_copy_no_long_text(keep: str, filler: str, oracle: Callable[[str], Any]) -> None:
    tokenizer = backcut.tokenizer("o200k_base")
    text = filler * (4_000_000 // len(filler))
    tokenizer.truncate("ä", 0)  # whatever is loaded at first
    tracemalloc.start()
    try:
        assert tokenizer.count(tokenizer.truncate(text, 100, keep)) in (99, 100)
        assert tokenizer.count_up_to(text, 100) is None
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.skipif(engine.PURE, reason="the twin is readable, not fast")
@pytest.mark.parametrize("keep", ["head", "tail"])
def test_a_counter_of_ones_own_sees_little_more_than_what_is_kept(keep: str) -> None:
    seen = 0

    def words(text: str) -> int:
        nonlocal seen
        seen += len(text)
        return len(text.split())

    text = "some words " * 500_000
    assert len(as_tokenizer(words).truncate(text, 100, keep).split()) == 100
    assert seen < 200_000


@pytest.mark.parametrize("keep", ["head", "tail"])
def test_a_subclass_of_str_is_a_text(keep: str, oracle: Callable[[str], Any]) -> None:
    class Odd(str):
        __slots__ = ()

        def __hash__(self) -> int:
            raise TypeError("not today")

        def __eq__(self, other: object) -> bool:
            raise TypeError("not today")

    tokenizer = backcut.tokenizer("o200k_base")
    text = "some words " * 100
    if not engine.PURE:  # whose memory is a dict
        assert tokenizer.count_up_to(Odd(text), 50) is None
        assert tokenizer.count(Odd(text)) == tokenizer.count(text)
    assert str(tokenizer.truncate(Odd(text), 10, keep)) == tokenizer.truncate(text, 10, keep)


# Models that users add.


def test_a_registered_model_has_its_tokenizer(fresh: None) -> None:
    backcut.register_model("my-model", "cl100k_base")
    assert backcut.tokenizer("my-model") is backcut.tokenizer("cl100k_base")
    assert backcut.count("a b c", model="my-model") == 3
    backcut.register_model("my-model", Words())
    assert backcut.count("one two", model="my-model") == 2
    assert backcut.tokenizer("my-model") is backcut.tokenizer("my-model")
    window = backcut.context_window(max_tokens=50, model="my-model")
    assert window.trim([{"role": "user", "content": "one two"}]).report.tokens_sent == 3 + 3 + 1 + 2


def test_names_win_over_beginnings_and_both_over_the_table(fresh: None) -> None:
    backcut.register_model("my-*", "cl100k_base")
    backcut.register_model("my-new-*", "o200k_base")
    backcut.register_model("my-new-one", "approximate")
    backcut.register_model("gpt-4o-acme*", "o200k_harmony")
    names = ("my-", "my-old", "my-new-two", "my-new-one", "my-new-one-more", "gpt-4o-acme-2", "gpt-4o-mini")
    expected = ["cl100k_base", "cl100k_base", "o200k_base", "approximate", "o200k_base", "o200k_harmony", "o200k_base"]
    assert [backcut.tokenizer(name).name for name in names] == expected
    assert [backcut.tokenizer(name).name for name in ("azure/my-old", "openai:my-new-one")] == ["cl100k_base", "approximate"]
    refusal(lambda: backcut.tokenizer("somebody/my-old"))
    assert "my-..." in known_names()
    refusal(lambda: backcut.tokenizer("my"))


@pytest.mark.parametrize("name", ["", "*", "a*b", "**", "my-**", 5, None, b"x"])
def test_what_is_no_name_of_a_model_is_refused(fresh: None, name: Any) -> None:
    error = refusal(lambda: backcut.register_model(name, "o200k_base"))
    assert (error.option, error.value) == ("model", name)
    assert "a * at its end" in error.allowed


@pytest.mark.parametrize("name", ["o200k_base", "gpt2", "approximate", "estimate-claude", "tokenizer.json"])
def test_the_name_of_a_tokenizer_is_none_of_a_model(fresh: None, name: str) -> None:
    assert "is the name of a tokenizer" in refusal(lambda: backcut.register_model(name, "o200k_base")).allowed


def test_a_model_is_not_registered_with_an_unknown_encoding(fresh: None) -> None:
    error = refusal(lambda: backcut.register_model("my-model", "o200k"))
    assert (error.option, error.value) == ("tokenizer", "o200k")
    assert "did you mean o200k_base" in error.allowed
    refusal(lambda: backcut.register_model("my-model", 5))  # type: ignore[arg-type]
    refusal(lambda: backcut.tokenizer("my-model"))


def test_registering_from_many_threads_loses_nothing(fresh: None) -> None:
    def register(thread: int) -> None:
        for k in range(50):
            backcut.register_model(f"model-{thread}-{k}", "o200k_base")
            assert backcut.tokenizer(f"model-{thread}-{k}").name == "o200k_base"

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(register, range(8)))
    assert all(backcut.tokenizer(f"model-{thread}-{k}").name == "o200k_base" for thread in range(8) for k in range(50))


@pytest.mark.parametrize("tokenizer", [CORE, TWIN] if CORE else [TWIN])
def test_a_limit_may_be_larger_than_any_count(tokenizer: Any) -> None:
    counter = tokenizer.Tokenizer("words", lambda text: len(text.split()))
    assert counter.count_up_to("three short words", 2**70) == 3
    assert counter.truncate("three short words", 2**70) == "three short words"
    for limit in (-1, -(2**70)):
        with pytest.raises(ValueError, match="limit must be at least 0, not -"):
            counter.count_up_to("three short words", limit)
        with pytest.raises(ValueError, match="limit must be at least 0, not -"):
            counter.truncate("three short words", limit)
