"""Commands that read: `read`, `ls`, `info`."""

from __future__ import annotations

import base64
import shlex
import sys
from typing import Any, Final

import click

from filetools.cli.command import command
from filetools.cli.parameters import ENTRY, path_argument
from filetools.cli.records import show_entries
from filetools.cli.runner import READING, CommandRunner
from filetools.cli.terminal import (
    FAILED,
    amount,
    print_facts,
    print_note,
    print_refusal,
    printable_text,
)
from filetools.content.formats import encode, format_named, marked
from filetools.facade.facade import FileToolsFacade
from filetools.models.files import InfoResult, ReadResult
from filetools.models.words import VERSION_PREFIX

_PAGE: Final = 1000


@command(
    "read",
    READING,
    examples=(
        "filetools read src/app.py",
        "filetools read server.log --offset -20",
        "filetools read logo.png > copy.png",
    ),
)
@path_argument
@click.option("--offset", type=int, help="First line, from 1; -1 is the last.")
@click.option("--limit", type=click.IntRange(1), help="Maximum number of lines.")
@click.option(
    "--version",
    metavar="VERSION",
    help="Read this earlier version; its first digits suffice.",
)
async def read(
    runner: CommandRunner,
    files: FileToolsFacade,
    path: str,
    *,
    offset: int | None,
    limit: int | None,
    version: str | None,
) -> None:
    """Print a file, or some of its lines.

    A pipe gets the exact bytes of the file. A terminal gets text with control characters escaped; binary files are refused
    there.
    """
    where = runner.path(path)
    runner.show(
        await files.read_file(where, offset=offset, limit=limit, version=version),
        lambda result: _show_content(runner, result, from_start=offset in (None, 1)),
    )


@command("ls", READING, examples=("filetools ls", "filetools ls -l src", "filetools ls -R --json"))
@click.argument("path", default=".", type=ENTRY, help="Folder, relative to the working folder.")
@click.option("-R", "--recursive", is_flag=True, help="Include everything below.")
@click.option("-l", "--long", is_flag=True, help="Also show size and time.")
@click.option("--limit", type=click.IntRange(1, 1000), help="Stop after this many entries; by default print all.")
async def ls(
    runner: CommandRunner, files: FileToolsFacade, path: str, *, recursive: bool, long: bool, limit: int | None
) -> None:
    """List a folder.

    Folders come first, then files by name; paths are relative to the root. With --json each 1000 entries are one line.
    """
    where, cursor = runner.path(path), None
    while True:
        page = await files.list_files(where, recursive=recursive, limit=limit or _PAGE, cursor=cursor, details=long)
        runner.show(page, lambda page: show_entries(page, long=long))
        cursor = page.next_cursor
        if cursor is None or limit is not None:
            break
    if cursor is not None and not runner.options.as_json:
        print_note(f"Only the first {limit} are shown; raise --limit to see more.")


@command("info", READING, examples=("filetools info src/app.py",))
@click.argument("path", type=ENTRY, help="File or folder, relative to the working folder.")
async def info(runner: CommandRunner, files: FileToolsFacade, path: str) -> None:
    """Show the metadata of a file or folder."""
    runner.show(await files.file_info(runner.path(path)), lambda result: print_facts(_facts(result)))


def _show_content(runner: CommandRunner, result: ReadResult, *, from_start: bool) -> None:
    if sys.stdout.isatty():
        if result.is_binary:
            what = f"{result.path} is binary ({result.mime_type}, {amount(result.size, 'byte')})"
            print_refusal(what, f"Write it to a file: filetools read {shlex.quote(result.path)} > FILE")
            runner.note_failure(FAILED)
            return
        sys.stdout.write(printable_text(result.content))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(_bytes_of(result, from_start=from_start))
    sys.stdout.flush()


def _bytes_of(result: ReadResult, *, from_start: bool) -> bytes:
    """Return the content as on disk, including the byte-order mark."""
    if result.is_binary:
        return base64.b64decode(result.content)
    form = marked(format_named(result.encoding), has_mark=bool(result.bom) and from_start)
    return encode(result.content, form, path=result.path)


def _facts(result: InfoResult) -> list[tuple[str, Any]]:
    change = result.last_change
    known = [
        ("path", result.path or "."),
        ("type", result.type),
        ("size", None if result.size is None else amount(result.size, "byte")),
        ("modified", f"{result.modified.astimezone():%Y-%m-%d %H:%M:%S}"),
        ("mode", result.mode),
        ("version", result.version and result.version.removeprefix(VERSION_PREFIX)),
        ("encoding", result.encoding and result.encoding + (" with byte-order mark" if result.bom else "")),
        ("line ends", result.newline),
        ("lines", result.total_lines),
        ("kind", result.mime_type),
        ("names", result.links if result.links > 1 and result.type == "file" else None),
        ("locked", "yes" if result.locked else None),
        ("last change", change and f"{change['number']}, {change['operation']} by {change['actor']['id']}"),
    ]
    return [(name, value) for name, value in known if value is not None]
