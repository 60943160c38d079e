"""Commands about agents: `run`, `runs`, `approvals`, `approve`, `project`, `instances`."""

from __future__ import annotations

import asyncio
import logging
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from typing import Any, Final

import click
from rich.filesize import decimal
from rich.text import Text

from filetools.cli.command import command
from filetools.cli.records import MOST_LISTED, WIDEST_PATH, moment
from filetools.cli.runner import (
    CHANGING,
    KILLED,
    OWN,
    READING,
    TERMINATING,
    CommandRunner,
    handling_signals,
    logging_from,
    open_terminal,
)
from filetools.cli.terminal import (
    STDERR,
    print_diff,
    print_error,
    print_facts,
    print_line,
    print_note,
    print_refusal,
    printable,
)
from filetools.errors import AccessDeniedError, FileToolsError
from filetools.facade.facade import FileToolsFacade
from filetools.permissions.requests import ApprovalAnswer
from filetools.settings import environment_of_run, named_session

NOT_FOUND: Final = 127
NOT_EXECUTABLE: Final = 126
_SHARED: Final = ("SIGINT", "SIGQUIT")
"""Signals that a terminal also sends to the child; forwarding them would deliver them twice."""


async def run_child(command: Sequence[str], *, environment: Mapping[str, str]) -> int:
    """Run a program and return its exit code, or 128 plus the number of the signal that killed it.

    The event loop keeps running meanwhile. Cancellation ends the program. Signals end only the program, since this process
    has work to do afterwards.

    Args:
        command: The program, found as by a shell, and its arguments.
        environment: All its variables.

    Raises:
        FileNotFoundError: The program does not exist.
        OSError: It cannot be executed.
    """
    child: list[asyncio.subprocess.Process] = []
    early: list[int] = []

    def forward(number: int, _: object) -> None:
        if not child:
            early.append(number)
        else:
            with suppress(ProcessLookupError):  # it has ended
                child[0].send_signal(number)

    # Functions instead of SIG_IGN, which the child would inherit.
    with handling_signals(dict.fromkeys(TERMINATING, forward) | {name: lambda *_: None for name in _SHARED}):
        child.append(await asyncio.create_subprocess_exec(*command, env=environment))
        for number in early:
            forward(number, None)
        try:
            code = await child[0].wait()
        finally:
            if child[0].returncode is None:
                child[0].terminate()
                await child[0].wait()
    return code if code >= 0 else KILLED - code


_LISTED: Final = 60
"""Maximum length of a command in a list."""
_KEPT: Final = 1000
"""Maximum length of a stored command."""
_CANCELLED: Final = (129, 130, 131, 143)
"""Exit codes of programs killed by SIGHUP, SIGINT, SIGQUIT or SIGTERM."""
_STYLES: Final = {"created": "green", "modified": "", "deleted": "red", "unchanged": "dim"}
_REASONS: Final = {
    "folder": "in its output folder",
    "call": "named by a tool call",
    "alone": "while no other run was active",
}
"""Why a change by a program that does not use filetools counts as the run's."""


@command(
    "run",
    CHANGING,
    examples=("filetools run claude -p 'write a report'", "filetools run --output-dir build --json make"),
    watch=True,
)
@click.argument("command", nargs=-1, required=True, metavar="COMMAND", help="The program and its arguments.")
@click.option("--session", metavar="ID", help="Session of the run; by default the run's id.")
@click.option(
    "--output-dir",
    multiple=True,
    metavar="DIR",
    help="Folder for its output; repeatable, {run} is the id. [claudedocs]",
)
@click.option("--checkpoint/--no-checkpoint", default=True, help="Make a checkpoint first, or do not.")
async def run(
    runner: CommandRunner,
    files: FileToolsFacade,
    command: tuple[str, ...],
    *,
    session: str | None,
    output_dir: tuple[str, ...],
    checkpoint: bool,
) -> None:
    """Run an agent, or any program; report what it changed and how to undo it.

    Input, output and exit code are the program's own (127: not found). Its changes are reported on standard error,
    or with --json as one line after its output.

    Changes through filetools belong to the run, because FILETOOLS_SESSION in the program's environment names the session.
    Other changes count if they are in an output folder that no other run shares, or if no other run is active.
    """
    program = command[0].rpartition("/")[2][:_LISTED]
    folders = [runner.path(each) for each in output_dir or ("claudedocs",)]

    line = shlex.join(command).encode(errors="backslashreplace").decode()[:_KEPT]
    begun = await files.runs.begin(command=line, session=session, outputs=folders, checkpoint=checkpoint)
    try:
        code = await run_child(command, environment=environment_of_run(begun.session))
    except OSError as error:
        is_missing = isinstance(error, FileNotFoundError)
        print_refusal(f"{command[0]}: {'command not found' if is_missing else error.strerror}", None)
        code = NOT_FOUND if is_missing else NOT_EXECUTABLE
    runner.note_failure(code)
    status: Any = "completed" if code == 0 else "cancelled" if code in _CANCELLED else "failed"
    try:
        with _without_warning():
            found = await files.runs.finish(begun.id, status=status, exit_code=code)
        found = {"run": (await files.runs.get(begun.id)).to_dict(), **found}
        runner.show(found, lambda found: _show_end(found, program))
    except FileToolsError as error:
        print_error(error, as_json=runner.options.as_json)  # keep the program's exit code


