"""OpenAI Responses: a flat list of items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
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
    arguments,
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

FORMAT = "openai-responses"
HARMLESS = frozenset({"late_result", "no_reasoning"})
"""Damage that no rule forbids, or none that an array alone can show."""

_CALLS = {
    "function_call": "function",
    "custom_tool_call": "custom",
    "computer_call": "computer",
    "local_shell_call": "local_shell",
    "shell_call": "shell",
    "apply_patch_call": "apply_patch",
    "tool_search_call": "tool_search",
    "program": "program",
    "mcp_approval_request": "mcp_approval",
}
_RESULTS = {
    "function_call_output": "function",
    "custom_tool_call_output": "custom",
    "computer_call_output": "computer",
    "local_shell_call_output": "local_shell",
    "shell_call_output": "shell",
    "apply_patch_call_output": "apply_patch",
    "tool_search_output": "tool_search",
    "program_output": "program",
    "mcp_approval_response": "mcp_approval",
}
_HOSTED = ("mcp_call", "mcp_list_tools", "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call")
_ROLES = ("user", "assistant", "system", "developer")


def _type(item: Any) -> str:
    return str(get(item, "type") or "message")


def _is_server(item: Any) -> bool:
    """A tool search that the server runs: nobody else answers it, and its output may be absent."""
    return bool(get(item, "execution") == "server")


def _needs_output(item: Any) -> bool:
    environment = get(get(item, "environment", {}), "type", "")
    return not _is_server(item) and not (_type(item) == "shell_call" and str(environment).startswith("container"))


def _family(item: Any, table: dict[str, str]) -> str:
    family = table[_type(item)]
    return f"{family}/{get(item, 'execution', 'client')}" if family == "tool_search" else family


def _call_tie(item: Any) -> Tie:
    if _type(item) == "mcp_approval_request":
        return tie("mcp_approval", get(item, "id"))
    ids = [get(item, "call_id")] + ([get(item, "id")] if _type(item) == "local_shell_call" else [])
    return tie(_family(item, _CALLS), *ids)


def _result_tie(item: Any) -> Tie:
    if _type(item) == "mcp_approval_response":
        return tie("mcp_approval", get(item, "approval_request_id"))
    ids = [get(item, "call_id")] + ([get(item, "id")] if _type(item) == "local_shell_call_output" else [])
    return tie(_family(item, _RESULTS), *ids)


def _is_result(item: Any) -> bool:
    return _type(item) in _RESULTS and not (_type(item) == "tool_search_output" and _is_server(item))


def _is_model(item: Any) -> bool:
    kind = _type(item)
    if kind == "message":
        return bool(get(item, "role") == "assistant")
    return (
        kind in _CALLS
        or kind in _HOSTED
        or kind in ("reasoning", "compaction", "item_reference")
        or (kind in _RESULTS and not _is_result(item))
    )


def _walk(items: Sequence[Any]) -> tuple[list[str], bool]:
    """Pairs calls and outputs in order: what is wrong, and whether the end is live."""
    found: list[str] = []
    opened: list[tuple[int, int, Tie]] = []  # index, turn, tie
    turn, unseen = 0, 0
    in_turn: list[Tie] = []
    for index, item in enumerate(items):
        kind = _type(item)
        if not _is_model(item):
            turn, in_turn = turn + 1, []
        if kind == "item_reference":
            unseen += 1
        if kind in _CALLS:
            call = _call_tie(item)
            if not call.ids and not call.family.startswith("tool_search"):
                found.append(f"item {index}: {kind} without id")
            if any(set(call.ids) & set(other.ids) and call.family == other.family for other in in_turn):
                found.append(f"item {index}: id {call.ids[0]} is given twice in one turn")
            in_turn.append(call)
            for old in [o for o in opened if o[2].family == call.family and set(o[2].ids) & set(call.ids)]:
                opened.remove(old)
                if _needs_output(items[old[0]]):
                    found.append(f"item {old[0]}: {_type(items[old[0]])} has no output before its id is used anew")
            opened.append((index, turn, call))
        elif kind in _RESULTS:
            result = _result_tie(item)
            match = next(
                (o for o in opened if o[2].family == result.family and (set(o[2].ids) & set(result.ids) or not (o[2].ids or result.ids))),
                None,
            )
            if not result.ids and not result.family.startswith("tool_search"):
                found.append(f"item {index}: {kind} without id")
            elif match is not None:
                opened.remove(match)
                if kind == "computer_call_output":
                    asked = {get(check, "id") for check in get(items[match[0]], "pending_safety_checks", ())}
                    if asked - {get(check, "id") for check in get(item, "acknowledged_safety_checks", ())}:
                        found.append(f"item {index}: a safety check of the call is not acknowledged")
            elif unseen:
                unseen -= 1  # the reference may stand for its call
            else:
                found.append(f"item {index}: {kind} answers no call")
    end = len(items)
    while end and _is_result(items[end - 1]):
        end -= 1
    start = end
    while start and _is_model(items[start - 1]):
        start -= 1
    callers = {get(get(item, "caller", {}), "caller_id") for item in items[start:end]}
    live = False
    for index, _, call in opened:
        if not _needs_output(items[index]):
            continue
        if start <= index < end or (call.family == "program" and callers & set(call.ids)):
            live = True
        else:
            found.append(f"item {index}: {_type(items[index])} has no output")
    return found, live


def _shape(items: Sequence[Any]) -> Iterator[str]:
    """What is wrong with items for themselves, and for their place."""
    for index, item in enumerate(items):
        kind = _type(item)
        behind = items[index + 1] if index + 1 < len(items) else None
        if kind == "message":
            if get(item, "role") not in _ROLES:
                yield f"item {index}: no such role"
            if get(item, "content") is None:
                yield f"item {index}: message without content"
        elif kind == "reasoning":
            if get(item, "summary") is None:
                yield f"item {index}: reasoning without summary"
            if behind is None or not _is_model(behind) or _type(behind) == "tool_search_output":
                yield f"item {index}: reasoning without the item that must follow it"
        elif kind == "compaction_trigger" and behind is not None:
            yield f"item {index}: compaction_trigger is not last"
        elif kind == "additional_tools" and get(item, "role") != "developer":
            yield f"item {index}: additional_tools is no developer's"
        elif kind == "mcp_call" and not _stands(items[:index], "mcp_approval_request", "id", get(item, "approval_request_id")):
            yield f"item {index}: mcp_call points to a request that is not there"
        if not _stands(items[:index], "program", "call_id", get(get(item, "caller", {}), "caller_id")):
            yield f"item {index}: a call of a program that is not there"


def _stands(items: Sequence[Any], kind: str, key: str, wanted: Any) -> bool:
    """Whether what is pointed to, if anything, is there."""
    return not wanted or any(_type(item) == kind and get(item, key) == wanted for item in items)


def problems(messages: Sequence[Any]) -> list[str]:
    """Every reason to refuse the input, a live end excepted."""
    if not messages:
        return ["no items"]
    return [*_shape(messages), *_walk(messages)[0]]


def is_live(messages: Sequence[Any]) -> bool:
    """Whether the last turn of the model waits for outputs, and nothing but outputs stands behind it."""
    return _walk(messages)[1]


def is_sound(messages: Sequence[Any]) -> bool:
    return not problems(messages)


# Sizes.


def _content(content: Any) -> Iterator[Piece]:
    if isinstance(content, str):
        yield from text_piece(content)
        return
    for part in content if isinstance(content, (list, tuple)) else [content] if content is not None else []:
        kind = get(part, "type", "")
        if isinstance(part, str):
            yield from text_piece(part)
        elif kind in ("input_image", "computer_screenshot", "image"):
            yield media("image", get(part, "detail") == "low")
        elif kind in ("input_file", "file"):
            yield media("file")
        elif kind == "input_audio":
            yield media("audio")
        else:
            for key in ("text", "refusal", "stdout", "stderr", "logs"):
                yield from text_piece(get(part, key))


def anatomy(item: Any) -> Iterator[Piece]:
    kind = _type(item)
    if get(item, "role"):
        yield Piece("role", name=str(get(item, "role")))
    if kind == "message":
        yield from _content(get(item, "content"))
    elif kind == "reasoning":
        yield Piece("frame", weight=3)
        yield from _content(get(item, "summary"))
        yield from _content(get(item, "content"))
        yield from sealed(get(item, "encrypted_content"))
    elif kind in ("compaction", "item_reference"):
        yield Piece("role")
        yield from sealed(get(item, "encrypted_content"))
    elif kind in _CALLS or kind in _HOSTED:
        keys = ("arguments", "input", "action", "actions", "operation", "code", "queries")
        given = next((get(item, key) for key in keys if get(item, key) is not None), None)
        yield Piece("call", plain(given), get(item, "name", ""))
        yield from sealed(get(item, "fingerprint"))
        yield from _content(get(item, "output"))
        yield from _content(get(item, "outputs"))
        yield from _content(get(item, "results"))
        if kind == "image_generation_call" and get(item, "result"):
            yield media("image")
    elif kind in _RESULTS:
        yield Piece("result")
        yield from _content(get(item, "output"))
        yield from text_piece(get(item, "result"))
    if get(item, "tools") is not None:
        yield from text_piece(compact(get(item, "tools")))


def size_chars(messages: Sequence[Any]) -> int:
    return sum(chars(anatomy(item)) for item in messages)


def size_tokens(messages: Sequence[Any], count: Count) -> int:
    """Tokens of the items alone, without the 3 of the request."""
    return sum(tokens(anatomy(item), count) for item in messages)


def pieces(messages: Sequence[Any]) -> list[tuple[str, ...]]:
    return [shown(anatomy(item)) for item in messages]


# Histories.


class _Maker:
    """Puts a plot into items."""

    def __init__(self, random: Random) -> None:
        self.random, self.count = random, 0
        self.thinks, self.server_ids = chance(random, 60), chance(random, 60)
        self.families = chance(random, 50)
        self.items: list[Message] = []

    def id(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}_{self.count:04d}"

    def said(self, role: str, text: str, last: bool = False) -> Message:
        random = self.random
        if role == "assistant":
            if chance(random, 40):
                return {"role": "assistant", "content": text}
            parts: list[Message] = [{"type": "output_text", "text": text, "annotations": []}]
            if chance(random, 5):
                parts = [{"type": "refusal", "refusal": text}]
            item: Message = {"type": "message", "role": "assistant", "status": "completed", "content": parts}
            if self.server_ids:
                item = {"id": self.id("msg"), **item, "phase": "final_answer" if last else "commentary"}
            return item
        if chance(random, 50):
            return {"role": role, "content": text}
        parts = [{"type": "input_text", "text": text}]
        if role == "user" and chance(random, 20):
            parts.append({"type": "input_image", "image_url": f"data:image/png;base64,{PICTURE}", "detail": random.choice(["low", "auto"])})
        if role == "user" and chance(random, 8):
            parts.append({"type": "input_file", "filename": "a.pdf", "file_data": PICTURE})
        return {"type": "message", "role": role, "content": parts}

    def reasoning(self, text: str) -> Message:
        item: Message = {"type": "reasoning", "id": self.id("rs"), "summary": [{"type": "summary_text", "text": text}] if text else []}
        if chance(self.random, 70):
            item["encrypted_content"] = "gAAAAA" + PICTURE[:40]
        if chance(self.random, 10):
            item["content"] = [{"type": "reasoning_text", "text": text or "hm"}]
        return item

    def hosted(self) -> list[Message]:
        """An item that the server answers itself."""
        random = self.random
        kind = random.choice([*_HOSTED, "tool_search", "shell"])
        if kind == "tool_search":
            call = {
                "type": "tool_search_call",
                "id": self.id("tsc"),
                "call_id": None,
                "execution": "server",
                "arguments": {"queries": ["x"]},
            }
            output = {"type": "tool_search_output", "id": self.id("tso"), "call_id": None, "execution": "server", "tools": [_TOOL]}
            return [call, output] if chance(random, 50) else [call]
        if kind == "shell":
            place = {"type": "container_reference", "container_id": "cntr_1"}
            return [
                {
                    "type": "shell_call",
                    "id": self.id("sh"),
                    "call_id": self.id("hosted"),
                    "action": {"commands": ["ls"]},
                    "environment": place,
                }
            ]
        item: Message = {"type": kind, "id": self.id(kind[:2]), "status": "completed"}
        more: dict[str, Message] = {
            "mcp_call": {"server_label": "m", "name": "ask", "arguments": compact(arguments(random)), "output": words(random)},
            "mcp_list_tools": {"server_label": "m", "tools": [{"name": "ask", "input_schema": {"type": "object"}}]},
            "web_search_call": {"action": {"type": "search", "query": words(random, 2)}},
            "file_search_call": {"queries": [words(random, 2)], "results": [{"file_id": "f", "text": words(random)}]},
            "code_interpreter_call": {"container_id": "c", "code": "print(1)", "outputs": [{"type": "logs", "logs": words(random)}]},
            "image_generation_call": {"result": PICTURE},
        }
        return [item | more[kind]]

    def output(self, text: str) -> Any:
        random = self.random
        if chance(random, 75):
            return text
        parts: list[Message] = [{"type": "input_text", "text": text}]
        if chance(random, 60):
            parts.append({"type": "input_image", "image_url": f"data:image/png;base64,{PICTURE}", "detail": "auto"})
        if chance(random, 15):
            parts.insert(0, {"type": "input_file", "file_id": "file_1"})
        return parts

    def pair(self, call: Call, family: str) -> tuple[Message, Message]:
        """A call of ``family`` with its output."""
        random = self.random
        given, text = call.arguments, compact(call.arguments)
        ids: Message = {"call_id": call.id}
        asked: Message = {"id": self.id("fc"), **ids} if self.server_ids else dict(ids)
        match family:
            case "custom_tool_call":
                return asked | {"name": call.name, "input": words(random)}, ids | {"output": self.output(call.answer)}
            case "computer_call":
                checks = [{"id": "sc_1", "code": "malicious", "message": "?"}] if chance(random, 30) else []
                picture = {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{PICTURE}"}
                call_item = asked | {"action": {"type": "click", "x": 1, "y": 2}, "pending_safety_checks": checks, "status": "completed"}
                return call_item, ids | {"output": picture} | ({"acknowledged_safety_checks": checks} if checks else {})
            case "local_shell_call":
                own = self.id("lsh")
                answer = random.choice([{"id": call.id}, {"id": own}, {"id": self.id("lso"), "call_id": call.id}])
                return ids | {"id": own, "action": {"type": "exec", "command": ["ls", call.name], "env": {}}}, answer | {
                    "output": call.answer
                }
            case "shell_call":
                done = {"stdout": call.answer, "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
                return asked | {"action": {"commands": ["ls"]}, "status": "completed"}, ids | {"output": [done], "max_output_length": 100}
            case "apply_patch_call":
                patch = {"type": "update_file", "path": "a.py", "diff": "@@\n-a\n+b\n"}
                said = {"output": call.answer} if chance(random, 50) else {}
                return asked | {"operation": patch, "status": "completed"}, ids | {"status": "completed"} | said
            case "tool_search_call":
                if chance(random, 50):
                    ids = {"call_id": None}
                search = {"id": self.id("tsc"), **ids, "execution": "client", "arguments": {"queries": ["rates"]}, "status": "completed"}
                return search, ids | {"execution": "client", "status": "completed", "tools": [_TOOL]}
            case "mcp_approval_request":
                own = f"mcpr_{call.id}"
                asked = {"id": own, "server_label": "m", "name": call.name, "arguments": text}
                return asked, {"approval_request_id": own, "approve": True}
            case "program":
                return asked | {"code": "await tools.read()", "fingerprint": "fp"}, ids | {"result": call.answer, "status": "completed"}
        name = {"name": call.name, "arguments": text if chance(random, 80) else compact(given)}
        return asked | name, ids | {"output": self.output(call.answer)}

    def calls(self, step: Step, last: bool) -> None:
        random = self.random
        families = ["function_call"] * 6 + [f for f in _CALLS if f != "program"] if self.families else ["function_call"]
        chosen = [random.choice(families) for _ in step.calls]
        program = step.calls[0] if self.families and len(step.calls) > 1 and chance(random, 40) else None
        if program:
            chosen = ["program"] + ["function_call"] * (len(chosen) - 1)
            program.answered = all(call.answered for call in step.calls)
        outputs: dict[str, Message] = {}
        for call, family in zip(step.calls, chosen, strict=True):
            asked, answer = self.pair(call, family)
            if program and call is not program:
                asked["caller"] = answer["caller"] = {"type": "program", "caller_id": program.id}
            self.items.append({"type": family, **asked})
            outputs[call.id] = {"type": _OUTPUT_OF[family], **answer}
        order = [call for call in shuffled(random, step.calls) if call is not program]
        order += [program] if program and program.answered else []
        for call in order:
            if not last and chance(random, 8):
                self.items.append(self.said(random.choice(["user", "assistant"]), words(random)))
            self.items.append(outputs[call.id])
        for call, family in zip(step.calls, chosen, strict=True):
            if family == "mcp_approval_request" and all(each.answered for each in step.calls):
                done = {
                    "type": "mcp_call",
                    "id": self.id("mcp"),
                    "server_label": "m",
                    "name": call.name,
                    "arguments": compact(call.arguments),
                }
                self.items.append(done | {"output": call.answer, "approval_request_id": f"mcpr_{call.id}"})
        if not last and chance(random, 4):
            self.items.append({"type": "additional_tools", "role": "developer", "tools": [_TOOL]})

    def step(self, step: Step, last: bool) -> None:
        random = self.random
        if step.kind == "user":
            self.items.append(self.said("user", step.text))
            return
        thinks = self.thinks and (step.thinking or chance(random, 30))
        if thinks:
            self.items += [self.reasoning(step.thinking) for _ in range(random.choice([1, 1, 1, 2, 3]))]
        if self.families and chance(random, 15):
            self.items += self.hosted()
            if thinks and chance(random, 30):
                self.items.append(self.reasoning(""))
        if step.text or not step.calls:
            self.items.append(self.said("assistant", step.text, last=not step.calls))
        if step.calls:
            self.calls(step, last)


_TOOL = {"type": "function", "name": "rate", "description": "Look up a rate.", "parameters": {"type": "object", "properties": {}}}
_OUTPUT_OF = {call: next(result for result, kin in _RESULTS.items() if kin == family) for call, family in _CALLS.items()}


def history(random: Random, *, turns: int, live: bool = False) -> list[Message]:
    """A sound input of ``turns`` turns of the model."""
    maker = _Maker(random)
    if chance(random, 60):
        maker.items.append(maker.said(random.choice(["system", "developer"]), words(random)))
    if chance(random, 15):
        maker.items.append({"type": "additional_tools", "role": "developer", "tools": [_TOOL]})
    if chance(random, 8):
        maker.items.append({"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAA" + PICTURE[:30]})
    steps = plot(random, turns, live, Ids(random))
    for number, step in enumerate(steps):
        maker.step(step, number == len(steps) - 1)
        if step.kind == "model" and not step.calls and chance(random, 3):
            maker.items.append({"type": "item_reference", "id": "msg_unseen"})
    if not live and chance(random, 4):
        maker.items.append({"type": "compaction_trigger"})
    return maker.items


# Damage.


def _outputs(items: list[Any], settled: bool = False) -> list[int]:
    """Outputs by id; ``settled``: with a user's message behind them, so that their calls are no live end without them."""
    asked = [i for i, item in enumerate(items) if get(item, "role") == "user"]
    return [
        i
        for i, item in enumerate(items)
        if _type(item) in _RESULTS and _result_tie(item).ids and (not settled or (asked and asked[-1] > i))
    ]


