"""Mends the items of OpenAI Responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..wire import openai_responses
from ..wire.common import Tie
from ..wire.openai_responses import HOSTED, id_keys
from .common import NO_RESULT, NOTHING, Mended, Told, get, with_field, without_field
from .messages import Messages

__all__ = ["MENDER"]

_SHELL = [{"stdout": "", "stderr": NO_RESULT, "outcome": {"type": "exit", "exit_code": 1}}]
_SAYS: dict[str, dict[str, Any]] = {
    "function_call": {"type": "function_call_output", "output": NO_RESULT},
    "custom_tool_call": {"type": "custom_tool_call_output", "output": NO_RESULT},
    "local_shell_call": {"type": "local_shell_call_output", "output": NO_RESULT},
    "shell_call": {"type": "shell_call_output", "output": _SHELL},
    "apply_patch_call": {"type": "apply_patch_call_output", "status": "failed", "output": NO_RESULT},
    "tool_search_call": {"type": "tool_search_output", "execution": "client", "status": "completed", "tools": []},
    "mcp_approval_request": {"type": "mcp_approval_response", "approve": False, "reason": NO_RESULT},
}
"""How an output of each family says that there is none. A screenshot nobody can make, and a program is the provider's."""


class OpenAIResponses(Messages):
    """Calls and outputs are items."""

    alone_codes = ("missing_content", "missing_summary")

    def alone(self, message: Any, codes: set[str]) -> Mended:
        if "missing_content" in codes:
            return Mended(None, [Told("dropped_message", NOTHING)])
        return Mended(with_field(message, "summary", []), [Told("added_field", "reasoning without a summary got an empty one")])

    def has_id(self, tie: Tie) -> bool:
        return tie.family not in HOSTED and (tie.id is not None or tie.family != "tool_search_call")

    def rename(self, message: Any, names: Mapping[int, str]) -> Any:
        keys = id_keys(get(message, "type"))
        for key in [key for key in keys if get(message, key)] or keys[:1]:
            message = with_field(message, key, names[0])
        return message

    def called_by(self, message: Any, ties: set[int], name: str | None) -> Any:
        if get(message, "caller") is not None:
            maker = get(message, "caller")
            return without_field(message, "caller") if name is None else with_field(message, "caller", with_field(maker, "caller_id", name))
        if get(message, "type") not in HOSTED:
            return message
        key = "approval_request_id"
        return without_field(message, key) if name is None else with_field(message, key, name)

    def is_reasoning(self, message: Any) -> bool:
        return bool(get(message, "type") == "reasoning")

    def is_trigger(self, message: Any) -> bool:
        return bool(get(message, "type") == "compaction_trigger")

    def answer(self, message: Any, k: int, tie: Tie) -> Any:
        if tie.family not in _SAYS:
            return None
        key = {"mcp_approval_request": "approval_request_id", "local_shell_call": "id"}.get(tie.family, "call_id")
        return {**_SAYS[tie.family], **({} if tie.id is None else {key: tie.id})}


MENDER = OpenAIResponses(openai_responses)
