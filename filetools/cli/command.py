"""The command line: the table of commands, the shared options, and the exit of the process."""

from __future__ import annotations

import errno
import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final, get_args

import click

from filetools.cli.runner import READING, CommandRunner, SharedOptions
from filetools.cli.terminal import FAILED, INTERRUPTED, STDERR, leave_quietly, print_error, print_refusal, use_terminal
from filetools.distribution import version_line
from filetools.errors import AccessDeniedError, DiskFullError, FileToolsError, InvalidArgumentError
from filetools.models.words import Durability

_NAME: Final = "filetools"

COMMANDS: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    "Try it": {
        "demo": ("demo.play", "Watch many writers change one project, and count lost edits."),
    },
    "Files": {
        "read": ("commands.reading", "Print a file, or some of its lines."),
        "ls": ("commands.reading", "List a folder."),
        "info": ("commands.reading", "Show the metadata of a file or folder."),
        "find": ("commands.searching", "Find files and folders by name."),
        "grep": ("commands.searching", "Find lines in files, and in unsaved text of editors."),
        "write": ("commands.changing", "Create or replace a file."),
        "append": ("commands.changing", "Add to the end of a file; create it if missing."),
        "edit": ("commands.changing", "Replace exact text in a file; every other byte stays as it is."),
        "patch": ("commands.changing", "Apply a patch to any number of files, all or nothing."),
        "rm": ("commands.changing", "Delete files or folders."),
        "mv": ("commands.changing", "Move or rename a file or folder."),
        "cp": ("commands.changing", "Copy a file's bytes and mode."),
        "mkdir": ("commands.changing", "Create a folder and its missing parents."),
    },
    "Changes": {
        "log": ("commands.changes", "Print the newest changes, newest first."),
        "follow": ("commands.changes", "Print changes as they happen, until interrupted."),
        "versions": ("commands.changes", "List the versions that a file has had, newest first."),
        "diff": ("commands.changes", "Show what changed in the whole tree, or in a file."),
        "who": ("commands.changes", "Show who last changed each line of a file."),
        "checkpoint": ("commands.restoring", "Save the state of the whole tree, to restore it later."),
        "checkpoints": ("commands.restoring", "List the checkpoints, oldest first, with time and size."),
        "undo": ("commands.restoring", "Undo changes, all or nothing."),
        "redo": ("commands.restoring", "Revert your last undo or restore."),
        "restore": ("commands.restoring", "Restore the tree, or a part of it, from a checkpoint."),
    },
    "Runs": {
        "run": ("commands.agents", "Run an agent, or any program; report what it changed and how to undo it."),
        "runs": ("commands.agents", "List the runs of agents, newest first, or show one with the files it changed."),
    },
    "Workspace": {
        "init": ("commands.workspace", "Make a folder a root, with a state directory that records its history."),
        "trust": ("commands.workspace", "Show the contents of a state that came with the folder, and accept it."),
        "status": ("commands.workspace", "Show what changed since your last checkpoint, and open approval requests."),
        "sync": ("commands.workspace", "Make the mirror equal to the workspace."),
        "mirror": ("commands.workspace", "List, add or remove the mirrors of the root."),
        "project": ("commands.agents", "Register folders as projects that agents of this root may read."),
        "instances": ("commands.agents", "List the agents and servers that run on this root."),
        "doctor": ("commands.checking", "Check the installation and the root, and suggest remedies."),
    },
    "Tools": {
        "call": ("commands.tools", "Call a tool as an agent does and print its envelope."),
        "tools": ("commands.tools", "List the tools that agents get, or print their definitions for a model."),
        "fd": ("commands.tools", "Read the long tool results that are stored as descriptors."),
        "context": ("commands.tools", "Show the context that agents get about a folder, and its text for a prompt."),
        "history": ("commands.history", "Extract people's messages to their agents from the agents' logs."),
    },
    "Serve programs": {
        "mcp": ("commands.serving", "Serve agents over MCP on standard input and output."),
        "serve": ("commands.serving", "Serve files, tools and changes over HTTP, and MCP at /mcp."),
    },
    "Approvals": {
        "approvals": ("commands.agents", "List the open approval requests of agents."),
        "approve": ("commands.agents", "Allow or deny an approval request."),
    },
}
"""Module and first sentence of each command, by its heading in the help."""


