"""Where conversations come from, and where results go."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import IO, BinaryIO, NoReturn, Self

from .conversation import Conversation, SingleError
from .errors import CommandError, hush, reason, say

__all__ = ["Output", "Source"]

_IN_MEMORY = 1 << 24
"""Output up to this many bytes is held in memory until it is complete, a longer one in an unnamed file."""

_MARK = b"\xef\xbb\xbf"

_JSON = (".json", ".jsonl", ".ndjson")
"""How the names of files end that hold conversations, whatever is in them."""


class Source:
    """An input: a file or standard input, and the conversations in it.

    Args:
        file: its name; standard input without one, or with ``-``.
        key: where the messages stand in a request body; where a provider has them if ``None``.
        log: whether messages, or entries of a log, that stand one a line are one conversation.

    Attributes:
        name: what it is called in messages.
        many: whether it is JSONL with more than one conversation; known from the first one on.
        size: its length in bytes, where that can be known.
        done: how many of them have been read.
        hint: what to say behind an error of an input that is no JSON.
    """

    def __init__(self, file: str | None, *, key: str | None = None, log: bool = False) -> None:
        self.name = "<stdin>" if file in (None, "-") else str(file)
        self._key = key
        self._log = log
        self.many = False
        self.size: int | None = None
        self.done = 0
        self.hint = ""

    @contextmanager
    def _open(self) -> Iterator[BinaryIO]:
        try:
            if self.name == "<stdin>":
                if sys.stdin is None:
                    raise CommandError("standard input is closed")
                if sys.stdin.isatty():
                    say("backcut: reading standard input")
                yield sys.stdin.buffer
            elif Path(self.name).is_dir():  # a word for it that is the same on every system
                raise CommandError(f"{self.name}: expected a file, found a folder")
            else:
                with Path(self.name).open("rb") as stream:
                    status = os.fstat(stream.fileno())
                    self.size = status.st_size if stat.S_ISREG(status.st_mode) else None
                    yield stream
        except OSError as error:
            raise CommandError(f"{self.name}: cannot be read: {reason(error)}") from error
        except ValueError as error:
            if "null" not in str(error):
                raise
            raise CommandError(f"{self.name!r}: cannot be read: {error}") from error

    def text(self) -> str:
        """All of it, as text."""
        with self._open() as stream:
            return self._decoded(stream.read(), 0)

    def __iter__(self) -> Iterator[Conversation]:
        """Reads one conversation after the other."""
        return self._conversations(self._chunks())

    def contents(self) -> Iterator[Conversation] | str:
        """The conversations; or all of it as text, where it neither is named nor begins as JSON.

        JSON are inputs whose name ends in ``.json``, ``.jsonl`` or ``.ndjson``, and those whose first sign, white space and a byte
        order mark aside, is ``[`` or ``{``. One that is blank is no text.
        """
        chunks = self._chunks()
        first = next(chunks, None)
        if first is None:
            return self._conversations(chunks)
        if Path(self.name).suffix.lower() in _JSON or first[0].lstrip()[:1] in ("[", "{"):
            return self._conversations(chain([first], chunks))
        return "".join([first[0], *(text for text, _ in chunks)])

    def _conversations(self, chunks: Iterator[tuple[str, int]]) -> Iterator[Conversation]:
        first = next(chunks, None)
        if first is None:
            raise CommandError(f"{self.name}: expected a conversation, found nothing")
        try:
            conversation = self._conversation(first)
        except json.JSONDecodeError as error:
            yield self._document(first, list(chunks), error)
            return
        except SingleError:
            if not self._log:
                raise
            yield self._entries(first, list(chunks))
            return
        following = next(chunks, None)
        self.many = following is not None
        yield conversation
        while following is not None:
            try:
                conversation = self._conversation(following)
            except json.JSONDecodeError as error:
                self._fail(error, following[1])
            yield conversation
            following = next(chunks, None)

    def _chunks(self) -> Iterator[tuple[str, int]]:
        """The lines, each with its number; blank ones are joined to what stands before."""
        held: list[bytes] = []
        filled = False
        line = start = 1
        with self._open() as stream:
            for raw in stream:
                blank = not raw.removeprefix(_MARK).strip()
                if filled and not blank:
                    yield self._decoded(b"".join(held), self.done), start
                    self.done += sum(map(len, held))
                    held, start = [], line
                held.append(raw)
                filled = filled or not blank
                line += 1
        text = self._decoded(b"".join(held), self.done)
        self.done += sum(map(len, held))
        if text.strip():
            yield text, start

    def _decoded(self, raw: bytes, offset: int) -> str:
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            wide = " (UTF-16?)" if offset == 0 and raw[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
            found = f"byte 0x{raw[error.start]:02x} at offset {offset + error.start}"
            raise CommandError(f"{self.name}: expected UTF-8, found {found}{wide}") from None
        return text.removeprefix("\ufeff") if offset == 0 else text

    def _conversation(self, chunk: tuple[str, int]) -> Conversation:
        return Conversation(chunk[0], self.name, chunk[1], key=self._key)

    def _document(self, first: tuple[str, int], rest: list[tuple[str, int]], error: json.JSONDecodeError) -> Conversation:
        """The one conversation of an input whose first line is none."""
        try:
            return self._conversation(_joined(first, rest))
        except json.JSONDecodeError as whole:
            # Where the second line is a conversation this is JSONL, and the first line is at fault.
            self._fail(error if rest and self._reads(rest[0]) else whole, first[1])

    def _entries(self, first: tuple[str, int], rest: list[tuple[str, int]]) -> Conversation:
        """The one conversation of an input whose lines are its messages."""
        try:
            return Conversation(_joined(first, rest)[0], self.name, first[1], entries=True)
        except json.JSONDecodeError as error:
            self._fail(error, first[1])

    def _reads(self, chunk: tuple[str, int]) -> bool:
        try:
            self._conversation(chunk)
        except (json.JSONDecodeError, CommandError):
            return False
        return True

    def _fail(self, error: json.JSONDecodeError, line: int) -> NoReturn:
        ends = " (the input ends too early)" if error.pos >= len(error.doc.rstrip()) else ""
        said = error.msg.removesuffix(" at")  # its place is said in front
        sentence = f"not JSON: {said[0].lower()}{said[1:]}{ends}"
        raise CommandError(f"{self.name}:{line + error.lineno - 1}:{error.colno}: {sentence}{self.hint}") from None


def _joined(first: tuple[str, int], rest: list[tuple[str, int]]) -> tuple[str, int]:
    return first[0] + "".join(text for text, _ in rest), first[1]


class Output:
    """What is to be written to a file or to standard output: all of it, or nothing."""

    def __init__(self, file: str | None) -> None:
        # A shell may have opened standard output as it likes, to add to a file for one: its other names mean the same stream.
        file = None if file in ("-", "/dev/stdout", "/dev/fd/1") else file
        self.name = "standard output" if file is None else str(file)
        self._target: Path | None = None
        self._ended = True
        self._held: IO[bytes]
        if file is not None:
            with self._blamed():
                self._target = self._find(Path(file))

    def _find(self, file: Path) -> Path:
        """What is written when ``file`` is asked for."""
        try:
            kind = file.stat().st_mode
        except FileNotFoundError:
            kind = stat.S_IFREG
        if stat.S_ISDIR(kind):
            raise CommandError(f"{self.name}: expected a file to write, found a folder")
        # A link stays a link: the file that it points to is replaced. Devices and pipes are written to by the name given.
        return Path(os.path.realpath(file)) if stat.S_ISREG(kind) else file

    def __enter__(self) -> Self:
        """Begins to collect."""
        import tempfile

        # On the same disk as the target, where there is room for it.
        target = self._target
        folder = None if target is None or (target.exists() and not target.is_file()) else str(target.parent)
        self._held = tempfile.SpooledTemporaryFile(_IN_MEMORY, dir=folder)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Forgets what was not delivered."""
        self._held.close()

    def write(self, text: str) -> None:
        """Adds ``text``."""
        with self._blamed():
            self._held.write(text.encode("utf-8", "backslashreplace"))
        self._ended = text.endswith("\n") if text else self._ended

    def deliver(self) -> None:
        """Hands over what was added."""
        with self._blamed():
            self._held.seek(0)
            if self._target is None:
                self._print()
            elif self._target.is_file() or not self._target.exists():
                self._replace(self._target)
            else:  # a device or a named pipe is written to, not put aside
                with self._target.open("wb") as stream:
                    self._copy(stream)

    @contextmanager
    def _blamed(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            hush()
            raise
        except OSError as error:
            if self.name == "standard output":
                hush()
            raise CommandError(f"{self.name}: cannot be written: {reason(error)}") from error
        except ValueError as error:  # a NUL in the name
            raise CommandError(f"{self.name!r}: cannot be written: {error}") from error

    def _copy(self, stream: IO[bytes]) -> None:
        import shutil

        shutil.copyfileobj(self._held, stream)

    def _print(self) -> None:
        if sys.stdout is None:
            raise CommandError("standard output is closed")
        sys.stdout.flush()
        self._copy(sys.stdout.buffer)
        if not self._ended and sys.stdout.isatty():
            sys.stdout.buffer.write(b"\n")
        sys.stdout.buffer.flush()

    def _replace(self, target: Path) -> None:
        """Writes beside the target, then puts the new file in its place: there is never half a file under its name."""
        import secrets

        mode: int | None = None
        with suppress(FileNotFoundError):
            mode = stat.S_IMODE(target.stat().st_mode)
        beside = target.with_name(f".{target.name[:60]}.{secrets.token_hex(4)}.tmp")
        # Never open to more people than the target, not even for a moment; a new file gets what the umask leaves.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        descriptor = os.open(beside, flags, 0o666 if mode is None else mode & 0o666)
        try:
            with open(descriptor, "wb") as stream:  # noqa: PTH123 - a descriptor has no Path
                self._copy(stream)
                stream.flush()
                os.fsync(stream.fileno())
            if mode is not None:
                beside.chmod(mode)
            beside.replace(target)
        except BaseException:
            with suppress(OSError):
                beside.unlink()
            raise
