"""One thread that does a mirror's jobs in order, and may hang for ever without hanging anybody else."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar, cast

from filetools.errors import CallTimeoutError

T = TypeVar("T")


class AbandonedError(Exception):
    """Raised inside a job that nobody waits for any more, before it would change the mirror."""


class Job(Generic[T]):
    """One piece of work in a worker. Lives from `submit` until it has ended and nobody waits for it."""

    __slots__ = (
        "_on_end",
        "_signal",
        "_state",
        "_value",
        "_work",
        "error",
        "has_passed",
        "is_abandoned",
        "is_done",
        "progress_at",
    )

    def __init__(self, work: Callable[[Job[T]], T], on_end: Callable[[Job[T]], None] | None) -> None:
        self._work: Callable[[Job[T]], T] | None = work
        self._on_end = on_end
        self._value: T | None = None
        self._state = threading.Lock()
        self._signal = threading.Lock()
        self._signal.acquire()
        self.error: BaseException | None = None
        self.is_abandoned = False
        self.is_done = False
        self.has_passed = False
        """Whether it went through `go_on`, after which the mirror may have changed."""
        self.progress_at = 0.0
        """When it last began something, on the monotonic clock; a job that is slow goes on, one that hangs does not."""

    @property
    def is_late(self) -> bool:
        """Whether it may have changed the mirror although nobody waited any more."""
        return self.is_done and self.is_abandoned and self.has_passed

    def go_on(self) -> None:
        """Ask right before each change of the mirror whether it is still wanted.

        Raises:
            AbandonedError: Its waiter has given up; the path's lock may be somebody else's by now.
        """
        with self._state:
            if self.is_abandoned:
                raise AbandonedError
            self.has_passed = True
            self.progress_at = time.monotonic()

    def progress(self) -> None:
        """Tell, before something that changes nothing anybody sees, that it is not hung.

        Raises:
            AbandonedError: Its waiter has given up.
        """
        if self.is_abandoned:
            raise AbandonedError
        self.progress_at = time.monotonic()

    def wait(self, seconds: float) -> bool:
        """Wait for the end; for one waiter, once.

        Returns:
            False if the time was over before.
        """
        return self._signal.acquire(timeout=max(seconds, 0))

    def abandon(self) -> bool:
        """Give up waiting; from now on the job passes no `go_on`.

        Returns:
            False if it had ended already, so that its result counts.
        """
        with self._state:
            if self.is_done:
                return False
            if not self.is_abandoned:
                self.is_abandoned = True
                self._signal.release()
            return True

    def result(self) -> T:
        """Return what the work returned, or raise what it raised; only after its end."""
        if self.error is not None:
            raise self.error
        return cast("T", self._value)

    def run(self) -> None:
        """Do the work; called by the worker's thread."""
        work, self._work = self._work, None
        assert work is not None
        self.progress_at = time.monotonic()
        if not self.is_abandoned:
            try:
                self._value = work(self)
            except BaseException as exc:  # noqa: BLE001 - handed to the waiter by `result`; the worker must go on
                self.error = exc
        with self._state:
            self.is_done = True
            if not self.is_abandoned:
                self._signal.release()
        if self._on_end is not None:
            self._on_end(self)


class MirrorWorker:
    """A queue of jobs and the daemon thread that does them, started with the first. Lives as long as its mirror.

    While it is idle, another thread may do one job in its place: jobs never run side by side.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._queue: queue.SimpleQueue[Job[object] | None] = queue.SimpleQueue()
        self._jobs: dict[Job[object], None] = {}
        self._current: Job[object] | None = None
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._turn = threading.Lock()

    @property
    def is_stuck(self) -> bool:
        """Whether it is at a job that nobody waits for any more, and that may still change the mirror."""
        current = self._current
        return current is not None and current.is_abandoned

    def submit(self, work: Callable[[Job[T]], T], on_end: Callable[[Job[T]], None] | None = None) -> Job[T]:
        """Queue work.

        Args:
            work: Called in the worker's thread with its job.
            on_end: Called there after the end, also of a job that was abandoned before it began.
        """
        job = Job(work, on_end)
        known = cast("Job[object]", job)
        self._jobs[known] = None
        self._queue.put(known)
        if self._thread is None:
            self._start()
        return job

    def claim(self, work: Callable[[Job[T]], T], on_end: Callable[[Job[T]], None] | None = None) -> Job[T] | None:
        """Return a job that the calling thread is to do now, by `run_claimed`; None while there is another one.

        Args:
            work: Called with its job.
            on_end: Called after the end.
        """
        if self._jobs or not self._turn.acquire(blocking=False):
            return None
        job = Job(work, on_end)
        self._current = cast("Job[object]", job)
        self._jobs[self._current] = None
        return job

    def run_claimed(self, job: Job[T]) -> None:
        """Do a job that was claimed."""
        try:
            job.run()
        finally:
            self._current = None
            self._jobs.pop(cast("Job[object]", job))
            self._turn.release()

    def abandon_all(self) -> None:
        """Give up every job, so that whoever waits for one returns at once."""
        for job in tuple(self._jobs):
            job.abandon()

    def close(self, seconds: float) -> None:
        """End the thread after the jobs that are queued; wait for that at most so long."""
        self._queue.put(None)
        if self._thread is not None:
            self._thread.join(seconds)

    async def perform(self, work: Callable[[Job[T]], T], *, silence_seconds: float | None = None) -> T:
        """Queue work and await it.

        Args:
            work: Called in the worker's thread with its job.
            silence_seconds: Longest time without progress of this job or those before it; None waits for ever.

        Raises:
            CallTimeoutError: Nothing went on for so long; the job is abandoned.
            BaseException: What the work raised.
        """
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()

        def tell(_: Job[T]) -> None:
            with suppress(RuntimeError):  # the loop is closed, and nobody waits
                loop.call_soon_threadsafe(_end, ended)

        job = self.submit(work, tell)
        try:
            await self._silent_or(ended, silence_seconds)
        except TimeoutError as exc:
            if job.abandon():
                raise CallTimeoutError(f"A call of the mirror in {self._name}", silence_seconds or 0.0) from exc
        except asyncio.CancelledError:
            job.abandon()
            raise
        return job.result()

    async def _silent_or(self, ended: asyncio.Future[None], seconds: float | None) -> None:
        began = time.monotonic()
        while not ended.done():
            left = None
            if seconds is not None:
                current = self._current
                progress_at = 0.0 if current is None else current.progress_at
                left = max(began, progress_at) + seconds - time.monotonic()
                if left <= 0:
                    raise TimeoutError
            await asyncio.wait({ended}, timeout=left)

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                # A daemon, so that the end of the process waits for no mirror.
                self._thread = threading.Thread(target=self._run, name=f"filetools {self._name}", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while (job := self._queue.get()) is not None:
            with self._turn:
                self._current = job
                job.run()
                self._current = None
                del self._jobs[job]
            del job  # it may hold a whole file


def _end(ended: asyncio.Future[None]) -> None:
    if not ended.done():
        ended.set_result(None)
