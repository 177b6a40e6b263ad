"""pydantic-ai's requests and responses, each rule by a case worked out by hand (``docs/formats/pydantic-ai.md``)."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from datetime import UTC, datetime
from enum import Enum
from functools import partial
from random import Random
from typing import Any

import pytest

import backcut
from backcut.report import PartCut
from pictures import png, wav
from pictures import text as base64_of
from support import CORE, DEFAULT_NOTICE, TWIN, cheap, engine_window, needs_both, outcome, same_messages, snapshot
from wires import pydantic_ai as wire

Message = dict[str, Any]
LONG = len(DEFAULT_NOTICE)
FRAME = {"user": 3 + 4, "assistant": 3 + 9, "system": 3 + 6}
"""What a message costs with ``len`` as tokenizer, parts aside."""


def part(kind: str, content: Any = None, **more: Any) -> Message:
    return {"part_kind": kind, "content": content, **more}


def system(text: str = "rules") -> Message:
    return part("system-prompt", text)


def prompt(content: Any = "q") -> Message:
    return part("user-prompt", content)


def request(*parts: Any, **more: Any) -> Message:
    return {"parts": list(parts), "kind": "request", **more}


def response(*parts: Any, **more: Any) -> Message:
    return {"parts": list(parts), "kind": "response", **more}


def user(content: Any = "q") -> Message:
    return request(prompt(content))


def said(text: str) -> Message:
    return response(part("text", text))


def use(call_id: str | None, args: Any = None, kind: str = "tool-call") -> Message:
    return {"part_kind": kind, "tool_name": "f", "args": args, "tool_call_id": call_id}


def answer(call_id: str | None, content: Any = "result", kind: str = "tool-return") -> Message:
    return part(kind, content, tool_name="f", tool_call_id=call_id)


def retry(call_id: str | None, content: Any = "again", tool: str | None = "f") -> Message:
    return part("retry-prompt", content, tool_name=tool, tool_call_id=call_id)


def thinking(text: str = "hm", signature: str | None = "sig", provider: str | None = None) -> Message:
    return part("thinking", text, signature=signature, provider_name=provider)


def call(*ids: str | None) -> Message:
    return response(*map(use, ids))


def result(*ids: str | None, content: Any = "result") -> Message:
    return request(*(answer(call_id, content) for call_id in ids))


def pair(call_id: str, content: Any = "result") -> list[Message]:
    return [call(call_id), result(call_id, content=content)]


def plan(messages: list[Any], **options: Any) -> backcut.Plan:
    return backcut.context_window(format="pydantic-ai", **options).plan(messages)


def kept(messages: list[Any], **options: Any) -> tuple[int, ...]:
    return plan(messages, **({"notice": False} | options)).kept


def trimmed(messages: list[Any], **options: Any) -> backcut.Trimmed[list[Any]]:
    before = snapshot(messages)
    result = backcut.trim(messages, format="pydantic-ai", **options)
    assert snapshot(messages) == before
    return result


def size(*messages: Any) -> int:
    return backcut.count(list(messages), format="pydantic-ai", tokenizer=len) - 3


def chars(*messages: Any) -> int:
    return backcut.trim(list(messages), format="pydantic-ai").report.chars_sent


def codes(*messages: Any) -> list[tuple[str, int]]:
    return [(each.code, each.index) for each in backcut.check(list(messages), format="pydantic-ai")]


# Sizes


class Colour(Enum):
    RED = "red"


@dataclasses.dataclass
class Weather:
    city: str
    degrees: float


class Model:
    """As pydantic's are."""

    def model_dump(self, *, mode: str, by_alias: bool) -> dict[str, Any]:
        assert (mode, by_alias) == ("json", True)
        return {"a": 1}


