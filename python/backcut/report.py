"""What a trim says of itself: plain, frozen values without behaviour of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, overload

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # brought by the type checker; "Trimmed" alone goes on to mean a Trimmed of any sequence

    _M = TypeVar("_M", bound=Sequence[Any], covariant=True, default=Sequence[Any])
else:
    from typing import TypeVar

    _M = TypeVar("_M", covariant=True)

_Message = TypeVar("_Message")
_Messages = TypeVar("_Messages", bound=Sequence[Any])

__all__ = [
    "Change",
    "Edit",
    "JsonPlan",
    "Lines",
    "Notice",
    "PartCut",
    "Plan",
    "Repaired",
    "TrimReport",
    "Trimmed",
    "TrimmedJson",
    "Violation",
]


class TrimReport(NamedTuple):
    """What one trim did. Read the fields by name: later versions may add some.

    Attributes:
        window_trimmed: whether a ceiling removed at least one message.
        messages_original: messages of the history, head included.
        messages_sent: messages of the result, head and notice included.
        window_orphans_dropped: messages that would have fitted, but went because the rest of their group did not.
        task_dropped: whether the user turn that caused the kept tail did not fit.
        tools_truncated: observations among what is sent that were longer than ``max_chars_per_tool``.
        chars_capped: characters that went from those observations.
        chars_sent: characters of the kept body and the notice.
        tokens_sent: tokens of the whole request; ``None`` where nobody asked for tokens.
        first_changed: length in messages of the common beginning of history and result; ``None`` when unchanged.
        over_budget: whether the newest group was sent though it does not fit (``on_overflow="keep"``).
        thinking_invalidated: whether signed thinking behind the cut no longer matches what stands before it.
        format: the wire format by which the history was read.
    """

    window_trimmed: bool
    """Whether a ceiling removed at least one message."""
    messages_original: int
    """Messages of the history, head included."""
    messages_sent: int
    """Messages of the result, head and notice included."""
    window_orphans_dropped: int
    """Messages that would have fitted, but went because the rest of their group did not."""
    task_dropped: bool
    """Whether the user turn that caused the kept tail did not fit."""
    tools_truncated: int
    """Observations among what is sent that were longer than ``max_chars_per_tool``."""
    chars_capped: int
    """Characters that went from those observations."""
    chars_sent: int
    """Characters of the kept body and the notice: what ``max_chars`` sees."""
    tokens_sent: int | None
    """Tokens of the whole request; ``None`` unless ``max_tokens``, ``model`` or ``tokenizer`` was given."""
    first_changed: int | None
    """Length in messages of the common prefix of history and result; ``None`` when unchanged."""
    over_budget: bool
    """Whether the newest group was sent though it does not fit (``on_overflow="keep"``)."""
    thinking_invalidated: bool
    """Whether signed thinking behind the cut no longer matches what stands before it."""
    format: str
    """The wire format by which the history was read."""

    def as_dict(self) -> dict[str, Any]:
        """The fields as a new plain ``dict``, ready for ``json.dumps``."""
        return self._asdict()


class Trimmed(NamedTuple, Generic[_M]):
    """The result of a trim.

    Attributes:
        messages: the messages to send; the very object that came in when nothing changed, so do not append to it.
        report: what was done, as a ``TrimReport``.
    """

    messages: _M
    """The messages to send; the very object that came in when nothing changed."""
    report: TrimReport
    """What was done."""


class TrimmedJson(NamedTuple):
    """The result of a trim of a request body.

    Attributes:
        body: the body to send; the very object that came in when nothing changed, else new ``bytes``.
        report: what was done, as a ``TrimReport``.
    """

    body: bytes | bytearray | memoryview | str
    """The body to send; the very object that came in when nothing changed, else new ``bytes``."""
    report: TrimReport
    """What was done."""


class JsonPlan(NamedTuple):
    """What a trim of a request body would send, piece by piece; nothing of the body is copied.

    Attributes:
        pieces: the result in order: places in the body and bytes that are new.
        report: what would be done, as a ``TrimReport``.
    """

    pieces: tuple[tuple[int, int] | bytes, ...]
    """``(begin, end)`` in bytes of the body, of a ``str`` in bytes of its UTF-8, and ``bytes`` that are new; none is empty, and no two
    in a row are of one kind where they could be one. Joined they are the result."""
    report: TrimReport
    """What would be done."""


class Lines(NamedTuple):
    """What became of some lines, each of them a request body."""

    output: bytes
    """The lines to write, each with the end that it had."""
    lines: int
    """Line ends that were passed."""
    conversations: int
    """Bodies that were trimmed, whether or not anything had to go."""
    changed: int
    """Of these, those that are sent in another shape."""
    trimmed: int
    """Those of which a ceiling removed a message."""
    over_budget: int
    """Those that do not fit and are sent all the same."""
    messages_before: int
    """Messages of all of them as they came."""
    messages_after: int
    """Messages of all of them as they are sent."""
    tools_truncated: int
    """Observations that were shortened."""
    chars_capped: int
    """Characters that went from these."""
    tokens_before: int
    """Tokens of all requests as they came; 0 where the window does not count tokens."""
    tokens_after: int
    """Tokens of all requests as they are sent; 0 where the window does not count tokens."""
    errors: list[tuple[int, Exception]]
    """What was wrong with a line, by the line's number from 0. What a caller's own code raised is the last, and nothing is behind it."""
    reports: list[tuple[int, TrimReport]]
    """The report of each body by the line's number; none unless they were asked for."""


