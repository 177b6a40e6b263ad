"""What the reference twin knows of a message: sections 1 and 4 of ``docs/rules.md`` in plain Python.

Reading a message (``read``), and which result answers which call (``pair``). Nothing here decides what is sent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .errors import FormatError, OptionError, shorten
from .media import Audio, File, Image, Media, data_of, duration, image_size

__all__ = [
    "FORMAT",
    "HEAD",
    "RESULTS",
    "Call",
    "Facts",
    "Pairing",
    "Part",
    "compact",
    "found",
    "get",
    "pair",
    "read",
    "read_content",
    "read_history",
    "read_role",
    "readable",
    "size_in_bytes",
]

FORMAT = "openai-chat"
ROLES = ("system", "developer", "user", "assistant", "tool", "function")
RESULTS = ("tool", "function")
HEAD = ("system", "developer")

_IMAGES = ("image_url", "image", "input_image")
_AUDIOS = ("input_audio", "audio", "audio_url")
_FILES = ("file", "document", "document_url", "input_file", "video", "video_url")


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
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(str(error)) from error


def size_in_bytes(text: str) -> int:
    """Length in UTF-8; a lone surrogate counts the three bytes that it would take."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


# Reading a history


def read_history(messages: Any) -> list[Any]:
    """The messages of a history, none of them looked at."""
    if isinstance(messages, (str, bytes, bytearray, memoryview)) or not isinstance(messages, Sequence):
        raise FormatError(None, "", type(messages).__name__, "a sequence of messages")
    return list(messages)


def read_role(message: Any, index: int, form: str) -> str:
    """The role: the one thing that is read of every message."""
    if not readable(message):
        raise FormatError(index, "", type(message).__name__, "a mapping or an object with a role")
    role = get(message, "role")
    if isinstance(role, str) and plain(role) in ROLES:
        return plain(role)
    if form == "auto":
        _refuse(_foreign_message(message, role), index)
    seen = shorten(plain(role)) if isinstance(role, str) else found(role)
    raise FormatError(index, "role", seen, "one of system, developer, user, assistant, tool, function")


def _foreign_message(message: Any, role: Any) -> str | None:
    kind, shape = get(message, "kind"), get(message, "type")
    if role == "model" or (get(message, "parts") is not None and kind is None):
        return "gemini"
    if kind in ("request", "response"):
        return "pydantic-ai"
    if role in ("toolResult", "bashExecution", "custom", "branchSummary", "compactionSummary"):
        return "pi"
    if shape in ("human", "ai", "tool", "system", "function"):
        return "langchain"
    return "openai-responses" if isinstance(shape, str) else None


def _foreign_part(part: Any) -> str | None:
    kind = get(part, "type")
    if kind in ("tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use"):
        return "anthropic"
    if kind == "toolCall":
        return "pi"
    if kind in ("input_text", "output_text"):
        return "openai-responses"
    if kind is None and (get(part, "toolUse") is not None or get(part, "toolResult") is not None):
        return "bedrock"
    return None


def _refuse(foreign: str | None, index: int) -> None:
    if foreign is not None:
        looks = f"messages[{index}] looks like {foreign}, which is not there yet"
        raise OptionError("format", "auto", f'{looks}; format="openai-chat" reads it as Chat Completions')


