"""pi: messages of the coding agent, bare, or as the entries of its session files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
    Turn,
    adjacent,
    broken,
    chance,
    chars,
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

FORMAT = "pi"
HARMLESS = frozenset({"no_thinking", "unsent_between"})
"""Damage that no rule forbids."""

_USERS = ("user", "bashExecution", "custom", "branchSummary", "compactionSummary")
_ENTRIES = {"compaction": "compactionSummary", "branch_summary": "branchSummary", "custom_message": "custom"}
_UNSENT = ("session", "model_change", "thinking_level_change", "label", "session_info", "custom")


def _role(message: Any) -> str | None:
    """The role of a message or of the entry that holds it; ``None`` for an entry that says nothing to the model."""
    if role := get(message, "role"):
        return str(role)
    kind = get(message, "type")
    if kind == "message":
        return str(get(_bare(message), "role"))
    return _ENTRIES.get(str(kind), None if kind in _UNSENT else f"entry {kind}")


def _bare(message: Any) -> Any:
    return get(message, "message") if get(message, "type") == "message" and not get(message, "role") else message


def _blocks(message: Any, kind: str) -> list[Any]:
    content = get(_bare(message), "content")
    return [block for block in content if get(block, "type") == kind] if isinstance(content, (list, tuple)) else []


def _failed(message: Any) -> bool:
    return get(_bare(message), "stopReason") in ("error", "aborted")


def _turns(messages: Sequence[Any]) -> list[Turn]:
    turns: list[Turn] = []
    for index, message in enumerate(messages):
        role, bare = _role(message), _bare(message)
        if role is None or (role == "bashExecution" and get(bare, "excludeFromContext")):
            continue  # never sent
        if role == "assistant":
            calls = [] if _failed(message) else [tie("tool", get(call, "id")) for call in _blocks(message, "toolCall")]
            turns.append(Turn(index, "model", calls))
        elif role == "toolResult":
            turns.append(Turn(index, "result", results=[tie("tool", get(bare, "toolCallId"))]))
        else:
            turns.append(Turn(index, "user"))
    return turns


def _shape(messages: Sequence[Any]) -> Iterator[str]:
    for index, message in enumerate(messages):
        role, bare = _role(message), _bare(message)
        if role not in (None, "assistant", "toolResult", *_USERS):
            yield f"message {index}: no such role: {role}"
        if role == "toolResult" and not get(bare, "toolCallId"):
            yield f"message {index}: result without id"
        if role == "assistant" and not _failed(message) and not all(get(call, "id") for call in _blocks(message, "toolCall")):
            yield f"message {index}: call without id"


def problems(messages: Sequence[Any]) -> list[str]:
    """Everything that pi would mend or a provider refuse, a live end excepted."""
    if not messages:
        return ["no messages"]
    return [*_shape(messages), *adjacent(_turns(messages), merges=False)[0]]


def is_live(messages: Sequence[Any]) -> bool:
    """Whether the last turn of the model waits for results, and nothing but results stands behind it."""
    return adjacent(_turns(messages), merges=False)[1]


def is_sound(messages: Sequence[Any]) -> bool:
    return not problems(messages)


# Sizes.


def anatomy(message: Any) -> Iterator[Piece]:
    role, bare = _role(message), _bare(message)
    if role is None or (role == "bashExecution" and get(bare, "excludeFromContext")):
        return
    if get(bare, "stopReason") in ("error", "aborted"):
        return  # a turn that failed is not sent
    yield Piece("role", name={"toolResult": "tool", "assistant": "assistant"}.get(role, "user"))
    if role == "toolResult":
        yield Piece("result")
    content = get(bare, "content", ())
    for block in [content] if isinstance(content, str) else content:
        kind = get(block, "type", "")
        if isinstance(block, str):
            yield from text_piece(block)
        elif kind == "text":
            yield from text_piece(get(block, "text"))
        elif kind == "thinking":
            yield from text_piece(get(block, "thinking"))
            yield from sealed(get(block, "thinkingSignature"))
        elif kind == "toolCall":
            yield Piece("call", plain(get(block, "arguments")), get(block, "name", ""))
        elif kind == "image":
            yield media("image")
    for key in ("command", "output", "summary"):
        yield from text_piece(get(bare, key))


def size_chars(messages: Sequence[Any]) -> int:
    return sum(chars(anatomy(message)) for message in messages)


def size_tokens(messages: Sequence[Any], count: Count) -> int:
    """Tokens of the messages alone, without the 3 of the request."""
    return sum(tokens(anatomy(message), count) for message in messages)


def pieces(messages: Sequence[Any]) -> list[tuple[str, ...]]:
    return [shown(anatomy(message)) for message in messages]


# Histories.

_USAGE = {"input": 3, "output": 88, "cacheRead": 0, "cacheWrite": 4442, "totalTokens": 4533}
_APIS = (
    ("anthropic-messages", "anthropic"),
    ("openai-responses", "openai"),
    ("google-generative-ai", "google"),
    ("bedrock-converse-stream", "amazon-bedrock"),
)


def _user(random: Random, text: str) -> Message:
    if chance(random, 50):
        return {"role": "user", "content": text}
    content: list[Message] = [{"type": "text", "text": text}]
    if chance(random, 20):
        content.append({"type": "image", "data": PICTURE, "mimeType": "image/png"})
    return {"role": "user", "content": content}


def _aside(random: Random) -> Message:
    """What stands among the turns and is sent as the user's."""
    text = words(random)
    return random.choice(
        [
            {"role": "bashExecution", "command": "ls", "output": text, "exitCode": 0, "cancelled": False, "truncated": False},
            {"role": "bashExecution", "command": "env", "output": text, "exitCode": 0, "excludeFromContext": True},
            {"role": "custom", "customType": "note", "content": text, "display": True},
            {"role": "custom", "customType": "note", "content": [{"type": "text", "text": text}], "display": False, "details": {"a": 1}},
            {"role": "branchSummary", "summary": text, "fromId": "e1"},
        ]
    )


