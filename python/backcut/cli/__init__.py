"""The command line: ``backcut trim|count|check|explain [FILE] [options]``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from .errors import CommandError, say
from .options import add_options

__all__ = ["main"]

_ENDS = """exit codes:
  0  done
  1  check found violations
  2  bad usage, input or output
  3  the budget cannot be met; nothing was written
"""

_INPUT = """FILE holds a JSON array of messages, a request body with "messages", or
JSONL with one of these a line; without FILE, or with -, it is read from standard input.

"""


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: object, values: object, option_string: str | None = None) -> None:
        from .. import __version__

        print(f"backcut {__version__}")
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    how: dict[str, Any] = {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False, "epilog": _ENDS}
    parser = argparse.ArgumentParser(prog="backcut", description="Keeps an LLM conversation inside a context window.", **how)
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and leave")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, does: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=does, description=f"{does[0].upper()}{does[1:]}.\n\n{_INPUT}", **how)
        made.add_argument("file", nargs="?", metavar="FILE", help="what to read (default: standard input)")
        made.add_argument("-o", "--output", metavar="FILE", help="write here instead of standard output; may be the input itself")
        return made

    trim = command("trim", "cut conversations down to what fits")
    trim.add_argument("--report", choices=("text", "json", "none"), default="text", help="what to say on standard error (default: text)")
    add_options(trim)
    count = command("count", "count the tokens of conversations, by message and by role")
    count.add_argument("--text", action="store_true", help="the input is plain text, not a conversation")
    add_options(count, "model", "tokenizer", "format")
    check = command("check", "list what a provider would refuse")
    add_options(check, "format")
    explain = command("explain", "show message by message what trim would do, and why")
    add_options(explain)
    for table in (count, check, explain):
        table.add_argument("--json", action="store_true", help="JSON instead of a table; for JSONL one object a line")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        argv: the arguments, without the program's name; those of the process if ``None``.

    Returns:
        The exit code.
    """
    try:
        arguments = _parser().parse_args(argv)
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
