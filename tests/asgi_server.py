"""A real server in a thread of its own, with a model server behind the middleware that tells what it was asked."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

uvicorn = pytest.importorskip("uvicorn", reason="a server is needed: the extra servers")


class ModelServer:
    """Answers in the shape of each provider; what it says is the number of messages, the last text and a digest of the body."""

    def __init__(self) -> None:
        self.digests: list[str] = []
        """Of each body that came whole."""
        self.gone = 0
        """Requests whose client went."""
        self.loop: asyncio.AbstractEventLoop | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.loop = asyncio.get_running_loop()
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.gone += 1
                assert body == b""
                return
            body += message["body"]
            more = message["more_body"]
        assert dict(scope["headers"])[b"content-length"] == str(len(body)).encode()
        self.digests.append(hashlib.sha256(body).hexdigest())
        request = json.loads(body)
        messages = next(request[name] for name in ("messages", "input", "contents") if name in request)
        text = json.dumps({"count": len(messages), "digest": self.digests[-1]})
        chunks = _streamed(text) if request.get("stream") else [json.dumps(_answer(scope["path"], text)).encode()]
        kind = b"text/event-stream" if request.get("stream") else b"application/json"
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind)]})
        for chunk in chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await asyncio.sleep(0)
        await send({"type": "http.response.body", "body": b""})


def _answer(path: str, text: str) -> Any:
    said = {"role": "assistant", "content": text}
    if path.endswith("/chat/completions"):
        choice = {"index": 0, "message": said, "finish_reason": "stop"}
        return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    if path.endswith("/responses"):
        part = {"type": "output_text", "text": text, "annotations": []}
        item = {"type": "message", "id": "i", "status": "completed", "role": "assistant", "content": [part]}
        return {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": [item]}
    if path.endswith("/messages"):
        usage = {"input_tokens": 1, "output_tokens": 1}
        block = {"type": "text", "text": text}
        return {
            "id": "a",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [block],
            "stop_reason": "end_turn",
            "usage": usage,
        }
    if path.endswith("/converse"):
        usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
        message = {"role": "assistant", "content": [{"text": text}]}
        return {"output": {"message": message}, "stopReason": "end_turn", "usage": usage, "metrics": {"latencyMs": 1}}
    return {"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}]}


def _streamed(text: str) -> Iterator[bytes]:
    for at in range(0, len(text), 8):
        choice = {"index": 0, "delta": {"content": text[at : at + 8]}, "finish_reason": None}
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        yield f"data: {json.dumps(chunk)}\n\n".encode()
    yield b"data: [DONE]\n\n"


@contextlib.contextmanager
def served(app: Any, **options: Any) -> Iterator[tuple[str, Any]]:
    """Serves ``app`` while the context lasts: its address, and the server."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, lifespan="off", log_level="error", **options))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        wait_until(lambda: server.started or not thread.is_alive())
        host, port = server.servers[0].sockets[0].getsockname()
        yield f"http://{host}:{port}", server
    finally:
        server.should_exit = True
        thread.join(60)
    assert not thread.is_alive()


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.005)
