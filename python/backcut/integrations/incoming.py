"""The body of a request, on its way from the server to the application."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from io import BytesIO
from typing import Any

from .provider_errors import TooLargeError

__all__ = ["Headers", "Incoming", "Message", "Receive", "is_longer", "is_plain_json", "with_length"]

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Headers = Iterable[tuple[bytes, bytes]]


class Incoming:
    """Reads a body ahead, and gives it once more, as it came or another one. What is handed on is not held any longer.

    Args:
        receive: the server's.
    """

    __slots__ = ("_ahead", "_receive")

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._ahead: deque[Message] = deque()

    async def receive(self) -> Message:
        """For the application: what was read ahead, and then whatever the server says."""
        return self._ahead.popleft() if self._ahead else await self._receive()

    async def read(self, limit: int | None) -> bytes | None:
        """The whole body, which :meth:`receive` then gives in one message.

        Args:
            limit: the most bytes that are read.

        Returns:
            The body; ``None`` where the client went before all of it was there. The application then hears of that, and of no body.

        Raises:
            TooLargeError: it is longer. :meth:`receive` gives what was read, and the rest as it comes.
        """
        body = BytesIO()  # which grows in place and gives what it holds without a copy
        while True:
            message = await self._receive()
            if message["type"] != "http.request":
                self._ahead.append(message)
                return None
            chunk: bytes = message.get("body", b"")
            more: bool = message.get("more_body", False)
            if limit is not None and body.tell() + len(chunk) > limit:
                self._ahead += [_request(body.getvalue(), more=True), message]
                raise TooLargeError(limit)
            if more or body.tell():
                body.write(chunk)
            if not more:
                break
        whole = body.getvalue() or chunk  # a body in one piece is that piece
        self._ahead.append(_request(whole))
        return whole

    def replace(self, body: bytes) -> None:
        """Gives ``body`` in place of the one that was read."""
        self._ahead[0] = _request(body)


def _request(body: bytes, *, more: bool = False) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


def is_plain_json(headers: Headers) -> bool:
    """Whether the body is JSON, as far as the headers say, and not compressed."""
    for name, value in headers:
        name = name.lower()
        if name == b"content-type":
            kind = value.partition(b";")[0].strip().lower()
            if kind and kind != b"application/json" and not kind.endswith(b"+json"):
                return False
        elif name == b"content-encoding" and value.strip().lower() not in (b"", b"identity"):
            return False
    return True


def is_longer(headers: Headers, limit: int) -> bool:
    """Whether the headers tell of a body of more than ``limit`` bytes. A length that is no number tells nothing."""
    # Compared as digits: int() takes no more than 4,300 of them, and a client may send as many as the server lets it.
    most = str(limit).encode().lstrip(b"0")
    told = (value.lstrip(b"0") for name, value in headers if name.lower() == b"content-length" and value.isdigit())
    return any((len(length), length) > (len(most), most) for length in told)


def with_length(headers: Headers, length: int) -> list[tuple[bytes, bytes]]:
    """The headers of a body of ``length`` bytes that comes in one piece."""
    kept = [(name, value) for name, value in headers if name.lower() not in (b"content-length", b"transfer-encoding")]
    return [*kept, (b"content-length", str(length).encode())]
