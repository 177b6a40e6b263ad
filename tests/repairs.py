"""Histories that need repair, each with what comes of it, worked out by hand.

In what comes of it a number is the very message at that place of the history, anything else a message that is new or changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from chat import call, image, legacy, result, said, text_part, user
from dresses import FORMATS, Dress

NO_RESULT = "No result: the call was not completed."
RESUMED = "[…conversation resumed…]"


class Case(NamedTuple):
    wire: str
    code: str
    messages: Sequence[Any]
    expected: Sequence[Any]
    changes: Sequence[tuple[str, int, tuple[str, ...]]]


def error(wire: str, i: str) -> dict[str, Any]:
    """The message that says a call had no result."""
    match wire:
        case "openai-chat":
            return {"role": "tool", "tool_call_id": i, "content": NO_RESULT}
        case "openai-responses":
            return {"type": "function_call_output", "call_id": i, "output": NO_RESULT}
        case "anthropic":
            return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": i, "content": NO_RESULT, "is_error": True}]}
        case "gemini":
            return {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"error": NO_RESULT}, "id": i}}]}
        case "bedrock":
            return {"role": "user", "content": [{"toolResult": {"toolUseId": i, "content": [{"text": NO_RESULT}], "status": "error"}}]}
        case "pi":
            blocks = [{"type": "text", "text": NO_RESULT}]
            return {"role": "toolResult", "toolCallId": i, "toolName": "f", "content": blocks, "isError": True}
        case "langchain":
            return {"type": "tool", "content": NO_RESULT, "tool_call_id": i, "name": "f", "status": "error"}
    part = {"part_kind": "tool-return", "tool_name": "f", "content": NO_RESULT, "tool_call_id": i, "outcome": "failed"}
    return {"kind": "request", "parts": [part]}


def _field(wire: str) -> str:
    return "parts" if wire in ("gemini", "pydantic-ai") else "content"


def _joined(wire: str, first: Any, *others: Any) -> Any:
    key = _field(wire)
    return {**first, key: [block for message in (first, *others) for block in message[key]]}


HOLDS_RESULTS = ("anthropic", "gemini", "bedrock", "pydantic-ai")
"""Formats in which results are blocks of the user's message."""


def _common(wire: str) -> list[Case]:
    """What every format may have."""
    d = Dress(wire)
    task, call_a, result_a, so, stop = d.user("task")[0], d.call("a")[0], d.results("a")[0], d.said()[0], d.user("stop")[0]
    made = error(wire, "a")
    cases = [
        Case(wire, "orphan_result", [task, so, result_a, d.user("next")[0], so], [0, 1, 3, 4], [("dropped_result", 2, ("a",))]),
        Case(wire, "orphan_result", [task, call_a, *d.results("a"), *d.results("b"), so], [0, 1, 2, 4], [("dropped_result", 3, ("b",))]),
    ]
    batch = [task, *d.call("a", "b"), d.results("b")[0], so]
    if wire in HOLDS_RESULTS:
        answered = _joined(wire, batch[2], made)
        cases += [
            Case(wire, "unanswered_call", batch, [0, 1, answered, 3], [("answered_call", 1, ("a",))]),
            Case(
                wire,
                "orphan_result",
                [task, so, *d.results("a", "b", more="go on"), so],
                [0, 1, {**result_a, _field(wire): d.results("a", more="go on")[0][_field(wire)][1:]}, 3],
                [("dropped_result", 2, ("a", "b"))],
            ),
        ]
    elif wire != "openai-responses":
        cases.append(Case(wire, "unanswered_call", batch, [0, 1, 2, made, 3], [("answered_call", 1, ("a",))]))
    if wire == "bedrock":
        answered, moved = _joined(wire, made, stop), _joined(wire, result_a, stop)
        cases[0] = cases[0]._replace(
            messages=[task, so, _joined(wire, result_a, d.user("next")[0]), so], expected=[0, 1, d.user("next")[0], 3]
        )
        cases += [
            Case(wire, "unanswered_call", [task, call_a, stop, so], [0, 1, answered, 3], [("answered_call", 1, ("a",))]),
            Case(wire, "late_result", [task, call_a, stop, result_a, so], [0, 1, moved, 4], [("moved_result", 3, ("a",))]),
        ]
        return cases
    cases.append(Case(wire, "unanswered_call", [task, call_a, stop, so], [0, 1, made, 2, 3], [("answered_call", 1, ("a",))]))
    if wire != "openai-responses":
        cases += [
            Case(wire, "late_result", [task, call_a, stop, result_a, so], [0, 1, 3, 2, 4], [("moved_result", 3, ("a",))]),
            Case(
                wire,
                "late_result",
                [task, call_a, stop, so, *d.results("a")],
                [0, 1, 4, 2, 3],
                [("moved_result", 4, ("a",))],
            ),
        ]
    return cases


