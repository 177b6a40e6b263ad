"""Anthropic Messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from wires import common
from wires.common import Count, Message, Part

FORMAT = "anthropic"
SERVER_CALLS = ("server_tool_use", "mcp_tool_use")
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_MODEL_ONLY = ("tool_use", "server_tool_use", "mcp_tool_use", "thinking", "redacted_thinking", "compaction")


def _call(part: Part) -> tuple[str, str] | None:
    return (part.get("id") or "", part.get("name") or "") if part.get("type") == "tool_use" else None


def _result(part: Part) -> tuple[str, str] | None:
    return (part.get("tool_use_id") or "", "") if part.get("type") == "tool_result" else None


def _rename(part: Part, name: str) -> None:
    part["id" if part["type"] == "tool_use" else "tool_use_id"] = name


def _text(text: str) -> Part:
    return {"type": "text", "text": text}


WIRE = common.Wire("assistant", "content", ("user",), _call, _result, _text, _rename)


def is_server_result(part: Part) -> bool:
    kind = part.get("type")
    return isinstance(kind, str) and kind.endswith("_tool_result")


# The judge


def _one(i: int, message: Message, is_last: bool) -> Iterator[str]:
    role, content = message.get("role"), message.get("content")
    if role not in ("user", "assistant", "system"):
        yield f"{i}: the role {role}"
    if not content and not (is_last and role == "assistant"):
        yield f"{i}: no content"
    if isinstance(content, str) and content and not content.strip():
        yield f"{i}: blank content"
    for k, part in enumerate(WIRE.parts(message)):
        kind = part.get("type")
        if kind == "text" and not (part.get("text") or "").strip():
            yield f"{i}: part {k} is a blank text"
        if kind == "compaction" and (k or part.get("content") == ""):
            yield f"{i}: part {k} is a compaction that is empty or not the first part"
        if kind in _MODEL_ONLY and role != "assistant":
            yield f"{i}: {kind} in the role {role}"
        if is_server_result(part) and role != "assistant":
            yield f"{i}: {kind} in the role {role}"
        if kind == "tool_use" or kind in SERVER_CALLS:
            if not _ID.fullmatch(part.get("id") or ""):
                yield f"{i}: the id {part.get('id')!r} of a call"
            if not isinstance(part.get("input"), dict):
                yield f"{i}: the input of a call is no object"
        if (kind == "tool_result" or is_server_result(part)) and not _ID.fullmatch(part.get("tool_use_id") or ""):
            yield f"{i}: the id {part.get('tool_use_id')!r} of a result"
        if kind == "tool_result" and part.get("is_error") and not part.get("content"):
            yield f"{i}: an error without content"


def _marks(messages: Sequence[Message]) -> Iterator[str]:
    marks = 0
    for i, message in enumerate(messages):
        for part in WIRE.parts(message):
            if part.get("cache_control"):
                marks += 1
                if part.get("type") in ("thinking", "redacted_thinking"):
                    yield f"{i}: a cache mark on {part['type']}"
                if marks == 5:
                    yield f"{i}: the fifth cache mark"
            inner = part.get("content")
            if part.get("type") == "tool_result" and isinstance(inner, list) and any(block.get("cache_control") for block in inner):
                yield f"{i}: a cache mark inside a result"


def _systems(messages: Sequence[Message]) -> Iterator[str]:
    for i, message in enumerate(messages):
        if message.get("role") != "system":
            continue
        behind = next((j for j in range(i, len(messages)) if messages[j].get("role") != "system"), len(messages))
        if behind < len(messages) and messages[behind].get("role") != "assistant":
            yield f"{i}: a system message that stands neither before an assistant message nor at the end"


def _server(messages: Sequence[Message]) -> tuple[list[str], bool]:
    """Server calls and their results, and whether one is waited for.

    A call that stands beside client-side calls is answered at the front of the next model turn, or later, as long as the
    code that it runs calls again.
    """
    found: list[str] = []
    open_calls: dict[str, tuple[int, str]] = {}
    turns = WIRE.turns([m for m in messages if m.get("role") != "system"])
    places = [i for i, m in enumerate(messages) if m.get("role") != "system"]
    live = WIRE.last_model([messages[i] for i in places])
    for turn in turns:
        first = places[turn[0]]
        parts = [(places[i], part) for i in turn for part in WIRE.parts(messages[places[i]])]
        if messages[first].get("role") != "assistant":
            if not any(WIRE.result(part) for _, part in parts) or any(WIRE.is_plain(messages[places[i]]) for i in turn):
                found += [f"{i}: the server call {call} is not answered" for call, (i, _) in open_calls.items()]
                open_calls = {}
            continue
        carried = set(open_calls)
        seen: set[str] = set()
        for i, part in parts:
            if part.get("type") in SERVER_CALLS:
                if part.get("id") in seen:
                    found.append(f"{i}: the server id {part.get('id')} twice in one turn")
                seen.add(part.get("id") or "")
                open_calls[part.get("id") or ""] = (i, part["type"])
            elif is_server_result(part):
                name = part.get("tool_use_id") or ""
                family = "mcp_tool_use" if part["type"] == "mcp_tool_result" else "server_tool_use"
                if open_calls.get(name, (0, ""))[1] == family:
                    del open_calls[name]
                else:
                    found.append(f"{i}: the server result {name} answers no open call")
        calls = [part for _, part in parts if part.get("type") == "tool_use"]
        callers = {(part.get("caller") or {}).get("tool_id") for part in calls}
        for name in list(open_calls):
            if turn[0] != live and (name not in callers if name in carried else not calls):
                found.append(f"{open_calls.pop(name)[0]}: the server call {name} is not answered")
    return found, bool(open_calls)


def problems(messages: Sequence[Message]) -> list[str]:
    """Every reason to refuse the array, each with the index of its message."""
    if not messages:
        return ["0: no message"]
    if len(messages) > 100_000:
        return ["100000: more messages than are taken"]
    found = [problem for i, message in enumerate(messages) for problem in _one(i, message, i == len(messages) - 1)]
    if not WIRE.is_plain(messages[0]):
        found.append("0: the first message is no plain user turn")
    return [*found, *common.pairing(WIRE, messages)[0], *_server(messages)[0], *_systems(messages), *_marks(messages)]


def is_live(messages: Sequence[Message]) -> bool:
    """Whether the last model turn waits for results."""
    return common.pairing(WIRE, messages)[1] or _server(messages)[1]


def is_sound(messages: Sequence[Message]) -> bool:
    return not problems(messages)


# The writer

_SERVERS: dict[str, tuple[str, Callable[[Random], Any]]] = {
    "web_search": (
        "web_search_tool_result",
        lambda random: [
            {"type": "web_search_result", "title": common.text(random, 4), "url": "u:1", "encrypted_content": common.data(random)}
            for _ in range(random.randrange(3))
        ],
    ),
    "web_fetch": (
        "web_fetch_tool_result",
        lambda random: {"type": "web_fetch_tool_result_error", "error_code": "url_not_accessible"},
    ),
    "code_execution": (
        "code_execution_tool_result",
        lambda random: {"type": "code_execution_result", "stdout": common.text(random), "stderr": "", "return_code": 0, "content": []},
    ),
    "tool_search_tool_bm25": (
        "tool_search_tool_result",
        lambda random: {"type": "tool_search_tool_search_result", "tool_references": [{"type": "tool_reference", "tool_name": "search"}]},
    ),
}


class _Writer:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.messages: list[Message] = []
        self.ids = common.Ids(random, random.choice(("toolu_01", "call_", "functions-x_")))
        self.server_ids = 0
        self.marks = random.choice((0, 0, 1, 4))
        self.thinks = random.random() < 0.6
        self.serves = random.random() < 0.4
        self.mixes = random.random() < 0.5

    def chance(self, n: int) -> bool:
        return self.random.randrange(n) == 0

    def mark(self, part: Part) -> Part:
        if self.marks and self.chance(6):
            self.marks -= 1
            part["cache_control"] = {"type": "ephemeral"}
        return part

    def image(self) -> Part:
        if self.chance(2):
            return {"type": "image", "source": {"type": "url", "url": "u:picture"}}
        return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": common.data(self.random)}}

    def document(self) -> Part:
        return {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": common.data(self.random)}}

    def user(self) -> None:
        if self.chance(2):
            self.messages.append({"role": "user", "content": common.text(self.random)})
            return
        parts = [self.mark(_text(common.text(self.random))) for _ in range(self.random.randrange(1, 3))]
        if self.chance(4):
            parts.insert(self.random.randrange(len(parts) + 1), self.random.choice((self.image, self.document))())
        self.messages.append({"role": "user", "content": parts})

    def thinking(self) -> list[Part]:
        if not self.thinks or self.chance(3):
            return []
        if self.chance(5):
            return [{"type": "redacted_thinking", "data": common.data(self.random)}]
        thought = "" if self.chance(5) else common.text(self.random)
        return [{"type": "thinking", "thinking": thought, "signature": common.data(self.random)}]

    def speech(self) -> list[Part]:
        part = _text(common.text(self.random))
        return [self.mark(part | {"citations": []} if self.chance(8) else part)]

    def server(self) -> tuple[Part, Part]:
        self.server_ids += 1
        if self.chance(4):
            name = f"mcptoolu_{self.server_ids}"
            call = {"type": "mcp_tool_use", "id": name, "name": "ask", "server_name": "wiki", "input": common.arguments(self.random)}
            content = common.text(self.random) if self.chance(2) else [_text(common.text(self.random))]
            return call, {"type": "mcp_tool_result", "tool_use_id": name, "is_error": False, "content": content}
        name = f"srvtoolu_{self.server_ids}"
        tool = self.random.choice(list(_SERVERS))
        kind, found = _SERVERS[tool]
        call = {"type": "server_tool_use", "id": name, "name": tool, "input": common.arguments(self.random)}
        return call, {"type": kind, "tool_use_id": name, "content": found(self.random)}

    def model(self, parts: list[Part]) -> None:
        """One message, or two in a row."""
        if len(parts) > 1 and self.chance(8):
            at = self.random.randrange(1, len(parts))
            self.messages += [{"role": "assistant", "content": parts[:at]}, {"role": "assistant", "content": parts[at:]}]
        else:
            self.messages.append({"role": "assistant", "content": parts})

    def calls(self, caller: Part | None = None) -> list[Part]:
        names = self.ids.batch(common.sizes(self.random))
        calls: list[Part] = [
            {"type": "tool_use", "id": name, "name": self.random.choice(common.NAMES), "input": common.arguments(self.random)}
            for name in names
        ]
        if caller is None and self.chance(4):
            caller = {"type": "direct"}
        for call in calls:
            self.mark(call)
            if caller is not None:
                call["caller"] = caller
        return calls

    def result(self, name: str) -> Part:
        result: Part = {"type": "tool_result", "tool_use_id": name}
        match self.random.randrange(10):
            case 0:
                result["content"] = ""
            case 1:
                pass
            case 2 | 3:
                result["content"] = [_text(common.result_text(self.random)) for _ in range(self.random.randrange(1, 3))]
            case 4:
                result["content"] = [_text(common.text(self.random)), self.image()]
            case 5:
                result["content"] = [self.random.choice((self.image, self.document))()]
            case 6:
                result["content"] = [{"type": "tool_reference", "tool_name": name} for name in common.NAMES[: self.random.randrange(1, 3)]]
            case _:
                result["content"] = common.result_text(self.random)
        if result.get("content") and self.chance(5):
            result["is_error"] = True
        elif self.chance(4):
            result["is_error"] = False
        return self.mark(result)

    def results(self, calls: Sequence[Part], *, live: bool = False, alone: bool = False) -> None:
        names = [call["id"] for call in calls]
        if self.chance(2):
            self.random.shuffle(names)
        if live:
            names = names[: self.random.randrange(len(names))]
        parts = [self.result(name) for name in names]
        if len(parts) > 1 and self.chance(5):
            self.messages += [{"role": "user", "content": [part]} for part in parts]
        elif parts:
            self.messages.append({"role": "user", "content": parts})
        if parts and not live and not alone and self.mixes and self.chance(4):
            behind = [self.image(), _text(common.text(self.random))] if self.chance(4) else [_text(common.text(self.random))]
            self.messages[-1]["content"] += behind
        if parts and not live and self.chance(20):
            self.system()

    def system(self) -> None:
        offered = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": self.random.choice(common.NAMES)}}
        content = self.random.choice((common.text(self.random), [_text(common.text(self.random))], [offered]))
        self.messages.append({"role": "system", "content": content})

    def step(self) -> None:
        """A model turn with calls, and what they bring."""
        said = self.thinking() + (self.speech() if self.chance(2) else [])
        if not self.serves or self.chance(2):
            calls = self.calls()
            self.model(said + calls)
            self.results(calls)
            return
        call, result = self.server()
        match self.random.randrange(4):
            case 0:
                calls = self.calls()
                self.model([*said, call, result, *calls])
                self.results(calls)
            case 1:
                self.messages += [
                    {"role": "assistant", "content": [*said, call]},
                    {"role": "assistant", "content": [result, *self.speech()]},
                ]
                calls = self.calls()
                self.model(calls)
                self.results(calls)
            case 2:
                calls = self.calls()
                self.model([*said, call, *calls])
                self.results(calls, alone=True)
                self.model([result, *self.speech()])
            case _:
                self.program(said)

    def program(self, said: list[Part]) -> None:
        """Code that calls tools, once or more often, before it is done."""
        self.server_ids += 1
        name = f"srvtoolu_{self.server_ids}"
        call = {"type": "server_tool_use", "id": name, "name": "code_execution", "input": {"code": "print(await search())"}}
        parts = [*said, call]
        for _ in range(self.random.choice((1, 1, 2))):
            calls = self.calls({"type": "code_execution_20250825", "tool_id": name})
            self.messages.append({"role": "assistant", "content": parts + calls})
            self.results(calls, alone=True)
            parts = []
        kind, content = _SERVERS["code_execution"]
        self.model([{"type": kind, "tool_use_id": name, "content": content(self.random)}, *self.speech()])

    def answer(self) -> None:
        if self.chance(6):
            self.messages.append({"role": "assistant", "content": common.text(self.random)})
            return
        server = list(self.server()) if self.serves and self.chance(3) else []
        self.model([*self.thinking(), *server, *self.speech()])

    def live(self) -> None:
        said = self.thinking() + (self.speech() if self.chance(2) else [])
        if self.serves and self.chance(2):
            call, _ = self.server()
            calls = self.calls() if self.chance(2) else []
            self.model([*said, call, *calls])
            if calls:
                self.results(calls, live=self.chance(2), alone=True)
                while self.messages[-1]["role"] == "system":
                    self.messages.pop()
            return
        calls = self.calls()
        self.model(said + calls)
        self.results(calls, live=True)


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
            writer.live()
        elif not writer.chance(4):
            writer.answer()
        elif turn < turns - 1 and writer.messages[-1]["role"] == "system":
            writer.messages.pop()
    return writer.messages


# Damage


def _at(messages: list[Message], random: Random, fits: Callable[[Message, Part], bool]) -> tuple[Message, int] | None:
    found = [(message, k) for message in messages for k, part in enumerate(WIRE.parts(message)) if fits(message, part)]
    return random.choice(found) if found else None


def _blank_text(messages: list[Message], random: Random) -> bool:
    if (found := _at(messages, random, lambda _, part: part["type"] == "text")) is None:
        return False
    found[0]["content"][found[1]]["text"] = random.choice(("", " ", "\n\t"))
    return True


def _blank_string(messages: list[Message], random: Random) -> bool:
    strings = [message for message in messages[:-1] if isinstance(message["content"], str)]
    if not strings:
        return False
    random.choice(strings)["content"] = random.choice(("", " ", "\n"))
    return True


def _bad_id(messages: list[Message], random: Random) -> bool:
    found = common.settled(WIRE, messages)
    if not found:
        return False
    pair = random.choice(found)
    for tool in pair:
        _rename(messages[tool.message]["content"][tool.part], "functions.read:0")
    return True


def _missing_id(messages: list[Message], random: Random) -> bool:
    if (found := _at(messages, random, lambda _, part: part["type"] == "tool_use")) is None:
        return False
    del found[0]["content"][found[1]]["id"]
    return True


def _string_input(messages: list[Message], random: Random) -> bool:
    if (found := _at(messages, random, lambda _, part: part["type"] == "tool_use")) is None:
        return False
    found[0]["content"][found[1]]["input"] = "{}"
    return True


def _empty_error(messages: list[Message], random: Random) -> bool:
    if (found := _at(messages, random, lambda _, part: part["type"] == "tool_result")) is None:
        return False
    found[0]["content"][found[1]] |= {"content": "", "is_error": True}
    return True


def _five_marks(messages: list[Message], random: Random) -> bool:
    texts = [part for message in messages for part in WIRE.parts(message) if part["type"] in ("text", "tool_use", "tool_result")]
    if len(texts) < 5:
        return False
    for part in random.sample(texts, 5):
        part["cache_control"] = {"type": "ephemeral"}
    return True


def _marked_thinking(messages: list[Message], random: Random) -> bool:
    if (found := _at(messages, random, lambda _, part: part["type"] == "thinking")) is None:
        return False
    found[0]["content"][found[1]]["cache_control"] = {"type": "ephemeral"}
    return True


def _system_first(messages: list[Message], random: Random) -> bool:
    messages.insert(0, {"role": "system", "content": "Be brief."})
    return True


def _system_between(messages: list[Message], random: Random) -> bool:
    found = common.settled(WIRE, messages)
    if not found:
        return False
    messages.insert(random.choice(found).result.message, {"role": "system", "content": "Be brief."})
    return True


def _system_before_user(messages: list[Message], random: Random) -> bool:
    users = [i for i, message in enumerate(messages) if i and WIRE.is_plain(message) and messages[i - 1]["role"] == "assistant"]
    if not users:
        return False
    messages.insert(random.choice(users), {"role": "system", "content": "Be brief."})
    return True


def _drop_server_result(messages: list[Message], random: Random) -> bool:
    plain = max((i for i, message in enumerate(messages) if WIRE.is_plain(message)), default=0)
    if (found := _at(messages[:plain], random, lambda _, part: is_server_result(part))) is None:
        return False
    message, k = found
    del message["content"][k]
    if not message["content"]:
        messages[:] = [other for other in messages if other is not message]
    return True


def _drop_server_call(messages: list[Message], random: Random) -> bool:
    answered = {part["tool_use_id"] for message in messages for part in WIRE.parts(message) if is_server_result(part)}
    if (found := _at(messages, random, lambda _, part: part["type"] in SERVER_CALLS and part["id"] in answered)) is None:
        return False
    message, k = found
    del message["content"][k]
    if not message["content"]:
        messages[:] = [other for other in messages if other is not message]
    return True


def _server_result_in_user(messages: list[Message], random: Random) -> bool:
    messages[0] = {"role": "user", "content": [{"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}]}
    return True


def _thinking_in_user(messages: list[Message], random: Random) -> bool:
    messages[0] = {"role": "user", "content": [{"type": "thinking", "thinking": "Hm.", "signature": "Eq=="}, _text("Go.")]}
    return True


def _drop_thinking(messages: list[Message], random: Random) -> bool:
    users = [i for i, message in enumerate(messages) if WIRE.is_plain(message)]
    found = False
    for message in messages[: users[-1]]:
        rest = [part for part in WIRE.parts(message) if part["type"] not in ("thinking", "redacted_thinking")]
        if rest and len(rest) < len(WIRE.parts(message)):
            message["content"] = rest
            found = True
    return found


_DAMAGES: dict[str, common.Damage] = common.damages(WIRE) | {
    damage.__name__.lstrip("_"): damage
    for damage in (
        *(_blank_text, _blank_string, _bad_id, _missing_id, _string_input, _empty_error, _five_marks, _marked_thinking, _system_first),
        *(_system_between, _system_before_user, _drop_server_result, _drop_server_call, _server_result_in_user, _thinking_in_user),
        _drop_thinking,
    )
}
DAMAGES = tuple(_DAMAGES)
HARMLESS = common.HARMLESS | {"drop_thinking"}


def breakages(messages: Sequence[Message], random: Random) -> tuple[str, list[Message]]:
    """The name of a damage and a damaged copy."""
    return common.broken(_DAMAGES, messages, random)


# Texts and sizes


def _read(content: Any) -> list[str]:
    """The texts of a result."""
    if isinstance(content, str):
        return [content]
    blocks = content if isinstance(content, list) else [content] if isinstance(content, dict) else []
    found: list[str] = []
    for block in blocks:
        if isinstance(block, str):
            found.append(block)
        elif isinstance(block, dict):
            found += [block[key] for key in ("text", "title", "url", "stdout", "stderr") if isinstance(block.get(key), str)]
            if block.get("type") == "search_result":
                found += _read(block.get("content"))
    return found


def _texts(part: Part) -> list[str]:
    kind = part.get("type")
    if kind == "tool_result" or is_server_result(part):
        return _read(part.get("content"))
    if kind == "tool_use" or kind in SERVER_CALLS:
        return [common.compact(part["input"])] if part.get("input") is not None else []
    return [part[kind]] if kind in ("text", "thinking") and isinstance(part.get(kind), str) else []


def _message_texts(message: Message) -> list[str]:
    content = message.get("content")
    return [content] if isinstance(content, str) else [text for part in WIRE.parts(message) for text in _texts(part)]


def pieces(messages: Sequence[Message]) -> list[tuple[str, ...]]:
    """What can be read in each message; a call is its name, a blank and its arguments."""
    found: list[tuple[str, ...]] = []
    for message in messages:
        texts = [message["content"]] if isinstance(message.get("content"), str) else []
        for part in WIRE.parts(message):
            is_call = part.get("type") == "tool_use" or part.get("type") in SERVER_CALLS
            texts += [f"{part.get('name')} {text}" for text in _texts(part)] if is_call else _texts(part)
        found.append(tuple(texts))
    return found


def size_chars(messages: Sequence[Message]) -> int:
    return sum(len(text) for message in messages for text in _message_texts(message))


def _opaque(part: Part) -> Iterator[str]:
    if part.get("type") == "thinking" and part.get("signature"):
        yield part["signature"]
    if part.get("type") == "redacted_thinking" and part.get("data"):
        yield part["data"]
    content = part.get("content")
    if is_server_result(part) and isinstance(content, list):
        yield from (block["encrypted_content"] for block in content if isinstance(block, dict) and block.get("encrypted_content"))


def _media(parts: Any) -> int:
    blocks = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    own = {"image": common.IMAGE, "document": common.FILE}
    return sum(own.get(part.get("type", ""), 0) + (_media(part.get("content")) if _result(part) else 0) for part in blocks)


def size_tokens(messages: Sequence[Message], count: Count) -> int:
    """The messages without what a request costs as such; every picture at the flat figure."""
    total = 0
    for message in messages:
        total += common.MESSAGE + count(message["role"]) + sum(map(count, _message_texts(message))) + _media(message.get("content"))
        for part in WIRE.parts(message):
            kind = part.get("type")
            if kind == "tool_use" or kind in SERVER_CALLS:
                total += common.CALL + count(part.get("name") or "")
            if kind == "tool_result" or is_server_result(part):
                total += common.RESULT
            total += sum(map(count, _opaque(part)))
    return total
