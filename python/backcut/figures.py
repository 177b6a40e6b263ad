"""The figures by which a request is counted, each overridable, and those of each family of models.

The same table as ``src/cost.rs`` and ``src/cost/families.rs`` (a test compares the two, model by model).

Sources: openai-cookbook, "How to count tokens with tiktoken" (text and tools); OpenAI, "Images and vision"; Anthropic, "Vision";
Google, "Image understanding", "Media resolution" and "Audio understanding"; LiteLLM's token counter (audio). Where a guide and
what is billed differ, the larger figure stands here, so that a ceiling holds.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias

from .errors import OptionError, nearest
from .models import plain_name

__all__ = ["DEFAULT", "MOST", "Figures", "FiguresLike", "check", "resolve"]

MOST = (1 << 32) - 1
"""The largest value of a figure, and the most that a picture or a sound can cost: so no sum of them can overflow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What a request costs besides its texts, in tokens where nothing else is said. The defaults are those of gpt-4o.

    Raises:
        OptionError: a value is no integer from 0 to 4,294,967,295.
    """

    reply: int = 3
    """Primes the reply, once a request. Source: the cookbook, section 4."""
    message: int = 3
    """Frames a message. Same source."""
    name: int = 1
    """On top of a name's own tokens. Same source."""
    call: int = 3
    """Frames a call. Not published; the frame of a message is taken for it."""
    result: int = 3
    """Frames a result that stands inside of a message, in formats other than Chat Completions. Not published; as for a call."""
    image: int = 765
    """An image of unknown size: what one of 1024 x 1024 costs, for gpt-4o 85 + 4 x 170. Source: OpenAI, "Images and vision"."""
    image_low: int = 85
    """An image at ``detail: low`` costs at most this, for gpt-4o its base tokens. Same source."""
    image_base: int = 85
    """An image of known size, whatever that is: base tokens. Same source; so for the following."""
    image_tile: int = 170
    """For each cell of an image of known size."""
    image_percent: int = 100
    """What base and cells together are multiplied with, in per cent: the multiplier of models that are charged by patches."""
    image_cell: int = 512
    """Pixels of a cell's side; 0: no size is looked at, and every image costs ``image``."""
    image_cells: int = 0
    """Most cells of an image, which is shrunk to fit; 0: any number."""
    image_whole: int = 0
    """Whether a shrunk image has whole cells along one side, as OpenAI's guide has it for patches (0: it costs all of
    ``image_cells``, which is never too little)."""
    image_long: int = 2048
    """Most pixels of the longer side, to which an image is shrunk first; 0: any number."""
    image_short: int = 768
    """Most pixels of the shorter side, as above."""
    audio: int = 300
    """A piece of audio of unknown length. Source: LiteLLM's fallback floor."""
    audio_second: int = 10
    """For each second of audio whose length can be read; 0: no length is looked at. Source: LiteLLM (OpenAI: a token for every
    100 ms)."""
    file: int = 1500
    """A file of unknown length, about two pages."""
    tool: int = 7
    """Once for each tool; 10 for gpt-4 and gpt-3.5. Source: the cookbook, section 6."""
    properties: int = 3
    """Opens the properties of a schema. Same source."""
    property: int = 3
    """For each property. Same source."""
    enumeration: int = 3
    """Taken off where a property has an enumeration. Same source."""
    item: int = 3
    """For each item of an enumeration. Same source."""
    tools_end: int = 12
    """Once, behind all tools. Same source."""

    def __post_init__(self) -> None:
        """Refuses what is no figure, and makes an ``int`` of what counts as one."""
        for name in NAMES:
            value = getattr(self, name)
            if type(value) is not int or not 0 <= value <= MOST:
                object.__setattr__(self, name, _figure(name, value))

    @classmethod
    def of(cls, model: str) -> Figures:
        """The figures of a model, by how its name begins behind ``ft:`` or a path of providers (``openai/``).

        Args:
            model: the name, such as ``gpt-5-mini``, ``anthropic/claude-sonnet-4-5`` or ``gemini-2.5-pro``.

        Returns:
            The figures of its family; of a model that is not known those of gpt-4o. ``tool`` is that of its own encoding.

        Raises:
            OptionError: ``model`` is no ``str``.
        """
        if not isinstance(model, str):
            raise OptionError("model", model, "must be the name of a model")
        name = plain_name(model)
        name = name.removeprefix("ft:") if name.startswith("ft:") else name.rpartition("/")[2]
        return next((figures for prefixes, figures in _FAMILIES if name.startswith(prefixes)), DEFAULT)

    def __repr__(self) -> str:
        """The figures that are not gpt-4o's."""
        other = ((name, getattr(self, name)) for name in NAMES)
        return f"Figures({', '.join(f'{name}={value}' for name, value in other if value != getattr(DEFAULT, name))})"


NAMES: tuple[str, ...] = tuple(field.name for field in fields(Figures))

FiguresLike: TypeAlias = Figures | Mapping[str, int]
"""What ``figures=`` takes: all of them, or by name those that are different."""


def _figure(name: str, value: Any) -> int:
    if not isinstance(value, bool):
        try:
            number = operator.index(value)
        except TypeError:
            number = -1
        if 0 <= number <= MOST:
            return int(number)
    raise OptionError("figures", value, f"{name} must be an integer from 0 to {MOST:,}")


