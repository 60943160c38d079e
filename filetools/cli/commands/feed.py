"""Commands over the feed of changes: `log`, `follow`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

import filetools.models as models
from filetools.cli import suggestions
from filetools.cli.command import workspace_command
from filetools.cli.desk import CHANGING, READING, Desk
from filetools.cli.records import change_line, change_to_dict, patch_of, print_unread
from filetools.cli.terminal import STDOUT, print_diff, print_json, print_line, print_note

if TYPE_CHECKING:
    from filetools.facade.facade import FileToolsFacade
    from filetools.models.records import ChangeRecord

_PANEL: Final = "Changes"


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    workspace_command(
        app,
        READING,
        panel=_PANEL,
        examples=("filetools log", "filetools log src/app.py -p -n 5", "filetools log --json"),
    )(log)
    workspace_command(
        app, CHANGING, panel=_PANEL,
        examples=("filetools follow", "filetools follow --json | jq .path", "filetools follow --since 3f2a9c:120"),
    )(follow)  # fmt: skip


def log(
    desk: Desk,
    path: Annotated[
        str | None, typer.Argument(metavar="PATH", help="Only changes of this file.", autocompletion=suggestions.paths)
    ] = None,
    *,
    number: Annotated[int, typer.Option("-n", "--number", min=1, max=1000, help="Most changes.")] = 20,
    patch: Annotated[bool, typer.Option("-p", "--patch", help="Also show what each did to the text.")] = False,
) -> None:
    """Print the newest changes, newest first.

    Who did what: agents, people and programs that know nothing of filetools. The tree, or the file, is looked at first: of
    what changed while nobody watched the log says between which times.
    """

    async def work(files: FileToolsFacade) -> dict[str, Any]:
        where = None if path is None else desk.path(path)
        seen = models.LookResult() if where is not None else await files.look()
        records = await files.latest_changes(number, path=where)
        if not records and where is not None:
            await files.file_info(where)  # raises if there is no such file either
        patches = [await patch_of(files, record) if patch else None for record in records]
        if not desk.options.as_json:
            for record, text in zip(records, patches, strict=True):
                STDOUT.print(change_line(record))
                _show_patch(text)
            if not records:
                print_note("No change is recorded.")
            if desk.lacks_state:
                desk.note_no_state()
            elif not seen.recorded:
                print_note("What changed while nobody watched cannot be recorded: the state cannot be written.")
            print_unread(seen.unread)
        epoch = (await files.status())["epoch"]
        changes = [
            change_to_dict(record, epoch) | ({} if text is None else {"diff": text})
            for record, text in zip(records, patches, strict=True)
        ]
        return {"changes": changes, "unread": seen.unread}

    desk.read(work, lambda _: None)


def _show_patch(text: str | None) -> None:
    if text is not None:
        print_diff(text)
        print_line()


def follow(
    desk: Desk,
    *,
    since: Annotated[
        str | None, typer.Option(metavar="POSITION", help="Begin after this position, such as 3f2a9c:120; else now.")
    ] = None,
) -> None:
    """Print changes as they happen, until interrupted.

    With --json every change is one line and carries the position after it, for --since.
    """

    async def work(files: FileToolsFacade) -> None:
        status = await files.status()
        epoch = status["epoch"]
        start = since or f"{epoch}:{status['position']}"
        if since is not None and (await files.changes(since, limit=1)).resync:
            print_note("Some changes since that position are no longer known: read the tree again.")

        def show(record: ChangeRecord) -> None:
            if desk.options.as_json:
                print_json(change_to_dict(record, epoch))
            else:
                STDOUT.print(change_line(record))

        print_note("Following; every change is a line from now on. Ctrl-C ends it.")
        async for record in files.follow(start):
            show(record)

    desk.perform(work, lambda _: None, watch=True)
