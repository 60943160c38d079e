"""The mirrors of a workspace: the interface of the facade to them, and their synchronisation on request."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing, suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final, TypeVar

import filetools.events as events
from filetools.errors import FileToolsError, InvalidArgumentError, SyncFailedError
from filetools.events.types import Event, PauseReason
from filetools.journal.backlog import BacklogEntry, MirrorRow
from filetools.journal.journal import Journal
from filetools.models.files import SyncResult
from filetools.models.records import ChangeRecord
from filetools.models.words import MirrorStatus
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.printable import encodable
from filetools.settings import Settings
from filetools.stores.store import Store
from filetools.sync.comparison import Plan, compared
from filetools.sync.mirror import Mirror
from filetools.sync.mirror_files import MirrorFiles, SyncContext
from filetools.writer.worker_pool import WorkerPool

T = TypeVar("T")

REMEMBERED_PATHS: Final = 4096
CLOSE_SECONDS: Final = 2.0
"""How long closing waits for a mirror; the next opening copies the rest."""
LONGEST_PAUSE_SECONDS: Final = 1.0
"""How long a mirror waits, at most, until it is tended."""
PROBE_SECONDS: Final = 5.0
"""How long a mirror may take to answer before it is synchronised."""
_SHORTEST_PAUSE_SECONDS: Final = 0.01
_ALL: Final = 1_000_000_000


class SyncManager:
    """Keeps mirrors equal to the primary. One per workspace; lives as long as it is open.

    `follow_strictly`, `check`, `standing`, `status` and `wake` are called from any thread, everything else on the loop. It
    does not close the stores.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        primary: Store,
        mirrors: Sequence[tuple[MirrorRow, Store]],
        directory: Path,
        settings: Settings,
        publish: Callable[[Event], None],
        workers: WorkerPool,
        key: Callable[[WorkspacePath], str],
        notify: Callable[[], None] = lambda: None,
        open_added: Callable[[MirrorRow], Store] | None = None,
        excluded: Callable[[str, bool], bool] = lambda path, is_directory: False,
    ) -> None:
        """Start nothing yet; called on the loop.

        Args:
            journal: Keeps heads, contents and backlogs.
            primary: The tree that mirrors follow.
            mirrors: Mirrors that the caller names, each with its row in the journal; usually none or one.
            directory: The state directory, where lock files decide which process writes to a mirror.
            settings: Those of the workspace; its `lock_timeout_seconds` are how long a call waits for a strict mirror.
            publish: Publishes an event; called on the loop.
            workers: The workspace's worker threads.
            key: Returns the key of a path in the journal.
            notify: Wakes other processes that have the root open.
            open_added: Returns the store of a mirror that was added to the root; None to leave such mirrors alone.
            excluded: True if a path is excluded from mirrors; takes whether it is a directory.
        """
        self.context = SyncContext(
            journal=journal,
            primary=primary,
            directory=directory,
            workers=workers,
            publish=self._publish_on_loop,
            notify=notify,
            key=key,
            left_out=lru_cache(REMEMBERED_PATHS)(excluded),
            settings=settings,
        )
        self._publish = publish
        self._open_added = open_added
        self._mirrors: tuple[Mirror, ...] = ()
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()
        self._is_synchronising = False
        for row, store in mirrors:
            self._attach(row, store)

    @property
    def is_strict(self) -> bool:
        """True if a change fails that a mirror does not follow."""
        return self.context.settings.mirror_policy == "strict" and bool(self._mirrors)

    def check(self) -> None:
        """Refuse a change that a mirror would not follow.

        Raises:
            SyncFailedError: A mirror is paused or does not answer.
        """
        for mirror in self._mirrors:
            mirror.wait_for_look(self.context.settings.lock_timeout_seconds)
            mirror.check()

    def wake(self, *, is_heard: bool = False) -> None:
        """Follow new records in all mirrors; `is_heard` if another process has asked for it, which may be waiting."""
        for mirror in self._mirrors:
            mirror.wake(is_heard=is_heard)

    async def follow(self, records: Sequence[ChangeRecord]) -> MirrorStatus:
        """Wait until mirrors have followed, no longer than `mirror_wait_seconds`; never raises for a mirror.

        Args:
            records: The changes.

        Returns:
            "in_sync" if every mirror has followed, "pending" if one has not yet, "off" if there is none.
        """
        if not self._mirrors:
            return "off"
        number, keys = self._reach(records)
        has_followed = [await self._has_followed(mirror, number, keys) for mirror in self._mirrors]
        return "in_sync" if all(has_followed) else "pending"

    async def _has_followed(self, mirror: Mirror, number: int, keys: Sequence[str]) -> bool:
        # No thread waits for the mirror's thread, because they would compete for the interpreter.
        with mirror.waiting(number, keys) as answer, suppress(TimeoutError):
            async with asyncio.timeout(self.context.settings.mirror_wait_seconds):
                return await asyncio.wrap_future(answer)
        return False

    def follow_strictly(self, records: Sequence[ChangeRecord]) -> None:
        """Wait until every mirror has followed changes that can still be undone.

        Raises:
            SyncFailedError: A mirror refused one, does not answer, or did not within `lock_timeout_seconds`.
        """
        seconds = self.context.settings.lock_timeout_seconds
        number, keys = self._reach(records)
        for mirror in self._mirrors:
            mirror.wake()
            with mirror.waiting(number, keys) as answer, suppress(TimeoutError):
                if answer.result(seconds):
                    continue
            raise mirror.failure(records[0].path if records else None)

    def standing(self) -> MirrorStatus:
        """Return the status of the mirrors if nothing changes: "in_sync", "pending" or "off"."""
        if not self._mirrors:
            return "off"
        return "in_sync" if all(mirror.is_current() for mirror in self._mirrors) else "pending"

    def status(self) -> dict[str, dict[str, Any]]:
        """Return state ("ready", "filling", "not_ready" or "paused"), paths behind and last error of each mirror.

        After opening it waits until the state of each mirror is known, but no longer than a call would.
        """
        for mirror in self._mirrors:
            mirror.wait_for_look(self.context.settings.mirror_wait_seconds)
        return {
            mirror.name: {
                "state": mirror.state,
                "behind": self.context.journal.backlog.count(mirror.place),
                "last_error": mirror.progress.error,
            }
            for mirror in self._mirrors
        }

    async def start(self) -> None:
        """Attach the mirrors that were added to the root, and begin to write to all."""
        for mirror in self._mirrors:
            mirror.start()
        await self._look_for_added()

    async def tend(self, look: Callable[[], Awaitable[object]]) -> None:
        """Wait a moment, then attach mirrors that other processes have added, and drop those that they have removed.

        Args:
            look: Records changes by other programs in the whole tree; called if a mirror waits for that to be filled.
        """
        await asyncio.sleep(min(self.context.settings.mirror_probe_seconds, LONGEST_PAUSE_SECONDS))
        await self._look_for_added()
        waiting = [mirror for mirror in self._mirrors if mirror.worker.waits_for_look]
        try:
            # Only once: a paused mirror still waits after that look.
            if waiting and await self.context.workers.run(self.context.journal.tree_index.looked) is None:
                await look()
        except FileToolsError as exc:
            for mirror in waiting:
                mirror.report(error=f"it is filled later: the tree could not be looked at ({exc})")
        for mirror in waiting:
            mirror.wake(is_urgent=True)

    async def sync_all(self, preview: bool = False) -> SyncResult:
        """Make the mirrors equal to the primary; a file that fails does not stop the others.

        Args:
            preview: Only plan.

        Raises:
            SyncFailedError: A synchronisation is running, or a mirror is paused or does not answer.
            InvalidArgumentError: There is no mirror.
        """
        if not self._mirrors:
            raise InvalidArgumentError(
                "This workspace has no mirror to synchronise",
                suggested_action="Add one with 'filetools mirror add', or name one where the root is opened.",
            )
        if self._is_synchronising:
            raise SyncFailedError(None, "another synchronisation is running")
        self._is_synchronising = True
        results = []
        try:
            for mirror in self._mirrors:
                try:
                    results.append(await Synchronisation(self.context, mirror).run(is_preview=preview))
                except SyncFailedError as exc:
                    if len(self._mirrors) == 1:
                        raise
                    # A mirror whose disk is away does not keep others from being synchronised.
                    results.append(failed_result(mirror.name, exc, preview=preview))
        finally:
            self._is_synchronising = False
        return results[0] if len(results) == 1 else summed(results)

    def pause(self, reason: PauseReason = "user") -> None:
        """Write to no mirror until `resume`; changes stay in the backlog, for this process or another."""
        for mirror in self._mirrors:
            mirror.set_paused(True)
        self._publish_on_loop(events.SyncPaused(reason=reason))

    def resume(self) -> None:
        """Write again, beginning with the paths that the mirrors lack."""
        for mirror in self._mirrors:
            mirror.set_paused(False)
        self._publish_on_loop(events.SyncResumed())

    async def aclose(self) -> None:
        """Copy the paths that the mirrors lack, and end their threads; waits at most `CLOSE_SECONDS` for each.

        May be called twice.
        """
        self._open_added = None  # no more mirrors are attached
        for mirror in self._mirrors:
            await in_thread(partial(mirror.close, CLOSE_SECONDS))

    def _reach(self, records: Sequence[ChangeRecord]) -> tuple[int, Sequence[str]]:
        """Return the number of the newest record, and the keys of all paths."""
        number = max((record.number for record in records), default=0)
        places = {WorkspacePath(path) for each in records for path in (each.path, each.old_path) if path is not None}
        return number, [self.context.key(path) for path in places]

    async def _look_for_added(self) -> None:
        rows = await self.context.workers.run(self.context.journal.mirrors.all)
        if self._open_added is None:
            return
        places = {row.place for row in rows}
        for mirror in self._mirrors:
            if mirror.place not in places:
                # As a new tuple, because calls in other threads may iterate over the old one.
                self._mirrors = tuple(each for each in self._mirrors if each is not mirror)
                mirror.close(0)
        attached = {mirror.place for mirror in self._mirrors}
        for row in rows:
            if row.root is not None and row.place not in attached:
                self._attach(row, self._open_added(row)).start()

    def _attach(self, row: MirrorRow, store: Store) -> Mirror:
        taken = {mirror.name for mirror in self._mirrors}
        names = ["mirror", *(f"mirror {number}" for number in range(2, len(taken) + 2))]
        mirror = Mirror(
            next(name for name in names if name not in taken), MirrorFiles(row, store, self.context), self.context
        )
        self._mirrors = (*self._mirrors, mirror)
        return mirror

    def _publish_on_loop(self, event: Event) -> None:
        if threading.get_ident() == self._thread:
            self._publish(event)
            return
        with suppress(RuntimeError):  # the loop is closed, and nobody listens
            self._loop.call_soon_threadsafe(self._publish, event)


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
            if await run(partial(self._context.journal.mirrors.get, mirror.place)) is None:
                raise SyncFailedError(None, "it was removed from the root", mirror.name)
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
