"""What the menders of all formats share: what a mender must know of its format, and how copies are made."""

from __future__ import annotations

import copy
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..edit import with_field
from ..wire import Format
from ..wire.common import Outline, Tie, get
from ..wire.pairing import Pairing

__all__ = [
    "EMPTY",
    "NOTHING",
    "NO_RESULT",
    "RESUMED",
    "Loose",
    "Mended",
    "Mender",
    "Told",
    "get",
    "like",
    "made",
    "with_field",
    "without_field",
]

NO_RESULT = "No result: the call was not completed."
RESUMED = "[…conversation resumed…]"

# Sentences of changes that several formats know.
EMPTY = "a text without anything in it was dropped"
NOTHING = "a message without content was dropped"


class Told(NamedTuple):
    """A change to one message: see :class:`backcut.Change`."""

    action: str
    sentence: str
    ids: tuple[str, ...] = ()


@dataclass(slots=True)
class Mended:
    """A message without what it had wrong."""

    message: Any
    """``None`` where nothing is left."""
    told: list[Told] = field(default_factory=list)
    loose: list[Any] = field(default_factory=list)
    """Results that stood where results have no place."""


@dataclass(frozen=True, slots=True)
class Loose:
    """Results on their way to their call."""

    pieces: Sequence[Any]
    message: Any = None
    """The message that held these and nothing else."""


class Mender:
    """What a format says of how its messages are mended. Ties are named by their place in the message's outline."""

    alone_codes: tuple[str, ...] = ()
    """Codes of what a message has wrong by itself, ids aside."""
    alternates = False
    """Whether results go into the turn of the user's behind the call, as two messages of one role must not stand side by side."""

    def __init__(self, wire: Format) -> None:
        self.wire = wire

    def alone(self, message: Any, codes: set[str]) -> Mended:
        """Mends what a message has wrong by itself."""
        raise NotImplementedError

    def has_id(self, tie: Tie) -> bool:
        """Whether calls of this family have ids."""
        return True

    def id_of(self, tie: Tie) -> str:
        """How made ids of this family begin."""
        return "call"

    def known_as(self, message: Any, tie: Tie) -> str | None:
        """What a result of this call bears."""
        return tie.id

    def paired(self, messages: Sequence[Any], outlines: Sequence[Outline], pairing: Pairing) -> Pairing:
        """How calls and results go together, where a format knows better than their ids and places tell."""
        return pairing

    def rename(self, message: Any, names: Mapping[int, str]) -> Any:
        """The message with other ids."""
        raise NotImplementedError

    def called_by(self, message: Any, ties: set[int], name: str | None) -> Any:
        """The message with calls and results that name another call as that which made them (``None``: no longer any)."""
        return message

    def is_reasoning(self, message: Any) -> bool:
        """Whether a message leads to the one behind it and may not stand without."""
        return False

    def is_trigger(self, message: Any) -> bool:
        """Whether a message asks for a compaction."""
        return False

    def take(self, message: Any, ties: set[int]) -> tuple[Any, dict[int, Any]]:
        """What is left of the message without these calls and results (``None``: nothing), and each of them."""
        raise NotImplementedError

    def answer(self, message: Any, k: int, tie: Tie) -> Any:
        """A result for a call that has none; ``None`` where only the provider could give it."""
        raise NotImplementedError

    def add(self, message: Any, loose: Loose) -> Any:
        """The message with these results in it as well; ``None`` where they are messages of their own."""
        raise NotImplementedError

    def own(self, loose: Loose, near: Any) -> list[Any]:
        """These results as messages of their own; ``near`` is a message that they will stand behind."""
        raise NotImplementedError

    def insert(self, message: Any, k: int, loose: Loose) -> Any:
        """The message of the model's with results of the provider's behind their call."""
        raise NotImplementedError

    def parted(self, message: Any) -> tuple[Any, Any]:
        """The message with its results alone, and with all else."""
        raise NotImplementedError

    def join(self, first: Any, second: Any) -> Any:
        """Two messages as one."""
        raise NotImplementedError

    def user(self, text: str, near: Any) -> Any:
        """A turn of the user's; ``near`` is a message that it will stand in front of."""
        raise NotImplementedError

    def unmarked(self, messages: Sequence[Any]) -> dict[int, Any]:
        """The messages that have cache marks too many, without these."""
        raise NotImplementedError


def without_field(thing: Any, name: str) -> Any:
    """A shallow copy in which a field is absent, or empty where an object must have it."""
    if not isinstance(thing, Mapping):
        return with_field(thing, name, None)
    twin = copy.copy(thing) if isinstance(thing, dict) else dict(thing)
    del twin[name]
    return twin


def like(content: Any, items: list[Any]) -> Sequence[Any]:
    """``items`` in the kind of sequence that ``content`` is."""
    return tuple(items) if isinstance(content, tuple) else items


def made(near: Any, cls: str, fields: dict[str, Any], **kind: str) -> Any:
    """A message or part of this class, from where the class of the one that stands near comes from; beside mappings a plain one, which
    says its ``kind``.
    """
    module = "" if isinstance(near, Mapping) else type(near).__module__
    while module:
        found = getattr(sys.modules.get(module), cls, None)
        if found is not None:
            return found(**fields)
        module = module.rpartition(".")[0]
    return {**kind, **fields}
