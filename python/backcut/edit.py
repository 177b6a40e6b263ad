"""Builds the edited copies of messages that a plan asks for.

Only what changes is new: the message, its content list, the part. Everything else is shared with the message that came in,
and that one is never touched.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .errors import FormatError

if TYPE_CHECKING:
    from .report import PartCut, Plan

__all__ = ["apply_plan", "edit_message", "fold_notice", "get", "with_field"]


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
        result[notice.at] = fold_notice(result[notice.at], notice.text)
    elif notice is not None:
        result.insert(notice.at, {"role": notice.role, "content": notice.text})
    return result


def edit_message(message: Any, cuts: tuple[PartCut, ...]) -> Any:
    """A copy of ``message`` whose content is cut as ``cuts`` say.

    Args:
        message: a mapping or an object with ``content``.
        cuts: what stays of each text that changes; counted in code points of the text as it is, lone surrogates included.

    Returns:
        A new message of the same kind.
    """
    content = get(message, "content")
    by_part = {cut.part: cut for cut in cuts}
    whole = by_part.get(None)
    if whole is not None:
        return with_field(message, "content", _cut(content, whole))
    parts = [
        _edit_part(part, by_part[index]) if index in by_part else part
        for index, part in enumerate(content)
        if index not in by_part or not by_part[index].dropped
    ]
    return with_field(message, "content", _like(content, parts))


def fold_notice(message: Any, text: str) -> Any:
    """A copy of ``message`` that says ``text`` first.

    A string content gets the text and a blank line in front, a list a text part of its own; where there was no content, the
    text is all of it.
    """
    content = get(message, "content")
    new: Any
    if content is None:
        new = text
    elif isinstance(content, str):
        new = f"{text}\n\n{content}"
    else:
        new = _like(content, [{"type": "text", "text": text}, *content])
    return with_field(message, "content", new)


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


def _edit_part(part: Any, cut: PartCut) -> Any:
    if isinstance(part, str):
        return _cut(part, cut)
    return with_field(part, "text", _cut(get(part, "text"), cut))


def _cut(text: str, cut: PartCut) -> str:
    return text[: cut.head] + cut.marker + text[len(text) - cut.tail :]


def _like(content: Sequence[Any], parts: list[Any]) -> Sequence[Any]:
    """``parts`` in the kind of sequence that ``content`` is."""
    return tuple(parts) if isinstance(content, tuple) else parts
