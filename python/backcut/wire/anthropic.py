"""Anthropic Messages. Sources: the types of its SDK, and its guides on tool use, server tools, thinking and vision."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import FormatError
from ..media import File
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
    readable,
    role_of,
    text_at,
    text_in,
    unknown_texts,
    where,
)

name = "anthropic"
merges = True
insists_on_user = True
has_system_turns = False
takes_late: tuple[str, ...] = ()

_TURNS: dict[str, Turn] = {"user": "user", "assistant": "model", "system": "system"}
CALLS = {"tool_use": "tool", "server_tool_use": "server", "mcp_tool_use": "mcp"}
_THINKING = ("thinking", "redacted_thinking")
_SAID = ("text", "title", "url", "stdout", "stderr")
_ENCRYPTED = ("encrypted_content", "encrypted_stdout")
MARKS = 4


def result_family(kind: Any) -> str | None:
    """The family of what a block of this type answers; ``None`` for a block that is no result."""
    if not isinstance(kind, str) or not (kind == "tool_result" or kind.endswith("_tool_result")):
        return None
    return {"tool_result": "tool", "mcp_tool_result": "mcp"}.get(kind, "server")


def _blocks(message: Any) -> Sequence[Any]:
    """The blocks of a message, readable or not; none of a text."""
    content = get(message, "content")
    return content if isinstance(content, (list, tuple)) else ()


# Outline


def outline(message: Any, index: int) -> Outline:
    """The role, and every ``*_use`` and ``*_result`` block where it belongs."""
    role = role_of(message, index, tuple(_TURNS))
    ties = tuple(tie for block in _blocks(message) if readable(block) and (tie := _tie(block, role)) is not None)
    return Outline(role, "result" if role == "user" and ties else _TURNS[role], ties)


def _tie(block: Any, role: str) -> Tie | None:
    kind = text_in(block, "type")
    if role == "assistant" and kind in CALLS:
        maker = get(block, "caller")
        caller = identity(get(maker, "tool_id")) if readable(maker) else None
        return Tie("call", CALLS[kind], identity(get(block, "id")), caller=None if caller is None else ("server", caller))
    family = result_family(kind)
    # A result on the side that does not give it answers nothing.
    if family is None or (family == "tool") != (role == "user") or role == "system":
        return None
    return Tie("result", family, identity(get(block, "tool_use_id")))


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
    observations = 0
    for place, block in enumerate(content):
        path: Path = ("content", place)
        pieces += _block(block, path, index, observations)
        observations += readable(block) and text_in(block, "type") == "tool_result"
    only_thinking = len(content) > 0 and all(readable(block) and text_in(block, "type") in _THINKING for block in content)
    return Facts(outline, tuple(pieces), only_thinking)


def _block(block: Any, path: Path, index: int, observation: int) -> Iterator[Piece]:
    if isinstance(block, str):
        yield Piece(path, block)
        return
    if not readable(block):
        raise FormatError(index, where(path), type(block).__name__, "a string or a mapping")
    kind = text_in(block, "type")
    if kind in _THINKING:
        thinking = text_at(block, (*path, "thinking"), index) if kind == "thinking" else None
        yield Piece((*path, "thinking"), thinking or "", item=path, thinking=True)
        sealed = "signature" if kind == "thinking" else "data"
        yield Piece((*path, sealed), text_in(block, sealed) or "", "opaque", item=path, thinking=True)
    elif kind in CALLS:
        text_at(block, (*path, "id"), index)
        yield from called(block, path, index, "input")
    elif result_family(kind) is not None:
        text_at(block, (*path, "tool_use_id"), index)
        yield Piece(path, figure="result")
        yield from _observation(block, path, index, observation) if kind == "tool_result" else _server_result(block, path)
    else:
        yield from _shown(block, path, index)


def _shown(block: Any, path: Path, index: int) -> Iterator[Piece]:
    """A block that says or shows something by itself."""
    kind = text_in(block, "type")
    if kind == "text":
        text = text_at(block, (*path, "text"), index, "a string")
        if text is None:
            raise FormatError(index, where((*path, "text")), "nothing", "a string")
        yield Piece((*path, "text"), text)
    elif kind == "image":
        yield Piece(path, media=image_of(block))
    elif kind == "document":
        yield from _document(block, path)
    elif kind == "search_result":
        yield from (Piece((*path, key), text) for key in ("title", "source") if (text := text_in(block, key)) is not None)
        yield from unknown_texts({"content": get(block, "content")}, path)
    elif kind == "compaction":
        yield from unknown_texts({"content": get(block, "content")}, path)
        if secret := text_in(block, "encrypted_content"):
            yield Piece((*path, "encrypted_content"), secret, "opaque")
    else:
        yield from unknown_texts(block, path)


def _document(block: Any, path: Path) -> Iterator[Piece]:
    """A document: its title and context, and what its source holds as text; any other is a file."""
    yield from (Piece((*path, key), text) for key in ("title", "context") if (text := text_in(block, key)) is not None)
    source = get(block, "source")
    kind = text_in(source, "type")
    if kind == "text" and (data := text_in(source, "data")) is not None:
        yield Piece((*path, "source", "data"), data)
    elif kind == "content":
        content = get(source, "content")
        yield from unknown_texts({"content": content}, (*path, "source"))
        for k, inner in enumerate(content if isinstance(content, (list, tuple)) else ()):
            if readable(inner) and text_in(inner, "type") == "image":
                yield Piece((*path, "source", "content", k), media=image_of(inner))
    else:
        yield Piece(path, media=File())


def _observation(block: Any, path: Path, index: int, number: int) -> Iterator[Piece]:
    """What the client's tool gave back: its texts share a cap, all else stays as it is."""
    content, inside = get(block, "content"), (*path, "content")
    if content is None:
        return
    if isinstance(content, str):
        yield Piece(inside, content, observation=number)
        return
    if not isinstance(content, (list, tuple)):
        raise FormatError(index, where(inside), found(content), "a string, a list of blocks or null")
    for k, inner in enumerate(content):
        item = (*inside, k)
        if isinstance(inner, str):
            yield Piece(item, inner, observation=number, item=item)
        elif not readable(inner):
            raise FormatError(index, where(item), type(inner).__name__, "a string or a mapping")
        elif text_in(inner, "type") in ("image", "document", "search_result") or not isinstance(get(inner, "text"), str):
            yield from _shown(inner, item, index)
        else:
            yield Piece((*item, "text"), get(inner, "text"), observation=number, item=item)


