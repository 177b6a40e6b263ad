"""Mends Anthropic's messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from ..wire import anthropic
from ..wire.anthropic import CALLS, MARKS, result_family
from ..wire.common import Tie, readable, text_in
from .blocks import Blocks, parted
from .common import EMPTY, NO_RESULT, NOTHING, Mended, Told, get, with_field, without_field

__all__ = ["MENDER"]


class Anthropic(Blocks):
    """``content`` holds blocks with a ``type``."""

    alone_codes = ("missing_content", "blank_text", "misplaced_block")
    server = ("server", "mcp")

    def text(self, text: str) -> Any:
        return {"type": "text", "text": text}

    def message(self, blocks: list[Any], near: Any) -> Any:
        return {"role": "user", "content": blocks}

    def result(self, call: Any) -> Any:
        return {"type": "tool_result", "tool_use_id": get(call, "id"), "content": NO_RESULT, "is_error": True}

    def id_of(self, tie: Tie) -> str:
        return {"server": "srvtoolu", "mcp": "mcptoolu"}.get(tie.family, "toolu")

    def renamed(self, block: Any, kind: Literal["call", "result"], name: str) -> Any:
        return with_field(block, "id" if kind == "call" else "tool_use_id", name)

    def called_by(self, message: Any, ties: set[int], name: str | None) -> Any:
        blocks, changed = self.blocks(message), False
        for k, (at, tie) in enumerate(self.ties(message)):
            if k in ties and tie.kind == "call":
                maker = None if name is None else with_field(get(blocks[at], "caller"), "tool_id", name)
                blocks[at] = without_field(blocks[at], "caller") if maker is None else with_field(blocks[at], "caller", maker)
                changed = True
        return self.with_blocks(message, blocks) if changed else message

    def alone(self, message: Any, codes: set[str]) -> Mended:
        if "missing_content" in codes:
            return Mended(None, [Told("dropped_message", NOTHING)])
        told, loose = [], []
        blocks, misplaced = parted(self.blocks(message), [_is_misplaced(message, block) for block in self.blocks(message)])
        for block in misplaced:
            if get(block, "type") == "tool_result" and get(message, "role") == "assistant":
                loose.append(block)
                told.append(Told("moved_result", "a result was moved out of the model's message", _ids(block)))
            else:
                action = "dropped_call" if get(block, "type") in CALLS else "dropped_result"
                told.append(Told(action, "a block that has no place in this message was dropped", _ids(block)))
        blocks, blank = parted(blocks, [_is_blank(block) for block in blocks])
        if blank:
            told.append(Told("dropped_text", EMPTY) if blocks else Told("dropped_message", NOTHING))
        return Mended(self.with_blocks(message, blocks), told, loose)

    def unmarked(self, messages: Sequence[Any]) -> dict[int, Any]:
        marked = [
            (index, k)
            for index, message in enumerate(messages)
            for k, block in enumerate(self.blocks(message))
            if readable(block) and get(block, "cache_control") is not None
        ]
        # The last ones cover the longest beginning, so it is these that a cache is read from.
        changed: dict[int, Any] = {}
        for index, k in marked[:-MARKS]:
            message = changed.get(index, messages[index])
            blocks = self.blocks(message)
            blocks[k] = without_field(blocks[k], "cache_control")
            changed[index] = self.with_blocks(message, blocks)
        return changed


def _is_misplaced(message: Any, block: Any) -> bool:
    kind, role = text_in(block, "type"), get(message, "role")
    family = result_family(kind)
    if kind not in CALLS and family is None:
        return False
    return bool(role == "system" or (role == "assistant") == (family == "tool"))


def _is_blank(block: Any) -> bool:
    text = block if isinstance(block, str) else get(block, "text") if get(block, "type") == "text" else None
    return isinstance(text, str) and not text.strip()


def _ids(block: Any) -> tuple[str, ...]:
    ids = (get(block, "id"), get(block, "tool_use_id"))
    return tuple(each for each in ids if isinstance(each, str))


MENDER = Anthropic(anthropic)