class _FilledPath(click.Path):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(_filled(ctx, param, value), param, ctx)


def _filled(ctx: click.Context | None, param: click.Parameter | None, value: Any) -> Any:
    """Refuse an empty text, as of a variable that is not set: it would name the working folder, or act as the person."""
    if value == "":
        raise click.BadParameter("It is empty.", ctx, param)
    return value


FOLDER: Final = _FilledPath(path_type=Path)
_SHARED: Final = {
    "root": click.option("--root", type=FOLDER, metavar="DIR", help="Root; default: nearest parent with .filetools, or here."),
    "state_dir": click.option("--state-dir", type=FOLDER, metavar="DIR", help="State directory of the root."),
    "mirror": click.option("--mirror", type=FOLDER, metavar="DIR", help="Folder that gets a copy of every change."),
    "durability": click.option(
        "--durability", type=click.Choice(get_args(Durability)), help="commit: changes survive a power cut; relaxed: a crash."
    ),
    "actor": click.option(
        "--actor", metavar="NAME", callback=_filled, help="Act as this agent, with its permissions, not as you."
    ),
    "as_json": click.option("--json", "as_json", is_flag=True, help="Print results and errors as JSON, one per line."),
}  # fmt: skip


class Command(click.Command):
    """A command. An argument `command` is another program's command line; all words from its first one belong to it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words after the command's name."""
        ctx.allow_interspersed_args = all(each.name != "command" for each in self.params)
        return super().parse_args(ctx, args)


