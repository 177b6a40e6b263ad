"""pydantic-ai: ModelRequest and ModelResponse, as its adapter dumps them, or the objects themselves where it is installed."""

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
    pick,
    plain,
    plot,
    sealed,
    shown,
    shuffled,
    some_json,
    text_piece,
    tie,
    tokens,
    words,
)

FORMAT = "pydantic-ai"
HARMLESS = frozenset({"no_thinking", "no_instructions"})
"""Damage that no rule forbids, or none that an array alone can show."""

OBJECTS = find_spec("pydantic_ai") is not None
FORMS = ("json", *(("objects",) if OBJECTS else ()))


def _kind(part: Any) -> str:
    return str(get(part, "part_kind", ""))


def _parts(message: Any, *kinds: str) -> list[Any]:
    return [part for part in get(message, "parts", ()) if not kinds or _kind(part) in kinds]


def _answers(message: Any) -> list[Any]:
    """Parts that answer a call: a retry that names no tool is plain text of the user."""
    if get(message, "kind") != "request":
        return []
    return [part for part in _parts(message, "tool-return", "retry-prompt") if _kind(part) == "tool-return" or get(part, "tool_name")]


def _turns(messages: Sequence[Any]) -> list[Turn]:
    turns: list[Turn] = []
    for index, message in enumerate(messages):
        if get(message, "kind") == "response":
            turns.append(Turn(index, "model", [tie("tool", get(part, "tool_call_id")) for part in _parts(message, "tool-call")]))
        else:
            results = [tie("tool", get(part, "tool_call_id")) for part in _answers(message)]
            turns.append(Turn(index, "result" if results else "user", results=results))
    return turns


def _shape(messages: Sequence[Any]) -> Iterator[str]:
    native: list[Any] = []
    for index, message in enumerate(messages):
        if get(message, "kind") not in ("request", "response"):
            yield f"message {index}: no such kind"
        if get(message, "kind") == "request" and not _parts(message) and not get(message, "instructions") and index < len(messages) - 1:
            yield f"message {index}: request that says nothing"
        for part in _parts(message):
            ours = _kind(part) in ("tool-call", "builtin-tool-call", "builtin-tool-return") or any(
                part is each for each in _answers(message)
            )
            if ours and not get(part, "tool_call_id"):
                yield f"message {index}: {_kind(part)} without id"
            if _kind(part) in ("tool-call", "builtin-tool-call", "builtin-tool-return") and get(message, "kind") == "request":
                yield f"message {index}: {_kind(part)} in a request"
            if _kind(part) in ("tool-return", "retry-prompt") and get(message, "kind") == "response":
                yield f"message {index}: {_kind(part)} in a response"
            if _kind(part) == "builtin-tool-call":
                native.append(get(part, "tool_call_id"))
            elif _kind(part) == "builtin-tool-return":
                if get(part, "tool_call_id") in native:
                    native.remove(get(part, "tool_call_id"))
                else:
                    yield f"message {index}: builtin-tool-return of no call"


def problems(messages: Sequence[Any]) -> list[str]:
    """Everything that the library would mend or a provider refuse, a live end excepted."""
    if not messages:
        return ["no messages"]
    return [*_shape(messages), *adjacent(_turns(messages), merges=True)[0]]


def is_live(messages: Sequence[Any]) -> bool:
    """Whether the last turn of the model waits for results, and nothing but results stands behind it."""
    return adjacent(_turns(messages), merges=True)[1]


def is_sound(messages: Sequence[Any]) -> bool:
    return not problems(messages)


# Sizes.

_MEDIA = ("image-url", "audio-url", "video-url", "document-url", "binary", "uploaded-file")


def _is_media(item: Any) -> bool:
    return not isinstance(item, str) and get(item, "kind") in _MEDIA


def _medium(item: Any) -> Piece:
    kind = str(get(item, "media_type", "")) if get(item, "kind") in ("binary", "uploaded-file") else str(get(item, "kind"))
    return media(next((word for word in ("image", "audio") if kind.startswith(word)), "file"))


def _said(content: Any) -> Iterator[Piece]:
    """What a user says: a string, or a list of strings, texts and media."""
    for item in [content] if isinstance(content, str) else content or ():
        if _is_media(item):
            yield _medium(item)
        else:
            yield from text_piece(item if isinstance(item, str) else get(item, "content"))


def _returned(content: Any) -> Iterator[Piece]:
    """What a tool gave back: JSON, with media in it or not."""
    if _is_media(content):
        yield _medium(content)
    elif isinstance(content, (list, tuple)) and any(map(_is_media, content)):
        for item in content:
            yield from [_medium(item)] if _is_media(item) else text_piece(plain(item))
    else:
        yield from text_piece(json_result(content))


