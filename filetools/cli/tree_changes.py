"""Net changes of the whole tree as lines for people, and what they are compared with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from filetools.cli.records import actor_style, moment
from filetools.cli.terminal import printable
from filetools.errors import InvalidArgumentError

if TYPE_CHECKING:
    from filetools.facade.facade import FileToolsFacade
    from filetools.models.tree_diff import TreeChange, TreeDiffResult

MOST_LISTED: Final = 20
"""Changes that are listed where a summary is asked for."""
WIDEST_PATH: Final = 48
_VERBS: Final = {
    "added": ("added", "green"),
    "modified": ("modified", ""),
    "deleted": ("deleted", "red"),
    "moved": ("moved", "blue"),
    "mode": ("mode", "blue"),
    "kind": ("replaced", "yellow"),
}
_KINDS: Final = {"file": "a file", "directory": "a folder", "symlink": "a link"}


async def newest_checkpoint(files: FileToolsFacade) -> str | None:
    """Return the name of the newest checkpoint that has a tree to compare with, or None."""
    found = (await files.checkpoints()).checkpoints
    return next((each.name for each in reversed(found) if each.files is not None), None)


async def required_checkpoint(files: FileToolsFacade, given: str | None) -> str:
    """Return the name given, else that of the newest checkpoint.

    Raises:
        InvalidArgumentError: There is none.
    """
    name = given if given is not None else await newest_checkpoint(files)
    if name is None:
        raise InvalidArgumentError(
            "There is no checkpoint to compare with",
            suggested_action="Make one with 'filetools checkpoint', or name a file; 'filetools log -p' shows each change.",
        )
    return name


def change_lines(result: TreeDiffResult, *, most: int = MOST_LISTED) -> Iterator[Text]:
    """Yield a line for each change, up to so many; folders whose own coming or going others show are left out."""
    shown = list(_without_needless_folders(result.changes))
    width = min(max((len(_place(each)) for each in shown[:most]), default=0), WIDEST_PATH)
    for change in shown[:most]:
        yield _line(change, width)
    if left := max(len(shown) - most, 0) + result.total - len(result.changes):
        yield Text(f"… and {left:,} more", style="dim")


def change_line(change: TreeChange) -> Text:
    """Return the line of one change, without who made it."""
    verb, style = _VERBS[change.change]
    return Text.assemble((f"{verb:<9} ", style), _place(change), (_detail(change), "dim"))


def counted(changes: dict[str, int]) -> str:
    """Return counts of changes in words, such as "2 modified, 1 added"; "nothing" if there are none."""
    ordered = sorted(changes.items(), key=lambda item: (-item[1], item[0]))
    words = (f"{count:,} {'mode changed' if change == 'mode' else _VERBS[change][0]}" for change, count in ordered)
    return ", ".join(words) or "nothing"


def actor_lines(result: TreeDiffResult) -> Iterator[Text]:
    """Yield a line for each actor: in how many changes it had a hand."""
    width = max((len(printable(each.id)) for each in result.by_actor), default=0)
    for each in result.by_actor:
        name = printable(each.id)
        yield Text.assemble((f"{name:<{width}}  ", actor_style(each.kind)), counted(each.changes))


def compared(result: TreeDiffResult) -> str:
    """Return between what there are these differences."""
    if result.new is None:
        return f"since checkpoint {printable(result.old)!r}, {moment(result.old_time)}"
    return f"between {printable(result.old)!r} and {printable(result.new)!r}"


def unsure_lines(result: TreeDiffResult) -> Iterator[Text]:
    """Yield a line for each path of which nothing certain can be said, up to so many of each sort."""
    for word, paths, why in (
        ("unread", result.unread, "it could not be read, or was changing"),
        ("unknown", result.unknown, "in one of them alone, since other ignore rules held"),
    ):
        for path in paths[:MOST_LISTED]:
            yield Text.assemble((f"{word:<9} ", "yellow"), printable(path), (f"  {why}", "dim"))
        if len(paths) > MOST_LISTED:
            yield Text(f"{word:<9} … and {len(paths) - MOST_LISTED:,} more", style="dim")


def _without_needless_folders(changes: list[TreeChange]) -> Iterator[TreeChange]:
    """Yield all but folders that came or went with what is in them, as their files tell."""
    inside = {
        ("added", folder) for each in changes if each.change in ("added", "moved") for folder in _above(each.path)
    }
    gone = (each.old_path or each.path for each in changes if each.change in ("deleted", "moved"))
    inside |= {("deleted", folder) for path in gone for folder in _above(path)}
    for each in changes:
        if (
            each.kind != "directory"
            or each.change not in ("added", "deleted")
            or (each.change, each.path) not in inside
        ):
            yield each


def _above(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _line(change: TreeChange, width: int) -> Text:
    verb, style = _VERBS[change.change]
    place = _place(change)
    return Text.assemble((f"{verb:<9} ", style), f"{place:<{width}}", *_names(change.actors), (_detail(change), "dim"))


def _names(actors: Iterable[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for place, actor in enumerate(actors):
        yield ("  " if not place else ", "), ""
        yield printable(str(actor["id"])), actor_style(str(actor["kind"]))


def _place(change: TreeChange) -> str:
    end = "/" if change.kind == "directory" else ""
    origin = "" if change.old_path is None else f"{printable(change.old_path)}{end} → "
    return f"{origin}{printable(change.path)}{end}"


def _detail(change: TreeChange) -> str:
    if change.change == "mode":
        return f"  {change.old_mode} → {change.mode}"
    if change.old_kind is not None:
        return f"  {_KINDS[change.old_kind]} became {_KINDS[change.kind]}"
    if change.old_path is not None and change.old_version != change.version:
        return "  changed, too"
    return ""
