"""The judges and makers of item-like formats themselves: what is made is sound, what is broken is noticed, and what is real is judged."""

from __future__ import annotations

import json
from collections import Counter
from copy import deepcopy
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest

from wires import clones, langchain, openai_responses, pi, pydantic_ai

MODULES = [openai_responses, pi, langchain, pydantic_ai, clones]
SEEDS = range(200)

every_format = pytest.mark.parametrize("wire", MODULES, ids=lambda wire: wire.__name__.removeprefix("wires."))


def made(wire: ModuleType, seed: int, **more: Any) -> list[Any]:
    history: list[Any] = wire.history(Random(seed), turns=1 + seed % 14, **more)
    return history


def damaged(wire: ModuleType, history: list[Any], seed: int) -> tuple[str, list[Any]]:
    # Not the seed of the history: the same stream would break each kind of history in one way.
    broken: tuple[str, list[Any]] = wire.breakages(history, Random(f"damage {seed}"))
    return broken


def is_harmless(wire: ModuleType, name: str) -> bool:
    return name == "nothing" or name in wire.HARMLESS


@every_format
@pytest.mark.parametrize("live", [False, True], ids=["ended", "live"])
def test_what_is_made_is_sound(wire: ModuleType, live: bool) -> None:
    for seed in SEEDS:
        history = made(wire, seed, live=live)
        assert wire.problems(history) == [], seed
        assert wire.is_sound(history)
        assert wire.is_live(history) is live, seed


@every_format
def test_the_same_seed_makes_the_same(wire: ModuleType) -> None:
    for seed in SEEDS:
        assert made(wire, seed) == made(wire, seed)


@every_format
def test_no_damage_goes_unnoticed(wire: ModuleType) -> None:
    seen: Counter[str] = Counter()
    for seed in range(8 * len(SEEDS)):
        history = made(wire, seed, live=seed % 3 == 0)
        name, broken = damaged(wire, history, seed)
        seen[name] += 1
        assert (wire.problems(broken) == []) is is_harmless(wire, name), (seed, name, wire.problems(broken))
        if name != "nothing":
            assert broken != history, (seed, name)
    assert seen.keys() - {"nothing"} == wire._WAYS.keys()
    assert wire._WAYS.keys() >= wire.HARMLESS


@every_format
def test_the_input_is_never_touched(wire: ModuleType) -> None:
    for seed in SEEDS:
        history = made(wire, seed)
        before = deepcopy(history)
        damaged(wire, history, seed)
        wire.problems(history)
        wire.pieces(history)
        wire.size_tokens(history, len)
        assert history == before, seed


@every_format
def test_long_runs_of_the_agent_are_frequent(wire: ModuleType) -> None:
    """Tails that need their task: many messages behind the last one of the user's."""
    histories = [made(wire, seed) for seed in SEEDS]
    tails = [len(history) - _last_user(wire, history) for history in histories]
    assert sum(tail > 10 for tail in tails) > len(SEEDS) / 5


def _last_user(wire: ModuleType, history: list[Any]) -> int:
    """Index of the last plain message of the user's."""
    if wire is openai_responses:
        return max(i for i, item in enumerate(history) if item.get("role") == "user")
    return max(int(turn.index) for turn in wire._turns(history) if turn.kind == "user")


KINDS = {
    openai_responses: {
        *("user", "assistant", "additional_tools", "reasoning", "compaction", "compaction_trigger", "item_reference"),
        *openai_responses._CALLS,
        *openai_responses._RESULTS,
        *openai_responses._HOSTED,
    },
    pi: {"user", "assistant", "toolResult", "bashExecution", "custom", "branchSummary", "compactionSummary"},
    langchain: {"human", "ai", "tool", "system", "function"},
    pydantic_ai: {
        *("system-prompt", "user-prompt", "tool-return", "retry-prompt", "retry-feedback"),
        *("text", "thinking", "tool-call", "builtin-tool-call", "builtin-tool-return", "file"),
    },
    clones: {"system", "user", "assistant", "tool"},
}


