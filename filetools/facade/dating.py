"""When changes happened that were noticed later only, because nobody watched."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from filetools.errors import FileToolsError
from filetools.facade.look import STILL_SECONDS
from filetools.facade.parts import Parts
from filetools.journal.changes import Change
from filetools.journal.history import RecordFilter
from filetools.journal.tree_index import Looked
from filetools.models.records import Operation
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import FileStat

NOTHING_KNOWN: Final[Mapping[str, FileStat | None]] = {}


def dated(
    parts: Parts, changes: Sequence[Change], stats: Mapping[str, FileStat | None] = NOTHING_KNOWN
) -> list[Change]:
    """Return foreign changes with the time in which they happened, where nobody can have seen them happen.

    It begins with the newest moment at which the path is known to have been as recorded, and ends when what stands there
    was changed last, by the file system's clock as far as that can be believed, else now. Call it in a worker thread.

    Args:
        parts: The workspace.
        changes: The changes.
        stats: Facts of what stands at their paths, as far as the caller has asked; None where nothing does.
    """
    looked: list[Looked | None] = []
    return [_dated(parts, change, stats, looked) if _is_foreign(change) else change for change in changes]


def _is_foreign(change: Change) -> bool:
    return change.external and change.operation is not Operation.FOUND


def _dated(parts: Parts, change: Change, stats: Mapping[str, FileStat | None], looked: list[Looked | None]) -> Change:
    stat = stats[change.path] if change.path in stats else _stat(parts, change)
    if parts.names.is_watched(stat):
        return change
    if not looked:
        looked.append(parts.journal.tree_index.looked())
    now, since = time.time(), _known_until(parts, change, looked[0])
    if since is None or since > now:
        return change  # a clock that was set back says nothing
    changed = now if stat is None else stat.changed_ns / 1e9
    return replace(change, between=(since, changed if since < changed < now else now))


def _stat(parts: Parts, change: Change) -> FileStat | None:
    try:
        return parts.store.stat(WorkspacePath(change.path))
    except FileToolsError:
        return None


def _known_until(parts: Parts, change: Change, looked: Looked | None) -> float | None:
    """Return the newest moment at which what stood at the path of a change is known to have been as it was recorded."""
    journal, key = parts.journal, change.key if change.old_key is None else change.old_key
    known: list[float] = []
    head = journal.view(key).head
    if head is not None:
        newest = journal.history.select(RecordFilter(numbers=(head.number,)))
        # What others do is read first and recorded then; a change between the two would be missed here.
        known += [one.time - (STILL_SECONDS if one.actor.kind == "external" else 0.0) for one in newest]
    if looked is not None and looked.began:
        known.append(looked.began)
    return max(known, default=None)
