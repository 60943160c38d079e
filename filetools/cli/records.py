"""Formats changes as lines for people and as JSON for programs."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import asdict

from filetools.cli.terminal import STDERR, VERB_STYLES, path_text, print_line, printable, styled
from filetools.content.differences.diff import unified_diff
from filetools.errors import FileToolsError, InvalidArgumentError
from filetools.facade.facade import FileToolsFacade
from filetools.models.history import TreeChange, TreeDiffResult
from filetools.models.records import ChangeRecord, Operation
from filetools.models.searching import ListResult, SearchResult

if TYPE_CHECKING:
    from rich.text import Text

VERBS: Final = {
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
ACTOR_STYLES: Final[Mapping[str, str]] = {
    "agent": "cyan",
    "editor": "magenta",
    "external": "yellow",
    "system": "blue",
}
"""Styles of actors' names, by kind."""
FOLDERS: Final = (
    Operation.CREATE_DIRECTORY, Operation.DELETE_DIRECTORY, Operation.MOVE_DIRECTORY, Operation.MODIFY_DIRECTORY,
)  # fmt: skip
_TODAY_SECONDS: Final = 12 * 3600
_MOST_APART: Final = 3
"""Maximum number of simultaneous changes with separate lines."""
_MOST_PLACES: Final = 3
"""Maximum number of folders named in the line of a group."""


def change_line(record: ChangeRecord) -> Text:
    """Return one line: number, time, actor, operation, path."""
    verb = VERBS[record.operation]
    return styled(
        (f"{record.number:>6}  {moment(record.time)}  ", "dim"),
        (f"{printable(record.actor.id):<10} ", ACTOR_STYLES[record.actor.kind]),
        (f"{verb:<9}", VERB_STYLES.get(verb, "")),
        path_text(record.path, record.old_path, is_folder=record.operation in FOLDERS),
    )


def together(records: Sequence[ChangeRecord]) -> list[Sequence[ChangeRecord]]:
    """Group changes: many changes in one second by programs without filetools become one group."""
    groups = groupby(records, lambda record: int(record.time) if record.actor.kind == "external" else -record.number)
    parts = [list(group) for _, group in groups]
    return [each for part in parts for each in ([part] if len(part) > _MOST_APART else [[record] for record in part])]


def group_line(group: Sequence[ChangeRecord]) -> Text:
    """Return the line of a group of changes, newest first: numbers, time, actor, counts, folders."""
    if len(group) == 1:
        return change_line(group[0])
    newest, oldest = group[0], group[-1]
    counts = Counter(VERBS[record.operation] for record in group)
    places = list(dict.fromkeys(record.path.rpartition("/")[0] for record in reversed(group)))
    shown = ", ".join(f"{printable(place)}/" if place else "." for place in places[:_MOST_PLACES])
    return styled(
        (f"{oldest.number}-{newest.number}".rjust(6) + f"  {moment(newest.time)}  ", "dim"),
        (f"{printable(newest.actor.id):<10} ", ACTOR_STYLES[newest.actor.kind]),
        ", ".join(f"{count:,} {verb}" for verb, count in counts.most_common()),
        f" in {shown}{' …' if len(places) > _MOST_PLACES else ''}",
    )


def print_unread(paths: Sequence[str], unknown: Sequence[str] = ()) -> None:
    """Print the paths that could not be read, and those of `unsure_lines`."""
    for line in unsure_lines(paths, unknown):
        STDERR.print(line)


def change_to_dict(record: ChangeRecord, epoch: str) -> dict[str, Any]:
    """Return a change as JSON, with the position after it, without the fields that are None."""
    plain = asdict(record) | {"actor": record.actor.to_dict(), "position": f"{epoch}:{record.number}"}
    return {name: value for name, value in plain.items() if value is not None}


async def patch_of(files: FileToolsFacade, record: ChangeRecord, *, exact: bool = False) -> str | None:
    """Return a change of a file's text as a unified diff; None if the text did not change, or is not available."""
    if record.operation in FOLDERS or record.before_unknown or record.before == record.after:
        return None
    try:
        if record.before is not None and record.after is not None:
            return (await files.diff(record.path, record.before, record.after, exact=exact)).diff
        version = record.after or record.before
        read = await files.read_file(record.path, version=version)
    except FileToolsError:  # binary, or no longer kept
        return None
    if read.is_binary:
        return None
    if record.before is None:
        return unified_diff("", read.content, "/dev/null", f"b/{record.path}")
    return unified_diff(read.content, "", f"a/{record.path}", "/dev/null")


def moment(seconds: float, *, short: bool = False) -> str:
    """Return a time for people: the time of day if recent, else date and time, or with `short` only the date."""
    then = time.localtime(seconds)
    recent = time.time() - seconds < _TODAY_SECONDS
    return time.strftime("%H:%M:%S" if recent else "%Y-%m-%d" if short else "%Y-%m-%d %H:%M", then)


MOST_LISTED: Final = 20
"""Maximum number of changes listed in a summary."""
WIDEST_PATH: Final = 48
_KINDS: Final = {"file": "a file", "directory": "a folder", "symlink": "a link"}


