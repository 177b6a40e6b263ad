"""How the reference twin counts tokens: :class:`Tokenizer`, and section 2 of ``docs/rules.md`` as :class:`Meter`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from sys import getsizeof
from typing import Any, Literal, Protocol
from weakref import WeakSet

from . import approximate, graphemes
from .errors import FormatError, OptionError, shorten
from .figures import Figures
from .media import cost
from .wire.common import Facts, Piece, compact, first_of, found, get, readable, size_in_bytes

__all__ = ["Meter", "Tokenizer", "limit_memory", "memory_limits"]

LONGEST_TOKEN = 128
"""Bytes of the longest token of every built-in encoding; no estimate is below that either."""

_BUILT_IN = {
    "o200k_base": "o200k_base",
    "o200k_harmony": "o200k_base",
    "cl100k_base": "cl100k_base",
    "p50k_base": "p50k_base",
    "p50k_edit": "p50k_base",
    "r50k_base": "r50k_base",
    "gpt2": "r50k_base",
}
"""Built-in encodings, each with the tiktoken encoding that counts text alike."""

_limits = {"texts": 16 << 20, "pieces": 3 << 20}
"""How many bytes a tokenizer takes for what it remembers of what it has counted, before it begins anew. There are no pieces here."""

_ENTRY = 128
"""What remembering a text takes on top of the string: its place in a dict, and its count."""

_alive: WeakSet[Tokenizer] = WeakSet()
"""The tokenizers for which a lower limit holds at once."""

_DIP = 8 * LONGEST_TOKEN
"""How far behind the first piece that is too long a longer one may still fit."""

_DEEPEST = 64
"""How deep the schema of a tool may nest."""

_LARGEST = 100_000
"""How many parts it may have: one that shares its parts with itself is without end on the wire."""

_DECLARATIONS = ("functionDeclarations", "function_declarations")
"""Where a tool of Gemini's declares functions."""

_SCHEMAS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema")
"""Where a tool has its schema."""


class _Encoding(Protocol):
    """What is used of a ``tiktoken.Encoding``."""

    def encode_ordinary(self, text: str) -> list[int]: ...


