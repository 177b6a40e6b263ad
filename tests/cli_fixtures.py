"""Fixtures of the tests of the command line; a plugin, so that no test file imports names that its arguments hide."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from backcut.cli import main
from cli_support import Put, Run


@pytest.fixture
def put(tmp_path: Path) -> Put:
    """Writes a file and gives its name."""

    def write(content: object, name: str = "in.json") -> str:
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_bytes((content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)).encode())
        return str(path)

    return write


@pytest.fixture
def run(capsysbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Runs the command line in this process: exit code, standard output, standard error."""

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        seen = capsysbinary.readouterr()
        return code, seen.out.decode(), seen.err.decode()

    return call
