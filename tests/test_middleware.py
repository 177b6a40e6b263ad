"""A window around a call: requests of every make, and functions of every kind."""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import functools
import inspect
import json
import types
from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple, TypedDict

import pytest

import backcut
from backcut import BudgetError, FormatError, OptionError, context_window
from backcut.options import FORMATS
from support import DEFAULT_NOTICE, get, snapshot

HISTORY: list[Any] = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}, {"role": "user", "content": "three"}]
SENT: list[Any] = [{"role": "system", "content": DEFAULT_NOTICE}, HISTORY[2]]
TOOLS = [{"type": "function", "function": {"name": "look", "description": "Looks."}}]
WINDOW = context_window(max_turns=1)


class Chat(TypedDict):
    messages: list[Any]
    model: str


@dataclasses.dataclass
class Loose:
    messages: Any
    model: Any = "m"


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    messages: Any
    model: Any = "m"


class Named(NamedTuple):
    messages: Any
    model: Any = "m"


class Plain:
    def __init__(self, messages: Any, model: Any = "m") -> None:
        self.messages, self.model = messages, model


class Dict(dict[str, Any]):
    pass


def pydantic_request(messages: Any, model: Any = "m") -> Any:
    pydantic = pytest.importorskip("pydantic")
    return pydantic.create_model("Request", __config__=pydantic.ConfigDict(frozen=True), messages=(Any, ...), model=(Any, ...))(
        messages=messages, model=model
    )


def mapping(messages: Any, model: Any = "m") -> dict[str, Any]:
    return {"messages": messages, "model": model}


REQUESTS = [
    mapping,
    lambda messages, model="m": Chat(messages=messages, model=model),
    lambda messages, model="m": Dict(mapping(messages, model)),
    lambda messages, model="m": types.MappingProxyType(mapping(messages, model)),
    lambda messages, model="m": collections.UserDict(mapping(messages, model)),
    lambda messages, model="m": types.SimpleNamespace(messages=messages, model=model),
    Loose,
    Frozen,
    Named,
    Plain,
    pydantic_request,
]
every_request = pytest.mark.parametrize(
    "make",
    REQUESTS,
    ids=["dict", "TypedDict", "dict subclass", "proxy", "UserDict", "namespace", "dataclass", "frozen", "namedtuple", "plain", "pydantic"],
)


# Middleware.


@every_request
def test_call_next_gets_a_copy_with_trimmed_messages(make: Any) -> None:
    model = object()
    request = make(HISTORY, model)
    before = snapshot(request)
    seen: list[Any] = []
    assert WINDOW(request, lambda given: (seen.append(given), "answer")[1]) == "answer"
    (given,) = seen
    assert given is not request
    assert get(given, "messages") == SENT
    assert get(given, "messages")[1] is HISTORY[2]
    assert get(given, "model") is model
    assert get(request, "messages") is HISTORY
    assert snapshot(request) == before


@every_request
def test_a_history_that_fits_is_handed_on_itself_in_a_copy_of_the_request(make: Any) -> None:
    request = make(HISTORY)
    given = context_window(max_turns=3)(request, lambda given: given)
    assert given is not request
    assert get(given, "messages") is HISTORY


def test_the_kind_of_request_stays() -> None:
    for make in (Loose, Frozen, Named, Plain, Dict):
        request = make(HISTORY) if make is not Dict else Dict(messages=HISTORY)
        assert type(WINDOW(request, lambda given: given)) is make


def test_async_call_next() -> None:
    async def call_next(request: Any) -> list[Any]:
        await asyncio.sleep(0)
        messages: list[Any] = request["messages"]
        return messages

    pending = WINDOW({"messages": HISTORY}, call_next)
    assert inspect.isawaitable(pending)
    assert asyncio.run(_awaited(pending)) == SENT


async def _awaited(pending: Any) -> Any:
    return await pending


def test_call_next_may_be_named() -> None:
    assert WINDOW({"messages": HISTORY}, call_next=lambda request: request["messages"]) == SENT


