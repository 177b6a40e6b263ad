"""Middleware for ASGI servers: chat requests are trimmed on their way in, everything else passes.

>>> import backcut
>>> from backcut.integrations.asgi import ContextWindowMiddleware
>>> async def app(scope, receive, send): ...
>>> app = ContextWindowMiddleware(app, backcut.context_window(max_tokens=8_000))

It needs no package. ``docs/integrations/asgi.md`` shows it in front of vLLM, LiteLLM and others.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from ..body import trim_json
from ..engine import request_field
from ..errors import BackcutError, FormatError, OptionError
from ..middleware import is_async
from ..report import TrimmedJson, TrimReport
from ..window import ContextWindow
from .incoming import Incoming, Message, Receive, is_longer, is_plain_json, with_length
from .paths import PATHS, Path, Paths
from .provider_errors import Refusal, TooLargeError, kind, refusal

__all__ = ["PATHS", "ContextWindowMiddleware"]

Scope = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]
Windows: TypeAlias = ContextWindow | Mapping[str, ContextWindow | None]

_logger = logging.getLogger("backcut.asgi")


class ContextWindowMiddleware:
    """Trims the body of chat requests, and hands on all else untouched: other paths, other scopes, every response.

    A chat request is a POST to one of ``paths`` whose body is JSON and not compressed. One that has no messages (Responses with a
    stored prompt) passes. The body is trimmed as ``backcut.trim_json`` does it: what fits goes on as it came.

    Args:
        app: the application.
        window: what trims; or a window for each model, with ``"*"`` for all others. Requests for a model that has none, or ``None``,
            pass. The model is the one in the path, else the text under ``model`` in the body; a body that cannot be read for it is one
            of ``"*"``. Where a window's format is ``auto``, it reads each path in the path's format.
        paths: the paths of chat requests: patterns, each with its wire format, or an iterable of patterns, of which those that end as
            one of :data:`PATHS` have its format and others ``auto``. A pattern is the end of a path from a ``/`` on, so that a server
            may be mounted anywhere, and may hold a ``{model}``.
        on_error: what happens to a request that cannot be trimmed, be it that not even its newest group fits or that its body cannot
            be read: ``raise`` answers in the provider's own shape, with status 400, or 413 where it is too long; ``passthrough``
            hands it on untouched and logs a warning.
        max_body_bytes: the longest body that is read, in bytes; ``None`` for any. No more of a request is held in memory.
        thread_bytes: bodies of more bytes are trimmed in a thread, so that the event loop goes on meanwhile; ``None`` for never. Only
            asyncio has threads here; under other loops all are trimmed in place.
        header: the name of the header that each response to a chat request gets, with a short report; ``None`` for none.
        on_report: called in the event loop with the ``TrimReport`` and the scope after each trim; not a coroutine function. What it
            raises comes through.

    Raises:
        OptionError: an argument is not allowed, or a window with ``compat`` meets a path of a format that it cannot read.

    Logs to ``backcut.asgi``: INFO for a request that was changed, DEBUG for one that was not, WARNING for one that could not be trimmed.
    Records have the fields of the report as attributes, and ``path``, ``model`` and ``error``.

    The body is read whole before the application is called. Where the client goes before that, the application gets no part of it, but
    ``http.disconnect``. Time and memory are those of ``trim_json`` and of one copy of the body.
    """

    def __init__(
        self,
        app: ASGIApp,
        window: Windows,
        *,
        paths: Mapping[str, str] | Iterable[str] = PATHS,
        on_error: Literal["raise", "passthrough"] = "raise",
        max_body_bytes: int | None = 32 << 20,
        thread_bytes: int | None = 1 << 20,
        header: str | None = "x-backcut",
        on_report: Callable[[TrimReport, Scope], object] | None = None,
    ) -> None:
        if on_error not in ("raise", "passthrough"):
            raise OptionError("on_error", on_error, "must be 'raise' or 'passthrough'")
        if on_report is not None and (not callable(on_report) or is_async(on_report)):
            raise OptionError("on_report", on_report, "must be a plain function that takes a TrimReport and a scope, or None")
        self.app = app
        self._paths = Paths(paths)
        self._windows = _windows(window, self._paths.formats)
        self._by_model = isinstance(window, Mapping) and any(model != "*" for model in window)
        self._passes = on_error == "passthrough"
        self._max = _bytes("max_body_bytes", max_body_bytes)
        self._threads = _bytes("thread_bytes", thread_bytes)
        self._header = _header_name(header)
        self._on_report = on_report

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one connection, as ASGI has it."""
        path = self._chat_request(scope)
        if path is not None and not isinstance(scope["headers"], (list, tuple)):
            scope = {**scope, "headers": list(scope["headers"])}  # an iterator gives them once, and the application wants them, too
        if path is None or not is_plain_json(scope["headers"]):
            await self.app(scope, receive, send)
            return
        outcome = await self._take(scope, Incoming(receive), path)
        send = self._with_header(send, outcome.header)
        if outcome.refusal is None:
            await self.app(outcome.scope, outcome.receive, send)
        else:
            await send({"type": "http.response.start", "status": outcome.refusal.status, "headers": outcome.refusal.headers})
            await send({"type": "http.response.body", "body": outcome.refusal.body})

    def _chat_request(self, scope: Scope) -> Path | None:
        """What the path says of a chat request; ``None`` where it is none, or one that no window is for."""
        if scope["type"] != "http" or scope["method"] != "POST":
            return None
        path = self._paths.find(scope["path"])
        return path if path is not None and (self._asks_body(path) or self._window(*path)) else None

    def _asks_body(self, path: Path) -> bool:
        """Whether the window depends on the model that the body names."""
        return path.model is None and self._by_model

    def _window(self, form: str, model: str | None) -> ContextWindow | None:
        windows = self._windows[form]
        return windows.get(model or "*", windows.get("*"))

    async def _take(self, scope: Scope, incoming: Incoming, path: Path) -> _Outcome:
        """Reads the request, and trims it."""
        model = path.model
        window = self._window(*path)  # where the body names the model, that of "*" until it is read

        def trim(body: bytes) -> TrimmedJson | None:
            nonlocal model, window
            if self._asks_body(path):
                model = request_field(body, "model")
                window = self._window(path.format, model)
            return None if window is None else trim_json(body, window)

        try:
            if self._max is not None and is_longer(scope["headers"], self._max):
                raise TooLargeError(self._max)
            body = await incoming.read(self._max)
            if body is None:
                return _Outcome(scope, incoming.receive)
            trimmed = await asyncio.to_thread(trim, body) if self._is_long(body) else trim(body)
        except BackcutError as error:
            if window is None or _has_no_history(error):
                return _Outcome(scope, incoming.receive)
            return self._failed(_Outcome(scope, incoming.receive, f"error={kind(error)}"), path.format, model, error)
        if trimmed is None:
            return _Outcome(scope, incoming.receive)
        self._tell(trimmed.report, scope, model)
        if trimmed.body is not body:
            fitting = cast(bytes, trimmed.body)
            incoming.replace(fitting)
            scope = {**scope, "headers": with_length(scope["headers"], len(fitting))}
        return _Outcome(scope, incoming.receive, _summary(trimmed.report))

    def _is_long(self, body: bytes) -> bool:
        """Whether the body is for a thread."""
        return self._threads is not None and len(body) > self._threads and _in_asyncio()

    def _failed(self, outcome: _Outcome, form: str, model: str | None, error: BackcutError) -> _Outcome:
        how = "passed on untrimmed" if self._passes else "refused"
        path = outcome.scope["path"]
        extra = {"path": path, "model": model, "error": kind(error)}
        # A sentence only: who keeps records must not keep the error, and with it the body.
        _logger.warning("%r %s: %s", path, how, str(error), extra=extra)
        return outcome if self._passes else outcome._replace(refusal=refusal(form, error))

    def _tell(self, report: TrimReport, scope: Scope, model: str | None) -> None:
        level = logging.DEBUG if report.first_changed is None else logging.INFO
        if _logger.isEnabledFor(level):
            extra = {**report.as_dict(), "path": scope["path"], "model": model}
            _logger.log(level, "%r: %s", scope["path"], _summary(report), extra=extra)
        if self._on_report is not None:
            self._on_report(report, scope)

    def _with_header(self, send: Send, value: str | None) -> Send:
        """``send``, with the header added to the start of the response."""
        if self._header is None or value is None:
            return send
        line = (self._header, value.encode())

        async def send_with_header(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), line]}
            await send(message)

        return send_with_header


