"""Google Gemini, contents and parts. Sources: the API's reference of ``Content`` and ``Part``, and the types of Google's SDK."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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

name = "gemini"
merges = True
insists_on_user = True
has_system_turns = False
takes_late: tuple[str, ...] = ()

_TURNS: dict[str, Turn] = {"user": "user", "model": "model", "function": "result", "tool": "result"}
"""``tool`` is what the examples of Google's own SDK say where the wire says ``user`` or ``function``."""

# On the wire and in the SDK.
CALL = ("functionCall", "function_call")
RESPONSE = ("functionResponse", "function_response")
_SERVER_CALL = ("toolCall", "tool_call")
_SERVER_RESPONSE = ("toolResponse", "tool_response")
_INLINE = ("inlineData", "inline_data")
_FILE = ("fileData", "file_data")
_CODE = ("executableCode", "executable_code")
_OUTCOME = ("codeExecutionResult", "code_execution_result")
_SIGNATURE = ("thoughtSignature", "thought_signature")
_HELD = (CALL, RESPONSE, _SERVER_CALL, _SERVER_RESPONSE, _INLINE, _FILE, _CODE, _OUTCOME, _SIGNATURE)


def _parts(message: Any) -> Sequence[Any]:
    """The parts of a message, readable or not; none of a text."""
    parts = get(message, "parts")
    return parts if isinstance(parts, (list, tuple)) else ()


def _records(parts: Sequence[Any]) -> list[Any]:
    return [part for part in parts if readable(part)]


# Outline


def outline(message: Any, index: int) -> Outline:
    """The role, the calls of the model's and the results of the others."""
    role = role_of(message, index, tuple(_TURNS))
    parts = _records(_parts(message))
    turn = _TURNS[role]
    if turn == "user" and any(first_of(part, RESPONSE) is not None for part in parts):
        turn = "result"
    if turn == "user":
        return Outline(role, turn)
    kind, names = ("call" if turn == "model" else "result"), (CALL if turn == "model" else RESPONSE)
    held = [entry[1] for part in parts if (entry := first_of(part, names)) is not None]
    ids = [identity(get(each, "id")) if readable(each) else None for each in held]
    return Outline(role, turn, tuple(Tie("call" if kind == "call" else "result", "tool", each) for each in ids))


# Facts


def read(message: Any, index: int, outline: Outline, *, names: bool) -> Facts:
    """The parts, one by one."""
    parts = get(message, "parts")
    if parts is None:
        return Facts(outline)
    if isinstance(parts, str):
        return Facts(outline, (Piece(("parts",), parts),))
    if not isinstance(parts, (list, tuple)):
        raise FormatError(index, "parts", found(parts), "a string, a list of parts or null")
    pieces: list[Piece] = []
    for place, part in enumerate(parts):
        pieces += _part(part, ("parts", place), index)
    return Facts(outline, tuple(pieces))


def _part(part: Any, path: Path, index: int) -> Iterator[Piece]:
    if isinstance(part, str):
        yield Piece(path, part)
        return
    if not readable(part):
        raise FormatError(index, where(path), type(part).__name__, "a string or a mapping")
    text = text_at(part, (*path, "text"), index, "a string")
    if text is not None:
        yield Piece((*path, "text"), text)
    for keys in _HELD:
        entry = first_of(part, keys)
        if entry is not None:
            yield from _held(keys, entry[1], (*path, entry[0]), index)


def _held(keys: tuple[str, str], held: Any, path: Path, index: int) -> Iterator[Piece]:
    """What a part holds under ``keys``."""
    if keys == _SIGNATURE:
        if isinstance(held, str):  # bytes in the SDK, of which nothing is counted
            yield Piece(path, held, "opaque")
        return
    if not readable(held):
        raise FormatError(index, where(path), found(held), "a mapping")
    if keys in (CALL, _SERVER_CALL):
        called = text_at(held, (*path, "name"), index)
        text_at(held, (*path, "id"), index)
        yield Piece((*path, "name"), figure="call") if called is None else Piece((*path, "name"), called, "name", "call")
        args = get(held, "args")
        if args is not None:
            yield Piece((*path, "args"), _json(args, (*path, "args"), index))
    elif keys in (RESPONSE, _SERVER_RESPONSE):
        text_at(held, (*path, "id"), index)
        yield Piece(path, figure="result")
        response = get(held, "response")
        if response is not None:
            place, text = result_text(response, (*path, "response"), index)
            # Each response is an observation of its own, by the place of its part.
            yield Piece(place, text, observation=int(path[1]) if keys == RESPONSE else None)
        parts = get(held, "parts")
        for inner in _records(parts if isinstance(parts, (list, tuple)) else ()):
            for shown in (first_of(inner, _INLINE), first_of(inner, _FILE)):
                if shown is not None and readable(shown[1]):
                    yield Piece(path, media=_media(shown[1]))
    elif keys in (_CODE, _OUTCOME):
        place = (*path, "code" if keys == _CODE else "output")
        said = text_at(held, place, index)
        if said is not None:
            yield Piece(place, said)
    else:
        yield Piece(path, media=_media(held))


def _json(value: Any, path: Path, index: int) -> str:
    if isinstance(value, str):
        return value
    try:
        return compact(value)
    except ValueError:
        raise FormatError(index, where(path), found(value), "a string or a JSON value") from None


def _media(held: Any) -> Media:
    """A picture, a sound or a file, by its media type."""
    entry = first_of(held, ("mimeType", "mime_type"))
    mime = entry[1] if entry is not None and isinstance(entry[1], str) else ""
    data = text_in(held, "data")
    if mime.startswith("image/"):
        return Image(low=False, size=None if data is None else image_size(data))
    if mime.startswith("audio/"):
        return Audio(None if data is None else duration(data))
    return File()


def lead(message: Any) -> tuple[PartCut, ...] | None:
    """Nothing: what instructs stands outside of the messages."""
    return None


# Flaws


def flaws(messages: Sequence[Any], facts: Sequence[Facts]) -> Iterator[Violation]:
    """What the provider would refuse, calls and results aside."""
    if facts[0].outline.turn != "user":
        yield Violation("first_not_user", 0, "the conversation does not begin with a plain user turn", ())
    for index, (message, read) in enumerate(zip(messages, facts, strict=True)):
        parts = _parts(message)
        if not get(message, "parts"):
            yield Violation("missing_content", index, "it has no parts", ())
        if any(is_empty(part) for part in parts):
            yield Violation("empty_part", index, "a part has nothing in it", ())
        turn = read.outline.turn
        records = _records(parts)
        if any(first_of(part, RESPONSE if turn == "model" else CALL) is not None for part in records):
            yield Violation("misplaced_block", index, "a call stands in a user's message, or a result in the model's", ())
        if turn == "result":
            results = [readable(part) and first_of(part, RESPONSE) is not None for part in parts]
            if not all(results[: sum(results)]):
                yield Violation("text_before_result", index, "results come first in a message, all else behind them", ())


def is_empty(part: Any) -> bool:
    """Whether nothing is in a part: no text, be it empty, nothing of what a part may hold, and nothing that nobody knows."""
    if isinstance(part, str):
        return not part
    if get(part, "text") is not None or any(first_of(part, keys) is not None for keys in _HELD):
        return False
    known = {"text", "thought", *(key for keys in _HELD for key in keys)}
    return not isinstance(part, Mapping) or known.issuperset(map(str, part))
