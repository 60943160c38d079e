"""Catching up: a mirror's debts are paid one path at a time, oldest first, with pauses that grow while it fails."""

from __future__ import annotations

import asyncio
import logging
import time
from functools import partial
from typing import Final

from filetools.errors import FileToolsError, LockTimeoutError
from filetools.events import SyncError
from filetools.journal import Debt
from filetools.sync.actions import OutOfStepError
from filetools.sync.carrying import Carrier
from filetools.sync.context import SyncContext, is_recordable
from filetools.sync.repair import Repair
from filetools.sync.wanted import UnsettledError

LONGEST_PAUSE_SECONDS: Final = 60.0
MAX_TRIES: Final = 5
"""A path refused so often is reported and left until somebody asks for a synchronisation."""
_DEFERRED_SECONDS: Final = 0.5
"""Pause before a path that is being worked on is looked at again."""
_BATCH: Final = 1000

_log = logging.getLogger(__name__)


class CatchUp:
    """Pays the debts of one mirror in the background. Lives from start to close of the synchronisation."""

    def __init__(self, context: SyncContext, carrier: Carrier) -> None:
        self._context = context
        self._mirror = carrier.mirror
        self._repair = Repair(context, carrier)
        self._pause = context.times.probe_seconds
        self._not_before: dict[str, float] = {}
        self._is_swept = False

    async def run(self) -> None:
        """Catch up for ever: at once, then whenever there may be work."""
        mirror = self._mirror
        mirror.work.bind()
        while True:
            try:
                await self._round()
            except FileToolsError as exc:
                _log.warning("catching up mirror %s was interrupted: %s", mirror.name, exc)
            if mirror.is_ready or mirror.is_paused:
                await mirror.work.wait(self._idle_seconds())
            # Looked at again: what it waited for may have been a miss.
            if not (mirror.is_ready or mirror.is_paused):
                await asyncio.sleep(self._pause)
                self._pause = min(self._pause * 2, LONGEST_PAUSE_SECONDS)

    async def _round(self) -> None:
        mirror = self._mirror
        if mirror.is_paused or not (mirror.is_ready or await mirror.probe()):
            return
        if not self._is_swept:
            await mirror.in_back_lane(lambda job: mirror.files.sweep())
            self._is_swept = True
        while self._context.is_keeper() and (debts := await self._context.run(self._due)):
            for debt in debts:
                await self._settle(debt)
                if not mirror.takes_calls:
                    return

    def _due(self) -> list[Debt]:
        mirror, journal = self._mirror, self._context.journal
        doubted = mirror.doubts.all()
        journal.debts.owe(mirror.name, [(key, path) for key, path in doubted.items() if is_recordable(key)])
        mirror.doubts.forget(doubted)
        now = time.monotonic()
        self._not_before = {key: then for key, then in self._not_before.items() if then > now}
        debts = journal.debts.of(mirror.name, _BATCH, MAX_TRIES)
        return [debt for debt in debts if debt.key not in self._not_before and not mirror.payments.holds(debt)]

    async def _settle(self, debt: Debt) -> None:
        try:
            await self._repair.repair(self._context.resolve(debt.path), debt.key, debt=debt)
        except (UnsettledError, OutOfStepError, LockTimeoutError):
            self._not_before[debt.key] = time.monotonic() + min(_DEFERRED_SECONDS, self._context.times.probe_seconds)
        except FileToolsError as exc:
            if self._mirror.is_ready:
                await self._refused(debt, exc)
        else:
            self._pause = self._context.times.probe_seconds

    async def _refused(self, debt: Debt, error: FileToolsError) -> None:
        pause = min(self._context.times.probe_seconds * 2**debt.tries, LONGEST_PAUSE_SECONDS)
        self._not_before[debt.key] = time.monotonic() + pause
        await self._context.run(partial(self._context.journal.debts.fail, debt))
        if debt.tries + 1 >= MAX_TRIES:
            _log.error("mirror %s refused %s %d times: %s", self._mirror.name, debt.path, MAX_TRIES, error)
            self._context.tell(SyncError(error=error.message, error_code=error.code, file=debt.path))

    def _idle_seconds(self) -> float:
        """Until the next path may be tried again, or other processes may have left debts."""
        now = time.monotonic()
        soonest = min(self._not_before.values(), default=now + self._context.times.probe_seconds)
        return max(0.0, min(soonest - now, self._context.times.probe_seconds))