PICTURE_URL = {"kind": "image-url", "url": "https://example.com/a.png"}
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("parts", "chars_of_it", "tokens"),
    [
        ([part("text", "hello"), part("text", "you")], 8, 8),
        ([use("a", {"x": "é"})], 9, 3 + 1 + 9),
        ([use("a", '{"x": 1}')], 8, 3 + 1 + 8),
        ([use("a")], 0, 3 + 1),
        ([thinking("hmm", "signed")], 3, 3 + 6),
        ([thinking("hmm", "signed", "google")], 3, 3 + 6),
        ([thinking("hmm", None)], 3, 3),
        ([use("s", {}, "builtin-tool-call"), answer("s", {"a": 1}, "builtin-tool-return")], 2 + 7, 3 + 1 + 2 + 3 + 7),
        ([part("compaction", "so far", provider_details={"encrypted_content": "1234"})], 6, 6 + 4),
        ([part("compaction", None)], 0, 0),
        ([part("speech", speaker="assistant", transcript="well")], 4, 4),
        ([part("file", {"kind": "binary", "media_type": "image/png", "data": ""})], 0, 765),
        ([part("wonder", "well"), part("wonder", 5)], 4, 4),
    ],
)
def test_size_of_a_response(parts: list[Any], chars_of_it: int, tokens: int) -> None:
    assert chars(user(), response(*parts)) == 1 + chars_of_it
    assert size(response(*parts)) == FRAME["assistant"] + tokens


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("result", "result"),
        ({"output": "only"}, "only"),
        ({1: "only"}, '{"1":"only"}'),
        ({"a": "x", "b": 1}, '{"a":"x","b":1}'),
        ({"a": 1}, '{"a":1}'),
        (["a", "é"], '["a","é"]'),
        ([], "[]"),
        (21.5, "21.5"),
        (True, "true"),
        (NOON, "2026-03-01T12:00:00Z"),
        ({"when": NOON, "what": Colour.RED}, '{"when":"2026-03-01T12:00:00Z","what":"red"}'),
        (Weather("Rome", 21.5), '{"city":"Rome","degrees":21.5}'),
        ([Weather("Rome", 1), Model()], '[{"city":"Rome","degrees":1},{"a":1}]'),
        (Model(), '{"a":1}'),
        (b"\xff\xfe", "__4="),
        (frozenset({1}), "[1]"),
        (types.MappingProxyType({"a": 1}), '{"a":1}'),
        (1j, "1j"),
        ({(1, 2): 3}, "{(1, 2): 3}"),
    ],
)
def test_a_result_counts_as_it_is_sent(content: Any, text: str) -> None:
    for each in (answer("a", content), answer("a", content, "retry-prompt")):
        assert size(call("a"), request(each)) == size(call("a")) + FRAME["user"] + 3 + len(text)
        assert chars(user(), call("a"), request(each)) == 1 + len(text)


def test_a_result_of_nothing_is_a_frame() -> None:
    assert size(call("a"), request(answer("a", None))) == size(call("a")) + FRAME["user"] + 3


def test_what_the_library_sends_is_what_is_counted() -> None:
    messages = pytest.importorskip("pydantic_ai.messages")
    pydantic = pytest.importorskip("pydantic")

    class Place(pydantic.BaseModel):  # type: ignore[name-defined,misc]
        name: str
        seen: datetime

    values = [{"a": [1, None]}, NOON, Weather("Rome", 21.5), Colour.RED, b"\xff\xfe", Place(name="é", seen=NOON), [Weather("x", 1)], {1, 2}]
    for content in values:
        returned = messages.ToolReturnPart("f", content, "a")
        request_of_it = messages.ModelRequest([returned])
        sent = returned.model_response_str()
        assert size(request_of_it) == FRAME["user"] + 3 + len(sent), content


def test_size_of_a_request() -> None:
    assert size(request(system("rules"), prompt("hi"))) == FRAME["user"] + 7
    assert size(request(system("rules"), instructions="unseen")) == FRAME["system"] + 5
    assert size(request(part("retry-prompt", "no", tool_name=None))) == FRAME["user"] + 2
    assert size(request(part("retry-feedback", [{"loc": []}], retry={}))) == FRAME["user"] + len('[{"loc":[]}]')
    assert size(request(part("instruction-delta", "new"), part("tool-availability-delta"))) == FRAME["user"] + 3
    assert size(request()) == FRAME["user"]


