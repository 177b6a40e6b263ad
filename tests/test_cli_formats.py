"""The command line: conversations of every wire format, as their providers take them and as they are written down."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest

import backcut
from backcut.options import FORMATS
from cli_support import Put, Run, lines

pytest_plugins = ["cli_fixtures"]

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}
TOOL = {"name": "look", "description": "Looks."}

# Each: what is sent, and how its messages are called. A question, a call, its result, an answer, a question.
BODIES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "anthropic": (
        {
            "model": "m",
            "system": [{"type": "text", "text": "Be brief."}],
            "messages": [
                {"role": "user", "content": "Where?"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {"q": "x"}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "y" * 90}]},
                {"role": "assistant", "content": "There."},
                {"role": "user", "content": "When?"},
            ],
            "tools": [{**TOOL, "input_schema": SCHEMA}],
        },
        ["user", "assistant", "user", "assistant", "user"],
    ),
    "openai-responses": (
        {
            "instructions": "Be brief.",
            "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "Where?"}]},
                {"type": "function_call", "call_id": "a", "name": "look", "arguments": '{"q":"x"}'},
                {"type": "function_call_output", "call_id": "a", "output": "y" * 90},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "There."}]},
                {"role": "user", "content": "When?"},
            ],
            "tools": [{"type": "function", **TOOL, "parameters": SCHEMA}],
        },
        ["user", "function_call", "function_call_output", "assistant", "user"],
    ),
    "gemini": (
        {
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "tools": [{"functionDeclarations": [{**TOOL, "parameters": SCHEMA}]}],
            "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
            "contents": [
                {"role": "user", "parts": [{"text": "Where?"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {"q": "x"}}}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"output": "y" * 90}}}]},
                {"role": "model", "parts": [{"text": "There."}]},
                {"role": "user", "parts": [{"text": "When?"}]},
            ],
        },
        ["user", "model", "user", "model", "user"],
    ),
    "bedrock": (
        {
            "system": [{"text": "Be brief."}, {"cachePoint": {"type": "default"}}],
            "messages": [
                {"role": "user", "content": [{"text": "Where?"}]},
                {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a", "name": "look", "input": {"q": "x"}}}]},
                {"role": "user", "content": [{"toolResult": {"toolUseId": "a", "content": [{"text": "y" * 90}]}}]},
                {"role": "assistant", "content": [{"text": "There."}]},
                {"role": "user", "content": [{"text": "When?"}]},
            ],
            "toolConfig": {"tools": [{"toolSpec": {**TOOL, "inputSchema": {"json": SCHEMA}}}]},
        },
        ["user", "assistant", "user", "assistant", "user"],
    ),
    "pi": (
        {
            "messages": [
                {"type": "session", "version": 3, "id": "s", "cwd": "/x"},
                {"type": "message", "id": "1", "message": {"role": "user", "content": "Where?"}},
                {
                    "type": "message",
                    "id": "2",
                    "message": {
                        "role": "assistant",
                        "content": [{"type": "toolCall", "id": "a", "name": "look", "arguments": {"q": "x"}}],
                        "stopReason": "toolUse",
                    },
                },
                {
                    "type": "message",
                    "id": "3",
                    "message": {"role": "toolResult", "toolCallId": "a", "content": [{"type": "text", "text": "y" * 90}]},
                },
                {
                    "type": "message",
                    "id": "4",
                    "message": {"role": "assistant", "content": [{"type": "text", "text": "There."}], "stopReason": "stop"},
                },
                {"type": "message", "id": "5", "message": {"role": "user", "content": "When?"}},
            ]
        },
        ["session", "user", "assistant", "toolResult", "assistant", "user"],
    ),
    "langchain": (
        {
            "messages": [
                {"type": "system", "content": "Be brief."},
                {"type": "human", "content": "Where?"},
                {"type": "ai", "content": "", "tool_calls": [{"type": "tool_call", "id": "a", "name": "look", "args": {"q": "x"}}]},
                {"type": "tool", "tool_call_id": "a", "content": "y" * 90},
                {"type": "ai", "content": "There."},
                {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "HumanMessage"], "kwargs": {"content": "When?"}},
            ]
        },
        ["system", "human", "ai", "tool", "ai", "HumanMessage"],
    ),
    "pydantic-ai": (
        {
            "messages": [
                {
                    "kind": "request",
                    "parts": [{"part_kind": "system-prompt", "content": "Be brief."}, {"part_kind": "user-prompt", "content": "Where?"}],
                },
                {"kind": "response", "parts": [{"part_kind": "tool-call", "tool_name": "look", "args": {"q": "x"}, "tool_call_id": "a"}]},
                {
                    "kind": "request",
                    "parts": [{"part_kind": "tool-return", "tool_name": "look", "content": "y" * 90, "tool_call_id": "a"}],
                },
                {"kind": "response", "parts": [{"part_kind": "text", "content": "There."}]},
                {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "When?"}]},
            ]
        },
        ["request", "response", "request", "response", "request"],
    ),
}
"""Of what this version reads; of the rest when it does."""

every_format = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.skipif(name not in FORMATS, reason="not there yet")) for name in BODIES]
)


def parts(name: str) -> tuple[str, list[Any], dict[str, Any]]:
    """Where the messages of a body stand, they themselves, and what is sent beside them, as the API takes it."""
    body = BODIES[name][0]
    key = next(key for key in ("messages", "input", "contents") if key in body)
    tools = body.get("tools") or body.get("toolConfig")
    return key, body[key], {"tools": tools, "system": body.get("system") or body.get("instructions") or body.get("systemInstruction")}


@every_format
@pytest.mark.parametrize("options", [{"max_turns": 3}, {"max_turns": 1}, {"max_tokens": 60}, {"max_chars_per_tool": 40, "max_chars": 90}])
def test_trim(run: Run, put: Put, name: str, options: dict[str, Any]) -> None:
    key, messages, beside = parts(name)
    expected = backcut.trim(messages, **beside, **options)
    assert expected.report.first_changed is not None
    kept = [message for message in expected.messages if any(message is each for each in messages)]
    arguments = [word for option, value in options.items() for word in ("--" + option.replace("_", "-"), str(value))]
    text = json.dumps(BODIES[name][0], indent=2)
    for named in ([], ["--format", name]):
        code, out, err = run("trim", *arguments, *named, "--report", "json", put(text))
        assert (code, json.loads(err)) == (0, expected.report.as_dict())
        assert json.dumps(json.loads(out)) == json.dumps({**BODIES[name][0], key: list(expected.messages)})
        for message in kept:  # to the byte
            assert textwrap.indent(json.dumps(message, indent=2), "    ") in out
    assert run("trim", put(text))[:2] == (0, text)


@every_format
def test_count(run: Run, put: Put, name: str) -> None:
    _, messages, beside = parts(name)
    code, out, err = run("count", "--json", put(BODIES[name][0]))
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["tokens"] == backcut.count(messages, **beside)
    assert [message["role"] for message in found["messages"]] == BODIES[name][1]
    assert found["tokens"] == found["overhead"] + found["tools"] + found["system"] + sum(each["tokens"] for each in found["messages"])
    for where in ("tools", "system"):
        assert (found[where] > 0) == (beside[where] is not None)
    assert sum(each["chars"] for each in found["messages"][-5:]) >= len('Where?{"q":"x"}There.When?') + 90


@every_format
def test_explain(run: Run, put: Put, name: str) -> None:
    _, messages, beside = parts(name)
    heads = len(messages) - 5
    first = ("edited", "head; its system text alone") if name == "pydantic-ai" else ("cut", "over max_turns")
    for turns, lead in ((3, ("kept", "task")), (2, first)):
        options = ["--max-turns", str(turns), "--max-tokens", "2000", "--no-notice", "--json"]
        code, out, _ = run("explain", *options, put(BODIES[name][0]))
        assert code == 0
        found = json.loads(out)
        plan = backcut.context_window(max_turns=turns, max_tokens=2000, notice=False).plan(messages, **beside)
        spent = sum(size for part, size in found["window"].items() if part != "free")
        assert spent == found["report"]["tokens_sent"] == plan.report.tokens_sent
        rows = [(row["index"], row["role"], row["action"], row["why"]) for row in found["messages"]]
        assert [row[:2] for row in rows] == list(enumerate(BODIES[name][1]))
        assert [row[2:] for row in rows[:heads]] == [("kept", "head")] * heads
        assert rows[heads][2:] == lead
        assert rows[-1][2:] == ("kept", "newest")
        assert tuple(index for index, _, action, _ in rows if action != "cut") == plan.kept
    code, out, _ = run("explain", "--max-chars-per-tool", "40", "--json", put(BODIES[name][0]))
    assert json.loads(out)["messages"][heads + 2]["why"] == "fits; capped, was 90 chars"
    assert run("explain", put(BODIES[name][0]))[0] == 0


@every_format
def test_check(run: Run, put: Put, name: str) -> None:
    key, messages, _ = parts(name)
    assert run("check", "--format", name, put(BODIES[name][0])) == (0, "sound\n", "")
    torn = [message for k, message in enumerate(messages) if k != len(messages) - 4]
    code, out, _ = run("check", "--json", put(lines({key: torn})))
    assert code == 1
    assert {each["code"] for each in json.loads(out)["violations"]} & {"orphan_result"}


def test_explain_of_thinking_that_goes(run: Run, put: Put) -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s" * 9}
    history = [
        {"role": "user", "content": "One?"},
        {"role": "assistant", "content": "1"},
        {"role": "user", "content": "Two?"},
        {"role": "assistant", "content": [thinking, {"type": "text", "text": "2"}]},
        {"role": "assistant", "content": [thinking]},
        {"role": "user", "content": "Three?"},
    ]
    code, out, _ = run("explain", "--thinking", "strip", "--max-turns", "3", "--no-notice", "--json", put(history))
    assert code == 0
    assert [(row["action"], row["why"]) for row in json.loads(out)["messages"]][2:] == [
        ("kept", "fits"),
        ("edited", "fits; parts left out, was 3 chars"),
        ("cut", "nothing but signed thinking"),
        ("kept", "newest"),
    ]


@pytest.mark.skipif("pi" not in FORMATS, reason="not there yet")
def test_a_session_of_pi(run: Run, put: Put) -> None:
    entries = BODIES["pi"][0]["messages"]
    path = put(lines(*entries), "session.jsonl")
    code, out, err = run("trim", "--format", "pi", "--max-turns", "1", "--no-notice", path)
    assert (code, out) == (0, lines(entries[0], entries[-1]))
    assert err == "backcut: 6 messages in, 2 out; as before up to message 1\n"
    assert run("check", "--format", "pi", path)[:2] == (0, "sound\n")
    assert json.loads(run("count", "--format", "pi", "--json", path)[1])["tokens"] == backcut.count(entries)
    code, _, err = run("check", "--format", "pi", put(lines(*entries) + '{"type": "message"}\n', "bad.jsonl"))
    assert code == 2
    assert "bad.jsonl:7:1: messages[6].message: " in err
    assert "--format pi" in run("trim", path)[2]


@pytest.mark.parametrize("name", ["rendered.gemini", "rendered.bedrock-converse", "rendered.langchain", "rendered.openai-responses"])
def test_real_conversations(run: Run, corpus: Path, name: str) -> None:
    file = corpus / f"{name}.jsonl"
    if not any(name.endswith(there) for there in (*FORMATS, "bedrock-converse" if "bedrock" in FORMATS else "-")):
        pytest.skip("not there yet")
    first = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    code, out, _ = run("count", "--json", str(file))
    assert code == 0
    for given, found in zip(first, map(json.loads, out.splitlines()), strict=True):
        assert found["tokens"] == backcut.count(given["messages"])
        assert found["tokens"] == found["overhead"] + sum(each["tokens"] for each in found["messages"])
        report = backcut.trim(given["messages"]).report
        assert sum(each["chars"] for each in found["messages"]) == report.chars_sent
    code, out, _ = run("trim", "--max-chars", "20000", "--max-chars-per-tool", "500", str(file))
    assert code == 0
    for given, found in zip(first, map(json.loads, out.splitlines()), strict=True):
        assert found == {**given, "messages": list(backcut.trim(given["messages"], max_chars=20_000, max_chars_per_tool=500).messages)}
