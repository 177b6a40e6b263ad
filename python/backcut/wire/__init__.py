"""The wire formats of the reference twin: one module a format, each a :class:`Format`, and which of them a history is in.

To add a format: write its module after ``anthropic.py``, with the words of ``common.py``, and name it in ``_FORMATS`` here, in
``FORMATS`` of ``options.py`` and, where it may be detected, in ``detect.py``. All that cuts, counts, caps, pairs and strips reads
outlines and pieces, and knows no format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from ..errors import FormatError, OptionError
from ..report import PartCut, Violation
from . import anthropic, bedrock, gemini, langchain, openai_chat, openai_responses, pi, pydantic_ai
from .common import Facts, Outline
from .detect import detect, part_shapes, shape

__all__ = ["CODES", "Format", "Reader", "detect", "named"]


class Format(Protocol):
    """What a module must say of a wire format. Nothing here changes a message."""

    @property
    def name(self) -> str:
        """The name by which it is asked for."""

    @property
    def merges(self) -> bool:
        """Whether messages of the model's in a row are one turn: nothing parts them, and their calls are one batch."""

    @property
    def insists_on_user(self) -> bool:
        """Whether providers refuse a body that does not begin with the user: then the task of a tail never gives way."""

    @property
    def has_system_turns(self) -> bool:
        """Whether a notice may be a message of its own, ``{"role", "content"}``, behind the head; else it is always folded into a
        user turn, where ``edit.fold_place`` says how.
        """

    @property
    def takes_late(self) -> Sequence[str]:
        """Families whose results may stand further behind their call: that is no flaw, and holds all between together all the same."""

    def outline(self, message: Any, index: int) -> Outline:
        """What the message is, and its calls and results.

        Asked of every message, oldest first, so it looks at little: only what cannot be a message at all, or has no role that the
        format knows, is a :class:`FormatError`. A call or result that is broken has no id, or is none.

        A result is a ``result`` turn's where the client gives it, also beside text; a result that the provider made stands in a
        ``model`` turn. Calls stand in ``model`` turns only.
        """

    def read(self, message: Any, index: int, outline: Outline, *, names: bool) -> Facts:
        """All that counts, in order; whatever cannot be read is a :class:`FormatError` with its place.

        Asked of a message that may be sent, after its outline; ``names`` says whether names of speakers are wanted (they cost
        tokens alone). The frame of the message and its role are not pieces: they follow from ``outline.role``. What a result
        says gets an ``observation`` number, so that a cap may shorten it (``common.result_text`` knows JSON), and signed thinking is
        marked as such.
        """

    def lead(self, message: Any) -> tuple[PartCut, ...] | None:
        """What the first message of the body leaves of itself in the head where it is cut: the cuts that leave only that.

        ``None`` where it leaves nothing, as in all formats that have a message of its own for what instructs. What it leaves
        counts as the head does: in tokens, not in characters and turns. Nothing is refused here.
        """

    def flaws(self, messages: Sequence[Any], facts: Sequence[Facts]) -> Iterator[Violation]:
        """What a provider would refuse, beside what all formats have in common: an empty history, an id twice in one turn, calls
        without results and results without calls. All messages have been read. The order does not matter: see ``CODES``.
        """


_FORMATS: dict[str, Format] = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
    "pi": pi,
    "langchain": langchain,
    "gemini": gemini,
    "bedrock": bedrock,
    "pydantic-ai": pydantic_ai,
}

CODES = (
    "empty_history",
    "first_not_user",
    "repeated_role",
    "missing_content",
    "blank_text",
    "empty_part",
    "missing_summary",
    "empty_tool_calls",
    "mixed_calls",
    "misplaced_system",
    "misplaced_block",
    "misplaced_trigger",
    "text_before_result",
    "document_without_text",
    "reasoning_without_follower",
    "too_many_cache_marks",
    "missing_id",
    "invalid_id",
    "duplicate_id",
    "media_in_result",
    "empty_result",
    "unanswered_call",
    "pending_call",
    "late_result",
    "orphan_result",
)
"""Every code of ``check``, in the order in which those of one message are listed."""


def named(name: str) -> Format:
    """The format of that name."""
    return _FORMATS[name]


class Reader:
    """Reads the messages of one history, in the format that was asked for or that its shape tells; failing that in ``hint``."""

    def __init__(self, history: Sequence[Any], format: str, hint: str = "openai-chat") -> None:
        name, self._decisive = detect(history, hint) if format == "auto" else (format, None)
        self.format = named(name)

    def outline(self, message: Any, index: int) -> Outline:
        """What is asked of every message."""
        try:
            return self.format.outline(message, index)
        except FormatError:
            self._refuse(shape(message), index)
            raise

    def outlines(self, history: Sequence[Any]) -> list[Outline]:
        """The same of all messages, oldest first."""
        return [self.outline(message, index) for index, message in enumerate(history)]

    def read_all(self, history: Sequence[Any]) -> list[Facts]:
        """All messages, oldest first: their outlines, then the rest."""
        outlines = self.outlines(history)
        return [self.read(message, index, outlines[index], names=True) for index, message in enumerate(history)]

    def read(self, message: Any, index: int, outline: Outline, *, names: bool) -> Facts:
        """All that counts of a message; a part that another format has is refused.

        Not so in LangChain, whose messages hold the parts of any provider, and in Pi, whose thinking looks like Anthropic's.
        """
        try:
            facts = self.format.read(message, index, outline, names=names)
        except FormatError as error:
            # Chat Completions looks at one part after the other: a foreign one in front of the one that is wrong is told first.
            found = re.match(r"content\[(\d+)\]", error.path) if self.format is openai_chat else None
            if found is not None:
                self.refuse_parts(message, index, int(found[1]) + 1)
            raise
        self.refuse_parts(message, index)
        return facts

    def refuse_parts(self, message: Any, index: int, most: int | None = None) -> None:
        """Refuses a part that another format has, among the first ``most`` of them."""
        for form in () if self.format in (langchain, pi) else part_shapes(message, most):
            self._refuse(form, index)

    def _refuse(self, other: str | None, index: int) -> None:
        """Refuses another format than the one that the shape of the history told. One that was asked for is taken at its word."""
        if self._decisive is not None and other is not None and other != self.format.name:
            both = f"messages[{index}] looks like {other}, the messages before it like {self.format.name}"
            raise OptionError("format", "auto", f'{both}; say which with format="..."')
