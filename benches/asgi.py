"""What a request of 200 KB pays for the ASGI middleware under uvicorn: ``python benches/asgi.py``.

A server in a process of its own serves the same application with and without the middleware, which take turns request by request on
one connection. The overhead is the median of the differences of neighbours, by the clock of the client, and by the processor's time of the
server, which other work on the machine does not lengthen. Needs the extras ``servers`` and ``judges``; a client that is not installed is
left out.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import http.client
import json
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import backcut
from backcut.integrations.asgi import ContextWindowMiddleware

BYTES = 200_000
ASKED = 0.5
"""Milliseconds."""

Post = Callable[[str, dict[str, Any], bytes], None]
"""Sends one request below a path: as an object, or as bytes, whichever the client takes; returns when the answer is read."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="the overhead of the ASGI middleware for a body of 200 KB, in ms, within one run.")
    parser.add_argument("--rounds", type=int, default=400, metavar="N", help="pairs of requests for each figure (400)")
    parser.add_argument("--client", choices=CLIENTS, help="this client alone")
    parser.add_argument("--serve", type=int, metavar="FD", help=argparse.SUPPRESS)
    asked = parser.parse_args(argv)
    if asked.serve is not None:
        serve(asked.serve)
        return 0
    print("| client | window | without, p50 | with, p50 | overhead, p50 | asked |  | processor |")
    print("| --- | --- | --: | --: | --: | --: | --- | --: |")
    with server() as port:
        for client, opened in CLIENTS.items() if asked.client is None else [(asked.client, CLIENTS[asked.client])]:
            with contextlib.ExitStack() as stack:
                try:
                    post = stack.enter_context(opened(port))
                except ImportError as error:
                    print(f"| {client} | not measured: {error} |")
                    continue
                clock = stack.enter_context(processor_clock(port))
                for name in WINDOWS:
                    bare, windowed, over, processor = measure(post, clock, name, asked.rounds)
                    verdict = "pass" if over <= ASKED else "falls short"
                    figures = f"{bare:.2f} ms | {windowed:.2f} ms | **{over:.2f} ms** | ≤ {ASKED} ms | {verdict} | {processor:.2f} ms"
                    print(f"| {client} | {name} | {figures} |", flush=True)
    return 0


def measure(post: Post, clock: Callable[[], float], name: str, rounds: int) -> tuple[float, float, float, float]:
    """Medians in milliseconds: without, with, and of the differences, by the clock and by the server's processor."""
    times: dict[str, list[float]] = {"bare": [], name: []}
    processor: dict[str, list[float]] = {"bare": [], name: []}
    gc.collect()
    gc.disable()
    try:
        for number in range(-20, rounds):  # the first ones warm up
            for path in ("bare", name) if number % 2 else (name, "bare"):
                request = conversation(f"{path} {name} {number} {time.monotonic_ns()}")
                raw = json.dumps(request).encode()
                before = clock()
                start = time.perf_counter()
                post(path, request, raw)
                if number >= 0:
                    times[path].append((time.perf_counter() - start) * 1e3)
                    processor[path].append((clock() - before) * 1e3)
    finally:
        gc.enable()
    over, processor_over = (median_difference(values[name], values["bare"]) for values in (times, processor))
    return statistics.median(times["bare"]), statistics.median(times[name]), over, processor_over


def median_difference(above: Sequence[float], below: Sequence[float]) -> float:
    return statistics.median(a - b for a, b in zip(above, below, strict=True))


def conversation(last: str = "") -> dict[str, Any]:
    """The run of the examples, 200 KB of it, with a newest message that was never seen before."""
    request = dict(_RUN)
    request["messages"] = [*_RUN["messages"], {"role": "user", "content": f"And now? {last} " * 6}]
    return request


def _of_length(length: int) -> dict[str, Any]:
    path = Path(__file__).parents[1] / "examples" / "agent_run.json"
    run: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    messages = list(run["messages"])
    while len(json.dumps({**run, "messages": messages})) < length:
        messages += run["messages"][1:]
    while len(json.dumps({**run, "messages": messages})) > length:
        messages.pop()
    return {**run, "messages": messages, "model": "gpt-4o"}


_RUN = _of_length(BYTES)


