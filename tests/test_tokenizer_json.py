"""Counting with a tokenizer.json: the same as the library, whatever the file asks for, and clear errors."""

from __future__ import annotations

import json
import os
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

import backcut
from backcut import OptionError

TEXTS = ["", "hello world", "hello  <|end|> world", "nothing known", "hello wörld 你好", "hello world " * 400]


@pytest.fixture
def library() -> Any:
    return pytest.importorskip("tokenizers")


@pytest.fixture
def file(library: Any, tmp_path: Path) -> Path:
    """A small tokenizer.json with a special token, one that is added in front, truncation and padding."""
    model = library.models.WordLevel({"[UNK]": 0, "[CLS]": 1, "hello": 2, "world": 3}, unk_token="[UNK]")
    made = library.Tokenizer(model)
    made.pre_tokenizer = library.pre_tokenizers.Whitespace()
    made.post_processor = library.processors.TemplateProcessing(single="[CLS] $A", special_tokens=[("[CLS]", 1)])
    made.add_special_tokens(["<|end|>"])
    made.enable_truncation(5)
    made.enable_padding(length=4)
    path = tmp_path / "tokenizer.json"
    made.save(str(path))
    return path


def refusal(path: object) -> OptionError:
    with pytest.raises(OptionError) as caught:
        backcut.tokenizer(path)  # type: ignore[arg-type]
    assert caught.value.option == "tokenizer"
    assert str(caught.value.value).endswith(str(path))
    return caught.value


def test_counts_as_the_library_without_special_tokens_truncation_and_padding(library: Any, file: Path) -> None:
    plain = library.Tokenizer.from_file(str(file))
    plain.no_truncation()
    plain.no_padding()
    tokenizer = backcut.tokenizer(str(file))
    for text in TEXTS:
        assert tokenizer.count(text) == len(plain.encode(text, add_special_tokens=False)), text
    assert tokenizer.count("hello world " * 400) == 800
    assert tokenizer.name == "tokenizer.json"
    assert tokenizer.is_exact


def test_a_spelled_special_token_is_one_unless_the_user_says_otherwise(library: Any, file: Path) -> None:
    text = "hello <|end|>"
    assert backcut.tokenizer(file).count(text) == 2  # as the server of the model reads it
    ordinary = library.Tokenizer.from_file(str(file))
    ordinary.encode_special_tokens = True
    assert backcut.count(text, tokenizer=ordinary) == 4  # hello, <|, end, |>


def test_a_path_in_every_form(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Place(os.PathLike[str]):
        def __fspath__(self) -> str:
            return str(file)

    class Bytes(os.PathLike[bytes]):
        def __fspath__(self) -> bytes:
            return os.fsencode(file)

    monkeypatch.chdir(file.parent)
    for path in (file, str(file), Place(), Bytes(), "tokenizer.json", Path("tokenizer.json")):
        assert backcut.tokenizer(path) is backcut.tokenizer(file)
        assert backcut.count("hello world", tokenizer=path) == 2
        window = backcut.context_window(max_tokens=40, tokenizer=path)
        assert window.trim([{"role": "user", "content": "hello"}]).report.tokens_sent == 3 + 3 + 1 + 1


def test_a_path_object_need_not_end_in_json(file: Path) -> None:
    other = file.rename(file.with_name("words"))
    assert backcut.tokenizer(other).count("hello world") == 2
    refusal(str(other))


def test_a_file_that_changed_is_read_again(file: Path) -> None:
    before = backcut.tokenizer(file)
    body = json.loads(file.read_text())
    body["pre_tokenizer"] = None
    file.write_text(json.dumps(body))
    after = backcut.tokenizer(file)
    assert after is not before
    assert (before.count("hello world"), after.count("hello world")) == (2, 1)


def test_registered_for_a_model(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backcut.models._registered", {})
    backcut.register_model("words-*", file)
    assert backcut.count("hello world", model="words-7b") == 2


def test_pickles_by_its_path(file: Path) -> None:
    twin = pickle.loads(pickle.dumps(backcut.tokenizer(file)))
    assert (twin.name, twin.count("hello world")) == ("tokenizer.json", 2)
    window = backcut.context_window(max_tokens=40, tokenizer=str(file))
    assert pickle.loads(pickle.dumps(window)) == window


def test_lone_surrogates_count_as_replaced(file: Path) -> None:
    tokenizer = backcut.tokenizer(file)
    assert tokenizer.count("hello \ud800 world") == tokenizer.count("hello \ufffd world") == 3
    assert tokenizer.count("\ud83d\ude00") == tokenizer.count("😀")


def test_limits(file: Path) -> None:
    tokenizer = backcut.tokenizer(file)
    assert tokenizer.count_up_to("hello world", 1) is None
    assert tokenizer.count_up_to("hello world", 2) == 2
    assert tokenizer.truncate("hello world hello", 2) == "hello world "
    assert tokenizer.truncate("hello world hello", 1, keep="tail") == " hello"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "no such file" in refusal(str(tmp_path / "missing.json")).allowed
    refusal(tmp_path / "missing")
    refusal("nul\0.json")


@pytest.mark.parametrize("content", [b"", b"{}", b"not json", b"\xff\xfe", b'{"model": {"type": "Unheard"}}', b"[1, 2]"])
def test_a_broken_file(library: Any, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    assert "is no tokenizer.json" in refusal(str(path)).allowed
    assert "is no tokenizer.json" in refusal(path).allowed
    with pytest.raises(OptionError, match="is no tokenizer"):
        backcut.context_window(max_tokens=5, tokenizer=path)


def test_a_folder(library: Any, tmp_path: Path) -> None:
    refusal(tmp_path)


def test_without_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text("{}")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert "pip install 'backcut[hf]'" in refusal(path).allowed


@pytest.mark.skipif(sys.platform == "win32", reason="has neither")
def test_what_is_without_end_is_not_read(tmp_path: Path) -> None:
    """/dev/zero filled the memory, and a pipe that nobody writes to was waited for."""
    endless, pipe = tmp_path / "endless.json", tmp_path / "pipe.json"
    endless.symlink_to("/dev/zero")
    os.mkfifo(pipe)
    for path in (endless, pipe, tmp_path):
        assert "a folder, a device or a pipe" in refusal(path).allowed
