"""Counts of the built-in encodings are tiktoken's, to the token, on every text that we could think of; and so is what is built on counting.

By day a fixed part of it runs, by night all of it, with random texts that nobody has seen before: see ``wild.py``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

import pytest

import wild
from backcut.graphemes import is_boundary
from oracle import ENCODINGS, crate_data
from support import CORE, at_once

pytestmark = [
    pytest.mark.skipif(CORE is None, reason="backcut._core is not built: the twin counts with tiktoken itself"),
    pytest.mark.timeout(3_600 if wild.NIGHTLY else 300),
]

ALIASES = {"o200k_harmony": "o200k_base", "p50k_edit": "p50k_base", "gpt2": "r50k_base"}

FUZZED = 100_000 if wild.NIGHTLY else 5_000

Count = Callable[[str], int]


def counter(name: str) -> Count:
    """Counts as backcut does, with no text remembered."""
    assert CORE is not None
    count: Count = CORE.Tokenizer(name).count
    return count


@pytest.fixture(params=ENCODINGS)
def pair(request: pytest.FixtureRequest, oracle: Callable[[str], Any]) -> tuple[str, Count]:
    """The name of an encoding, and what counts as tiktoken does."""
    encode = oracle(request.param).encode_ordinary
    return request.param, lambda text: len(encode(text))


def smallest(text: str, fails: Callable[[str], bool]) -> str:
    """What is left of a failing text when nothing more can go: halves, quarters, at last single characters."""
    size = len(text)
    while size := min(size, len(text)) // 2:
        at = 0
        while at < len(text):
            shorter = text[:at] + text[at + size :]
            if fails(shorter):
                text = shorter
            else:
                at += size
    return text


def agree(name: str, ours: Count, theirs: Count, texts: Iterable[str]) -> None:
    """Both count alike, or the smallest text on which they do not is named."""
    for text in texts:
        if ours(text) != theirs(text):
            least = smallest(text, lambda shorter: ours(shorter) != theirs(shorter))
            pytest.fail(f"{name}: {ours(least)} tokens, tiktoken says {theirs(least)} (seed {wild.SEED}): {least!a}")


def test_a_failing_text_is_made_small() -> None:
    assert smallest("x" * 1_000 + "'" + "y" * 77 + "ſ" + "z" * 99, lambda text: "'" in text and "ſ" in text) == "'ſ"
    with pytest.raises(pytest.fail.Exception, match=r"o200k_base: 4 tokens, tiktoken says 3 .*: 'abc\\u017f'"):
        agree("o200k_base", len, lambda text: len(text) - text.count("abcſ"), ["abcſ" * 3])


# The same counts.


def test_the_corpus(pair: tuple[str, Count], corpus: Path) -> None:
    name, theirs = pair
    lines = chain.from_iterable(path.read_text(encoding="utf-8").splitlines() for path in sorted(corpus.glob("*.jsonl")))
    texts = set(chain.from_iterable(wild.strings(json.loads(line)) for line in lines))
    assert len(texts) > 10_000
    agree(name, counter(name), theirs, texts)


def test_source_code(pair: tuple[str, Count]) -> None:
    name, theirs = pair
    agree(name, counter(name), theirs, wild.sources())


def test_fuzzed_texts(pair: tuple[str, Count]) -> None:
    name, theirs = pair
    random = Random(f"{wild.SEED} {name}")
    agree(name, counter(name), theirs, (wild.fuzzed(random) for _ in range(FUZZED)))


@pytest.mark.parametrize("kind", [wild.apostrophes, wild.blanks])
def test_apostrophes_and_blanks(pair: tuple[str, Count], kind: Callable[[Random], str]) -> None:
    name, theirs = pair
    random = Random(f"{wild.SEED} {name}")
    agree(name, counter(name), theirs, (kind(random) for _ in range(FUZZED)))


def test_giant_runs(pair: tuple[str, Count]) -> None:
    name, theirs = pair
    texts = list(wild.giants(Random(wild.SEED)))
    # By day not all of the longest.
    agree(name, counter(name), theirs, (text for at, text in enumerate(texts) if wild.NIGHTLY or len(text) < wild.HUGE or at % 4 == 0))


CONTEXTS = ("a{}b", "A{}B", " {} ", "1{}2", "{0}\n{0}'s")
"""What a code point stands between."""


def in_contexts(points: list[str]) -> Iterator[str]:
    """Code points by the hundred in each context: where one is off, its neighbours are hardly off the other way."""
    for start in range(0, len(points), 128):
        some = points[start : start + 128]
        yield from (";".join(context.format(point) for point in some) for context in CONTEXTS)


def test_every_code_point(pair: tuple[str, Count]) -> None:
    name, theirs = pair
    # By day all of them for the newest encoding; the others read the same table of classes.
    points = wild.points() if wild.NIGHTLY or name == ENCODINGS[0] else wild.points()[:0x20000]
    ours = counter(name)
    agree(name, ours, theirs, points)
    agree(name, ours, theirs, in_contexts(points))


def test_every_token(pair: tuple[str, Count], oracle: Callable[[str], Any]) -> None:
    """As a text, and with another one at its end: what is merged, and what only nearly is."""
    name, theirs = pair
    random = Random(f"{wild.SEED} tokens {name}")
    tokens = [token.decode(errors="replace") for token in oracle(name).token_byte_values()]
    others = random.sample(tokens, len(tokens))
    agree(name, counter(name), theirs, tokens)
    agree(name, counter(name), theirs, (token + other for token, other in zip(tokens, others, strict=True)))


def test_what_is_not_quite_text(pair: tuple[str, Count]) -> None:
    """Halves of surrogate pairs are replaced, whole pairs joined; and what would be special tokens is text."""
    name, theirs = pair
    texts = ["", "\x00", "a\x00b", "\ufeff", "\ufeffa", "a\ud800b", "\ud800", "\udc00", "\udc00\ud800", "\ud83d\ude00", "a\ud83d\ude00b"]
    texts += ["\ud83d", "\ude00" * 3, "\ud83d\ud83d\ude00\ude00", "é\ud800", "漢\udfff字", "\ud800\n\ud800", "x" * 100 + "\udfff"]
    texts += ["<|endoftext|>", "a<|endoftext|>b", "<|fim_prefix|>", "<|endofprompt|>", "<|start|>user<|message|>hi<|end|>"]
    agree(name, counter(name), theirs, texts)


def test_some_counts_by_hand() -> None:
    count = counter("o200k_base")
    texts = ("", "a\ud800b", "\ud83d\ude00", "a<|endoftext|>b", "e'ſ'lLbrr")
    assert [count(text) for text in texts] == [0, 3, 1, 9, 6]


@pytest.mark.parametrize("alias", ALIASES)
def test_aliases(alias: str, oracle: Callable[[str], Any]) -> None:
    random = Random(wild.SEED)
    texts = [*wild.ATOMS, *(wild.fuzzed(random) for _ in range(500))]
    agree(alias, counter(alias), counter(ALIASES[alias]), texts)
    if alias != "gpt2":
        encode = oracle(alias).encode_ordinary
        agree(alias, counter(alias), lambda text: len(encode(text)), texts)


def test_gpt2_has_the_tokens_of_r50k(oracle: Callable[[str], Any]) -> None:
    """tiktoken's own ``gpt2`` comes from two files of which it wants the very bytes; their content is what counts."""
    load = pytest.importorskip("tiktoken.load")
    data = crate_data()
    if data is None:
        pytest.skip("no vocabulary of gpt2: let cargo fetch the crate tiktoken-rs")
    r50k = oracle("r50k_base")
    assert load.data_gym_to_mergeable_bpe_ranks(str(data / "vocab.bpe"), str(data / "encoder.json")) == r50k._mergeable_ranks
    assert pytest.importorskip("tiktoken_ext.openai_public").r50k_pat_str == r50k._pat_str


