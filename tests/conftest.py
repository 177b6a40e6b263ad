"""Set-up of every run: how hard Hypothesis tries, where the corpus lies, and tiktoken as an oracle without a network."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from oracle import is_provided, unpack
from support import CORE
from wild import SEED

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
    return f"backcut: engine {engine}, hypothesis profile {PROFILE}, seed {SEED}"


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real conversations."""
    named = os.environ.get("BACKCUT_CORPUS")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "corpus"
    if not folder.is_dir():
        pytest.skip(f"no corpus at {folder}: set BACKCUT_CORPUS to the folder that holds the *.jsonl files")
    return folder


@pytest.fixture(scope="session", autouse=True)
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str | None]:
    """Gives tiktoken its vocabularies before anything counts. The value is why that was not possible, or ``None``."""
    try:
        provided = is_provided()
    except ImportError:
        yield "tiktoken is not installed: pip install '.[test]'"
        return
    if provided:
        yield None
        return
    folder = tmp_path_factory.mktemp("vocabulary")
    missing = unpack(folder)
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