MEDIA: list[tuple[Message, int]] = [
    ({"kind": "image-url", "url": "https://example.com/a.png"}, 765),
    ({"kind": "image-url", "url": "https://example.com/a.png", "vendor_metadata": {"detail": "low"}}, 85),
    ({"kind": "audio-url", "url": "https://example.com/a.mp3"}, 300),
    ({"kind": "video-url", "url": "https://example.com/a.mp4"}, 1500),
    ({"kind": "document-url", "url": "https://example.com/a.pdf"}, 1500),
    ({"kind": "binary", "media_type": "image/png", "data": "AAAA"}, 765),
    ({"kind": "binary", "media_type": "image/png", "data": b"AAAA"}, 765),
    ({"kind": "binary", "media_type": "image/png", "data": base64_of(png(8, 8))}, 255),
    ({"kind": "image-url", "url": f"data:image/png;base64,{base64_of(png(8, 8))}"}, 255),
    ({"kind": "binary", "media_type": "audio/wav", "data": base64_of(wav(1))}, 10),
    ({"kind": "binary", "media_type": "application/pdf", "data": "AAAA"}, 1500),
    ({"kind": "uploaded-file", "file_id": "f", "media_type": "image/png"}, 765),
    ({"kind": "uploaded-file", "file_id": "f"}, 1500),
]


@pytest.mark.parametrize(("item", "tokens"), MEDIA)
def test_media_cost_by_the_piece(item: Message, tokens: int) -> None:
    assert size(user([item])) == FRAME["user"] + tokens
    assert size(user(["see", item])) == FRAME["user"] + 3 + tokens
    assert size(request(answer("a", item))) == FRAME["user"] + 3 + tokens
    # Beside media the other items of a list are texts of their own.
    assert size(request(answer("a", ["see", item, {"a": 1}]))) == FRAME["user"] + 3 + 3 + tokens + 7
    assert size(response(part("file", item))) == FRAME["assistant"] + tokens


def test_what_else_a_user_says() -> None:
    assert size(user(["text", {"kind": "text-content", "content": "tagged", "metadata": {"x": 1}}])) == FRAME["user"] + 4 + 6
    assert size(user(["text", {"kind": "cache-point", "ttl": "5m"}])) == FRAME["user"] + 4
    assert size(user(None)) == size(user([])) == FRAME["user"]


# Order


def test_a_response_and_all_its_results_are_one_group() -> None:
    messages = [user(), call("a", "b"), result("a"), result("b"), said("x"), user("r"), said("y")]
    assert kept(messages, max_turns=4) == (0, 4, 5, 6)
    assert kept(messages, max_turns=6) == (0, 4, 5, 6)
    assert kept(messages, max_turns=7) == tuple(range(7))
    # A retry that names its tool is a result; without a name it is what a user says.
    assert kept([user(), call("a"), request(retry("a")), said("x")], max_turns=2) == (0, 3)
    assert kept([user(), said("x"), request(retry(None, tool=None)), said("y")], max_turns=2) == (2, 3)


def test_responses_in_a_row_are_one_turn() -> None:
    """So a result behind two of them answers either."""
    messages = [user(), call("a"), call("b"), result("a", "b"), user("r"), said("y")]
    assert codes(*messages) == []
    assert kept(messages, max_turns=4) == (4, 5)
    assert kept([*messages[:4], said("z")], max_turns=2) == (0, 4)


def test_a_request_of_results_and_a_prompt_begins_nothing() -> None:
    messages = [user("task"), call("a"), request(answer("a"), prompt("more")), said("x"), call("b"), result("b"), said("y")]
    assert kept(messages, max_turns=2) == (0, 6)
    assert kept(messages, max_turns=5) == (0, 3, 4, 5, 6)


def test_builtin_tools_are_settled_where_they_stand() -> None:
    own = response(use("s", {}, "builtin-tool-call"), answer("s", "hits", "builtin-tool-return"), part("text", "so"))
    assert codes(user(), own) == []
    assert kept([user(), own, user("r"), said("y")], max_turns=2) == (2, 3)
    # One that comes in a later response holds the two together.
    asked, late = response(use("s", {}, "builtin-tool-call")), response(answer("s", "hits", "builtin-tool-return"))
    assert kept([user(), asked, user("r"), late, user("t"), said("y")], max_turns=3) == (4, 5)
    assert kept([user(), asked, user("r"), late, user("t"), said("y")], max_turns=5) == (4, 5)
    assert codes(user(), asked, user("r"), late) == []  # the library leaves it there
    assert codes(user(), asked, late) == codes(user(), response(*asked["parts"], use("a")), result("a"), late) == []
    assert codes(user(), late) == [("orphan_result", 1)]


def test_the_task_stays_even_if_it_does_not_fit() -> None:
    messages = [user("x" * 50), *pair("a"), *pair("b")]
    with pytest.raises(backcut.BudgetError) as caught:
        plan(messages, max_chars=40, notice=False)
    assert (caught.value.needed, caught.value.index) == (56, 3)
    found = plan(messages, max_chars=40, notice=False, on_overflow="keep")
    assert found.kept == (0, 3, 4)
    assert found.report.over_budget
    assert not found.report.task_dropped


