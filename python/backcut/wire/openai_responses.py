"""OpenAI Responses: a flat list of input items. Sources: the types of its SDK, and its guides on function calling, reasoning and
conversation state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import FormatError, shorten
from ..media import File, Image, Media, data_of, image_size
from ..report import PartCut, Violation
from .common import (
    Facts,
    Outline,
    Path,
    Piece,
    Tie,
    Turn,
    compact,
    found,
    get,
    identity,
    image_of,
    plain,
    readable,
    text_at,
    text_in,
    where,
)
from .openai_chat import audio_of

name = "openai-responses"
merges = True
insists_on_user = False
has_system_turns = True

_TURNS: dict[str, Turn] = {"system": "system", "developer": "system", "user": "user", "assistant": "model"}

_CALLS: dict[str, tuple[str, ...]] = {
    "function_call": ("arguments",),
    "custom_tool_call": ("input",),
    "computer_call": ("action", "actions"),
    "local_shell_call": ("action",),
    "shell_call": ("action",),
    "apply_patch_call": ("operation",),
    "tool_search_call": ("arguments",),
    "program": ("code",),
    "mcp_approval_request": ("arguments",),
}
takes_late: tuple[str, ...] = tuple(_CALLS)
"""Calls, and where each says what it asks for."""

_OUTPUTS = {
    "function_call_output": "function_call",
    "custom_tool_call_output": "custom_tool_call",
    "computer_call_output": "computer_call",
    "local_shell_call_output": "local_shell_call",
    "shell_call_output": "shell_call",
    "apply_patch_call_output": "apply_patch_call",
    "tool_search_output": "tool_search_call",
    "program_output": "program",
    "mcp_approval_response": "mcp_approval_request",
}
"""Outputs, and what each answers."""

HOSTED: dict[str, tuple[str, ...]] = {
    "web_search_call": ("action",),
    "file_search_call": ("queries", "results"),
    "code_interpreter_call": ("code", "outputs"),
    "image_generation_call": ("result",),
    "mcp_call": ("arguments", "output", "error"),
    "mcp_list_tools": ("tools", "error"),
}
"""Calls that the provider ran itself, and where each says what the model reads of it, its result included."""

_SETTINGS = ("compaction_trigger", "configuration_update")
_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")
_IMAGES = ("image_url", "image", "input_image", "computer_screenshot")
_AUDIOS = ("input_audio", "audio", "audio_url")
_FILES = ("file", "document", "document_url", "input_file", "video", "video_url")


# Outline


def outline(message: Any, index: int) -> Outline:
    """What the item is, and its call or output."""
    kind, role = _kind(message, index)
    if kind == "message":
        return Outline(role, _TURNS[role])
    if kind == "additional_tools":
        return Outline("developer", "system")
    if kind in _SETTINGS:
        return Outline("", "system")
    # What the provider ran stands amid what the model said.
    is_result = kind in _OUTPUTS and kind != "program_output" and not _is_by_server(message, kind)
    return Outline("", "result" if is_result else "model", tuple(_ties(message, kind)), refers=kind == "item_reference")


def _kind(item: Any, index: int) -> tuple[str, str]:
    """The type of an item, and the role of a message."""
    if not readable(item):
        raise FormatError(index, "", type(item).__name__, "a mapping or an object with a role")
    kind, role = get(item, "type"), get(item, "role")
    if kind is not None and not isinstance(kind, str):
        raise FormatError(index, "type", found(kind), "a string or null")
    if kind is not None and plain(kind) != "message":
        return plain(kind), ""
    if kind is None and role is None:
        raise FormatError(index, "type", "nothing", "the type of an item, or a role")
    if isinstance(role, str) and plain(role) in _TURNS:
        return "message", plain(role)
    seen = shorten(plain(role)) if isinstance(role, str) else found(role)
    raise FormatError(index, "role", seen, f"one of {', '.join(_TURNS)}")


def _is_by_server(item: Any, kind: str) -> bool:
    """Whether the provider searched for tools itself: it does so within its own turn, and says the output or leaves it out."""
    return kind in ("tool_search_call", "tool_search_output") and get(item, "execution") == "server"


def id_keys(kind: str) -> tuple[str, ...]:
    """Where the ids of a call or an output stand, the one by which they find each other first."""
    if kind == "mcp_approval_request":
        return ("id",)
    if kind == "mcp_approval_response":
        return ("approval_request_id",)
    # The output names the call's ``id`` in an ``id`` of its own; many clients send ``call_id`` all the same.
    return ("call_id", "id") if kind in ("local_shell_call", "local_shell_call_output") else ("call_id",)


def _ties(item: Any, kind: str) -> Iterator[Tie]:
    if kind in HOSTED:
        if (approved := identity(get(item, "approval_request_id"))) is not None:
            yield Tie("call", kind, None, caller=("mcp_approval_request", approved), optional=True)
        return
    is_call = kind in _CALLS
    family = kind if is_call else _OUTPUTS.get(kind)
    if family is None or _is_by_server(item, kind):
        return
    ids = [known for key in id_keys(kind) if (known := identity(get(item, key))) is not None]
    first, alias = (*ids, None, None)[:2]
    if not is_call:
        yield Tie("result", family, first, alias)
        return
    by = get(item, "caller")
    caller = identity(get(by, "caller_id")) if readable(by) else None
    environment = text_in(get(item, "environment"), "type")
    is_hosted = kind == "shell_call" and environment is not None and environment != "local"
    yield Tie("call", family, first, alias, None if caller is None else ("program", caller), optional=is_hosted)


# Facts


def read(message: Any, index: int, outline: Outline, *, names: bool) -> Facts:
    """Everything that counts."""
    kind, _ = _kind(message, index)
    return Facts(outline, tuple(_pieces(message, kind, index)))


def _pieces(item: Any, kind: str, index: int) -> Iterator[Piece]:
    if kind == "message":
        yield from _content(item, index)
    elif kind in _CALLS:
        yield from _ids_read(item, kind, index)
        yield from _call(item, _CALLS[kind], index)
        if (sealed := text_in(item, "fingerprint")) is not None:
            yield Piece(("fingerprint",), sealed, "opaque")
    elif kind in _OUTPUTS:
        yield from _ids_read(item, kind, index)
        yield Piece((), figure="result")
        yield from _output(item, kind, index)
    elif kind in HOSTED:
        yield from _call(item, HOSTED[kind], index)
    elif kind == "additional_tools":
        yield from _json(item, "tools", index)
    elif kind in _SETTINGS:
        yield Piece((), figure="message")
    else:
        yield Piece((), figure="message")
        for key in ("text", "output", "content", "summary"):
            yield from _texts(get(item, key), (key,))
        if (sealed := text_in(item, "encrypted_content")) is not None:
            yield Piece(("encrypted_content",), sealed, "opaque")


def _ids_read(item: Any, kind: str, index: int) -> Iterator[Piece]:
    """Nothing: refuses ids that are none."""
    for key in id_keys(kind):
        text_at(item, (key,), index)
    return iter(())


def _call(item: Any, keys: Sequence[str], index: int) -> Iterator[Piece]:
    yield Piece(("name",), text_at(item, ("name",), index) or "", "name", "call")
    for key in keys:
        if key == "result":
            if (image := text_in(item, key)) is not None:
                yield Piece((key,), media=Image(False, image_size(image)))
        elif key == "results":
            yield from _texts(get(item, key), (key,))
        elif key == "outputs":
            yield from _ran(get(item, key))
        else:
            yield from _json(item, key, index)


def _json(item: Any, key: str, index: int) -> Iterator[Piece]:
    """What stands at ``key``: a text as it is, anything else as the JSON that the model reads."""
    said = get(item, key)
    if said is None:
        return
    if not isinstance(said, str):
        try:
            said = compact(said)
        except ValueError:
            raise FormatError(index, key, found(said), "a string or a JSON value") from None
    yield Piece((key,), said)


def _ran(outputs: Any) -> Iterator[Piece]:
    """What came of code that the provider ran: logs, and pictures."""
    for k, output in enumerate(outputs if isinstance(outputs, (list, tuple)) else ()):
        if (logs := text_in(output, "logs")) is not None:
            yield Piece(("outputs", k, "logs"), logs)
        elif (url := text_in(output, "url")) is not None:
            data = data_of(url)
            yield Piece(("outputs", k), media=Image(False, None if data is None else image_size(data)))


def _texts(said: Any, path: Path) -> Iterator[Piece]:
    """A text, or a list of them, alone or in records."""
    if isinstance(said, str):
        yield Piece(path, said)
    for k, inner in enumerate(said if isinstance(said, (list, tuple)) else ()):
        if isinstance(inner, str):
            yield Piece((*path, k), inner)
        elif (text := text_in(inner, "text")) is not None:
            yield Piece((*path, k, "text"), text)


def _content(item: Any, index: int) -> Iterator[Piece]:
    """The content of a message."""
    content = get(item, "content")
    if content is None:
        return
    if isinstance(content, str):
        yield Piece(("content",), content)
        return
    if not isinstance(content, (list, tuple)):
        raise FormatError(index, "content", found(content), "a string, a list of parts or null")
    for k, part in enumerate(content):
        if isinstance(part, str):
            yield Piece(("content", k), part)
        else:
            yield from _shown(part, ("content", k), index)


def _media(part: Any) -> Media | None:
    """What a part shows, if it does."""
    kind = get(part, "type")
    if kind in _IMAGES:
        return image_of(part)
    if kind in _AUDIOS:
        return audio_of(part)
    return File() if kind in _FILES else None


def _shown(part: Any, path: Path, index: int) -> Iterator[Piece]:
    """A part that is no string."""
    if not readable(part):
        raise FormatError(index, where(path), type(part).__name__, "a string or a mapping")
    kind, media = get(part, "type"), _media(part)
    key = "text" if kind in _TEXTS else "refusal" if kind == "refusal" else None
    if media is not None:
        yield Piece(path, media=media)
    elif key is not None:
        text = text_at(part, (*path, key), index, "a string")
        if text is None:
            raise FormatError(index, where((*path, key)), "nothing", "a string")
        yield Piece((*path, key), text)
    elif (text := text_in(part, "text")) is not None:
        yield Piece((*path, "text"), text)
    else:
        yield from _texts(get(part, "content"), (*path, "content"))


def _output(item: Any, kind: str, index: int) -> Iterator[Piece]:
    """What an output says. Only what the client gave may be shortened."""
    if kind == "tool_search_output":
        yield from _json(item, "tools", index)
        return
    if kind in ("program_output", "mcp_approval_response"):
        key = "result" if kind == "program_output" else "reason"
        yield from _texts(get(item, key), (key,))
        return
    said = get(item, "output")
    if said is None:
        return
    if isinstance(said, str):
        yield Piece(("output",), said, observation=0)
    elif isinstance(said, (list, tuple)):
        for k, part in enumerate(said):
            if isinstance(part, str):
                yield Piece(("output", k), part, observation=0, item=("output", k))
            else:
                yield from _observed(part, ("output", k), index, item=("output", k))
    elif readable(said):
        yield from _observed(said, ("output",), index, item=None)
    else:
        raise FormatError(index, "output", found(said), "a string, a list of parts, a picture or null")


def _observed(part: Any, path: Path, index: int, item: Path | None) -> Iterator[Piece]:
    """A part of an output: its texts may be shortened, all else stays."""
    chunk = [(key, text) for key in ("stdout", "stderr") if (text := text_in(part, key)) is not None]
    if chunk:
        # A part that says more than one text stays where nothing of one is left.
        yield from (Piece((*path, key), text, observation=0) for key, text in chunk)
    elif readable(part) and _media(part) is None and (text := text_in(part, "text")) is not None:
        yield Piece((*path, "text"), text, observation=0, item=item)
    else:
        yield from _shown(part, path, index)


def lead(message: Any) -> tuple[PartCut, ...] | None:
    """Nothing: what instructs is an item of its own."""
    return None


# Flaws


def flaws(messages: Sequence[Any], facts: Sequence[Facts]) -> Iterator[Violation]:
    """What the provider would refuse, calls and outputs aside."""
    kinds = [_kind(item, index)[0] for index, item in enumerate(messages)]
    for index, (item, kind) in enumerate(zip(messages, kinds, strict=True)):
        if kind == "message" and get(item, "content") is None:
            yield Violation("missing_content", index, "this message has no content", ())
        if kind == "reasoning":
            if get(item, "summary") is None:
                yield Violation("missing_summary", index, "this reasoning has no summary; an empty list is one", ())
            follower = next((k for k in range(index + 1, len(kinds)) if kinds[k] != "reasoning"), None)
            if follower is not None and facts[follower].outline.turn != "model":
                sentence = "nothing that the model said or did stands right behind this reasoning"
                yield Violation("reasoning_without_follower", index, sentence, ())
        if kind == "compaction_trigger" and index + 1 < len(kinds):
            yield Violation("misplaced_trigger", index, "compaction_trigger stands at the very end only", ())
        has_id = all(tie.id is not None for tie in facts[index].outline.ties)
        if not has_id and kind not in (*HOSTED, "tool_search_call", "tool_search_output"):
            yield Violation("missing_id", index, f"this {kind} has no id", ())