def anatomy(message: Any) -> Iterator[Piece]:
    """``instructions`` are the system's text, not the message's."""
    rules = {_kind(part) for part in _parts(message)} == {"system-prompt"}
    yield Piece("role", name="assistant" if get(message, "kind") == "response" else "system" if rules else "user")
    for part in _parts(message):
        kind, content = _kind(part), get(part, "content")
        if kind in ("tool-return", "builtin-tool-return") or any(part is each for each in _answers(message)):
            yield Piece("result")
            yield from _returned(content)
        elif kind in ("tool-call", "builtin-tool-call"):
            yield Piece("call", plain(get(part, "args")), get(part, "tool_name", ""))
        elif kind == "file":
            yield _medium(content)
        elif kind in ("retry-prompt", "retry-feedback"):
            yield from text_piece(plain(content))
        elif content is not None:
            yield from _said(content)
        if kind == "thinking":
            yield from sealed(get(part, "signature"))


def size_chars(messages: Sequence[Any]) -> int:
    """Without what the first request says for the system, which belongs to the head."""
    rules = [part for part in _parts(messages[0]) if _kind(part) == "system-prompt"] if messages else []
    return sum(chars(anatomy(message)) for message in messages) - sum(len(get(part, "content")) for part in rules)


def size_tokens(messages: Sequence[Any], count: Count) -> int:
    """Tokens of the messages alone, without the 3 of the request."""
    return sum(tokens(anatomy(message), count) for message in messages)


def pieces(messages: Sequence[Any]) -> list[tuple[str, ...]]:
    return [shown(anatomy(message)) for message in messages]


# Histories.

_WHEN = {"timestamp": "2026-03-01T12:00:00Z"}
_PICTURE = {"data": PICTURE, "media_type": "image/png", "vendor_metadata": None, "kind": "binary", "identifier": "99631f"}


def _user(random: Random, text: str) -> Message:
    content: Any = text
    if chance(random, 25):
        content = [text]
        if chance(random, 60):
            content.append(dict(_PICTURE))
        if chance(random, 20):
            url = {"url": "https://example.com/a.pdf", "force_download": False, "vendor_metadata": None, "media_type": "application/pdf"}
            content.append({**url, "kind": "document-url", "identifier": "a1"})
        if chance(random, 20):
            content.append(words(random))
    return {"content": content, **_WHEN, "part_kind": "user-prompt"}


def _request(parts: list[Message], instructions: str | None) -> Message:
    return {"parts": parts, "instructions": instructions, "kind": "request", "run_id": "r1", "metadata": None}


def _retry(random: Random, tool: str | None, call_id: str) -> Message:
    """A retry, as the library wrote it up to 2.x, or what has taken its place where it answers no call."""
    wrong = [{"type": "missing", "loc": ["path"], "msg": "Field required", "input": {}}]
    if tool is None and chance(random, 50):
        return {"content": words(random), "retry": {"cause": "model_retry"}, **_WHEN, "part_kind": "retry-feedback"}
    return {
        "content": random.choice([words(random), wrong]),
        "tool_name": tool,
        "tool_call_id": call_id,
        **_WHEN,
        "part_kind": "retry-prompt",
    }


def _answer(random: Random, call: Call) -> Message:
    if chance(random, 10):
        return _retry(random, call.name, call.id)
    content: Any = call.answer
    if chance(random, 30):
        content = random.choice([{"output": call.answer}, {"a": 1, "b": call.answer}, [1, call.answer], some_json(random), None, 21.5])
    if chance(random, 6):
        content = random.choice([dict(_PICTURE), ["see", dict(_PICTURE)]])
    return {"tool_name": call.name, "content": content, "tool_call_id": call.id, "metadata": None, **_WHEN, "part_kind": "tool-return"}


