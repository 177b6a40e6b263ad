"""LangChain: messages serialized in three ways, and the objects themselves where langchain-core is installed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from importlib.util import find_spec
from random import Random
from typing import Any

from wires.common_items import (
    PICTURE,
    Call,
    Count,
    Damage,
    Ids,
    Message,
    Piece,
    Step,
    Tie,
    Turn,
    adjacent,
    broken,
    chance,
    chars,
    compact,
    cut,
    get,
    inserted,
    media,
    moved,
    pick,
    plain,
    plot,
    sealed,
    shown,
    shuffled,
    text_piece,
    tie,
    tokens,
    words,
)

FORMAT = "langchain"
HARMLESS = frozenset({"command_between", "no_thinking"})
"""Damage that no rule forbids."""

OBJECTS = find_spec("langchain_core") is not None
FORMS = ("data", "lc", "type", "role", *(("objects",) if OBJECTS else ()))
"""How a history is held: {type, data}, {lc, id, kwargs}, {type, content}, {role, content}, objects."""

_CLASSES = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage", "system": "SystemMessage", "function": "FunctionMessage"}
_KINDS = {name.removesuffix("Message").lower(): kind for kind, name in _CLASSES.items()} | {
    "user": "human",
    "assistant": "ai",
    "developer": "system",
}


def _read(message: Any) -> tuple[str, Any]:
    """What a message is (human, ai, tool, function, system, remove), and where its fields are."""
    if get(message, "lc") is not None and get(message, "kwargs") is not None:
        name, fields = str(get(message, "id")[-1]), get(message, "kwargs")
    elif get(message, "data") is not None:
        name, fields = str(get(message, "type")), get(message, "data")
    else:
        name, fields = str(get(message, "type") or get(message, "role")), message
    name = name.removesuffix("Chunk").removesuffix("Message").lower()
    return _KINDS.get(name, name), fields


def _calls(fields: Any) -> list[tuple[Tie, str, Any]]:
    """The calls of a turn: the tie, the name, the arguments. The legacy fields speak only where the lists are empty."""
    listed = [*get(fields, "tool_calls", ()), *get(fields, "invalid_tool_calls", ())]
    if listed:
        return [_either(call) for call in listed]
    more = get(fields, "additional_kwargs", {})
    if get(more, "tool_calls"):
        return [_either(call) for call in get(more, "tool_calls")]
    if legacy := get(more, "function_call"):
        return [(tie("legacy"), get(legacy, "name", ""), get(legacy, "arguments"))]
    return []


def _either(call: Any) -> tuple[Tie, str, Any]:
    function = get(call, "function")
    if function is not None:
        return tie("tool", get(call, "id")), get(function, "name", ""), get(function, "arguments")
    return tie("tool", get(call, "id")), get(call, "name", ""), get(call, "args")


def _turns(messages: Sequence[Any]) -> list[Turn]:
    turns: list[Turn] = []
    for index, message in enumerate(messages):
        kind, fields = _read(message)
        if kind == "ai":
            turns.append(Turn(index, "model", [call for call, _, _ in _calls(fields)]))
        elif kind == "tool":
            turns.append(Turn(index, "result", results=[tie("tool", get(fields, "tool_call_id"))]))
        elif kind == "function":
            turns.append(Turn(index, "result", results=[tie("legacy")]))
        elif kind != "remove":  # a command, never sent
            turns.append(Turn(index, "system" if kind == "system" else "user"))
    return turns


def _shape(messages: Sequence[Any]) -> Iterator[str]:
    for index, message in enumerate(messages):
        kind, fields = _read(message)
        if kind not in (*_CLASSES, "remove", "chat"):
            yield f"message {index}: no such type: {kind}"
        if kind == "tool" and not get(fields, "tool_call_id"):
            yield f"message {index}: result without id"
        if kind == "ai" and any(call.family == "tool" and not call.ids for call, _, _ in _calls(fields)):
            yield f"message {index}: call without id"


def problems(messages: Sequence[Any]) -> list[str]:
    """Everything that a provider would refuse once the adapters have sent it, a live end excepted."""
    if not messages:
        return ["no messages"]
    return [*_shape(messages), *adjacent(_turns(messages), merges=False)[0]]


def is_live(messages: Sequence[Any]) -> bool:
    """Whether the last turn of the model waits for results, and nothing but results stands behind it."""
    return adjacent(_turns(messages), merges=False)[1]


def is_sound(messages: Sequence[Any]) -> bool:
    return not problems(messages)


# Sizes.


def _block(block: Any, called: bool) -> Iterator[Piece]:
    kind = get(block, "type", "")
    if isinstance(block, str):
        yield from text_piece(block)
    elif kind in ("text", "refusal"):
        yield from text_piece(get(block, kind))
    elif kind == "thinking":
        yield from text_piece(get(block, "thinking"))
        yield from sealed(get(block, "signature"))
    elif kind == "redacted_thinking":
        yield from sealed(get(block, "data"))
    elif kind == "reasoning":
        yield from text_piece(get(block, "reasoning"))
        for each in get(block, "summary", ()):
            yield from text_piece(get(each, "text"))
        yield from sealed(get(block, "encrypted_content"))
    elif kind in ("image_url", "image", "input_image"):
        yield media("image", "low" in (get(block, "detail"), get(get(block, "image_url"), "detail")))
    elif kind in ("input_audio", "audio"):
        yield media("audio")
    elif kind in ("file", "document", "input_file"):
        yield media("file")
    elif kind in ("tool_use", "tool_call", "function_call") and not called:
        given = next((get(block, key) for key in ("input", "args", "arguments") if get(block, key) is not None), None)
        yield Piece("call", plain(given), get(block, "name", ""))


def anatomy(message: Any) -> Iterator[Piece]:
    kind, fields = _read(message)
    if kind == "remove":
        return
    yield Piece("role", name={"human": "user", "ai": "assistant"}.get(kind, kind))
    if kind in ("tool", "function"):
        yield Piece("result")
    calls = _calls(fields) if kind == "ai" else []
    content = get(fields, "content", ())
    for block in [content] if isinstance(content, str) else content:
        yield from _block(block, bool(calls))
    for _, name, given in calls:
        yield Piece("call", plain(given), name)


def size_chars(messages: Sequence[Any]) -> int:
    return sum(chars(anatomy(message)) for message in messages)


def size_tokens(messages: Sequence[Any], count: Count) -> int:
    """Tokens of the messages alone, without the 3 of the request."""
    return sum(tokens(anatomy(message), count) for message in messages)


def pieces(messages: Sequence[Any]) -> list[tuple[str, ...]]:
    return [shown(anatomy(message)) for message in messages]


# Histories.


def dressed(messages: Sequence[Message], form: str) -> list[Any]:
    """Messages written as {type, content, ...} in one of ``FORMS``."""
    match form:
        case "data":
            return [{"type": message["type"], "data": message} for message in messages]
        case "lc":
            module = ["langchain", "schema", "messages"]
            return [{"lc": 1, "type": "constructor", "id": [*module, _class(message["type"])], "kwargs": message} for message in messages]
        case "role":
            return [
                {"role": message["type"].removesuffix("MessageChunk").lower()} | {k: v for k, v in message.items() if k != "type"}
                for message in messages
            ]
        case "objects":
            from langchain_core.messages import messages_from_dict

            return list(messages_from_dict([{"type": message["type"], "data": deepcopy(message)} for message in messages]))
    return list(messages)


def _class(kind: str) -> str:
    return _CLASSES.get(kind, kind)


def _text(random: Random, text: str) -> Any:
    if chance(random, 70):
        return text
    parts: list[Any] = [{"type": "text", "text": text}]
    if chance(random, 25):
        parts.append({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}})
    if chance(random, 10):
        parts.append(words(random))  # a string among the blocks
    return parts


def _ai(random: Random, step: Step, blocks: bool) -> Message:
    """A turn of the model: its lists of calls, and in ``blocks`` the provider's own blocks, which repeat them."""
    invalid = [call for call in step.calls if chance(random, 8)]
    valid = [call for call in step.calls if call not in invalid]
    message: Message = {
        "type": "AIMessageChunk" if chance(random, 5) else "ai",
        "content": step.text,
        "additional_kwargs": {},
        "response_metadata": {},
    }
    if chance(random, 50):
        message |= {"id": "run-1", "name": None, "usage_metadata": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}}
    message["tool_calls"] = [{"name": c.name, "args": c.arguments, "id": c.id, "type": "tool_call"} for c in valid]
    message["invalid_tool_calls"] = [
        {"name": c.name, "args": '{"path": ', "id": c.id, "error": "no JSON", "type": "invalid_tool_call"} for c in invalid
    ]
    if blocks:
        content: list[Any] = []
        if step.thinking:
            content.append(random.choice([_thought(step.thinking), {"type": "reasoning", "reasoning": step.thinking}]))
        if step.text:
            content.append({"type": "text", "text": step.text})
        content += [{"type": "tool_use", "id": c.id, "name": c.name, "input": c.arguments} for c in valid]
        message["content"] = content
    elif step.calls and not invalid and message["type"] == "ai" and chance(random, 15):
        functions = [{"id": c.id, "type": "function", "function": {"name": c.name, "arguments": compact(c.arguments)}} for c in valid]
        message["additional_kwargs"] = {"tool_calls": functions}
        if chance(random, 50):
            message["tool_calls"] = []
    return message


