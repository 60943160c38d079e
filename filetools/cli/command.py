"""Making a command of a function: its own parameters, and the shared options it asks for, without repeating them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Concatenate, Final, ParamSpec, get_type_hints

import typer

from filetools.cli.desk import Desk, SharedOptions
from filetools.cli.exit_codes import exit_code_of
from filetools.cli.help_page import PagedCommand
from filetools.cli.terminal import leave_quietly, print_error
from filetools.errors import FileToolsError

P = ParamSpec("P")
Body = Callable[Concatenate[Desk, P], None]

_HINTS: Final = get_type_hints(SharedOptions, include_extras=True)
_DEFAULTS: Final = {field.name: field.default for field in fields(SharedOptions)}
BEFORE_COMMANDS: Final = ("root", "state_dir", "actor", "as_json")
_CONTEXT: Final = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)


def workspace_command(
    app: typer.Typer, shared: Sequence[str], *, name: str | None = None, panel: str, examples: Sequence[str]
) -> Callable[[Body[P]], Body[P]]:
    """Register a function as a command; its first argument is the `Desk`, its docstring the help.

    Args:
        app: Where it belongs.
        shared: Names of the fields of `SharedOptions` that it understands.
        name: Name of the command, if not that of the function.
        panel: Heading under which the help lists it.
        examples: Command lines that show how to use it.
    """

    def register(body: Body[P]) -> Body[P]:
        own = list(inspect.signature(body, eval_str=True).parameters.values())[1:]
        parameters = [*own, *(_parameter(option) for option in shared), _CONTEXT]

        def command(**values: Any) -> None:
            before: typer.Context = values.pop(_CONTEXT.name).find_root()
            options = _options(before.params, {option: values.pop(option) for option in shared})
            try:
                _run(body, options, values)
                sys.stdout.flush()
            except BrokenPipeError:
                leave_quietly()

        command.__name__ = body.__name__
        command.__doc__ = inspect.getdoc(body)
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # PEP 362 reads it
            [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
        )
        app.command(name=name, cls=PagedCommand, rich_help_panel=panel, epilog="\n".join(examples))(command)
        return body

    return register


def shared_before_commands(function: Callable[..., None]) -> Callable[..., None]:
    """Let the application itself take the shared options `BEFORE_COMMANDS`, which are given before a command then."""

    def start(**values: Any) -> None:
        function(**{name: value for name, value in values.items() if name not in BEFORE_COMMANDS})

    own = list(inspect.signature(function, eval_str=True).parameters.values())
    parameters = [*(_parameter(option) for option in BEFORE_COMMANDS), *own]
    start.__doc__ = inspect.getdoc(function)
    start.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    start.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # PEP 362 reads it
        [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    )
    return start


def _options(before: Mapping[str, Any], after: Mapping[str, Any]) -> SharedOptions:
    """Return the shared options of a command: what stands after its name counts more than what stands before."""
    given = {name: value for name, value in before.items() if name in BEFORE_COMMANDS}
    return SharedOptions(**given | {name: value for name, value in after.items() if value != _DEFAULTS[name]})


def _run(body: Callable[..., None], options: SharedOptions, values: dict[str, Any]) -> None:
    try:
        body(Desk(options), **values)
    except FileToolsError as error:
        print_error(error, as_json=options.as_json)
        raise typer.Exit(exit_code_of(error)) from error


def _parameter(option: str) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(option, kind, default=_DEFAULTS[option], annotation=_HINTS[option])
