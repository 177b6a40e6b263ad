"""An ASGI connection without a server: what comes in is a list of messages, and what everybody saw is kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from backcut.integrations.asgi import ContextWindowMiddleware

CHAT = "/v1/chat/completions"
JSON = ((b"host", b"example"), (b"content-type", b"application/json"), (b"accept", b"*/*"))
GONE = {"type": "http.disconnect"}
START = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]}
CHUNKS = tuple({"type": "http.response.body", "body": text, "more_body": text != b""} for text in (b"one", b"two", b""))


def http(path: str = CHAT, headers: Sequence[tuple[bytes, bytes]] = JSON, method: str = "POST", **fields: Any) -> dict[str, Any]:
    return {"type": "http", "method": method, "path": path, "headers": list(headers), "state": {}, **fields}


def requests(*chunks: bytes) -> list[dict[str, Any]]:
    last = len(chunks) - 1
    return [{"type": "http.request", "body": chunk, "more_body": k < last} for k, chunk in enumerate(chunks)]


def chat(count: int = 9, **fields: Any) -> bytes:
    messages = [{"role": ("user", "assistant")[k % 2], "content": f"message {k}"} for k in range(count)]
    return json.dumps({"model": "m", "messages": messages, **fields}).encode()


class Seen(NamedTuple):
    """What a connection came to."""

    scope: dict[str, Any] | None
    """That of the application; ``None`` where it was not called."""
    received: list[dict[str, Any]]
    """What the application read, to the end."""
    body: bytes
    """The body in it."""
    sent: list[Any]
    """What the server was told to send."""
    left: list[dict[str, Any]]
    """What nobody has read."""
    status: int
    headers: dict[str, str]
    """Of the response."""
    answer: bytes


class Upstream:
    """An application that reads its whole body and answers in three chunks."""

    def __init__(self) -> None:
        self.scope: Any = None
        self.received: list[Any] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scope = scope
        while not self.received or self.received[-1].get("more_body", False):
            self.received.append(await receive())
        await send(START)
        for chunk in CHUNKS:
            await send(chunk)


def run(window: Any, messages: Sequence[dict[str, Any]], scope: dict[str, Any] | None = None, **options: Any) -> Seen:
    """One connection through the middleware, under asyncio."""
    return asyncio.run(connect(window, messages, scope, **options))


async def connect(window: Any, messages: Sequence[dict[str, Any]], scope: dict[str, Any] | None = None, **options: Any) -> Seen:
    upstream, sent, left = Upstream(), [], list(messages)

    async def receive() -> Any:
        return left.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    await ContextWindowMiddleware(upstream, window, **options)(http() if scope is None else scope, receive, send)
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    answer = b"".join(message["body"] for message in sent[1:])
    body = b"".join(message.get("body", b"") for message in upstream.received)
    return Seen(upstream.scope, upstream.received, body, sent, left, sent[0]["status"], headers, answer)
