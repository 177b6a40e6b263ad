"""JSONL: lines through threads, in order, with what is wrong in them handled as asked."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import backcut
from backcut import jsonl, pipeline
from backcut.pipeline import in_order, whole_lines

MARK = b"\xef\xbb\xbf"
WINDOW = backcut.context_window(max_chars=60, max_chars_per_tool=20)


def history(number: int, *, long: int = 0) -> list[dict[str, Any]]:
    """A history that differs from all others, with something to cut in every second one."""
    return [
        {"role": "system", "content": "Be kind."},
        *({"role": "user" if k % 2 == 0 else "assistant", "content": f"é{number}.{k} " * (1 + long)} for k in range(2 + number % 2 * 9)),
        {"role": "user", "content": f"last {number}"},
    ]


def line(number: int, *, long: int = 0) -> bytes:
    shape: Any = history(number, long=long)
    if number % 3:
        shape = {"id": number, "messages": shape, "t": 1.50}
    return json.dumps(shape, ensure_ascii=number % 4 == 0).encode()


MIXED = b"\n \r\n" + b"".join(line(n, long=40 * (n % 7 == 3)) + (b"\r\n", b"\n", b"\n\n")[n % 3] for n in range(60)) + line(60)
"""Lines of every shape, some longer than a small chunk, blank ones between, and no end at the end."""


def simply(text: bytes, window: backcut.ContextWindow = WINDOW) -> bytes:
    """What a loop makes of lines that are all good."""
    made = []
    for each in text.split(b"\n"):
        body = each.removesuffix(b"\r")
        made.append(bytes(backcut.trim_json(body, window).body) + each[len(body) :] if body.strip() else each)  # type: ignore[arg-type]
    return b"\n".join(made)


def trimmed(text: bytes, window: backcut.ContextWindow = WINDOW, **how: Any) -> tuple[bytes, backcut.JsonlSummary]:
    out = io.BytesIO()
    summary = backcut.trim_jsonl(io.BytesIO(text), out, window, **how)
    return out.getvalue(), summary


@pytest.fixture(params=[100, 1000, 1 << 20])
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many bytes a chunk has."""
    monkeypatch.setattr(jsonl, "CHUNK", request.param)
    return int(request.param)


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_the_same_bytes_as_a_loop(workers: int) -> None:
    expected = simply(MIXED)
    assert expected != MIXED
    assert trimmed(MIXED, workers=workers)[0] == expected
    assert trimmed(MARK + MIXED, workers=workers)[0] == MARK + expected
    assert trimmed(MIXED + b"\r\n", workers=workers)[0] == expected + b"\r\n"


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize("text", [b"", b"\n", b" \r\n\n", MARK, MARK + b"\n"])
def test_nothing_to_trim(text: bytes) -> None:
    written, summary = trimmed(text)
    assert written == text
    assert summary.conversations == summary.errors == 0
    assert summary.lines == text.count(b"\n")


@pytest.mark.usefixtures("chunk")
def test_the_summary_adds_up() -> None:
    reports: list[backcut.TrimReport] = []
    window = backcut.context_window(max_tokens=40, max_chars_per_tool=20, on_overflow="keep", on_report=reports.append)
    text = MIXED + b"\n" + json.dumps([{"role": "user", "content": "word " * 99}]).encode()
    written, summary = trimmed(text, window, workers=2)
    told = list(reports)
    assert written == simply(text, window)
    assert reports[len(told) :] == told  # in the order of the lines, as the loop has them
    assert summary.lines == text.count(b"\n") + 1
    assert summary.conversations == len(told) == 62
    assert summary.changed == sum(report.first_changed is not None for report in told) > 0
    assert summary.trimmed == sum(report.window_trimmed for report in told) > 0
    assert summary.over_budget == sum(report.over_budget for report in told) > 0
    assert summary.messages_before == sum(report.messages_original for report in told)
    assert summary.messages_after == sum(report.messages_sent for report in told)
    assert summary.tools_truncated == sum(report.tools_truncated for report in told)
    assert summary.chars_capped == sum(report.chars_capped for report in told)
    assert summary.tokens_after == sum(report.tokens_sent or 0 for report in told)
    bodies = [json.loads(each) for each in text.split(b"\n") if each.strip()]
    assert summary.tokens_before == sum(backcut.count(body if isinstance(body, list) else body["messages"]) for body in bodies)
    assert (summary.errors, summary.skipped, summary.first_errors) == (0, 0, ())
    assert summary.seconds > 0
    assert json.loads(json.dumps(summary.as_dict()))["conversations"] == 62


