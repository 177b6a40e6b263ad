"""Repair: what each code leads to by hand, and what holds of every repair."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest

import backcut
from backcut.options import FORMATS
from dresses import Dress
from repairs import CASES, NO_RESULT, RESUMED, Case
from support import CORE, TWIN, needs_both, outcome, snapshot
from wires import anthropic, bedrock, clones, gemini, langchain, openai_responses, pi, pydantic_ai

WIRES: dict[str, ModuleType] = {
    "openai-chat": clones,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
    "gemini": gemini,
    "bedrock": bedrock,
    "pi": pi,
    "langchain": langchain,
    "pydantic-ai": pydantic_ai,
}
READY = [wire for wire in WIRES if wire in FORMATS]
SEEDS = range(240)

each_format = pytest.mark.parametrize("wire", READY)


def codes(wire: str, messages: Sequence[Any]) -> set[str]:
    return {violation.code for violation in backcut.check(messages, format=wire)} - {"pending_call", "empty_history"}


def repaired(wire: str, messages: Sequence[Any]) -> backcut.Repaired[Any]:
    """Repairs, and asserts what holds of every repair."""
    before = snapshot(messages)
    wrong = codes(wire, messages)
    answer = backcut.repair(messages, format=wire)
    assert snapshot(messages) == before
    if not wrong:
        assert answer.messages is messages
        assert answer.changes == ()
        return answer
    assert answer.changes
    assert [change.index for change in answer.changes] == sorted(change.index for change in answer.changes)
    assert all(0 <= change.index < len(messages) and change.message for change in answer.changes)
    assert codes(wire, answer.messages) == set()
    again = backcut.repair(answer.messages, format=wire)
    assert again.messages is answer.messages
    assert again.changes == ()
    return answer


# By hand


@pytest.mark.parametrize("case", [case for case in CASES if case.wire in READY], ids=lambda case: f"{case.wire}-{case.code}")
def test_what_each_code_leads_to(case: Case) -> None:
    assert case.code in codes(case.wire, case.messages)
    answer = repaired(case.wire, case.messages)
    assert [(change.action, change.index, change.ids) for change in answer.changes] == list(case.changes)
    assert len(answer.messages) == len(case.expected)
    for message, expected in zip(answer.messages, case.expected, strict=True):
        if isinstance(expected, int):
            assert message is case.messages[expected]
        else:
            assert message == expected


@each_format
def test_every_code_that_is_found_has_a_case(wire: str) -> None:
    """The codes that damage of the generators leads to are all among the cases."""
    found = set().union(*(codes(wire, broken) for _, broken in damaged(wire)))
    assert found <= {case.code for case in CASES if case.wire == wire}


def test_the_actions_are_those_that_are_documented() -> None:
    page = (Path(__file__).resolve().parents[1] / "docs" / "repair.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    done = {action for case in CASES for action, _, _ in case.changes}
    assert done == documented


@each_format
def test_a_live_end_waits_for_who_answers_it(wire: str) -> None:
    d = Dress(wire)
    for live in (d.call("a", "b"), [*d.call("a", "b"), *d.results("a")]):
        messages = [*d.user(), *d.pair("z"), *live]
        assert repaired(wire, messages).messages is messages
        broken = [*d.user(), *d.call("y"), *d.user("next"), *live]
        answer = repaired(wire, broken)
        assert [change.ids for change in answer.changes] == [("y",)]
        assert all(a is b for a, b in zip(answer.messages[-len(live) :], live, strict=True))
        assert "pending_call" in {violation.code for violation in backcut.check(answer.messages, format=wire)}


@each_format
def test_any_sequence_is_taken(wire: str) -> None:
    d = Dress(wire)
    messages = (*d.user(), *d.said())
    assert repaired(wire, messages).messages is messages
    broken = (*d.user(), *d.call("a"), *d.user("next"))
    assert isinstance(backcut.repair(broken, format=wire).messages, list)
    assert backcut.repair(broken).messages == backcut.repair(list(broken), format=wire).messages


def test_nothing_is_left_of_nothing() -> None:
    assert backcut.repair([]) == ([], ())
    answer = backcut.repair([{"role": "user", "content": None}])
    assert answer.messages == []
    assert [change.action for change in answer.changes] == ["dropped_message"]


def test_what_cannot_be_read_is_refused() -> None:
    with pytest.raises(backcut.FormatError):
        backcut.repair([{"role": "user", "content": 3}])
    with pytest.raises(backcut.OptionError):
        backcut.repair([], format="chat")


# Objects of the libraries


def test_a_made_message_of_langchain_is_an_object_beside_objects() -> None:
    lc = pytest.importorskip("langchain_core.messages")
    call = lc.AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "a"}, {"name": "f", "args": {}, "id": ""}])
    history = [lc.HumanMessage("task"), call, lc.HumanMessage("next")]
    answer = repaired("langchain", history)
    asked, *made = answer.messages[1:4]
    assert isinstance(asked, lc.AIMessage)
    assert [each["id"] for each in asked.tool_calls] == ["a", "call_1_1"]
    assert [type(message) for message in made] == [lc.ToolMessage] * 2
    assert [message.tool_call_id for message in made] == ["a", "call_1_1"]
    assert all(message.content == NO_RESULT and message.status == "error" and message.name == "f" for message in made)


def test_a_made_message_of_pydantic_ai_is_an_object_beside_objects() -> None:
    ai = pytest.importorskip("pydantic_ai.messages")
    history = [
        ai.ModelRequest([ai.UserPromptPart("task")]),
        ai.ModelResponse([ai.ToolCallPart("f", {}, "a")]),
        ai.ModelRequest([ai.UserPromptPart("next")]),
    ]
    made = repaired("pydantic-ai", history).messages[2]
    assert isinstance(made, ai.ModelRequest)
    (part,) = made.parts
    assert isinstance(part, ai.ToolReturnPart)
    assert (part.tool_name, part.tool_call_id, part.content, part.outcome) == ("f", "a", NO_RESULT, "failed")


def test_a_made_content_of_gemini_is_an_object_beside_objects() -> None:
    types = pytest.importorskip("google.genai.types")
    call = types.Part(function_call=types.FunctionCall(name="f", args={}, id="a"))
    history = [types.Content(role="model", parts=[call]), types.Content(role="user", parts=[types.Part(text="next")])]
    resumed, kept, made, _ = repaired("gemini", history).messages
    assert kept is history[0]
    assert resumed == types.Content(role="user", parts=[types.Part(text=RESUMED)])
    response = types.FunctionResponse(name="f", response={"error": NO_RESULT}, id="a")
    assert made == types.Content(role="user", parts=[types.Part(function_response=response)])


# What holds of every repair

UNSEEN = re.compile(
    r"in the role (user|tool)|an error without content|a cache mark on|the input of a call|server (call|result)"  # Anthropic
    r"|the keys |half of a surrogate pair|a later call is signed|without a name"  # Gemini
    r"|reasoning_content must be passed back"  # DeepSeek and Kimi
    r"|safety check|that is not there"  # Responses
)
"""What the judges mind and ``check`` does not look at: repair mends what ``check`` finds."""
UNREADABLE = ("unknown_role", "command_between")
UNSEEN_DAMAGE = {"gemini": ("other_name", "nameless", "wrong_id"), "bedrock": ("string_content",)}
"""Damage that ``check`` does not look at, though what the judges say of it is what they say of other damage."""


def histories(wire: str) -> Iterator[tuple[Random, list[Any]]]:
    for seed in SEEDS:
        random = Random(seed)
        yield random, WIRES[wire].history(random, turns=random.randrange(1, 6), live=seed % 3 == 0)


def damaged(wire: str) -> Iterator[tuple[str, list[Any]]]:
    """Broken histories that can be read, each with the name of its damage."""
    for random, messages in histories(wire):
        name, broken = WIRES[wire].breakages(messages, random)
        if name not in UNREADABLE:
            yield name, broken


@each_format
def test_sound_histories_are_not_touched(wire: str) -> None:
    same = 0
    for _, messages in histories(wire):
        same += repaired(wire, messages).messages is messages
    assert same > len(SEEDS) // 3


@each_format
def test_broken_histories_are_mended(wire: str) -> None:
    kinds: Counter[str] = Counter()
    for name, broken in damaged(wire):
        answer = repaired(wire, broken)
        kinds[name] += bool(answer.changes)
        is_live = any(violation.code == "pending_call" for violation in backcut.check(answer.messages, format=wire))
        left = WIRES[wire].problems(answer.messages) if answer.messages else []
        left = [problem for problem in left if not UNSEEN.search(problem)]
        if name not in UNSEEN_DAMAGE.get(wire, ()):
            # What a merged turn waits for at the live end the judge of Responses does not wait for.
            assert all(is_live and "has no output" in problem for problem in left), (name, left)
    assert sum(kinds.values()) > len(SEEDS) // 2


_TIE = re.compile("tool|function|call|output|response|return|retry|result|reasoning", re.IGNORECASE)


def spoken(wire: str, messages: Sequence[Any]) -> Counter[str]:
    """What is said beside calls, results and reasoning, blank texts aside."""
    found: Counter[str] = Counter()
    for message in messages:
        if not isinstance(message, dict):
            continue  # an object of somebody's: what holds of its dict holds of it
        kind = message["id"][-1] if "lc" in message else f"{message.get('role')} {message.get('type')}"
        if not _TIE.search(kind):
            found.update(text for text in WIRES[wire].pieces([_without_ties(message)])[0] if text.strip())
    return found


def _without_ties(message: Any) -> Any:
    if not isinstance(message, dict):
        return message
    kept: dict[str, Any] = {
        key: value for key, value in message.items() if key not in ("tool_calls", "invalid_tool_calls", "function_call")
    }
    for key in ("data", "kwargs", "message"):
        kept |= {key: _without_ties(kept[key])} if isinstance(kept.get(key), dict) else {}
    for key in ("content", "parts"):
        if isinstance(kept.get(key), list):
            kept[key] = [block for block in kept[key] if not _is_tie(block)]
    return kept


def _is_tie(block: Any) -> bool:
    kind = block.get("type", block.get("part_kind", " ".join(block))) if isinstance(block, dict) else ""
    return bool(_TIE.search(kind))


@each_format
def test_what_was_said_stays(wire: str) -> None:
    for name, broken in damaged(wire):
        lost = spoken(wire, broken) - spoken(wire, repaired(wire, broken).messages)
        assert not lost, name


@each_format
def test_only_what_is_told_is_changed(wire: str) -> None:
    """Messages that no change names are the same objects, in their order."""
    for _, broken in damaged(wire):
        answer = repaired(wire, broken)
        named = {change.index for change in answer.changes}
        place = {id(message): index for index, message in enumerate(answer.messages)}
        spared = [place[id(message)] for index, message in enumerate(broken) if index not in named and id(message) in place]
        assert spared == sorted(spared)
        touched = sum(index not in named and id(message) not in place for index, message in enumerate(broken))
        # A result joins the message that holds the results of its turn, which is told of at the result.
        assert touched <= sum(change.action in ("moved_result", "answered_call", "joined_messages") for change in answer.changes)


@each_format
def test_whatever_is_put_together_is_mended(wire: str) -> None:
    """Two broken histories in a row, with messages lost, doubled and swapped."""
    before: list[Any] = []
    for seed, (_, broken) in enumerate(damaged(wire)):
        random, messages = Random(seed), [*before, *broken]
        for _ in range(random.randrange(4) if messages else 0):
            at, to = random.randrange(len(messages)), random.randrange(len(messages))
            match random.randrange(3):
                case 0:
                    messages[at], messages[to] = messages[to], messages[at]
                case 1:
                    messages.insert(to, deepcopy(messages[at]))
                case _ if len(messages) > 1:
                    del messages[at]
        repaired(wire, messages)
        before = broken[:12]


VALUES: tuple[Any, ...] = (None, "", " ", "user", "call_1_0", 3, True, [], {}, ["s"], [{}], {"text": ""}, [{"type": "text", "text": "t"}])


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Everything in a message, each as what holds it and the key there."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield value, key
        yield from places(inner)


def ruined(wire: str) -> Iterator[list[Any]]:
    """Histories that were damaged several times over, by what breaks pairs and by values from elsewhere."""
    for random, messages in histories(wire):
        messages = deepcopy(messages)
        for _ in range(random.randrange(1, 6) if messages else 0):
            with suppress(Exception):  # some damage wants to find what other damage took
                name, broken = WIRES[wire].breakages(messages, random)
                messages = messages if name in UNREADABLE else deepcopy(broken)
        for message in random.choices(messages, k=random.randrange(3)) if messages else ():
            if found := list(places(message)):
                holder, key = random.choice(found)
                holder[key] = deepcopy(random.choice(VALUES))
        yield messages


@needs_both
@each_format
def test_what_was_damaged_several_times_is_mended(wire: str) -> None:
    """Or refused, and by both engines alike."""
    read = 0
    for messages in ruined(wire):
        checks = [outcome(lambda e=e, m=messages: [(v.code, v.index, v.ids) for v in e.check(m, wire)]) for e in (CORE, TWIN)]
        assert checks[0] == checks[1]
        if checks[0][0] == "answer":
            read += 1
            repaired(wire, messages)
        else:
            with pytest.raises(backcut.FormatError):
                backcut.repair(messages, format=wire)
    assert read > len(SEEDS) // 3


# Real conversations

CORPUS = {
    "openai-chat": "openai-chat",
    "openai-responses": "openai-responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "bedrock": "bedrock-converse",
    "pi": "pi-session-jsonl",
    "langchain": "langchain",
    "pydantic-ai": None,
}


@each_format
def test_real_conversations(corpus: Path, wire: str) -> None:
    """Sound ones come back as they are; the others are mended."""
    paths = sorted(corpus.glob(f"*.{CORPUS[wire]}.jsonl"))
    assert paths or CORPUS[wire] is None
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            messages = json.loads(line)["messages"]
            answer = repaired(wire, messages)
            if answer.messages is not messages:
                assert answer.messages != messages
            else:
                broken = deepcopy(messages)
                del broken[len(broken) // 2]
                repaired(wire, broken)


def test_the_error_text_is_the_same_everywhere() -> None:
    for wire in READY:
        d = Dress(wire)
        answer = repaired(wire, [*d.user(), *d.call("a"), *d.user("next")])
        assert NO_RESULT in json.dumps(list(answer.messages), ensure_ascii=False)