def _chat() -> list[Case]:
    wire, task, so = "openai-chat", user(), said("so")
    nameless = {"role": "function", "content": "x"}
    picture, sound = image("u:x"), {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}}
    mixed = call("a") | {"function_call": {"name": "f", "arguments": "{}"}}
    made = "call_1_0"
    return [
        Case(wire, "missing_content", [task, said(None), user("next")], [0, 2], [("dropped_message", 1, ())]),
        Case(
            wire,
            "missing_content",
            [task, said(None, reasoning_content="hm"), task],
            [0, said("", reasoning_content="hm"), 2],
            [("added_field", 1, ())],
        ),
        Case(wire, "missing_content", [user(None), task], [1], [("dropped_message", 0, ())]),
        Case(wire, "missing_content", [task, call("a"), result("a", None), so], [0, 1, result("a", ""), 3], [("added_field", 2, ())]),
        Case(wire, "empty_tool_calls", [task, said("so", tool_calls=[])], [0, so], [("dropped_field", 1, ())]),
        Case(wire, "empty_tool_calls", [task, said(None, tool_calls=[]), task], [0, 2], [("dropped_message", 1, ())]),
        Case(wire, "mixed_calls", [task, mixed, result("a"), so], [0, call("a"), 2, 3], [("dropped_call", 1, ())]),
        Case(
            wire,
            "mixed_calls",
            [task, mixed, legacy()[1], result("a")],
            [0, call("a"), 3],
            [("dropped_call", 1, ()), ("dropped_result", 2, ())],
        ),
        Case(
            wire,
            "media_in_result",
            [task, call("a"), result("a", [text_part("see"), picture, sound, {"type": "file"}, "x"])],
            [0, 1, result("a", [*map(text_part, ("see", "[image]", "[audio]", "[file]")), "x"])],
            [("replaced_media", 2, ())],
        ),
        Case(
            wire,
            "missing_id",
            [task, call(None), result(None), so],
            [0, call(made), result(made), 3],
            [("made_id", 1, (made,)), ("made_id", 2, (made,))],
        ),
        Case(wire, "missing_id", [task, call("a"), result(None), so], [0, 1, result("a"), 3], [("made_id", 2, ("a",))]),
        Case(wire, "missing_id", [task, call("call_1_1", None)], [0, call("call_1_1", "call_1_1_")], [("made_id", 1, ("call_1_1_",))]),
        Case(wire, "missing_id", [task, legacy()[0], nameless], [0, 1, {**nameless, "name": "f"}], [("made_id", 2, ("f",))]),
        Case(
            wire,
            "duplicate_id",
            [task, call("a", "a"), result("a", "1"), result("a", "2"), so],
            [0, call("a", "call_1_1"), 2, result("call_1_1", "2"), 4],
            [("made_id", 1, ("call_1_1",)), ("made_id", 3, ("call_1_1",))],
        ),
        Case(
            wire,
            "unanswered_call",
            [task, legacy()[0], so],
            [0, 1, {"role": "function", "name": "f", "content": NO_RESULT}, 2],
            [("answered_call", 1, ())],
        ),
        Case(
            wire,
            "late_result",
            [task, call("a", "b"), result("a"), task, result("b"), call("c"), so],
            [0, 1, 2, 4, 3, 5, error(wire, "c"), 6],
            [("moved_result", 4, ("b",)), ("answered_call", 5, ("c",))],
        ),
    ]


