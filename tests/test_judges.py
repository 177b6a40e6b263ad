"""Other houses' own code as the judge: what it takes before a cut it takes after it, unchanged.

A judge is a validator, a converter or a repair of somebody else. What it refuses although a provider takes it is written down in
``REFUSED``, with the reason, so that a judge that turns stricter or milder is noticed. Skipped where its package is not installed: the
extra ``judges``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import backcut
import strict
from dresses import FORMATS, Dress, head_length, problems, turn

pytestmark = pytest.mark.filterwarnings("ignore")  # of these packages: theirs to see to

Messages = Sequence[Any]

CHAT = tuple(f"{name}.openai-chat" for name in ("pydantic-ai", "rendered", "swe-agent", "tau-bench", "tau2-bench"))
RESPONSES = ("pydantic-ai.openai-responses", "rendered.openai-responses")
ANTHROPIC = ("entireio-cli.anthropic", "pydantic-ai.anthropic", "vscode-copilot-chat.anthropic")
GEMINI = ("pydantic-ai.gemini", "rendered.gemini")
BEDROCK = ("pydantic-ai.bedrock-converse", "rendered.bedrock-converse")
LANGCHAIN = ("rendered.langchain",)


class RefusedError(Exception):
    """A judge that answers instead of raising did not like it."""


class Judge(NamedTuple):
    """Who judges what."""

    wire: str
    files: tuple[str, ...]
    accept: Callable[[Messages], object]
    """Raises where it refuses."""
    prepare: Callable[[Messages], Messages] = list
    """Puts a conversation of the files into the shape that is trimmed."""
    own: Callable[[Messages], Messages] | None = list
    """Does the same with our own small ones, which are in the dress of ``wire``; ``None``: by :attr:`prepare` out of Chat."""


def same(left: object, right: object, what: str) -> None:
    if left != right:
        raise RefusedError(what)


def in_chat(messages: Messages) -> None:
    """The judge of Chat arrays, for what a converter made of ours."""
    found = strict.problems(messages, accepts_live_end=True)
    if found:
        raise RefusedError(str(found))


def exhausted(value: Any) -> None:
    """Reads all of what pydantic validates only when it is read: ``Iterable`` fields of the SDKs' types."""
    if isinstance(value, Mapping):
        for each in value.values():
            exhausted(each)
    elif isinstance(value, (list, tuple)) or hasattr(value, "__next__"):
        for each in value:
            exhausted(each)


def of_type(kind: Any) -> Callable[[Messages], object]:
    """The types of an SDK see the shape of each message, and nothing of what belongs together."""
    adapter = pytest.importorskip("pydantic").TypeAdapter(kind)
    return lambda messages: exhausted([adapter.validate_python(message) for message in messages])


def whole_items(messages: Messages) -> Messages:
    """Responses items whose output messages have what the SDK's type asks for and the provider does not."""
    more = {"id": "msg_1", "status": "completed"}
    return [
        {**more, **item, "content": [{"annotations": [], **part} for part in item["content"]]}
        if item.get("role") == "assistant" and isinstance(item["content"], list)
        else item
        for item in messages
    ]


def openai_chat() -> Judge:
    types = pytest.importorskip("openai.types.chat")
    return Judge("openai-chat", CHAT, of_type(types.ChatCompletionMessageParam))


def openai_responses() -> Judge:
    types = pytest.importorskip("openai.types.responses")
    return Judge("openai-responses", RESPONSES, of_type(types.ResponseInputItemParam), whole_items)


def anthropic() -> Judge:
    types = pytest.importorskip("anthropic.types")
    return Judge("anthropic", ANTHROPIC, of_type(types.MessageParam))


def anthropic_beta() -> Judge:
    types = pytest.importorskip("anthropic.types.beta")
    return Judge("anthropic", ANTHROPIC, of_type(types.BetaMessageParam))


def google() -> Judge:
    types = pytest.importorskip("google.genai.types")
    return Judge("gemini", GEMINI, of_type(types.Content))


def google_objects() -> Judge:
    """The same, trimmed as the SDK's objects."""
    types = pytest.importorskip("google.genai.types")

    def objects(messages: Messages) -> Messages:
        return [types.Content.model_validate(message) for message in messages]

    return Judge("gemini", GEMINI, of_type(types.Content), objects, objects)