class _Outcome(NamedTuple):
    """What becomes of a request. The body is in none of its fields, so that nobody holds it while the application answers."""

    scope: Scope
    receive: Receive
    header: str | None = None
    refusal: Refusal | None = None


def _summary(report: TrimReport) -> str:
    """The report in one short line of ASCII."""
    parts: list[tuple[str, object]] = [("trimmed", int(report.window_trimmed))]
    parts += [("sent", report.messages_sent), ("of", report.messages_original)]
    parts += [("tokens", report.tokens_sent)] * (report.tokens_sent is not None)
    parts += [("capped", report.tools_truncated)] * (report.tools_truncated > 0)
    parts += [("over", 1)] * report.over_budget
    parts += [("format", report.format)]
    return "; ".join(f"{name}={value}" for name, value in parts)


def _has_no_history(error: BackcutError) -> bool:
    """Whether the body holds no array of messages at all: nothing is there to trim, and the server knows best what it thinks of that."""
    return isinstance(error, FormatError) and error.index is None and not error.path and error.found.startswith(_NO_ARRAY)


_NO_ARRAY = ("an object with ", "an empty object")
"""How an object without an array is called where one is missed."""


def _in_asyncio() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:  # under trio, say
        return False
    return True


def _windows(window: object, formats: Iterable[str]) -> dict[str, dict[str, ContextWindow | None]]:
    """For each format the window of each model."""
    given: Mapping[Any, Any] = window if isinstance(window, Mapping) else {"*": window}
    for model, each in given.items():
        if not isinstance(model, str):
            raise OptionError("window", model, "must be the name of a model")
        if not isinstance(each, ContextWindow) and not (each is None and given is window):
            raise OptionError("window", each, "must be a ContextWindow, or a mapping of models to such")
    return {form: {model: _in_format(each, form) for model, each in given.items()} for form in formats}


def _in_format(window: ContextWindow | None, form: str) -> ContextWindow | None:
    if window is None or window.format != "auto" or form == "auto":
        return window
    return ContextWindow(**{**window.changed(), "format": form})


def _bytes(name: str, value: object) -> int | None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise OptionError(name, value, "must be a number of bytes, or None")
    return value


def _header_name(value: object) -> bytes | None:
    if value is None:
        return None
    if not isinstance(value, str) or not value.replace("-", "").isalnum() or not value.isascii():
        raise OptionError("header", value, "must be the name of a header, or None")
    return value.lower().encode()
