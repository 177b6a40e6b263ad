"""Picks the engine: the compiled core, or with ``BACKCUT_PURE=1`` in the environment its readable twin.

Both have the face that ``_core.pyi`` writes down; nothing else of backcut knows which of the two is at work.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

__all__ = ["PURE", "Tokenizer", "Window", "check", "count_messages", "figures", "limit_memory", "memory_limits", "request_field"]

PURE: bool = os.environ.get("BACKCUT_PURE") == "1"
"""Whether the twin is at work."""

if TYPE_CHECKING:
    from ._core import Tokenizer, Window, check, count_messages, figures, limit_memory, memory_limits, request_field
elif PURE:
    from .reference import Tokenizer, Window, check, count_messages, figures, limit_memory, memory_limits, request_field
else:
    try:
        from ._core import Tokenizer, Window, check, count_messages, figures, limit_memory, memory_limits, request_field
    except ModuleNotFoundError as error:
        if error.name != f"{__package__}._core":
            raise
        raise ImportError(
            "the compiled core backcut._core is not there: install a wheel (pip install backcut), build it from a checkout "
            "(pip install .), or set BACKCUT_PURE=1 to run the slower pure-Python engine",
            name=error.name,
        ) from error