def _server_result(block: Any, path: Path) -> Iterator[Piece]:
    """What the provider's tool gave back: the texts in it and, one level down, in what it holds."""
    content, inside = get(block, "content"), (*path, "content")
    if isinstance(content, str):
        yield Piece(inside, content)
    for item, at in _items(content, inside):
        yield from _texts_in(item, at)
        within, below = get(item, "content"), (*at, "content")
        if isinstance(within, str):
            yield Piece(below, within)
        for inner, at_inner in _items(within, below):
            yield from _document(inner, at_inner) if text_in(inner, "type") == "document" else _texts_in(inner, at_inner)


def _items(content: Any, path: Path) -> Iterator[tuple[Any, Path]]:
    """The records of a list, or the one record, each with its path."""
    if isinstance(content, (list, tuple)):
        yield from ((item, (*path, k)) for k, item in enumerate(content) if readable(item))
    elif readable(content):
        yield content, path


def _texts_in(item: Any, path: Path) -> Iterator[Piece]:
    yield from (Piece((*path, key), text) for key in _SAID if (text := text_in(item, key)) is not None)
    yield from (Piece((*path, key), text, "opaque") for key in _ENCRYPTED if (text := text_in(item, key)) is not None)


def lead(message: Any) -> tuple[PartCut, ...] | None:
    """Nothing: what instructs stands outside of the messages."""
    return None


# Flaws


