"""The command line: ``backcut trim|count|check|repair|explain [FILE] [options]``."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NoReturn

from .errors import CommandError, say
from .options import add_options, text, whole

__all__ = ["main"]

_ENDS = {
    "0": "done",
    "1": "violations were found by check; pending_call alone is 0",
    "2": "bad usage, input or output",
    "3": "the budget cannot be met (trim writes nothing then, explain its table)",
    "130": "interrupted, by Ctrl-C or SIGTERM",
    "141": "whoever read standard output has gone",
}
"""Exit codes, and what each says."""

_NOT = {"trim": "1", "count": "1 3", "check": "3", "repair": "1 3", "explain": "1"}
"""Exit codes that a command never has."""

_INPUT = """FILE holds a JSON array of messages, a request body with one under "messages",
"input" or "contents", or JSONL with one of these a line; with --format pi also a
log of one entry a line. Without FILE, or with -, it is read from standard input.

"""

_TEXT = """Of several FILEs each is counted, and their total. What is not named .json, .jsonl or
.ndjson, and does not begin with [ or {, is counted as plain text, which is said on
standard error; --text takes everything for plain text.

"""


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: object, values: object, option_string: str | None = None) -> None:
        from .. import __version__

        print(f"backcut {__version__}")
        parser.exit()


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the usage that would hide it."""

    def error(self, message: str) -> NoReturn:
        say(f"backcut: error: {message} (see {self.prog} --help)")
        raise SystemExit(2)


def _ends(command: str = "") -> str:
    never = _NOT.get(command, "").split()
    return "exit codes:\n" + "".join(f"  {code:3}  {meaning}\n" for code, meaning in _ENDS.items() if code not in never)


def _parsers() -> tuple[_Parser, Mapping[str, _Parser]]:
    """The parser, and those of the commands."""
    how: dict[str, Any] = {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}
    parser = _Parser(prog="backcut", description="Keeps an LLM conversation inside a context window.", epilog=_ends(), **how)
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and leave")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, does: str) -> _Parser:
        many = name == "count"
        about = f"{does[0].upper()}{does[1:]}.\n\n{_INPUT}{_TEXT if many else ''}"
        made = commands.add_parser(name, help=does, description=about, epilog=_ends(name), **how)
        made.add_argument("file", nargs="*" if many else "?", metavar="FILE", help="what to read (default: standard input)")
        made.add_argument("-o", "--output", metavar="FILE", help="write here instead of standard output; may be the input itself")
        made.add_argument(
            "--key", type=text, metavar="NAME", help="where the messages stand in a request body (default: messages, input or contents)"
        )
        return made

    trim = command("trim", "cut conversations down to what fits")
    trim.add_argument("--workers", type=whole, metavar="N", help="threads for JSONL (default: one a core)")
    trim.add_argument(
        "--on-error",
        choices=("raise", "skip", "keep"),
        default="raise",
        help="a line of JSONL that cannot be trimmed: ends it all, is left out, or stays as it is (default: raise)",
    )
    add_options(trim)
    count = command("count", "count the tokens of conversations, by message and by role, or of plain text")
    count.add_argument("--text", action="store_true", help="the input is plain text, not a conversation")
    add_options(count, "model", "tokenizer", "figures", "format")
    check = command("check", "list what a provider would refuse")
    add_options(check, "format")
    repair = command("repair", "mend what a provider would refuse, with the least change")
    add_options(repair, "format")
    explain = command("explain", "show message by message what trim would do, and why")
    add_options(explain)
    for writer in (trim, repair):
        writer.add_argument(
            "--report", choices=("text", "json", "none"), default="text", help="what to say on standard error (default: text)"
        )
    for table in (count, check, explain):
        table.add_argument("--json", action="store_true", help="JSON instead of a table; for JSONL one object a line")
    return parser, commands.choices


def _parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    parser, commands = _parsers()
    arguments, unknown = parser.parse_known_args(argv)
    if arguments.command == "count" and not any(word.startswith("-") for word in unknown):
        arguments.file += unknown  # FILEs behind an option that stands between them
    elif unknown:
        _refuse(commands[arguments.command], unknown)
    return arguments


def _refuse(command: _Parser, unknown: Sequence[str]) -> NoReturn:
    options = [word.partition("=")[0] for word in unknown if word.startswith("-")]
    if not options:
        command.error(f"unrecognized arguments: {' '.join(unknown)}")
    # Without its option, a value would be taken for FILE and FILE for one too many: they are not what is wrong.
    from ..errors import nearest

    near = nearest(options[0], re.findall(r"(?<!\S)--[a-z-]+", command.format_help()))
    meant = f"; did you mean {' or '.join(near)}?" if near else ""
    command.error(f"unrecognized arguments: {' '.join(options)}{meant}")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        argv: the arguments, without the program's name; those of the process if ``None``.

    Returns:
        The exit code.
    """
    if argv is None:  # a process of its own: whoever asks it to end gets the same tidy end as Ctrl-C
        import signal

        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        arguments = _parsed(argv)
        run = import_module(f".{arguments.command}", __name__).run
        return int(run(arguments))
    except SystemExit as end:  # argparse has said it already
        return end.code if isinstance(end.code, int) else 0
    except CommandError as failure:
        say(f"backcut: error: {failure}")
        return failure.code
    except ImportError as error:  # no engine, or nothing to count tokens with: the sentence says what to install
        say(f"backcut: error: {error}")
        return 2
    except KeyboardInterrupt:
        say("backcut: interrupted")
        return 130
    except BrokenPipeError:  # whoever read standard output has had enough: what the shell reports for SIGPIPE
        return 141
