"""A question to every engine at once: they must give the same answer, and that is the answer."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from backcut import Plan, Trimmed, Violation
from support import CORE, TWIN, engine_window, outcome, same_messages, snapshot

ENGINES = [engine for engine in (CORE, TWIN) if engine is not None]


class RefusedError(Exception):
    """What an engine raised, with its facts."""

    def __init__(self, kind: str, facts: dict[str, Any]) -> None:
        super().__init__(kind, facts)
        self.kind = kind
        self.facts = facts


class Both:
    """Both engines, for one format."""

    def __init__(self, format: str) -> None:
        self.format = format

    def _ask(self, question: Callable[[ModuleType], Any]) -> list[Any]:
        found = [outcome(lambda engine=engine: question(engine)) for engine in ENGINES]
        assert len({kind for kind, _ in found}) == 1, found
        if found[0][0] != "answer":
            assert all(facts == found[0][1] for _, facts in found), found
            raise RefusedError(*found[0])
        return [answer for _, answer in found]

    def plan(self, messages: list[Any], **options: Any) -> Plan:
        plans = self._ask(lambda engine: engine_window(engine, {"format": self.format} | options).plan(messages, None, None))
        assert all(plan == plans[0] for plan in plans)
        answer: Plan = plans[0]
        return answer

    def trim(self, messages: list[Any], **options: Any) -> Trimmed[list[Any]]:
        """Nothing of the input is touched, and what has been trimmed is not trimmed again."""
        chosen = {"format": self.format} | options
        before = snapshot(messages)
        found = self._ask(lambda engine: engine_window(engine, chosen).trim(messages, None, None))
        assert snapshot(messages) == before
        answer: Trimmed[list[Any]] = found[0]
        for each in found:
            assert each.report == answer.report
            assert same_messages(each.messages, answer.messages)
            assert (each.messages is messages) == (answer.messages is messages)
        if not answer.report.over_budget:
            again = self._ask(lambda engine: engine_window(engine, chosen).trim(answer.messages, None, None))
            assert all(each.messages is answer.messages for each in again)
        return answer

    def count(self, messages: list[Any], tools: Any = None, system: Any = None, counter: Callable[[str], int] = len) -> int:
        """Tokens of a request, each sign being one."""
        counts = self._ask(lambda engine: engine.count_messages(messages, engine.Tokenizer("signs", counter), self.format, tools, system))
        assert len(set(counts)) == 1, counts
        answer: int = counts[0]
        return answer

    def chars(self, *messages: Any) -> int:
        return self.trim(list(messages)).report.chars_sent

    def found(self, *messages: Any) -> list[tuple[str, int, tuple[str, ...]]]:
        """What check finds: code, index, ids."""
        answers: list[list[Violation]] = self._ask(lambda engine: engine.check(list(messages), self.format))
        found = [[(each.code, each.index, each.ids) for each in answer] for answer in answers]
        assert all(each == found[0] for each in found), found
        return found[0]

    def codes(self, *messages: Any) -> list[str]:
        return [code for code, _, _ in self.found(*messages)]
