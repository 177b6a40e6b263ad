"""What objects are in JSON."""

from __future__ import annotations

from typing import Any

__all__ = ["as_json"]


def as_json(value: Any) -> Any:
    """What a pydantic model, such as the SDKs have, is on the wire: what was set of it.

    Raises:
        TypeError: it is anything else.
    """
    dump = getattr(type(value), "model_dump", None)
    if dump is None:
        raise TypeError(f"{type(value).__name__} is not JSON")
    return dump(value, mode="json", by_alias=True, exclude_unset=True)
