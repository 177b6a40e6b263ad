"""What the ASGI middleware says, holds and takes: reports, log records, threads, references, options. Driven by hand, too."""

from __future__ import annotations

import asyncio
import gc
import importlib
import inspect
import json
import logging
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest

import backcut
from asgi_support import CHAT, START, chat, http, requests, run
from backcut.integrations.asgi import ContextWindowMiddleware
from backcut.report import TrimReport

WINDOW = backcut.context_window(max_turns=3)
LONG = chat(9)
SHORT = chat(2)


# Reports ------------------------------------------------------------------------------------------------------------


def test_the_header_tells_the_report_in_short() -> None:
    def header(**options: Any) -> str:
        return run(backcut.context_window(**options), requests(LONG)).headers["x-backcut"]

    assert header(max_turns=3) == "trimmed=1; sent=4; of=9; format=openai-chat"
    tokens = backcut.trim(json.loads(LONG)["messages"], max_turns=3, model="gpt-4o").report.tokens_sent
    assert header(max_turns=3, model="gpt-4o") == f"trimmed=1; sent=4; of=9; tokens={tokens}; format=openai-chat"
    assert header(max_chars=3, on_overflow="keep") == "trimmed=1; sent=1; of=9; over=1; format=openai-chat"
    call = {"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    history = [{"role": "user", "content": "Read."}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    history.append({"role": "tool", "tool_call_id": "a", "content": "x" * 100})
    body = json.dumps({"messages": history}).encode()
    seen = run(backcut.context_window(max_chars_per_tool=50), requests(body))
    assert seen.headers["x-backcut"] == "trimmed=0; sent=3; of=3; capped=1; format=openai-chat"


def test_the_header_may_have_another_name_or_none() -> None:
    assert run(WINDOW, requests(LONG), header="X-Window").headers["x-window"].startswith("trimmed=1")
    assert run(WINDOW, requests(LONG), header=None).headers == {"content-type": "text/plain"}
    refused = run(backcut.context_window(max_chars=3), requests(LONG), header=None)
    assert refused.status == 400
    assert "x-backcut" not in refused.headers


def test_a_response_without_headers_gets_one() -> None:
    sent: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 204})

    async def receive() -> Any:
        return requests(LONG)[0]

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(ContextWindowMiddleware(app, WINDOW)(http(), receive, send))
    assert [name for name, _ in sent[0]["headers"]] == [b"x-backcut"]


def test_a_record_has_the_report(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "backcut.asgi")
    windows = {"m": WINDOW}
    run(windows, requests(LONG))
    run(windows, requests(SHORT))
    changed, kept = (record for record in caplog.records if record.name == "backcut.asgi")
    assert (changed.levelname, kept.levelname) == ("INFO", "DEBUG")
    assert changed.getMessage() == "'/v1/chat/completions': trimmed=1; sent=4; of=9; format=openai-chat"
    report = backcut.trim(json.loads(LONG)["messages"], max_turns=3).report
    told = {**report.as_dict(), "path": CHAT, "model": "m"}
    assert {name: vars(changed)[name] for name in told} == told


def test_a_capped_result_is_a_change(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "backcut.asgi")
    body = json.dumps({"messages": [{"role": "user", "content": "a"}, {"role": "tool", "tool_call_id": "a", "content": "x" * 100}]})
    run(backcut.context_window(max_chars_per_tool=50, start="any"), requests(body.encode()))
    assert [record.levelname for record in caplog.records if record.name == "backcut.asgi"] == ["INFO"]


def test_a_path_cannot_forge_a_record(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "backcut.asgi")
    run(WINDOW, requests(LONG), http(f"/a\nERROR b{CHAT}"))
    assert "\n" not in caplog.records[-1].getMessage()


def test_on_report_hears_of_each_trim_with_its_scope() -> None:
    heard: list[Any] = []
    scope = http()
    windowed: list[TrimReport] = []
    window = backcut.context_window(max_turns=3, on_report=windowed.append)
    run(window, requests(LONG), scope, on_report=lambda report, scope: heard.append((report, scope)))
    assert heard[0][0] is windowed[0]
    assert heard[0][1] is scope
    assert len(heard) == len(windowed) == 1
    run(backcut.context_window(max_chars=3), requests(LONG), on_report=lambda report, scope: heard.append(report))
    assert len(heard) == 1


def test_what_it_raises_comes_through() -> None:
    def broken(report: TrimReport, scope: Any) -> None:
        raise ZeroDivisionError

    for on_error in ("raise", "passthrough"):
        with pytest.raises(ZeroDivisionError):
            run(WINDOW, requests(LONG), on_error=on_error, on_report=broken)


# Threads and references ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("limit", "elsewhere"), [(len(LONG), False), (len(LONG) - 1, True), (0, True), (None, False)])
def test_long_bodies_are_trimmed_in_a_thread(limit: int | None, elsewhere: bool) -> None:
    threads: list[threading.Thread] = []
    window = backcut.context_window(max_turns=3, on_report=lambda report: threads.append(threading.current_thread()))
    seen = run(window, requests(LONG), thread_bytes=limit)
    assert seen.headers["x-backcut"].startswith("trimmed=1")
    assert (threads[0] is not threading.main_thread()) == elsewhere
    refused = run(backcut.context_window(max_chars=3), requests(LONG), thread_bytes=limit)
    assert refused.status == 400


