"""Histories with values at random places that nobody should send."""

from __future__ import annotations

import collections
import enum
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from random import Random
from types import ModuleType, SimpleNamespace
from typing import Any


class Word(str):
    """A string of a class of its own."""


class Choice(str, enum.Enum):  # noqa: UP042 - as the SDKs have them
    """A string with a hash and a form of its own."""

    USER = "user"
    TEXT = "text"
    USE = "tool_use"
    ITEM = "function_call"


class Record(dict[str, Any]):
    """A dict of a class of its own."""


class Array(list[Any]):
    """A list of a class of its own."""


class View(Mapping[str, Any]):
    """A mapping that is no dict."""

    def __init__(self, inner: dict[str, Any]) -> None:
        self.inner = inner

    def __getitem__(self, key: str) -> Any:
        return self.inner[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.inner)

    def __len__(self) -> int:
        return len(self.inner)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, View) and self.inner == other.inner

    __hash__ = None  # type: ignore[assignment]


class Row(Sequence[Any]):
    """A sequence that is no list."""

    def __init__(self, inner: list[Any]) -> None:
        self.inner = inner

    def __getitem__(self, index: Any) -> Any:
        return self.inner[index]

    def __len__(self) -> int:
        return len(self.inner)


class Raises:
    """An object whose every field raises."""

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        raise ValueError(f"hostile {name}")


class Dumps:
    """What looks like a pydantic model."""

    def model_dump(self, **_: Any) -> Any:
        return {"a": 1}


class Refuses:
    """A model that cannot be dumped."""

    def model_dump(self, **_: Any) -> Any:
        raise RuntimeError("hostile")


Pair = collections.namedtuple("Pair", ["text", "type"])


def _ring() -> Any:
    ring: list[Any] = []
    ring.append({"a": ring})
    return ring


def _deep() -> Any:
    deep: list[Any] = []
    for _ in range(3_000):
        deep = [deep]
    return deep


_LONE = "a\udfff\ud800b"
_MADE: list[Callable[[], Any]] = [
    *(lambda value=value: value for value in (None, True, 0, -1, 10**400, 10**5_000, 1.5, float("inf"), 1e16, 5e-324, 3j)),
    *(lambda text=text: text for text in ("", " ", "\x1c", "\x85", "\u3000", "\u200b", _LONE, _LONE * 90, "é" * 400, '\x00"\\\u2028')),
    *(lambda value=value: value for value in (b"", b"bytes", bytearray(b"x"), memoryview(b"x"), (), (1, "a"), int, len, range(3))),
    *(lambda value=value: Word(value) for value in ("", "sub" * 40, "text")),
    *(lambda value=value: value for value in Choice),
    *(list, dict, set, object, Raises, Dumps, Refuses, SimpleNamespace, _ring, _deep),
    *(lambda: Pair("t", "text"), lambda: SimpleNamespace(type="text", text="object"), lambda: Exception("e")),
    *(
        lambda: Record(type="text", text="record"),
        lambda: View({"type": "text", "text": "view"}),
        lambda: View({}),
        lambda: View({"a": "b"}),
    ),
    *(lambda: Array([{"type": "text", "text": "array"}]), lambda: Row([{"type": "text", "text": "row"}])),
    *(lambda: [None], lambda: ["s", "t"], lambda: [["x"]], lambda: [{}], lambda: [1, 2], lambda: [b"x"], lambda: [{"text": "t"}]),
    *(lambda: {"a": "only"}, lambda: {"a": _LONE}, lambda: {1: "number"}, lambda: {None: 1, True: 2, 1.5: 3}, lambda: {(1,): 1}),
    *(lambda: {"a": {1, 2}}, lambda: {"a": b"x"}, lambda: {"a": float("nan")}, lambda: {"a": 1, "b": [1, "ü", None]}, lambda: {"": ""}),
    *(lambda: {Word("k"): Word("v")}, lambda: {Choice.TEXT: 1}, lambda: {"b": 10**5_000}, lambda: {"a": Dumps()}, lambda: {"a": View({})}),
    *(
        lambda: {"type": None, "text": "t"},
        lambda: {"type": 5, "text": "t"},
        lambda: {"type": "text"},
        lambda: [{"type": "text", "text": None}],
    ),
    *(lambda: "data:image/png;base64,\ud800", lambda: "data:", lambda: {"url": 5}, lambda: [{"type": "text", "text": "a" * 50}] * 2),
]
_WORDS = """
text user assistant model tool system developer function function_call function_call_output tool_use tool_result toolCall toolResult
image document thinking redacted_thinking reasoning custom_tool_call custom_tool_call_output local_shell_call
local_shell_call_output item_reference input_text output_text refusal request response tool-call tool-return retry-prompt user-
prompt system-prompt builtin-tool-call builtin-tool-return file human ai AI remove AIMessageChunk OddMessageChunk chat bashExecution
custom compaction compactionSummary error aborted base64 message server_tool_use web_search_tool_result mcp_tool_use mcp_tool_result
odd_tool_result input_image input_file audio video other
"""
_KEYS = """
role content tool_calls tool_call_id function_call refusal reasoning_content reasoning audio name id function custom arguments input
type text thinking image_url url source data parts kind toolUse toolResult tool_use_id signature caller tool_id cache_control title
context encrypted_content call_id output summary action result tools execution functionCall functionResponse function_response
thoughtSignature thought args response inlineData toolUseId json image document status bytes reasoningContent redactedContent
cachePoint message toolCallId thinkingSignature redacted stopReason api provider command lc kwargs invalid_tool_calls
additional_kwargs extras part_kind tool_name provider_name instructions tool_responses images
"""