@pytest.mark.parametrize("request_", [{}, {"message": HISTORY}, object(), HISTORY, "text", None, 5])
def test_a_request_without_messages(request_: Any) -> None:
    called: list[Any] = []
    with pytest.raises(FormatError, match="as the request"):
        WINDOW(request_, called.append)
    assert called == []


def test_wrong_messages_in_a_request() -> None:
    for messages in (None, "text", 5, {"role": "user"}):
        with pytest.raises(FormatError):
            WINDOW({"messages": messages}, lambda request: request)


def test_what_cannot_fit_is_not_sent() -> None:
    called: list[Any] = []
    with pytest.raises(BudgetError):
        context_window(max_chars=2)({"messages": HISTORY}, called.append)
    assert called == []


def test_tools_and_system_of_a_request_are_counted() -> None:
    reports: list[Any] = []
    window = context_window(tokenizer=len, on_report=reports.append)

    def tokens(**fields: Any) -> int:
        window({"messages": HISTORY, **fields}, lambda request: request)
        window(types.SimpleNamespace(messages=HISTORY, **fields), lambda request: request)
        assert reports[-1].tokens_sent == reports[-2].tokens_sent
        return int(reports[-1].tokens_sent)

    bare = tokens()
    assert tokens(tools=TOOLS) == window.trim(HISTORY, tools=TOOLS).report.tokens_sent
    assert tokens(tools=TOOLS) > bare
    assert tokens(tools=tuple(TOOLS)) == tokens(tools=TOOLS)
    assert tokens(system="You are brief.") == bare + 3 + len("system") + len("You are brief.")
    assert tokens(system=[{"type": "text", "text": "You are "}, "brief."]) == tokens(system="You are brief.")
    # Shapes that cannot be counted are somebody else's.
    for fields in (
        {"tools": [print]},
        {"tools": "look"},
        {"tools": object()},
        {"tools": None},
        {"system": 5},
        {"system": [5]},
        {"system": [{"text": 5}]},
    ):
        assert tokens(**fields) == bare


def test_functions_are_counted_as_the_tools_that_they_became() -> None:
    reports: list[Any] = []
    window = context_window(tokenizer=len, on_report=reports.append)
    functions = [tool["function"] for tool in TOOLS]
    for fields in (
        {"tools": TOOLS},
        {"functions": functions},
        {"tools": None, "functions": functions},
        {"tools": TOOLS, "functions": [{}]},
    ):
        window({"messages": HISTORY, **fields}, lambda request: request)
        window.wrap(lambda **kwargs: None)(messages=HISTORY, **fields)
    assert {report.tokens_sent for report in reports} == {window.trim(HISTORY, tools=TOOLS).report.tokens_sent}


def test_tools_and_system_are_handed_on_as_they_are() -> None:
    given = WINDOW({"messages": HISTORY, "tools": TOOLS, "system": "S"}, lambda request: request)
    assert given["tools"] is TOOLS
    assert list(given) == ["messages", "tools", "system"]


def test_a_request_that_overrides_itself() -> None:
    class ModelRequest(Plain):
        def override(self, **changes: Any) -> str:
            return f"override {sorted(changes)}"

    assert type(WINDOW(ModelRequest(HISTORY), lambda request: request)) is ModelRequest
    ModelRequest.__module__ = "langchain.agents.middleware.types"
    assert WINDOW(ModelRequest(HISTORY), lambda request: request) == "override ['messages']"


# wrap.


def test_wrap_by_position_and_by_name() -> None:
    @WINDOW.wrap
    def chat(model: str, messages: list[Any], *rest: Any, temperature: float = 1) -> Any:
        """Chats."""
        return model, messages, rest, temperature

    assert chat("m", HISTORY) == ("m", SENT, (), 1)
    assert chat("m", HISTORY, 5, temperature=0) == ("m", SENT, (5,), 0)
    assert chat("m", messages=HISTORY) == ("m", SENT, (), 1)
    assert chat(messages=HISTORY, model="m") == ("m", SENT, (), 1)
    assert (chat.__name__, chat.__doc__) == ("chat", "Chats.")
    assert list(inspect.signature(chat).parameters) == ["model", "messages", "rest", "temperature"]