def _assistant(api: tuple[str, str], content: list[Message], reason: str) -> Message:
    message = {
        "role": "assistant",
        "content": content,
        "api": api[0],
        "provider": api[1],
        "model": "m",
        "usage": _USAGE,
        "stopReason": reason,
    }
    return message | ({"errorMessage": "Request was aborted."} if reason in ("aborted", "error") else {})


def _said(random: Random, step: Step) -> list[Message]:
    content: list[Message] = []
    if step.thinking:
        signed = {"thinkingSignature": "EqQB" + PICTURE[:40]} if chance(random, 80) else {}
        if signed and chance(random, 10):
            content.append({"type": "thinking", "thinking": "", "redacted": True, **signed})
        else:
            content.append({"type": "thinking", "thinking": step.thinking, **signed})
    if step.text:
        content.append({"type": "text", "text": step.text})
    return content


def _call(call: Call) -> Message:
    return {"type": "toolCall", "id": call.id, "name": call.name, "arguments": call.arguments}


def _result(random: Random, call: Call) -> Message:
    content: list[Message] = [{"type": "text", "text": call.answer}]
    if chance(random, 12):
        content.append({"type": "image", "data": PICTURE, "mimeType": "image/png"})
    if chance(random, 4):
        content = []
    return {
        "role": "toolResult",
        "toolCallId": call.id,
        "toolName": call.name,
        "content": content,
        "details": {"raw": "x" * 50},
        "isError": chance(random, 10),
    }


def history(random: Random, *, turns: int, live: bool = False) -> list[Message]:
    """A sound history of ``turns`` turns of the model that count."""
    ids = Ids(random, "call_{0}|fc_{0}".format if chance(random, 30) else "toolu_{}".format)
    api = random.choice(_APIS)
    steps = plot(random, turns, live, ids)
    made: list[Message] = []
    if chance(random, 8):
        made.append({"role": "compactionSummary", "summary": words(random), "tokensBefore": 9000})
    for number, step in enumerate(steps):
        last = number == len(steps) - 1
        if step.kind == "user":
            made.append(_user(random, step.text))
            if chance(random, 10):
                made.append(_aside(random))
            continue
        if chance(random, 6):  # a try that failed, calls and all
            lost = [_call(Call("toolu_lost", "read", {"path": "a"}, ""))] if chance(random, 50) else []
            made.append(_assistant(api, _said(random, step) + lost, random.choice(["aborted", "error"])))
            if chance(random, 50):
                made.append(_user(random, words(random)))
        content = _said(random, step) + [_call(call) for call in step.calls]
        made.append(_assistant(api, content, "toolUse" if step.calls else random.choice(["stop", "stop", "length"])))
        made += [_result(random, call) for call in shuffled(random, step.calls)]
        if not last and chance(random, 5):
            made.append(_aside(random))
        if not last and chance(random, 3):
            made.append({"role": "compactionSummary", "summary": words(random), "tokensBefore": 9000})
    return [message | {"timestamp": 1766000357542 + k} for k, message in enumerate(made)]


