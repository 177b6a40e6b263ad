"""A window as middleware: it stands between whoever makes a request and whoever sends it."""

from __future__ import annotations

import asyncio
from typing import Any

import backcut


def note(report: backcut.TrimReport) -> None:
    """Hears of every trim."""
    print(f"  {report.messages_original} -> {report.messages_sent} messages")


window = backcut.context_window(max_turns=4, on_report=note)


def send(request: dict[str, Any]) -> str:
    """Stands for the provider's client."""
    return f"answered {len(request['messages'])} messages for {request['model']}"


async def send_later(request: dict[str, Any]) -> str:
    """The same, asynchronous."""
    return send(request)


@window.wrap
def ask(model: str, messages: list[dict[str, Any]]) -> str:
    """A function of one's own: its argument ``messages`` arrives trimmed."""
    return send({"model": model, "messages": messages})


def main() -> None:
    """The three forms."""
    history: list[dict[str, Any]] = [{"role": "system", "content": "You are kind."}]
    for number in range(6):
        history += [{"role": "user", "content": f"Question {number}?"}, {"role": "assistant", "content": f"Answer {number}."}]
    history.append({"role": "user", "content": "And the last one?"})
    request = {"model": "gpt-4o", "messages": history}

    print("window(request, call_next):")
    print(" ", window(request, send))
    print("window(request, async call_next):")
    print(" ", asyncio.run(later(request)))
    print("@window.wrap:")
    print(" ", ask("gpt-4o", messages=history))
    print("the request itself is as it was:", len(request["messages"]), "messages")


async def later(request: dict[str, Any]) -> str:
    """``call_next`` may be asynchronous: what it returns comes back as it is."""
    answer: str = await window(request, send_later)
    return answer


if __name__ == "__main__":
    main()
