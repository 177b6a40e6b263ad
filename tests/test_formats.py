"""What holds in every wire format, on written, damaged and real conversations; each judge knows nothing of backcut."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest

import backcut
from agreement import options
from support import CORE, TWIN, cheap, engine_window, needs_both, outcome, same_messages, snapshot
from wires import anthropic, bedrock, clones, gemini, langchain, openai_responses, pi, pydantic_ai

WIRES = {
    wire.__name__.rpartition(".")[2]: wire for wire in (anthropic, bedrock, clones, gemini, langchain, openai_responses, pi, pydantic_ai)
}
SEEDS = range(60)
CORPUS = {"bedrock-converse": "bedrock", "pi-session-jsonl": "pi"}
"""Formats whose files are called otherwise."""

JUDGES = {wire.FORMAT: wire for wire in WIRES.values()}

every_wire = pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES.keys())


def written(wire: ModuleType, seed: int) -> list[Any]:
    random = Random(seed)
    messages: list[Any] = wire.history(random, turns=1 + seed % 4, live=seed % 5 == 0)
    return messages


@needs_both
@every_wire
def test_core_and_twin_agree(wire: ModuleType) -> None:
    """On sound histories, of which nothing unsound may come, and on damaged ones."""
    for seed in SEEDS:
        history = written(wire, seed)
        assert wire.problems(history) == []
        both_agree(wire, history, Random(seed + 1), sound=True)
        name, broken = wire.breakages(history, Random(seed + 2))
        both_agree(wire, broken, Random(seed + 3), sound=False, name=name)


def both_agree(wire: ModuleType, history: list[Any], random: Random, *, sound: bool, name: str = "") -> None:
    checks = [outcome(lambda e=e: [(v.code, v.index, v.ids) for v in e.check(history, wire.FORMAT)]) for e in (CORE, TWIN)]  # type: ignore[union-attr]
    assert checks[0] == checks[1], name
    if sound:
        # Ollama has no ids, which is no matter to it and one to Chat Completions.
        allowed = {"pending_call", "missing_id", "media_in_result"} if wire is clones else {"pending_call"}
        assert {code for code, *_ in checks[0][1]} <= allowed, checks[0]
    for _ in range(4):
        window = {"format": wire.FORMAT, **options(random)}
        plans = [outcome(lambda e=e, w=window: engine_window(e, w).plan(history, None, None)) for e in (CORE, TWIN)]  # type: ignore[misc]
        assert plans[0] == plans[1], (name, window)
        if plans[0][0] != "answer":
            continue
        before = snapshot(history)
        cuts = [engine_window(e, window).trim(history, None, None) for e in (CORE, TWIN)]  # type: ignore[arg-type]
        assert snapshot(history) == before
        assert same_messages(cuts[0].messages, cuts[1].messages), (name, window)
        if sound and window["start"] == "user":
            assert wire.problems(cuts[0].messages) == [], window
        if not cuts[0].report.over_budget and window["trim_to"] is None:
            again = engine_window(CORE, window).trim(cuts[0].messages, None, None)  # type: ignore[arg-type]
            assert again.messages is cuts[0].messages, (name, window)


@every_wire
def test_sizes_are_what_a_second_opinion_finds(wire: ModuleType) -> None:
    for seed in SEEDS:
        history = written(wire, seed)
        report = backcut.trim(history, format=wire.FORMAT, tokenizer=cheap).report
        assert report.tokens_sent == 3 + wire.size_tokens(history, cheap), seed
        # The head is paid for in tokens alone.
        head = next(k for k, _ in enumerate(history) if backcut.trim(history[: k + 1], format=wire.FORMAT).report.chars_sent)
        assert report.chars_sent == wire.size_chars(history[head:]), seed


@every_wire
def test_the_shape_tells_the_format(wire: ModuleType) -> None:
    """Once a message has a shape of its own; one user turn in a plain text may be anybody's."""
    decided = 0
    for seed in SEEDS:
        history = written(wire, seed)
        named = backcut.trim(history, format=wire.FORMAT, max_turns=5, on_overflow="keep")
        found = backcut.trim(history, max_turns=5, on_overflow="keep")
        if found.report.format == wire.FORMAT:
            decided += 1
            assert same_messages(found.messages, named.messages)
        else:
            assert found.report.format == "openai-chat"
    assert decided >= len(SEEDS) * 3 // 4


