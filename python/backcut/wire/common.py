"""What the formats of the reference twin share: how a value is read, and the words in which a format says what a message is.

A format reads a message twice: :class:`Outline` is what is looked at of every message, :class:`Facts` what is counted of those
that may be sent. Nothing right of these two knows a provider.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from ..errors import FormatError, shorten
from ..media import Image, Media, data_of, image_size
from ..plain import compact as plain_json
from ..report import PartCut

__all__ = [
    "Facts",
    "Figure",
    "Kind",
    "Outline",
    "Path",
    "Piece",
    "Tie",
    "Turn",
    "called",
    "compact",
    "edited",
    "first_of",
    "found",
    "get",
    "identity",
    "image_of",
    "only_text",
    "plain",
    "read_history",
    "readable",
    "result_text",
    "role_of",
    "size_in_bytes",
    "text_at",
    "text_in",
    "unknown_texts",
    "where",
]

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indices from a message to something in it."""


# Reading values


def get(value: Any, key: str) -> Any:
    """What stands at ``key`` of a mapping or an object; ``None`` where there is nothing."""
    if isinstance(value, Mapping):
        return value.get(key)
    return getattr(value, key, None)


def readable(value: Any) -> bool:
    """Whether ``value`` is a mapping or an object that may have attributes of its own."""
    return value is not None and not isinstance(value, (str, bytes, bytearray, memoryview, int, float, complex, list, tuple))


def plain(text: str) -> str:
    """``text`` as an exact ``str``: an enumeration that is a string has a hash and a form of its own."""
    return str.__str__(text)


def found(value: Any) -> str:
    """How an error names what stands at a key."""
    return "nothing" if value is None else type(value).__name__


