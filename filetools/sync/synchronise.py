"""Synchronises a mirror on request: compares it as a whole with the primary, and has every difference repaired."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any, Final, TypeVar

import filetools.events as events
from filetools.errors import AbortedError, FileToolsError, SyncFailedError
from filetools.journal.backlog import BacklogEntry
from filetools.models.files import SyncResult
from filetools.paths.explain import shown
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.sync.comparison import Plan, compared
from filetools.sync.mirror import Mirror
from filetools.sync.mirror_files import SyncContext
from filetools.writer.worker_pool import WorkerPool

T = TypeVar("T")
Progress = Callable[[int, int, str], None]
"""Called on the loop with the number of paths done before this one, the number of all, and this path."""

PROBE_SECONDS: Final = 5.0
"""How long a mirror may take to answer."""
_SHORTEST_PAUSE_SECONDS: Final = 0.01
_ALL: Final = 1_000_000_000


class Synchronisation:
    """One synchronisation of one mirror. Used once, on the loop.

    It adds the differences to the mirror's backlog, which the process that writes to the mirror processes.
    """

    def __init__(
        self, context: SyncContext, mirror: Mirror, *, progress: Progress | None, abort: asyncio.Event | None
    ) -> None:
        self._context = context
        self._mirror = mirror
        self._progress = progress
        self._abort = abort
        self._total = self._synced = 0
        self._errors: list[dict[str, Any]] = []

    async def run(self, *, is_preview: bool) -> SyncResult:
        """Compare, and repair unless it is a preview.

        Args:
            is_preview: True to change nothing.

        Raises:
            SyncFailedError: The mirror is paused or does not answer; for a preview it only has to be readable.
            AbortedError: It was aborted; paths repaired until then stay repaired.
        """
        started, mirror = time.monotonic(), self._mirror
        if not is_preview:
            await in_thread(partial(mirror.wait_for_round, PROBE_SECONDS))
            mirror.check()
            await self._context.workers.run(partial(self._context.journal.backlog.reset, mirror.place))
        plan = await in_thread(
            partial(compared, self._context, mirror.worker.files.store, ROOT, self._refuse_if_aborted)
        )
        self._total = len(plan.changes) + len(plan.failed)
        for path, error in plan.failed.items():
            self._fail(path, error.message, error.code)
        if not is_preview:
            await self._repair(plan)
        return SyncResult(
            success=not self._errors,
            preview=is_preview,
            total_files=self._total,
            synced_files=self._synced,
            failed_files=len(self._errors),
            duration_ms=round((time.monotonic() - started) * 1000),
            added=[shown(path) for path in plan.added],
            modified=[shown(path) for path in plan.modified],
            deleted=[shown(path) for path in plan.deleted],
            errors=self._errors,
        )

    def _refuse_if_aborted(self) -> None:
        if self._abort is not None and self._abort.is_set():
            done = self._synced + len(self._errors)
            raise AbortedError("The synchronisation", {"done": done, "total": self._total} if self._total else {})

    async def _repair(self, plan: Plan) -> None:
        self._context.publish(events.SyncStarted(file_count=self._total, direction="to_mirror"))
        try:
            await self._repair_all(plan)
        finally:
            self._context.publish(
                events.SyncCompleted(
                    success=not self._errors and self._synced == self._total,
                    timestamp=time.time(),
                    files_processed=self._synced,
                    files_failed=len(self._errors),
                )
            )

    async def _repair_all(self, plan: Plan) -> None:
        mirror, run, mirrors = self._mirror, self._context.workers.run, self._context.journal.mirrors
        row = await run(partial(mirrors.get, mirror.place))
        if row is None:
            raise SyncFailedError(None, "it was removed from the root", mirror.name)
        known = (await run(self._entries)).keys()
        keys = await run(partial(mirror.worker.add_to_backlog, plan.changes))
        left = dict(zip(keys, plan.changes, strict=True))
        mirror.wake(is_urgent=True)
        pause = _SHORTEST_PAUSE_SECONDS
        while left:
            try:
                self._refuse_if_aborted()
            except AbortedError:
                # Filling adds the same paths to the backlog, except for deletions.
                added = [key for key in left if key not in known and (row.is_filled or left[key] in plan.deleted)]
                await run(partial(self._context.journal.backlog.withdraw, row, added))
                raise
            await asyncio.sleep(pause)
            began = time.monotonic()
            entries = await run(self._entries)
            pause = max(_SHORTEST_PAUSE_SECONDS, 10 * (time.monotonic() - began))
            self._settle(left, entries)
            if left and not mirror.takes_calls:
                for path in left.values():
                    self._fail(path, mirror.failure().message, SyncFailedError.code)
                return
        if plan.changes and not await in_thread(
            partial(mirror.wait_for_round, self._context.settings.lock_timeout_seconds)
        ):
            raise SyncFailedError(None, "its disk did not store all changes in time", mirror.name)
        mirror.check()

    def _entries(self) -> dict[str, BacklogEntry]:
        """Return the mirror's backlog by key."""
        behind = self._context.journal.backlog.behind(self._mirror.place, limit=_ALL)
        return {entry.key: entry for entry in behind}

    def _settle(self, left: dict[str, WorkspacePath], entries: Mapping[str, BacklogEntry]) -> None:
        """Count the paths that the mirror has by now, or refused."""
        for key, path in tuple(left.items()):
            entry = entries.get(key)
            if entry is not None and not self._mirror.worker.has_written(entry):
                if not entry.tries:
                    continue
                code, _, message = (entry.reason or "").partition(": ")
                self._fail(path, message, code)
            else:
                self._synced += 1
            del left[key]
            before = self._synced + len(self._errors) - 1
            self._context.publish(events.SyncProgress(current=before, total=self._total, current_file=shown(path)))
            if self._progress is not None:
                self._progress(before, self._total, shown(path))

    def _fail(self, path: str, message: str, code: str) -> None:
        self._errors.append({"path": shown(path), "error": message, "error_code": code})
        self._context.publish(events.SyncError(error=message, error_code=code, file=shown(path)))


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
