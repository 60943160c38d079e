"""Commands that change files: `write`, `append`, `edit`, `patch`, `rm`, `mv`, `cp`, `mkdir`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import click

from filetools.cli.command import command
from filetools.cli.parameters import (
    ENTRY,
    dry_run_option,
    expected_version_option,
    force_option,
    is_folder,
    path_argument,
)
from filetools.cli.runner import CHANGING, CommandRunner
from filetools.cli.terminal import amount, print_diff, print_line, print_note, print_row
from filetools.content.editing.edits import Edit
from filetools.content.formats import UTF8, marked_format
from filetools.errors import (
    EditNotFoundError,
    FileToolsError,
    InvalidArgumentError,
)
from filetools.facade.facade import FileToolsFacade
from filetools.models.files import DeleteResult, EditResult, PatchResult, WriteResult
from filetools.tools.answers.summaries import hunk_place

content_option = click.option(
    "--content", metavar="TEXT", help="The content itself, in the encoding and line endings of the file."
)
source_option = click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Take the bytes of this file, inside or outside the root.",
)


@command(
    "write",
    CHANGING,
    examples=(
        "git show HEAD:notes.md | filetools write notes.md",
        "filetools write notes.md --content 'Hello' --mirror ../backup",
        "filetools write notes.md --from draft.md --expected-version sha256:…",
        "filetools write notes.md --from draft.md --force",
    ),
)
@path_argument
@content_option
@source_option
@expected_version_option
@click.option("-f", "--force", is_flag=True, help="Replace what others wrote meanwhile, and unsaved text of editors.")
def write(
    runner: CommandRunner,
    path: str,
    *,
    content: str | None,
    source: Path | None,
    expected_version: str | None,
    force: bool,
) -> None:
    """Create or replace a file.

    The content comes from standard input, --content or --from. The file is replaced in one step; mode, owner and
    attributes stay, and missing folders are created. The replaced content stays readable by its version.
    """
    if force and expected_version is not None:
        raise click.BadParameter("give --force or --expected-version, not both")
    given, where = _given(content, source), _new_path(runner, path)

    async def work(files: FileToolsFacade) -> None:
        if force:
            result = await files.for_actor(files.actor, on_conflict="allow").replace_file(where, given)
        else:
            result = await files.write_file(where, given, expected_version=expected_version)
        runner.show(result, _show_written)

    runner.perform(work)


@command(
    "append", CHANGING, examples=("date | filetools append log.txt", "filetools append todo.md --content '- call Ann'")
)
@path_argument
@content_option
@source_option
@expected_version_option
def append(
    runner: CommandRunner, path: str, *, content: str | None, source: Path | None, expected_version: str | None
) -> None:
    """Add to the end of a file; create it if missing.

    The added text comes from standard input, --content or --from.
    """
    given, where = _given(content, source), _new_path(runner, path)

    async def work(files: FileToolsFacade) -> None:
        result = await files.append_file(where, given, expected_version=expected_version)
        runner.show(result, lambda result: _show_written(result, appended=True))

    runner.perform(work)


def _given(content: str | None, source: Path | None) -> str | bytes:
    """Return the content to write: text is converted to the file's encoding, bytes are written unchanged."""
    if content is not None and source is not None:
        raise click.BadParameter("give --content or --from, not both")
    return _bytes_of(source) if content is None else content


def _bytes_of(source: Path | None) -> bytes:
    """Return the bytes of a file, or of standard input."""
    if source is None:
        if sys.stdin.isatty():
            print_note("Reading from the terminal; end with Ctrl-D.")
        return sys.stdin.buffer.read()
    try:
        return source.read_bytes()
    except OSError as exc:
        raise InvalidArgumentError(f"Cannot read {str(source)!r}: {exc.strerror}") from exc


def _show_written(result: WriteResult, *, appended: bool = False) -> None:
    changed = "created" if result.created else "appended" if appended else "modified"
    print_row("unchanged" if result.unchanged else changed, result.path, detail=amount(result.bytes_written, "byte"))
    print_line((f"  {result.version}", "dim"))


_OTHER_TEXT: Final = (
    "Nothing was changed. Compare with 'filetools read': the patch was made for another text, or is applied already."
)
_PATCHED: Final = {"add": "created", "delete": "deleted", "update": "modified", "move": "moved"}


@command(
    "edit",
    CHANGING,
    entry="path",
    examples=(
        "filetools edit notes.md --old 'version 1' --new 'version 2'",
        "filetools edit src/app.py --old colour --new color --all --dry-run",
    ),
)
@path_argument
@click.option("--old", required=True, metavar="TEXT", help="The exact text to replace; it must occur once.")
@click.option("--new", required=True, metavar="TEXT", help="The new text.")
@click.option("--all", "replace_all", is_flag=True, help="Replace every occurrence.")
@expected_version_option
@dry_run_option
async def edit(
    runner: CommandRunner,
    files: FileToolsFacade,
    path: str,
    *,
    old: str,
    new: str,
    replace_all: bool,
    expected_version: str | None,
    dry_run: bool,
) -> None:
    """Replace exact text in a file; every other byte stays as it is."""
    edits = [Edit(old=old, new=new, replace_all=replace_all)]
    runner.show(
        await files.edit_file(runner.path(path), edits, expected_version=expected_version, dry_run=dry_run), _show_edit
    )