def _anthropic() -> list[Case]:
    wire = "anthropic"
    d = Dress(wire)
    task, call_a, result_a, so = d.user()[0], d.call("a")[0], d.results("a")[0], d.said()[0]
    resumed = {"role": "user", "content": [{"type": "text", "text": RESUMED}]}
    text, blank = {"type": "text", "text": "hm"}, {"type": "text", "text": " \n"}
    said_too = {"type": "text", "text": "and"}
    thinking = {"type": "thinking", "thinking": "", "signature": "s"}
    system = {"role": "system", "content": "Be terse."}
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    marked = [{"role": "user", "content": [{**text, "cache_control": {"type": "ephemeral"}} for _ in range(3)]} for _ in range(2)]

    def model(*blocks: Any) -> dict[str, Any]:
        return {"role": "assistant", "content": list(blocks)}

    def asks(*blocks: Any) -> dict[str, Any]:
        return {"role": "user", "content": list(blocks)}

    use, got = call_a["content"][0], result_a["content"][0]
    return [
        Case(wire, "first_not_user", [so, task], [resumed, 0, 1], [("added_turn", 0, ())]),
        Case(wire, "first_not_user", [result_a, so], [resumed, 1], [("dropped_result", 0, ("a",)), ("added_turn", 1, ())]),
        Case(wire, "missing_content", [task, model(), asks("next")], [0, 2], [("dropped_message", 1, ())]),
        Case(wire, "missing_content", [{"role": "user"}, task, so], [1, 2], [("dropped_message", 0, ())]),
        Case(wire, "blank_text", [task, model(text, blank)], [0, model(text)], [("dropped_text", 1, ())]),
        Case(wire, "blank_text", [task, model(thinking, blank)], [0, model(thinking)], [("dropped_text", 1, ())]),
        Case(wire, "blank_text", [task, asks(blank), so], [0, 2], [("dropped_message", 1, ())]),
        Case(wire, "blank_text", [task, so, {"role": "user", "content": " "}], [0, 1], [("dropped_message", 2, ())]),
        Case(wire, "blank_text", [task, model(blank, use)], [0, model(use)], [("dropped_text", 1, ())]),
        Case(wire, "misplaced_system", [system, task, so], [1, 0, 2], [("moved_message", 0, ())]),
        Case(wire, "misplaced_system", [task, so, system, task], [0, 1, 3, 2], [("moved_message", 2, ())]),
        Case(wire, "misplaced_system", [system, so], [resumed, 0, 1], [("moved_message", 0, ()), ("added_turn", 1, ())]),
        Case(wire, "misplaced_system", [system], [resumed, 0], [("added_turn", 0, ())]),
        Case(wire, "late_result", [task, call_a, system, result_a, so], [0, 1, 3, 2, 4], [("moved_result", 3, ("a",))]),
        Case(
            wire,
            "misplaced_block",
            [task, model(use, got), task, so],
            [0, model(use), asks(got), 2, 3],
            [("moved_result", 1, ("a",))],
        ),
        Case(
            wire,
            "misplaced_block",
            [task, so, asks(text, use), so],
            [0, 1, asks(text), 3],
            [("dropped_call", 2, ("a",))],
        ),
        Case(wire, "misplaced_block", [task, asks(found, text), so], [0, asks(text), 2], [("dropped_result", 1, ("srvtoolu_1",))]),
        Case(wire, "text_before_result", [task, call_a, asks(text, got), so], [0, 1, asks(got, text), 3], [("moved_result", 2, ())]),
        Case(
            wire,
            "text_before_result",
            [task, *d.call("a", "b"), asks(text, got), d.results("b")[0], so],
            [0, 1, asks(got), asks(*d.results("b")[0]["content"], text), 4],
            [("moved_result", 2, ())],
        ),
        Case(
            wire,
            "text_before_result",
            [task, *d.call("a", "b"), asks(got, text), asks(*d.results("b")[0]["content"], said_too), so],
            [0, 1, asks(got), asks(*d.results("b")[0]["content"], text, said_too), 4],
            [("moved_result", 2, ())],
        ),
        Case(
            wire,
            "too_many_cache_marks",
            [*marked, so],
            [asks(text, text, marked[0]["content"][2]), 1, 2],
            [("dropped_field", 0, ())],
        ),
        Case(
            wire,
            "missing_id",
            [task, model({key: value for key, value in use.items() if key != "id"}), {**result_a}, so],
            [0, model({**use, "id": "toolu_1_0"}), asks({**got, "tool_use_id": "toolu_1_0"}), 3],
            [("made_id", 1, ("toolu_1_0",)), ("made_id", 2, ("toolu_1_0",))],
        ),
        Case(
            wire,
            "invalid_id",
            [task, *d.call("f:0", "b"), *d.results("b", "f:0"), so],
            [0, *d.call("toolu_1_0", "b"), *d.results("b", "toolu_1_0"), 3],
            [("made_id", 1, ("toolu_1_0",)), ("made_id", 2, ("toolu_1_0",))],
        ),
        Case(
            wire,
            "duplicate_id",
            [task, call_a, call_a, asks(got, got), so],
            [0, 1, model({**use, "id": "toolu_2_0"}), asks(got, {**got, "tool_use_id": "toolu_2_0"}), 4],
            [("made_id", 2, ("toolu_2_0",)), ("made_id", 3, ("toolu_2_0",))],
        ),
        Case(wire, "unanswered_call", [task, model(search, text), task], [0, model(text), 2], [("dropped_call", 1, ("srvtoolu_1",))]),
        Case(wire, "unanswered_call", [task, model(search), task], [0, 2], [("dropped_call", 1, ("srvtoolu_1",))]),
        Case(
            wire,
            "late_result",
            [task, model(search, text), task, model(found)],
            [0, model(search, found, text), 2],
            [("moved_result", 3, ("srvtoolu_1",))],
        ),
    ]