# Real conversations


def conversations(corpus: Path) -> Iterator[tuple[str, str, list[Any]]]:
    for path in sorted(corpus.glob("*.jsonl")):
        _, name, _ = path.name.split(".")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            yield f"{path.name}:{number}", CORPUS.get(name, name), json.loads(line)["messages"]


def test_every_real_conversation_is_told_by_its_shape(corpus: Path) -> None:
    seen = {
        (name, form, found) for name, form, messages in conversations(corpus) if (found := backcut.trim(messages).report.format) != form
    }
    assert seen == set()


@needs_both
def test_every_real_conversation_is_cut_soundly(corpus: Path) -> None:
    """At a quarter, half and three quarters, in every unit: within the ceiling, no new violation, and core and twin alike."""
    for name, form, messages in conversations(corpus):
        before = {(v.code, v.ids) for v in backcut.check(messages, format=form)}
        whole = backcut.trim(messages, format=form, tokenizer=cheap).report
        units = {"max_turns": len(messages), "max_chars": whole.chars_sent, "max_tokens": whole.tokens_sent or 0}
        for unit, size in units.items():
            for share in (0.25, 0.5, 0.75):
                window = {"format": form, unit: max(1, int(size * share)), "on_overflow": "keep", "tokenizer": "cheap"}
                core, twin = (engine_window(engine, window) for engine in (CORE, TWIN))  # type: ignore[arg-type]
                plan = core.plan(messages, None, None)
                assert plan == twin.plan(messages, None, None), (name, window)
                sent, report = core.trim(messages, None, None)
                if not report.over_budget:
                    found = {"max_turns": len(sent), "max_chars": report.chars_sent, "max_tokens": report.tokens_sent}[unit]
                    assert unit == "max_turns" or found <= window[unit], (name, window)
                    assert core.trim(sent, None, None).messages is sent
                after = {(v.code, v.ids) for v in backcut.check(sent, format=form)}
                assert after <= before, (name, window, after - before)


def test_one_conversation_in_five_formats_is_cut_at_the_same_place(corpus: Path) -> None:
    """By characters. Bedrock's rendering of one has user texts beside results in one message, since roles must take turns there:
    these are no plain user turns, so it has other tasks and other places to begin at.
    """
    rendered: dict[str, dict[str, list[Any]]] = {}
    for path in corpus.glob("rendered.*.jsonl"):
        form = CORPUS.get(path.name.split(".")[1], path.name.split(".")[1])
        for line in path.read_text(encoding="utf-8").splitlines():
            talk = json.loads(line)
            rendered.setdefault(talk["rendered_from"], {})[form] = talk["messages"]
    together = {name: forms for name, forms in rendered.items() if len(forms) > 1}
    assert sum(map(len, together.values())) >= 8
    for name, forms in together.items():
        other_turns = {form for form, messages in forms.items() if len(messages) < len(forms["gemini"])}
        assert other_turns <= {"bedrock"}
        for share in (0.25, 0.5, 0.75):
            dropped = {form: dropped_texts(form, messages, share) for form, messages in forms.items()}
            reference = dropped["openai-chat"]
            assert {form for form, texts in dropped.items() if texts != reference} <= other_turns, (name, share)


def dropped_texts(form: str, messages: list[Any], share: float) -> str:
    """What a cut to a share of the characters drops, in one piece and without what is between the pieces."""
    size = backcut.trim(messages, format=form).report.chars_sent
    kept = backcut.context_window(format=form, max_chars=int(size * share), notice=False).plan(messages).kept
    gone = [message for index, message in enumerate(messages) if index not in kept]
    texts = "".join(text for piece in JUDGES[form].pieces(gone) for text in piece)
    return "".join(texts.split()).replace("({", "{").replace("})", "}")
