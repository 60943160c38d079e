"""Changes as lines for people, and as JSON for programs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from rich import text as rich_text

from filetools.cli.terminal import print_note, printable
from filetools.errors import FileToolsError
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import ChangeRecord, Operation
from filetools.models.words import ActorKind

_VERBS: Final = {
    Operation.FOUND: "found",
    Operation.CREATE: "created",
    Operation.MODIFY: "modified",
    Operation.DELETE: "deleted",
    Operation.MOVE: "moved",
    Operation.CREATE_DIRECTORY: "made",
    Operation.DELETE_DIRECTORY: "removed",
    Operation.MOVE_DIRECTORY: "moved",
    Operation.MODIFY_DIRECTORY: "mode",
    Operation.LINK: "linked",
}
_VERB_STYLES: Final = {"created": "green", "made": "green", "deleted": "red", "removed": "red", "moved": "blue"}
_ACTOR_STYLES: Final[dict[ActorKind, str]] = {
    "agent": "cyan",
    "editor": "magenta",
    "external": "yellow",
    "system": "blue",
}
_FOLDERS: Final = (
    Operation.CREATE_DIRECTORY, Operation.DELETE_DIRECTORY, Operation.MOVE_DIRECTORY, Operation.MODIFY_DIRECTORY,
)  # fmt: skip
MOST_UNREAD: Final = 50
"""Paths that nobody could look at, of which people are told; JSON has all of them."""
_TODAY_SECONDS: Final = 12 * 3600


def change_line(record: ChangeRecord, *, with_time: bool = True) -> rich_text.Text:
    """Return one line: number, time, who, what, path."""
    verb = _VERBS[record.operation]
    end = "/" if record.operation in _FOLDERS else ""
    path = printable(record.path) + end
    if record.old_path is not None:
        path = f"{printable(record.old_path)}{end} → {path}"
    return rich_text.Text.assemble(
        (f"{record.number:>6}  ", "dim"),
        (f"{moment(record.time)}  " if with_time else "", "dim"),
        (f"{printable(record.actor.id):<10} ", _ACTOR_STYLES[record.actor.kind]),
        (f"{verb:<9}", _VERB_STYLES.get(verb, "")),
        path,
        (between(record.between), "dim"),
    )


def between(span: tuple[float, float] | None) -> str:
    """Return when something happened that was noticed later only; nothing where that is not so."""
    return "" if span is None else f"  between {moment(span[0])} and {moment(span[1])}"


def print_unread(paths: Sequence[str]) -> None:
    """Say which paths nobody could look at."""
    for path in paths[:MOST_UNREAD]:
        print_note(f"unread: {printable(path)} could not be looked at, or was changing")
    if len(paths) > MOST_UNREAD:
        print_note(f"unread: {len(paths) - MOST_UNREAD} paths more")


def change_to_dict(record: ChangeRecord, epoch: str) -> dict[str, Any]:
    """Return a change as JSON, with the position after it, without the fields that are None."""
    plain = asdict(record) | {"position": f"{epoch}:{record.number}"}
    plain["actor"] = {name: value for name, value in plain["actor"].items() if value is not None}
    return {name: value for name, value in plain.items() if value is not None}


async def patch_of(files: FileToolsFacade, record: ChangeRecord) -> str | None:
    """Return what a change did to the text of its file as a unified diff; None if it did nothing, or nobody can tell."""
    if record.operation in _FOLDERS or record.before_unknown or record.before == record.after:
        return None
    try:
        if record.before is not None and record.after is not None:
            return (await files.diff(record.path, record.before, record.after)).diff
        version = record.after or record.before
        read = await files.read_file(record.path, version=version)
    except FileToolsError:  # binary, or no longer kept
        return None
    return None if read.is_binary else whole_text_patch(record.path, read.content, is_added=record.before is None)


def whole_text_patch(path: str, content: str, *, is_added: bool) -> str:
    """Return the diff of a text that came, or went, as a whole."""
    lines = content.splitlines(keepends=True)
    sign, span = ("+", f"-0,0 +1,{len(lines)}") if is_added else ("-", f"-1,{len(lines)} +0,0")
    old, new = ("/dev/null", f"b/{path}") if is_added else (f"a/{path}", "/dev/null")
    body = "".join(f"{sign}{line}" for line in lines)
    if body and not body.endswith("\n"):
        body += "\n\\ No newline at end of file\n"
    return f"--- {old}\n+++ {new}\n" + (f"@@ {span} @@\n{body}" if body else "")


def moment(seconds: float, *, short: bool = False) -> str:
    """Return a time for people: of day if it was lately, else with the date, or with `short` the date alone."""
    then = time.localtime(seconds)
    recent = time.time() - seconds < _TODAY_SECONDS
    return time.strftime("%H:%M:%S" if recent else "%Y-%m-%d" if short else "%Y-%m-%d %H:%M", then)


def verb_of(operation: Operation) -> str:
    """Return what an operation did, in one word."""
    return _VERBS[operation]


def actor_style(kind: str) -> str:
    """Return the style that the names of a kind of actors have."""
    return next((style for known, style in _ACTOR_STYLES.items() if known == kind), "")
