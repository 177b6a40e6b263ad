"""JSONL: where it comes from and where it goes, packed or not, and that nothing is left behind."""

from __future__ import annotations

import gzip
import io
import os
import signal
import stat
import subprocess
import sys
import threading
import time
import tracemalloc
import zlib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import backcut
from backcut import jsonl, packing
from backcut.files import Replacement
from cli_support import as_root, posix
from test_jsonl import MARK, MIXED, WINDOW, simply

EXPECTED = simply(MIXED)


def has(name: str) -> bool:
    try:
        import_module(name)
    except ImportError:
        return False
    return True


ZSTD = [name for name in ("compression.zstd", "backports.zstd", "zstandard") if has(name)]


@pytest.fixture(params=ZSTD or [pytest.param("", marks=pytest.mark.skip(reason="nothing here knows zstd: pip install '.[test]'"))])
def zstd(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Each module that knows zstd, as the only one."""
    only = import_module(request.param)

    def alone(name: str) -> Any:
        if name != request.param:
            raise ImportError(name)
        return only

    monkeypatch.setattr(packing, "import_module", alone)
    return only


@pytest.fixture(params=[500, 1 << 20])
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "CHUNK", request.param)


# --- packed -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("workers", [1, 3])
def test_gzip(tmp_path: Path, workers: int) -> None:
    source, target, again = tmp_path / "in.jsonl", tmp_path / "out.GZ", tmp_path / "again.jsonl"
    source.write_bytes(gzip.compress(MARK + MIXED[:5000]) + gzip.compress(MIXED[5000:]) + bytes(9))  # told by its content; two members
    backcut.trim_jsonl(source, target, WINDOW, workers=workers)
    packed = target.read_bytes()
    one = zlib.decompressobj(zlib.MAX_WBITS | 16)
    assert one.decompress(packed) == MARK + EXPECTED
    assert (one.eof, one.unused_data) == (True, b"")  # one member, so that nobody reads only a part
    assert len(packed) < len(EXPECTED)
    backcut.trim_jsonl(target, again, WINDOW, workers=workers)
    assert again.read_bytes() == MARK + simply(EXPECTED)
    backcut.trim_jsonl(source, target, WINDOW, workers=5 - workers)
    assert target.read_bytes() == packed  # no time, no name, whatever the number of threads


@pytest.mark.usefixtures("small")
def test_zstd(tmp_path: Path, zstd: Any) -> None:
    def compress(data: bytes) -> bytes:
        made = zstd.compress(data)
        assert isinstance(made, bytes)
        return made

    source, target, again = tmp_path / "in.jsonl", tmp_path / "out.jsonl.zst", tmp_path / "again.jsonl"
    source.write_bytes(compress(MIXED[:5000]) + compress(MIXED[5000:]))
    backcut.trim_jsonl(source, target, WINDOW)
    assert zstd.decompress(target.read_bytes(), *([1 << 20] if zstd.__name__ == "zstandard" else [])) == EXPECTED
    backcut.trim_jsonl(target, again, WINDOW)
    assert again.read_bytes() == simply(EXPECTED)
    source.write_bytes(compress(MIXED)[:-9])
    with pytest.raises(OSError, match="damaged zstd data"):
        backcut.trim_jsonl(source, again, WINDOW)
    source.write_bytes(compress(b""))
    backcut.trim_jsonl(source, again, WINDOW)
    assert again.read_bytes() == b""


def test_zstd_with_frames_to_skip(zstd: Any) -> None:
    skipped = b"\x5a\x2a\x4d\x18\x05\0\0\0hello"
    frames = zstd.compress(MIXED[:5000]), zstd.compress(MIXED[5000:])
    for packed, expected in ((skipped.join([b"", *frames, b""]), EXPECTED), (skipped * 2, b"")):
        out = io.BytesIO()
        backcut.trim_jsonl(io.BytesIO(packed), out, WINDOW)
        assert out.getvalue() == expected
    for size in range(4, len(skipped)):
        with pytest.raises(OSError, match="damaged zstd data"):
            backcut.trim_jsonl(io.BytesIO(skipped[:size]), io.BytesIO(), WINDOW)


def test_zstd_that_unpacks_to_very_much(zstd: Any) -> None:
    stream = io.BytesIO(zstd.compress(bytes(1 << 28)))
    reader = packing.unpacked(stream, stream.getvalue()[: packing.LOOK])
    assert reader.read(100) == bytes(100)
    tracemalloc.start()
    try:
        size = 100
        while block := reader.read(1 << 20):
            size += len(block)
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
    finally:
        tracemalloc.stop()
    assert size == 1 << 28


def test_nothing_that_knows_zstd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(packing, "import_module", none)
    for source, name in ((b"[]", "out.zst"), (b"\x28\xb5\x2f\xfd", "out")):
        with pytest.raises(ImportError, match=r"pip install 'backcut\[zstd\]'"):
            backcut.trim_jsonl(io.BytesIO(source), tmp_path / name, WINDOW)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_gzip(tmp_path: Path) -> None:
    for source in (b"", gzip.compress(b"")):
        backcut.trim_jsonl(io.BytesIO(source), tmp_path / "out.gz", WINDOW)
        assert gzip.decompress((tmp_path / "out.gz").read_bytes()) == b""


@pytest.mark.parametrize("damage", [lambda data: data[:-5], lambda data: data[: len(data) // 2], lambda data: data[:500] + data[520:]])
def test_damaged_gzip(tmp_path: Path, damage: Any) -> None:
    (tmp_path / "in.gz").write_bytes(damage(gzip.compress(MIXED)))
    with pytest.raises(OSError, match="damaged gzip data: "):
        backcut.trim_jsonl(tmp_path / "in.gz", tmp_path / "out", WINDOW)
    assert [path.name for path in tmp_path.iterdir()] == ["in.gz"]


def test_file_objects_are_left_as_they_are(tmp_path: Path) -> None:
    out = gzip.GzipFile(tmp_path / "out.gz", "wb")  # packs by itself, and is called .gz
    with gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(b"[]\n" + MIXED))) as source, out:
        source.readline()
        backcut.trim_jsonl(source, out, WINDOW)
        assert not source.closed
        assert not out.closed
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()) == EXPECTED


def test_raw_file_objects(tmp_path: Path) -> None:
    class Slow(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data: Any, /) -> int:
            some = bytes(data)[:5]
            written.append(some)
            return len(some)

    written: list[bytes] = []
    (tmp_path / "in").write_bytes(b"xx" + MIXED)
    seen: list[backcut.JsonlProgress] = []
    with (tmp_path / "in").open("rb", buffering=0) as source:
        source.seek(2)
        backcut.trim_jsonl(source, Slow(), WINDOW, progress=seen.append)
    assert b"".join(written) == EXPECTED
    assert (seen[-1].done, seen[-1].total) == (len(MIXED), len(MIXED))


@pytest.mark.parametrize("taken", [None, 0])
def test_a_target_that_does_not_wait(taken: int | None) -> None:
    class Full(io.RawIOBase):
        room = 100

        def writable(self) -> bool:
            return True

        def write(self, data: Any, /) -> Any:
            some = min(len(data), self.room)
            self.room -= some
            return some or taken

    with pytest.raises(BlockingIOError):
        backcut.trim_jsonl(io.BytesIO(MIXED), Full(), WINDOW)


def test_a_target_that_does_not_say_takes_all() -> None:
    class Silent:
        def __init__(self) -> None:
            self.written = b""

        def write(self, data: Any, /) -> None:
            self.written += data

    silent = Silent()
    backcut.trim_jsonl(io.BytesIO(MIXED), silent, WINDOW)
    assert silent.written == EXPECTED


def test_a_source_that_does_not_wait() -> None:
    class Impatient(io.RawIOBase):
        def read(self, size: int = -1, /) -> Any:
            return b"" if size == 0 else None

    with pytest.raises(BlockingIOError):
        backcut.trim_jsonl(Impatient(), io.BytesIO(), WINDOW)


# --- whole or not at all ------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small")
def test_the_source_itself(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(MIXED)
    backcut.trim_jsonl(path, str(path), WINDOW, workers=2)
    assert path.read_bytes() == EXPECTED
    assert [each.name for each in tmp_path.iterdir()] == ["a.jsonl"]


@posix
def test_permissions_and_links_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.touch()
    real.chmod(0o640)
    link.symlink_to("real")
    backcut.trim_jsonl(io.BytesIO(MIXED), link, WINDOW)
    assert link.is_symlink()
    assert real.read_bytes() == EXPECTED
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


@as_root
def test_owner_and_group_stay(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.touch()
    os.chown(target, 1234, 2345)
    target.chmod(0o6750)
    backcut.trim_jsonl(io.BytesIO(MIXED), target, WINDOW)
    status = target.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (1234, 2345, 0o6750)
    assert target.read_bytes() == EXPECTED


@as_root
def test_another_owner_gets_no_special_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    target = tmp_path / "out"
    target.touch()
    os.chown(target, 1234, 2345)
    target.chmod(0o6755)
    monkeypatch.setattr(os, "chown", refuse)
    backcut.trim_jsonl(io.BytesIO(MIXED), target, WINDOW)
    assert stat.S_IMODE(target.stat().st_mode) == 0o755


@posix
def test_nobody_else_may_read_what_is_not_there_yet(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.touch()
    target.chmod(0o664)
    modes: list[int] = []
    window = backcut.context_window(
        max_turns=3, on_report=lambda _: modes.extend(stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob(".*.tmp"))
    )
    backcut.trim_jsonl(io.BytesIO(MIXED), target, window)
    assert set(modes) == {0o600}
    assert stat.S_IMODE(target.stat().st_mode) == 0o664


@posix
def test_another_name_of_the_target_keeps_what_was_there(tmp_path: Path) -> None:
    target, other = tmp_path / "out", tmp_path / "other"
    target.write_bytes(b"old")
    os.link(target, other)
    backcut.trim_jsonl(io.BytesIO(MIXED), target, WINDOW)
    assert (target.read_bytes(), other.read_bytes()) == (EXPECTED, b"old")


def test_what_cannot_be_read_or_written(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        backcut.trim_jsonl(tmp_path / "none", tmp_path / "out", WINDOW)
    with pytest.raises(FileNotFoundError):
        backcut.trim_jsonl(io.BytesIO(MIXED), tmp_path / "none" / "out", WINDOW)
    with pytest.raises(IsADirectoryError):
        backcut.trim_jsonl(io.BytesIO(MIXED), tmp_path, WINDOW)
    assert list(tmp_path.iterdir()) == []


def test_not_seen_before_it_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "out"
    seen: list[bool] = []
    sync = os.fsync

    def fsync(descriptor: int) -> None:
        seen.append(target.exists())
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    backcut.trim_jsonl(io.BytesIO(MIXED), target, WINDOW, progress=lambda _: seen.append(target.exists()))
    assert seen[-1] is False
    assert not any(seen)
    assert target.read_bytes() == EXPECTED


def test_a_replacement_that_cannot_be_opened_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("builtins.open", fail)
        with pytest.raises(KeyboardInterrupt), Replacement(tmp_path / "out"):
            pass
    assert list(tmp_path.iterdir()) == []


# --- processes ----------------------------------------------------------------------------------------------------------------------

TRIM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what runs in the background with it ignored
import backcut
window = backcut.context_window(max_chars=60, max_chars_per_tool=20)
print(backcut.trim_jsonl(sys.argv[1], sys.argv[2], window, workers=2).conversations, file=sys.stderr, flush=True)
"""


def child(source: object, target: object, **how: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", TRIM, str(source), str(target)], stderr=subprocess.PIPE, **how)


def test_standard_streams() -> None:
    with child("-", "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        out, err = process.communicate(MIXED, timeout=60)
    assert (process.returncode, out, err.strip()) == (0, EXPECTED, b"61")


def test_a_standard_stream_that_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(OSError, match="standard input is closed"):
        backcut.trim_jsonl("-", io.BytesIO(), WINDOW)
    with pytest.raises(OSError, match="standard output is closed"):
        backcut.trim_jsonl(io.BytesIO(), "-", WINDOW)


@posix
def test_named_pipes_and_devices(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    os.mkfifo(source)
    os.mkfifo(target)
    feed = threading.Thread(target=source.write_bytes, args=(MIXED,), daemon=True)
    feed.start()
    with child(source, target) as process:
        assert target.read_bytes() == EXPECTED
        assert process.wait(60) == 0
    feed.join(60)
    assert stat.S_ISFIFO(target.stat().st_mode)
    assert backcut.trim_jsonl(io.BytesIO(MIXED), os.devnull, WINDOW).conversations == 61
    assert not Path(os.devnull).is_file()


@posix
@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("end", ["", ".gz"])
def test_interrupted_at_work(tmp_path: Path, there: bool, end: str) -> None:
    target = tmp_path / f"out{end}"
    if there:
        target.write_bytes(b"precious")
    with child("-", target, stdin=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin is not None
        stop = threading.Event()
        stdin = process.stdin

        def feed() -> None:  # without an end
            try:
                while not stop.is_set():
                    stdin.write(MIXED + b"\n")
            except OSError:
                pass

        feeder = threading.Thread(target=feed, daemon=True)
        feeder.start()
        deadline = time.monotonic() + 60
        while not any(path.name.endswith(".tmp") and path.stat().st_size for path in tmp_path.iterdir()):
            assert time.monotonic() < deadline, "nothing was written"
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(60) != 0
        finally:
            stop.set()
            process.kill()
            feeder.join(60)
        assert process.stderr is not None
        assert process.stderr.read().rstrip().endswith(b"KeyboardInterrupt")
    assert [path.name for path in tmp_path.iterdir()] == [target.name] * there
    assert not there or target.read_bytes() == b"precious"