async def checkpoint_to_compare(files: FileToolsFacade, run: str | None = None) -> str | None:
    """Return the name of the checkpoint before a run, or of the newest one that a person created; None if there is none.

    Raises:
        RunNotFoundError
        InvalidArgumentError: The run was started without a checkpoint.
    """
    if run is None:
        made = (each for each in reversed((await files.checkpoints()).checkpoints) if not each.automatic)
        return next((each.name for each in made), None)
    name = (await files.runs.get(run)).checkpoint
    if name is None:
        raise InvalidArgumentError(
            f"The run {run} began without a checkpoint",
            suggested_action=f"'filetools log --run {run} -p' shows its changes.",
        )
    return name


def change_lines(result: TreeDiffResult) -> Iterator[Text]:
    """Yield up to `MOST_LISTED` lines of changes, without folders whose addition or removal is shown by their files."""
    shown = _without_needless_folders(result.changes)
    width = min(max((len(_place(each)) for each in shown[:MOST_LISTED]), default=0), WIDEST_PATH)
    for change in shown[:MOST_LISTED]:
        yield tree_change_line(change, width=width, actors=change.actors)
    if left := max(len(shown) - MOST_LISTED, 0) + result.total - len(result.changes):
        yield styled((f"… and {left:,} more", "dim"))


def tree_change_line(change: TreeChange, *, width: int = 0, actors: Iterable[Mapping[str, Any]] = ()) -> Text:
    """Return the line of one change, with its path padded to a width, and with names of actors."""
    verb = _verb(change.change)
    names = (
        (f"{', ' if place else '  '}", printable(str(each["id"])), each["kind"]) for place, each in enumerate(actors)
    )
    parts = (part for between, name, kind in names for part in (between, (name, ACTOR_STYLES[kind])))
    return styled(
        (f"{verb:<9} ", VERB_STYLES.get(verb, "")), f"{_place(change):<{width}}", *parts, (_detail(change), "dim")
    )


def counted(changes: dict[str, int]) -> str:
    """Return counts of changes in words, such as "2 modified, 1 added"; "nothing" if there are none."""
    ordered = sorted(changes.items(), key=lambda item: (-item[1], item[0]))
    words = (f"{count:,} {'mode changed' if change == 'mode' else _verb(change)}" for change, count in ordered)
    return ", ".join(words) or "nothing"


def _verb(change: str) -> str:
    return "replaced" if change == "kind" else change


def actor_lines(result: TreeDiffResult) -> Iterator[Text]:
    """Yield a line for each actor, with the number of changes it was involved in."""
    width = max((len(printable(each.id)) for each in result.by_actor), default=0)
    for each in result.by_actor:
        name = printable(each.id)
        yield styled((f"{name:<{width}}  ", ACTOR_STYLES[each.kind]), counted(each.changes))


def compared(result: TreeDiffResult) -> str:
    """Return the description of the two states compared."""
    if result.new is None:
        return f"since checkpoint {printable(result.old)!r}, {moment(result.old_time)}"
    return f"between {printable(result.old)!r} and {printable(result.new)!r}"


def unsure_lines(unread: Sequence[str], unknown: Sequence[str] = ()) -> Iterator[Text]:
    """Yield a line for each path whose changes are uncertain, up to `MOST_LISTED` of each kind; JSON has all of them."""
    for word, paths, why in (
        ("unread", unread, "no access, too large, being changed, or a name with a backslash or not in UTF-8"),
        ("unknown", unknown, "only in one of them, because the ignore rules differed"),
    ):
        for path in paths[:MOST_LISTED]:
            yield styled((f"{word:<9} ", "yellow"), printable(path), (f"  {why}", "dim"))
        if len(paths) > MOST_LISTED:
            yield styled((f"{word:<9} … and {len(paths) - MOST_LISTED:,} more", "dim"))


def _without_needless_folders(changes: Sequence[TreeChange]) -> list[TreeChange]:
    """Return all changes except folders that were added or removed together with their contents."""
    ends = [end for each in changes for end in (each.path, each.old_path) if end is not None]
    return [
        each
        for each in changes
        if each.kind != "directory"
        or each.change not in ("added", "deleted")
        or not any(end.startswith(f"{each.path}/") for end in ends)
    ]


def _place(change: TreeChange) -> str:
    return path_text(change.path, change.old_path, is_folder=change.kind == "directory")


def _detail(change: TreeChange) -> str:
    if change.change == "mode":
        return f"  {change.old_mode} → {change.mode}"
    if change.old_kind is not None:
        return f"  {_KINDS[change.old_kind]} became {_KINDS[change.kind]}"
    if change.old_path is not None and change.old_version != change.version:
        return "  changed, too"
    return ""


_ENTRY_STYLES: Final = {"directory": ("/", "bold blue"), "symlink": ("@", "cyan")}
"""Suffix and style of the names of entries, by type."""


def show_entries(page: ListResult | SearchResult, *, long: bool = False) -> None:
    """Print the entries of a page."""
    for entry in page.entries:
        end, style = _ENTRY_STYLES.get(entry.type, ("", ""))
        size = "-" if entry.size is None else f"{entry.size}"
        modified = "" if entry.modified is None else f"{entry.modified.astimezone():%Y-%m-%d %H:%M:%S}"
        details = f"{size:>12}  {modified:19}  " if long else ""
        print_line((details, "dim"), (printable(entry.path), style), (end, "dim"))
