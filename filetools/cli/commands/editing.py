"""Commands that change parts of files: `edit`."""

from __future__ import annotations

from typing import Annotated, Final

import typer
from rich.text import Text

from filetools.app import Edit, FileToolsFacade
from filetools.cli.command import workspace_command
from filetools.cli.commands.parameters import DryRun, ExpectedVersion, PathArgument
from filetools.cli.desk import CHANGING, Desk
from filetools.cli.terminal import STDOUT, print_line, print_note, printable, printable_line
from filetools.models import EditResult

_PANEL: Final = "Files"
_STYLES: Final = {"+": "green", "-": "red"}


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    workspace_command(
        app, CHANGING, panel=_PANEL,
        examples=(
            "filetools edit notes.md --old 'version 1' --new 'version 2'",
            "filetools edit src/app.py --old colour --new color --all --dry-run",
        ),
    )(edit)  # fmt: skip


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
        edits = [Edit(old=old, new=new, replace_all=replace_all)]
        return await files.edit_file(desk.path(path), edits, expected_version=expected_version, dry_run=dry_run)

    desk.perform(work, _show)


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
