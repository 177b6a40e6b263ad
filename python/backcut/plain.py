"""What objects are in JSON, and JSON as it is counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Self

__all__ = ["Long", "as_json", "compact"]


class Long(complex):
    """An integer with more digits than ``int`` takes: only its text is known.

    A number all the same, and as JSON has no complex ones, whoever writes JSON asks what to make of it.
    """

    literal: str

    def __new__(cls, literal: str) -> Self:
        """Makes the number from its JSON text."""
        self = super().__new__(cls)
        self.literal = literal
        return self


Long.__name__ = "int"  # as errors have it


class _LongError(Exception):
    """There is a long integer."""


def as_json(value: Any) -> Any:
    """What a pydantic model, such as the SDKs have, is on the wire: what was set of it.

    Raises:
        TypeError: it is anything else.
    """
    dump = getattr(type(value), "model_dump", None)
    if dump is None:
        raise TypeError(f"{type(value).__name__} is not JSON")
    return dump(value, mode="json", by_alias=True, exclude_unset=True)


def compact(value: Any, default: Callable[[Any], Any] = as_json) -> str:
    """``value`` as JSON without spaces; ``default`` says what objects are in it. Raises what ``json.dumps`` does."""

    def asked(value: Any) -> Any:
        if isinstance(value, Long):
            raise _LongError
        return default(value)

    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=asked)
    except _LongError:
        return _with_long(value)


def _with_long(value: Any) -> str:
    """The same of what was read from JSON."""
    if isinstance(value, Long):
        return value.literal
    if isinstance(value, dict):
        return f"{{{','.join(f'{_with_long(key)}:{_with_long(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_with_long, value))}]"
    return json.dumps(value, ensure_ascii=False)