# Whatever was counted before, and whoever else counts.


def test_what_was_counted_before_does_not_matter(pair: tuple[str, Count]) -> None:
    """More pieces than are remembered, three times in other orders."""
    name, theirs = pair
    random = Random(f"{wild.SEED} before {name}")
    texts = [wild.fuzzed(random) for _ in range(FUZZED // 4)]
    texts += [" ".join(str(random.getrandbits(40)) + "".join(random.choices("abcdeABé", k=12)) for _ in range(100)) for _ in range(600)]
    expected = {text: theirs(text) for text in texts}
    for _ in range(3):
        random.shuffle(texts)
        agree(name, counter(name), lambda text: expected.get(text) or theirs(text), texts)


def test_threads_do_not_disturb_each_other() -> None:
    """Eight of them, some with the same texts, most texts so long that the interpreter's lock is given up meanwhile."""
    random = Random(wild.SEED)
    texts = ["".join(wild.fuzzed(random) for _ in range(random.choice((1, 200)))) for _ in range(40)]
    texts += [text for text in wild.giants(random) if len(text) == wild.HUGE][::7]
    asked = [(name, text) for name in ENCODINGS for text in texts]
    alone = {name: counter(name) for name in ENCODINGS}
    expected = {(name, text): alone[name](text) for name, text in asked}
    shared = {name: counter(name) for name in ENCODINGS}

    def work(number: int) -> dict[tuple[str, str], int]:
        mine = asked[:]
        Random(number).shuffle(mine)
        count = {name: counter(name) for name in ENCODINGS} if number % 2 else shared
        return {(name, text): count[name](text) for name, text in mine}

    for found in at_once(8, work):
        assert found == expected


# What is built on counting.


def limits(count: int) -> set[int]:
    """Those near nothing and near the count."""
    return {limit for limit in (0, 1, 2, count // 128, count // 2, *range(count - 2, count + 3), 10 * count, 2**62) if limit >= 0}


@pytest.mark.parametrize("name", ENCODINGS)
def test_counting_up_to_a_limit(name: str) -> None:
    assert CORE is not None
    random = Random(f"{wild.SEED} limits {name}")
    count = counter(name)
    texts = chain((wild.fuzzed(random) for _ in range(FUZZED // 5)), wild.giants(random, 600))
    for text in texts:
        tokens = count(text)
        # One that remembers nothing of the text, and one that does.
        for tokenizer in (CORE.Tokenizer(name), count.__self__):  # type: ignore[attr-defined]
            for limit in limits(tokens):
                assert tokenizer.count_up_to(text, limit) == (tokens if tokens <= limit else None), (name, limit, ascii(text))


def is_edge(text: str, at: int) -> bool:
    """Whether a piece may begin or end there: between characters, and not between the halves of a surrogate pair, which are one."""
    halves = 0 < at < len(text) and "\ud800" <= text[at - 1] < "\udc00" <= text[at] < "\ue000"
    return is_boundary(text, at) and not halves


@pytest.mark.parametrize("keep", ["head", "tail"])
@pytest.mark.parametrize("name", ENCODINGS)
def test_truncating_leaves_the_longest_piece(name: str, keep: str) -> None:
    assert CORE is not None
    random = Random(f"{wild.SEED} truncate {name}")
    tokenizer = CORE.Tokenizer(name)
    for text in (wild.fuzzed(random, 8)[:120] for _ in range(FUZZED // 25)):
        edges = [at for at in range(len(text) + 1) if is_edge(text, at)]
        pieces = [text[:at] if keep == "head" else text[at:] for at in edges]
        counted = [(len(piece), tokenizer.count(piece), piece) for piece in pieces]
        for limit in {0, 1, 2, 3, *(random.randrange(60) for _ in range(5)), tokenizer.count(text)}:
            _, _, longest = max(piece for piece in counted if piece[1] <= limit)
            assert tokenizer.truncate(text, limit, keep) == longest, (name, limit, ascii(text))


@pytest.mark.parametrize("keep", ["head", "tail"])
@pytest.mark.parametrize("name", ENCODINGS)
def test_truncating_long_texts_holds(name: str, keep: str) -> None:
    assert CORE is not None
    random = Random(f"{wild.SEED} truncate {name}")
    tokenizer = CORE.Tokenizer(name)
    giants = [text for text in wild.giants(random, 4_000) if len(text) > 500][:: 1 if wild.NIGHTLY else 20]
    fuzzed = ["".join(wild.fuzzed(random) for _ in range(20)) for _ in range(FUZZED // 500)]
    for text in (*giants, *fuzzed):
        count = tokenizer.count(text)
        for limit in (0, count // 3, count - 1, count):
            piece = tokenizer.truncate(text, limit, keep)
            assert tokenizer.count(piece) <= limit, (name, limit, ascii(text))
            assert text.startswith(piece) if keep == "head" else text.endswith(piece)
            assert is_edge(text, len(piece) if keep == "head" else len(text) - len(piece))
            assert piece == text or limit < count