def test_tokens_are_counted_only_for_whoever_asked() -> None:
    assert trimmed(line(1))[1].tokens_before is trimmed(line(1))[1].tokens_after is None
    counted = trimmed(line(1), backcut.context_window(model="gpt-4o"))[1]
    assert counted.tokens_before == counted.tokens_after == backcut.count(history(1), model="gpt-4o")


def test_another_key() -> None:
    body = {"messages": [], "talk": history(1)}
    written, _ = trimmed(json.dumps(body).encode(), key="talk")
    assert json.loads(written) == {"messages": [], "talk": list(WINDOW.trim(history(1)).messages)}


def test_real_conversations(corpus: Path) -> None:
    text = next(iter(sorted(corpus.glob("*.openai-chat.jsonl")))).read_bytes()
    window = backcut.context_window(max_turns=3, max_chars_per_tool=500, on_overflow="keep")
    written, summary = trimmed(text, window, workers=2)
    assert written == simply(text, window)
    assert summary.trimmed > 0


# --- what is wrong ------------------------------------------------------------------------------------------------------------------

BAD = {
    "no JSON": (b"[{]", backcut.JsonError),
    "no conversation": (b'{"prompt": 1}', backcut.FormatError),
    "no role": (b'[{"content": "hi"}]', backcut.FormatError),
    "no UTF-8": (b'["\xff"]', backcut.JsonError),
    "a mark in the middle": (MARK + b"[]", backcut.JsonError),
    "too long": (json.dumps([{"role": "user", "content": "x" * 99}]).encode(), backcut.BudgetError),
}


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("workers", [1, 2])
def test_raise(tmp_path: Path, name: str, workers: int) -> None:
    bad, kind = BAD[name]
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(MIXED + b"\n" + bad + b"\n" + bad + b"\n" + MIXED)
    target.write_text("precious", encoding="utf-8")
    with pytest.raises(kind) as caught:
        backcut.trim_jsonl(source, target, WINDOW, workers=workers)
    number = MIXED.count(b"\n") + 2
    assert type(caught.value) is kind
    assert isinstance(caught.value, backcut.BackcutError)
    assert caught.value.line == number
    assert caught.value.__notes__ == [f"line {number} of {source}"]
    assert pickle.loads(pickle.dumps(caught.value)).line == number
    with pytest.raises(kind) as alone:
        backcut.trim_json(bad, WINDOW)
    assert str(caught.value) == str(alone.value)
    assert alone.value.line is None
    assert target.read_text(encoding="utf-8") == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]


@pytest.mark.usefixtures("chunk")
def test_skip_and_keep() -> None:
    good = [line(n) + b"\n" for n in range(9)]
    bad = [each + b"\r\n" for each, _ in BAD.values()]
    text = b"".join(g + b for g, b in zip(good, bad, strict=False)) + b"".join(good[len(bad) :]) + b"[{]"
    numbers = [*range(2, 2 * len(bad) + 1, 2), len(good) + len(bad) + 1]
    written, summary = trimmed(text, on_error="skip", workers=2)
    assert written == simply(b"".join(good))
    assert (summary.errors, summary.skipped, summary.conversations) == (len(numbers), len(numbers), len(good))
    assert summary.lines == len(good) + len(numbers)
    assert [number for number, _ in summary.first_errors] == numbers
    assert [type(error) for _, error in summary.first_errors] == [*(kind for _, kind in BAD.values()), backcut.JsonError]
    assert summary.as_dict()["first_errors"][0] == {"line": 2, "error": str(summary.first_errors[0][1])}
    written, kept = trimmed(text, on_error="keep", workers=2)
    assert written == b"".join(simply(g) + b for g, b in zip(good, bad, strict=False)) + simply(b"".join(good[len(bad) :])) + b"[{]"
    assert (kept.errors, kept.skipped, kept.lines) == (len(numbers), 0, summary.lines)


