"""What the judges and the makers of item-like formats share: a plot to be told in any of them, and the pairing of calls and results."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

Count = Callable[[str], int]
Message = dict[str, Any]

MESSAGE, CALL, RESULT, IMAGE, AUDIO, FILE = 3, 3, 3, 765, 300, 1500
PICTURE = "iVBORw0KGgo" * 20
"""A picture in base64: its length must count nowhere."""

_WORDS = (
    *(
        "read the file and tell me ",
        "the build fails with ",
        "ok. ",
        "see line 42: ",
        "日本語の説明です。",
        "수정했습니다. ",
        "👩\u200d👩\u200d👧 family ",
        "🇩🇪 Größe ",
    ),
    *("e\u0301tude ", '{"ok": true} ', "\n\n```py\nprint(1)\n```\n", "x" * 30, "漢字", "𠀋 ", "<|endoftext|>", "tab\there "),
)
_KEYS = ("path", "query", "größe", "行", "limit")
NAMES = ("read", "search", "run_tests", "edit")


def words(random: Random, most: int = 6) -> str:
    """A text that is never blank."""
    return "".join(random.choices(_WORDS, k=random.randrange(1, most + 1)))


def some_json(random: Random, depth: int = 2) -> Any:
    """A JSON value."""
    if not depth or random.randrange(3):
        return random.choice([words(random, 2), random.randrange(-9, 999), 0.5, True, None])
    if random.randrange(2):
        return [some_json(random, depth - 1) for _ in range(random.randrange(3))]
    return arguments(random, depth - 1)


def arguments(random: Random, depth: int = 1) -> dict[str, Any]:
    """What a tool is called with."""
    return {key: some_json(random, depth) for key in random.sample(_KEYS, random.randrange(3))}


def chance(random: Random, percent: int) -> bool:
    return random.randrange(100) < percent


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def plain(value: Any) -> str:
    """``value`` as what is counted: a string as it is, all else as compact JSON, nothing as nothing."""
    return "" if value is None else value if isinstance(value, str) else compact(value)


def call_piece(name: str | None, given: Any) -> str:
    """A call as it is compared across formats: arguments that are JSON in a string lose their blanks."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            return f"{name}({given})"
    return f"{name}({plain(given)})"


def json_result(value: Any) -> str:
    """The text of a result that may be JSON: one entry that is a string counts as that string."""
    if isinstance(value, Mapping) and len(value) == 1 and isinstance(only := next(iter(value.values())), str):
        return only
    return plain(value)


def get(thing: Any, key: str, default: Any = None) -> Any:
    """A field of a mapping or of an object."""
    found = thing.get(key, default) if isinstance(thing, Mapping) else getattr(thing, key, default)
    return default if found is None else found


# A plot: what happens in a conversation, told without a format.


@dataclass
class Call:
    """A call, and what came of it."""

    id: str
    name: str
    arguments: dict[str, Any]
    answer: str
    answered: bool = True


@dataclass
class Step:
    """One turn of the user, or one of the model with the results of its calls."""

    kind: str
    text: str = ""
    thinking: str = ""
    calls: list[Call] = field(default_factory=list)


class Ids:
    """How calls are named: each anew, alike in every turn, from a small pool, or one constant (then one call a turn)."""

    def __init__(self, random: Random, make: Callable[[int], str] = "call_{}".format) -> None:
        self.style = random.choice(["unique", "unique", "turn", "pool", "constant"])
        self.make, self.count = make, 0

    def batch(self, size: int) -> list[str]:
        start = {"unique": self.count, "turn": 0, "pool": self.count % 3, "constant": 0}[self.style]
        self.count += size
        return [self.make(start + k) for k in range(1 if self.style == "constant" else size)]


def _calls(random: Random, ids: Ids) -> list[Call]:
    names = ids.batch(random.choice([1, 1, 1, 2, 2, 3]))
    return [Call(name, random.choice(NAMES), arguments(random), words(random, random.choice([1, 4, 12]))) for name in names]


def plot(random: Random, turns: int, live: bool, ids: Ids) -> list[Step]:
    """A conversation of ``turns`` turns of the model: often a long agent run after one turn of the user."""
    steps: list[Step] = []
    left = max(1, turns)
    while left:
        steps += [Step("user", words(random)) for _ in range(random.choice([1, 1, 1, 2]))]
        run = min(left, random.choice([1, 2, 3, left, left]))
        for k in range(run):
            last = k == run - 1
            calls = [] if (last and chance(random, 60) and not (live and left == run)) or chance(random, 8) else _calls(random, ids)
            said = words(random) if not calls or chance(random, 40) else ""
            steps.append(Step("model", said, words(random, 3) if chance(random, 40) else "", calls))
        left -= run
    if live:
        calls = steps[-1].calls = steps[-1].calls or _calls(random, ids)
        done = random.randrange(len(calls))
        for call in random.sample(calls, len(calls) - done):
            call.answered = False
    elif chance(random, 30):
        steps.append(Step("user", words(random)))
    return steps


def shuffled(random: Random, calls: Sequence[Call]) -> list[Call]:
    """The answered calls in the order in which their results come."""
    done = [call for call in calls if call.answered]
    return random.sample(done, len(done)) if chance(random, 30) else done


# Pairing.


class Tie(NamedTuple):
    """A call or a result: its family, and the ids by which it may be known (none: by position)."""

    family: str
    ids: tuple[str, ...]