class Tokenizer:
    """Counts tokens with a built-in encoding, an estimate, or a caller's function."""

    __slots__ = ("__weakref__", "_counter", "_encoding", "_known", "_known_size", "_name", "_scaled")

    def __init__(self, name: str, counter: Callable[[str], int] | None = None, scaled: tuple[str, int, int] | None = None) -> None:
        if counter is not None and scaled is not None:
            raise ValueError("a counter of its own is not scaled: give counter or scaled")
        if scaled is not None and not scaled[1] >= scaled[2] > 0:
            raise ValueError(f"scaled must be by at least 1, not {scaled[1]}/{scaled[2]}")
        base = name if scaled is None else scaled[0]
        if counter is None and base not in _BUILT_IN and (scaled is not None or name != approximate.NAME):
            raise ValueError(f"{base!r} is no built-in encoding; there are {', '.join(_BUILT_IN)}")
        self._name = name
        self._counter = counter
        self._scaled = scaled
        self._encoding: _Encoding | None = None
        self._known: dict[str, int] = {}
        self._known_size = 0
        _alive.add(self)

    @property
    def name(self) -> str:
        """The name of the encoding, or the one that the caller gave."""
        return self._name

    @property
    def is_built_in(self) -> bool:
        """Whether a built-in encoding or estimate counts."""
        return self._counter is None

    @property
    def is_exact(self) -> bool:
        """Whether this is no estimate of backcut's. A caller's own function is taken at its word."""
        return self._counter is not None or (self._scaled is None and self._name != approximate.NAME)

    def count(self, text: str) -> int:
        """Tokens of ``text``, in which nothing is a special token.

        Raises:
            OptionError: a built-in encoding is to count, and tiktoken is not installed.
            TypeError: the caller's function returned something else than an int of at least 0.
        """
        _check_text(text)
        if self._counter is not None:
            return self._ask(self._counter, text)
        known = self._known.get(text)
        if known is None:
            known = self._encode(text)
            self._remember(text, known)
        return known

    def _remember(self, text: str, count: int) -> None:
        size = getsizeof(text) + _ENTRY
        if size > _limits["texts"] // 16:
            return
        if self._known_size + size > _limits["texts"]:
            self._forget()
        self._known[text] = count
        self._known_size += size

    def _forget(self) -> None:
        self._known, self._known_size = {}, 0

    def __sizeof__(self) -> int:
        """Bytes that the tokenizer and the texts that it remembers take."""
        return object.__sizeof__(self) + self._known_size

    def count_up_to(self, text: str, limit: int) -> int | None:
        """Tokens of ``text``, or ``None`` if they are more than ``limit``.

        Raises:
            ValueError: ``limit`` is negative.
        """
        _check_text(text)
        if limit < 0:
            raise ValueError(f"limit must be at least 0, not {limit}")
        if self.is_built_in and (len(text) > LONGEST_TOKEN * limit or size_in_bytes(text) > LONGEST_TOKEN * limit):
            return None
        count = self.count(text)
        return count if count <= limit else None

    def truncate(self, text: str, limit: int, keep: Literal["head", "tail"] = "head") -> str:
        """The longest piece from that end of ``text`` that has at most ``limit`` tokens and breaks no grapheme cluster.

        Raises:
            ValueError: ``limit`` is negative, or ``keep`` is neither ``head`` nor ``tail``.
        """
        _check_text(text)
        if limit < 0:
            raise ValueError(f"limit must be at least 0, not {limit}")
        if keep not in ("head", "tail"):
            raise ValueError(f"keep={keep!r}: 'head' or 'tail'")

        def piece(length: int) -> str:
            return text[:length] if keep == "head" else text[len(text) - length :]

        def fits(length: int) -> bool:
            counter = self._counter
            return (self._encode(piece(length)) if counter is None else self._ask(counter, piece(length))) <= limit

        longest = min(len(text), LONGEST_TOKEN * limit) if self.is_built_in else len(text)
        edges = range(longest + 1) if keep == "head" else range(len(text), len(text) - longest - 1, -1)
        lengths = [length for length, at in enumerate(edges) if graphemes.is_boundary(text, at) and not _splits_a_pair(text, at)]
        if self.is_built_in:
            lengths = _within_reach(lengths, fits)
        return piece(next((length for length in reversed(lengths) if fits(length)), 0))

    def _encode(self, text: str) -> int:
        if self._scaled is not None:
            _, numerator, denominator = self._scaled
            return -(-self._encode_base(self._scaled[0], text) * numerator // denominator)
        if self._name == approximate.NAME:
            joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # what tiktoken makes of lone surrogates
            return -(-approximate.price(joined) // approximate.UNIT)
        return self._encode_base(self._name, text)

    def _encode_base(self, name: str, text: str) -> int:
        if self._encoding is None:
            self._encoding = _load(name)
        return len(self._encoding.encode_ordinary(text))

    def _ask(self, counter: Callable[[str], int], text: str) -> int:
        count = counter(text)
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise TypeError(f"the tokenizer {self._name!r} must return an int of at least 0, not {shorten(count)}")
        return count

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles without what was counted."""
        return Tokenizer, (self._name, self._counter, self._scaled)


def limit_memory(texts: int | None = None, pieces: int | None = None) -> None:
    """Sets how many bytes may be taken; what is over goes."""
    _limits.update((name, value) for name, value in (("texts", texts), ("pieces", pieces)) if value is not None)
    for tokenizer in list(_alive):
        if tokenizer._known_size > _limits["texts"]:
            tokenizer._forget()


def memory_limits() -> dict[str, int]:
    """What is set."""
    return dict(_limits)


def _check_text(text: object) -> None:
    if not isinstance(text, str):
        raise TypeError(f"a text must be a str, not {type(text).__name__}")


def _splits_a_pair(text: str, at: int) -> bool:
    """Whether ``at`` lies inside of a split surrogate pair, which counts as the one character that it means."""
    return "\ud800" <= text[at - 1 : at] <= "\udbff" and "\udc00" <= text[at : at + 1] <= "\udfff"


def _within_reach(lengths: list[int], fits: Callable[[int], bool]) -> list[int]:
    """Those of ``lengths``, which rise from 0, that may fit, so that not all of a long text need be tried.

    A longer piece may have fewer tokens than a shorter one, where its end completes a longer token. But without its last
    token a piece has one token less and is at most 128 bytes shorter: where the count has stayed above the limit for 1,024
    bytes, it is some eight tokens above, and will not come back.
    """
    low, high = 0, len(lengths)  # the piece at low fits, the one at high, if there is one, does not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(lengths[middle]) else (low, middle)
    return [length for length in lengths if length <= lengths[low] + _DIP]


def _load(name: str) -> _Encoding:
    try:
        import tiktoken
    except ImportError:
        hint = "the pure-Python engine counts with tiktoken, which is not installed: pip install tiktoken, or pass a tokenizer"
        raise OptionError("tokenizer", name, hint) from None
    try:
        encoding: _Encoding = tiktoken.get_encoding(_BUILT_IN[name])
    except Exception as error:  # whatever comes out of a download
        hint = (
            f"tiktoken, with which the pure-Python engine counts, could not get the vocabulary ({type(error).__name__}): it downloads "
            'it once; set TIKTOKEN_CACHE_DIR to where it is, or pass a tokenizer of your own, or "approximate"'
        )
        raise OptionError("tokenizer", name, hint) from error
    return encoding


@dataclass(frozen=True, slots=True)
class Meter:
    """Counts the tokens of a request."""

    tokenizer: Tokenizer
    figures: Figures
    limit: int | None = None
    """The ceiling, if there is one: a text that cannot fit it is not tokenized."""

    def text(self, text: str) -> int:
        """Tokens of a text that a message says; at least so many where it cannot fit."""
        if self.limit is not None and self.tokenizer.is_built_in:
            size = size_in_bytes(text)
            if size > LONGEST_TOKEN * self.limit:
                return -(-size // LONGEST_TOKEN)
        return self.tokenizer.count(text)

    def message(self, facts: Facts) -> int:
        """Tokens of a message."""
        role = facts.outline.role
        frame = self.figures.message + self.tokenizer.count(role) if role else 0
        return frame + sum(map(self._piece, facts.pieces))

    def _piece(self, piece: Piece) -> int:
        tokens = self._frame(piece)
        if piece.kind in ("said", "opaque") and piece.figure is None and piece.media is None:
            tokens += self.text(piece.text)
        elif piece.kind == "name":
            tokens += self.tokenizer.count(piece.text)
        return tokens

    def _frame(self, piece: Piece) -> int:
        """What costs something beside texts: frames, and pictures, sounds and files."""
        frame: int = 0 if piece.figure is None else getattr(self.figures, piece.figure)
        return frame + (0 if piece.media is None else cost(piece.media, self.figures))

    def frame_in_bytes(self, facts: Facts) -> int:
        """What a message costs beside its texts, where nothing is tokenized: 4 bytes a token, a role being one, and its names."""
        tokens = (self.figures.message + 1 if facts.outline.role else 0) + sum(map(self._frame, facts.pieces))
        return 4 * tokens + sum(size_in_bytes(piece.text) for piece in facts.pieces if piece.kind == "name")

    def system(self, system: Any) -> int:
        """Tokens of the system text that lives outside of the messages."""
        if system is None:
            return 0
        total = self.figures.message + self.tokenizer.count("system")
        if isinstance(system, str):
            return total + self.tokenizer.count(system)
        parts = system
        if readable(system):
            # Gemini's instruction is a message of parts, pydantic-ai's a text under `content`.
            parts = get(system, "parts")
            if parts is None:
                return total + self._system_part(system, "system")
        if not isinstance(parts, (list, tuple)):
            raise FormatError(None, "system", found(system), "a string or a list of texts")
        return total + sum(self._system_part(part, f"system[{k}]") for k, part in enumerate(parts))

    def _system_part(self, part: Any, path: str) -> int:
        """A text, a mapping with one, or a mark of the prompt cache."""
        texts = (part,) if isinstance(part, str) else (get(part, "text"), get(part, "content")) if readable(part) else ()
        text = next((text for text in texts if isinstance(text, str)), None)
        if text is not None:
            return self.tokenizer.count(text)
        if readable(part) and get(part, "cachePoint") is not None:
            return 0
        raise FormatError(None, path, type(part).__name__, "a string or a mapping with text")

    def tools(self, tools: Any) -> int:
        """Tokens of the tools that a request offers: the figures of the OpenAI cookbook."""
        if tools is None:
            return 0
        offered = get(tools, "tools") if readable(tools) else None  # Bedrock has them in a `toolConfig`
        offered = tools if offered is None else offered
        if readable(offered) and first_of(offered, _DECLARATIONS) is not None:
            offered = [offered]  # a tool of Gemini's, which declares several functions, may stand alone
        if not isinstance(offered, (list, tuple)):
            raise FormatError(None, "tools", found(tools), "a list of tools")
        total = sum(self._offered(tool, f"tools[{k}]") for k, tool in enumerate(offered))
        return total + self.figures.tools_end if offered else 0

    def _offered(self, tool: Any, path: str) -> int:
        if not _is_tool(tool):
            raise FormatError(None, path, type(tool).__name__, "a mapping with function, custom, name or type")
        declared = first_of(tool, _DECLARATIONS)  # Gemini declares several functions in one tool
        if declared is None:
            # A mark of Bedrock's prompt cache says nothing.
            return 0 if get(tool, "cachePoint") is not None else self._tool(tool, path)
        functions = declared[1] if isinstance(declared[1], (list, tuple)) else ()
        return sum(self._tool(function, path) for function in functions if readable(function))

    def _tool(self, tool: Any, path: str) -> int:
        inner = next((inner for key in ("function", "custom", "toolSpec") if readable(inner := get(tool, key))), tool)
        key, schema = first_of(inner, _SCHEMAS) or ("", None)
        if key == "inputSchema" and readable(schema) and get(schema, "json") is not None:
            schema = get(schema, "json")  # as Bedrock has it
        total = self.figures.tool + self._described(inner, get(inner, "name"))
        try:
            return total + self._schema(schema, 0, count(1))
        except _TooLargeError:
            raise FormatError(
                None, path, type(tool).__name__, f"a schema of at most {_LARGEST:,} parts, nested at most {_DEEPEST} deep"
            ) from None

    def _described(self, described: Any, *before: Any) -> int:
        """Tokens of ``name:description`` or ``name:type:description``."""
        description = get(described, "description") if readable(described) else None
        words = [word if isinstance(word, str) else "" for word in (*before, description)]
        return self.tokenizer.count(":".join(words).removesuffix("." if words[-1] else ""))

    def _schema(self, schema: Any, depth: int, parts: Iterator[int]) -> int:
        """What a schema costs beside its name and description: its choices, properties, items, variants and definitions."""
        if not readable(schema):
            return 0
        if next(parts) > _LARGEST or depth > _DEEPEST:
            raise _TooLargeError
        total = 0
        choices = get(schema, "enum")
        if isinstance(choices, (list, tuple)) and choices:
            items = sum(self.figures.item + self.tokenizer.count(_choice(item)) for item in choices)
            total += max(0, items - self.figures.enumeration)
        for key in ("properties", "$defs", "definitions"):
            inner = get(schema, key)
            entries = inner.items() if isinstance(inner, Mapping) else ()
            total += self.figures.properties if key == "properties" and entries else 0
            # JSON knows string keys only, and makes them of others.
            for name, each in entries:
                total += self.figures.property + self._described(each, str(name), _kind(each)) + self._schema(each, depth + 1, parts)
        for key in ("anyOf", "oneOf", "allOf"):
            variants = get(schema, key)
            if isinstance(variants, (list, tuple)):
                for each in variants:
                    total += self.figures.property + self._described(each, _kind(each)) + self._schema(each, depth + 1, parts)
        return total + sum(self._schema(get(schema, key), depth + 1, parts) for key in ("items", "additionalProperties"))


def _is_tool(tool: Any) -> bool:
    """Whether a value looks like a tool: anything else would be counted as next to nothing."""
    if not readable(tool):
        return False
    if first_of(tool, ("function", "custom", "name", "type", "toolSpec", *_DECLARATIONS, "cachePoint")) is not None:
        return True
    # A hosted tool of Gemini's: `{"googleSearch": {}}`.
    return isinstance(tool, Mapping) and len(tool) == 1 and all(map(readable, tool.values()))


class _TooLargeError(Exception):
    """A schema is deeper or larger than anybody writes one."""


def _kind(schema: Any) -> Any:
    """The type of a schema, or its types joined by a bar."""
    kind = get(schema, "type") if readable(schema) else None
    if isinstance(kind, (list, tuple)):
        return "|".join(word for word in kind if isinstance(word, str))
    return kind


def _choice(item: Any) -> str:
    """An item of an enumeration as text; empty where it has none."""
    if isinstance(item, str):
        return item
    try:
        return compact(item)
    except ValueError:
        return ""
