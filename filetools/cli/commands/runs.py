"""Commands for executions of agents: `run`, `runs`."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.filesize import decimal
from rich.text import Text

from filetools.cli import suggestions
from filetools.cli.child import refuse_child, run_attached
from filetools.cli.command import workspace_command
from filetools.cli.desk import CHANGING, READING, Desk
from filetools.cli.records import moment
from filetools.cli.terminal import STDERR, fact_table, print_error, print_line, print_note, print_table, printable
from filetools.cli.tree_changes import MOST_LISTED, WIDEST_PATH
from filetools.errors import FileToolsError

if TYPE_CHECKING:
    from filetools.facade.facade import FileToolsFacade

_PANEL: Final = "Runs"
_LISTED: Final = 60
"""Characters of a command where many are listed."""
_KEPT: Final = 1000
"""Characters of a command that are kept."""
_CANCELLED: Final = (129, 130, 131, 143)
"""Exit codes of what SIGHUP, SIGINT, SIGQUIT or SIGTERM has ended."""
_STYLES: Final = {"created": "green", "modified": "", "deleted": "red"}
_REASONS: Final = {
    "folder": "in its output folder",
    "call": "named by a tool call",
    "alone": "while no other run was alive",
}
"""Why a change by a program that knows nothing of filetools counts as the run's."""


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    workspace_command(
        app, CHANGING, panel=_PANEL,
        examples=("filetools run -- claude -p 'write a report'", "filetools run --output-dir build --json -- make"),
    )(run)  # fmt: skip
    workspace_command(app, READING, panel=_PANEL, examples=("filetools runs", "filetools runs run-1a208eb102b5ff5"))(
        runs
    )


def run(
    desk: Desk,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="-- COMMAND", help="The program and its arguments.")
    ] = None,
    *,
    session: Annotated[
        str | None, typer.Option(metavar="ID", help="Session of what it does; else the id of the run.")
    ] = None,
    output_dir: Annotated[
        list[str] | None,
        typer.Option(metavar="DIR", help="Where it is told to write; repeatable, {run} is the id. [claudedocs]"),
    ] = None,
    checkpoint: Annotated[bool, typer.Option(help="Keep the state of before as a checkpoint, or do not.")] = True,
) -> None:
    """Run an agent, or any program; tell what it created, modified and deleted, and how to take it back.

    Input, output and exit code are the program's own (127: there is none of that name); what it did is told on standard
    error, or with --json as one line after its output.

    What it does through filetools is the run's, since FILETOOLS_SESSION in its environment names the session. What it
    changes past filetools counts if it lies in an output folder that no other run shares, or if no other run is alive.
    """
    if not command:
        raise typer.BadParameter("a command stands after --")
    program = command[0].rpartition("/")[2][:_LISTED]
    folders = [desk.path(each) for each in output_dir or ("claudedocs",)]

    async def work(files: FileToolsFacade) -> dict[str, Any] | None:
        from filetools.settings import environment_of_run

        line = shlex.join(command).encode(errors="backslashreplace").decode()[:_KEPT]
        begun = await files.runs.begin(command=line, session=session, outputs=folders, checkpoint=checkpoint)
        try:
            code = await run_attached(command, environment=environment_of_run(begun.session))
        except OSError as error:
            code = refuse_child(command, error)
        desk.note_failure(code)
        status: Any = "completed" if code == 0 else "cancelled" if code in _CANCELLED else "failed"
        try:
            with _without_warning():
                told = await files.runs.finish(begun.id, status=status, exit_code=code)
            return {"run": (await files.runs.get(begun.id)).to_dict(), **told}
        except FileToolsError as error:
            print_error(error, as_json=desk.options.as_json)  # the exit code stays the program's
            return None

    desk.perform(work, lambda told: _show_end(told, program), watch=True)


def runs(
    desk: Desk,
    run_id: Annotated[
        str | None, typer.Argument(metavar="ID", help="One run, with its files.", autocompletion=suggestions.runs)
    ] = None,
) -> None:
    """List the runs of agents, newest first, or show one with what it has created, modified and deleted."""

    async def work(files: FileToolsFacade) -> dict[str, Any]:
        if run_id is None:
            return {"runs": [each.to_dict() for each in await files.runs.list()]}
        with _without_warning():
            return {"run": (await files.runs.get(run_id)).to_dict(), **await files.runs.metadata(run_id)}

    desk.read(work, _show_all if run_id is None else _show_one)


@contextmanager
def _without_warning() -> Iterator[None]:
    """Have no warning logged that a run has no files: a command is about to say so."""
    log = logging.getLogger("filetools.sessions.discovery")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


def _show_end(told: Mapping[str, Any], program: str) -> None:
    """Print what a run has done, out of the way of the program's own output."""
    for line in _file_lines(told, MOST_LISTED):
        STDERR.print(line)
    run = told["run"]
    counts = {action: len(told.get(f"files_{action}", ())) for action in _STYLES}
    words = ", ".join(f"{count:,} {action}" for action, count in counts.items() if count) or "no file changed"
    is_idle = run["first"] == run.get("last")
    print_note(
        f"{program} changed nothing." if is_idle
        else f"{program}: {words}; 'filetools undo --run {run['id']}' takes it back."
    )  # fmt: skip


def _file_lines(told: Mapping[str, Any], most: int | None = None) -> Iterator[Text]:
    files = [file for action in _STYLES for file in told.get(f"files_{action}", ())]
    paths = [printable(file["relative_path"]) for file in files]
    width = min(max(map(len, paths[:most]), default=0), WIDEST_PATH)
    for file, path in zip(files[:most], paths, strict=False):
        size = decimal(file["size_bytes"]) if "size_bytes" in file else ""
        reason = f"  {_REASONS[file['attributed']]}" if "attributed" in file else ""
        verb = (f"{file['action']:<9} ", _STYLES[file["action"]])
        yield Text.assemble(verb, f"{path:<{width}}  {size:>9}", (reason, "dim"))
    if most is not None and len(files) > most:
        yield Text(f"… and {len(files) - most:,} more", style="dim")
    if "unattributed" in told:
        yield Text(
            f"unknown   {told['unattributed']:,} changes by other programs: its own, or of another run", "yellow"
        )
    if "error" in told:
        yield Text(f"unknown   {printable(told['error'])}", "yellow")


def _show_all(told: Mapping[str, Any]) -> None:
    for run in told["runs"]:
        words = " ".join(f"{run.get('step', '')} {run.get('prompt', run['command'])}".split())
        when = moment(datetime.fromisoformat(run["started"]).timestamp())
        print_line(run["id"], (f"  {when}  ", "dim"), f"{run['status']:<9}  ", printable(words[:_LISTED]))
    if not told["runs"]:
        print_note("No run is recorded; 'filetools run -- COMMAND' makes one.")


def _show_one(told: Mapping[str, Any]) -> None:
    table = fact_table()
    for name, value in told["run"].items():
        if isinstance(value, str | int):
            table.add_row(name.replace("_", " "), printable(str(value)))
    print_table(table)
    for line in _file_lines(told):
        print_line(line)
