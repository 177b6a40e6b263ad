"""Looks at what a trim would do before it is done: sizes, the plan, and what a provider would refuse.

Counts words instead of tokens, so that it needs no vocabulary; leave ``tokenizer`` out and it counts as the model does.
"""

from __future__ import annotations

import json
from pathlib import Path

import backcut


def words(text: str) -> int:
    """Any function from a text to a number counts."""
    return len(text.split())


def main() -> None:
    """Measures the long run that lies beside this file."""
    body = json.loads(Path(__file__).with_name("agent_run.json").read_text(encoding="utf-8"))
    messages, tools = body["messages"], body["tools"]

    print("violations:", backcut.check(messages))
    print("size:", backcut.count(messages, tools=tools, tokenizer=words), "words in", len(messages), "messages")
    for limit in (8_000, 4_000, 2_000):
        window = backcut.context_window(max_tokens=limit, max_chars_per_tool=4_000, tokenizer=words)
        plan = window.plan(messages, tools=tools)  # nothing is built yet
        report = plan.report
        print(
            f"limit {limit:5}: {report.messages_sent:3} messages, {report.tokens_sent:5} words,"
            f" {report.tools_truncated} results shortened, cut in front of messages[{plan.kept[1]}]"
        )
        assert not backcut.check(plan.apply(messages))  # sound in, sound out


if __name__ == "__main__":
    main()
