"""Commands that arrange the tree: `rm`, `mv`, `cp`, `mkdir`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from filetools.cli import suggestions
from filetools.cli.command import workspace_command
from filetools.cli.commands.parameters import ExpectedVersion, Force
from filetools.cli.desk import CHANGING, Desk
from filetools.cli.terminal import amount, print_line, printable
from filetools.errors import FileToolsError, PathNotFoundError

if TYPE_CHECKING:
    from filetools.facade.facade import FileToolsFacade
    from filetools.models.files import DeleteResult, DirectoryResult, MoveResult, WriteResult

_PANEL: Final = "Files"
Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE", help="What to take, relative to the working folder.", autocompletion=suggestions.paths
    ),
]
Destination = Annotated[
    str,
    typer.Argument(
        metavar="DESTINATION",
        help="New path; into it, if it is a folder or ends in a slash.",
        autocompletion=suggestions.paths,
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    workspace_command(
        app, CHANGING, panel=_PANEL, examples=("filetools rm old.txt notes.md", "filetools rm -r build-output")
    )(rm)
    workspace_command(
        app, CHANGING, panel=_PANEL, examples=("filetools mv draft.md notes.md", "filetools mv -f notes.md docs/")
    )(mv)
    workspace_command(app, CHANGING, panel=_PANEL, examples=("filetools cp config.json config.old.json",))(cp)
    workspace_command(app, CHANGING, panel=_PANEL, examples=("filetools mkdir docs/pictures",))(mkdir)


def rm(
    desk: Desk,
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH", help="Files or folders.", autocompletion=suggestions.paths)
    ],
    *,
    recursive: Annotated[bool, typer.Option("-r", "--recursive", help="Folders with everything in them.")] = False,
    expected_version: ExpectedVersion = None,
) -> None:
    """Delete files or folders.

    One after the other; the bytes of files stay readable by version.
    """
    if expected_version is not None and len(paths) > 1:
        raise typer.BadParameter("--expected-version goes with one path")

    async def remove(files: FileToolsFacade, path: str) -> DeleteResult:
        if (await files.file_info(path)).type == "directory":
            return await files.delete_directory(path, recursive=recursive)
        return await files.delete_file(path, expected_version=expected_version)

    async def work(files: FileToolsFacade) -> None:
        for path in paths:
            try:
                desk.show(await remove(files, desk.path(path)), _show_deleted)
            except FileToolsError as error:
                await desk.refuse(files, error)

    desk.perform(work, lambda _: None)


def mv(desk: Desk, source: Source, destination: Destination, *, force: Force = False) -> None:
    """Move or rename a file or folder.

    Bytes, mode and attributes are untouched; missing folders are made.
    """

    async def work(files: FileToolsFacade) -> MoveResult:
        origin = desk.path(source)
        return await files.move_file(origin, await _target(files, desk, origin, destination), overwrite=force)

    desk.perform(work, _show_moved)


def cp(desk: Desk, source: Source, destination: Destination, *, force: Force = False) -> None:
    """Copy a file's bytes and mode."""

    async def work(files: FileToolsFacade) -> WriteResult:
        origin = desk.path(source)
        return await files.copy_file(origin, await _target(files, desk, origin, destination), overwrite=force)

    desk.perform(work, _show_copied)


def mkdir(desk: Desk, path: Annotated[str, typer.Argument(metavar="PATH", help="New folder.")]) -> None:
    """Make a folder and its missing parents."""

    async def work(files: FileToolsFacade) -> DirectoryResult:
        return await files.create_directory(desk.path(path))

    desk.perform(work, _show_made)


async def _target(files: FileToolsFacade, desk: Desk, origin: str, destination: str) -> str:
    """Return where something goes: into a folder that stands at the destination, as everywhere on a command line."""
    target = desk.path(destination)
    if destination.endswith("/") or await _is_folder(files, target):
        return f"{target}/{origin.rpartition('/')[2]}"
    return target


async def _is_folder(files: FileToolsFacade, path: str) -> bool:
    try:
        return (await files.file_info(path)).type == "directory"
    except PathNotFoundError:
        return False


def _show_deleted(result: DeleteResult) -> None:
    count = f"  {amount(result.entries, 'entry', 'entries')}" if result.entries > 1 else ""
    print_line(("deleted   ", "red"), printable(result.path), (count, "dim"))


def _show_moved(result: MoveResult) -> None:
    print_line(("moved     ", "blue"), f"{printable(result.source)} → {printable(result.destination)}")


def _show_copied(result: WriteResult) -> None:
    print_line(("copied    ", "green"), printable(result.path), (f"  {amount(result.bytes_written, 'byte')}", "dim"))


def _show_made(result: DirectoryResult) -> None:
    verb, style = ("made", "green") if result.created else ("exists", "dim")
    print_line((f"{verb:<10}", style), f"{printable(result.path)}/")
