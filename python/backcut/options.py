"""Every option of a window: its default, its bounds and its sentence, once.

The table is the class :class:`Options`. ``context_window`` repeats the names so that editors see them, and
:class:`WindowOptions` the types of what may be given; a test holds the three together.
"""

from __future__ import annotations

import operator
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, Self, SupportsIndex, TypedDict, TypeVar, overload

from .errors import OptionError, nearest
from .middleware import is_async
from .report import TrimReport
from .tokens import TokenizerLike, choose, named

if TYPE_CHECKING:
    from .figures import Figures, FiguresLike

__all__ = ["DEFAULT_NOTICE", "TABLE", "Option", "Options", "WindowOptions", "check_format", "check_model"]

DEFAULT_NOTICE = "[…previous history omitted to fit the window…]"
"""What stands for the messages that were cut, unless ``notice`` says otherwise."""

FORMATS = (
    "auto",
    "openai-chat",
    "openai-responses",
    "anthropic",
    "gemini",
    "bedrock",
    "pi",
    "langchain",
    "pydantic-ai",
)
"""The wire formats, and ``auto``, which tells one from the shape of the messages: ``docs/formats/index.md``."""

_T = TypeVar("_T")


class WindowOptions(TypedDict, total=False):
    """What ``context_window`` and ``trim`` take, for type checkers."""

    max_turns: SupportsIndex | None
    max_chars: SupportsIndex | None
    max_tokens: SupportsIndex | None
    max_chars_per_tool: SupportsIndex | None
    reserve_tokens: SupportsIndex
    tokenizer: TokenizerLike | None
    model: str | None
    figures: FiguresLike | None
    format: str
    start: Literal["user", "any"]
    notice: str | Literal[False] | None
    notice_role: Literal["auto", "system", "user"]
    tool_keep: Literal["head", "tail", "head_tail"]
    trim_to: float | None
    on_overflow: Literal["raise", "keep"]
    thinking: Literal["keep", "strip"]
    compat: Literal["thena"] | None
    warn_index_failure: str | Literal[False] | None
    on_report: Callable[[TrimReport], object] | None


class Option(Generic[_T]):
    """One row of the table, and the attribute by which it is read."""

    __slots__ = ("check", "default", "name")

    def __init__(self, default: _T, check: Callable[[str, Any], _T]) -> None:
        self.name = ""
        self.default = default
        self.check = check

    def __set_name__(self, owner: type, name: str) -> None:
        """The row takes the name of the attribute."""
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: Options, owner: type) -> _T: ...
    def __get__(self, instance: Options | None, owner: type) -> Self | _T:
        """The option's value in ``instance``; read on the class, the row itself."""
        if instance is None:
            return self
        value: _T = instance._values[self.name]
        return value


# The checks: the option's name and what was given in, what is kept out.


def _whole(low: int, value: object) -> int | None:
    """``value`` as a plain ``int`` of at least ``low``; ``None`` if it is anything else."""
    if isinstance(value, bool):
        return None
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None
    return number if number >= low else None


def _ceiling(name: str, value: object) -> int | None:
    number = _whole(1, value)
    if number is None and value is not None:
        raise OptionError(name, value, "must be an integer of at least 1, or None for no ceiling")
    return number


def _ceiling_or_zero(name: str, value: object) -> int | None:
    number = _whole(0, value)
    if number is None and value is not None:
        raise OptionError(name, value, 'must be an integer of at least 0 (compat="thena"), or None for no ceiling')
    return number


def _reserve(name: str, value: object) -> int:
    number = _whole(0, value)
    if number is None:
        raise OptionError(name, value, "must be an integer of at least 0")
    return number


def _share(name: str, value: Any) -> float | None:
    if value is None:
        return None
    real = isinstance(value, float)
    if not real:
        import numbers  # floats of other houses (numpy, fractions) are registered there

        real = isinstance(value, numbers.Real)
    # Once as it is and once as the engine will see it: a fraction may be too large for a float, or round to 1.
    if not real or not 0 < value < 1 or not 0 < float(value) < 1:
        raise OptionError(name, value, "must be a real number above 0 and below 1, or None")
    return float(value)


