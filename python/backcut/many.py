"""Many histories that are in memory already."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from .errors import BackcutError

if TYPE_CHECKING:
    from .report import Trimmed
    from .window import ContextWindow, System, Tools

__all__ = ["trim_many"]

_M = TypeVar("_M")
_H = TypeVar("_H", bound=Sequence[Any])


@overload
def trim_many(
    histories: Iterable[tuple[_M, ...]], window: ContextWindow, *, tools: Tools = None, system: System = None
) -> list[Trimmed[Sequence[_M]]]: ...
@overload
def trim_many(histories: Iterable[_H], window: ContextWindow, *, tools: Tools = None, system: System = None) -> list[Trimmed[_H]]: ...
def trim_many(
    histories: Iterable[Sequence[Any]], window: ContextWindow, *, tools: Tools = None, system: System = None
) -> list[Trimmed[Any]]:
    """Trims each of many histories: ``[window.trim(history, tools=tools, system=system) for history in histories]``.

    Args:
        histories: the histories, one after the other. None of them is changed.
        window: what trims. Its ``on_report`` is called for each.
        tools: tool schemas that go along with every one of them.
        system: system text outside of the arrays, the same for all.

    Returns:
        One ``Trimmed(messages, report)`` for each, in order.

    Raises:
        FormatError: the first history that cannot be read as the format says.
        BudgetError: the first that cannot be made to fit (unless ``on_overflow="keep"``).

    What is raised says in a note which of them is at fault, from 0, and errors of backcut in ``history`` too. Takes the time of the
    trims, one after the other: Python objects are read under the interpreter's lock.
    """
    done: list[Trimmed[Any]] = []
    for history in histories:
        try:
            done.append(window.trim(history, tools=tools, system=system))
        except Exception as error:
            error.add_note(f"histories[{len(done)}]")
            if isinstance(error, BackcutError):
                error.history = len(done)
            raise
    return done
