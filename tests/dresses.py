"""One conversation in the dress of each wire format, and an independent judge of all of them.

The judge knows what providers refuse and how long a tail may be, and imports nothing of backcut, so that backcut cannot agree with
itself by mistake. It is no model of everything: it reads what the tests here build.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

Message = dict[str, Any]

FORMATS = ("openai-chat", "openai-responses", "anthropic", "gemini", "bedrock", "pi", "langchain", "pydantic-ai")
MERGING = ("openai-responses", "anthropic", "gemini", "bedrock", "pydantic-ai")
"""Model messages that follow each other are one turn."""
TASK_GIVES_WAY = ("openai-chat", "openai-responses")


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


# Building. Every word gives a list, as a turn may be several messages.


class Dress:
    """Words for messages of one format."""

    def __init__(self, wire: str) -> None:
        assert wire in FORMATS
        self.wire = wire

    def system(self, text: str = "You are terse.") -> list[Message]:
        """System text in the array; formats that keep it outside have none."""
        match self.wire:
            case "openai-chat" | "openai-responses":
                return [{"role": "system", "content": text}]
            case "langchain":
                return [{"type": "system", "content": text}]
            case "pydantic-ai":
                return [{"kind": "request", "parts": [{"part_kind": "system-prompt", "content": text}]}]
        return []

    def user(self, text: str = "task") -> list[Message]:
        match self.wire:
            case "gemini":
                return [{"role": "user", "parts": [{"text": text}]}]
            case "bedrock":
                return [{"role": "user", "content": [{"text": text}]}]
            case "pi":
                return [{"role": "user", "content": [{"type": "text", "text": text}]}]
            case "langchain":
                return [{"type": "human", "content": text}]
            case "pydantic-ai":
                return [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}]}]
        return [{"role": "user", "content": text}]

    def said(self, text: str = "so") -> list[Message]:
        return self._model(text, ())

    def call(self, *ids: str, text: str = "") -> list[Message]:
        """A model turn that calls a tool once for each id."""
        return self._model(text, ids)

    def _model(self, text: str, ids: Sequence[str]) -> list[Message]:
        match self.wire:
            case "openai-chat":
                calls = [{"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in ids]
                return [{"role": "assistant", "content": text or None, **({"tool_calls": calls} if ids else {})}]
            case "openai-responses":
                parts = [{"type": "output_text", "text": text, "annotations": []}]
                said = [{"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": parts}] if text else []
                return [*said, *({"type": "function_call", "call_id": i, "name": "f", "arguments": "{}"} for i in ids)]
            case "anthropic":
                texts: list[Message] = [{"type": "text", "text": text}] if text else []
                return [{"role": "assistant", "content": [*texts, *({"type": "tool_use", "id": i, "name": "f", "input": {}} for i in ids)]}]
            case "gemini":
                texts = [{"text": text}] if text else []
                return [{"role": "model", "parts": [*texts, *({"functionCall": {"id": i, "name": "f", "args": {}}} for i in ids)]}]
            case "bedrock":
                texts = [{"text": text}] if text else []
                uses = [{"toolUse": {"toolUseId": i, "name": "f", "input": {}}} for i in ids]
                return [{"role": "assistant", "content": [*texts, *uses]}]
            case "pi":
                texts = [{"type": "text", "text": text}] if text else []
                blocks = [*texts, *({"type": "toolCall", "id": i, "name": "f", "arguments": {}} for i in ids)]
                return [{"role": "assistant", "content": blocks, "stopReason": "toolUse" if ids else "stop"}]
            case "langchain":
                calls = [{"name": "f", "args": {}, "id": i, "type": "tool_call"} for i in ids]
                return [{"type": "ai", "content": text, "tool_calls": calls}]
        texts = [{"part_kind": "text", "content": text}] if text else []
        parts = [{"part_kind": "tool-call", "tool_name": "f", "args": "{}", "tool_call_id": i} for i in ids]
        return [{"kind": "response", "parts": [*texts, *parts]}]

    def results(self, *ids: str, text: str = "result", more: str = "") -> list[Message]:
        """The answers, in one message where the format has them so; ``more`` is what the user says in that message."""
        match self.wire:
            case "openai-chat":
                return [{"role": "tool", "tool_call_id": i, "content": text} for i in ids]
            case "openai-responses":
                return [{"type": "function_call_output", "call_id": i, "output": text} for i in ids]
            case "pi":
                blocks = [{"type": "text", "text": text}]
                return [{"role": "toolResult", "toolCallId": i, "toolName": "f", "content": blocks, "isError": False} for i in ids]
            case "langchain":
                return [{"type": "tool", "content": text, "tool_call_id": i, "name": "f"} for i in ids]
            case "anthropic":
                results: list[Message] = [{"type": "tool_result", "tool_use_id": i, "content": text} for i in ids]
                return [{"role": "user", "content": [*results, *([{"type": "text", "text": more}] if more else [])]}]
            case "gemini":
                results = [{"functionResponse": {"id": i, "name": "f", "response": {"output": text}}} for i in ids]
                return [{"role": "user", "parts": [*results, *([{"text": more}] if more else [])]}]
            case "bedrock":
                results = [{"toolResult": {"toolUseId": i, "content": [{"text": text}], "status": "success"}} for i in ids]
                return [{"role": "user", "content": [*results, *([{"text": more}] if more else [])]}]
        results = [{"part_kind": "tool-return", "tool_name": "f", "content": text, "tool_call_id": i} for i in ids]
        return [{"kind": "request", "parts": [*results, *([{"part_kind": "user-prompt", "content": more}] if more else [])]}]

    def pair(self, *ids: str, text: str = "result") -> list[Message]:
        return [*self.call(*ids), *self.results(*ids, text=text)]


# Judging.


class Turn(NamedTuple):
    """What a message is in the conversation."""

    kind: str
    """``system``, ``user``, ``model`` or ``result``."""
    calls: tuple[str | None, ...] = ()
    results: tuple[str | None, ...] = ()
    shape: tuple[str, ...] = ()
    """What is wrong with the message whatever stands around it."""


def _blocks(message: Message, key: str = "content") -> list[Any]:
    content = message.get(key)
    return content if isinstance(content, list) else [] if content is None else [{"type": "text", "text": content}]


def _shape(blocks: Sequence[Any], is_result: Sequence[bool], texts: Sequence[Any], model: bool) -> tuple[str, ...]:
    wrong = [] if blocks else ["empty"]
    first_other = next((k for k, flag in enumerate(is_result) if not flag), len(is_result))
    if any(is_result[first_other:]):
        wrong.append("a result in a model message" if model else "something before a result")
    if any(isinstance(text, str) and not text.strip() for text in texts):
        wrong.append("blank text")
    return tuple(wrong)


def _either(part: Any, camel: str, snake: str) -> Any:
    return part.get(camel) or part.get(snake)


def turn(wire: str, message: Message) -> Turn:
    """Reads one message."""
    match wire:
        case "openai-chat":
            role = message["role"]
            if role == "assistant":
                calls = message.get("tool_calls") or ()
                return Turn("model", tuple(c.get("id") for c in calls), (), () if calls or message.get("content") else ("empty",))
            if role == "tool":
                answers = message.get("tool_responses") or [message]
                return Turn("result", (), tuple(each.get("tool_call_id") for each in answers))
            return Turn("user" if role == "user" else "system")
        case "openai-responses":
            kind, role = message.get("type", "message"), message.get("role")
            if role is not None:
                return Turn({"user": "user", "assistant": "model"}.get(role, "system"))
            if kind.endswith("_output"):
                return Turn("result", (), (f"{kind.removesuffix('_output').removesuffix('_call')}:{message['call_id']}",))
            named = "call_id" in message and kind.endswith("_call")
            return Turn("model", (f"{kind.removesuffix('_call')}:{message['call_id']}",) if named else ())
        case "pi":
            message = message.get("message", message)
            role = message["role"]
            if role == "assistant":
                dead = message.get("stopReason") in ("error", "aborted")
                return Turn("model", () if dead else tuple(b["id"] for b in _blocks(message) if b["type"] == "toolCall"))
            return Turn("result", (), (message["toolCallId"],)) if role == "toolResult" else Turn("user")
        case "langchain":
            message = message.get("data", message) | {"type": message["type"]}
            if message["type"] == "ai":
                calls = [*(message.get("tool_calls") or ()), *(message.get("invalid_tool_calls") or ())]
                return Turn("model", tuple(c["id"] for c in calls))
            if message["type"] == "tool":
                return Turn("result", (), (message["tool_call_id"],))
            return Turn("user" if message["type"] == "human" else "system")
        case "pydantic-ai":
            parts = message["parts"]
            kinds = [p["part_kind"] for p in parts]
            if message["kind"] == "response":
                return Turn("model", tuple(p["tool_call_id"] for p in parts if p["part_kind"] == "tool-call"))
            answers = [p for p in parts if p["part_kind"] == "tool-return" or (p["part_kind"] == "retry-prompt" and p.get("tool_name"))]
            if answers:
                return Turn("result", (), tuple(p["tool_call_id"] for p in answers))
            return Turn("system" if kinds and set(kinds) == {"system-prompt"} else "user", shape=() if kinds else ("empty",))
        case "anthropic":
            blocks = _blocks(message)
            flags = [b["type"] == "tool_result" for b in blocks]
            texts = [b.get("text") for b in blocks if b["type"] == "text"]
            calls = tuple(b["id"] for b in blocks if b["type"] == "tool_use")
            results = tuple(b["tool_use_id"] for b in blocks if b["type"] == "tool_result")
        case "gemini":
            blocks = message.get("parts") or []
            flags = [bool(_either(b, "functionResponse", "function_response")) for b in blocks]
            texts = [b.get("text") or "x" for b in blocks]  # blank text is no fault here
            calls = tuple(
                _either(b, "functionCall", "function_call").get("id") for b in blocks if _either(b, "functionCall", "function_call")
            )
            results = tuple(_either(b, "functionResponse", "function_response").get("id") for b, f in zip(blocks, flags, strict=True) if f)
        case _:
            blocks = message["content"]
            flags = ["toolResult" in b for b in blocks]
            texts = [b.get("text") for b in blocks]
            calls = tuple(b["toolUse"]["toolUseId"] for b in blocks if "toolUse" in b)
            results = tuple(b["toolResult"]["toolUseId"] for b in blocks if "toolResult" in b)
    model = message["role"] in ("assistant", "model")
    kind = "model" if model else "system" if message["role"] == "system" else "result" if results else "user"
    return Turn(kind, calls, results, _shape(blocks, flags, texts, model))


def head_length(wire: str, messages: Sequence[Message]) -> int:
    return next((k for k, message in enumerate(messages) if turn(wire, message).kind != "system"), len(messages))


def _settle(calls: Sequence[str | None], results: Sequence[str | None]) -> tuple[bool, bool]:
    """Whether calls are left, and whether results are, by id and then by place."""
    both = Counter(c for c in calls if c) & Counter(r for r in results if r)
    left, over = len(calls) - both.total(), len(results) - both.total()
    free = min(left, over) if None in calls or None in results else 0
    return left > free, over > free


def problems(wire: str, messages: Sequence[Message]) -> list[str]:
    """Every reason to refuse ``messages``. A batch at the very end whose results are to come is none."""
    turns = [turn(wire, message) for message in messages]
    found = [f"{k}: {wrong}" for k, each in enumerate(turns) for wrong in each.shape]
    if not messages:
        return ["nothing"]
    start = head_length(wire, messages)
    if wire in ("anthropic", "gemini", "bedrock") and start < len(turns) and turns[start].kind != "user":
        found.append(f"{start}: begins with a {turns[start].kind}")
    if wire == "bedrock":
        found += [f"{k}: role again" for k in range(1, len(messages)) if messages[k]["role"] == messages[k - 1]["role"]]
    at = 0
    while at < len(turns):
        here, calls = at, list(turns[at].calls)
        results: list[str | None] = []
        at += 1
        if turns[here].kind == "model" and wire in MERGING:
            while at < len(turns) and turns[at].kind == "model":
                calls += turns[at].calls
                at += 1
        if turns[here].kind == "result":
            found.append(f"{here}: results of nothing")
        while at < len(turns) and turns[at].kind == "result":
            results += turns[at].results
            at += 1
        if turns[here].kind != "model":
            found += [f"{here}: results behind no call"] if results else []
            continue
        unanswered, over = _settle(calls, results)
        if over:
            found.append(f"{here}: more results than calls")
        if unanswered and at < len(turns):
            found.append(f"{here}: calls without results")
    if wire == "openai-responses":
        for k, message in enumerate(messages):
            follower = turns[k + 1] if k + 1 < len(turns) else None
            if message.get("type") == "reasoning" and (follower is None or follower.kind != "model"):
                found.append(f"{k}: reasoning without what follows it")
    return found


def boundaries(wire: str, body: Sequence[Message]) -> list[int]:
    """Where a sound body may be cut."""
    kinds = [turn(wire, message).kind for message in body]
    goes_on = [wire in MERGING and k > 0 and kinds[k] == kinds[k - 1] == "model" for k in range(len(kinds))]
    return [k for k, kind in enumerate(kinds) if kind not in ("result", "system") and not goes_on[k]]


def longest(wire: str, messages: Sequence[Message], turns: int) -> tuple[list[int], bool]:
    """Brute force: what is kept of a sound history, at most ``turns`` beside its head; and whether even the least is too much."""
    h = head_length(wire, messages)
    body = messages[h:]
    if len(body) <= turns:
        return list(range(len(messages))), False
    kinds = [turn(wire, message).kind for message in body]
    cuts = boundaries(wire, body)

    def kept(b: int, with_task: bool) -> list[int] | None:
        tail = list(range(b, len(body)))
        if not with_task or kinds[b] == "user":
            return tail
        before = [k for k in range(b) if kinds[k] == "user"]
        if before:
            return [before[-1], *tail]
        return None if "user" in kinds[: cuts[-1] + 1] else tail

    for with_task in (True, False) if wire in TASK_GIVES_WAY else (True,):
        fits = [k for k in (kept(b, with_task) for b in cuts) if k is not None and len(k) <= turns]
        if fits:
            return [*range(h), *(h + k for k in fits[0])], False
    least = kept(cuts[-1], wire not in TASK_GIVES_WAY)
    assert least is not None
    return [*range(h), *(h + k for k in least)], True


# Measuring.

_TEXTS = ("text", "thinking", "refusal", "summary")
_OPAQUE = ("source", "image", "inlineData", "fileData", "signature", "thinkingSignature", "encrypted_content", "data", "details")


def texts(wire: str, thing: Any) -> Iterator[str]:
    """The texts of a message that a ceiling in characters sees."""
    if isinstance(thing, list):
        for each in thing:
            yield from [each] if isinstance(each, str) else texts(wire, each)
        return
    if not isinstance(thing, dict):
        return
    for key, value in thing.items():
        if key in _OPAQUE:
            continue
        if key in ("input", "args", "arguments", "response", "json"):
            only = next(iter(value.values()), None) if isinstance(value, dict) and len(value) == 1 and key in ("response", "json") else None
            value = only if isinstance(only, str) else value
            yield value if isinstance(value, str) else compact(value)
        elif isinstance(value, str):
            if key in _TEXTS or key in ("content", "output"):
                yield value
        else:
            yield from texts(wire, value)


def chars(wire: str, messages: Sequence[Message]) -> int:
    return sum(len(text) for message in messages for text in texts(wire, message))
