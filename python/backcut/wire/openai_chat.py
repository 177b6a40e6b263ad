"""OpenAI Chat Completions, and what its clones add: sections 1, 4 and 9 of ``docs/rules.md``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import FormatError
from ..media import Audio, File, Image, duration, image_size
from ..report import PartCut, Violation
from .common import (
    Facts,
    Outline,
    Path,
    Piece,
    Tie,
    Turn,
    called,
    compact,
    found,
    get,
    identity,
    image_of,
    only_text,
    readable,
    role_of,
    text_at,
    text_in,
    unknown_texts,
    where,
)

name = "openai-chat"
merges = False
insists_on_user = False
has_system_turns = True
takes_late: tuple[str, ...] = ()

_TURNS: dict[str, Turn] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "model",
    "tool": "result",
    "function": "result",
}
IMAGES = ("image_url", "image", "input_image")
AUDIOS = ("input_audio", "audio", "audio_url")
_FILES = ("file", "document", "document_url", "input_file", "video", "video_url")


def outline(message: Any, index: int) -> Outline:
    """The role, and the ids by which calls and results find each other."""
    role = role_of(message, index, tuple(_TURNS))
    return Outline(role, _TURNS[role], tuple(_ties(message, role)))


def _ties(message: Any, role: str) -> Iterator[Tie]:
    if role == "assistant":
        calls = get(message, "tool_calls")
        for call in calls if isinstance(calls, (list, tuple)) else ():
            yield Tie("call", "tool", identity(get(call, "id")) if readable(call) else None)
        if readable(get(message, "function_call")):
            yield Tie("call", "legacy", None)
    elif role == "tool":
        for result in tuple(responses_of(message).values()) or (message,):
            yield Tie("result", "tool", identity(get(result, "tool_call_id")))
    elif role == "function":
        yield Tie("result", "legacy", None)


def responses_of(message: Any) -> dict[int, Any]:
    """``tool_responses`` of AG2 0.2, by place: results of several calls in one message of the tools', unless it is a result itself."""
    listed, own = get(message, "tool_responses"), get(message, "tool_call_id")
    if own not in (None, "") or get(message, "role") != "tool" or not isinstance(listed, (list, tuple)):
        return {}
    return {k: response for k, response in enumerate(listed) if readable(response)}


def read(message: Any, index: int, outline: Outline, *, names: bool) -> Facts:
    """Everything that counts, checked in the order of the table in the rules."""
    role = outline.role
    responses = responses_of(message)
    pieces = list(_answers(responses, index) if responses else _content(message, index, role))
    if role == "assistant":
        refusal = text_at(message, ("refusal",), index)
        said = {"refusal": refusal, **{key: get(message, key) for key in ("reasoning_content", "reasoning")}}
        pieces += [Piece((key,), text) for key, text in said.items() if isinstance(text, str)]
        pieces += [Piece((key,), text) for key in ("thinking", "tool_plan") if (text := text_in(message, key)) is not None]
        if not any(isinstance(said[key], str) for key in ("reasoning_content", "reasoning")):
            pieces += _reasoning_details(message)
        if get(message, "audio") is not None:
            pieces.append(Piece(("audio",), media=Audio()))
    images = get(message, "images")  # Ollama's, in base64
    for k, data in enumerate(images if isinstance(images, (list, tuple)) else ()):
        pieces.append(Piece(("images", k), media=Image(False, image_size(data) if isinstance(data, str) else None)))
    if names and (speaker := text_at(message, ("name",), index)):
        pieces.append(Piece(("name",), speaker, "name", "name"))
    if role == "assistant":
        pieces += _calls(message, index)
    if role == "tool" and not responses:
        text_at(message, ("tool_call_id",), index)
    return Facts(outline, tuple(pieces))


def _answers(responses: dict[int, Any], index: int) -> Iterator[Piece]:
    """Each is sent as a message of its own; the content beside them, which repeats them, is not."""
    for number, (k, response) in enumerate(responses.items()):
        path = ("tool_responses", k, "content")
        if number:
            yield Piece(path[:2], "tool", "name", "message")
        content = get(response, "content")
        if content is not None:
            yield Piece(path, _json(content, path, index), observation=number)


def _reasoning_details(message: Any) -> Iterator[Piece]:
    """OpenRouter's, which say the same as ``reasoning`` where that is there."""
    details = get(message, "reasoning_details")
    for k, detail in enumerate(details if isinstance(details, (list, tuple)) else ()):
        for key in ("text", "summary", "signature", "data"):
            if (text := text_in(detail, key)) is not None:
                yield Piece(("reasoning_details", k, key), text, "said" if key in ("text", "summary") else "opaque")


def _json(value: Any, path: Path, index: int) -> str:
    if isinstance(value, str):
        return value
    try:
        return compact(value)
    except ValueError:
        raise FormatError(index, where(path), found(value), "a string or a JSON value") from None


def read_content(message: Any, index: int, outline: Outline) -> Facts:
    """The content alone."""
    return Facts(outline, tuple(_content(message, index, outline.role)))


def _content(message: Any, index: int, role: str) -> Iterator[Piece]:
    content = get(message, "content")
    observation = 0 if role in ("tool", "function") else None
    if content is None:
        return
    if isinstance(content, str):
        yield Piece(("content",), content, observation=observation)
        return
    if not isinstance(content, (list, tuple)):
        raise FormatError(index, "content", found(content), "a string, a list of parts or null")
    beside_calls = role == "assistant" and get(message, "tool_calls") is not None
    for place, part in enumerate(content):
        yield from _part(part, ("content", place), index, beside_calls, observation)


