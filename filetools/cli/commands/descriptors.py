"""Commands over descriptors, the long results that agents read in pages: `fd list`, `fd read`, `fd search`, `fd save`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from filetools.cli.command import workspace_command
from filetools.cli.desk import CHANGING, READING, Desk
from filetools.cli.help_page import PagedGroup
from filetools.cli.terminal import STDOUT, print_line, print_note, printable, printable_text

if TYPE_CHECKING:
    from filetools.facade.facade import FileToolsFacade
    from filetools.tools.tool import ToolContext

_PANEL: Final = "Tools"
Fd = Annotated[str, typer.Argument(metavar="FD", help="Id, such as fd:1; 'filetools fd list' tells which there are.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    group = typer.Typer(
        cls=PagedGroup,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Read the long results that an agent got as descriptors.\n\nThe option --actor of each says whose.",
        epilog="filetools fd list --actor claude-code\nfiletools fd read fd:1 --actor claude-code",
    )
    workspace_command(group, READING, name="list", panel=_PANEL, examples=("filetools fd list --actor claude-code",))(
        list_descriptors
    )
    workspace_command(
        group, READING, name="read", panel=_PANEL,
        examples=("filetools fd read fd:1", "filetools fd read fd:1 --mode line --start 100 --count 20"),
    )(read)  # fmt: skip
    workspace_command(
        group, READING, name="search", panel=_PANEL,
        examples=("filetools fd search fd:1 error -i", "filetools fd search fd:1 'E[0-9]+' --regex"),
    )(search)  # fmt: skip
    workspace_command(
        group, CHANGING, name="save", panel=_PANEL,
        examples=("filetools fd save fd:1 result.txt", "filetools fd save fd:1 all.log --append"),
    )(save)  # fmt: skip
    app.add_typer(group, name="fd", rich_help_panel=_PANEL)


def list_descriptors(desk: Desk) -> None:
    """List the descriptors that can be read, with their sizes."""
    from filetools.tools import descriptors as tools
    from filetools.tools.arguments import NoParameters

    desk.read(lambda files: tools.list_fds(_context(files), NoParameters()), _show_rows)


def read(
    desk: Desk,
    fd: Fd,
    *,
    mode: Annotated[Literal["page", "line", "char"] | None, typer.Option(help="Unit of --start and --count.")] = None,
    start: Annotated[int | None, typer.Option(help="The first one; characters count from 0.", metavar="N")] = None,
    count: Annotated[int | None, typer.Option(help="How many; one by default.", metavar="N")] = None,
) -> None:
    """Print the text of a descriptor: all of it, or some pages, lines or characters."""
    from filetools.tools import descriptors as tools

    is_whole = mode is None and start is None and count is None
    asked = tools.ReadFd(
        fd=fd, read_all=is_whole, mode=mode or "page", start=start, count=1 if count is None else count
    )
    desk.read(lambda files: tools.read_fd(_context(files), asked), lambda frame: _show_text(frame["content"]))


def search(
    desk: Desk,
    fd: Fd,
    pattern: Annotated[str, typer.Argument(metavar="PATTERN", help="Text to find.")],
    *,
    regex: Annotated[bool, typer.Option("--regex", "-E", help="PATTERN is a regular expression.")] = False,
    ignore_case: Annotated[bool, typer.Option("--ignore-case", "-i", help="Take A for a.")] = False,
    context: Annotated[int, typer.Option("--context", "-C", help="Lines around each.", metavar="N", min=0, max=20)] = 0,
) -> None:
    """Find lines in the text of a descriptor."""
    from filetools.tools import descriptors as tools

    asked = tools.SearchFd(
        fd=fd, pattern=pattern, regex=regex, ignore_case=ignore_case, context=context, max_matches=tools.MOST_MATCHES
    )

    async def work(files: FileToolsFacade) -> Mapping[str, Any]:
        found = await tools.search_fd(_context(files), asked)
        if not found["matches"]:
            desk.note_failure(1)  # as grep does
        return found

    desk.read(work, _show_rows)


def save(
    desk: Desk,
    fd: Fd,
    path: Annotated[str, typer.Argument(metavar="PATH", help="File to write.")],
    *,
    append: Annotated[bool, typer.Option("--append", help="Add to the end of the file.")] = False,
    new: Annotated[bool, typer.Option("--new", help="Only if there is no such file.")] = False,
) -> None:
    """Write the whole text of a descriptor to a file."""
    from filetools.tools import descriptors as tools

    asked = tools.FdToFile(fd=fd, file_path=desk.path(path), mode="append" if append else "write", exist_ok=not new)
    desk.perform(lambda files: tools.fd_to_file(_context(files), asked), lambda frame: print_note(frame["message"]))


def _context(files: FileToolsFacade) -> ToolContext:
    from filetools.tools.tool import ToolContext

    return ToolContext(files=files, call_id="", report=lambda *_: None)


def _show_text(text: str) -> None:
    """Print a text: what cannot steer a terminal there, and exactly all of it into a pipe."""
    if STDOUT.is_terminal:
        sys.stdout.write(printable_text(text))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))
    sys.stdout.flush()


def _show_rows(data: Mapping[str, Any]) -> None:
    from filetools.tools.descriptors import present
    from filetools.tools.seen import TextLimits

    for row in present({"success": True, "data": data}, TextLimits()).text.split("\n"):
        print_line(printable(row))
