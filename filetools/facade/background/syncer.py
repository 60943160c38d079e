"""The second promise of durability: files and folders themselves are synced behind the calls, until the journal may forget.

The journal's sync already covers every acknowledged change; this only shortens what a power cut leaves to recovery, and
lets retention remove old records.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable

from filetools.errors import FileToolsError, PathNotDirectoryError, SymlinkNotAllowedError
from filetools.facade.parts import Parts
from filetools.paths.workspace_path import WorkspacePath
from filetools.sync.folder_recovery import own_places
from filetools.sync.mirror_files import sync_place

_log = logging.getLogger(__name__)
MOST_RECORDS = 2000
ALL_RECORDS = 1_000_000


def sync_files(
    parts: Parts, folder: WorkspacePath | None = None, told: Callable[[int, int], None] = lambda _done, _total: None
) -> int:
    """Sync what applied records changed; returns how many records are settled by it. Call it in a worker thread.

    Args:
        parts: The workspace.
        folder: Sync what is in this folder, all of it; None syncs what has waited longest.
        told: Told before each path how many are done, of how many; what it raises ends the work.
    """
    records = parts.journal.marks.unsynced(MOST_RECORDS if folder is None else ALL_RECORDS)
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
        told(done, len(by_path))
        try:
            if not sync_place(parts.store, path, synced):
                absent.append(path)
        except FileToolsError as exc:
            _log.warning("%s is not synced yet: %s", path, exc)
            failed.update(numbers)
    failed.update(number for path in _on_their_way(parts, absent) for number in by_path[path])
    # What moved along with its folder meanwhile was synced nowhere.
    failed.update(number for number, now in parts.recovery.places_of(records).items() if now != places[number])
    parts.journal.marks.synced(record.number for record in records if record.number not in failed)
    return len(records) - len(failed)


def _on_their_way(parts: Parts, absent: list[WorkspacePath]) -> list[WorkspacePath]:
    """Return those of the paths at which nothing could be synced that something comes to: its bytes were not synced.

    A change that is only being applied counts already in where things are, and what was taken away may be set back.
    """
    if not absent:
        return []
    # In this order: what is applied by now stands where it goes.
    key = parts.workspace.key
    pending = {key(place) for record in parts.journal.marks.pending(ALL_RECORDS) for place in own_places(record)}
    return [path for path in absent if _stands(parts, path) or not pending.isdisjoint(map(key, (path, *path.folders)))]


def _stands(parts: Parts, path: WorkspacePath) -> bool:
    """Whether a file or a folder is there, or may be."""
    try:
        stat = parts.store.stat(path)
    except (PathNotDirectoryError, SymlinkNotAllowedError):
        return False
    except FileToolsError:
        return True
    return stat is not None and stat.type in ("file", "directory")