def _thought(text: str) -> Message:
    return {"type": "thinking", "thinking": text, "signature": "EqQB" + PICTURE[:40]}


def _tool(random: Random, call: Call) -> Message:
    message: Message = {
        "type": "tool",
        "content": _text(random, call.answer),
        "tool_call_id": call.id,
        "name": call.name,
        "status": "success",
    }
    return message | ({"artifact": {"raw": "x" * 60}} if chance(random, 20) else {})


def history(random: Random, *, turns: int, live: bool = False, form: str | None = None) -> list[Any]:
    """A sound history of ``turns`` turns of the model, in any of ``FORMS``."""
    steps = plot(random, turns, live, Ids(random))
    blocks = chance(random, 30)
    made: list[Message] = []
    if chance(random, 60):
        made.append({"type": "system", "content": _text(random, words(random))})
    for step in steps:
        if step.kind == "user":
            made.append({"type": "human", "content": _text(random, step.text)})
        elif len(step.calls) == 1 and chance(random, 5):  # of the time before tools
            call = step.calls[0]
            legacy = {"function_call": {"name": call.name, "arguments": compact(call.arguments)}}
            made.append({"type": "ai", "content": step.text, "additional_kwargs": legacy, "tool_calls": [], "invalid_tool_calls": []})
            if call.answered:
                made.append({"type": "function", "name": call.name, "content": call.answer})
        else:
            made.append(_ai(random, step, blocks))
            made += [_tool(random, call) for call in shuffled(random, step.calls)]
    return dressed(made, form or random.choice(FORMS))