def _gemini() -> list[Case]:
    wire = "gemini"
    d = Dress(wire)
    task, call_a, result_a, so = d.user()[0], d.call("a")[0], d.results("a")[0], d.said()[0]
    resumed = {"role": "user", "parts": [{"text": RESUMED}]}

    def model(*parts: Any) -> dict[str, Any]:
        return {"role": "model", "parts": list(parts)}

    def asks(*parts: Any) -> dict[str, Any]:
        return {"role": "user", "parts": list(parts)}

    def use(name: str, key: str = "functionCall") -> dict[str, Any]:
        return {key: {"name": name, "args": {}}}

    def got(name: str, response: dict[str, Any], key: str = "functionResponse") -> dict[str, Any]:
        return {key: {"name": name, "response": response}}

    text, done, failed = {"text": "hm"}, {"output": "x"}, {"error": NO_RESULT}
    again = {"functionCall": {**call_a["parts"][0]["functionCall"], "id": "call_1_1"}}
    answer = {"functionResponse": {**result_a["parts"][0]["functionResponse"], "id": "call_1_1"}}
    return [
        Case(wire, "first_not_user", [so, task], [resumed, 0, 1], [("added_turn", 0, ())]),
        Case(wire, "missing_content", [task, model(), task], [0, 2], [("dropped_message", 1, ())]),
        Case(wire, "empty_part", [task, model(text, {"thought": True})], [0, model(text)], [("dropped_text", 1, ())]),
        Case(wire, "empty_part", [task, model({}), task], [0, 2], [("dropped_message", 1, ())]),
        Case(
            wire,
            "misplaced_block",
            [task, model(use("f"), got("f", done)), task, so],
            [0, model(use("f")), asks(got("f", done)), 2, 3],
            [("moved_result", 1, ())],
        ),
        Case(wire, "misplaced_block", [task, so, asks(text, use("f"))], [0, 1, asks(text)], [("dropped_call", 2, ())]),
        Case(
            wire,
            "text_before_result",
            [task, call_a, asks(text, *result_a["parts"]), so],
            [0, 1, asks(*result_a["parts"], text), 3],
            [("moved_result", 2, ())],
        ),
        Case(
            wire,
            "unanswered_call",
            [task, model(use("f"), use("g")), asks(got("g", done)), so],
            [0, 1, asks(got("g", done), got("f", failed)), 3],
            [("answered_call", 1, ())],
        ),
        Case(
            wire,
            "unanswered_call",
            [task, model(use("f", "function_call")), task],
            [0, 1, asks(got("f", failed, "function_response")), 2],
            [("answered_call", 1, ())],
        ),
        Case(
            wire,
            "orphan_result",
            [task, model(use("g")), asks(got("f", done), got("g", done)), so],
            [0, 1, asks(got("g", done)), 3],
            [("dropped_result", 2, ())],
        ),
        Case(
            wire,
            "duplicate_id",
            [task, model(*call_a["parts"] * 2), asks(*result_a["parts"] * 2), so],
            [0, model(*call_a["parts"], again), asks(*result_a["parts"], answer), 3],
            [("made_id", 1, ("call_1_1",)), ("made_id", 2, ("call_1_1",))],
        ),
    ]


