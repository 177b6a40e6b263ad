"""What messages weigh, written anew from the formulas. Slow and plain; nothing of backcut is used."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pictures import KNOWN
from support import get, head_length

Count = Callable[[str], int]

IMAGE, IMAGE_LOW, AUDIO, FILE = 765, 85, 300, 1500
_IMAGES = ("image_url", "image", "input_image")
_AUDIOS = ("input_audio", "audio", "audio_url")
_FILES = ("file", "document", "document_url", "input_file", "video", "video_url")


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def part_texts(part: Any, with_calls: bool) -> list[str]:
    """The texts of one part of a content list."""
    if isinstance(part, str):
        return [part]
    kind = get(part, "type")
    if kind in ("text", "refusal"):
        return [get(part, kind)]
    if kind in _IMAGES + _AUDIOS + _FILES or (kind == "tool_use" and with_calls):
        return []
    for key in ("text", "thinking", "content"):
        if isinstance(get(part, key), str):
            return [get(part, key)]
    inner = get(part, "content")
    if not isinstance(inner, (list, tuple)):
        return []
    return [get(item, "text") for item in inner if not isinstance(item, str) and isinstance(get(item, "text"), str)]


def part_media(part: Any) -> int:
    """Tokens of one part that is no text."""
    kind = None if isinstance(part, str) else get(part, "type")
    if kind in _IMAGES:
        image = get(part, "image_url")
        url = image if image is None or isinstance(image, str) else get(image, "url")
        detail = get(part, "detail") or (get(image, "detail") if image is not None and not isinstance(image, str) else None)
        return IMAGE_LOW if detail == "low" else KNOWN.get(url, IMAGE)
    if kind in _AUDIOS:
        sound = get(part, "input_audio")
        return KNOWN.get(get(sound, "data"), AUDIO) if sound is not None else AUDIO
    return FILE if kind in _FILES else 0


def calls(message: Any) -> list[Any]:
    """What an assistant message calls: mappings with a name and arguments or input."""
    if get(message, "role") != "assistant":
        return []
    legacy = get(message, "function_call")
    modern = [get(call, "function") or get(call, "custom") for call in get(message, "tool_calls") or ()]
    return modern if legacy is None else [*modern, legacy]


def texts(message: Any) -> Iterator[str]:
    """Every text of a message that counts, arguments included."""
    content = get(message, "content")
    if isinstance(content, str):
        yield content
    elif content is not None:
        has_calls = get(message, "tool_calls") is not None
        for part in content:
            yield from part_texts(part, has_calls)
    if get(message, "role") == "assistant":
        for key in ("refusal", "reasoning_content", "reasoning"):
            if isinstance(get(message, key), str):
                yield get(message, key)
        if not any(isinstance(get(message, key), str) for key in ("reasoning_content", "reasoning")):
            for detail in get(message, "reasoning_details") or ():
                yield from (get(detail, key) for key in ("text", "summary") if isinstance(get(detail, key), str))
    for call in calls(message):
        given = get(call, "arguments")
        given = get(call, "input") if given is None else given
        if given is not None:
            yield given if isinstance(given, str) else compact(given)


def chars(message: Any) -> int:
    return sum(map(len, texts(message)))


def tokens(message: Any, count: Count) -> int:
    content = get(message, "content")
    media = 0 if content is None or isinstance(content, str) else sum(map(part_media, content))
    if get(message, "role") == "assistant" and get(message, "audio") is not None:
        media += AUDIO
    sealed = 0
    if get(message, "role") == "assistant" and not any(isinstance(get(message, key), str) for key in ("reasoning_content", "reasoning")):
        details = get(message, "reasoning_details") or ()
        sealed = sum(count(get(each, key)) for each in details for key in ("signature", "data") if isinstance(get(each, key), str))
    name = get(message, "name")
    return (
        3
        + sealed
        + count(str(get(message, "role")))
        + sum(map(count, texts(message)))
        + (1 + count(name) if name else 0)
        + sum(3 + count(get(call, "name") or "") for call in calls(message))
        + media
    )


def _schema(schema: Any, count: Count) -> int:
    if not isinstance(schema, Mapping):
        return 0
    total = _choices(schema, count) + (3 if schema.get("properties") else 0)
    named = [(f"{name}:", each) for key in ("properties", "$defs", "definitions") for name, each in (schema.get(key) or {}).items()]
    variants = [("", each) for key in ("anyOf", "oneOf", "allOf") for each in schema.get(key) or ()]
    for name, each in named + variants:
        kind = each.get("type") or ""
        kind = kind if isinstance(kind, str) else "|".join(kind)
        total += 3 + count(f"{name}{kind}:{_sentence(each)}") + _schema(each, count)
    return total + sum(_schema(schema.get(key), count) for key in ("items", "additionalProperties"))


def _choices(field: Mapping[str, Any], count: Count) -> int:
    choices = field.get("enum")
    return -3 + sum(3 + count(item if isinstance(item, str) else compact(item)) for item in choices) if choices else 0


def _sentence(thing: Any) -> str:
    return (get(thing, "description") or "").removesuffix(".")


def tools_tokens(tools: Iterable[Any], count: Count, each: int = 7) -> int:
    """Tool schemas by the cookbook: ``each`` is 10 with cl100k_base."""
    total = 0
    for tool in tools:
        inner = get(tool, "function") or get(tool, "custom") or tool
        schema = get(inner, "parameters") or get(inner, "input_schema")
        total += each + count(f"{get(inner, 'name') or ''}:{_sentence(inner)}") + _schema(schema, count)
    return total + (12 if total else 0)


def request_tokens(messages: Sequence[Any], count: Count, tools: Iterable[Any] = (), each: int = 7) -> int:
    return 3 + sum(tokens(message, count) for message in messages) + tools_tokens(tools, count, each)


def body(messages: Sequence[Any]) -> Sequence[Any]:
    return messages[head_length(messages) :]


def body_chars(messages: Sequence[Any]) -> int:
    return sum(map(chars, body(messages)))
