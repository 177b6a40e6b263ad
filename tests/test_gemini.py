"""Gemini contents, each rule by a case worked out by hand, in both engines (``docs/formats/gemini.md``)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import SimpleNamespace as Thing
from typing import Any

import pytest

import backcut
from engines import ENGINES, Both, RefusedError
from pictures import png
from pictures import text as base64
from support import CORE, DEFAULT_NOTICE, engine_window, outcome
from wires import gemini

Message = dict[str, Any]
G = Both("gemini")
LONG = len(DEFAULT_NOTICE)
MARKER = "\n… [truncated]"
IMAGE = {"fileData": {"mimeType": "image/png", "fileUri": "gs://a/b.png"}}


def text(said: str, **more: Any) -> Message:
    return {"text": said, **more}


def user(*parts: Any) -> Message:
    return {"role": "user", "parts": [text(part) if isinstance(part, str) else part for part in parts]}


def model(*parts: Any) -> Message:
    return user(*parts) | {"role": "model"}


def call(call_id: str | None = None, args: Any = None, **more: Any) -> Message:
    inner = {"name": "f", "args": {} if args is None else args} | ({} if call_id is None else {"id": call_id})
    return {"functionCall": inner, **more}


def answer(call_id: str | None = None, response: Any = None, **more: Any) -> Message:
    inner = {"name": "f", "response": {"output": "result"} if response is None else response, **more}
    return {"functionResponse": inner | ({} if call_id is None else {"id": call_id})}


def kept(messages: list[Any], **options: Any) -> tuple[int, ...]:
    return G.plan(messages, **({"notice": False} | options)).kept


# Sizes


@pytest.mark.parametrize(
    ("part", "chars", "tokens"),
    [
        (text("hello"), 5, 5),
        ("hello", 5, 5),
        (text("hmm", thought=True), 3, 3),
        (text("so", thoughtSignature="signed"), 2, 2 + 6),
        (text("", thought_signature="signed"), 0, 6),
        (text("so", thoughtSignature=b"signed"), 2, 2),
        (call("a", {"x": "é"}), 9, 3 + 1 + 9),
        (call("a", {"x": "é"}, thoughtSignature="sig"), 9, 3 + 1 + 9 + 3),
        ({"function_call": {"name": "find", "args": {}}}, 2, 3 + 4 + 2),
        ({"functionCall": {"name": "find"}}, 0, 3 + 4),
        ({"functionCall": {}}, 0, 3),
        ({"executableCode": {"language": "PYTHON", "code": "f()"}}, 3, 3),
        ({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "42"}}, 2, 2),
        ({"executable_code": {"code": "f()"}}, 3, 3),
        ({"code_execution_result": {"output": None}}, 0, 0),
        ({"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "s", "args": {"q": 1}}}, 7, 3 + 7),
        ({"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "id": "s", "response": {"n": 1}}}, 7, 3 + 7),
        ({"somethingNew": {"text": "unread"}}, 0, 0),
        ({}, 0, 0),
    ],
)
def test_size_of_what_the_model_says(part: Any, chars: int, tokens: int) -> None:
    said = {"role": "model", "parts": [part]}
    assert G.chars(user("q"), said) == 1 + chars
    assert G.count([said]) == 3 + 3 + len("model") + tokens


@pytest.mark.parametrize(
    ("part", "chars", "tokens"),
    [
        (answer("a", {"output": "hello"}), 5, 3 + 5),
        (answer("a", {"error": "hello"}), 5, 3 + 5),
        (answer("a", {"n": 1}), 7, 3 + 7),
        (answer("a", {"a": "b", "n": "é"}), 17, 3 + 17),
        (answer("a", {"output": {"n": 1}}), 18, 3 + 18),
        (answer("a", {}), 2, 3 + 2),
        (answer("a", [1, 2]), 5, 3 + 5),
        (answer("a", "plain"), 5, 3 + 5),
        ({"functionResponse": {"name": "f"}}, 0, 3),
        ({"function_response": {"name": "f", "response": {"result": "ok"}}}, 2, 3 + 2),
        (answer("a", {}, parts=[{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}, IMAGE]), 2, 3 + 2 + 765 + 765),
        (answer("a", {}, parts=[{"file_data": {"mime_type": "application/pdf"}}]), 2, 3 + 2 + 1500),
        ({"inlineData": {"mimeType": "image/png", "data": "AAAA"}}, 0, 765),
        ({"inlineData": {"mimeType": "image/png", "data": base64(png(512, 512))}}, 0, 85 + 170),
        ({"inline_data": {"mime_type": "image/png", "data": b"bytes"}}, 0, 765),
        ({"inline_data": {"mime_type": "audio/mp3", "data": "AAAA"}}, 0, 300),
        ({"inlineData": {"mimeType": "application/pdf", "data": "AAAA"}}, 0, 1500),
        ({"fileData": {"fileUri": "https://example.com/film"}}, 0, 1500),
        (IMAGE, 0, 765),
    ],
)
def test_size_of_what_the_user_sends(part: Any, chars: int, tokens: int) -> None:
    assert G.chars(user(part)) == chars
    assert G.count([user(part)]) == 3 + 3 + len("user") + tokens


@pytest.mark.parametrize("role", ["user", "model", "function", "tool"])
def test_the_role_costs_its_word(role: str) -> None:
    assert G.count([{"role": role, "parts": []}]) == G.count([{"role": role}]) == 3 + 3 + len(role)


def test_parts_may_be_a_text() -> None:
    """Google's older SDK took that."""
    messages = [{"role": "user", "parts": "old"}, model("x"), {"role": "user", "parts": "new"}]
    assert G.chars(*messages) == 7
    assert G.trim(messages, max_turns=1).messages == [{"role": "user", "parts": f"{DEFAULT_NOTICE}\n\nnew"}]


