"""tiktoken without a network: its vocabularies, unpacked from the crate that the core is built with.

Used by the tests and by the benchmark; nothing here needs pytest.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import subprocess
from pathlib import Path
from unittest import mock

__all__ = ["ENCODINGS", "crate_data", "is_provided", "unpack"]

ENCODINGS = ("o200k_base", "cl100k_base", "p50k_base", "r50k_base")


class _Url(Exception):  # noqa: N818 - not an error: how the URL leaves tiktoken's constructor
    pass


def _file_name(encoding: str) -> str:
    """The name under which tiktoken caches the vocabulary of ``encoding``."""
    public = importlib.import_module("tiktoken_ext.openai_public")

    def capture(url: str, *_: object, **__: object) -> None:
        raise _Url(url)

    with mock.patch.object(public, "load_tiktoken_bpe", capture):
        try:
            getattr(public, encoding)()
        except _Url as seen:
            return hashlib.sha1(str(seen).encode()).hexdigest()
    raise LookupError(f"tiktoken no longer loads {encoding} by load_tiktoken_bpe")


def is_provided() -> bool:
    """Whether TIKTOKEN_CACHE_DIR already holds every vocabulary. An ``ImportError`` where there is no tiktoken."""
    names = [_file_name(encoding) for encoding in ENCODINGS]
    given = os.environ.get("TIKTOKEN_CACHE_DIR")
    return bool(given) and all((Path(given) / name).is_file() for name in names)


def crate_data() -> Path | None:
    """The folder of the crate ``tiktoken-rs`` that holds the vocabularies, if cargo has fetched it."""
    root = Path(__file__).resolve().parents[1]
    command = ["cargo", "metadata", "--format-version", "1", "--offline", "--manifest-path", str(root / "Cargo.toml")]
    try:
        answer = subprocess.run(command, capture_output=True, check=True, timeout=60)
        packages = json.loads(answer.stdout)["packages"]
        folders = [Path(package["manifest_path"]).parent / "assets" for package in packages if package["name"] == "tiktoken-rs"]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError):
        home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
        folders = sorted(home.glob("registry/src/*/tiktoken-rs-*/assets"))
    return next((folder for folder in reversed(folders) if folder.is_dir()), None)


def unpack(folder: Path) -> str | None:
    """Fills ``folder`` for tiktoken; says what is missing, if anything is."""
    data = crate_data()
    if data is None:
        return "no vocabulary for tiktoken: set TIKTOKEN_CACHE_DIR, or let cargo fetch the crate tiktoken-rs (`cargo fetch`)"
    for encoding in ENCODINGS:
        carried = data / f"{encoding}.tiktoken"
        if not carried.is_file():
            return f"no vocabulary for tiktoken: {carried} is not there; set TIKTOKEN_CACHE_DIR"
        (folder / _file_name(encoding)).write_bytes(carried.read_bytes())
    return None