def _call_of(items: list[Any], index: int) -> int:
    result = _result_tie(items[index])
    for i in range(index - 1, -1, -1):
        if _type(items[i]) in _CALLS and (call := _call_tie(items[i])).family == result.family and set(call.ids) & set(result.ids):
            return i
    return index


def _drop_result(items: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, _outputs(items, settled=True))
    return None if at is None else cut(items, at)


def _drop_call(items: list[Any], random: Random) -> list[Any] | None:
    if any(_type(item) == "item_reference" for item in items):
        return None  # which might stand for the call
    at = pick(random, _outputs(items))
    return None if at is None else cut(items, _call_of(items, at))


def _twice(items: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, [i for i in _outputs(items) if not any(_type(item) == "item_reference" for item in items[:i])])
    return None if at is None else inserted(items, at + 1, dict(items[at]))


def _wrong_id(items: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, [i for i in _outputs(items, settled=True) if get(items[i], "call_id")])
    if at is None:
        return None
    items[at]["call_id"] = "call_of_nobody"
    if _type(items[at]) == "local_shell_call_output":
        items[at].pop("id", None)
    return items


def _wrong_family(items: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, [i for i in _outputs(items, settled=True) if _type(items[i]) == "function_call_output"])
    if at is None:
        return None
    items[at]["type"] = "custom_tool_call_output"
    return items


