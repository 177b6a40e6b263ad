"""What pydantic-ai sends of a value that is no text and no plain JSON: a tool may give back whatever its serializer takes."""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Mapping
from datetime import date, time
from enum import Enum
from typing import Any

from .plain import compact

__all__ = ["sent"]


def sent(value: Any) -> str:
    """The compact JSON of ``value``, in which objects are what pydantic makes of them; of one whose JSON is a string, that string.

    What has no JSON at all is its ``str``. Dates, enumerations, dataclasses, models, sets and bytes are what pydantic writes; of
    anything rarer the form may differ, not whether it counts.
    """
    try:
        text = compact(value, _plain)
    except (TypeError, ValueError, RecursionError):
        return str(value)
    return str(json.loads(text)) if text.startswith('"') else text


def _plain(value: Any) -> Any:
    """Something that JSON knows."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (date, time)):  # a datetime is a date
        text = value.isoformat()
        return f"{text[:-6]}Z" if text.endswith("+00:00") else text
    if hasattr(type(value), "model_dump"):
        return value.model_dump(mode="json", by_alias=True)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return list(value)
    if isinstance(value, (bytes, bytearray)):
        return base64.urlsafe_b64encode(value).decode()
    return str(value)