class PartCut(NamedTuple):
    """What stays of one text of an edited message."""

    path: tuple[str | int, ...]
    """Keys and indices from the message to the text: ``("content",)``, ``("content", 2, "text")``."""
    head: int
    """Code points that stay from the front."""
    tail: int
    """Code points that stay from the back."""
    marker: str
    """What stands between the two."""
    dropped: bool
    """Whether what stands at ``path``, an item of a list, goes."""


class Edit(NamedTuple):
    """A message that is sent in another shape than it came."""

    index: int  # type: ignore[assignment]  # in place of tuple.index
    """The message's place in the history."""
    cuts: tuple[PartCut, ...]
    """Each text that changes, in order; texts that are not named stay as they are."""


class Notice(NamedTuple):
    """The text that stands for what was cut."""

    text: str
    """The text, in one piece."""
    role: str
    """Role of the message that carries it."""
    at: int
    """That message's place in the result."""
    folded: bool
    """``True``: put in front of the text of a user turn; ``False``: a message of its own."""


class Violation(NamedTuple):
    """One breach of the format's rules."""

    code: str
    """A stable name, see ``docs/check.md``."""
    index: int  # type: ignore[assignment]  # in place of tuple.index
    """The message's place in the history."""
    message: str
    """What is wrong, in one sentence."""
    ids: tuple[str, ...]
    """Ids of the calls concerned."""


class Change(NamedTuple):
    """One thing that a repair did."""

    action: str
    """A stable name, see ``docs/repair.md``."""
    index: int  # type: ignore[assignment]  # in place of tuple.index
    """The place in the history that was given: of the message that was changed, or that an added one stands in front of."""
    message: str
    """What was done, in one sentence."""
    ids: tuple[str, ...]
    """Ids of the calls concerned."""


class Repaired(NamedTuple, Generic[_M]):
    """The result of a repair.

    Attributes:
        messages: the repaired history; the very object that came in when nothing had to be done, so do not append to it.
        changes: what was done, in order of index.
    """

    messages: _M
    """The repaired history; the very object that came in when nothing had to be done."""
    changes: tuple[Change, ...]
    """What was done, in order of index."""


class Plan(NamedTuple):
    """What a trim would do. Nothing is built until :meth:`apply`."""

    kept: tuple[int, ...]
    """Indices of the messages that stay, in order."""
    edits: tuple[Edit, ...]
    """Changes to messages that stay, in order of index."""
    notice: Notice | None
    """The notice that is placed, if one is."""
    report: TrimReport
    """As :meth:`ContextWindow.trim` would report."""

    @overload
    def apply(self, messages: tuple[_Message, ...]) -> Sequence[_Message]: ...
    @overload
    def apply(self, messages: _Messages) -> _Messages: ...
    def apply(self, messages: Sequence[Any]) -> Any:
        """Builds the result from the history that was planned for.

        Args:
            messages: the same history, or one that is alike message for message. Only the number of messages is checked: that it
                is the right history is the caller's to see to.

        Returns:
            A new list, or ``messages`` itself when the plan changes nothing. Messages without an edit are the same objects.

        Raises:
            FormatError: ``messages`` has not as many messages as the planned history.
        """
        from .edit import apply_plan

        return apply_plan(self, messages)