def bedrock() -> Judge:
    """The service's own description, as boto3 checks it before anything is sent."""
    session = pytest.importorskip("botocore.session")
    validator = pytest.importorskip("botocore.validate").ParamValidator()
    model = session.get_session().get_service_model("bedrock-runtime")
    shape = model.operation_model("Converse").input_shape.members["messages"]

    def accept(messages: Messages) -> None:
        report = validator.validate(list(messages), shape)
        if report.has_errors():
            raise RefusedError(report.generate_report())

    return Judge("bedrock", BEDROCK, accept)


def mistral(version: str) -> Judge:
    """The order of roles, and as many results as calls.

    Ids are made nine characters, as the older versions want them. That the last word must not be the assistant's is the caller's to see
    to: the user gets one more. And one in front of a leading assistant, whose calls this validator does not see (below).
    """
    validators = pytest.importorskip("mistral_common.protocol.instruct.validator")
    request = pytest.importorskip("mistral_common.protocol.instruct.request").ChatCompletionRequest
    validator = getattr(validators, f"MistralRequestValidator{version}")(mode=validators.ValidationMode.test)

    def short(call_id: Any) -> Any:
        return sha256(call_id.encode()).hexdigest()[:9] if call_id else call_id

    def renamed(message: Mapping[str, Any]) -> dict[str, Any]:
        calls = [{**call, "id": short(call.get("id"))} for call in message.get("tool_calls") or ()]
        answers = {"tool_call_id": short(message["tool_call_id"])} if message.get("tool_call_id") else {}
        return {**message, **answers, **({"tool_calls": calls} if calls else {})}

    def accept(messages: Messages) -> None:
        first, last, asked = messages[0], messages[-1], {"role": "user", "content": "?"}
        before = [asked] if first["role"] == "assistant" else []
        behind = [asked] if last["role"] == "assistant" and not last.get("tool_calls") else []
        validator.validate_messages(request.from_openai(messages=[*before, *map(renamed, messages), *behind]).messages)
        if turn("openai-chat", messages[head_length("openai-chat", messages)]).kind == "result":
            raise RefusedError("a leading result, which this validator lets pass")

    return Judge("openai-chat", CHAT, accept)


def agents() -> Judge:
    """Its own pass for what belongs together changes nothing, and what it makes of it is a sound Chat array."""
    convert = pytest.importorskip("agents.models.chatcmpl_converter").Converter.items_to_messages
    drop_orphans = pytest.importorskip("agents.run_internal.items").drop_orphan_function_calls

    def accept(messages: Messages) -> None:
        same(drop_orphans(list(messages), output_pruning_indexes=set(range(len(messages)))), list(messages), "it drops something")
        in_chat(convert(list(messages)))

    return Judge("openai-responses", RESPONSES, accept, whole_items)


def langchain() -> Judge:
    """What it would send to OpenAI is sound."""
    messages_of = pytest.importorskip("langchain_core.messages")

    def accept(messages: Messages) -> None:
        in_chat(messages_of.convert_to_openai_messages(messages_of.messages_from_dict(list(messages))))

    def own(messages: Messages) -> Messages:
        return [{"type": message["type"], "data": message} for message in messages]

    return Judge("langchain", LANGCHAIN, accept, own=own)


def langchain_objects() -> Judge:
    """The same, trimmed as its objects."""
    messages_of = pytest.importorskip("langchain_core.messages")

    def objects(messages: Messages) -> Messages:
        return list(messages_of.convert_to_messages([{"content": None, **message} for message in messages]))

    return Judge("langchain", CHAT, lambda messages: in_chat(messages_of.convert_to_openai_messages(messages)), objects, objects)


def pydantic_ai(*, dicts: bool) -> Judge:
    """Its own repair before a request drops nothing, adds nothing and moves nothing.

    It joins neighbours (a system prompt of its own and the request behind it): that sends the same parts in the same order.
    """
    library = pytest.importorskip("pydantic_ai.messages")
    adapter = library.ModelMessagesTypeAdapter

    def parts(messages: Messages) -> list[Any]:
        return [part for message in messages for part in message.parts]

    def accept(messages: Messages) -> None:
        read = adapter.validate_python(list(messages))
        same(adapter.validate_json(adapter.dump_json(read)), read, "it is another after a round trip")
        same(parts(library.repair_messages(read, repair_last_response=False)), parts(read), "it repairs something")

    def objects(messages: Messages) -> Messages:
        made = list(of_chat(library, messages))
        return adapter.dump_python(made, mode="json") if dicts else made

    return Judge("pydantic-ai", CHAT, accept, objects, None)