def test_wrap_keyword_only_and_any_keyword() -> None:
    def named(*, messages: list[Any]) -> Any:
        return messages

    def anything(*args: Any, **kwargs: Any) -> Any:
        return args, kwargs

    assert WINDOW.wrap(named)(messages=HISTORY) == SENT
    assert WINDOW.wrap(anything)(1, messages=HISTORY, model="m") == ((1,), {"messages": SENT, "model": "m"})
    # What has no name is not known to be the messages.
    assert WINDOW.wrap(anything)(HISTORY) == ((HISTORY,), {})


def test_wrap_positional_only() -> None:
    def chat(messages: list[Any], /) -> Any:
        return messages

    assert WINDOW.wrap(chat)(HISTORY) == SENT


def test_wrap_does_not_change_what_the_caller_holds() -> None:
    keywords = {"messages": HISTORY}
    before = snapshot(keywords)
    WINDOW.wrap(lambda **kwargs: kwargs)(**keywords)
    assert snapshot(keywords) == before


def test_wrap_async() -> None:
    @WINDOW.wrap
    async def chat(messages: list[Any]) -> list[Any]:
        await asyncio.sleep(0)
        return messages

    assert inspect.iscoroutinefunction(chat)
    assert asyncio.run(chat(HISTORY)) == SENT
    assert asyncio.run(chat(messages=HISTORY)) == SENT


def test_wrap_generators() -> None:
    @WINDOW.wrap
    def stream(messages: list[Any]) -> Iterator[Any]:
        yield from messages

    @WINDOW.wrap
    async def astream(messages: list[Any]) -> AsyncIterator[Any]:
        for message in messages:
            yield message

    async def collect() -> list[Any]:
        return [message async for message in astream(HISTORY)]

    assert list(stream(HISTORY)) == SENT
    assert asyncio.run(collect()) == SENT


def test_wrap_methods_and_callable_objects() -> None:
    class Client:
        def __init__(self, name: str) -> None:
            self.name = name

        def create(self, *, messages: list[Any]) -> Any:
            return self.name, messages

        @WINDOW.wrap
        def decorated(self, messages: list[Any]) -> Any:
            return self.name, messages

        def __call__(self, messages: list[Any]) -> Any:
            return self.name, messages

    class Async:
        async def __call__(self, messages: list[Any]) -> Any:
            return messages

    client = Client("c")
    assert WINDOW.wrap(client.create)(messages=HISTORY) == ("c", SENT)
    assert client.decorated(HISTORY) == ("c", SENT)
    assert client.decorated(messages=HISTORY) == ("c", SENT)
    assert WINDOW.wrap(client)(HISTORY) == ("c", SENT)
    assert inspect.iscoroutinefunction(WINDOW.wrap(Async()))
    assert asyncio.run(_awaited(WINDOW.wrap(Async())(HISTORY))) == SENT


def test_wrap_partials() -> None:
    def chat(model: str, messages: list[Any], tools: Any = None) -> Any:
        return model, messages, tools

    async def achat(model: str, messages: list[Any]) -> Any:
        return messages

    assert WINDOW.wrap(functools.partial(chat, "m"))(HISTORY) == ("m", SENT, None)
    assert WINDOW.wrap(functools.partial(chat, "m", tools=5))(messages=HISTORY) == ("m", SENT, 5)
    wrapped = WINDOW.wrap(functools.partial(achat, "m"))
    assert inspect.iscoroutinefunction(wrapped)
    assert asyncio.run(_awaited(wrapped(HISTORY))) == SENT


def test_wrap_counts_tools_and_system() -> None:
    reports: list[Any] = []
    window = context_window(tokenizer=len, on_report=reports.append)

    def chat(messages: Any, tools: Any = None, *, system: Any = None) -> None:
        pass

    def tokens(fn: Any, *args: Any, **kwargs: Any) -> Any:
        window.wrap(fn)(*args, **kwargs)
        return reports[-1].tokens_sent

    bare = window.trim(HISTORY).report.tokens_sent
    both = window.trim(HISTORY, tools=TOOLS, system="S").report.tokens_sent
    assert bare is not None
    assert both is not None
    assert both > bare
    assert tokens(chat, HISTORY) == bare
    assert tokens(chat, HISTORY, TOOLS, system="S") == both
    assert tokens(chat, tools=TOOLS, system="S", messages=HISTORY) == both
    assert tokens(functools.partial(chat, tools=TOOLS, system="S"), HISTORY) == both
    assert tokens(lambda **kwargs: None, messages=HISTORY, tools=TOOLS, system="S") == both
    assert tokens(chat, HISTORY, object(), system=5) == bare