class _Maker:
    """Puts a plot into requests and responses."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.provider = random.choice(["anthropic", "openai", "bedrock", "google", None])
        self.instructions = words(random) if chance(random, 40) else None
        self.builtins = chance(random, 30)
        self.count = 0
        self.owed: list[Message] = []  # builtin returns that come in a later response
        self.messages: list[Message] = []

    def response(self, parts: list[Message]) -> None:
        usage = {"input_tokens": 1, "output_tokens": 2, "details": {}}
        state = {"state": "complete"} if chance(self.random, 30) else {}
        head = {"parts": parts, "usage": usage, "model_name": "m", **_WHEN, "kind": "response", "provider_name": self.provider}
        self.messages.append(head | {"provider_details": None, "finish_reason": None, "run_id": "r1", "metadata": None} | state)

    def builtin(self) -> tuple[Message, Message]:
        self.count += 1
        ids = {"tool_name": "code_execution", "tool_call_id": f"srvtoolu_{self.count}", "provider_name": self.provider}
        call = ids | {"args": {"code": "print(1)"}, "id": None, "provider_details": None, "part_kind": "builtin-tool-call"}
        content = {"stdout": words(self.random), "return_code": 0}
        return call, ids | {"content": content, "metadata": None, **_WHEN, "part_kind": "builtin-tool-return"}

    def model(self, step: Step, last: bool) -> None:
        random, parts = self.random, self.owed
        self.owed = []
        if step.thinking:
            signature = "EqQB" + PICTURE[:40] if chance(random, 70) else None
            thought = {"content": step.thinking, "id": None, "signature": signature, "provider_name": self.provider if signature else None}
            parts.append({**thought, "provider_details": None, "part_kind": "thinking"})
        if self.builtins and chance(random, 25):
            asked, result = self.builtin()
            parts.append(asked)
            if last or chance(random, 75):
                parts.append(result)
            else:
                self.owed.append(result)
        if step.text:
            parts.append({"content": step.text, "id": None, "provider_name": None, "provider_details": None, "part_kind": "text"})
        if chance(random, 2):
            parts.append({"content": dict(_PICTURE), "id": None, "provider_name": None, "part_kind": "file"})
        for call in step.calls:
            args: Any = call.arguments if chance(random, 50) else compact(call.arguments)
            own = {"tool_name": call.name, "args": args or None, "tool_call_id": call.id, "id": None, "provider_details": None}
            parts.append({**own, "part_kind": "tool-call"})
        self.response(parts)

    def results(self, step: Step, then: Step | None) -> bool:
        """The results of a step; whether what the user says then is in the last of their requests."""
        random = self.random
        answers = [_answer(random, call) for call in shuffled(random, step.calls)]
        if not answers:
            return False
        at = random.randrange(1, len(answers)) if len(answers) > 1 and chance(random, 15) else len(answers)
        requests = [part for part in (answers[:at], answers[at:]) if part]
        mixed = then is not None and then.kind == "user" and chance(random, 50)
        if mixed and then is not None:
            requests[-1].append(_user(random, then.text))
        self.messages += [_request(parts, self.instructions) for parts in requests]
        return mixed


def history(random: Random, *, turns: int, live: bool = False, form: str | None = None) -> list[Any]:
    """A sound history of ``turns`` turns of the model, in any of ``FORMS``."""
    maker = _Maker(random)
    steps = plot(random, turns, live, Ids(random, "pyd_ai_{}".format))
    system = [
        {"content": words(random), **_WHEN, "dynamic_ref": None, "part_kind": "system-prompt"} for _ in range(random.choice([0, 1, 1, 2]))
    ]
    said = False
    for number, step in enumerate(steps):
        then = steps[number + 1] if number + 1 < len(steps) else None
        if step.kind == "model":
            # A builtin return comes before the user speaks again.
            maker.model(step, then is None or then.kind == "user")
            said = maker.results(step, then)
            if not step.calls and not maker.owed and then is not None and then.kind == "model" and chance(random, 40):
                maker.messages.append(_request([_retry(random, None, f"pyd_ai_retry_{number}")], maker.instructions))
        elif said:
            said = False
        else:
            maker.messages.append(_request([*system, _user(random, step.text)], maker.instructions))
            system = []
    return dressed(maker.messages, form or random.choice(FORMS))


def dressed(messages: Sequence[Message], form: str) -> list[Any]:
    if form != "objects":
        return list(messages)
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    return list(ModelMessagesTypeAdapter.validate_python(deepcopy(list(messages))))


# Damage.


def _set(thing: Any, key: str, value: Any) -> None:
    if isinstance(thing, Mapping):
        thing[key] = value  # type: ignore[index]
    else:
        setattr(thing, key, value)


def _without(messages: list[Any], index: int, part: Any) -> list[Any]:
    """The messages without a part, and without the message where it was the only one."""
    left = [each for each in _parts(messages[index]) if each is not part]
    if not left:
        return cut(messages, index)
    _set(messages[index], "parts", left)
    return messages


def _results(messages: list[Any], settled: bool = False) -> list[tuple[int, Any]]:
    """Answers with the index of their request; ``settled``: with a user's request behind, so that without them no call is at a live end."""
    last = max((turn.index for turn in _turns(messages) if turn.kind == "user"), default=-1)
    return [(i, part) for i, message in enumerate(messages) for part in _answers(message) if not settled or last > i]


