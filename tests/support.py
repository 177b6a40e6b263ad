"""What several test files share: the two engines, reading messages, and proof that nothing was touched."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import pytest

from backcut.errors import BackcutError

DEFAULT_NOTICE = "[…previous history omitted to fit the window…]"
"""The default notice, written out here once more on purpose."""


def _engine(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(f"backcut.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"backcut.{name}":
            raise
        return None


CORE = _engine("_core")
TWIN = _engine("reference")

needs_both = pytest.mark.skipif(
    CORE is None or TWIN is None,
    reason="core and twin cannot be compared: " + ("backcut._core is not built" if CORE is None else "backcut.reference is not there"),
)


def get(thing: Any, key: str) -> Any:
    """A field of a mapping or of an object; ``None`` where it is not there."""
    return thing.get(key) if isinstance(thing, Mapping) else getattr(thing, key, None)


def cheap(text: str) -> int:
    """A tokenizer that costs nothing: four characters a token, rounded up."""
    return (len(text) + 3) // 4


class Recorder:
    """A tokenizer that remembers what it was asked."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, text: str) -> int:
        self.texts.append(text)
        return cheap(text)


def snapshot(value: Any, seen: frozenset[int] = frozenset()) -> Any:
    """A deep picture of ``value`` with the identity of every container: equal pictures mean that nothing was changed."""
    if value is None or isinstance(value, (str, bytes, int, float)):
        return value
    if id(value) in seen:
        return ("again", id(value))
    seen |= {id(value)}
    if isinstance(value, Mapping):
        inner: Any = [(key, snapshot(item, seen)) for key, item in value.items()]
    elif isinstance(value, Sequence):
        inner = [snapshot(item, seen) for item in value]
    else:
        inner = [(key, snapshot(item, seen)) for key, item in getattr(value, "__dict__", {}).items()]
    return (id(value), type(value), inner)


def outcome(call: Callable[[], Any]) -> tuple[str, Any]:
    """The answer of ``call``, or its backcut error with all its facts, in a form that can be compared."""
    try:
        return "answer", call()
    except BackcutError as error:
        facts = {key: repr(fact) if key == "value" else fact for key, fact in vars(error).items()}
        return type(error).__name__, facts


def same_messages(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Whether two results hold the same objects, and equal new ones."""
    return len(left) == len(right) and all(a is b or (type(a) is type(b) and a == b) for a, b in zip(left, right, strict=True))


def at_once(threads: int, work: Callable[[int], Any]) -> list[Any]:
    """What each thread found, all of them started at the same moment."""
    gate = threading.Barrier(threads, timeout=60)

    def run(number: int) -> Any:
        gate.wait()
        return work(number)

    with ThreadPoolExecutor(threads) as pool:
        return [future.result(timeout=100) for future in [pool.submit(run, number) for number in range(threads)]]


def head_length(messages: Sequence[Any]) -> int:
    """Messages of the leading run of system and developer."""
    return next((i for i, message in enumerate(messages) if get(message, "role") not in ("system", "developer")), len(messages))


ENGINE_DEFAULTS: dict[str, Any] = {
    "format": "openai-chat",
    "max_turns": None,
    "max_chars": None,
    "max_tokens": None,
    "reserve_tokens": 0,
    "max_chars_per_tool": None,
    "tokenizer": None,
    "figures": None,
    "model": None,
    "start": "user",
    "notice": None,
    "notice_role": "auto",
    "tool_keep": "head",
    "trim_to": None,
    "on_overflow": "raise",
    "thinking": "keep",
    "compat": None,
}

_tokenizers: dict[tuple[str, str], Any] = {}


def engine_tokenizer(engine: ModuleType, name: str) -> Any:
    """A tokenizer of that engine, one for each name; ``cheap`` is the custom one."""
    key = (engine.__name__, name)
    if key not in _tokenizers:
        _tokenizers[key] = engine.Tokenizer(name, cheap) if name == "cheap" else engine.Tokenizer(name)
    return _tokenizers[key]


def engine_window(engine: ModuleType, options: Mapping[str, Any]) -> Any:
    """A window of ``engine`` for options as the façade takes them (``tokenizer`` by name)."""
    given = ENGINE_DEFAULTS | dict(options)
    notice = given["notice"]
    silent = notice is False or (notice == "" and given["compat"] is None)
    given["notice"] = None if silent else DEFAULT_NOTICE if notice is None else notice
    name = given["tokenizer"]
    if name is None and given["max_tokens"] is not None:
        name = "o200k_base"
    given["tokenizer"] = None if name is None else engine_tokenizer(engine, name)
    return engine.Window(**given)


def facade_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The same options for ``backcut.context_window``, with the cheap tokenizer as the callable that it is."""
    return {key: cheap if key == "tokenizer" and value == "cheap" else value for key, value in options.items()}
