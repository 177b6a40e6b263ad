"""Which tokenizer counts for which model: tables, to be extended here and nowhere else.

OpenAI's models have the same answers as in ``tiktoken/model.py`` of tiktoken 0.14 (a test compares the two, name by name). For
vendors without a public tokenizer there are :data:`ESTIMATES`. What is not in the tables can be added at run time, see
:func:`register`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .engine import Tokenizer

__all__ = [
    "APPROXIMATE",
    "BUILT_IN",
    "DEFAULT",
    "ESTIMATES",
    "Estimate",
    "Registered",
    "encoding_of",
    "known_names",
    "plain_name",
    "register",
    "registered",
    "tokenizer_of",
]

DEFAULT = "o200k_base"
"""The encoding where nobody names one."""

APPROXIMATE = "approximate"
"""The estimate that needs no vocabulary."""

BUILT_IN = ("o200k_base", "o200k_harmony", "cl100k_base", "p50k_base", "p50k_edit", "r50k_base", "gpt2")
"""Encodings that backcut brings along."""


class Estimate(NamedTuple):
    """A family of models without a public tokenizer, and how its tokens are estimated: from the count of another encoding."""

    name: str
    """The name of the tokenizer, which says what it is."""
    prefix: str
    """How the names of its models begin."""
    before: tuple[int, int] | None
    """Only versions before this one; without a version in its name a model is taken for a new one, whose estimate is higher."""
    base: str
    """The encoding that is counted."""
    factor: tuple[int, int]
    """What its count is multiplied by, as numerator and denominator, at least 1. The product is rounded up."""
    source: str
    """Where the factor comes from."""
    date: str
    """When that was."""


ESTIMATES: tuple[Estimate, ...] = (
    Estimate(
        name="estimate-claude",
        prefix="claude-",
        before=(4, 7),
        base="o200k_base",
        factor=(118, 100),
        source="one text by the vendor's count endpoint: 506 tokens, 429 in o200k_base (ingest). The usage in two public session logs, "
        "each message's frame taken off: 1.18 for Opus 4.5, 1.08 for Sonnet 4.5, in 304 requests (corpus, pi-mono)",
        date="2026-08",
    ),
    Estimate(
        name="estimate-claude-4.7",
        prefix="claude-",
        before=None,
        base="o200k_base",
        factor=(153, 100),
        source="the same text with the tokenizer of Opus 4.7 and later: 656 tokens (ingest). One sample only",
        date="2026-08",
    ),
    Estimate(
        name="estimate-gemini",
        prefix="gemini-",
        before=None,
        base="o200k_base",
        factor=(13, 10),
        source="the vendor's 4 characters a token (Gemini API, Understand and count tokens): in 95 % of 2,139 texts of prose (corpus) a "
        "quarter of the characters is at most 1.28 times the tokens of o200k_base, in code 1.08 times, in JSON 1.12",
        date="2026-11",
    ),
)
"""The first that matches decides."""

# Encoding -> the models that are named exactly so.
_NAMES: dict[str, tuple[str, ...]] = {
    "o200k_base": ("o1", "o3", "o4-mini", "gpt-5", "gpt-4.1", "gpt-4o"),
    "cl100k_base": (
        "gpt-4",
        "gpt-3.5-turbo",
        "gpt-3.5",
        "gpt-35-turbo",  # as Azure writes it
        "davinci-002",
        "babbage-002",
        "text-embedding-ada-002",
        "text-embedding-3-small",
        "text-embedding-3-large",
    ),
    "p50k_base": (
        "text-davinci-003",
        "text-davinci-002",
        "code-davinci-002",
        "code-davinci-001",
        "code-cushman-002",
        "code-cushman-001",
        "davinci-codex",
        "cushman-codex",
    ),
    "p50k_edit": ("text-davinci-edit-001", "code-davinci-edit-001"),
    "r50k_base": (
        "text-davinci-001",
        "text-curie-001",
        "text-babbage-001",
        "text-ada-001",
        "davinci",
        "curie",
        "babbage",
        "ada",
        "text-similarity-davinci-001",
        "text-similarity-curie-001",
        "text-similarity-babbage-001",
        "text-similarity-ada-001",
        "text-search-davinci-doc-001",
        "text-search-curie-doc-001",
        "text-search-babbage-doc-001",
        "text-search-ada-doc-001",
        "code-search-babbage-code-001",
        "code-search-ada-code-001",
    ),
    "gpt2": ("gpt2", "gpt-2"),
}

# How the names of dated, sized and fine-tuned models begin; the first that matches decides.
_PREFIXES: tuple[tuple[str, str], ...] = (
    ("o1-", "o200k_base"),
    ("o3-", "o200k_base"),
    ("o4-mini-", "o200k_base"),
    ("gpt-5", "o200k_base"),
    ("gpt-4.5-", "o200k_base"),
    ("gpt-4.1-", "o200k_base"),
    ("chatgpt-4o-", "o200k_base"),
    ("gpt-4o-", "o200k_base"),
    ("gpt-4-", "cl100k_base"),
    ("gpt-3.5-turbo-", "cl100k_base"),
    ("gpt-35-turbo-", "cl100k_base"),
    ("gpt-oss-", "o200k_harmony"),
    ("ft:gpt-4o", "o200k_base"),
    ("ft:gpt-4", "cl100k_base"),
    ("ft:gpt-3.5-turbo", "cl100k_base"),
    ("ft:davinci-002", "cl100k_base"),
    ("ft:babbage-002", "cl100k_base"),
)

_ENCODINGS: dict[str, str] = {model: encoding for encoding, models in _NAMES.items() for model in models}


# Who serves models, and how the paths begin under which they do.
_ROUTES = frozenset(
    (
        *("openai", "azure", "azure_ai", "github", "openrouter", "litellm_proxy"),
        *("anthropic", "bedrock", "converse", "invoke", "us", "eu", "apac", "global"),
        *("gemini", "google", "google-gla", "google-vertex", "google_genai", "vertex_ai", "vertex_ai_beta", "publishers", "models"),
    )
)
_REGION = r"[a-z]{2}(-gov)?-[a-z]+-\d"
_BEDROCK = r"^(?:(?:us|us-gov|eu|apac|jp|au|ca|global)\.)?(?:anthropic|openai)\.(?=claude|gpt)"
_VERSION = r"(?<![\d.])(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)"
"""The first number of a name that is no date, with the one behind it: 4.5 of ``claude-sonnet-4-5-20250929``."""
# As text: compiling them takes longer than the whole rest of this file, and most programs never ask.


def encoding_of(model: str) -> str | None:
    """The name of the encoding of an OpenAI model, or ``None`` where the table does not know it."""
    exact = _ENCODINGS.get(model)
    if exact is not None:
        return exact
    return next((encoding for prefix, encoding in _PREFIXES if model.startswith(prefix)), None)


def tokenizer_of(model: str) -> str | None:
    """The name of the encoding or estimate of ``model``, or ``None`` where no table knows it.

    Args:
        model: a model's name, or the same behind the names of those who serve it: ``azure/gpt-4o``, ``openai:gpt-5``,
            ``openrouter/anthropic/claude-sonnet-4.5``, ``us.anthropic.claude-sonnet-4-5-20250929-v1:0``,
            ``bedrock/eu-west-1/anthropic.claude-v2``, ``vertex_ai/claude-opus-4@20250514``. Each part of such a path must be
            known, so that ``somebody/gpt-4o-at-home`` is not taken for OpenAI's.
    """
    for name in _bare(model):
        found = encoding_of(name) or _estimate_of(name)
        if found is not None:
            return found
    return None


def _bare(model: str) -> Iterator[str]:
    """``model`` as it is, then without the names of those who serve it."""
    yield model
    who, colon, rest = model.partition(":")
    if colon and who in _ROUTES:  # as LangChain and pydantic-ai write it
        model = f"{who}/{rest}"
    *path, name = model.split("/")
    if all(part in _ROUTES or re.fullmatch(_REGION, part) for part in path):
        name = re.sub(_BEDROCK, "", name)
        yield name
        if path:
            yield name.partition(":")[0]  # without a variant, as in gpt-4o:extended


def _estimate_of(model: str) -> str | None:
    found = re.search(_VERSION, model)
    version = (int(found[1]), int(found[2] or 0)) if found else None
    for estimate in ESTIMATES:
        if model.startswith(estimate.prefix) and (estimate.before is None or (version is not None and version < estimate.before)):
            return estimate.name
    return None


class Registered(NamedTuple):
    """What a user has said of a model."""

    tokenizer: Tokenizer
    """What counts for it."""
    model: str | None
    """The known model that it is, if a model was named."""


# What users add: a name, or the beginning of names with a * behind it, and what counts for them. Single operations of a dict
# are safe between threads, so there is no lock.
_registered: dict[str, Registered] = {}


def register(model: str, what: Registered) -> None:
    """Makes ``what`` count for ``model``; a later call for the same name wins."""
    _registered[model] = what


def plain_name(model: str) -> str:
    """The name under which the tables of models know ``model``: without those who serve it; of a registered one the model that it is."""
    own = registered(model)
    if own is not None:
        return own.model or model
    return next((name for name in _bare(model) if encoding_of(name) or _estimate_of(name)), model)


def registered(model: str) -> Registered | None:
    """What was registered for ``model``, or for it without those who serve it: under its very name, else under the longest beginning."""
    if not _registered or model.endswith("*"):
        return None
    for name in _bare(model):
        fitting = [each for each in list(_registered) if each == name or (each.endswith("*") and name.startswith(each[:-1]))]
        if fitting:
            return _registered[name if name in fitting else max(fitting, key=len)]
    return None


def known_names() -> list[str]:
    """Every tokenizer and model that can be named, each once, for saying which of them was meant; ``...`` stands for any ending."""
    models = [model for encoding in BUILT_IN for model in _NAMES.get(encoding, ())]
    beginnings = [f"{prefix}..." for prefix, _ in _PREFIXES if prefix.rstrip("-") not in models]
    families = dict.fromkeys(f"{estimate.prefix}..." for estimate in ESTIMATES)
    own = [name.replace("*", "...") for name in list(_registered)]
    names = [*BUILT_IN, APPROXIMATE, *(estimate.name for estimate in ESTIMATES), *models, *beginnings, *families, *own]
    return list(dict.fromkeys(names))
