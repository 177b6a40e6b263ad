"""How tokens are counted: built-in encodings by name, and whatever else a caller counts with."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sized
from typing import Any, Protocol, TypeAlias

from .engine import Tokenizer
from .errors import OptionError, nearest
from .models import BUILT_IN, DEFAULT, NOT_YET, encoding_of, known_names

__all__ = ["WAY_OUT", "Encodes", "TokenizerLike", "as_tokenizer", "choose", "named", "tokenizer"]

WAY_OUT = (
    ' For any other model give tokenizer="o200k_base", which counts it roughly, or its own: any object with encode or any function '
    "from str to int"
)
"""How every sentence about a name that is not known ends."""


class Encodes(Protocol):
    """Anything that turns a text into tokens whose number ``len`` can tell."""

    def encode(self, text: str, /) -> Sized:
        """The tokens of ``text``."""


TokenizerLike: TypeAlias = str | Tokenizer | Encodes | Callable[[str], int]
"""What ``tokenizer=`` takes."""

_ALLOWED = (
    "the name of an encoding or model, a backcut Tokenizer, an object with encode(text) that gives something with a length, "
    "or a function from str to int"
)

_built: dict[str, Tokenizer] = {}


def tokenizer(name_or_model: str) -> Tokenizer:
    """The tokenizer of an encoding or of an OpenAI model.

    Args:
        name_or_model: an encoding (``o200k_base``, ``o200k_harmony``, ``cl100k_base``) or a model (``gpt-4o``,
            ``gpt-5-mini``, ``ft:gpt-4o:acme``, ...).

    Returns:
        A tokenizer with ``name``, ``count(text)``, ``count_up_to(text, limit)`` and ``truncate(text, limit, keep)``. There is
        one for each encoding: asking again gives the same object, at the price of a look-up.

    Raises:
        OptionError: the name is not known (the nearest known ones are named), or its encoding is not there yet.
    """
    return _find("tokenizer", name_or_model)


def as_tokenizer(value: TokenizerLike) -> Tokenizer:
    """Whatever a caller counts with, as a :class:`Tokenizer`.

    Args:
        value: the name of an encoding or model; a ``Tokenizer``; an object with ``encode``, such as ``tiktoken.Encoding``
            (special tokens count as text), ``tokenizers.Tokenizer`` or a tokenizer of ``transformers`` (no special tokens are
            added); or a function from a text to its number of tokens, a whole number of at least 0 (an ``int``, or what counts
            as one to ``operator.index``, such as ``numpy.int64``).

    Returns:
        A tokenizer that pickles when ``value`` does.

    Raises:
        OptionError: ``value`` is none of these.
    """
    if isinstance(value, str):
        return tokenizer(value)
    if isinstance(value, Tokenizer):
        return value
    if not isinstance(value, type):
        name = getattr(value, "name", None)
        label = name if isinstance(name, str) else getattr(value, "__name__", type(value).__name__)
        if callable(getattr(value, "encode", None)):
            return Tokenizer(label, _Encoder(value))
        if callable(value):
            return Tokenizer(label, _Function(value))
    raise OptionError("tokenizer", value, _ALLOWED)


def choose(tokenizer: TokenizerLike | None, model: str | None) -> Tokenizer:
    """The tokenizer to count with: ``tokenizer`` wins over ``model``; without either it is ``o200k_base``."""
    if tokenizer is not None:
        return as_tokenizer(tokenizer)
    if model is not None:
        return _find("model", model)
    return _find("tokenizer", DEFAULT)


def named(value: TokenizerLike | None) -> TokenizerLike | None:
    """``value``, or its name where it is a built-in tokenizer: names compare, hash and pickle."""
    if isinstance(value, Tokenizer) and _built.get(value.name) is value:
        return value.name
    return value


def _find(option: str, name: str) -> Tokenizer:
    built = _built.get(name) if isinstance(name, str) else None
    if built is not None:
        return built
    if not isinstance(name, str):
        raise OptionError(option, name, "the name of an encoding or model")
    encoding = name if name in BUILT_IN or name in NOT_YET else encoding_of(name)
    if encoding is None:
        raise OptionError(option, name, _unknown(name))
    if encoding in NOT_YET:
        what = "" if encoding == name else f"its encoding {encoding} "
        raise OptionError(option, name, f"{what}is not there yet; there are {', '.join(BUILT_IN)}")
    # Two threads may build the same one; both get the one that came first.
    return _built.get(encoding) or _built.setdefault(encoding, Tokenizer(encoding))


def _unknown(name: str) -> str:
    near = nearest(name, known_names())
    meant = f"did you mean {' or '.join(near)}?" if near else f"known encodings are {', '.join(BUILT_IN)}."
    return f"no tokenizer is known by this name; {meant}{WAY_OUT}"


class _Function:
    """A counter made of a function: the whole numbers of other houses, as of numpy, become an ``int``."""

    __slots__ = ("_count",)

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count

    def __call__(self, text: str) -> int:
        count = self._count(text)
        if isinstance(count, int) or not hasattr(count, "__index__"):  # the engine says what is wrong with anything else
            return count
        return operator.index(count)

    def __reduce__(self) -> tuple[type[_Function], tuple[Callable[[str], int]]]:
        return _Function, (self._count,)


class _Encoder:
    """A counter made of an object with ``encode``."""

    __slots__ = ("_encode", "_keywords", "_source")

    def __init__(self, source: Any) -> None:
        self._source = source
        self._encode, self._keywords = _encoding_call(source)

    def __call__(self, text: str) -> int:
        return len(self._encode(text, **self._keywords))

    def __reduce__(self) -> tuple[type[_Encoder], tuple[Any]]:
        return _Encoder, (self._source,)


def _encoding_call(source: Any) -> tuple[Callable[..., Sized], dict[str, bool]]:
    """How the bare tokens of a text are had from ``source``: without special tokens, neither added nor found in the text."""
    ordinary = getattr(source, "encode_ordinary", None)
    if callable(ordinary):
        return ordinary, {}
    import inspect

    encode = source.encode
    try:
        signature = inspect.signature(encode)
    except (TypeError, ValueError):  # a built-in that does not tell
        return encode, {}
    keywords = {"add_special_tokens": False} if "add_special_tokens" in signature.parameters else {}
    # Bound methods of extension types may list their self all the same.
    parameters = [parameter for name, parameter in signature.parameters.items() if name != "self"]
    try:
        signature.replace(parameters=parameters).bind("", **keywords)
    except TypeError:
        raise OptionError("tokenizer", source, f"encode must be callable with a text alone, this one takes {signature}") from None
    return encode, keywords