def test_wrap_hands_on_calls_without_messages() -> None:
    def chat(model: str, messages: list[Any]) -> Any:
        return messages

    with pytest.raises(TypeError, match="missing 1 required positional argument: 'messages'"):
        WINDOW.wrap(chat)("m")  # type: ignore[call-arg]
    assert WINDOW.wrap(lambda messages=None: messages)() is None


def test_wrap_refuses_what_takes_no_messages() -> None:
    def other(history: list[Any]) -> None:
        pass

    def starred(*messages: Any) -> None:
        pass

    for fn in (other, starred, functools.partial(lambda messages: messages, HISTORY), dict.get, 5, None):
        with pytest.raises(OptionError) as caught:
            WINDOW.wrap(fn)  # type: ignore[arg-type]
        assert caught.value.option == "fn"
        assert "named messages" in caught.value.allowed


def test_wrap_lets_errors_through() -> None:
    called: list[Any] = []
    wrapped = context_window(max_chars=2).wrap(lambda messages: called.append(messages))
    with pytest.raises(BudgetError):
        wrapped(HISTORY)
    with pytest.raises(FormatError):
        wrapped(None)
    assert called == []


class ToolObject:
    def __init__(self, text: str) -> None:
        self.type = "function"
        self.function = {"name": "get", "description": text}


def test_tools_that_are_objects_count_beside_what_cannot() -> None:
    window = context_window(max_tokens=60, tokenizer=len)
    history = [{"role": "user", "content": "hi"}]
    for tools in ([ToolObject("d" * 400)], [{"name": "get", "description": "d" * 400}, print, None, int]):
        with pytest.raises(BudgetError):
            window({"messages": history, "tools": tools}, lambda request: request)
    assert window({"messages": history, "tools": [print, "junk"]}, lambda request: "sent") == "sent"


# Requests of other providers.

TEXT = "You are brief."
GEMINI: list[Any] = [
    {"role": "user", "parts": [{"text": "one"}]},
    {"role": "model", "parts": [{"text": "two"}]},
    {"role": "user", "parts": [{"text": "three"}]},
]
SILENT = context_window(max_turns=1, notice=False)
needs_gemini = pytest.mark.skipif("gemini" not in FORMATS, reason="not there yet")


@pytest.mark.parametrize("key", ["messages", "input", "contents"])
def test_where_providers_have_the_messages(key: str) -> None:
    for request in ({"model": "m", key: HISTORY}, types.SimpleNamespace(model="m", **{key: HISTORY})):
        before = snapshot(request)
        given = SILENT(request, lambda given: given)
        assert get(given, key) == HISTORY[2:]
        assert get(given, "model") == "m"
        assert snapshot(request) == before


def test_messages_go_before_input() -> None:
    request = {"input": HISTORY, "messages": HISTORY[:2], "contents": HISTORY}
    assert SILENT(request, lambda given: given) == {**request, "messages": SILENT(HISTORY[:2])}
    with pytest.raises(FormatError):
        SILENT({"messages": None, "input": HISTORY}, lambda given: given)
    for nothing in ({"input": None}, {"contents": 5}, {"input": {"role": "user"}}, types.SimpleNamespace(input=5)):
        with pytest.raises(FormatError, match="as the request"):
            SILENT(nothing, lambda given: given)


@pytest.mark.parametrize("key", ["input", pytest.param("contents", marks=needs_gemini)])
def test_a_text_alone_is_measured_and_sent_as_it_is(key: str) -> None:
    window = context_window(max_tokens=40, tokenizer=len)
    for call in (window.wrap(lambda **request: request), lambda **request: window(request, lambda given: given)):
        assert call(**{key: "hi"}) == {key: "hi"}
        with pytest.raises(BudgetError):
            call(**{key: "x" * 40})
        with pytest.raises(BudgetError):
            call(**{key: "hi"}, instructions="x" * 40)


