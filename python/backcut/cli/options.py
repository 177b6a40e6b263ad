"""The options of the API as options of the command line, from one table."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..options import FORMATS
from .errors import CommandError

if TYPE_CHECKING:
    from ..errors import OptionError
    from ..window import ContextWindow

__all__ = ["add_options", "given", "in_words", "make_window", "reading", "text", "whole"]


def text(value: str) -> str:
    """An argument that is a text."""
    try:
        value.encode()
    except UnicodeEncodeError:  # bytes of the command line that are no UTF-8
        raise argparse.ArgumentTypeError("expected UTF-8") from None
    return value


def whole(value: str) -> int:
    """An argument that is a whole number."""
    try:
        return int(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a whole number, found {value!r}") from None


def _number(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number, found {value!r}") from None


def _figure(value: str) -> tuple[str, int]:
    name, sign, number = text(value).partition("=")
    if not sign:
        raise argparse.ArgumentTypeError(f"expected NAME=N, found {value!r}")
    return name.strip().replace("-", "_"), whole(number)


class _Option(NamedTuple):
    name: str
    kind: Callable[[str], Any]
    shown: str
    help: str
    choices: tuple[str, ...] | None = None
    flag: str = ""
    """Its name on the command line, where that is another; it may be given more than once then."""


_OPTIONS = (
    _Option("max_turns", whole, "N", "most messages to keep behind the system prompt"),
    _Option("max_chars", whole, "N", "most characters to keep behind the system prompt"),
    _Option("max_tokens", whole, "N", "most tokens of the whole request, system prompt and tools included"),
    _Option("max_chars_per_tool", whole, "N", "most characters of one tool result; a longer one is cut"),
    _Option("reserve_tokens", whole, "N", "tokens of --max-tokens to keep free for the reply"),
    _Option("model", text, "NAME", "count tokens as this model does"),
    _Option("tokenizer", text, "NAME", "count by this encoding, estimate or tokenizer.json (default: o200k_base)"),
    _Option("figures", _figure, "NAME=N", "count N tokens for this, such as image=1000; may be given again", flag="--figure"),
    _Option("format", text, "NAME", f"wire format of the messages: {', '.join(FORMATS)} (default: auto)"),
    _Option("start", str, "", "what the kept messages may begin with (default: user)", ("user", "any")),
    _Option("notice", text, "TEXT", "text that stands for what was cut"),
    _Option("notice_role", str, "", "who says the notice (default: auto)", ("auto", "system", "user")),
    _Option("tool_keep", str, "", "which end of a long tool result stays (default: head)", ("head", "tail", "head_tail")),
    _Option("trim_to", _number, "F", "cut down to this part of the ceiling (0 < F < 1), so that the cut moves seldom"),
    _Option("on_overflow", str, "", "when not even the newest messages fit (default: raise)", ("raise", "keep")),
    _Option("thinking", str, "", "signed thinking of kept messages after a cut (default: keep)", ("keep", "strip")),
    _Option("compat", text, "NAME", "behave like another library: thena"),
)


_NAMES = "|".join(option.name for option in _OPTIONS)
_GIVEN = re.compile(rf'\b({_NAMES})=(?:"([^"]*)"|(\w+))')
_NAMED = re.compile(rf"\b(?=\w+_)({_NAMES})\b")
"""Names that are words too (``format``) are not taken for options."""


def _spelled(option: str) -> str:
    """The name of an option of the API as it is on the command line."""
    flag = next((each.flag for each in _OPTIONS if each.name == option), "")
    return flag or "--" + option.replace("_", "-")


def in_words(error: OptionError) -> str:
    """What ``error`` says, as it would be said of the command line."""
    from ..tokens import WAY_OUT

    said = error.allowed.replace(WAY_OUT, " For any other model --tokenizer o200k_base counts roughly.")
    said = re.sub(r", or None\b.*|, on_report\b", "", said)  # an option that is not given, and one that cannot be
    said = _GIVEN.sub(lambda found: f"{_spelled(found[1])} {found[2] or found[3]}", said)
    said = _NAMED.sub(lambda found: _spelled(found[1]), said)
    return f"{_spelled(error.option)} {error.value}: {said}"


def add_options(parser: argparse.ArgumentParser, *names: str) -> None:
    """Adds the options of these names; all of a window without any."""
    group = parser.add_argument_group("options of the window" if not names else "how to read")
    for option in _OPTIONS:
        if names and option.name not in names:
            continue
        home = group.add_mutually_exclusive_group() if option.name == "notice" else group
        home.add_argument(
            _spelled(option.name),
            dest=option.name,
            action="append" if option.flag else "store",
            type=option.kind,
            metavar=option.shown or None,
            choices=option.choices,
            default=argparse.SUPPRESS,
            help=option.help,
        )
        if option.name == "notice":
            home.add_argument(
                "--no-notice", dest="notice", action="store_const", const=False, default=argparse.SUPPRESS, help="cut without a word"
            )


def given(arguments: argparse.Namespace, *names: str) -> dict[str, Any]:
    """The options of the API that were given on the command line; of these names only, if there are any."""
    known = vars(arguments)
    found = {option.name: known[option.name] for option in _OPTIONS if option.name in known and (not names or option.name in names)}
    if "figures" in found:
        found["figures"] = dict(found["figures"])
    return found


def reading(arguments: argparse.Namespace) -> dict[str, Any]:
    """How the input is read: pi writes its sessions down one entry a line."""
    return {"key": arguments.key, "log": getattr(arguments, "format", "") == "pi"}


def make_window(options: dict[str, Any]) -> ContextWindow:
    """A window with these options."""
    from .. import OptionError, context_window

    try:
        return context_window(**options)
    except OptionError as error:
        raise CommandError(in_words(error)) from error
