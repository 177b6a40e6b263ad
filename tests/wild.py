"""Texts that are hard to count: what decides where a pattern splits and what is merged, mixed and repeated."""

from __future__ import annotations

import os
import sysconfig
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

NIGHTLY = os.environ.get("BACKCUT_HYPOTHESIS") == "nightly"
"""Whether there is time for all of it."""

SEED = int(os.environ.get("BACKCUT_SEED") or (SystemRandom().getrandbits(32) if NIGHTLY else 1))
"""What the random texts come from: a fixed one by day, by night another one each time. The header of the run shows it."""

# What the patterns name: contractions (the long s is an s where case does not count), blanks, breaks, digits; and around it
# letters of every case, marks, clusters, halves of a surrogate pair, a token that would be special.
ATOMS = (
    *(" ", "  ", "\n", "\r\n", "\r", "\t", "\x0b", "\x0c", "\x1c", "\x85", "\u00a0", "\u2028", "\u3000", "\u200b", "\ufeff", "\x00"),
    *("'", "''", "'s", "'S", "'ſ", "'t", "'re", "'VE", "'m", "'ll", "'lL", "'d", "'x", "’s", '"', "/", "//", "-", "=-", "...", "!", "_"),
    *("a", "the", "Hello", "WORLD", "iPhone", "é", "ß", "İ", "ſ", "\u212a", "ǅ", "ʰ", "e\u0301", "\u0301", "\u20dd"),
    *("漢字", "かな", "한국어", "न", "ก", "1", "12345", "٣", "Ⅷ", "½", "👍🏽", "👩\u200d👧", "🇩🇪"),
    *("\ud800", "\udc00", "\ud83d\ude00", "\ufffd", "<|endoftext|>", "<|fim_prefix|>"),
)

# Letters of contractions, blanks, breaks, slashes: a few of these at a time meet in every way.
ASCII = "abcdstmreveLlSTDzAZ  \n\r\t 0123''''/!-.(\x0b\x1c_"

UNITS = (
    *("a", "x", " ", "\n", "\t", "\r\n", " \n", "0", "1", "!", "_", "/", "=-", "-", "*", "'", "'s", "ab", "aB", "Aa", " a", "xyz"),
    *("é", "漢", "的", "あ", "한", "ก", "न", "\u0301", "e\u0301", "\u00a0", "\u3000", "👍", "ſ", "\x00", "\ufeff", "\udfff"),
    "abcdefghijklmnopqrstuvwxyz",
)

ALPHABETS = (
    *("abcdefghijklmnopqrstuvwxyz", "ab", "etaoin", "aA", "ETAOIN", "ACGT", "0123456789", "0123456789abcdef", "=-+*", " \n", " \t\r\n"),
    *("漢字日本語学中文的", "あいうえおかな", "กขคงจ", "АБВабв", "\u0301\u0302ab", "e\u0301é", "🇩🇪👍🏽\u200d"),
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
)

# Around what the engine does in other ways from some length on: keys of 15 bytes, blocks and merges of 64, tokens of 128.
LENGTHS = (1, 2, 3, 4, 15, 16, 17, 31, 32, 33, *range(61, 68), *range(125, 132), 255, 511, 512, 513, 1_024, 2_500)

HUGE = 100_000


@cache
def points() -> list[str]:
    """Every code point that UTF-8 knows."""
    return [chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000]


@cache
def _categories() -> list[list[str]]:
    found: dict[str, list[str]] = {}
    for point in points():
        found.setdefault(unicodedata.category(point), []).append(point)
    return list(found.values())


def _atom(random: Random) -> str:
    match random.randrange(10):
        case 0 | 1:
            return random.choice(random.choice(_categories()))
        case 2:
            return random.choice(ATOMS) * random.randrange(1, 30)
        case 3:
            return "".join(random.choices("abcdefghij ETAOIN\n", k=random.randrange(1, 90)))
        case _:
            return random.choice(ATOMS)


def fuzzed(random: Random, most: int = 30) -> str:
    """A text of up to ``most`` things of all kinds, or of very few kinds."""
    if random.randrange(4):
        return "".join(_atom(random) for _ in range(random.randrange(1, most)))
    few = random.choices(ASCII if random.randrange(2) else ATOMS, k=random.randrange(2, 9))
    return "".join(random.choices(few, k=random.randrange(1, 10 * most)))


def apostrophes(random: Random) -> str:
    """Words and contractions in every case, one upon the other."""
    parts = ("'", "'", "s", "S", "ſ", "t", "T", "re", "rE", "ve", "m", "M", "ll", "Ll", "d", "l", "r", "a", "A", "é", "1", " ", "\n", "!")
    return "".join(random.choices(parts, k=random.randrange(1, 40)))


def blanks(random: Random) -> str:
    """Blanks and line breaks, and little between them."""
    parts = "  \n\r\t\x0b\x0c\x1c\x85\u00a0\u2028\u3000\u200baB1!/"
    return "".join(random.choices((*parts, "  ", "\r\n"), k=random.randrange(1, 60)))


def giants(random: Random, most: int = HUGE) -> Iterator[str]:
    """Runs of every kind of up to ``most`` characters, each one piece or a few, alone and in a text."""
    lengths = [length for length in (*LENGTHS, random.randrange(50, 4_000), HUGE) if length <= most]
    for unit in UNITS:
        for length in lengths:
            run = (unit * length)[:length]
            yield run
            if length < HUGE:
                yield f"x{run}y"
    for alphabet in ALPHABETS:
        for length in lengths:
            yield "".join(random.choices(alphabet, k=length))


def strings(value: Any) -> Iterator[str]:
    """Every string in a JSON value, names among them."""
    match value:
        case str():
            yield value
        case dict():
            yield from value
            for item in value.values():
                yield from strings(item)
        case list():
            for item in value:
                yield from strings(item)


def sources() -> list[str]:
    """The standard library's sources: all of them by night, else each twentieth."""
    files = sorted(path for path in Path(sysconfig.get_path("stdlib")).rglob("*.py") if "site-packages" not in path.parts)
    return [path.read_text(encoding="utf-8", errors="replace") for path in files[:: 1 if NIGHTLY else 20]]
