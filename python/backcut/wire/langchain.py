"""LangChain: message objects, and the forms in which they are written down. Source: langchain-core, and its adapters for providers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import FormatError, shorten
from ..media import Audio, File, Image, Media, duration, image_size
from ..report import PartCut, Violation
from .common import (
    Facts,
    Outline,
    Path,
    Piece,
    Tie,
    Turn,
    called,
    found,
    get,
    identity,
    image_of,
    plain,
    readable,
    text_at,
    text_in,
    unknown_texts,
    where,
)

name = "langchain"
merges = False
insists_on_user = True
has_system_turns = False
takes_late: tuple[str, ...] = ()

_ROLES = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "system": "system",
    "developer": "developer",
    "tool": "tool",
    "function": "function",
    "chat": "chat",
    "generic": "chat",
    "remove": "remove",
}
"""What a type, or the name of a class, says of a message: its role; ``chat``, whose role stands beside; or a command to remove one."""

_CLASSES = ("Human", "AI", "System", "Developer", "Tool", "Function", "Chat", "Remove")
_KINDS = "one of human, ai, system, developer, tool, function, chat"
_TURNS: dict[str, Turn] = {
    "user": "user",
    "assistant": "model",
    "system": "system",
    "developer": "system",
    "tool": "result",
    "function": "result",
}
_CALLS = ("tool_use", "tool_call", "invalid_tool_call", "function_call")
_THINKING = ("thinking", "redacted_thinking", "reasoning", "reasoning_content")
_IMAGES = ("image_url", "image", "input_image")
_AUDIOS = ("input_audio", "audio", "audio_url")
_FILES = ("file", "document", "document_url", "input_file", "video", "video_url")


@dataclass(frozen=True, slots=True)
class Found:
    """A message where it was found: in itself, or under a key."""

    role: str
    record: Any
    path: Path = ()

    def at(self, *path: str | int) -> Path:
        """A path from the whole message."""
        return (*self.path, *path)


def _role(word: Any) -> str | None:
    """The role that a type, a role or the name of a class stands for."""
    if not isinstance(word, str):
        return None
    short = plain(word).removesuffix("Chunk").removesuffix("Message")
    return _ROLES.get(short.lower() if short in _CLASSES else short)


def find(message: Any, index: int) -> Found:
    """The message, in itself or under a key."""
    if not readable(message):
        raise FormatError(index, "", type(message).__name__, "a mapping or an object with a role")
    if get(message, "lc") is not None:
        return _constructed(message, index)
    key = "type" if _role(get(message, "type")) or get(message, "role") is None else "role"
    word = get(message, key)
    if _role(word) is None:
        raise FormatError(index, key, _seen(word), _KINDS)
    data = get(message, "data") if get(message, "content") is None else None
    record, path = (data, ("data",)) if readable(data) else (message, ())
    return Found(_role_of(word, record, index, "type"), record, path)


def _constructed(message: Any, index: int) -> Found:
    """A message as its constructor: ``{lc, type, id, kwargs}``, where the last of ``id`` is its class."""
    kwargs, place = get(message, "kwargs"), get(message, "id")
    if not readable(kwargs):
        raise FormatError(index, "kwargs", found(kwargs), "a mapping with the fields of the message")
    is_list = isinstance(place, (list, tuple)) and len(place) > 0
    word = place[-1] if is_list else None
    if _role(word) is None:
        seen = type(word).__name__ if is_list and not isinstance(word, str) else _seen(word if is_list else place)
        raise FormatError(index, "id", seen, "a list that ends in the class of a message")
    return Found(_role_of(word, kwargs, index, "id"), kwargs, ("kwargs",))


def _role_of(word: Any, record: Any, index: int, path: str) -> str:
    role = _role(word)
    if role == "remove":
        raise FormatError(index, path, _seen(word), "a message, not the command to remove one")
    if role == "chat":
        # Any word may be the role of such a one; what is no other's is somebody who speaks to the model.
        role = _role(get(record, "role"))
    return role if role in _TURNS else "user"


def _seen(word: Any) -> str:
    return shorten(plain(word)) if isinstance(word, str) else found(word)


# Outline


def outline(message: Any, index: int) -> Outline:
    """The kind of message, and the ids by which calls and results find each other."""
    this = find(message, index)
    return Outline(this.role, _TURNS[this.role], tuple(_ties(this)))


def _ties(this: Found) -> Iterator[Tie]:
    if this.role == "tool":
        yield Tie("result", "tool", identity(get(this.record, "tool_call_id")))
    elif this.role == "function":
        yield Tie("result", "legacy", None)
    elif this.role == "assistant":
        for path, calls in calls_of(this):
            if path[-1] == "function_call":
                yield Tie("call", "legacy", None)
                continue
            for call in calls if isinstance(calls, (list, tuple)) else ():
                yield Tie("call", "tool", identity(get(call, "id")) if readable(call) else None)


def calls_of(this: Found) -> list[tuple[Path, Any]]:
    """The lists of calls, or the one call of the time before tools: as LangChain has them, else as the provider gave them."""
    record = this.record
    listed = [(this.at(key), get(record, key)) for key in ("tool_calls", "invalid_tool_calls")]
    listed = [(path, calls) for path, calls in listed if not _is_nothing(calls)]
    if listed:
        return listed
    more, path = get(record, "additional_kwargs"), this.at("additional_kwargs")
    if not readable(more):
        return []
    if not _is_nothing(calls := get(more, "tool_calls")):
        return [((*path, "tool_calls"), calls)]
    legacy = get(more, "function_call")
    return [((*path, "function_call"), legacy)] if readable(legacy) else []


def _is_nothing(calls: Any) -> bool:
    return calls is None or (isinstance(calls, (list, tuple)) and not calls)


# Facts


def read(message: Any, index: int, outline: Outline, *, names: bool) -> Facts:
    """The content, then the calls."""
    this = find(message, index)
    record = this.record
    calls = calls_of(this) if this.role == "assistant" else []
    pieces: list[Piece] = []
    if outline.turn == "result":
        pieces.append(Piece(this.path, figure="result"))
    content = get(record, "content")
    if isinstance(content, str):
        pieces.append(Piece(this.at("content"), content, observation=0 if outline.turn == "result" else None))
    elif content is not None:
        if not isinstance(content, (list, tuple)):
            raise FormatError(index, where(this.at("content")), found(content), "a string, a list of blocks or null")
        for k, block in enumerate(content):
            pieces += _block(outline.turn, block, this.at("content", k), index, bool(calls))
    for path, listed in calls:
        pieces += _called(listed, path, index)
    # A result's is its tool's.
    if names and outline.turn != "result" and (speaker := identity(get(record, "name"))):
        pieces.append(Piece(this.at("name"), speaker, "name", "name"))
    if this.role == "tool":
        text_at(record, this.at("tool_call_id"), index)
    blocks = content if isinstance(content, (list, tuple)) else ()
    sealed = {piece.item for piece in pieces if piece.thinking}
    return Facts(outline, tuple(pieces), only_thinking=len(blocks) > 0 and not calls and len(sealed) == len(blocks))


def _called(calls: Any, path: Path, index: int) -> Iterator[Piece]:
    if path[-1] == "function_call":
        yield from _call(calls, path, index)
        return
    if not isinstance(calls, (list, tuple)):
        raise FormatError(index, where(path), found(calls), "a list of calls or null")
    for k, call in enumerate(calls):
        at = (*path, k)
        if not readable(call):
            raise FormatError(index, where(at), type(call).__name__, "a mapping with a name")
        text_at(call, (*at, "id"), index)
        function = get(call, "function")  # as Chat Completions has it
        yield from _call(function, (*at, "function"), index) if readable(function) else _call(call, at, index)


def _call(call: Any, path: Path, index: int) -> Iterator[Piece]:
    key = next((key for key in ("args", "arguments", "input") if get(call, key) is not None), "args")
    return called(call, path, index, key)


def _block(turn: Turn, block: Any, path: Path, index: int, listed: bool) -> Iterator[Piece]:
    observation = 0 if turn == "result" else None
    if isinstance(block, str):
        yield Piece(path, block, observation=observation, item=path)
        return
    if not readable(block):
        raise FormatError(index, where(path), type(block).__name__, "a string or a mapping")
    kind, text = text_in(block, "type"), get(block, "text")
    own = (*path, "text")
    if (media := _media(block, kind)) is not None:
        yield Piece(path, media=media)
    elif observation is not None and isinstance(text, str):
        yield Piece(own, text, observation=observation, item=path)
    elif turn == "model" and kind in _CALLS:
        # Where the calls are listed it says one of them again.
        yield from () if listed else _call(block, path, index)
    elif kind == "text":
        if not isinstance(text, str):
            raise FormatError(index, where(own), found(text), "a string")
        yield Piece(own, text)
    elif kind in _THINKING:
        yield from _thinking(block, kind, path)
    elif kind == "refusal":
        yield Piece((*path, "refusal"), text_in(block, "refusal") or "")
    else:
        yield from unknown_texts(block, path)


def _thinking(block: Any, kind: str, path: Path) -> Iterator[Piece]:
    """What the model thought, as one provider or another has it."""
    nested = get(block, "reasoning_content")  # Bedrock's
    inner = nested if readable(nested) else block
    texts = [text for key in ("thinking", "reasoning", "text") if (text := text_in(inner, key)) is not None][:1]
    summary = get(block, "summary")
    texts += [text for each in (summary if isinstance(summary, (list, tuple)) else ()) if (text := text_in(each, "text")) is not None]
    signature = text_in(inner, "signature")
    signature = text_in(get(block, "extras"), "signature") if signature is None else signature
    sealed = [signature, text_in(block, "data") if kind == "redacted_thinking" else None]
    signed = kind == "redacted_thinking" or any(sealed)
    for k, text in enumerate(texts):
        yield Piece((*path, "text", k), text, item=path, thinking=signed)
    for k, data in enumerate([*sealed, text_in(block, "encrypted_content")]):
        yield Piece((*path, "sealed", k), data or "", "opaque", item=path, thinking=signed)


def _media(block: Any, kind: Any) -> Media | None:
    """A picture, a sound, a file: as its provider has it, or as LangChain does, with the data beside the type."""
    data = text_in(block, "base64")
    data = text_in(block, "data") if data is None else data
    if kind in _IMAGES:
        image = image_of(block)
        return Image(image.low, image_size(data)) if image.size is None and data is not None else image
    if kind in _AUDIOS:
        inner = text_in(get(block, "input_audio"), "data")
        length = None if inner is None else duration(inner)
        return Audio(duration(data) if length is None and data is not None else length)
    return File() if kind in _FILES else None


def lead(message: Any) -> tuple[PartCut, ...] | None:
    """Nothing: what instructs is a message of its own."""
    return None


# Flaws


def flaws(messages: Sequence[Any], facts: Sequence[Facts]) -> Iterator[Violation]:
    """User turns without a content, and calls and results without an id."""
    for index, (message, read) in enumerate(zip(messages, facts, strict=True)):
        content = get(find(message, index).record, "content")
        if read.outline.turn == "user" and (content is None or (isinstance(content, (str, list, tuple)) and not content)):
            yield Violation("missing_content", index, "it has no content", ())
        if any(tie.family == "tool" and tie.id is None for tie in read.outline.ties):
            yield Violation("missing_id", index, "a call or a result has no id", ())