def _bedrock() -> list[Case]:
    wire = "bedrock"
    d = Dress(wire)
    task, call_a, result_a, so = d.user()[0], d.call("a")[0], d.results("a")[0], d.said()[0]
    resumed = {"role": "user", "content": [{"text": RESUMED}]}
    text, blank, mark = {"text": "hm"}, {"text": " "}, {"cachePoint": {"type": "default"}}
    document = {"document": {"name": "d", "format": "pdf", "source": {"bytes": "AA"}}}
    thought = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}}

    def model(*blocks: Any) -> dict[str, Any]:
        return {"role": "assistant", "content": list(blocks)}

    def asks(*blocks: Any) -> dict[str, Any]:
        return {"role": "user", "content": list(blocks)}

    def got(call_id: str, *content: Any, **more: Any) -> dict[str, Any]:
        return {"toolResult": {"toolUseId": call_id, "content": list(content), **more}}

    return [
        Case(wire, "first_not_user", [so, task], [resumed, 0, 1], [("added_turn", 0, ())]),
        Case(
            wire,
            "repeated_role",
            [task, d.user("next")[0], so],
            [asks(*task["content"], {"text": "next"}), 2],
            [("joined_messages", 1, ())],
        ),
        Case(
            wire,
            "repeated_role",
            [task, so, so, {"role": "user", "content": "next"}, {"role": "user", "content": "now"}],
            [0, model(*so["content"] * 2), asks({"text": "next"}, {"text": "now"})],
            [("joined_messages", 2, ()), ("joined_messages", 4, ())],
        ),
        Case(
            wire,
            "missing_content",
            [task, model(), task, so],
            [asks(*task["content"] * 2), 3],
            [("dropped_message", 1, ()), ("joined_messages", 2, ())],
        ),
        Case(wire, "blank_text", [task, model(thought, blank)], [0, model(thought)], [("dropped_text", 1, ())]),
        Case(wire, "document_without_text", [asks(document), so], [asks(document, {"text": "[document]"}), 1], [("added_text", 0, ())]),
        Case(
            wire,
            "empty_result",
            [task, call_a, asks(got("a", status="error")), so],
            [0, 1, asks(got("a", {"text": NO_RESULT}, status="error")), 3],
            [("added_text", 2, ())],
        ),
        Case(
            wire,
            "misplaced_block",
            [asks(thought, text, *call_a["content"]), so],
            [asks(text), 1],
            [("dropped_text", 0, ()), ("dropped_call", 0, ())],
        ),
        Case(
            wire,
            "misplaced_block",
            [task, model(*call_a["content"], got("a", text)), task, so],
            [0, call_a, asks(got("a", text), *task["content"]), 3],
            [("moved_result", 1, ())],
        ),
        Case(
            wire,
            "text_before_result",
            [task, call_a, asks(text, *result_a["content"]), so],
            [0, 1, asks(*result_a["content"], text), 3],
            [("moved_result", 2, ())],
        ),
        Case(
            wire,
            "missing_id",
            [task, d.call("")[0], d.results("")[0], so],
            [0, d.call("call_1_0")[0], d.results("call_1_0")[0], 3],
            [("made_id", 1, ("call_1_0",)), ("made_id", 2, ("call_1_0",))],
        ),
        Case(
            wire,
            "invalid_id",
            [task, d.call("a" * 65)[0], d.results("a" * 65)[0], so],
            [0, d.call("call_1_0")[0], d.results("call_1_0")[0], 3],
            [("made_id", 1, ("call_1_0",)), ("made_id", 2, ("call_1_0",))],
        ),
        Case(
            wire,
            "duplicate_id",
            [task, d.call("a", "a")[0], d.results("a", "a")[0], so],
            [0, d.call("a", "call_1_1")[0], d.results("a", "call_1_1")[0], 3],
            [("made_id", 1, ("call_1_1",)), ("made_id", 2, ("call_1_1",))],
        ),
        Case(
            wire,
            "orphan_result",
            [task, so, asks(got("a", text), mark), so],
            [0, model(*so["content"] * 2)],
            [("dropped_result", 2, ("a",)), ("joined_messages", 3, ())],
        ),
    ]


