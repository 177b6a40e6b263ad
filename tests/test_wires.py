"""The judges, writers and damage of ``wires`` themselves, and what the judges say of real conversations."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest

from wires import anthropic, bedrock, gemini

WIRES = (anthropic, bedrock, gemini)
SEEDS = range(250)

each_wire = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.FORMAT)


@cache
def _histories(wire: ModuleType) -> list[list[dict[str, Any]]]:
    randoms = [Random(seed) for seed in SEEDS]
    return [wire.history(random, turns=random.randrange(1, 6), live=seed % 3 == 0) for seed, random in zip(SEEDS, randoms, strict=True)]


def written(wire: ModuleType) -> Iterator[tuple[Random, bool, list[dict[str, Any]]]]:
    """Histories, whether they are live, and what chooses what happens to them."""
    for seed, messages in zip(SEEDS, _histories(wire), strict=True):
        yield Random(-seed), seed % 3 == 0, messages


def parts_of(wire: ModuleType, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [part for message in messages for part in wire.WIRE.parts(message)]


@each_wire
def test_what_is_written_is_sound_and_live_as_asked(wire: ModuleType) -> None:
    for _, live, messages in written(wire):
        assert wire.problems(messages) == []
        assert wire.is_sound(messages)
        assert wire.is_live(messages) is live


@each_wire
def test_the_same_seed_writes_the_same(wire: ModuleType) -> None:
    for seed in range(30):
        assert wire.history(Random(seed), turns=3) == wire.history(Random(seed), turns=3)
        json.dumps(wire.history(Random(seed), turns=3)).encode()


@each_wire
def test_damage_is_found_and_leaves_the_input_alone(wire: ModuleType) -> None:
    seen: Counter[str] = Counter()
    for random, _, messages in written(wire):
        before = deepcopy(messages)
        for _ in range(6):
            name, broken = wire.breakages(messages, random)
            seen[name] += 1
            assert messages == before
            assert broken != messages
            assert (wire.problems(broken) == []) is (name in wire.HARMLESS), name
    assert set(seen) == set(wire.DAMAGES)
    assert set(wire.DAMAGES) > wire.HARMLESS


@each_wire
def test_problems_name_their_message(wire: ModuleType) -> None:
    for random, _, messages in written(wire):
        _, broken = wire.breakages(messages, random)
        for problem in wire.problems(broken):
            assert 0 <= int(problem.partition(":")[0]) < max(1, len(broken))


@each_wire
def test_every_prefix_that_ends_in_a_run_of_results_is_sound(wire: ModuleType) -> None:
    prefixes = 0
    for _, live, messages in written(wire):
        if live:
            continue
        for end in range(1, min(40, len(messages))):
            if wire.WIRE.has_result(messages[end - 1]) and wire.WIRE.side(messages[end]) == "model":
                prefixes += 1
                assert wire.problems(messages[:end]) == []
    assert prefixes > 500


@each_wire
def test_no_tail_that_begins_with_results_is_sound(wire: ModuleType) -> None:
    for random, _, messages in written(wire):
        for start in random.choices(range(len(messages)), k=5):
            if not wire.WIRE.is_plain(messages[start]):
                assert wire.problems(messages[start:])


@each_wire
def test_a_task_and_a_tail_of_whole_turns_are_sound(wire: ModuleType) -> None:
    tails = 0
    for random, live, messages in written(wire):
        starts = [turn[0] for turn in wire.WIRE.turns(messages) if wire.WIRE.side(messages[turn[0]]) == "model"]
        for start in random.sample(starts, min(3, len(starts))):
            tail = messages[start:]
            parts = parts_of(wire, tail)
            if wire is anthropic:
                answered = Counter(part["tool_use_id"] for part in parts if anthropic.is_server_result(part))
                if answered - Counter(part["id"] for part in parts if part["type"] in anthropic.SERVER_CALLS):
                    continue
            task = next(message for message in reversed(messages[:start]) if wire.WIRE.is_plain(message))
            tails += 1
            assert wire.problems([task, *tail]) == []
            assert wire.is_live([task, *tail]) is live
    assert tails > 300


@each_wire
def test_long_runs_after_one_user_turn_are_common(wire: ModuleType) -> None:
    longest = []
    for _, _, messages in written(wire):
        plain = [i for i, message in enumerate(messages) if wire.WIRE.is_plain(message)]
        longest.append(max(end - start for start, end in zip(plain, [*plain[1:], len(messages)], strict=True)))
    assert sum(length > 12 for length in longest) > len(SEEDS) / 5
    assert sum(length < 6 for length in longest) > len(SEEDS) / 20


@each_wire
def test_calls_are_parallel_ids_come_again_and_results_change_places(wire: ModuleType) -> None:
    parallel = again = moved = mixed = partly = 0
    for _, live, messages in written(wire):
        turns = wire.WIRE.turns(messages)
        batches = [wire.WIRE.calls(messages, turn) for turn in turns]
        ids = [call.id for batch in batches for call in batch if call.id]
        parallel += any(len(batch) > 2 for batch in batches)
        again += len(set(ids)) < len(ids)
        for turn, behind in pairwise(turns):
            called, answered = wire.WIRE.calls(messages, turn), wire.WIRE.results(messages, behind)
            moved += [call.id for call in called] != [result.id for result in answered][: len(called)] and len(called) == len(answered)
        mixed += any(wire.WIRE.has_result(m) and any(wire.WIRE.result(part) is None for part in wire.WIRE.parts(m)) for m in messages)
        partly += live and wire.WIRE.has_result(messages[-1])
    assert min(parallel, again, moved, mixed) > 25
    assert partly > 8


@pytest.mark.parametrize("wire", [anthropic, gemini], ids=lambda wire: wire.FORMAT)
def test_neighbours_of_one_role_and_split_results_occur_where_they_may(wire: ModuleType) -> None:
    twice: Counter[str] = Counter()
    for _, _, messages in written(wire):
        for one, other in pairwise(messages):
            if one["role"] == other["role"]:
                twice["results" if wire.WIRE.has_result(one) and wire.WIRE.has_result(other) else wire.WIRE.side(one)] += 1
    assert min(twice["results"], twice["user"], twice["model"]) > 20


def test_anthropic_has_all_kinds_of_parts() -> None:
    kinds: Counter[str] = Counter()
    for _, live, messages in written(anthropic):
        for message in messages:
            kinds[f"{message['role']} {type(message['content']).__name__}"] += 1
        for part in parts_of(anthropic, messages):
            kinds[part["type"]] += 1
            kinds["mark"] += "cache_control" in part
            kinds["program"] += "tool_id" in (part.get("caller") or {})
            kinds["error"] += part.get("is_error") is True
            kinds["nothing"] += part["type"] == "tool_result" and not part.get("content")
            inner = part.get("content")
            for block in inner if isinstance(inner, list) else ():
                kinds[f"inner {block['type']}"] += 1
        kinds["server live"] += live and anthropic._server(messages)[1]
    rare = (
        "user str",
        "assistant str",
        "system str",
        "thinking",
        "redacted_thinking",
        "image",
        "document",
        "mcp_tool_use",
        "mcp_tool_result",
    )
    servers = (
        "server_tool_use",
        "web_search_tool_result",
        "web_fetch_tool_result",
        "code_execution_tool_result",
        "tool_search_tool_result",
    )
    others = (
        "mark",
        "program",
        "error",
        "nothing",
        "inner image",
        "inner document",
        "inner text",
        "inner web_search_result",
        "inner tool_reference",
        "tool_addition",
        "server live",
    )
    assert {kind: kinds[kind] for kind in (*rare, *servers, *others) if kinds[kind] < 10} == {}


def test_gemini_has_both_spellings_and_all_kinds_of_results() -> None:
    kinds: Counter[str] = Counter()
    for _, _, messages in written(gemini):
        kinds["function role"] += any(message["role"] == "function" for message in messages)
        for part in parts_of(gemini, messages):
            kinds.update(part.keys())
            called = gemini._get(part, "functionCall")
            if called is not None:
                kinds["with id" if "id" in called else "without id"] += 1
            result = gemini._get(part, "functionResponse")
            if result is not None:
                kinds[f"{len(result['response'])} {type(next(iter(result['response'].values()), None)).__name__}"] += 1
                kinds["picture in result"] += "parts" in result
    names = ("functionCall", "function_call", "thoughtSignature", "thought_signature", "functionResponse", "function_response", "thought")
    media = ("inlineData", "inline_data", "fileData", "file_data", "picture in result")
    results = ("function role", "with id", "without id", "0 NoneType", "1 str", "1 dict", "1 int", "2 str")
    assert {kind: kinds[kind] for kind in (*names, *media, *results) if kinds[kind] < 10} == {}


def test_bedrock_has_all_kinds_of_parts() -> None:
    kinds: Counter[str] = Counter()
    for _, _, messages in written(bedrock):
        for part in parts_of(bedrock, messages):
            kinds.update(part.keys())
            kinds.update((part.get("reasoningContent") or {}).keys())
            kinds["server"] += bedrock._is_server(part)
            result = part.get("toolResult")
            if result is not None:
                kinds[f"status {result.get('status')}"] += 1
                kinds["nothing"] += not result["content"]
                kinds.update(f"inner {key}" for inner in result["content"] for key in inner)
    outer = ("text", "toolUse", "toolResult", "cachePoint", "image", "document", "reasoningText", "redactedContent", "server")
    inner = ("inner text", "inner json", "inner image", "inner document", "status error", "status success", "status None", "nothing")
    assert {kind: kinds[kind] for kind in (*outer, *inner) if kinds[kind] < 10} == {}


# Hand-made arrays: what a judge must say


def use(call_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "f", "input": {}} | more


def answer(name: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": name, "content": "ok"}


def words(text: str = "hi") -> dict[str, Any]:
    return {"type": "text", "text": text}


def asks(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(parts) or "go"}


def says(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(parts)}


SYSTEM = {"role": "system", "content": "be brief"}
SEARCH = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
CALLER = {"type": "code_execution_20250825", "tool_id": "s"}


@pytest.mark.parametrize(
    "messages",
    [
        [asks(), says(use("a"), use("b")), asks(answer("b")), asks(answer("a"), words())],
        [asks(), says(use("a")), says(words()), asks(answer("a"))],
        [asks(), says(use("a")), says(use("b")), asks(answer("a"), answer("b"))],
        [asks(), says(use("a")), asks(answer("a")), says(use("a")), asks(answer("a"))],
        [asks(), says(use("a")), asks(answer("a")), asks(), says(words())],
        [asks(), says(use("a")), asks(answer("a")), SYSTEM, SYSTEM, says(words())],
        [asks(), says(use("a")), asks(answer("a")), SYSTEM],
        [asks(), says(SEARCH, FOUND, words())],
        [asks(), says(SEARCH), says(FOUND, words()), asks()],
        [asks(), says(SEARCH, use("a")), asks(answer("a")), says(FOUND, words())],
        [asks(), says(SEARCH, use("a", caller=CALLER)), asks(answer("a")), says(use("b", caller=CALLER)), asks(answer("b")), says(FOUND)],
        [asks(), says(words()), {"role": "assistant", "content": ""}],
    ],
)
def test_anthropic_takes(messages: list[dict[str, Any]]) -> None:
    assert anthropic.problems(messages) == []
    assert not anthropic.is_live(messages)


@pytest.mark.parametrize(
    "messages",
    [
        [asks(), says(use("a"))],
        [asks(), says(use("a")), says(words())],
        [asks(), says(use("a"), use("b")), asks(answer("b"))],
        [asks(), says(SEARCH)],
        [asks(), says(SEARCH, use("a")), asks(answer("a"))],
    ],
)
def test_anthropic_waits(messages: list[dict[str, Any]]) -> None:
    assert anthropic.problems(messages) == []
    assert anthropic.is_live(messages)


@pytest.mark.parametrize(
    ("at", "messages"),
    [
        (1, [asks(), says(use("a")), asks(words())]),
        (1, [asks(), says(SEARCH), asks()]),
        (1, [asks(), says(SEARCH, use("a")), asks(answer("a")), says(words()), asks()]),
        (3, [asks(), says(use("a"), use("b")), asks(answer("a"), words()), asks(answer("b"))]),
        (1, [asks(), SYSTEM, asks(), says(words())]),
        (2, [asks(), says({"type": "mcp_tool_use", "id": "s", "name": "f", "input": {}}), says(FOUND)]),
        (2, [asks(), says(words()), says(FOUND)]),
        (1, [asks(), says(use("a"), use("a")), asks(answer("a"), answer("a"))]),
        (1, [asks(), says(words(), {"type": "compaction", "content": "so far"})]),
        (1, [asks(), says({"type": "compaction", "content": ""})]),
        (2, [asks(), says(use("a")), asks(answer("a") | {"content": [words() | {"cache_control": {"type": "ephemeral"}}]})]),
        (2, [asks(), says(use("a")), {"role": "system", "content": [answer("a")]}]),
        (2, [asks(), says(use("a")), SYSTEM, asks(answer("a"))]),
        (2, [asks(), says(use("a:0")), asks(answer("a:0"))]),
        (1, [asks(), says(), asks()]),
    ],
)
def test_anthropic_refuses(at: int, messages: list[dict[str, Any]]) -> None:
    assert at in {int(problem.partition(":")[0]) for problem in anthropic.problems(messages)}


def talk(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts) or [{"text": "hi"}]}


def fc(name: str = "f", **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {}} | more}


def fr(name: str = "f", **more: Any) -> dict[str, Any]:
    return {"function_response": {"name": name, "response": {"output": "ok"}} | more}


@pytest.mark.parametrize(
    ("at", "messages"),
    [
        (None, [talk("user"), talk("model", fc(), fc()), talk("user", fr(), fr())]),
        (None, [talk("user"), talk("model", fc("f"), fc("g")), talk("function", fr("g")), talk("function", fr("f"))]),
        (None, [talk("user"), talk("model", fc(id="1")), talk("user", fr())]),
        (None, [talk("user"), talk("model", fc(), fc()), talk("user", fr())]),
        (1, [talk("user"), talk("model", fc(), fc()), talk("user", fr()), talk("model")]),
        (1, [talk("user"), talk("model", fc(id="1")), talk("user", fr(id="2")), talk("model")]),
        (2, [talk("user"), talk("model", fc()), talk("user", fr("g"))]),
        (2, [talk("user"), talk("model", fc()), talk("user", fr(), fr())]),
        (2, [talk("user"), talk("model", fc()), talk("user", {"text": "x"}, fr())]),
        (0, [talk("model"), talk("user")]),
        (1, [talk("user"), talk("model", {"thoughtSignature": "Eq=="})]),
        (1, [talk("user"), talk("model", fc(), fc() | {"thought_signature": "Eq=="}), talk("user", fr(), fr())]),
    ],
)
def test_gemini_judges(at: int | None, messages: list[dict[str, Any]]) -> None:
    found = {int(problem.partition(":")[0]) for problem in gemini.problems(messages)}
    assert at in found if at is not None else not found


def tu(name: str) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": name, "name": "f", "input": {}}}


def tr(name: str, **more: Any) -> dict[str, Any]:
    return {"toolResult": {"toolUseId": name, "content": [{"text": "ok"}]} | more}


@pytest.mark.parametrize(
    ("at", "messages"),
    [
        (None, [asks({"text": "go"}), says(tu("a"), tu("b")), asks(tr("b"), tr("a"), {"text": "and"})]),
        (None, [asks({"text": "go"}), says(tu("a"), tu("b")), asks(tr("b"))]),
        (None, [asks({"text": "go"}), says(tu("a")), asks(tr("a", content=[]))]),
        (2, [asks({"text": "go"}), says(tu("a")), asks(tr("a", content=[], status="error"))]),
        (1, [asks({"text": "go"}), says(tu("a"), tu("b")), asks(tr("b")), says({"text": "x"})]),
        (3, [asks({"text": "go"}), says(tu("a"), tu("b")), asks(tr("b")), asks(tr("a"))]),
        (1, [asks({"text": "go"}), says({"text": " "})]),
        (0, [asks({"document": {}})]),
        (0, [{"role": "user", "content": "go"}]),
    ],
)
def test_bedrock_judges(at: int | None, messages: list[dict[str, Any]]) -> None:
    found = {int(problem.partition(":")[0]) for problem in bedrock.problems(messages)}
    assert at in found if at is not None else not found


# Sizes and texts


def test_sizes_of_anthropic() -> None:
    search = {"type": "web_search_result", "title": "Ti", "url": "u", "encrypted_content": "EEEE"}
    messages = [
        asks(words("日本"), {"type": "image", "source": {"type": "url", "url": "u"}}),
        says(
            {"type": "thinking", "thinking": "hmm", "signature": "SSSSS"},
            {"type": "redacted_thinking", "data": "DDDD"},
            SEARCH | {"input": {"q": 1}},
            FOUND | {"content": [search]},
            use("a", name="read", input={"é": "x"}),
        ),
        asks(answer("a") | {"content": [words("ok"), {"type": "document", "source": {"type": "url", "url": "u"}}]}),
    ]
    texts = [("日本",), ("hmm", 'web_search {"q":1}', "Ti", "u", 'read {"é":"x"}'), ("ok",)]
    assert anthropic.pieces(messages) == texts
    assert anthropic.size_chars(messages) == 2 + 3 + 7 + 2 + 1 + 9 + 2
    frames = 3 * 3 + len("user") * 2 + len("assistant")
    tools = 2 * 3 + len("web_search") + len("read") + 2 * 3
    assert anthropic.size_tokens(messages, len) == 26 + frames + tools + len("SSSSS" + "DDDD" + "EEEE") + 765 + 1500


def test_sizes_of_gemini() -> None:
    messages = [
        talk("user", {"text": "日本"}, {"inline_data": {"mime_type": "image/png", "data": "Eq=="}}),
        talk("model", {"text": "hmm", "thought": True}, fc("read", args={"é": "x"}) | {"thoughtSignature": "SSSSS"}),
        talk("user", fr("read"), fr("read", response={"output": "a", "n": 1}), {"fileData": {"mimeType": "application/pdf"}}),
    ]
    assert gemini.pieces(messages) == [("日本",), ("hmm", 'read {"é":"x"}'), ("ok", '{"output":"a","n":1}')]
    assert gemini.size_chars(messages) == 2 + 3 + 9 + 2 + 20
    frames = 3 * 3 + len("user") * 2 + len("model")
    assert gemini.size_tokens(messages, len) == 36 + frames + 3 + len("read") + 2 * 3 + len("SSSSS") + 765 + 1500


def test_sizes_of_bedrock() -> None:
    thought = {"reasoningContent": {"reasoningText": {"text": "hmm", "signature": "SSSSS"}}}
    messages = [
        asks({"text": "日本"}, {"image": {}}, {"cachePoint": {"type": "default"}}),
        says(thought, {"reasoningContent": {"redactedContent": "DDDD"}}, tu("a")),
        asks(tr("a", content=[{"json": {"output": "ok"}}, {"json": [1, 2]}, {"text": "x"}, {"document": {}}])),
    ]
    assert bedrock.pieces(messages) == [("日本",), ("hmm", "f {}"), ("ok", "[1,2]", "x")]
    assert bedrock.size_chars(messages) == 2 + 3 + 2 + 2 + 5 + 1
    frames = 3 * 3 + len("user") * 2 + len("assistant")
    assert bedrock.size_tokens(messages, len) == 15 + frames + 3 + 1 + 3 + len("SSSSS" + "DDDD") + 765 + 1500


@each_wire
def test_chars_are_those_of_the_pieces_without_the_names(wire: ModuleType) -> None:
    for _, _, messages in written(wire):
        assert len(wire.pieces(messages)) == len(messages)
        names = sum(len(call.name) + 1 for call in wire.WIRE.calls(messages, range(len(messages))))
        everything = sum(len(text) for texts in wire.pieces(messages) for text in texts)
        assert wire.size_chars(messages) <= everything
        assert everything - wire.size_chars(messages) >= names
        assert wire.size_tokens(messages, len) > wire.size_chars(messages)


# Real conversations

FINDINGS: dict[str, tuple[ModuleType, dict[int, list[int]], list[int]]] = {
    "entireio-cli.anthropic": (
        anthropic,
        {
            4: [1, 31, 38, 39],
            6: [1, 29],
            7: [22, 34],
            11: [160, 164],
            12: [9, 15, 25],
            14: [1, 9, 13, 23, 39],
            18: [1, 9, 15],
            24: [1],
            27: [0],
        },
        [26, 27],
    ),
    "vscode-copilot-chat.anthropic": (anthropic, {}, []),
    "pydantic-ai.anthropic": (anthropic, {}, [16, 30]),
    "pydantic-ai.bedrock-converse": (bedrock, {}, []),
    "pydantic-ai.gemini": (gemini, {}, []),
    "rendered.bedrock-converse": (bedrock, {}, []),
    "rendered.gemini": (gemini, {}, []),
}


@pytest.mark.parametrize("name", FINDINGS)
def test_real_conversations_are_judged(corpus: Path, name: str) -> None:
    wire, findings, live = FINDINGS[name]
    lines = (corpus / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    conversations = [json.loads(line)["messages"] for line in lines]
    found = {n: sorted({int(p.partition(":")[0]) for p in wire.problems(messages)}) for n, messages in enumerate(conversations)}
    assert {n: indices for n, indices in found.items() if indices} == findings
    assert [n for n, messages in enumerate(conversations) if wire.is_live(messages)] == live


def test_what_is_wrong_in_real_conversations(corpus: Path) -> None:
    lines = (corpus / "entireio-cli.anthropic.jsonl").read_text(encoding="utf-8").splitlines()
    kinds: Counter[str] = Counter()
    for n, line in enumerate(lines):
        for problem in anthropic.problems(json.loads(line)["messages"]):
            kinds[
                "blank" if "blank text" in problem else f"{n}: {problem.partition(': ')[2].replace('toolu_01WNLLkg9qjhZPWxEnxMjKVg', 'ID')}"
            ] += 1
    assert kinds == {
        "blank": 21,
        "4: part 3 of message 38 stands in front of the result in part 4": 1,
        "27: the first message is no plain user turn": 1,
        "27: the result ID without a call in front of it": 1,
    }
