"""Repairing paths of a mirror in batches: prepared without their locks, exchanged under them, and only what is newest."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import Final

from msgspec import Struct

from filetools.errors import CallTimeoutError, FileToolsError, LockTimeoutError
from filetools.journal.changes import BacklogEntry
from filetools.locks.stripe import HeldLocks
from filetools.paths.workspace_path import WorkspacePath
from filetools.sync.actions import OutOfStepError
from filetools.sync.carrying import Carrier
from filetools.sync.completions import Completion
from filetools.sync.context import LOCK_OWNER, LOCK_SECONDS, SyncContext, is_recordable
from filetools.sync.mirror_worker import Job
from filetools.sync.plan import compare
from filetools.sync.steps import MirrorStep, repairing_step, step_for
from filetools.sync.wanted import Stamp, UnsettledError, Wanted, stamp_of, wanted

EXCHANGE_SECONDS: Final = 1.0
"""How long a single exchange may take before the locks of its batch are given back."""
BATCH_SECONDS: Final = 0.1
"""How long the locks of a batch are held for its exchanges, give or take one; the others wait for the next batch."""
BATCH_LOCK_SECONDS: Final = 0.05
"""Longest wait for the locks of a batch; then each of its paths is tried by itself."""
BATCH_PATHS: Final = 64
BATCH_BYTES: Final = 16 * 1024 * 1024
_TRIES: Final = 3

Failure = FileToolsError | OutOfStepError | UnsettledError


class RepairTarget(Struct, frozen=True, kw_only=True):
    """A path to be repaired."""

    path: WorkspacePath
    key: str
    from_primary: bool = False
    """Whether the primary's file counts, be it recorded or not; see `wanted`."""
    entry: BacklogEntry | None = None
    """Why; nothing is done if it turns out, under the path's lock, that a call has followed meanwhile."""
    must_write: bool = False
    """Whether it is written even if the mirror holds the same bytes, since a disk may have lost them on their way."""