@every_format
def test_every_kind_is_made(wire: ModuleType) -> None:
    seen: set[str] = set()
    for seed in range(4 * len(SEEDS)):
        for message in made(wire, seed, **({"form": "data"} if wire is langchain else {"form": "json"} if wire is pydantic_ai else {})):
            if wire is pydantic_ai:
                seen |= {part["part_kind"] for part in message["parts"]}
            elif wire is langchain:
                seen.add(langchain._read(message)[0])
            else:
                kind = message.get("type", "message")
                seen.add(message["role"] if kind == "message" else kind)
    assert seen >= KINDS[wire], KINDS[wire] - seen


@every_format
def test_sizes_add_up(wire: ModuleType) -> None:
    for seed in SEEDS:
        history = made(wire, seed)
        assert wire.size_chars(history) == sum(wire.size_chars([message]) for message in history)
        assert wire.size_tokens(history, len) == sum(wire.size_tokens([message], len) for message in history)
        assert wire.size_tokens(history, len) > wire.size_chars(history)
        assert len(wire.pieces(history)) == len(history)


@every_format
def test_nothing_is_empty(wire: ModuleType) -> None:
    assert wire.problems([]) != []
    assert not wire.is_sound([])
    assert not wire.is_live([])


# Sizes, worked out by hand.

PNG = "iVBORw0KGgo" * 50
SIZES = [
    (openai_responses, {"role": "user", "content": "hello"}, 5, 3 + 4 + 5),
    (openai_responses, {"type": "function_call", "call_id": "c", "name": "go", "arguments": '{"a": 1}'}, 8, 3 + 2 + 8),
    (openai_responses, {"type": "tool_search_call", "call_id": None, "arguments": {"q": ["é"]}}, 11, 3 + 11),
    (openai_responses, {"type": "function_call_output", "call_id": "c", "output": "done"}, 4, 3 + 4),
    (openai_responses, {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_image", "image_url": PNG}]}, 0, 3 + 765),
    (
        openai_responses,
        {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "x" * 9},
        2,
        3 + 2 + 9,
    ),
    (pi, {"role": "user", "content": [{"type": "text", "text": "hello"}, {"type": "image", "data": PNG, "mimeType": "image/png"}]}, 5, 777),
    (
        pi,
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"},
                {"type": "toolCall", "id": "c", "name": "go", "arguments": {"a": 1}},
            ],
        },
        2 + 7,
        3 + 9 + 2 + 3 + 3 + 2 + 7,
    ),
    (langchain, {"type": "tool", "data": {"content": "done", "tool_call_id": "c", "artifact": "x" * 99}}, 4, 3 + 4 + 3 + 4),
    (
        langchain,
        {
            "type": "ai",
            "content": [{"type": "text", "text": "hi"}, {"type": "tool_use", "id": "c", "name": "go", "input": {"a": 1}}],
            "tool_calls": [{"name": "go", "args": {"a": 1}, "id": "c"}],
        },
        2 + 7,
        3 + 9 + 2 + 3 + 2 + 7,
    ),
    (
        pydantic_ai,
        {"kind": "request", "parts": [{"part_kind": "tool-return", "tool_name": "go", "content": {"output": "done"}, "tool_call_id": "c"}]},
        4,
        3 + 4 + 3 + 4,
    ),
    (
        pydantic_ai,
        {"kind": "request", "parts": [{"part_kind": "tool-return", "tool_name": "go", "content": {"a": 1}, "tool_call_id": "c"}]},
        7,
        3 + 4 + 3 + 7,
    ),
    (clones, {"role": "assistant", "tool_calls": [{"function": {"name": "go", "arguments": {"a": 1}}}]}, 7, 3 + 9 + 3 + 2 + 7),
    (clones, {"role": "user", "name": "bob", "content": "hello"}, 5, 3 + 4 + 5 + 1 + 3),
]


@pytest.mark.parametrize(("wire", "message", "chars", "tokens"), SIZES)
def test_sizes_by_hand(wire: ModuleType, message: Any, chars: int, tokens: int) -> None:
    assert wire.size_chars([message]) == chars
    assert wire.size_tokens([message], len) == tokens


# What only one format has.

