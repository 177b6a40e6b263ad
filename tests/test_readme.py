"""What the documentation shows is what happens.

Every block fenced as ``python`` is run, in order, in one namespace a file; every ``pycon`` block is compared; every
``backcut`` command of a shell block is run in the repository's root.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import backcut
from backcut.options import FORMATS
from backcut.wire import CODES

ROOT = Path(__file__).resolve().parents[1]
PAGES = [path for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))) if path.is_file()]
_FENCE = re.compile(r"^(?P<indent> *)```(?P<kind>\w+)[^\n]*\n(?P<code>.*?)^(?P=indent)```", re.MULTILINE | re.DOTALL)


def blocks(page: Path, *kinds: str) -> Iterator[tuple[str, int, str]]:
    """Kind, line and code of the fenced blocks of these kinds."""
    text = page.read_text(encoding="utf-8")
    for found in _FENCE.finditer(text):
        if found["kind"] in kinds:
            indent = len(found["indent"])
            code = "".join(line[indent:] for line in found["code"].splitlines(keepends=True))
            yield found["kind"], text.count("\n", 0, found.start()) + 2, code


def page_id(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


CODE_PAGES = [page for page in PAGES if any(blocks(page, "python", "pycon"))]
_INSTALL = re.compile(r"^(\$ )?(pip install \S+ && )?")
COMMANDS = [
    pytest.param(_INSTALL.sub("", line), id=f"{page_id(page)}:{number + k}")
    for page in PAGES
    for _, number, code in blocks(page, "sh", "bash", "shell", "console")
    for k, line in enumerate(code.replace("\\\n", "  ").splitlines())
    if _INSTALL.sub("", line).startswith("backcut ")
]


def test_there_is_a_readme() -> None:
    assert ROOT / "README.md" in PAGES


@pytest.mark.parametrize("page", CODE_PAGES, ids=page_id)
def test_code(page: Path, monkeypatch: pytest.MonkeyPatch, oracle: Any) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {"__name__": "__example__"}
    for kind, line, code in blocks(page, "python", "pycon"):
        if kind == "python":
            exec(compile("\n" * (line - 1) + code, str(page), "exec"), names)
            continue
        case = doctest.DocTestParser().get_doctest(code, names, page_id(page), str(page), line - 1)
        case.globs = names  # shared, so that later blocks see what this one made
        heard: list[str] = []
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        failed = runner.run(case, out=heard.append, clear_globs=False).failed
        assert not failed, "".join(heard)


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder as the reader's own: the files that the commands speak of, made from the example."""
    example = json.loads((ROOT / "examples" / "agent_run.json").read_text(encoding="utf-8"))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "README.md").symlink_to(ROOT / "README.md")
    (tmp_path / "run.json").write_text(json.dumps(example), encoding="utf-8")
    (tmp_path / "sessions.jsonl").write_text(f"{json.dumps(example)}\n" * 3, encoding="utf-8")
    (tmp_path / "prompt.txt").write_text("You are terse.", encoding="utf-8")
    return tmp_path


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a documented command as a user would, with this interpreter's backcut."""
    env = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    script = re.sub(r"(^|[|&;] *)backcut ", lambda found: f"{found[1]}{shlex.quote(sys.executable)} -m backcut ", command)
    return subprocess.run(["sh", "-c", script], cwd=folder, env=env, capture_output=True, text=True, encoding="utf-8", timeout=120)


@pytest.mark.skipif(sys.platform == "win32", reason="the documented commands are written for a POSIX shell")
@pytest.mark.parametrize("command", COMMANDS)
def test_command(command: str, desk: Path, oracle: Any) -> None:
    """The files of the repository that it names are there, and it does its work: no usage error, no traceback."""
    for word in shlex.split(command, comments=True):
        if word.startswith("examples/"):
            assert (ROOT / word).is_file(), word
    done = run(command, desk)
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1), done.stderr
    for written in desk.glob("trimmed.json"):
        assert json.loads(written.read_text(encoding="utf-8"))


def test_the_readme_tells_the_length_of_its_example(oracle: Any) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (told,) = re.findall(r"([\d,]+) messages, about ([\d,]+) tokens", text)
    body = json.loads((ROOT / "examples" / "agent_run.json").read_text(encoding="utf-8"))
    assert int(told[0]) == len(body["messages"])
    assert int(told[1].replace(",", "")) == pytest.approx(backcut.count(body["messages"], tools=body["tools"]), rel=0.03)


def test_the_loop_of_the_readme_is_the_one_that_is_type_checked() -> None:
    _, _, code = next(blocks(ROOT / "README.md", "python"))
    checked = (ROOT / "tests" / "typing_checks.py").read_text(encoding="utf-8")
    loop = [line for line in code.splitlines() if line and not line.startswith(("import ", "from "))]
    *_, found = checked.partition("def readme_loop() -> None:\n")
    assert [line.removeprefix("    ") for line in found.splitlines() if line] == loop


def test_first_command_of_the_readme() -> None:
    shell = [code for _, _, code in blocks(ROOT / "README.md", "sh", "bash", "shell", "console")]
    words = re.sub(r"\s+", " ", " ".join(shell))
    assert re.search(r"pip install \. && backcut trim examples/\S+", words)
    assert re.search(r"pip install '\.\[test\]' && pytest", words)


QUESTIONS = ("What is read", "What is kept together", "Where it may start", "The notice", "Long results", "Thinking", "check")


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "auto"])
def test_every_format_has_its_page_and_its_rules(name: str) -> None:
    """The same questions in the same order, and a place in each list of formats."""
    page = (ROOT / "docs" / "formats" / f"{name}.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", page, re.MULTILINE)
    assert [heading for heading in headings if heading in QUESTIONS] == list(QUESTIONS)
    for path, link in (
        ("README.md", f"docs/formats/{name}.md"),
        ("docs/index.md", f"formats/{name}.md"),
        ("docs/formats/index.md", f"{name}.md"),
    ):
        assert f"]({link})" in (ROOT / path).read_text(encoding="utf-8")
    assert f"\n### `{name}`\n" in (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")


def test_every_code_of_check_is_explained() -> None:
    for path in ("docs/check.md", "docs/rules.md"):
        text = (ROOT / path).read_text(encoding="utf-8")
        assert [code for code in CODES if f"`{code}`" not in text] == []


def test_links_lead_somewhere() -> None:
    """Files and headings that the documentation refers to are there."""

    def prose(page: Path) -> str:
        return _FENCE.sub("", page.read_text(encoding="utf-8"))

    def anchors(page: Path) -> set[str]:
        titles = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower() for title in re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE))
        return {re.sub(r"[^\w\- ]", "", title).strip().replace(" ", "-") for title in titles}

    lost = []
    for page in (*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"):
        for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
            if "://" in link:
                continue
            place, _, anchor = link.partition("#")
            target = (page.parent / place).resolve() if place else page
            if not target.exists() or (anchor and anchor not in anchors(target)):
                lost.append(f"{page_id(page)}: {link}")
    assert lost == []
