"""Short words for messages, so that a test shows its history at a glance."""

from __future__ import annotations

from typing import Any

Message = dict[str, Any]


def system(text: Any = "You are terse.") -> Message:
    return {"role": "system", "content": text}


def developer(text: Any = "Answer in English.") -> Message:
    return {"role": "developer", "content": text}


def user(text: Any = "task") -> Message:
    return {"role": "user", "content": text}


def said(text: Any = "done", **more: Any) -> Message:
    return {"role": "assistant", "content": text, **more}


def call(*ids: str | None, text: Any = None, arguments: Any = "{}", name: str = "f") -> Message:
    """An assistant turn that calls a tool once for each id (``None``: a call without one)."""
    return said(text, tool_calls=[_call(i, name, arguments) for i in ids])


def _call(call_id: str | None, name: str, arguments: Any) -> Message:
    rest = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return rest if call_id is None else {"id": call_id, **rest}


def result(call_id: str | None, text: Any = "result") -> Message:
    rest = {"role": "tool", "content": text}
    return rest if call_id is None else {**rest, "tool_call_id": call_id}


def pair(call_id: str, text: Any = "result", arguments: Any = "{}") -> list[Message]:
    return [call(call_id, arguments=arguments), result(call_id, text)]


def legacy(text: Any = "result", name: str = "f") -> list[Message]:
    return [said(None, function_call={"name": name, "arguments": "{}"}), {"role": "function", "name": name, "content": text}]


def text_part(text: Any) -> Message:
    return {"type": "text", "text": text}


def image(url: str, **more: Any) -> Message:
    return {"type": "image_url", "image_url": {"url": url, **more}}
