"""Commands that change parts of files: `edit`, `patch`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.text import Text

from filetools.cli.command import workspace_command
from filetools.cli.commands.parameters import DryRun, ExpectedVersion, PathArgument
from filetools.cli.desk import CHANGING, Desk
from filetools.cli.terminal import STDOUT, print_line, print_note, printable, printable_line
from filetools.errors import EditNotFoundError, InvalidArgumentError

if TYPE_CHECKING:
    from filetools.facade.facade import FileToolsFacade
    from filetools.models.files import EditResult, PatchResult

_PANEL: Final = "Files"
_STYLES: Final = {"+": "green", "-": "red"}
_OTHER_TEXT: Final = (
    "Nothing was changed. Look with 'filetools read': the patch was made from another text, or is applied already."
)
_PATCHED: Final = {
    "add": ("created", "green"),
    "delete": ("deleted", "red"),
    "update": ("modified", ""),
    "move": ("moved", "blue"),
}


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    workspace_command(
        app, CHANGING, panel=_PANEL,
        examples=(
            "filetools edit notes.md --old 'version 1' --new 'version 2'",
            "filetools edit src/app.py --old colour --new color --all --dry-run",
        ),
    )(edit)  # fmt: skip
    workspace_command(
        app, CHANGING, panel=_PANEL,
        examples=("git diff | filetools patch", "filetools patch fix.diff --dry-run"),
    )(patch)  # fmt: skip


def edit(
    desk: Desk,
    path: PathArgument,
    *,
    old: Annotated[str, typer.Option(metavar="TEXT", help="What stands there now, exactly; it must be there once.")],
    new: Annotated[str, typer.Option(metavar="TEXT", help="What shall stand there instead.")],
    replace_all: Annotated[bool, typer.Option("--all", help="Replace it wherever it stands.")] = False,
    expected_version: ExpectedVersion = None,
    dry_run: DryRun = False,
) -> None:
    """Replace exact text in a file; every other byte stays as it is."""

    async def work(files: FileToolsFacade) -> EditResult:
        from filetools.content.edits import Edit

        edits = [Edit(old=old, new=new, replace_all=replace_all)]
        return await files.edit_file(desk.path(path), edits, expected_version=expected_version, dry_run=dry_run)

    (desk.read if dry_run else desk.perform)(work, _show)


def patch(
    desk: Desk,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="File with the patch; - or none reads standard input.")
    ] = None,
    *,
    dry_run: DryRun = False,
) -> None:
    """Apply a patch to any number of files, all or nothing.

    A unified diff, as diff and git write it, or *** Begin Patch. Its paths are relative to the root, as those of
    'filetools diff' are. A hunk that does not fit changes nothing at all.
    """
    text = _text_of(file)

    async def work(files: FileToolsFacade) -> PatchResult:
        try:
            return await files.apply_patch(text, dry_run=dry_run)
        except EditNotFoundError as error:
            error.suggested_action = _OTHER_TEXT
            raise

    (desk.read if dry_run else desk.perform)(work, _show_patched)


def _text_of(file: Path | None) -> str:
    name = "-" if file is None else str(file)
    try:
        content = sys.stdin.buffer.read() if file is None or name == "-" else file.read_bytes()
        return content.decode()
    except OSError as exc:
        raise InvalidArgumentError(f"Cannot read the patch {name!r}: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise InvalidArgumentError(f"The patch {name!r} is no UTF-8 text") from exc


def _show_patched(result: PatchResult) -> None:
    for each in result.files:
        verb, style = _PATCHED[each.kind]
        origin = "" if each.old_path is None else f"{printable(each.old_path)} → "
        print_line((f"{verb:<9} ", style), f"{origin}{printable(each.path)}")
    if result.dry_run:
        print_note("Nothing was written: this is a dry run.")


def _show(result: EditResult) -> None:
    count = sum(result.counts)
    verb = "unchanged" if result.unchanged else "modified"
    print_line(
        (f"{verb:<9} ", "dim" if result.unchanged else ""), printable(result.path), (f"  {count} replaced", "dim")
    )
    for hunk in result.structured_patch:
        STDOUT.print(
            Text(f"@@ -{hunk['oldStart']},{hunk['oldLines']} +{hunk['newStart']},{hunk['newLines']} @@", "cyan")
        )
        for line in hunk["lines"]:
            print_line((printable_line(line), _STYLES.get(line[:1], "")))
    if result.dry_run:
        print_note("Nothing was written: this is a dry run.")