def test_what_waits_at_the_end_stays_as_it_is() -> None:
    for last in (response(use("b"), state="suspended"), response(part("text", "half"), state="interrupted")):
        messages = [user("old" * 30), said("x"), user(), *pair("a"), last]
        sent = trimmed(messages, max_chars=80, max_chars_per_tool=4).messages
        assert sent[-1] is last
        assert sent[0]["parts"][0]["content"].startswith(DEFAULT_NOTICE)


# What stays of the first request


FIRST = request(system("rules!"), prompt("first"), instructions="more")


def test_the_system_prompt_of_the_first_request_stays() -> None:
    messages = [FIRST, said("a"), user("b"), said("c")]
    found = plan(messages, max_turns=2, tokenizer=cheap)
    assert found.kept == (0, 2, 3)
    assert found.edits == (backcut.Edit(0, (PartCut(("parts", 1), 0, 0, "", True),)),)
    assert found.notice == backcut.Notice(DEFAULT_NOTICE, "user", 1, True)
    sent = trimmed(messages, max_turns=2, tokenizer=cheap).messages
    assert sent == [request(system("rules!"), instructions="more"), user(f"{DEFAULT_NOTICE}\n\nb"), said("c")]
    assert found.report.chars_sent == LONG + 4
    assert found.report.tokens_sent == backcut.count(sent, format="pydantic-ai", tokenizer=cheap)
    assert (found.report.messages_sent, found.report.first_changed) == (3, 0)
    assert trimmed(sent, max_turns=2).messages is sent


def test_as_the_task_the_first_request_stays_whole() -> None:
    messages = [FIRST, *pair("a", "x" * 30), *pair("a")]
    found = plan(messages, max_chars=20, notice=False, tokenizer=cheap)
    assert (found.kept, found.edits) == ((0, 3, 4), ())
    assert found.report.chars_sent == 5 + 6
    sent = found.apply(messages)
    assert found.report.tokens_sent == backcut.count(sent, format="pydantic-ai", tokenizer=cheap)


def test_a_whole_history_counts_the_system_prompt_as_a_head() -> None:
    messages = [FIRST, said("a")]
    found = plan(messages, max_chars=6, tokenizer=len)
    assert found.report.first_changed is None
    assert found.report.chars_sent == 6
    assert found.report.tokens_sent == 3 + size(*messages)


def test_it_counts_in_tokens_once_it_stands_alone() -> None:
    messages = [FIRST, said("a"), user("b"), said("c")]
    alone = 3 + size(request(system("rules!"))) + size(user("b"), said("c"))
    assert kept(messages, max_tokens=alone, tokenizer=len) == (0, 2, 3)
    with pytest.raises(backcut.BudgetError) as caught:
        plan(messages, max_tokens=alone - 1, tokenizer=len, notice=False)
    assert caught.value.needed == alone


def test_a_request_of_system_prompts_alone_is_the_head() -> None:
    messages = [request(system("a"), system("b")), user("old"), said("x"), user(), said("y")]
    found = plan(messages, max_turns=2)
    assert (found.kept, found.edits) == ((0, 3, 4), ())


# The notice


@pytest.mark.parametrize(
    ("first", "parts"),
    [
        ([prompt("q")], [prompt(f"{DEFAULT_NOTICE}\n\nq")]),
        ([prompt(["q", {"kind": "cache-point"}])], [prompt([DEFAULT_NOTICE, "q", {"kind": "cache-point"}])]),
        ([prompt(("q",))], [prompt((DEFAULT_NOTICE, "q"))]),
        ([prompt(None)], [prompt(DEFAULT_NOTICE)]),
        ([retry("r", "no", None), prompt("q"), prompt("p")], [retry("r", "no", None), prompt(f"{DEFAULT_NOTICE}\n\nq"), prompt("p")]),
        ([retry("r", "no", None)], [retry("r", f"{DEFAULT_NOTICE}\n\nno", None)]),
        ([part("retry-feedback", "no", retry={})], [part("retry-feedback", f"{DEFAULT_NOTICE}\n\nno", retry={})]),
        # Nowhere: what stands there is no text.
        ([part("retry-feedback", [{"loc": []}], retry={})], [part("retry-feedback", [{"loc": []}], retry={})]),
        ([part("speech", transcript="hi", speaker="user")], [part("speech", transcript="hi", speaker="user")]),
    ],
)
def test_where_a_notice_goes(first: list[Any], parts: list[Any]) -> None:
    messages = [user("old"), said("x"), request(*first), said("y")]
    sent, report = trimmed(messages, max_turns=2, tokenizer=len)
    assert sent == [request(*parts), said("y")]
    assert report.tokens_sent == 3 + size(*sent)
    assert report.chars_sent == chars(*sent)
    again = trimmed(sent, max_turns=2)
    assert again.messages is sent


