"""Commands that give files new bytes: `write`, `append`."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from filetools.cli.command import workspace_command
from filetools.cli.commands.parameters import ExpectedVersion, PathArgument
from filetools.cli.desk import CHANGING, Desk
from filetools.cli.terminal import amount, print_line, print_note, printable
from filetools.errors import FileTooLargeError, InvalidArgumentError, PathNotFoundError, VersionMismatchError

if TYPE_CHECKING:
    from filetools.facade.facade import FileToolsFacade
    from filetools.models.files import WriteResult

_PANEL: Final = "Files"
_MOST_TRIES: Final = 5
Content = Annotated[
    str | None, typer.Option(metavar="TEXT", help="The content itself; keeps the encoding and line ends of the file.")
]
Source = Annotated[
    Path | None, typer.Option("--from", metavar="FILE", help="Take the bytes of this file, inside or outside the root.")
]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    workspace_command(
        app, CHANGING, panel=_PANEL,
        examples=(
            "git show HEAD:notes.md | filetools write notes.md",
            "filetools write notes.md --content 'Hello' --mirror ../backup",
            "filetools write notes.md --from draft.md --expected-version sha256:…",
            "filetools write notes.md --from draft.md --force",
        ),
    )(write)  # fmt: skip
    workspace_command(
        app, CHANGING, panel=_PANEL,
        examples=("date | filetools append log.txt", "filetools append todo.md --content '- call Ann'"),
    )(append)  # fmt: skip


def write(
    desk: Desk,
    path: PathArgument,
    *,
    content: Content = None,
    source: Source = None,
    expected_version: ExpectedVersion = None,
    force: Annotated[
        bool, typer.Option("-f", "--force", help="Replace what others wrote meanwhile, and unsaved text of editors.")
    ] = False,
) -> None:
    """Create or replace a file.

    The content comes from standard input, or --content, or --from. The file is replaced in one step; mode, owner and
    attributes stay, missing folders are made. What it replaces stays readable by version.
    """
    if force and expected_version is not None:
        raise typer.BadParameter("give --force or --expected-version, not both")
    given = _given(content, source)

    async def work(files: FileToolsFacade) -> WriteResult:
        if force:
            return await _replace(files, desk.path(path), given)
        return await files.write_file(desk.path(path), given, expected_version=expected_version)

    desk.perform(work, _show)


def append(
    desk: Desk,
    path: PathArgument,
    *,
    content: Content = None,
    source: Source = None,
    expected_version: ExpectedVersion = None,
) -> None:
    """Add to the end of a file; makes it if missing.

    What is added comes from standard input, or --content, or --from.
    """
    given = _given(content, source)

    async def work(files: FileToolsFacade) -> WriteResult:
        return await files.append_file(desk.path(path), given, expected_version=expected_version)

    desk.perform(work, lambda result: _show(result, appended=True))


async def _replace(files: FileToolsFacade, path: str, content: str | bytes) -> WriteResult:
    """Write over whatever stands there."""
    for _ in range(_MOST_TRIES):
        with suppress(VersionMismatchError):  # somebody was quicker; then that is what is replaced
            # A version that was read is replaced; any other would be merged with.
            version = await _version_read(files, path)
            return await files.write_file(path, content, expected_version=version, on_conflict="allow")
    return await files.write_file(path, content, on_conflict="allow")


async def _version_read(files: FileToolsFacade, path: str) -> str | None:
    try:
        return (await files.read_file(path, limit=1)).version
    except (PathNotFoundError, FileTooLargeError):
        return None


def _given(content: str | None, source: Path | None) -> str | bytes:
    """Return what shall be written: text is fitted to the file's encoding, bytes are taken as they are."""
    if content is not None and source is not None:
        raise typer.BadParameter("give --content or --from, not both")
    if content is not None:
        return content
    if source is None:
        if sys.stdin.isatty():
            print_note("Reading from the terminal; end with Ctrl-D.")
        return sys.stdin.buffer.read()
    try:
        return source.read_bytes()
    except OSError as exc:
        raise InvalidArgumentError(f"Cannot read {str(source)!r} of --from: {exc.strerror}") from exc


def _show(result: WriteResult, *, appended: bool = False) -> None:
    if result.unchanged:
        verb, style = "unchanged", "dim"
    elif result.created:
        verb, style = "created", "green"
    else:
        verb, style = ("appended" if appended else "modified"), ""
    print_line((f"{verb:<9} ", style), printable(result.path), (f"  {amount(result.bytes_written, 'byte')}", "dim"))
    print_line((f"  {result.version}", "dim"))
