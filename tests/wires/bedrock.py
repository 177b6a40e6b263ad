"""Bedrock Converse."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from wires import common
from wires.common import Count, Message, Part

FORMAT = "bedrock"
_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_MEDIA = {"image": common.IMAGE, "document": common.FILE, "video": common.FILE}


def _is_server(part: Part) -> bool:
    """Whether the provider runs the tool itself: its calls and results have a ``type`` and share a message."""
    return bool((part.get("toolUse") or part.get("toolResult") or {}).get("type"))


def _call(part: Part) -> tuple[str, str] | None:
    call = part.get("toolUse")
    return None if call is None or _is_server(part) else (call.get("toolUseId") or "", call.get("name") or "")


def _result(part: Part) -> tuple[str, str] | None:
    result = part.get("toolResult")
    return None if result is None or _is_server(part) else (result.get("toolUseId") or "", "")


def _rename(part: Part, name: str) -> None:
    (part.get("toolUse") or part["toolResult"])["toolUseId"] = name


def _text(text: str) -> Part:
    return {"text": text}


WIRE = common.Wire("assistant", "content", ("user",), _call, _result, _text, _rename)


# The judge


def _one(i: int, message: Message) -> Iterator[str]:
    role, parts = message.get("role"), WIRE.parts(message)
    if role not in ("user", "assistant"):
        yield f"{i}: the role {role}"
    if not isinstance(message.get("content"), list) or not message["content"]:
        yield f"{i}: no content"
    for k, part in enumerate(parts):
        if "text" in part and not (part["text"] or "").strip():
            yield f"{i}: part {k} is a blank text"
        tool = part.get("toolUse") or part.get("toolResult")
        if tool is not None and not _ID.fullmatch(tool.get("toolUseId") or ""):
            yield f"{i}: the id {tool.get('toolUseId')!r}"
        if "toolResult" in part and tool is not None and tool.get("status") == "error" and not tool.get("content"):
            yield f"{i}: an error without content"
        if "reasoningContent" in part and role != "assistant":
            yield f"{i}: reasoning in the role {role}"
    has_text = any("text" in part for part in parts)
    if any("document" in part for part in parts) and not has_text:
        yield f"{i}: a document without a text beside it"
    yield from _server(i, message)


def _server(i: int, message: Message) -> Iterator[str]:
    waiting: list[str] = []
    for part in filter(_is_server, WIRE.parts(message)):
        if message.get("role") != "assistant":
            yield f"{i}: a tool of the provider in the role {message.get('role')}"
        elif "toolUse" in part:
            waiting.append(part["toolUse"].get("toolUseId"))
        elif part["toolResult"].get("toolUseId") in waiting:
            waiting.remove(part["toolResult"].get("toolUseId"))
        else:
            yield f"{i}: a result of the provider's tools without a call"
    for name in waiting:
        yield f"{i}: the provider's call {name} is not answered in its message"


def problems(messages: Sequence[Message]) -> list[str]:
    """Every reason to refuse the array, each with the index of its message.

    Where the families of models differ, what one of them takes passes: texts, pictures and documents behind results.
    But nothing may stand in front of results: Claude refuses it, and nobody needs it.
    """
    if not messages:
        return ["0: no message"]
    found = [problem for i, message in enumerate(messages) for problem in _one(i, message)]
    if not WIRE.is_plain(messages[0]):
        found.append("0: the first message is no plain user turn")
    for i in range(1, len(messages)):
        if messages[i].get("role") == messages[i - 1].get("role"):
            found.append(f"{i}: the role {messages[i].get('role')} twice in a row")
    return found + common.pairing(WIRE, messages)[0]


def is_live(messages: Sequence[Message]) -> bool:
    """Whether the last model turn waits for results."""
    return common.pairing(WIRE, messages)[1]


def is_sound(messages: Sequence[Message]) -> bool:
    return not problems(messages)


# The writer


class _Writer:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.messages: list[Message] = []
        self.ids = common.Ids(random, "tooluse_")
        self.points = random.choice((0, 0, 1, 3))
        self.thinks = random.random() < 0.5
        self.serves = random.random() < 0.1

    def chance(self, n: int) -> bool:
        return self.random.randrange(n) == 0

    def add(self, role: str, parts: list[Part]) -> None:
        if self.points and self.chance(6):
            self.points -= 1
            parts.append({"cachePoint": {"type": "default"}})
        self.messages.append({"role": role, "content": parts})

    def image(self) -> Part:
        return {"image": {"format": "png", "source": {"bytes": common.data(self.random)}}}

    def document(self) -> Part:
        return {"document": {"format": "pdf", "name": "a report", "source": {"bytes": common.data(self.random)}}}

    def video(self) -> Part:
        return {"video": {"format": "mp4", "source": {"s3Location": {"uri": "u:film"}}}}

    def user(self) -> None:
        parts = [_text(common.text(self.random)) for _ in range(self.random.choice((1, 1, 1, 2)))]
        if self.messages and self.messages[-1]["role"] == "user":
            self.messages[-1]["content"] += parts
            return
        if self.chance(5):
            parts.insert(self.random.randrange(len(parts) + 1), self.random.choice((self.image, self.document, self.video))())
        self.add("user", parts)

    def reasoning(self) -> list[Part]:
        if not self.thinks or self.chance(3):
            return []
        if self.chance(5):
            return [{"reasoningContent": {"redactedContent": common.data(self.random)}}]
        thought = {"text": common.text(self.random), "signature": common.data(self.random)}
        return [{"reasoningContent": {"reasoningText": thought}}]

    def speech(self) -> list[Part]:
        return [_text(common.text(self.random))]

    def server(self) -> list[Part]:
        (name,) = common.Ids(self.random, "tooluse_s").batch(1)
        call = {"toolUseId": name, "name": "nova_code_interpreter", "input": {"snippet": "6 * 7"}, "type": "server_tool_use"}
        result = {"toolUseId": name, "content": [{"json": {"stdOut": "42", "exitCode": 0}}], "status": "success"}
        return [{"toolUse": call}, {"toolResult": result | {"type": "nova_code_interpreter_result"}}]

    def content(self) -> list[Part]:
        said = common.result_text(self.random)
        return self.random.choice(
            [
                [_text(said)],
                [_text(said)],
                [_text(said), _text(common.text(self.random))],
                [{"json": {"output": said}}],
                [{"json": {"rows": [said, 1, None], "deep": {"é": True}}}],
                [{"json": {}}],
                [_text(said), self.image()],
                [self.image()],
                [self.document(), _text(said)],
                [],
            ]
        )

    def result(self, call: Part) -> Part:
        result: Part = {"toolUseId": call["toolUse"]["toolUseId"], "content": self.content()}
        if result["content"] and self.chance(5):
            result["status"] = "error"
        elif self.chance(2):
            result["status"] = "success"
        return {"toolResult": result}

    def step(self, *, live: bool = False) -> None:
        names = self.ids.batch(common.sizes(self.random))
        calls: list[Part] = [
            {"toolUse": {"toolUseId": name, "name": self.random.choice(common.NAMES), "input": common.arguments(self.random)}}
            for name in names
        ]
        served = self.server() if self.serves and self.chance(3) else []
        self.add("assistant", [*self.reasoning(), *(self.speech() if self.chance(2) else []), *served, *calls])
        if self.chance(2):
            self.random.shuffle(calls)
        if live:
            calls = calls[: self.random.randrange(len(calls))]
        parts = [self.result(call) for call in calls]
        if parts and not live and self.chance(8):
            parts += [self.image(), *self.speech()] if self.chance(4) else self.speech()
        if parts:
            self.add("user", parts)

    def answer(self) -> None:
        self.add("assistant", [*self.reasoning(), *(self.server() if self.serves and self.chance(3) else []), *self.speech()])


def history(random: Random, *, turns: int, live: bool = False) -> list[Message]:
    """A sound history with so many user turns (some in the message of the last results), in which agents work for long now and then."""
    writer = _Writer(random)
    for turn in range(turns):
        writer.user()
        for _ in range(common.steps(random)):
            writer.step()
        if turn == turns - 1 and live:
            writer.step(live=True)
        elif not writer.chance(5):
            writer.answer()
    return writer.messages


# Damage


def _some(messages: list[Message], random: Random, key: str) -> Any:
    found = [part for message in messages for part in WIRE.parts(message) if key in part]
    return random.choice(found) if found else None


def _blank_text(messages: list[Message], random: Random) -> bool:
    if (part := _some(messages, random, "text")) is None:
        return False
    part["text"] = random.choice(("", " ", "\n"))
    return True


def _string_content(messages: list[Message], random: Random) -> bool:
    messages[0]["content"] = "Hello."
    return True


def _long_id(messages: list[Message], random: Random) -> bool:
    found = common.settled(WIRE, messages)
    if not found:
        return False
    for tool in random.choice(found):
        _rename(messages[tool.message]["content"][tool.part], "x" * 65)
    return True


def _bad_id(messages: list[Message], random: Random) -> bool:
    found = common.settled(WIRE, messages)
    if not found:
        return False
    for tool in random.choice(found):
        _rename(messages[tool.message]["content"][tool.part], "call_1|fc_1")
    return True


def _missing_id(messages: list[Message], random: Random) -> bool:
    if (part := _some(messages, random, "toolUse")) is None:
        return False
    del part["toolUse"]["toolUseId"]
    return True


def _empty_error(messages: list[Message], random: Random) -> bool:
    if (part := _some(messages, random, "toolResult")) is None:
        return False
    part["toolResult"] |= {"content": [], "status": "error"}
    return True


def _lonely_document(messages: list[Message], random: Random) -> bool:
    messages[0]["content"] = [{"document": {"format": "pdf", "name": "a", "source": {"bytes": "Eq=="}}}]
    return True


def _document_beside_result(messages: list[Message], random: Random) -> bool:
    found = [message for message in messages if WIRE.has_result(message)]
    if not found:
        return False
    random.choice(found)["content"] += [{"document": {"format": "pdf", "name": "a", "source": {"bytes": "Eq=="}}}, _text("See this.")]
    return True


def _repeated_user(messages: list[Message], random: Random) -> bool:
    users = [i for i, message in enumerate(messages) if message["role"] == "user"]
    messages.insert(random.choice(users) + 1, {"role": "user", "content": [_text("And this.")]})
    return True


def _repeated_assistant(messages: list[Message], random: Random) -> bool:
    models = [i for i, message in enumerate(messages) if message["role"] == "assistant"]
    if not models:
        return False
    messages.insert(random.choice(models), {"role": "assistant", "content": [_text("Well.")]})
    return True


def _reasoning_in_user(messages: list[Message], random: Random) -> bool:
    messages[0]["content"].insert(0, {"reasoningContent": {"reasoningText": {"text": "Hm."}}})
    return True


def _server_result_alone(messages: list[Message], random: Random) -> bool:
    found = [message for message in messages for part in WIRE.parts(message) if "toolUse" in part and _is_server(part)]
    if not found:
        return False
    message = random.choice(found)
    message["content"] = [part for part in message["content"] if not ("toolUse" in part and _is_server(part))]
    return True


def _drop_reasoning(messages: list[Message], random: Random) -> bool:
    found = False
    for message in messages:
        rest = [part for part in WIRE.parts(message) if "reasoningContent" not in part]
        if any(set(part) - {"cachePoint"} for part in rest) and len(rest) < len(message["content"]):
            message["content"] = rest
            found = True
    return found


_DAMAGES: dict[str, common.Damage] = common.damages(WIRE) | {
    damage.__name__.lstrip("_"): damage
    for damage in (
        *(_blank_text, _string_content, _long_id, _bad_id, _missing_id, _empty_error, _lonely_document, _document_beside_result),
        *(_repeated_user, _repeated_assistant, _reasoning_in_user, _server_result_alone, _drop_reasoning),
    )
}
DAMAGES = tuple(_DAMAGES)
HARMLESS = (common.HARMLESS - {"split_results", "extra_user"}) | {"drop_reasoning", "document_beside_result"}
"""What no family refuses, or not all of them."""


def breakages(messages: Sequence[Message], random: Random) -> tuple[str, list[Message]]:
    """The name of a damage and a damaged copy."""
    return common.broken(_DAMAGES, messages, random)


# Texts and sizes


def _texts(part: Part) -> list[str]:
    if isinstance(part.get("text"), str):
        return [part["text"]]
    if "json" in part:
        return [common.json_text(part["json"])]
    if (call := part.get("toolUse")) is not None:
        return [common.compact(call["input"])] if call.get("input") is not None else []
    if (result := part.get("toolResult")) is not None:
        return [text for inner in result.get("content") or () for text in _texts(inner)]
    thought = (part.get("reasoningContent") or {}).get("reasoningText") or {}
    return [thought["text"]] if isinstance(thought.get("text"), str) else []


def pieces(messages: Sequence[Message]) -> list[tuple[str, ...]]:
    """What can be read in each message; a call is its name, a blank and its arguments."""
    found: list[tuple[str, ...]] = []
    for message in messages:
        texts: list[str] = []
        for part in WIRE.parts(message):
            call = part.get("toolUse")
            texts += _texts(part) if call is None else [f"{call.get('name')} {text}" for text in _texts(part)]
        found.append(tuple(texts))
    return found


def size_chars(messages: Sequence[Message]) -> int:
    return sum(len(text) for message in messages for part in WIRE.parts(message) for text in _texts(part))


def _media(part: Part) -> int:
    inner = (part.get("toolResult") or {}).get("content") or ()
    return sum(figure for key, figure in _MEDIA.items() if key in part) + sum(map(_media, inner))


def size_tokens(messages: Sequence[Message], count: Count) -> int:
    """The messages without what a request costs as such; every picture at the flat figure."""
    total = 0
    for message in messages:
        total += common.MESSAGE + count(message["role"])
        for part in WIRE.parts(message):
            total += sum(map(count, _texts(part))) + _media(part)
            if "toolUse" in part:
                total += common.CALL + count(part["toolUse"].get("name") or "")
            if "toolResult" in part:
                total += common.RESULT
            reasoning = part.get("reasoningContent") or {}
            total += count((reasoning.get("reasoningText") or {}).get("signature") or "") + count(reasoning.get("redactedContent") or "")
    return total
