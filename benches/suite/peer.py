"""The face of every trimmer: the history in its own types, a call to time, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

from conversations import Message

Call = Callable[[], Any]


class Peer:
    """A trimmer with one history."""

    name: ClassVar[str]
    package: ClassVar[str] = "backcut"
    unit: ClassVar[str] = "tokens"
    """What its ceiling counts: ``messages``, ``characters``, ``estimate`` (tokens by guess) or ``tokens``."""
    outside: ClassVar[bool] = False
    """Whether the system prompt stands beside the list, so that it cannot be lost and is not counted."""
    note: ClassVar[str] = ""

    def __init__(self, history: Sequence[Message]) -> None:
        self.history = history
        self._from = int(self.outside and history[0]["role"] == "system")
        self.own: list[Any] = []
        self._places: dict[int, list[Message]] = {}
        """Which plain messages each of its own ones stands for, by identity."""
        for own, source in self.build(history[self._from :]):
            self.own.append(own)
            self._places[id(own)] = source

    def build(self, messages: Sequence[Message]) -> Iterator[tuple[Any, list[Message]]]:
        """Its own messages, each with the plain ones that it stands for."""
        return ((message, [message]) for message in messages)

    def call(self, budget: int) -> Call:
        """What is timed: all that a user of it runs for each request. What is prepared here is not timed."""
        raise NotImplementedError

    def kept(self, answer: Any) -> Iterable[Any]:
        """Its own messages of an answer."""
        return answer

    def strange(self, own: Any) -> list[Message]:
        """What a message stands for that it made or rewrote."""
        return [dict(own)]

    def count(self, own: Sequence[Any]) -> int:
        """By its own measure."""
        return len(own)

    def plain(self, answer: Any) -> list[Message]:
        """The request as it would be sent."""
        sent = list(self.history[: self._from])
        for own in self.kept(answer):
            sent += self._places.get(id(own)) or self.strange(own)
        return sent

    def used(self, answer: Any) -> int:
        return self.count(list(self.kept(answer)))


def drive(coroutine: Any) -> Any:
    """The result of a coroutine that waits for nothing, without the price of an event loop."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise RuntimeError("it waits for something")


def batches(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """The results of one turn together, all others alone: for those who put them into one message."""
    run: list[Message] = []
    for message in messages:
        if run and (message["role"] != "tool" or run[0]["role"] != "tool"):
            yield run
            run = []
        run.append(message)
    if run:
        yield run


def calls_of(message: Message) -> list[tuple[str, str, str]]:
    """Id, name and arguments of each call."""
    return [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls") or ()]


def names_of(messages: Sequence[Message]) -> dict[str, str]:
    """The tool of each call, by its id; a result does not say it in Chat Completions."""
    return {given: name for message in messages for given, name, _ in calls_of(message)}