DECLARED = {"name": "f", "description": "Does it.", "parameters": {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}}}


def test_tools_and_system() -> None:
    one = 7 + len("f:Does it") + 3 + 3 + len("a:STRING:")
    for key in ("functionDeclarations", "function_declarations"):
        assert G.count([], [{key: [DECLARED]}]) == G.count([], {key: [DECLARED]}) == 3 + one + 12
        assert G.count([], [{key: [DECLARED, DECLARED]}, {"googleSearch": {}}]) == 3 + 2 * one + 7 + len(":") + 12
    for key in ("parametersJsonSchema", "parameters_json_schema"):
        moved = {"name": "f", "description": "Does it.", key: DECLARED["parameters"]}
        assert G.count([], [{"functionDeclarations": [moved]}]) == 3 + one + 12
    assert G.count([], system={"parts": [text("be"), text("brief")]}) == 3 + 3 + len("system") + 7
    assert G.count([], system={"text": "brief"}) == G.count([], system="brief") == 3 + 3 + len("system") + 5
    with pytest.raises(RefusedError) as caught:
        G.count([], [{"googleSearch": {}, "more": {}}])
    assert caught.value.facts["path"] == "tools[0]"


# Groups


def test_a_batch_and_its_results_are_one_group() -> None:
    messages = [user("q"), model(call("a"), call("b")), user(answer("b"), answer("a")), model("so")]
    assert G.found(*messages) == []
    assert [kept(messages, max_turns=n, start="any") for n in (1, 2, 3)] == [(3,), (3,), (1, 2, 3)]


def test_without_ids_the_place_decides() -> None:
    messages = [user("q"), model(call(), call()), user(answer()), user(answer()), model("so")]
    assert G.found(*messages) == []
    assert [kept(messages, max_turns=n, start="any") for n in (3, 4)] == [(4,), (1, 2, 3, 4)]
    assert G.found(user("q"), model(call(), call()), user(answer()), user("go")) == [("unanswered_call", 1, ())]
    assert G.found(user("q"), model(call()), user(answer(), answer()), model("so")) == [("orphan_result", 2, ())]