class LazyGroup(click.Group):
    """All commands; a command's module is imported when the command is called."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command named by the first word, and the other words."""
        name, found, rest = super().resolve_command(ctx, args)
        return name, None if found is None else load(str(found.name)), rest

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; Ctrl-C ends it silently."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            if STDERR.is_terminal:
                STDERR.print()  # the terminal has shown ^C without a line end
            raise click.exceptions.Exit(INTERRUPTED) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings."""
        for heading, commands in COMMANDS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, sentence) for name, (_, sentence) in commands.items()])


def load(name: str) -> click.Command:
    """Import a command."""
    module = next(commands[name][0] for commands in COMMANDS.values() if name in commands)
    found = getattr(import_module(f"filetools.cli.{module}"), name)
    assert isinstance(found, click.Command)
    return found


def command(
    name: str,
    shared: Sequence[str],
    *,
    examples: Sequence[str],
    group: click.Group | None = None,
    reads: bool = False,
    needs_state: bool = False,
    entry: str = "",
    watch: bool = False,
) -> Callable[[Callable[..., Any]], click.Command]:
    """Turn a function into a command; its first argument is the `CommandRunner`, its docstring the help.

    A coroutine function also receives the files of the command's actor, in the workspace that is open while it runs.

    Args:
        name: Name of the command.
        shared: Names of the fields of `SharedOptions` that it supports.
        examples: Command lines that show how to use it.
        group: The command group that it belongs to.
        reads: True to open the workspace for reading, as with the options of reading, in a dry run, and for a preview.
        needs_state: True if there is nothing to change in a root without state, so that it does not create one.
        entry: Argument with the paths that must exist. If none does, no state is created to report that.
        watch: True to watch for foreign changes while it runs.
    """

    def made(body: Callable[..., Any]) -> click.Command:
        @functools.wraps(body)
        def call(**values: Any) -> None:
            before = click.get_current_context().find_root().params
            if stray := [each for each in ("root", "state_dir") if before.get(each) and each not in shared]:
                raise click.UsageError(f"'{name}' does not take --{stray[0].replace('_', '-')}")
            given = {each: before.get(each) for each in _BEFORE} | {
                each: value for each in shared if (value := values.pop(each))
            }
            options = SharedOptions(**{each: value for each, value in given.items() if value})
            runner = CommandRunner(options)
            changes_nothing = shared == READING or values.get("dry_run") or values.get("preview")
            try:
                if not inspect.iscoroutinefunction(body):
                    body(runner, **values)
                elif reads or changes_nothing or (needs_state and runner.lacks_state):
                    runner.read(lambda files: body(runner, files, **values))
                elif entry and runner.lacks_state and (missing := runner.missing(values[entry])):
                    runner.read(lambda files: runner.refuse_missing(files, missing))
                else:
                    runner.perform(lambda files: body(runner, files, **values), watch=watch)
                sys.stdout.flush()
            except (FileToolsError, PermissionError) as error:
                # Any other PermissionError comes from a folder above the state.
                runner.fail(error if isinstance(error, FileToolsError) else AccessDeniedError(str(error.filename)))
                runner.end()
            except ModuleNotFoundError as error:  # an extra is not installed
                print_refusal(str(error), None)
                raise click.exceptions.Exit(FAILED) from error
            except BrokenPipeError:
                leave_quietly()
            except OSError as error:  # a full disk; errors of the workspace's files are FileToolsErrors
                if error.errno != errno.ENOSPC:
                    raise
                print_refusal("Cannot write the output: no space left on device", None, code=f" {DiskFullError.code}")
                leave_quietly(FAILED)

        function: Callable[..., None] = call
        for each in reversed(shared):
            function = _SHARED[each](function)
        epilog = "\n".join(("\b", "Examples:", *(f"  {each}" for each in examples)))
        found = click.command(name, cls=Command, epilog=epilog)(function)
        if group is not None:
            group.add_command(found)
        return found

    return made


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(version_line())
        ctx.exit()


_BEFORE: Final = ("root", "state_dir", "actor", "as_json")
"""Shared options that are also allowed before the command."""


@click.group(
    _NAME,
    cls=LazyGroup,
    commands={
        name: click.Command(name, short_help=sentence)
        for commands in COMMANDS.values()
        for name, (_, sentence) in commands.items()
    },
    epilog=f"'{_NAME} COMMAND --help' shows the options and examples of a command.",
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True, "max_content_width": 100},
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Print the version."
)
@_SHARED["root"]
@_SHARED["state_dir"]
@_SHARED["actor"]
@_SHARED["as_json"]
def cli(**_: object) -> None:
    """File tools for AI agents and editors: one tree, many writers, nothing lost."""  # fmt: skip


def main() -> None:
    """Run the command line with the arguments of the process; ends the process with its exit code."""
    use_terminal()
    try:
        code = cli.main(prog_name=_NAME, standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        code = error.exit_code
    except click.ClickException as error:
        print_error(_usage_error(error), as_json=_wants_json(sys.argv[1:]))
        code = error.exit_code
    except click.Abort as error:
        STDERR.print("aborted")
        # Ctrl-C before a command has begun, or end of input at a question.
        code = INTERRUPTED if isinstance(error.__cause__, KeyboardInterrupt) else FAILED
    sys.exit(code if isinstance(code, int) else 0)


def _usage_error(error: click.ClickException) -> InvalidArgumentError:
    """Convert a usage error; the hint names the most similar command or option, and the usage."""
    meant = getattr(error, "possibilities", None)
    sentence = (error.message if meant else error.format_message()).removeprefix("Invalid value: ").rstrip(".")
    hints = [f"Did you mean {', '.join(map(repr, meant))}?"] if meant else []
    if isinstance(error, click.UsageError) and error.ctx is not None:
        hints.append(f"{' '.join(error.ctx.get_usage().split())}; '{error.ctx.command_path} -h' explains it.")
    return InvalidArgumentError(
        sentence[:1].upper() + sentence[1:], suggested_action=" ".join(hints) or f"'{_NAME} -h' lists the commands."
    )


def _wants_json(arguments: Sequence[str]) -> bool:
    """Return True if a command line that could not be parsed has --json; words after -- belong to another program."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return "--json" in arguments[:end]