@command("runs", READING, examples=("filetools runs", "filetools runs run-1a208eb102b5ff5"))
@click.argument("run_id", required=False, metavar="[ID]", help="One run, with its files.")
async def runs(runner: CommandRunner, files: FileToolsFacade, run_id: str | None) -> None:
    """List the runs of agents, newest first, or show one with the files it changed."""
    if run_id is None:
        runner.show({"runs": [each.to_dict() for each in await files.runs.list()]}, _show_all)
        return
    with _without_warning():
        found = {"run": (await files.runs.get(run_id)).to_dict(), **await files.runs.metadata(run_id)}
    runner.show(found, _show_one)


def _without_warning() -> AbstractContextManager[None]:
    """Suppress the log warning that a run has no files, because the command itself reports it."""
    return logging_from(logging.ERROR, "filetools.sessions.discovery")


def _show_end(found: Mapping[str, Any], program: str) -> None:
    """Print the result of a run to standard error, separate from the program's own output."""
    for line in _file_lines(found, MOST_LISTED):
        STDERR.print(line)
    run = found["run"]
    counts = {action: len(found.get(f"files_{action}", ())) for action in _STYLES}
    words = ", ".join(f"{count:,} {action}" for action, count in counts.items() if count) or "no file changed"
    is_idle = run["first"] == run.get("last")
    print_note(
        f"{program} changed nothing." if is_idle
        else f"{program}: {words}; 'filetools undo --run {run['id']}' undoes it."
    )  # fmt: skip


def _file_lines(found: Mapping[str, Any], most: int | None = None) -> Iterator[Text]:
    files = [file for action in _STYLES for file in found.get(f"files_{action}", ())]
    paths = [printable(file["relative_path"]) for file in files]
    width = min(max(map(len, paths[:most]), default=0), WIDEST_PATH)
    for file, path in zip(files[:most], paths, strict=False):
        size = decimal(file["size_bytes"]) if "size_bytes" in file else ""
        reason = f"  {_REASONS[file['attributed']]}" if "attributed" in file else ""
        verb = (f"{file['action']:<9} ", _STYLES[file["action"]])
        yield Text.assemble(verb, f"{path:<{width}}  {size:>9}", (reason, "dim"))
    if most is not None and len(files) > most:
        yield Text(f"… and {len(files) - most:,} more", style="dim")
    if "unattributed" in found:
        yield Text(
            f"unknown   {found['unattributed']:,} changes by other programs, which may belong to this or to another run",
            "yellow",
        )
    if "error" in found:
        yield Text(f"unknown   {printable(found['error'])}", "yellow")


def _show_all(found: Mapping[str, Any]) -> None:
    for run in found["runs"]:
        words = " ".join(f"{run.get('step', '')} {run.get('prompt', run['command'])}".split())
        when = moment(datetime.fromisoformat(run["started"]).timestamp())
        print_line(run["id"], (f"  {when}  ", "dim"), f"{run['status']:<9}  ", printable(words[:_LISTED]))
    if not found["runs"]:
        print_note("No run is recorded; 'filetools run COMMAND' starts one.")


def _show_one(found: Mapping[str, Any]) -> None:
    facts = found["run"].items()
    print_facts((name.replace("_", " "), value) for name, value in facts if isinstance(value, str | int))
    for line in _file_lines(found):
        print_line(line)


@command(
    "approvals", READING, examples=("filetools approvals", "filetools approvals --diff", "filetools approvals --json")
)
@click.option("--diff", is_flag=True, help="Also show the diff of each request.")
async def approvals(runner: CommandRunner, files: FileToolsFacade, *, diff: bool) -> None:
    """List the open approval requests of agents.

    The list covers agents in all processes; answer with 'filetools approve'.
    """
    found = [request.to_dict() for request in await files.approvals()]
    runner.show({"approvals": found}, lambda _: _show_requests(found, with_diff=diff))


