"""Commands about the root and its mirrors: `init`, `status`, `sync`, `mirror`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal

import click
from msgspec.structs import asdict, replace
from rich.filesize import decimal
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import filetools.models as models
from filetools.app.doctor import examine_journal
from filetools.app.mirrors import ListedMirror, add_mirror, list_mirrors, remove_mirror
from filetools.app.state import prepare_state
from filetools.app.trust import accept, states_set_aside
from filetools.cli.command import FOLDER, command
from filetools.cli.parameters import run_option
from filetools.cli.records import (
    MOST_LISTED,
    actor_lines,
    change_line,
    change_lines,
    change_to_dict,
    checkpoint_to_compare,
    compared,
    print_unread,
    unsure_lines,
)
from filetools.cli.runner import CHANGING, OWN, CommandRunner
from filetools.cli.terminal import (
    FAILED,
    STDERR,
    STDOUT,
    amount,
    print_facts,
    print_line,
    print_note,
    print_row,
)
from filetools.cli.workplace import refuse_new_root
from filetools.errors import DiskFullError
from filetools.events.types import Event
from filetools.facade.facade import FileToolsFacade
from filetools.models.files import SyncResult
from filetools.models.records import ChangeRecord
from filetools.models.words import STATE_PATH


@command(
    "init",
    OWN,
    examples=("filetools init", "filetools init ~/project", "filetools init --root ~/project/vendored"),
)
@click.argument("path", type=FOLDER, required=False, help="An existing folder; else the working folder.")
def init(runner: CommandRunner, path: Path | None) -> None:
    """Make a folder a root, with a state directory that records its history.

    The first change in a folder does this, too. To prevent accidents, the home folder, the folders above it, and a folder
    inside another root become roots only with --root. If the state exists already, nothing is done.
    """
    named = runner.options.root
    if path is not None and named is not None:
        raise click.BadParameter("give PATH or --root, not both")
    there = CommandRunner(replace(runner.options, root=path or named or runner.workplace.folder))
    root, state = there.workplace.root, runner.options.state_dir
    if named is None:
        refuse_new_root(root)
    places = {"root": str(root), "state": os.path.abspath(state or root / STATE_PATH)}
    if prepare_state(root, state).has_begun:
        there.show(places | {"created": False}, _show_made)
        return

    async def work(files: FileToolsFacade) -> None:
        if (await files.status())["read_only"] is not None:
            raise DiskFullError("the state directory")  # other reasons were reported before
        there.show(places | {"created": True}, _show_made)

    there.perform(work)


def _show_made(made: dict[str, Any]) -> None:
    if not made["created"]:
        print_row("unchanged", made["state"], detail="exists already")
        return
    print_row("made", made["state"])
    print_note("From now on, every change in the folder is recorded and can be undone.")


@command(
    "trust",
    ("root", "as_json"),
    examples=("filetools trust", "filetools trust --yes", "filetools trust set-aside-1"),
)
@click.argument("name", required=False, metavar="[NAME]", help="Name of the state; by default the one set aside last.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def trust(runner: CommandRunner, name: str | None, *, yes: bool) -> None:
    """Show the contents of a state that came with the folder, and accept it.

    A '.filetools' that came with a clone, an archive or a copy is set aside at the first change, because filetools
    would read its history, write to its mirrors and show its projects to agents. This command shows its contents
    and puts it back; the state used until now is set aside instead.
    """
    state = runner.workplace.root / STATE_PATH
    asides = {each.name: each for each in states_set_aside(state)}
    if not asides and not name:
        runner.show(
            {"accepted": None},
            lambda _: print_note(
                "No state is set aside. One that came with the folder is set aside at the first change."
            ),
        )
        return
    aside = asides.get(name or [*asides][-1])
    if aside is None:
        raise click.BadParameter(f"No state {name!r} was set aside. States set aside: {', '.join(asides) or 'none'}")
    report = examine_journal(aside)
    found = {
        "accepted": aside.name,
        "records": report.records if report else 0,
        "mirrors": [row.place for row in report.mirrors] if report else [],
        "projects": [*report.projects] if report else [],
        "problem": str(report.problem) if report and report.problem else None,
    }
    if not runner.options.as_json:
        _show_brought(found)
        if len(asides) > 1:
            print_note(f"These states were set aside: {', '.join(asides)}. Name one to see and accept it.")
    if not yes and not (STDERR.is_terminal and click.confirm("Use it from now on?", err=True)):
        root = shlex.quote(str(runner.workplace.root))
        raise click.UsageError(
            f"nothing was changed; to accept it, run: filetools trust {aside.name} --yes --root {root}"
        )
    accept(state, aside)
    runner.show(found, lambda _: print_note("It is used from now on. The previous state was set aside."))


def _show_brought(found: dict[str, Any]) -> None:
    print_line(f"{STATE_PATH}/{found['accepted']} contains {amount(found['records'], 'record')}")
    if found["problem"]:
        print_row("problem", found["problem"])
    for place in found["mirrors"]:
        print_row("mirror", place, detail="every change would be copied there")
    for place in found["projects"]:
        print_row("project", place, detail="agents could read it")


MOST_LATEST: Final = 10
"""Number of changes that the status shows if there is no checkpoint."""
_INTERNAL: Final = ("epoch", "position", "pending", "durability", "permissions")
MOST_SHOWN: Final = 50
"""Maximum number of paths of each kind printed after a synchronisation; JSON has all of them."""


@command(
    "status",
    CHANGING,
    examples=("filetools status", "filetools status --run run-1a208eb102b5ff5", "filetools status --json"),
    reads=True,
)
@run_option
@click.option("-v", "--verbose", is_flag=True, help="Also show the size of the journal, and settings.")
async def status(runner: CommandRunner, files: FileToolsFacade, *, run: str | None, verbose: bool) -> None:
    """Show what changed since your last checkpoint, and open approval requests.

    Automatic checkpoints do not count. Without a checkpoint of yours it shows the newest changes. It also shows whether
    mirrors are up to date.

    The whole tree is scanned first: changes made while no filetools process watched are recorded, and unreadable paths are
    listed. Changes are counted for each actor, and the first 20 are listed; 'filetools diff' shows all of them.
    """
    name = await checkpoint_to_compare(files, run)
    changes = None if name is None else await files.diff_tree(name, limit=MOST_LISTED)
    unread = (await files.look()).unread if changes is None else changes.unread
    state = await files.status()
    latest = [] if changes is not None else await files.latest_changes(MOST_LATEST)
    if runner.lacks_state:
        # These values belong to the temporary state, which ends with the command.
        state |= {"epoch": None, "position": None, "read_only": None}

    def show(found: dict[str, Any]) -> None:
        print_facts(_facts(found, verbose=verbose))
        if changes is not None:
            _show_changes(changes)
        else:
            _show_latest(latest, None if found["has_state"] else runner.no_state)
            print_unread(unread)

    runner.show(
        state
        | {
            "has_state": not runner.lacks_state,
            "changes": None if changes is None else changes.to_dict(),
            "latest": [change_to_dict(record, state["epoch"]) for record in latest],
            "approvals": [request.id for request in await files.approvals()],
            "unread": unread,
        },
        show,
    )


@command(
    "sync",
    CHANGING,
    examples=("filetools sync", "filetools sync --mirror ../backup --preview"),
)
@click.option("--verify", is_flag=True, help="With --preview: scan the whole tree first.")
@click.option("--preview", is_flag=True, help="Only show what would be done.")
async def sync(runner: CommandRunner, files: FileToolsFacade, *, verify: bool, preview: bool) -> None:
    """Make the mirror equal to the workspace.

    All mirrors of the root, and that of --mirror, are compared with it by content and updated. Foreign files in a
    mirror are kept as versions before they are replaced.
    """
    with sync_progress(files):
        result = await files.sync_all(preview, verify=verify)
    if not result.success:
        runner.note_failure(FAILED)
    runner.show(result, _show_sync)


@contextmanager
def sync_progress(files: FileToolsFacade) -> Iterator[None]:
    """Show a progress bar from the events of a synchronisation, only on a terminal and only while it runs."""
    columns = (TextColumn("syncing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=STDERR.console, transient=True, disable=not STDERR.is_terminal) as progress:
        task = progress.add_task("sync", total=None)

        def advanced(event: Event) -> None:
            found = event.to_dict()
            progress.update(task, total=found["total"], completed=found["current"])

        files.on("sync:progress", advanced)
        yield


def _facts(state: dict[str, Any], *, verbose: bool) -> Iterator[tuple[str, object]]:
    shown = ("root", "problem", "read_only", "polling", *(_INTERNAL if verbose else ()))
    yield from ((name, value) for name, value in state.items() if name in shown and value is not None)
    if verbose or state["retention"]["held_over_limit"]:
        yield "retention", _retention(state["retention"])
    if state["approvals"]:
        waiting = amount(len(state["approvals"]), "approval")
        yield "waiting", f"{waiting} for your answer; see 'filetools approvals'"
    for path in state["unrestored"]:
        yield "unrestored", f"{path} (lost in a power cut; restoring it is tried again every second)"
    for document in state["documents"]:
        unsaved = "unsaved, " if document["dirty"] else ""
        yield "open", f"{document['path']} ({unsaved}{', '.join(document['editors'])})"
    for name, mirror in state["mirrors"].items():
        behind = f", {amount(mirror['behind'], 'path')} behind" if mirror["behind"] else ""
        yield name, mirror["state"].replace("_", " ") + behind
        if mirror["last_error"]:
            yield "", mirror["last_error"]


def _show_latest(latest: Sequence[ChangeRecord], no_state: str | None) -> None:
    print_line()
    if not latest:
        print_line(("No change is recorded yet.", "bold"))
        if no_state is not None:
            print_line((f"There is {no_state}.", "dim"))
        return
    print_line(
        ("The newest changes ", "bold"),
        ("('filetools log' shows all; 'filetools checkpoint' sets a point to compare with)", "dim"),
    )
    for record in latest:
        print_line(change_line(record))


def _retention(held: dict[str, Any]) -> str:
    """Return the size of the journal, and why it exceeds its limits if it does."""
    size = f"{decimal(held['bytes'])} of {decimal(held['bytes_limit'])}"
    over = f"; checkpoint {held['checkpoint']!r} keeps it over its limits" if held["held_over_limit"] else ""
    return f"{size}, {held['records']:,} of {held['records_limit']:,} records{over}"


def _show_changes(result: models.TreeDiffResult) -> None:
    print_line()
    print_line(
        (f"{amount(result.total, 'entry', 'entries')} changed " if result.total else "Nothing changed ", "bold"),
        (compared(result), "dim"),
    )
    for line in actor_lines(result):
        print_line("  ", line)
    for line in (*change_lines(result), *unsure_lines(result.unread, result.unknown)):
        print_line(line)


def _show_sync(result: SyncResult) -> None:
    errors = [f"{error['path']}: {error['error']}" for error in result.errors]
    for verb, rows in (
        ("add", result.added),
        ("modify", result.modified),
        ("delete", result.deleted),
        ("failed", errors),
    ):
        for row in rows[:MOST_SHOWN]:
            print_row(verb, row)
        if len(rows) > MOST_SHOWN:
            print_row(verb, f"… and {len(rows) - MOST_SHOWN} more")
    print_unread(result.unread)
    done = "would be synchronised" if result.preview else "synchronised by this command"
    count = result.total_files if result.preview else result.synced_files
    STDOUT.print(f"{count} {done}, {result.failed_files} failed, {result.duration_ms} ms")


@command(
    "mirror",
    OWN,
    examples=("filetools mirror add ../backup", "filetools mirror list --json", "filetools mirror remove ../backup"),
)
@click.argument("action", type=click.Choice(["list", "add", "remove"]), default="list", help="list, add or remove.")
@click.argument("folder", type=FOLDER, required=False, metavar="[DIR]", help="Folder of the mirror.")
@click.option("--adopt", is_flag=True, help="With add: accept a folder with other content, and make it equal.")
def mirror(
    runner: CommandRunner, action: Literal["list", "add", "remove"], folder: Path | None, *, adopt: bool
) -> None:
    """List, add or remove the mirrors of the root.

    An added mirror gets a copy of every change by any command, server or program. While its folder is missing, changes wait
    for it. 'add' fills it, and ends with exit code 1 if something could not be copied; 'remove' keeps the mirror's files.
    """
    if (action == "list") != (folder is None) or (adopt and action != "add"):
        raise click.BadParameter("'add' and 'remove' go with a DIR, '--adopt' with 'add'")
    root, state = runner.workplace.root, runner.options.state_dir
    if folder is None:
        listed = [asdict(each) for each in list_mirrors(root, state_directory=state)]
        runner.show({"mirrors": listed}, _show_list)
        return
    runner.workplace.refuse_accident()
    if action == "remove":
        runner.show(asdict(remove_mirror(root, folder, state_directory=state)), _show_removed)
    else:
        _fill(runner, add_mirror(root, folder, state_directory=state, adopt=adopt))


def _fill(runner: CommandRunner, added: ListedMirror) -> None:
    async def work(files: FileToolsFacade) -> None:
        with sync_progress(files):
            result = await files.sync_all()
        if not result.success:
            runner.note_failure(FAILED)
        filled = {"path": added.path, "synced_files": result.synced_files, "errors": result.errors}
        runner.show(filled, _show_added)

    runner.perform(work)


def _show_added(added: dict[str, Any]) -> None:
    print_row("added", added["path"], detail="" if added["errors"] else "equal to the root")
    for error in added["errors"]:
        print_row("failed", f"{error['path']}: {error['error']}")


def _show_removed(removed: dict[str, Any]) -> None:
    lacking = f"; it lacked {amount(removed['behind'], 'path')}" if removed["behind"] else ""
    print_row("removed", removed["path"], detail=f"its files stay{lacking}")


def _show_list(found: dict[str, Any]) -> None:
    for each in found["mirrors"]:
        behind = amount(each["behind"], "path") + " behind" if each["behind"] else ""
        named = "" if each["added"] else "attached only with --mirror"
        print_row(each["state"], each["path"], detail=", ".join(filter(None, (behind, each["reason"], named))))
    if not found["mirrors"]:
        print_note("There are no mirrors; 'filetools mirror add DIR' adds one.")
