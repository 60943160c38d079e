"""Watching a tree by looking at all of it again and again, where the system cannot tell what changed."""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import Final

from filetools.watch.backend import Task
from filetools.watch.exclusion import Excluded, scan
from filetools.watch.hints import HintBuffer
from filetools.watch.inventory import Inventory

logger = logging.getLogger(__name__)

INTERVAL_SECONDS: Final = 1.0
SHARE_OF_TIME: Final = 0.1
"""Largest part of one processor that looking may take; large trees are looked at less often."""

Facts = tuple[int, int, int, int, int, bool]
"""Device, inode, size, mtime, ctime, and whether it is a directory."""
Snapshot = dict[str, Facts]


class PollingThread(threading.Thread):
    """The thread that looks. Sees neither what came and went between two looks, nor writes that change no fact.

    Args:
        task: What to watch.
        reason: Told as a resync once the first look is done; None if polling was wanted from the start.
    """

    def __init__(self, task: Task, *, reason: str | None = None) -> None:
        super().__init__(name="filetools watch", daemon=True)
        self._task = task
        self._reason = reason
        self._leaving = threading.Event()

    def leave(self) -> None:
        """Ask the thread to end soon; may be called twice and from any thread."""
        self._leaving.set()

    def run(self) -> None:
        """Look, compare, tell, until asked to leave or the root is gone."""
        try:
            self._look_until_stopped()
        except Exception:
            # The last line of a thread: without it, watching would end and nobody would know.
            logger.exception("Polling failed")
            self._task.handover.resync("failed")
        finally:
            self._task.on_ready()
            self._task.on_ended()

    def _look_until_stopped(self) -> None:
        root = os.path.realpath(self._task.root)
        identity = _identity(root)
        began = time.monotonic()
        known = take_snapshot(root, self._task.excluded, self._leaving, inventory=self._task.inventory)
        if self._reason is not None:
            self._task.handover.resync(self._reason)
        self._task.on_ready()
        while not self._leaving.wait(max(INTERVAL_SECONDS, (time.monotonic() - began) / SHARE_OF_TIME)):
            began = time.monotonic()
            if identity is None or _identity(root) != identity:
                self._task.handover.resync("gone")
                return
            seen = take_snapshot(root, self._task.excluded, self._leaving)
            if self._leaving.is_set():
                return
            with self._task.handover.lock:
                compare(known, seen, self._task.handover.hints)
            self._task.handover.send()
            known = seen


def take_snapshot(
    root: str, excluded: Excluded, leaving: threading.Event, *, inventory: Inventory | None = None
) -> Snapshot:
    """Return the facts of everything in a tree that is not excluded; incomplete once `leaving` is set.

    Args:
        root: The tree.
        excluded: What is left out.
        leaving: Ends it.
        inventory: Gets the names.
    """
    snapshot: Snapshot = {}
    waiting = [""]
    while waiting and not leaving.is_set():
        directory = waiting.pop()
        found = scan(root, directory, excluded)
        if inventory is not None and found is not None:
            inventory.list_folder(directory, ((entry.name, is_directory) for _, entry, is_directory in found))
        for path, entry, is_directory in found or ():
            try:
                facts = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # gone since the directory was read
            times = (0, 0, 0) if is_directory else (facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
            snapshot[path] = (facts.st_dev, facts.st_ino, *times, is_directory)
            if is_directory:
                waiting.append(path)
    return snapshot


def compare(before: Snapshot, after: Snapshot, hints: HintBuffer) -> None:
    """Hint at every difference; a file that has the inode of one that is gone counts as moved."""
    gone: dict[tuple[int, int, bool], list[str]] = {}
    for path, facts in before.items():
        if path not in after:
            gone.setdefault(_inode(facts), []).append(path)
    for path, facts in after.items():
        former = before.get(path)
        is_directory = facts[5]
        if former is None and (origins := gone.get(_inode(facts))):
            hints.arrive(hints.depart(origins.pop(), is_directory=is_directory), path)
        elif former != facts:
            hints.change(path, is_directory=is_directory)
    for (_, _, is_directory), paths in gone.items():
        for path in paths:
            hints.delete(path, is_directory=is_directory)


def _inode(facts: Facts) -> tuple[int, int, bool]:
    return (facts[0], facts[1], facts[5])


def _identity(root: str) -> tuple[int, int] | None:
    try:
        facts = os.stat(root)
    except OSError:
        return None
    return (facts.st_dev, facts.st_ino)
