"""Counting with the ``tokenizer.json`` of an open model, by the library ``tokenizers`` (``pip install 'backcut[hf]'``)."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from importlib import import_module
from typing import Any

from .engine import Tokenizer
from .errors import OptionError

__all__ = ["from_file"]

# By the file's place: what it was when it was read, and its tokenizer. Reading one takes some tenths of a second.
_read: dict[str, tuple[tuple[int, int], Tokenizer]] = {}


def from_file(path: str | os.PathLike[str]) -> Tokenizer:
    """The tokenizer of a ``tokenizer.json``: the same one as long as the file does not change.

    Counts what ``tokenizers.Tokenizer.encode(text, add_special_tokens=False)`` gives: as servers of open models do, special
    tokens that are spelled in a text are read as such. A truncation or padding that the file asks for is left out, which would
    bend every count.

    Raises:
        OptionError: the library is not installed, or there is no such file, or it is none of these.
    """
    # Without pathlib, which is slow to import and used nowhere else here.
    place = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 - a path may be of bytes
    try:
        status = os.stat(place)  # noqa: PTH116
    except (OSError, ValueError) as error:
        raise OptionError("tokenizer", path, f"cannot be read: {_reason(error)}") from error
    if not stat.S_ISREG(status.st_mode):  # a device is without end, a pipe may never be written to
        raise OptionError("tokenizer", path, "is no tokenizer.json: a folder, a device or a pipe")
    stamp = (status.st_mtime_ns, status.st_size)
    known = _read.get(place)
    if known is None or known[0] != stamp:
        known = stamp, Tokenizer(os.path.basename(place), _File(place))  # noqa: PTH119
        _read[place] = known
    return known[1]


class _File:
    """A counter made of a file; pickles by its path."""

    __slots__ = ("_encode", "_path")

    def __init__(self, path: str) -> None:
        self._path = path
        self._encode = _encoder(path)

    def __call__(self, text: str) -> int:
        try:
            return len(self._encode(text, add_special_tokens=False))
        except TypeError:  # a lone surrogate, for which UTF-8 has no bytes: counted as the built-in encodings do
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            return len(self._encode(text, add_special_tokens=False))

    def __reduce__(self) -> tuple[type[_File], tuple[str]]:
        return _File, (self._path,)


def _encoder(path: str) -> Callable[..., Any]:
    try:
        tokenizers = import_module("tokenizers")
    except ImportError:
        raise OptionError("tokenizer", path, "needs the package tokenizers, which is not installed: pip install 'backcut[hf]'") from None
    try:
        library = tokenizers.Tokenizer.from_file(path)
    except Exception as error:  # it raises nothing more special
        raise OptionError("tokenizer", path, f"is no tokenizer.json that the package tokenizers can read: {_reason(error)}") from error
    library.no_truncation()
    library.no_padding()
    encode: Callable[..., Any] = library.encode
    return encode


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)