def texts_of(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text") or "" for part in content or () if isinstance(part, dict))


def of_chat(library: Any, messages: Messages) -> Iterator[Any]:
    """A Chat array as pydantic-ai holds it: the system prompt in the first request, results of one batch in one request."""
    names = {call["id"]: call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()}
    request: list[Any] = []
    last = ""
    for message in messages:
        role, text = message["role"], texts_of(message.get("content"))
        if request and (role == "assistant" or (role != last and last == "tool")):
            yield library.ModelRequest(parts=request)
            request = []
        last = role
        if role == "assistant":
            said = [library.TextPart(content=text)] if text else []
            calls = [
                library.ToolCallPart(tool_name=call["function"]["name"], args=call["function"]["arguments"], tool_call_id=call["id"])
                for call in message.get("tool_calls") or ()
            ]
            yield library.ModelResponse(parts=[*said, *calls])
        elif role == "tool":
            call_id = message["tool_call_id"]
            request.append(library.ToolReturnPart(tool_name=names.get(call_id, "f"), content=text, tool_call_id=call_id))
        elif role == "user":
            request.append(library.UserPromptPart(content=text))
        else:
            request.append(library.SystemPromptPart(content=text))
    if request:
        yield library.ModelRequest(parts=request)


JUDGES: dict[str, Callable[[], Judge]] = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
    "anthropic-beta": anthropic_beta,
    "google-genai": google,
    "google-genai-objects": google_objects,
    "bedrock": bedrock,
    "mistral-v3": lambda: mistral("V3"),
    "mistral-v5": lambda: mistral("V5"),
    "mistral-v11": lambda: mistral("V11"),
    "mistral-v13": lambda: mistral("V13"),
    "mistral-v15": lambda: mistral("V15"),
    "openai-agents": agents,
    "langchain": langchain,
    "langchain-objects": langchain_objects,
    "pydantic-ai": lambda: pydantic_ai(dicts=True),
    "pydantic-ai-objects": lambda: pydantic_ai(dicts=False),
}


def among(name: str, *numbers: int) -> set[str]:
    return {f"{name}:{number}" for number in numbers}


# Parts of Chat that only Mistral's own server knows, and OpenAI's type does not.
DOCUMENT_URL = among("pydantic-ai", 19, 27, 32, 35, 36, 45)
# And the reverse: parts that Mistral's library does not know in any version (files, and that document_url), or not in the older ones
# (a sound, thinking).
NO_CHUNK = DOCUMENT_URL | among("pydantic-ai", 2, 9, 15, 24, 26, 40, 42)
NO_AUDIO = among("pydantic-ai", 10, 25, 38, 39, 43)
NO_THINKING = among("pydantic-ai", 34, 37)
# "either content or tool_calls, but not both": a rule of that version's template; other providers take both, so do the later ones.
TEXT_AND_CALLS = {
    *among("pydantic-ai", 28),
    *among("rendered", 1, 2, 3),
    *among("swe-agent", 1, 2, 3, 4, 5),
    *among("tau-bench", 8, 9, 11, 12, 16, 20, 27, 33, 35, 38, 48, 50, 54),
}
# What agents cannot put into Chat: tool searches, tools in the middle, images and files by id or address. All of it was answered.
NOT_IN_CHAT = among("pydantic-ai", 4, 7, 15, 17, 22, 24, 26, 28, 29, 33, 35, 39, 40, 41, 43, 44, 45)
# A tool search that the server itself made has no output in the array, and the request was answered: agents takes it for a call that
# was never answered and drops it. Here the judge is wrong.
HOSTED_SEARCH = among("pydantic-ai", 8, 20, 37)

