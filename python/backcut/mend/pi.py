"""Mends the messages of Pi, bare or as the entries of a session's log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..wire import pi
from ..wire.common import Tie, readable
from ..wire.pi import find
from .common import NO_RESULT, NOTHING, Mended, Told, get, like, with_field
from .messages import Messages, edited

__all__ = ["MENDER"]


class Pi(Messages):
    """Calls stand in ``content``; an entry holds its message."""

    alone_codes = ("missing_content",)

    def alone(self, message: Any, codes: set[str]) -> Mended:
        return Mended(None, [Told("dropped_message", NOTHING)])

    def rename(self, message: Any, names: Mapping[int, str]) -> Any:
        this = find(message, 0)
        if this.kind == "result":
            return edited(message, this.at("toolCallId"), names[0])
        content = list(get(this.record, "content"))
        for k, at in enumerate(_calls(content)):
            if k in names:
                content[at] = with_field(content[at], "id", names[k])
        return edited(message, this.at("content"), like(get(this.record, "content"), content))

    def answer(self, message: Any, k: int, tie: Tie) -> Any:
        this = find(message, 0)
        content = get(this.record, "content")
        call = content[_calls(content)[k]]
        blocks = [{"type": "text", "text": NO_RESULT}]
        made = {"role": "toolResult", "toolCallId": tie.id, "toolName": get(call, "name"), "content": blocks, "isError": True}
        # No clock is asked: the call's own time will do.
        times = {} if get(this.record, "timestamp") is None else {"timestamp": get(this.record, "timestamp")}
        return {"type": "message", "message": {**made, **times}} if this.path else {**made, **times}


def _calls(content: Any) -> list[int]:
    return [at for at, block in enumerate(content) if readable(block) and get(block, "type") == "toolCall"]


MENDER = Pi(pi)
