"""Writes what each fuzz target starts from: the texts that the tests make, with the numbers in front that input.rs reads.

python fuzz/seeds.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

import wild  # noqa: E402 - found by the line above

random = Random(1)
texts = [*wild.ATOMS, *wild.UNITS]
texts += [make(random) for make in (wild.fuzzed, wild.apostrophes, wild.blanks) for _ in range(100)]
for target in ("count", "truncate"):
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(texts):
        numbers = bytes(random.choices(range(256), k=4))
        (folder / f"seed-{number:03}").write_bytes(numbers + text.encode("utf-8", "replace"))

run = json.loads((HERE.parent / "examples" / "agent_run.json").read_text(encoding="utf-8"))["messages"]
folder = HERE / "corpus" / "body"
folder.mkdir(parents=True, exist_ok=True)
for number in range(60):
    part = run[number % len(run) :][:6]
    request = {"messages": part} if number % 2 else part
    written = json.dumps(request, ensure_ascii=number % 3 == 0, indent=[None, 1][number % 5 == 0])
    numbers = bytes(random.choices(range(256), k=3))
    (folder / f"seed-{number:03}").write_bytes(numbers + written.encode())
