"""What pictures and sounds cost: their size from their header, each vendor's formula, and nothing by the byte."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import backcut
from backcut import Figures
from backcut.figures import MOST
from backcut.media import data_of, decoded, duration, image_size
from pictures import FORMATS, audio, gif, image, jpeg, png, segment, text, url, wav, webp
from support import CORE, TWIN, engine_tokenizer, needs_both

UNKNOWN = 765
AREA = Figures(image=7, image_low=MOST, image_base=0, image_tile=1, image_cell=1, image_long=0, image_short=0, audio=7, audio_second=1000)
"""Figures by which a picture costs its pixels, so that what was read can be seen, and 7 where nothing was."""


def cost(part: Any, **options: Any) -> int:
    """Tokens of a part, by the engine at work."""
    message = {"role": "user", "content": [part]}
    return backcut.count([message], tokenizer=len, **options) - backcut.count([{**message, "content": []}], tokenizer=len, **options)


def costs(part: Any, figures: Figures) -> list[int]:
    """The same by both engines."""
    messages = [{"role": "user", "content": [part]}]
    empty = [{"role": "user", "content": []}]
    found = []
    for engine in filter(None, (CORE, TWIN)):
        tokenizer = engine_tokenizer(engine, "cheap")
        whole, frame = (engine.count_messages(each, tokenizer, "openai-chat", None, None, figures) for each in (messages, empty))
        found.append(whole - frame)
    return found


# Formulas


@pytest.mark.parametrize(
    ("model", "width", "height", "tokens"),
    [
        ("gpt-4o", 1024, 1024, 765),
        ("gpt-4o", 2048, 4096, 1_105),
        ("gpt-4o", 4096, 2048, 1_105),
        ("gpt-4o", 512, 512, 255),
        ("gpt-4o", 1, 1, 255),
        ("gpt-4o", 513, 512, 425),
        ("gpt-4o", 65_535, 1, 765),
        (None, 1024, 1024, 765),
        ("gpt-4o-mini", 1024, 1024, 25_501),
        ("gpt-5", 1024, 1024, 630),
        ("o3", 1024, 1024, 675),
        ("gpt-4.1-mini", 1024, 1024, 1_659),
        ("gpt-4.1-mini", 1800, 2400, 2_353),  # 33 x 44 patches in OpenAI's guide, times 1.62
        ("gpt-4.1-nano", 1024, 1024, 2_520),
        ("o4-mini", 1024, 1024, 1_762),
        ("gpt-5-mini", 32, 33, 4),
        ("gpt-5.2", 1920, 1080, 2_448),
        ("gpt-5.2", 4096, 4096, 4_916),
        ("gpt-6", 4032, 3024, 14_364),
        ("claude-sonnet-4-5", 1000, 1000, 1_296),
        ("claude-sonnet-4-5", 200, 200, 64),
        ("claude-sonnet-4-5", 1568, 1568, 1_568),
        ("claude-sonnet-4-5", 8000, 200, 112),  # shrunk to 1568 x 39.2
        ("anthropic/claude-opus-4-7", 1920, 1080, 2_691),
        ("claude-opus-4-7", 8000, 8000, 4_784),
        ("gemini-2.5-flash", 384, 384, 258),
        ("gemini-2.5-flash", 768, 769, 516),
        ("gemini-3-pro", 4000, 3000, 1_120),
    ],
)
def test_what_an_image_costs(model: str | None, width: int, height: int, tokens: int) -> None:
    assert cost(image(png(width, height)), model=model) == tokens
    assert set(costs(image(png(width, height)), Figures() if model is None else Figures.of(model))) == {tokens}


@pytest.mark.parametrize(
    ("model", "low", "unknown"),
    [
        ("gpt-4o", 85, 765),
        ("gpt-4o-mini", 2_833, 25_501),
        ("gpt-4.1-mini", 415, 1_659),
        ("gpt-6", 308, 1_229),
        ("claude-haiku-4-5", 1_369, 1_369),  # there is no low detail
        ("gemini-2.5-pro", 1_032, 1_032),
        ("gemini-3-pro", 280, 1_120),
    ],
)
def test_low_detail_and_unknown_size(model: str, low: int, unknown: int) -> None:
    far = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    assert cost(far, model=model) == unknown
    assert cost({**far, "detail": "low"}, model=model) == low
    large = image(png(4000, 3000))
    assert cost({**large, "detail": "low"}, model=model) == min(Figures.of(model).image_low, cost(large, model=model))
    assert cost(image(png(1024, 1024)), model=model) == unknown


def test_low_detail_never_costs_more() -> None:
    assert cost(image(png(64, 64), detail="low"), model="gpt-4.1-mini") == cost(image(png(64, 64)), model="gpt-4.1-mini") == 7


@needs_both
@given(st.integers(1, 65_535), st.integers(1, 65_535), st.lists(st.integers(0, MOST) | st.integers(0, 3_000), min_size=9, max_size=9))
@example(1, 65_535, [0, 0, 0, 1, 162, 32, 1_536, 1, 0])
@example(65_535, 65_535, [MOST] * 9)
def test_both_engines_have_one_formula(width: int, height: int, values: list[int]) -> None:
    names = ("image", "image_low", "image_base", "image_tile", "image_percent", "image_cell", "image_cells", "image_whole", "image_long")
    figures = Figures(**dict(zip(names, values, strict=True)), image_short=values[0])
    for part in (image(png(width, height)), image(png(width, height), detail="low")):
        core, twin = costs(part, figures)
        assert core == twin
        assert 0 <= core <= MOST


@given(st.integers(1, 20_000), st.integers(1, 20_000), st.sampled_from(["gpt-4.1-mini", "o4-mini", "gpt-5.5", "claude-3-haiku", "gpt-4o"]))
def test_a_picture_costs_no_more_than_its_cap(width: int, height: int, model: str) -> None:
    figures = Figures.of(model)
    tokens = costs(image(png(width, height)), figures)
    most = {"gpt-4o": 85 + 8 * 170}.get(model) or -(-figures.image_cells * figures.image_percent // 100)
    assert all(0 < each <= most for each in tokens)
    assert costs(image(png(height, width)), figures) == tokens


# Headers


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("width", "height"), [(1, 1), (640, 480), (480, 640), (16_383, 1), (1, 16_383)])
def test_every_format_says_its_size(form: str, width: int, height: int) -> None:
    assert set(costs(image(FORMATS[form](width, height)), AREA)) == {width * height}
    assert image_size(text(FORMATS[form](width, height))) == (width, height)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": url(png(640, 480))}},
        {"type": "image_url", "image_url": url(png(640, 480))},
        {"type": "image_url", "image_url": {"url": url(png(640, 480), "application/octet-stream;charset=x")}},
        {"type": "image_url", "image_url": {"url": url(png(640, 480)).replace("data:", "DATA:").replace("base64", "BASE64")}},
        {"type": "image_url", "image_url": {"url": url(jpeg(640, 480))}},  # the bytes decide, not the media type
        {"type": "input_image", "image_url": url(png(640, 480)), "detail": "high"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": text(png(640, 480))}},
        {"type": "image", "image_url": None, "source": {"type": "base64", "data": text(png(640, 480))}},
    ],
)
def test_where_a_picture_may_stand(part: dict[str, Any]) -> None:
    assert set(costs(part, AREA)) == {640 * 480}


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url"},
        {"type": "image_url", "image_url": 5},
        {"type": "image_url", "image_url": {"url": None}},
        {"type": "image_url", "image_url": {"url": text(png(640, 480))}},
        {"type": "image_url", "image_url": {"url": "https://example.org/;base64," + text(png(640, 480))}},
        {"type": "image_url", "image_url": {"url": " " + url(png(640, 480))}},
        {"type": "image_url", "image_url": {"url": "data:image/png," + text(png(640, 480))}},
        {"type": "image_url", "image_url": {"url": "data:" + "x" * 256 + ";base64," + text(png(640, 480))}},
        {"type": "image_url", "image_url": {"url": "data:image/é;base64," + text(png(640, 480))}},
        {"type": "image_url", "image_url": {"url": "data:image/\ud800;base64," + text(png(640, 480))}},
        {"type": "image", "source": {"data": text(png(640, 480))}},
        {"type": "image", "source": {"type": "url", "url": url(png(640, 480))}},
        {"type": "image", "source": text(png(640, 480))},
        {"type": "image", "width": 640, "height": 480},
    ],
)
def test_a_picture_of_unknown_size(part: dict[str, Any]) -> None:
    assert set(costs(part, AREA)) == {7}
    assert cost(part) == UNKNOWN


def test_a_file_is_a_file() -> None:
    assert cost({"type": "file", "file": {"file_data": url(png(640, 480))}}) == 1_500


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xd8",
        b"no picture at all",
        png(0, 480),
        png(640, 0),
        png(65_536, 480),
        png(2**31, 2**31),
        png(640, 480)[:23],
        png(640, 480).replace(b"IHDR", b"CgBI"),
        gif(0, 1),
        gif(1, 1)[:9],
        gif(1, 1, b"88a"),
        jpeg(640, 0),  # its height comes behind the scan
        jpeg(640, 480)[:60],
        jpeg(640, 480, segment(0xDA)),
        jpeg(640, 480, b"\xff\xd9"),
        jpeg(640, 480, b"\0"),
        jpeg(640, 480, b"\xff\xe1\0\1"),
        jpeg(640, 480, frame=0xC4),
        webp(640, 480).replace(b"\x9d\x01", b"\x9d\x02"),
        webp(640, 480).replace(b"VP8 ", b"VP9 "),
        webp(640, 480)[:29],
        FORMATS["webp_extended"](65_537, 1),
    ],
)
def test_garbage_costs_as_a_picture_of_unknown_size(data: bytes) -> None:
    assert set(costs(image(data), AREA)) == {7}


@pytest.mark.parametrize("frame", [0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC9, 0xCA, 0xCF])
def test_a_jpeg_says_its_size_behind_its_metadata(frame: int) -> None:
    exif = segment(0xE1, b"Exif\0\0" + b"\xff\xc0\0\x11\x08" * 13_000)
    profile = segment(0xE2, b"ICC_PROFILE\0" + bytes(65_000))
    for before in ([exif], [exif, profile, profile], [b"\xff\xff\xff", exif], [b"\xff\x01\xff\xd0"], [segment(0xFE, b"")], [exif] * 11):
        assert set(costs(image(jpeg(640, 480, *before, frame=frame)), AREA)) == {640 * 480}
    # A mebibyte of base64 is looked at, and no more.
    assert set(costs(image(jpeg(640, 480, *[exif] * 13, frame=frame)), AREA)) == {7}


@pytest.mark.parametrize("form", FORMATS)
def test_base64_as_providers_take_it(form: str) -> None:
    data = FORMATS[form](640, 480)
    plain = text(data)
    spaced = "\r\n".join(plain[at : at + 5] for at in range(0, len(plain), 5))
    for wire in (
        plain,
        plain.rstrip("="),
        spaced,
        " \t" + plain + "\n",
        base64.urlsafe_b64encode(data).decode(),
        plain + "é",
        plain + "\ud800",
    ):
        assert set(costs({"type": "image_url", "image_url": "data:;base64," + wire}, AREA)) == {640 * 480}
    for wire in ("*" + plain, plain[:9] + "=" + plain[9:], plain[:9] + "\xa0" + plain[9:], plain[:9] + "%2B" + plain[9:]):
        assert set(costs({"type": "image_url", "image_url": "data:;base64," + wire}, AREA)) == {7}


@given(st.binary(max_size=80), st.booleans(), st.booleans())
def test_decoding(data: bytes, padded: bool, safe: bool) -> None:
    wire = (base64.urlsafe_b64encode if safe else base64.b64encode)(data).decode()
    assert decoded(wire if padded else wire.rstrip("=")) == data
    assert data_of(f"data:;base64,{wire}") == wire


# Core and twin on what nobody should send

_originals = [form(640, 480) for form in FORMATS.values()] + [
    jpeg(640, 480, segment(0xE1, bytes(200)), b"\xff\xff", segment(0xFE, b"\xff\xc0" * 9)),
    wav(0.5),
    wav(0.25, 8_000, (b"LIST", b"odd")),
]


@st.composite
def _mutated(draw: Any) -> bytes:
    data = bytearray(draw(st.sampled_from(_originals)))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, min(len(data), 320)))
        kind = draw(st.sampled_from(["set", "set", "insert", "delete", "cut"]))
        if kind == "cut":
            del data[at:]
        elif kind == "delete":
            del data[at : at + draw(st.integers(1, 4))]
        else:
            bytes_ = draw(st.binary(min_size=1, max_size=4) | st.sampled_from([b"\xff", b"\0", b"\xff\xff\xff\xff"]))
            data[at : at + (len(bytes_) if kind == "set" else 0)] = bytes_
    return bytes(data)


@st.composite
def _written(draw: Any) -> str:
    wire = text(draw(_mutated()))
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, min(len(wire), 420)))
        wire = wire[:at] + draw(st.sampled_from(["\n", " ", "=", "-", "_", "é", "*", "A", ","])) + wire[at + draw(st.integers(0, 2)) :]
    return wire


@needs_both
@given(_written(), st.sampled_from(["data:image/png;base64,", "data:;base64,", "DATA:x;Base64,", "data:,", ""]))
def test_both_engines_read_any_header_alike(wire: str, head: str) -> None:
    core, twin = costs({"type": "image_url", "image_url": head + wire}, AREA)
    assert core == twin
    core, twin = costs({"type": "input_audio", "input_audio": {"data": wire}}, AREA)
    assert core == twin


# Sound


@pytest.mark.parametrize(
    ("seconds", "tokens"),
    [(1, 10), (0.05, 1), (2.01, 21), (30, 300)],
)
def test_a_wav_costs_by_the_second(seconds: float, tokens: int) -> None:
    assert cost(audio(wav(seconds))) == tokens
    assert cost(audio(wav(seconds, 8_000, (b"LIST", b"odd")))) == tokens
    assert duration(text(wav(seconds))) == (int(16_000 * seconds), 16_000)


def test_audio_of_unknown_length() -> None:
    whole = wav(1)
    rate = whole.index(b"fmt ") + 16
    for data in (
        b"",
        wav(0),
        b"ID3" + bytes(100),
        whole[:-200],  # says more than there is
        whole.replace(b"WAVE", b"WEBP"),
        whole.replace(b"fmt ", b"fmx "),
        whole[:rate] + bytes(4) + whole[rate + 4 :],
        whole.replace(b"data" + len(whole[44:]).to_bytes(4, "little"), b"data\xff\xff\xff\xff"),
    ):
        assert set(costs(audio(data), AREA)) == {7}
    assert cost({"type": "input_audio", "input_audio": {"data": 5}}) == cost({"type": "audio_url", "audio_url": {"url": "u"}}) == 300


def test_the_length_of_base64_never_counts() -> None:
    short, long = png(640, 480), png(640, 480) + bytes(5_000_000)
    assert cost(image(short)) == cost(image(long)) == 425
    far = {"type": "image_url", "image_url": {"url": "https://example.org/" + "a" * 100_000}}
    assert cost(far) == UNKNOWN


def test_pictures_count_in_a_window() -> None:
    history = [{"role": "user", "content": [image(png(2048, 4096))]}, {"role": "user", "content": [image(png(1, 1))]}]
    window = backcut.context_window(max_tokens=1_000, tokenizer=len, notice=False)
    assert window(history) == history[1:]
    assert window.trim(history).report.tokens_sent == 3 + 3 + 4 + 255
    flat = backcut.context_window(max_tokens=1_000, tokenizer=len, notice=False, figures={"image_cell": 0, "image": 10})
    assert flat(history) is history
    assert replace(Figures(), image_cell=0, image=10) == flat.figures
