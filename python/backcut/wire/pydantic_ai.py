"""pydantic-ai: ``ModelRequest`` and ``ModelResponse``, as objects or as their JSON. Source: ``pydantic_ai/messages.py``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ..errors import FormatError, shorten
from ..media import Audio, File, Image, Media, data_of, duration, image_size
from ..report import PartCut, Violation
from ..sent import sent
from .common import (
    Facts,
    Kind,
    Outline,
    Path,
    Piece,
    Tie,
    Turn,
    compact,
    found,
    get,
    identity,
    only_text,
    plain,
    readable,
    text_at,
    text_in,
    where,
)

name = "pydantic-ai"
merges = True
insists_on_user = True
has_system_turns = False
takes_late: tuple[str, ...] = ("server",)  # the library leaves them wherever they stand

_CALLS = {"tool-call": "tool", "builtin-tool-call": "server"}
_BOUND = (None, "anthropic", "bedrock")
_ROLES: dict[Turn, str] = {"system": "system", "user": "user", "result": "user", "model": "assistant"}


def _kind(part: Any) -> str:
    return text_in(part, "part_kind") or ""


def _result_family(part: Any) -> str | None:
    """The family of what a part answers; a retry that names no tool answers nothing."""
    kind = _kind(part)
    if kind == "tool-return" or (kind == "retry-prompt" and identity(get(part, "tool_name")) is not None):
        return "tool"
    return "server" if kind == "builtin-tool-return" else None


def _parts(message: Any) -> Sequence[Any]:
    """The parts of a message, readable or not."""
    parts = get(message, "parts")
    return parts if isinstance(parts, (list, tuple)) else ()


def _is_system(part: Any) -> bool:
    return _kind(part) == "system-prompt"


# Outline


def outline(message: Any, index: int) -> Outline:
    """The kind, and every call and return where it belongs."""
    if not readable(message):
        raise FormatError(index, "", type(message).__name__, "a mapping or an object with a kind")
    kind = get(message, "kind")
    if kind not in ("request", "response"):
        seen = shorten(plain(kind)) if isinstance(kind, str) else found(kind)
        raise FormatError(index, "kind", seen, "one of request, response")
    parts = [part for part in _parts(message) if readable(part)]
    turn: Turn = "model" if kind == "response" else _turn(parts)
    return Outline(_ROLES[turn], turn, tuple(tie for part in parts if (tie := _tie(part, turn)) is not None))


def _turn(parts: Sequence[Any]) -> Turn:
    if any(_result_family(part) == "tool" for part in parts):
        return "result"
    return "system" if parts and all(map(_is_system, parts)) else "user"


def _tie(part: Any, turn: Turn) -> Tie | None:
    family, call_id = _result_family(part), identity(get(part, "tool_call_id"))
    if family is not None and turn == ("result" if family == "tool" else "model"):
        return Tie("result", family, call_id)
    called = _CALLS.get(_kind(part))
    return Tie("call", called, call_id) if called is not None and turn == "model" else None


# Facts


def read(message: Any, index: int, outline: Outline, *, names: bool) -> Facts:
    """All parts, in order."""
    parts = get(message, "parts")
    if parts is None:
        return Facts(outline)
    if not isinstance(parts, (list, tuple)):
        raise FormatError(index, "parts", found(parts), "a list of parts")
    pieces: list[Piece] = []
    observations = 0
    for k, part in enumerate(parts):
        path: Path = ("parts", k)
        if not readable(part):
            raise FormatError(index, where(path), type(part).__name__, "a part")
        pieces += _part(part, path, index, observations)
        observations += _result_family(part) == "tool"
    return Facts(outline, tuple(pieces), len(parts) > 0 and all(map(_is_bound, parts)))


def _part(part: Any, path: Path, index: int, observation: int) -> Iterator[Piece]:
    kind, content, inside = _kind(part), get(part, "content"), (*path, "content")
    family = _result_family(part)
    if kind in _CALLS:
        args = get(part, "args")
        yield Piece((*path, "tool_name"), text_in(part, "tool_name") or "", "name", "call")
        yield from _text((*path, "args"), None if args is None else _said(args))
    elif family is not None:
        yield Piece(path, figure="result")
        yield from _returned(content, inside, observation if family == "tool" else None)
    elif kind in ("system-prompt", "text"):
        yield from _text(inside, text_at(part, inside, index))
    elif kind == "user-prompt":
        yield from _prompt(content, inside, index)
    elif kind == "thinking":
        pieces = [*_text(inside, text_at(part, inside, index)), *_text((*path, "signature"), text_in(part, "signature") or None, "opaque")]
        yield from (replace(piece, item=path, thinking=True) for piece in pieces) if _is_bound(part) else pieces
    elif kind in ("retry-prompt", "retry-feedback"):
        yield from _text(inside, None if content is None else _said(content))
    elif kind == "file":
        yield from [Piece(inside, media=media)] if (media := _media(content)) is not None else []
    elif kind == "speech":
        yield from _text((*path, "transcript"), text_in(part, "transcript"))
    else:
        yield from _text(inside, text_in(part, "content"))
        if kind == "compaction":
            details = (*path, "provider_details", "encrypted_content")
            yield from _text(details, text_in(get(part, "provider_details"), "encrypted_content"), "opaque")


def _text(path: Path, text: str | None, kind: Kind = "said") -> Iterator[Piece]:
    if text is not None:
        yield Piece(path, text, kind)


def _is_bound(part: Any) -> bool:
    """Whether a part is thinking that is signed for Anthropic's models, which is bound to what stands in front of it."""
    provider = text_in(part, "provider_name")
    return _kind(part) == "thinking" and bool(text_in(part, "signature")) and provider in _BOUND


