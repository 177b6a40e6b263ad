"""How tokens are counted: encodings, estimates and models by name, and whatever else a caller counts with."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Sized
from typing import Any, Protocol, TypeAlias

from .engine import Tokenizer
from .errors import OptionError, nearest
from .models import APPROXIMATE, BUILT_IN, DEFAULT, ESTIMATES, Registered, known_names, plain_name, register, registered, tokenizer_of

__all__ = ["WAY_OUT", "Encodes", "TokenizerLike", "as_tokenizer", "choose", "named", "register_model", "tokenizer"]

WAY_OUT = (
    " If it is another name of a known model, as of a deployment, give that model, or register_model(name, model). For any other "
    'model give tokenizer="o200k_base", which counts it roughly, or its own: its tokenizer.json, any object with encode or any '
    "function from str to int"
)
"""How every sentence about a name that is not known ends."""


class Encodes(Protocol):
    """Anything that turns a text into tokens whose number ``len`` can tell."""

    def encode(self, text: str, /) -> Sized:
        """The tokens of ``text``."""


TokenizerLike: TypeAlias = str | os.PathLike[str] | Tokenizer | Encodes | Callable[[str], int]
"""What ``tokenizer=`` takes."""

_ALLOWED = (
    "the name of an encoding or model, the path of a tokenizer.json, a backcut Tokenizer, an object with encode(text) that gives "
    "something with a length, or a function from str to int"
)

_built: dict[str, Tokenizer] = {}


_estimates = {estimate.name: estimate for estimate in ESTIMATES}


def tokenizer(name_or_model: str | os.PathLike[str]) -> Tokenizer:
    """The tokenizer of an encoding, an estimate, a model, or a file.

    Args:
        name_or_model: an encoding (``o200k_base``, ``o200k_harmony``, ``cl100k_base``, ``p50k_base``, ``p50k_edit``,
            ``r50k_base``, ``gpt2``); an estimate (``approximate``,
            ``estimate-claude``, ``estimate-claude-4.7``, ``estimate-gemini``); a model (``gpt-4o``, ``ft:gpt-4o:acme``,
            ``claude-sonnet-4-5``, ``vertex_ai/gemini-2.5-pro``, ...), or one of :func:`register_model`; or the path of a
            ``tokenizer.json``, a text that ends in ``.json`` or an ``os.PathLike``, which the package ``tokenizers`` reads.

    Returns:
        A tokenizer with ``name``, ``is_exact``, ``count(text)``, ``count_up_to(text, limit)`` and
        ``truncate(text, limit, keep)``. There is one for each encoding, estimate and file: asking again gives the same object, at
        the price of a look-up.

    Raises:
        OptionError: the name is not known (the nearest known ones are named); the file cannot be read, or what reads it is not installed.
    """
    if not _is_file_name(name_or_model):
        return _find("tokenizer", name_or_model)
    from .tokenizer_json import from_file  # few have one

    return from_file(name_or_model)


def register_model(model: str, tokenizer: TokenizerLike) -> None:
    """Makes ``tokenizer`` count wherever ``model`` is named, in this process; any thread may call it at any time.

    Args:
        model: the name of a model; or the beginning of such names and a ``*``: ``my-*``. An exact name wins over a beginning, a
            longer beginning over a shorter one, both over the tables of backcut, and the last call for the same name over those
            before. Windows that were made before keep what they count with.
        tokenizer: as for :func:`backcut.context_window`: the name of an encoding, an estimate or a model that is known, the path
            of a ``tokenizer.json``, an object with ``encode``, a function. Where it is the name of a model, pictures cost what they
            cost there, too; else what they cost with gpt-4o.

    Raises:
        OptionError: the model is no such name, or is that of an encoding; or the tokenizer is not known.
    """
    if not isinstance(model, str) or not model.removesuffix("*") or "*" in model[:-1]:
        raise OptionError("model", model, "must be the name of a model, or the beginning of such names and a * at its end")
    if _is_tokenizer(model) or _is_file_name(model):
        raise OptionError("model", model, "is the name of a tokenizer, not of a model")
    known = tokenizer if isinstance(tokenizer, str) and not _is_tokenizer(tokenizer) and not _is_file_name(tokenizer) else None
    register(model, Registered(as_tokenizer(tokenizer), known and plain_name(known)))


def as_tokenizer(value: TokenizerLike) -> Tokenizer:
    """Whatever a caller counts with, as a :class:`Tokenizer`.

    Args:
        value: the name of an encoding, estimate or model; the path of a ``tokenizer.json``; a ``Tokenizer``; an object with
            ``encode``, such as ``tiktoken.Encoding`` (special tokens count as text), ``tokenizers.Tokenizer`` or a tokenizer of
            ``transformers`` (no special tokens are added); or a function from a text to its number of tokens, a whole number of
            at least 0 (an ``int``, or what counts as one to ``operator.index``, such as ``numpy.int64``).

    Returns:
        A tokenizer that pickles when ``value`` does.

    Raises:
        OptionError: ``value`` is none of these.
    """
    if isinstance(value, str | os.PathLike):
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


def _find(option: str, name: object) -> Tokenizer:
    built = _built.get(name) if isinstance(name, str) else None
    if built is not None:
        return built
    if not isinstance(name, str):
        raise OptionError(option, name, "the name of an encoding or model")
    if _is_tokenizer(name):
        found = name
    else:
        own = registered(name)
        if own is not None:
            return own.tokenizer
        known = tokenizer_of(name)
        if known is None:
            raise OptionError(option, name, _unknown(name))
        found = known
    # Two threads may build the same one; both get the one that came first.
    return _built.get(found) or _built.setdefault(found, _make(found))


def _is_file_name(value: object) -> bool:
    """Whether ``value`` names a file: a path, or a text that ends as the names of such files do."""
    return isinstance(value, os.PathLike) or (isinstance(value, str) and value.endswith(".json"))


def _is_tokenizer(name: str) -> bool:
    return name in BUILT_IN or name in _estimates or name == APPROXIMATE


def _make(name: str) -> Tokenizer:
    estimate = _estimates.get(name)
    return Tokenizer(name) if estimate is None else Tokenizer(name, scaled=(estimate.base, *estimate.factor))


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
