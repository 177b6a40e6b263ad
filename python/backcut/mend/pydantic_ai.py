"""Mends the messages of pydantic-ai."""

from __future__ import annotations

from typing import Any, Literal

from ..wire import pydantic_ai
from .blocks import Blocks
from .common import NO_RESULT, NOTHING, Mended, Told, get, made, with_field

__all__ = ["MENDER"]


class PydanticAI(Blocks):
    """``parts`` holds parts with a ``part_kind``: objects, or their JSON."""

    field = "parts"
    alone_codes = ("missing_content",)

    def message(self, blocks: list[Any], near: Any) -> Any:
        return made(near, "ModelRequest", {"parts": blocks}, kind="request")

    def result(self, call: Any) -> Any:
        fields = {"tool_name": get(call, "tool_name"), "content": NO_RESULT, "tool_call_id": get(call, "tool_call_id"), "outcome": "failed"}
        return made(call, "ToolReturnPart", fields, part_kind="tool-return")

    def renamed(self, block: Any, kind: Literal["call", "result"], name: str) -> Any:
        return with_field(block, "tool_call_id", name)

    def alone(self, message: Any, codes: set[str]) -> Mended:
        return Mended(None, [Told("dropped_message", NOTHING)])


MENDER = PydanticAI(pydantic_ai)
