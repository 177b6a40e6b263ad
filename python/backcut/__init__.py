"""Keeps an LLM conversation inside its context window, soundly and next to free.

>>> import backcut
>>> window = backcut.context_window(max_turns=2)
>>> history = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi!"}]
>>> window(history) is history
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .body import plan_json, trim_json
from .engine import Tokenizer
from .errors import BackcutError, BudgetError, FormatError, JsonError, OptionError
from .many import trim_many
from .memory import limit_memory, memory_limits
from .options import WindowOptions
from .report import Change, Edit, JsonPlan, Notice, PartCut, Plan, Repaired, Trimmed, TrimmedJson, TrimReport, Violation
from .tokens import register_model, tokenizer
from .window import ContextWindow, check, context_window, count, repair, trim

__all__ = [
    "BackcutError",
    "BudgetError",
    "Change",
    "ContextWindow",
    "Edit",
    "Figures",
    "FormatError",
    "JsonError",
    "JsonPlan",
    "JsonlProgress",
    "JsonlSummary",
    "Notice",
    "OptionError",
    "PartCut",
    "Plan",
    "Repaired",
    "Tokenizer",
    "TrimReport",
    "Trimmed",
    "TrimmedJson",
    "Violation",
    "WindowOptions",
    "__version__",
    "check",
    "context_window",
    "count",
    "limit_memory",
    "memory_limits",
    "plan_json",
    "register_model",
    "repair",
    "tokenizer",
    "trim",
    "trim_json",
    "trim_jsonl",
    "trim_many",
]

__version__: str

if TYPE_CHECKING:
    from .figures import Figures
    from .jsonl import JsonlProgress, JsonlSummary, trim_jsonl
else:  # a type checker would take it for leave to import any name
    # Slow to import, so only for whoever asks.
    _LATE = {"Figures": "figures", "JsonlProgress": "jsonl", "JsonlSummary": "jsonl", "trim_jsonl": "jsonl"}

    def __getattr__(name: str) -> object:
        if name in _LATE:
            from importlib import import_module

            return getattr(import_module(f".{_LATE[name]}", __name__), name)
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import metadata  # slow to import, so only for whoever asks

        try:
            return metadata.version("backcut")
        except metadata.PackageNotFoundError:  # a source tree on the path
            return "0+unknown"
