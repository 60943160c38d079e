"""What every part of a synchronisation works with: the opened parts of the workspace, its rules and its times."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from msgspec import Struct

from filetools.events.types import Event
from filetools.journal.journal import Journal
from filetools.paths.workspace_path import WorkspacePath
from filetools.settings import STATE_DIRECTORY
from filetools.stores.private import FOREIGN_NAME
from filetools.stores.store import Store

T = TypeVar("T")

REMEMBERED_PATHS: Final = 4096


class Stepper(Protocol):
    """Runs blocking work in a worker thread of the project."""

    def __call__(self, work: Callable[[], T], /) -> Coroutine[Any, Any, T]:
        """Run `work` and return what it returns."""


class SyncTimes(Struct, frozen=True, kw_only=True):
    """How long things may take."""

    wait_seconds: float
    """How long a call waits for an eventual mirror."""
    strict_wait_seconds: float
    """How long a call waits for a strict one."""
    probe_seconds: float
    """First pause before a mirror that failed is tried again."""
    sync_after_seconds: float
    """Pause after which what was written is made durable, and leaves the backlog."""


class SyncContext(Struct, frozen=True, kw_only=True):
    """The surroundings of the mirrors of one workspace; lives as long as it is open."""

    journal: Journal
    primary: Store
    directory: Path
    """The state directory: here processes agree which of them writes to a mirror."""
    run: Stepper
    tell: Callable[[Event], None]
    """Publishes an event, from any thread."""
    notify: Callable[[], None]
    """Wakes other processes that have the root open."""
    look: Callable[[], Future[object]]
    """Has the whole tree looked at, so that what others do from then on is recorded; from any thread."""
    key: Callable[[WorkspacePath], str]
    left_out: Callable[[str, bool], bool]
    """Whether a path, or one of a directory, is never mirrored: excluded, private, or a temporary file."""
    times: SyncTimes


def leaving_out(excluded: Callable[[str, bool], bool]) -> Callable[[str, bool], bool]:
    """Return what tells whether a path is never mirrored, and remembers it of the paths asked for last.

    Args:
        excluded: Whether a path, or one of a directory, is left out of the mirror, by itself or with a folder above it.
    """

    def is_left_out(path: str, is_directory: bool) -> bool:
        parts = path.split("/")
        if any(part.casefold() == STATE_DIRECTORY for part in parts) or FOREIGN_NAME.fullmatch(parts[-1]):
            return True
        return excluded(path, is_directory)

    return lru_cache(REMEMBERED_PATHS)(is_left_out)