def _responses() -> list[Case]:
    wire = "openai-responses"
    d = Dress(wire)
    task, so = d.user()[0], d.said()[0]
    reasoning, trigger = {"type": "reasoning", "id": "rs_1", "summary": []}, {"type": "compaction_trigger"}
    bare = {"type": "reasoning", "id": "rs_1"}
    custom = {"type": "custom_tool_call", "call_id": "b", "name": "g", "input": "x"}
    shell = {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}}
    local = {"type": "local_shell_call", "id": "lsh_1", "call_id": "d", "action": {"type": "exec", "command": ["ls"], "env": {}}}
    approval = {"type": "mcp_approval_request", "id": "e", "server_label": "m", "name": "f", "arguments": "{}"}
    patch = {"type": "apply_patch_call", "call_id": "f", "operation": {"type": "delete_file", "path": "x"}}
    search = {"type": "tool_search_call", "call_id": "g", "execution": "client", "arguments": {}}
    screen = {"type": "computer_call", "call_id": "h", "action": {"type": "wait"}, "pending_safety_checks": []}
    program = {"type": "program", "call_id": "p", "code": "x", "fingerprint": "fp"}
    by = {"caller": {"type": "program", "caller_id": "p"}}
    (call_a,), (result_a,) = d.call("a"), d.results("a")
    stderr = [{"stdout": "", "stderr": NO_RESULT, "outcome": {"type": "exit", "exit_code": 1}}]
    made = [
        {"type": "custom_tool_call_output", "call_id": "b", "output": NO_RESULT},
        {"type": "shell_call_output", "call_id": "c", "output": stderr},
        {"type": "local_shell_call_output", "id": "d", "output": NO_RESULT},
        {"type": "mcp_approval_response", "approval_request_id": "e", "approve": False, "reason": NO_RESULT},
        {"type": "apply_patch_call_output", "call_id": "f", "status": "failed", "output": NO_RESULT},
        {"type": "tool_search_output", "call_id": "g", "execution": "client", "status": "completed", "tools": []},
    ]
    families = [custom, shell, local, approval, patch, search]
    return [
        Case(wire, "missing_content", [task, {"role": "user"}, so], [0, 2], [("dropped_message", 1, ())]),
        Case(
            wire, "missing_content", [task, reasoning, {"role": "assistant"}], [0], [("dropped_message", 1, ()), ("dropped_message", 2, ())]
        ),
        Case(wire, "missing_summary", [task, bare, so], [0, reasoning, 2], [("added_field", 1, ())]),
        Case(wire, "reasoning_without_follower", [task, reasoning, task, so], [0, 2, 3], [("dropped_message", 1, ())]),
        Case(wire, "misplaced_trigger", [task, trigger, so], [0, 2, 1], [("moved_message", 1, ())]),
        Case(wire, "misplaced_trigger", [task, trigger, so, trigger], [0, 2, 3], [("dropped_message", 1, ())]),
        Case(wire, "misplaced_trigger", [task, trigger, call_a], [0, 2], [("dropped_message", 1, ())]),
        Case(
            wire,
            "unanswered_call",
            [task, *families, task],
            [*range(7), *made, 7],
            [("answered_call", k + 1, (i,)) for k, i in enumerate("bcdefg")],
        ),
        Case(wire, "unanswered_call", [task, reasoning, screen, task], [0, 3], [("dropped_message", 1, ()), ("dropped_call", 2, ("h",))]),
        Case(
            wire,
            "unanswered_call",
            [task, program, {**call_a, **by}, {**result_a, **by}, task],
            [0, call_a, result_a, 4],
            [("dropped_call", 1, ("p",)), ("dropped_field", 2, ("a",)), ("dropped_field", 3, ("a",))],
        ),
        Case(
            wire,
            "missing_id",
            [task, *d.call(""), *d.results(""), so],
            [0, *d.call("call_1_0"), *d.results("call_1_0"), 3],
            [("made_id", 1, ("call_1_0",)), ("made_id", 2, ("call_1_0",))],
        ),
        Case(
            wire,
            "duplicate_id",
            [task, call_a, call_a, result_a, result_a, so],
            [0, 1, *d.call("call_2_0"), 3, *d.results("call_2_0"), 5],
            [("made_id", 2, ("call_2_0",)), ("made_id", 4, ("call_2_0",))],
        ),
    ]


