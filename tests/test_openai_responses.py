"""OpenAI Responses, each rule by a case worked out by hand (``docs/formats/openai-responses.md``), in core and twin."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

import backcut
from chat import developer, said, system, user
from support import CORE, DEFAULT_NOTICE, TWIN, cheap, engine_window, outcome, same_messages, snapshot
from wires import openai_responses as judge

FORMAT = "openai-responses"
ENGINES = [engine for engine in (CORE, TWIN) if engine is not None]
LONG = len(DEFAULT_NOTICE)
PIXEL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP6DwABBQECz6AuzQAAAABJRU5ErkJggg=="
CUT = "\n… [truncated]"

Item = dict[str, Any]


def call(call_id: str | None, arguments: Any = "{}", **more: Any) -> Item:
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": arguments, **more}


def output(call_id: str | None, text: Any = "result", **more: Any) -> Item:
    return {"type": "function_call_output", "call_id": call_id, "output": text, **more}


def pair(call_id: str, text: Any = "result") -> list[Item]:
    return [call(call_id), output(call_id, text)]


def reasoning(text: str = "hm", **more: Any) -> Item:
    return {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": text}], **more}


def message(role: str, *parts: Any) -> Item:
    return {"type": "message", "role": role, "content": list(parts)}


def told(text: str) -> Item:
    return {"type": "input_text", "text": text}


def spoken(text: str) -> Item:
    return {"type": "output_text", "text": text, "annotations": []}


def of(kind: str, **more: Any) -> Item:
    return {"type": kind, **more}


def by(program: str) -> Item:
    return {"caller": {"type": "program", "caller_id": program}}


TOOLS = of("additional_tools", role="developer", tools=[{"type": "function", "name": "f"}])
TRIGGER = of("compaction_trigger")


def plan(messages: Any, **options: Any) -> backcut.Plan:
    """What both engines say."""
    before = snapshot(messages)
    found = [outcome(lambda e=engine: engine_window(e, {"format": FORMAT, **options}).plan(messages, None, None)) for engine in ENGINES]
    assert all(each == found[0] for each in found), found
    assert snapshot(messages) == before
    kind, answer = found[0]
    assert kind == "answer", answer
    answer.apply(messages)
    assert snapshot(messages) == before
    return answer  # type: ignore[no-any-return]


def kept(*messages: Any, **options: Any) -> tuple[int, ...]:
    return plan(list(messages), **({"notice": False} | options)).kept


def groups(*messages: Any) -> list[int]:
    """Where a tail may begin, found by asking for ever more messages of ``messages``, in front of which others stand."""
    longer = [user("x"), said("x"), *messages]
    cuts = [plan(longer, max_turns=n, start="any", notice=False, on_overflow="keep") for n in range(1, len(messages) + 1)]
    return sorted({found.kept[0] - 2 for found in cuts})


def size(*messages: Any) -> int:
    """Tokens by the piece, one a character."""
    return backcut.count(list(messages), format=FORMAT, tokenizer=len) - 3


def chars(*messages: Any) -> int:
    return plan(list(messages), max_chars=10**9).report.chars_sent


def check(*messages: Any, format: str = FORMAT) -> list[tuple[str, int, tuple[str, ...]]]:
    found = [[(each.code, each.index, each.ids) for each in engine.check(list(messages), format)] for engine in ENGINES]
    assert all(each == found[0] for each in found), found
    return found[0]


def codes(*messages: Any) -> list[tuple[str, int]]:
    return [(code, index) for code, index, _ in check(*messages)]


# Sizes

SIZES: list[tuple[str, Item, int, int]] = [
    ("text", user("hello"), 5, 3 + 4 + 5),
    ("typed", of("message", role="user", content="hello"), 5, 3 + 4 + 5),
    ("parts", message("assistant", spoken("one"), {"type": "refusal", "refusal": "no"}), 5, 3 + 9 + 5),
    ("nothing", {"role": "user", "content": None}, 0, 3 + 4),
    ("strange part", message("user", {"type": "wonder", "content": [{"text": "well"}]}, "str"), 7, 3 + 4 + 7),
    ("image", message("user", {"type": "input_image", "image_url": "https://a.b/c.png"}), 0, 3 + 4 + 765),
    ("low image", message("user", {"type": "input_image", "image_url": "u", "detail": "low"}), 0, 3 + 4 + 85),
    ("pixel", message("user", {"type": "input_image", "image_url": PIXEL}), 0, 3 + 4 + 85 + 170),
    ("file", message("user", {"type": "input_file", "file_id": "f"}), 0, 3 + 4 + 1500),
    ("audio", message("user", {"type": "input_audio", "input_audio": {"data": "x"}}), 0, 3 + 4 + 300),
    ("call", call("c", '{"a": 1}', id="fc_1", status="completed"), 8, 3 + 1 + 8),
    ("call of an object", call("c", {"a": "é"}), 9, 3 + 1 + 9),
    ("custom", of("custom_tool_call", call_id="c", name="sh", input="ls -l"), 5, 3 + 2 + 5),
    ("computer", of("computer_call", call_id="c", action={"type": "wait"}), 15, 3 + 15),
    ("computer, many", of("computer_call", call_id="c", actions=[{"type": "wait"}]), 17, 3 + 17),
    ("local shell", of("local_shell_call", call_id="c", id="l", action={"command": ["ls"]}), 18, 3 + 18),
    ("shell", of("shell_call", call_id="c", action={"commands": ["ls"]}), 19, 3 + 19),
    ("patch", of("apply_patch_call", call_id="c", operation={"path": "a"}), 12, 3 + 12),
    ("tool search", of("tool_search_call", call_id=None, arguments={"q": ["é"]}), 11, 3 + 11),
    ("program", of("program", call_id="c", code="f()", fingerprint="1234"), 3, 3 + 3 + 4),
    ("approval", of("mcp_approval_request", id="r", name="go", arguments="{}"), 2, 3 + 2 + 2),
    ("output", output("c", "done"), 4, 3 + 4),
    ("no output", output("c", None), 0, 3),
    ("output of parts", output("c", [told("a"), {"type": "input_image", "image_url": "u"}, "b"]), 2, 3 + 2 + 765),
    ("screenshot", of("computer_call_output", call_id="c", output={"type": "computer_screenshot", "image_url": "u"}), 0, 3 + 765),
    ("shell output", of("shell_call_output", call_id="c", output=[{"stdout": "out", "stderr": "er", "outcome": {}}]), 5, 3 + 5),
    ("patch output", of("apply_patch_call_output", call_id="c", status="completed"), 0, 3),
    ("found tools", of("tool_search_output", call_id=None, tools=[{"name": "f"}]), 14, 3 + 14),
    ("program output", of("program_output", call_id="c", result="three"), 5, 3 + 5),
    ("approved", of("mcp_approval_response", approval_request_id="r", approve=False, reason="no"), 2, 3 + 2),
    ("web search", of("web_search_call", id="w", action={"query": "q"}), 13, 3 + 13),
    ("file search", of("file_search_call", id="f", queries=["q"], results=[{"text": "hit", "score": 1}]), 8, 3 + 8),
    (
        "code",
        of("code_interpreter_call", code="1", outputs=[{"type": "logs", "logs": "log"}, {"type": "image", "url": "u"}]),
        4,
        3 + 4 + 765,
    ),
    ("made image", of("image_generation_call", id="i", result=PIXEL.partition(",")[2]), 0, 3 + 85 + 170),
    ("no image yet", of("image_generation_call", id="i", result=None), 0, 3),
    ("mcp", of("mcp_call", id="m", name="ask", arguments="{}", output="yes", error=None), 5, 3 + 3 + 5),
    ("mcp error", of("mcp_call", id="m", name="ask", arguments="{}", error={"code": 1}), 12, 3 + 3 + 12),
    ("mcp tools", of("mcp_list_tools", id="m", tools=[{"name": "f"}]), 14, 3 + 14),
    ("reasoning", reasoning("hmm", content=[{"type": "reasoning_text", "text": "so"}], encrypted_content="1234"), 5, 3 + 5 + 4),
    ("compaction", of("compaction", encrypted_content="1234"), 0, 3 + 4),
    ("reference", of("item_reference", id="msg_1"), 0, 3),
    ("new type", of("dream", text="a", output="b", content=[{"type": "vision", "text": "c"}, "d"], summary="e"), 5, 3 + 5),
]


@pytest.mark.parametrize(("item", "characters", "tokens"), [case[1:] for case in SIZES], ids=[case[0] for case in SIZES])
def test_sizes(item: Item, characters: int, tokens: int) -> None:
    assert chars(user(""), item) == characters
    assert size(item) == tokens
    exact = plan([user(""), item], max_tokens=10**6, tokenizer="cheap").report.tokens_sent
    assert exact == backcut.count([user(""), item], format=FORMAT, tokenizer=cheap)


def test_the_sizes_of_what_instructs() -> None:
    tools = '[{"type":"function","name":"f"}]'
    assert size(TOOLS) == 3 + len("developer") + len(tools)
    assert size(TRIGGER) == size(of("configuration_update", text={"format": {"type": "text"}})) == 3
    assert chars(user("a"), TOOLS, user("b")) == 2 + len(tools)


# What is kept together


FAMILIES: list[tuple[Item, Item]] = [
    (call("c"), output("c")),
    (of("custom_tool_call", call_id="c", name="f", input="x"), of("custom_tool_call_output", call_id="c", output="x")),
    (of("computer_call", call_id="c", action={}), of("computer_call_output", call_id="c", output={"type": "computer_screenshot"})),
    (of("local_shell_call", call_id="c", id="l", action={}), of("local_shell_call_output", id="l", output="x")),
    (of("local_shell_call", call_id="c", id="l", action={}), of("local_shell_call_output", call_id="c", output="x")),
    (of("local_shell_call", call_id="c", id="l", action={}), of("local_shell_call_output", id="o", call_id="c", output="x")),
    (of("shell_call", call_id="c", action={}), of("shell_call_output", call_id="c", output=[])),
    (of("apply_patch_call", call_id="c", operation={}), of("apply_patch_call_output", call_id="c", status="failed")),
    (of("tool_search_call", call_id="c", execution="client"), of("tool_search_output", call_id="c", execution="client", tools=[])),
    (of("tool_search_call", call_id=None), of("tool_search_output", call_id=None, tools=[])),
    (of("program", call_id="c", code="x"), of("program_output", call_id="c", result="x")),
    (of("mcp_approval_request", id="r", name="f", arguments="{}"), of("mcp_approval_response", approval_request_id="r", approve=True)),
]
NAMES = [f"{each[1]['type']}-{k}" for k, each in enumerate(FAMILIES)]


@pytest.mark.parametrize(("asked", "answer"), FAMILIES, ids=NAMES)
def test_an_output_stays_with_its_call(asked: Item, answer: Item) -> None:
    assert groups(user("a"), asked, answer, user("b")) == [0, 1, 3]
    assert check(user("a"), asked, answer, user("b")) == []
    assert codes(user("a"), asked, user("b")) == [("unanswered_call", 1)]
    assert codes(user("a"), asked) == [("pending_call", 1)]
    assert codes(user("a"), answer) == [("orphan_result", 1)]


def test_an_output_further_behind_welds_and_is_sound() -> None:
    items = [user("a"), call("c"), user("b"), said("x"), output("c"), user("d")]
    assert groups(*items) == [0, 1, 5]
    assert check(*items) == []


def test_families_do_not_mix() -> None:
    assert codes(user("a"), call("c"), of("custom_tool_call_output", call_id="c", output="x")) == [
        ("pending_call", 1),
        ("orphan_result", 2),
    ]


def test_searches_without_ids_are_matched_in_order() -> None:
    search = of("tool_search_call", call_id=None, execution="client", arguments={})
    hits = of("tool_search_output", call_id=None, execution="client", tools=[])
    assert check(user("a"), search, search, hits, hits, user("b")) == []
    assert codes(user("a"), search, search, hits) == [("pending_call", 2)]


def test_what_the_provider_searches_is_its_own() -> None:
    search = of("tool_search_call", call_id=None, execution="server", arguments={})
    hits = of("tool_search_output", call_id=None, execution="server", tools=[])
    assert groups(user("a"), reasoning(), search, hits, call("c"), output("c"), user("b")) == [0, 1, 6]
    assert check(user("a"), reasoning(), search, hits, call("c"), output("c"), user("b")) == []
    assert check(user("a"), search, call("c"), output("c")) == []


def test_a_hosted_shell_may_leave_its_output_out() -> None:
    hosted = of("shell_call", call_id="c", action={}, environment={"type": "container_reference", "container_id": "k"})
    answer = of("shell_call_output", call_id="c", output=[])
    assert check(user("a"), hosted, said("b"), user("c")) == []
    assert check(user("a"), hosted, answer, said("b")) == []
    assert groups(user("a"), hosted, answer, said("b")) == [0, 1, 3]
    local = of("shell_call", call_id="c", action={}, environment={"type": "local"})
    assert codes(user("a"), local, said("b"), user("c")) == [("unanswered_call", 1)]


def test_reasoning_stays_with_all_that_follows_from_it() -> None:
    turn = [reasoning(), call("a", id="fc_1"), call("b", id="fc_2"), output("b"), output("a")]
    assert groups(user("a"), *turn, reasoning(), message("assistant", spoken("x")), user("b")) == [0, 1, 6, 8]
    for limit in range(1, 400, 7):
        found = kept(user("task"), *turn, said("x"), user("b"), *turn, max_chars=limit, on_overflow="keep")
        assert set(found) >= {8, 9, 10, 11, 12}
        assert len({k in found for k in range(1, 6)}) == 1


def test_hosted_calls_belong_to_the_turn() -> None:
    hosted = [of(kind) for kind in ("web_search_call", "file_search_call", "code_interpreter_call", "mcp_call", "mcp_list_tools")]
    assert groups(user("a"), reasoning(), *hosted, of("item_reference", id="x"), said("b"), user("c")) == [0, 1, 9]
    assert check(user("a"), reasoning(), *hosted, said("b")) == []


def test_a_program_stays_with_the_calls_that_it_makes() -> None:
    program, answer = of("program", call_id="p", code="x"), of("program_output", call_id="p", result="x")
    rounds = [call("a", **by("p")), output("a"), call("b", **by("p")), output("b")]
    assert groups(user("u"), reasoning(), program, *rounds, answer, said("x"), user("v")) == [0, 1, 9]
    assert check(user("u"), reasoning(), program, *rounds, answer, said("x")) == []
    # Still running: nothing holds it together but what it called.
    assert groups(user("u"), reasoning(), program, *rounds) == [0, 1]
    assert codes(user("u"), reasoning(), program, *rounds) == [("pending_call", 2)]
    assert codes(user("u"), program, *rounds, user("v")) == [("unanswered_call", 1)]
    # One that nobody sees holds nothing, and is no flaw here.
    assert groups(user("u"), *rounds) == [0, 1, 3]
    assert check(user("u"), *rounds) == []


def test_outputs_alone_pass_through() -> None:
    items = [output("a"), output("b", "x" * 500)]
    limits: list[dict[str, Any]] = [{"max_chars": 1}, {"max_turns": 1}, {"max_tokens": 1, "tokenizer": cheap}]
    for limit in limits:
        assert backcut.trim(items, format=FORMAT, on_overflow="keep", **limit).messages is items
        for engine in ENGINES:
            named = limit | ({"tokenizer": "cheap"} if "tokenizer" in limit else {})
            assert engine_window(engine, {"format": FORMAT, "on_overflow": "keep", **named}).trim(items, None, None).messages is items
    assert codes(*items) == [("orphan_result", 0), ("orphan_result", 1)]


def test_what_was_approved_stays_with_the_request() -> None:
    request = of("mcp_approval_request", id="r", name="f", arguments="{}")
    answer = of("mcp_approval_response", approval_request_id="r", approve=True)
    done = of("mcp_call", id="m", name="f", arguments="{}", output="x", approval_request_id="r")
    assert groups(user("a"), request, answer, done, said("b"), user("c")) == [0, 1, 5]
    assert check(user("a"), request, answer, done, said("b")) == []
    assert check(user("a"), done, said("b")) == []


# Where it may start


def test_the_task_stays_until_it_does_not_fit() -> None:
    items = [user("o" * 99), said("x"), user("task"), *pair("a", "12345"), *pair("b", "12345")]
    least = 4 + 2 + 5
    assert kept(*items, max_chars=least) == (2, 5, 6)
    bare = plan(items, max_chars=least - 1, notice=False)
    assert (bare.kept, bare.report.task_dropped) == ((5, 6), True)
    assert kept(*items, max_chars=least, start="any") == (5, 6)


def test_what_instructs_in_between_is_no_beginning() -> None:
    assert groups(user("a"), said("b"), TOOLS, *pair("c"), TRIGGER) == [0, 1, 3]
    # The newest group is never the trigger's, which is kept all the same.
    assert kept(user("a"), *pair("c"), TRIGGER, max_turns=3, start="any") == (1, 2, 3)
    assert kept(system(), TOOLS, user("a"), said("b"), user("c"), max_turns=1) == (0, 1, 4)


# Notice


@pytest.mark.parametrize(("head", "role"), [([], "system"), ([system()], "system"), ([developer()], "developer"), ([TOOLS], "developer")])
def test_the_notice_is_a_message_of_its_own(head: list[Item], role: str) -> None:
    items = [*head, user("old"), said("x"), user("new"), said("y")]
    found = plan(items, max_turns=2)
    cut = found.apply(items)
    assert cut == [*head, {"role": role, "content": DEFAULT_NOTICE}, *items[-2:]]
    assert found.report.chars_sent == LONG + 4
    again = plan(cut, max_turns=2)
    assert again.report.first_changed is None
    counted = plan(items, max_turns=2, tokenizer="cheap")
    assert counted.report.tokens_sent == backcut.count(cut, format=FORMAT, tokenizer=cheap)


@pytest.mark.parametrize(
    ("content", "folded"),
    [("new", f"{DEFAULT_NOTICE}\n\nnew"), ([told("new")], [told(DEFAULT_NOTICE), told("new")])],
)
def test_the_notice_is_folded_on_request(content: Any, folded: Any) -> None:
    items = [user("old"), said("x"), {"type": "message", "role": "user", "content": content}, said("y")]
    found = plan(items, max_turns=2, notice_role="user")
    cut = found.apply(items)
    assert cut == [{"type": "message", "role": "user", "content": folded}, said("y")]
    assert found.report.chars_sent == chars(*cut)
    assert plan(cut, max_turns=2, notice_role="user").report.first_changed is None


# Caps


def capped(item: Item, most: int, **options: Any) -> Any:
    items = [user("a"), call("c"), item, said("b")]
    found = plan(items, max_chars_per_tool=most, tokenizer="cheap", **options)
    cut = found.apply(items)
    assert found.report.chars_sent == chars(*cut)
    assert found.report.tokens_sent == backcut.count(cut, format=FORMAT, tokenizer=cheap)
    again = plan(cut, max_chars_per_tool=most, tokenizer="cheap", **options)
    assert again.report.first_changed is None
    return cut[2]["output"]


def test_a_text_is_cut_in_place() -> None:
    assert capped(output("c", "x" * 100), 40) == "x" * (40 - len(CUT)) + CUT
    assert capped(output("c", "x" * 40), 40) == "x" * 40


def test_parts_share_a_cap_and_pictures_stay() -> None:
    image = {"type": "input_image", "image_url": "u"}
    assert capped(output("c", [told("x" * 100), image, told("y" * 100)]), 40) == [told("x" * (40 - len(CUT)) + CUT), image]
    assert capped(output("c", [told("x" * 30), image, "y" * 100]), 50) == [told("x" * 30), image, "y" * (20 - len(CUT)) + CUT]


def test_both_streams_of_a_shell_share_a_cap() -> None:
    def shell(*chunks: tuple[str, str]) -> Item:
        return of("shell_call_output", call_id="c", output=[{"stdout": out, "stderr": err, "outcome": {}} for out, err in chunks])

    assert capped(shell(("x" * 100, "y" * 100)), 40) == shell(("x" * (40 - len(CUT)) + CUT, ""))["output"]
    assert capped(shell(("x" * 10, "y" * 100), ("z", "")), 40) == shell(("x" * 10, "y" * (30 - len(CUT)) + CUT), ("", ""))["output"]


def test_a_record_is_cut_where_its_text_is() -> None:
    assert capped(output("c", {"type": "input_text", "text": "x" * 100}), 40)["text"] == "x" * (40 - len(CUT)) + CUT


@pytest.mark.parametrize(
    "item",
    [
        of("mcp_call", name="f", arguments="{}", output="x" * 100),
        of("program_output", call_id="p", result="x" * 100),
        of("tool_search_output", call_id=None, tools=["x" * 100]),
        of("code_interpreter_call", code="x" * 100),
    ],
)
def test_what_the_provider_made_is_not_cut(item: Item) -> None:
    items = [user("a"), of("program", call_id="p", code="x"), of("tool_search_call", call_id=None), item]
    assert plan(items, max_chars_per_tool=40).edits == ()


# Check


CHECKS: list[tuple[str, list[Item], list[tuple[str, int]]]] = [
    ("sound", [user("a"), reasoning(), *pair("c"), reasoning(), said("x")], []),
    ("empty", [], [("empty_history", 0)]),
    ("no content", [{"role": "user"}, said(None)], [("missing_content", 0), ("missing_content", 1)]),
    ("no id", [user("a"), call(None), output("")], [("missing_id", 1), ("missing_id", 2)]),
    ("no id of an approval", [user("a"), of("mcp_approval_request", id="")], [("missing_id", 1), ("pending_call", 1)]),
    ("no id of a shell", [of("local_shell_call", action={})], [("missing_id", 0), ("pending_call", 0)]),
    ("an id twice in a turn", [user("a"), call("c"), said("x"), call("c"), output("c"), output("c")], [("duplicate_id", 3)]),
    ("an id of two families", [call("c"), of("custom_tool_call", call_id="c"), output("c")], [("pending_call", 1)]),
    ("reasoning at the end", [user("a"), reasoning(), reasoning()], []),
    ("reasoning and a user", [reasoning(), user("a")], [("reasoning_without_follower", 0)]),
    ("a run of it", [reasoning(), reasoning(), system()], [("reasoning_without_follower", 0), ("reasoning_without_follower", 1)]),
    ("reasoning and an output", [call("c"), reasoning(), output("c")], [("reasoning_without_follower", 1)]),
    ("a run with a follower", [reasoning(), reasoning(), of("web_search_call")], []),
    ("no summary", [{"type": "reasoning", "id": "rs"}, said("x")], [("missing_summary", 0)]),
    ("an empty summary", [{"type": "reasoning", "id": "rs", "summary": []}, said("x")], []),
    ("a trigger", [user("a"), TRIGGER], []),
    ("a misplaced trigger", [TRIGGER, user("a")], [("misplaced_trigger", 0)]),
    ("no call", [user("a"), output("c")], [("orphan_result", 1)]),
    ("a call that may be referred to", [user("a"), of("item_reference", id="fc_1"), output("c")], []),
    ("a call that is not referred to", [user("a"), output("c"), of("item_reference", id="fc_1")], [("orphan_result", 1)]),
    ("a dead call", [call("c"), user("a")], [("unanswered_call", 0)]),
    ("an id anew", [call("c"), user("a"), *pair("c")], [("unanswered_call", 0)]),
]


@pytest.mark.parametrize(("items", "expected"), [case[1:] for case in CHECKS], ids=[case[0] for case in CHECKS])
def test_check(items: list[Item], expected: list[tuple[str, int]]) -> None:
    assert codes(*items) == expected


def test_check_names_the_calls() -> None:
    assert check(user("a"), call("c"), call("d"), output("d"), user("b")) == [("unanswered_call", 1, ("c",))]
    assert check(user("a"), call("c"), call("c")) == [("pending_call", 1, ("c",)), ("duplicate_id", 2, ("c",)), ("pending_call", 2, ("c",))]


# Detection


OWN = [case[:2] for case in SIZES if "type" in case[1] and case[0] not in ("strange part", "audio")]
"""What no other format has."""


@pytest.mark.parametrize("item", [item for _, item in OWN], ids=[name for name, _ in OWN])
def test_a_typed_item_is_known(item: Item) -> None:
    for engine in ENGINES:
        found = engine_window(engine, {"format": "auto", "max_turns": 9}).plan([user("a"), item], None, None)
        assert found.report.format == FORMAT


def test_what_chat_completions_has_too_is_not_refused() -> None:
    items = [user("a"), *pair("c"), message("assistant", {"type": "refusal", "refusal": "no"}), message("user", {"type": "input_audio"})]
    for engine in ENGINES:
        found = engine_window(engine, {"format": "auto", "max_chars": 999}).plan(items, None, None)
        assert found.report.format == FORMAT


def test_an_item_of_tools_decides() -> None:
    for engine in ENGINES:
        found = engine_window(engine, {"format": "auto", "max_chars": 999}).plan([TOOLS, user("a")], None, None)
        assert found.report.format == FORMAT


# Errors

ERRORS: list[tuple[Any, str, str, str]] = [
    ("x", "", "str", "a mapping or an object with a role"),
    ({}, "type", "nothing", "the type of an item, or a role"),
    ({"type": 1}, "type", "int", "a string or null"),
    ({"type": 1, "role": "user"}, "type", "int", "a string or null"),
    ({"role": "tool"}, "role", "'tool'", "one of system, developer, user, assistant"),
    ({"role": 1}, "role", "int", "one of system, developer, user, assistant"),
    ({"type": "message"}, "role", "nothing", "one of system, developer, user, assistant"),
    (user(1), "content", "int", "a string, a list of parts or null"),
    (user({}), "content", "dict", "a string, a list of parts or null"),
    (user([1]), "content[0]", "int", "a string or a mapping"),
    (user([told("a"), {"type": "input_text"}]), "content[1].text", "nothing", "a string"),
    (user([{"type": "refusal", "refusal": 1}]), "content[0].refusal", "int", "a string"),
    (call(1), "call_id", "int", "a string or null"),
    (of("local_shell_call", call_id="c", id=1), "id", "int", "a string or null"),
    (call("c", name=1), "name", "int", "a string or null"),
    (call("c", {1, 2}), "arguments", "set", "a string or a JSON value"),
    (of("shell_call", call_id="c", action={"x": {1}}), "action", "dict", "a string or a JSON value"),
    (of("additional_tools", tools={1}), "tools", "set", "a string or a JSON value"),
    (output("c", 1), "output", "int", "a string, a list of parts, a picture or null"),
    (output("c", [1]), "output[0]", "int", "a string or a mapping"),
    (output("c", [{"type": "input_text", "text": 1}]), "output[0].text", "int", "a string"),
]


@pytest.mark.parametrize(("item", "path", "found", "expected"), ERRORS)
def test_what_cannot_be_read(item: Any, path: str, found: str, expected: str) -> None:
    for engine in ENGINES:
        with pytest.raises(backcut.FormatError) as caught:
            engine_window(engine, {"format": FORMAT, "max_chars": 999}).plan([user("a"), item], None, None)
        error = caught.value
        assert (error.index, error.path, error.found, error.expected) == (1, path, found, expected)


def test_in_front_of_the_cut_only_types_and_roles_matter() -> None:
    assert kept(call("c", name=1), output("c", 1), said("x"), user("a"), max_turns=1) == (3,)


# SDK objects


class Model:
    """An object as the SDK has them: attributes, those of an absent field ``None``, and what was set in JSON."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def model_dump(self, *, mode: str, by_alias: bool, exclude_unset: bool) -> dict[str, Any]:
        assert (mode, by_alias, exclude_unset) == ("json", True, True)
        return {key: as_model_dumps(value) for key, value in self.__dict__.items()}