def wrap(messages: Sequence[Any]) -> list[Message]:
    """The same as a session file's entries, with some among them that say nothing to the model."""
    entries: list[Message] = [{"type": "session", "version": 3, "id": "s", "timestamp": "2025-12-17T19:39:21.535Z", "cwd": "/w"}]
    unsent: list[Message] = [
        {"type": "thinking_level_change", "thinkingLevel": "low"},
        {"type": "model_change", "provider": "anthropic", "modelId": "m"},
        {"type": "custom", "customType": "state", "data": {"n": 1}},  # a tool that keeps its state: also between a call and its result
        {"type": "label", "targetId": "e1", "label": "here"},
        {"type": "session_info", "name": "talk"},
    ]
    for k, message in enumerate(messages):
        if k % 7 == 3:
            entries.append(dict(unsent[k // 7 % len(unsent)]))
        match message["role"]:
            case "compactionSummary":
                entry = {
                    "type": "compaction",
                    "summary": message["summary"],
                    "firstKeptEntryId": "e0",
                    "tokensBefore": message["tokensBefore"],
                }
            case "branchSummary":
                entry = {"type": "branch_summary", "summary": message["summary"], "fromId": message["fromId"]}
            case "custom":
                entry = {"type": "custom_message"} | {key: message[key] for key in message if key not in ("role", "timestamp")}
            case _:
                entry = {"type": "message", "message": message}
        entries.append(entry)
    ids = [None, *(f"e{k}" for k in range(len(entries)))]
    return [entries[0], *(entry | {"id": ids[k + 1], "parentId": ids[k]} for k, entry in enumerate(entries[1:]))]


RAW: tuple[Callable[[Sequence[Any]], list[Message]], ...] = (list, wrap)
"""The two ways in which a history is held."""


# Damage: of bare messages and of entries.


def _results(messages: list[Any], settled: bool = False) -> list[int]:
    """Results; ``settled``: with something that is sent and no result behind them, so that their calls are no live end without them."""
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


def _drop_call(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, _callers(messages))
    if at is None:
        return None
    bare = _bare(messages[at])
    bare["content"] = [block for block in bare["content"] if block["type"] != "toolCall"]
    return messages


def _drop_turn(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, _callers(messages))
    return None if at is None else cut(messages, at)


def _twice(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, _results(messages))
    return None if at is None else inserted(messages, at + 1, dict(messages[at]))


def _wrong_id(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, _results(messages))
    if at is None:
        return None
    _bare(messages[at])["toolCallId"] = "call_of_nobody"
    return messages


def _no_id(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, _results(messages))
    if at is None:
        return None
    del _bare(messages[at])["toolCallId"]
    return messages


def _late(messages: list[Any], random: Random) -> list[Any] | None:
    """A result behind what comes next: pi mends the call, and the result answers nothing."""
    at = pick(random, _results(messages, settled=True))
    if at is None:
        return None
    to = next(turn.index for turn in _turns(messages) if turn.index > at and turn.kind != "result")
    return moved(messages, at, to + 1)


def _interrupted(messages: list[Any], random: Random) -> list[Any] | None:
    """Something of the user's between a call and its result."""
    at = pick(random, _results(messages))
    new: Message = random.choice([{"role": "user", "content": "wait"}, {"role": "compactionSummary", "summary": "all", "tokensBefore": 1}])
    return None if at is None else inserted(messages, at, wrap([new])[1] if _is_raw(messages) else new)


def _is_raw(messages: list[Any]) -> bool:
    return not get(messages[0], "role")


def _aborted(messages: list[Any], random: Random) -> list[Any] | None:
    """A turn that counts as failed while its results stand."""
    at = pick(random, _callers(messages))
    if at is None:
        return None
    _bare(messages[at])["stopReason"] = random.choice(["aborted", "error"])
    return messages


def _twice_called(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, _callers(messages))
    if at is None:
        return None
    content = _bare(messages[at])["content"]
    content.append(dict(content[-1]))
    return messages


def _no_thinking(messages: list[Any], random: Random) -> list[Any] | None:
    thinks = [message for message in messages if _role(message) == "assistant" and _blocks(message, "thinking")]
    for message in thinks:
        bare = _bare(message)
        bare["content"] = [block for block in bare["content"] if block["type"] != "thinking"]
    return messages if thinks else None


def _unsent(messages: list[Any], random: Random) -> list[Any] | None:
    """A command that the model never sees between a call and its result."""
    at = pick(random, _results(messages))
    new: Message = {"role": "bashExecution", "command": "ls", "output": "a", "excludeFromContext": True}
    return None if at is None else inserted(messages, at, {"type": "message", "message": new} if _is_raw(messages) else new)


_WAYS: dict[str, Damage] = {
    "drop_result": _drop_result,
    "drop_calls": _drop_call,
    "drop_turn": _drop_turn,
    "duplicate_result": _twice,
    "duplicate_call": _twice_called,
    "wrong_id": _wrong_id,
    "no_id": _no_id,
    "late_result": _late,
    "interrupted": _interrupted,
    "failed_with_results": _aborted,
    "no_thinking": _no_thinking,
    "unsent_between": _unsent,
}


def breakages(messages: Sequence[Any], random: Random) -> tuple[str, list[Any]]:
    """A broken copy, and the name of the damage: see ``HARMLESS``."""
    return broken(messages, random, _WAYS)
