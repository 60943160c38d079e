"""Comparing a whole mirror with the primary, and mending every difference: when somebody asks, or to fill a new folder."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

from msgspec import Struct, field, structs

import filetools.events as events
from filetools.errors import AbortedError, FileToolsError, SyncFailedError
from filetools.models.files import SyncResult
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.sync.actions import OutOfStepError
from filetools.sync.carrying import Carrier
from filetools.sync.context import SyncContext, is_recordable
from filetools.sync.mirror import PROBE_SECONDS
from filetools.sync.mirror_worker import Job, MirrorWorker
from filetools.sync.plan import Comparison, Plan, Versions
from filetools.sync.repair import Failure, MirrorRepair, RepairTarget, batches
from filetools.sync.wanted import UnsettledError

Progress = Callable[[int, int, str], None]
"""Told on the loop how many paths are done, of how many, and which is next."""

_DIRECTION: Final = "to_mirror"


class SyncRequest(Struct, frozen=True, kw_only=True):
    """What somebody asks of a synchronisation."""

    preview: bool = False
    verify: bool = False
    progress: Progress | None = None
    abort: asyncio.Event | None = None

    @property
    def is_aborted(self) -> bool:
        """Whether it is not wanted any more."""
        return self.abort is not None and self.abort.is_set()


class _Outcome(Struct, kw_only=True):
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
        self._repair = MirrorRepair(context, carrier)
        self._turn = asyncio.Lock()
        self._versions = (Versions(context.primary), Versions(carrier.mirror.files.store))

    async def run(self, request: SyncRequest) -> SyncResult:
        """Do what is asked, while nothing fills the mirror in the background.

        Raises:
            SyncFailedError: The mirror is not ready, or paused; a preview only needs it to be readable.
            AbortedError: It was aborted; what was done stays done.
        """
        async with self._turn:
            return await self._run(request)

    async def _run(self, request: SyncRequest) -> SyncResult:
        started = time.monotonic()
        if not request.preview:
            await self._begin()
        position = await self._context.run(self._context.journal.visible_position)
        plan = await self._compare(request)
        outcome = _Outcome(total=len(plan.changes) + len(plan.emptied) + len(plan.failed))
        if not request.preview:
            await self._mend(plan, outcome, request)
            if not outcome.errors:
                await self._confirm(position)
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

    async def fill(self, between: Callable[[], Awaitable[None]]) -> None:
        """Give a folder that was not this mirror until now all that the primary has.

        What the primary does not have stays, unless the folder is known to be an older state of this mirror.

        Args:
            between: Called between two batches, so that newer changes do not wait for the end.

        Raises:
            FileToolsError: The mirror takes no calls (any more); the next round begins anew.
        """
        # A command that only asks for something, such as a preview, has asked by then.
        await asyncio.sleep(self._context.times.sync_after_seconds)
        async with self._turn:
            if not self._mirror.identity.is_filled:
                await self._fill(between)

    async def _fill(self, between: Callable[[], Awaitable[None]]) -> None:
        mirror = self._mirror
        losses = mirror.losses
        position = await self._context.run(self._context.journal.visible_position)
        plan = await self._compare(SyncRequest())
        deleted, emptied = (plan.deleted, plan.emptied) if mirror.identity.is_older else ([], [])
        recorded = await self._context.run(self._recorded)
        met = {self._context.key(path) for path in (*plan.added, *plan.modified, *plan.equal, *plan.failed)}
        absent = [path for key, path in recorded.items() if key not in met]
        # Of a recorded file the head counts: it may be gone, or other, for an instant of which nobody is ever told.
        targets = [
            structs.replace(target, from_primary=target.key not in recorded)
            for target in map(self._target, (*plan.added, *plan.modified, *deleted, *absent))
        ]
        missing: list[tuple[str, WorkspacePath]] = [(self._context.key(path), path) for path in plan.failed]
        try:
            mirror.filling = len(targets)
            for batch in batches(targets):
                missing += [(target.key, target.path) for target in await self._fill_in(batch)]
                mirror.filling -= len(batch)
                await between()
            # What a program makes and takes away again at once, such as an editor's temporary file, is in no record.
            missing += [(target.key, target.path) for target in await self._fill_in(await self._vanished(targets))]
        finally:
            mirror.filling = 0
        for path in emptied:
            await self._remove_emptied(path)
        # From now on the backlog knows of them, and tells if they cannot be written at all.
        lacking = [(key, path) for key, path in missing if is_recordable(key)]
        await self._context.run(partial(self._context.journal.backlog.add, mirror.place, lacking))
        await mirror.completions.flush()
        if mirror.losses != losses:
            raise SyncFailedError(None, "another folder may stand at its place since it was compared")
        await self._confirm(position)

    async def _fill_in(self, batch: Sequence[RepairTarget]) -> Iterable[RepairTarget]:
        """Write one batch; returns what the backlog must know of, which is all where the mirror turns out to be slow."""
        mirror = self._mirror
        is_late = mirror.is_ready and not (mirror.is_paused or mirror.takes_calls)
        if not mirror.is_ready or (is_late and not await mirror.probe()):
            mirror.check()
        try:
            return await self._repair.repair(batch)
        except FileToolsError:
            if not mirror.is_ready:
                raise
            return batch

    def _recorded(self) -> dict[str, WorkspacePath]:
        """Return key and path of all files that the journal has recorded, and that mirrors have."""
        heads = self._context.journal.heads().items()
        paths = {key: WorkspacePath(head.path) for key, head in heads if head.version is not None and head.number > 0}
        is_left_out = self._context.is_left_out
        return {key: path for key, path in paths.items() if not is_left_out(path, is_directory=False)}

    async def _vanished(self, targets: Sequence[RepairTarget]) -> list[RepairTarget]:
        store = self._context.primary
        return await self._context.run(lambda: [target for target in targets if store.stat(target.path) is None])

    async def _confirm(self, position: int) -> None:
        identity = self._mirror.identity
        await self._mirror.in_back_worker(lambda job: identity.confirm(position), silence_seconds=PROBE_SECONDS)

    def _target(self, path: WorkspacePath, *, must_write: bool = False) -> RepairTarget:
        return RepairTarget(path=path, key=self._context.key(path), from_primary=True, must_write=must_write)

    async def _begin(self) -> None:
        mirror = self._mirror
        if mirror.is_paused or not await mirror.probe():
            mirror.check()
        await self._context.run(partial(self._context.journal.backlog.reset, mirror.place))

    async def _compare(self, request: SyncRequest) -> Plan:
        # A worker of its own: a comparison of large trees holds up neither calls nor repairs.
        worker = MirrorWorker(f"{self._mirror.name} comparison")

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
            return await worker.perform(compare)
        finally:
            worker.close(0)

    async def _mend(self, plan: Plan, outcome: _Outcome, request: SyncRequest) -> None:
        tell = self._context.tell
        tell(events.SyncStarted(file_count=outcome.total, direction=_DIRECTION))
        try:
            for path, error in plan.failed.items():
                self._report(path, error, outcome)
            done = 0
            for batch in batches([self._target(path, must_write=request.verify) for path in plan.changes]):
                begun: list[RepairTarget] = []
                for target in batch:
                    if not request.is_aborted:
                        self._progress(done + len(begun), outcome.total, target.path, request)
                        begun.append(target)
                await self._mend_batch(begun, outcome)
                done += len(begun)
                _refuse_if_aborted(request, done, outcome.total)
            for path in plan.emptied:
                self._progress(done, outcome.total, path, request)
                failure = await self._remove_emptied(path)
                self._count(path, failure, outcome)
                done += 1
                _refuse_if_aborted(request, done, outcome.total)
            await self._make_durable()
        finally:
            failed = len(outcome.errors)
            is_complete = not failed and outcome.synced == outcome.total
            tell(
                events.SyncCompleted(
                    success=is_complete, timestamp=time.time(), files_processed=outcome.synced, files_failed=failed
                )
            )
            self._mirror.work.set()

    async def _mend_batch(self, targets: Sequence[RepairTarget], outcome: _Outcome) -> None:
        try:
            failures = await self._repair.repair(targets)
        except FileToolsError as exc:
            failures = dict.fromkeys(targets, exc)
        for target in targets:
            self._count(target.path, failures.get(target), outcome)

    async def _remove_emptied(self, path: WorkspacePath) -> Failure | None:
        try:
            await self._repair.remove_emptied(path, self._context.key(path))
        except (FileToolsError, UnsettledError, OutOfStepError) as exc:
            return exc
        return None

    def _count(self, path: WorkspacePath, failure: Failure | None, outcome: _Outcome) -> None:
        if failure is None:
            outcome.synced += 1
        elif isinstance(failure, FileToolsError):
            self._report(path, failure, outcome)
        else:
            self._report(path, SyncFailedError(path, "it is being changed right now"), outcome)

    async def _make_durable(self) -> None:
        try:
            await self._mirror.completions.flush()
        except FileToolsError as exc:
            self._mirror.missed(exc)
            raise SyncFailedError(None, f"the mirror could not be made durable: {exc.message}") from exc

    def _report(self, path: WorkspacePath, error: FileToolsError, outcome: _Outcome) -> None:
        outcome.fail(path, error.message, error.code)
        self._context.tell(events.SyncError(error=error.message, error_code=error.code, file=shown(path)))

    def _progress(self, done: int, total: int, path: WorkspacePath, request: SyncRequest) -> None:
        self._context.tell(events.SyncProgress(current=done, total=total, current_file=shown(path)))
        if request.progress is not None:
            request.progress(done, total, shown(path))


def shown(path: str) -> str:
    """Return a path as text that every encoder takes, bytes that are not UTF-8 escaped."""
    return path.encode("utf-8", "backslashreplace").decode()


def _refuse_if_aborted(request: SyncRequest, done: int, total: int) -> None:
    if request.is_aborted and done < total:
        raise AbortedError("The synchronisation", {"done": done, "total": total})


def failed_result(name: str, error: SyncFailedError, *, preview: bool) -> SyncResult:
    """Return the result of a mirror that could not be synchronised at all."""
    problem = {"path": name, "error": error.message, "error_code": error.code}
    return SyncResult(
        success=False, preview=preview, total_files=1, synced_files=0, failed_files=1, duration_ms=0,
        added=[], modified=[], deleted=[], errors=[problem],
    )  # fmt: skip


def summed(results: Sequence[SyncResult]) -> SyncResult:
    """Return what came of several mirrors."""
    return SyncResult(
        success=all(result.success for result in results),
        preview=results[0].preview,
        total_files=sum(result.total_files for result in results),
        synced_files=sum(result.synced_files for result in results),
        failed_files=sum(result.failed_files for result in results),
        duration_ms=sum(result.duration_ms for result in results),
        added=[path for result in results for path in result.added],
        modified=[path for result in results for path in result.modified],
        deleted=[path for result in results for path in result.deleted],
        errors=[error for result in results for error in result.errors],
    )
