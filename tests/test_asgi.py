"""The ASGI middleware, driven by hand: no server, no client, no package. With them: ``test_asgi_server.py``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import backcut
from asgi_support import CHAT, CHUNKS, GONE, JSON, START, chat, http, requests, run
from backcut.integrations.asgi import PATHS, ContextWindowMiddleware

WINDOW = backcut.context_window(max_turns=3)
TIGHT = backcut.context_window(max_turns=1, max_chars=3)
LONG = chat(9)
SHORT = chat(2)


def expected(body: bytes, window: backcut.ContextWindow = WINDOW, form: str = "openai-chat") -> bytes:
    return bytes(backcut.trim_json(body, backcut.context_window(**{**window.changed(), "format": form})).body)


# What is trimmed ----------------------------------------------------------------------------------------------------


def test_the_application_gets_the_trimmed_body() -> None:
    scope = http(headers=[*JSON, (b"content-length", str(len(LONG)).encode()), (b"x-own", b"1")], root_path="/v1")
    before = {**scope, "headers": list(scope["headers"])}
    seen = run(WINDOW, [*requests(LONG), GONE], scope)
    assert seen.body == expected(LONG) != LONG
    assert seen.received == [{"type": "http.request", "body": seen.body, "more_body": False}]
    assert seen.scope == {**before, "headers": [*JSON, (b"x-own", b"1"), (b"content-length", str(len(seen.body)).encode())]}
    assert seen.scope is not scope
    assert scope == before
    assert seen.scope["state"] is scope["state"]
    assert seen.left == [GONE]


def test_what_fits_goes_on_as_it_came() -> None:
    scope = http()
    seen = run(WINDOW, requests(SHORT), scope)
    assert seen.scope is scope
    assert seen.body is SHORT
    assert seen.headers["x-backcut"] == "trimmed=0; sent=2; of=2; format=openai-chat"


def test_a_chunked_body_becomes_one_with_a_length() -> None:
    seen = run(WINDOW, requests(LONG[:9], LONG[9:]), http(headers=[*JSON, (b"transfer-encoding", b"chunked")]))
    assert seen.scope is not None
    assert seen.scope["headers"] == [*JSON, (b"content-length", str(len(seen.body)).encode())]


def test_headers_may_be_capitalised_and_come_once() -> None:
    lines = [(b"Content-Type", b"application/json"), (b"Content-Length", str(len(LONG)).encode()), (b"Transfer-Encoding", b"chunked")]
    seen = run(WINDOW, requests(LONG), {**http(), "headers": iter(lines)})
    assert seen.body == expected(LONG)
    assert seen.scope is not None
    assert seen.scope["headers"] == [lines[0], (b"content-length", str(len(seen.body)).encode())]
    assert run(WINDOW, requests(LONG), {**http(), "headers": iter(lines)}, max_body_bytes=9).left == requests(LONG)
    for path, kind in ((CHAT, b"text/plain"), (CHAT, b"application/json"), ("/other", b"application/json")):
        lines[0] = (b"Content-Type", kind)
        scope = run(WINDOW, requests(SHORT), {**http(path), "headers": iter(lines)}).scope
        assert scope is not None
        assert list(scope["headers"]) == lines


@given(body=st.sampled_from((LONG, SHORT)), cuts=st.lists(st.integers(0, len(SHORT)), max_size=6), bare=st.booleans())
def test_a_body_may_come_in_any_pieces(body: bytes, cuts: list[int], bare: bool) -> None:
    edges = [0, *sorted(cuts), len(body)]
    messages = requests(*(body[a:b] for a, b in pairwise(edges)))
    if bare:  # what has its default may be left out
        messages = [{key: value for key, value in message.items() if value not in (b"", False)} for message in messages]
    assert run(WINDOW, messages).body == expected(body)


def test_behind_the_body_comes_what_the_server_says() -> None:
    heard: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        heard.extend([await receive(), await receive(), await receive()])

    messages = [*requests(LONG[:5], LONG[5:]), GONE, GONE]

    async def receive() -> Any:
        return messages.pop(0)

    asyncio.run(ContextWindowMiddleware(app, WINDOW)(http(), receive, None))  # type: ignore[arg-type]
    assert heard[0]["body"] == expected(LONG)
    assert heard[1] is heard[2] is GONE


# Paths, formats and models ------------------------------------------------------------------------------------------

PLAIN = [{"role": "user", "content": "message"}] * 2
PARTS = [{"role": "user", "parts": [{"text": "message"}]}] * 2
BLOCKS = [{"role": "user", "content": [{"text": "message"}]}] * 2


@pytest.mark.parametrize("before", ["", "/openai", "/a/b"])
@pytest.mark.parametrize(
    ("path", "form", "body"),
    [
        ("/v1/chat/completions", "openai-chat", {"messages": PLAIN}),
        ("/chat/completions", "openai-chat", {"messages": PLAIN}),
        ("/openai/deployments/gpt/chat/completions", "openai-chat", {"messages": PLAIN}),
        ("/v1/responses", "openai-responses", {"input": PLAIN}),
        ("/v1/responses", "openai-responses", {"input": "message"}),
        ("/openai/responses", "openai-responses", {"input": PLAIN}),
        ("/v1/messages", "anthropic", {"messages": PLAIN}),
        ("/v1beta/models/gemini-pro:generateContent", "gemini", {"contents": PARTS}),
        ("/v1/projects/p/locations/l/publishers/google/models/g:streamGenerateContent", "gemini", {"contents": PARTS}),
        ("/model/arn:aws:bedrock:eu-west-1:1:inference-profile/eu.claude/converse", "bedrock", {"messages": BLOCKS}),
        ("/model/claude/converse-stream", "bedrock", {"messages": BLOCKS}),
    ],
)
def test_each_path_is_read_in_its_format(before: str, path: str, form: str, body: Any) -> None:
    seen = run(backcut.context_window(), requests(json.dumps(body).encode()), http(before + path))
    assert seen.headers["x-backcut"].rpartition("; ")[2] == f"format={form}"


def test_every_default_path_is_tried_above() -> None:
    assert len(PATHS) == 9
    assert set(PATHS.values()) == {"openai-chat", "openai-responses", "anthropic", "gemini", "bedrock"}


def test_a_format_that_a_window_names_is_kept() -> None:
    named = backcut.context_window(format="openai-chat")
    assert run(named, requests(chat()), http("/v1/messages")).headers["x-backcut"].endswith("format=openai-chat")


@pytest.mark.parametrize(
    ("paths", "path", "form"),
    [
        ({"/talk": "anthropic"}, "/talk", "anthropic"),
        ({"/talk": "anthropic"}, "/api/talk", "anthropic"),
        ({"/talk": "anthropic"}, "/smalltalk", None),
        ({"/talk": "anthropic"}, "/talk/", None),
        ({"/talk": "anthropic"}, CHAT, None),
        ({**PATHS, "/m/{model}/talk": "anthropic"}, "/m/a/b/talk", "anthropic"),
        ({"/t.lk": "anthropic"}, "/talk", None),
        ({"/m/{model}/talk": "anthropic"}, "/m//talk", None),
        ({"/m/{model}": "anthropic"}, "/m/a", "anthropic"),
        (["/talk"], "/talk", "openai-chat"),
        (["/v1/messages"], "/v1/messages", "anthropic"),
        (["/claude/v1/messages"], "/claude/v1/messages", "anthropic"),
        (["/v1/messages"], CHAT, None),
        ([], CHAT, None),
    ],
)
def test_paths_of_ones_own(paths: Any, path: str, form: str | None) -> None:
    header = run(backcut.context_window(), requests(chat()), http(path), paths=paths).headers.get("x-backcut")
    assert (header and header.rpartition("=")[2]) == form


BY_MODEL = {"small": backcut.context_window(max_turns=1), "big": backcut.context_window(max_turns=5), "own": None}


@pytest.mark.parametrize(
    ("path", "model", "windows", "sent"),
    [
        (CHAT, "small", BY_MODEL, 1),
        (CHAT, "big", BY_MODEL, 5),
        (CHAT, "own", BY_MODEL, None),
        (CHAT, "other", BY_MODEL, None),
        (CHAT, None, BY_MODEL, None),
        (CHAT, 5, BY_MODEL, None),
        (CHAT, "other", {**BY_MODEL, "*": WINDOW}, 3),
        (CHAT, None, {**BY_MODEL, "*": WINDOW}, 3),
        (CHAT, "own", {**BY_MODEL, "*": WINDOW}, None),
        (CHAT, "small", {"*": WINDOW}, 3),
        (CHAT, "small", {}, None),
        ("/deployments/small/chat/completions", "big", BY_MODEL, 1),
        ("/deployments/other/chat/completions", "big", {**BY_MODEL, "*": WINDOW}, 3),
    ],
)
def test_each_model_has_its_window(path: str, model: Any, windows: Mapping[str, Any], sent: int | None) -> None:
    silent = {name: window and backcut.context_window(**window.changed(), notice=False) for name, window in windows.items()}
    body = chat(model=model)
    seen = run(silent, requests(body), http(path))
    assert len(json.loads(seen.body)["messages"]) == (9 if sent is None else sent)
    if sent is None:
        assert seen.body is body
        assert "x-backcut" not in seen.headers


def test_the_model_of_gemini_and_bedrock_stands_in_the_path() -> None:
    contents = json.dumps({"contents": PARTS}).encode()
    for path in ("/v1beta/models/gemini/g:generateContent", "/v1/publishers/google/models/gemini/g:streamGenerateContent"):
        assert "trimmed=1" in run({"gemini/g": backcut.context_window(max_turns=1)}, requests(contents), http(path)).headers["x-backcut"]
        assert "x-backcut" not in run({"g": backcut.context_window(max_turns=1)}, requests(contents), http(path)).headers
    named = http("/v1beta/models/accounts/a/models/b:generateContent")
    assert "x-backcut" in run({"accounts/a/models/b": WINDOW}, requests(contents), named).headers
    converse = json.dumps({"messages": BLOCKS}).encode()
    assert (
        "trimmed=1"
        in run({"a/b": backcut.context_window(max_turns=1)}, requests(converse), http("/model/a/b/converse")).headers["x-backcut"]
    )


UNKNOWN = {
    "nan": b'{"model": "small", "n": NaN, "messages": []}',
    "twice": b'{"model": "own", "model": "small", "messages": []}',
    "deep": b'{"model": "small", "n": ' + b"[" * 999 + b"]" * 999 + b"}",
    "long": chat(99, model="small"),
}


@pytest.mark.parametrize("body", UNKNOWN.values(), ids=UNKNOWN)
@pytest.mark.parametrize("told", [False, True])
def test_a_body_that_cannot_be_read_for_its_model_is_one_of_all_others(body: bytes, told: bool, caplog: pytest.LogCaptureFixture) -> None:
    def seen(**others: Any) -> Any:
        headers = [*JSON, (b"content-length", str(len(body)).encode())] if told else JSON
        messages = requests(body[:900], body[900:])
        return run({**BY_MODEL, **others}, messages, http(headers=headers), max_body_bytes=3_000)

    for passed in (seen(), seen(**{"*": None})):
        assert passed.body == body
        assert "x-backcut" not in passed.headers
    assert caplog.records == []
    assert seen(**{"*": WINDOW}).status == (413 if len(body) > 3_000 else 400)


# What passes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "scope",
    [
        {"type": "websocket", "path": CHAT, "headers": []},
        {"type": "lifespan"},
        http("/v1/models", method="GET"),
        http("/v1/embeddings"),
        http("/v1/messages/count_tokens"),
        http("/v1beta/models/g:countTokens"),
        http("/v1/chat/completions/1"),
        http("/v1/chatchat/completions"),
        http(f"{CHAT}\n"),
        http(method="GET"),
        http(method="PUT"),
        http(headers=[(b"content-type", b"text/plain")]),
        http(headers=[(b"content-type", b"multipart/form-data; boundary=application/json")]),
        http(headers=[*JSON, (b"content-encoding", b"gzip")]),
        http(headers=[*JSON, (b"content-encoding", b"deflate")]),
        http(headers=[(b"Content-Type", b"text/plain")]),
        http(headers=[*JSON, (b"Content-Encoding", b"gzip")]),
        http("/model/other/converse"),
        http("/model/other/converse", headers=[*JSON, (b"content-length", b"9" * 5_000)]),
    ],
    ids=lambda scope: f"{scope['type']} {scope.get('method')} {scope.get('path')}",
)
def test_all_else_passes_as_it_is(scope: dict[str, Any]) -> None:
    got: list[Any] = []

    async def app(*given: Any) -> None:
        got.extend(given)

    async def receive() -> Any:
        raise AssertionError

    async def send(message: Any) -> None:
        raise AssertionError

    asyncio.run(ContextWindowMiddleware(app, {"*": TIGHT, "other": None})(scope, receive, send))
    assert got[0] is scope
    assert got[1] is receive
    assert got[2] is send


@pytest.mark.parametrize("kind", [b"application/json; charset=utf-8", b"Application/JSON", b"application/vnd.api+json", b"", None])
def test_json_is_trimmed_by_whatever_name(kind: bytes | None) -> None:
    headers = [(b"content-encoding", b"identity")] + [(b"content-type", kind)] * (kind is not None)
    assert run(WINDOW, requests(LONG), http(headers=headers)).body == expected(LONG)


@pytest.mark.parametrize("body", [b'{"model": "m", "prompt": {"id": "p"}}', b"{}", b'{"input": null}'])
def test_a_request_without_messages_passes(body: bytes) -> None:
    seen = run(TIGHT, requests(body), http("/v1/responses"))
    assert seen.body is body
    assert "x-backcut" not in seen.headers


@pytest.mark.parametrize("body", [b'{"messages": {"role": "user"}}', b'{"messages": "text"}', b"5", b'"text"', b""])
def test_what_is_there_but_no_list_does_not(body: bytes) -> None:
    assert run(TIGHT, requests(body)).status == 400


def test_the_response_streams_through_untouched() -> None:
    for body in (LONG, SHORT):
        seen = run(WINDOW, requests(body))
        assert seen.sent[0] == {**START, "headers": [*START["headers"], (b"x-backcut", seen.headers["x-backcut"].encode())]}
        assert all(a is b for a, b in zip(seen.sent[1:], CHUNKS, strict=True))
    assert START["headers"] == [(b"content-type", b"text/plain")]


def test_each_chunk_is_sent_when_it_is_there() -> None:
    order: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        for message in (START, *CHUNKS):
            order.append("app")
            await send(message)

    async def receive() -> Any:
        return requests(LONG)[0]

    async def send(message: Any) -> None:
        order.append("server")

    asyncio.run(ContextWindowMiddleware(app, WINDOW)(http(), receive, send))
    assert order == ["app", "server"] * 4


# Clients that go, and bodies that are too long ----------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 3])
def test_half_a_body_is_never_handed_on(count: int) -> None:
    scope = http()
    seen = run(WINDOW, [*requests(*[LONG[:20]] * count, b"")[:-1], GONE], scope)
    assert seen.scope is scope
    assert seen.received == [GONE]
    assert "x-backcut" not in seen.headers


LENGTH = (b"content-length", str(len(LONG)).encode())


def test_a_body_that_tells_to_be_too_long_is_refused_unread() -> None:
    messages = requests(LONG)
    seen = run(WINDOW, messages, http(headers=[*JSON, LENGTH]), max_body_bytes=len(LONG) - 1)
    assert seen.scope is None
    assert seen.left == messages
    assert (seen.status, seen.headers["x-backcut"]) == (413, "error=too_large")
    assert json.loads(seen.answer)["error"]["code"] == "request_too_large"


TOO_LONG = [b"101", b"0" * 5_000 + b"101", b"9" * 5_000]
NOT_TOO_LONG = [b"0", b"99", b"100", b"0" * 5_000 + b"100"]
NO_NUMBERS = [b"", b"-101", b"+101", b"1_01", b"101.0", b"1e9", b"0x101", b"101, 101", b"\xb2\xb2\xb2", "١٠١".encode()]


@pytest.mark.parametrize("length", TOO_LONG + NOT_TOO_LONG + NO_NUMBERS, ids=lambda length: repr(length[-8:]))
@pytest.mark.parametrize("on_error", ["raise", "passthrough"])
def test_a_length_is_a_number_of_any_length(length: bytes, on_error: str) -> None:
    told = length in TOO_LONG
    messages = requests(SHORT[:9], b"")
    seen = run(WINDOW, messages, http(headers=[*JSON, (b"content-length", length)]), max_body_bytes=100, on_error=on_error)
    assert seen.headers["x-backcut"] == ("error=too_large" if told else "error=json")
    assert seen.left == (messages if told and on_error == "raise" else [])
    assert seen.body == (SHORT[:9] if on_error == "passthrough" else b"")


def test_a_body_that_turns_out_too_long_is_read_no_further() -> None:
    messages = requests(*[b" " * 10] * 20)
    seen = run(WINDOW, messages, max_body_bytes=100)
    assert seen.status == 413
    assert len(seen.left) == 9
    assert run(WINDOW, requests(LONG), max_body_bytes=len(LONG)).status == 200
    assert run(WINDOW, requests(LONG), max_body_bytes=None).body == expected(LONG)


@pytest.mark.parametrize("headers", [JSON, (*JSON, LENGTH)])
def test_a_body_that_is_too_long_may_stream_past(headers: Any) -> None:
    pieces = [LONG[at : at + 50] for at in range(0, len(LONG), 50)]
    scope = http(headers=headers)
    seen = run(WINDOW, requests(*pieces), scope, max_body_bytes=120, on_error="passthrough")
    assert seen.scope is scope
    assert seen.body == LONG
    assert max(len(message["body"]) for message in seen.received) <= 120
    assert seen.headers["x-backcut"] == "error=too_large"


def test_no_more_is_read_ahead_than_the_limit() -> None:
    read = 0

    async def receive() -> Any:
        nonlocal read
        read += 10
        return {"type": "http.request", "body": b" " * 10, "more_body": True}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert read == 110
        assert len((await receive())["body"] + (await receive())["body"]) == 110
        await receive()
        assert read == 120

    asyncio.run(ContextWindowMiddleware(app, WINDOW, max_body_bytes=100, on_error="passthrough")(http(), receive, None))  # type: ignore[arg-type]
    assert read == 120


def test_who_is_cancelled_meanwhile_leaves_nothing() -> None:
    async def receive() -> Any:
        await asyncio.sleep(3600)

    async def go() -> None:
        task = asyncio.create_task(ContextWindowMiddleware(receive, WINDOW)(http(), receive, None))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(go())


# What cannot be trimmed ---------------------------------------------------------------------------------------------

PROVIDERS = {
    "openai-chat": (CHAT, {"messages": PLAIN}),
    "openai-responses": ("/v1/responses", {"input": PLAIN}),
    "anthropic": ("/v1/messages", {"messages": PLAIN}),
    "gemini": ("/v1beta/models/g:generateContent", {"contents": PARTS}),
    "bedrock": ("/model/m/converse", {"messages": BLOCKS}),
}


def shape(form: str, status: int, message: str, name: str, param: str | None, code: str | None) -> Any:
    """The error of each provider, written out."""
    return {
        "anthropic": {"type": "error", "error": {"type": name, "message": message}},
        "gemini": {"error": {"code": status, "message": message, "status": "INVALID_ARGUMENT"}},
        "bedrock": {"message": message},
    }.get(form, {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}})


@pytest.mark.parametrize("form", PROVIDERS)
def test_what_cannot_fit_is_refused_in_the_words_of_the_provider(form: str) -> None:
    path, body = PROVIDERS[form]
    array = "input" if form == "openai-responses" else "messages"
    words = {"anthropic": "prompt is too long: ", "gemini": "The input token count exceeds", "bedrock": "Input is too long for "}
    cases: list[tuple[bytes, dict[str, Any], int, str, str | None, str | None, str]] = [
        (
            json.dumps(body).encode(),
            {},
            400,
            words.get(form, "Your input exceeds the context window"),
            array,
            "context_length_exceeded",
            "budget",
        ),
        (b'{"messages": [', {}, 400, "", None, None, "json"),
        (
            json.dumps({next(iter(body)): [{"role": "robot"}]}).encode(),
            {},
            400,
            "messages[0]",
            f"{array}[0].role",
            "invalid_value",
            "format",
        ),
        (LONG, {"max_body_bytes": 9}, 413, "the body of the request is longer than 9 bytes", None, "request_too_large", "too_large"),
    ]
    for given_body, options, status, begins, param, code, kind in cases:
        seen = run(TIGHT, requests(given_body), http(path), **options)
        name = "request_too_large" if status == 413 else "invalid_request_error"
        answer = json.loads(seen.answer)
        message = answer["message"] if form == "bedrock" else answer["error"]["message"]
        assert seen.scope is None
        assert message.startswith(begins)
        assert answer == shape(form, status, message, name, param, code)
        assert seen.status == status
        errortype = {"x-amzn-errortype": "ValidationException"} if form == "bedrock" else {}
        length = {"content-type": "application/json", "content-length": str(len(seen.answer))}
        assert seen.headers == {**length, **errortype, "x-backcut": f"error={kind}"}


@pytest.mark.parametrize("form", PROVIDERS)
def test_or_passed_on_untouched(form: str, caplog: pytest.LogCaptureFixture) -> None:
    path, body = PROVIDERS[form]
    for raw, kind in ((json.dumps(body).encode(), "budget"), (b"[", "json"), (json.dumps({next(iter(body)): [5]}).encode(), "format")):
        caplog.clear()
        scope = http(path)
        seen = run(TIGHT, requests(raw), scope, on_error="passthrough")
        assert seen.scope is scope
        assert seen.body is raw
        assert (seen.status, seen.answer) == (200, b"onetwo")
        assert seen.headers["x-backcut"] == f"error={kind}"
        assert [(record.levelname, record.error, record.path) for record in caplog.records] == [("WARNING", kind, path)]  # type: ignore[attr-defined]


def test_what_a_tokenizer_raises_comes_through() -> None:
    def broken(text: str) -> int:
        raise ZeroDivisionError

    for on_error in ("raise", "passthrough"):
        with pytest.raises(ZeroDivisionError):
            run(backcut.context_window(max_tokens=5, tokenizer=broken), requests(LONG), on_error=on_error)