def _choice(*choices: str) -> Callable[[str, object], str]:
    return lambda name, value: _pick(name, value, choices)


def _pick(name: str, value: object, choices: tuple[str, ...]) -> str:
    """The one of ``choices`` that ``value`` is."""
    if isinstance(value, str):
        for choice in choices:
            if value == choice:
                return choice
    raise OptionError(name, value, f"must be {_either(choices)}{_meant(value, choices)}")


def _format(name: str, value: object) -> str:
    return _pick(name, value, FORMATS)


def _compat(name: str, value: object) -> str | None:
    return None if value is None else _pick(name, value, ("thena",))


def _notice(name: str, value: object) -> str | Literal[False]:
    if value is None:
        return DEFAULT_NOTICE
    if value is False:
        return False
    if isinstance(value, str) and not any("\ud800" <= sign <= "\udfff" for sign in value):
        return value
    raise OptionError(name, value, "must be a text (that UTF-8 can encode), False to cut silently, or None for the default text")


def _tokenizer(name: str, value: Any) -> TokenizerLike | None:
    return named(value)


def _model(name: str, value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise OptionError(name, value, "must be the name of a model, or None")


def _figures(name: str, value: object) -> Any:
    from .figures import check  # a dataclass, and those take longer to import than all else: only for whoever asks

    return check(value)


def _callback(name: str, value: Any) -> Callable[[TrimReport], object] | None:
    if value is None:
        return None
    if not callable(value):
        raise OptionError(name, value, "must be a function that takes a TrimReport, or None")
    if is_async(value):
        raise OptionError(name, value, "must be a plain function, not a coroutine function: nobody would await it")
    return value  # type: ignore[no-any-return]


class Options:
    """A checked set of options: frozen, comparable, hashable; unnamed ones have their default."""

    __slots__ = ("_values",)
    _values: dict[str, Any]

    max_turns = Option(None, _ceiling)
    max_chars = Option(None, _ceiling)
    max_tokens = Option(None, _ceiling)
    max_chars_per_tool = Option(None, _ceiling)
    reserve_tokens = Option(0, _reserve)
    tokenizer = Option(None, _tokenizer)
    model = Option(None, _model)
    figures: Option[Figures | None] = Option(None, _figures)
    format = Option("auto", _format)
    start = Option("user", _choice("user", "any"))
    notice: Option[str | Literal[False]] = Option(DEFAULT_NOTICE, _notice)
    notice_role = Option("auto", _choice("auto", "system", "user"))
    tool_keep = Option("head", _choice("head", "tail", "head_tail"))
    trim_to = Option(None, _share)
    on_overflow = Option("raise", _choice("raise", "keep"))
    thinking = Option("keep", _choice("keep", "strip"))
    compat = Option(None, _compat)
    on_report = Option(None, _callback)

    def __init__(self, **given: Any) -> None:
        object.__setattr__(self, "_values", _checked(given))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refused."""
        raise AttributeError(f"{type(self).__name__} is frozen: make another one to change {name}")

    def __delattr__(self, name: str) -> NoReturn:
        """Refused."""
        raise AttributeError(f"{type(self).__name__} is frozen: {name} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        """Whether both have the same options."""
        if type(other) is not type(self):
            return NotImplemented
        return self._values == other._values

    def __hash__(self) -> int:
        """By all options but the two that hold objects of the caller's, which need not be hashable."""
        return hash(tuple(value for name, value in self._values.items() if name not in ("tokenizer", "on_report")))

    def __repr__(self) -> str:
        """The options that have not their default."""
        shown = ", ".join(f"{name}={value!r}" for name, value in self.changed().items())
        return f"{type(self).__name__}({shown})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles as its options."""
        return _restore, (type(self), self.changed())

    def changed(self) -> dict[str, Any]:
        """The options that have not their default, as a new ``dict``: enough to make an equal value."""
        return {name: value for name, value in self._values.items() if not _is_default(name, value)}


def _restore(kind: type[Options], given: Mapping[str, Any]) -> Options:
    return kind(**given)


TABLE: dict[str, Option[Any]] = {name: row for name, row in vars(Options).items() if isinstance(row, Option)}
"""Every option by name, in the order in which they are documented."""

_DEFAULTS: dict[str, Any] = {name: row.default for name, row in TABLE.items()}

# What contextWindow() of ThenaJS has, with its own bounds where it has its own.
_THENA: dict[str, Callable[[str, Any], Any]] = {
    "max_turns": _ceiling_or_zero,
    "max_chars": _ceiling_or_zero,
    "max_chars_per_tool": _ceiling_or_zero,
    **{name: TABLE[name].check for name in ("notice", "format", "compat", "on_report")},
}


def check_format(value: object) -> str:
    """``value`` if it is a format that is there; an :class:`OptionError` else."""
    return _format("format", value)


def check_model(value: object) -> str | None:
    """``value`` if it can be the name of a model; an :class:`OptionError` else."""
    return _model("model", value)


def _checked(given: Mapping[str, object]) -> dict[str, Any]:
    """All options with their value, the given ones checked."""
    values = dict(_DEFAULTS)
    thena = _compat("compat", given.get("compat")) == "thena"
    for name, value in _without_alias(given).items():
        row = TABLE.get(name)
        if row is None:
            raise OptionError(name, value, f"unknown option{_meant(name, TABLE)}")
        if value is not row.default:
            check = _THENA.get(name, row.check) if thena else row.check
            values[name] = check(name, value)
    if thena:
        for name, value in values.items():
            if name not in _THENA and not _is_default(name, value):
                raise OptionError(name, value, f'the original has no such option (compat="thena" has {", ".join(_THENA)})')
        if values["format"] not in ("auto", "openai-chat"):
            raise OptionError("compat", "thena", f"is for openai-chat, not for {values['format']}")
    _check_together(values)
    overrides = values["figures"]
    if isinstance(overrides, dict):
        from .figures import resolve

        # Whole figures can be compared, hashed and pickled, and mean the same wherever they are read.
        values["figures"] = resolve(overrides, values["model"], choose(values["tokenizer"], values["model"]).name)
    return values


def _without_alias(given: Mapping[str, object]) -> Mapping[str, object]:
    """The options with ``warn_index_failure`` read as what it is, the old name of ``notice``."""
    if "warn_index_failure" not in given:
        return given
    rest = dict(given)
    alias = rest.pop("warn_index_failure")
    if alias is not None:
        _notice("warn_index_failure", alias)
        _warn("warn_index_failure is deprecated: it is called notice now")
        if rest.get("notice") is None:
            rest["notice"] = alias
    return rest


def _check_together(values: Mapping[str, Any]) -> None:
    """What one option asks of another."""
    reserve, limit = values["reserve_tokens"], values["max_tokens"]
    if reserve and limit is None:
        raise OptionError("reserve_tokens", reserve, "is a part of max_tokens, which is not given")
    if reserve and reserve >= limit:
        raise OptionError("reserve_tokens", reserve, f"must be below max_tokens, which is {limit}")
    if values["trim_to"] is not None and all(values[name] is None for name in ("max_turns", "max_chars", "max_tokens")):
        raise OptionError("trim_to", values["trim_to"], "is a share of a ceiling: give max_turns, max_chars or max_tokens too")


def _is_default(name: str, value: object) -> bool:
    default = _DEFAULTS[name]
    # The type too: False is no 0, and a caller's object may call itself equal to anything.
    return value is default or (type(value) is type(default) and value == default)


def _warn(text: str) -> None:
    """Warns at the first line outside of this package, however deep inside it the caller is."""
    package = __name__.partition(".")[0]
    depth, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        depth, frame = depth + 1, frame.f_back
    warnings.warn(text, DeprecationWarning, stacklevel=depth)


def _either(choices: tuple[str, ...]) -> str:
    *rest, last = map(repr, choices)
    return f"{', '.join(rest)} or {last}" if rest else last


def _meant(value: object, known: Mapping[str, object] | tuple[str, ...]) -> str:
    near = nearest(value, known) if isinstance(value, str) else []
    return f"; did you mean {near[0]}?" if near else ""
