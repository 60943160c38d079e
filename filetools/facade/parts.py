"""What every step of a call works with: the opened parts of one workspace, and the crew that does blocking work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from filetools.content import FactsCache
from filetools.events import EventBus
from filetools.journal import Journal
from filetools.locks import LockTable
from filetools.paths import Workspace
from filetools.permissions import Gatekeeper
from filetools.settings import Settings
from filetools.stores import Store
from filetools.sync import Recovery, SyncManager

T = TypeVar("T")


class Crew:
    """The worker threads of one workspace. Nothing of the product runs on the loop's default pool."""

    def __init__(self, threads: int) -> None:
        self.executor = ThreadPoolExecutor(threads, thread_name_prefix="filetools")

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` in a worker thread, in one hop, to its end even if the caller is cancelled meanwhile.

        A thread cannot be stopped in the middle of a system call; so a cancelled caller waits for it, and is
        cancelled after: what `work` holds or writes is never left to chance.
        """
        hop = self.start(work)
        try:
            return await asyncio.shield(hop)
        except asyncio.CancelledError:
            await finished(hop)
            raise

    def start(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Start `work` in a worker thread; the caller sees to it that it is awaited."""
        return asyncio.get_running_loop().run_in_executor(self.executor, work)

    def close(self) -> None:
        """End the threads; work under way finishes first, in the background."""
        self.executor.shutdown(wait=False)


async def finished(future: asyncio.Future[T]) -> None:
    """Wait until a future is done, however often the waiting task is cancelled."""
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError:
            continue


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of one opened workspace; they live until it is closed."""

    workspace: Workspace
    store: Store
    journal: Journal
    locks: LockTable
    bus: EventBus
    sync: SyncManager
    recovery: Recovery
    gatekeeper: Gatekeeper
    settings: Settings
    facts: FactsCache
    crew: Crew
