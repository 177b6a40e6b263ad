"""How far the estimate ``approximate`` is from exact counts of o200k_base, by kind of text, beside characters / 4.

    python benches/estimates.py                 # the table
    python benches/estimates.py --write         # into docs/tokenizers.md
    python benches/estimates.py --pieces        # what pieces cost in truth, by kind and length: where the prices come from
    python benches/estimates.py --vendors       # what stands behind the factors for Claude and Gemini, as far as the corpus tells

Texts come from the corpus of conversations (BACKCUT_CORPUS names another folder), Python's standard library, random bytes, and,
where it is installed, Django, whose messages are translated into some ninety languages. Every text belongs to one of two halves
by a hash of where it comes from. The prices of ``src/tokens/approximate.rs`` were fitted on the first, the table is of the second.
"""

from __future__ import annotations

import argparse
import base64
import collections
import hashlib
import importlib.util
import json
import os
import random
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import backcut
from backcut import approximate

ROOT = Path(__file__).resolve().parents[1]
CORPUS = Path(os.environ.get("BACKCUT_CORPUS") or ROOT.parent / "shared" / "corpus")
PAGE = ROOT / "docs" / "tokenizers.md"
KINDS = ("prose", "short prose", "code", "JSON", "base64", "hex", "blanks", "CJK", "other languages")
ENGLISH = ("en", "en_AU", "en_GB")
NO_TEXT = frozenset(
    "signature data id thoughtSignature encrypted_content thinkingSignature type role name tool_call_id url timestamp".split()  # noqa: SIM905
)


class Text(NamedTuple):
    kind: str
    fitted: bool
    text: str


def fitted(source: str) -> bool:
    """Whether texts of this source belong to the half that the prices were fitted on."""
    return hashlib.sha256(source.encode()).digest()[0] % 2 == 0


def pieces_of(text: str, size: int = 4_000) -> Iterator[str]:
    return (text[at : at + size] for at in range(0, len(text), size))


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in NO_TEXT:
                yield from strings(item)


def kind_of(text: str) -> str:
    bare = text.strip()
    if bare[:1] in "{[" and bare[-1:] in "}]":
        return "JSON"
    if re.search(r"\S{200}", text):
        return "base64"
    if text.count("\n") > 5 and len(re.findall(r"[{}();=]", text)) > len(text) / 50:
        return "code"
    return "short prose" if len(text) < 200 else "prose"


def conversations() -> Iterator[Text]:
    for path in sorted(CORPUS.glob("*.jsonl")):
        if "rendered" in path.name:  # the same content as in others
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            conversation = json.loads(line)
            half = fitted(f"{path.name}:{number}")
            for text in dict.fromkeys(strings(conversation["messages"])):
                if text.strip():
                    kind = kind_of(text)
                    yield from (Text(kind, half, piece) for piece in pieces_of(text))
            yield from (Text("JSON", half, json.dumps(tool)) for tool in conversation.get("tools") or [])


