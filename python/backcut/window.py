"""The window: options checked once, then used as often as you like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Never, ParamSpec, SupportsIndex, TypeAlias, TypeVar, Unpack, overload

from . import engine, middleware
from .engine import Tokenizer
from .errors import OptionError
from .models import plain_name
from .options import Options, WindowOptions, check_format, check_model
from .report import JsonPlan, Lines, Plan, Repaired, Trimmed, TrimmedJson, TrimReport, Violation
from .tokens import TokenizerLike, choose

if TYPE_CHECKING:
    from .figures import Figures, FiguresLike

__all__ = ["ContextWindow", "check", "context_window", "count", "repair", "trim"]

_P = ParamSpec("_P")
_R = TypeVar("_R")
_M = TypeVar("_M")
_H = TypeVar("_H", bound=Sequence[Any])

# The overloads for messages: a list gives a list, any sequence a sequence, and what is Any (a parameter of Never takes nothing
# else) stays Any. An overload for "list[_M]" beside one for "Sequence[_M]" would do, did a list[dict[str, Any]] not match both.

Tools: TypeAlias = Sequence[Any] | None
"""Tool schemas that are sent along: as the provider takes them, whichever it is."""

Body: TypeAlias = bytes | bytearray | memoryview | str
"""A request as it is sent: JSON in UTF-8, or as text."""

System: TypeAlias = str | Sequence[Any] | None
"""System text that is sent outside of the messages: a text, or a list of texts and text blocks."""

_ENOUGH = 1 << 53
"""A ceiling that no history reaches; what is above it means the same and need not fit a machine word."""


class ContextWindow(Options):
    """A window with fixed options: frozen, safe to share between threads, comparable, picklable by its options.

    Made by :func:`context_window`. Every option can be read as an attribute (``window.max_tokens``).
    """

    __slots__ = ("__weakref__", "_plan", "_plan_json", "_report", "_trim", "_trim_json", "_trim_lines")
    _plan: Callable[[Sequence[Any], Tools, System], Plan]
    _plan_json: Callable[[Body, str | None], JsonPlan]
    _report: Callable[[TrimReport], object] | None
    _trim: Callable[..., Trimmed]
    _trim_json: Callable[[Body, str | None], TrimmedJson]
    _trim_lines: Callable[[bytes, str | None, str, bool], Lines]

    def __init__(self, **options: Unpack[WindowOptions]) -> None:
        super().__init__(**options)
        core = _engine_window(self)
        # Bound once: a trim is then one look-up and one call.
        object.__setattr__(self, "_trim", core.trim)
        object.__setattr__(self, "_plan", core.plan)
        object.__setattr__(self, "_trim_json", core.trim_json)
        object.__setattr__(self, "_plan_json", core.plan_json)
        object.__setattr__(self, "_trim_lines", core.trim_lines)
        object.__setattr__(self, "_report", self.on_report)

    @overload
    def trim(self, messages: Never, *, tools: Tools = None, system: System = None) -> Any: ...
    @overload
    def trim(self, messages: tuple[_M, ...], *, tools: Tools = None, system: System = None) -> Trimmed[Sequence[_M]]: ...
    @overload
    def trim(self, messages: _H, *, tools: Tools = None, system: System = None) -> Trimmed[_H]: ...
    def trim(self, messages: Sequence[Any], *, tools: Tools = None, system: System = None) -> Trimmed[Any]:
        """The longest tail of ``messages`` that fits, with the head in front of it.

        Args:
            messages: the history: dicts, other mappings, SDK objects or framework messages. It is not changed, at any depth.
            tools: tool schemas of the request; counted in ``max_tokens``, never changed.
            system: system text outside of the array; counted in ``max_tokens``, never changed.

        Returns:
            ``Trimmed(messages, report)``. Kept messages are the same objects; where nothing changes, ``messages`` is the very
            object that came in (do not append to it, you would append to the history), else a new list.

        Raises:
            FormatError: the history cannot be read as the format says.
            BudgetError: not even the newest group fits (unless ``on_overflow="keep"``).

        Takes time proportional to what is kept, plus a look at the role of every message (once for each set of message objects,
        in long histories); what stands before the cut is not tokenized. With ``trim_to`` the whole history is measured besides, in
        characters or bytes. What ``on_report`` raises comes through, so it ends the call; so does what the tokenizer raises.
        """
        trimmed = self._trim(messages, tools, system)
        if self._report is not None:
            self._report(trimmed.report)
        return trimmed

    def _trim_request(self, messages: Sequence[Any], tools: Tools, system: System, hint: str) -> Trimmed:
        """:meth:`trim` where the request tells the format of messages that do not."""
        trimmed = self._trim(messages, tools, system, hint)
        if self._report is not None:
            self._report(trimmed.report)
        return trimmed

    def plan(self, messages: Sequence[Any], *, tools: Tools = None, system: System = None) -> Plan:
        """What :meth:`trim` would do, by index; nothing is built, and ``on_report`` is not called.

        Args:
            messages: the history.
            tools: tool schemas of the request.
            system: system text outside of the array.

        Returns:
            ``Plan(kept, edits, notice, report)``; ``plan.apply(messages)`` builds the result.

        Raises:
            FormatError: the history cannot be read as the format says.
            BudgetError: not even the newest group fits (unless ``on_overflow="keep"``).
        """
        return self._plan(messages, tools, system)

    @overload
    def __call__(self, messages: Never) -> Any: ...
    @overload
    def __call__(self, messages: tuple[_M, ...]) -> Sequence[_M]: ...
    @overload
    def __call__(self, messages: _H) -> _H: ...
    @overload
    def __call__(self, request: Any, /, call_next: Callable[[Any], _R]) -> _R: ...
    def __call__(self, messages: Any, call_next: Callable[[Any], Any] | None = None) -> Any:
        """Trims messages, or the messages of a request.

        ``window(messages)`` gives the trimmed messages alone, as a history processor does. ``window(request, call_next)`` is chat
        middleware: ``call_next`` gets a copy of the request whose messages are trimmed, and what it returns is returned as it is, an
        awaitable too. A request is a mapping or an object with ``messages``, or where it has none with ``input`` (Responses) or
        ``contents`` (Gemini). Its tools (``tools``, the older ``functions``, ``toolConfig``) and its system text (``system``,
        ``instructions``, ``system_instruction``, ``system_message``) are counted where they have a shape that can be, also in the
        ``config`` beside ``contents``; no other field is, neither ``response_format`` nor ``model``: the window counts with its own
        tokenizer.

        Raises:
            FormatError: the history cannot be read, or the request has none.
            BudgetError: not even the newest group fits; ``call_next`` is not called.
        """
        if call_next is None:
            return self.trim(messages).messages
        return middleware.call(self, messages, call_next)

    def wrap(self, fn: Callable[_P, _R]) -> Callable[_P, _R]:
        """``fn`` with its argument ``messages`` trimmed before each call, or without one ``input`` or ``contents``; also a decorator.

        Args:
            fn: a function, method, partial or callable object with such a parameter (the first of the three that it has), or with
                ``**kwargs`` in which it may come. Functions of ``async def`` stay async; whatever else gives an awaitable or an
                async iterator (async generators, many methods of SDKs) is called as any function and gives what it gives. Tools
                and system text among its arguments are counted as those of a request are.

        Returns:
            A function of the same signature. Calls that pass no messages go through as they are.

        Raises:
            OptionError: ``fn`` cannot take messages.
        """
        return middleware.wrap(self, fn)


def context_window(
    *,
    max_turns: SupportsIndex | None = None,
    max_chars: SupportsIndex | None = None,
    max_tokens: SupportsIndex | None = None,
    max_chars_per_tool: SupportsIndex | None = None,
    reserve_tokens: SupportsIndex = 0,
    tokenizer: TokenizerLike | None = None,
    model: str | None = None,
    figures: FiguresLike | None = None,
    format: str = "auto",
    start: Literal["user", "any"] = "user",
    notice: str | Literal[False] | None = None,
    notice_role: Literal["auto", "system", "user"] = "auto",
    tool_keep: Literal["head", "tail", "head_tail"] = "head",
    trim_to: float | None = None,
    on_overflow: Literal["raise", "keep"] = "raise",
    thinking: Literal["keep", "strip"] = "keep",
    compat: Literal["thena"] | None = None,
    warn_index_failure: str | Literal[False] | None = None,
    on_report: Callable[[TrimReport], object] | None = None,
    **unknown: Never,
) -> ContextWindow:
    """A window that keeps a conversation inside its ceilings; ``max_turns`` counts **messages**, not exchanges.

    The ceilings are upper bounds that hold at once; none has a default, and without any the history passes as it is. They are
    integers of at least 1.

    Args:
        max_turns: most messages behind the head (the leading system and developer messages); of Responses, most items.
        max_chars: most characters (code points) behind the head, the notice included.
        max_tokens: most tokens of the whole request: head, tools, system and ``reserve_tokens`` included.
        max_chars_per_tool: most characters of one tool result; longer ones are cut and marked.
        reserve_tokens: tokens of ``max_tokens`` that are kept free for the reply.
        tokenizer: how tokens are counted: the name of an encoding, estimate or model, the path of a ``tokenizer.json``, a
            ``backcut.tokenizer(...)``, an object with ``encode``, or a function from a text to a whole number. ``o200k_base``
            where neither this nor ``model`` is given.
        model: the model whose encoding or estimate counts, see :func:`backcut.tokenizer`; ``tokenizer`` wins.
            What pictures cost is this model's in any case.
        figures: what counts besides text, as :class:`Figures`; or by name those that are different from the model's.
        format: the format of the messages: ``openai-chat``, ``openai-responses``, ``anthropic``, ``gemini``, ``bedrock``, ``pi``,
            ``langchain`` or ``pydantic-ai``; ``auto`` decides from their shape, and takes plain ones for ``openai-chat``.
        start: what the kept part may begin with: a ``user`` turn only, or ``any`` group.
        notice: the text that stands for what was cut: ``None`` for the default text, ``False`` to cut silently.
        notice_role: whose message the notice is; ``user`` folds it into the first kept user turn, as all formats but OpenAI's do
            in any case.
        tool_keep: which end of a tool result stays when it is cut.
        trim_to: above 0 and below 1: cut back to this share of the ceilings and stay there until the window is full again, so
            that the provider's prompt cache holds.
        on_overflow: what happens when not even the newest group fits: a ``BudgetError``, or it is sent all the same.
        thinking: what becomes of signed thinking behind a change, in formats that have it: ``keep`` sends it as it is, ``strip``
            takes it out of turns that are completed.
        compat: ``thena`` plays the rules of ThenaJS to the letter, quirks included.
        warn_index_failure: deprecated name of ``notice``, which wins.
        on_report: called with the ``TrimReport`` after each trim; not a coroutine function. What it raises comes through and so
            ends the call.
        **unknown: refused, with the nearest known name.

    Returns:
        The window: ``window.trim(messages)``, ``window.plan(messages)``, ``window(messages)``, ``window(request, call_next)``,
        ``window.wrap(fn)``.

    Raises:
        OptionError: an option is not known or not allowed, or two do not go together.
    """
    given: dict[str, Any] = locals()
    return ContextWindow(**given.pop("unknown"), **given)


@overload
def trim(messages: Never, *, tools: Tools = None, system: System = None, **options: Unpack[WindowOptions]) -> Any: ...
@overload
def trim(
    messages: tuple[_M, ...], *, tools: Tools = None, system: System = None, **options: Unpack[WindowOptions]
) -> Trimmed[Sequence[_M]]: ...
@overload
def trim(messages: _H, *, tools: Tools = None, system: System = None, **options: Unpack[WindowOptions]) -> Trimmed[_H]: ...
def trim(messages: Sequence[Any], *, tools: Tools = None, system: System = None, **options: Unpack[WindowOptions]) -> Trimmed[Any]:
    """Trims once: ``context_window(**options).trim(messages, tools=tools, system=system)``.

    Args:
        messages: the history.
        tools: tool schemas of the request.
        system: system text outside of the array.
        **options: as for :func:`context_window`. Whoever trims often makes a window once and spares checking them each time.

    Returns:
        ``Trimmed(messages, report)``, see :meth:`ContextWindow.trim`.

    Raises:
        OptionError: an option is not known or not allowed, or two do not go together.
        FormatError: the history cannot be read as the format says.
        BudgetError: not even the newest group fits (unless ``on_overflow="keep"``).
    """
    return ContextWindow(**options).trim(messages, tools=tools, system=system)


def count(
    messages_or_text: Sequence[Any] | str,
    *,
    tokenizer: TokenizerLike | None = None,
    model: str | None = None,
    figures: FiguresLike | None = None,
    format: str = "auto",
    tools: Tools = None,
    system: System = None,
) -> int:
    """Tokens of a request, or of a text alone.

    Args:
        messages_or_text: a history, counted with the overhead of its format; or a text, counted without any.
        tokenizer: how tokens are counted, as for :func:`context_window`; ``o200k_base`` where neither this nor ``model`` is given.
        model: the model whose encoding or estimate counts; ``tokenizer`` wins. What pictures cost is this model's in any case.
        figures: what counts besides text, as for :func:`context_window`.
        format: the format of the messages, as for :func:`context_window`.
        tools: tool schemas of the request, counted too.
        system: system text outside of the array, counted too.

    Returns:
        The number of tokens, by the same rules as ``max_tokens``.

    Raises:
        OptionError: an argument is not allowed, or ``tools`` or ``system`` are given with a text.
        FormatError: the history cannot be read as the format says.
    """
    counter = choose(tokenizer, check_model(model))
    counted = None if figures is None else _figures(figures, model, counter)
    wire = check_format(format)
    if not isinstance(messages_or_text, str):
        return engine.count_messages(messages_or_text, counter, wire, tools, system, counted, model and plain_name(model))
    for name, value in (("tools", tools), ("system", system)):
        if value is not None:
            raise OptionError(name, value, "is a part of a request: give messages, not a text")
    return counter.count(messages_or_text)


def check(messages: Sequence[Any], *, format: str = "auto") -> list[Violation]:
    """What a provider of this format would refuse.

    Args:
        messages: the history.
        format: the format of the messages, as for :func:`context_window`.

    Returns:
        ``Violation(code, index, message, ids)`` in order of index; empty where the history is sound. A trailing group whose calls
        are not all answered yet is listed as ``pending_call``.

    Raises:
        OptionError: the format is not known.
        FormatError: the history cannot be read as the format says.
    """
    return engine.check(messages, check_format(format))


@overload
def repair(messages: Never, *, format: str = "auto") -> Any: ...
@overload
def repair(messages: tuple[_M, ...], *, format: str = "auto") -> Repaired[Sequence[_M]]: ...
@overload
def repair(messages: _H, *, format: str = "auto") -> Repaired[_H]: ...
def repair(messages: Sequence[Any], *, format: str = "auto") -> Repaired[Any]:
    """Mends what :func:`check` finds, and nothing else.

    Args:
        messages: the history. It is not changed, at any depth.
        format: the format of the messages, as for :func:`context_window`.

    Returns:
        ``Repaired(messages, changes)``. Messages that needed no change are the same objects; where nothing had to be done,
        ``messages`` is the very object that came in, else a new list. A trailing group whose calls are not all answered yet is
        left to whoever answers them.

    Raises:
        OptionError: the format is not known.
        FormatError: the history cannot be read as the format says.
    """
    from . import mend  # few need it, and at most once a history

    return mend.repair(messages, check_format(format))


def _engine_window(options: Options) -> engine.Window:
    """The engine's window for checked options."""
    asked = options.max_tokens is not None or options.tokenizer is not None or options.model is not None
    # What is free for the request is what counts, so it is bounded rather than the two that it is the difference of.
    reserve = min(options.reserve_tokens, _ENOUGH)
    limit = None if options.max_tokens is None else _bounded(options.max_tokens - options.reserve_tokens)
    silent = options.notice == "" and options.compat is None
    return engine.Window(
        format=options.format,
        max_turns=_bounded(options.max_turns),
        max_chars=_bounded(options.max_chars),
        max_tokens=None if limit is None else limit + reserve,
        reserve_tokens=reserve,
        max_chars_per_tool=_bounded(options.max_chars_per_tool),
        tokenizer=choose(options.tokenizer, options.model) if asked else None,
        figures=options.figures,
        model=options.model and plain_name(options.model),
        start=options.start,
        notice=None if silent or options.notice is False else options.notice,
        notice_role=options.notice_role,
        tool_keep=options.tool_keep,
        trim_to=options.trim_to,
        on_overflow=options.on_overflow,
        thinking=options.thinking,
        compat=options.compat,
    )


def _figures(given: FiguresLike, model: str | None, counter: Tokenizer) -> Figures:
    """The figures to count with, of which some or all were given."""
    from .figures import check, resolve  # slow to import, so only for whoever asks

    return resolve(check(given), model, counter.name)


def _bounded(ceiling: int | None) -> int | None:
    return None if ceiling is None else min(ceiling, _ENOUGH)
