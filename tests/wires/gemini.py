"""Gemini contents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from random import Random
from typing import Any

from wires import common
from wires.common import Count, Message, Part

FORMAT = "gemini"
_DATA = (
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_BESIDE = ("thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata")


@cache
def _camel(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _get(part: Part, key: str) -> Any:
    """A value under its name in either spelling."""
    return part[key] if key in part else next((value for name, value in part.items() if _camel(name) == key), None)


def _tool(part: Part, key: str) -> tuple[str, str] | None:
    inner = _get(part, key)
    return (inner.get("id") or "", inner.get("name") or "") if isinstance(inner, dict) else None


def _call(part: Part) -> tuple[str, str] | None:
    return _tool(part, "functionCall")


def _result(part: Part) -> tuple[str, str] | None:
    return _tool(part, "functionResponse")


def _rename(part: Part, name: str) -> None:
    inner = _get(part, "functionCall") or _get(part, "functionResponse")
    inner["name"] = name
    if "id" in inner:
        inner["id"] = name


def _text(text: str) -> Part:
    return {"text": text}


WIRE = common.Wire("model", "parts", ("user", "function"), _call, _result, _text, _rename)


# The judge


def _one(i: int, message: Message) -> Iterator[str]:
    if message.get("role") not in ("user", "model", "function"):
        yield f"{i}: the role {message.get('role')}"
    if not isinstance(message.get("parts"), list) or not message["parts"]:
        yield f"{i}: no parts"
    if unknown := sorted(set(message) - {"role", "parts"}):
        yield f"{i}: the keys {unknown}"
    for k, part in enumerate(WIRE.parts(message)):
        keys = {_camel(key) for key in part}
        if not keys & set(_DATA):
            yield f"{i}: part {k} is empty"
        if unknown := sorted(keys - {*_DATA, *_BESIDE}):
            yield f"{i}: the keys {unknown} in part {k}"
        for key in ("functionCall", "functionResponse"):
            if (tool := _tool(part, key)) is not None and not tool[1]:
                yield f"{i}: a {key} without a name in part {k}"
    if _SURROGATE.search("\n".join(common.strings(message))):
        yield f"{i}: half of a surrogate pair"


def _signatures(messages: Sequence[Message]) -> Iterator[str]:
    """Of the calls of one step the first is signed, if any."""
    for turn in WIRE.turns(messages):
        calls = [(i, part) for i in turn for part in WIRE.parts(messages[i]) if _call(part) is not None]
        signed = [bool(_get(part, "thoughtSignature")) for _, part in calls]
        if any(signed) and not signed[0]:
            yield f"{calls[0][0]}: a later call is signed, the first one is not"


def problems(messages: Sequence[Message]) -> list[str]:
    """Every reason to refuse the array, each with the index of its message."""
    if not messages:
        return ["0: no message"]
    found = [problem for i, message in enumerate(messages) for problem in _one(i, message)]
    if not WIRE.is_plain(messages[0]):
        found.append("0: the first message is no plain user turn")
    return [*found, *common.pairing(WIRE, messages)[0], *_signatures(messages)]


def is_live(messages: Sequence[Message]) -> bool:
    """Whether the last model turn waits for results."""
    return common.pairing(WIRE, messages)[1]


def is_sound(messages: Sequence[Message]) -> bool:
    return not problems(messages)


# The writer


def _snake(key: str) -> str:
    return "".join("_" + sign.lower() if sign.isupper() else sign for sign in key)


class _Writer:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.messages: list[Message] = []
        self.ids = common.Ids(random, "fc-")
        self.named = random.choice((False, False, True, True))
        self.echoes = random.random() < 0.7
        self.spell = random.choice((str, str, _snake))
        self.results_role = random.choice(("user", "user", "user", "function"))
        self.signs = random.random() < 0.6

    def chance(self, n: int) -> bool:
        return self.random.randrange(n) == 0

    def part(self, key: str, value: Any) -> Part:
        return {self.spell(key): value}

    def picture(self) -> Part:
        mime = self.random.choice(("image/png", "image/png", "application/pdf"))
        if self.chance(3):
            return self.part("fileData", {self.spell("mimeType"): mime, self.spell("fileUri"): "u:picture"})
        return self.part("inlineData", {self.spell("mimeType"): mime, "data": common.data(self.random)})

    def user(self) -> None:
        parts = [_text(common.text(self.random)) for _ in range(self.random.choice((1, 1, 1, 2)))]
        if self.chance(5):
            parts.insert(self.random.randrange(len(parts) + 1), self.picture())
        self.messages.append({"role": "user", "parts": parts})

    def signature(self) -> Part:
        return self.part("thoughtSignature", common.data(self.random)) if self.signs else {}

    def thoughts(self) -> list[Part]:
        return [{"text": common.text(self.random), "thought": True}] if self.chance(4) else []

    def speech(self) -> list[Part]:
        if self.signs and self.chance(8):
            return [_text(common.text(self.random)), {"text": ""} | self.signature()]
        return [_text(common.text(self.random)) | (self.signature() if self.chance(3) else {})]

    def model(self, parts: list[Part]) -> None:
        if len(parts) > 1 and self.chance(10):
            at = self.random.randrange(1, len(parts))
            self.messages += [{"role": "model", "parts": parts[:at]}, {"role": "model", "parts": parts[at:]}]
        else:
            self.messages.append({"role": "model", "parts": parts})

    def calls(self) -> list[Part]:
        size = common.sizes(self.random)
        names = self.ids.batch(size)
        calls: list[Part] = []
        for k in range(size):
            call: Part = {"name": self.random.choice(common.NAMES), "args": common.arguments(self.random)}
            if not call["args"] and self.chance(2):
                del call["args"]
            if self.named:
                call["id"] = names[k]
            calls.append(self.part("functionCall", call) | (self.signature() if k == 0 else {}))
        return calls

    def response(self) -> dict[str, Any]:
        said = common.result_text(self.random)
        return self.random.choice(
            [
                {self.random.choice(("output", "result", "error", "content")): said},
                {"output": said},
                {"output": ""},
                {},
                {"output": {"lines": [said, 1, None], "ok": True}},
                {"status": "ok", "items": [{"name": common.text(self.random, 4), "n": n} for n in range(self.random.randrange(5))]},
                {"count": 3},
            ]
        )

    def result(self, call: Part) -> Part:
        called = _get(call, "functionCall")
        result: Part = {"name": called["name"], "response": self.response()}
        if "id" in called and self.echoes:
            result["id"] = called["id"]
        if self.chance(10):
            result["parts"] = [self.part("inlineData", {self.spell("mimeType"): "image/png", "data": common.data(self.random)})]
        return self.part("functionResponse", result)

    def results(self, calls: Sequence[Part], *, live: bool = False) -> None:
        order = list(calls)
        if self.named and self.echoes and self.chance(2):
            self.random.shuffle(order)
        if live:
            order = order[: self.random.randrange(len(order))]
        parts = [self.result(call) for call in order]
        if len(parts) > 1 and self.chance(10):
            self.messages += [{"role": self.results_role, "parts": [part]} for part in parts]
        elif parts:
            self.messages.append({"role": self.results_role, "parts": parts})
        if parts and not live and self.chance(8):
            self.messages[-1]["parts"].append(self.picture() if self.chance(3) else _text(common.text(self.random)))

    def step(self, *, live: bool = False) -> None:
        calls = self.calls()
        self.model([*self.thoughts(), *(self.speech() if self.chance(3) else []), *calls])
        self.results(calls, live=live)


def history(random: Random, *, turns: int, live: bool = False) -> list[Message]:
    """A sound history with so many plain user turns, in which agents work for long now and then."""
    writer = _Writer(random)
    for turn in range(turns):
        writer.user()
        if writer.chance(12):
            writer.user()
        for _ in range(common.steps(random)):
            writer.step()
        if turn == turns - 1 and live:
            writer.step(live=True)
        elif not writer.chance(4):
            writer.model([*writer.thoughts(), *writer.speech()])
    return writer.messages


# Damage


def _some(messages: list[Message], random: Random, key: str) -> Part | None:
    found = [part for message in messages for part in WIRE.parts(message) if _get(part, key) is not None]
    return random.choice(found) if found else None


def _empty_text(messages: list[Message], random: Random) -> bool:
    if (part := _some(messages, random, "text")) is None:
        return False
    part.clear()
    part["text"] = ""
    return True


def _empty_part(messages: list[Message], random: Random) -> bool:
    random.choice(messages)["parts"].append({})
    return True


def _unknown_key(messages: list[Message], random: Random) -> bool:
    random.choice(messages)["timestamp"] = 1
    return True


def _unknown_part_key(messages: list[Message], random: Random) -> bool:
    random.choice(random.choice(messages)["parts"])["type"] = "text"
    return True


def _surrogate(messages: list[Message], random: Random) -> bool:
    messages[0]["parts"].append(_text("cut here: \ud83d"))
    return True


def _nameless(messages: list[Message], random: Random) -> bool:
    if (part := _some(messages, random, "functionCall")) is None:
        return False
    _get(part, "functionCall")["name"] = ""
    return True


def _other_name(messages: list[Message], random: Random) -> bool:
    found = [pair for pair in common.settled(WIRE, messages) if not pair.call.id]
    if not found:
        return False
    result = random.choice(found).result
    _get(messages[result.message]["parts"][result.part], "functionResponse")["name"] = "other"
    return True


def _unsigned_first(messages: list[Message], random: Random) -> bool:
    found = []
    for i, message in enumerate(messages):
        calls = [k for k, part in enumerate(WIRE.parts(message)) if _call(part) is not None]
        if len(calls) > 1 and _get(message["parts"][calls[0]], "thoughtSignature"):
            found.append((i, calls))
    if not found:
        return False
    i, calls = random.choice(found)
    parts = messages[i]["parts"]
    parts[calls[0]], parts[calls[-1]] = parts[calls[-1]], parts[calls[0]]
    return True


def _drop_signatures(messages: list[Message], random: Random) -> bool:
    found = False
    for message in messages:
        for part in WIRE.parts(message):
            if part.get("text") != "" and _get(part, "thoughtSignature"):
                part.pop("thoughtSignature", None)
                part.pop("thought_signature", None)
                found = True
    return found


def _drop_thoughts(messages: list[Message], random: Random) -> bool:
    found = False
    for message in messages:
        rest = [part for part in WIRE.parts(message) if not part.get("thought")]
        if rest and len(rest) < len(message["parts"]):
            message["parts"] = rest
            found = True
    return found


def _drop_ids(messages: list[Message], random: Random) -> bool:
    if any(pair.call.name != pair.result.name for pair in common.settled(WIRE, messages)):
        return False
    found = False
    for message in messages:
        for part in WIRE.parts(message):
            inner = _get(part, "functionCall") or _get(part, "functionResponse")
            found = bool(inner and inner.pop("id", None)) or found
    return found


_DAMAGES: dict[str, common.Damage] = common.damages(WIRE) | {
    damage.__name__.lstrip("_"): damage
    for damage in (
        *(_empty_text, _empty_part, _unknown_key, _unknown_part_key, _surrogate, _nameless, _other_name, _unsigned_first),
        *(_drop_signatures, _drop_thoughts, _drop_ids),
    )
}
DAMAGES = tuple(_DAMAGES)
HARMLESS = common.HARMLESS | {"drop_signatures", "drop_thoughts", "drop_ids", "empty_text"}
"""What changes nothing for the pairs; signatures are wanted by newer models only, and an empty text is no empty part."""


def breakages(messages: Sequence[Message], random: Random) -> tuple[str, list[Message]]:
    """The name of a damage and a damaged copy."""
    return common.broken(_DAMAGES, messages, random)


# Texts and sizes


def _texts(part: Part) -> list[str]:
    if isinstance(part.get("text"), str):
        return [part["text"]]
    if (call := _get(part, "functionCall")) is not None:
        return [common.compact(call["args"])] if call.get("args") is not None else []
    if (result := _get(part, "functionResponse")) is not None:
        return [common.json_text(result["response"])] if result.get("response") is not None else []
    return []


def pieces(messages: Sequence[Message]) -> list[tuple[str, ...]]:
    """What can be read in each message; a call is its name, a blank and its arguments."""
    found: list[tuple[str, ...]] = []
    for message in messages:
        texts: list[str] = []
        for part in WIRE.parts(message):
            call = _get(part, "functionCall")
            texts += _texts(part) if call is None else [f"{call.get('name')} {common.compact(call.get('args') or {})}"]
        found.append(tuple(texts))
    return found


def size_chars(messages: Sequence[Message]) -> int:
    return sum(len(text) for message in messages for part in WIRE.parts(message) for text in _texts(part))


def _media(part: Part) -> int:
    media = _get(part, "inlineData") or _get(part, "fileData")
    if media is not None:
        kind = str(_get(media, "mimeType") or "").partition("/")[0]
        return {"image": common.IMAGE, "audio": common.AUDIO}.get(kind, common.FILE)
    result = _get(part, "functionResponse") or {}
    return sum(map(_media, result.get("parts") or ()))


def size_tokens(messages: Sequence[Message], count: Count) -> int:
    """The messages without what a request costs as such; every picture at the flat figure."""
    total = 0
    for message in messages:
        total += common.MESSAGE + count(message["role"])
        for part in WIRE.parts(message):
            total += sum(map(count, _texts(part))) + count(_get(part, "thoughtSignature") or "") + _media(part)
            if (call := _call(part)) is not None:
                total += common.CALL + count(call[1])
            if _result(part) is not None:
                total += common.RESULT
    return total