# Reading a message


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a content; a string content is one part without a place."""

    place: int | None
    """Index into the content list."""
    text: str | None = None
    """What a cap may shorten."""
    counts: bool = False
    """Whether ``text`` counts."""
    others: tuple[str, ...] = ()
    """What else counts."""
    media: Media | None = None
    """What it shows or plays."""
    is_text: bool = False
    """Whether it is a string or of type ``text``."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call as its assistant message makes it."""

    id: str | None
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What a message says."""

    role: str
    content: tuple[Part, ...] | None = None
    extra: tuple[str, ...] = ()
    """Refusal and reasoning."""
    audio: bool = False
    refused: bool = False
    name: str = ""
    tool_calls: tuple[Call, ...] | None = None
    function_call: Call | None = None
    result_id: str | None = None

    @property
    def calls(self) -> tuple[Call, ...]:
        """All calls, the legacy one last."""
        return (self.tool_calls or ()) + ((self.function_call,) if self.function_call else ())

    @property
    def content_texts(self) -> list[str]:
        """The texts of the content that count."""
        texts: list[str] = []
        for part in self.content or ():
            if part.counts and part.text is not None:
                texts.append(part.text)
            texts.extend(part.others)
        return texts

    @property
    def texts(self) -> list[str]:
        """The texts that count, each for itself."""
        return [*self.content_texts, *self.extra, *(call.arguments for call in self.calls)]

    @property
    def chars(self) -> int:
        """Size in code points."""
        return sum(map(len, self.texts))

    @property
    def media(self) -> list[Media]:
        """Pictures, sounds and files."""
        media = [part.media for part in self.content or () if part.media is not None]
        return [*media, Audio()] if self.audio else media


def read(message: Any, index: int, role: str, form: str, *, names: bool) -> Facts:
    """Everything that counts of a message whose role is known, checked in the order of the table in the rules."""

    def text_at(key: str, expected: str) -> str | None:
        value = get(message, key)
        if value is None or isinstance(value, str):
            return value
        raise FormatError(index, key, found(value), expected)

    if form == "auto" and get(message, "content") is None and get(message, "parts") is not None:
        _refuse("gemini", index)
    facts = read_content(message, index, role, form)
    if role == "assistant":
        refusal = text_at("refusal", "a string or null")
        said = (refusal, get(message, "reasoning_content"), get(message, "reasoning"))
        facts = replace(
            facts,
            extra=tuple(text for text in said if isinstance(text, str)),
            refused=refusal is not None,
            audio=get(message, "audio") is not None,
        )
    if names:
        facts = replace(facts, name=text_at("name", "a string or null") or "")
    if role == "assistant":
        facts = replace(facts, tool_calls=_read_tool_calls(message, index), function_call=_read_function_call(message, index))
    if role == "tool":
        facts = replace(facts, result_id=_id(text_at("tool_call_id", "a string or null")))
    return facts


def _id(text: Any) -> str | None:
    """An id; an empty one is none."""
    return plain(text) if isinstance(text, str) and text else None


def read_content(message: Any, index: int, role: str, form: str) -> Facts:
    """The content alone."""
    content = get(message, "content")
    if content is None:
        return Facts(role)
    if isinstance(content, str):
        return Facts(role, (Part(None, content, counts=True, is_text=True),))
    if not isinstance(content, (list, tuple)):
        raise FormatError(index, "content", found(content), "a string, a list of parts or null")
    beside_calls = role == "assistant" and get(message, "tool_calls") is not None
    parts = []
    for place, part in enumerate(content):
        if form == "auto" and not beside_calls and readable(part):
            _refuse(_foreign_part(part), index)
        parts.append(_read_part(part, place, index, beside_calls))
    return Facts(role, tuple(parts))


def _read_part(part: Any, place: int, index: int, beside_calls: bool) -> Part:
    if isinstance(part, str):
        return Part(place, part, counts=True, is_text=True)
    path = f"content[{place}]"
    if not readable(part):
        raise FormatError(index, path, type(part).__name__, "a string or a mapping")
    kind, text = get(part, "type"), get(part, "text")
    own = text if isinstance(text, str) else None
    if kind == "text":
        if own is None:
            raise FormatError(index, f"{path}.text", found(text), "a string")
        return Part(place, own, counts=True, is_text=True)
    if kind == "refusal":
        refusal = get(part, "refusal")
        if not isinstance(refusal, str):
            raise FormatError(index, f"{path}.refusal", found(refusal), "a string")
        return Part(place, own, others=(refusal,))
    if kind in _IMAGES:
        return Part(place, own, media=_read_image(part))
    if kind in _AUDIOS:
        data = _text_in(get(part, "input_audio"), "data")
        return Part(place, own, media=Audio(None if data is None else duration(data)))
    if kind in _FILES:
        return Part(place, own, media=File())
    if kind == "tool_use" and beside_calls:
        return Part(place, own)
    if own is not None:
        return Part(place, own, counts=True)
    return Part(place, others=_unknown_texts(part))


def _text_in(record: Any, key: str) -> str | None:
    """The text under a key of what may be a mapping."""
    value = get(record, key) if readable(record) else None
    return plain(value) if isinstance(value, str) else None


def _read_image(part: Any) -> Image:
    image = get(part, "image_url")
    low = "low" in (_text_in(part, "detail"), _text_in(image, "detail"))
    url = plain(image) if isinstance(image, str) else _text_in(image, "url")
    if url is not None:
        data = data_of(url)
    else:  # as Anthropic has it
        source = get(part, "source")
        data = _text_in(source, "data") if _text_in(source, "type") == "base64" else None
    return Image(low, None if data is None else image_size(data))


def _unknown_texts(part: Any) -> tuple[str, ...]:
    """The texts of a part of unknown type that has no ``text``."""
    thinking, content = get(part, "thinking"), get(part, "content")
    if isinstance(thinking, str):
        return (thinking,)
    if isinstance(content, str):
        return (content,)
    if not isinstance(content, (list, tuple)):
        return ()
    texts = (get(inner, "text") for inner in content if readable(inner))
    return tuple(text for text in texts if isinstance(text, str))


def _read_tool_calls(message: Any, index: int) -> tuple[Call, ...] | None:
    calls = get(message, "tool_calls")
    if calls is None:
        return None
    if not isinstance(calls, (list, tuple)):
        raise FormatError(index, "tool_calls", found(calls), "a list of calls or null")
    return tuple(_read_tool_call(call, f"tool_calls[{k}]", index) for k, call in enumerate(calls))


def _read_tool_call(call: Any, path: str, index: int) -> Call:
    key = next((key for key in ("function", "custom") if readable(call) and get(call, key) is not None), None)
    if key is None:
        raise FormatError(index, path, type(call).__name__, "a mapping with function or custom")
    call_id = get(call, "id")
    if call_id is not None and not isinstance(call_id, str):
        raise FormatError(index, f"{path}.id", found(call_id), "a string or null")
    called = _read_called(get(call, key), f"{path}.{key}", index, "arguments" if key == "function" else "input")
    return replace(called, id=_id(call_id))


def _read_function_call(message: Any, index: int) -> Call | None:
    called = get(message, "function_call")
    return None if called is None else _read_called(called, "function_call", index, "arguments")


def _read_called(called: Any, path: str, index: int, key: str) -> Call:
    if not readable(called):
        raise FormatError(index, path, found(called), "a mapping with a name")
    name, arguments = get(called, "name"), get(called, key)
    if name is not None and not isinstance(name, str):
        raise FormatError(index, f"{path}.name", found(name), "a string")
    if arguments is not None and not isinstance(arguments, str):
        try:
            arguments = compact(arguments)
        except ValueError:
            raise FormatError(index, f"{path}.{key}", found(arguments), "a string or a JSON value") from None
    return Call(None, name or "", arguments or "")


# Calls and results


@dataclass(slots=True)
class Pairing:
    """Which result answers which call, by index of the message."""

    late: dict[int, int] = field(default_factory=dict)
    """Late results, each with the message whose call it answers."""
    orphans: list[int] = field(default_factory=list)
    """Results that answer nothing."""
    unanswered: dict[int, list[str]] = field(default_factory=dict)
    """Messages with a call that has no result, each with the ids of those calls."""


@dataclass(slots=True)
class _Open:
    """A call that waits for its result."""

    at: int
    id: str | None
    legacy: bool
    answered: bool = False


def _calls(message: Any, at: int) -> list[_Open]:
    """The calls of an assistant message that need not have been checked: what cannot be read is no call or has no id."""
    calls = get(message, "tool_calls")
    calls = calls if isinstance(calls, (list, tuple)) else ()
    found = [_Open(at, _id(get(call, "id")) if readable(call) else None, legacy=False) for call in calls]
    if readable(get(message, "function_call")):
        found.append(_Open(at, None, legacy=True))
    return found


def pair(messages: Sequence[Any], roles: Sequence[str]) -> Pairing:
    """Walks a history in order and pairs its calls and results."""
    pairing = Pairing()
    everything: list[_Open] = []
    waiting: dict[str, list[_Open]] = {}
    in_run: set[int] = set()  # results that their run has paired
    for at, (message, role) in enumerate(zip(messages, roles, strict=True)):
        if role == "assistant" and (calls := _calls(message, at)):
            everything += calls
            in_run |= _pair_run(calls, messages, roles, at)
            for name in {call.id for call in calls if call.id}:
                waiting[name] = [call for call in calls if call.id == name and not call.answered][-1:]
        elif role in RESULTS and at not in in_run:
            candidates = waiting.get(_result_id(message, role) or "")
            if candidates:
                call = candidates.pop()
                call.answered = True
                pairing.late[at] = call.at
            else:
                pairing.orphans.append(at)
    for call in everything:
        if not call.answered:
            pairing.unanswered.setdefault(call.at, []).extend([call.id] if call.id else [])
    return pairing


def _result_id(message: Any, role: str) -> str | None:
    return _id(get(message, "tool_call_id")) if role == "tool" else None


def _pair_run(calls: list[_Open], messages: Sequence[Any], roles: Sequence[str], at: int) -> set[int]:
    """Pairs the calls of the message at ``at`` with the results that stand directly behind it, and says with which."""
    end = at + 1
    while end < len(messages) and roles[end] in RESULTS:
        end += 1
    paired = set()
    for by_id in (True, False):
        for k in range(at + 1, end):
            legacy, name = roles[k] == "function", _result_id(messages[k], roles[k])
            open_calls = [call for call in calls if call.legacy == legacy and not call.answered]
            if by_id:
                matches = [call for call in open_calls if call.id == name][-1:] if name else []
            else:
                matches = [call for call in open_calls if not (call.id and name)]
            if k not in paired and matches:
                matches[0].answered = True
                paired.add(k)
    return paired
