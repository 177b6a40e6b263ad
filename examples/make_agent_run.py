"""Writes ``agent_run.json``: one long run of a coding agent, as a request body with messages and tools.

    python examples/make_agent_run.py [FILE]

The story is invented: after a release the invoices of a bakery chain are wrong, in every country in another way. The same code gives
the same bytes, on every Python.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from bakery_chain import complaints, repairs
from bakery_chain.run import TOOLS, Run

SEED = 4711


def build() -> dict[str, Any]:
    """The request body."""
    run = Run(SEED)
    for chapter in (
        complaints.kyoto,
        complaints.leipzig,
        complaints.amman,
        repairs.repair,
        repairs.prices,
        repairs.quantities,
        repairs.reissue,
        repairs.handover,
    ):
        chapter(run)
    return {"model": "gpt-4o", "messages": run.messages, "tools": TOOLS, "parallel_tool_calls": True, "temperature": 0.2}


def text() -> str:
    """The file's text."""
    return json.dumps(build(), ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("agent_run.json")
    target.write_bytes(text().encode())