def library() -> Iterator[Text]:
    folder = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(folder.glob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")
        yield from (Text("code", fitted(path.name), piece) for piece in list(pieces_of(text))[:6])
        yield Text("base64", fitted(path.name), base64.b64encode(text[:1_500].encode()).decode())
    for path in sorted(folder.glob("test/cjkencodings/*-utf8.txt")):
        yield from (Text("CJK", fitted(path.name), piece) for piece in pieces_of(path.read_text(encoding="utf-8"), 1_000))


def noise() -> Iterator[Text]:
    dice = random.Random(1)
    for number in range(120):
        content = dice.randbytes(dice.randrange(20, 900))
        half = number % 2 == 0
        digests = (hashlib.sha256(content[: size + 1]).hexdigest()[: dice.choice([7, 32, 40, 64])] for size in range(8))
        yield Text("base64", half, base64.b64encode(content).decode())
        yield Text("hex", half, content.hex())
        yield Text("hex", half, " ".join(digests))
        lines = ("\n" * dice.randrange(1, 4) + dice.choice(["    ", "  ", "\t"]) * dice.randrange(30) for _ in range(8))
        yield Text("blanks", half, ".".join(lines))


def translations() -> Iterator[Text]:
    """Django's messages. Not imported: only its files are read."""
    found = importlib.util.find_spec("django")
    if found is None or found.origin is None:
        return
    folder = Path(found.origin).parent
    for path in sorted(folder.glob("**/locale/*/LC_MESSAGES/django.po")):
        language = path.parts[-3]
        if language in ENGLISH:
            continue
        quoted = re.findall(r'^msgstr(?:\[\d\])? ((?:"(?:[^"\\]|\\.)*"\n)+)', path.read_text(encoding="utf-8"), re.MULTILINE)
        joined = ("".join(re.findall(r'"((?:[^"\\]|\\.)*)"', message)) for message in quoted[1:])
        text = "\n".join(message.replace("\\n", "\n").replace('\\"', '"') for message in joined if message)
        half = fitted(str(path)[len(str(folder)) :])
        kind = "CJK" if language[:2] in ("zh", "ja", "ko") else "other languages"
        yield from (Text(kind, half, piece) for piece in pieces_of(text, 1_000))


def texts() -> Iterator[Text]:
    for source in (conversations, library, noise, translations):
        yield from source()


def row(name: str, found: list[Text]) -> str:
    exact, estimate = backcut.tokenizer("o200k_base"), backcut.tokenizer("approximate")
    truth = [exact.count(each.text) for each in found]
    cells = [name, f"{len(found):,}", f"{sum(truth):,}"]
    for count in (estimate.count, lambda text: -(-len(text) // 4)):
        guesses = [count(each.text) for each in found]
        errors = sorted(abs(guess / tokens - 1) for guess, tokens in zip(guesses, truth, strict=True))
        cells += [f"{sum(guesses) / sum(truth) - 1:+.1%}", f"{sum(errors) / len(errors):.1%}"]
        cells += [f"{errors[int(len(errors) * 0.95)]:.0%}", f"{errors[-1]:.0%}"]
    return f"| {' | '.join(cells)} |"


def table() -> str:
    held_out = collections.defaultdict(list)
    for each in texts():
        if not each.fitted:
            held_out[each.kind].append(each)
    head = "| kind | texts | tokens | all together | mean | 95 % | worst | chars / 4: all together | mean | 95 % | worst |"
    rows = [row(kind, held_out[kind]) for kind in KINDS if held_out[kind]]
    return "\n".join([head, "|---|" + "--:|" * 10, *rows])


def costs() -> str:
    """The mean cost of a piece in o200k_base, beside its price, in the half that was fitted."""
    exact = backcut.tokenizer("o200k_base")
    found: dict[tuple[str, int], list[int]] = collections.defaultdict(lambda: [0, 0])
    for each in texts():
        if each.fitted:
            before = 0
            for piece in approximate._PIECE.finditer(each.text):
                kind = piece.lastgroup or ""
                lead, word = piece.group("lead", "word")
                if word:
                    kind = approximate._leading(lead, before) + (" CAPITALS" if word[:2].isupper() else "")
                before = (0 if lead else before) + len(word or "") + len(piece["digits"] or "")
                sums = found[kind, len(piece[0])]
                sums[0] += 1
                sums[1] += exact.count(piece[0])
    lines = [
        f"{kind:18} {length:4} {n:8,} times {tokens / n:6.2f} tokens" for (kind, length), (n, tokens) in sorted(found.items()) if n > 50
    ]
    return "\n".join(lines)


def vendors() -> str:
    """A quarter of the characters beside tokens (Gemini), and what Anthropic billed for the messages of two logs (Claude)."""
    count = backcut.tokenizer("o200k_base").count
    lines = []
    for kind in ("prose", "code", "JSON"):
        long = [each.text for each in conversations() if each.kind == kind and len(each.text) >= 100]
        ratios = sorted(len(text) / 4 / count(text) for text in long)
        middle, most = ratios[len(ratios) // 2], ratios[int(len(ratios) * 0.95)]
        lines.append(f"{kind}: {len(ratios):,} texts, chars / 4 over tokens: median {middle:.2f}, 95 % at most {most:.2f}")
    for model, found in sorted(billed().items()):
        # Least squares of billed = factor * tokens + frame * messages, each weighted by 1 / tokens.
        tt, tm, mm, tb, mb = (sum(x * y / t for t, x, y in zip([f[1] for f in found], a, b, strict=True)) for a, b in pairs(found))
        factor = (tb * mm - mb * tm) / (tt * mm - tm * tm)
        frame = (mb - factor * tm) / mm
        rest = sorted((b - frame * m) / t for b, t, m in found)
        lines.append(
            f"{model}: {len(found)} requests, {factor:.3f} billed tokens a token of o200k_base and {frame:.0f} a message or call; "
            f"of single requests, the frames taken off, 95 % are at most {rest[int(len(rest) * 0.95)]:.2f}"
        )
    return "\n".join(lines)


def pairs(found: list[tuple[int, int, int]]) -> list[tuple[list[int], list[int]]]:
    bill, tokens, messages = (list(column) for column in zip(*found, strict=True))
    return [(tokens, tokens), (tokens, messages), (messages, messages), (tokens, bill), (messages, bill)]


def billed() -> dict[str, list[tuple[int, int, int]]]:
    """By model: what a prompt grew by, the tokens of the texts that were added, and how many messages and calls these were."""
    count = backcut.tokenizer("o200k_base").count
    found: dict[str, list[tuple[int, int, int]]] = collections.defaultdict(list)
    for line in (CORPUS / "pi-mono.pi-session-jsonl.jsonl").read_text(encoding="utf-8").splitlines():
        before, tokens, messages, opaque = 0, 0, 0, False
        for entry in json.loads(line)["messages"]:
            message = entry.get("message") if entry.get("type") == "message" else None
            if message is None:
                continue
            usage = message.get("usage")
            prompt = usage["input"] + usage["cacheRead"] + usage["cacheWrite"] if usage else 0
            if prompt:
                if before and prompt > before and tokens > 100 and not opaque:
                    found[message["model"]].append((prompt - before, tokens, messages))
                before, tokens, messages, opaque = prompt, 0, 0, False
            content = message.get("content") or []
            for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
                if part["type"] == "text":
                    tokens += count(part["text"])
                elif part["type"] == "toolCall":
                    arguments = json.dumps(part["arguments"], ensure_ascii=False, separators=(",", ":"))
                    tokens += count(part["name"]) + count(arguments)
                    messages += 1
                else:  # thinking is left out of the next prompt, and what a picture costs is not known
                    opaque = True
            messages += 1
    return {model: rows for model, rows in found.items() if len(rows) > 10}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the table into docs/tokenizers.md")
    parser.add_argument("--pieces", action="store_true", help="what pieces cost instead")
    parser.add_argument("--vendors", action="store_true", help="what the corpus says of Claude and Gemini instead")
    arguments = parser.parse_args()
    if arguments.pieces or arguments.vendors:
        print(costs() if arguments.pieces else vendors())
        return
    made = table()
    print(made)
    if arguments.write:
        before, mark, rest = PAGE.read_text(encoding="utf-8").partition("<!-- estimates -->\n")
        _, end, after = rest.partition("<!-- /estimates -->")
        PAGE.write_text(f"{before}{mark}\n{made}\n\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