def _early(items: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, [i for i in _outputs(items) if not any(_type(item) == "item_reference" for item in items[:i])])
    return None if at is None else moved(items, at, _call_of(items, at))


def _late(items: list[Any], random: Random) -> list[Any] | None:
    """An output behind a user's message that follows, as long as nobody opens its id in between."""
    at = pick(random, [i for i in _outputs(items, settled=True) if _type(items[i]) not in ("program_output", "mcp_approval_response")])
    if at is None:
        return None
    to = next(i for i in range(at + 1, len(items)) if get(items[i], "role") == "user") + 1
    ids = set(_result_tie(items[at]).ids)
    if any(_type(item) in _CALLS and ids & set(_call_tie(item).ids) for item in items[at:to]):
        return None
    made = moved(items, at, to)
    return made if not any(_type(a) == "reasoning" and not _is_model(b) for a, b in pairwise(made)) else None


def _unfollowed(items: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, [i for i, item in enumerate(items) if get(item, "role") == "user"])
    return None if at is None else inserted(items, at, {"type": "reasoning", "id": "rs_x", "summary": []})


def _no_summary(items: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, [i for i, item in enumerate(items) if _type(item) == "reasoning"])
    if at is None:
        return None
    del items[at]["summary"]
    return items


def _no_reasoning(items: list[Any], random: Random) -> list[Any] | None:
    kept = [item for item in items if _type(item) != "reasoning"]
    return kept if len(kept) < len(items) else None