@dataclass
class Turn:
    """A message as the pairing sees it: user, model, result or system; what is never sent is left out."""

    index: int
    kind: str
    calls: list[Tie] = field(default_factory=list)
    results: list[Tie] = field(default_factory=list)


def tie(family: str, *ids: Any) -> Tie:
    return Tie(family, tuple(str(i) for i in ids if i not in (None, "")))


def _known(tie: Tie) -> str:
    return tie.ids[0] if tie.ids else f"without id ({tie.family})"


def _match(result: Tie, open_calls: Sequence[Tie]) -> Tie | None:
    """The call that ``result`` answers: by id, else the first where one of the two has none."""
    same = [call for call in open_calls if call.family == result.family]
    for call in same:
        if set(call.ids) & set(result.ids):
            return call
    return next((call for call in same if not call.ids or not result.ids), None)


def batches(turns: Sequence[Turn], merges: bool) -> Iterator[tuple[list[Turn], list[Turn], bool]]:
    """Each turn of the model (with those that continue it, where they merge), the run of results behind it, whether that is the end."""
    at = 0
    while at < len(turns):
        if turns[at].kind != "model":
            at += 1
            continue
        end = at + 1
        while merges and end < len(turns) and turns[end].kind == "model":
            end += 1
        stop = end
        while stop < len(turns) and turns[stop].kind == "result":
            stop += 1
        yield list(turns[at:end]), list(turns[end:stop]), stop == len(turns)
        at = stop


def adjacent(turns: Sequence[Turn], *, merges: bool) -> tuple[list[str], bool]:
    """Pairing where results stand directly behind their calls: what is wrong, and whether the end is live."""
    found: list[str] = []
    live, seen = False, set()
    for model, run, at_end in batches(turns, merges):
        calls = [(turn.index, call) for turn in model for call in turn.calls]
        known = [(call.family, i) for _, call in calls for i in call.ids[:1]]
        found += [f"message {model[0].index}: id {i} is given twice in one turn" for i in sorted({i for i in known if known.count(i) > 1})]
        open_calls = [call for _, call in calls]
        for turn in run:
            seen.add(turn.index)
            for result in turn.results:
                call = _match(result, open_calls)
                if call is None:
                    found.append(f"message {turn.index}: result {_known(result)} answers no call of the turn in front of it")
                else:
                    open_calls.remove(call)
        if open_calls and at_end:
            live = True
        else:
            found += [f"message {index}: call {_known(call)} has no result right behind it" for index, call in calls if call in open_calls]
    for turn in turns:
        if turn.index not in seen:
            found += [f"message {turn.index}: result {_known(result)} stands behind no call" for result in turn.results]
    return found, live


# Damage.


def cut(messages: list[Any], index: int) -> list[Any]:
    return messages[:index] + messages[index + 1 :]


def moved(messages: list[Any], index: int, to: int) -> list[Any]:
    """The message at ``index`` taken out and put in front of what stood at ``to``."""
    rest = cut(messages, index)
    at = to - (to > index)
    return [*rest[:at], messages[index], *rest[at:]]


def inserted(messages: list[Any], at: int, *new: Any) -> list[Any]:
    return [*messages[:at], *new, *messages[at:]]


Damage = Callable[[list[Any], Random], list[Any] | None]


def broken(messages: Sequence[Any], random: Random, ways: Mapping[str, Damage]) -> tuple[str, list[Any]]:
    """A copy broken in one of ``ways`` that this history offers; "nothing" where it offers none."""
    for name in random.sample(sorted(ways), len(ways)):
        made = ways[name](deepcopy(list(messages)), random)
        if made is not None:
            return name, made
    return "nothing", deepcopy(list(messages))


def pick(random: Random, items: Sequence[Any]) -> Any:
    """One of ``items``, or ``None`` where there are none."""
    return random.choice(items) if items else None


# What a message is made of: read once, then weighed and shown.


class Piece(NamedTuple):
    """A bit of a message: text, call, sealed (opaque, for tokens alone), role and result (frames), media and frame (``weight`` tokens)."""

    kind: str
    text: str = ""
    name: str = ""
    weight: int = 0


def chars(pieces: Iterator[Piece]) -> int:
    return sum(len(piece.text) for piece in pieces if piece.kind in ("text", "call"))


def tokens(pieces: Iterator[Piece], count: Count) -> int:
    """What a message costs without the frame of the whole request."""
    frames = {"role": MESSAGE, "call": CALL, "result": RESULT}
    return sum(frames.get(p.kind, 0) + p.weight + (count(p.text) if p.text else 0) + (count(p.name) if p.name else 0) for p in pieces)


def shown(pieces: Iterator[Piece]) -> tuple[str, ...]:
    """What of a message can be read."""
    seen = (call_piece(p.name, p.text) if p.kind == "call" else p.text for p in pieces if p.kind in ("text", "call"))
    return tuple(text for text in seen if text)


def text_piece(value: Any) -> Iterator[Piece]:
    if isinstance(value, str) and value:
        yield Piece("text", value)


def sealed(value: Any) -> Iterator[Piece]:
    if isinstance(value, str) and value:
        yield Piece("sealed", value)


def media(kind: str, low: bool = False) -> Piece:
    return Piece("media", weight=85 if low else {"image": IMAGE, "audio": AUDIO}.get(kind, FILE))
