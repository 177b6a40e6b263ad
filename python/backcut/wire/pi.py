"""Pi and OpenClaw: messages, bare or as the entries of a session's log. Source: the types of pi-ai and pi-coding-agent, and how they
turn what they hold into what they send."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import FormatError, shorten
from ..media import Image, image_size
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
    plain,
    readable,
    text_at,
    text_in,
    unknown_texts,
    where,
)

name = "pi"
merges = False
insists_on_user = True
has_system_turns = False
takes_late: tuple[str, ...] = ()

_Kind = Literal["user", "assistant", "result", "bash", "summary", "unsent"]
_ROLES: dict[str, _Kind] = {
    "user": "user",
    "assistant": "assistant",
    "toolResult": "result",
    "bashExecution": "bash",
    "custom": "user",
    "branchSummary": "summary",
    "compactionSummary": "summary",
}
_ENTRIES: dict[str, _Kind] = {
    "compaction": "summary",
    "branch_summary": "summary",
    "custom_message": "user",
    "custom": "unsent",
    "session": "unsent",
    "session_info": "unsent",
    "label": "unsent",
    "model_change": "unsent",
    "thinking_level_change": "unsent",
}
_TURNS: dict[_Kind, tuple[str, Turn]] = {
    "user": ("user", "user"),
    "assistant": ("assistant", "model"),
    "result": ("tool", "result"),
    "bash": ("user", "user"),
    "summary": ("user", "user"),
    "unsent": ("", "system"),
}
_BROKEN_OFF = ("error", "aborted")


@dataclass(frozen=True, slots=True)
class Found:
    """A message where it was found: in itself, or in an entry."""

    kind: _Kind
    record: Any
    path: Path = ()

    def at(self, *path: str | int) -> Path:
        """A path from the whole entry."""
        return (*self.path, *path)

    @property
    def is_sent(self) -> bool:
        """Whether a provider ever sees it: of a turn that broke off it does not."""
        return self.kind != "unsent" and not (self.kind == "assistant" and get(self.record, "stopReason") in _BROKEN_OFF)


def find(message: Any, index: int) -> Found:
    """The message, in itself or in an entry."""
    if not readable(message):
        raise FormatError(index, "", type(message).__name__, "a mapping or an object with a role")
    entry = get(message, "type")
    if get(message, "role") is not None or entry is None:
        return _bare(message, index, ())
    if entry != "message":
        return Found(_word(entry, _ENTRIES, index, ("type",), ("message", *_ENTRIES)), message)
    inner = get(message, "message")
    if not readable(inner):
        raise FormatError(index, "message", found(inner), "a mapping or an object with a role")
    return _bare(inner, index, ("message",))


def _bare(message: Any, index: int, path: Path) -> Found:
    kind = _word(get(message, "role"), _ROLES, index, (*path, "role"), tuple(_ROLES))
    if kind == "bash" and get(message, "excludeFromContext") is True:
        kind = "unsent"
    return Found(kind, message, path)


def _word(word: Any, kinds: dict[str, _Kind], index: int, path: Path, known: Sequence[str]) -> _Kind:
    kind = kinds.get(plain(word)) if isinstance(word, str) else None
    if kind is None:
        seen = shorten(plain(word)) if isinstance(word, str) else found(word)
        raise FormatError(index, where(path), seen, f"one of {', '.join(known)}")
    return kind


# Outline


def outline(message: Any, index: int) -> Outline:
    """What the message, or what is in the entry, is to a provider."""
    this = find(message, index)
    role, turn = _TURNS[this.kind]
    return Outline(role if this.is_sent else "", turn, tuple(_ties(this)), sent=this.is_sent)


def _ties(this: Found) -> Iterator[Tie]:
    if this.kind == "result":
        yield Tie("result", "tool", identity(get(this.record, "toolCallId")))
    elif this.kind == "assistant":
        content = get(this.record, "content")
        for block in content if isinstance(content, (list, tuple)) else ():
            if readable(block) and text_in(block, "type") == "toolCall":
                yield Tie("call", "tool", identity(get(block, "id")))


# Facts


def read(message: Any, index: int, outline: Outline, *, names: bool) -> Facts:
    """What is sent of it."""
    this = find(message, index)
    if not outline.sent:
        return Facts(outline)
    record = this.record
    if this.kind in ("bash", "summary"):
        keys = ("command", "output") if this.kind == "bash" else ("summary",)
        texts = ((key, text_at(record, this.at(key), index)) for key in keys)
        return Facts(outline, tuple(Piece(this.at(key), text) for key, text in texts if text is not None))
    pieces: list[Piece] = []
    if this.kind == "result":
        text_at(record, this.at("toolCallId"), index)
        pieces.append(Piece(this.path, figure="result"))
    content = get(record, "content")
    if isinstance(content, str):
        pieces.append(Piece(this.at("content"), content, observation=0 if this.kind == "result" else None))
    elif content is not None:
        if not isinstance(content, (list, tuple)):
            raise FormatError(index, where(this.at("content")), found(content), "a string, a list of blocks or null")
        for k, block in enumerate(content):
            pieces += _block(this, block, this.at("content", k), index)
    blocks = content if isinstance(content, (list, tuple)) else ()
    sealed = {piece.item for piece in pieces if piece.thinking}
    return Facts(outline, tuple(pieces), only_thinking=len(blocks) > 0 and len(sealed) == len(blocks))


def _block(this: Found, block: Any, path: Path, index: int) -> Iterator[Piece]:
    observation = 0 if this.kind == "result" else None
    if isinstance(block, str):
        yield Piece(path, block, observation=observation, item=path)
        return
    if not readable(block):
        raise FormatError(index, where(path), type(block).__name__, "a string or a mapping")
    kind, text = text_in(block, "type"), get(block, "text")
    own = (*path, "text")
    if observation is not None and isinstance(text, str):
        yield Piece(own, text, observation=observation, item=path)
    elif kind == "text":
        if not isinstance(text, str):
            raise FormatError(index, where(own), found(text), "a string")
        yield Piece(own, text)
    elif kind == "thinking":
        yield from _thinking(this, block, path)
    elif kind == "toolCall":
        text_at(block, (*path, "id"), index)
        yield from called(block, path, index, "arguments")
        if signature := text_in(block, "thoughtSignature"):
            yield Piece((*path, "thoughtSignature"), signature, "opaque")
    elif kind == "image":
        data = text_in(block, "data")
        yield Piece(path, media=Image(False, None if data is None else image_size(data)))
    else:
        yield from unknown_texts(block, path)


def _thinking(this: Found, block: Any, path: Path) -> Iterator[Piece]:
    """A block of thinking; of a redacted one the signature is all that is sent."""
    redacted, signature = get(block, "redacted") is True, text_in(block, "thinkingSignature")
    signed = (redacted or bool(signature)) and this.kind == "assistant" and _signs(this.record)
    text = None if redacted else text_in(block, "thinking")
    yield Piece((*path, "thinking"), text or "", item=path, thinking=signed)
    yield Piece((*path, "thinkingSignature"), signature or "", "opaque", item=path, thinking=signed)


def _signs(record: Any) -> bool:
    """Whether the provider of a message refuses signed thinking behind a change: Anthropic does, and Bedrock."""
    api = text_in(record, "api")
    api = text_in(record, "provider") if api is None else api
    return api is None or "anthropic" in api or "bedrock" in api


def lead(message: Any) -> tuple[PartCut, ...] | None:
    """Nothing: what instructs stands outside of the messages."""
    return None


# Flaws


def flaws(messages: Sequence[Any], facts: Sequence[Facts]) -> Iterator[Violation]:
    """What is sent without a content, and calls and results without an id."""
    for index, (message, read) in enumerate(zip(messages, facts, strict=True)):
        this = find(message, index)
        said = get(this.record, {"summary": "summary", "bash": "command"}.get(this.kind, "content"))
        if read.outline.turn == "user" and (said is None or (isinstance(said, (str, list, tuple)) and not said)):
            yield Violation("missing_content", index, "it has no content", ())
        if read.outline.sent and any(tie.id is None for tie in read.outline.ties):
            yield Violation("missing_id", index, "a call or a result has no id", ())
