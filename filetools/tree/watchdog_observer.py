"""Hints from watchdog's observer, on macOS and Windows, where the system watches whole trees."""

from __future__ import annotations

import os
from typing import Final

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer

from filetools.paths.workspace import Workspace
from filetools.stores.private import is_ours
from filetools.tree.hints import Agenda

_EVENTS: Final[list[type[FileSystemEvent]]] = [
    FileCreatedEvent,
    FileModifiedEvent,
    FileClosedEvent,
    FileDeletedEvent,
    FileMovedEvent,
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
]
"""Requested events: without a filter, watchdog also reports each opening and closing and misses most of a burst."""


class WatchdogObserver(FileSystemEventHandler):
    """Turns watchdog's events into hints, from its creation to `close`.

    Args:
        workspace: Its root is watched.
        agenda: Receives a hint for each event; "root" when the root may have been deleted or moved.

    Raises:
        OSError: The root cannot be watched.
    """

    def __init__(self, workspace: Workspace, agenda: Agenda) -> None:
        self._agenda = agenda
        self._root = os.path.realpath(workspace.root)
        self._observer = Observer(timeout=0.2)
        self._observer.schedule(self, self._root, recursive=True, event_filter=_EVENTS)
        self._observer.start()

    def close(self) -> None:
        """End watchdog's threads; may be called twice, but not in one of them."""
        self._observer.stop()
        self._observer.join()

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Hint at the names of an event; called by watchdog."""
        for raw_path in (event.src_path, event.dest_path):
            if raw_path:
                self._note(os.path.relpath(os.fsdecode(raw_path), self._root).split(os.sep))

    def _note(self, parts: list[str]) -> None:
        if parts[0] == os.pardir or any(map(is_ours, parts)):
            return
        while parts not in ([], [os.curdir]):
            name = parts.pop()
            try:
                facts = os.lstat(os.path.join(self._root, *parts))
            except OSError:
                continue  # gone or renamed since the event: then the folder above has changed, and leads here
            self._agenda.hint((facts.st_dev, facts.st_ino), name)
            return
        self._agenda.hint_everything("root")
