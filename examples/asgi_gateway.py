"""A gateway: whatever the clients send, the server behind it gets what fits. Here both sides are played by this file.

With a real server (``pip install uvicorn``): ``uvicorn --app-dir examples asgi_gateway:app``.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import backcut
from backcut.integrations.asgi import ContextWindowMiddleware

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


async def model_server(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
    """Stands for vLLM, LiteLLM, or whatever answers; it streams its answer."""
    if scope["type"] != "http" or scope["method"] != "POST":  # what else a real server sends: its own start, other requests
        raise NotImplementedError(scope["type"])
    body, more = b"", True
    while more:
        part = await receive()
        body, more = body + part.get("body", b""), part.get("more_body", False)
    request = json.loads(body)
    messages = request.get("messages") or request.get("contents")
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
    for word in f"I read {len(messages)} messages.".split():
        await send({"type": "http.response.body", "body": f"data: {word}\n\n".encode(), "more_body": True})
    await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})


app = ContextWindowMiddleware(
    model_server,
    {
        "small-model": backcut.context_window(max_turns=6),
        "*": backcut.context_window(max_chars=2_000),
    },
)


async def post(path: str, request: dict[str, Any]) -> None:
    """Stands for a client, and for the web server between it and ``app``."""

    async def receive() -> Message:
        return {"type": "http.request", "body": json.dumps(request).encode()}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            told = dict(message["headers"]).get(b"x-backcut", b"nothing").decode()
            print(f"  {message['status']}  x-backcut: {told}")
        elif message["body"]:
            print("  " + message["body"].decode().strip())

    await app({"type": "http", "method": "POST", "path": path, "headers": []}, receive, send)


async def main() -> None:
    """Three models, two formats, and one request that cannot fit."""
    history = [{"role": ("user", "assistant")[k % 2], "content": f"This is message {k}. " * 5} for k in range(41)]
    contents = [{"role": ("user", "model")[k % 2], "parts": [{"text": f"This is message {k}. " * 5}]} for k in range(41)]

    print("Chat Completions, small-model:")
    await post("/v1/chat/completions", {"model": "small-model", "messages": history})
    print("Chat Completions, another model:")
    await post("/v1/chat/completions", {"model": "another-model", "messages": history})
    print("Gemini:")
    await post("/v1beta/models/gemini-2.5-pro:streamGenerateContent", {"contents": contents})
    print("Anthropic, a message that is longer than the window:")
    await post("/v1/messages", {"model": "claude", "messages": [{"role": "user", "content": "Too much. " * 500}]})


if __name__ == "__main__":
    logging.getLogger("backcut.asgi").setLevel(logging.ERROR)
    asyncio.run(main())
