"""From the watching thread to the loop: hints are collected under a lock and delivered in small, spaced portions."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Hashable
from functools import partial
from itertools import takewhile
from typing import Final, Generic, TypeVar

from msgspec import Struct

from filetools.watch.hints import Departure, Hint, HintBuffer

logger = logging.getLogger(__name__)

SPACING_SECONDS: Final = 0.005
"""Longest pause between two portions, so that a burst does not wake the loop for each of its files."""
PAUSE_A_HINT_SECONDS: Final = 0.0002
"""Pause after a portion for each hint in it, up to the longest: after a single hint the next one hardly waits."""
PORTION_HINTS: Final = 2_000
ASKED_HINTS: Final = 16
"""Of how many hints it is asked one by one whether they are known."""
PAIRING_SECONDS: Final = 0.1
"""How long a departed name may stay unpaired. The kernel queues both halves of a rename one after the other, but on a busy
machine whoever renames may lose the processor between the two."""

Folder = TypeVar("Folder", bound=Hashable)


class _Waiting(Struct, Generic[Folder]):
    departure: Departure
    deadline: float
    folder: Folder | None

    @property
    def is_of_interest(self) -> bool:
        """Whether there is anything to tell if the other half does not come."""
        departure = self.departure
        return not departure.is_succeeded or departure.origin is not None or self.folder is not None


def nothing_is_known(hint: Hint) -> bool:
    """Whether somebody knows already what a hint tells of."""
    return False


class Handover(Generic[Folder]):
    """What a watching thread tells and a loop is told. Lives as long as its watcher.

    The thread changes `hints` while it holds `lock`, and calls `send` when it has read all there was.

    Args:
        loop: Where the callbacks run.
        on_hints: Gets at most 2,000 hints, oldest first; returns False if it knew all that they tell of.
        on_resync: Gets the reason why hints are missing.
        is_known: Whether the receiver knows what stands at the path of a hint, and has told it; asked in the watching thread,
            which spares waking the loop.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        on_hints: Callable[[list[Hint]], bool | None],
        on_resync: Callable[[str], None],
        is_known: Callable[[Hint], bool] = nothing_is_known,
    ) -> None:
        self.lock = threading.Lock()
        self.hints = HintBuffer()
        self._loop = loop
        self._on_hints = on_hints
        self._on_resync = on_resync
        self._is_known = is_known
        self._reasons: list[str] = []
        self._waiting: dict[int, _Waiting[Folder]] = {}
        self._abandoned: dict[Folder, str] = {}
        self.is_idle = False
        """Whether the last portion told nothing that its receiver did not know."""
        self._is_scheduled = False
        self._is_closed = False
        self._next_portion_at = float("-inf")
        self._giving_up: asyncio.TimerHandle | None = None

    def depart(self, cookie: int, path: str, folder: Folder | None, *, is_directory: bool) -> None:
        """Hold a name that was moved away until its other half comes. Needs the lock."""
        departure = self.hints.depart(path, is_directory=is_directory)
        self._waiting[cookie] = _Waiting(departure, time.monotonic() + PAIRING_SECONDS, folder)

    def claim(self, cookie: int) -> tuple[Departure, Folder | None] | None:
        """Return the first half of a rename and its folder, if it was seen and is still waited for. Needs the lock."""
        waiting = self._waiting.pop(cookie, None)
        return None if waiting is None else (waiting.departure, waiting.folder)

    def keep(self, folder: Folder) -> None:
        """Note that a folder that had left the tree is back in it."""
        with self.lock:
            self._abandoned.pop(folder, None)
            for waiting in self._waiting.values():
                if waiting.folder is folder:
                    waiting.folder = None  # only its former name is still to be given up

    def take_abandoned(self) -> list[Folder]:
        """Return the folders that left the tree since the last time, whose watches are no longer wanted."""
        if not self._abandoned:
            return []
        with self.lock:
            folders = list(self._abandoned)
            self._abandoned.clear()
        return folders

    def send(self) -> None:
        """Have what was collected delivered; from any thread, without the lock."""
        self._forget_known()
        with self.lock:
            self._give_up_overdue()
            is_new = self.hints or self._reasons or (self._giving_up is None and self._next_overdue() is not None)
            if self._is_scheduled or not is_new:
                return
            self._is_scheduled = True
        self.call(self._arrive)

    def resync(self, reason: str) -> None:
        """Tell that hints are missing; those not delivered yet are dropped, since everything will be looked at."""
        with self.lock:
            self.hints.clear()
            self._waiting.clear()
            if reason not in self._reasons:
                self._reasons.append(reason)
        self.send()

    def call(self, callback: Callable[[], None]) -> None:
        """Run a callback on the loop, unless the loop is closed already."""
        try:
            self._loop.call_soon_threadsafe(callback)
        except RuntimeError:
            # The loop was closed without aclose(): there is nobody left to tell.
            self._is_closed = True

    def close(self) -> None:
        """Deliver nothing more."""
        self._is_closed = True

    def _forget_known(self) -> None:
        # In a burst the receiver finds out for many at once.
        if not 0 < len(self.hints) <= ASKED_HINTS:
            return
        with self.lock:
            written = self.hints.written()
        known = [hint for hint in written if self._guard(partial(self._is_known, hint))]
        if not known:
            return
        with self.lock:
            # The loop takes hints meanwhile; only this thread adds any.
            for hint in known:
                self.hints.forget(hint)
            self.is_idle = self.is_idle or not self.hints

    def _next_overdue(self) -> float | None:
        return next((waiting.deadline for waiting in self._waiting.values() if waiting.is_of_interest), None)

    def _arrive(self) -> None:
        if self._next_portion_at > self._loop.time():
            self._loop.call_at(self._next_portion_at, self._deliver)
        else:
            self._deliver()

    def _deliver(self) -> None:
        if self._is_closed:
            return
        with self.lock:
            self._give_up_overdue()
            reasons, self._reasons = self._reasons, []
            hints = self.hints.take(PORTION_HINTS)
            self._is_scheduled = has_more = bool(self.hints)
            overdue = self._next_overdue()
        self._next_portion_at = self._loop.time() + pause_after(len(hints))
        if has_more:
            self._loop.call_soon(self._deliver)
        if overdue is not None and self._giving_up is None:
            self._giving_up = self._loop.call_later(overdue - time.monotonic(), self._look_for_overdue)
        for reason in reasons:
            self._guard(partial(self._on_resync, reason))
        # What only its receiver has done need not be told: the next of that can wait, and wake nobody once for each change.
        self.is_idle = bool(hints) and self._guard(partial(self._on_hints, hints)) is False
        if self.is_idle:
            self._next_portion_at = self._loop.time() + SPACING_SECONDS

    def _look_for_overdue(self) -> None:
        self._giving_up = None
        self._deliver()

    def _give_up_overdue(self) -> None:
        now = time.monotonic()
        overdue = takewhile(lambda item: item[1].deadline <= now, self._waiting.items())  # the oldest come first
        for cookie, waiting in list(overdue):
            del self._waiting[cookie]
            self.hints.give_up(waiting.departure)
            if waiting.folder is not None:
                self._abandoned[waiting.folder] = waiting.departure.path

    def _guard(self, callback: Callable[[], bool | None]) -> bool | None:
        try:
            return callback()
        except Exception:
            # The receiver's mistake must not end the watching; what it missed it finds at its next look.
            logger.exception("The receiver of foreign changes failed")
            return None


def pause_after(hints: int) -> float:
    """Return the seconds between a portion of so many hints and the next one."""
    return min(hints * PAUSE_A_HINT_SECONDS, SPACING_SECONDS)