# Caps


CAP: dict[str, Any] = {"max_chars_per_tool": 20}
CUT = "012345\n… [truncated]"
TEXT = "0123456789" * 5


@pytest.mark.parametrize(
    ("content", "capped"),
    [
        (TEXT, CUT),
        ({"output": TEXT}, {"output": CUT}),
        ({7: TEXT}, '{"7":"\n… [truncated]'),
        ({"a": TEXT, "b": 1}, '{"a":"\n… [truncated]'),
        ([TEXT], '["0123\n… [truncated]'),
        ([TEXT, PICTURE_URL, "b"], [CUT, PICTURE_URL]),
        (["a", PICTURE_URL, {"b": TEXT}], ["a", PICTURE_URL, '{"b":\n… [truncated]']),
        (Weather(TEXT, 1), '{"city\n… [truncated]'),
        (["short", PICTURE_URL], ["short", PICTURE_URL]),
        (PICTURE_URL, PICTURE_URL),
    ],
)
def test_what_a_tool_gave_back_is_capped(content: Any, capped: Any) -> None:
    for each, expected in ((answer("a", content), answer("a", capped)), (retry("a", content), retry("a", capped))):
        messages = [user(), call("a"), request(each, answer("b", "ok"))]
        sent, report = trimmed(messages, **CAP, tokenizer=len)
        assert sent == [user(), call("a"), request(expected, answer("b", "ok"))]
        assert report.tokens_sent == 3 + size(*sent)
        assert report.tools_truncated == (content != capped)
        assert trimmed(sent, **CAP).messages is sent


def test_each_result_has_a_cap_of_its_own() -> None:
    builtin = response(use("s", {}, "builtin-tool-call"), answer("s", TEXT, "builtin-tool-return"))
    messages = [user(TEXT), builtin, call("a", "b"), result("a", "b", content=TEXT), request(retry(None, TEXT, None))]
    sent, report = trimmed(messages, **CAP)
    assert sent == [user(TEXT), builtin, call("a", "b"), result("a", "b", content=CUT), request(retry(None, TEXT, None))]
    assert (report.tools_truncated, report.chars_capped) == (2, 60)


# Thinking


@pytest.mark.parametrize(
    ("thought", "is_bound"),
    [
        (thinking(), True),
        (thinking(provider="anthropic"), True),
        (thinking(provider="bedrock"), True),
        (thinking("", "sealed", "anthropic"), True),
        (thinking(provider="openai"), False),
        (thinking(provider="google"), False),
        (thinking(signature=None), False),
        (thinking(signature=""), False),
    ],
)
def test_signed_thinking_is_stripped_behind_a_change(thought: Message, is_bound: bool) -> None:
    messages = [user("old"), said("x"), user(), response(thought, part("text", "a")), response(thought), user("r"), response(thought)]
    options: dict[str, Any] = {"max_turns": 5, "notice": False, "tokenizer": len}
    sent, report = trimmed(messages, **options, thinking="strip")
    assert report.thinking_invalidated is is_bound
    if is_bound:
        assert sent == [user(), response(part("text", "a")), user("r"), response(thought)]
    else:
        assert sent == messages[2:]
    assert report.tokens_sent == 3 + size(*sent)
    assert report.chars_sent == chars(*sent)
    assert trimmed(messages, **options).messages == messages[2:]
    assert trimmed(messages[2:], **options, thinking="strip").messages == messages[2:]


# check


