"""Worker threads of one workspace: blocking work runs in one hop and finishes even if the caller is cancelled."""

from __future__ import annotations

import asyncio
import atexit
import queue
import threading
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import partial
from typing import Any, Final, ParamSpec, TypeVar

from filetools.errors import FileToolsError, RateLimitedError, StateDamagedError, WorkspaceGoneError
from filetools.processes import abandon_in_child

T = TypeVar("T")
P = ParamSpec("P")

Inbox = queue.SimpleQueue[Callable[[], None] | None]
"""Work for one thread; None ends it."""
CLOSED: Final = "it was closed"
"""Why calls on a closed workspace fail."""


class InFlight:
    """Counts operations in flight and waits until there are none. Belongs to one loop."""

    def __init__(self) -> None:
        self._count = 0
        self._waiting: asyncio.Future[None] | None = None

    def begin(self) -> None:
        """Count an operation that begins."""
        self._count += 1

    def end(self) -> None:
        """Count an operation that ends."""
        self._count -= 1
        if not self._count and self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def none(self) -> None:
        """Return when nothing is in flight, however often the caller is cancelled meanwhile."""
        is_cancelled = False
        while self._count:
            self._waiting = asyncio.get_running_loop().create_future()
            try:
                await asyncio.shield(self._waiting)
            except asyncio.CancelledError:
                is_cancelled = True
        if is_cancelled:
            raise asyncio.CancelledError


class Hop(asyncio.Future[T]):
    """The outcome of work in a worker thread.

    A thread cannot be stopped in the middle of a system call. So a cancelled caller waits for the work to end, and is
    cancelled then: the work never leaves behind what it holds, or half of what it writes.
    """

    is_cancelled = False
    """True once the caller was cancelled; long work may check it, from any thread."""

    def __init__(self, withdraw: Callable[[], bool] = lambda: False) -> None:
        """Create a hop; `withdraw` takes the work back if it has not begun."""
        super().__init__()
        self._withdraw = withdraw

    def cancel(self, msg: Any | None = None) -> bool:
        """Withdraw the work, or only note the cancellation: asyncio raises CancelledError in the caller after the work ends."""
        if self._withdraw():
            return super().cancel(msg)
        self.is_cancelled = True
        return False