def _pi() -> list[Case]:
    wire = "pi"
    d = Dress(wire)
    task, call_a, result_a, so = d.user()[0], d.call("a")[0], d.results("a")[0], d.said()[0]
    aborted = {**call_a, "stopReason": "aborted"}
    label = {"type": "label", "id": "l", "parentId": None, "timestamp": "t", "targetId": "x", "label": "here"}

    def entry(message: Any, **more: Any) -> dict[str, Any]:
        return {"type": "message", **more, "message": message}

    timed = {**call_a, "timestamp": 7}
    return [
        Case(wire, "missing_content", [task, {"role": "user", "content": []}, so], [0, 2], [("dropped_message", 1, ())]),
        Case(wire, "orphan_result", [task, aborted, result_a, task, so], [0, 1, 3, 4], [("dropped_result", 2, ("a",))]),
        Case(
            wire,
            "unanswered_call",
            [entry(task, id="1"), entry(timed, id="2"), label, entry(task, id="3")],
            [0, 1, entry({**error(wire, "a"), "timestamp": 7}), 2, 3],
            [("answered_call", 1, ("a",))],
        ),
        Case(
            wire,
            "late_result",
            [entry(task), entry(call_a), label, entry(task), entry(result_a)],
            [0, 1, 4, 2, 3],
            [("moved_result", 4, ("a",))],
        ),
        Case(
            wire,
            "missing_id",
            [entry(task), entry(d.call("")[0]), entry(d.results("")[0]), entry(so)],
            [0, entry(d.call("call_1_0")[0]), entry(d.results("call_1_0")[0]), 3],
            [("made_id", 1, ("call_1_0",)), ("made_id", 2, ("call_1_0",))],
        ),
        Case(
            wire,
            "duplicate_id",
            [task, *d.call("a", "a"), result_a, result_a, so],
            [0, *d.call("a", "call_1_1"), 2, *d.results("call_1_1"), 4],
            [("made_id", 1, ("call_1_1",)), ("made_id", 3, ("call_1_1",))],
        ),
    ]


