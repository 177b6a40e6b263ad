"""Histories of Anthropic Messages, sound ones and others, as Hypothesis draws them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Message = dict[str, Any]

TEXTS = st.sampled_from(["a", "two words", "Grüße 👩‍👩‍👧", "x" * 40])
SEALED = st.sampled_from(["sig", "s" * 20])
IMAGE = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}


def text(said: str) -> Message:
    return {"type": "text", "text": said}


@st.composite
def results(draw: st.DrawFn, call_id: str) -> Message:
    inner = st.lists(st.one_of(TEXTS.map(text), st.just(IMAGE)), max_size=3)
    return {"type": "tool_result", "tool_use_id": call_id, "content": draw(st.one_of(TEXTS, inner))}


@st.composite
def steps(draw: st.DrawFn, number: int) -> list[Message]:
    """What the model says at once, and the results of its calls."""
    blocks: list[Message] = []
    if draw(st.booleans()):
        blocks.append({"type": "thinking", "thinking": draw(TEXTS), "signature": draw(SEALED)})
    if draw(st.booleans()):
        blocks.append({"type": "redacted_thinking", "data": draw(SEALED)})
    served = f"srv{number}"
    if draw(st.integers(0, 3)) == 0:
        hit = {"type": "web_search_result", "title": draw(TEXTS), "url": "a.b", "encrypted_content": draw(SEALED)}
        blocks.append({"type": "server_tool_use", "id": served, "name": "web_search", "input": {"query": draw(TEXTS)}})
        blocks.append({"type": "web_search_tool_result", "tool_use_id": served, "content": [hit]})
    ids = [f"call{number}_{k}" for k in range(draw(st.sampled_from([0, 1, 1, 2])))]
    blocks += [{"type": "tool_use", "id": call_id, "name": "f", "input": {"a": draw(TEXTS)}} for call_id in ids]
    if not blocks or draw(st.booleans()):
        blocks.append(text(draw(TEXTS)))
    said: Message = {"role": "assistant", "content": blocks}
    if not ids:
        return [said]
    answers = [draw(results(call_id)) for call_id in draw(st.permutations(ids))]
    if draw(st.booleans()):
        return [said, *({"role": "user", "content": [answer]} for answer in answers)]
    beside = [text(draw(TEXTS))] if draw(st.integers(0, 3)) == 0 else []
    return [said, {"role": "user", "content": [*answers, *beside]}]


@st.composite
def sound(draw: st.DrawFn) -> list[Message]:
    """Runs of a user's turn and what the model does about it."""
    history: list[Message] = []
    for _ in range(draw(st.integers(1, 5))):
        said = draw(TEXTS)
        history.append({"role": "user", "content": said if draw(st.booleans()) else [text(said)]})
        for _ in range(draw(st.integers(0, 3))):
            history += draw(steps(len(history)))
    return history


@st.composite
def broken(draw: st.DrawFn) -> list[Message]:
    """A history from which things are missing, or in which they stand elsewhere."""
    history = draw(sound())
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(history) - 1))
        kind = draw(st.sampled_from(["drop", "move", "instruct", "shuffle", "rename"]))
        if kind == "drop" and len(history) > 1:
            del history[at]
        elif kind == "move":
            history.insert(draw(st.integers(0, len(history) - 1)), history.pop(at))
        elif kind == "instruct":
            history.insert(at, {"role": "system", "content": draw(TEXTS)})
        elif isinstance(blocks := history[at]["content"], list):
            if kind == "shuffle":
                blocks = draw(st.permutations(blocks))
            else:
                new = draw(st.sampled_from([None, "", "call1_0", "srv1"]))
                blocks = [{key: new if key in ("id", "tool_use_id") else value for key, value in block.items()} for block in blocks]
            history[at] = {**history[at], "content": blocks}
    return history


@st.composite
def options(draw: st.DrawFn, history: list[Message]) -> dict[str, Any]:
    chosen: dict[str, Any] = {
        "format": "anthropic",
        "tokenizer": "cheap",
        "start": draw(st.sampled_from(["user", "user", "any"])),
        "thinking": draw(st.sampled_from(["keep", "strip"])),
        "tool_keep": draw(st.sampled_from(["head", "tail", "head_tail"])),
        "on_overflow": draw(st.sampled_from(["raise", "keep"])),
        "notice": draw(st.sampled_from([None, "[cut]", False])),
        "max_chars_per_tool": draw(st.one_of(st.none(), st.integers(1, 40))),
    }
    ceilings = {"max_turns": len(history) + 1, "max_chars": 400, "max_tokens": 400}
    names = draw(st.lists(st.sampled_from(sorted(ceilings)), max_size=2, unique=True))
    chosen |= {name: draw(st.integers(1, ceilings[name])) for name in names}
    if names and draw(st.integers(0, 3)) == 0:
        chosen["trim_to"] = draw(st.sampled_from([0.3, 0.5, 0.8]))
    return chosen
