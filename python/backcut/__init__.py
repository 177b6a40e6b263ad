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
]

__version__: str

if TYPE_CHECKING:
    from .figures import Figures
else:  # a type checker would take it for leave to import any name

    def __getattr__(name: str) -> object:
        if name == "Figures":
            from .figures import Figures  # a dataclass: slow to import, so only for whoever asks

            return Figures
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import metadata  # slow to import, so only for whoever asks

        try:
            return metadata.version("backcut")
        except metadata.PackageNotFoundError:  # a source tree on the path
            return "0+unknown"
