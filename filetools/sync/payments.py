"""Paying a mirror's debts: what was exchanged is made durable a little later, and only then counts as paid."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from filetools.errors import FileToolsError
from filetools.journal import Debt
from filetools.paths import WorkspacePath
from filetools.stores import Store
from filetools.sync.context import Signal, SyncContext
from filetools.sync.lane import Job
from filetools.sync.mirror_files import GONE


class LaneRunner(Protocol):
    """Does work in a mirror's lane and awaits it."""

    def __call__(self, work: Callable[[Job[None]], None], /) -> Awaitable[None]:
        """Return when the work has ended, or raise what it raised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """A path whose newest change stands in the mirror, perhaps not durably yet."""

    key: str
    path: WorkspacePath
    number: int | None
    """Number of the debt; None only makes the path durable."""
    head: int | None = None
    """Number that the head of a file must still have; None where the path has no head of its own."""
    needs_sync: bool = True


class Payments:
    """What one mirror is about to pay. Thread-safe; lives as long as the mirror."""

    def __init__(self, name: str, store: Store, context: SyncContext, in_lane: LaneRunner) -> None:
        """Owe nothing yet.

        Args:
            name: The mirror's name in the journal.
            store: The mirror.
            context: The journal, the worker threads and the times.
            in_lane: Where its syncs wait for the disk.
        """
        self._name = name
        self._store = store
        self._in_lane = in_lane
        self._context = context
        self._lock = threading.Lock()
        self._waiting: dict[str, Payment] = {}
        self._under_way: dict[str, Payment] = {}
        self._signal = Signal()
        self._settling = asyncio.Lock()

    def __len__(self) -> int:
        """Number of debts that are about to be paid."""
        with self._lock:
            return len({*self._waiting, *self._under_way})

    def note(self, payment: Payment) -> None:
        """Pay this after the next pause, unless a newer change comes before."""
        with self._lock:
            older = self._waiting.pop(payment.key, None)
            if payment.number is None and older is not None:
                payment = older
            self._waiting[payment.key] = payment
        self._signal.set()

    def holds(self, debt: Debt) -> bool:
        """Whether exactly this debt is about to be paid."""
        with self._lock:
            noted = self._waiting.get(debt.key) or self._under_way.get(debt.key)
        return noted is not None and noted.number == debt.number

    async def run(self, failed: Callable[[FileToolsError], None]) -> None:
        """Pay for ever, after a pause each time something is noted.

        Args:
            failed: Told what kept the mirror from being synced, or the journal from being written.
        """
        self._signal.bind()
        while True:
            await self._signal.wait()
            # Everything noted until the end of the pause is paid together.
            await asyncio.sleep(self._context.times.sync_after_seconds)
            try:
                await self.settle()
            except FileToolsError as exc:
                failed(exc)

    async def settle(self) -> None:
        """Sync and pay everything noted so far.

        Raises:
            FileToolsError: A sync failed; its debt and the later ones stay, and will be written anew.
        """
        async with self._settling:
            with self._lock:
                batch, self._waiting = self._waiting, {}
                self._under_way = batch
            if batch:
                await self._settle(tuple(batch.values()))

    async def _settle(self, batch: Sequence[Payment]) -> None:
        done: list[Payment] = []
        try:
            due = await self._context.run(partial(self._still_due, batch))
            await self._in_lane(partial(self._sync, due, done))
        finally:
            try:
                await self._context.run(partial(self._pay, tuple(done)))
            finally:
                with self._lock:
                    self._under_way = {}

    def _still_due(self, batch: Sequence[Payment]) -> list[Payment]:
        return [payment for payment in batch if payment.number is None or self._is_due(payment, payment.number)]

    def _is_due(self, payment: Payment, number: int) -> bool:
        debt = self._context.journal.debts.get(self._name, payment.key)
        if debt is None or debt.number != number:
            return False
        # The folder above may have gone meanwhile, and its removal have reached the mirror before this file did.
        head = self._context.journal.view(payment.key).head
        return payment.head is None or (head is not None and head.number == payment.head)

    def _sync(self, due: Sequence[Payment], done: list[Payment], job: Job[None]) -> None:
        for payment in due:
            if job.is_abandoned:
                return
            if payment.needs_sync:
                self._sync_one(payment.path)
            done.append(payment)

    def _sync_one(self, path: WorkspacePath) -> None:
        while True:
            try:
                self._store.sync(path)
            except GONE:
                # The folder above has gone too, or a file stands there: it is that change which must be durable.
                path = path.parent
            else:
                return

    def _pay(self, done: Sequence[Payment]) -> None:
        self._context.journal.debts.pay(
            Debt(mirror=self._name, key=payment.key, path=payment.path, number=payment.number, tries=0)
            for payment in done
            if payment.number is not None
        )
