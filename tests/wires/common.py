"""What the judges of Anthropic, Bedrock and Gemini have in common: turns, pairs, texts to write with, and damage."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

Message = dict[str, Any]
Part = dict[str, Any]
Count = Callable[[str], int]

MESSAGE, CALL, RESULT, IMAGE, AUDIO, FILE = 3, 3, 3, 765, 300, 1500


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def json_text(value: Any) -> str:
    """What of a JSON result is read: its only string, or all of it."""
    if isinstance(value, dict) and len(value) == 1 and isinstance(only := next(iter(value.values())), str):
        return only
    return compact(value)


class Tool(NamedTuple):
    """A call or a result: where it stands, and what it is matched by."""

    message: int
    part: int
    id: str
    name: str


class Pair(NamedTuple):
    call: Tool
    result: Tool


@dataclass(frozen=True)
class Wire:
    """How a format spells what all formats have."""

    model: str
    key: str
    users: tuple[str, ...]
    call: Callable[[Part], tuple[str, str] | None]
    """Id and name of a client-side call."""
    result: Callable[[Part], tuple[str, str] | None]
    """Id and name of its result."""
    text: Callable[[str], Part]
    rename: Callable[[Part, str], None]
    """Gives a call or a result another id (or, where it has none, another name)."""

    def parts(self, message: Message) -> list[Part]:
        """Parts, a string as none."""
        content = message.get(self.key)
        return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []

    def _tools(self, read: Callable[[Part], tuple[str, str] | None], messages: Sequence[Message], where: Sequence[int]) -> list[Tool]:
        return [Tool(i, k, *found) for i in where for k, part in enumerate(self.parts(messages[i])) if (found := read(part)) is not None]

    def calls(self, messages: Sequence[Message], where: Sequence[int]) -> list[Tool]:
        return self._tools(self.call, messages, where)

    def results(self, messages: Sequence[Message], where: Sequence[int]) -> list[Tool]:
        return self._tools(self.result, messages, where)

    def has_result(self, message: Message) -> bool:
        return any(self.result(part) is not None for part in self.parts(message))

    def is_plain(self, message: Message) -> bool:
        return message.get("role") in self.users and not self.has_result(message)

    def side(self, message: Message) -> str:
        role = message.get("role")
        return "model" if role == self.model else "user" if role in self.users else "other"

    def turns(self, messages: Sequence[Message]) -> list[list[int]]:
        """Neighbours of one side are one turn."""
        found: list[list[int]] = []
        for i, message in enumerate(messages):
            side = self.side(message)
            if found and side != "other" and self.side(messages[found[-1][0]]) == side:
                found[-1].append(i)
            else:
                found.append([i])
        return found

    def last_model(self, messages: Sequence[Message]) -> int:
        """Where the last model turn begins if nothing but results stands behind it, else -1."""
        behind = len(messages)
        while behind and self.side(messages[behind - 1]) == "user" and self.has_result(messages[behind - 1]):
            behind -= 1
        start = behind
        while start and self.side(messages[start - 1]) == "model":
            start -= 1
        return start if start < behind else -1


def match(calls: Sequence[Tool], results: Sequence[Tool]) -> tuple[list[Pair], list[Tool], list[Tool]]:
    """The pairs, the calls and the results that are left: by id where both have one, else by name, in order."""
    open_calls = list(calls)
    left: list[Tool] = []
    pairs: list[Pair] = []
    for by_id in (True, False):
        rest = results if by_id else left
        left = []
        for result in rest:
            fits = [
                call
                for call in open_calls
                if (bool(result.id) and call.id == result.id if by_id else not (call.id and result.id) and call.name == result.name)
            ]
            if fits:
                open_calls.remove(fits[0])
                pairs.append(Pair(fits[0], result))
            else:
                left.append(result)
    return pairs, open_calls, left


def pairing(wire: Wire, messages: Sequence[Message]) -> tuple[list[str], bool]:
    """What is wrong with calls and results, and whether the last turn still waits for some."""
    found: list[str] = []
    waits = False
    live = wire.last_model(messages)
    turns = wire.turns(messages)
    for t, turn in enumerate(turns):
        side = wire.side(messages[turn[0]])
        calls, results = wire.calls(messages, turn), wire.results(messages, turn)
        if side != "model":
            found += [f"{call.message}: a call in the role {messages[call.message].get('role')}" for call in calls]
            if t == 0 or wire.side(messages[turns[t - 1][0]]) != "model" or side != "user":
                found += [f"{result.message}: the result {result.id or result.name} without a call in front of it" for result in results]
            continue
        found += [f"{result.message}: the result {result.id or result.name} in a model message" for result in results]
        ids = [call.id for call in calls if call.id]
        found += [f"{turn[0]}: the id {twice} twice in one turn" for twice in sorted({i for i in ids if ids.count(i) > 1})]
        behind = turns[t + 1] if t + 1 < len(turns) and wire.side(messages[turns[t + 1][0]]) == "user" else []
        _, unanswered, orphans = match(calls, wire.results(messages, behind))
        found += [f"{result.message}: the result {result.id or result.name} answers no open call of the turn before" for result in orphans]
        if unanswered and turn[0] == live:
            waits = True
        else:
            found += [f"{call.message}: the call {call.id or call.name} is not answered in the next turn" for call in unanswered]
        found += _late_results(wire, messages, behind)
    return found, waits


def _late_results(wire: Wire, messages: Sequence[Message], turn: Sequence[int]) -> Iterator[str]:
    """Texts in front of results, over the whole of the merged turn."""
    seen = ""
    for i in turn:
        content = messages[i].get(wire.key)
        if isinstance(content, str):
            seen = seen or f"message {i}"
        for k, part in enumerate(wire.parts(messages[i])):
            if wire.result(part) is None:
                seen = seen or f"part {k} of message {i}"
            elif seen:
                yield f"{i}: {seen} stands in front of the result in part {k}"
                break


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from strings(key)
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


# Writing

WORDS = (
    *("the build", "fails", "in", "tests/test_io.py", "because", "of a missing", "import;", "please", "look", "again.", "\n\n", "\n"),
    *(
        "naïve café",
        "日本語のテキスト。",
        "中文说明",
        "한국어",
        "привет",
        "👩\u200d👩\u200d👧",
        "🇩🇪",
        "👍🏽",
        "𝔘𝔫𝔦",
        "e\u0301",
        "<|endoftext|>",
        "```py\nx = 1\n```",
    ),
)
NAMES = ("read_file", "search", "run_tests", "edit_file", "list_dir")
CITIES = ("Zürich", "東京", "São Paulo", "Köln 🚂", "Reykjavík")


def text(random: Random, most: int = 14) -> str:
    """Never blank, no blanks around it."""
    return (" ".join(random.choices(WORDS, k=random.randrange(1, most))).strip() or "go on") + random.choice(("", ".", "?", "…"))


def long_text(random: Random) -> str:
    return "\n".join(f"{n}: {text(random)}" for n in range(random.randrange(5, 40)))


def result_text(random: Random) -> str:
    return long_text(random) if random.randrange(4) == 0 else text(random)


def arguments(random: Random) -> dict[str, Any]:
    return random.choice(
        [
            {},
            {"path": f"src/{random.choice('abc')}.py"},
            {"query": text(random, 4), "limit": random.randrange(50)},
            {"city": random.choice(CITIES), "days": [1, 2.5, None, True], "deep": {"ü": {"x": []}}},
        ]
    )


def data(random: Random, letters: str = "ABCDEFabcdef0123456789+/") -> str:
    """Opaque and of no readable size."""
    return "Eq" + "".join(random.choices(letters, k=random.randrange(8, 120))) + "=="


def steps(random: Random) -> int:
    """How many calls in a row: now and then an agent works for long after one word of the user."""
    return random.choice((0, 1, 1, 1, 2, 2, 3, 4, random.randrange(6, 20)))


class Ids:
    """How a provider names its calls: each anew, the same in every turn, or from a small pool."""

    def __init__(self, random: Random, prefix: str) -> None:
        self.style = random.choice(("unique", "unique", "per_turn", "pool"))
        self.random = random
        self.prefix = prefix
        self.count = 0

    def batch(self, size: int) -> list[str]:
        self.count += size
        if self.style == "unique":
            return [f"{self.prefix}{self.count - k:04d}{self.random.randrange(16**6):06x}" for k in range(size)]
        return [f"{self.prefix}{(self.count * (self.style == 'pool') + k) % 5}" for k in range(size)]


def sizes(random: Random) -> int:
    """How many calls at once."""
    return random.choice((1, 1, 1, 2, 2, 3, 4))


# Damage

Damage = Callable[[list[Message], Random], bool]
"""Breaks a history in place; False where there is nothing to break in this way."""


def settled(wire: Wire, messages: Sequence[Message], *, user_behind: bool = False) -> list[Pair]:
    """The pairs of the turns that are answered in full, if wanted only those behind which a plain user turn stands."""
    found: list[Pair] = []
    turns = wire.turns(messages)
    for turn, behind in pairwise(turns):
        pairs, unanswered, orphans = match(wire.calls(messages, turn), wire.results(messages, behind))
        if not unanswered and not orphans and (not user_behind or any(map(wire.is_plain, messages[behind[-1] + 1 :]))):
            found += pairs
    return found


def remove(wire: Wire, messages: list[Message], tool: Tool) -> Part:
    """Takes a part out of its message, the message too where nothing is left of it."""
    taken: Part = messages[tool.message][wire.key].pop(tool.part)
    if not messages[tool.message][wire.key]:
        del messages[tool.message]
    return taken


def damages(wire: Wire) -> dict[str, Damage]:
    """What breaks every format in the same way."""

    def some(random: Random, things: Sequence[Any]) -> Any:
        return random.choice(things) if things else None

    def pair(messages: list[Message], random: Random, *, user_behind: bool = False) -> Any:
        return some(random, settled(wire, messages, user_behind=user_behind))

    def drop_result(messages: list[Message], random: Random) -> bool:
        if (found := pair(messages, random, user_behind=True)) is None:
            return False
        remove(wire, messages, found.result)
        return True

    def drop_call(messages: list[Message], random: Random) -> bool:
        if (found := pair(messages, random)) is None:
            return False
        remove(wire, messages, found.call)
        return True

    def drop_call_message(messages: list[Message], random: Random) -> bool:
        if (found := pair(messages, random)) is None:
            return False
        del messages[found.call.message]
        return True

    def duplicate_result(messages: list[Message], random: Random) -> bool:
        if (found := pair(messages, random)) is None:
            return False
        parts = messages[found.result.message][wire.key]
        parts.insert(found.result.part, deepcopy(parts[found.result.part]))
        return True

    def duplicate_call(messages: list[Message], random: Random) -> bool:
        if (found := pair(messages, random, user_behind=True)) is None:
            return False
        parts = messages[found.call.message][wire.key]
        parts.insert(found.call.part, deepcopy(parts[found.call.part]))
        return True

    def late_result(messages: list[Message], random: Random) -> bool:
        if (found := pair(messages, random, user_behind=True)) is None:
            return False
        after = next(i for i in range(found.result.message + 1, len(messages)) if wire.is_plain(messages[i]))
        taken = deepcopy(messages[found.result.message][wire.key][found.result.part])
        messages.insert(after + 1, {"role": wire.users[0], wire.key: [taken]})
        remove(wire, messages, found.result)
        return True

    def text_before_result(messages: list[Message], random: Random) -> bool:
        if (found := pair(messages, random)) is None:
            return False
        messages[found.result.message][wire.key].insert(found.result.part, wire.text("By the way:"))
        return True

    def user_between(messages: list[Message], random: Random) -> bool:
        if (found := pair(messages, random)) is None:
            return False
        messages.insert(found.call.message + 1, {"role": wire.users[0], wire.key: [wire.text("Stop.")]})
        return True

    def wrong_id(messages: list[Message], random: Random) -> bool:
        if (found := pair(messages, random)) is None:
            return False
        tool = some(random, found)
        wire.rename(messages[tool.message][wire.key][tool.part], "other_9")
        return True

    def result_before_call(messages: list[Message], random: Random) -> bool:
        if (found := pair(messages, random)) is None:
            return False
        messages.insert(found.call.message, messages.pop(found.result.message))
        return True

    def cut_between(messages: list[Message], random: Random) -> bool:
        if (found := pair(messages, random)) is None:
            return False
        del messages[: found.result.message]
        return True

    def drop_first_user(messages: list[Message], random: Random) -> bool:
        models = [i for i, message in enumerate(messages) if wire.side(message) == "model"]
        if not models:
            return False
        del messages[: models[0]]
        return True

    def call_in_user(messages: list[Message], random: Random) -> bool:
        if (found := pair(messages, random)) is None:
            return False
        messages[found.result.message][wire.key].append(deepcopy(messages[found.call.message][wire.key][found.call.part]))
        return True

    def result_in_model(messages: list[Message], random: Random) -> bool:
        if (found := pair(messages, random)) is None:
            return False
        taken = remove(wire, messages, found.result)
        messages[found.call.message][wire.key].append(taken)
        return True

    def no_content(messages: list[Message], random: Random) -> bool:
        messages[random.randrange(max(1, len(messages) - 1))][wire.key] = []
        return True

    def absent_content(messages: list[Message], random: Random) -> bool:
        del messages[random.randrange(max(1, len(messages) - 1))][wire.key]
        return True

    def unknown_role(messages: list[Message], random: Random) -> bool:
        random.choice(messages)["role"] = "tool"
        return True

    def nothing_left(messages: list[Message], random: Random) -> bool:
        messages.clear()
        return True

    def drop_last_run(messages: list[Message], random: Random) -> bool:
        plain = [i for i, message in enumerate(messages) if wire.is_plain(message) and i and wire.side(messages[i - 1]) == "model"]
        if not plain:
            return False
        del messages[random.choice(plain) :]
        return True

    def drop_first_runs(messages: list[Message], random: Random) -> bool:
        plain = [i for i, message in enumerate(messages) if wire.is_plain(message) and i]
        if not plain:
            return False
        del messages[: random.choice(plain)]
        return True

    def reverse_results(messages: list[Message], random: Random) -> bool:
        found = [m for m in messages if sum(wire.result(part) is not None for part in wire.parts(m)) > 1]
        if not found:
            return False
        message = random.choice(found)
        results = [part for part in message[wire.key] if wire.result(part) is not None]
        rest = [part for part in message[wire.key] if wire.result(part) is None]
        message[wire.key] = [*reversed(results), *rest]
        return True

    def split_results(messages: list[Message], random: Random) -> bool:
        found = [i for i, m in enumerate(messages) if sum(wire.result(part) is not None for part in wire.parts(m)) > 1]
        if not found:
            return False
        i = random.choice(found)
        parts = messages[i][wire.key]
        messages[i : i + 1] = [{"role": messages[i]["role"], wire.key: parts[:1]}, {"role": messages[i]["role"], wire.key: parts[1:]}]
        return True

    def extra_user(messages: list[Message], random: Random) -> bool:
        plain = [i for i, message in enumerate(messages) if wire.is_plain(message)]
        if not plain:
            return False
        messages.insert(random.choice(plain), {"role": wire.users[0], wire.key: [wire.text("One more thing:")]})
        return True

    found = [
        *(drop_result, drop_call, drop_call_message, duplicate_result, duplicate_call, late_result, text_before_result, user_between),
        *(wrong_id, result_before_call, cut_between, drop_first_user, call_in_user, result_in_model, no_content, absent_content),
        *(unknown_role, nothing_left, drop_last_run, drop_first_runs, reverse_results, split_results, extra_user),
    ]
    return {damage.__name__: damage for damage in found}


HARMLESS = frozenset({"drop_last_run", "drop_first_runs", "reverse_results", "split_results", "extra_user"})
"""What changes a history and leaves it sound in every format that merges neighbours."""


def broken(known: dict[str, Damage], messages: Sequence[Message], random: Random) -> tuple[str, list[Message]]:
    """A copy, damaged in one of the ways that are possible."""
    for name in random.sample(list(known), len(known)):
        copy = deepcopy(list(messages))
        if known[name](copy, random):
            return name, copy
    raise ValueError("an empty history cannot be broken")