# Damage.


def _set(fields: Any, key: str, value: Any) -> None:
    if isinstance(fields, Mapping):
        fields[key] = value  # type: ignore[index]
    else:
        setattr(fields, key, value)


def _like(message: Any, new: Message) -> Any:
    """``new`` in the form of ``message``."""
    if not isinstance(message, Mapping):
        return dressed([new], "objects")[0]
    form = next((form for form in ("lc", "data", "role") if form in message), "type")
    return dressed([new], form)[0]


def _results(messages: list[Any], settled: bool = False) -> list[int]:
    """Results; ``settled``: with something else that is sent behind them, so that their calls are no live end without them."""
    turns = _turns(messages)
    last = max((turn.index for turn in turns if turn.kind != "result"), default=-1)
    return [turn.index for turn in turns if turn.kind == "result" and (not settled or last > turn.index)]


def _callers(messages: list[Any]) -> list[int]:
    """Turns of the model all of whose calls are answered."""
    turns = _turns(messages)
    return [
        turn.index
        for turn, *run in (turns[k:] for k in range(len(turns)))
        if turn.calls and len(run) >= len(turn.calls) and all(each.kind == "result" for each in run[: len(turn.calls)])
    ]


def _drop_result(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, _results(messages, settled=True))
    return None if at is None else cut(messages, at)


