"""How a command ends when it cannot go on, and how it speaks to a person meanwhile."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

__all__ = ["CommandError", "hush", "reason", "say"]


class CommandError(Exception):
    """Why a command stops: a sentence for standard error and an exit code."""

    def __init__(self, sentence: str, code: int = 2) -> None:
        super().__init__(sentence)
        self.code = code


def say(text: str, end: str = "\n") -> None:
    """Writes to standard error, in UTF-8; what cannot be said is no reason to stop."""
    stream = sys.stderr
    if stream is None:
        return
    with suppress(OSError, ValueError):
        stream.flush()
        buffer = getattr(stream, "buffer", None)
        if buffer is None:
            stream.write(text + end)
        else:
            buffer.write((text + end).encode("utf-8", "backslashreplace"))
        stream.flush()


def hush() -> None:
    """Lets the interpreter's last flush of standard output go nowhere, after a write to it has failed."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def reason(error: OSError) -> str:
    """What the system says, without its number."""
    return (error.strerror or str(error)).lower()
