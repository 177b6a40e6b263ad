"""Formats in which calls and results are blocks in a list that the message holds."""

# ruff: noqa: D102 (what each method is for is told in Mender)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

from ..wire.common import Tie
from .common import Loose, Mender, get, like, with_field

__all__ = ["Blocks"]


class Blocks(Mender):
    """Mends messages that hold a list of blocks."""

    field = "content"
    """Where the list is."""
    server: tuple[str, ...] = ("server",)
    """Families that only the provider answers."""

    # What a format says

    def text(self, text: str) -> Any:
        """A text as a block."""
        raise NotImplementedError

    def message(self, blocks: list[Any], near: Any) -> Any:
        """A message of the user's."""
        raise NotImplementedError

    def result(self, call: Any) -> Any:
        """The block that says a call has no result."""
        raise NotImplementedError

    def renamed(self, block: Any, kind: Literal["call", "result"], name: str) -> Any:
        """A call or a result with another id."""
        raise NotImplementedError

    # What follows

    def blocks(self, message: Any) -> list[Any]:
        """The blocks; a text alone as one."""
        content = get(message, self.field)
        return [self.text(content)] if isinstance(content, str) else list(content or ())

    def with_blocks(self, message: Any, blocks: list[Any]) -> Any:
        """The message with other blocks; ``None`` without any."""
        return with_field(message, self.field, like(get(message, self.field), blocks)) if blocks else None

    def ties(self, message: Any) -> list[tuple[int, Tie]]:
        """The calls and results, each with the place of its block: what the outline finds of the block alone."""
        return [
            (k, tie)
            for k, block in enumerate(self.blocks(message))
            for tie in self.wire.outline(with_field(message, self.field, [block]), 0).ties
        ]

    def take(self, message: Any, ties: set[int]) -> tuple[Any, dict[int, Any]]:
        blocks = self.blocks(message)
        places = {k: at for k, (at, _) in enumerate(self.ties(message)) if k in ties}
        rest = [block for at, block in enumerate(blocks) if at not in places.values()]
        return self.with_blocks(message, rest), {k: blocks[at] for k, at in places.items()}

    def rename(self, message: Any, names: Mapping[int, str]) -> Any:
        blocks = self.blocks(message)
        for k, (at, tie) in enumerate(self.ties(message)):
            if k in names:
                blocks[at] = self.renamed(blocks[at], tie.kind, names[k])
        return self.with_blocks(message, blocks)

    def answer(self, message: Any, k: int, tie: Tie) -> Any:
        at, _ = self.ties(message)[k]
        return None if tie.family in self.server else self.result(self.blocks(message)[at])

    def add(self, message: Any, loose: Loose) -> Any:
        blocks, results = self.blocks(message), self._results(message)
        front = next((at for at in range(len(blocks)) if at not in results), len(blocks))
        return self.with_blocks(message, [*blocks[:front], *loose.pieces, *blocks[front:]])

    def own(self, loose: Loose, near: Any) -> list[Any]:
        return [self.message(list(loose.pieces), near) if loose.message is None else loose.message]

    def insert(self, message: Any, k: int, loose: Loose) -> Any:
        blocks, (at, _) = self.blocks(message), self.ties(message)[k]
        return self.with_blocks(message, [*blocks[: at + 1], *loose.pieces, *blocks[at + 1 :]])

    def parted(self, message: Any) -> tuple[Any, Any]:
        blocks, results = self.blocks(message), self._results(message)
        rest, first = parted(blocks, [at in results for at in range(len(blocks))])
        with_some = partial(Blocks.with_blocks, self, message)  # marks of the cache alone go along, too
        return with_some(first), with_some(rest)

    def join(self, first: Any, second: Any) -> Any:
        return self.with_blocks(first, [*self.blocks(first), *self.blocks(second)])

    def user(self, text: str, near: Any) -> Any:
        return self.message([self.text(text)], near)

    def _results(self, message: Any) -> set[int]:
        return {at for at, tie in self.ties(message) if tie.kind == "result"}


def parted(blocks: Sequence[Any], goes: Sequence[bool]) -> tuple[list[Any], list[Any]]:
    """The blocks that stay, and those that go."""
    pairs = list(zip(blocks, goes, strict=True))
    return [block for block, gone in pairs if not gone], [block for block, gone in pairs if gone]