def _drop_turn(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, _callers(messages))
    return None if at is None else cut(messages, at)


def _drop_calls(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, _callers(messages))
    if at is None:
        return None
    fields = _read(messages[at])[1]
    for key, nothing in (("tool_calls", []), ("invalid_tool_calls", []), ("additional_kwargs", {})):
        _set(fields, key, nothing)
    return messages


def _twice(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, _results(messages))
    return None if at is None else inserted(messages, at + 1, deepcopy(messages[at]))


def _wrong_id(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, [i for i in _results(messages) if _read(messages[i])[0] == "tool"])
    if at is None:
        return None
    _set(_read(messages[at])[1], "tool_call_id", random.choice(["call_of_nobody", ""]))
    return messages


def _late(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, _results(messages, settled=True))
    if at is None:
        return None
    to = next(turn.index for turn in _turns(messages) if turn.index > at and turn.kind != "result")
    return moved(messages, at, to + 1)


def _interrupted(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, _results(messages))
    new: Message = random.choice(
        [{"type": "human", "content": "wait"}, {"type": "system", "content": "news"}, {"type": "ai", "content": "hm"}]
    )
    return None if at is None else inserted(messages, at, _like(messages[at], new))


def _twice_called(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, [i for i in _callers(messages) if get(_read(messages[i])[1], "tool_calls")])
    if at is None:
        return None
    fields = _read(messages[at])[1]
    _set(fields, "tool_calls", [*get(fields, "tool_calls"), deepcopy(get(fields, "tool_calls")[0])])
    return messages


def _no_call_id(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, [i for i in _callers(messages) if get(_read(messages[i])[1], "tool_calls")])
    if at is None:
        return None
    get(_read(messages[at])[1], "tool_calls")[0]["id"] = None
    return messages


def _command(messages: list[Any], random: Random) -> list[Any] | None:
    """A RemoveMessage between a call and its result: nothing that is sent."""
    at = pick(random, _results(messages))
    if at is None:
        return None
    if isinstance(messages[at], Mapping) and "lc" in messages[at]:
        return inserted(
            messages,
            at,
            {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "RemoveMessage"], "kwargs": {"id": "m"}},
        )
    return inserted(messages, at, _like(messages[at], {"type": "remove", "content": "", "id": "m"}))


def _no_thinking(messages: list[Any], random: Random) -> list[Any] | None:
    found = False
    for message in messages:
        kind, fields = _read(message)
        content = get(fields, "content")
        if kind == "ai" and isinstance(content, list) and any(get(block, "type") in ("thinking", "reasoning") for block in content):
            _set(fields, "content", [block for block in content if get(block, "type") not in ("thinking", "reasoning")])
            found = True
    return messages if found else None


_WAYS: dict[str, Damage] = {
    "drop_result": _drop_result,
    "drop_turn": _drop_turn,
    "drop_calls": _drop_calls,
    "duplicate_result": _twice,
    "duplicate_call": _twice_called,
    "wrong_id": _wrong_id,
    "no_call_id": _no_call_id,
    "late_result": _late,
    "interrupted": _interrupted,
    "command_between": _command,
    "no_thinking": _no_thinking,
}


def breakages(messages: Sequence[Any], random: Random) -> tuple[str, list[Any]]:
    """A broken copy, and the name of the damage: see ``HARMLESS``."""
    return broken(messages, random, _WAYS)
