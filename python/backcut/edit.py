"""Builds the edited copies of messages that a plan asks for.

Only what changes is new: the message, its content list, the part, and whatever else lies on the way. Everything else is shared
with the message that came in, and that one is never touched.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .errors import FormatError

if TYPE_CHECKING:
    from .report import PartCut, Plan

__all__ = [
    "apply_plan",
    "block",
    "cut_value",
    "edit_message",
    "fold_into",
    "fold_notice",
    "fold_place",
    "get",
    "says_first",
    "text_to_fold_into",
    "with_field",
]


def apply_plan(plan: Plan, messages: Sequence[Any]) -> Sequence[Any]:
    """Builds the result that ``plan`` describes.

    Args:
        plan: what ``ContextWindow.plan`` said of this history.
        messages: the same history, or one that is alike message for message.

    Returns:
        A new list, or ``messages`` itself where the plan changes nothing. Messages without an edit are the same objects.

    Raises:
        FormatError: ``messages`` has not as many messages as the planned history.

    Takes time proportional to the number of messages that are kept.
    """
    planned = plan.report.messages_original
    if len(messages) != planned:
        raise FormatError(None, "", f"{len(messages)} messages", f"the planned history of {planned} messages")
    if not plan.edits and plan.notice is None and len(plan.kept) == planned:
        return messages
    cuts = {edit.index: edit.cuts for edit in plan.edits}
    result = [edit_message(messages[index], cuts[index]) if index in cuts else messages[index] for index in plan.kept]
    notice = plan.notice
    if notice is not None and notice.folded:
        result[notice.at] = fold_notice(result[notice.at], notice.text, plan.report.format)
    elif notice is not None:
        result.insert(notice.at, {"role": notice.role, "content": notice.text})
    return result


def edit_message(message: Any, cuts: Sequence[PartCut]) -> Any:
    """A copy of ``message`` that is cut as ``cuts`` say.

    Args:
        message: a mapping or an object.
        cuts: what stays of each text that changes; counted in code points of the text as it is, lone surrogates included. What is
            no text at the end of a path is cut as compact JSON; as a ``response`` or ``json``, which must be a mapping, it becomes
            ``{"output": cut}``, as a ``document`` ``{"data": cut}``.

    Returns:
        A new message of the same kind.
    """
    return _edit(message, [(cut.path, cut) for cut in cuts], None) if cuts else message


def fold_notice(message: Any, text: str, format: str = "openai-chat") -> Any:
    """A copy of ``message``, a user turn, that says ``text`` first.

    A text gets the notice and a blank line in front, a list a block of its own, in the shape of the format; where there was
    nothing, the notice is all of it.
    """
    place = fold_place(message, format)
    return message if place is None else _fold(message, place, text, format)


def fold_place(message: Any, format: str) -> tuple[str | int, ...] | None:
    """Where a user turn has its text or its list of blocks; ``None`` where there is no room for a notice."""
    if format == "gemini":
        return ("parts",)
    if format == "pydantic-ai":
        parts = get(message, "parts") or ()
        prompts = [k for k, part in enumerate(parts) if get(part, "part_kind") == "user-prompt"]
        # Where the library itself speaks for the user, and in one text.
        retries = [
            k
            for k, part in enumerate(parts)
            if get(part, "part_kind") in ("retry-prompt", "retry-feedback") and isinstance(get(part, "content"), str)
        ]
        return ("parts", (prompts or retries)[0], "content") if prompts or retries else None
    if format == "pi":
        return _fold_place_of_pi(message)
    if format == "langchain":
        wrapped = next((key for key in ("data", "kwargs") if get(message, "content") is None and get(message, key) is not None), None)
        return ("content",) if wrapped is None else (wrapped, "content")
    return ("content",)


def _fold_place_of_pi(message: Any) -> tuple[str, ...] | None:
    entry = get(message, "type") if get(message, "role") is None else None
    path, kind = ((), entry or get(message, "role")) if entry != "message" else (("message",), get(get(message, "message"), "role"))
    if kind == "bashExecution":
        return None  # pi words it: a command and its output
    is_summary = kind in ("branchSummary", "compactionSummary", "branch_summary", "compaction")
    return (*path, "summary" if is_summary else "content")


def says_first(message: Any, text: str, format: str) -> bool:
    """Whether nothing is to be folded into a user turn: it begins with ``text`` as if that had been, or has no room for it."""
    place = fold_place(message, format)
    if place is None:
        return True
    content = _at(message, place)
    if isinstance(content, str):
        return content == text or content.startswith(f"{text}\n\n")
    if not isinstance(content, (list, tuple)) or not content:
        return False
    first, own = content[0], block(text, format)
    if isinstance(first, str):
        return first == text
    return isinstance(own, dict) and get(first, "text") == text and get(first, "type") == own.get("type")


def text_to_fold_into(message: Any, format: str) -> str | None:
    """The text that a notice is put in front of; ``None`` where it becomes a block of its own, or all of it."""
    place = fold_place(message, format)
    content = None if place is None else _at(message, place)
    return content if isinstance(content, str) else None


def get(thing: Any, name: str) -> Any:
    """A field of a mapping or of an object, ``None`` where it is not there."""
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def with_field(thing: Any, name: str, value: Any) -> Any:
    """A shallow copy of ``thing`` in which one field has another value. ``thing`` stays as it is.

    Nothing is validated and no constructor runs: the other fields are those of ``thing``, the very same objects.

    Args:
        thing: a mapping, a pydantic model, a named tuple, a dataclass (frozen or not), or any object that ``copy.copy`` can copy.
        name: the field.
        value: its value in the copy.

    Returns:
        A dict for mappings (a dict subclass where it was one), else an object of the same class.

    Raises:
        FormatError: the object's copy is the object itself.
    """
    if type(thing) is dict:
        return {**thing, name: value}
    if isinstance(thing, Mapping):
        # Only a dict is sure to be copied with its items; of other mappings we cannot know what a copy shares.
        twin: Any = copy.copy(thing) if isinstance(thing, dict) else dict(thing)
        twin = dict(thing) if twin is thing else twin
        twin[name] = value
        return twin
    if hasattr(type(thing), "model_copy"):  # pydantic
        return thing.model_copy(update={name: value})
    if isinstance(thing, tuple):  # named, or it would have no fields
        return thing._replace(**{name: value})  # type: ignore[attr-defined]
    twin = copy.copy(thing)
    if twin is thing:
        raise FormatError(None, name, type(thing).__name__, "an object that can be copied")
    if getattr(twin, "__dict__", None) is getattr(thing, "__dict__", twin):
        # Some classes, those of pydantic 1 among them, hand their own namespace to a copy.
        object.__setattr__(twin, "__dict__", dict(thing.__dict__))
    try:
        # Past the class's own __setattr__: frozen classes refuse, and others may write where the original reads too.
        object.__setattr__(twin, name, value)
    except (AttributeError, TypeError):
        if hasattr(type(thing), "__replace__"):
            return thing.__replace__(**{name: value})
        setattr(twin, name, value)
    return twin


def _edit(thing: Any, edits: list[tuple[tuple[str | int, ...], PartCut]], key: str | int | None) -> Any:
    """A copy of what stands at ``key``, with edits by path from there."""
    by_key: dict[str | int, list[tuple[tuple[str | int, ...], PartCut]]] = {}
    for path, cut in edits:
        if not path:
            return cut_value(thing, cut, key)
        by_key.setdefault(path[0], []).append((path[1:], cut))
    if all(isinstance(place, int) for place in by_key):
        gone = {place for place, inner in by_key.items() if any(not path and cut.dropped for path, cut in inner)}
        items = [_edit(item, by_key[k], k) if k in by_key else item for k, item in enumerate(thing) if k not in gone]
        return _like(thing, items)
    for name, inner in by_key.items():
        own: Any = str(name)
        if isinstance(thing, Mapping) and own not in thing:  # a key that is no string, which paths know by its name
            own = next((each for each in thing if str(each) == own), own)
        thing = with_field(thing, own, _edit(get(thing, own), inner, name))
    return thing


_WRAPPED: dict[str | int | None, str] = {"response": "output", "json": "output", "document": "data"}
"""What must be a mapping, and the key of the text that is left of it."""


def cut_value(value: Any, cut: PartCut, key: str | int | None) -> Any:
    """What is left of the value that stands at ``key``."""
    if isinstance(value, str):
        return value[: cut.head] + cut.marker + value[len(value) - cut.tail :]
    from .sent import sent  # few formats have results that are no texts

    text = sent(value)
    short = text[: cut.head] + cut.marker + text[len(text) - cut.tail :]
    wrapped = _WRAPPED.get(key)
    return short if wrapped is None else {wrapped: short}


def _at(thing: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        thing = get(thing, key) if isinstance(key, str) else thing[key] if thing is not None and key < len(thing) else None
    return thing


def _fold(thing: Any, path: tuple[str | int, ...], text: str, format: str) -> Any:
    if path and isinstance(path[0], int):
        place = path[0]
        return _like(thing, [_fold(item, path[1:], text, format) if k == place else item for k, item in enumerate(thing)])
    if path:
        return with_field(thing, str(path[0]), _fold(get(thing, str(path[0])), path[1:], text, format))
    return fold_into(thing, text, format)


def fold_into(content: Any, text: str, format: str) -> Any:
    """What stands in the place of ``content``, a text, a list or nothing, when it says ``text`` first."""
    if isinstance(content, str):
        return f"{text}\n\n{content}"
    if content is not None:
        return _like(content, [_block_beside(content, block(text, format)), *content])
    return [block(text, format)] if format in ("gemini", "bedrock") else text


def block(text: str, format: str) -> Any:
    """A text in a list of blocks."""
    if format == "pydantic-ai":
        return text
    if format in ("gemini", "bedrock"):
        return {"text": text}
    return {"type": "input_text" if format == "openai-responses" else "text", "text": text}


def _block_beside(neighbours: Sequence[Any], block: Any) -> Any:
    """The block in the kind of object that stands beside it, if one can be made of it; else as it is."""
    if not isinstance(block, dict) or not neighbours or isinstance(neighbours[0], (str, Mapping)):
        return block
    try:
        made = type(neighbours[0])(**block)
    except Exception:  # whatever a class of somebody else's refuses
        return block
    return made if all(get(made, key) == value for key, value in block.items()) else block


def _like(content: Sequence[Any], parts: list[Any]) -> Sequence[Any]:
    """``parts`` in the kind of sequence that ``content`` is."""
    return tuple(parts) if isinstance(content, tuple) else parts
