"""Which encoding counts the tokens of which OpenAI model: one table, to be extended here and nowhere else.

The same answers as ``tiktoken/model.py`` of tiktoken 0.14 (a test compares the two, name by name).
"""

from __future__ import annotations

__all__ = ["BUILT_IN", "DEFAULT", "NOT_YET", "encoding_of", "known_names"]

DEFAULT = "o200k_base"
"""The encoding where nobody names one."""

BUILT_IN = ("o200k_base", "o200k_harmony", "cl100k_base")
"""Encodings that backcut brings along."""

NOT_YET = ("p50k_base", "p50k_edit", "r50k_base", "gpt2")
"""Encodings of models that are no longer offered: known, but not brought along."""

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


def encoding_of(model: str) -> str | None:
    """The name of the encoding of ``model``, or ``None`` where the table does not know it."""
    exact = _ENCODINGS.get(model)
    if exact is not None:
        return exact
    return next((encoding for prefix, encoding in _PREFIXES if model.startswith(prefix)), None)


def known_names() -> list[str]:
    """Every encoding and model that can be named, each once, for saying which of them was meant; ``...`` stands for any ending."""
    models = [model for encoding in BUILT_IN for model in _NAMES.get(encoding, ())]
    return [*BUILT_IN, *models, *(f"{prefix}..." for prefix, _ in _PREFIXES if prefix.rstrip("-") not in models)]
