"""What the tests of the command line share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

Put: TypeAlias = Callable[..., str]
Run: TypeAlias = Callable[..., tuple[int, str, str]]

GOLDEN = Path(__file__).parent / "golden"
EXAMPLE = Path(__file__).parents[1] / "examples" / "agent_run.json"
HISTORY: list[dict[str, Any]] = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "first question"},
    {"role": "assistant", "content": "first answer"},
    {"role": "user", "content": "second question"},
    {"role": "assistant", "content": "second answer"},
    {"role": "user", "content": "third question"},
]
CALLS: list[dict[str, Any]] = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "a", "content": "x" * 500},
]
NOTICE = {"role": "system", "content": "[…previous history omitted to fit the window…]"}
posix = pytest.mark.skipif(os.name != "posix", reason="POSIX only")
as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may")
not_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may do anything")


def process(*arguments: str, **how: Any) -> subprocess.CompletedProcess[bytes]:
    """The command line in a process of its own."""
    return subprocess.run([sys.executable, "-m", "backcut", *arguments], capture_output=True, timeout=60, **how)


def lines(*values: object) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)