def test_the_loop_goes_on_meanwhile() -> None:
    """A tokenizer in the thread waits for what only the loop can give."""
    given = threading.Event()

    def count(text: str) -> int:
        assert given.wait(60)
        return len(text)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert given.is_set()

    async def receive() -> Any:
        asyncio.get_running_loop().call_later(0.01, given.set)
        return requests(LONG)[0]

    window = backcut.context_window(max_tokens=200, tokenizer=count)
    asyncio.run(ContextWindowMiddleware(app, window, thread_bytes=10)(http(), receive, None))  # type: ignore[arg-type]


def test_under_another_loop_it_is_trimmed_in_place() -> None:
    """Driven by hand there is no loop at all, as under trio there is none of asyncio."""
    bodies: list[bytes] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        bodies.append((await receive())["body"])

    async def receive() -> Any:
        return requests(LONG)[0]

    task = ContextWindowMiddleware(app, WINDOW, thread_bytes=0)(http(), receive, None)  # type: ignore[arg-type]
    assert inspect.iscoroutine(task)
    with pytest.raises(StopIteration):
        task.send(None)
    assert bodies == [backcut.trim_json(LONG, WINDOW).body]


class Mark:
    """Bytes cannot be watched by a weak reference, but what hangs on them can."""


class Body(bytes):
    mark: Mark


def marked(body: bytes, marks: list[weakref.ref[Mark]]) -> dict[str, Any]:
    """A request whose mark lives as long as its body."""
    made = Body(body)
    made.mark = Mark()
    marks.append(weakref.ref(made.mark))
    return {"type": "http.request", "body": made}


@pytest.mark.parametrize("body", [LONG, SHORT])
@pytest.mark.parametrize("options", [{}, {"thread_bytes": 0}, {"max_body_bytes": 10, "on_error": "passthrough"}])
def test_nobody_holds_the_body_while_the_application_answers(body: bytes, options: dict[str, Any]) -> None:
    alive: list[weakref.ref[Mark]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        await send(START)
        await asyncio.sleep(0.01)  # a thread that trimmed may still be putting its work away
        gc.collect()
        assert alive[0]() is None

    async def receive() -> Any:
        return marked(body, alive)

    async def send(message: Any) -> None: ...

    asyncio.run(ContextWindowMiddleware(app, WINDOW, **options)(http(), receive, send))
    assert len(alive) == 1


def test_a_refused_body_is_not_held_by_the_log(caplog: pytest.LogCaptureFixture) -> None:
    alive: list[weakref.ref[Mark]] = []

    async def receive() -> Any:
        return marked(LONG, alive)

    async def send(message: Any) -> None: ...

    middleware = ContextWindowMiddleware(send, backcut.context_window(max_chars=3))  # type: ignore[arg-type]
    asyncio.run(middleware(http(), receive, send))
    gc.collect()
    assert caplog.records[-1].levelname == "WARNING"
    assert alive[0]() is None


# Options ------------------------------------------------------------------------------------------------------------


async def _later(report: Any, scope: Any) -> None: ...


@pytest.mark.parametrize(
    ("window", "options", "name"),
    [
        (None, {}, "window"),
        ({"m": 5}, {}, "window"),
        ({5: WINDOW}, {}, "window"),
        (WINDOW, {"paths": CHAT}, "paths"),
        (WINDOW, {"paths": ["chat"]}, "paths"),
        (WINDOW, {"paths": [5]}, "paths"),
        (WINDOW, {"paths": {"/{model}/{model}": "auto"}}, "paths"),
        (WINDOW, {"paths": {CHAT: "openai"}}, "format"),
        (WINDOW, {"on_error": "keep"}, "on_error"),
        (WINDOW, {"max_body_bytes": -1}, "max_body_bytes"),
        (WINDOW, {"max_body_bytes": True}, "max_body_bytes"),
        (WINDOW, {"thread_bytes": "1"}, "thread_bytes"),
        (WINDOW, {"header": ""}, "header"),
        (WINDOW, {"header": "x\r\ny"}, "header"),
        (WINDOW, {"header": b"x"}, "header"),
        (WINDOW, {"on_report": 5}, "on_report"),
        (WINDOW, {"on_report": _later}, "on_report"),
        (backcut.context_window(max_turns=3, compat="thena"), {}, "compat"),
    ],
)
def test_wrong_options_are_refused_at_the_start(window: Any, options: dict[str, Any], name: str) -> None:
    with pytest.raises(backcut.OptionError) as caught:
        ContextWindowMiddleware(_later, window, **options)  # type: ignore[arg-type]
    assert caught.value.option == name


def test_a_window_with_compat_may_have_its_paths() -> None:
    window = backcut.context_window(max_turns=3, compat="thena")
    assert "trimmed=1" in run(window, requests(LONG), paths=["/chat/completions"]).headers["x-backcut"]


def test_a_subclass_needs_the_application_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As vLLM loads what ``--middleware`` names."""
    page = (Path(__file__).parents[1] / "docs" / "integrations" / "asgi.md").read_text(encoding="utf-8")
    _, _, code = page.partition("## vLLM")
    _, _, code = code.partition("```python\n")
    (tmp_path / "our_window.py").write_text(code.partition("```")[0], encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    module, _, name = "our_window.Windowed".rpartition(".")
    loaded = getattr(importlib.import_module(module), name)
    assert inspect.isclass(loaded)
    bodies: list[bytes] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        bodies.append((await receive())["body"])

    async def receive() -> Any:
        return requests(chat(5_000))[0]

    asyncio.run(loaded(app)(http(), receive, None))
    assert len(bodies[0]) < len(chat(5_000))


def test_backcut_alone_does_not_load_it() -> None:
    code = "import sys, backcut; sys.exit(any(name in sys.modules for name in ('asyncio', 'logging', 'backcut.integrations')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
