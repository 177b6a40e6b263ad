"""JSONL: a request, or a history, on every line. Read, trimmed by all cores, and written in order, in bounded memory."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import chain
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, Protocol, SupportsIndex

from .errors import BackcutError, OptionError
from .files import From, Into, Source, name_of, open_source, open_target
from .packing import Packer, packer
from .pipeline import cores, in_order, whole_lines

if TYPE_CHECKING:
    from .report import Lines, TrimReport
    from .window import ContextWindow

__all__ = ["Chunk", "JsonlProgress", "JsonlSummary", "Run", "Watch", "read_chunks", "threads", "trim_jsonl"]

CHUNK = 1 << 20
"""Bytes of whole lines that a thread gets at once."""
MARK = b"\xef\xbb\xbf"
"""A byte order mark."""
ON_ERROR = ("raise", "skip", "keep")
_KEPT = 100
"""So many errors are kept; all are counted."""
_PERIOD = 0.1
"""Seconds between two calls of ``progress``."""


class JsonlProgress(NamedTuple):
    """How far :func:`trim_jsonl` has come.

    Attributes:
        done: bytes of the source that have been read, as they are stored.
        total: bytes of the source in all; ``None`` where that cannot be known, as of a pipe.
        conversations: lines that have been trimmed, changed or not.
        errors: lines that could not be.
        seconds: since the call.
    """

    done: int
    """Bytes of the source that have been read, as they are stored: packed ones where it is packed."""
    total: int | None
    """Bytes of the source in all; ``None`` where that cannot be known."""
    conversations: int
    """Lines that have been trimmed, changed or not."""
    errors: int
    """Lines that could not be."""
    seconds: float
    """Since the call."""


class JsonlSummary(NamedTuple):
    """What :func:`trim_jsonl` did, added up. Read the fields by name: later versions may add some.

    Attributes:
        lines: lines of the source, blank ones included.
        conversations: lines that were trimmed, changed or not.
        changed: those of them that came out changed.
        trimmed: those from which a ceiling removed a message.
        over_budget: those that were sent though they do not fit (``on_overflow="keep"``).
        messages_before: messages of all conversations as they came.
        messages_after: messages as they were written.
        tools_truncated: tool results among them that were cut to ``max_chars_per_tool``.
        chars_capped: characters that went from those.
        tokens_before: tokens of all requests as they came; ``None`` where nobody asked for tokens.
        tokens_after: tokens of the requests as they were written; ``None`` where nobody asked for tokens.
        errors: lines that could not be trimmed.
        skipped: those of them that were left out (``on_error="skip"``).
        first_errors: the first 100 of them: the number of the line, from 1, and the error.
        seconds: how long it took.
    """

    lines: int
    """Lines of the source, blank ones included."""
    conversations: int
    """Lines that were trimmed, changed or not."""
    changed: int
    """Conversations that came out changed."""
    trimmed: int
    """Conversations from which a ceiling removed a message."""
    over_budget: int
    """Conversations that were sent though they do not fit."""
    messages_before: int
    """Messages of all conversations as they came."""
    messages_after: int
    """Messages as they were written."""
    tools_truncated: int
    """Tool results that were cut to ``max_chars_per_tool``."""
    chars_capped: int
    """Characters that went from those."""
    tokens_before: int | None
    """Tokens of all requests as they came; ``None`` unless ``max_tokens``, ``model`` or ``tokenizer`` was given."""
    tokens_after: int | None
    """Tokens of the requests as they were written; ``None`` as above."""
    errors: int
    """Lines that could not be trimmed."""
    skipped: int
    """Lines that were left out for that."""
    first_errors: tuple[tuple[int, Exception], ...]
    """The first 100 of these lines: number, from 1, and error."""
    seconds: float
    """How long it took."""

    def as_dict(self) -> dict[str, Any]:
        """The fields as a new plain ``dict``, ready for ``json.dumps``; errors as their sentences."""
        return {**self._asdict(), "first_errors": [{"line": line, "error": str(error)} for line, error in self.first_errors]}


def trim_jsonl(
    source: From,
    target: Into,
    window: ContextWindow,
    *,
    key: str | None = None,
    workers: SupportsIndex | None = None,
    on_error: Literal["raise", "skip", "keep"] = "raise",
    progress: Callable[[JsonlProgress], object] | bool | None = None,
) -> JsonlSummary:
    """Trims every line of a JSONL file: request bodies and bare arrays of messages, as :func:`backcut.trim_json` takes them.

    What is kept of a line is kept byte for byte, and a line that fits is copied. Blank lines, line ends and a byte order mark at the
    very beginning are copied too.

    Args:
        source: a path, a binary file object, or ``"-"`` for standard input. What is packed with gzip or zstd is unpacked,
            whatever it is called.
        target: a path, a binary file object, or ``"-"`` for standard output. A path that ends in ``.gz`` or ``.zst`` is packed. A
            file appears whole or not at all, and may be the source itself; what is there keeps its permissions, and its owner where
            that is allowed, a symbolic link stays a link, hard links keep the old content. File objects, standard output, devices
            and named pipes are written to as it goes, and not closed if given open.
        window: what trims. Its ``on_report`` is called for each conversation, in order, in the caller's thread.
        key: name of the field that holds the messages; where providers have them if ``None``.
        workers: threads that trim; as many as the process may use cores if ``None``. With 1 all is done in the caller's own.
        on_error: what becomes of a line that cannot be trimmed, no JSON for one: ``raise`` ends the call, ``skip`` leaves the
            line out, ``keep`` copies it as it is.
        progress: called with a :class:`JsonlProgress` at most ten times a second and once at the end, in the caller's thread;
            ``True`` draws a bar on standard error, where that is a terminal.

    Returns:
        The :class:`JsonlSummary`.

    Raises:
        FormatError: with ``on_error="raise"``, the first line that is no conversation; a ``JsonError`` if it is no JSON. Its
            ``line`` is the number of the line, from 1.
        BudgetError: likewise, the first that cannot be made to fit.
        OptionError: an argument is not allowed.
        OSError: the source cannot be read, or is damaged; the target cannot be written.
        ImportError: there is nothing that knows zstd.

    Whatever is raised, ``KeyboardInterrupt`` and what ``on_report`` or ``progress`` raise included, leaves nothing behind under the
    name of a target that is a file. Memory: ``workers + 2`` chunks of about 1 MiB each, what is made of them, and a longer line
    where there is one.
    """
    begun = monotonic()
    many = threads(workers)
    if on_error not in ON_ERROR:
        raise OptionError("on_error", on_error, "must be 'raise', 'skip' or 'keep'")
    if key is not None and not isinstance(key, str):
        raise OptionError("key", key, "must be the name of a field, or None")

    def fail(line: int, error: Exception, raw: bytes, offset: int) -> NoReturn:
        if isinstance(error, BackcutError):
            error.line = line
        error.add_note(f"line {line} of {name_of(source)}")
        raise error

    report = window.on_report
    each = None if report is None else (lambda _, told: report(told))
    with open_target(target) as out:
        pack = packer(_path_of(target))
        run = Run(window, key, on_error, out.write, pack, fail, each)
        with open_source(source) as stream, _watching(progress) as tell:
            watch = tell and Watch(tell, stream.size, begun)
            mark, chunks = read_chunks(stream)
            if mark:
                out.write(pack.add(mark, pack.pack(mark)))
            run.through(chunks, many, watch)
            if watch:
                watch(run, last=True)
        out.write(pack.end())
        out.commit()
    return run.summary(monotonic() - begun)


def threads(workers: SupportsIndex | None) -> int:
    """How many threads are asked for.

    Raises:
        OptionError: none, or no number.
    """
    if workers is None:
        return cores()
    try:
        number = 0 if isinstance(workers, bool) else operator.index(workers)
    except TypeError:
        number = 0
    if number < 1:
        raise OptionError("workers", workers, "must be an integer of at least 1, or None for one a core")
    return number


def _path_of(target: Into) -> str:
    """The name that says how to pack: file objects and streams get plain bytes."""
    return "" if hasattr(target, "write") else str(target)


@contextmanager
def _watching(progress: Callable[[JsonlProgress], object] | bool | None) -> Iterator[Callable[[JsonlProgress], object] | None]:
    if progress is True:
        from .cli.progress import Bar

        with closing(Bar()) as shown:
            yield shown
    elif not progress:
        yield None
    elif callable(progress):
        yield progress
    else:
        raise OptionError("progress", progress, "must be a callable that takes a JsonlProgress, True for a bar, or None")


class Chunk(NamedTuple):
    """Some lines of a source."""

    data: bytes
    """The lines, with their ends."""
    done: int
    """How many bytes of the source had been read behind them, as they are stored."""


class Made(NamedTuple):
    """What became of a chunk."""

    lines: Lines
    packed: bytes
    """``lines.output``, packed."""


def read_chunks(source: Source) -> tuple[bytes, Iterator[Chunk]]:
    """The byte order mark at the beginning, where there is one, and the lines."""
    chunks = whole_lines(source.read, CHUNK)
    first = next(chunks, b"")
    mark = MARK if first.startswith(MARK) else b""
    rest = (Chunk(data, source.done) for data in chain([first[len(mark) :]], chunks) if data)
    return mark, rest


class Watch:
    """Tells how far a run has come, not too often."""

    def __init__(self, tell: Callable[[JsonlProgress], object], total: int | None, begun: float) -> None:
        self._tell = tell
        self._total = total
        self._begun = begun
        self._due = begun + _PERIOD

    def __call__(self, run: Run, *, last: bool = False) -> None:
        """Tells it, if it is time or the end."""
        now = monotonic()
        if last or now >= self._due:
            self._due = now + _PERIOD
            self._tell(JsonlProgress(run.done, self._total, run.conversations, run.errors, now - self._begun))


class Fail(Protocol):
    """Raises the error of a line."""

    def __call__(self, line: int, error: Exception, raw: bytes, offset: int, /) -> NoReturn:
        """Raises it: the number of the line, from 1, what is wrong, the line, and its first byte in the source, unpacked."""


class Run:
    """Trims chunk after chunk, and adds up.

    Args:
        window: what trims.
        key: where the messages stand.
        on_error: one of :data:`ON_ERROR`.
        write: takes what is to be written, in order.
        pack: packs it.
        fail: raises the error that ends the run.
        each: called with the number of the line and the report of each conversation, in order, if there is one.

    Attributes:
        reports: whether ``each`` is told of the chunks that are made from now on.
        done: bytes of the source that have been dealt with, as they are stored.
        offset: the same, unpacked and without the mark.
        lines: ends of lines among them.
        conversations: lines that have been trimmed.
        errors: lines that could not be.
    """

    def __init__(
        self,
        window: ContextWindow,
        key: str | None,
        on_error: str,
        write: Callable[[bytes], object],
        pack: Packer,
        fail: Fail,
        each: Callable[[int, TrimReport], object] | None = None,
    ) -> None:
        self._window = window
        self._key = key
        self._on_error = on_error
        self._write = write
        self._pack = pack
        self._fail = fail
        self._each = each
        self.reports = each is not None
        self.done = self.offset = self.lines = self._unended = self.conversations = self.errors = 0
        self._sums = dict.fromkeys(_SUMS, 0)
        self._first_errors: list[tuple[int, Exception]] = []

    def through(self, chunks: Iterable[Chunk], workers: int, watch: Watch | None = None) -> None:
        """Trims all of ``chunks``, by so many threads."""
        with closing(in_order(self.made, chunks, workers)) as all_made:
            for chunk, made in all_made:
                self.take(chunk, made)
                if watch:
                    watch(self)

    def made(self, chunk: Chunk) -> Made:
        """What becomes of a chunk; any thread, any order."""
        lines = self._window._trim_lines(chunk.data, self._key, self._on_error, self.reports)
        return Made(lines, self._pack.pack(lines.output))

    def take(self, chunk: Chunk, made: Made) -> None:
        """Adds up and writes what became of the next chunk."""
        lines = made.lines
        if self._each is not None:
            for at, report in lines.reports:
                self._each(self.lines + at + 1, report)
        ends = chunk.data.count(b"\n") if lines.errors else lines.lines  # counted anew, the lock would be held meanwhile
        if lines.errors and (self._on_error == "raise" or not isinstance(lines.errors[-1][1], BackcutError) or lines.lines < ends):
            at, error = lines.errors[-1]  # what a caller's own code raised is nothing of the line's: the engine stopped there
            rest = chunk.data.split(b"\n", at)[-1]
            self._fail(self.lines + at + 1, error, rest.partition(b"\n")[0], self.offset + len(chunk.data) - len(rest))
        self.errors += len(lines.errors)
        self._first_errors += [(self.lines + at + 1, error) for at, error in lines.errors[: _KEPT - len(self._first_errors)]]
        self._write(self._pack.add(lines.output, made.packed))
        self.done = chunk.done
        self.offset += len(chunk.data)
        self.lines += ends
        self._unended = not chunk.data.endswith(b"\n")
        self.conversations += lines.conversations
        for name in _SUMS:
            self._sums[name] += getattr(lines, name)

    def summary(self, seconds: float) -> JsonlSummary:
        """All of it, added up."""
        window = self._window
        counted = window.max_tokens is not None or window.tokenizer is not None or window.model is not None
        sums: dict[str, Any] = self._sums if counted else {**self._sums, "tokens_before": None, "tokens_after": None}
        return JsonlSummary(
            lines=self.lines + self._unended,
            conversations=self.conversations,
            **sums,
            errors=self.errors,
            skipped=self.errors if self._on_error == "skip" else 0,
            first_errors=tuple(self._first_errors),
            seconds=seconds,
        )


_SUMS = (
    "changed",
    "trimmed",
    "over_budget",
    "messages_before",
    "messages_after",
    "tools_truncated",
    "chars_capped",
    "tokens_before",
    "tokens_after",
)
"""What of :class:`JsonlSummary` is a sum over the chunks."""
