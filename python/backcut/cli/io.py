"""Where conversations come from, and where results go."""

from __future__ import annotations

import errno
import io
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import IO, NoReturn, Self

from ..files import Replacement, Straight, is_replaceable, is_standard_output, open_source
from ..files import Source as Stored
from ..jsonl import MARK
from ..packing import packer
from ..pipeline import whole_lines
from .conversation import Conversation, SingleError, blamed
from .errors import CommandError, hush, reason, say

__all__ = ["Output", "Source"]

_IN_MEMORY = 1 << 24
"""Output up to this many bytes is held in memory until it is complete, a longer one in an unnamed file."""

_READABLE = 1 << 26
"""Bytes of a conversation that is read once more, into objects, to say what is wrong with it."""
_ENOUGH = 1 << 22
"""Signs of what may be one document that are read before it is looked at again."""
_BLOCK = 1 << 20
"""Bytes that are read at once."""

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
        done: how many of them have been read: packed ones, where it is packed.
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
    def opened(self) -> Iterator[Stored]:
        """Its bytes, unpacked if they are packed."""
        if "\0" in self.name:
            raise CommandError(f"{self.name!r}: cannot be read: embedded null byte")
        try:
            if self.name == "<stdin>" and sys.stdin is not None and sys.stdin.isatty():
                say("backcut: reading standard input")
            if self.name != "<stdin>" and Path(self.name).is_dir():  # a word for it that is the same on every system
                raise CommandError(f"{self.name}: expected a file, found a folder")
            with open_source("-" if self.name == "<stdin>" else self.name) as stream:
                self.size = stream.size
                yield stream
        except OSError as error:
            if self.name == "<stdin>" and sys.stdin is None:
                raise CommandError(str(error)) from error
            raise CommandError(f"{self.name}: cannot be read: {reason(error)}") from error

    def text(self) -> str:
        """All of it, as text."""
        with self.opened() as stream:
            return self._decoded(b"".join(whole_lines(stream.read, _BLOCK)), 0)

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
            yield self._document(first, chunks, error)
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
        offset = 0
        with self.opened() as stream:
            for raw in chain.from_iterable(map(_lines, whole_lines(stream.read, _BLOCK))):
                blank = not raw.removeprefix(MARK).strip()
                if filled and not blank:
                    yield self._decoded(b"".join(held), offset), start
                    offset += sum(map(len, held))
                    self.done = stream.done
                    held, start = [], line
                held.append(raw)
                filled = filled or not blank
                line += raw.count(b"\n")
            self.done = stream.done
        text = self._decoded(b"".join(held), offset)
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

    def explain(self, raw: bytes, line: int, offset: int, error: Exception) -> NoReturn:
        """Raises ``error`` with the place, and in the words, that every command has for it.

        Args:
            raw: the conversation at fault, or what should be one.
            line: its first line in the input.
            offset: its first byte in the input.
            error: what is wrong with it.
        """
        from ..errors import FormatError, JsonError

        conversation = None
        if len(raw) <= _READABLE:
            try:
                conversation = self._conversation((self._decoded(raw, offset), line))
            except json.JSONDecodeError as wrong:
                # An end that comes too early is none where fault was found before it, and no more was read.
                if not (isinstance(error, JsonError) and error.offset < len(raw) and _is_at_end(wrong)):
                    self._fail(wrong, line)
            except CommandError:
                if isinstance(error, FormatError) and error.index is None:
                    raise
        if isinstance(error, JsonError):
            before = raw[: error.offset]
            *above, last = before.split(b"\n")
            place = f"{self.name}:{line + len(above)}:{len(last.decode('utf-8', 'replace')) + 1}"
            raise CommandError(f"{place}: not JSON: expected {error.expected}, found {error.found}") from error
        with blamed(f"{self.name}:{line}") if conversation is None else conversation.blamed():
            raise error

    def is_entry(self, line: bytes) -> bool:
        """Whether a line is a message, or an entry of a log."""
        try:
            self._conversation((self._decoded(line, 0), 1))
        except SingleError:
            return True
        return False

    def entries(self, raw: bytes, line: int) -> Conversation:
        """The one conversation of a log whose lines are its messages.

        Args:
            raw: the log.
            line: its first line in the input.
        """
        return self._entries((self._decoded(raw, 0), line), [])

    def _conversation(self, chunk: tuple[str, int]) -> Conversation:
        return Conversation(chunk[0], self.name, chunk[1], key=self._key)

    def _document(self, first: tuple[str, int], chunks: Iterator[tuple[str, int]], error: json.JSONDecodeError) -> Conversation:
        """The one conversation of an input whose first line is none. Of what is no JSON not much more is read than it takes to tell."""
        rest: list[tuple[str, int]] = []
        size, enough = len(first[0]), _ENOUGH
        whole, ended = error, False
        conversation: Conversation | None = None
        while _is_at_end(whole) and not ended:
            for chunk in chunks:
                rest.append(chunk)
                size += len(chunk[0])
                if size > enough:
                    enough = 2 * size
                    break
            else:
                ended = True
            try:
                conversation = self._conversation(_joined(first, rest))
            except json.JSONDecodeError as wrong:
                whole, conversation = wrong, None
        if conversation is None:
            # Where the second line is a conversation this is JSONL, and the first line is at fault.
            self._fail(error if rest and self._reads(rest[0]) else whole, first[1])
        return conversation

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
        ends = " (the input ends too early)" if _is_at_end(error) else ""
        said = error.msg.removesuffix(" at")  # its place is said in front
        sentence = f"not JSON: {said[0].lower()}{said[1:]}{ends}"
        raise CommandError(f"{self.name}:{line + error.lineno - 1}:{error.colno}: {sentence}{self.hint}") from None


