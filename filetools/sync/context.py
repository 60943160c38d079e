"""What every part of a synchronisation works with: the opened parts of the workspace, its rules and its times."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final, Protocol, TypeVar

from msgspec import Struct

from filetools.events.types import Event
from filetools.journal.journal import Journal
from filetools.locks.table import LockTable
from filetools.paths.workspace_path import WorkspacePath
from filetools.settings import STATE_DIRECTORY
from filetools.stores.owners import FOREIGN_NAME
from filetools.stores.store import Store

T = TypeVar("T")

LOCK_SECONDS: Final = 5.0
"""Longest wait of catching up for a path's lock; it tries again later."""
LOCK_OWNER: Final = "mirror"
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
    """How long a call waits for each of the two steps of a strict mirror."""
    probe_seconds: float
    """First pause before a mirror that missed is tried again."""
    sync_after_seconds: float
    """Pause after which what was exchanged is made durable and paid."""


class SyncContext(Struct, frozen=True, kw_only=True):
    """The surroundings of the mirrors of one workspace; lives as long as it is open."""

    journal: Journal
    primary: Store
    locks: LockTable
    run: Stepper
    tell: Callable[[Event], None]
    """Publishes an event, from any thread."""
    key: Callable[[WorkspacePath], str]
    resolve: Callable[[str], WorkspacePath]
    left_out: Callable[[str, bool], bool]
    """What `leaving_out` returned; asked several times for every change."""
    times: SyncTimes

    def is_left_out(self, path: str, *, is_directory: bool = False) -> bool:
        """Whether a path is never mirrored: excluded, private, or a temporary file."""
        return self.left_out(path, is_directory)


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


def is_recordable(path: str) -> bool:
    """Whether tools can write a path at all; a name that is not UTF-8 has no record, no entry and no lock."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


class Signal:
    """Wakes one task from any thread; many calls before it wakes cost one hop. Lives as long as the task's owner."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._event: asyncio.Event | None = None
        self._is_set = False

    def bind(self) -> None:
        """Belong to the running loop; what was set before counts."""
        self._loop, self._event = asyncio.get_running_loop(), asyncio.Event()
        if self._is_set:
            self._event.set()

    def set(self) -> None:
        """Wake the task, or let its next wait end at once."""
        if self._is_set:
            return
        self._is_set = True
        loop, event = self._loop, self._event
        if loop is not None and event is not None:
            with suppress(RuntimeError):  # the loop is closed, and the task gone
                loop.call_soon_threadsafe(event.set)

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait until it is set, or so long; False if the time was over."""
        assert self._event is not None
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            return False
        finally:
            # What is set in between is not lost: the caller looks for work now.
            self._event.clear()
            self._is_set = False
        return True