@command(
    "approve",
    READING,
    examples=("filetools approve approval-0123456789abcdef", "filetools approve approval-0123456789abcdef --deny"),
)
@click.argument(
    "approval_id",
    metavar="ID",
    help="Id of the request; 'filetools approvals' lists them.",
)
@click.option("--deny", is_flag=True, help="Deny it.")
@click.option("--for-run", is_flag=True, help="Allow it, and the agent's further calls of this tool in this run.")
async def approve(
    runner: CommandRunner, files: FileToolsFacade, approval_id: str, *, deny: bool, for_run: bool
) -> None:
    """Allow or deny an approval request.

    It needs a terminal, and is refused inside 'filetools run': agents must not answer their own requests. If the agent has
    stopped waiting, its next identical call within ten minutes succeeds.
    """
    if deny and for_run:
        raise click.BadParameter("--deny and --for-run exclude each other")
    answer: ApprovalAnswer = "deny" if deny else "allow_for_run" if for_run else "allow"

    # An agent's shell has no terminal, and a run of an agent names its session.
    if named_session() is not None or open_terminal() is None:
        raise AccessDeniedError(
            approval_id, "only a person may answer, at a terminal outside of runs or on the editor page",
            suggested_action="Run the command in a terminal outside of 'filetools run', or answer on the editor page.",
        )  # fmt: skip
    await files.answer_approval(approval_id, answer)
    runner.show(
        {"approval_id": approval_id, "answer": answer},
        lambda done: print_line(f"{done['answer'].replace('_', ' ')}  ", printable(done["approval_id"])),
    )


def _show_requests(requests: list[dict[str, Any]], *, with_diff: bool) -> None:
    if not requests:
        print_note("No request is open.")
    for request in requests:
        left = max(0, round(request["expires"] - time.time()))
        print_line(
            (request["id"], "bold"),
            f"  {printable(request['actor']['id'])}: ",
            printable(request["description"]),
            (f"  risk {request['risk']}, {request['reason']}, open for {left} s", "dim"),
        )
        if with_diff and request.get("diff"):
            print_diff(f"{request['diff'].rstrip()}\n")


project = click.Group(
    "project",
    help="Register folders as projects that agents of this root may read.",
    epilog="\b\nExamples:\n  filetools project list\n  filetools project add ../library",
)
project_id_argument = click.argument(
    "project", metavar="ID", help="Id of a project; 'filetools project list' shows it."
)
folder_argument = click.argument("path", help="An existing folder, anywhere.")


@command("list", OWN, group=project, examples=("filetools project list --json",), reads=True)
async def list_projects(runner: CommandRunner, files: FileToolsFacade) -> None:
    """List the projects, most recently active first."""
    found = await files.projects.run(lambda registry: registry.list_projects())
    none = "There are no projects; 'filetools project add' adds one."
    runner.show({"projects": found}, lambda _: _show_registered(found, none))


@command("add", OWN, group=project, examples=("filetools project add ../library --name library",))
@folder_argument
@click.option("--name", help="Name; by default that of its repository or folder.")
async def add(runner: CommandRunner, files: FileToolsFacade, path: str, *, name: str | None) -> None:
    """Register a folder as a project."""
    place = _place(runner, path)
    added = await files.projects.run(lambda registry: registry.create(place, name))
    runner.show(added, lambda added: _show_registered([added]))


@command("remove", OWN, group=project, examples=("filetools project remove 1f0c2a9b",), needs_state=True)
@project_id_argument
async def remove(runner: CommandRunner, files: FileToolsFacade, project: str) -> None:
    """Forget a project; its files stay."""
    await files.projects.run(lambda registry: registry.delete_project(project))
    runner.show({"id": project}, lambda _: print_note("removed; its files stay"))


@command("move", OWN, group=project, examples=("filetools project move 1f0c2a9b ../library-2",), needs_state=True)
@project_id_argument
@folder_argument
async def move(runner: CommandRunner, files: FileToolsFacade, project: str, path: str) -> None:
    """Set the folder of a project that was moved."""
    place = _place(runner, path)
    moved = await files.projects.run(lambda registry: registry.move_project(project, place))
    runner.show(moved, lambda moved: _show_registered([moved]))


@command("instances", OWN, examples=("filetools instances",), reads=True)
async def instances(runner: CommandRunner, files: FileToolsFacade) -> None:
    """List the agents and servers that run on this root."""
    found = await files.projects.run(lambda registry: registry.instances())
    runner.show({"instances": found}, lambda _: _show_registered(found, "No instance runs on this root."))


def _place(runner: CommandRunner, path: str) -> str:
    """Return an absolute path; the registry expands `~`."""
    return path if path == "~" or path.startswith("~/") else str(runner.workplace.folder / path)


def _show_registered(rows: Sequence[Mapping[str, Any]], none: str = "") -> None:
    """Print projects, or instances."""
    for each in rows:
        state = "missing" if each.get("missing") else each.get("status", "")
        place = printable(each.get("path") or each["dir"])
        print_line(
            f"{each['id']}  ",
            (f"{state:<9}" if state else "", "yellow"),
            printable(each["name"]),
            (f"  {place}", "dim"),
        )
    if not rows:
        print_note(none)