def hostile(random: Random) -> Any:
    """A value at random."""
    match random.randrange(8):
        case 0 | 1:
            return random.choice(_WORDS.split())
        case 2:
            return {random.choice(_KEYS.split()): hostile(random) for _ in range(random.randrange(1, 4))}
        case 3:
            return [hostile(random) for _ in range(random.randrange(1, 3))]
        case _:
            return random.choice(_MADE)()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each container and a key in it, from the top; nothing inside of hostile values."""
    for key, inner in value.items() if type(value) is dict else enumerate(value) if type(value) is list else ():
        yield value, key
        yield from _places(inner)


def _dressed(random: Random, value: Any) -> Any:
    """The same in a class of another kind."""
    if isinstance(value, dict):
        return random.choice([Record, View, lambda it: SimpleNamespace(**it)])(value)
    if isinstance(value, list):
        return random.choice([Array, tuple, Row])(value)
    return random.choice([Word, lambda it: [it], lambda it: {"text": it}])(value) if isinstance(value, str) else value


def damaged(wire: ModuleType, seed: int) -> tuple[Random, list[Any]]:
    """A history of that format, made hostile at up to three places, and what may choose what becomes of it."""
    random = Random(f"hostile {wire.__name__} {seed}")
    made = wire.history(random, turns=random.randrange(1, 4), live=random.random() < 0.3)
    if random.random() < 0.3:
        made = wire.breakages(made, random)[1]
    history: list[Any] = json.loads(json.dumps(made, default=lambda _: None))
    places = list(_places(history))
    for container, key in random.sample(places, min(len(places), random.choice((1, 1, 1, 2, 3)))):
        match random.randrange(6):
            case 0 if isinstance(container, dict):
                container.pop(key, None)
            case 1 if isinstance(container, dict):
                container[random.choice(_KEYS.split())] = hostile(random)
            case 2 if isinstance(container, list):
                container.insert(key, hostile(random))
            case 3 if isinstance(container, dict) and key in container:
                container[key] = _dressed(random, container[key])
            case 4:
                container[key] = deepcopy(random.choice(places)[0])
            case _:
                container[key] = hostile(random)
    return random, history
