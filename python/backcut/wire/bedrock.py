"""Bedrock Converse. Source: the API's reference of ``Message`` and ``ContentBlock``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import FormatError
from ..media import Audio, File, Image, Media, duration, image_size
from ..report import PartCut, Violation
from .common import (
    Facts,
    Outline,
    Path,
    Piece,
    Tie,
    Turn,
    compact,
    first_of,
    found,
    get,
    identity,
    readable,
    result_text,
    role_of,
    text_at,
    text_in,
    where,
)

name = "bedrock"
merges = True
insists_on_user = True
has_system_turns = False
takes_late: tuple[str, ...] = ()

_TURNS: dict[str, Turn] = {"user": "user", "assistant": "model"}
_BLOCKS = (
    "text",
    "toolUse",
    "toolResult",
    "reasoningContent",
    "image",
    "document",
    "video",
    "audio",
    "searchResult",
    "guardContent",
    "citationsContent",
    "cachePoint",
)
"""A block has one key, which says what it is."""


def _blocks(message: Any) -> Sequence[Any]:
    """The blocks of a message, readable or not; none of a text."""
    content = get(message, "content")
    return content if isinstance(content, (list, tuple)) else ()


def held_in(block: Any) -> tuple[str, Any]:
    """What a block is, and what is in it; an empty word where nobody knows."""
    if not readable(block):
        return "", None
    if isinstance(block, dict):  # what stands first counts, were there ever two
        return next(((key, value) for key, value in block.items() if key in _BLOCKS and value is not None), ("", None))
    return first_of(block, _BLOCKS) or ("", None)


def family_of(key: str, held: Any, turn: Turn) -> str | None:
    """To whom a call or a result belongs; ``None`` of what has no place in this turn.

    A tool that the provider runs says so, and its result stands in the model's message.
    """
    kind = text_in(held, "type")
    if turn == "model":
        if kind == "server_tool_use" if key == "toolUse" else kind is not None:
            return "server"
        return "tool" if key == "toolUse" else None
    return "tool" if key == "toolResult" and turn == "result" else None


# Outline


def outline(message: Any, index: int) -> Outline:
    """The role, and every ``toolUse`` and ``toolResult`` where it belongs."""
    role = role_of(message, index, tuple(_TURNS))
    turn = _TURNS[role]
    blocks = _blocks(message)
    if turn == "user" and any(readable(block) and get(block, "toolResult") is not None for block in blocks):
        turn = "result"
    ties = []
    for key, held in map(held_in, blocks):
        family = family_of(key, held, turn) if key in ("toolUse", "toolResult") else None
        if family is not None:
            tied = identity(get(held, "toolUseId")) if readable(held) else None
            ties.append(Tie("call" if key == "toolUse" else "result", family, tied))
    return Outline(role, turn, tuple(ties))


# Facts


def read(message: Any, index: int, outline: Outline, *, names: bool) -> Facts:
    """The content, block by block."""
    content = get(message, "content")
    if content is None:
        return Facts(outline)
    if isinstance(content, str):
        return Facts(outline, (Piece(("content",), content),))
    if not isinstance(content, (list, tuple)):
        raise FormatError(index, "content", found(content), "a string, a list of blocks or null")
    pieces: list[Piece] = []
    for place, block in enumerate(content):
        pieces += _block(block, ("content", place), index, outline.turn)
    facts = Facts(outline, tuple(pieces))
    # Roles must alternate, and a mark of the cache alone is no content.
    marks = sum(held_in(block)[0] == "cachePoint" for block in content)
    return Facts(outline, tuple(pieces), thinking_stays=len(facts.thinking) == len(content) - marks)


def _block(block: Any, path: Path, index: int, turn: Turn) -> Iterator[Piece]:
    if isinstance(block, str):
        yield Piece(path, block)
        return
    if not readable(block):
        raise FormatError(index, where(path), type(block).__name__, "a string or a mapping")
    key, held = held_in(block)
    inside = (*path, key)
    if key in ("toolUse", "toolResult", "reasoningContent") and not readable(held):
        raise FormatError(index, where(inside), found(held), "a mapping")
    if key == "toolUse":
        text_at(held, (*inside, "toolUseId"), index)
        called = text_at(held, (*inside, "name"), index)
        yield Piece((*inside, "name"), figure="call") if called is None else Piece((*inside, "name"), called, "name", "call")
        given = get(held, "input")
        if given is not None:
            yield Piece((*inside, "input"), _json(given, (*inside, "input"), index))
    elif key == "toolResult":
        text_at(held, (*inside, "toolUseId"), index)
        yield Piece(inside, figure="result")
        # What the provider's own tool gave back stands in the model's message and is not cut.
        yield from _result(get(held, "content"), (*inside, "content"), index, int(path[1]) if turn != "model" else None)
    elif key == "reasoningContent":
        yield from _thinking(held, path, index)
    elif key:
        yield from _shown(key, held, inside, index)


def _json(value: Any, path: Path, index: int) -> str:
    if isinstance(value, str):
        return value
    try:
        return compact(value)
    except ValueError:
        raise FormatError(index, where(path), found(value), "a string or a JSON value") from None


def _thinking(held: Any, path: Path, index: int) -> Iterator[Piece]:
    """What the model thought; signed, or sealed, it is bound to what stands in front of it."""
    said, at = get(held, "reasoningText"), (*path, "reasoningContent", "reasoningText")
    if said is not None and not readable(said):
        raise FormatError(index, where(at), found(said), "a mapping")
    text = None if said is None else text_at(said, (*at, "text"), index)
    sealed = get(held, "redactedContent")
    secrets = [secret for secret in (text_in(said, "signature"), sealed) if secret]
    signed = bool(secrets) or sealed is not None
    item = path if signed else None
    if signed:
        yield Piece(path, kind="silent", item=item, thinking=True)
    if text is not None:
        yield Piece((*at, "text"), text, item=item, thinking=signed)
    for secret in secrets:
        if isinstance(secret, str):  # bytes in the SDK, of which nothing is counted
            yield Piece((*path, "reasoningContent"), secret, "opaque", item=item, thinking=True)


def _result(content: Any, path: Path, index: int, observation: int | None) -> Iterator[Piece]:
    """The content of a result: its texts and its JSON share a cap, all else stays as it is."""
    if content is None:
        return
    if isinstance(content, str):
        yield Piece(path, content, observation=observation)
        return
    if not isinstance(content, (list, tuple)):
        raise FormatError(index, where(path), found(content), "a string, a list of blocks or null")
    for k, block in enumerate(content):
        item = (*path, k)
        if isinstance(block, str):
            yield Piece(item, block, observation=observation, item=item)
            continue
        if not readable(block):
            raise FormatError(index, where(item), type(block).__name__, "a string or a mapping")
        data = get(block, "json")
        key, held = held_in(block)
        if data is not None:
            place, text = result_text(data, (*item, "json"), index)
            yield Piece(place, text, observation=observation, item=item)
        elif key == "text":
            for piece in _shown(key, held, (*item, key), index):
                yield Piece(piece.path, piece.text, observation=observation, item=item)
        elif key:
            yield from _shown(key, held, (*item, key), index)


def _shown(key: str, held: Any, path: Path, index: int) -> Iterator[Piece]:
    """A block that says or shows something by itself: nothing but a text must be what it should."""
    if key == "text":
        if not isinstance(held, str):
            raise FormatError(index, where(path), found(held), "a string")
        yield Piece(path, held)
    elif not readable(held):
        return
    elif key == "guardContent":
        text, image = get(held, "text"), get(held, "image")
        if readable(text):
            yield from _said(text, (*path, "text"), "text")
        if readable(image):
            yield from _media(key="image", held=image, path=(*path, "image"))
    elif key == "searchResult":
        yield from _said(held, path, "title", "source", "content")
    elif key == "citationsContent":
        yield from _said(held, path, "content")
    elif key in ("image", "document", "video", "audio"):
        yield from _media(key, held, path)


def _said(held: Any, path: Path, *keys: str) -> Iterator[Piece]:
    """The texts under keys of a record, and those of the blocks in lists."""
    for key in keys:
        value = get(held, key)
        if isinstance(value, str):
            yield Piece((*path, key), value)
        for k, block in enumerate(value if isinstance(value, (list, tuple)) else ()):
            text = text_in(block, "text")
            if text is not None:
                yield Piece((*path, key, k, "text"), text)


def _media(key: str, held: Any, path: Path) -> Iterator[Piece]:
    """A picture, a sound, a video, a document: one that holds its text costs that."""
    source = get(held, "source")
    if key == "document":
        yield from _said(held, path, "context")
        if readable(source) and first_of(source, ("text", "content")) is not None:
            yield from _said(source, (*path, "source"), "text", "content")
            return
    data = text_in(source, "bytes")  # base64 on the wire; bytes in the SDK, of which nothing is known
    media: Media = File()
    if key == "image":
        media = Image(low=False, size=None if data is None else image_size(data))
    elif key == "audio":
        media = Audio(None if data is None else duration(data))
    yield Piece(path, media=media)


def lead(message: Any) -> tuple[PartCut, ...] | None:
    """Nothing: what instructs stands outside of the messages."""
    return None


# Flaws


def flaws(messages: Sequence[Any], facts: Sequence[Facts]) -> Iterator[Violation]:
    """What the provider would refuse, calls and results aside."""
    outlines = [read.outline for read in facts]
    if outlines[0].turn != "user":
        yield Violation("first_not_user", 0, "the conversation does not begin with a plain user turn", ())
    for index, (message, each) in enumerate(zip(messages, outlines, strict=True)):
        if index > 0 and each.role == outlines[index - 1].role:
            yield Violation("repeated_role", index, "the message before it has the same role", ())
        if not get(message, "content"):
            yield Violation("missing_content", index, "it has no content", ())
            continue
        blocks = [("text", block) if isinstance(block, str) else held_in(block) for block in _blocks(message)]
        kinds = [key for key, _ in blocks]
        texts = [held for key, held in blocks if key == "text"]
        if any(isinstance(text, str) and not text.strip() for text in [get(message, "content"), *texts]):
            yield Violation("blank_text", index, "a text is empty or white space", ())
        if "document" in kinds and "text" not in kinds and each.role == "user":
            yield Violation("document_without_text", index, "a document has no text beside it", ())
        tied = [(key, held) for key, held in blocks if key in ("toolUse", "toolResult")]
        if any(family_of(key, held, each.turn) is None for key, held in tied) or ("reasoningContent" in kinds and each.turn != "model"):
            sentence = "a call or a thought stands in a user message, or a result in an assistant message"
            yield Violation("misplaced_block", index, sentence, ())
        if each.turn == "result":
            results = [key == "toolResult" for key in kinds if key != "cachePoint"]
            if not all(results[: sum(results)]):
                yield Violation("text_before_result", index, "results come first in a message, all else behind them", ())
        if any(key == "toolResult" and get(held, "status") == "error" and not get(held, "content") for key, held in tied):
            yield Violation("empty_result", index, "a result with status error says nothing", ())
        yield from _ids([get(held, "toolUseId") for _, held in tied], index)


def _ids(ids: Sequence[Any], index: int) -> Iterator[Violation]:
    if not all(ids):
        yield Violation("missing_id", index, "a call or a result has no id", ())
    wrong = [each for each in ids if each and re.fullmatch("[a-zA-Z0-9_.:-]{1,64}", each) is None]
    if wrong:
        yield Violation("invalid_id", index, "an id has 1 to 64 letters, digits, and characters of _-.:", tuple(wrong))
