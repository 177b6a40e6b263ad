"""The command line: options, reports and tables."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import backcut
from backcut.cli.io import Source
from backcut.cli.options import _OPTIONS
from backcut.cli.progress import picture, watched
from backcut.cli.table import bar, table
from backcut.options import FORMATS, TABLE
from cli_support import CALLS, EXAMPLE, GOLDEN, HISTORY, Put, Run, lines, process

pytest_plugins = ["cli_fixtures"]


# --- options ------------------------------------------------------------------------------------------------------------------------


def test_every_option_of_the_api_is_there() -> None:
    assert {option.name for option in _OPTIONS} == set(TABLE) - {"on_report"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--max-turns", "many"], "argument --max-turns: expected a whole number, found 'many'"),
        (["--trim-to", "half"], "argument --trim-to: expected a number, found 'half'"),
        (["--max-turns"], "argument --max-turns: expected one argument"),
        (["--max-t", "1"], "unrecognized arguments: --max-t; did you mean --max-turns or --max-tokens?"),
        (["--max-token", "8000"], "unrecognized arguments: --max-token; did you mean --max-tokens? (see backcut trim --help)"),
        (["--max-token=8000"], "unrecognized arguments: --max-token; did you mean --max-tokens?"),
        (["--zzz"], "unrecognized arguments: --zzz (see backcut trim --help)"),
        (["more.json"], "unrecognized arguments: more.json (see backcut trim --help)"),
        (["--start", "anything"], "argument --start: invalid choice: 'anything'"),
        (["--notice", "x", "--no-notice"], "argument --no-notice: not allowed with argument --notice"),
        (["--notice", "\udcff"], "argument --notice: expected UTF-8"),
        (["--report", "xml"], "argument --report: invalid choice: 'xml'"),
        (["--max-turns", "0"], "backcut: error: --max-turns 0: must be an integer of at least 1"),
        (["--max-tokens", "-5"], "backcut: error: --max-tokens -5: "),
        (["--max-tokens", "5", "--reserve-tokens", "5"], "backcut: error: --reserve-tokens 5: must be below --max-tokens, which is 5"),
        (["--reserve-tokens", "5"], "backcut: error: --reserve-tokens 5: is a part of --max-tokens, which is not given"),
        (["--trim-to", "1.5", "--max-turns", "5"], "backcut: error: --trim-to"),
        (["--trim-to", "nan", "--max-turns", "5"], "backcut: error: --trim-to"),
        (["--model", "gpt-99", "--max-tokens", "5"], "backcut: error: --model gpt-99: "),
        (["--tokenizer", "o300k", "--max-tokens", "5"], "backcut: error: --tokenizer o300k: "),
        (["--compat", "other"], "backcut: error: --compat other: "),
        (["--compat", "thena", "--max-tokens", "5"], "backcut: error: --max-tokens 5: "),
    ],
)
def test_wrong_options(run: Run, put: Put, options: list[str], message: str) -> None:
    code, out, err = run("trim", put(HISTORY), *options)
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("backcut: error: ")
    assert err.count("\n") == 1
    for leak in ("Traceback", "usage:", "tokenizer=", "None", "on_report", "max_"):
        assert leak not in err


def test_wrong_usage(run: Run, put: Put) -> None:
    assert run()[0] == 2
    assert run("shorten")[0] == 2
    assert run("count", "--max-turns", "1", put(HISTORY))[0] == 2
    code, _, err = run("count", "--model", "gpt-99", put(HISTORY))
    assert code == 2
    assert err.startswith("backcut: error: --model gpt-99: ")


@pytest.mark.parametrize(
    ("options", "same"),
    [
        (["--max-turns", "3", "--start", "any", "--no-notice"], {"max_turns": 3, "start": "any", "notice": False}),
        (["--max-chars", "60", "--notice", "cut", "--notice-role", "system"], {"max_chars": 60, "notice": "cut", "notice_role": "system"}),
        (
            ["--max-tokens", "60", "--reserve-tokens", "20", "--model", "gpt-4o"],
            {"max_tokens": 60, "reserve_tokens": 20, "model": "gpt-4o"},
        ),
        (["--max-tokens", "40", "--tokenizer", "cl100k_base"], {"max_tokens": 40, "tokenizer": "cl100k_base"}),
        (["--max-turns", "4", "--trim-to", "0.5", "--format", "openai-chat"], {"max_turns": 4, "trim_to": 0.5, "format": "openai-chat"}),
        (["--max-chars", "3", "--on-overflow", "keep", "--notice", ""], {"max_chars": 3, "on_overflow": "keep", "notice": ""}),
        (["--max-chars-per-tool", "40", "--tool-keep", "head_tail"], {"max_chars_per_tool": 40, "tool_keep": "head_tail"}),
        (["--max-turns", "1", "--thinking", "strip"], {"max_turns": 1, "thinking": "strip"}),
        (["--max-turns", "0", "--compat", "thena"], {"max_turns": 0, "compat": "thena"}),
    ],
)
def test_options_are_those_of_the_api(run: Run, put: Put, options: list[str], same: dict[str, Any]) -> None:
    history = HISTORY[:1] + CALLS + HISTORY[1:]
    code, out, err = run("trim", *options, "--report", "json", put(history))
    expected = backcut.trim(history, **same)
    assert (code, json.loads(out)) == (0, list(expected.messages))
    assert json.loads(err) == expected.report.as_dict()


def test_help_is_for_every_option(run: Run) -> None:
    for command in ("trim", "count", "check", "repair", "explain"):
        code, out, err = run(command, "--help")
        assert (code, err) == (0, "")
        assert out.isascii()
        found = re.findall(r"^  (?:-\w(?: \S+)?, )?(--[a-z-]+)(?: ([A-Z]+|\{\S*\}))?", out, re.MULTILINE)
        golden = (GOLDEN / f"help_{command}.txt").read_text(encoding="utf-8")
        assert [" ".join(each).strip() for each in found] == golden.splitlines()
        codes = re.findall(r"^  (\d+) ", out.partition("exit codes:")[2], re.MULTILINE)
        assert codes == {"check": "0 1 2 130 141", "count": "0 2 130 141", "repair": "0 2 130 141"}.get(command, "0 2 3 130 141").split()
        assert ",".join(FORMATS) in "".join(out.split())  # a line may end behind each hyphen
    _, out, _ = run("--help")
    assert re.findall(r"^  (\d+) ", out, re.MULTILINE) == ["0", "1", "2", "3", "130", "141"]
    assert "pending_call alone is 0" in out


def test_version(run: Run) -> None:
    assert run("--version")[:2] == (0, f"backcut {backcut.__version__}\n")


# --- budget -------------------------------------------------------------------------------------------------------------------------


def test_budget_that_cannot_be_met(run: Run, put: Put, tmp_path: Path) -> None:
    path = put("\n" + lines(HISTORY[-1:], HISTORY[-1:], [{"role": "user", "content": "x" * 90}]))
    code, out, failure = run("trim", "--max-chars", "50", path)
    assert (code, out) == (3, "")
    assert failure.startswith(f"backcut: error: {path}:4: ")
    assert "messages[0:]" in failure
    assert "needs 90 of max_chars" in failure
    assert failure.count("\n") == 1
    for form in ((), ("--json",)):
        kept = run("explain", "--max-chars", "50", "--on-overflow", "keep", *form, path)
        assert kept[0] == 0
        assert run("explain", "--max-chars", "50", *form, path) == (3, kept[1], failure)
    assert run("trim", "--max-chars", "50", path, "-o", str(tmp_path / "out.jsonl"))[0] == 3
    assert not (tmp_path / "out.jsonl").exists()
    assert run("trim", "--max-chars", "50", "--on-overflow", "keep", path)[::2] == (
        0,
        "backcut: 3 conversations, 0 changed; 3 messages, unchanged; 1 over budget\n",
    )


# --- report -------------------------------------------------------------------------------------------------------------------------


def test_reports(run: Run, put: Put) -> None:
    path = put(HISTORY)
    assert run("trim", "--max-turns", "1", "--report", "none", path)[2] == ""
    _, _, err = run("trim", "--max-turns", "1", "--report", "json", path)
    assert json.loads(err)["messages_sent"] == 3
    _, _, err = run("trim", "--max-turns", "2", "--report", "json", put("\n" + lines(HISTORY, CALLS)))
    reports = [json.loads(line) for line in err.splitlines()]
    assert [report["line"] for report in reports] == [2, 3]
    assert run("trim", put(HISTORY))[2] == (
        "backcut: 6 messages, unchanged\nbackcut: no ceiling was given (such as --max-tokens), so nothing could be cut\n"
    )
    _, _, err = run("trim", "--max-chars-per-tool", "50", "--max-tokens", "1000", put(CALLS))
    assert re.fullmatch(
        r"backcut: 3 messages in, 3 out; 1 tool results shortened by 450 characters; \d+ tokens; as before up to message 2\n", err
    )
    _, _, err = run("trim", "--max-turns", "2", put(CALLS))
    assert "the task did not fit" in err
    _, _, err = run("trim", "--max-chars", "20", "--on-overflow", "keep", put(CALLS))
    assert "over budget" in err


# --- count, check, explain ----------------------------------------------------------------------------------------------------------


def test_count(run: Run, put: Put) -> None:
    code, out, err = run("count", put(HISTORY + CALLS))
    assert (code, err) == (0, "")
    found = json.loads(run("count", "--json", put(HISTORY + CALLS))[1])
    assert found["tokens"] == backcut.count(HISTORY + CALLS)
    assert found["tokens"] == found["overhead"] + sum(message["tokens"] for message in found["messages"])
    assert [message["chars"] for message in found["messages"]][:3] == [8, 14, 12]
    assert found["roles"]["user"] == {
        "tokens": sum(m["tokens"] for m in found["messages"] if m["role"] == "user"),
        "chars": 45,
        "messages": 4,
    }
    assert re.search(rf"^total +{found['tokens']} +\d+ +9$", out, re.MULTILINE)
    assert re.search(r"^ +0  system +\d+ +8$", out, re.MULTILINE)


def test_count_jsonl(run: Run, put: Put) -> None:
    path = put(lines(HISTORY, {"messages": CALLS}))
    sizes = [backcut.count(HISTORY), backcut.count(CALLS)]
    _, out, _ = run("count", path)
    assert [line.split()[:2] for line in out.splitlines()] == [
        ["line", "tokens"],
        ["1", str(sizes[0])],
        ["2", str(sizes[1])],
        ["total", str(sum(sizes))],
    ]
    _, out, _ = run("count", "--json", path)
    assert [(found["line"], found["tokens"]) for found in map(json.loads, out.splitlines())] == [(1, sizes[0]), (2, sizes[1])]


def text_counts(text: str, **how: Any) -> dict[str, Any]:
    return {"tokenizer": "o200k_base", "exact": True, "tokens": backcut.count(text, **how), "chars": len(text)}


def test_count_text(run: Run, put: Put) -> None:
    text = "Grüße\r\n[not json\n"
    path = put("\ufeff" + text, "in.txt")
    assert json.loads(run("count", "--text", "--json", path)[1]) == text_counts(text)
    assert run("count", "--text", path)[1].split() == ["tokens", "chars", str(backcut.count(text)), str(len(text))]
    assert json.loads(run("count", "--text", "--json", put(b"", "none.txt"))[1]) == text_counts("")
    assert run("count", "--text", put(b"a\xff", "bad.txt"))[0] == 2
    assert json.loads(run("count", "--text", "--json", "--model", "gpt-4", path)[1])["tokens"] == backcut.count(text, model="gpt-4")


@pytest.mark.parametrize(
    "text", ["Grüße\r\n\n[not json\n", "\n\n  # Title\n", '"quoted"', "12", "no line end", "x" * 300_000, "a\n" * 50_000]
)
def test_what_is_no_json_is_counted_as_text_and_said_so(run: Run, put: Put, text: str) -> None:
    path = put("\ufeff" + text, "notes.md")
    code, out, err = run("count", "--json", path)
    assert (code, err) == (0, f"backcut: {path}: counted as plain text\n")
    assert json.loads(out) == text_counts(text)
    assert run("count", path)[:2] == (0, run("count", "--text", path)[1])


@pytest.mark.parametrize(
    ("text", "name"), [("no json", "a.json"), ("no json", "a.JSONL"), ("[a](link)\n", "a.md"), ("{x}", "a.txt"), (" \n", "a.txt")]
)
def test_what_looks_like_json_is_never_guessed_to_be_text(run: Run, put: Put, text: str, name: str) -> None:
    code, out, err = run("count", put(text, name))
    assert (code, out) == (2, "")
    if text.strip():
        assert err.endswith("; --text counts it as plain text\n")
    assert json.loads(run("count", "--text", "--json", put(text, name))[1]) == text_counts(text)


def test_a_conversation_by_any_name(run: Run, put: Put) -> None:
    assert json.loads(run("count", "--json", put(HISTORY, "notes.txt"))[1])["tokens"] == backcut.count(HISTORY)


def test_count_standard_input() -> None:
    assert json.loads(process("count", "--json", input=b"some text").stdout) == text_counts("some text")
    assert json.loads(process("count", "--json", input=json.dumps(HISTORY).encode()).stdout)["tokens"] == backcut.count(HISTORY)
    found = process("count", "--json", input=b"some text")
    assert found.stderr.splitlines() == [b"backcut: <stdin>: counted as plain text"]


def test_count_several_files(run: Run, put: Put) -> None:
    one, many, text = put(HISTORY, "one.json"), put(lines(HISTORY, {"messages": CALLS}), "many.jsonl"), put("some text", "text.txt")
    whole, calls, words = backcut.count(HISTORY), backcut.count(CALLS), backcut.count("some text")
    code, out, err = run("count", one, many, text)
    assert (code, err) == (0, f"backcut: {text}: counted as plain text\n")
    rows = [line.split() for line in out.splitlines()]
    assert rows[0] == ["file", "line", "tokens", "chars", "messages"]
    assert rows[1][:2] == [one, str(whole)]
    assert [row[:3] for row in rows[2:4]] == [[many, "1", str(whole)], [many, "2", str(calls)]]
    assert rows[4] == [text, str(words), "9", "0"]
    assert rows[5][:2] == ["total", str(2 * whole + calls + words)]
    for arguments in (["--json", one, many, text], [one, "--json", many, text], [one, many, text, "--json"]):
        found = [json.loads(line) for line in run("count", *arguments)[1].splitlines()]
        assert [(each["file"], each.get("line"), each["tokens"]) for each in found] == [
            (one, None, whole),
            (many, 1, whole),
            (many, 2, calls),
            (text, None, words),
        ]
        assert found[0]["messages"][0]["role"] == "system"


def test_one_bad_file_of_several_writes_nothing(run: Run, put: Put) -> None:
    code, out, err = run("count", put(HISTORY, "good.json"), put("[", "bad.json"))
    assert (code, out) == (2, "")
    assert "bad.json:1:2: not JSON" in err


def test_an_estimate_says_so(run: Run, put: Put) -> None:
    code, out, err = run("count", "--json", "--model", "claude-sonnet-4-5", put(HISTORY))
    assert (code, err) == (0, "backcut: estimate-claude is an estimate\n")
    found = json.loads(out)
    assert (found["tokenizer"], found["exact"]) == ("estimate-claude", False)
    assert found["tokens"] == backcut.count(HISTORY, model="claude-sonnet-4-5")
    assert found["tokens"] == found["overhead"] + sum(message["tokens"] for message in found["messages"])


def test_count_with_a_file_of_a_tokenizer(run: Run, put: Put) -> None:
    missing = put(HISTORY) + ".missing.json"
    code, _, err = run("count", "--tokenizer", missing, put(HISTORY))
    assert code == 2
    assert err == f"backcut: error: --tokenizer {missing}: cannot be read: no such file or directory\n"


def test_check(run: Run, put: Put) -> None:
    assert run("check", put(HISTORY)) == (0, "sound\n", "")
    assert run("check", put(lines(HISTORY, HISTORY))) == (0, "sound: 2 conversations\n", "")
    orphan = [{"role": "user", "content": "go"}, {"role": "tool", "tool_call_id": "lost\x1b[2J", "content": "x"}]
    code, out, err = run("check", put(orphan))
    assert (code, err) == (1, "")
    assert out.splitlines()[1].split()[:3] == ["1", "orphan_result", r"lost\x1b[2J"]
    code, out, _ = run("check", "--json", put(orphan))
    assert code == 1
    assert json.loads(out) == {"sound": False, "violations": [json.loads(json.dumps(each._asdict())) for each in backcut.check(orphan)]}
    code, out, _ = run("check", put(lines(HISTORY, orphan)))
    assert code == 1
    assert out.splitlines()[1].split()[:3] == ["2", "1", "orphan_result"]


def test_a_live_end_is_no_violation(run: Run, put: Put) -> None:
    code, out, _ = run("check", put(CALLS[:2]))
    assert code == 0
    assert "pending_call" in out
    code, out, _ = run("check", "--json", put(CALLS[:2]))
    assert json.loads(out)["sound"] is True


def explained(run: Run, *arguments: str) -> list[tuple[int | None, str, str]]:
    code, out, _ = run("explain", "--json", *arguments)
    assert code == 0
    return [(row["index"], row["action"], row["why"]) for row in json.loads(out)["messages"]]


def test_explain(run: Run, put: Put) -> None:
    assert explained(run, "--max-turns", "3", put(HISTORY)) == [
        (0, "kept", "head"),
        (None, "notice", "stands for what was cut"),
        (1, "cut", "over max_turns"),
        (2, "cut", "over max_turns"),
        (3, "kept", "fits"),
        (4, "kept", "fits"),
        (5, "kept", "newest"),
    ]


def test_explain_task_cap_and_group(run: Run, put: Put) -> None:
    second = json.loads(json.dumps(CALLS[1:]).replace('"a"', '"b"'))
    history = [*CALLS, *second, {"role": "assistant", "content": "done"}]
    path = put(history)
    assert explained(run, "--max-turns", "4", "--max-chars-per-tool", "40", "--no-notice", path) == [
        (0, "kept", "task"),
        (1, "cut", "over max_turns"),
        (2, "cut", "part of a dropped group"),
        (3, "kept", "fits"),
        (4, "edited", "fits; capped, was 500 chars"),
        (5, "kept", "newest"),
    ]
    reasons = explained(run, "--max-turns", "4", "--trim-to", "0.5", put(HISTORY))
    assert (2, "cut", "behind the trim_to line") in reasons


def test_explain_folded_notice(run: Run, put: Put) -> None:
    rows = explained(run, "--max-turns", "1", "--notice-role", "user", put(HISTORY))
    assert rows[-1] == (5, "edited", "newest; carries the notice")
    assert all(index is not None for index, _, _ in rows)


def test_explain_shows_where_the_window_goes(run: Run, put: Put) -> None:
    options = ["--max-tokens", "60", "--reserve-tokens", "10", "--max-turns", "3"]
    body = {"messages": HISTORY, "system": "Be brief.", "tools": [{"name": "f", "description": "d"}]}
    found = json.loads(run("explain", "--json", *options, put(body))[1])
    assert sum(found["window"].values()) == 60
    assert found["window"]["reserve"] == 10
    spent = sum(size for name, size in found["window"].items() if name not in ("reserve", "free"))
    assert spent == found["report"]["tokens_sent"]
    code, out, err = run("explain", *options, put(body))
    assert (code, err) == (0, "")
    assert re.search(r"^window +60 +100\.0%$", out, re.MULTILINE)
    assert "█" in out
    assert max(map(len, out.splitlines())) <= 80
    code, out, _ = run("explain", put(lines(HISTORY, CALLS)))
    assert code == 0
    assert [line for line in out.splitlines() if line.startswith("line ")] == ["line 1", "line 2"]
    assert re.search(r"^total +\d+ +100\.0%$", out, re.MULTILINE)


def test_explain_of_the_example(run: Run) -> None:
    options: dict[str, Any] = {"max_tokens": 8000, "max_chars_per_tool": 2000, "reserve_tokens": 500}
    body = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    plan = backcut.context_window(**options).plan(body["messages"], tools=body["tools"])
    arguments = [part for name, value in options.items() for part in ("--" + name.replace("_", "-"), str(value))]
    found = json.loads(run("explain", "--json", *arguments, str(EXAMPLE))[1])
    rows = found["messages"]
    assert [row["index"] for row in rows if row["action"] in ("kept", "edited")] == list(plan.kept)
    assert sorted(row["index"] for row in rows if row["index"] is not None) == list(range(len(body["messages"])))
    assert sum(found["window"].values()) == 8000


def test_empty_conversations(run: Run, put: Put) -> None:
    assert run("trim", "--max-turns", "1", put("[ ]"))[:2] == (0, "[ ]")
    assert run("count", put("[]"))[0] == 0
    assert run("explain", put("[]"))[0] == 0
    assert run("explain", put([HISTORY[0]]))[0] == 0
    assert run("check", put("[]"))[0] == 1


# --- tables and progress ------------------------------------------------------------------------------------------------------------


def test_table_is_as_wide_as_the_terminal() -> None:
    text = table(["n", "who", "why"], [["1", "京都", "word " * 12], ["22", "é\u0301x", ""]], right="n", total=40)
    assert text == (
        " n  who   why\n"
        " 1  京都  word word word word word word\n"
        "          word word word word word word\n"
        "22  é\u0301x\n"
    )  # fmt: skip


def test_bar() -> None:
    assert bar(0, 10, 4) == "░░░░"
    assert bar(1, 1000, 4) == "█░░░"
    assert bar(20, 10, 4) == "████"
    assert bar(1, 0, 4) == ""


def test_progress_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    assert picture(500, 25, 100, 5.0).endswith(" 25%  500 conversations, 100/s  ETA 0:15")
    assert picture(500, 1, 1000, 9.0).endswith("  0%  500 conversations, 56/s  ETA 2:29:51")
    assert len(picture(500, 25, 100, 5.0)) <= 69
    assert picture(7, 25, None, 2.0).strip() == "7 conversations, 4/s"


def test_progress_is_for_terminals_and_long_runs(
    put: Put, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = put(lines(*[HISTORY] * 30))
    assert len(list(watched(Source(path)))) == 30
    assert capsysbinary.readouterr().err == b""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert len(list(watched(Source(path)))) == 30
    assert capsysbinary.readouterr().err == b""
    monkeypatch.setattr("backcut.cli.progress._PATIENCE", 0.0)
    assert len(list(watched(Source(path)))) == 30
    seen = capsysbinary.readouterr().err.decode()
    assert "conversations" in seen
    assert seen.endswith(" \r")