def test_where_one_has_no_id_the_place_decides() -> None:
    assert G.found(user("q"), model(call("a"), call("b")), user(answer(), answer("b")), model("so")) == []
    assert G.found(user("q"), model(call(), call("b")), user(answer("x"), answer("b")), model("so")) == []


@pytest.mark.parametrize("role", ["function", "tool"])
def test_older_roles_are_results(role: str) -> None:
    messages = [user("q"), model(call()), {"role": role, "parts": [answer()]}, model("so"), user("r")]
    assert G.found(*messages) == []
    assert [kept(messages, max_turns=n, start="any") for n in (3, 4)] == [(3, 4), (1, 2, 3, 4)]


def test_a_message_with_a_result_and_a_text_is_a_result() -> None:
    messages = [user("task"), model(call("a")), user(answer("a"), "and be quick"), model(call("b")), user(answer("b")), model("so")]
    assert G.found(*messages) == []
    assert kept(messages, max_turns=4) == (0, 3, 4, 5)


def test_messages_of_the_model_in_a_row_are_one_turn() -> None:
    messages = [user("q"), model("let me see"), model(call("a")), user(answer("a")), model("so")]
    assert G.found(*messages) == []
    assert [kept(messages, max_turns=n, start="any") for n in (3, 4)] == [(4,), (1, 2, 3, 4)]


def test_calls_stand_in_the_models_turns_only() -> None:
    assert G.found(user(call("a"), "q"), model("so")) == [("misplaced_block", 0, ())]
    assert G.found(user("q"), model(answer("a"))) == [("misplaced_block", 1, ())]


def test_the_live_end_is_whole() -> None:
    messages = [user("q"), model("hm"), user("go"), model(call("a"), call("b")), user(answer("a"))]
    assert G.found(*messages) == [("pending_call", 3, ("b",))]
    assert kept(messages, max_turns=3) == (2, 3, 4)


def test_the_task_stays() -> None:
    messages = [user("o" * 99), model("x"), user("task"), model(call("a")), user(answer("a")), model(call("b")), user(answer("b"))]
    least = 4 + 2 + 6
    assert kept(messages, max_chars=least) == (2, 5, 6)
    with pytest.raises(RefusedError) as caught:
        G.plan(messages, max_chars=least - 1)
    assert caught.value.kind == "BudgetError"
    over = G.plan(messages, max_chars=least - 1, on_overflow="keep")
    assert (over.kept, over.report.over_budget, over.report.task_dropped) == ((2, 5, 6), True, False)


# Notice