class _Item:
    """A target on its way through one batch."""

    def __init__(self, target: RepairTarget, goal: Wanted) -> None:
        self.target = target
        self.goal = goal
        self.step: MirrorStep | None = None
        self.failure: Failure | None = None
        self.is_needless = False
        self.is_stale = False
        self.is_exchanged = False
        self.number: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether there is something left to be exchanged."""
        return not (self.failure or self.is_needless or self.is_stale or self.is_exchanged)

    def finish(self) -> None:
        """Let go of what came out, or of what was prepared and did not go live."""
        step, self.step = self.step, None
        if step is not None:
            (step.finish if self.is_exchanged else step.discard)()


class MirrorRepair:
    """Brings paths of one mirror to what they should be. Used on the loop; lives as long as the mirror.

    Errors of the mirror have been judged when they are raised: `Mirror.takes_calls` says whether they are about one path.
    """

    def __init__(self, context: SyncContext, carrier: Carrier) -> None:
        self._context = context
        self._carrier = carrier
        self._mirror = carrier.mirror

    async def repair(self, targets: Sequence[RepairTarget]) -> dict[RepairTarget, Failure]:
        """Bring paths up to date, and note what leaves the backlog with them.

        A directory is brought up to date with all below it, unless the primary counts: then each of its paths is
        repaired by itself.

        Returns:
            What could not be repaired, and why: UnsettledError, OutOfStepError and LockTimeoutError where it cannot be
            told now, another error where the mirror refused the path, or the primary could not be read.

        Raises:
            FileToolsError: The mirror takes no calls (any more).
        """
        failures: dict[RepairTarget, Failure] = {}
        tries: dict[RepairTarget, int] = {}
        pending = [target for target in targets if not await self._is_left_out(target)]
        while pending:
            self._mirror.check()
            batch, pending = pending[:BATCH_PATHS], pending[BATCH_PATHS:]
            stale, unread = await self._repair_batch(batch, failures)
            pending = [*unread, *pending]
            for target in stale:
                tries[target] = tries.get(target, 0) + 1
                if tries[target] < _TRIES:
                    pending.append(target)
                else:
                    failures[target] = OutOfStepError(target.path)
        return failures

    async def remove_emptied(self, path: WorkspacePath, key: str) -> None:
        """Remove a directory that the primary does not have, if nothing is in it; excluded files keep theirs.

        Raises:
            As `repair` returns.
        """
        self._mirror.check()
        async with self._locked([(key, path)], LOCK_SECONDS):
            await self._mirror.in_back_worker(lambda job: self._prune(path), silence_seconds=EXCHANGE_SECONDS)

    async def _is_left_out(self, target: RepairTarget) -> bool:
        if not self._context.is_left_out(target.path):
            return False
        number = await self._context.run(partial(self._number, target.key))
        self._mirror.completions.note(Completion(key=target.key, path=target.path, number=number, needs_sync=False))
        return True

    async def _repair_batch(
        self, batch: Sequence[RepairTarget], failures: dict[RepairTarget, Failure]
    ) -> tuple[list[RepairTarget], list[RepairTarget]]:
        """Repair one batch; returns the targets that changed meanwhile, and those that did not fit into it."""
        items, unread = await self._context.run(partial(self._goals, batch, failures))
        folders = [item for item in items if item.goal.kind == "directory"]
        others = [item for item in items if item.goal.kind != "directory"]
        try:
            for several in (
                folders,
                others,
            ):  # what is made for a file's sake has not the mode that the folder should have
                await self._mirror.in_back_worker(partial(self._prepare, several))
                while due := [item for item in several if item.is_open]:
                    await self._exchange_locked(due)
            await self._mirror.in_back_worker(partial(self._finish, items))
        finally:
            # What a failure has left. Nobody waits for it: the worker may be hung.
            self._mirror.back.submit(partial(self._finish, items))
        compared: set[WorkspacePath] = set()
        for item in items:
            await self._complete(item, compared)
            if item.failure is not None:
                failures[item.target] = item.failure
        return [item.target for item in items if item.is_stale], unread

    def _goals(
        self, batch: Sequence[RepairTarget], failures: dict[RepairTarget, Failure]
    ) -> tuple[list[_Item], list[RepairTarget]]:
        """Look what each path should be, as long as the bytes of all fit into memory together."""
        items: list[_Item] = []
        size = 0
        for index, target in enumerate(batch):
            if size > BATCH_BYTES:
                return items, list(batch[index:])
            try:
                goal = wanted(self._context, target.path, target.key, from_primary=target.from_primary)
            except (FileToolsError, UnsettledError) as exc:
                failures[target] = exc
                continue
            size += len(goal.content)
            items.append(_Item(target, goal))
        return items, []

    def _prepare(self, items: Sequence[_Item], job: Job[None]) -> None:
        self._mirror.identity.check()
        for item in items:
            job.progress()
            with self._judged(item):
                action = item.goal.action(item.target.path, item.target.key)
                files = self._mirror.files
                item.step = (
                    step_for(files, action, lambda move: None)
                    if item.target.must_write
                    else repairing_step(files, action)
                )
                item.step.prepare()

    async def _exchange_locked(self, items: Sequence[_Item]) -> None:
        """Exchange what is still wanted under the locks of all, or one after the other where somebody works on one."""
        if not items:
            return
        is_single = len(items) == 1
        places = [(item.target.key, item.target.path) for item in items]
        try:
            async with self._locked(places, LOCK_SECONDS if is_single else BATCH_LOCK_SECONDS):
                await self._exchange(items)
        except LockTimeoutError as exc:
            if is_single:
                items[0].failure = exc
                return
            for item in items:
                await self._exchange_locked([item])

    async def _exchange(self, items: Sequence[_Item]) -> None:
        await self._context.run(partial(self._look_again, items))
        if self._mirror.front.is_stuck:
            # What nobody waits for may still put an older version there.
            for item in items:
                item.failure = item.failure or OutOfStepError(item.target.path)
            return
        late: CallTimeoutError | None = None
        try:
            await self._mirror.in_back_worker(partial(self._exchange_all, items), silence_seconds=EXCHANGE_SECONDS)
        except CallTimeoutError as exc:
            late = exc
        await self._context.run(partial(self._take_numbers, items))
        if late is not None:
            raise late

    def _look_again(self, items: Sequence[_Item]) -> None:
        """See under the locks what is still wanted."""
        for item in items:
            target = item.target
            if target.entry is not None and self._is_settled(target.entry):
                item.is_needless = True
                continue
            try:
                now = stamp_of(self._context, target.path, target.key, from_primary=target.from_primary)
            except UnsettledError as exc:
                item.failure = exc
            else:
                item.is_stale = now != item.goal.stamp

    def _exchange_all(self, items: Sequence[_Item], job: Job[None]) -> None:
        self._mirror.identity.check()
        ends = time.monotonic() + BATCH_SECONDS
        for item in items:
            if not item.is_open:
                continue
            if time.monotonic() > ends and len(items) > 1:
                return
            job.progress()
            try:
                with self._judged(item):
                    assert item.step is not None
                    item.step.exchange(job.go_on)
                    item.is_exchanged = True
                    if item.goal.kind == "nothing":
                        self._prune(item.target.path.parent)
            finally:
                if job.is_abandoned and job.has_passed:
                    self._mirror.suspect([(item.target.key, item.target.path)])

    def _take_numbers(self, items: Sequence[_Item]) -> None:
        for item in items:
            # What is owed of a folder may be all in it, which here others repair by what they saw some time ago.
            is_folder_alone = item.goal.kind == "directory" and item.target.from_primary
            if item.is_exchanged and not is_folder_alone:
                item.number = self._number_after(item.target.path, item.target.key, item.goal.stamp)

    def _finish(self, items: Sequence[_Item], job: Job[None]) -> None:
        for item in items:
            job.progress()
            item.finish()

    async def _complete(self, item: _Item, compared: set[WorkspacePath]) -> None:
        if item.failure is not None or not item.is_exchanged:
            return
        target = item.target
        is_whole = item.goal.kind == "directory" and not target.from_primary
        if is_whole and compared.isdisjoint(target.path.folders):
            try:
                await self._repair_below(target.path)
            except (FileToolsError, OutOfStepError, UnsettledError) as exc:
                self._mirror.check()
                item.failure = exc
                return
            compared.add(target.path)
        head = item.goal.stamp.head if item.goal.kind == "file" else None
        self._mirror.completions.note(Completion(key=target.key, path=target.path, number=item.number, head=head))

    async def _repair_below(self, path: WorkspacePath) -> None:
        context, mirror = self._context, self._mirror
        plan = await mirror.in_back_worker(
            lambda job: compare(context.primary, mirror.files.store, context.is_left_out, top=path, go_on=job.progress)
        )
        targets = [
            RepairTarget(path=place, key=context.key(place), from_primary=place in plan.directories)
            for place in plan.changes
        ]
        failures = [*plan.failed.values(), *(await self.repair(targets)).values()]
        for place in plan.emptied:
            await self.remove_emptied(place, context.key(place))
        if failures:
            raise failures[0]
        for place in plan.equal:
            mirror.completions.note(Completion(key=context.key(place), path=place, number=None))

    def _judged(self, item: _Item) -> _Judged:
        return _Judged(item, self._mirror.judge, lambda: self._mirror.is_ready)

    def _prune(self, folder: WorkspacePath) -> None:
        """Remove a directory, and those above it, that the primary does not have and that are empty."""
        while not folder.is_root and self._context.primary.stat(folder) is None:
            found = self._mirror.files.store.stat(folder)
            if found is not None and not self._mirror.files.remove_if_empty(folder):
                return
            folder = folder.parent

    def _number(self, key: str) -> int | None:
        if not is_recordable(key):
            return None
        entry = self._context.journal.backlog.get(self._mirror.place, key)
        return None if entry is None else entry.number

    def _is_settled(self, entry: BacklogEntry) -> bool:
        return self._number(entry.key) is None or self._mirror.completions.holds(entry)

    def _number_after(self, path: WorkspacePath, key: str, stamp: Stamp) -> int | None:
        """Return the number that leaves the backlog, under the path's lock; none if the path's head has changed.

        A folder above may have gone, without this path's lock, and left the mirror before this path came.
        """
        try:
            head = stamp_of(self._context, path, key).head
        except UnsettledError:
            head = -1
        if head != stamp.head:
            self._mirror.suspect([(key, path)])
            return None
        return self._number(key)

    def _locked(
        self, places: Sequence[tuple[str, WorkspacePath]], seconds: float
    ) -> AbstractAsyncContextManager[HeldLocks | None]:
        keys = [key for key, _ in places if is_recordable(key)]
        if not keys:
            return nullcontext()
        return self._context.locks.hold(keys, path=places[0][1], owner=LOCK_OWNER, timeout_seconds=seconds)


class _Judged:
    """Notes a failure that is about one path of a batch, and lets those of the whole mirror through."""

    def __init__(self, item: _Item, judge: Callable[[FileToolsError], None], is_ready: Callable[[], bool]) -> None:
        self._item = item
        self._judge = judge
        self._is_ready = is_ready

    def __enter__(self) -> None:
        """Begin the work on one path."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, OutOfStepError):
            self._item.failure = error
            return True
        if not isinstance(error, FileToolsError):
            return False
        self._judge(error)
        if not self._is_ready():
            return False
        self._item.failure = error
        return True


def batches(targets: Sequence[RepairTarget]) -> Iterator[Sequence[RepairTarget]]:
    """Yield targets in groups of the size that is repaired together."""
    for start in range(0, len(targets), BATCH_PATHS):
        yield targets[start : start + BATCH_PATHS]
