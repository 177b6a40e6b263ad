"""The command line: files that are written whole or not at all, and how a process ends."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from backcut.cli import main
from cli_support import HISTORY, NOTICE, Put, Run, lines, not_root, posix, process

pytest_plugins = ["cli_fixtures"]


# --- output -------------------------------------------------------------------------------------------------------------------------


def test_output_file(run: Run, put: Put, tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    code, out, _ = run("trim", "--max-turns", "1", put(HISTORY), "-o", str(target))
    assert (code, out) == (0, "")
    assert json.loads(target.read_text(encoding="utf-8")) == [HISTORY[0], NOTICE, HISTORY[-1]]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.json", "out.json"]


def test_output_to_the_input(run: Run, put: Put) -> None:
    path = put(lines(HISTORY, HISTORY))
    assert run("trim", "--max-turns", "1", "--no-notice", path, "-o", path)[0] == 0
    assert Path(path).read_text(encoding="utf-8") == lines([HISTORY[0], HISTORY[-1]], [HISTORY[0], HISTORY[-1]])


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_permission_bits_are_kept(run: Run, put: Put, tmp_path: Path, mode: int) -> None:
    target = tmp_path / "out.json"
    target.touch()
    target.chmod(mode)
    assert run("trim", put(HISTORY), "-o", str(target))[0] == 0
    assert stat.S_IMODE(target.stat().st_mode) == mode


@posix
def test_a_new_file_has_what_the_umask_leaves(put: Put, tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        assert main(["trim", put(HISTORY), "--report", "none", "-o", str(tmp_path / "new.json")]) == 0
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "new.json").stat().st_mode) == 0o640


@posix
def test_a_link_stays_a_link(run: Run, put: Put, tmp_path: Path) -> None:
    (tmp_path / "real.json").touch()
    (tmp_path / "link.json").symlink_to("real.json")
    assert run("trim", put(HISTORY), "-o", str(tmp_path / "link.json"))[0] == 0
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "real.json").read_text(encoding="utf-8")) == HISTORY


@posix
def test_a_device_is_written_to(run: Run, put: Put) -> None:
    assert run("trim", put(HISTORY), "-o", os.devnull)[0] == 0
    assert not Path(os.devnull).is_file()


def test_output_to_a_folder(run: Run, put: Put, tmp_path: Path) -> None:
    assert run("trim", put(HISTORY), "-o", str(tmp_path))[::2] == (
        2,
        f"backcut: error: {tmp_path}: expected a file to write, found a folder\n",
    )
    missing = str(tmp_path / "no" / "out.json")
    assert run("trim", put(HISTORY), "-o", missing)[::2] == (
        2,
        f"backcut: error: {missing}: cannot be written: no such file or directory\n",
    )


@posix
@not_root
def test_read_only_folder(run: Run, put: Put, tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o555)
    target = str(folder / "out.json")
    assert run("trim", put(HISTORY), "-o", target)[::2] == (2, f"backcut: error: {target}: cannot be written: permission denied\n")
    folder.chmod(0o755)


@pytest.mark.parametrize("content", [lines(HISTORY) + "[{]\n", lines(HISTORY) + '[{"role": "boss"}]\n'])
def test_an_error_leaves_no_trace(run: Run, put: Put, tmp_path: Path, content: str) -> None:
    target = tmp_path / "out.jsonl"
    target.write_text("precious", encoding="utf-8")
    path = put(content)
    assert run("trim", "--max-turns", "1", path, "-o", str(target))[0] == 2
    assert run("trim", "--max-turns", "1", path)[:2] == (2, "")
    assert target.read_text(encoding="utf-8") == "precious"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in.json", "out.jsonl"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")])
def test_a_failed_write_leaves_no_trace(run: Run, put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(_: int) -> None:
        raise error

    monkeypatch.setattr(os, "fsync", fail)
    target = tmp_path / "out.json"
    target.write_text("precious", encoding="utf-8")
    code, _, err = run("trim", put(HISTORY), "-o", str(target))
    if isinstance(error, OSError):
        assert (code, err) == (2, f"backcut: error: {target}: cannot be written: no space left on device\n")
    else:
        assert (code, err) == (130, "backcut: interrupted\n")
    assert target.read_text(encoding="utf-8") == "precious"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in.json", "out.json"]


def test_output_larger_than_memory_is_meant_to_hold(run: Run, put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backcut.cli.io._IN_MEMORY", 100)
    text = lines(*[HISTORY] * 50)
    path = put(text)
    assert run("trim", path)[:2] == (0, text)
    assert run("trim", path, "-o", str(tmp_path / "out.jsonl"))[0] == 0
    assert (tmp_path / "out.jsonl").read_text(encoding="utf-8") == text


def test_a_terminal_gets_a_last_newline(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    terminal = Terminal(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(["trim", "--report", "none", put('[{"role":"user","content":"é"}]')]) == 0
    assert terminal.buffer.getvalue() == '[{"role":"user","content":"é"}]\n'.encode()  # type: ignore[attr-defined]


# --- as a process -------------------------------------------------------------------------------------------------------------------


def test_process_round_trip() -> None:
    done = process("trim", "--max-turns", "1", input=json.dumps(HISTORY).encode(), env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert json.loads(done.stdout.decode()) == [HISTORY[0], NOTICE, HISTORY[-1]]
    assert done.stderr.startswith(b"backcut: 6 messages in, 3 out")


def test_process_says_what_is_wrong_in_utf8(tmp_path: Path) -> None:
    done = process(
        "trim", "größe.json", cwd=tmp_path, env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": os.pathsep.join(sys.path)}
    )
    assert done.returncode == 2
    assert done.stderr.decode() == f"backcut: error: größe.json: cannot be read: {os.strerror(errno.ENOENT).lower()}\n"


@posix
def test_a_broken_pipe_is_quiet(put: Put) -> None:
    path = put(lines(*[HISTORY] * 4000))
    with subprocess.Popen(
        [sys.executable, "-m", "backcut", "trim", "--report", "none", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.readline()
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait(60) == 141


@posix
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_behind_standard_output(put: Put) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([sys.executable, "-m", "backcut", "trim", put(HISTORY)], stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert (done.returncode, done.stderr) == (2, b"backcut: error: standard output: cannot be written: no space left on device\n")


@posix
@pytest.mark.parametrize("asked", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(tmp_path: Path, asked: signal.Signals) -> None:
    target = tmp_path / "out.jsonl"
    target.write_text("precious", encoding="utf-8")
    # A shell starts what runs in the background with SIGINT ignored, and a child would inherit that.
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); from backcut.cli import main; sys.exit(main())"
    arguments = [sys.executable, "-c", code, "trim", "-", "-o", str(target)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0) as child:
        assert child.stdin is not None
        # The pipe holds less than this: when all of it is written, the child is reading.
        feed = lines(*[HISTORY] * 1000).encode()
        writer = threading.Thread(target=child.stdin.write, args=(feed,))
        writer.start()
        writer.join(60)
        time.sleep(0.2)
        child.send_signal(asked)
        try:
            _, err = child.communicate(timeout=60)
        finally:
            child.kill()
        assert (child.returncode, err) == (130, b"backcut: interrupted\n")
    assert target.read_text(encoding="utf-8") == "precious"
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]


def test_help_does_not_load_what_it_does_not_need() -> None:
    code = (
        "import sys, backcut; before = set(sys.modules)\n"
        "from backcut.cli import main\n"
        "main(['--help'])\n"
        "print(sorted({'json', 'tempfile', 'pathlib', 'backcut.cli.io'} & (set(sys.modules) - before)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=True)
    assert done.stderr.decode().strip() == "[]"


@posix
def test_standard_output_by_its_other_names(put: Put, tmp_path: Path) -> None:
    """A shell opened it to add to a file: what stood there stays."""
    target = tmp_path / "log.json"
    target.write_text("keep\n", encoding="utf-8")
    for name in ("/dev/stdout", "/dev/fd/1"):
        with target.open("ab") as stream:
            command = [sys.executable, "-m", "backcut", "trim", put(HISTORY), "--report", "none", "-o", name]
            subprocess.run(command, stdout=stream, check=True, timeout=60)
    assert target.read_text(encoding="utf-8") == "keep\n" + json.dumps(HISTORY, ensure_ascii=False) * 2


@posix
def test_a_pipe_by_its_descriptor(put: Put) -> None:
    reader, writer = os.pipe()
    command = [sys.executable, "-m", "backcut", "trim", put(HISTORY), "--report", "none", "-o", f"/dev/fd/{writer}"]
    subprocess.run(command, pass_fds=[writer], check=True, timeout=60)
    os.close(writer)
    with open(reader, "rb") as stream:  # noqa: PTH123 - a descriptor has no Path
        assert json.loads(stream.read()) == HISTORY


@posix
def test_a_full_pipe_that_does_not_wait_loses_nothing_silently(put: Put) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    path = put(lines(*[HISTORY] * 4000))
    done = subprocess.run([sys.executable, "-u", "-m", "backcut", "trim", path], stdout=writer, stderr=subprocess.PIPE, timeout=60)
    os.close(reader)
    os.close(writer)
    assert done.returncode == 2
    assert done.stderr.startswith(b"backcut: error: standard output: cannot be written: ")


@pytest.mark.parametrize("name", ["x" * 300, "a\0b"])
def test_a_name_that_no_file_can_have(run: Run, put: Put, name: str) -> None:
    for arguments in (["trim", put(HISTORY), "-o", name], ["trim", name]):
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        assert "backcut: error:" in err
        assert "Traceback" not in err


def test_a_message_that_is_too_deep_to_be_written_anew(run: Run, put: Put) -> None:
    deep = "[" * 900 + "]" * 900
    history = f'[{{"role":"user","content":"a"}},{{"role":"tool","content":"{"z" * 99}","x":{deep}}}]'
    code, out, err = run("trim", put(history), "--max-chars-per-tool", "20")
    assert code in (0, 2)
    assert "Traceback" not in err
    assert bool(out) == (code == 0)
