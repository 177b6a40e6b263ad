"""Which paths are chat requests, and in which format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..errors import OptionError
from ..options import check_format

__all__ = ["PATHS", "Path", "Paths"]

PATHS: Mapping[str, str] = {
    "/chat/completions": "openai-chat",
    "/deployments/{model}/chat/completions": "openai-chat",  # Azure
    "/v1/responses": "openai-responses",
    "/openai/responses": "openai-responses",  # Azure
    "/v1/messages": "anthropic",
    "/models/{model}:generateContent": "gemini",
    "/models/{model}:streamGenerateContent": "gemini",
    "/model/{model}/converse": "bedrock",
    "/model/{model}/converse-stream": "bedrock",
}
"""The paths that are trimmed by default, each with its wire format. Whatever stands in front of them is allowed."""


class Path(NamedTuple):
    """What a path says of a request."""

    format: str
    """The wire format: one of ``options.FORMATS``."""
    model: str | None
    """The model, where it stands in the path."""


class Paths:
    """The chat requests among all paths.

    Args:
        paths: patterns, each with its format; of an iterable of patterns those of :data:`PATHS` have theirs, others ``auto``. A pattern is
            the end of a path from a ``/`` on, and may hold a ``{model}``, which is any text, ``/`` included.
    """

    __slots__ = ("_rows", "formats")

    def __init__(self, paths: Mapping[str, str] | Iterable[str]) -> None:
        if isinstance(paths, str):
            raise OptionError("paths", paths, "must be a mapping of paths to formats, or an iterable of paths")
        named = paths if isinstance(paths, Mapping) else {path: _default(path) for path in paths}
        # Those that hold the model come first: "/chat/completions" would take what "/deployments/{model}/chat/completions" is for.
        self._rows = [(*_parts(path), check_format(named[path])) for path in sorted(named, key=_has_no_model)]
        self.formats = frozenset(form for *_, form in self._rows)

    def find(self, path: str) -> Path | None:
        """What ``path`` says; ``None`` where it is no chat request."""
        for before, behind, form in self._rows:
            if path.endswith(behind):
                if before is None:
                    return Path(form, None)
                # No regular expression: whoever sends a request chooses the path, and this takes linear time whatever it is.
                at = path.find(before)
                if at >= 0 and (model := path[at + len(before) : len(path) - len(behind)]):
                    return Path(form, model)
        return None


def _has_no_model(path: object) -> bool:
    return not isinstance(path, str) or "{model}" not in path


def _default(path: object) -> str:
    """The format that ``path`` has by :data:`PATHS`."""
    found = _KNOWN.find(path) if isinstance(path, str) else None
    return "auto" if found is None else found.format


def _parts(path: object) -> tuple[str | None, str]:
    """What stands in front of the model, ``None`` where no model is, and what a path ends with."""
    if not isinstance(path, str) or not path.startswith("/") or path.count("{model}") > 1:
        raise OptionError("paths", path, 'must begin with "/" and hold "{model}" at most once')
    before, model, behind = path.partition("{model}")
    return (before, behind) if model else (None, path)


_KNOWN = Paths(PATHS)
