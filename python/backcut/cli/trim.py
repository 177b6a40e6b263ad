"""``backcut trim``: conversations in, what fits of them out, in the same shape."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from contextlib import closing
from itertools import chain, islice
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, Self

from .errors import CommandError, say
from .io import Output, Source
from .options import given, in_words, make_window, reading
from .progress import Bar
from .table import number

if TYPE_CHECKING:
    from ..errors import JsonError
    from ..jsonl import Chunk, JsonlSummary, Run
    from ..report import TrimReport

__all__ = ["run"]

_CEILINGS = ("max_turns", "max_chars", "max_tokens", "max_chars_per_tool")
_SAID = 10
"""So many lines that could not be trimmed are named."""
_SPACE = b" \t\r\n"
"""White space of JSON."""


def run(arguments: argparse.Namespace) -> int:
    """Trims every conversation of the input."""
    options = given(arguments)
    trim = _Trim(arguments)
    # Reports wait for the output: there is none of a trim that was not written.
    with trim.reports as reports, Output(arguments.output) as output:
        summary = trim.through(output)
        output.deliver()
        many = summary.conversations + summary.errors > 1
        if arguments.report == "json":
            reports.tell(many)
            _tell_errors(summary)
        elif arguments.report == "text":
            say("backcut: " + "; ".join(_sentence(summary, None if many else reports.first)))
            _say_errors(trim.source.name, summary)
            if not any(name in options for name in _CEILINGS):
                say("backcut: no ceiling was given (such as --max-tokens), so nothing could be cut")
    return 0


class _Trim:
    """An input on its way to an output."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        from ..errors import OptionError
        from ..jsonl import threads

        self._window = make_window(given(arguments))
        self._key: str | None = arguments.key
        self._log: bool = reading(arguments)["log"]
        self._on_error: str = arguments.on_error
        self.source = Source(arguments.file, key=self._key, log=self._log)
        self._mark = 0
        self.reports = _Reports(all_of_them=arguments.report == "json")
        try:
            self._workers = threads(arguments.workers)
        except OptionError as error:
            raise CommandError(in_words(error)) from error

    def through(self, output: Output) -> JsonlSummary:
        """Trims all of it: line by line, unless it is one document over many lines, or a log with a message a line."""
        from ..jsonl import Run, Watch, read_chunks

        begun = monotonic()
        with self.source.opened() as stream, closing(Bar()) as bar:
            mark, chunks = read_chunks(stream)
            self._mark = len(mark)
            output.put(output.pack.add(mark, output.pack.pack(mark)) if mark else b"")
            lines = Run(self._window, self._key, self._on_error, output.put, output.pack, self._fail, self.reports.add)
            first = self._first(chunks, lines)
            made = lines.made(first)
            seen = [first]
            if self._is_one(made.lines.errors, seen, chunks):
                report = self._one(b"".join(chunk.data for chunk in seen), made.lines.errors[0][1], lines, output)
                if report is not None:
                    self.reports.add(1, report)
                    return _summary(report, monotonic() - begun)
            lines.take(first, made)
            lines.reports = self.reports.all_of_them
            lines.through(chain(seen[1:], chunks), self._workers, Watch(bar, stream.size, begun))
            return lines.summary(monotonic() - begun)

    def _first(self, chunks: Iterator[Chunk], lines: Run) -> Chunk:
        """The first chunk with a line that is not blank; those in front of it have been written."""
        for chunk in chunks:
            if chunk.data.strip(_SPACE):
                return chunk
            lines.take(chunk, lines.made(chunk))
        raise CommandError(f"{self.source.name}: expected a conversation, found nothing")

    def _is_one(self, errors: list[tuple[int, Exception]], seen: list[Chunk], chunks: Iterator[Chunk]) -> bool:
        """Whether an input may be one conversation as a whole, which its first line decides, and where that is broken off what follows.

        Args:
            errors: what is wrong with the lines of the first chunk.
            seen: the first chunk. What is read to find out is added: all of it, or of what is no JSON enough to tell.
            chunks: what follows.
        """
        from ..errors import BackcutError, JsonError

        data = seen[0].data
        start = data.rfind(b"\n", 0, len(data) - len(data.lstrip(_SPACE))) + 1
        number = data.count(b"\n", 0, start)
        if not errors or errors[0][0] != number or not isinstance(errors[-1][1], BackcutError):
            return False
        error = errors[0][1]
        line, _, behind = data[start:].partition(b"\n")
        if not isinstance(error, JsonError):
            if not (self._log and _is_no_conversation(error) and self.source.is_entry(line)):
                return False
            seen += chunks
            return True
        if not _is_broken_off(error, line.removesuffix(b"\r")):
            return self._on_error == "raise"  # to be said as of a document, with what has been read
        # Where the second line is a conversation this is JSONL, and the first line is at fault.
        while not (behind := behind.lstrip(_SPACE)) and (chunk := next(chunks, None)):
            seen.append(chunk)
            behind = chunk.data
        second = self._error(behind.partition(b"\n")[0]) if behind else error
        if not (isinstance(second, JsonError) or _is_no_conversation(second)):
            return False
        # What begins as JSON has to be read whole; it is looked at again each time that it has doubled.
        while more := list(islice(chunks, len(seen))):
            seen += more
            body = b"".join(chunk.data for chunk in seen)
            found = self._error(body)
            if isinstance(found, JsonError) and not _is_broken_off(found, body):
                break
        return True

    def _error(self, body: bytes) -> Exception | None:
        """What is wrong with a body."""
        from ..errors import BackcutError

        try:
            self._window._trim_json(body, self._key)
        except BackcutError as error:
            return error
        return None

    def _one(self, body: bytes, error: Exception, lines: Run, output: Output) -> TrimReport | None:
        """Trims the whole input, less the blank lines that have been written, as one conversation; ``None`` where it is a matter of
        lines after all.
        """
        from ..errors import BackcutError, JsonError

        if not isinstance(error, JsonError):
            log = self.source.entries(body, lines.lines + 1)
            with log.blamed():
                trimmed = self._window.trim(log.messages)
            output.write(log.render(trimmed.messages))
            return trimmed.report
        try:
            written, report = self._window._trim_json(body, self._key)
        except BackcutError as wrong:
            if isinstance(wrong, JsonError) and self._on_error != "raise":
                return None
            self.source.explain(body, lines.lines + 1, self._mark + lines.offset, wrong)
        assert isinstance(written, bytes)
        output.put(output.pack.add(written, output.pack.pack(written)))
        return report

    def _fail(self, line: int, error: Exception, raw: bytes, offset: int) -> NoReturn:
        self.source.explain(raw, line, self._mark + offset, error)


