"""The errors of backcut. A failed call changes nothing.

Every error is a :class:`BackcutError`; those that a caller can cause by a wrong
value are :class:`ValueError` too. Each carries its facts as attributes, so that a
program need not read the sentence.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

__all__ = ["BackcutError", "BudgetError", "FormatError", "JsonError", "OptionError"]

_SHOWN = 60
"""How many characters of a wrong value are shown in a sentence."""


def shorten(value: object) -> str:
    """The ``repr`` of ``value``, at most 60 characters of it."""
    try:
        text = repr(value)
    except Exception:  # a value of somebody else's class, or an integer of too many digits
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Up to three of ``known`` that are longer forms of ``name`` or look most like it, each once."""
    import difflib  # only a wrong name needs it

    name = name.lower()
    names = list(dict.fromkeys(known))
    # Alike enough that another vendor's model is not taken for a mistyped one: glm-4.5 is no gpt-4.5.
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.75)
    longer = [each for each in names if len(name) > 2 and each.startswith(name)]
    return list(dict.fromkeys(longer + close))[:3]


class BackcutError(Exception):
    """Anything that backcut refuses to do.

    Attributes:
        line: of a file of lines, the number of the one at fault, from 1; else ``None``.
        history: of many histories, the place of the one at fault, from 0; else ``None``.
    """

    line: int | None = None
    history: int | None = None

    _fields: ClassVar[tuple[str, ...]] = ()
    """The arguments of the class, each an attribute of the same name."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Exceptions pickle and copy by their args, ours by their fields; notes and the like come along."""
        fields = tuple(getattr(self, name) for name in self._fields) if self._fields else self.args
        return type(self), fields, self.__dict__


class OptionError(BackcutError, ValueError):
    """An option that is not known, or has a value that is not allowed.

    Attributes:
        option: the option's name.
        value: what was given.
        allowed: what is allowed, in words.
    """

    _fields = ("option", "value", "allowed")

    def __init__(self, option: str, value: object, allowed: str) -> None:
        super().__init__(f"{option}={shorten(value)}: {allowed}")
        self.option = option
        self.value = value
        self.allowed = allowed


class FormatError(BackcutError, ValueError):
    """A history that cannot be read as the format says.

    Attributes:
        index: the message's place in the history, or ``None`` where the history itself, ``tools`` or ``system`` is wrong.
        path: the place inside the message, such as ``tool_calls[0].function``; empty for the message itself. Where ``index`` is
            ``None``, the place inside the request, such as ``tools[0]``; empty for the history itself.
        found: what stands there, as a type name, ``nothing``, or a shortened value.
        expected: what should stand there.
    """

    _fields: ClassVar[tuple[str, ...]] = ("index", "path", "found", "expected")

    def __init__(self, index: int | None, path: str, found: str, expected: str) -> None:
        place = "messages" if index is None else f"messages[{index}]"
        if path:
            place = path if index is None else f"{place}.{path}"
        super().__init__(f"{place}: expected {expected}, found {found}")
        self.index = index
        self.path = path
        self.found = found
        self.expected = expected


class JsonError(FormatError):
    """A request body that is not JSON, or that can be read in two ways.

    Attributes:
        offset: where in the body, in bytes from its start (in a file of lines from the start of the line); of a ``str`` in bytes of
            its UTF-8.
        index: ``None``.
        path: empty.
        found: what stands there.
        expected: what should stand there.
    """

    _fields = ("offset", "found", "expected")

    def __init__(self, offset: int, found: str, expected: str) -> None:
        super().__init__(None, "", found, expected)
        self.args = (f"at byte {offset}: expected {expected}, found {found}",)
        self.offset = offset


class BudgetError(BackcutError, ValueError):
    """Not even the newest group fits.

    Attributes:
        needed: what the newest group needs, and with it its task in formats whose providers insist on a user turn in front; in the
            unit of the ceiling (messages, characters, or tokens of the whole request; at least so many where one text alone is
            too long to be worth tokenizing).
        limit: what there is: the ceiling, for tokens less ``reserve_tokens``.
        ceiling: ``max_turns``, ``max_chars`` or ``max_tokens``.
        index: where the newest group begins in the history; ``None`` where there is no message behind the head.
    """

    _fields = ("needed", "limit", "ceiling", "index")

    def __init__(self, needed: int, limit: int, ceiling: str, index: int | None) -> None:
        least = "an empty conversation behind the head" if index is None else f"the newest group, messages[{index}:],"
        if ceiling == "max_tokens":
            # What is asked for is a request, so the newest group need not be what is large in it.
            least = f"a request with {least} is the least that can be sent, and with head, tools, frames and what it cannot go without"
        elif index is not None:
            least += " with what it cannot go without,"
        super().__init__(f"{least} needs {needed} of {ceiling}, but there are {limit}")
        self.needed = needed
        self.limit = limit
        self.ceiling = ceiling
        self.index = index
