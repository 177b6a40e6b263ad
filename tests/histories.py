"""Hypothesis strategies: histories as they are found in the wild, sound and unsound."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType, SimpleNamespace
from typing import Any

from hypothesis import strategies as st

from pictures import PICTURE, SOUND
from support import DEFAULT_NOTICE

Draw = Callable[[Any], Any]
Message = dict[str, Any]

OTHER_NOTICE = "[cut]"
BASE64 = "data:image/png;base64," + "iVBORw0KGgo" * 30
"""A picture: far longer than what it costs, yet short enough to be read in a report."""

_PIECES = [
    *("a", "Z", " ", "  ", "\n", "\r\n", "\t", "the quick ", "brown fox. ", "0123", "é", "ß", "日本語", "한국어", "привет ", "…", "don't "),
    *("e\u0301", "n\u0303\u0323", "\u1112\u1161\u11ab", "👩\u200d👩\u200d👧", "🇩🇪", "🇩🇪🇫", "👍🏽", "𝔘", "𠀋", "\u200d", "\u0301"),
    *("\ud800", "\udc00", "\x00", "<|endoftext|>", '"q"', "\\", "{", "}"),
]
short_texts = st.lists(st.sampled_from(_PIECES), max_size=8).map("".join)
plain_texts = st.sampled_from(["ok", "hello there", "what is the state of the build?", "done.", "日本語のテキスト", "x" * 40, "é" * 7])
long_texts = st.tuples(short_texts, st.integers(1, 12)).map(lambda pair: pair[0] * pair[1])
texts = st.one_of(plain_texts, short_texts, long_texts)
"""Text of every kind: non-BMP, combining, joined by ZWJ, with lone surrogates, with what looks like a special token."""

_scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), short_texts, st.sampled_from([1e16, 1e-7, 0.1, -0.0])
)
_keys = st.one_of(short_texts, st.integers(-3, 3), st.booleans(), st.none(), st.sampled_from([1.5, 1e16]))
json_values = st.recursive(
    _scalars, lambda inner: st.lists(inner, max_size=3) | st.tuples(inner) | st.dictionaries(_keys, inner, max_size=3), max_leaves=6
)
arguments = st.one_of(
    st.sampled_from(["{}", '{"path":"a.txt"}', ""]), texts, st.dictionaries(short_texts, json_values, max_size=3), json_values
)


@dataclass
class Turn:
    """A message as a framework might hold it: every field always there, absent ones ``None``."""

    role: str
    content: Any = None
    name: Any = None
    tool_calls: Any = None
    tool_call_id: Any = None
    function_call: Any = None
    refusal: Any = None
    reasoning_content: Any = None
    audio: Any = None
    extra: dict[str, Any] = field(default_factory=dict)


def _objects(value: Any) -> Any:
    """``value`` with attribute objects in the place of its mappings, call arguments excepted."""
    if isinstance(value, Mapping):
        return SimpleNamespace(**{k: v if k in ("arguments", "input") else _objects(v) for k, v in value.items()})
    return [_objects(item) for item in value] if isinstance(value, list) else value


def shaped(message: Message, shape: str) -> Any:
    """The same message as a plain dict, another mapping, nested attribute objects, or a dataclass."""
    if shape == "objects":
        return _objects(message)
    if shape == "proxy" and message["role"] not in ("tool", "function"):
        return MappingProxyType(message)
    if shape == "dataclass":
        known = Turn.__dataclass_fields__
        extra = {key: value for key, value in message.items() if key not in known}
        return Turn(**{key: _objects(value) for key, value in message.items() if key in known}, extra=extra)
    return message


_SHAPES = st.sampled_from(["dict"] * 6 + ["objects", "dataclass", "proxy"])

_media = st.sampled_from(
    [
        {"type": "image_url", "image_url": {"url": BASE64}},
        {"type": "image_url", "image_url": {"url": BASE64, "detail": "low"}},
        {"type": "image_url", "image_url": BASE64, "detail": "low"},
        {"type": "input_image", "image_url": BASE64},
        {"type": "image_url", "image_url": {"url": PICTURE}},
        {"type": "input_image", "image_url": PICTURE, "detail": "low"},
        {"type": "input_audio", "input_audio": {"data": SOUND, "format": "wav"}},
        {"type": "image", "source": {"data": BASE64}},
        {"type": "input_audio", "input_audio": {"data": BASE64, "format": "wav"}},
        {"type": "file", "file": {"file_data": BASE64}},
        {"type": "video_url", "video_url": {"url": BASE64}},
        {"type": "mystery", "payload": BASE64},
        {"type": "mystery"},
        {"payload": 1},
        {"type": None, "text": "typeless"},
    ]
)
_unknown_parts = st.one_of(
    st.builds(lambda text: {"type": "note", "text": text}, texts),
    st.builds(lambda text: {"type": "hmm", "thinking": text}, texts),
    st.builds(lambda text: {"type": "box", "content": text}, texts),
    st.builds(lambda text: {"type": "box", "content": [{"text": text}, {"no": 1}, "loose"]}, texts),
)
_text_parts = st.builds(lambda text: {"type": "text", "text": text}, texts)
_text_lists = st.lists(st.one_of(_text_parts, texts), max_size=3)
_any_lists = st.lists(st.one_of(_text_parts, _text_parts, texts, _media, _unknown_parts), max_size=4)
_contents = st.one_of(texts, texts, _any_lists)

notices = st.sampled_from([DEFAULT_NOTICE, OTHER_NOTICE])
_noticed = st.one_of(
    st.builds(lambda notice, text: f"{notice}\n\n{text}", notices, texts),
    notices,
    st.builds(lambda notice, rest: [{"type": "text", "text": notice}, *rest], notices, _text_lists),
    st.builds(lambda notice, rest: [notice, *rest], notices, _text_lists),
)


class _Ids:
    """How a provider names its calls: uniquely, the same in every turn, from a small pool, or all alike."""

    def __init__(self, style: str) -> None:
        self.style = style
        self.count = 0

    def batch(self, size: int) -> list[str]:
        self.count += size
        if self.style == "unique":
            return [f"call_{self.count - size + k}" for k in range(size)]
        if self.style == "pool":
            return [f"c{(self.count + k) % 4}" for k in range(size)]
        return [f"call_{k}" for k in range(size)] if self.style == "per_turn" else ["call"] * size


def _call(draw: Draw, call_id: str | None) -> Message:
    call: Message = {} if call_id is None else {"id": call_id}
    if draw(st.integers(0, 4)) == 0:
        return call | {"type": "custom", "custom": {"name": "shell", "input": draw(arguments)}}
    function: Message = {"name": draw(st.sampled_from(["read", "search", "plan_trip"]))}
    if draw(st.integers(0, 9)):
        function["arguments"] = draw(arguments)
    return call | {"type": "function", "function": function}


def _speech(draw: Draw, with_calls: bool) -> Message:
    """What an assistant says beside its calls."""
    said: Message = {"role": "assistant"}
    kind = draw(st.sampled_from(["text", "text", "list", "absent", "null", "empty", "refusal"]))
    if kind in ("absent", "null") and not with_calls:
        kind = "refusal" if kind == "null" else "audio"
    if kind == "text":
        said["content"] = draw(texts)
    elif kind == "list":
        said["content"] = draw(st.lists(st.one_of(_text_parts, st.builds(lambda t: {"type": "refusal", "refusal": t}, texts)), max_size=3))
        if with_calls and draw(st.booleans()):
            said["content"].append({"type": "tool_use", "id": "x", "input": {"path": "a"}, "text": "counted once"})
    elif kind == "empty":
        said["content"] = ""
    elif kind == "null":
        said["content"] = None
    elif kind == "refusal":
        said |= {"content": None, "refusal": draw(texts)}
    elif kind == "audio":
        said["audio"] = {"id": "audio_1"}
    if draw(st.integers(0, 4)) == 0:
        said[draw(st.sampled_from(["reasoning_content", "reasoning"]))] = draw(st.one_of(texts, st.none()))
    if draw(st.integers(0, 9)) == 0:
        said["reasoning_details"] = [{"data": BASE64}]
    return said


def _result(draw: Draw, call_id: str | None, sound: bool) -> Message:
    content = draw(st.one_of(texts, long_texts, _text_lists) if sound else st.one_of(texts, long_texts, _text_lists, _any_lists, st.none()))
    result: Message = {"role": "tool", "content": content}
    if call_id is not None:
        result["tool_call_id"] = call_id
    return result


def _batch(draw: Draw, ids: _Ids, fault: str) -> tuple[list[Message], list[Message]]:
    """An assistant turn with its results in any order, and results that come later."""
    sound = fault in ("", "live")
    names: list[Any] = ids.batch(draw(st.integers(1, 1 if sound and ids.style == "constant" else 3)))
    calls = [_call(draw, None if fault in ("no_ids", "no_call_ids") else name) for name in names]
    turn = _speech(draw, True) | {"tool_calls": calls}
    results = [_result(draw, None if fault in ("no_ids", "no_result_ids") else name, sound) for name in draw(st.permutations(names))]
    later: list[Message] = []
    if fault == "dead":
        results = []
    elif fault in ("missing", "live"):
        results = results[: draw(st.integers(0, len(results) - 1))]
    elif fault == "twice":
        results.append(_result(draw, names[0], sound))
    elif fault == "stranger":
        results.insert(draw(st.integers(0, len(results))), _result(draw, "stranger", sound))
    elif fault == "half_ids":
        results[0].pop("tool_call_id")
    elif fault in ("interrupted", "system_between"):
        between = {"role": "user" if fault == "interrupted" else "system", "content": draw(texts)}
        results.insert(draw(st.integers(0, len(results) - 1)), between)
    elif fault == "late":
        at = draw(st.integers(0, len(results) - 1))
        later, results = results[at:], results[:at]
    elif fault == "both_kinds":
        turn["function_call"] = {"name": "f", "arguments": "{}"}
        results.insert(0, {"role": "function", "name": "f", "content": "one"})
    elif fault == "empty_calls":
        turn["tool_calls"] = []
    elif fault == "wrong_role":
        results[-1] = {"role": "function", "name": "f", "content": "wrong kind"}
    return [turn, *results], later


_FAULTS = [
    *("dead", "missing", "twice", "stranger", "half_ids", "interrupted", "system_between", "late", "late", "no_ids", "no_call_ids"),
    *("no_result_ids", "both_kinds", "empty_calls", "wrong_role"),
]


def _legacy(draw: Draw, sound: bool) -> list[Message]:
    turn = _speech(draw, True) | {"function_call": {"name": "lookup", "arguments": draw(arguments)}}
    results: list[Message] = [{"role": "function", "name": "lookup", "content": draw(texts)}]
    if not sound:
        results = draw(st.sampled_from([[], results, results * 2, [{"role": "user", "content": "wait"}, *results]]))
        results = [dict(result) for result in results]
    return [turn, *results]


def _segment(draw: Draw, ids: _Ids, sound: bool) -> tuple[list[Message], list[Message]]:
    kind = draw(st.sampled_from(["user", "user", "batch", "batch", "batch", "assistant", "legacy", "system", "odd"]))
    if kind == "batch":
        fault = "" if sound or draw(st.booleans()) else draw(st.sampled_from(_FAULTS))
        return _batch(draw, ids, fault)
    if kind == "legacy":
        return _legacy(draw, sound), []
    if kind == "assistant":
        return [_speech(draw, False)], []
    if kind == "system":
        return [{"role": draw(st.sampled_from(["system", "developer"])), "content": draw(_contents)}], []
    if kind == "odd" and not sound:
        odd = st.sampled_from(["tool", "function", "user", "assistant"])
        return [{"role": draw(odd), "content": draw(st.one_of(st.none(), _contents))} for _ in range(draw(st.integers(1, 2)))], []
    user: Message = {"role": "user", "content": draw(st.one_of(_contents, _contents, _contents, _noticed))}
    if draw(st.integers(0, 5)) == 0:
        user["name"] = draw(st.sampled_from(["ann", "бета", ""]))
    return [user], []


def _head(draw: Draw) -> list[Message]:
    roles = draw(st.lists(st.sampled_from(["system", "developer"]), max_size=2))
    return [{"role": role, "content": draw(st.one_of(texts, texts, _text_lists, notices))} for role in roles]


@st.composite
def plain_histories(draw: Draw, *, sound: bool = False, max_segments: int = 7) -> list[Message]:
    """A history of plain dicts: sound if asked for, else with any fault at any place."""
    ids = _Ids(draw(st.sampled_from(["unique", "constant", "per_turn", "pool"])))
    messages, waiting = _head(draw), []
    for _ in range(draw(st.integers(0, max_segments))):
        segment, later = _segment(draw, ids, sound)
        messages += segment
        if waiting and draw(st.booleans()):
            messages += waiting
            waiting = []
        waiting += later
    if not waiting and draw(st.integers(0, 3)) == 0:
        messages += _batch(draw, _Ids("per_turn"), "live")[0]
    return messages + waiting


@st.composite
def histories(draw: Draw, *, sound: bool = False, max_segments: int = 7) -> list[Any]:
    """The same, with dicts, other mappings and attribute objects mixed."""
    messages = draw(plain_histories(sound=sound, max_segments=max_segments))
    return [shaped(message, draw(_SHAPES)) for message in messages]


def sound_histories(max_segments: int = 7) -> st.SearchStrategy[list[Any]]:
    """Histories that a provider takes (a live end at most)."""
    return histories(sound=True, max_segments=max_segments).filter(bool)