def check(value: Any) -> Figures | dict[str, int] | None:
    """``value`` as ``figures=`` takes it, its names and values checked.

    Raises:
        OptionError: a name is not known (the nearest known one is named) or a value not allowed, or it is none of these at all.
    """
    if value is None or isinstance(value, Figures):
        return value
    if not isinstance(value, Mapping):
        raise OptionError("figures", value, "must be a backcut.Figures, a mapping from names of figures to integers, or None")
    for name in value:
        if name not in NAMES:
            near = nearest(name, NAMES) if isinstance(name, str) else []
            raise OptionError("figures", name, f"no such figure{f'; did you mean {near[0]}?' if near else ''}")
    return {name: _figure(name, number) for name, number in value.items()}


def resolve(given: Figures | dict[str, int] | None, model: str | None, encoding: str) -> Figures:
    """What is counted with: ``given`` where it is a :class:`Figures`, else what it overrides of the model's.

    Args:
        given: checked.
        model: the model that was named, if one was.
        encoding: the tokenizer's name, which knows better than the model's what a tool costs: 10 in ``cl100k_base``, else 7.
    """
    if isinstance(given, Figures):
        return given
    figures = DEFAULT if model is None else Figures.of(model)
    tool = _CL100K_TOOL if encoding == "cl100k_base" else DEFAULT.tool
    return replace(figures, **{"tool": tool, **(given or {})})


DEFAULT = Figures()
"""The figures where no model is named."""

_CL100K_TOOL = 10
"""For each tool where the encoding is ``cl100k_base``. Source: the cookbook, section 6."""


def _tiles(base: int, tile: int) -> Figures:
    """Charged by tiles of 512 x 512 after two steps of shrinking; at low detail the base alone."""
    return Figures(image_low=base, image=base + 4 * tile, image_base=base, image_tile=tile)


def _patches(percent: int, most: int, long: int = 0) -> Figures:
    """Charged by patches of 32 x 32, ``most`` of them, times a multiplier. Low detail shrinks to 512 x 512."""
    return Figures(
        image_low=-(-16 * 16 * percent // 100),
        image=-(-32 * 32 * percent // 100),
        image_base=0,
        image_tile=1,
        image_percent=percent,
        image_cell=32,
        image_cells=most,
        image_whole=1,
        image_long=long,
        image_short=0,
    )


def _claude(long: int, most: int) -> Figures:
    """Charged by patches of 28 x 28. There is no low detail: asking for it changes nothing."""
    return Figures(
        image_low=MOST,
        image=37 * 37,
        image_base=0,
        image_tile=1,
        image_cell=28,
        image_cells=most,
        image_long=long,
        image_short=0,
    )


# 258 for each tile of 768 x 768; small images are one. Nor is there a low detail.
_GEMINI_TILES = Figures(
    image_low=MOST,
    image=4 * 258,
    image_base=0,
    image_tile=258,
    image_cell=768,
    image_long=0,
    image_short=0,
    audio_second=32,
)

# Since Gemini 3 an image has a budget by its resolution: here of MEDIA_RESOLUTION_HIGH and _LOW, whatever its size.
_GEMINI_BUDGET = replace(_GEMINI_TILES, image_low=280, image=1120, image_cell=0, audio_second=25)

# How the names of a family begin, and its figures; the first that matches decides.
_FAMILIES: tuple[tuple[tuple[str, ...], Figures], ...] = (
    (("gpt-4o-mini",), _tiles(2833, 5667)),
    (("gpt-4.1-mini",), _patches(162, 1536)),
    (("gpt-4.1-nano",), _patches(246, 1536)),
    (("gpt-4o", "gpt-4.1", "gpt-4.5"), DEFAULT),
    (("gpt-4", "gpt-3.5", "gpt-35"), Figures(tool=_CL100K_TOOL)),
    (("gpt-5-mini", "gpt-5.4-mini"), _patches(162, 1536)),  # billed as 1.2 in 2026; the guide has had this
    (("gpt-5-nano", "gpt-5.4-nano"), _patches(246, 1536)),  # billed as 1.5
    (("gpt-5.2", "gpt-5.3"), _patches(120, 6144, long=2048)),
    (("gpt-5.4", "gpt-5.5"), _patches(120, 10_000)),  # as at detail "original"; at "high" an image is shrunk to 2,500
    (("gpt-5.1",), _tiles(70, 140)),
    (("gpt-5.", "gpt-6"), _patches(120, 0)),  # not shrunk at all
    (("gpt-5",), _tiles(70, 140)),
    (("o1", "o3"), _tiles(75, 150)),
    (("o4-mini",), _patches(172, 1536)),
    (("claude-opus-4-7", "claude-opus-4.7", "claude-opus-4-8", "claude-opus-4.8"), _claude(2576, 4784)),
    (("claude-instant", "claude-2", "claude-3", "claude-haiku-4", "claude-sonnet-4", "claude-opus-4"), _claude(1568, 1568)),
    (("claude-",), _claude(2576, 4784)),
    (("gemini-1", "gemini-2"), _GEMINI_TILES),
    (("gemini-",), _GEMINI_BUDGET),
)