_USER = {"role": "user", "content": "go"}
_CALL = {"type": "function_call", "call_id": "a", "name": "go", "arguments": "{}"}
_OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "done"}
_SEARCH: dict[str, Any] = {"type": "tool_search_call", "call_id": None, "execution": "server", "arguments": {}}
_PROGRAM = {"type": "program", "call_id": "p", "code": "x", "fingerprint": "f"}
_BY_PROGRAM = {"caller": {"type": "program", "caller_id": "p"}}
_REASONING = {"type": "reasoning", "id": "rs", "summary": []}


@pytest.mark.parametrize(
    "items",
    [
        [_USER, _SEARCH, _CALL, _OUTPUT],  # the server searched, and nobody has to answer
        [_USER, {"type": "shell_call", "call_id": "s", "action": {}, "environment": {"type": "container_auto"}}, _USER],
        [_USER, {"type": "item_reference", "id": "fc_1"}, _OUTPUT],  # the reference may be its call
        [_USER, _CALL, _USER, _OUTPUT, _USER],
        [_USER, _REASONING, _REASONING, _CALL, _OUTPUT],
        [_USER, _CALL, _OUTPUT, _CALL, _OUTPUT],
        [_USER, {"type": "local_shell_call", "id": "l", "call_id": "c"}, {"type": "local_shell_call_output", "id": "c", "output": ""}],
        [_USER, {"type": "local_shell_call", "id": "l", "call_id": "c"}, {"type": "local_shell_call_output", "id": "l", "output": ""}],
    ],
)
def test_responses_may(items: list[Any]) -> None:
    assert openai_responses.problems(items) == []
    assert not openai_responses.is_live(items)


@pytest.mark.parametrize(
    ("items", "found"),
    [
        ([_USER, _SEARCH | {"execution": "client"}, _USER], ["item 1: tool_search_call has no output"]),
        ([_USER, _REASONING], ["item 1: reasoning without the item that must follow it"]),
        (
            [_USER, _REASONING, _OUTPUT],
            ["item 1: reasoning without the item that must follow it", "item 2: function_call_output answers no call"],
        ),
        ([_USER, _CALL, _USER, _CALL, _OUTPUT], ["item 1: function_call has no output before its id is used anew"]),
        ([_USER, _CALL, _USER], ["item 1: function_call has no output"]),
        ([_USER, _CALL | _BY_PROGRAM, _OUTPUT], ["item 1: a call of a program that is not there"]),
        ([_USER, {"type": "mcp_call", "approval_request_id": "r"}], ["item 1: mcp_call points to a request that is not there"]),
    ],
)
def test_responses_may_not(items: list[Any], found: list[str]) -> None:
    assert openai_responses.problems(items) == found


def test_a_program_waits_while_its_calls_do() -> None:
    """A program has no output before the last call it makes: its first call is answered here, its second waits."""
    second = _CALL | _BY_PROGRAM | {"call_id": "b"}
    items = [_USER, _PROGRAM, _CALL | _BY_PROGRAM, _OUTPUT, second]
    assert openai_responses.problems(items) == []
    assert openai_responses.is_live(items)
    assert openai_responses.problems([*items, _USER]) != []


def test_entries_of_a_session_say_what_their_messages_say() -> None:
    for seed in SEEDS:
        history = made(pi, seed, live=seed % 3 == 0)
        assert pi.problems(pi.wrap(history)) == []
        assert pi.is_live(pi.wrap(history)) is pi.is_live(history)
        assert [said for said in pi.pieces(pi.wrap(history)) if said] == [said for said in pi.pieces(history) if said]
        assert pi.size_tokens(pi.wrap(history), len) == pi.size_tokens(history, len)
        name, broken = damaged(pi, pi.wrap(history), seed)
        assert (pi.problems(broken) == []) is is_harmless(pi, name), (seed, name)


@pytest.mark.parametrize("form", langchain.FORMS)
def test_every_form_of_langchain_says_the_same(form: str) -> None:
    for seed in SEEDS:
        first, other = made(langchain, seed, form="data"), made(langchain, seed, form=form)
        assert langchain.pieces(other) == langchain.pieces(first)
        assert langchain.size_tokens(other, len) == langchain.size_tokens(first, len)
        assert langchain.problems(other) == []


