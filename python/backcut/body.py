"""Requests as bytes: trimmed where they stand, so that what is not cut or edited stays byte for byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .report import JsonPlan, TrimmedJson
    from .window import Body, ContextWindow

__all__ = ["plan_json", "trim_json"]


def trim_json(body: Body, window: ContextWindow, *, key: str | None = None) -> TrimmedJson:
    """Trims the messages of a request that is JSON text, and leaves all else of it as it is, byte for byte.

    Args:
        body: an object with the messages in a field, or the array of the messages alone. It is not changed. A ``memoryview`` is one
            of contiguous bytes.
        window: what trims.
        key: the field with the messages; without it the first of ``messages``, ``input`` and ``contents`` that is there. What stands
            beside them as tools and system text counts as in ``window(request, call_next)``.

    Returns:
        ``TrimmedJson(body, report)``: the very object that came in where nothing changes, else new ``bytes``. The messages in it, and
        the report, are those of ``window.trim`` on ``json.loads(body)``. A shorthand (``input`` a text, ``contents`` a text or a
        part) is never cut, but has to fit.

    Raises:
        JsonError: it is not JSON, with the place; or an object has a key twice, or brackets are nested deeper than 512.
        FormatError: there are no messages, or they cannot be read as the format says.
        BudgetError: not even the newest group fits (unless ``on_overflow="keep"``).
        TypeError: ``body`` is anything else.

    Takes time proportional to the length of the body, besides that of a trim. What ``on_report`` raises comes through.
    """
    trimmed = window._trim_json(body, key)
    if window._report is not None:
        window._report(trimmed.report)
    return trimmed


def plan_json(body: Body, window: ContextWindow, *, key: str | None = None) -> JsonPlan:
    """What :func:`trim_json` would give, as pieces of the body; nothing of it is copied, and ``on_report`` is not called.

    Args:
        body: as for :func:`trim_json`.
        window: what trims.
        key: the field with the messages.

    Returns:
        ``JsonPlan(pieces, report)``. A piece is ``(begin, end)``, a place in the body (in the UTF-8 of a ``str``), or new ``bytes``.

    Raises:
        JsonError, FormatError, BudgetError, TypeError: as :func:`trim_json`.
    """
    return window._plan_json(body, key)