REFUSED: dict[str, set[str]] = {
    "openai-chat": DOCUMENT_URL,
    "openai-responses": among("pydantic-ai", 9),  # "status": null, which the provider takes
    "anthropic": among("pydantic-ai", 6, 16, 31),  # tools added in the middle, calls of MCP servers: beta, see the next
    "anthropic-beta": set(),
    "google-genai": among("pydantic-ai", 39),  # its base64 was cut short when the corpus was made
    "google-genai-objects": among("pydantic-ai", 39),
    "bedrock": set(),
    "mistral-v3": NO_CHUNK | NO_AUDIO | NO_THINKING | TEXT_AND_CALLS,
    "mistral-v5": NO_CHUNK | NO_THINKING,
    "mistral-v11": NO_CHUNK,
    "mistral-v13": NO_CHUNK,
    "mistral-v15": NO_CHUNK,
    # 38: a text stands between two calls that are answered together, as Responses allows and Chat does not.
    "openai-agents": NOT_IN_CHAT | HOSTED_SEARCH | among("pydantic-ai", 38),
    "langchain": set(),
    "langchain-objects": set(),
    "pydantic-ai": set(),
    "pydantic-ai-objects": set(),
}

# Before version 13 a sound and a system message do not go together: there the notice must not be one.
NO_NOTICE = {"mistral-v5": NO_AUDIO, "mistral-v11": NO_AUDIO}


@pytest.fixture(params=JUDGES)
def named(request: pytest.FixtureRequest) -> tuple[str, Judge]:
    return request.param, JUDGES[request.param]()


def refuses(judge: Judge, messages: Messages) -> str | None:
    """Why a judge refuses; ``None`` where it does not."""
    try:
        judge.accept(messages)
    except Exception as error:  # each house has errors of its own
        return f"{type(error).__name__}: {error}"
    return None


def talks(corpus: Path, judge: Judge) -> Iterator[tuple[str, Messages]]:
    """Each conversation of the judge's files, in the shape that is trimmed. What cannot be put into that shape is left out."""
    for file in judge.files:
        for number, line in enumerate((corpus / f"{file}.jsonl").read_text(encoding="utf-8").splitlines(), 1):
            yield f"{file.partition('.')[0]}:{number}", json.loads(line)["messages"]


def sendings(wire: str, messages: Messages, options: Sequence[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], Messages]]:
    for each in options:
        yield each, backcut.trim(messages, format=wire, on_overflow="keep", **each).messages


