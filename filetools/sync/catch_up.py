"""Catching up: a mirror is filled, then its backlog worked off, oldest first, with pauses that grow while it fails."""

from __future__ import annotations

import asyncio
import logging
import time
from functools import partial
from typing import Final

import filetools.events as events
from filetools.errors import FileToolsError, LockTimeoutError
from filetools.journal.changes import BacklogEntry
from filetools.sync.actions import OutOfStepError
from filetools.sync.carrying import Carrier
from filetools.sync.context import SyncContext, is_recordable
from filetools.sync.mirror import PROBE_SECONDS
from filetools.sync.repair import Failure, MirrorRepair, RepairTarget
from filetools.sync.synchronise import Synchronisation
from filetools.sync.wanted import UnsettledError

LONGEST_PAUSE_SECONDS: Final = 60.0
MAX_TRIES: Final = 5
"""A path refused so often is reported and left until somebody asks for a synchronisation."""
_DEFERRED_SECONDS: Final = 0.5
"""Pause before a path that is being worked on is looked at again."""
_BATCH: Final = 1000
_PATIENCE: Final = 10
"""After so many times the pause for other processes a path is looked at, although it changes all the time."""


class _Sightings:
    """Since when entries that other processes made have been seen in a backlog. Used in worker threads, one at a time.

    Their process most likely follows them itself, and removes them a moment later; doing the same at the same time would
    only stand in its way. If it is gone, or has no mirror, they stay.
    """

    def __init__(self, pause_seconds: float) -> None:
        self._pause_seconds = pause_seconds
        self._seen: dict[str, tuple[float, int, float]] = {}

    def ripe(self, entries: list[BacklogEntry]) -> set[str]:
        """Return the keys of entries that have been there long enough, and forget what is not there any more."""
        now = time.monotonic()
        seen: dict[str, tuple[float, int, float]] = {}
        for entry in entries:
            first, number, since = self._seen.get(entry.key, (now, entry.number, now))
            seen[entry.key] = (first, entry.number, since if number == entry.number else now)
        self._seen = seen
        return {key for key, sighting in seen.items() if self._is_ripe(*sighting, now)}

    def __len__(self) -> int:
        return len(self._seen)

    def _is_ripe(self, first: float, number: int, since: float, now: float) -> bool:
        # Without a number it is nobody's change, but found out by somebody.
        is_old = now - since >= self._pause_seconds or now - first >= _PATIENCE * self._pause_seconds
        return number <= 0 or is_old


_log = logging.getLogger(__name__)


class CatchUp:
    """Works off the backlog of one mirror in the background. Lives from start to close of the synchronisation."""

    def __init__(self, context: SyncContext, carrier: Carrier, synchronisation: Synchronisation) -> None:
        self._context = context
        self._mirror = carrier.mirror
        self._repair = MirrorRepair(context, carrier)
        self._synchronisation = synchronisation
        self._pause = context.times.probe_seconds
        self._not_before: dict[str, float] = {}
        self._sightings = _Sightings(2 * context.times.sync_after_seconds)
        self._is_swept = False

    async def run(self) -> None:
        """Catch up for ever: at once, then whenever there may be work."""
        mirror = self._mirror
        mirror.work.bind()
        while True:
            try:
                await self._round()
            except FileToolsError as exc:
                # One that is left behind has said so; one that is only slow goes on at once.
                _log.debug("catching up mirror %s was interrupted: %s", mirror.name, exc)
            if mirror.is_ready or mirror.is_paused:
                await mirror.work.wait(self._idle_seconds())
            # Looked at again: what it waited for may have been a miss.
            if not (mirror.is_ready or mirror.is_paused):
                await asyncio.sleep(self._pause)
                self._pause = min(self._pause * 2, LONGEST_PAUSE_SECONDS)

    async def finish(self) -> None:
        """Bring a mirror that was filled and is at hand what it lacks; for a process that ends, after `run`.

        Raises:
            FileToolsError: The mirror takes no calls (any more).
        """
        mirror = self._mirror
        if mirror.identity.is_filled:
            # Nobody else may come for long: commands that follow each other leave no time to catch up in the background.
            mirror.skipped(await self._context.run(self._context.journal.position))
            await self._work_off()

    async def _round(self) -> None:
        mirror = self._mirror
        if mirror.is_paused or not (mirror.takes_calls or await mirror.probe()):
            return
        await mirror.in_back_worker(lambda job: mirror.identity.establish(), silence_seconds=PROBE_SECONDS)
        if not self._is_swept:
            await mirror.in_back_worker(lambda job: mirror.files.sweep(job.progress))
            self._is_swept = True
        if not mirror.identity.is_filled:
            await self._synchronisation.fill(self._work_off)
        await self._work_off()

    async def _work_off(self) -> None:
        """Work off what is due of the backlog, as long as the mirror takes it."""
        while self._mirror.takes_calls and (entries := await self._context.run(self._due)):
            failures = await self._repair.repair([self._target(entry) for entry in entries])
            for target, failure in failures.items():
                assert target.entry is not None
                await self._failed(target.entry, failure)
            if len(failures) < len(entries):
                self._pause = self._context.times.probe_seconds

    def _target(self, entry: BacklogEntry) -> RepairTarget:
        path = self._context.resolve(entry.path)
        return RepairTarget(
            path=path, key=entry.key, entry=entry, must_write=self._mirror.completions.must_write(entry.key)
        )

    def _due(self) -> list[BacklogEntry]:
        mirror, journal = self._mirror, self._context.journal
        suspects = mirror.take_suspects()
        try:
            journal.backlog.add(mirror.place, [(key, path) for key, path in suspects.items() if is_recordable(key)])
        except FileToolsError:
            mirror.suspect(suspects.items())
            raise
        now = time.monotonic()
        self._not_before = {key: then for key, then in self._not_before.items() if then > now}
        entries = [
            entry
            for entry in journal.backlog.of(mirror.place, _BATCH, MAX_TRIES)
            if entry.key not in self._not_before and not mirror.completions.holds(entry)
        ]
        ripe = self._sightings.ripe([entry for entry in entries if not mirror.is_overdue(entry.number)])
        return [entry for entry in entries if entry.key in ripe or mirror.is_overdue(entry.number)]

    async def _failed(self, entry: BacklogEntry, failure: Failure) -> None:
        if isinstance(failure, UnsettledError | OutOfStepError | LockTimeoutError):
            pause = min(_DEFERRED_SECONDS, self._context.times.probe_seconds)
            self._not_before[entry.key] = time.monotonic() + pause
        elif self._mirror.takes_calls:
            await self._refused(entry, failure)

    async def _refused(self, entry: BacklogEntry, error: FileToolsError) -> None:
        pause = min(self._context.times.probe_seconds * 2**entry.tries, LONGEST_PAUSE_SECONDS)
        self._not_before[entry.key] = time.monotonic() + pause
        await self._context.run(partial(self._context.journal.backlog.fail, entry))
        if entry.tries + 1 >= MAX_TRIES:
            _log.error("mirror %s refused %s %d times: %s", self._mirror.name, entry.path, MAX_TRIES, error)
            self._context.tell(events.SyncError(error=error.message, error_code=error.code, file=entry.path))

    def _idle_seconds(self) -> float:
        """Until the next path may be tried again, or other processes may have added to the backlog."""
        now = time.monotonic()
        soonest = min(self._not_before.values(), default=now + self._context.times.probe_seconds)
        if self._sightings:
            soonest = min(soonest, now + 2 * self._context.times.sync_after_seconds)
        return max(0.0, min(soonest - now, self._context.times.probe_seconds))