def _lines(chunk: bytes) -> Iterable[bytes]:
    """The lines of a chunk; all at once where they are blank."""
    return io.BytesIO(chunk) if chunk.strip() else (chunk,)


def _is_at_end(error: json.JSONDecodeError) -> bool:
    return error.pos >= len(error.doc.rstrip())


def _joined(first: tuple[str, int], rest: list[tuple[str, int]]) -> tuple[str, int]:
    return first[0] + "".join(text for text, _ in rest), first[1]


class Output:
    """What is to be written to a file or to standard output: all of it, or nothing. A file named ``.gz`` or ``.zst`` is packed.

    Attributes:
        name: what it is called in messages.
        pack: what packs it.
    """

    def __init__(self, file: str | None) -> None:
        file = None if file is None or is_standard_output(file) else str(file)
        self.name = "standard output" if file is None else file
        self.pack = packer(file or "")
        self._path = None if file is None else Path(file)
        self._ended = True
        self._held: IO[bytes] | None = None
        self._file: Replacement | None = None

    def __enter__(self) -> Self:
        """Begins to collect."""
        import tempfile

        with self._blamed():
            if self._path is not None and is_replaceable(self._path):
                self._file = Replacement(self._path).__enter__()
            else:  # a stream, a device, a named pipe: what is written to it cannot be taken back
                self._held = tempfile.SpooledTemporaryFile(_IN_MEMORY)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Forgets what was not delivered."""
        if self._file is not None:
            self._file.__exit__(kind, error, trace)
        if self._held is not None:
            self._held.close()

    def write(self, text: str) -> None:
        """Adds ``text``."""
        data = text.encode("utf-8", "backslashreplace")
        self.put(self.pack.add(data, self.pack.pack(data)))

    def put(self, data: bytes) -> None:
        """Adds bytes that are packed already."""
        into = self._held if self._file is None else self._file
        assert into is not None
        with self._blamed():
            into.write(data)
        self._ended = data.endswith(b"\n") if data else self._ended

    def deliver(self) -> None:
        """Hands over what was added."""
        self.put(self.pack.end())
        with self._blamed():
            if self._file is not None:
                self._file.commit()
            elif self._path is None:
                self._print()
            else:
                with self._path.open("wb") as stream:
                    self._copy(stream)

    @contextmanager
    def _blamed(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            hush()
            raise
        except OSError as error:
            if error.errno == errno.EISDIR:  # a word for it that is the same on every system
                raise CommandError(f"{self.name}: expected a file to write, found a folder") from error
            if self._path is None:
                hush()
            raise CommandError(f"{self.name}: cannot be written: {reason(error)}") from error
        except ValueError as error:  # a NUL in the name
            raise CommandError(f"{self.name!r}: cannot be written: {error}") from error

    def _copy(self, stream: IO[bytes]) -> None:
        import shutil

        assert self._held is not None
        self._held.seek(0)
        shutil.copyfileobj(self._held, Straight(stream))

    def _print(self) -> None:
        if sys.stdout is None:
            raise CommandError("standard output is closed")
        sys.stdout.flush()
        self._copy(sys.stdout.buffer)
        if not self._ended and sys.stdout.isatty():
            sys.stdout.buffer.write(b"\n")
        sys.stdout.buffer.flush()
