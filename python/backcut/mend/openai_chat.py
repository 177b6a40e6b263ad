"""Mends the messages of OpenAI Chat Completions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..wire import openai_chat
from ..wire.common import Tie
from ..wire.openai_chat import AUDIOS, IMAGES, responses_of
from .common import NO_RESULT, NOTHING, Loose, Mended, Told, get, like, with_field, without_field
from .messages import Messages

__all__ = ["MENDER"]


class OpenAIChat(Messages):
    """Calls stand in ``tool_calls``, or as the older ``function_call``, which has no id."""

    alone_codes = ("missing_content", "empty_tool_calls", "mixed_calls", "media_in_result")

    def alone(self, message: Any, codes: set[str]) -> Mended:
        told = []
        if "missing_content" in codes:
            # Results are waited for, and what was thought or planned is there all the same.
            if get(message, "role") not in ("tool", "function") and not self._says(message):
                return Mended(None, [Told("dropped_message", NOTHING)])
            message = with_field(message, "content", "")
            told.append(Told("added_field", "a message without content got an empty text"))
        if "empty_tool_calls" in codes:
            message = without_field(message, "tool_calls")
            told.append(Told("dropped_field", "an empty tool_calls was dropped"))
        if "mixed_calls" in codes:
            message = without_field(message, "function_call")
            told.append(Told("dropped_call", "a function_call beside tool_calls was dropped"))
        if "media_in_result" in codes:
            content = get(message, "content")
            message = with_field(message, "content", like(content, [_as_text(part) for part in content]))
            told.append(Told("replaced_media", "what is no text in a result was replaced by a word for it"))
        return Mended(message, told)

    def _says(self, message: Any) -> bool:
        outline = self.wire.outline(message, 0)
        return any(piece.text for piece in self.wire.read(message, 0, outline, names=False).pieces)

    def take(self, message: Any, ties: set[int]) -> tuple[Any, dict[int, Any]]:
        responses = responses_of(message)
        if not responses:
            return super().take(message, ties)
        gone = {at: k for k, at in enumerate(responses) if k in ties}
        listed = get(message, "tool_responses")
        rest = [response for at, response in enumerate(listed) if at not in gone]
        # Without its responses it would be a result itself.
        left = with_field(message, "tool_responses", like(listed, rest)) if len(gone) < len(responses) else None
        return left, {k: listed[at] for at, k in gone.items()}

    def own(self, loose: Loose, near: Any) -> list[Any]:
        return list(loose.pieces) if loose.message is None else [loose.message]

    def has_id(self, tie: Tie) -> bool:
        return tie.family == "tool"

    def known_as(self, message: Any, tie: Tie) -> str | None:
        if tie.family == "tool":
            return tie.id
        name = get(get(message, "function_call"), "name")
        return name if isinstance(name, str) and name else None

    def rename(self, message: Any, names: Mapping[int, str]) -> Any:
        role, responses = get(message, "role"), responses_of(message)
        if responses:
            listed = list(get(message, "tool_responses"))
            for k, at in enumerate(responses):
                listed[at] = with_field(listed[at], "tool_call_id", names[k]) if k in names else listed[at]
            return with_field(message, "tool_responses", like(get(message, "tool_responses"), listed))
        if role != "assistant":
            return with_field(message, "tool_call_id" if role == "tool" else "name", names[0])
        calls = get(message, "tool_calls")
        renamed = [with_field(call, "id", names[k]) if k in names else call for k, call in enumerate(calls)]
        return with_field(message, "tool_calls", like(calls, renamed))

    def answer(self, message: Any, k: int, tie: Tie) -> Any:
        if tie.family == "legacy":
            return {"role": "function", "name": self.known_as(message, tie) or "function", "content": NO_RESULT}
        return {"role": "tool", "tool_call_id": tie.id, "content": NO_RESULT}


def _as_text(part: Any) -> Any:
    """A part of a result as a text: what it says, or a word for what it shows."""
    kind = get(part, "type")
    if isinstance(part, str) or kind == "text":
        return part
    said = get(part, "text") if isinstance(get(part, "text"), str) else get(part, "refusal")
    shown = "[image]" if kind in IMAGES else "[audio]" if kind in AUDIOS else "[file]"
    return {"type": "text", "text": said if isinstance(said, str) else shown}


MENDER = OpenAIChat(openai_chat)
