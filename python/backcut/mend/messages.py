"""Formats in which a result is a message of its own."""

from __future__ import annotations

from typing import Any

from .common import Loose, Mender, get, with_field

__all__ = ["Messages", "edited"]


class Messages(Mender):
    """Mends messages of which a result is one; a call may be one or stand in one."""

    def take(self, message: Any, ties: set[int]) -> tuple[Any, dict[int, Any]]:
        """The whole message: in these formats nothing stands beside a result."""
        return None, dict.fromkeys(ties, message)

    def add(self, message: Any, loose: Loose) -> Any:
        """Not into another message."""
        return None

    def own(self, loose: Loose, near: Any) -> list[Any]:
        """As they are."""
        return list(loose.pieces)


def edited(message: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """The message with another value at ``path``, which has keys alone."""
    key = str(path[0])
    return with_field(message, key, value if len(path) == 1 else edited(get(message, key), path[1:], value))
