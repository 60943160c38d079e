"""The surroundings of mirrors: the journal, the primary, rules for paths, and settings."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Final

from msgspec import Struct

from filetools.events.types import Event
from filetools.journal.journal import Journal
from filetools.paths.workspace_path import WorkspacePath
from filetools.settings import STATE_DIRECTORY, Settings
from filetools.stores.private import FOREIGN_NAME
from filetools.stores.store import Store
from filetools.writer.worker_pool import WorkerPool

REMEMBERED_PATHS: Final = 4096


class SyncContext(Struct, frozen=True, kw_only=True):
    """The surroundings of the mirrors of one workspace; lives as long as it is open."""

    journal: Journal
    primary: Store
    directory: Path
    """The state directory: here processes agree which of them writes to a mirror."""
    workers: WorkerPool
    publish: Callable[[Event], None]
    """Publishes an event; callable from any thread."""
    notify: Callable[[], None]
    """Wakes other processes that have the root open."""
    key: Callable[[WorkspacePath], str]
    left_out: Callable[[str, bool], bool]
    """True if a path is never mirrored because it is excluded, private or temporary; takes whether it is a directory."""
    settings: Settings


def leaving_out(excluded: Callable[[str, bool], bool]) -> Callable[[str, bool], bool]:
    """Return `SyncContext.left_out`, with its results for the last paths cached.

    Args:
        excluded: True if a path, or a folder above it, is excluded from mirrors; takes whether it is a directory.
    """

    def is_left_out(path: str, is_directory: bool) -> bool:
        parts = path.split("/")
        if any(part.casefold() == STATE_DIRECTORY for part in parts) or FOREIGN_NAME.fullmatch(parts[-1]):
            return True
        return excluded(path, is_directory)

    return lru_cache(REMEMBERED_PATHS)(is_left_out)
