"""A conversation and the text that it was read from: what is not cut or edited comes back byte for byte.

Where each message stands in the text is remembered, and a trimmed conversation is put together from those pieces. So numbers,
escapes, unknown keys and layout survive without any care for each of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NoReturn, Self

from ..request import ARRAYS, beside
from .errors import CommandError

__all__ = ["Conversation", "SingleError", "blamed", "dumps"]


class Number(float):
    """A number that remembers how it was written, where the interpreter would write it otherwise."""

    literal: str

    def __new__(cls, literal: str) -> Self:
        """Makes the number from its JSON text."""
        self = super().__new__(cls, literal)
        self.literal = literal
        return self


class SingleError(CommandError):
    """A message alone, or one entry of a log: no conversation by itself."""


class _RefusedError(Exception):
    """Something that the decoder lets pass and this module does not; its place is not known yet."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _RefusedError  # one of two values would be lost without a word
    return found


def _refuse(_: str) -> NoReturn:
    raise _RefusedError


def _integer(literal: str) -> Any:
    return Number(literal) if literal == "-0" else int(literal)


_decode = json.JSONDecoder(object_pairs_hook=_unique, parse_float=Number, parse_int=_integer, parse_constant=_refuse).raw_decode
_space = re.compile(r"[ \t\n\r]*")
_token = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?|[{}]|NaN|-?Infinity')
_lone = re.compile("[\ud800-\udfff]")


def _culprit(text: str, at: int) -> tuple[int, str]:
    """Where in ``text``, from ``at``, stands what :class:`_RefusedError` was raised for, and what it is."""
    seen: list[set[str]] = []
    for token in _token.finditer(text, at):
        string, colon = token.groups()
        if token[0] == "{":
            seen.append(set())
        elif token[0] == "}":
            seen.pop()
        elif string is None:
            return token.start(), f"{token[0]} is not JSON; expected a finite number or null"
        elif colon and seen:
            key = json.loads(string, strict=False)
            if key in seen[-1]:
                return token.start(), f"expected each key once in an object, found {_shown(key)} again"
            seen[-1].add(key)
    return at, "expected each key once in an object"


def _shown(value: object) -> str:
    from ..errors import shorten

    return shorten(value)


def _skip(text: str, at: int) -> int:
    found = _space.match(text, at)
    return found.end() if found else at


def _after(text: str, at: int, sign: str) -> int:
    """The place of what follows ``sign``, which is expected at ``at`` or behind white space."""
    at = _skip(text, at)
    if not text.startswith(sign, at):
        raise json.JSONDecodeError(f"Expecting '{sign}'", text, at)
    return _skip(text, at + 1)


def _more(text: str, at: int, close: str) -> tuple[bool, int]:
    """Whether a comma follows rather than ``close``, and the place behind the one that does."""
    at = _skip(text, at)
    if text.startswith(close, at):
        return False, at + 1
    if not text.startswith(",", at):
        raise json.JSONDecodeError(f"Expecting ',' or '{close}'", text, at)
    return True, _skip(text, at + 1)


class _Layout:
    """How a piece of JSON is laid out, so that what is put beside it looks alike."""

    def __init__(self, text: str, margin: str) -> None:
        lines = re.match(r'\{(\r?\n)([ \t]*)"', text)
        airy = re.match(r'\{\s*"(?:[^"\\]|\\.)*"\s*:\s', text) is not None
        self.margin = margin
        self.newline = lines[1] if lines else ""
        self.step = (lines[2][len(margin) :] or "  ") if lines else ""
        self.comma = "," if lines or not airy else ", "
        self.colon = ": " if airy else ":"


def dumps(value: object, layout: _Layout | None = None) -> str:
    """``value`` as JSON: readable, each number as it was written, lone surrogates escaped."""
    return _dump(value, layout or _Layout('{"a": 1}', ""), "" if layout is None else layout.margin)