def _part(part: Any, path: Path, index: int, beside_calls: bool, observation: int | None) -> Iterator[Piece]:
    if isinstance(part, str):
        yield Piece(path, part, observation=observation, item=path)
        return
    if not readable(part):
        raise FormatError(index, where(path), type(part).__name__, "a string or a mapping")
    kind, text = text_in(part, "type"), get(part, "text")
    own = (*path, "text")
    if kind == "document" and readable(document := get(part, "document")):
        yield _document(document, (*path, "document"), index, observation, path)
        return
    if kind == "text":
        if not isinstance(text, str):
            raise FormatError(index, where(own), found(text), "a string")
        yield Piece(own, text, observation=observation, item=path)
        return
    refusal = get(part, "refusal") if kind == "refusal" else None
    if kind == "refusal" and not isinstance(refusal, str):
        raise FormatError(index, where((*path, "refusal")), found(refusal), "a string")
    silent = kind in (*IMAGES, *AUDIOS, *_FILES, "refusal") or (kind == "tool_use" and beside_calls)
    if isinstance(text, str):
        yield Piece(own, text, "silent" if silent else "said", observation=observation, item=path)
    elif not silent:
        yield from unknown_texts(part, path)
    if kind == "refusal":
        yield Piece((*path, "refusal"), refusal or "")
    elif kind in IMAGES:
        yield Piece(path, media=image_of(part))
    elif kind in AUDIOS:
        yield Piece(path, media=audio_of(part))
    elif kind in _FILES:
        yield Piece(path, media=File())


def audio_of(part: Any) -> Audio:
    """A sound as OpenAI has it."""
    data = text_in(get(part, "input_audio"), "data")
    return Audio(None if data is None else duration(data))


def _document(document: Any, path: Path, index: int, observation: int | None, item: Path) -> Piece:
    """What a document of Cohere's says: its only entry if that is a text, so that a shortened one is read as it was written."""
    if (only := only_text(document)) is not None:
        return Piece((*path, only[0]), only[1], observation=observation, item=item)
    return Piece(path, _json(document, path, index), observation=observation, item=item)


def _calls(message: Any, index: int) -> Iterator[Piece]:
    calls = get(message, "tool_calls")
    if calls is not None and not isinstance(calls, (list, tuple)):
        raise FormatError(index, "tool_calls", found(calls), "a list of calls or null")
    for k, call in enumerate(calls or ()):
        path: Path = ("tool_calls", k)
        key = next((key for key in ("function", "custom") if readable(call) and get(call, key) is not None), None)
        if key is None:
            raise FormatError(index, where(path), type(call).__name__, "a mapping with function or custom")
        text_at(call, (*path, "id"), index)
        yield from _called(get(call, key), (*path, key), index, "arguments" if key == "function" else "input")
    legacy = get(message, "function_call")
    if legacy is not None:
        yield from _called(legacy, ("function_call",), index, "arguments")


def _called(call: Any, path: Path, index: int, key: str) -> Iterator[Piece]:
    if not readable(call):
        raise FormatError(index, where(path), found(call), "a mapping with a name")
    return called(call, path, index, key)


def lead(message: Any) -> tuple[PartCut, ...] | None:
    """Nothing: what instructs is a message of its own."""
    return None


def flaws(messages: Sequence[Any], facts: Sequence[Facts]) -> Iterator[Violation]:
    """What a provider would refuse of each message by itself."""
    for index, (message, read) in enumerate(zip(messages, facts, strict=True)):
        yield from _flaws(message, index, read.outline)


def _flaws(message: Any, index: int, outline: Outline) -> Iterator[Violation]:
    role, ties = outline.role, outline.ties
    content = get(message, "content")
    legacy = any(tie.family == "legacy" for tie in ties)
    calls = any(tie.family == "tool" for tie in ties)
    speaks = role == "assistant" and (ties or any(get(message, key) is not None for key in ("refusal", "audio")))
    responses = responses_of(message)
    content = None if responses else content
    if content is None and not speaks and not responses:
        yield Violation("missing_content", index, f"this {role} message has no content", ())
    if role == "assistant":
        if get(message, "tool_calls") is not None and not calls:
            yield Violation("empty_tool_calls", index, "tool_calls is an empty list; leave the key out", ())
        if calls and legacy:
            yield Violation("mixed_calls", index, "tool_calls and function_call do not go together", ())
        if any(tie.family == "tool" and tie.id is None for tie in ties):
            yield Violation("missing_id", index, "a call has no id", ())
    if role == "tool":
        if any(tie.id is None for tie in ties):
            yield Violation("missing_id", index, "this result has no tool_call_id", ())
        parts = content if isinstance(content, (list, tuple)) else ()
        if not all(map(_is_text, parts)):
            yield Violation("media_in_result", index, "a result may hold text only", ())
    if role == "function" and not (isinstance(speaker := get(message, "name"), str) and speaker):
        yield Violation("missing_id", index, "this result has no name", ())


def _is_text(part: Any) -> bool:
    if isinstance(part, str) or text_in(part, "type") == "text":
        return True
    return text_in(part, "type") == "document" and readable(get(part, "document"))