def _is_broken_off(error: JsonError, body: bytes) -> bool:
    """Whether what follows ``body`` may make it JSON."""
    return error.offset == len(body)


def _is_no_conversation(error: Exception | None) -> bool:
    """Whether it was JSON, but had no messages."""
    from ..errors import FormatError

    return isinstance(error, FormatError) and error.index is None and not error.path


class _Reports:
    """The reports, until they may be told: that of the first conversation, or all of them."""

    def __init__(self, *, all_of_them: bool) -> None:
        self.all_of_them = all_of_them
        self.first: TrimReport | None = None
        self._line = 0

    def __enter__(self) -> Self:
        """Begins to collect."""
        self._rest = tempfile.SpooledTemporaryFile(1 << 24)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Forgets them."""
        self._rest.close()

    def add(self, line: int, report: TrimReport) -> None:
        """Adds the report of the conversation in this line."""
        if self.first is None:
            self._line, self.first = line, report
        elif self.all_of_them:
            self._rest.write(_told(report, line).encode() + b"\n")

    def tell(self, many: bool) -> None:
        """Says all of them, each with its line where there are many conversations."""
        if self.first is not None:
            say(_told(self.first, self._line if many else None))
        self._rest.seek(0)
        for told in self._rest:
            say(told.decode(), end="")


def _told(report: TrimReport, line: int | None) -> str:
    return json.dumps({**({} if line is None else {"line": line}), **report.as_dict()})


def _summary(report: TrimReport, seconds: float) -> JsonlSummary:
    """What one conversation adds up to."""
    from ..jsonl import JsonlSummary

    return JsonlSummary(
        lines=1,
        conversations=1,
        changed=report.first_changed is not None,
        trimmed=report.window_trimmed,
        over_budget=report.over_budget,
        messages_before=report.messages_original,
        messages_after=report.messages_sent,
        tools_truncated=report.tools_truncated,
        chars_capped=report.chars_capped,
        tokens_before=None,
        tokens_after=report.tokens_sent,
        errors=0,
        skipped=0,
        first_errors=(),
        seconds=seconds,
    )


def _sentence(summary: JsonlSummary, only: TrimReport | None) -> list[str]:
    """What was done, in a few words each; ``only`` is the report where there is one conversation."""
    said = [] if only else [f"{number(summary.conversations)} conversations, {number(summary.changed)} changed"]
    if summary.changed:
        said.append(f"{number(summary.messages_before)} messages in, {number(summary.messages_after)} out")
    else:
        said.append(f"{number(summary.messages_before)} messages, unchanged")
    if summary.tools_truncated:
        said.append(f"{number(summary.tools_truncated)} tool results shortened by {number(summary.chars_capped)} characters")
    if summary.tokens_after is not None:
        before = "" if only or not summary.changed else f"{number(summary.tokens_before)} tokens in, "
        said.append(f"{before}{number(summary.tokens_after)} {'out' if before else 'tokens'}")
    if only is None:
        if summary.over_budget:
            said.append(f"{number(summary.over_budget)} over budget")
        if summary.errors:
            said.append(f"{number(summary.errors)} {'left out' if summary.skipped else 'kept as they were'} for an error")
        return said
    if only.task_dropped:
        said.append("the task did not fit")
    if only.over_budget:
        said.append("over budget")
    if only.first_changed is not None:
        said.append(f"as before up to message {number(only.first_changed)}")
    return said


def _tell_errors(summary: JsonlSummary) -> None:
    """The lines that could not be trimmed, as reports are told; of very many the first, and how many there are."""
    for line, error in summary.first_errors:
        say(json.dumps({"line": line, "error": type(error).__name__, "message": str(error)}))
    if summary.errors > len(summary.first_errors):
        say(json.dumps({"errors": summary.errors}))


def _say_errors(name: str, summary: JsonlSummary) -> None:
    for line, error in summary.first_errors[:_SAID]:
        say(f"backcut: {name}:{line}: {error}")
    if summary.errors > _SAID:
        say(f"backcut: and {number(summary.errors - _SAID)} more")
