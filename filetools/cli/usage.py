"""How a command line is run to its end; wrong usage is told as every other failure is: a sentence and a hint, or JSON."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

import typer

from filetools.cli.exit_codes import FAILED
from filetools.cli.terminal import STDERR, print_error
from filetools.errors import InvalidArgumentError

_MEANT: Final = re.compile(r" ?(?:Did you mean (?P<commands>.+)\?|\(Possible options: (?P<options>.+)\))$")
_OF_NO_PARAMETER: Final = "Invalid value: "
_OF_A_VALIDATOR: Final = "Value error, "
_PAGE: Final = "'filetools -h' lists the commands."


def run(application: Callable[..., Any]) -> NoReturn:
    """Run the command line of the process, and end it with the exit code of the command."""
    try:
        code = application(prog_name="filetools", standalone_mode=False)
    except typer.TyperException as error:
        if error.format_message():  # without one it was the page of help
            print_error(usage_error(error), as_json=wants_json(sys.argv[1:]))
        code = error.exit_code
    except typer.Abort:
        STDERR.print("aborted")
        code = FAILED
    sys.exit(code if isinstance(code, int) else 0)


def usage_error(error: typer.TyperException) -> InvalidArgumentError:
    """Return what a command line was refused for, with the nearest name and the usage of its command as the hint."""
    sentence = error.format_message().removeprefix(_OF_NO_PARAMETER).replace(_OF_A_VALIDATOR, "")
    meant = _MEANT.search(sentence)
    hints = []
    if meant is not None:
        sentence = sentence[: meant.start()]
        hints.append(f"Did you mean {meant['commands'] or _quoted(meant['options'])}?")
    context = getattr(error, "ctx", None)
    if context is not None:
        hints.append(f"{' '.join(context.get_usage().split())}; '{context.command_path} -h' explains it.")
    sentence = sentence.rstrip(".")
    return InvalidArgumentError(sentence[:1].upper() + sentence[1:], suggested_action=" ".join(hints) or _PAGE)


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether a command line that could not be read asks for JSON; what follows -- is another program's."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return "--json" in arguments[:end]


def _quoted(options: str) -> str:
    return ", ".join(repr(option) for option in options.split(", "))