def as_model_dumps(value: Any) -> Any:
    if isinstance(value, list):
        return [as_model_dumps(inner) for inner in value]
    return value.model_dump(mode="json", by_alias=True, exclude_unset=True) if isinstance(value, Model) else value


def objects(value: Any, make: Any = Model) -> Any:
    if isinstance(value, dict):
        return make(**{key: objects(inner, make) for key, inner in value.items()})
    return [objects(inner, make) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("item", [case[1] for case in SIZES], ids=[case[0] for case in SIZES])
def test_objects_cost_what_mappings_cost(item: Item) -> None:
    assert size(objects(item)) == size(item)
    assert chars(user(""), objects(item)) == chars(user(""), item)


@pytest.mark.parametrize(("asked", "answer"), FAMILIES, ids=NAMES)
def test_objects_are_paired(asked: Item, answer: Item) -> None:
    assert groups(user("a"), objects(asked), objects(answer), user("b")) == [0, 1, 3]
    assert check(user("a"), objects(asked), answer, user("b")) == []


def test_an_object_is_cut_as_a_mapping_is() -> None:
    items = [user("a"), objects(call("c")), objects(output("c", [told("x" * 100)]), SimpleNamespace)]
    cut = plan(items, max_chars_per_tool=40).apply(items)
    assert cut[2].output[0].text == "x" * (40 - len(CUT)) + CUT
    assert items[2].output[0].text == "x" * 100


def test_an_object_that_is_no_json_is_refused() -> None:
    with pytest.raises(backcut.FormatError, match="JSON value"):
        size(of("shell_call", call_id="c", action=SimpleNamespace(commands=[])))


# Many histories


def test_core_and_twin_agree_and_the_judge_finds_the_results_sound() -> None:
    for seed in range(150):
        random = Random(seed)
        items = judge.history(random, turns=1 + seed % 9, live=seed % 3 == 0)
        assert not [each for each in check(*items) if each[0] != "pending_call"], seed
        whole = backcut.count(items, format=FORMAT, tokenizer=cheap)
        for share in (20, 45, 70):
            for options in (
                {"max_turns": max(1, len(items) * share // 100)},
                {"max_chars": chars(*items) * share // 100 + 1, "start": random.choice(["user", "any"])},
                {"max_tokens": whole * share // 100, "tokenizer": "cheap", "notice_role": random.choice(["auto", "user"])},
                {"max_chars": 90, "max_chars_per_tool": random.choice([8, 30]), "tool_keep": random.choice(["head", "tail", "head_tail"])},
            ):
                found = plan(items, on_overflow="keep", **options)
                sent = found.apply(items)
                assert judge.problems(sent) == [], (seed, options)
                if not found.report.over_budget:
                    assert plan(sent, on_overflow="keep", **options).report.first_changed is None, (seed, options)


def test_broken_histories_are_read_alike() -> None:
    for seed in range(300):
        items = judge.history(Random(seed), turns=1 + seed % 9, live=seed % 3 == 0)
        _, broken = judge.breakages(items, Random(f"damage {seed}"))
        check(*broken)
        plan(broken, max_turns=max(1, len(broken) // 2), on_overflow="keep")
        plan(broken, max_chars=200, on_overflow="keep", start="any")


# Real conversations

KNOWN: dict[str, list[tuple[str, int]]] = {}
"""What is wrong with real conversations as they were found."""


def conversations(corpus: Path) -> Iterator[tuple[str, list[Any]]]:
    for path in sorted(corpus.glob("*.openai-responses.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            talk = json.loads(line)
            yield talk["id"], talk["messages"]


def test_real_conversations_are_known(corpus: Path) -> None:
    seen = 0
    for name, items in conversations(corpus):
        for engine in ENGINES:
            found = engine_window(engine, {"format": "auto", "max_turns": 10**6}).plan(items, None, None)
            assert found.report.format == FORMAT, name
        assert codes(*items) == KNOWN.get(name, []), name
        seen += 1
    assert seen == 47


def measured(items: list[Any], unit: str) -> int:
    if unit == "max_turns":
        return sum(item.get("role") != "system" for item in items)
    return chars(*items) if unit == "max_chars" else backcut.count(items, format=FORMAT, tokenizer=cheap)


@pytest.mark.parametrize("share", [25, 50, 75])
@pytest.mark.parametrize("unit", ["max_turns", "max_chars", "max_tokens"])
def test_real_conversations_are_trimmed(corpus: Path, unit: str, share: int) -> None:
    for name, items in conversations(corpus):
        more: dict[str, Any] = {"tokenizer": "cheap"} if unit == "max_tokens" else {}
        limit = max(1, measured(items, unit) * share // 100)
        found = plan(items, on_overflow="keep", **{unit: limit}, **more)
        sent = found.apply(items)
        if not found.report.over_budget:
            assert measured(sent, unit) <= limit, name
            again = plan(sent, on_overflow="keep", **{unit: limit}, **more)
            assert same_messages(again.apply(sent), sent), name
        before, after = codes(*items), codes(*sent)
        assert {code for code, _ in after} <= {code for code, _ in before}, name
