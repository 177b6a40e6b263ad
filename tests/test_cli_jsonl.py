"""The command line: JSONL by all cores, packed or not, with lines that cannot be trimmed."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import backcut
from backcut import jsonl
from backcut.cli import io as io_
from backcut.cli.trim import _Trim
from cli_support import CALLS, HISTORY, Put, Run, lines

pytest_plugins = ["cli_fixtures"]

SHORT = [HISTORY[0], HISTORY[-1]]
HOW = ("trim", "--max-turns", "1", "--no-notice")
BAD = ("[{]\n", '{"prompt": 1}\n', '[{"role": "boss"}]\n')


@pytest.fixture(autouse=True, params=[64, 1 << 20])
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "CHUNK", request.param)


@pytest.mark.parametrize("workers", [[], ["--workers", "1"], ["--workers", "3"]])
def test_many_lines_in_order(run: Run, put: Put, workers: list[str]) -> None:
    path = put(lines(*({"id": n, "messages": HISTORY} for n in range(50))))
    assert run(*HOW, *workers, path) == (
        0,
        lines(*({"id": n, "messages": SHORT} for n in range(50))),
        "backcut: 50 conversations, 50 changed; 300 messages in, 100 out\n",
    )


def test_every_report_has_its_line(run: Run, put: Put) -> None:
    path = put("\n" + "\n".join(json.dumps(each) for each in (HISTORY, CALLS, HISTORY[:2])))
    _, _, err = run("trim", "--max-turns", "2", "--report", "json", path)
    assert [json.loads(line) for line in err.splitlines()] == [
        {"line": number, **backcut.trim(history, max_turns=2).report.as_dict()}
        for number, history in ((2, HISTORY), (3, CALLS), (4, HISTORY[:2]))
    ]


def test_tokens_before_and_after(run: Run, put: Put) -> None:
    whole, short = backcut.count(HISTORY), backcut.count(SHORT)
    for body in (HISTORY, {"messages": HISTORY, "n": 1}):
        _, _, err = run("trim", "--max-tokens", str(short), "--no-notice", put(lines(body, body, body)))
        assert err == f"backcut: 3 conversations, 3 changed; 18 messages in, 6 out; {3 * whole:,} tokens in, {3 * short:,} out\n"
        _, _, err = run("trim", "--max-tokens", str(whole), put(lines(body, body)))
        assert err == f"backcut: 2 conversations, 0 changed; 12 messages, unchanged; {2 * whole:,} tokens\n"


@pytest.mark.parametrize("name", ["in.jsonl", "in.gz"])
def test_packed(run: Run, put: Put, tmp_path: Path, name: str) -> None:
    text = lines(*[HISTORY] * 9)
    path = put(gzip.compress(text.encode()), name)
    assert run(*HOW, path)[:2] == (0, lines(*[SHORT] * 9))
    target = tmp_path / "out.jsonl.gz"
    assert run(*HOW, path, "-o", str(target))[:2] == (0, "")
    assert gzip.decompress(target.read_bytes()).decode() == lines(*[SHORT] * 9)
    assert run(*HOW, path, "-o", path)[0] == 0
    assert (Path(path).read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")
    assert json.loads(run("count", "--json", str(target))[1].splitlines()[0])["tokens"] == backcut.count(SHORT)
    assert run("repair", str(target), "-o", str(tmp_path / "mended.gz"))[0] == 0
    assert gzip.decompress((tmp_path / "mended.gz").read_bytes()).decode() == lines(*[SHORT] * 9)
    Path(path).write_bytes(gzip.compress(text.encode())[:-9])
    for command in ("trim", "count"):
        code, out, err = run(command, path)
        assert (code, out) == (2, "")
        assert err.startswith(f"backcut: error: {path}: cannot be read: damaged gzip data: ")


def test_zstd_without_anything_that_knows_it(run: Run, put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("compression.zstd", "backports.zstd", "zstandard"):
        monkeypatch.setitem(sys.modules, name, None)
    for arguments in (["trim", put(b"\x28\xb5\x2f\xfd", "in.zst")], ["trim", put(HISTORY), "-o", str(tmp_path / "out.zst")]):
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        assert err == "backcut: error: zstd needs Python 3.14 or a package that knows it: pip install 'backcut[zstd]'\n"


@pytest.mark.parametrize("bad", BAD)
def test_raise(run: Run, put: Put, tmp_path: Path, bad: str) -> None:
    path = put(lines(*[HISTORY] * 5) + "\n" + bad + lines(HISTORY))
    code, out, err = run(*HOW, path, "-o", str(tmp_path / "out"))
    assert (code, out) == (2, "")
    assert err.startswith(f"backcut: error: {path}:7:")
    assert [each.name for each in tmp_path.iterdir()] == ["in.json"]


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("bad", BAD)
def test_skip_and_keep(run: Run, put: Put, bad: str, first: bool) -> None:
    good, short = lines(HISTORY, CALLS[:1]), lines(SHORT, CALLS[:1])
    path = put(bad + good + bad if first else good + bad)
    code, out, err = run(*HOW, "--on-error", "skip", path)
    assert (code, out) == (0, short)
    said = err.splitlines()
    assert said[0] == f"backcut: 2 conversations, 1 changed; 7 messages in, 3 out; {1 + first} left out for an error"
    assert [line.split(": ")[1] for line in said[1:]] == [f"{path}:{number}" for number in ([1, 4] if first else [3])]
    code, out, err = run(*HOW, "--on-error", "keep", path)
    assert (code, out) == (0, bad * first + short + bad)
    assert err.splitlines()[0].endswith(f"; {1 + first} kept as they were for an error")


def test_lines_that_are_all_bad(run: Run, put: Put) -> None:
    path = put("x\n" * 30)
    code, out, err = run("trim", "--on-error", "keep", "--max-turns", "1", path)
    assert (code, out) == (0, "x\n" * 30)
    assert len(err.splitlines()) == 12
    assert err.endswith("backcut: and 20 more\n")
    assert run("trim", "--on-error", "skip", "--report", "none", path) == (0, "", "")
    assert run("trim", path)[0] == 2


def test_lines_that_are_left_out_are_told_as_reports_are(run: Run, put: Put) -> None:
    path = put(lines(HISTORY) + BAD[0] + lines(HISTORY) + BAD[1])
    code, out, err = run(*HOW, "--on-error", "skip", "--report", "json", path)
    told = [json.loads(line) for line in err.splitlines()]
    assert (code, out) == (0, lines(SHORT, SHORT))
    assert [(each["line"], each.get("error"), "message" in each) for each in told] == [
        (1, None, False),
        (3, None, False),
        (2, "JsonError", True),
        (4, "FormatError", True),
    ]


@pytest.mark.parametrize("on_error", ["raise", "skip", "keep"])
def test_one_document_is_never_taken_for_lines(run: Run, put: Put, on_error: str) -> None:
    for body in (HISTORY, {"n": 1, "messages": HISTORY}):
        for indent in (0, 1, 4):
            text = "\n\n" + json.dumps(body, indent=indent) + "\n\n"
            code, out, err = run(*HOW, "--on-error", on_error, put(text))
            short = SHORT if isinstance(body, list) else {**body, "messages": SHORT}
            assert (code, out) == (0, "\n\n" + json.dumps(short, indent=indent) + "\n\n")
            assert err == "backcut: 6 messages in, 2 out; as before up to message 1\n"
    path = put(json.dumps([{"role": "user", "content": "x" * 99}], indent=1))
    assert run("trim", "--max-chars", "9", "--on-error", on_error, path)[:2] == (3, "")


def test_a_body_that_is_cut_off_in_the_first_line(run: Run, put: Put) -> None:
    path = put(json.dumps(HISTORY)[:-1] + "\n" + lines(HISTORY, HISTORY))
    code, out, err = run(*HOW, path)
    assert (code, out) == (2, "")
    assert f"{path}:1:" in err
    assert "the input ends too early" in err
    assert run(*HOW, "--on-error", "skip", path)[1] == lines(SHORT, SHORT)


def test_what_the_readers_of_objects_would_let_pass(run: Run, put: Put) -> None:
    deep = f'[{{"role": "user", "content": "é", "x": {"[" * 600}{"]" * 600}}}]'
    code, out, err = run("trim", put(lines(HISTORY) + deep))
    assert (code, out) == (2, "")
    assert ":2:" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("bad", ["[{]\n" * 2, '["a\n' * 2, "{\n[{]\n", "[\n\n]\n]\n", "{\n" + '{"a": 1,\n' * 2, "[\n" * 600])
@pytest.mark.parametrize("on_error", ["raise", "skip", "keep"])
def test_no_more_is_held_than_tells_that_there_are_lines(
    run: Run, put: Put, monkeypatch: pytest.MonkeyPatch, bad: str, on_error: str
) -> None:
    seen: list[int] = []
    whole = _Trim._one

    def one(self: _Trim, body: bytes, *how: Any) -> Any:
        seen.append(len(body))
        return whole(self, body, *how)

    monkeypatch.setattr(_Trim, "_one", one)
    monkeypatch.setattr(jsonl, "CHUNK", 64)
    good = lines(*[HISTORY] * 50)
    path = put("\n" * 200 + bad + good)
    code, out, err = run(*HOW, "--on-error", on_error, path)
    assert max(seen, default=0) < 3 * len(bad) + 2000
    if on_error == "raise":
        assert (code, out) == (2, "")
        assert err.startswith(f"backcut: error: {path}:")
        assert "too early" not in err
    else:
        kept = ("\n" * 200 + bad) if on_error == "keep" else "\n" * (200 + bad.count("\n\n"))
        assert (code, out) == (0, kept + lines(*[SHORT] * 50))


@pytest.mark.parametrize("command", ["count", "check", "repair", "explain"])
def test_what_is_no_document_is_not_read_to_its_end(run: Run, put: Put, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setattr("backcut.cli.io._ENOUGH", 100)
    monkeypatch.setattr("backcut.cli.io._BLOCK", 64)
    read: list[int] = []
    joined = io_._joined

    def counted(first: tuple[str, int], rest: list[tuple[str, int]]) -> tuple[str, int]:
        read.append(len(rest))
        return joined(first, rest)

    monkeypatch.setattr(io_, "_joined", counted)
    for bad, place in (("{\n[{]\n", "2:1"), ("[]\n]\n", "2:1"), ('{"messages":\n[]}\n', "3:1")):
        path = put(bad + lines(*[HISTORY] * 50))
        code, out, err = run(command, path)
        assert (code, out) == (2, "")
        assert err.startswith(f"backcut: error: {path}:{place}: not JSON")
        assert max(read, default=0) < 4
    path = put(json.dumps(HISTORY, indent=1))
    assert run(command, path)[0] == 0


def test_workers(run: Run, put: Put) -> None:
    for wrong, sentence in (
        ("0", "--workers 0: must be an integer of at least 1"),
        ("many", "argument --workers: expected a whole number"),
    ):
        code, _, err = run("trim", "--workers", wrong, put(HISTORY))
        assert code == 2
        assert sentence in err
    code, _, err = run("trim", "--key", "\udcff", put(HISTORY))
    assert (code, "argument --key: expected UTF-8" in err) == (2, True)


def test_progress(run: Run, put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "CHUNK", 64)
    monkeypatch.setattr("backcut.cli.progress._PATIENCE", 0.0)
    monkeypatch.setattr("backcut.cli.progress._PERIOD", 0.0)
    path = put(lines(*[HISTORY] * 30))
    assert "conversations/s" not in run("trim", path)[2]
    monkeypatch.setattr("backcut.jsonl._PERIOD", 0.0)
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda _: True)
    err = run("trim", path)[2]
    assert "100%  30 conversations" in err.split("\r")[-3]
    assert err.split("\r")[-1] == (
        "backcut: 30 conversations, 0 changed; 180 messages, unchanged\n"
        "backcut: no ceiling was given (such as --max-tokens), so nothing could be cut\n"
    )