def _calls(messages: list[Any]) -> list[tuple[int, Any]]:
    """Calls of turns all of whose calls are answered in the request right behind them."""
    found = []
    for index, message in enumerate(messages[:-1]):
        asked = _parts(message, "tool-call")
        if len(asked) <= len(_answers(messages[index + 1])):
            found += [(index, part) for part in asked]
    return found


def _drop_result(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, _results(messages, settled=True))
    return None if at is None else _without(messages, *at)


def _drop_call(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, _calls(messages))
    return None if at is None else _without(messages, *at)


def _drop_response(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, _calls(messages))
    return None if at is None else cut(messages, at[0])


def _twice(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, _results(messages))
    if at is None:
        return None
    if chance(random, 50):
        _set(messages[at[0]], "parts", [*_parts(messages[at[0]]), deepcopy(at[1])])
        return messages
    return inserted(messages, at[0] + 1, deepcopy(messages[at[0]]))


def _twice_called(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, _calls(messages))
    if at is None:
        return None
    _set(messages[at[0]], "parts", [*_parts(messages[at[0]]), deepcopy(at[1])])
    return messages


def _wrong_id(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, _results(messages))
    if at is None:
        return None
    _set(at[1], "tool_call_id", random.choice(["call_of_nobody", ""]))
    return messages


def _late(messages: list[Any], random: Random) -> list[Any] | None:
    """An answer in a request of its own behind the next user's request."""
    users = [turn.index for turn in _turns(messages) if turn.kind == "user"]
    at = pick(random, _results(messages, settled=True))
    if at is None:
        return None
    index, part = at
    to = next(i for i in users if i > index)
    made = inserted(messages, to + 1, _moved_request(messages[index], part))
    return _without(made, index, part)


def _moved_request(message: Any, part: Any) -> Any:
    new = deepcopy(message)
    _set(new, "parts", [deepcopy(part)])
    return new


def _interrupted(messages: list[Any], random: Random) -> list[Any] | None:
    """A request of the user's between a call and its return."""
    at = pick(random, _calls(messages))
    if at is None:
        return None
    form = "json" if isinstance(messages[0], Mapping) else "objects"
    return inserted(messages, at[0] + 1, *dressed([_request([_user(random, "wait")], None)], form))


def _plain_retry(messages: list[Any], random: Random) -> list[Any] | None:
    """A retry that loses its tool's name, and so answers nothing."""
    at = pick(random, [(i, part) for i, part in _results(messages, settled=True) if _kind(part) == "retry-prompt"])
    if at is None:
        return None
    _set(at[1], "tool_name", None)
    return messages


def _empty(messages: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, [i for i, message in enumerate(messages[:-1]) if get(message, "kind") == "request"])
    if at is None:
        return None
    _set(messages[at], "parts", [])
    _set(messages[at], "instructions", None)
    return messages


def _native(messages: list[Any], random: Random) -> list[Any] | None:
    """A builtin return whose call is gone."""
    returns = {get(part, "tool_call_id") for message in messages for part in _parts(message, "builtin-tool-return")}
    calls = [(i, part) for i, message in enumerate(messages) for part in _parts(message, "builtin-tool-call")]
    at = pick(random, [(i, part) for i, part in calls if get(part, "tool_call_id") in returns])
    return None if at is None else _without(messages, *at)


def _no_thinking(messages: list[Any], random: Random) -> list[Any] | None:
    thinks = [message for message in messages if _parts(message, "thinking")]
    for message in thinks:
        _set(message, "parts", [part for part in _parts(message) if _kind(part) != "thinking"])
    return messages if thinks else None


def _no_instructions(messages: list[Any], random: Random) -> list[Any] | None:
    told = [message for message in messages if get(message, "instructions")]
    for message in told:
        _set(message, "instructions", None)
    return messages if told else None


_WAYS: dict[str, Damage] = {
    "drop_result": _drop_result,
    "drop_call": _drop_call,
    "drop_response": _drop_response,
    "duplicate_result": _twice,
    "duplicate_call": _twice_called,
    "wrong_id": _wrong_id,
    "late_result": _late,
    "interrupted": _interrupted,
    "retry_without_tool": _plain_retry,
    "missing_content": _empty,
    "builtin_without_call": _native,
    "no_thinking": _no_thinking,
    "no_instructions": _no_instructions,
}


def breakages(messages: Sequence[Any], random: Random) -> tuple[str, list[Any]]:
    """A broken copy, and the name of the damage: see ``HARMLESS``."""
    return broken(messages, random, _WAYS)
