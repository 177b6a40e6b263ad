"""The command line: the shapes that go in and come out again, and what is refused."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import sys
from collections.abc import Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backcut.cli import main
from backcut.cli.conversation import Conversation, Number, dumps
from backcut.cli.errors import CommandError
from backcut.cli.io import Output, Source
from cli_support import CALLS, EXAMPLE, HISTORY, NOTICE, Put, Run, lines, not_root, posix

pytest_plugins = ["cli_fixtures"]


# --- shapes -------------------------------------------------------------------------------------------------------------------------


def test_array(run: Run, put: Put) -> None:
    code, out, err = run("trim", "--max-turns", "1", put(HISTORY))
    assert code == 0
    assert json.loads(out) == [HISTORY[0], NOTICE, HISTORY[-1]]
    assert err == "backcut: 6 messages in, 3 out; as before up to message 1\n"


def test_body_keeps_everything_else(run: Run, put: Put) -> None:
    body = {"z": 1, "model": "gpt-4o", "messages": HISTORY, "tools": [], "a": {"deep": [1.50]}}
    code, out, _ = run("trim", "--max-turns", "1", "--no-notice", put(body))
    assert code == 0
    found = json.loads(out)
    assert list(found) == list(body)
    assert found == {**body, "messages": [HISTORY[0], HISTORY[-1]]}


def test_jsonl_of_every_shape(run: Run, put: Put) -> None:
    text = lines(HISTORY, {"messages": HISTORY, "id": 7}, {"model": "m", "messages": HISTORY[-1:]})
    code, out, err = run("trim", "--max-turns", "1", "--no-notice", put(text, "in.jsonl"))
    assert code == 0
    short = [HISTORY[0], HISTORY[-1]]
    assert out == lines(short, {"messages": short, "id": 7}, {"model": "m", "messages": HISTORY[-1:]})
    assert err == "backcut: 3 conversations, 2 changed; 13 messages in, 5 out\n"


@pytest.mark.parametrize("text", [lines({"messages": HISTORY}), json.dumps({"messages": HISTORY}), json.dumps(HISTORY, indent=2) + "\n\n"])
def test_what_fits_comes_back_byte_for_byte(run: Run, put: Put, text: str) -> None:
    code, out, err = run("trim", "--max-turns", "99", put(text))
    assert (code, out) == (0, text)
    assert "unchanged" in err


def test_layout_and_spelling_survive(run: Run, put: Put) -> None:
    text = (
        '{\r\n  "seed": 12345678901234567890123,\r\n  "t": 1.50e+3, "messages": [\r\n    {"role": "user", "content": "a"},\r\n'
        '    {"role": "user", "content": "\\u00e9 \\ud83d \\/", "n": [1.10, -0, 1e999, 0.1e-7]}\r\n  ]\r\n}\r\n'
    )
    code, out, _ = run("trim", "--max-turns", "1", "--no-notice", put(text))
    assert code == 0
    assert out == text.replace('{"role": "user", "content": "a"},\r\n    ', "")


def test_an_edited_message_keeps_its_numbers_and_its_lone_surrogates(run: Run, put: Put) -> None:
    text = (
        json.dumps(CALLS)
        .replace('"x', '"\\ud83dx')
        .replace('"tool_call_id"', '"n": [1.10, -0, 1e999, 123456789012345678901], "tool_call_id"')
    )
    code, out, _ = run("trim", "--max-chars-per-tool", "30", put(text))
    assert code == 0
    assert '"n": [1.10, -0, 1e999, 123456789012345678901], "tool_call_id": "a", "content": "\\ud83dxxx' in out
    assert json.loads(out)[2]["content"].endswith("\n… [truncated]")


def test_a_notice_is_written_as_the_text_around_it(run: Run, put: Put) -> None:
    whole = {"messages": [HISTORY[0], "NOTICE", HISTORY[-1]], "é": 1}
    text = json.dumps({**whole, "messages": HISTORY}, indent=4, ensure_ascii=False)
    code, out, _ = run("trim", "--max-turns", "1", put(text))
    assert code == 0
    assert out == json.dumps(whole, indent=4, ensure_ascii=False).replace('"NOTICE"', json.dumps(NOTICE, ensure_ascii=False))
    _, out, _ = run("trim", "--max-turns", "1", put(json.dumps(HISTORY, separators=(",", ":"))))
    assert out == json.dumps([HISTORY[0], NOTICE, HISTORY[-1]], separators=(",", ":"))  # ASCII stays ASCII


def test_one_message_and_a_folded_notice(run: Run, put: Put) -> None:
    code, out, _ = run("trim", "--max-turns", "1", "--notice-role", "user", "--notice", "Früher: weg.", put(HISTORY[1:]))
    assert code == 0
    assert json.loads(out) == [{"role": "user", "content": "Früher: weg.\n\nthird question"}]


def test_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for names in ([], ["-"]):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbf" + json.dumps(HISTORY).encode())))
        code, out, _ = run("trim", "--max-turns", "1", "--no-notice", *names)
        assert (code, out) == (0, "\ufeff" + json.dumps([HISTORY[0], HISTORY[-1]]))


def test_blank_lines_and_a_byte_order_mark(run: Run, put: Put) -> None:
    text = "\n" + lines(HISTORY[-1:]) + "\n \r\n" + lines(HISTORY[-1:]) + "\n"
    code, out, _ = run("trim", "--max-turns", "1", put(b"\xef\xbb\xbf" + text.encode()))
    assert (code, out) == (0, "\ufeff" + text)
    document = "\ufeff\n" + json.dumps(HISTORY, indent=1)
    assert run("trim", put(document))[:2] == (0, document)


def test_tools_and_system_count(run: Run, put: Put) -> None:
    tool = {"type": "function", "function": {"name": "find", "description": "Finds things", "parameters": {}}}
    plain = json.loads(run("count", "--json", put({"messages": HISTORY}))[1])
    full = json.loads(run("count", "--json", put({"messages": HISTORY, "tools": [tool], "system": "Be brief."}))[1])
    assert full["tokens"] == plain["tokens"] + full["tools"] + full["system"]
    assert full["tools"] > 0
    assert full["system"] > 0
    legacy = json.loads(run("count", "--json", put({"messages": HISTORY, "functions": [tool["function"]]}))[1])
    assert legacy["tools"] == full["tools"]


@pytest.mark.parametrize("key", ["messages", "input", "contents"])
def test_the_array_stands_where_a_provider_has_it(run: Run, put: Put, key: str) -> None:
    text = {"parts": [{"text": "hi"}]} if key == "contents" else {"content": "hi"}
    history = [{"role": "user", **text, "n": n} for n in range(3)]
    for command in ("count", "check", "explain"):
        assert run(command, put({key: history}))[0] == 0
    for beside in ({"z": {"messages": [1]}}, {"input": [7]}, {"contents": [7]}):
        if key not in beside and (key == "messages" or "z" in beside):  # the first of the three counts
            whole = json.dumps({**beside, "n": 1.50, key: history}, indent=1)
            code, out, _ = run("trim", "--max-turns", "1", "--no-notice", put(whole))
            assert (code, out) == (0, json.dumps({**beside, "n": 1.50, key: history[-1:]}, indent=1))
            assert run("count", put(whole))[1] == run("count", put({key: history}))[1]


def test_a_text_in_place_of_messages_has_to_fit(run: Run, put: Put) -> None:
    text = json.dumps({"model": "m", "input": "how do you do?"})
    assert run("trim", "--max-chars", "14", put(text)) == (0, text, "backcut: 1 messages, unchanged\n")
    code, out, err = run("trim", "--max-chars", "13", put(text))
    assert (code, out) == (3, "")
    assert "needs 14 of max_chars, but there are 13" in err


def test_numbers_of_any_length(run: Run, put: Put) -> None:
    text = '[{"role": "user", "content": "hi", "n": ' + "9" * 5000 + "}]"
    assert run("trim", put(text))[:2] == (0, text)


def test_what_is_no_array_beside_one_is_no_matter(run: Run, put: Put) -> None:
    body = {"input": "hi", "messages": HISTORY, "contents": None}
    assert json.loads(run("trim", "--max-turns", "1", "--no-notice", put(body))[1]) == {**body, "messages": [HISTORY[0], HISTORY[-1]]}


def test_another_key(run: Run, put: Put) -> None:
    body = {"messages": [], "history": HISTORY}
    code, out, _ = run("trim", "--key", "history", "--max-turns", "1", "--no-notice", put(lines(body, HISTORY)))
    assert (code, out) == (0, lines({"messages": [], "history": [HISTORY[0], HISTORY[-1]]}, [HISTORY[0], HISTORY[-1]]))
    for body, found in (({"messages": []}, "found an object with 'messages'"), ({"history": "hi"}, "history: expected an array, found a")):
        code, _, err = run("trim", "--key", "history", put(body))
        assert code == 2
        assert found in err
    assert 'an object with "history", found' in run("trim", "--key", "history", put({"messages": []}))[2]
    assert run("count", "--key", "input", put({"messages": [], "input": HISTORY}))[0] == 0


@pytest.mark.parametrize("end", ["", "\n", "\r\n \n"])
def test_a_log_of_one_entry_a_line(put: Put, end: str) -> None:
    text = "\n" + "\r\n".join(json.dumps(message) for message in HISTORY) + end
    (conversation,) = Source(put(text), log=True)
    assert conversation.messages == HISTORY
    assert conversation.render(list(conversation.messages)) == text
    short = conversation.render([conversation.messages[0], NOTICE])
    assert short == "\n" + json.dumps(HISTORY[0]) + "\r\n" + json.dumps(NOTICE, ensure_ascii=False) + end
    (single,) = Source(put(lines(HISTORY[0])), log=True)
    assert single.render([*single.messages, NOTICE]) == lines(HISTORY[0]) + json.dumps(NOTICE, ensure_ascii=False) + "\n"


def test_what_else_a_log_may_be(put: Put) -> None:
    for text in (lines(HISTORY, HISTORY), lines({"messages": HISTORY}), json.dumps(HISTORY, indent=1)):
        assert all(conversation.messages == HISTORY for conversation in Source(put(text), log=True))
    with pytest.raises(CommandError, match=r"in\.json:3:2: not JSON"):
        list(Source(put(lines(*HISTORY[:2]) + "{]\n"), log=True))


def test_trim_again_changes_nothing(run: Run, put: Put) -> None:
    options = ("--max-chars", "2000", "--max-chars-per-tool", "300")
    once = run("trim", *options, str(EXAMPLE))[1]
    assert run("trim", *options, put(once))[1] == once
    assert run("check", put(once))[0] == 0


# --- JSON text ----------------------------------------------------------------------------------------------------------------------


def test_dumps() -> None:
    value: dict[str, Any] = {"a": [Number("1.10"), 1, None, True, [], {}], "é\ud800": "\\\ud83d"}
    assert dumps(value) == r'{"a": [1.10, 1, null, true, [], {}], "é\ud800": "\\\ud83d"}'
    assert json.loads(dumps(value)) == value


@pytest.mark.parametrize("indent", [None, 1, 4, "\t"])
@pytest.mark.parametrize("kept", [(0,), (1, 2), (0, 2), (2,), (0, 1, 2)])
def test_render(indent: int | str | None, kept: Iterable[int]) -> None:
    messages = [{"role": "user", "content": f"ü{n}", "x": [n, {"y": []}]} for n in range(3)]
    text = json.dumps({"a": 1, "messages": messages, "b": [2]}, indent=indent, ensure_ascii=False)
    conversation = Conversation(text, "x", 1)
    new = [conversation.messages[index] for index in kept] + [dict(messages[0])]
    assert conversation.render(new) == json.dumps({"a": 1, "messages": new, "b": [2]}, indent=indent, ensure_ascii=False)


def test_output_is_forgotten_when_not_delivered(tmp_path: Path) -> None:
    with Output(str(tmp_path / "out")) as output:
        output.write("x")
    assert list(tmp_path.iterdir()) == []


# --- input that is none -------------------------------------------------------------------------------------------------------------

GOOD = '[{"role": "user", "content": "hi"}]'
ONCE = "expected each key once in an object, found '{}' again"
NOT_ONE = 'expected an array of messages or an object with "messages", "input" or "contents", found'
HINT = "put all into one array, or read a log of pi's with --format pi"

BAD = {
    "empty": (b"", "in.json: expected a conversation, found nothing"),
    "blank": (b" \n\t\n", "in.json: expected a conversation, found nothing"),
    "mark only": (b"\xef\xbb\xbf\n", "in.json: expected a conversation, found nothing"),
    "truncated": (b'[{"role": "user",', "in.json:1:18: not JSON: expecting property name enclosed in double quotes (the input ends"),
    "truncated array": (GOOD[:-1].encode(), "in.json:1:35: not JSON: expecting ',' or ']' (the input ends too early)"),
    "a line in a text": (b'["a\nb"]', "in.json:1:4: not JSON: invalid control character"),
    "truncated, many lines": (b'[\n  {"role": "user"},\n', "in.json:3:1: not JSON: expecting value (the input ends too early)"),
    "no JSON": (b"hello\n", "in.json:1:1: not JSON: expecting value"),
    "no JSON, many lines": (b"hello\nworld\n", "in.json:1:1: not JSON: expecting value"),
    "comma": (b'[\n{"role": "user" "content": 1}]', "in.json:2:17: not JSON: expecting ',' delimiter"),
    "body without colon": (b'{"messages" []}', "in.json:1:13: not JSON: expecting ':'"),
    "body key": (b'{"a": 1, messages: []}', "in.json:1:10: not JSON: expecting a key in double quotes"),
    "body comma": (b'{"a": 1 "messages": []}', "in.json:1:9: not JSON: expecting ',' or '}'"),
    "rubbish behind": (b"[] []", "in.json:1:4: not JSON: expecting the end of the input"),
    "number": (b"42", f'in.json:1:1: {NOT_ONE} a number'),
    "string": (b'"hi"', f'in.json:1:1: {NOT_ONE} a string'),
    "null": (b"null", f'in.json:1:1: {NOT_ONE} null'),
    "no messages": (b'{"prompt": 1}', f"in.json:1:1: {NOT_ONE} an object with 'prompt'"),
    "empty object": (b"{ }", f'in.json:1:1: {NOT_ONE} an empty object'),
    "a message": (b'{"role": "user", "content": ""}\n{}', f"in.json:1:1: {NOT_ONE} a single message; {HINT}"),
    "an entry": (b'{"type": "session", "id": "x"}\n{}', f"in.json:1:1: {NOT_ONE} a single 'session'; {HINT}"),
    "a request": (b'{"kind": "request", "parts": []}', f"in.json:1:1: {NOT_ONE} a single 'request'; {HINT}"),
    "a text": (b'{"model": "m", "input": "hi"}', "in.json:1:1: input: expected an array, found a string"),
    "contents null": (b'{"contents": null}', "in.json:1:1: contents: expected an array, found null"),
    "messages null": (b'\n {"messages": null}', "in.json:2:2: messages: expected an array, found null"),
    "latin-1": (b'["\xe4"]', "in.json: expected UTF-8, found byte 0xe4 at offset 2"),
    "latin-1 later": ((GOOD + "\n" + GOOD + "\n").encode() + b"\xff", "in.json: expected UTF-8, found byte 0xff at offset 72"),
    "utf-16": ("\ufeff[]".encode("utf-16-le"), "in.json: expected UTF-8, found byte 0xff at offset 0 (UTF-16?)"),
    "binary": (b"\x89PNG\r\n\x1a\n", "in.json: expected UTF-8, found byte 0x89 at offset 0"),
    "zeros": (b"\0\0\0", "in.json:1:1: not JSON: expecting value"),
    "nan": (b'[{"role": "user", "content": "NaN",\n "x": NaN}]', "in.json:2:7: NaN is not JSON; expected a finite number or null"),
    "infinity": (b'{"t": -Infinity, "messages": []}', "in.json:1:7: -Infinity is not JSON; expected a finite number or null"),
    "twice": (b'[{"role": "a"}, {"role": "user", "x": {"role": 1},\n  "ro\\u006ce": 2}]', "in.json:2:3: " + ONCE.format("role")),
    "twice in body": (b'{"messages": [], "messages": []}', "in.json:1:18: " + ONCE.format("messages")),
    "twice in tools": (b'{"tools": [{"a": 1, "a": 2}], "messages": []}', "in.json:1:21: " + ONCE.format("a")),
    "digits": (b'[{"role": "user", "n": ' + b"9" * 5000 + b"}]", "in.json:1:2: a number has too many digits"),
    "deep": (b'[{"role": "user", "n": ' + b"[" * 200_000 + b"]" * 200_000 + b"}]", "in.json:1:2: nested too deeply"),
    "role": (b'[\n {"role": "user", "content": ""},\n {"role": "boss"}\n]', "in.json:3:2: messages[1].role: expected one of"),
    "no object": (b"[1]", "in.json:1:2: messages[0]: expected a mapping or an object with a role, found"),
    "jsonl": ((GOOD + "\n[{]\n").encode(), "in.json:2:3: not JSON: "),
    "jsonl, first line": (("[{]\n" + GOOD + "\n" + GOOD).encode(), "in.json:1:3: not JSON: "),
    "jsonl, blank lines": ((GOOD + "\n\n\n" + GOOD + "\n7\n").encode(), "in.json:5:1: expected an array of messages"),
    "jsonl, role": ((GOOD + '\n[{"content": "hi"}]\n').encode(), "in.json:2:2: messages[0].role: expected one of"),
    "array of lines": ((GOOD + "\n" + GOOD + ",\n").encode(), "in.json:2:36: not JSON: expecting the end of the input"),
    "foreign": (b'[{"role": "tool", "tool_call_id": "a", "content": ""}, {"role": "model", "parts": []}]', "in.json:1"),
}  # fmt: skip


READ_BY_TRIM = {"a text", "digits"}
"""What is fine with ``trim``, which makes no objects."""


@pytest.mark.parametrize(
    ("command", "name"),
    [(command, name) for command in ("trim", "count", "check", "explain") for name in BAD if command != "trim" or name not in READ_BY_TRIM],
)
def test_bad_input(run: Run, put: Put, name: str, command: str) -> None:
    content, expected = BAD[name]
    path = put(content)
    code, out, err = run(command, path)
    assert (code, out) == (2, "")
    message = err.replace(str(Path(path).parent) + os.sep, "")
    assert message.startswith("backcut: error: in.json:")
    assert expected in message
    assert message.count("\n") == 1


def test_missing_and_folder(run: Run, tmp_path: Path) -> None:
    missing = str(tmp_path / "no.json")
    assert run("trim", missing)[::2] == (2, f"backcut: error: {missing}: cannot be read: no such file or directory\n")
    assert run("trim", str(tmp_path))[::2] == (2, f"backcut: error: {tmp_path}: expected a file, found a folder\n")


@posix
@not_root
def test_unreadable(run: Run, put: Put) -> None:
    path = put(HISTORY)
    Path(path).chmod(0)
    assert run("trim", path)[::2] == (2, f"backcut: error: {path}: cannot be read: permission denied\n")


def test_a_failing_disk(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise OSError(errno.EIO, "Input/output error")

        def isatty(self) -> bool:
            return False

    broken = Broken()
    monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": broken, "isatty": broken.isatty}))
    assert run("trim")[::2] == (2, "backcut: error: <stdin>: cannot be read: input/output error\n")


def test_closed_streams(run: Run, put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", None)
        assert run("trim")[::2] == (2, "backcut: error: standard input is closed\n")
    path = put(HISTORY)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)
        code = main(["trim", path])
    assert code == 2
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", None)
        assert main(["trim", path]) == 0


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
BODIES = st.lists(st.dictionaries(st.text(), VALUES, max_size=4), max_size=5) | st.fixed_dictionaries(
    {"messages": st.lists(VALUES, max_size=5)}, optional={"model": VALUES, "é": VALUES}
)


@given(BODIES, st.sampled_from([None, 0, 2, "\t"]), st.booleans(), st.sampled_from(["", "\n", " \r\n"]))
def test_reads_what_json_reads_and_writes_it_back(body: Any, indent: Any, ascii_only: bool, end: str) -> None:
    text = json.dumps(body, indent=indent, ensure_ascii=ascii_only) + end
    conversation = Conversation(end + text, "x", 1)
    messages = body["messages"] if isinstance(body, dict) else body
    assert conversation.messages == messages
    assert conversation.render(conversation.messages) == end + text
    assert conversation.render(list(conversation.messages)) == end + text
    again = json.loads(conversation.render([dict(each) if isinstance(each, dict) else each for each in conversation.messages]))
    assert again == body


@given(st.binary(max_size=60) | st.text('[]{}":,\\ue19NaN \n', max_size=40).map(str.encode))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    class Bytes(Source):
        @contextmanager
        def _open(self) -> Any:
            yield io.BytesIO(raw)

    refused = ""
    text = ""
    try:
        text = "".join(conversation.text for conversation in Bytes("x"))
    except CommandError as error:
        refused = str(error)
    if refused:
        assert re.match(r"x(:\d+:\d+)?: ", refused)
    else:
        assert text.encode() == raw.removeprefix(b"\xef\xbb\xbf")