def _windows() -> dict[str, backcut.ContextWindow]:
    tools = _RUN["tools"]
    whole = backcut.trim(_RUN["messages"], tools=tools, model="gpt-4o").report
    assert whole.tokens_sent is not None
    return {
        "fits, by characters": backcut.context_window(max_chars=10_000_000),
        "fits, by tokens": backcut.context_window(max_tokens=10_000_000, model="gpt-4o"),
        "to half, by characters": backcut.context_window(max_chars=whole.chars_sent // 2),
        "to half, by tokens": backcut.context_window(max_tokens=whole.tokens_sent // 2, model="gpt-4o"),
    }


WINDOWS = _windows()


# The server ---------------------------------------------------------------------------------------------------------

_ANSWER = json.dumps(
    {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Done."}, "finish_reason": "stop"}],
    }
).encode()


async def model_server(scope: Any, receive: Any, send: Any) -> None:
    """Reads the body and answers, in chunks."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": _ANSWER[:20], "more_body": True})
    await send({"type": "http.response.body", "body": _ANSWER[20:]})


def serve(descriptor: int) -> None:
    """Serves the application at ``/bare/``, and at ``/N/`` behind window N; at ``/processor/`` what time it took."""
    import uvicorn

    apps: dict[str, Any] = {str(at): ContextWindowMiddleware(model_server, window) for at, window in enumerate(WINDOWS.values())}
    apps["bare"] = model_server

    async def processor(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": repr(time.process_time()).encode()})

    apps["processor"] = processor

    async def all_of_them(scope: Any, receive: Any, send: Any) -> None:
        await apps[scope["path"].split("/")[1]](scope, receive, send)

    config = uvicorn.Config(all_of_them, lifespan="off", log_level="error", access_log=False)
    # Not the "fd" of uvicorn, which takes it for a Unix socket: without TCP_NODELAY each answer would wait for 40 ms.
    uvicorn.Server(config).run([socket.socket(fileno=descriptor)])


@contextlib.contextmanager
def server() -> Iterator[int]:
    """The server while the context lasts: its port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        command = [sys.executable, __file__, "--serve", str(listening.fileno())]
        process = subprocess.Popen(command, pass_fds=[listening.fileno()])
        try:
            yield listening.getsockname()[1]
        finally:
            process.terminate()
            process.wait()


def place(path: str) -> str:
    at = path if path == "bare" else str(list(WINDOWS).index(path))
    return f"/{at}/v1"


# Clients ------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def processor_clock(port: int) -> Iterator[Callable[[], float]]:
    """A function that tells the processor's time of the server, in seconds."""
    connection = http.client.HTTPConnection("127.0.0.1", port)

    def clock() -> float:
        connection.request("GET", "/processor/")
        return float(connection.getresponse().read())

    yield clock
    connection.close()


@contextlib.contextmanager
def plain_client(port: int) -> Iterator[Post]:
    connection = http.client.HTTPConnection("127.0.0.1", port)

    def post(path: str, request: dict[str, Any], raw: bytes) -> None:
        connection.request("POST", f"{place(path)}/chat/completions", raw, {"content-type": "application/json"})
        with connection.getresponse() as answer:
            assert answer.read() == _ANSWER
            assert (answer.headers["x-backcut"] is None) == (path == "bare")

    yield post
    connection.close()


@contextlib.contextmanager
def httpx_client(port: int) -> Iterator[Post]:
    import httpx

    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:

        def post(path: str, request: dict[str, Any], raw: bytes) -> None:
            headers = {"content-type": "application/json"}
            with client.stream("POST", f"{place(path)}/chat/completions", content=raw, headers=headers) as answer:
                assert b"".join(answer.iter_bytes()) == _ANSWER

        yield post


@contextlib.contextmanager
def openai_client(port: int) -> Iterator[Post]:
    import openai

    with contextlib.ExitStack() as stack:
        paths = ["bare", *WINDOWS]
        made = {path: openai.OpenAI(base_url=f"http://127.0.0.1:{port}{place(path)}", api_key="x", max_retries=0) for path in paths}
        for client in made.values():
            stack.enter_context(client)

        def post(path: str, request: dict[str, Any], raw: bytes) -> None:
            assert made[path].chat.completions.create(**request).choices[0].message.content == "Done."

        yield post


CLIENTS = {"http.client": plain_client, "httpx, streaming": httpx_client, "openai": openai_client}

if __name__ == "__main__":
    sys.exit(main())