@pytest.mark.parametrize("role", ["auto", "system", "user"])
def test_the_notice_is_a_part_of_its_own(role: str) -> None:
    messages = [user("old"), model("x"), user(IMAGE, "new"), model("y")]
    cut, report = G.trim(messages, max_turns=2, notice_role=role, tokenizer="cheap")
    assert cut == [user(DEFAULT_NOTICE, IMAGE, "new"), messages[3]]
    assert report.chars_sent == LONG + 4 == G.chars(*cut)
    assert report.tokens_sent == backcut.count(cut, format="gemini", tokenizer=lambda text: (len(text) + 3) // 4)


@pytest.mark.parametrize("parts", [[], None])
def test_the_notice_is_all_of_an_empty_message(parts: Any) -> None:
    cut = G.trim([user("old"), model("x"), {"role": "user", "parts": parts}], max_turns=1).messages
    assert cut == [user(DEFAULT_NOTICE)]


# Cap


def test_each_response_has_its_own_cap() -> None:
    given = [answer("a", {"output": "x" * 40}), answer("b", {"result": "short"}), answer("c", {"n": "y" * 30, "m": 1}), text("z" * 99)]
    messages = [user("q"), model(call("a"), call("b"), call("c")), user(*given)]
    cut, report = G.trim(messages, max_chars_per_tool=20, tokenizer="cheap")
    whole = json.dumps({"n": "y" * 30, "m": 1}, separators=(",", ":"))
    expected = [answer("a", {"output": "x" * 6 + MARKER}), given[1], answer("c", {"output": whole[:6] + MARKER}), given[3]]
    assert cut[2]["parts"] == expected
    assert cut[2]["parts"][1] is given[1]
    assert (report.tools_truncated, report.chars_capped, report.first_changed) == (2, 20 + len(whole) - 20, 2)
    assert report.chars_sent == G.chars(*cut)
    (edit,) = G.plan(messages, max_chars_per_tool=20).edits
    assert edit.cuts == (
        backcut.PartCut(("parts", 0, "functionResponse", "response", "output"), 6, 0, MARKER, False),
        backcut.PartCut(("parts", 2, "functionResponse", "response"), 6, 0, MARKER, False),
    )


@pytest.mark.parametrize("most", [1, 5, 14, 15, 20])
@pytest.mark.parametrize("keep", ["head", "tail", "head_tail"])
def test_a_cap_of_any_size(most: int, keep: str) -> None:
    messages = [user("q"), model(call()), user(answer(None, {"rows": ["日本語" * 9], "n": 1})), model("so")]
    cut, report = G.trim(messages, max_chars_per_tool=most, tool_keep=keep)
    (inner,) = cut[2]["parts"]
    assert list(inner["functionResponse"]["response"]) == ["output"]
    assert len(inner["functionResponse"]["response"]["output"]) <= most
    assert report.chars_sent == G.chars(*cut)


def test_pictures_in_a_response_stay() -> None:
    shown = answer("a", {"output": "x" * 40}, parts=[{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}])
    cut = G.trim([user("q"), model(call("a")), user(shown)], max_chars_per_tool=20).messages
    assert cut[2]["parts"][0]["functionResponse"]["parts"] is shown["functionResponse"]["parts"]
    assert cut[2]["parts"][0]["functionResponse"]["response"] == {"output": "x" * 6 + MARKER}


def test_snake_case_stays_snake_case() -> None:
    given = {"function_response": {"name": "f", "response": {"result": "x" * 40}}}
    cut = G.trim([user("q"), model({"function_call": {"name": "f", "args": {}}}), user(given)], max_chars_per_tool=20).messages
    assert cut[2] == user({"function_response": {"name": "f", "response": {"result": "x" * 6 + MARKER}}})


@pytest.mark.parametrize("thinking", ["keep", "strip"])
def test_signatures_are_bound_to_nothing_in_front(thinking: str) -> None:
    signed = model(text("hmm", thought=True, thoughtSignature="s"), text("so"))
    messages = [user("o"), model("x"), user("q"), signed, user("r"), model("y")]
    cut, report = G.trim(messages, max_turns=4, notice=False, thinking=thinking)
    assert all(each is known for each, known in zip(cut, messages[2:], strict=True))
    assert report.thinking_invalidated is False


# SDK objects


def test_objects_are_read_by_their_attributes() -> None:
    def part(**held: Any) -> Thing:
        names = ("text", "thought", "thought_signature", "function_call", "function_response", "inline_data", "file_data")
        return Thing(**dict.fromkeys(names) | held)

    called = Thing(id=None, name="f", args={"x": 1})
    answered = Thing(id=None, name="f", response={"result": "x" * 40}, parts=None)
    blob = Thing(data=b"\x89PNG", mime_type="image/png")
    messages = [
        Thing(role="user", parts=[part(text="old")]),
        Thing(role="model", parts=[part(text="x")]),
        Thing(role="user", parts=[part(text="q"), part(inline_data=blob)]),
        Thing(role="model", parts=[part(function_call=called, thought_signature=b"bytes")]),
        Thing(role="user", parts=[part(function_response=answered)]),
    ]
    assert G.found(*messages) == []
    assert G.chars(*messages) == 3 + 1 + 1 + 7 + 40
    assert G.count(messages[2:3]) == 3 + 3 + 4 + 1 + 765
    cut = G.trim(messages, max_turns=3, max_chars_per_tool=20).messages
    assert cut[0].parts[0].text == DEFAULT_NOTICE
    assert cut[0].parts[1:] == messages[2].parts
    assert cut[2].parts[0].function_response.response == {"result": "x" * 6 + MARKER}
    assert messages[4].parts[0].function_response.response == {"result": "x" * 40}
    assert G.found(Thing(role="user", parts=[part()])) == [("empty_part", 0, ())]


# Check


@pytest.mark.parametrize(
    ("messages", "found"),
    [
        ([], [("empty_history", 0, ())]),
        ([model("x")], [("first_not_user", 0, ())]),
        ([model(call("a")), user(answer("a"))], [("first_not_user", 0, ())]),
        ([user(answer("a"))], [("first_not_user", 0, ()), ("orphan_result", 0, ("a",))]),
        ([user("q"), model(), user("r")], [("missing_content", 1, ())]),
        ([{"role": "user"}], [("missing_content", 0, ())]),
        ([{"role": "user", "parts": ""}], [("missing_content", 0, ())]),
        ([user({})], [("empty_part", 0, ())]),
        ([user("")], []),
        ([user({"text": None, "functionCall": None, "thought": True})], [("empty_part", 0, ())]),
        ([user("q"), model(text("", thoughtSignature="s"))], []),
        ([user({"somethingNew": {}})], []),
        ([user("q"), model(call("a")), user("first", answer("a"))], [("text_before_result", 2, ())]),
        ([user("q"), model(call("a"), call("a")), user(answer("a"), answer("a"))], [("duplicate_id", 1, ("a",))]),
        ([user("q"), model(call("a")), user("hm")], [("unanswered_call", 1, ("a",))]),
        ([user("q"), model(call("a"))], [("pending_call", 1, ("a",))]),
        ([user("q"), model(call("a")), user("hm"), user(answer("a"))], [("late_result", 3, ("a",))]),
    ],
)
def test_codes(messages: list[Message], found: list[Any]) -> None:
    assert G.found(*messages) == found


# Detection and errors


@pytest.mark.parametrize(
    "messages", [[user("hi")], [{"role": "model"}], [{"role": "user", "content": "hi"}, model("x")], [Thing(role="user", parts=[])]]
)
def test_detected(messages: list[Any]) -> None:
    assert Both("auto").plan(messages).report.format == "gemini"


def test_a_message_of_another_format_is_ambiguous() -> None:
    other = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]}
    with pytest.raises(RefusedError) as caught:
        Both("auto").plan([user("q"), other])
    assert "looks like openai-chat" in caught.value.facts["allowed"]
    assert G.plan([user("q"), other]).kept == (0, 1)