@command("patch", CHANGING, examples=("git diff | filetools patch", "filetools patch fix.diff --dry-run"))
@click.argument(
    "file",
    type=click.Path(path_type=Path),
    required=False,
    help="File with the patch; - or no FILE reads standard input.",
)
@dry_run_option
def patch(runner: CommandRunner, file: Path | None, *, dry_run: bool) -> None:
    """Apply a patch to any number of files, all or nothing.

    Takes a unified diff, as diff and git write it, or the *** Begin Patch form. Its paths are relative to the root, like
    those of 'filetools diff'. If a hunk does not fit, nothing is changed.
    """
    text = _text_of(file)

    async def work(files: FileToolsFacade) -> None:
        try:
            runner.show(await files.apply_patch(text, dry_run=dry_run), _show_patched)
        except EditNotFoundError as error:
            error.suggested_action = _OTHER_TEXT
            raise

    (runner.read if dry_run else runner.perform)(work)


def _text_of(file: Path | None) -> str:
    content = _bytes_of(None if str(file) == "-" else file)
    # PowerShell redirects output in UTF-16; otherwise a patch is bytes, with each part in the encoding of its file.
    form = marked_format(content) or UTF8
    return content[len(form.bom) :].decode(form.encoding, "surrogateescape" if form.encoding == "utf-8" else "replace")


def _show_patched(result: PatchResult) -> None:
    for each in result.files:
        print_row(_PATCHED[each.kind], each.path, each.old_path)
    if result.dry_run:
        print_note("Nothing was written: this is a dry run.")


def _show_edit(result: EditResult) -> None:
    verb = "unchanged" if result.unchanged else "modified"
    print_row(verb, result.path, detail=f"{sum(result.counts)} replaced")
    for hunk in result.structured_patch:
        print_diff("\n".join((hunk_place(hunk), *hunk["lines"], "")))
    if result.dry_run:
        print_note("Nothing was written: this is a dry run.")


source_argument = click.argument("source", type=ENTRY, help="Source, relative to the working folder.")
destination_argument = click.argument(
    "destination",
    type=ENTRY,
    help="New path; if it is a folder or ends with a slash, the entry is put into it.",
)


@command("rm", CHANGING, entry="paths", examples=("filetools rm old.txt notes.md", "filetools rm -r build-output"))
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=ENTRY, help="Files or folders.")
@click.option("-r", "--recursive", is_flag=True, help="Delete folders with everything in them.")
@expected_version_option
async def rm(
    runner: CommandRunner,
    files: FileToolsFacade,
    paths: tuple[str, ...],
    *,
    recursive: bool,
    expected_version: str | None,
) -> None:
    """Delete files or folders.

    They are deleted one by one; the bytes of files stay readable by version.
    """
    if expected_version is not None and len(paths) > 1:
        raise click.BadParameter("--expected-version goes with one path")

    for path in paths:
        try:
            where = runner.path(path)
            if await is_folder(files, where):
                result = await files.delete_directory(where, recursive=recursive)
            else:
                result = await files.delete_file(where, expected_version=expected_version)
            runner.show(result, _show_deleted)
        except FileToolsError as error:
            await runner.refuse(files, error)


@command("mv", CHANGING, entry="source", examples=("filetools mv draft.md notes.md", "filetools mv -f notes.md docs/"))
@source_argument
@destination_argument
@force_option
async def mv(runner: CommandRunner, files: FileToolsFacade, source: str, destination: str, *, force: bool) -> None:
    """Move or rename a file or folder.

    Bytes, mode and attributes are untouched; missing folders are created.
    """
    origin = runner.path(source)
    moved = await files.move_file(origin, await _target(files, runner, origin, destination), overwrite=force)
    # Without a number, it was moved to its own name.
    done, former = ("unchanged", None) if moved.number is None else ("moved", moved.source)
    runner.show(moved, lambda moved: print_row(done, moved.destination, former))


@command("cp", CHANGING, entry="source", examples=("filetools cp config.json config.old.json",))
@source_argument
@destination_argument
@force_option
async def cp(runner: CommandRunner, files: FileToolsFacade, source: str, destination: str, *, force: bool) -> None:
    """Copy a file's bytes and mode."""
    origin = runner.path(source)
    copied = await files.copy_file(origin, await _target(files, runner, origin, destination), overwrite=force)
    runner.show(copied, lambda copied: print_row("copied", copied.path, detail=amount(copied.bytes_written, "byte")))


@command("mkdir", CHANGING, examples=("filetools mkdir docs/pictures",))
@click.argument("path", help="New folder.")
def mkdir(runner: CommandRunner, path: str) -> None:
    """Create a folder and its missing parents."""
    where = runner.path(path)

    async def work(files: FileToolsFacade) -> None:
        made = await files.create_directory(where)
        runner.show(made, lambda made: print_row("made" if made.created else "exists", made.path, is_folder=True))

    runner.perform(work)


def _new_path(runner: CommandRunner, path: str) -> str:
    """Return the workspace path of a file; a trailing slash is kept, so that the workspace refuses it."""
    return f"{runner.path(path)}/" if path.endswith("/") else runner.path(path)


async def _target(files: FileToolsFacade, runner: CommandRunner, origin: str, destination: str) -> str:
    """Return the target path; if the destination is a folder, the entry goes into it, as with mv and cp."""
    target = runner.path(destination)
    if destination.endswith("/") or await is_folder(files, target):
        return f"{target}/{origin.rpartition('/')[2]}"
    return target


def _show_deleted(result: DeleteResult) -> None:
    print_row("deleted", result.path, detail=amount(result.entries, "entry", "entries") if result.entries > 1 else None)