def _trigger(items: list[Any], random: Random) -> list[Any] | None:
    return inserted(items, random.randrange(len(items)), {"type": "compaction_trigger"})


def _no_content(items: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, [i for i, item in enumerate(items) if _type(item) == "message"])
    if at is None:
        return None
    items[at].pop("content")
    return items


def _unacknowledged(items: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, [i for i, item in enumerate(items) if get(item, "acknowledged_safety_checks")])
    if at is None:
        return None
    del items[at]["acknowledged_safety_checks"]
    return items


def _twice_called(items: list[Any], random: Random) -> list[Any] | None:
    at = pick(random, [_call_of(items, i) for i in _outputs(items)])
    return None if at is None else inserted(items, at, dict(items[at]))


_WAYS: dict[str, Damage] = {
    "drop_result": _drop_result,
    "drop_call": _drop_call,
    "duplicate_result": _twice,
    "duplicate_call": _twice_called,
    "wrong_id": _wrong_id,
    "wrong_family": _wrong_family,
    "result_before_call": _early,
    "late_result": _late,
    "reasoning_without_follower": _unfollowed,
    "missing_summary": _no_summary,
    "no_reasoning": _no_reasoning,
    "trigger_not_last": _trigger,
    "missing_content": _no_content,
    "unacknowledged_safety_check": _unacknowledged,
}


def breakages(messages: Sequence[Any], random: Random) -> tuple[str, list[Any]]:
    """A broken copy, and the name of the damage: see ``HARMLESS``."""
    return broken(messages, random, _WAYS)