@needs_gemini
def test_what_gemini_takes_for_a_message_is_measured_and_sent_as_it_is() -> None:
    """A part, texts and parts in a list, or a message that stands in no list."""
    window = context_window(max_tokens=40, tokenizer=len)
    part, message = {"text": "hi"}, {"role": "user", "parts": [{"text": "hi"}]}
    long = {"text": "x" * 40}
    call = window.wrap(lambda contents: contents)
    for contents in (part, [part], ["hi", part], ("hi", types.SimpleNamespace(text="hi")), message, [message]):
        assert call(contents) is contents
    for contents in (long, [long], ["hi", long], ("hi", types.SimpleNamespace(**long)), {"role": "user", "parts": [long]}):
        with pytest.raises(BudgetError):
            call(contents)
    assert call([]) == []
    with pytest.raises(FormatError):
        call([message, "hi"])


def counted(**request: Any) -> int:
    """Tokens of a request, however it is handed over."""
    reports: list[Any] = []
    window = context_window(tokenizer=len, on_report=reports.append)
    window(request, lambda given: given)
    window(types.SimpleNamespace(**request), lambda given: given)
    window.wrap(lambda **given: given)(**request)
    assert len({report.tokens_sent for report in reports}) == 1
    return int(reports[0].tokens_sent)


@pytest.mark.parametrize("key", ["messages", "input", "contents"])
def test_system_text_of_every_provider_is_counted(key: str) -> None:
    bare = counted(**{key: HISTORY})
    with_text = counted(**{key: HISTORY}, system=TEXT)
    assert with_text > bare
    for name in ("instructions", "system_instruction", "systemInstruction", "system_message"):
        assert counted(**{key: HISTORY}, **{name: TEXT}) == with_text
        assert counted(**{key: HISTORY}, **{name: None}) == bare
    assert counted(**{key: HISTORY}, system=TEXT, instructions="x" * 99) == with_text
    for config in ({"system_instruction": TEXT}, types.SimpleNamespace(system_instruction=TEXT), {"tools": TOOLS}):
        assert (counted(**{key: HISTORY}, config=config) > bare) == (key == "contents")


def test_system_text_in_every_shape() -> None:
    expected = counted(messages=HISTORY, system=TEXT)
    part = types.SimpleNamespace(text=TEXT)
    for system in (
        [{"text": TEXT}, {"cachePoint": {"type": "default"}}],
        [{"text": TEXT}, {"text": 5}, 5],
        {"text": TEXT},
        {"parts": [{"text": TEXT}]},
        types.SimpleNamespace(role="user", parts=[part]),
        types.SimpleNamespace(role="user", parts=[part, types.SimpleNamespace(text=None)]),
        part,
        types.SimpleNamespace(type="system", content=TEXT),
        types.SimpleNamespace(type="system", content=[{"type": "text", "text": TEXT}], text=TEXT),
    ):
        assert counted(messages=HISTORY, system=system) == expected
    for system in ({"parts": [5]}, {"parts": None}, object(), {"text": 5}):
        assert counted(messages=HISTORY, system=system) == counted(messages=HISTORY)


def test_tools_of_every_provider_are_counted() -> None:
    function = {"name": "look", "description": "Looks."}
    expected = counted(messages=HISTORY, tools=TOOLS)
    assert counted(messages=HISTORY, toolConfig={"tools": [{"toolSpec": function}]}) == expected
    assert counted(contents=HISTORY, tools=[{"functionDeclarations": [function]}]) == expected
    assert counted(contents=HISTORY, config={"tools": [types.SimpleNamespace(function_declarations=[function])]}) == expected
    assert counted(contents=HISTORY, toolConfig={"functionCallingConfig": {"mode": "AUTO"}}) == counted(contents=HISTORY)
    assert counted(contents=HISTORY, tools=[{"googleSearch": {}}]) > counted(contents=HISTORY)


