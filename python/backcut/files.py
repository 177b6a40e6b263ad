"""Where bytes come from and where they go: paths, binary file objects, the standard streams."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol, Self, TypeAlias

from .errors import OptionError
from .packing import LOOK, unpacked

__all__ = [
    "From",
    "Into",
    "Replacement",
    "Source",
    "Straight",
    "Target",
    "is_replaceable",
    "is_standard_output",
    "name_of",
    "open_source",
    "open_target",
]


class Readable(Protocol):
    """A binary file object to read."""

    def read(self, size: int, /) -> bytes | None:
        """Up to ``size`` bytes, none at the end."""


class Writable(Protocol):
    """A binary file object to write."""

    def write(self, data: bytes, /) -> object:
        """Takes ``data``, or says how many bytes of it."""


From: TypeAlias = str | os.PathLike[str] | Readable
"""A path, a binary file object, or ``-`` for standard input."""
Into: TypeAlias = str | os.PathLike[str] | Writable
"""A path, a binary file object, or ``-`` for standard output."""


def name_of(file: From | Into) -> str:
    """What a file is called in a sentence."""
    name = getattr(file, "name", type(file).__name__) if hasattr(file, "read") or hasattr(file, "write") else file
    return str(name)


def is_standard_output(file: object) -> bool:
    """Whether this is one of the names of standard output: a shell may have opened it as it likes, to add to a file for one."""
    return isinstance(file, (str, os.PathLike)) and os.fspath(file) in ("-", "/dev/stdout", "/dev/fd/1")


# --- reading ------------------------------------------------------------------------------------------------------------------------


class Source:
    """Bytes to read, unpacked where they are packed.

    Args:
        stream: a binary file object.

    Attributes:
        size: bytes from here to the end, as they are stored; ``None`` where that cannot be known.
    """

    def __init__(self, stream: Any) -> None:
        self.size = _size(stream)
        self._stored = _Stored(stream)
        self._reader = unpacked(self._stored, self._stored.head(LOOK))

    @property
    def done(self) -> int:
        """How many bytes have been read, as they are stored."""
        return self._stored.done

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes, none at the end."""
        return self._reader.read(size)


class _Stored:
    """Bytes as they are stored, counted, of which the first can be looked at before they are read."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._head = b""
        self.done = 0

    def head(self, size: int) -> bytes:
        while len(self._head) < size and (block := self._block(size - len(self._head))):
            self._head += block
        return self._head

    def read(self, size: int) -> bytes:
        head, self._head = self._head[:size], self._head[size:]
        block = head or self._block(size)
        self.done += len(block)
        return block

    def _block(self, size: int) -> bytes:
        block = self._stream.read(size)
        if block is None:
            raise BlockingIOError("the source does not wait for bytes, and has none yet")
        return bytes(block)


def _size(stream: Any) -> int | None:
    """What a stream still has: a file, or bytes in memory. Others may unpack, and would tell another size than they give."""
    if not isinstance(getattr(stream, "raw", stream), (io.FileIO, io.BytesIO)):
        return None
    with suppress(OSError, ValueError):
        here: int = stream.tell()
        if isinstance(stream, io.BytesIO):
            return max(len(stream.getbuffer()) - here, 0)
        status = os.fstat(stream.fileno())
        if stat.S_ISREG(status.st_mode):
            return max(status.st_size - here, 0)
    return None


@contextmanager
def open_source(file: From) -> Iterator[Source]:
    """The bytes of a file; what was opened here is closed again.

    Raises:
        OptionError: it is none, or one of text.
        OSError: it cannot be read, or is damaged.
    """
    if not isinstance(file, (str, os.PathLike)) and hasattr(file, "read"):
        if isinstance(file.read(0), str):
            raise OptionError("source", file, 'must give bytes: open it with "rb"')
        yield Source(file)
    elif (path := _path("source", file)) == "-":
        if sys.stdin is None:
            raise OSError("standard input is closed")
        yield Source(sys.stdin.buffer)
    else:
        with Path(path).open("rb") as stream:
            yield Source(stream)


def _path(option: str, file: Any) -> str:
    path = os.fspath(file) if isinstance(file, (str, os.PathLike)) else None
    if not isinstance(path, str):
        raise OptionError(option, file, 'must be a path, a binary file object, or "-"')
    return path


# --- writing ------------------------------------------------------------------------------------------------------------------------


class Target(Protocol):
    """What takes bytes. Leaving it without :meth:`commit` leaves as little as can be: nothing under the name of a file."""

    def __enter__(self) -> Self:
        """Opens it."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Forgets what was not committed."""

    def write(self, data: bytes, /) -> None:
        """Adds ``data``."""

    def commit(self) -> None:
        """Says that all has been written."""