@pytest.mark.parametrize(
    ("messages", "found"),
    [
        ([], [("empty_history", 0)]),
        ([user(), call("a"), user("r")], [("unanswered_call", 1)]),
        ([user(), call("a")], [("pending_call", 1)]),
        ([user(), call("a", "b"), result("a")], [("pending_call", 1)]),
        ([user(), call("a"), user("r"), result("a")], [("late_result", 3)]),
        ([user(), result("a")], [("orphan_result", 1)]),
        ([user(), call("a"), request(retry("b"))], [("pending_call", 1), ("orphan_result", 2)]),
        ([user(), call("a"), result("a"), request(answer("a"))], [("orphan_result", 3)]),
        ([user(), call("a", "a"), result("a", "a")], [("duplicate_id", 1)]),
        ([user(), call(None), result("a")], [("missing_id", 1)]),
        ([user(), call("a"), result("")], [("missing_id", 2)]),
        ([user(), response(answer("")), user()], []),  # no place for it, and so no tie
        ([user(), response(use("s", {}, "builtin-tool-call")), user()], [("unanswered_call", 1)]),
        ([user(), response(use("s", {}, "builtin-tool-call")), user(), response(answer("s", kind="builtin-tool-return"))], []),
        ([request(), user()], [("missing_content", 0)]),
        ([user(), {"kind": "request"}, user()], [("missing_content", 1)]),
        ([user(), said("x"), request()], []),
        ([user(), said("x"), request(instructions="go on"), user()], []),
        ([user(), response()], []),
        ([said("x"), user()], []),
        ([user(), call("a"), request(answer("a"), prompt())], []),
        ([user(), said("x"), request(retry(None, tool=None))], []),
    ],
)
def test_check(messages: list[Any], found: list[tuple[str, int]]) -> None:
    assert codes(*messages) == found


# Detection and errors


def test_a_kind_tells_the_format() -> None:
    for message in (user(), said("x"), request(), types.SimpleNamespace(kind="response", parts=[])):
        assert backcut.trim([message]).report.format == "pydantic-ai"
    with pytest.raises(backcut.OptionError, match="looks like openai-chat"):
        backcut.trim([user(), {"role": "tool", "content": "x"}], max_turns=5)


@pytest.mark.parametrize(
    ("message", "path", "found", "expected"),
    [
        (5, "", "int", "a mapping or an object with a kind"),
        ({"parts": []}, "kind", "nothing", "one of request, response"),
        ({"kind": "answer"}, "kind", "'answer'", "one of request, response"),
        ({"kind": 5}, "kind", "int", "one of request, response"),
        ({"kind": "request", "parts": "x"}, "parts", "str", "a list of parts"),
        (request("x"), "parts[0]", "str", "a part"),
        (request(prompt(), None), "parts[1]", "NoneType", "a part"),
        (request(system(5)), "parts[0].content", "int", "a string or null"),  # type: ignore[arg-type]
        (user(5), "parts[0].content", "int", "a string or a list of strings and media"),
        (user([None]), "parts[0].content[0]", "NoneType", "a string or a mapping"),
        (user(["x", 5]), "parts[0].content[1]", "int", "a string or a mapping"),
        (response(part("text", ["x"])), "parts[0].content", "list", "a string or null"),
        (response(part("thinking", 5)), "parts[0].content", "int", "a string or null"),
    ],
)
def test_errors_name_the_place(message: Any, path: str, found: str, expected: str) -> None:
    for call_it in (lambda: backcut.count([message], format="pydantic-ai", tokenizer=len), lambda: codes(message)):
        with pytest.raises(backcut.FormatError) as caught:
            call_it()
        assert (caught.value.index, caught.value.path, caught.value.found, caught.value.expected) == (0, path, found, expected)


# Objects


def test_objects_of_the_library() -> None:
    messages = pytest.importorskip("pydantic_ai.messages")
    picture = messages.BinaryContent(png(8, 8), media_type="image/png")
    history = [
        messages.ModelRequest([messages.SystemPromptPart("rules"), messages.UserPromptPart(["look", picture])]),
        messages.ModelResponse(
            [messages.ThinkingPart("hm", signature="sig", provider_name="anthropic"), messages.ToolCallPart("f", {"x": 1}, "a")]
        ),
        messages.ModelRequest([messages.ToolReturnPart("f", TEXT, "a")]),
        messages.ModelResponse([messages.TextPart("done")]),
        messages.ModelRequest([messages.UserPromptPart("next")]),
    ]
    dumped = messages.ModelMessagesTypeAdapter.dump_python(history, mode="json")
    assert size(*history) == size(*dumped)
    sent, report = trimmed(history, max_turns=1, tokenizer=len)
    assert [type(message) for message in sent] == [messages.ModelRequest] * 2
    assert [each.content for each in sent[0].parts] == ["rules"]
    assert sent[1].parts[0].content == f"{DEFAULT_NOTICE}\n\nnext"
    assert report.tokens_sent == 3 + size(*sent)
    assert trimmed(dumped, max_turns=1, tokenizer=len).report == report
    capped = trimmed(history, **CAP).messages
    assert capped[2].parts[0].content == CUT
    assert messages.ModelMessagesTypeAdapter.validate_python(messages.ModelMessagesTypeAdapter.dump_python(capped))


