"""What the tokenizers count: real text that a machine with Python has at hand, and inputs that are hard by their shape.

Nothing of it is in the repository. Where a machine lacks a source, something stands in, and what it was is told.
"""

from __future__ import annotations

import base64
import contextlib
import gettext
import importlib.metadata
import json
import os
import random
import re
import sys
import sysconfig
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
MESSAGE = 2_000
"""About so many characters a text: that of a long chat message or a tool's answer."""
MOST = 2_000_000
"""Characters of a kind at most."""


@dataclass(frozen=True)
class Kind:
    """Texts of one kind, no two alike, neighbours from one document where there are documents."""

    texts: list[str]
    source: str

    def parts(self, turn: int) -> tuple[list[str], list[str]]:
        """60 % to warm up with and the other 40 %, which share no document but at the seams; each turn cuts elsewhere."""
        start = turn * 37 % 100 * len(self.texts) // 100
        turned = self.texts[start:] + self.texts[:start]
        cut = len(turned) * 6 // 10
        return turned[:cut], turned[cut:]


def load() -> dict[str, Kind]:
    """Each kind of text, the same on each call."""
    return {"English": english(), "code": code(), "JSON": tool_json(), "CJK and emoji": cjk()}


def english() -> Kind:
    """Prose from what the language and the installed packages say of themselves."""
    texts = _texts(paragraph for document in _shuffled(_documents()) for paragraph in document.split("\n\n") if _is_prose(paragraph))
    return Kind(texts, "pydoc topics, docstrings of the standard library, descriptions of installed packages; paragraphs of prose only")


def code() -> Kind:
    """Whole modules."""
    return Kind(_texts(line for module in _shuffled(_modules()) for line in module.splitlines()), "the standard library of this Python")


def tool_json() -> Kind:
    """What tools were asked and what they answered, in JSON."""
    texts = _first(_distinct(_shuffled(_answers())), MOST)
    if texts:
        return Kind(texts, "tool calls and answers of the corpus")
    records = [json.dumps(record) for record in _records()]
    return Kind(_texts(_shuffled(records)), "made of what Python knows of characters and modules (no corpus here)")


