"""Other trimmers, called as their users call them; each says of itself why it cannot be.

Run as a script it is the process in which litellm works, so that it can be stopped: ``peers.py FILE``.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import thread_time
from typing import Any

from conversations import ROOT, Message

MODEL = "gpt-4o"


class Absent(Exception):  # noqa: N818 - not an error of anybody's
    """Why a peer cannot be timed here."""


@functools.cache
def provide_vocabularies() -> None:
    """From now on tiktoken finds its vocabularies without a network."""
    if importlib.util.find_spec("tiktoken") is None:
        raise Absent("tiktoken is not installed")
    sys.path.append(str(ROOT / "tests"))
    try:
        from oracle import is_provided, unpack
    finally:
        sys.path.pop()
    if not is_provided():
        folder = _scratch()
        missing = unpack(Path(folder.name))
        if missing is not None:
            raise Absent(missing)
        os.environ["TIKTOKEN_CACHE_DIR"] = folder.name


@functools.cache
def token_count() -> Callable[[str], int]:
    """The length of tiktoken's encoding, vocabulary loaded."""
    provide_vocabularies()
    import tiktoken

    encode = tiktoken.get_encoding("o200k_base").encode_ordinary
    encode("warm")
    return lambda text: len(encode(text))


@functools.cache
def _scratch() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="backcut-bench-")


def langchain(messages: Sequence[Message], counter: str) -> tuple[Callable[[], list[Any]], Callable[[list[Any]], list[Message]]]:
    """``trim_messages`` at half of its own count, and the way back to plain messages.

    Both counters of the issue: its own ``approximate`` one, and ``tiktoken`` over the content of each message. The input is
    turned into its own message type beforehand.
    """
    if importlib.util.find_spec("langchain_core") is None:
        raise Absent("langchain-core is not installed")
    from langchain_core.messages import BaseMessage, convert_to_messages, convert_to_openai_messages, trim_messages
    from langchain_core.messages.utils import count_tokens_approximately

    own = convert_to_messages(list(messages))
    if counter == "approximate":
        count: Any = count_tokens_approximately
    else:
        tokens = token_count()

        def count(listed: list[BaseMessage]) -> int:
            return sum(tokens(message.content) for message in listed)

    budget = count(own) // 2
    options = {"strategy": "last", "start_on": "human", "include_system": True, "allow_partial": False}
    return lambda: trim_messages(own, max_tokens=budget, token_counter=count, **options), convert_to_openai_messages


def litellm(messages: Sequence[Message], max_tokens: int, limit: float) -> tuple[float, list[Message] | None]:
    """Processor seconds of one ``trim_messages`` and its answer; past ``limit`` seconds on the clock it is stopped: ``(limit, None)``."""
    if importlib.util.find_spec("litellm") is None:
        raise Absent("litellm is not installed")
    with tempfile.TemporaryDirectory(prefix="backcut-bench-") as folder:
        task = Path(folder) / "task.json"
        task.write_text(json.dumps({"messages": messages, "max_tokens": max_tokens}), encoding="utf-8")
        env = os.environ | {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        command = [sys.executable, str(Path(__file__).resolve()), str(task)]
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            child.stdout.readline()  # it says so when it is imported and warm
            try:
                _, noise = child.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                child.kill()
                return limit, None
        if child.returncode:
            raise Absent("litellm failed: " + (noise.strip().splitlines() or ["no reason given"])[-1])
        answer = json.loads(task.read_text(encoding="utf-8"))
    return answer["seconds"], answer["messages"]


def _work(task: Path) -> None:
    """The other side of :func:`litellm`."""
    given = json.loads(task.read_text(encoding="utf-8"))
    from litellm.utils import trim_messages

    trim_messages(given["messages"][:20], model=MODEL, max_tokens=2_000)
    print("ready", flush=True)
    start = thread_time()
    sent = trim_messages(given["messages"], model=MODEL, max_tokens=given["max_tokens"])
    seconds = thread_time() - start
    task.write_text(json.dumps({"seconds": seconds, "messages": sent}), encoding="utf-8")


if __name__ == "__main__":
    _work(Path(sys.argv[1]))