def flaws(messages: Sequence[Any], facts: Sequence[Facts]) -> Iterator[Violation]:
    """What the provider would refuse, calls and results aside."""
    outlines = [read.outline for read in facts]
    first = next((index for index, each in enumerate(outlines) if each.turn != "system"), None)
    if first is not None and outlines[first].turn != "user" and not _is_compacted(messages[first]):
        yield Violation("first_not_user", first, "the conversation does not begin with a plain user turn", ())
    marks = 0
    for index, (message, each) in enumerate(zip(messages, outlines, strict=True)):
        yield from _empty(message, index, each, is_last=index + 1 == len(messages))
        if each.turn == "system" and not _may_instruct(outlines, index):
            yield Violation(
                "misplaced_system", index, "a system message stands in front of the model's turn or at the end, and never first", ()
            )
        blocks = _blocks(message)
        yield from _misplaced(blocks, index, each)
        # Messages with results in a row are one.
        goes_on = index + 1 < len(outlines) and outlines[index + 1].turn == "result"
        results = [text_in(block, "type") == "tool_result" for block in blocks]
        if each.turn == "result" and not all(results if goes_on else results[: sum(results)]):
            yield Violation("text_before_result", index, "the results of a turn come first, all else behind them", ())
        yield from _ids(blocks, index)
        before, marks = marks, marks + sum(readable(block) and get(block, "cache_control") is not None for block in blocks)
        if before <= MARKS < marks:
            yield Violation("too_many_cache_marks", index, f"more than {MARKS} blocks have cache_control", ())


def _is_compacted(message: Any) -> bool:
    """Whether it begins with what has become of the conversation so far: the provider looks at nothing in front of that."""
    return any(text_in(block, "type") == "compaction" for block in _blocks(message)[:1])


def _empty(message: Any, index: int, outline: Outline, *, is_last: bool) -> Iterator[Violation]:
    content = get(message, "content")
    if not content and not (is_last and outline.role == "assistant"):
        yield Violation("missing_content", index, f"this {outline.role} message has no content", ())
    texts = [content] if isinstance(content, str) and content else []
    for block in _blocks(message):
        text = block if isinstance(block, str) else get(block, "text") if text_in(block, "type") == "text" else None
        texts += [text] if isinstance(text, str) else []
    if not all(text.strip() for text in texts):
        yield Violation("blank_text", index, "a text is empty or white space", ())


def _may_instruct(outlines: Sequence[Outline], index: int) -> bool:
    """Whether a system message may stand here: directly before the model's turn, or at the very end, and never first."""
    behind = next((each.turn for each in outlines[index:] if each.turn != "system"), "model")
    before = any(each.turn != "system" for each in outlines[:index])
    return before and behind == "model"


def _misplaced(blocks: Sequence[Any], index: int, outline: Outline) -> Iterator[Violation]:
    kinds = [text_in(block, "type") for block in blocks]  # a string has none
    mine = "assistant" if outline.role == "assistant" else "user"
    for kind in kinds:
        family = result_family(kind)
        theirs = "assistant" if kind in CALLS or family in ("server", "mcp") else "user" if family == "tool" else mine
        if theirs != mine or (outline.role == "system" and (kind in CALLS or family)):
            yield Violation("misplaced_block", index, f"a {kind} block has no place in a {outline.role} message", ())
            break


def _ids(blocks: Sequence[Any], index: int) -> Iterator[Violation]:
    ids: list[Any] = []
    for block in blocks:
        kind = text_in(block, "type")
        if kind in CALLS:
            ids.append(get(block, "id"))
        elif result_family(kind) is not None:
            ids.append(get(block, "tool_use_id"))
    if not all(ids):
        yield Violation("missing_id", index, "a call or a result has no id", ())
    wrong = [each for each in ids if isinstance(each, str) and each and re.fullmatch("[a-zA-Z0-9_-]+", each) is None]
    if wrong:
        yield Violation("invalid_id", index, "an id may have letters, digits, _ and - only", tuple(wrong))
