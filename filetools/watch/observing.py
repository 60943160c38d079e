"""Watching a tree with watchdog's observer; on macOS, Windows and BSD, where the system watches whole trees."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
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
    FileSystemMovedEvent,
)
from watchdog.observers import Observer

from filetools.watch.backend import Task
from filetools.watch.exclusion import is_left_out_below, scan
from filetools.watch.polling import take_snapshot

logger = logging.getLogger(__name__)

EVENTS: Final[list[type[FileSystemEvent]]] = [
    FileCreatedEvent,
    FileModifiedEvent,
    FileClosedEvent,
    FileDeletedEvent,
    FileMovedEvent,
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
]
"""What is asked for: without a choice, watchdog also reports each opening and closing and misses most of a burst."""


class ObserverThread(threading.Thread):
    """The thread that starts watchdog's observer, and ends it: both take long on a large tree."""

    def __init__(self, task: Task) -> None:
        super().__init__(name="filetools watch", daemon=True)
        self._task = task
        self._leaving = threading.Event()

    def leave(self) -> None:
        """Ask the thread to end soon; may be called twice and from any thread."""
        self._leaving.set()

    def run(self) -> None:
        """Observe until asked to leave or the root is gone."""
        try:
            self._observe()
        except FileNotFoundError:
            self._task.handover.resync("gone")
            self._task.on_ready()
        except OSError as exc:
            logger.warning("Cannot observe: %s", exc.strerror)
            self._task.on_unable("limit")
        except Exception:
            # The last line of a thread: without it, watching would end and nobody would know.
            logger.exception("Observing failed")
            self._task.on_unable("failed")
        finally:
            self._task.on_ended()

    def _observe(self) -> None:
        observer = Observer(timeout=0.2)
        root = os.path.realpath(self._task.root)
        observer.schedule(_Translator(self._task, root, self.leave), root, recursive=True, event_filter=EVENTS)
        observer.start()
        try:
            # After the start: what is made in between is in the inventory, and told as changed.
            take_snapshot(root, self._task.excluded, self._leaving, inventory=self._task.inventory)
            self._task.on_ready()
            self._leaving.wait()
        finally:
            observer.stop()
            observer.join()


class _Translator(FileSystemEventHandler):
    """Turns watchdog's events into hints; called in the observer's thread."""

    def __init__(self, task: Task, root: str, leave: Callable[[], None]) -> None:
        self._task = task
        self._root = root
        self._prefix = root if root.endswith(os.path.sep) else root + os.path.sep
        self._leave = leave

    def on_any_event(self, event: FileSystemEvent) -> None:
        source = self._relative(event.src_path)
        if source == "" and isinstance(event, DirDeletedEvent):
            self._task.handover.resync("gone")
            self._leave()
            return
        is_move = isinstance(event, FileSystemMovedEvent)
        path = self._wanted(self._relative(event.dest_path) if is_move else source, event)
        origin = self._wanted(source, event) if is_move else None
        with self._task.handover.lock:
            self._note(event, path, origin)
        if path is not None and isinstance(event, DirCreatedEvent | DirMovedEvent):
            self._note_all_below(path)
        self._task.handover.send()

    def _note(self, event: FileSystemEvent, path: str | None, origin: str | None) -> None:
        hints, is_directory = self._task.handover.hints, event.is_directory
        if path is None:
            if origin is not None:
                hints.delete(origin, is_directory=is_directory)
        elif origin is not None:
            hints.arrive(hints.depart(origin, is_directory=is_directory), path)
        elif isinstance(event, FileDeletedEvent | DirDeletedEvent):
            hints.delete(path, is_directory=is_directory)
        else:
            hints.change(path, is_directory=is_directory)

    def _note_all_below(self, directory: str) -> None:
        # Not every system tells of what a directory held when it came into the tree.
        waiting = [directory]
        while waiting:
            for path, _, is_directory in scan(self._root, waiting.pop(), self._task.excluded) or ():
                with self._task.handover.lock:
                    self._task.handover.hints.change(path, is_directory=is_directory, is_listed=True)
                if is_directory:
                    waiting.append(path)

    def _wanted(self, path: str | None, event: FileSystemEvent) -> str | None:
        if not path or is_left_out_below(path, event.is_directory, self._task.excluded):
            return None
        return path

    def _relative(self, raw_path: bytes | str) -> str | None:
        path = os.fsdecode(raw_path)
        if path == self._root:
            return ""
        if not path.startswith(self._prefix):
            return None
        return path[len(self._prefix) :].replace(os.path.sep, "/")