class Replacement:
    """A file that appears whole or not at all: it is written beside its place, then put there.

    Args:
        path: its place. A link stays a link: the file that it points to is replaced. What is there keeps its permission bits, and its
            owner and group where that is allowed. Other names of the same file (hard links) keep what was there.
    """

    def __init__(self, path: Path) -> None:
        import secrets

        self.path = Path(os.path.realpath(path))
        self._beside = self.path.with_name(f".{self.path.name[:60]}.{secrets.token_hex(4)}.tmp")
        self._old: os.stat_result | None = None
        self._stream: IO[bytes] | None = None

    def __enter__(self) -> Self:
        """Opens the file beside the place."""
        with suppress(FileNotFoundError):
            self._old = self.path.stat()
        # Never open to more people than the target, not even for a moment; a new file gets what the umask leaves.
        mode = 0o666 if self._old is None else self._old.st_mode & 0o600
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        try:
            self._stream = open(os.open(self._beside, flags, mode), "wb")  # noqa: PTH123
        except BaseException:
            self._forget()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Forgets what was not committed."""
        if self._stream is not None:
            self._forget()

    def _forget(self) -> None:
        with suppress(OSError):
            if self._stream is not None:
                self._stream.close()
        with suppress(OSError):
            self._beside.unlink()

    def write(self, data: bytes, /) -> None:
        """Adds ``data``."""
        assert self._stream is not None
        self._stream.write(data)

    def commit(self) -> None:
        """Puts the file in its place, once its bytes are on the disk."""
        assert self._stream is not None
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()
        if self._old is not None:
            self._beside.chmod(self._owned(self._old))
        self._beside.replace(self.path)
        self._stream = None

    def _owned(self, old: os.stat_result) -> int:
        """Gives the file to the owner and the group of the old one, as far as that is allowed, and says which mode it may have then."""
        if hasattr(os, "chown"):
            for owner, group in ((-1, old.st_gid), (old.st_uid, -1)):
                with suppress(OSError):
                    os.chown(self._beside, owner, group)
        new = self._beside.stat()
        same = (new.st_uid, new.st_gid) == (old.st_uid, old.st_gid)
        # What runs with the rights of its owner must not come to run with those of another.
        return stat.S_IMODE(old.st_mode) & (0o7777 if same else 0o1777)


class Straight:
    """A stream that is written to as it goes: a file object of the caller's, standard output, a device, a named pipe.

    Args:
        stream: what has ``write``.
        close: whether to close it at the end.
    """

    def __init__(self, stream: Any, *, close: bool = False) -> None:
        self._stream = stream
        self._close = close

    def __enter__(self) -> Self:
        """Nothing has to be prepared."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Closes the stream if it is nobody else's."""
        if self._close:
            self._stream.close()

    def write(self, data: bytes, /) -> None:
        """Writes all of it, in as many pieces as the stream takes.

        Raises:
            BlockingIOError: the stream does not wait, and took no more.
        """
        rest = memoryview(data)
        while rest:
            taken = self._stream.write(rest)
            if taken is None and not isinstance(self._stream, io.RawIOBase):  # some file objects do not say
                return
            if not taken or taken < 0:
                raise BlockingIOError("the target does not wait, and takes no bytes now")
            rest = rest[taken:]

    def commit(self) -> None:
        """Hands over what the stream may hold back."""
        if hasattr(self._stream, "flush"):
            self._stream.flush()


def open_target(file: Into) -> Target:
    """Where bytes go.

    Raises:
        OptionError: it is no file, or one of text.
        OSError: it cannot be written.
    """
    if not isinstance(file, (str, os.PathLike)) and hasattr(file, "write"):
        try:
            file.write(b"")
        except TypeError:
            raise OptionError("target", file, 'must take bytes: open it with "wb"') from None
        return Straight(file)
    path = Path(_path("target", file))
    if is_standard_output(file):
        if sys.stdout is None:
            raise OSError("standard output is closed")
        sys.stdout.flush()
        return Straight(sys.stdout.buffer)
    return Replacement(path) if is_replaceable(path) else Straight(path.open("wb"), close=True)


def is_replaceable(path: Path) -> bool:
    """Whether a file is put in the place of ``path``; what is a device or a pipe is written to.

    Raises:
        OSError: a folder is there, or it cannot be known.
    """
    import errno

    try:
        kind = path.stat().st_mode
    except FileNotFoundError:
        return True
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    return stat.S_ISREG(kind)