class WorkerPool(Executor):
    """The worker threads of one workspace. Nothing of the product runs on the loop's default pool.

    Belongs to one loop, except `submit` and `put`, which any thread may call. Threads are started on demand.
    """

    def __init__(self, threads: int) -> None:
        self.check_root: Callable[[], None] = lambda: None
        """Raises WorkspaceGoneError if the root is gone: then the state in it is gone too, not damaged."""
        self._most_threads = threads
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        # Guarded by the lock:
        self._work: deque[Callable[[], None]] = deque()
        self._idle: list[Inbox] = []
        """Inboxes of idle threads, the last to become idle last: waking only that one costs least, and its caches are warm."""
        self._in_flight = InFlight()
        self._hops: weakref.WeakSet[Hop[Any]] = weakref.WeakSet()
        self._is_sealed = False
        self._is_closed = False
        _at_exit(self)
        abandon_in_child(self)

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` in a worker thread, in one hop; it finishes even if the caller is cancelled.

        Raises:
            WorkspaceGoneError: The workspace was closed.
        """
        return await self.start(work)

    def start(self, work: Callable[[], T], hop: Hop[T] | None = None) -> Hop[T]:
        """Start `work` in a worker thread; the caller must await it.

        Args:
            work: What to do.
            hop: A new hop, if the work checks it for cancellation.

        Raises:
            WorkspaceGoneError: The workspace was closed.
        """
        if self._is_sealed:
            raise WorkspaceGoneError(CLOSED)
        return self._start(work, hop)

    async def seal(self) -> None:
        """Refuse new work, and wait for work in progress: what it uses is about to be closed."""
        self._is_sealed = True
        await self._in_flight.none()

    async def run_last(self, work: Callable[[], T]) -> T:
        """Run `work` although the pool is sealed, to release what other work used."""
        return await self._start(work)

    def close(self) -> None:
        """End the threads; work under way finishes first, in the background."""
        self.shutdown(wait=False)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a function as any executor does, for libraries that need one."""
        future: Future[T] = Future()

        def work() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(fn(*args, **kwargs))
                except BaseException as exc:  # noqa: BLE001 - raised again where the future is awaited
                    future.set_exception(exc)

        self.put(work)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads after the queued work; may be called twice."""
        self._is_sealed = True
        with self._lock:
            self._is_closed = True
            threads, self._threads = self._threads, []
            idle, self._idle = self._idle, []
            for inbox in idle:
                inbox.put(None)
        for thread in threads if wait else ():
            thread.join()

    def abandon(self) -> None:
        """In a forked child, which has none of the threads, fail waiting work and refuse new work."""
        self._lock, self._threads, self._idle = (
            threading.Lock(),
            [],
            [],
        )  # a thread that does not exist in the child may have held the lock
        self._is_sealed = self._is_closed = True
        for hop in tuple(self._hops):
            with suppress(RuntimeError):  # the loop is closed, and nobody waits
                hop.get_loop().call_soon(
                    self._end, hop, partial(hop.set_exception, WorkspaceGoneError("it was opened before a fork"))
                )

    def _start(self, work: Callable[[], T], hop: Hop[T] | None = None) -> Hop[T]:
        started: Hop[T] = Hop() if hop is None else hop
        self.put(lambda: self._do(started, work))
        self._hops.add(started)
        self._in_flight.begin()
        return started

    def _do(self, hop: Hop[T], work: Callable[[], T]) -> None:
        settle: Callable[[], None]
        try:
            settle = partial(hop.set_result, work())
        except StateDamagedError as exc:
            settle = partial(hop.set_exception, self.explained(exc))
        except StopIteration as exc:  # futures reject it
            settle = partial(hop.set_exception, RuntimeError(f"work raised {exc!r}"))
        except BaseException as exc:  # noqa: BLE001 - raised again where the hop is awaited
            settle = partial(hop.set_exception, exc)
        with suppress(RuntimeError):  # the loop is closed, and nobody waits
            hop.get_loop().call_soon_threadsafe(self._end, hop, settle)
        del settle  # the traceback of an error refers to this frame

    def explained(self, error: StateDamagedError) -> BaseException:
        """Return the error to raise for a damaged state: that of `check_root` if the root is gone, with the state in it."""
        try:
            self.check_root()
        except FileToolsError as exc:
            return exc
        return error

    def _end(self, hop: Hop[T], settle: Callable[[], None]) -> None:
        if not hop.done():
            self._in_flight.end()
            settle()

    def put(self, work: Callable[[], None]) -> None:
        """Run work in a thread without reporting its outcome; callable from any thread.

        Raises:
            WorkspaceGoneError: The workspace was closed.
            RateLimitedError: The pool has no thread yet, and the operating system refused one.
        """
        with self._lock:
            if self._is_closed:
                raise WorkspaceGoneError(CLOSED)
            if self._idle:
                self._idle.pop().put(work)
            elif len(self._threads) >= self._most_threads or not self._start_thread(work):
                self._work.append(work)

    def _start_thread(self, work: Callable[[], None]) -> bool:
        """Start a thread with its first work; False if the system refuses one and the other threads will do the work."""
        inbox = Inbox()
        inbox.put(work)
        # A daemon, because the interpreter joins all other threads before it runs the exit handler that ends these.
        name = f"filetools_{len(self._threads)}"
        thread = threading.Thread(target=self._serve, args=(inbox,), name=name, daemon=True)
        try:
            thread.start()
        except RuntimeError as exc:
            if not self._threads:
                raise RateLimitedError("The operating system starts no more threads for this process") from exc
            return False
        self._threads.append(thread)
        return True

    def _serve(self, inbox: Inbox) -> None:
        while (work := inbox.get()) is not None:
            work()
            del work  # it may hold a whole file
            with self._lock:
                if self._work:
                    inbox.put(self._work.popleft())
                elif self._is_closed:
                    return
                else:
                    self._idle.append(inbox)


def _at_exit(pool: WorkerPool) -> None:
    """Finish work in progress before the interpreter exits."""
    reference = weakref.ref(pool)

    def finish() -> None:
        if (alive := reference()) is not None:
            alive.shutdown()

    atexit.register(finish)
    weakref.finalize(pool, atexit.unregister, finish)