@pytest.mark.parametrize("dress", clones.DRESSES)
def test_every_dress_passes_its_own_judge(dress: str) -> None:
    for seed in SEEDS:
        assert clones.problems(made(clones, seed, dress=dress, live=seed % 3 == 0), dress) == []


def test_dresses_mind_more() -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "call_1", "function": {"name": "go", "arguments": "{}"}}]}
    result = {"role": "tool", "tool_call_id": "call_1", "content": "done"}
    messages = [_USER, call, result, _USER, {"role": "assistant", "content": ""}]
    assert clones.problems(messages) == []
    assert clones.problems(messages, "mistral") == [
        "message 1: an id is not of 9 letters and digits",
        "message 2: an id is not of 9 letters and digits",
        "message 3: unexpected role 'user' after role 'tool'",
    ]
    assert clones.problems(messages, "kimi") == ["message 4: must not be empty"]
    assert clones.problems([{"role": "system", "content": "x"}, {"role": "assistant", "tool_calls": [{"function": {"name": "go"}}]}]) == [
        "no user query found in messages"
    ]


def test_pydantic_ai_mends_nothing_in_what_is_made() -> None:
    """Its own repair is asked: of a sound history it changes no word."""
    messages = pytest.importorskip("pydantic_ai.messages")
    for seed in SEEDS:
        history = made(pydantic_ai, seed, live=seed % 3 == 0, form="json")
        objects = pydantic_ai.dressed(history, "objects")
        mended = messages.repair_messages(objects, repair_last_response=False)
        assert sum(pydantic_ai.pieces(mended), ()) == sum(pydantic_ai.pieces(history), ())
        assert pydantic_ai.size_tokens(objects, len) == pydantic_ai.size_tokens(history, len)


# Real conversations.

FILES = {
    "pi-mono.pi-session-jsonl": pi,
    "pydantic-ai.openai-responses": openai_responses,
    "pydantic-ai.openai-chat": clones,
    "rendered.openai-responses": openai_responses,
    "rendered.langchain": langchain,
}


def read(corpus: Path, name: str) -> list[list[Any]]:
    return [json.loads(line)["messages"] for line in (corpus / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("name", FILES)
def test_real_conversations_are_sound(corpus: Path, name: str) -> None:
    """All were accepted by a provider, or mended by the agent that sent them; none ends in the midst of a batch."""
    wire = FILES[name]
    for number, messages in enumerate(read(corpus, name)):
        assert wire.problems(messages) == [], number
        assert not wire.is_live(messages), number


@pytest.mark.parametrize("name", FILES)
def test_damage_to_real_conversations_is_noticed(corpus: Path, name: str) -> None:
    wire = FILES[name]
    for number, messages in enumerate(read(corpus, name)):
        for seed in range(10):
            damage, broken = damaged(wire, messages, seed)
            assert (wire.problems(broken) == []) is is_harmless(wire, damage), (number, seed, damage)


def test_calls_of_failed_turns_are_no_dead_calls(corpus: Path) -> None:
    """18 real calls have no result, all in turns that failed: were those not skipped, they would be dead."""
    first, second = read(corpus, "pi-mono.pi-session-jsonl")
    for index, entry in enumerate(first + second):
        if pi._failed(entry) and pi._blocks(entry, "toolCall"):
            (first + second)[index]["message"]["stopReason"] = "toolUse"
    assert pi.problems(first) == []
    assert Counter(sentence.split(":")[0] for sentence in pi.problems(second)) == {"message 32": 16, "message 233": 1, "message 842": 1}


def test_searches_of_the_server_need_no_output(corpus: Path) -> None:
    """The provider took three real searches without an output, as it ran them itself: the client's own would still wait for one."""
    waiting = []
    for number, items in enumerate(read(corpus, "pydantic-ai.openai-responses")):
        for item in items:
            if item.get("execution") == "server":
                item["execution"] = "client"
        assert openai_responses.problems(items) == []
        waiting += [number] if openai_responses.is_live(items) else []
    assert waiting == [7, 19, 36]