def _prompt(content: Any, path: Path, index: int) -> Iterator[Piece]:
    """What the user says: a string, or a list of strings, texts and media."""
    if content is None or isinstance(content, str):
        yield from _text(path, content)
        return
    if not isinstance(content, (list, tuple)):
        raise FormatError(index, where(path), found(content), "a string or a list of strings and media")
    for k, item in enumerate(content):
        place = (*path, k)
        if isinstance(item, str):
            yield Piece(place, item)
        elif not readable(item):
            raise FormatError(index, where(place), type(item).__name__, "a string or a mapping")
        elif (media := _media(item)) is not None:
            yield Piece(place, media=media)
        else:
            yield from _text((*place, "content"), text_in(item, "content"))


def _returned(content: Any, path: Path, observation: int | None) -> Iterator[Piece]:
    """What a tool gave back: JSON, or a list that holds media, which then stand beside its other items."""
    items = content if isinstance(content, (list, tuple)) else ()
    if content is None:
        return
    if any(_media(item) is not None for item in items):
        for k, item in enumerate(items):
            place, media = (*path, k), _media(item)
            if media is not None:
                yield Piece(place, media=media)
            else:
                yield Piece(place, _said(item), observation=observation, item=place)
    elif (media := _media(content)) is not None:
        yield Piece(path, media=media)
    else:
        if (only := only_text(content)) is not None:
            # So a mapping stays one whose text was cut.
            path, content = (*path, only[0]), only[1]
        yield Piece(path, _said(content), observation=observation)


def _said(value: Any) -> str:
    """A text as it is, all else as it is sent."""
    if isinstance(value, str):
        return value
    try:
        return compact(value)
    except ValueError:
        return sent(value)


def _media(value: Any) -> Media | None:
    """What a value shows, if it does."""
    if not readable(value):
        return None
    kind, of = text_in(value, "kind"), None
    if kind in ("binary", "uploaded-file"):
        of = text_in(value, "media_type") or ""
    if kind == "image-url" or (of is not None and of.startswith("image")):
        url = text_in(value, "url")
        data = _data(value) if url is None else data_of(url)
        low = text_in(get(value, "vendor_metadata"), "detail") == "low"
        return Image(low, None if data is None else image_size(data))
    if kind == "audio-url" or (of is not None and of.startswith("audio")):
        data = _data(value)
        return Audio(None if data is None else duration(data))
    return File() if of is not None or kind in ("video-url", "document-url") else None


def _data(value: Any) -> str | None:
    """Its bytes in base64: so they stand in JSON, and so objects give them when they are asked."""
    data = text_in(value, "data")
    return text_in(value, "base64") if data is None else data


def lead(message: Any) -> tuple[PartCut, ...] | None:
    """The system prompts of a request that says more than these."""
    parts = _parts(message)
    others = [k for k, part in enumerate(parts) if not _is_system(part)]
    if len(others) in (0, len(parts)):
        return None
    return tuple(PartCut(("parts", k), 0, 0, "", dropped=True) for k in others)


# Flaws


def flaws(messages: Sequence[Any], facts: Sequence[Facts]) -> Iterator[Violation]:
    """What the library would have to mend, calls and results aside."""
    for index, (message, each) in enumerate(zip(messages, facts, strict=True)):
        parts = _parts(message)
        silent = each.outline.turn != "model" and not parts and identity(get(message, "instructions")) is None
        # As the last one it asks the model to go on.
        if silent and index + 1 < len(messages):
            yield Violation("missing_content", index, "this request has no parts", ())
        if any(tie.id is None for tie in each.outline.ties):
            yield Violation("missing_id", index, "a call or a result has no id", ())
