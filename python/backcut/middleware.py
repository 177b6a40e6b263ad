"""A window around a call: chat middleware, and functions that take messages."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .edit import get, with_field
from .errors import FormatError, OptionError
from .request import ARRAYS, alone, beside, hint

if TYPE_CHECKING:
    import inspect

    from .window import ContextWindow

__all__ = ["call", "is_async", "wrap"]


def call(window: ContextWindow, request: Any, call_next: Callable[[Any], Any]) -> Any:
    """Hands a copy of ``request`` with trimmed messages to ``call_next``.

    Args:
        window: what trims.
        request: a mapping or an object with ``messages``, or where it has none with ``input`` or ``contents``. It is not changed. Its
            tools and its system text are counted where they have a shape that can be.
        call_next: a function of the request, sync or async.

    Returns:
        What ``call_next`` returns: an awaitable where it is async.

    Raises:
        FormatError: ``request`` has no messages.
        BudgetError: not even the newest group fits; ``call_next`` is not called.
    """
    array = _array_of(request)
    if array is None:
        kind = type(request).__name__
        expected = 'a mapping with "messages", "input" or "contents", or an object with one of these, as the request'
        raise FormatError(None, "", f"{kind} without them", expected)
    messages = _trimmed(window, array, get(request, array), lambda name: get(request, name))
    return call_next(_with_messages(request, array, messages))


def wrap(window: ContextWindow, fn: Callable[..., Any]) -> Callable[..., Any]:
    """``fn`` with its messages trimmed before each call; see ``ContextWindow.wrap``."""
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
    """Where a function takes its messages, and what is sent beside them."""

    __slots__ = ("_arrays", "_defaults", "_places")

    def __init__(self, fn: Callable[..., Any]) -> None:
        parameters = _parameters(fn)
        positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        named = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
        anything = any(p.kind is p.VAR_KEYWORD for p in parameters)
        first = tuple(name for name in ARRAYS if name in positional + named)[:1]
        if not first and not anything:
            raise OptionError("fn", fn, "must have a parameter named messages, input or contents, or take any keyword (**kwargs)")
        # Who takes any keyword may be handed the messages under each name.
        self._arrays = ARRAYS if anything and "messages" not in first else first
        self._places = {name: place for place, name in enumerate(positional)}
        self._defaults = {p.name: p.default for p in parameters if p.default is not p.empty}

    def trimmed(self, window: ContextWindow, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with trimmed messages; as they are where no messages are passed, so that ``fn`` may say so itself."""
        array = next((name for name in self._arrays if name in kwargs or self._places.get(name, len(args)) < len(args)), None)
        if array is None:
            return args, kwargs
        messages = _trimmed(window, array, self._value(array, args, kwargs), lambda name: self._value(name, args, kwargs))
        if array in kwargs:
            return args, {**kwargs, array: messages}
        place = self._places[array]
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
        raise OptionError(
            "fn", fn, "must be a function whose parameters can be read, one of them named messages, input or contents"
        ) from None


def is_async(fn: Callable[..., Any]) -> bool:
    """Whether calling ``fn`` gives a coroutine; objects with an async ``__call__`` count too."""
    import inspect

    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(getattr(fn, "__call__", None))  # noqa: B004


def _trimmed(window: ContextWindow, array: str, messages: Any, field: Callable[[str], Any]) -> Any:
    """``messages`` trimmed beside the other fields of the request; ``field`` gives one by its name, ``None`` where it is not there."""
    tools, system = beside(array, field)
    how = (_countable_tools(tools), _countable_system(system), hint(array, field, system))
    one = alone(array, messages)
    if one is not None:
        window._trim_request([one], *how)
        return messages
    return window._trim_request(messages, *how).messages


def _countable_tools(tools: Any) -> list[Any] | None:
    """Those of ``tools`` that say what they are; a framework may put anything else beside them."""
    if not isinstance(tools, (list, tuple)):
        return None
    return [tool for tool in tools if _is_tool(tool)] or None


_SAYS = ("function", "custom", "name", "type", "toolSpec", "functionDeclarations", "function_declarations", "cachePoint")


def _is_tool(tool: Any) -> bool:
    if isinstance(tool, type):
        return False
    if any(get(tool, key) is not None for key in _SAYS):
        return True
    # One that Gemini hosts: {"googleSearch": {}}.
    return isinstance(tool, Mapping) and len(tool) == 1 and all(isinstance(settings, Mapping) for settings in tool.values())


def _countable_system(system: Any) -> Any:
    """What of ``system`` is text: itself, a list of parts, or what holds one; ``None`` where nothing is."""
    if isinstance(system, str):
        return system
    parts = system if isinstance(system, (list, tuple)) else get(system, "parts")  # Gemini's stand in a message
    if isinstance(parts, (list, tuple)):
        texts = [part for part in parts if _is_text(part)]
        return texts if texts or not parts else None
    return system if _is_text(system) else None


def _is_text(part: Any) -> bool:
    if isinstance(part, str) or any(isinstance(get(part, key), str) for key in ("text", "content")):
        return True
    return isinstance(part, Mapping) and "cachePoint" in part  # Bedrock's mark among texts


def _array_of(request: Any) -> str | None:
    """Where the request has its messages: under ``messages``, whatever is there, else where there is a text or a list."""
    if "messages" in request if isinstance(request, Mapping) else hasattr(request, "messages"):
        return "messages"
    return next((name for name in ARRAYS[1:] if isinstance(get(request, name), Sequence)), None)


def _with_messages(request: Any, array: str, messages: Any) -> Any:
    # A ModelRequest of LangChain derives some fields from others, so it brings its own way to be changed.
    if hasattr(request, "override") and any(kind.__module__.partition(".")[0] == "langchain" for kind in type(request).__mro__):
        return request.override(**{array: messages})
    return with_field(request, array, messages)