def _dump(value: object, layout: _Layout, margin: str) -> str:
    inner = margin + layout.step
    if isinstance(value, Number):
        return value.literal
    if isinstance(value, dict) and value:
        items = [f"{_dump(key, layout, inner)}{layout.colon}{_dump(item, layout, inner)}" for key, item in value.items()]
        brackets = "{}"
    elif isinstance(value, list | tuple) and value:
        items = [_dump(item, layout, inner) for item in value]
        brackets = "[]"
    else:
        return _lone.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))
    begin, end = (layout.newline + inner, layout.newline + margin) if layout.newline else ("", "")
    return f"{brackets[0]}{begin}{(layout.comma + begin).join(items)}{end}{brackets[1]}"


class Conversation:
    """One conversation, with the text that it was read from."""

    messages: list[Any]
    tools: Any
    system: Any

    def __init__(self, text: str, name: str, line: int, *, key: str | None = None, entries: bool = False) -> None:
        """Reads ``text``, which begins at ``line`` of the input ``name``.

        Args:
            text: JSON.
            name: what the input is called in messages.
            line: where ``text`` begins.
            key: where the array stands in a request body; where a provider has it if ``None``.
            entries: whether ``text`` is no array but its elements alone, as in a log of one entry a line.

        Raises:
            json.JSONDecodeError: it is not JSON, or more than one value.
            CommandError: it is, but not a conversation; a :class:`SingleError` where it may be a part of one.
        """
        self.text = text
        self.name = name
        self._first = line
        self._begin = _skip(text, 0)
        self._keys = ARRAYS if key is None else (key,)
        self._key = ""
        self._array = -1
        self._between = ","
        self._spans: list[tuple[int, int]] = []
        body: dict[str, Any] = {}
        at = self._begin
        self._at = at
        try:
            if entries:
                self.messages, at = self._read_entries(at)
            elif text.startswith("[", at):
                self.messages, at = self._read_messages(at)
            elif text.startswith("{", at):
                at = self._read_body(body, at)
            else:
                value, at = _decode(text, at)
                self._fail(self._begin, f"{self._expected()}, found {_kind(value)}")
        except _RefusedError:
            self._fail(*_culprit(text, self._at))
        except RecursionError:
            self._fail(self._at, "nested too deeply")
        except json.JSONDecodeError:
            raise
        except ValueError:  # from int(): see sys.set_int_max_str_digits
            self._fail(self._at, "a number has too many digits")
        if _skip(text, at) != len(text):
            raise json.JSONDecodeError("Expecting the end of the input", text, _skip(text, at))
        if self._key:
            self.messages = body[self._key]
        elif self._array < 0 and not entries:
            self._refuse_body(body)
        self.tools, self.system = beside(self._key, body.get)

    def _read_messages(self, at: int) -> tuple[list[Any], int]:
        self._array = at
        messages: list[Any] = []
        at = _skip(self.text, at + 1)
        if self.text.startswith("]", at):
            return messages, at + 1
        more = True
        while more:
            self._at = at
            messages.append(self._read_message(at))
            more, at = _more(self.text, self._spans[-1][1], "]")
        return messages, at

    def _read_entries(self, at: int) -> tuple[list[Any], int]:
        self._between = "\n"
        messages: list[Any] = []
        while at < len(self.text):
            self._at = at
            messages.append(self._read_message(at))
            at = _skip(self.text, self._spans[-1][1])
        return messages, at

    def _read_message(self, at: int) -> Any:
        message, end = _decode(self.text, at)
        self._spans.append((at, end))
        return message

    def _read_body(self, body: dict[str, Any], at: int) -> int:
        at = _skip(self.text, at + 1)
        if self.text.startswith("}", at):
            return at + 1
        more = True
        while more:
            self._at = at
            if not self.text.startswith('"', at):
                raise json.JSONDecodeError("Expecting a key in double quotes", self.text, at)
            key, end = _decode(self.text, at)
            if key in body:
                self._fail(at, f"expected each key once in an object, found {_shown(key)} again")
            at = _after(self.text, end, ":")
            if key in self._keys and self.text.startswith("[", at) and self._is_first(key):
                self._key = key
                self._spans.clear()
                body[key], at = self._read_messages(at)
            else:
                self._at = at
                body[key], at = _decode(self.text, at)
            more, at = _more(self.text, at, "}")
        return at

    def _is_first(self, key: str) -> bool:
        """Whether the messages stand under ``key`` rather than where they have been found already."""
        return not self._key or self._keys.index(key) < self._keys.index(self._key)

    def _expected(self) -> str:
        *others, last = [f'"{key}"' for key in self._keys]
        keys = f"{', '.join(others)} or {last}" if others else last
        return f"expected an array of messages or an object with {keys}"

    def _refuse_body(self, body: dict[str, Any]) -> NoReturn:
        for key in self._keys:
            if key in body:
                self._fail(self._begin, f"{key}: expected an array, found {_kind(body[key])}")
        word = body.get("type") or body.get("kind")
        if "role" in body or isinstance(word, str):
            found = "message" if "role" in body else _shown(word)
            hint = "put all into one array, or read a log of pi's with --format pi"
            raise SingleError(f"{self.place(self._begin)}: {self._expected()}, found a single {found}; {hint}")
        found = f"an object with {_shown(', '.join(body))}" if body else "an empty object"
        self._fail(self._begin, f"{self._expected()}, found {found}")

    @property
    def line(self) -> int:
        """The line of the input in which the conversation begins."""
        return self._first + self.text.count("\n", 0, self._begin)

    def place(self, at: int | None = None) -> str:
        """``file:line:column`` of a place in the text, ``file:line`` of the conversation."""
        if at is None:
            return f"{self.name}:{self.line}"
        return f"{self.name}:{self._first + self.text.count(chr(10), 0, at)}:{at - self.text.rfind(chr(10), 0, at)}"

    def _fail(self, at: int, sentence: str) -> NoReturn:
        raise CommandError(f"{self.place(at)}: {sentence}")

    def blamed(self) -> AbstractContextManager[None]:
        """What goes wrong inside is reported with this conversation's place."""
        return blamed(self.place(), lambda index: self.place(self._spans[index][0]) if index < len(self._spans) else self.place())

    def render(self, messages: Sequence[Any]) -> str:
        """The text with ``messages`` in the place of its own: those that are the same objects as they were written."""
        if messages is self.messages or not self._spans:
            return self.text
        text, spans = self.text, self._spans
        begin = text[self._array + 1 : spans[0][0]]
        between = text[spans[0][1] : spans[1][0]] if len(spans) > 1 else self._between + begin
        margin = begin.rpartition("\n")[2] if "\n" in begin else ""
        written = {id(message): text[start:end] for message, (start, end) in zip(self.messages, spans, strict=True)}
        layout = _Layout(text[slice(*spans[0])], margin)
        new = [written.get(id(message)) or dumps(message, layout) for message in messages]
        return f"{text[: spans[0][0]]}{between.join(new)}{text[spans[-1][1] :]}"


@contextmanager
def blamed(place: str, message: Callable[[int], str] | None = None) -> Iterator[None]:
    """What goes wrong inside is reported with a place: ``message`` gives that of a message, where it can be known."""
    from ..errors import BudgetError, FormatError, OptionError
    from .options import in_words

    try:
        yield
    except BudgetError as error:
        raise CommandError(f"{place}: {error}", code=3) from error
    except FormatError as error:
        at = message(error.index) if message is not None and error.index is not None else place
        raise CommandError(f"{at}: {error}") from error
    except OptionError as error:
        raise CommandError(f"{place}: {in_words(error)}") from error
    except RecursionError as error:
        raise CommandError(f"{place}: nested too deeply") from error


def _kind(value: object) -> str:
    kinds = {str: "a string", bool: "true or false", type(None): "null", dict: "an object", list: "an array"}
    return kinds.get(type(value), "a number")
