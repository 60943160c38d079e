"""What was exchanged in a mirror is made durable a little later, and only then leaves its backlog."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol

from msgspec import Struct

from filetools.errors import FileToolsError
from filetools.journal.changes import BacklogEntry
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import Store
from filetools.sync.context import Signal, SyncContext
from filetools.sync.mirror_files import GONE
from filetools.sync.mirror_worker import Job


class WorkerRunner(Protocol):
    """Does work in a mirror's worker and awaits it."""

    def __call__(self, work: Callable[[Job[None]], None], /) -> Awaitable[None]:
        """Return when the work has ended, or raise what it raised."""


class Completion(Struct, frozen=True, kw_only=True):
    """A path whose newest change stands in the mirror, perhaps not durably yet."""

    key: str
    path: WorkspacePath
    number: int | None
    """Number of the backlog's entry; None only makes the path durable."""
    head: int | None = None
    """Number that the head of a file must still have; None where the path has no head of its own."""
    needs_sync: bool = True


class Completions:
    """What is about to leave one mirror's backlog. Thread-safe; lives as long as the mirror."""

    def __init__(self, place: str, store: Store, context: SyncContext, in_worker: WorkerRunner) -> None:
        """Have nothing to do yet.

        Args:
            place: The mirror's name in the journal.
            store: The mirror.
            context: The journal, the worker threads and the times.
            in_worker: Where its syncs wait for the disk.
        """
        self._place = place
        self._store = store
        self._in_worker = in_worker
        self._context = context
        self._lock = threading.Lock()
        self._waiting: dict[str, Completion] = {}
        self._under_way: dict[str, Completion] = {}
        self._must_write: set[str] = set()
        self._signal = Signal()
        self._flushing = asyncio.Lock()

    def __len__(self) -> int:
        """Number of paths that are about to leave the backlog."""
        with self._lock:
            return len({*self._waiting, *self._under_way})

    def note(self, completion: Completion) -> None:
        """Make this durable after the next pause, unless a newer change comes before."""
        with self._lock:
            older = self._waiting.pop(completion.key, None)
            if completion.number is None and older is not None:
                completion = older
            self._waiting[completion.key] = completion
        self._signal.set()

    def holds(self, entry: BacklogEntry) -> bool:
        """Whether exactly this entry is about to leave the backlog."""
        with self._lock:
            noted = self._waiting.get(entry.key) or self._under_way.get(entry.key)
        return noted is not None and noted.number == entry.number

    def forget(self) -> None:
        """Leave everything that waits to the backlog."""
        with self._lock:
            self._waiting.clear()

    def must_write(self, key: str) -> bool:
        """Whether a path must be written anew although the mirror seems to hold its bytes.

        After a sync that failed the kernel may have dropped them: another sync would succeed, and prove nothing.
        """
        return key in self._must_write

    async def run(self, failed: Callable[[FileToolsError], None]) -> None:
        """Make durable for ever what is noted, after a pause each time.

        Args:
            failed: Told what kept the mirror from being synced, or the journal from being written.
        """
        self._signal.bind()
        while True:
            await self._signal.wait()
            # Everything noted until the end of the pause is synced together.
            await asyncio.sleep(self._context.times.sync_after_seconds)
            try:
                await self.flush()
            except FileToolsError as exc:
                failed(exc)

    async def flush(self) -> None:
        """Make everything noted so far durable, and take it out of the backlog.

        Raises:
            FileToolsError: A sync failed; its entry and the later ones stay, and will be written anew.
        """
        async with self._flushing:
            with self._lock:
                batch, self._waiting = self._waiting, {}
                self._under_way = batch
            if batch:
                await self._flush(tuple(batch.values()))

    async def _flush(self, batch: Sequence[Completion]) -> None:
        done: list[Completion] = []
        try:
            due = await self._context.run(partial(self._still_due, batch))
            await self._in_worker(partial(self._sync, due, done))
        finally:
            try:
                await self._context.run(partial(self._remove, tuple(done)))
            finally:
                with self._lock:
                    self._under_way = {}

    def _still_due(self, batch: Sequence[Completion]) -> list[Completion]:
        return [
            completion
            for completion in batch
            if completion.number is None or self._is_due(completion, completion.number)
        ]

    def _is_due(self, completion: Completion, number: int) -> bool:
        entry = self._context.journal.backlog.get(self._place, completion.key)
        if entry is None or entry.number != number:
            return False
        # The folder above may have gone meanwhile, and its removal have reached the mirror before this file did.
        head = self._context.journal.view(completion.key).head
        return completion.head is None or (head is not None and head.number == completion.head)

    def _sync(self, due: Sequence[Completion], done: list[Completion], job: Job[None]) -> None:
        synced: set[WorkspacePath] = set()
        for completion in due:
            job.progress()
            if completion.needs_sync:
                self._must_write.add(completion.key)
                self._sync_one(completion.path, synced)
                self._must_write.discard(completion.key)
            done.append(completion)

    def _sync_one(self, path: WorkspacePath, synced: set[WorkspacePath]) -> None:
        while True:
            try:
                self._store.sync(path, synced=synced)
            except GONE:
                # The folder above has gone too, or a file stands there: it is that change which must be durable.
                path = path.parent
            else:
                return

    def _remove(self, done: Sequence[Completion]) -> None:
        self._context.journal.backlog.remove(
            BacklogEntry(
                mirror=self._place, key=completion.key, path=completion.path, number=completion.number, tries=0
            )
            for completion in done
            if completion.number is not None
        )
