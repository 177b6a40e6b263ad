"""What is remembered of counts: that it is, how much memory it takes, and who says so."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import backcut
from backcut import OptionError, Tokenizer, engine

MIB = 1 << 20
DEFAULTS = {"texts": 16 * MIB, "pieces": 3 * MIB}

both = pytest.mark.skipif(engine.PURE, reason="the twin remembers nothing of a caller's own counter")


@pytest.fixture(autouse=True)
def limits() -> Iterator[None]:
    """Every test begins and ends with the defaults."""
    backcut.limit_memory(**DEFAULTS)
    yield
    backcut.limit_memory(**DEFAULTS)


class Calls:
    """Counts words, and how often it is asked."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, text: str) -> int:
        self.calls += 1
        return len(text.split())


def texts(number: int, chars: int, filler: str = "x") -> list[str]:
    """Different texts, each an object of its own."""
    return [f"{k} ".ljust(chars, filler) for k in range(number)]


def fill(tokenizer: Tokenizer, megabytes: int, chars: int = 1_000, filler: str = "x") -> None:
    for k in range(megabytes * MIB // chars):
        tokenizer.count(f"{k} ".ljust(chars, filler))


# What is set.


def test_the_defaults() -> None:
    """Of a process in which nobody has set anything: here every test begins by setting them."""
    program = "import backcut; print(backcut.memory_limits())"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == str(DEFAULTS)


def test_none_leaves_a_limit_as_it_is() -> None:
    backcut.limit_memory(texts=5 * MIB)
    assert backcut.memory_limits() == {"texts": 5 * MIB, "pieces": 3 * MIB}
    backcut.limit_memory(pieces=0)
    assert backcut.memory_limits() == {"texts": 5 * MIB, "pieces": 0}
    backcut.limit_memory()
    saved = backcut.memory_limits()
    backcut.limit_memory(texts=0, pieces=1)
    backcut.limit_memory(**saved)
    assert backcut.memory_limits() == saved


@pytest.mark.parametrize("name", ["texts", "pieces"])
@pytest.mark.parametrize("value", [-1, True, False, 1.0, "1", b"1", [], object()])
def test_what_is_no_number_of_bytes_is_refused(name: str, value: Any) -> None:
    with pytest.raises(OptionError, match="an integer of at least 0") as caught:
        backcut.limit_memory(**{"texts": 7, "pieces": 7, name: value})
    assert (caught.value.option, caught.value.value) == (name, value)
    assert backcut.memory_limits() == DEFAULTS, "a failed call changes nothing"


def test_no_limit_is_too_large() -> None:
    backcut.limit_memory(texts=1 << 200, pieces=1 << 200)
    assert backcut.memory_limits()["texts"] == sys.maxsize
    assert backcut.tokenizer("o200k_base").count("a text of words that nobody counted before") == 8


def test_limits_are_given_by_name() -> None:
    with pytest.raises(TypeError):
        backcut.limit_memory(1)  # type: ignore[misc]


# What it is good for.


@both
def test_a_text_is_counted_once() -> None:
    calls = Calls()
    tokenizer = Tokenizer("ours", calls)
    for text in texts(50, 100) * 3:
        assert tokenizer.count(text) == 2
    assert calls.calls == 50


@both
def test_a_history_of_ten_thousand_messages_is_remembered_whole() -> None:
    """An agent's loop: every message of it is asked for again at each turn."""
    calls = Calls()
    tokenizer = Tokenizer("ours", calls)
    messages = texts(10_000, 600)
    for text in messages:
        tokenizer.count(text)
    calls.calls = 0
    for text in messages:
        tokenizer.count(text)
    assert calls.calls == 0


@both
def test_what_is_asked_for_again_and_again_stays() -> None:
    calls = Calls()
    tokenizer = Tokenizer("ours", calls)
    system = "You are a helpful assistant. " * 9
    for k in range(200):
        fill(tokenizer, 1, 4_000, chr(0x61 + k % 26))
        tokenizer.count(system)
    before = calls.calls
    tokenizer.count(system)
    assert calls.calls == before


@both
def test_nothing_is_remembered_at_a_limit_of_0() -> None:
    calls = Calls()
    tokenizer = Tokenizer("ours", calls)
    tokenizer.count("some text")
    backcut.limit_memory(texts=0)
    for _ in range(3):
        tokenizer.count("some text")
    assert calls.calls == 4
    backcut.limit_memory(texts=MIB)
    for _ in range(3):
        tokenizer.count("some text")
    assert calls.calls == 5


@pytest.mark.parametrize("pieces", [0, 1, 100, 4_096, 2 * MIB, 8 * MIB])
def test_counts_are_the_same_at_any_limit(pieces: int) -> None:
    sample = "Erinnerung ist unzuverlässig. 漢字かな — f(x) = 12345 * y_1;\n" * 3
    expected = [backcut.tokenizer(name).count(sample) for name in ("o200k_base", "cl100k_base", "p50k_base", "r50k_base", "approximate")]
    backcut.limit_memory(texts=0, pieces=pieces)
    for _ in range(2):
        names = ("o200k_base", "cl100k_base", "p50k_base", "r50k_base", "approximate")
        assert [backcut.tokenizer(name).count(sample) for name in names] == expected


def test_pieces_are_forgotten_while_threads_count() -> None:
    tokenizer = Tokenizer("cl100k_base")
    words = [f"unwörthy{k}-ness" for k in range(500)]
    expected = [tokenizer.count(word) for word in words]
    backcut.limit_memory(texts=0)
    with ThreadPoolExecutor(4) as pool:
        found = [pool.submit(lambda: [tokenizer.count(word) for word in words]) for _ in range(40)]
        for k in range(100):
            backcut.limit_memory(pieces=(0, MIB)[k % 2])
        assert all(future.result(timeout=60) == expected for future in found)


# How much it takes.


def held_after(work: Callable[[], None]) -> int:
    """Bytes of Python objects that outlive some work."""
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        work()
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("limit", [300_000, MIB])
@pytest.mark.parametrize(("chars", "filler"), [(10, "x"), (600, "x"), (600, "é"), (600, "ж"), (300, "😀"), (40_000, "x")])
def test_remembered_texts_stay_within_the_limit(limit: int, chars: int, filler: str) -> None:
    backcut.limit_memory(texts=limit)
    tokenizer = Tokenizer("approximate")
    number = 2 * limit // (chars + 60)
    held = held_after(lambda: [tokenizer.count(text) for text in texts(number, chars, filler)].clear())
    assert held <= limit
    assert sys.getsizeof(tokenizer) <= limit + 4_096
    if chars <= 600:
        assert sys.getsizeof(tokenizer) > chars, "something is remembered"


def test_the_size_of_a_tokenizer_tells_what_it_remembers() -> None:
    tokenizer = Tokenizer("approximate")
    empty = sys.getsizeof(tokenizer)
    tokenizer.count("x" * 10_000)
    assert 10_000 < sys.getsizeof(tokenizer) - empty < 10_500
    tokenizer.count("x" * 10_000)
    assert sys.getsizeof(tokenizer) - empty < 10_500, "once"


def test_a_text_larger_than_its_share_is_not_remembered() -> None:
    tokenizer = Tokenizer("approximate")
    empty = sys.getsizeof(tokenizer)
    tokenizer.count("x" * (MIB + 1))
    assert sys.getsizeof(tokenizer) == empty
    tokenizer.count("x" * (MIB // 2))
    assert sys.getsizeof(tokenizer) > empty + MIB // 2


def test_a_lower_limit_holds_at_once_for_all_tokenizers() -> None:
    tokenizers = [Tokenizer("approximate"), Tokenizer("o200k_base"), Tokenizer("approximate")]
    for tokenizer in tokenizers:
        fill(tokenizer, 8)
        assert sys.getsizeof(tokenizer) > 4 * MIB
    backcut.limit_memory(texts=MIB)
    assert all(sys.getsizeof(tokenizer) <= MIB + 4_096 for tokenizer in tokenizers)
    backcut.limit_memory(texts=0)
    assert all(sys.getsizeof(tokenizer) < 4_096 for tokenizer in tokenizers)
    assert Tokenizer("approximate").count("still counts") > 0


def test_limits_from_many_threads() -> None:
    """Whoever counts meanwhile counts right, and in the end the last limit holds."""
    tokenizer = Tokenizer("o200k_base")
    expected = {text: tokenizer.count(text) for text in texts(300, 200)}
    stop = threading.Event()

    def count(seed: int) -> bool:
        right = True
        while not stop.is_set():
            right = right and all(tokenizer.count(text) == tokens for text, tokens in expected.items())
        return right

    with ThreadPoolExecutor(4) as pool:
        counting = [pool.submit(count, seed) for seed in range(4)]
        for k in range(200):
            backcut.limit_memory(texts=(0, 10_000, MIB)[k % 3], pieces=(0, MIB, 2 * MIB)[k % 3])
        backcut.limit_memory(texts=10_000)
        stop.set()
        assert all(future.result(timeout=60) for future in counting)
    assert sys.getsizeof(tokenizer) < 10_000 + 4_096


FORKS = """
import os, signal, threading
import backcut

tokenizer = backcut.tokenizer("approximate")
stop = threading.Event()

def busy(thread):
    n = 0
    while not stop.is_set():
        tokenizer.count(f"{thread} {n} " * 50)
        backcut.limit_memory(texts=n % 3 * 100_000, pieces=n % 2 * 100_000)
        n += 1

threads = [threading.Thread(target=busy, args=(thread,)) for thread in range(3)]
for thread in threads:
    thread.start()
failed = 0
for k in range(30):
    child = os.fork()
    if not child:
        signal.alarm(10)
        backcut.limit_memory(texts=k)
        tokenizer.count("in the child " * k)
        os._exit(0)
    failed += os.waitpid(child, 0)[1] != 0
stop.set()
for thread in threads:
    thread.join()
print(failed)
"""


@pytest.mark.skipif(not hasattr(os, "fork") or engine.PURE, reason="for locks of the compiled engine, where there is a fork")
def test_a_child_finds_no_lock_taken() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKS], capture_output=True, text=True, timeout=200, check=False)
    assert (done.stdout, done.stderr) == ("0\n", "")


# Who lives how long.


def test_a_tokenizer_that_its_own_counter_holds_is_collected() -> None:
    class Mine:
        def __init__(self) -> None:
            self.tokenizer = Tokenizer("mine", self.count)
            self.window = backcut.context_window(max_tokens=50, tokenizer=self.tokenizer)

        def count(self, text: str) -> int:
            return len(text)

    mine = Mine()
    assert mine.window([{"role": "user", "content": "hello"}])
    gone = weakref.ref(mine), weakref.ref(mine.tokenizer)
    del mine
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


def test_what_a_tokenizer_remembers_goes_with_it() -> None:
    def work() -> None:
        fill(Tokenizer("approximate"), 4)

    assert held_after(work) < MIB // 2
