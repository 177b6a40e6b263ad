"""Mends the messages of LangChain: objects, and the forms in which they are written down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..wire import langchain
from ..wire.common import Tie, readable
from ..wire.langchain import calls_of, find
from .common import NO_RESULT, NOTHING, Mended, Told, get, like, made, with_field
from .messages import Messages, edited

__all__ = ["MENDER"]


class LangChain(Messages):
    """Calls stand in ``tool_calls``, ``invalid_tool_calls`` or, as the provider had them, in ``additional_kwargs``."""

    alone_codes = ("missing_content",)

    def alone(self, message: Any, codes: set[str]) -> Mended:
        return Mended(None, [Told("dropped_message", NOTHING)])

    def has_id(self, tie: Tie) -> bool:
        return tie.family == "tool"

    def rename(self, message: Any, names: Mapping[int, str]) -> Any:
        this = find(message, 0)
        if this.role == "tool":
            return edited(message, this.at("tool_call_id"), names[0])
        before = 0
        for path, calls in calls_of(this):
            listed = list(calls) if isinstance(calls, (list, tuple)) else []
            for k, call in enumerate(listed):
                listed[k] = with_field(call, "id", names[before + k]) if before + k in names else call
            if any(before <= k < before + len(listed) for k in names):
                message = edited(message, path, like(calls, listed))
            before += len(listed)
        return message

    def answer(self, message: Any, k: int, tie: Tie) -> Any:
        this = find(message, 0)
        calls = [call for _, listed in calls_of(this) for call in (listed if isinstance(listed, (list, tuple)) else (listed,))]
        function = get(calls[k], "function")  # as Chat Completions has it
        name = get(function if readable(function) else calls[k], "name")
        named = {"name": name} if isinstance(name, str) and name else {}
        if tie.family == "legacy":
            return _in_form_of(message, "function", {"content": NO_RESULT, "name": name or "function"})
        return _in_form_of(message, "tool", {"content": NO_RESULT, "tool_call_id": tie.id, **named, "status": "error"})


def _in_form_of(message: Any, kind: str, fields: dict[str, Any]) -> Any:
    """A message of this kind, written down as the other is."""
    cls = f"{kind.capitalize()}Message"
    if not isinstance(message, Mapping):
        return made(message, cls, fields)
    if get(message, "lc") is not None:
        place = [*get(message, "id")[:-1], cls]
        return {"lc": get(message, "lc"), "type": "constructor", "id": place, "kwargs": fields}
    if find(message, 0).path:
        return {"type": kind, "data": fields}
    key = "type" if get(message, "role") is None else "role"
    return {key: kind, **fields}


MENDER = LangChain(langchain)
