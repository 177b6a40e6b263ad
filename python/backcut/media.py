"""What the reference twin knows of pictures, sounds and files: their size or length where their header says it, and their cost.

Sections 1 and 2 of ``docs/rules.md``. The formats' sources are named in ``src/media``.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from math import isqrt
from typing import TypeAlias

from .figures import MOST, Figures

__all__ = ["Audio", "File", "Image", "Media", "cost", "data_of", "decoded", "duration", "image_size"]

_LONGEST = 1 << 20
"""So many characters of base64 are looked at."""

_SIDE = (1 << 16) - 1
"""The most pixels of a side; more are nobody's photograph."""


@dataclass(frozen=True, slots=True)
class Image:
    """A picture."""

    low: bool
    """Whether it is sent at low detail."""
    size: tuple[int, int] | None = None
    """Width and height in pixels, if they can be read."""


@dataclass(frozen=True, slots=True)
class Audio:
    """A sound."""

    length: tuple[int, int] | None = None
    """Its bytes, and its bytes a second, if they can be read."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of any kind, videos included."""


Media: TypeAlias = Image | Audio | File


# Cost


def cost(media: Media, figures: Figures) -> int:
    """Tokens of a picture, a sound or a file."""
    if isinstance(media, File):
        return figures.file
    if isinstance(media, Audio):
        if media.length is None or figures.audio_second == 0:
            return figures.audio
        size, each = media.length
        return min(_ceil(size * figures.audio_second, each), MOST)
    tokens = figures.image
    if media.size is not None and figures.image_cell > 0:
        cells = _cells(*media.size, figures)
        tokens = min(_ceil((figures.image_base + figures.image_tile * cells) * figures.image_percent, 100), MOST)
    return min(tokens, figures.image_low) if media.low else tokens


def _ceil(number: int, by: int) -> int:
    return -(-number // by)


def _cells(width: int, height: int, figures: Figures) -> int:
    """Cells that cover an image once it is shrunk."""
    scale, of = 1, 1  # a fraction: the smallest that one of the sides asks for
    for most, side in ((figures.image_long, max(width, height)), (figures.image_short, min(width, height))):
        if most > 0 and most * of < scale * side:
            scale, of = most, side
    across, down = (_ceil(side * scale, of * figures.image_cell) for side in (width, height))
    most = figures.image_cells
    if most == 0 or across * down <= most:
        return across * down
    if figures.image_whole == 0:
        return most
    across, down = isqrt(most * width // height), isqrt(most * height // width)
    if across == 0 or down == 0:
        return most
    if across * height <= down * width:
        return across * _ceil(across * height, width)
    return down * _ceil(down * width, height)


# Base64


def data_of(url: str) -> str | None:
    """The base64 of a ``data:`` URL; ``None`` of any other."""
    head, comma, _ = url[:256].partition(",")
    if not comma or not head.isascii() or head[:5].lower() != "data:" or not head[5:].lower().endswith(";base64"):
        return None
    return url[len(head) + 1 :]


def decoded(text: str) -> bytes:
    """The bytes of a text in base64: without white space, in either alphabet, up to padding or whatever else is no digit."""
    digits = re.sub("[\t-\r ]+", "", text[:_LONGEST]).replace("+", "-").replace("/", "_")
    digits = re.sub("[^A-Za-z0-9_-].*", "", digits, flags=re.DOTALL)
    # One digit alone is less than a byte.
    whole = digits[:-1] if len(digits) % 4 == 1 else digits
    return base64.urlsafe_b64decode(whole + "=" * (-len(whole) % 4))


# Headers


def image_size(text: str) -> tuple[int, int] | None:
    """Width and height of the image that a text holds in base64: PNG, JPEG, GIF or WebP, known by its own first bytes."""
    data = decoded(text)
    size = None
    if data.startswith(b"\xff\xd8"):
        size = _jpeg(data)
    elif data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR" and len(data) >= 24:
        size = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    elif data.startswith((b"GIF87a", b"GIF89a")) and len(data) >= 10:
        size = int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
    elif data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        size = _webp(data)
    return size if size is not None and all(0 < side <= _SIDE for side in size) else None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    """Walks the segments to the frame header."""
    at = 2
    while data[at : at + 1] == b"\xff":
        while data[at : at + 1] == b"\xff":
            at += 1
        marker = data[at] if at < len(data) else 0
        at += 1
        if marker == 0x01 or 0xD0 <= marker <= 0xD8:
            continue  # no length
        if marker in (0x00, 0xD9, 0xDA):
            return None  # the scan or the end, and no frame header before it
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = data[at + 3 : at + 5], data[at + 5 : at + 7]
            return (int.from_bytes(width, "big"), int.from_bytes(height, "big")) if len(width) == 2 else None
        length = int.from_bytes(data[at : at + 2], "big")
        if length < 2:
            return None
        at += length
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    kind, head = data[12:16], data[20:30]
    if kind == b"VP8 " and head[3:6] == b"\x9d\x01\x2a" and len(head) == 10:
        return int.from_bytes(head[6:8], "little") & 0x3FFF, int.from_bytes(head[8:10], "little") & 0x3FFF
    if kind == b"VP8L" and head[:1] == b"\x2f" and len(head) >= 5:
        bits = int.from_bytes(head[1:5], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X" and len(head) == 10:
        return int.from_bytes(head[4:7], "little") + 1, int.from_bytes(head[7:10], "little") + 1
    return None


def duration(text: str) -> tuple[int, int] | None:
    """Bytes of the WAV that a text holds in base64, and its bytes a second."""
    data = decoded(text)
    if not data.startswith(b"RIFF") or data[8:12] != b"WAVE":
        return None
    at, rate = 12, 0
    while len(data) >= at + 8:
        name, length = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        if name == b"data":
            # One whose length was not known when it was begun claims to be longer than the text can hold.
            return (length, rate) if rate > 0 and 0 < length <= len(text) // 4 * 3 + 2 else None
        if name == b"fmt ":
            if length < 12 or len(data) < at + 20:
                return None
            rate = int.from_bytes(data[at + 16 : at + 20], "little")
        at += 8 + length + length % 2
    return None
