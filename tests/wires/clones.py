"""OpenAI Chat in the dress of others: Mistral, DeepSeek, Kimi, Cohere v2, Ollama, and AG2 0.2 with many results in one message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
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
    json_result,
    media,
    moved,
    pick,
    plain,
    plot,
    shown,
    shuffled,
    text_piece,
    tie,
    tokens,
    words,
)

FORMAT = "openai-chat"
HARMLESS = frozenset({"no_thinking", "other_order"})
"""Damage that no rule of all dresses forbids."""

DRESSES = ("mistral", "deepseek", "kimi", "cohere", "ollama", "ag2")
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def _calls(message: Any) -> list[Tie]:
    if get(message, "role") != "assistant":
        return []
    legacy = [tie("legacy")] if get(message, "function_call") else []
    return [tie("tool", get(call, "id")) for call in get(message, "tool_calls", ())] + legacy


def _answers(message: Any) -> list[Tie]:
    """The results in a message: one, or all of ``tool_responses``."""
    if get(message, "role") == "function":
        return [tie("legacy")]
    if get(message, "role") != "tool":
        return []
    if get(message, "tool_responses"):
        return [tie("tool", get(each, "tool_call_id")) for each in get(message, "tool_responses")]
    return [tie("tool", get(message, "tool_call_id"))]


def _turns(messages: Sequence[Any]) -> list[Turn]:
    kinds = {"assistant": "model", "tool": "result", "function": "result", "user": "user"}
    return [
        Turn(index, kinds.get(str(get(message, "role")), "system"), _calls(message), _answers(message))
        for index, message in enumerate(messages)
    ]


def _shape(messages: Sequence[Any], dress: str | None) -> Iterator[str]:
    calls = [call for message in messages for call in _calls(message) if call.family == "tool"]
    named = any(call.ids for call in calls) or not calls
    thinks = any("reasoning_content" in message for message in messages if get(message, "tool_calls"))
    for index, message in enumerate(messages):
        role, content, asked = get(message, "role"), get(message, "content"), get(message, "tool_calls")
        if role not in _ROLES:
            yield f"message {index}: no such role: {role}"
        if role == "assistant":
            speaks = asked or any(get(message, key) for key in ("function_call", "refusal", "audio", "tool_plan"))
            if content is None and not speaks:
                yield f"message {index}: says nothing"
            if asked is not None and not asked:
                yield f"message {index}: tool_calls is empty"
            if asked and get(message, "function_call"):
                yield f"message {index}: both kinds of call"
            if dress in ("kimi", "cohere") and not content and not speaks:
                yield f"message {index}: must not be empty"
            if asked and thinks and "reasoning_content" not in message:
                yield f"message {index}: reasoning_content must be passed back"
        elif content is None and not get(message, "tool_responses"):
            yield f"message {index}: no content"
        ties = [each for each in _calls(message) + _answers(message) if each.family == "tool"]
        if named and not all(each.ids for each in ties):
            yield f"message {index}: call or result without id"
        if dress == "mistral":
            if any(len(i) != 9 or not i.isascii() or not i.isalnum() for each in ties for i in each.ids):
                yield f"message {index}: an id is not of 9 letters and digits"
            if role == "user" and index and get(messages[index - 1], "role") == "tool":
                yield f"message {index}: unexpected role 'user' after role 'tool'"
    if not named and not any(get(message, "role") == "user" for message in messages):
        yield "no user query found in messages"


def problems(messages: Sequence[Any], dress: str | None = None) -> list[str]:
    """Every reason to refuse the messages, a live end excepted; with a ``dress`` also what that provider alone minds."""
    if not messages:
        return ["no messages"]
    return [*_shape(messages, dress), *adjacent(_turns(messages), merges=False)[0]]


def is_live(messages: Sequence[Any]) -> bool:
    """Whether the last turn of the model waits for results, and nothing but results stands behind it."""
    return adjacent(_turns(messages), merges=False)[1]


def is_sound(messages: Sequence[Any]) -> bool:
    return not problems(messages)


# Sizes.


def anatomy(message: Any) -> Iterator[Piece]:
    role = str(get(message, "role"))
    yield Piece("role", name=role)
    responses = get(message, "tool_responses") or ()
    for k, response in enumerate(responses):  # each is sent as a message of its own, and the content that repeats them is not
        if k:
            yield Piece("role", name=role)
        yield from text_piece(plain(get(response, "content")))
    content = () if responses else get(message, "content", ())
    for part in [content] if isinstance(content, str) else content:
        kind = get(part, "type", "")
        if isinstance(part, str) or kind in ("text", "refusal"):
            yield from text_piece(part if isinstance(part, str) else get(part, kind))
        elif kind == "document" and get(part, "document") is not None:  # Cohere's
            yield from text_piece(json_result(get(part, "document")))
        elif kind in ("image_url", "image"):
            yield media("image")
        elif kind in ("document", "document_url", "file"):
            yield media("file")
        elif kind == "thinking":  # Mistral's
            for inner in get(part, "thinking"):
                yield from text_piece(get(inner, "text"))
    for _ in get(message, "images", ()):
        yield media("image")
    if role == "assistant":
        for key in ("refusal", "reasoning_content", "reasoning", "thinking", "tool_plan"):
            yield from text_piece(get(message, key))
        for call in get(message, "tool_calls", ()):
            inner = get(call, "function") or get(call, "custom")
            given = get(inner, "arguments") if get(inner, "arguments") is not None else get(inner, "input")
            yield Piece("call", plain(given), get(inner, "name", ""))
        if legacy := get(message, "function_call"):
            yield Piece("call", plain(get(legacy, "arguments")), get(legacy, "name", ""))
    if get(message, "name"):
        yield Piece("frame", name=get(message, "name"), weight=1)


def size_chars(messages: Sequence[Any]) -> int:
    return sum(chars(anatomy(message)) for message in messages)


def size_tokens(messages: Sequence[Any], count: Count) -> int:
    """Tokens of the messages alone, without the 3 of the request."""
    return sum(tokens(anatomy(message), count) for message in messages)


def pieces(messages: Sequence[Any]) -> list[tuple[str, ...]]:
    return [shown(anatomy(message)) for message in messages]


# Histories.

_IDS = {"mistral": "{:09d}", "kimi": "functions.read:{}", "cohere": "read_{}", "deepseek": "call_00_{}", "ag2": "call_{}", "ollama": "{}"}


def _assistant(random: Random, step: Step, dress: str) -> Message:
    message: Message = {"role": "assistant", "content": step.text or (None if step.calls and dress != "ollama" else "")}
    if dress in ("deepseek", "kimi"):
        message["reasoning_content"] = step.thinking  # empty or not: it must be there
    elif dress == "ollama" and step.thinking:
        message["thinking"] = step.thinking
    elif dress == "cohere":
        message["content"] = [{"type": "text", "text": step.text}] if step.text else None
        if step.calls:
            message = {"role": "assistant", "tool_plan": step.thinking or "I will look."}
        elif chance(random, 30):
            message["citations"] = [{"start": 0, "end": 2, "text": step.text[:2], "sources": []}]
    elif dress == "mistral":
        message["prefix"] = False
        if step.text and chance(random, 30):
            message["content"] = [{"type": "text", "text": step.text}]
    elif dress == "ag2":
        message["name"] = "assistant"
    if step.calls:
        message["tool_calls"] = [_call(call, dress) for call in step.calls]
    return message


def _call(call: Call, dress: str) -> Message:
    if dress == "ollama":
        return {"function": {"name": call.name, "arguments": call.arguments}}
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": compact(call.arguments)}}


def _tools(random: Random, step: Step, dress: str) -> list[Message]:
    """The results of a step, in one message or in one each."""
    calls = shuffled(random, step.calls)
    match dress:
        case "ollama":
            return [{"role": "tool", "content": call.answer, "tool_name": call.name} for call in step.calls if call.answered]
        case "ag2" if calls:
            responses = [{"tool_call_id": call.id, "role": "tool", "content": call.answer} for call in calls]
            return [
                {"role": "tool", "name": "user_proxy", "content": "\n\n".join(call.answer for call in calls), "tool_responses": responses}
            ]
        case "cohere":
            given = [
                [{"type": "document", "document": {"data": compact({"text": call.answer})}}] if chance(random, 60) else call.answer
                for call in calls
            ]
            return [{"role": "tool", "tool_call_id": call.id, "content": content} for call, content in zip(calls, given, strict=True)]
    named = {"name": "read"} if dress in ("mistral", "kimi") else {}
    return [{"role": "tool", "tool_call_id": call.id, **named, "content": call.answer} for call in calls]


def _ollama_gaps(steps: list[Step]) -> None:
    """Without ids results are told apart by their place alone: those that came are those of the first calls."""
    for step in steps:
        done = sum(call.answered for call in step.calls)
        for k, call in enumerate(step.calls):
            call.answered = k < done


def history(random: Random, *, turns: int, live: bool = False, dress: str | None = None) -> list[Message]:
    """A sound history of ``turns`` turns of the model, in any of ``DRESSES``."""
    dress = dress or random.choice(DRESSES)
    steps = plot(random, turns, live, Ids(random, _IDS[dress].format))
    if dress == "ollama":
        _ollama_gaps(steps)
    made: list[Message] = []
    if chance(random, 60):
        made.append({"role": "system", "content": words(random)})
    for step in steps:
        if step.kind == "model":
            made.append(_assistant(random, step, dress))
            made += _tools(random, step, dress)
            continue
        if dress == "mistral" and made and made[-1]["role"] == "tool":
            made.append({"role": "assistant", "content": "OK"})  # the bridge that its adapters build
        made.append({"role": "user", "content": step.text} | ({"name": "user_proxy"} if dress == "ag2" else {}))
        if dress == "ollama" and chance(random, 10):
            made[-1]["images"] = [PICTURE]
    return made


# Damage.


def _results(messages: list[Any], settled: bool = False) -> list[int]:
    """Messages of results; ``settled``: with something else behind them, so that their calls are no live end without them."""
    last = max((i for i, message in enumerate(messages) if not _answers(message)), default=-1)
    return [i for i, message in enumerate(messages) if _answers(message) and (not settled or last > i)]


def _callers(messages: list[Any]) -> list[int]:
    """Turns of the model behind which a result stands."""
    return [i for i, message in enumerate(messages[:-1]) if _calls(message) and _answers(messages[i + 1])]


def _drop_result(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, _results(messages, settled=True))
    if at is None:
        return None
    if len(responses := get(messages[at], "tool_responses", ())) > 1:
        responses.pop(random.randrange(len(responses)))
        return messages
    return cut(messages, at)


def _drop_turn(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, _callers(messages))
    return None if at is None else cut(messages, at)


def _drop_calls(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, _callers(messages))
    if at is None:
        return None
    del messages[at]["tool_calls"]
    messages[at]["content"] = "x"
    return messages


def _twice(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, [i for i in _results(messages) if all(each.ids for each in _answers(messages[i]))])
    return None if at is None else inserted(messages, at + 1, deepcopy(messages[at]))


def _wrong_id(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, [i for i in _results(messages) if all(each.ids for each in _answers(messages[i]))])
    if at is None:
        return None
    random.choice(get(messages[at], "tool_responses") or [messages[at]])["tool_call_id"] = "abcdefghi"
    return messages


def _late(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, _results(messages, settled=True))
    if at is None:
        return None
    to = next(i for i in range(at + 1, len(messages)) if not _answers(messages[i]))
    return moved(messages, at, to + 1) if not _calls(messages[to]) or _calls(messages[to])[0].ids else None


def _interrupted(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, _results(messages))
    return None if at is None else inserted(messages, at, {"role": random.choice(["user", "system"]), "content": "wait"})


def _twice_called(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, [i for i in _callers(messages) if _calls(messages[i])[0].ids])
    if at is None:
        return None
    messages[at]["tool_calls"].append(deepcopy(messages[at]["tool_calls"][0]))
    return messages


def _empty_calls(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, [i for i, message in enumerate(messages) if message["role"] == "assistant" and not _calls(message)])
    if at is None:
        return None
    messages[at]["tool_calls"] = []
    return messages


def _no_content(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, [i for i, message in enumerate(messages) if message["role"] != "tool" and not _calls(message)])
    if at is None:
        return None
    messages[at]["content"] = None
    return messages


def _no_thinking(messages: list[Any], random: Random) -> list[Any] | None:
    thinks = [message for message in messages if "thinking" in message or "tool_plan" in message]
    for message in thinks:
        message.pop("thinking", None)
        message.pop("tool_plan", None)
    return messages if thinks else None


def _one_unthought(messages: list[Any], random: Random) -> list[Any] | None:
    thinks = [i for i in _callers(messages) if "reasoning_content" in messages[i]]
    if len(thinks) < 2:
        return None
    del messages[random.choice(thinks)]["reasoning_content"]
    return messages


def _other_order(messages: list[Any], random: Random) -> list[Any] | None:
    """Two results of one batch in the other order."""
    at = pick(random, [i for i in _results(messages) if i + 1 < len(messages) and _answers(messages[i + 1])])
    return None if at is None else [*messages[:at], messages[at + 1], messages[at], *messages[at + 2 :]]


_WAYS: dict[str, Damage] = {
    "drop_result": _drop_result,
    "drop_turn": _drop_turn,
    "drop_calls": _drop_calls,
    "duplicate_result": _twice,
    "duplicate_call": _twice_called,
    "wrong_id": _wrong_id,
    "late_result": _late,
    "interrupted": _interrupted,
    "empty_tool_calls": _empty_calls,
    "missing_content": _no_content,
    "one_without_reasoning": _one_unthought,
    "no_thinking": _no_thinking,
    "other_order": _other_order,
}


def breakages(messages: Sequence[Any], random: Random) -> tuple[str, list[Any]]:
    """A broken copy, and the name of the damage: see ``HARMLESS``."""
    return broken(messages, random, _WAYS)
