"""Syncs changed files and folders in the background.

The journal's own sync already makes every acknowledged change durable. This leaves less for recovery to do after a power
cut, and lets retention remove old records.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable

from filetools.changes.parts import Parts
from filetools.errors import FileToolsError, PathNotDirectoryError, SymlinkNotAllowedError
from filetools.paths.workspace_path import WorkspacePath
from filetools.sync.recovery import own_places

_log = logging.getLogger(__name__)
MOST_RECORDS = 2000
ALL_RECORDS = 1_000_000


def sync_files(
    parts: Parts, folder: WorkspacePath | None = None, report: Callable[[int, int], None] = lambda _done, _total: None
) -> int:
    """Sync the paths of applied records; returns the number of records marked as synced. Call it in a worker thread.

    Args:
        parts: The workspace.
        folder: Sync everything in this folder; None syncs the oldest unsynced records.
        report: Called before each path with the number done and the total; may raise to stop.
    """
    records = parts.journal.marks.unfinished("unsynced", MOST_RECORDS if folder is None else ALL_RECORDS)
    places = parts.recovery.places_of(records)
    if folder is not None:
        records = [record for record in records if any(each.is_below(folder) for each in places[record.number])]
    by_path: dict[WorkspacePath, list[int]] = defaultdict(list)
    for record in records:
        for path in places[record.number] or [WorkspacePath(record.path)]:
            by_path[path].append(record.number)
    failed: set[int] = set()
    absent: list[WorkspacePath] = []
    synced: set[WorkspacePath] = set()
    for done, (path, numbers) in enumerate(by_path.items()):
        report(done, len(by_path))
        try:
            if not parts.store.sync(path, synced=synced):
                absent.append(path)
        except FileToolsError as exc:
            _log.warning("%s is not synced yet: %s", path, exc)
            failed.update(numbers)
    failed.update(number for path in _arriving(parts, absent) for number in by_path[path])
    # A path whose folder has moved meanwhile was not synced at its new place.
    failed.update(number for number, now in parts.recovery.places_of(records).items() if now != places[number])
    parts.journal.marks.synced(record.number for record in records if record.number not in failed)
    return len(records) - len(failed)


def _arriving(parts: Parts, absent: list[WorkspacePath]) -> list[WorkspacePath]:
    """Return the absent paths that a change in progress may fill: its bytes are not synced.

    `places_of` already counts a change that is still being applied, and a removal may be set back.
    """
    if not absent:
        return []
    # Read pending records first: a change that is applied by then has put its file in place.
    key = parts.workspace.key
    pending = {
        key(place) for record in parts.journal.marks.unfinished("pending", ALL_RECORDS) for place in own_places(record)
    }
    return [
        path for path in absent if _may_exist(parts, path) or not pending.isdisjoint(map(key, (path, *path.folders)))
    ]


def _may_exist(parts: Parts, path: WorkspacePath) -> bool:
    """False if a path is certainly neither a file nor a folder."""
    try:
        stat = parts.store.stat(path)
    except (PathNotDirectoryError, SymlinkNotAllowedError):
        return False
    except FileToolsError:
        return True
    return stat is not None and stat.type in ("file", "directory")
