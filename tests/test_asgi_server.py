"""The ASGI middleware under a real server, asked by real clients.

Needs the extra ``servers``, and ``judges`` for the clients of providers.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import hashlib
import itertools
import json
import logging
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

import backcut
import backcut.engine
from asgi_server import ModelServer, served, wait_until
from backcut.integrations.asgi import ContextWindowMiddleware

httpx = pytest.importorskip("httpx", reason="a client is needed: the extra servers")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of these packages: theirs to see to

WINDOW = backcut.context_window(max_chars=8_000)
CHAT = backcut.context_window(max_chars=8_000, format="openai-chat")
HISTORY: list[Any] = [{"role": ("user", "assistant")[k % 2], "content": f"message {k} " * 20} for k in range(101)]
TOO_LONG: list[Any] = [{"role": "user", "content": "word " * 2_000}]
LIMIT = 300_000
"""Bytes of the longest body that is taken."""


LONGEST = 30 if backcut.engine.PURE else 300
"""Messages in the longest conversation of a crowd."""


def body(number: int, size: int = LONGEST // 3, **fields: Any) -> bytes:
    """A request like no other, of about 200 bytes a message."""
    messages = [{"role": ("user", "assistant")[k % 2], "content": f"message {k} of {number} " * 9} for k in range(size + 1)]
    return json.dumps({"model": "m", "messages": messages, **fields}).encode()


def digest_of(body: bytes) -> str:
    return hashlib.sha256(backcut.trim_json(body, CHAT).body).hexdigest()


@pytest.fixture(scope="module", params=["h11", "httptools"])
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    pytest.importorskip(request.param, reason="the extra servers")
    with served(ContextWindowMiddleware(ModelServer(), WINDOW, max_body_bytes=LIMIT), http=request.param) as (address, _):
        yield address


# Clients of providers -----------------------------------------------------------------------------------------------


def test_openai_chat(server: str) -> None:
    openai = pytest.importorskip("openai", reason="the extra judges")
    with openai.OpenAI(base_url=f"{server}/v1", api_key="x", max_retries=0) as client:
        raw = client.chat.completions.with_raw_response.create(model="m", messages=HISTORY)
        report = CHAT.trim(HISTORY).report
        told = json.loads(raw.parse().choices[0].message.content)
        assert told["count"] == report.messages_sent < len(HISTORY)
        assert raw.headers["x-backcut"] == f"trimmed=1; sent={told['count']}; of=101; format=openai-chat"

        chunks = list(client.chat.completions.create(model="m", messages=HISTORY, stream=True))
        assert len(chunks) > 5
        assert json.loads("".join(chunk.choices[0].delta.content for chunk in chunks))["count"] == told["count"]

        for stream in (False, True):
            with pytest.raises(openai.BadRequestError, match="Your input exceeds the context window") as caught:
                client.chat.completions.create(model="m", messages=TOO_LONG, stream=stream)
            assert (caught.value.code, caught.value.param) == ("context_length_exceeded", "messages")
            assert caught.value.type == "invalid_request_error"
        with pytest.raises(openai.APIStatusError, match=f"longer than {LIMIT} bytes") as caught:
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x" * (LIMIT * 20)}])
        assert caught.value.status_code == 413


def test_openai_responses(server: str) -> None:
    openai = pytest.importorskip("openai", reason="the extra judges")
    with openai.OpenAI(base_url=f"{server}/v1", api_key="x", max_retries=0) as client:
        answer = client.responses.create(model="m", input=HISTORY)
        assert json.loads(answer.output_text)["count"] == CHAT.trim(HISTORY).report.messages_sent
        with pytest.raises(openai.BadRequestError, match="Your input exceeds the context window") as caught:
            client.responses.create(model="m", input=TOO_LONG[0]["content"])
        assert (caught.value.code, caught.value.param) == ("context_length_exceeded", "input")


def test_anthropic(server: str) -> None:
    anthropic = pytest.importorskip("anthropic", reason="the extra judges")
    with anthropic.Anthropic(base_url=server, api_key="x", max_retries=0) as client:
        answer = client.messages.create(model="m", max_tokens=9, messages=HISTORY)
        kept = backcut.trim(HISTORY, max_chars=8_000, format="anthropic").report.messages_sent
        assert json.loads(answer.content[0].text)["count"] == kept < len(HISTORY)
        with pytest.raises(anthropic.BadRequestError, match="prompt is too long"):
            client.messages.create(model="m", max_tokens=9, messages=TOO_LONG)


def test_gemini(server: str) -> None:
    genai = pytest.importorskip("google.genai", reason="the extra judges")
    contents = [{"role": ("user", "model")[k % 2], "parts": [{"text": message["content"]}]} for k, message in enumerate(HISTORY)]
    with genai.Client(api_key="x", http_options={"base_url": server}) as client:
        answer = client.models.generate_content(model="m", contents=contents)
        kept = backcut.trim(contents, max_chars=8_000).report.messages_sent
        assert json.loads(answer.text)["count"] == kept < len(HISTORY)
        with pytest.raises(genai.errors.ClientError, match="The input token count exceeds") as caught:
            client.models.generate_content(model="m", contents=TOO_LONG[0]["content"])
        assert (caught.value.code, caught.value.status) == (400, "INVALID_ARGUMENT")


def test_bedrock(server: str) -> None:
    session = pytest.importorskip("botocore.session", reason="the extra judges").Session()
    session.set_credentials("x", "x")
    client = session.create_client("bedrock-runtime", region_name="eu-west-1", endpoint_url=server)
    talk = [{"role": message["role"], "content": [{"text": message["content"]}]} for message in HISTORY]
    answer = client.converse(modelId="arn:aws:bedrock:eu-west-1:1:inference-profile/m", messages=talk)
    kept = backcut.trim(talk, max_chars=8_000).report.messages_sent
    assert json.loads(answer["output"]["message"]["content"][0]["text"])["count"] == kept < len(HISTORY)
    with pytest.raises(client.exceptions.ValidationException, match="Input is too long for requested model"):
        client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": TOO_LONG[0]["content"]}]}])
    client.close()


def test_httpx_streams_both_ways(server: str) -> None:
    raw = body(1, size=100, stream=True)

    def pieces() -> Iterator[bytes]:
        for at in range(0, len(raw), 1_000):
            yield raw[at : at + 1_000]

    headers = {"content-type": "application/json"}
    with httpx.Client() as client, client.stream("POST", f"{server}/v1/chat/completions", content=pieces(), headers=headers) as answer:
        assert answer.headers["x-backcut"].startswith("trimmed=1; ")
        assert told(answer.iter_lines()) == digest_of(raw)


def told(lines: Any) -> str:
    """The digest in a streamed answer."""
    *chunks, done = [line.removeprefix("data: ") for line in lines if line]
    assert done == "[DONE]"
    return str(json.loads("".join(json.loads(chunk)["choices"][0]["delta"]["content"] for chunk in chunks))["digest"])


def test_starlette_takes_it_as_its_own() -> None:
    applications = pytest.importorskip("starlette.applications", reason="the extra servers")
    app = applications.Starlette()
    app.add_middleware(ContextWindowMiddleware, window=WINDOW)
    app.mount("/proxy", ModelServer())
    with served(app) as (address, _):
        answer = httpx.post(f"{address}/proxy/v1/chat/completions", content=body(1), headers={"content-type": "application/json"})
        assert json.loads(answer.json()["choices"][0]["message"]["content"])["digest"] == digest_of(body(1))
        assert httpx.get(f"{address}/nowhere").status_code == 404


# A thousand at once -------------------------------------------------------------------------------------------------


class Crowd:
    """A thousand clients of every kind. Each sees to it that its answer is right."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._host, _, self._port = address.removeprefix("http://").partition(":")
        self._numbers = itertools.count()

    async def wave(self) -> list[str]:
        """All of them at once; the digests of the bodies that were answered."""
        kinds = {self.plain: 400, self.streaming: 200, self.slow: 150, self.leaving: 150, self.too_long: 50, self.endless: 50}
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        async with httpx.AsyncClient(base_url=self._address, limits=limits, timeout=240) as client:
            self._client = client
            clients = [kind(next(self._numbers)) for kind, count in kinds.items() for _ in range(count)]
            assert len(clients) == 1_000
            digests = await asyncio.gather(*clients)
        return [digest for digest in digests if digest is not None]

    async def plain(self, number: int) -> str:
        raw = body(number, size=20 + number % LONGEST)  # some in the loop, some in a thread
        answer = await self._client.post("/v1/chat/completions", content=raw, headers=JSON)
        digest = json.loads(answer.json()["choices"][0]["message"]["content"])["digest"]
        assert digest == digest_of(raw)
        assert answer.headers["x-backcut"].startswith("trimmed=")
        return str(digest)

    async def streaming(self, number: int) -> str:
        raw = body(number, size=20 + number % LONGEST, stream=True)
        async with self._client.stream("POST", "/v1/chat/completions", content=raw, headers=JSON) as answer:
            digest = told([line async for line in answer.aiter_lines()])
        assert digest == digest_of(raw)
        return digest

    async def slow(self, number: int) -> str:
        raw = body(number)
        reader, writer = await self._connect("transfer-encoding: chunked", "connection: close")
        for at in range(0, len(raw), 5_000):
            await asyncio.sleep(0.02 * (1 + number % 5))
            writer.write(chunk(raw[at : at + 5_000]))
        writer.write(chunk(b""))
        head, _, answer = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        assert b" 200 " in head
        digest = digest_of(raw)
        assert digest.encode() in answer
        return digest

    async def leaving(self, number: int) -> None:
        raw = body(number)
        _, writer = await self._connect(f"content-length: {len(raw)}")
        writer.write(raw[: len(raw) * (number % 10) // 10])
        await asyncio.sleep(0.1)
        writer.transport.abort() if number % 3 == 0 else writer.close()

    async def too_long(self, number: int) -> None:
        reader, writer = await self._connect(f"content-length: {LIMIT * 2}")
        writer.write(b" " * LIMIT * 2)
        await refused(reader, writer)

    async def endless(self, number: int) -> None:
        reader, writer = await self._connect("transfer-encoding: chunked")
        answer = asyncio.create_task(refused(reader, writer))
        with contextlib.suppress(ConnectionError):
            while not answer.done():
                writer.write(chunk(b" " * 10_000))
                await writer.drain()
                await asyncio.sleep(0.001)
        await answer

    async def _connect(self, *headers: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(self._host, int(self._port))
        head = ("POST /v1/chat/completions HTTP/1.1", "host: x", "content-type: application/json")
        writer.write("\r\n".join((*head, *headers, "", "")).encode())
        return reader, writer


JSON = {"content-type": "application/json"}


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


async def refused(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    assert b" 413 " in head
    assert b"x-backcut: error=too_large" in head
    writer.transport.abort()


@pytest.mark.parametrize("http", ["h11", "httptools"])
def test_a_thousand_clients_of_every_kind(http: str, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is lost, nothing comes twice, nothing of those who went or sent too much arrives, and nothing stays behind."""
    pytest.importorskip(http, reason="the extra servers")
    caplog.set_level(logging.CRITICAL, "backcut.asgi")  # which else keeps every record
    model = ModelServer()
    app = ContextWindowMiddleware(model, WINDOW, max_body_bytes=LIMIT, thread_bytes=32_000)
    sizes = []
    with served(app, http=http) as (address, server):
        crowd = Crowd(address)
        for number in range(4):
            digests = asyncio.run(crowd.wave())
            assert len(digests) == 750
            wait_until(lambda: not server.server_state.connections and not server.server_state.tasks)
            assert sorted(model.digests) == sorted(digests)
            assert 100 <= model.gone <= 150  # of a connection that is torn down, the server may hear nothing at all
            assert model.loop is not None
            assert len(asyncio.all_tasks(model.loop)) == 1  # the server's own
            model.digests.clear()
            model.gone = 0
            del digests
            if number == 0:  # the first warms up
                tracemalloc.start()
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    # A wave carries some 30 MB. What stays behind does so in each; a table of the interpreter's grows in one.
    assert min(sizes[2] - sizes[1], sizes[3] - sizes[2]) < 200_000, sizes
