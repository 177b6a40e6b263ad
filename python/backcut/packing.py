"""gzip and zstd: told by the first bytes when reading, by the name when writing."""

from __future__ import annotations

import io
import zlib
from importlib import import_module
from typing import Any, Protocol

__all__ = ["Packer", "Reader", "packer", "unpacked"]

_ENDS = {".gz": "gzip", ".zst": "zstd"}
_BEGINS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_BEGINS |= {bytes([low]) + b"\x2a\x4d\x18": "zstd" for low in range(0x50, 0x60)}  # a frame to skip, in front of the others
LOOK = 4
"""How many first bytes tell what is packed."""

_BLOCK = 1 << 9
"""Packed bytes that the package zstandard unpacks at once: four may become 128 KiB, and it knows no other bound."""


class Reader(Protocol):
    """What bytes are read from."""

    def read(self, size: int, /) -> bytes:
        """Up to ``size`` bytes, none at the end."""


class Packer:
    """Leaves everything as it is; the kinds below pack it."""

    def pack(self, data: bytes) -> bytes:
        """The part of the work that any thread may do, in any order."""
        return data

    def add(self, data: bytes, packed: bytes) -> bytes:
        """What is to be written next for ``data``, of which :meth:`pack` made ``packed``."""
        return packed

    def end(self) -> bytes:
        """What is to be written last."""
        return b""


class _Gzip(Packer):
    """One gzip member whose pieces are deflated by themselves and end at a whole byte, so that every thread can make some."""

    def __init__(self) -> None:
        # Deflate, no name, no time (the same input gives the same bytes), an unknown system.
        self._begin = b"\x1f\x8b\x08" + bytes(6) + b"\xff"
        self._check = self._size = 0

    def pack(self, data: bytes) -> bytes:
        deflate = zlib.compressobj(wbits=-zlib.MAX_WBITS)
        return deflate.compress(data) + deflate.flush(zlib.Z_SYNC_FLUSH)

    def add(self, data: bytes, packed: bytes) -> bytes:
        self._check = zlib.crc32(data, self._check)
        self._size += len(data)
        begin, self._begin = self._begin, b""
        return begin + packed

    def end(self) -> bytes:
        last = zlib.compressobj(wbits=-zlib.MAX_WBITS).flush()
        return self._begin + last + self._check.to_bytes(4, "little") + (self._size & 0xFFFFFFFF).to_bytes(4, "little")


class _Zstd(Packer):
    """One frame, made by one thread: fast enough beside the others."""

    def __init__(self) -> None:
        module = _zstd()
        compressor = module.ZstdCompressor()
        self._frame: Any = compressor.compressobj() if hasattr(compressor, "compressobj") else compressor

    def add(self, data: bytes, packed: bytes) -> bytes:
        return bytes(self._frame.compress(packed))

    def end(self) -> bytes:
        return bytes(self._frame.flush())


def packer(name: str) -> Packer:
    """What packs a file of this name.

    Raises:
        ImportError: nothing is there that can write zstd.
    """
    kind = next((kind for end, kind in _ENDS.items() if name.lower().endswith(end)), "")
    return {"gzip": _Gzip, "zstd": _Zstd, "": Packer}[kind]()


def unpacked(stream: Reader, head: bytes) -> Reader:
    """``stream`` unpacked, if it is packed; any number of members or frames.

    Args:
        stream: the packed bytes, from the first on.
        head: its first :data:`LOOK` bytes.

    Raises:
        ImportError: nothing is there that can read zstd.
        OSError: from ``read``: the bytes are damaged, or end too early.
    """
    kind = next((kind for begin, kind in _BEGINS.items() if head.startswith(begin)), "")
    if kind == "gzip":
        import gzip

        return _Unpacked(kind, gzip.GzipFile(fileobj=stream), (EOFError, zlib.error, gzip.BadGzipFile))  # type: ignore[call-overload]
    if kind == "zstd":
        module = _zstd()
        file = module.ZstdFile(stream) if hasattr(module, "ZstdFile") else _Frames(stream, module)
        return _Unpacked(kind, file, (EOFError, module.ZstdError))
    return stream


class _Unpacked:
    """Says in one way what is wrong with packed bytes."""

    def __init__(self, kind: str, stream: Reader, errors: tuple[type[Exception], ...]) -> None:
        self._kind = kind
        self._stream = stream
        self._errors = errors

    def read(self, size: int) -> bytes:
        try:
            return self._stream.read(size)
        except self._errors as error:
            raise OSError(f"damaged {self._kind} data: {error}") from error


class _Frames:
    """Reads zstd by the package zstandard, whose own reader takes a file that was cut off for a whole one."""

    def __init__(self, stream: Reader, module: Any) -> None:
        self._stream = stream
        self._make = module.ZstdDecompressor().decompressobj
        self._frame: Any = None
        self._rest = b""
        self._ready = io.BytesIO()

    def read(self, size: int) -> bytes:
        while not (given := self._ready.read(size)):
            block = self._rest or self._stream.read(_BLOCK)
            if not block:
                if self._frame is not None:
                    raise EOFError("the file ended within a frame")
                return b""
            frame = self._frame or self._make()
            self._ready = io.BytesIO(frame.decompress(block))
            self._rest = frame.unused_data
            self._frame = None if frame.eof else frame
        return given


def _zstd() -> Any:
    """The module that knows zstd: Python's own, or a package of those that do."""
    for name in ("compression.zstd", "backports.zstd", "zstandard"):
        try:
            return import_module(name)
        except ImportError:
            continue
    raise ImportError("zstd needs Python 3.14 or a package that knows it: pip install 'backcut[zstd]'")
