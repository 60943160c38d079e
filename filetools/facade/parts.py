"""What every step of a call works with: the opened parts of one workspace, and the crew that does blocking work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from typing import TYPE_CHECKING, Final, TypeVar

from filetools.dataclass import dataclass
from filetools.editors import Documents
from filetools.errors import StateDamagedError, WorkspaceGoneError
from filetools.events import EventBus
from filetools.facade.known_names import KnownNames
from filetools.facade.linked import LinkedNames
from filetools.locks import LockTable
from filetools.paths import Workspace
from filetools.permissions import Gatekeeper
from filetools.settings import Settings
from filetools.sync import Recovery, SyncManager
from filetools.versions import ReadTracker, RememberedLines

if TYPE_CHECKING:
    from filetools.content import FactsCache
    from filetools.journal import Journal
    from filetools.stores import Store

T = TypeVar("T")

CLOSED: Final = "it was closed"
"""Why calls on a closed workspace fail."""


class UnderWay:
    """Counts what has begun and not ended yet, and waits until there is nothing. Belongs to one loop."""

    def __init__(self) -> None:
        self._count = 0
        self._waiting: asyncio.Future[None] | None = None

    def begin(self) -> None:
        """Something has begun."""
        self._count += 1

    def end(self, _ended: object = None) -> None:
        """Something has ended."""
        self._count -= 1
        if not self._count and self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def none(self) -> None:
        """Return when nothing is under way."""
        while self._count:
            self._waiting = asyncio.get_running_loop().create_future()
            await _to_its_end(self._waiting)


class Crew:
    """The worker threads of one workspace. Nothing of the product runs on the loop's default pool."""

    def __init__(self, threads: int) -> None:
        self.executor = ThreadPoolExecutor(threads, thread_name_prefix="filetools")
        self.check_root: Callable[[], None] = lambda: None
        """Raises WorkspaceGoneError if the root is gone: then the state in it is not damaged, it went along."""
        self._hops = UnderWay()
        self._is_sealed = False

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` in a worker thread, in one hop, to its end even if the caller is cancelled meanwhile.

        A thread cannot be stopped in the middle of a system call; so a cancelled caller waits for it, and is
        cancelled after: what `work` holds or writes is never left to chance.

        Raises:
            WorkspaceGoneError: The workspace was closed.
        """
        return await _to_its_end(self.start(work))

    def start(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Start `work` in a worker thread; the caller sees to it that it is awaited.

        Raises:
            WorkspaceGoneError: The workspace was closed.
        """
        if self._is_sealed:
            raise WorkspaceGoneError(CLOSED)
        return self._start(work)

    async def seal(self) -> None:
        """Take no more work, and wait for what is under way: what it uses is about to be closed."""
        self._is_sealed = True
        await self._hops.none()

    async def run_last(self, work: Callable[[], T]) -> T:
        """Run `work` although the crew is sealed, to release what the others used."""
        return await _to_its_end(self._start(work))

    def close(self) -> None:
        """End the threads; work under way finishes first, in the background."""
        self._is_sealed = True
        self.executor.shutdown(wait=False)

    def _start(self, work: Callable[[], T]) -> asyncio.Future[T]:
        hop = asyncio.get_running_loop().run_in_executor(self.executor, self._explained, work)
        self._hops.begin()
        hop.add_done_callback(self._hops.end)
        return hop

    def _explained(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except StateDamagedError:
            self.check_root()
            raise


async def _to_its_end(future: asyncio.Future[T]) -> T:
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        await finished(future)
        raise


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
    tracker: ReadTracker
    documents: Documents
    crew: Crew
    names: KnownNames
    links: LinkedNames = field(default_factory=LinkedNames)
    lines: RememberedLines = field(default_factory=RememberedLines)
