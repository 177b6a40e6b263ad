"""Mends the contents of Gemini."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from ..wire import gemini
from ..wire.common import Outline, first_of, readable
from ..wire.gemini import CALL, RESPONSE, is_empty
from ..wire.pairing import Pairing, Place
from .blocks import Blocks, parted
from .common import EMPTY, NO_RESULT, NOTHING, Mended, Told, get, made, with_field

__all__ = ["MENDER"]


class Gemini(Blocks):
    """``parts`` holds parts, in the spelling of the wire or of the SDK."""

    field = "parts"
    alone_codes = ("missing_content", "empty_part", "misplaced_block")

    def text(self, text: str) -> Any:
        return {"text": text}

    def message(self, blocks: list[Any], near: Any) -> Any:
        return made(near, "Content", {"role": "user", "parts": blocks})

    def result(self, call: Any) -> Any:
        key, held = first_of(call, CALL) or (CALL[0], None)
        fields = {"name": get(held, "name"), "response": {"error": NO_RESULT}}
        if get(held, "id") is not None:
            fields["id"] = get(held, "id")
        return made(call, "Part", {RESPONSE[CALL.index(key)]: made(held, "FunctionResponse", fields)})

    def paired(self, messages: Sequence[Any], outlines: Sequence[Outline], pairing: Pairing) -> Pairing:
        """Of those without ids each result belongs to the first call of its name, if there is one left."""
        results = {call: result for result, call in pairing.answers.items()}
        dead, end = set(pairing.dead), 0
        for index in range(len(messages)):
            if index < end or outlines[index].turn != "model":
                continue
            end = _behind(outlines, index, "model")
            asked = [place for k in range(index, end) for place in _places(outlines, k, "call")]
            given = [place for k in range(end, _behind(outlines, end, "result")) for place in _places(outlines, k, "result")]
            if all(_id(outlines, place) for place in (*asked, *given)):
                continue
            loose = [result for result in given if not self._is_sure(outlines, pairing, result)]
            calls = [call for call in asked if call not in results or results[call] in loose]
            for result in loose:
                pairing.answers.pop(result, None)
            dead.update(calls)
            for by_name in (True, False):
                for result in [result for result in loose if result not in pairing.answers]:
                    for call in calls:
                        named = not by_name or self._name(messages, call) == self._name(messages, result)
                        if named and not (_id(outlines, call) and _id(outlines, result)):
                            pairing.answers[result] = call
                            calls.remove(call)
                            dead.discard(call)
                            break
        pairing.dead = sorted(dead)
        return pairing

    def _is_sure(self, outlines: Sequence[Outline], pairing: Pairing, result: Place) -> bool:
        """Whether a result is late, or has found its call by its id."""
        call = pairing.answers.get(result)
        return result in pairing.away or (call is not None and bool(_id(outlines, result) and _id(outlines, call)))

    def _name(self, messages: Sequence[Any], place: Place) -> Any:
        message = messages[place[0]]
        part = self.blocks(message)[self.ties(message)[place[1]][0]]
        return get((first_of(part, CALL) or first_of(part, RESPONSE) or ("", None))[1], "name")

    def renamed(self, block: Any, kind: Literal["call", "result"], name: str) -> Any:
        key, held = first_of(block, CALL if kind == "call" else RESPONSE) or (CALL[0], None)
        return with_field(block, key, with_field(held, "id", name))

    def alone(self, message: Any, codes: set[str]) -> Mended:
        if "missing_content" in codes:
            return Mended(None, [Told("dropped_message", NOTHING)])
        told, loose = [], []
        is_model = get(message, "role") == "model"
        names = RESPONSE if is_model else CALL
        blocks, misplaced = parted(self.blocks(message), [_holds(block, names) for block in self.blocks(message)])
        if misplaced and is_model:
            loose = misplaced
            told.append(Told("moved_result", "a result was moved out of the model's message"))
        elif misplaced:
            told.append(Told("dropped_call", "a call in a user's message was dropped"))
        blocks, empty = parted(blocks, [is_empty(block) for block in blocks])
        if empty:
            told.append(Told("dropped_text", EMPTY) if blocks else Told("dropped_message", NOTHING))
        return Mended(self.with_blocks(message, blocks), told, loose)


def _places(outlines: Sequence[Outline], index: int, kind: str) -> list[Place]:
    return [(index, k) for k, tie in enumerate(outlines[index].ties) if tie.kind == kind]


def _behind(outlines: Sequence[Outline], index: int, turn: str) -> int:
    """Behind the messages of this turn that stand from here on."""
    while index < len(outlines) and outlines[index].turn == turn:
        index += 1
    return index


def _id(outlines: Sequence[Outline], place: Place) -> str | None:
    return outlines[place[0]].ties[place[1]].id


def _holds(part: Any, names: tuple[str, str]) -> bool:
    return readable(part) and first_of(part, names) is not None


MENDER = Gemini(gemini)
