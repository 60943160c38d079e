"""Repairing one path of a mirror: prepared without its lock, exchanged under it, and only what is newest."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import Final

from filetools.errors import FileToolsError
from filetools.journal import Debt
from filetools.locks import HeldLocks
from filetools.paths import WorkspacePath
from filetools.sync.actions import OutOfStepError
from filetools.sync.carrying import Carrier
from filetools.sync.context import LOCK_OWNER, LOCK_SECONDS, SyncContext, is_recordable
from filetools.sync.lane import Job
from filetools.sync.payments import Payment
from filetools.sync.plan import compare
from filetools.sync.steps import Step
from filetools.sync.wanted import Stamp, UnsettledError, Wanted, stamp_of, wanted

EXCHANGE_SECONDS: Final = 1.0
"""How long a path's lock may be held for a mirror's exchange."""
_TRIES: Final = 3


class Repair:
    """Brings paths of one mirror to what they should be. Used on the loop; lives as long as the mirror.

    Errors of the mirror have been judged when they are raised: `Mirror.is_ready` says whether they are about one path.
    """

    def __init__(self, context: SyncContext, carrier: Carrier) -> None:
        self._context = context
        self._carrier = carrier
        self._mirror = carrier.mirror

    async def repair(
        self, path: WorkspacePath, key: str, *, from_primary: bool = False, debt: Debt | None = None
    ) -> None:
        """Bring one path up to date, and note its debt for payment.

        A directory is brought up to date with all below it, unless the primary counts: then each of its paths is
        repaired by itself.

        Args:
            path: Where.
            key: Its lock key.
            from_primary: See `wanted`.
            debt: Why; nothing is done if it turns out, under the path's lock, that a call has followed meanwhile.

        Raises:
            UnsettledError, OutOfStepError: It cannot be told now; try again later.
            LockTimeoutError: Somebody works on the path.
            CallTimeoutError: The mirror did not answer.
            FileToolsError: The mirror refused, or the primary could not be read.
        """
        self._mirror.check()
        if self._context.is_left_out(path):
            number = await self._context.run(partial(self._debt, key))
            self._mirror.payments.note(Payment(key=key, path=path, number=number, needs_sync=False))
            return
        for _ in range(_TRIES):
            target = await self._context.run(partial(wanted, self._context, path, key, from_primary=from_primary))
            if await self._bring(path, key, target, from_primary=from_primary, debt=debt):
                return
        raise OutOfStepError(path)

    async def remove_emptied(self, path: WorkspacePath, key: str) -> None:
        """Remove a directory that the primary does not have, if nothing is in it; excluded files keep theirs.

        Raises:
            As `repair`.
        """
        self._mirror.check()
        async with self._locked(path, key):
            await self._mirror.in_back_lane(lambda job: self._prune(path), seconds=EXCHANGE_SECONDS)

    async def _bring(
        self, path: WorkspacePath, key: str, target: Wanted, *, from_primary: bool, debt: Debt | None
    ) -> bool:
        """Bring the mirror to the target; False if the path has changed meanwhile, so that it is no target any more."""
        step = self._carrier.step(target.action(path, key))
        look = partial(stamp_of, self._context, path, key, from_primary=from_primary)
        number = None
        is_done = is_needless = False
        try:
            await self._mirror.in_back_lane(lambda job: step.prepare())
            async with self._locked(path, key):
                is_needless = debt is not None and await self._context.run(partial(self._is_settled, debt))
                if not is_needless and await self._context.run(look) == target.stamp:
                    await self._exchange(step, path, key, is_removal=target.kind == "nothing")
                    number = await self._context.run(partial(self._debt_after, path, key, target.stamp))
                    is_done = True
        finally:
            if not is_done:
                # Nobody waits for it: the lane may be hung.
                self._mirror.back.submit(lambda job: step.discard())
        if not is_done:
            return is_needless
        await self._mirror.in_back_lane(lambda job: step.finish())
        if target.kind == "directory" and not from_primary:
            await self._repair_below(path)
        head = target.stamp.head if target.kind == "file" else None
        self._mirror.payments.note(Payment(key=key, path=path, number=number, head=head))
        return True

    async def _exchange(self, step: Step, path: WorkspacePath, key: str, *, is_removal: bool) -> None:
        if self._mirror.front.is_stuck:
            raise OutOfStepError(path)

        def exchange(job: Job[None]) -> None:
            try:
                step.exchange(job.go_on)
                if is_removal:
                    self._prune(path.parent)
            finally:
                if job.is_abandoned and job.has_passed:
                    self._mirror.doubts.note([(key, path)])

        await self._mirror.in_back_lane(exchange, seconds=EXCHANGE_SECONDS)

    async def _repair_below(self, path: WorkspacePath) -> None:
        context, mirror = self._context, self._mirror
        plan = await self._mirror.in_back_lane(
            lambda job: compare(context.primary, mirror.files.store, context.is_left_out, top=path)
        )
        failed: list[FileToolsError | OutOfStepError | UnsettledError] = list(plan.failed.values())
        for place in plan.changes:
            try:
                await self.repair(place, context.key(place), from_primary=place in plan.directories)
            except (FileToolsError, OutOfStepError, UnsettledError) as exc:
                failed.append(exc)
        for place in plan.emptied:
            await self.remove_emptied(place, context.key(place))
        if failed:
            raise failed[0]
        for place in plan.equal:
            mirror.payments.note(Payment(key=context.key(place), path=place, number=None))

    def _prune(self, folder: WorkspacePath) -> None:
        """Remove a directory, and those above it, that the primary does not have and that are empty."""
        while not folder.is_root and self._context.primary.stat(folder) is None:
            found = self._mirror.files.store.stat(folder)
            if found is not None and not self._mirror.files.remove_if_empty(folder):
                return
            folder = folder.parent

    def _debt(self, key: str) -> int | None:
        if not is_recordable(key):
            return None
        debt = self._context.journal.debts.get(self._mirror.name, key)
        return None if debt is None else debt.number

    def _is_settled(self, debt: Debt) -> bool:
        return self._debt(debt.key) is None or self._mirror.payments.holds(debt)

    def _debt_after(self, path: WorkspacePath, key: str, stamp: Stamp) -> int | None:
        """Return the number to pay, under the path's lock; none if the path is in doubt because its head has changed.

        A folder above may have gone, without this path's lock, and left the mirror before this path came.
        """
        try:
            head = stamp_of(self._context, path, key).head
        except UnsettledError:
            head = -1
        if head != stamp.head:
            self._mirror.doubts.note([(key, path)])
            return None
        return self._debt(key)

    def _locked(self, path: WorkspacePath, key: str) -> AbstractAsyncContextManager[HeldLocks | None]:
        if not is_recordable(key):
            return nullcontext()
        return self._context.locks.hold([key], path=path, owner=LOCK_OWNER, timeout_seconds=LOCK_SECONDS)
