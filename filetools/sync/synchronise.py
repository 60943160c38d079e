"""Synchronises a mirror on request: compares it as a whole with the primary, and has every difference repaired."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from typing import Any, Final, TypeVar

import filetools.events as events
from filetools.errors import FileToolsError
from filetools.journal.backlog import BacklogEntry
from filetools.models.files import SyncResult
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.printable import encodable
from filetools.sync.comparison import Plan, compared
from filetools.sync.mirror import Mirror
from filetools.sync.mirror_files import SyncContext
from filetools.writer.worker_pool import WorkerPool

T = TypeVar("T")

PROBE_SECONDS: Final = 5.0
"""How long a mirror may take to answer."""
_SHORTEST_PAUSE_SECONDS: Final = 0.01
_ALL: Final = 1_000_000_000


class Synchronisation:
    """One synchronisation of one mirror. Used once, on the loop.

    It adds the differences to the mirror's backlog, which the process that writes to the mirror processes, also if the
    caller is cancelled.
    """

    def __init__(self, context: SyncContext, mirror: Mirror) -> None:
        self._context = context
        self._mirror = mirror
        self._total = self._synced = 0
        self._errors: list[dict[str, Any]] = []

    async def run(self, *, is_preview: bool) -> SyncResult:
        """Compare, and repair unless it is a preview.

        Args:
            is_preview: True to change nothing.

        Raises:
            SyncFailedError: The mirror is paused or does not answer; for a preview it only has to be readable.
        """
        started, mirror = time.monotonic(), self._mirror
        if not is_preview:
            await in_thread(partial(mirror.wait_for_round, PROBE_SECONDS))
            mirror.check()
            await self._context.workers.run(partial(self._context.journal.backlog.reset, mirror.place))
        plan = await in_thread(partial(compared, self._context, mirror.worker.files.store, ROOT))
        self._total = len(plan.changes) + len(plan.failed)
        for path, error in plan.failed.items():
            self._fail(path, error.message, error.code)
        if not is_preview:
            self._context.publish(events.SyncStarted(file_count=self._total, direction="to_mirror"))
            try:
                await self._repair(plan)
            finally:
                self._context.publish(
                    events.SyncCompleted(
                        success=not self._errors and self._synced == self._total,
                        timestamp=time.time(),
                        files_processed=self._synced,
                        files_failed=len(self._errors),
                    )
                )
        return SyncResult(
            success=not self._errors,
            preview=is_preview,
            total_files=self._total,
            synced_files=self._synced,
            failed_files=len(self._errors),
            duration_ms=round((time.monotonic() - started) * 1000),
            added=[encodable(path) for path in plan.added],
            modified=[encodable(path) for path in plan.modified],
            deleted=[encodable(path) for path in plan.deleted],
            errors=self._errors,
        )

    async def _repair(self, plan: Plan) -> None:
        """Add the differences to the backlog, and wait until each one is durably repaired or refused."""
        mirror, run, backlog = self._mirror, self._context.workers.run, self._context.journal.backlog
        keys = await run(partial(mirror.worker.add_to_backlog, plan.changes))
        left, pause = dict(zip(keys, plan.changes, strict=True)), _SHORTEST_PAUSE_SECONDS
        mirror.wake(is_urgent=True)
        while left:
            await asyncio.sleep(pause)
            began = time.monotonic()
            entries = {entry.key: entry for entry in await run(partial(backlog.behind, mirror.place, limit=_ALL))}
            pause = max(_SHORTEST_PAUSE_SECONDS, 10 * (time.monotonic() - began))
            for key in [key for key in left if key not in entries or entries[key].tries]:
                self._settle(left.pop(key), entries.get(key))
            if mirror.is_paused or not mirror.progress.is_ready:
                raise mirror.failure()

    def _settle(self, path: WorkspacePath, refused: BacklogEntry | None) -> None:
        """Count a path that the mirror has by now, or has refused."""
        done = self._synced + len(self._errors)
        self._context.publish(events.SyncProgress(current=done, total=self._total, current_file=encodable(path)))
        if refused is None:
            self._synced += 1
        else:
            code, _, message = (refused.reason or "").partition(": ")
            self._fail(path, message, code)

    def _fail(self, path: str, message: str, code: str) -> None:
        self._errors.append({"path": encodable(path), "error": message, "error_code": code})
        self._context.publish(events.SyncError(error=message, error_code=code, file=encodable(path)))


async def in_thread(work: Callable[[], T]) -> T:
    """Run work that may hang with a mirror in a thread of its own, for which neither a cancelled caller nor exit waits."""
    with closing(WorkerPool(1)) as thread:
        return await asyncio.wrap_future(thread.submit(work))


def failed_result(name: str, error: FileToolsError, *, preview: bool) -> SyncResult:
    """Return the result of a mirror that could not be synchronised at all."""
    return SyncResult(
        success=False, preview=preview, total_files=1, synced_files=0, failed_files=1, duration_ms=0,
        errors=[{"path": name, "error": error.message, "error_code": error.code}],
    )  # fmt: skip


def summed(several: Sequence[SyncResult]) -> SyncResult:
    """Return the results of several mirrors as one."""
    return SyncResult(
        success=all(result.success for result in several),
        preview=several[0].preview,
        total_files=sum(result.total_files for result in several),
        synced_files=sum(result.synced_files for result in several),
        failed_files=sum(result.failed_files for result in several),
        duration_ms=sum(result.duration_ms for result in several),
        added=[path for result in several for path in result.added],
        modified=[path for result in several for path in result.modified],
        deleted=[path for result in several for path in result.deleted],
        errors=[error for result in several for error in result.errors],
    )
