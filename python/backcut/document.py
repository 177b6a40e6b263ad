"""JSON text whose values know where they stand, for the reference twin.

Read strictly, as RFC 8259 has it, and without a choice: of a key that an object has twice one value would be lost. Values are those of
``json.loads``. Nothing here is recursive, so that only :data:`DEEPEST` says how deep a text may be.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

from .errors import JsonError
from .plain import Long

__all__ = ["DEEPEST", "Node", "characters", "encode", "parse"]

DEEPEST = 512
"""How many brackets may be open at once."""

_SHOWN = 40
"""How many characters of a key are shown."""

_BLANK = re.compile(rb"[ \t\n\r]*")
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_SOUND = re.compile(rb'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+')
_SCALAR = re.compile(rb'[^ \t\n\r{}\[\]:,"]+')
_INTEGER = re.compile(rb"-?(?:0|[1-9][0-9]*)")
_REAL = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORDS: dict[bytes, Any] = {b"true": True, b"false": False, b"null": None}
_CHARACTER = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[\x00-\x7f]|[\xc0-\xff][\x80-\xbf]+"
)


@dataclass(slots=True)
class Node:
    """A value and the bytes in which it stands."""

    begin: int
    end: int
    value: Any
    """The value as ``json.loads`` has it."""
    items: list[Node] = field(default_factory=list)
    """Of an array its items, of an object the values of its members; both in order."""
    keys: list[str] = field(default_factory=list)
    """Of an object the names of its members, in the same order."""


def encode(body: bytes | bytearray | memoryview | str) -> bytes:
    """The bytes of a body.

    Raises:
        JsonError: it is not UTF-8.
        TypeError: it is no body.
    """
    if isinstance(body, str):
        try:
            return body.encode()
        except UnicodeEncodeError as error:
            raise JsonError(len(body[: error.start].encode()), "a lone surrogate", "text that UTF-8 can say") from None
    if not isinstance(body, (bytes, bytearray)) and not (isinstance(body, memoryview) and body.format == "B"):
        raise TypeError(f"body must be bytes, bytearray, memoryview of bytes or str, not {type(body)}")
    text = bytes(body)
    try:
        text.decode()
    except UnicodeDecodeError as error:
        raise JsonError(error.start, f"byte 0x{text[error.start]:02x}", "UTF-8") from None
    return text


def parse(text: bytes) -> Node:
    """Reads the value that ``text``, which is UTF-8, consists of. Takes time proportional to its length.

    Raises:
        JsonError: it is not JSON, an object has a key twice, or more than :data:`DEEPEST` brackets are open at once.
    """
    return _Parser(text).document()


class _Parser:
    def __init__(self, text: bytes) -> None:
        self._text = text
        self._at = 0
        """The first byte that is not read."""
        self._open: list[Node] = []
        """The arrays and objects that are not closed, the outermost first."""

    def document(self) -> Node:
        while True:
            node = self._value()
            while node is not None:
                if not self._open:
                    if self._next():
                        self._wrong("nothing behind the value")
                    return node
                node = self._put(node)

    def _next(self) -> bytes:
        """The next byte that is not blank; empty at the end."""
        blank = _BLANK.match(self._text, self._at)
        self._at = blank.end() if blank else self._at
        return self._text[self._at : self._at + 1]

    def _value(self) -> Node | None:
        """Reads a value; ``None`` where that is an array or object with something in it, which is opened."""
        sign, begin = self._next(), self._at
        if sign not in (b"{", b"["):
            value = self._string() if sign == b'"' else self._scalar()
            return Node(begin, self._at, value)
        if len(self._open) == DEEPEST:
            raise JsonError(begin, f"the {DEEPEST + 1}th", f"at most {DEEPEST} levels of arrays and objects")
        self._open.append(Node(begin, begin, {} if sign == b"{" else []))
        self._at += 1
        if self._next() == (b"}" if sign == b"{" else b"]"):
            return self._close()
        if sign == b"{":
            self._key()
        return None

    def _put(self, node: Node) -> Node | None:
        """Puts a value into the array or object that is open; gives that where it ends here."""
        around = self._open[-1]
        around.items.append(node)
        is_object = isinstance(around.value, dict)
        if is_object:
            around.value[around.keys[-1]] = node.value
        else:
            around.value.append(node.value)
        sign, closing = self._next(), "}" if is_object else "]"
        if sign == closing.encode():
            return self._close()
        if sign != b",":
            self._wrong(f"',' or '{closing}'")
        self._at += 1
        if is_object:
            self._key()
        return None

    def _close(self) -> Node:
        self._at += 1
        node = self._open.pop()
        node.end = self._at
        return node

    def _key(self) -> None:
        """Reads a key and its colon."""
        if self._next() != b'"':
            self._wrong("a key")
        begin, key, around = self._at, self._string(), self._open[-1]
        if key in around.value:
            shown = self._text[begin + 1 : self._at - 1].decode()[:_SHOWN]
            raise JsonError(begin, f'a second "{shown}"', "each key of an object once")
        around.keys.append(key)
        if self._next() != b":":
            self._wrong("':'")
        self._at += 1

    def _string(self) -> str:
        whole, sound = _STRING.match(self._text, self._at), _SOUND.match(self._text, self._at)
        if whole is None or sound is None:
            raise JsonError(self._at, "a string without end", "a closing quote")
        at = sound.end()
        if self._text.startswith(b"\\", at):
            raise JsonError(at, "a backslash that begins no escape", "an escape of JSON")
        if at + 1 < whole.end():
            raise JsonError(at, f"the control character 0x{self._text[at]:02x}", "control characters in strings as escapes")
        self._at = whole.end()
        text = whole[0].decode()
        return str(json.loads(text)) if "\\" in text else text[1:-1]

    def _scalar(self) -> Any:
        found = _SCALAR.match(self._text, self._at)
        token = found[0] if found else b""
        value: Any = None
        if token in _WORDS:
            value = _WORDS[token]
        elif _INTEGER.fullmatch(token):
            value = _integer(token.decode())
        elif _REAL.fullmatch(token):
            value = float(token)
        else:
            self._wrong("a value")
        self._at += len(token)
        return value

    def _wrong(self, expected: str) -> NoReturn:
        """Refuses what comes next, if anything does."""
        rest = self._text[self._at : self._at + 4].decode(errors="ignore")
        if not rest:
            raise JsonError(self._at, "the end", "more")
        raise JsonError(self._at, f"'{rest[0]}'" if " " < rest[0] <= "~" else f"U+{ord(rest[0]):04X}", expected)


def _integer(literal: str) -> Any:
    try:
        return int(literal)
    except ValueError:  # see sys.set_int_max_str_digits
        return Long(literal)


def characters(text: bytes, node: Node) -> list[int]:
    """Where each code point of a string begins in the text, and where its closing quote stands.

    An escape is one code point; so are the two of a pair of surrogates.
    """
    return [*(found.start() for found in _CHARACTER.finditer(text, node.begin + 1, node.end - 1)), node.end - 1]