def cjk() -> Kind:
    """Chinese, Japanese and Korean, an emoji now and then."""
    dice = random.Random(5)
    emoji = [sign for block in _EMOJI for sign in map(chr, block) if unicodedata.category(sign) == "So"]
    messages = [text for text in _distinct(_translations()) if sum(map(str.isascii, text)) * 2 < len(text)]
    source = "translated messages of the programs installed here (gettext)"
    if sum(map(len, messages)) < MOST // 10:
        messages, source = list(islice(_common_characters(dice), MOST // 50)), "common characters at random (no gettext catalogues here)"
    mixed = (f"{text} {dice.choice(emoji)}" if dice.random() < 0.2 else text for text in messages)
    return Kind(_texts(mixed), f"{source}, an emoji after each fifth")


# How texts are put together ---------------------------------------------------------------------------------------------


def _texts(pieces: Iterable[str]) -> list[str]:
    """Pieces that were not there before, joined to texts of about ``MESSAGE`` characters."""
    return _first(_joined(_distinct(pieces)), MOST)


def _joined(pieces: Iterable[str]) -> Iterator[str]:
    held: list[str] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece) + 1
        if size >= MESSAGE:
            yield "\n".join(held)
            held, size = [], 0


def _distinct(texts: Iterable[str]) -> Iterator[str]:
    """Without repetitions: a licence that each package brings along would be no unseen text. Short lines may recur, as they do."""
    seen: set[str] = set()
    for text in texts:
        if len(text) < 60 or text not in seen:
            seen.add(text)
            yield text


def _first(texts: Iterable[str], chars: int) -> list[str]:
    taken = []
    for text in texts:
        taken.append(text)
        chars -= len(text)
        if chars <= 0:
            break
    return taken


def _shuffled(documents: Iterable[str]) -> list[str]:
    listed = list(documents)
    random.Random(5).shuffle(listed)
    return listed


_EMOJI = (range(0x1F300, 0x1F650), range(0x1F680, 0x1F700), range(0x1F900, 0x1FA00))


# Sources ----------------------------------------------------------------------------------------------------------------


def _modules() -> Iterator[str]:
    library = Path(sysconfig.get_path("stdlib"))
    for path in sorted([*library.glob("*.py"), *library.glob("[a-z]*/*.py")]):
        if path.parent.name not in {"site-packages", "test", "pydoc_data"}:
            yield path.read_text(encoding="utf-8", errors="replace")


def _documents() -> Iterator[str]:
    from pydoc_data.topics import topics

    yield from topics.values()
    for module in _modules():
        yield "\n\n".join(re.findall(r'"""(.*?)"""', module, re.DOTALL))
    for package in importlib.metadata.distributions():
        _, _, description = (package.read_text("METADATA") or "").partition("\n\n")
        yield description


def _is_prose(paragraph: str) -> bool:
    plain = sum(sign.isalpha() or sign in " ,.\n" for sign in paragraph)
    # What spells a special token is a matter of its own: not all libraries can count it as text.
    return len(paragraph) >= 60 and plain >= 0.93 * len(paragraph) and "<|" not in paragraph


def _answers() -> Iterator[str]:
    named = os.environ.get("BACKCUT_CORPUS")
    folder = Path(named) if named else ROOT.parent / "shared" / "corpus"
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            for text in _strings(json.loads(line)):
                if len(text) >= 80 and text.lstrip()[:1] in tuple("{["):
                    with contextlib.suppress(ValueError):
                        json.loads(text)
                        yield text


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


def _records() -> Iterator[dict[str, Any]]:
    for point in range(0x80, 0x3000):
        sign = chr(point)
        if name := unicodedata.name(sign, ""):
            yield {
                "id": f"U+{point:04X}",
                "name": name,
                "category": unicodedata.category(sign),
                "width": unicodedata.east_asian_width(sign),
            }
    for name, module in sorted(sys.modules.items()):
        yield {"module": name, "file": bool(getattr(module, "__file__", None)), "names": dir(module)[:40]}


def _translations() -> Iterator[str]:
    for folder in (Path(sys.base_prefix, "share", "locale"), Path("/usr/share/locale")):
        for path in sorted(folder.glob("*/LC_MESSAGES/*.mo"), key=lambda path: (path.name, path.parts)):
            if path.parts[-3] in {"ja", "ko", "zh_CN", "zh_TW"}:
                with contextlib.suppress(OSError, ValueError), path.open("rb") as file:
                    catalogue = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
                    yield from (text for key, text in catalogue.items() if key and isinstance(text, str))


def _common_characters(dice: random.Random) -> Iterator[str]:
    """Lines of the characters that the national standards hold to be common, the first of them the most often."""
    rows = {"gb2312": range(0xB0, 0xD8), "shift_jis": range(0x88, 0x98), "euc_kr": range(0xB0, 0xC9)}
    kana = [chr(point) for point in range(0x3041, 0x3094)]
    for encoding in cycle(rows):
        signs = [
            sign
            for high in rows[encoding]
            for sign in bytes(b for low in range(0xA1, 0xFD) for b in (high, low)).decode(encoding, "ignore")
        ]
        dice.shuffle(signs)
        for _ in range(100):
            line = "".join(signs[min(int(dice.expovariate(1 / 200)), len(signs) - 1)] for _ in range(50))
            yield "".join(dice.choice(kana) if encoding == "shift_jis" and dice.random() < 0.6 else sign for sign in line) + "。"


# Hard inputs ------------------------------------------------------------------------------------------------------------

_LETTERS = "abcdefghijklmnopqrstuvwxyz"

_HARD: dict[str, Callable[[random.Random, int], str]] = {
    "'a' × 100,000": lambda _, n: "a" * n,
    "blanks × 100,000": lambda _, n: " " * n,
    "'=-' × 50,000": lambda _, n: "=-" * (n // 2),
    "one CJK character × 33,000": lambda _, n: "語" * (n // 3),
    "base64 of 150 KB": lambda dice, n: base64.b64encode(dice.randbytes(n * 3 // 2)).decode(),
    "digits × 100,000": lambda dice, n: "".join(dice.choices("0123456789", k=n)),
    "hex of 50 KB": lambda dice, n: dice.randbytes(n // 2).hex(),
    "letters at random × 100,000": lambda dice, n: "".join(dice.choices(_LETTERS, k=n)),
}


def hard(turn: int) -> dict[str, str]:
    """Giant pieces and text without words; each turn has strings, lengths and random signs of its own."""
    return {name: make(random.Random(turn), 100_000 + 6 * turn) for name, make in _HARD.items()}


def words(texts: Sequence[str], count: int) -> list[str]:
    """Words of prose as they follow each other, for short messages."""
    return list(islice((word for text in texts if text.isascii() for word in text.split()), count))