ROLES = "one of user, model, function, tool"


@pytest.mark.parametrize(
    ("message", "path", "seen", "expected"),
    [
        (5, "", "int", "a mapping or an object with a role"),
        ({"parts": []}, "role", "nothing", ROLES),
        ({"role": "assistant", "parts": []}, "role", "'assistant'", ROLES),
        ({"role": "user", "parts": 5}, "parts", "int", "a string, a list of parts or null"),
        (user(None), "parts[0]", "NoneType", "a string or a mapping"),
        (user("a", {"text": 5}), "parts[1].text", "int", "a string"),
        (model({"functionCall": "f"}), "parts[0].functionCall", "str", "a mapping"),
        (model({"functionCall": {"name": 5}}), "parts[0].functionCall.name", "int", "a string or null"),
        (model({"function_call": {"id": 5}}), "parts[0].function_call.id", "int", "a string or null"),
        (model(call("a", {"x": {1}})), "parts[0].functionCall.args", "dict", "a string or a JSON value"),
        (user({"functionResponse": [1]}), "parts[0].functionResponse", "list", "a mapping"),
        (user(answer("a", {"x": {1}})), "parts[0].functionResponse.response", "dict", "a JSON value"),
        (user({"inlineData": "AAAA"}), "parts[0].inlineData", "str", "a mapping"),
        (model({"executableCode": {"code": 5}}), "parts[0].executableCode.code", "int", "a string or null"),
    ],
)
def test_errors_say_where(message: Any, path: str, seen: str, expected: str) -> None:
    with pytest.raises(RefusedError) as caught:
        G.plan([user("q"), message])
    assert caught.value.kind == "FormatError"
    facts = caught.value.facts
    assert (facts["index"], facts["path"], facts["found"], facts["expected"]) == (1, path, seen, expected)


