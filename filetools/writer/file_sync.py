"""Syncs changed files and folders in the background.

The journal's own sync already makes every acknowledged change durable. This leaves less for recovery to do after a power
cut, and lets retention remove old records.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable

from filetools.errors import FileToolsError, PathNotDirectoryError, SymlinkNotAllowedError
from filetools.journal.journal import Journal
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import Store
from filetools.writer.places import own_places, places_of

_log = logging.getLogger(__name__)
MOST_RECORDS = 2000
ALL_RECORDS = 1_000_000


def sync_files(
    workspace: Workspace,
    store: Store,
    journal: Journal,
    folder: WorkspacePath | None = None,
    report: Callable[[int, int], None] = lambda _done, _total: None,
) -> int:
    """Sync the paths of applied records; returns the number of records marked as synced. Call it in a worker thread.

    Args:
        workspace: The root.
        store: Its files.
        journal: Its records.
        folder: Sync everything in this folder; None syncs the oldest unsynced records.
        report: Called before each path with the number done and the total; may raise to stop.
    """
    records = journal.marks.unfinished("unsynced", MOST_RECORDS if folder is None else ALL_RECORDS)
    places = places_of(journal, workspace.key, records)
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
            if not store.sync(path, synced=synced):
                absent.append(path)
        except FileToolsError as exc:
            _log.warning("%s is not synced yet: %s", path, exc)
            failed.update(numbers)
    # Changes in progress may fill absent paths, whose bytes are not synced then: `places_of` already counts a change that is
    # still being applied, and a removal may be set back.
    # Read pending records first: a change that is applied by then has put its file in place.
    arriving = {
        workspace.key(place)
        for record in (journal.marks.unfinished("pending", ALL_RECORDS) if absent else ())
        for place in own_places(record)
    }
    for path in absent:
        if _may_exist(store, path) or not arriving.isdisjoint(map(workspace.key, (path, *path.folders))):
            failed.update(by_path[path])
    # A path whose folder has moved meanwhile was not synced at its new place.
    failed.update(number for number, now in places_of(journal, workspace.key, records).items() if now != places[number])
    journal.marks.synced(record.number for record in records if record.number not in failed)
    return len(records) - len(failed)


def _may_exist(store: Store, path: WorkspacePath) -> bool:
    """False if a path is certainly neither a file nor a folder."""
    try:
        stat = store.stat(path)
    except (PathNotDirectoryError, SymlinkNotAllowedError):
        return False
    except FileToolsError:
        return True
    return stat is not None and stat.type in ("file", "directory")
