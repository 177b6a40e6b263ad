"""Which format a history is in, where nobody said: the first message whose shape is one format's alone decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .common import get, readable, text_in

__all__ = ["detect", "part_shapes", "shape"]

_PI_ROLES = ("toolResult", "bashExecution", "custom", "branchSummary", "compactionSummary")
_PI_ENTRIES = ("session", "model_change", "thinking_level_change", "branch_summary", "custom_message", "label", "session_info")
_LANGCHAIN = ("human", "ai", "tool", "system", "developer", "function", "chat", "generic", "remove")
_PARTS = {
    "image_url": "openai-chat",
    "file": "openai-chat",
    "input_text": "openai-responses",
    "output_text": "openai-responses",
    "input_image": "openai-responses",
    "input_file": "openai-responses",
    "summary_text": "openai-responses",
    "reasoning_text": "openai-responses",
    "toolCall": "pi",
    "tool_use": "anthropic",
    "tool_result": "anthropic",
    "redacted_thinking": "anthropic",
    "server_tool_use": "anthropic",
    "mcp_tool_use": "anthropic",
}
_BEDROCK = (
    "text",
    "toolUse",
    "toolResult",
    "reasoningContent",
    "image",
    "document",
    "video",
    "cachePoint",
    "guardContent",
    "citationsContent",
)


def detect(messages: Sequence[Any], hint: str = "openai-chat") -> tuple[str, int | None]:
    """The format of a history, and the first message that shows it: ``None`` where none does, and it is ``hint``."""
    for index, message in enumerate(messages):
        form = shape(message)
        if form is not None:
            return form, index
    return hint, None


def shape(message: Any) -> str | None:
    """The format that a message's shape belongs to; ``None`` where it may be in several, or in none."""
    if not readable(message):
        return None
    form = _of_message(message)
    return form if form is not None else next(part_shapes(message), None)


def part_shapes(message: Any, most: int | None = None) -> Iterator[str]:
    """The formats that its parts, or the first ``most`` of them, belong to.

    Chat Completions tells by its calls and results, whatever stands beside them.
    """
    if text_in(message, "role") in ("tool", "function") or any(get(message, key) is not None for key in ("tool_calls", "function_call")):
        return
    content = get(message, "content")
    for part in content[:most] if isinstance(content, (list, tuple)) else ():
        form = _of_part(part) if readable(part) else None
        if form is not None:
            yield form


def _of_message(message: Any) -> str | None:
    role, kind, own = (text_in(message, key) for key in ("role", "kind", "type"))
    if kind in ("request", "response"):
        return "pydantic-ai"
    if role == "model" or (get(message, "parts") is not None and get(message, "kind") is None):
        return "gemini"
    if role in _PI_ROLES or own in _PI_ENTRIES or isinstance(get(message, "stopReason"), str) or _is_entry(message, role, own):
        return "pi"
    if _is_langchain(message, role, own):
        return "langchain"
    # Anthropic's own reply is of type ``message`` too; its parts tell.
    if own is not None and (own != "message" or isinstance(get(message, "content"), str)):
        return "openai-responses"
    if role in ("tool", "function") or any(get(message, key) is not None for key in ("tool_calls", "function_call")):
        return "openai-chat"
    return None


def _is_entry(message: Any, role: str | None, own: str | None) -> bool:
    """Whether it is an entry of one of pi's session files that others have by the same type."""
    if own == "message":
        return readable(get(message, "message"))
    return (own == "compaction" and isinstance(get(message, "summary"), str)) or (own == "custom" and get(message, "role") is None)


def _is_langchain(message: Any, role: str | None, own: str | None) -> bool:
    if get(message, "lc") is not None or role in ("human", "ai"):
        return True
    calls = get(message, "tool_calls")
    first = calls[0] if isinstance(calls, (list, tuple)) and calls else None
    if readable(first) and get(first, "function") is None and get(first, "args") is not None:
        return True
    return isinstance(own, str) and (own.removesuffix("MessageChunk").lower() if own.endswith("MessageChunk") else own) in _LANGCHAIN


def _of_part(part: Any) -> str | None:
    if get(part, "type") is None:
        return "bedrock" if any(get(part, key) is not None for key in _BEDROCK) else None
    kind = text_in(part, "type")
    if kind is None:
        return None
    if (kind == "thinking" and isinstance(get(part, "thinkingSignature"), str)) or (kind == "image" and isinstance(get(part, "data"), str)):
        return "pi"
    if (kind == "thinking" and isinstance(get(part, "thinking"), str)) or kind.endswith("_tool_result"):
        return "anthropic"
    if kind in ("image", "document"):
        return "anthropic" if readable(get(part, "source")) else None
    return _PARTS.get(kind)