def _langchain() -> list[Case]:
    wire = "langchain"
    d = Dress(wire)
    task, call_a, result_a, so = d.user()[0], d.call("a")[0], d.results("a")[0], d.said()[0]
    wrong = {"name": "g", "args": "{", "id": "b", "error": "no JSON", "type": "invalid_tool_call"}
    old = {"type": "ai", "content": "", "additional_kwargs": {"function_call": {"name": "f", "arguments": "{}"}}}
    place = ["langchain", "schema", "messages"]

    def data(message: Any) -> dict[str, Any]:
        return {"type": message["type"], "data": {key: value for key, value in message.items() if key != "type"}}

    def lc(message: Any, cls: str) -> dict[str, Any]:
        return {"lc": 1, "type": "constructor", "id": [*place, cls], "kwargs": data(message)["data"]}

    made = error(wire, "a")
    return [
        Case(wire, "missing_content", [task, {"type": "human", "content": ""}, so], [0, 2], [("dropped_message", 1, ())]),
        Case(
            wire,
            "unanswered_call",
            [data(task), data(call_a), data(task)],
            [0, 1, data(made), 2],
            [("answered_call", 1, ("a",))],
        ),
        Case(
            wire,
            "unanswered_call",
            [lc(task, "HumanMessage"), lc(call_a, "AIMessage"), lc(task, "HumanMessage")],
            [0, 1, lc(made, "ToolMessage"), 2],
            [("answered_call", 1, ("a",))],
        ),
        Case(
            wire,
            "unanswered_call",
            [task, {"role": "assistant", "content": "", "tool_calls": call_a["tool_calls"]}, task],
            [0, 1, {"role": "tool", **{key: value for key, value in made.items() if key != "type"}}, 2],
            [("answered_call", 1, ("a",))],
        ),
        Case(
            wire,
            "unanswered_call",
            [task, {**call_a, "invalid_tool_calls": [wrong]}, result_a, task],
            [0, 1, 2, {**error(wire, "b"), "name": "g"}, 3],
            [("answered_call", 1, ("b",))],
        ),
        Case(
            wire,
            "unanswered_call",
            [task, old, task],
            [0, 1, {"type": "function", "content": NO_RESULT, "name": "f"}, 2],
            [("answered_call", 1, ())],
        ),
        Case(
            wire,
            "missing_id",
            [data(task), data(d.call("a", "")[0]), data(result_a), data(d.results("")[0])],
            [0, data(d.call("a", "call_1_1")[0]), 2, data(d.results("call_1_1")[0])],
            [("made_id", 1, ("call_1_1",)), ("made_id", 3, ("call_1_1",))],
        ),
        Case(
            wire,
            "duplicate_id",
            [task, *d.call("a", "a"), result_a, result_a, so],
            [0, *d.call("a", "call_1_1"), 2, *d.results("call_1_1"), 4],
            [("made_id", 1, ("call_1_1",)), ("made_id", 3, ("call_1_1",))],
        ),
    ]


def _pydantic_ai() -> list[Case]:
    wire = "pydantic-ai"
    d = Dress(wire)
    task, so = d.user()[0], d.said()[0]
    native = {"part_kind": "builtin-tool-call", "tool_name": "web_search", "args": "{}", "tool_call_id": "n"}
    text = so["parts"][0]
    return [
        Case(wire, "missing_content", [task, {"kind": "request", "parts": []}, so], [0, 2], [("dropped_message", 1, ())]),
        Case(
            wire,
            "unanswered_call",
            [task, {"kind": "response", "parts": [native, text]}, task],
            [0, so, 2],
            [("dropped_call", 1, ("n",))],
        ),
        Case(
            wire,
            "missing_id",
            [task, *d.call(""), *d.results(""), so],
            [0, *d.call("call_1_0"), *d.results("call_1_0"), 3],
            [("made_id", 1, ("call_1_0",)), ("made_id", 2, ("call_1_0",))],
        ),
        Case(
            wire,
            "duplicate_id",
            [task, *d.call("a", "a"), *d.results("a", "a"), so],
            [0, *d.call("a", "call_1_1"), *d.results("a", "call_1_1"), 3],
            [("made_id", 1, ("call_1_1",)), ("made_id", 2, ("call_1_1",))],
        ),
    ]


_OWN = (_chat, _responses, _anthropic, _gemini, _bedrock, _pi, _langchain, _pydantic_ai)
CASES = [case for wire in FORMATS for case in _common(wire)] + [case for own in _OWN for case in own()]