def test_only_the_first_errors_are_kept() -> None:
    _, summary = trimmed(b"x\n" * 250, on_error="skip")
    assert (summary.errors, len(summary.first_errors), summary.first_errors[-1][0]) == (250, 100, 100)


def test_reports_come_before_the_error_that_ends_it() -> None:
    told: list[backcut.TrimReport] = []
    window = backcut.context_window(max_turns=1, on_report=told.append)
    with pytest.raises(backcut.JsonError):
        trimmed(line(1) + b"\n" + line(2) + b"\n[{]\n" + line(3), window)
    assert [report.messages_original for report in told] == [len(history(1)), len(history(2))]


@pytest.mark.parametrize("where", ["on_report", "progress", "tokenizer"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_what_a_caller_raises_ends_it(tmp_path: Path, chunk: int, where: str, error: type[BaseException]) -> None:
    def fail(_: object) -> int:
        raise error

    options: dict[str, Any] = {"on_report": fail} if where == "on_report" else {}
    if where == "tokenizer":
        options = {"max_tokens": 50, "tokenizer": fail}
    how: dict[str, Any] = {"progress": fail} if where == "progress" else {}
    with pytest.raises(error):
        backcut.trim_jsonl(io.BytesIO(MIXED), tmp_path / "out", backcut.context_window(max_turns=3, **options), **how)
    assert list(tmp_path.iterdir()) == []
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("backcut")]


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"on_error": "ignore"}, "on_error='ignore': must be 'raise', 'skip' or 'keep'"),
        ({"workers": 0}, "workers=0: must be an integer of at least 1"),
        ({"workers": True}, "workers=True: must be"),
        ({"workers": 1.5}, "workers=1.5: must be"),
        ({"key": 7}, "key=7: must be the name of a field"),
        ({"progress": "bar"}, "progress='bar': must be a callable"),
        ({"source": io.StringIO("[]")}, 'must give bytes: open it with "rb"'),
        ({"source": 7}, "source=7: must be a path, a binary file object"),
        ({"target": io.StringIO()}, 'must take bytes: open it with "wb"'),
        ({"target": b"out"}, "target=b'out': must be a path, a binary file object"),
    ],
)
def test_wrong_arguments(tmp_path: Path, how: dict[str, Any], sentence: str) -> None:
    given: dict[str, Any] = {"source": io.BytesIO(b"[]"), "target": tmp_path / "out", **how}
    with pytest.raises(backcut.OptionError) as caught:
        backcut.trim_jsonl(given.pop("source"), given.pop("target"), WINDOW, **given)
    assert sentence in str(caught.value)
    assert list(tmp_path.iterdir()) == []


# --- progress -----------------------------------------------------------------------------------------------------------------------


def test_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "CHUNK", 300)
    monkeypatch.setattr(jsonl, "_PERIOD", 0.0)
    text = MIXED + b"\n[{]"
    plain, packed = tmp_path / "in.jsonl", tmp_path / "in.gz"
    plain.write_bytes(text)
    packed.write_bytes(gzip.compress(text))
    for source, total in ((plain, len(text)), (packed, packed.stat().st_size), (io.BytesIO(text), len(text))):
        seen: list[backcut.JsonlProgress] = []
        backcut.trim_jsonl(source, io.BytesIO(), WINDOW, on_error="keep", progress=seen.append)
        assert len(seen) > 10
        for column in zip(*((each.done, each.conversations, each.errors, each.seconds) for each in seen), strict=True):
            assert list(column) == sorted(column)
        assert {each.total for each in seen} == {total}
        assert (seen[-1].done, seen[-1].conversations, seen[-1].errors) == (total, 61, 1)
        assert seen[0].conversations < 61


def test_progress_is_not_told_too_often() -> None:
    seen: list[backcut.JsonlProgress] = []
    summary = trimmed(MIXED * 20, progress=seen.append)[1]
    assert 1 <= len(seen) <= 2 + summary.seconds / 0.1


def test_nobody_knows_how_long_a_stream_is() -> None:
    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self._rest = MIXED

        def readable(self) -> bool:
            return True

        def read(self, size: int = -1, /) -> bytes:
            size = min(size, 7)
            given, self._rest = self._rest[:size], self._rest[size:]  # as little as a pipe may give
            return given

    seen: list[backcut.JsonlProgress] = []
    out = io.BytesIO()
    backcut.trim_jsonl(Pipe(), out, WINDOW, progress=seen.append)
    assert out.getvalue() == simply(MIXED)
    assert (seen[-1].done, seen[-1].total) == (len(MIXED), None)


