"""The examples run, and the long one is what it is said to be."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import backcut

FOLDER = Path(__file__).parents[1] / "examples"
FILE = FOLDER / "agent_run.json"


@pytest.fixture(scope="module")
def body() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("name", ["openai_loop", "middleware", "measure_first", "asgi_gateway"])
def test_runs_without_a_word_of_complaint(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-W", "error", str(FOLDER / f"{name}.py")], capture_output=True, timeout=60, cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_file_is_what_its_generator_writes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(FOLDER / "make_agent_run.py"), str(tmp_path / "again.json")], check=True, timeout=60)
    assert (tmp_path / "again.json").read_bytes() == FILE.read_bytes()


def test_it_is_sound_and_stays_so(body: dict[str, Any]) -> None:
    messages = body["messages"]
    assert backcut.check(messages) == []
    ceilings: list[dict[str, Any]] = [{"max_turns": 1}, {"max_turns": 40}, {"max_chars": 3_000}]
    ceilings.append({"max_chars": 60_000, "max_chars_per_tool": 1_000})
    for ceiling in ceilings:
        assert backcut.check(backcut.trim(messages, **ceiling).messages) == []


def test_it_is_long(body: dict[str, Any]) -> None:
    assert 120 <= len(body["messages"]) <= 180
    assert 150_000 <= FILE.stat().st_size <= 250_000
    assert max(len(message["content"] or "") for message in body["messages"]) >= 30_000
    assert body["model"]
    assert len(body["tools"]) >= 6


def test_it_is_lifelike(body: dict[str, Any]) -> None:
    messages = body["messages"]
    roles = Counter(message["role"] for message in messages)
    assert messages[0]["role"] == "system"
    assert messages[-1]["role"] == "user"
    assert messages[-1]["content"].rstrip().endswith("?")
    assert roles["user"] >= 8
    assert sum("reasoning_content" in message for message in messages) >= 4
    asked = "".join(message["content"] for message in messages if message["role"] == "user")
    for sign in ("の", "ü", "ع", "🥨"):
        assert sign in asked
    results = [message["content"] for message in messages if message["role"] == "tool"]
    assert any("┌" in result for result in results)
    assert any(result.startswith("error:") or "\n\nerror:" in result for result in results)


def test_its_calls_are_answered_in_every_order(body: dict[str, Any]) -> None:
    names = {tool["function"]["name"] for tool in body["tools"]}
    messages = body["messages"]
    parallel = shuffled = 0
    for index, message in enumerate(messages):
        calls = message.get("tool_calls", [])
        ids = [call["id"] for call in calls]
        answers = [each["tool_call_id"] for each in messages[index + 1 : index + 1 + len(ids)]]
        assert sorted(answers) == sorted(ids)
        assert {call["function"]["name"] for call in calls} <= names
        assert all(isinstance(json.loads(call["function"]["arguments"]), dict) for call in calls)
        if len(calls) > 1:
            assert len(calls) <= 4
            parallel += 1
            shuffled += answers != ids
    assert parallel >= 10
    assert shuffled >= 5