@needs_gemini
def test_a_request_of_gemini() -> None:
    request = {"contents": GEMINI, "config": {"system_instruction": TEXT}}
    assert SILENT(request, lambda given: given) == {**request, "contents": GEMINI[2:]}


def test_wrap_takes_the_first_that_the_function_has() -> None:
    def responses(*, input: Any = None, instructions: Any = None) -> Any:
        return input

    def generate(model: str, contents: Any, config: Any = None) -> Any:
        return contents

    def all_three(contents: Any = None, input: Any = None, messages: Any = None) -> Any:
        return contents, input, messages

    assert SILENT.wrap(responses)(input=HISTORY) == HISTORY[2:]
    assert SILENT.wrap(generate)("m", HISTORY) == HISTORY[2:]
    assert SILENT.wrap(generate)("m", contents=HISTORY) == HISTORY[2:]
    assert SILENT.wrap(all_three)(HISTORY, HISTORY, HISTORY) == (HISTORY, HISTORY, HISTORY[2:])
    assert SILENT.wrap(all_three)(HISTORY) == (HISTORY, None, None)
    assert SILENT.wrap(responses)() is None


def test_wrap_of_any_keyword_takes_each_of_them() -> None:
    def anything(**kwargs: Any) -> Any:
        return kwargs

    def part(input: Any = None, **kwargs: Any) -> Any:
        return input, kwargs

    for key in ("messages", "input", "contents"):
        assert SILENT.wrap(anything)(**{key: HISTORY}) == {key: HISTORY[2:]}
    assert SILENT.wrap(anything)(messages=HISTORY, input=HISTORY) == {"messages": HISTORY[2:], "input": HISTORY}
    assert SILENT.wrap(part)(5, messages=HISTORY) == (5, {"messages": HISTORY[2:]})
    assert SILENT.wrap(part)(HISTORY) == (HISTORY[2:], {})


def test_wrap_counts_what_a_function_takes_beside_its_input() -> None:
    reports: list[Any] = []
    window = context_window(tokenizer=len, on_report=reports.append)

    def responses(input: Any, *, instructions: Any = TEXT, tools: Any = None) -> None:
        pass

    window.wrap(responses)(HISTORY, tools=TOOLS)
    assert reports[0].tokens_sent == window.trim(HISTORY, tools=TOOLS, system=TEXT).report.tokens_sent


@pytest.mark.parametrize(
    ("beside", "format"),
    [
        ({"system": "Be brief."}, "anthropic"),
        ({"anthropic_version": "bedrock-2023-05-31"}, "anthropic"),
        ({"model": "gpt-4o"}, "openai-chat"),
        ({"system": None}, "openai-chat"),
    ],
)
def test_what_stands_beside_plain_messages_tells_the_format(beside: dict[str, Any], format: str) -> None:
    """Texts alone are the same in several formats, but not what may be put beside them."""
    plain = [{"role": role, "content": role} for role in ("user", "assistant") * 4]
    reports: list[backcut.TrimReport] = []
    window = backcut.context_window(max_turns=3, on_report=reports.append)
    sent = window({**beside, "messages": plain}, lambda request: request["messages"])
    assert [report.format for report in reports] == [format]
    assert (sent[0]["role"] == "system") == (format == "openai-chat")
    assert json.loads(backcut.trim_json(json.dumps({**beside, "messages": plain}), window).body)["messages"] == sent


@pytest.mark.parametrize("beside", [{"system": "Be brief."}, {"anthropic_version": "x"}, {"inferenceConfig": {}}, {}])
def test_thenajs_knows_one_format_whatever_stands_beside_the_messages(beside: dict[str, Any]) -> None:
    plain = [{"role": role, "content": role} for role in ("user", "assistant") * 4]
    window = backcut.context_window(compat="thena", max_turns=3)
    sent = window({**beside, "messages": plain}, lambda request: request["messages"])
    assert sent == window(plain)
    for array in ("messages", "input", "contents"):
        trimmed = backcut.trim_json(json.dumps({**beside, array: plain}), window)
        assert (json.loads(trimmed.body)[array], trimmed.report.format) == (sent, "openai-chat")
