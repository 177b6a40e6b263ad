"""Set-up of every run: how hard Hypothesis tries, where the corpus lies, and tiktoken as an oracle without a network."""

from __future__ import annotations

import gzip
import hashlib
import importlib
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from support import CORE

ENCODINGS = ("o200k_base", "cl100k_base")

_COMMON: dict[str, Any] = {
    "deadline": None,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
}
settings.register_profile("ci", max_examples=200, derandomize=True, **_COMMON)
settings.register_profile("dev", max_examples=50, **_COMMON)
settings.register_profile("nightly", max_examples=2_500, **_COMMON)
PROFILE = os.environ.get("BACKCUT_HYPOTHESIS", "ci")
settings.load_profile(PROFILE)


def pytest_report_header() -> str:
    engine = "reference (BACKCUT_PURE=1)" if os.environ.get("BACKCUT_PURE") == "1" else ("_core" if CORE else "reference (no _core built)")
    return f"backcut: engine {engine}, hypothesis profile {PROFILE}"


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real conversations."""
    named = os.environ.get("BACKCUT_CORPUS")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "corpus"
    if not folder.is_dir():
        pytest.skip(f"no corpus at {folder}: set BACKCUT_CORPUS to the folder that holds the *.jsonl files")
    return folder


class _Url(Exception):  # noqa: N818 - not an error: how the URL leaves tiktoken's constructor
    pass


def _file_name(encoding: str) -> str:
    """The name under which tiktoken caches the vocabulary of ``encoding``."""
    public = importlib.import_module("tiktoken_ext.openai_public")

    def capture(url: str, *_: object, **__: object) -> None:
        raise _Url(url)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(public, "load_tiktoken_bpe", capture)
        with pytest.raises(_Url) as seen:
            getattr(public, encoding)()
    return hashlib.sha1(str(seen.value).encode()).hexdigest()


def _crate_data() -> Path | None:
    """The folder of the crate ``bpe-openai`` that holds the vocabularies, if cargo has fetched it."""
    root = Path(__file__).resolve().parents[1]
    command = ["cargo", "metadata", "--format-version", "1", "--offline", "--manifest-path", str(root / "Cargo.toml")]
    try:
        answer = subprocess.run(command, capture_output=True, check=True, timeout=60)
        packages = json.loads(answer.stdout)["packages"]
        folders = [Path(package["manifest_path"]).parent / "data" for package in packages if package["name"] == "bpe-openai"]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError):
        home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
        folders = sorted(home.glob("registry/src/*/bpe-openai-*/data"))
    return next((folder for folder in reversed(folders) if folder.is_dir()), None)


def _unpack(folder: Path) -> str | None:
    """Fills ``folder`` for tiktoken; says what is missing, if anything is."""
    data = _crate_data()
    if data is None:
        return "no vocabulary for tiktoken: set TIKTOKEN_CACHE_DIR, or let cargo fetch the crate bpe-openai (`cargo fetch`)"
    for encoding in ENCODINGS:
        packed = data / f"{encoding}.tiktoken.gz"
        if not packed.is_file():
            return f"no vocabulary for tiktoken: {packed} is not there; set TIKTOKEN_CACHE_DIR"
        (folder / _file_name(encoding)).write_bytes(gzip.decompress(packed.read_bytes()))
    return None


@pytest.fixture(scope="session", autouse=True)
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str | None]:
    """Gives tiktoken its vocabularies before anything counts. The value is why that was not possible, or ``None``."""
    try:
        names = [_file_name(encoding) for encoding in ENCODINGS]
    except ImportError:
        yield "tiktoken is not installed: pip install '.[test]'"
        return
    given = os.environ.get("TIKTOKEN_CACHE_DIR")
    if given and all((Path(given) / name).is_file() for name in names):
        yield None
        return
    folder = tmp_path_factory.mktemp("vocabulary")
    missing = _unpack(folder)
    with pytest.MonkeyPatch.context() as patch:
        if missing is None:
            patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        yield missing


@pytest.fixture(scope="session")
def oracle(vocabulary: str | None) -> Callable[[str], Any]:
    """``oracle(name)`` is tiktoken's own encoding of that name."""
    if vocabulary is not None:
        pytest.skip(vocabulary)
    import tiktoken

    return tiktoken.get_encoding
