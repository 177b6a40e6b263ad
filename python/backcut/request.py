"""A request of any provider: where its messages stand, and what beside them is counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .edit import get

__all__ = ["ARRAYS", "alone", "beside", "hint"]

ARRAYS = ("messages", "input", "contents")
"""Where messages stand: with most providers, in OpenAI's Responses, with Gemini."""

_SYSTEM = ("system", "instructions", "system_instruction", "systemInstruction", "system_message")
"""The last is that of LangChain's agents, whose messages come without it."""
_TOOLS = ("tools", "functions")
"""``functions`` is what tools were called before."""


def beside(array: str, field: Callable[[str], Any]) -> tuple[Any, Any]:
    """The tools and the system text that are sent beside the messages, each ``None`` where there are none.

    Args:
        array: where the messages stand.
        field: gives a field of the request by its name, ``None`` where it is not there.
    """
    places = [field]
    if array == "contents" and (config := field("config")) is not None:  # where Google's SDK takes all but the contents
        places.append(lambda name: get(config, name))
    system = next((value for at in places for name in _SYSTEM if (value := at(name)) is not None), None)
    tools = next((value for at in places for name in _TOOLS if (value := at(name))), None)
    # Of Bedrock; Gemini calls something else so, which holds no tools.
    return tools or get(field("toolConfig"), "tools"), system


def hint(array: str, field: Callable[[str], Any], system: Any) -> str:
    """The format of messages that do not show it, by what stands beside them.

    Args:
        array: where the messages stand.
        field: gives a field of the request by its name, ``None`` where it is not there.
        system: the system text, as ``beside`` finds it.
    """
    # Of Gemini's messages each shows it.
    if array in ("contents", "input"):
        return "openai-chat" if array == "contents" else "openai-responses"
    first = system[0] if isinstance(system, (list, tuple)) and system else None
    is_bare = isinstance(first, Mapping) and "type" not in first
    if is_bare or any(field(name) is not None for name in ("inferenceConfig", "toolConfig")):
        return "bedrock"
    return "anthropic" if any(field(name) is not None for name in ("system", "anthropic_version")) else "openai-chat"


def alone(array: str, messages: Any) -> Any:
    """The one message that a shorthand stands for: nothing of it can go, but it has to fit. ``None``: it is none.

    A text alone is a message of the user's, and with Gemini a part is, or a list of texts and parts.
    """
    if array == "input" and isinstance(messages, str):
        return {"role": "user", "content": messages}
    if array != "contents" or messages is None:
        return None
    is_list = isinstance(messages, Sequence) and not isinstance(messages, str)
    listed = list(messages) if is_list else [messages]
    if any(_is_content(each) for each in listed):
        return None if is_list else messages
    return {"role": "user", "parts": [{"text": each} if isinstance(each, str) else each for each in listed]} if listed else None


def _is_content(value: Any) -> bool:
    return any(get(value, key) is not None for key in ("role", "parts"))
