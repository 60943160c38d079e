"""Synchronising a whole mirror: compare both trees, then mend every difference towards the primary."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from filetools.errors import AbortedError, FileToolsError, SyncFailedError
from filetools.events import SyncCompleted, SyncError, SyncProgress, SyncStarted
from filetools.models import SyncResult
from filetools.paths import ROOT, WorkspacePath
from filetools.sync.actions import OutOfStepError
from filetools.sync.carrying import Carrier
from filetools.sync.context import SyncContext
from filetools.sync.lane import Job, Lane
from filetools.sync.plan import Comparison, Plan, Versions
from filetools.sync.repair import Repair
from filetools.sync.wanted import UnsettledError

Progress = Callable[[int, int, str], None]
"""Told on the loop how many paths are done, of how many, and which is next."""

_DIRECTION: Final = "to_mirror"


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncRequest:
    """What somebody asks of a synchronisation."""

    preview: bool = False
    verify: bool = False
    progress: Progress | None = None
    abort: asyncio.Event | None = None

    @property
    def is_aborted(self) -> bool:
        """Whether it is not wanted any more."""
        return self.abort is not None and self.abort.is_set()


@dataclass(slots=True, kw_only=True)
class _Outcome:
    """What has become of each path so far."""

    total: int
    synced: int = 0
    errors: list[dict[str, Any]] = field(default_factory=list)

    def fail(self, path: str, message: str, code: str) -> None:
        self.errors.append({"path": shown(path), "error": message, "error_code": code})


class Synchronisation:
    """Compares and mends one mirror; keeps what it learnt of both trees for the next time. Lives as the mirror."""

    def __init__(self, context: SyncContext, carrier: Carrier) -> None:
        self._context = context
        self._mirror = carrier.mirror
        self._repair = Repair(context, carrier)
        self._versions = (Versions(context.primary), Versions(carrier.mirror.files.store))

    async def run(self, request: SyncRequest) -> SyncResult:
        """Do what is asked.

        Raises:
            SyncFailedError: The mirror is not ready, or paused; a preview only needs it to be readable.
            AbortedError: It was aborted; what was done stays done.
        """
        started = time.monotonic()
        if not request.preview:
            await self._begin()
        plan = await self._compare(request)
        outcome = _Outcome(total=len(plan.changes) + len(plan.emptied) + len(plan.failed))
        if not request.preview:
            await self._mend(plan, outcome, request)
        return SyncResult(
            success=not outcome.errors,
            preview=request.preview,
            total_files=outcome.total,
            synced_files=outcome.synced,
            failed_files=len(outcome.errors),
            duration_ms=round((time.monotonic() - started) * 1000),
            added=[shown(path) for path in plan.added],
            modified=[shown(path) for path in plan.modified],
            deleted=[shown(path) for path in (*plan.deleted, *plan.emptied)],
            errors=outcome.errors,
        )

    async def _begin(self) -> None:
        mirror = self._mirror
        if mirror.is_paused or not await mirror.probe():
            mirror.check()
        await self._context.run(partial(self._context.journal.debts.reset, mirror.name))

    async def _compare(self, request: SyncRequest) -> Plan:
        # A lane of its own: a comparison of large trees holds up neither calls nor repairs.
        lane = Lane(f"{self._mirror.name} comparison")

        def compare(job: Job[Plan]) -> Plan:
            def go_on() -> None:
                if request.is_aborted:
                    raise AbortedError("The synchronisation")
                job.go_on()

            stores = (self._context.primary, self._mirror.files.store)
            comparison = Comparison(
                *self._versions, stores, self._context.is_left_out, fresh=request.verify, go_on=go_on
            )
            return comparison.walk(ROOT)

        try:
            return await lane.perform(compare)
        finally:
            lane.close(0)

    async def _mend(self, plan: Plan, outcome: _Outcome, request: SyncRequest) -> None:
        tell = self._context.tell
        tell(SyncStarted(file_count=outcome.total, direction=_DIRECTION))
        try:
            for path, error in plan.failed.items():
                self._report(path, error, outcome)
            for done, (path, is_emptied) in enumerate(_work(plan)):
                if request.is_aborted:
                    raise AbortedError("The synchronisation", {"done": done, "total": outcome.total})
                self._progress(done, outcome.total, path, request)
                await self._mend_one(path, outcome, is_emptied=is_emptied)
            await self._make_durable()
        finally:
            failed = len(outcome.errors)
            is_complete = not failed and outcome.synced == outcome.total
            tell(
                SyncCompleted(
                    success=is_complete, timestamp=time.time(), files_processed=outcome.synced, files_failed=failed
                )
            )
            self._mirror.work.set()

    async def _mend_one(self, path: WorkspacePath, outcome: _Outcome, *, is_emptied: bool) -> None:
        key = self._context.key(path)
        try:
            if is_emptied:
                await self._repair.remove_emptied(path, key)
            else:
                await self._repair.repair(path, key, from_primary=True)
        except FileToolsError as exc:
            self._report(path, exc, outcome)
        except (UnsettledError, OutOfStepError):
            self._report(path, SyncFailedError(path, "it is being changed right now"), outcome)
        else:
            outcome.synced += 1

    async def _make_durable(self) -> None:
        try:
            await self._mirror.payments.settle()
        except FileToolsError as exc:
            self._mirror.missed(exc)
            raise SyncFailedError(None, f"the mirror could not be made durable: {exc.message}") from exc

    def _report(self, path: WorkspacePath, error: FileToolsError, outcome: _Outcome) -> None:
        outcome.fail(path, error.message, error.code)
        self._context.tell(SyncError(error=error.message, error_code=error.code, file=shown(path)))

    def _progress(self, done: int, total: int, path: WorkspacePath, request: SyncRequest) -> None:
        self._context.tell(SyncProgress(current=done, total=total, current_file=shown(path)))
        if request.progress is not None:
            request.progress(done, total, shown(path))


def shown(path: str) -> str:
    """Return a path as text that every encoder takes, bytes that are not UTF-8 escaped."""
    return path.encode("utf-8", "backslashreplace").decode()


def _work(plan: Plan) -> Iterator[tuple[WorkspacePath, bool]]:
    yield from ((path, False) for path in plan.changes)
    yield from ((path, True) for path in plan.emptied)