def test_a_bar_is_for_terminals(capsys: pytest.CaptureFixture[str]) -> None:
    trimmed(MIXED, progress=True)
    trimmed(MIXED, progress=False)
    assert capsys.readouterr() == ("", "")


# --- lines and threads --------------------------------------------------------------------------------------------------------------


@given(st.lists(st.binary(max_size=30).map(lambda each: each.replace(b"\n", b"-")), max_size=30), st.integers(1, 40), st.data())
def test_whole_lines(parts: list[bytes], size: int, data: st.DataObject) -> None:
    text = b"\n".join(parts)
    stream = io.BytesIO(text)
    step = data.draw(st.integers(1, 50))
    chunks = list(whole_lines(lambda size: stream.read(min(size, step)), size))
    assert b"".join(chunks) == text
    assert all(chunks)
    assert all(each.endswith(b"\n") for each in chunks[:-1])
    longest = max(map(len, parts), default=0) + 1
    assert all(len(each) <= size + 2 * max(longest, min(size, step)) for each in chunks)


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_in_order_and_not_too_many_at_once(workers: int) -> None:
    lock = threading.Lock()
    taken = done = most = 0
    names = set()

    def given() -> Iterator[int]:
        nonlocal taken, most
        for k in range(40):
            taken += 1
            most = max(most, taken - done)
            yield k

    barrier = threading.Event()

    def work(k: int) -> int:
        if k % 5 == 0:
            barrier.wait(0.02)  # lets those behind it overtake
        with lock:
            names.add(threading.current_thread().name)
        return -k

    for k, (each, made) in enumerate(in_order(work, given(), workers)):
        assert (each, made) == (k, -k)
        done += 1
    assert done == 40
    assert most == (workers + 2 if workers > 1 else 1)
    assert len(names) <= workers
    assert (threading.current_thread().name in names) == (workers == 1)


def test_closed_early_nothing_goes_on() -> None:
    begun: list[int] = []
    results = in_order(lambda k: begun.append(k) or k, iter(range(1000)), 2)
    next(results)
    results.close()
    assert len(begun) <= 4
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("backcut")]


def test_all_cores_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def watched(work: Any, given: Any, workers: int) -> Any:
        asked.append(workers)
        return in_order(work, given, workers)

    monkeypatch.setattr(jsonl, "in_order", watched)
    trimmed(MIXED)
    trimmed(MIXED, workers=3)
    assert asked == [pipeline.cores(), 3]
    assert 1 <= pipeline.cores() <= (os.cpu_count() or 1)


# --- many histories -----------------------------------------------------------------------------------------------------------------


def test_many() -> None:
    told: list[backcut.TrimReport] = []
    window = backcut.context_window(max_tokens=90, on_report=told.append)
    tool = {"type": "function", "function": {"name": "find", "description": "Finds.", "parameters": {}}}
    histories = [history(n) for n in range(9)]
    results = backcut.trim_many(iter(histories), window, tools=[tool], system="Be brief.")
    assert told == [result.report for result in results]
    assert results == [window.trim(each, tools=[tool], system="Be brief.") for each in histories]
    assert results[0].messages is histories[0]
    assert backcut.trim_many([], window) == []


@pytest.mark.parametrize(
    ("bad", "kind"), [([{"role": "boss"}], backcut.FormatError), (history(0), backcut.BudgetError), (7, backcut.FormatError)]
)
def test_which_of_many_is_at_fault(bad: Any, kind: type[backcut.BackcutError]) -> None:
    window = backcut.context_window(max_chars=5)
    good = [{"role": "user", "content": "hi"}]
    with pytest.raises(kind) as caught:
        backcut.trim_many([good, good, bad, good], window)
    assert type(caught.value) is kind
    assert caught.value.history == 2
    assert caught.value.__notes__ == ["histories[2]"]


def test_a_failing_tokenizer_says_at_which_history() -> None:
    def fail(text: str) -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        backcut.trim_many([[], history(1)], backcut.context_window(max_tokens=5, tokenizer=fail))
    assert caught.value.__notes__[-1].startswith("histories[")
