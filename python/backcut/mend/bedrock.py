"""Mends the messages of Bedrock Converse."""

from __future__ import annotations

from typing import Any, Literal

from ..wire import bedrock
from ..wire.bedrock import family_of, held_in
from ..wire.common import readable
from .blocks import Blocks, parted
from .common import EMPTY, NO_RESULT, NOTHING, Mended, Told, get, with_field

__all__ = ["MENDER"]


class Bedrock(Blocks):
    """``content`` holds blocks with one key, which says what they are; roles alternate."""

    alone_codes = ("missing_content", "blank_text", "document_without_text", "misplaced_block", "empty_result")
    alternates = True

    def text(self, text: str) -> Any:
        return {"text": text}

    def with_blocks(self, message: Any, blocks: list[Any]) -> Any:
        """Marks of the cache alone are no content."""
        return super().with_blocks(message, [] if all(held_in(block)[0] == "cachePoint" for block in blocks) else blocks)

    def message(self, blocks: list[Any], near: Any) -> Any:
        return {"role": "user", "content": blocks}

    def result(self, call: Any) -> Any:
        return {"toolResult": {"toolUseId": get(held_in(call)[1], "toolUseId"), "content": [{"text": NO_RESULT}], "status": "error"}}

    def renamed(self, block: Any, kind: Literal["call", "result"], name: str) -> Any:
        key, held = held_in(block)
        return with_field(block, key, with_field(held, "toolUseId", name))

    def alone(self, message: Any, codes: set[str]) -> Mended:
        if "missing_content" in codes:
            return Mended(None, [Told("dropped_message", NOTHING)])
        turn = self.wire.outline(message, 0).turn
        told, loose = [], []
        blocks = []
        for block in self.blocks(message):
            key, held = ("text", block) if isinstance(block, str) else held_in(block)
            tied = key in ("toolUse", "toolResult") and family_of(key, held, turn) is None
            if tied and key == "toolResult" and turn == "model":
                loose.append(block)
                told.append(Told("moved_result", "a result was moved out of the model's message"))
            elif tied or (key == "reasoningContent" and turn != "model"):
                action = {"toolUse": "dropped_call", "toolResult": "dropped_result"}.get(key, "dropped_text")
                told.append(Told(action, "a block that has no place in this message was dropped"))
            elif key == "toolResult":
                blocks.append(with_field(block, key, self._result(held, told)))
            else:
                blocks.append(block)
        blocks, blank = parted(blocks, [_is_blank(block) for block in blocks])
        if blank:
            told.append(Told("dropped_text", EMPTY) if blocks else Told("dropped_message", NOTHING))
        if "document_without_text" in codes and blocks:
            blocks.append(self.text("[document]"))
            told.append(Told("added_text", "a word was put beside a document"))
        return Mended(self.with_blocks(message, blocks), told, loose)

    def _result(self, held: Any, told: list[Told]) -> Any:
        """A result that is an error says something."""
        if get(held, "status") == "error" and not get(held, "content"):
            held = with_field(held, "content", [{"text": NO_RESULT}])
            told.append(Told("added_text", "a failed result that said nothing got a text"))
        return held


def _is_blank(block: Any) -> bool:
    text = block if isinstance(block, str) else get(block, "text") if readable(block) else None
    return isinstance(text, str) and not text.strip()


MENDER = Bedrock(bedrock)
