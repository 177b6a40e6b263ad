"""A request of any provider: where its messages stand, and what beside them is counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .edit import get

__all__ = ["ARRAYS", "beside"]

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