# Made histories

SEEDS = range(120)


@pytest.mark.parametrize("live", [False, True], ids=["ended", "live"])
def test_made_histories_stay_sound(live: bool) -> None:
    for seed in SEEDS:
        history = wire.history(Random(seed), turns=1 + seed % 12, live=live)
        found = {code for code, _ in codes(*history)}
        assert found == ({"pending_call"} if live else set()), seed
        whole = plan(history, tokenizer=cheap).report
        assert whole.format == "pydantic-ai"
        assert whole.tokens_sent == backcut.count(history, format="auto", tokenizer=cheap)
        for share in (1, 2, 3):
            for name, most in (("max_chars", whole.chars_sent), ("max_tokens", whole.tokens_sent), ("max_turns", len(history))):
                options = {name: max(1, (most or 0) * share // 4), "on_overflow": "keep", "tokenizer": cheap, "notice": "N"}
                sent, report = trimmed(history, **options)
                assert wire.is_sound(sent), (seed, options)
                assert wire.is_live(sent) is live, (seed, options)
                assert report.tokens_sent == backcut.count(sent, format="pydantic-ai", tokenizer=cheap)
                spent = {"max_chars": report.chars_sent, "max_tokens": report.tokens_sent, "max_turns": report.messages_sent}[name]
                assert report.over_budget or name == "max_turns" or (spent or 0) <= options[name], (seed, options)
                if not report.over_budget:
                    assert trimmed(sent, **options).messages is sent, (seed, options)


def test_sizes_are_the_judges() -> None:
    for seed in SEEDS:
        history = wire.history(Random(seed), turns=1 + seed % 12)
        assert backcut.count(history, format="pydantic-ai", tokenizer=cheap) == 3 + wire.size_tokens(history, cheap), seed


def planned(engine: Any, options: dict[str, Any], history: list[Any]) -> Any:
    return engine_window(engine, options).plan(history, None, None)


@needs_both
def test_core_and_twin_agree() -> None:
    choices: dict[str, Callable[[Random], Any]] = {
        "max_turns": lambda random: random.randrange(1, 12),
        "max_chars": lambda random: random.randrange(1, 400),
        "max_tokens": lambda random: random.randrange(20, 300),
        "max_chars_per_tool": lambda random: random.randrange(1, 40),
        "thinking": lambda random: random.choice(["keep", "strip"]),
        "start": lambda random: random.choice(["user", "any"]),
        "on_overflow": lambda random: random.choice(["keep", "raise"]),
        "trim_to": lambda random: random.choice([0.3, 0.7]),
        "notice": lambda random: random.choice([False, "N"]),
        "tool_keep": lambda random: random.choice(["head", "tail", "head_tail"]),
    }
    for seed in range(400):
        random = Random(seed)
        history = wire.history(random, turns=1 + seed % 10, live=seed % 3 == 0)
        if seed % 2:
            _, history = wire.breakages(history, random)
        options = {name: choose(random) for name, choose in choices.items() if random.random() < 0.5}
        if not any(name in options for name in ("max_turns", "max_chars", "max_tokens")):
            options["max_chars"] = random.randrange(1, 400)
        options |= {"format": "pydantic-ai", "tokenizer": "cheap"}
        core, twin = (outcome(partial(planned, engine, options, history)) for engine in (CORE, TWIN))
        assert core == twin, (seed, options)
        if core[0] == "answer":
            assert same_messages(core[1].apply(history), twin[1].apply(history))
        # The twin takes what one message has wrong in one way together.
        codes_of = [{(each.code, each.index) for each in engine.check(history, "pydantic-ai")} for engine in (CORE, TWIN)]
        assert codes_of[0] == codes_of[1], seed
