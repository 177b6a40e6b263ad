"""An agent loop that stays inside its window: the history is kept whole, each call sends what fits of it.

The client is a stand-in, so that this runs offline; with the real one only the line that makes it changes.
"""

from __future__ import annotations

import json
from typing import Any

import backcut


class FakeClient:
    """Answers as a chat model would that reads three files before it says anything."""

    def __init__(self) -> None:
        self.calls = 0

    def create(self, *, model: str, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
        """One completion."""
        self.calls += 1
        if self.calls % 4 == 0:
            return {"role": "assistant", "content": f"Done: three files read (call {self.calls})."}
        arguments = json.dumps({"path": f"src/part_{self.calls}.py"})
        call = {"id": f"call_{self.calls}", "type": "function", "function": {"name": "read_file", "arguments": arguments}}
        return {"role": "assistant", "content": None, "tool_calls": [call]}


def read_file(path: str) -> str:
    """The only tool."""
    return f"# {path}\n" + "total = sum(line.price for line in lines)\n" * 60


TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "read_file",
            "description": "Reads a file.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        },
    }
]


def main() -> None:
    """Three questions, twelve calls."""
    client = FakeClient()
    window = backcut.context_window(max_chars=8_000, max_chars_per_tool=1_500)
    history: list[dict[str, Any]] = [{"role": "system", "content": "You read code and answer briefly."}]
    for question in ("What does the order service do?", "And the invoices?", "And who adds up the totals?"):
        history.append({"role": "user", "content": question})
        while history[-1].get("content") is None or history[-1]["role"] != "assistant":
            sent = window.trim(history, tools=TOOLS)  # per call, and always from the whole history
            print(f"call {client.calls + 1:2}: {len(history):2} messages, {len(sent.messages):2} sent, {sent.report.chars_sent:5} chars")
            answer = client.create(model="gpt-4o", messages=list(sent.messages), tools=TOOLS)
            history.append(answer)
            for call in answer.get("tool_calls") or []:
                result = read_file(**json.loads(call["function"]["arguments"]))
                history.append({"role": "tool", "tool_call_id": call["id"], "content": result})


if __name__ == "__main__":
    main()
