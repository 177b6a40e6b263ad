"""About how many tokens a text has, without a vocabulary: the twin of ``src/tokens/approximate.rs``.

The text is split nearly as ``o200k_base`` splits it, and each piece is priced by its kind and its length instead of being
looked up. Everything is told from code points alone, so that no Unicode version matters. The prices are in hundredths of a
token and were fitted against exact counts; ``benches/estimates.py`` measures what they are worth.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["NAME", "UNIT", "price"]

NAME = "approximate"

UNIT = 100
"""Hundredths in a token; any piece has at least one token."""

# A sign that repeats the one before it; another one behind two different ones; what is no ASCII likewise.
_REPEAT, _ANOTHER, _WIDE_REPEAT = 2, 30, 6

# No token has more spaces than this, and few have more line ends. Line ends, blanks and line ends again still are one token.
_BLANKS, _LINES, _MIXED = 128, 16, 2

# Behind so many bytes of letters and digits with nothing between them a text is no language: base64, hashes, keys.
_TANGLE = 16

# What a piece costs: so much, and for each byte (of a word) or letter (of another script) after the first few so much more.
_Price = tuple[int, int, int]

# Words by what stands before them: with at most one capital letter, and with more.
_WORDS: dict[str, tuple[_Price, _Price]] = {
    "blank": ((100, 10, 75), (100, 2, 14)),  # which is part of the word's first token
    "sign": ((137, 8, 27), (220, 8, 27)),  # which often is
    "bare": ((100, 4, 15), (100, 2, 10)),  # nothing that could be: a line end, several signs, the beginning
    "glued": ((123, 10, 30), (100, 2, 97)),  # a letter or digit: the word goes on in another case, as in camelCase
    "tangled": ((154, 8, 70), (100, 2, 69)),  # very many of them
}

# Scripts: their letters, the price of a run of them, and what it costs more without a blank in front.
_SCRIPTS: dict[str, tuple[str, _Price, int]] = {
    "greek": ("\u0370-\u03ff\u1f00-\u1fff", (100, 2, 28), 160),
    "cyrillic": ("\u0400-\u052f", (100, 2, 25), 85),
    "caucasian": ("\u0530-\u058f\u10a0-\u10ff", (100, 2, 31), 65),
    "semitic": ("\u0590-\u06ff\u0750-\u077f", (100, 2, 43), 0),
    "indic": ("\u0900-\u0dff", (100, 2, 34), 100),
    "thai": ("\u0e00-\u0eff", (100, 2, 25), 160),
    "burmese": ("\u1000-\u109f\u1780-\u17ff", (100, 1, 48), 120),
    "kana": ("\u3040-\u30ff", (100, 1, 50), 0),
    "han": ("\u3400-\u9fff", (100, 1, 69), 15),
    "hangul": ("\uac00-\ud7af", (100, 1, 50), 65),
}

_BLANK = "\t\x0b\x0c \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_SMALL = "a-z\u00c0-\u024f\u1e00-\u1eff"
_ALPHABET = "A-Z" + _SMALL + "".join(letters for letters, _, _ in _SCRIPTS.values())

# Signs of print that have tokens of their own, and emoji, which have one or two.
_PRINT = re.compile("[\x80-\xbf\u2000-\u206f\u2190-\u21ff\u2500-\u257f\u3000-\u303f\uff00-\uffef]")
_EMOJI = re.compile("[\U0001f000-\U0001faff]")

_PIECE = re.compile(
    rf"(?P<lead>[^\r\n0-9{_ALPHABET}])?(?:(?P<word>[A-Z]*[{_SMALL}]+|[A-Z]+)|"
    + "|".join(f"(?P<{name}>[{letters}]+)" for name, (letters, _, _) in _SCRIPTS.items())
    + rf")|(?P<digits>[0-9]{{1,3}})|\ ?(?P<signs>[^\r\n0-9{_BLANK}{_ALPHABET}]+)(?P<ends>[\r\n]*)"
    rf"|(?P<lines>[{_BLANK}\r\n]*[\r\n])|(?P<blanks>[{_BLANK}]+(?![^{_BLANK}\r\n])|[{_BLANK}])"
)

_RUN = re.compile(rf"[\r\n]+|[{_BLANK}]+")


def price(text: str) -> int:
    """Hundredths of a token that ``text`` is estimated to have; never below 100/128 a byte."""
    return sum(_prices(text))


def _prices(text: str) -> Iterator[int]:
    tangle = 0  # bytes of letters and digits that stand right before the piece
    for piece in _PIECE.finditer(text):
        lead, word, digits, signs = piece.group("lead", "word", "digits", "signs")
        before, tangle = tangle, 0
        if lead:
            yield _wide(lead) - UNIT
        if word:
            tangle = _size(word) + (0 if lead else before)
            yield _word(word, _leading(lead, before))
        elif digits:
            tangle = before + len(digits)
            yield UNIT
        elif signs:
            yield _signs(signs) + _REPEAT * len(piece["ends"])
        elif piece["lines"]:
            turns = len(_RUN.findall(piece["lines"])) - 1
            yield UNIT * (_parts(piece["lines"], _LINES) + max(0, turns - _MIXED))
        elif piece["blanks"]:
            yield UNIT * _parts(piece["blanks"], _BLANKS)
        else:
            yield _letters(piece, lead == " ")


def _leading(lead: str | None, before: int) -> str:
    if lead:
        return "blank" if lead == " " else "sign"
    return "tangled" if before >= _TANGLE else "glued" if before else "bare"


def _word(word: str, lead: str) -> int:
    if len(word) == 1 and word.isascii():
        return UNIT
    beside = sum(30 if letter >= "\u1e00" else 100 for letter in word if letter > "\x7f")
    return _of(_WORDS[lead][word[:2].isascii() and word[:2].isupper()], _size(word)) + beside


def _letters(piece: re.Match[str], blank: bool) -> int:
    for name, (_, run, bare) in _SCRIPTS.items():
        letters = piece[name]
        if letters:
            return _of(run, len(letters)) + (0 if blank or len(letters) == 1 else bare)
    raise AssertionError(piece)


def _signs(signs: str) -> int:
    total = different = 0
    last = ""
    for sign in signs:
        if sign > "\x7f":
            total += _WIDE_REPEAT if sign == last else _wide(sign)
        elif sign == last:
            total += _REPEAT
        else:
            total += (UNIT, 0, _ANOTHER)[min(different, 2)]
            different += 1
        last = sign
    return total


def _wide(sign: str) -> int:
    """The price of a sign: of one that is no ASCII, by the bytes, unless it is a common one."""
    if sign < "\x80" or _PRINT.match(sign) or sign == "\u1680":
        return UNIT
    return 200 if _EMOJI.match(sign) else 75 * _size(sign)


def _of(price: _Price, length: int) -> int:
    first, free, each = price
    return first + each * max(0, length - free)


def _parts(text: str, size: int) -> int:
    return -(-_size(text) // size)


def _size(text: str) -> int:
    return len(text.encode())