def compact(value: Any) -> str:
    """``value`` as JSON without spaces. Raises ``ValueError`` where that cannot be."""
    try:
        return plain_json(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(str(error)) from error


def size_in_bytes(text: str) -> int:
    """Length in UTF-8; a lone surrogate counts the three bytes that it would take."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def where(path: Path) -> str:
    """A path as errors write it: ``content[2].text``."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).removeprefix(".")


def read_history(messages: Any) -> list[Any]:
    """The messages of a history, none of them looked at."""
    if isinstance(messages, (str, bytes, bytearray, memoryview)) or not isinstance(messages, Sequence):
        raise FormatError(None, "", type(messages).__name__, "a sequence of messages")
    return list(messages)


def identity(value: Any) -> str | None:
    """An id; an empty one is none, and so is what is no string."""
    return plain(value) if isinstance(value, str) and value else None


def text_in(record: Any, key: str) -> str | None:
    """The text under a key of what may be a mapping."""
    value = get(record, key) if readable(record) else None
    return plain(value) if isinstance(value, str) else None


def first_of(record: Any, keys: Sequence[str]) -> tuple[str, Any] | None:
    """The first of several keys under which a record has something, and what that is."""
    return next(((key, value) for key in keys if (value := get(record, key)) is not None), None)


def text_at(record: Any, path: Path, index: int, expected: str = "a string or null") -> str | None:
    """The text under the last key of ``path``, in a record that stands in front of it; an error if anything else is there."""
    value = get(record, str(path[-1]))
    if value is None or isinstance(value, str):
        return value
    raise FormatError(index, where(path), found(value), expected)


def role_of(message: Any, index: int, roles: Sequence[str]) -> str:
    """The role of a message, one of ``roles``."""
    if not readable(message):
        raise FormatError(index, "", type(message).__name__, "a mapping or an object with a role")
    role = get(message, "role")
    if isinstance(role, str) and plain(role) in roles:
        return plain(role)
    seen = shorten(plain(role)) if isinstance(role, str) else found(role)
    raise FormatError(index, "role", seen, f"one of {', '.join(roles)}")


# What a message is in the conversation

Turn: TypeAlias = Literal["system", "user", "model", "result"]
"""What a message is: it instructs; is a plain user turn; is what the model said; or carries a result of the client's."""


@dataclass(frozen=True, slots=True)
class Tie:
    """A call, or the result that answers one. Calls are answered by results of their own family only."""

    kind: Literal["call", "result"]
    family: str
    id: str | None
    """``None`` where there is none: then the place decides."""
    alias: str | None = None
    """Another id by which the two may find each other."""
    caller: tuple[str, str] | None = None
    """Family and id of the call that made this call: what it does belongs to that one and stays with it."""
    optional: bool = False
    """Whether a call may go without a result."""


@dataclass(frozen=True, slots=True)
class Outline:
    """What is read of every message, whatever becomes of it."""

    role: str
    """The role as it stands on the wire and costs tokens; empty where the message has none."""
    turn: Turn
    ties: tuple[Tie, ...] = ()
    """In the order in which they stand in the message. What cannot be read is none, or has no id: it is no error here."""
    sent: bool = True
    """Whether it is in the request, too; what is not neither calls nor answers there, and costs nothing: its role is empty."""
    refers: bool = False
    """Whether it stands for something that is not seen, such as a call."""


# What a message costs

Kind: TypeAlias = Literal["said", "opaque", "name", "silent"]
"""How a text counts: in characters and tokens; in tokens only (signatures); as a name, in tokens only and however long; or not at
all (what stands beside a picture, and shares a cap all the same)."""

Figure: TypeAlias = Literal["message", "name", "call", "result"]
"""A frame, by the name of its figure."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Something in a message that counts: a text, a frame with or without a name, or a picture, sound or file."""

    path: Path
    """Where it stands. For a text that a cap may shorten exactly where: an edit names it."""
    text: str = ""
    kind: Kind = "said"
    figure: Figure | None = None
    media: Media | None = None
    observation: int | None = None
    """The observation (0, 1, ...: in their order in the message) whose cap this text shares."""
    item: Path | None = None
    """The item of a list that goes when nothing of the text is left; ``None``: the text stays, empty."""
    thinking: bool = False
    """Whether it belongs to signed thinking: then ``item`` is the block, which ``thinking="strip"`` may take."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a message says."""

    outline: Outline
    pieces: tuple[Piece, ...] = ()
    only_thinking: bool = False
    """Whether nothing is left of the message without its signed thinking."""
    thinking_stays: bool = False
    """Whether its signed thinking stays whatever is asked: nothing else is in the message, and that one may not go whole."""

    @property
    def chars(self) -> int:
        """Size in code points."""
        return sum(len(piece.text) for piece in self.pieces if piece.kind == "said")

    @property
    def observations(self) -> list[list[Piece]]:
        """The texts of each observation that share its cap."""
        numbers = sorted({piece.observation for piece in self.pieces if piece.observation is not None})
        return [[piece for piece in self.pieces if piece.observation == number] for number in numbers]

    @property
    def thinking(self) -> list[Path]:
        """The blocks of signed thinking, in order. The model alone thinks: nobody signs what stands in another's message."""
        if self.outline.turn != "model":
            return []
        return list(dict.fromkeys(piece.item for piece in self.pieces if piece.thinking and piece.item is not None))


def edited(facts: Facts, cuts: Sequence[PartCut]) -> Facts:
    """What the message says once it is cut."""
    gone = [cut.path for cut in cuts if cut.dropped]
    shortened = {cut.path: cut for cut in cuts if not cut.dropped}
    pieces = []
    for piece in facts.pieces:
        cut = shortened.get(piece.path)
        if any(piece.path[: len(path)] == path for path in gone):
            continue
        if cut is not None and piece.kind in ("said", "silent"):
            text = piece.text[: cut.head] + cut.marker + piece.text[len(piece.text) - cut.tail :]
            pieces.append(replace(piece, text=text))
        else:
            pieces.append(piece)
    return replace(facts, pieces=tuple(pieces))


# What several formats read alike


def called(call: Any, path: Path, index: int, key: str) -> Iterator[Piece]:
    """A call: its name with a frame, and its arguments, which stand at ``key``."""
    name, arguments = text_at(call, (*path, "name"), index, "a string"), get(call, key)
    yield Piece((*path, "name"), name or "", "name", "call")
    if arguments is not None and not isinstance(arguments, str):
        try:
            arguments = compact(arguments)
        except ValueError:
            raise FormatError(index, where((*path, key)), found(arguments), "a string or a JSON value") from None
    yield Piece((*path, key), arguments or "")


def only_text(value: Any) -> tuple[str, str] | None:
    """The only entry of a mapping, if that is a text under a text: under any other key an edit would not find it again."""
    if isinstance(value, Mapping) and len(value) == 1:
        key, only = next(iter(value.items()))
        if isinstance(key, str) and isinstance(only, str):
            return key, only
    return None


def result_text(value: Any, path: Path, index: int) -> tuple[Path, str]:
    """What a result that is JSON says, and where: its only entry if that is a text, else all of it as compact JSON.

    A cap cuts the text at that path; ``edit.edit_message`` knows what becomes of JSON that is cut.
    """
    if isinstance(value, str):
        return path, value
    if (only := only_text(value)) is not None:
        return (*path, only[0]), only[1]
    try:
        return path, compact(value)
    except ValueError:
        raise FormatError(index, where(path), found(value), "a JSON value") from None


def image_of(part: Any) -> Image:
    """A picture as OpenAI has it (``image_url``) or as Anthropic has it (``source``)."""
    image = get(part, "image_url")
    low = "low" in (text_in(part, "detail"), text_in(image, "detail"))
    url = plain(image) if isinstance(image, str) else text_in(image, "url")
    if url is not None:
        data = data_of(url)
    else:
        source = get(part, "source")
        data = text_in(source, "data") if text_in(source, "type") == "base64" else None
    return Image(low, None if data is None else image_size(data))


def unknown_texts(part: Any, path: Path) -> Iterator[Piece]:
    """The texts of a part of unknown type: its ``text``, ``thinking`` or ``content``, whichever is a text, or those in its content."""
    for key in ("text", "thinking", "content"):
        text = get(part, key)
        if isinstance(text, str):
            yield Piece((*path, key), text)
            return
    # Mistral's thinking is a list of texts.
    key = "thinking" if isinstance(get(part, "thinking"), (list, tuple)) else "content"
    content = get(part, key)
    for k, inner in enumerate(content if isinstance(content, (list, tuple)) else ()):
        text = get(inner, "text") if readable(inner) else None
        if isinstance(text, str):
            yield Piece((*path, key, k, "text"), text)
