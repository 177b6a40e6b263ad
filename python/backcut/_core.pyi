from collections.abc import Callable, Sequence
from typing import Any, Literal, Self, final

from .figures import Figures
from .report import JsonPlan, Lines, Plan, Trimmed, TrimmedJson, Violation

__all__ = ["Tokenizer", "Window", "check", "count_messages", "figures", "limit_memory", "memory_limits", "request_field"]

@final
class Tokenizer:
    def __new__(cls, name: str, counter: Callable[[str], int] | None = None, scaled: tuple[str, int, int] | None = None) -> Self: ...
    @property
    def name(self) -> str: ...
    @property
    def is_exact(self) -> bool: ...
    def count(self, text: str) -> int: ...
    def count_up_to(self, text: str, limit: int) -> int | None: ...
    def truncate(self, text: str, limit: int, keep: Literal["head", "tail"] = "head") -> str: ...

@final
class Window:
    def __new__(
        cls,
        *,
        format: str,
        max_turns: int | None,
        max_chars: int | None,
        max_tokens: int | None,
        reserve_tokens: int,
        max_chars_per_tool: int | None,
        tokenizer: Tokenizer | None,
        figures: Figures | None,
        model: str | None,
        start: str,
        notice: str | None,
        notice_role: str,
        tool_keep: str,
        trim_to: float | None,
        on_overflow: str,
        thinking: str,
        compat: str | None,
    ) -> Self: ...
    def trim(
        self, messages: Sequence[Any], tools: Sequence[Any] | None, system: str | Sequence[Any] | None, hint: str = "openai-chat"
    ) -> Trimmed: ...
    def plan(
        self, messages: Sequence[Any], tools: Sequence[Any] | None, system: str | Sequence[Any] | None, hint: str = "openai-chat"
    ) -> Plan: ...
    def trim_json(self, body: bytes | bytearray | memoryview | str, key: str | None) -> TrimmedJson: ...
    def plan_json(self, body: bytes | bytearray | memoryview | str, key: str | None) -> JsonPlan: ...
    def trim_lines(self, chunk: bytes, key: str | None, on_error: str, reports: bool) -> Lines: ...

def count_messages(
    messages: Sequence[Any],
    tokenizer: Tokenizer,
    format: str,
    tools: Sequence[Any] | None,
    system: str | Sequence[Any] | None,
    figures: Figures | None = None,
    model: str | None = None,
) -> int: ...
def figures(model: str | None) -> dict[str, int]: ...
def limit_memory(texts: int | None = None, pieces: int | None = None) -> None: ...
def memory_limits() -> dict[str, int]: ...
def check(messages: Sequence[Any], format: str) -> list[Violation]: ...
def request_field(body: bytes | bytearray | memoryview | str, name: str) -> str | None: ...