# Histories that are written, and real ones


@pytest.mark.parametrize("seed", range(60))
def test_written_histories(seed: int) -> None:
    random = Random(seed)
    messages = gemini.history(random, turns=random.randrange(1, 6), live=seed % 3 == 0)
    assert G.chars(*messages) == gemini.size_chars(messages)
    assert [code for code in G.codes(*messages) if code != "pending_call"] == []
    for cap in (None, 40):
        for ceiling, whole in (("max_chars", gemini.size_chars(messages)), ("max_turns", len(messages))):
            for percent in (25, 50, 75):
                options: dict[str, Any] = {ceiling: max(1, whole * percent // 100), "on_overflow": "keep", "max_chars_per_tool": cap}
                cut, report = G.trim(messages, **options)
                assert gemini.problems(cut) == []
                assert report.chars_sent == gemini.size_chars(cut)
                assert report.over_budget or (report.chars_sent if ceiling == "max_chars" else len(cut)) <= options[ceiling]


KNOWN: dict[str, Any] = {}
"""What is unsound in the corpus: nothing."""


def real(corpus: Path) -> Iterator[Message]:
    for name in ("pydantic-ai.gemini.jsonl", "rendered.gemini.jsonl"):
        yield from map(json.loads, (corpus / name).read_text(encoding="utf-8").splitlines())


def test_real_conversations(corpus: Path) -> None:
    seen = 0
    for conversation in real(corpus):
        seen += 1
        messages = conversation["messages"]
        assert Both("auto").plan(messages).report.format == "gemini"
        assert G.found(*messages) == KNOWN.get(conversation["id"], [])
        assert G.count(messages, conversation.get("tools"), conversation.get("system")) > 0
        whole = {"max_chars": G.chars(*messages), "max_tokens": G.plan(messages, tokenizer="cheap").report.tokens_sent or 0}
        for ceiling, size in (whole | {"max_turns": len(messages)}).items():
            for percent in (25, 50, 75):
                limit = max(1, size * percent // 100)
                cut, report = G.trim(messages, **{ceiling: limit, "tokenizer": "cheap", "on_overflow": "keep", "notice": False})
                sent = {"max_chars": report.chars_sent, "max_tokens": report.tokens_sent or 0, "max_turns": len(cut)}[ceiling]
                assert report.over_budget or sent <= limit
                assert gemini.problems(cut) == []
    assert seen == 47


def test_the_core_is_asked() -> None:
    if CORE is None:
        pytest.skip("backcut._core is not built")
    assert backcut.trim([user("q")], format="gemini").report.format == "gemini"


@pytest.mark.parametrize("role", ["function", "tool"])
def test_a_result_that_answers_nothing_stays_with_what_is_in_front(role: str) -> None:
    """Messages of these roles are results, whatever is in them; of such a history the core once ran out at the front."""
    bare = [{"role": role}] * 3
    for history in (bare, [user("a"), *bare]):
        for engine in ENGINES:
            window = engine_window(engine, {"max_turns": 2, "format": "gemini"})
            kind, error = outcome(lambda window=window, history=history: window.trim(history, None, None))
            assert (kind, error["index"]) == ("BudgetError", 0)
