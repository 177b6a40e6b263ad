"""The suite of benches/: its judges catch planted wrong answers, who fails is recorded, pictures are XML, two runs can be compared."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import backcut

BENCHES = Path(__file__).resolve().parents[1] / "benches"
if not BENCHES.is_dir():
    pytest.skip("no benches/ here", allow_module_level=True)
sys.path.append(str(BENCHES))
try:
    import compare
    from conversations import Message, tile, unseen
    from standin import generate
    from suite import figures, page, runner
    from suite.cells import Cell
    from suite.inputs import FIXED, HALF, histories
    from suite.judge import counter, judge, matched, prefix_kept, soundness
    from suite.money import READ, WRITE, Bill
    from suite.peers import BY_NAME, PEERS, Backcut, ConvoPack
    from suite.svg import Log, Picture
finally:
    sys.path.remove(str(BENCHES))

TOKENS = counter(lambda text: len(text) // 4)


@pytest.fixture(scope="module")
def history() -> list[Message]:
    return histories(generate(), 100, 1, TOKENS)[0]


def faults(history: Sequence[Message], answer: Sequence[Message], limit: float = 1e9) -> list[str]:
    used = sum(map(TOKENS, answer))
    return judge(history, answer, limit=limit, used=used, tokens=TOKENS, true_limit=1_000.0).faults


# What is trimmed ----------------------------------------------------------------------------------------------------------


def test_the_stand_in_is_sound_and_always_the_same() -> None:
    talks = generate()
    assert talks == generate()
    assert all(soundness(talk) == [] for talk in talks)
    assert any("tool_calls" in message for talk in talks for message in talk)


@pytest.mark.parametrize("length", [10, 100, 1_000])
def test_ids_are_unique(length: int) -> None:
    long, _ = tile(generate(), length, 0)
    ids = [call["id"] for message in long for call in message.get("tool_calls") or ()]
    assert len(ids) == len(set(ids))
    assert 0.7 * length <= len(long) <= length


@pytest.mark.parametrize("arguments", ["{}", " { }", '{"a": 1}', '{"a":{}}'])
def test_an_unseen_call_has_arguments_that_can_be_read(arguments: str) -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": arguments}}]}
    (call,) = unseen(message)["tool_calls"]
    made = json.loads(call["function"]["arguments"])
    assert {key: value for key, value in made.items() if key != "step"} == json.loads(arguments)


# Is it right? -------------------------------------------------------------------------------------------------------------


def test_a_right_answer_is_right(history: list[Message]) -> None:
    sent = backcut.trim(history, max_chars=backcut.trim(history).report.chars_sent // 2).messages
    assert len(sent) < len(history)
    assert faults(history, sent) == []


def without_a_call(sent: list[Message]) -> list[Message]:
    return [message for message in sent if not message.get("tool_calls")]


def without_a_result(sent: list[Message]) -> list[Message]:
    gone = next(k for k, message in enumerate(sent) if message["role"] == "tool")
    return [*sent[:gone], *sent[gone + 1 :]]


def without_the_task(sent: list[Message]) -> list[Message]:
    """From the newest turn with a call, its user turn left out."""
    start = max(k for k, message in enumerate(sent) if message.get("tool_calls"))
    return [sent[0], *sent[start:]]


WRONG: dict[str, Callable[[list[Message]], list[Message]]] = {
    "unsound (result_without_call)": without_a_call,
    "unsound (call_without_result)": without_a_result,
    "system prompt lost": lambda sent: sent[1:],
    "newest message lost": lambda sent: sent[: [k for k, message in enumerate(sent) if message["role"] == "user"][-2] + 1],
    "nothing left but the system prompt": lambda sent: sent[:1],
    "task lost": without_the_task,
}


@pytest.mark.parametrize("name", WRONG)
def test_planted_wrong_answers_are_found(history: list[Message], name: str) -> None:
    assert name in faults(history, WRONG[name](list(history)))


def test_a_ceiling_that_is_not_held_is_found(history: list[Message]) -> None:
    assert faults(history, history, limit=10) == ["silent no-op"]
    assert "over its ceiling" in faults(history, [history[0], *history[-40:]], limit=10)


def test_equal_messages_take_the_last_places() -> None:
    talk = [{"role": role, "content": "again"} for role in ("user", "assistant", "user", "assistant", "user")]
    assert matched(talk, talk[2:]) == [2, 3, 4]
    assert matched(talk, [{"role": "user", "content": "a summary"}, *talk[-1:]]) == [4]


def test_what_the_cache_saves() -> None:
    talk = [{"role": "user", "content": "x" * 400}, {"role": "assistant", "content": "y" * 400}, {"role": "user", "content": "z" * 400}]
    bill = Bill(TOKENS)
    bill.request([], talk[:1])
    bill.request(talk[:1], talk)
    bill.request(talk, talk[1:])
    assert prefix_kept(talk[:1], talk) == 1
    assert bill.as_dict() == {"sent": 600, "cached": 100, "cost": READ * 100 + WRITE * 500}


# Who fails is recorded ----------------------------------------------------------------------------------------------------


CELLS = [Cell("warm", 10, HALF), Cell("warm", 100, HALF), Cell("loop", 5, FIXED)]


def instead(monkeypatch: pytest.MonkeyPatch, script: str) -> list[dict[str, Any]]:
    """The rows where the process runs ``script``, which finds its cells in ``sys.argv[1]``."""
    monkeypatch.setattr(runner, "absent", lambda package: "")

    def command(peer: str, cells: list[Cell]) -> list[str]:
        return [sys.executable, "-c", script, json.dumps([[cell.kind, cell.length] for cell in cells])]

    monkeypatch.setattr(runner, "_command", command)
    return list(runner.measure(ConvoPack, CELLS, 0.3))


def test_a_peer_that_takes_too_long_is_stopped_and_not_asked_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    hangs = 'import time; print(\'{"event": "call"}\', flush=True); time.sleep(60)'
    rows = instead(monkeypatch, hangs)
    told = [(row["kind"], row["length"], row.get("tried"), row["timeout"]) for row in rows]
    assert told == [("warm", 10, None, 0.3), ("warm", 100, 10, 0.3), ("loop", 5, None, pytest.approx(0.9))]


def test_a_peer_that_dies_says_why_in_every_row(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = instead(monkeypatch, "raise SystemExit('out of paper')")
    assert [row["error"] for row in rows] == ["out of paper"] * 3


def test_a_peer_that_is_not_installed_is_told() -> None:
    class Nobody(Backcut):
        name, package = "nobody", "no-such-package-anywhere"

    assert list(runner.measure(Nobody, CELLS, 1.0)) == [{"peer": "nobody", "absent": "no-such-package-anywhere is not installed"}]


def test_every_peer_has_a_name_of_its_own() -> None:
    assert len(BY_NAME) == len(PEERS)


# Pictures, pages, two runs --------------------------------------------------------------------------------------------------


def spread(median: float) -> dict[str, float]:
    return {"median": median, "low": 0.9 * median, "high": 1.2 * median}


def row(peer: str, length: int, ratio: float, *wrong: str) -> dict[str, Any]:
    figures = {"seconds": spread(ratio * length / 1e7), "per_loop": spread(2 * ratio), "per_backcut": spread(ratio), "rounds": 9}
    cell = {"kind": "warm", "length": length, "ceiling": HALF, "histories": 1}
    return {"peer": peer} | cell | figures | {"right": int(not wrong), "of": 1, "faults": list(wrong), "share": 0.9, "fits": False}


@pytest.fixture
def found() -> dict[str, Any]:
    names = [peer.name for peer in PEERS][:8]
    rows = [row(name, length, 3.0**k, *(["task lost"] if k == 5 else [])) for k, name in enumerate(names) for length in (100, 1_000)]
    rows += [
        {"peer": PEERS[8].name, "kind": "warm", "length": 1_000, "ceiling": HALF, "timeout": 6.0},
        {"peer": PEERS[9].name, "absent": "gone"},
    ]
    bill = {"sent": 1_000, "cached": 700, "cost": 445.0, "calls": 5, "changes": 2}
    rows.append({"peer": names[4], "kind": "loop", "ceiling": FIXED, "length": 5, "faults": {}, "total": 0.1, "ours_total": 0.01} | bill)
    body = {"length": 100, "bytes": 10_000, "unit": "max_chars", "faults": [], "per_copy": spread(20), "per_parse": spread(0.2)}
    target = {"what": "all", "asked": 2.0, "at_least": False, "unit": "×", "median": 3.0, "more_than": False, "verdict": "falls short"}
    return {
        "facts": dict.fromkeys(("date", "python", "system", "machine", "backcut", "input", "tiktoken"), "1 < 2 & 3"),
        "rows": rows,
        "money": [{"name": "backcut, sliding", "wrong": 0} | bill],
        "bodies": [body | {"rate": 1e9, "copy_rate": 2e10}],
        "counts": [{"name": "backcut.count", "length": 100, "per_backcut": spread(1), "per_text": 1.04}],
        "targets": [target],
    }


def test_pictures_are_well_formed(found: dict[str, Any]) -> None:
    drawn = figures.all_of(found)
    assert set(drawn) == {"ratios", "growth", "cache"}
    for picture in drawn.values():
        assert ElementTree.fromstring(picture).tag == "{http://www.w3.org/2000/svg}svg"
        assert "1 &lt; 2 &amp; 3" in picture  # the machine stands in the caption


def test_marks_and_axes() -> None:
    axis = Log([0.5, 2_000.0], 0.0, 500.0)
    assert list(axis.ticks()) == [0.1, 1.0, 10.0, 100.0, 1_000.0, 10_000.0]
    assert (axis(0.1), axis(10_000.0)) == (0.0, 500.0)
    picture = Picture(100, 100, "<all>", [])
    for shape in ("circle", "square", "triangle", "diamond", "cross"):
        picture.mark(50, 50, "#000000", shape, hollow=True)
    ElementTree.fromstring(str(picture))


def test_the_page_tells_the_run(found: dict[str, Any], tmp_path: Path) -> None:
    page.write(found, tmp_path)
    index, everything = ((tmp_path / name).read_text(encoding="utf-8") for name in ("index.md", "peers.md"))
    assert [word for word in ("**short**", "gone", "stopped after 6 s", "0 of 1: task lost") if word not in index] == []
    assert "1 < 2 & 3" in everything
    page.write(found, tmp_path)
    assert (tmp_path / "index.md").read_text(encoding="utf-8") == index
    assert page.own_faults(found) == []
    assert [bad["faults"] for bad in page.own_faults(found | {"rows": [row("backcut, tokens", 100, 1.0, "task lost")]})] == [["task lost"]]


def test_the_page_of_the_docs_has_every_place() -> None:
    index = (BENCHES.parent / "docs" / "performance" / "index.md").read_text(encoding="utf-8")
    assert all(line in index for line in page.TEMPLATE.strip().split("\n\n"))


def test_two_runs_are_compared(found: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    later = copy.deepcopy(found)
    later["rows"][0]["faults"] = ["task lost"]  # backcut, 100 messages
    later["rows"][7]["per_loop"] = spread(found["rows"][7]["per_loop"]["median"] * 3)
    later["rows"][9]["per_loop"] = spread(found["rows"][9]["per_loop"]["median"] / 3)
    del later["rows"][5]
    files = []
    for name, run in (("before", found), ("after", later)):
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(json.dumps(run), encoding="utf-8")
    assert compare.main([str(files[0]), str(files[0])]) == 0
    assert "nothing changed" in capsys.readouterr().out
    assert compare.main(list(map(str, files))) == 1
    told = capsys.readouterr().out
    assert [told.count(f"{mark:8}  ") for mark in ("WRONG", "slower", "faster", "gone")] == [1, 1, 1, 1]
