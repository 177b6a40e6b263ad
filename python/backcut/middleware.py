"""A window around a call: chat middleware, and functions with a ``messages`` argument."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .edit import get, with_field
from .errors import FormatError, OptionError

if TYPE_CHECKING:
    import inspect

    from .window import ContextWindow

__all__ = ["call", "is_async", "wrap"]


def call(window: ContextWindow, request: Any, call_next: Callable[[Any], Any]) -> Any:
    """Hands a copy of ``request`` with trimmed messages to ``call_next``.

    Args:
        window: what trims.
        request: a mapping with ``messages``, or an object with ``.messages``. It is not changed. Its ``tools`` (without them the
            older ``functions``) and ``system`` are counted where they have a shape that can be.
        call_next: a function of the request, sync or async.

    Returns:
        What ``call_next`` returns: an awaitable where it is async.

    Raises:
        FormatError: ``request`` has no messages.
        BudgetError: not even the newest group fits; ``call_next`` is not called.
    """
    if not _has_messages(request):
        kind = type(request).__name__
        raise FormatError(None, "", f"{kind} without them", 'a mapping with "messages" or an object with .messages as the request')
    messages = _trimmed(window, get(request, "messages"), lambda name: get(request, name))
    return call_next(_with_messages(request, messages))


def wrap(window: ContextWindow, fn: Callable[..., Any]) -> Callable[..., Any]:
    """``fn`` with its argument ``messages`` trimmed before each call; see ``ContextWindow.wrap``."""
    arguments = _Arguments(fn)

    if is_async(fn):

        @functools.wraps(fn)
        async def windowed_async(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = arguments.trimmed(window, args, kwargs)
            return await fn(*args, **kwargs)

        return windowed_async

    @functools.wraps(fn)
    def windowed(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = arguments.trimmed(window, args, kwargs)
        return fn(*args, **kwargs)

    return windowed


class _Arguments:
    """Where a function takes its ``messages``, ``tools`` (or ``functions``) and ``system``."""

    __slots__ = ("_defaults", "_places")

    def __init__(self, fn: Callable[..., Any]) -> None:
        parameters = _parameters(fn)
        positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        named = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
        if "messages" not in positional + named and all(p.kind is not p.VAR_KEYWORD for p in parameters):
            raise OptionError("fn", fn, "must have a parameter named messages, or take any keyword (**kwargs)")
        self._places = {name: place for place, name in enumerate(positional)}
        self._defaults = {p.name: p.default for p in parameters if p.default is not p.empty}

    def trimmed(self, window: ContextWindow, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with trimmed messages; as they are where no messages are passed, so that ``fn`` may say so itself."""
        place = self._places.get("messages", len(args))
        if "messages" not in kwargs and place >= len(args):
            return args, kwargs
        history = kwargs["messages"] if "messages" in kwargs else args[place]
        messages = _trimmed(window, history, lambda name: self._value(name, args, kwargs))
        if "messages" in kwargs:
            return args, {**kwargs, "messages": messages}
        return (*args[:place], messages, *args[place + 1 :]), kwargs

    def _value(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if name in kwargs:
            return kwargs[name]
        place = self._places.get(name, len(args))
        return args[place] if place < len(args) else self._defaults.get(name)


def _parameters(fn: Callable[..., Any]) -> list[inspect.Parameter]:
    import inspect

    try:
        return list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        raise OptionError("fn", fn, "must be a function whose parameters can be read, one of them named messages") from None


def is_async(fn: Callable[..., Any]) -> bool:
    """Whether calling ``fn`` gives a coroutine; objects with an async ``__call__`` count too."""
    import inspect

    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(getattr(fn, "__call__", None))  # noqa: B004


def _trimmed(window: ContextWindow, messages: Any, field: Callable[[str], Any]) -> Any:
    """``messages`` trimmed beside the other fields of the request; ``field`` gives one by its name, ``None`` where it is not there."""
    tools, system = field("tools"), field("system")
    if tools is None:
        tools = field("functions")  # what tools were called before
    trimmed = window.trim(messages, tools=_countable(tools), system=system if _is_system(system) else None)
    return trimmed.messages


def _countable(tools: Any) -> list[Any] | None:
    """Those of ``tools`` that say what they are; a framework may put anything else beside them."""
    if not isinstance(tools, (list, tuple)):
        return None
    says = ("function", "custom", "name", "type")
    return [tool for tool in tools if not isinstance(tool, type) and any(get(tool, key) is not None for key in says)] or None


def _is_system(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, (list, tuple)) and all(_is_system_part(part) for part in value))


def _is_system_part(part: Any) -> bool:
    return isinstance(part, str) or isinstance(get(part, "text"), str)


def _has_messages(request: Any) -> bool:
    return "messages" in request if isinstance(request, Mapping) else hasattr(request, "messages")


def _with_messages(request: Any, messages: Any) -> Any:
    # A ModelRequest of LangChain derives some fields from others, so it brings its own way to be changed.
    if hasattr(request, "override") and any(kind.__module__.partition(".")[0] == "langchain" for kind in type(request).__mro__):
        return request.override(messages=messages)
    return with_field(request, "messages", messages)