def shares(wire: str, messages: Messages) -> list[dict[str, Any]]:
    """Ceilings for a conversation of any length."""
    whole = backcut.trim(messages, format=wire, max_turns=len(messages)).report.chars_sent
    turns = sorted({max(1, len(messages) * share // 100) for share in (5, 20, 40, 60, 80, 95)})
    cuts: list[dict[str, Any]] = [
        *({"max_turns": n} for n in turns),
        *({"max_chars": max(1, whole * share // 100)} for share in (10, 30, 50, 70, 90)),
    ]
    middle = {"max_turns": max(1, len(messages) // 2)}
    others = ({"notice": False}, {"notice_role": "user"}, {"thinking": "strip"}, {"max_chars_per_tool": 50})
    return [*cuts, {"max_chars_per_tool": 100}, *(middle | other for other in others)]


def test_what_is_refused_is_known(named: tuple[str, Judge], corpus: Path) -> None:
    """Of the originals, before anything is cut."""
    name, judge = named
    refused = set()
    for talk, messages in talks(corpus, judge):
        try:
            prepared = judge.prepare(messages)
        except Exception:
            refused.add(talk)
            continue
        if refuses(judge, prepared):
            refused.add(talk)
    assert refused == REFUSED[name]


def test_no_judge_refuses_or_changes_what_is_sent(named: tuple[str, Judge], corpus: Path) -> None:
    """Of real conversations, at some ceilings."""
    name, judge = named
    seen = changed = 0
    for talk, messages in talks(corpus, judge):
        if talk in REFUSED[name]:
            continue
        history = judge.prepare(messages)
        silent = {"notice": False} if talk in NO_NOTICE.get(name, ()) else {}
        for options, sent in sendings(judge.wire, history, [each | silent for each in shares(judge.wire, history)]):
            assert refuses(judge, sent) is None, (talk, options)
            seen += 1
            changed += sent is not history
    assert changed > seen // 10 > 0


def own_histories(d: Dress) -> Iterator[Messages]:
    """Small ones, for every ceiling."""
    rounds = [*d.user("task"), *(m for k in range(4) for m in d.pair(f"c{k}", text=f"round {k}")), *d.said()]
    batch = [
        *d.user("q"),
        *d.call("a", "b", "c"),
        *d.results("a", "b", "c"),
        *d.said(),
        *d.user("next"),
        *d.call("d", "e"),
        *d.results("d", "e"),
    ]
    yield [*d.system(), *rounds, *d.user("and?"), *d.said("end"), *d.user("so?")]
    yield [*d.system(), *batch]
    yield [*(m for k in range(4) for m in (*d.user(f"q{k}"), *d.said(f"a{k}"))), *d.user("last")]


def test_no_judge_refuses_or_changes_our_own(named: tuple[str, Judge]) -> None:
    """Small conversations, at every ceiling."""
    _, judge = named
    d = Dress(judge.wire if judge.own else "openai-chat")
    for messages in own_histories(d):
        history = (judge.own or judge.prepare)(messages)
        assert refuses(judge, history) is None
        whole = backcut.trim(history, format=judge.wire, max_turns=len(history)).report.chars_sent
        every = [*({"max_turns": n} for n in range(1, len(history) - 1)), *({"max_chars": n} for n in range(1, whole))]
        for options, sent in sendings(judge.wire, history, every):
            assert refuses(judge, sent) is None, options
            assert sent is not history


# What the judges do not see, and what we may not learn from them.


def test_mistral_does_not_see_the_first_message() -> None:
    """Its validator takes a leading result, and results of a leading call seem to answer nothing: hence what the judge does there."""
    validators = pytest.importorskip("mistral_common.protocol.instruct.validator")
    request = pytest.importorskip("mistral_common.protocol.instruct.request").ChatCompletionRequest
    validate = validators.MistralRequestValidatorV13(mode=validators.ValidationMode.test).validate_messages
    pair = Dress("openai-chat").pair("a1B2c3D4e")
    validate(request.from_openai(messages=[pair[1], {"role": "user", "content": "q"}]).messages)
    with pytest.raises(Exception, match="Unexpected tool call id"):
        validate(request.from_openai(messages=pair).messages)
    judge = JUDGES["mistral-v13"]()
    assert refuses(judge, [pair[1], {"role": "user", "content": "q"}]) is not None
    assert refuses(judge, pair) is None


@pytest.mark.parametrize("wire", ["openai-agents", "langchain", "pydantic-ai", "mistral-v13"])
@pytest.mark.parametrize("wrong", ["orphan", "dead", "late"])
def test_these_judges_see_broken_pairs(wire: str, wrong: str) -> None:
    """A judge that let everything pass would prove nothing."""
    judge = JUDGES[wire]()
    d = Dress(judge.wire if judge.own else "openai-chat")
    pair = d.pair("a", text="r")
    middle = {"orphan": pair[1:], "dead": pair[:1], "late": [pair[0], *d.user("wait"), *pair[1:]]}[wrong]
    broken = (judge.own or judge.prepare)([*d.user("q"), *d.said("hm"), *d.user("r"), *middle, *d.said(), *d.user("next")])
    late_is_right = wrong == "late" and wire == "pydantic-ai"  # which looks for a call anywhere before
    assert (refuses(judge, broken) is None) == late_is_right


@pytest.mark.parametrize("name", ["openai-chat", "openai-responses", "anthropic", "google-genai", "bedrock"])
def test_types_see_shapes_alone(name: str) -> None:
    """A result without its call is well-typed; a message without its role is not."""
    judge = JUDGES[name]()
    d = Dress(judge.wire)
    orphan = [*d.user("q"), *d.results("a")]
    assert refuses(judge, orphan) is None
    assert problems(judge.wire, orphan) != []
    assert refuses(judge, [{"role": 7, "content": [{"nothing": "known"}]}]) is not None


# What a provider took is sound: requests that were recorded with its answer.


@pytest.mark.parametrize(
    "file", ["pydantic-ai.openai-responses", "pydantic-ai.anthropic", "pydantic-ai.gemini", "pydantic-ai.bedrock-converse"]
)
def test_recorded_requests_are_sound(corpus: Path, file: str) -> None:
    """Among them: server tools whose result comes later or never, a hosted tool search without output, Gemini calls without ids,
    system messages in the middle, and a code interpreter of Nova whose result stands in the assistant's message.
    """
    wire = file.partition(".")[2].removesuffix("-converse")
    assert wire in FORMATS
    for number, line in enumerate((corpus / f"{file}.jsonl").read_text(encoding="utf-8").splitlines(), 1):
        messages = json.loads(line)["messages"]
        assert {v.code for v in backcut.check(messages, format=wire)} <= {"pending_call"}, number
        assert backcut.repair(messages, format=wire).messages is messages, number
