"""What a hostile hour found in requests as bytes, in JSONL and in the ASGI middleware. Each of these failed once."""

from __future__ import annotations

import io
import json
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import backcut
from asgi_support import JSON, chat, http, requests, run
from backcut.engine import request_field
from bodies import RefusedError, agree, both_read_json, strict
from support import engine_window
from test_json_properties import every_engine

WINDOW = backcut.context_window(max_turns=3, notice=False)
LINES = b"".join(chat(6, id=number).replace(b"message ", b"talk %d " % number) + b"\n" for number in range(10))


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
@pytest.mark.parametrize("on_error", ["skip", "keep"])
@pytest.mark.parametrize("workers", [1, 2])
def test_what_a_tokenizer_raises_ends_a_file_in_any_case(tmp_path: Path, error: type[BaseException], on_error: Any, workers: int) -> None:
    def count(text: str) -> int:
        if "talk 3" in text:
            raise error
        return len(text)

    window = backcut.context_window(max_tokens=10_000, tokenizer=count)
    with pytest.raises(error):
        backcut.trim_jsonl(io.BytesIO(LINES), tmp_path / "out", window, workers=workers, on_error=on_error)
    assert list(tmp_path.iterdir()) == []


@every_engine
@pytest.mark.parametrize(
    ("front", "back", "depth"),
    [(b'{"contents":{"text":"a","x":', b"}}", 2), (b'{"contents":["a",{"text":"a","x":', b"}]}", 3)],
    ids=["part", "list"],
)
def test_a_shorthand_may_be_as_deep_as_any_body(engine: ModuleType, front: bytes, back: bytes, depth: int) -> None:
    window, deep = engine_window(engine, {}), 512 - depth
    body = front + b"[" * deep + b"]" * deep + back
    assert window.trim_json(body, None).body is body
    with pytest.raises(backcut.JsonError) as caught:
        window.trim_json(front + b"[" * (deep + 1) + b"]" * (deep + 1) + back, None)
    assert caught.value.offset == len(front) + deep


@every_engine
def test_a_form_feed_is_no_blank_line(engine: ModuleType) -> None:
    lines = engine_window(engine, {}).trim_lines(b"\x0c\n[]\n", None, "keep", False)
    assert (lines.output, lines.conversations, [line for line, _ in lines.errors]) == (b"\x0c\n[]\n", 1, [0])


@both_read_json
def test_both_engines_find_the_same_fault_first() -> None:
    messages = [{"role": "assistant", "tool_calls": []}, {"role": "system", "content": [{"text": ""}, {"type": "text"}]}]
    agree({"format": "auto"}, json.dumps(messages).encode(), None)


@every_engine
def test_ids_that_differ_in_half_a_pair_differ(engine: ModuleType) -> None:
    call = {"id": "\ud801", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    history = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "\ud800", "content": "ok"},
    ]
    assert [violation.code for violation in engine.check(history, "openai-chat")] == ["pending_call", "orphan_result"]


def test_a_raw_target_that_takes_nothing_is_no_target_that_took_all() -> None:
    class Full(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> None:  # what a pipe gives that does not wait and is full
            return None

    with pytest.raises(BlockingIOError):
        backcut.trim_jsonl(io.BytesIO(LINES), Full(), WINDOW)


@pytest.mark.parametrize("length", [b"9" * 5_000, b"0" * 5_000 + b"7"])
def test_any_declared_length_is_a_number(length: bytes) -> None:
    seen = run(WINDOW, requests(chat(9)), http(headers=[*JSON, (b"content-length", length)]), max_body_bytes=1 << 20)
    assert seen.status == (413 if length.startswith(b"9") else 200)


def test_a_long_body_is_not_read_for_its_model_in_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []

    def seen(body: Any, name: str) -> str | None:
        threads.append(threading.current_thread())
        return request_field(body, name)

    monkeypatch.setattr("backcut.integrations.asgi.request_field", seen)
    run({"m": WINDOW, "*": None}, requests(chat(9)), thread_bytes=10)
    assert len(threads) == 1
    assert threads[0] is not threading.current_thread()


def test_a_body_for_a_model_without_a_window_may_be_of_any_length() -> None:
    body = chat(99)
    seen = run({"own": WINDOW}, requests(body), http("/model/other/converse"), max_body_bytes=100)
    assert (seen.status, seen.body) == (200, body)


def test_the_judge_refuses_what_is_too_deep_for_json() -> None:
    with pytest.raises(RefusedError):
        strict(b"[" * 100_000 + b"]" * 100_000)
