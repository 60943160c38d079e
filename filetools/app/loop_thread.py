"""A thread with an event loop of its own, in which a workspace is open for callers that have none."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Final, TypeVar

from filetools.errors import InternalError, WorkspaceGoneError

T = TypeVar("T")

LISTENING_THREADS: Final = 8
"""Most listeners and approvers that run at the same time; each gets its events in order."""
_CLOSED: Final = "it was closed"


class LoopThread:
    """Runs calls of other threads on a loop; lives as long as the workspace that is open in it."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._loop: asyncio.AbstractEventLoop
        self._leave: asyncio.Event
        self._is_over = False
        self._gate = threading.RLock()
        """Held while a call is handed over, so that the end of the loop misses none; a collected iterator may call inside."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._local = threading.local()
        self._thread: threading.Thread | None = None
        self._ended: Future[None] = Future()
        self._listeners = ThreadPoolExecutor(LISTENING_THREADS, thread_name_prefix="filetools listener")

    def enter(self, opening: AbstractAsyncContextManager[T]) -> T:
        """Start the thread, and open the workspace in it."""
        opened: Future[T] = Future()
        # A daemon: a program that forgets to close, or dies in the middle, still ends.
        self._thread = threading.Thread(target=self._run, args=(opening, opened), name="filetools loop", daemon=True)
        self._thread.start()
        try:
            return opened.result()
        except BaseException:
            if opened.done():
                self._thread.join()
            else:
                opened.cancel()  # interrupted: what is opened all the same is closed at once
            raise

    def leave(self) -> None:
        """Close the workspace and end the thread; raises what closing raised. May be called twice."""
        if self._thread is None or self._process != os.getpid():
            return
        with self._gate:
            if not self._is_over:
                self._loop.call_soon_threadsafe(self._leave.set)
        self._ended.result()
        self._thread.join()

    def call(self, work: Callable[[], T | Awaitable[T]]) -> T:
        """Do work on the loop and return what comes of it; interrupted, it cancels the work and waits for its end.

        Raises:
            WorkspaceGoneError: The workspace was closed.
            InternalError: Called on the loop's own thread, which would wait for itself, or after a fork.
        """
        if threading.current_thread() is self._thread:
            raise InternalError("This callback runs on the loop that it would wait for; do it in another thread")
        if self._process != os.getpid():
            raise InternalError("This workspace was opened before a fork; open it again in the new process")
        done: Future[T] = Future()
        tasks: list[asyncio.Task[None]] = []

        def start() -> None:
            task = self._loop.create_task(_settle(work, done), context=context)
            tasks.append(task)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            # One that is cancelled before its first step settles nothing by itself.
            task.add_done_callback(lambda _: _fail(done, WorkspaceGoneError(_CLOSED)))

        context = self._context()
        with self._gate:
            if self._is_over:
                raise WorkspaceGoneError(_CLOSED)
            self._loop.call_soon_threadsafe(start)
        try:
            return done.result()
        except BaseException:
            if not done.done():
                with suppress(RuntimeError):  # the loop has ended just now
                    self._loop.call_soon_threadsafe(lambda: [task.cancel() for task in tasks])
                with suppress(BaseException):
                    done.result()
            raise

    def elsewhere(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        """Return a callback for the loop that runs `callback` in a thread in which it may call the workspace, and wait."""
        if inspect.iscoroutinefunction(callback):
            return callback

        async def run_elsewhere(*arguments: Any) -> Any:
            return await self._loop.run_in_executor(self._listeners, callback, *arguments)

        return run_elsewhere

    def _context(self) -> contextvars.Context:
        # One for each calling thread: what one call sets, such as the transaction under way, the next one finds.
        context: contextvars.Context | None = getattr(self._local, "context", None)
        if context is None:
            context = self._local.context = contextvars.copy_context()
        return context

    def _run(self, opening: AbstractAsyncContextManager[T], opened: Future[T]) -> None:
        try:
            asyncio.run(self._main(opening, opened))
        except BaseException as error:  # noqa: BLE001 - told to whoever waits for it
            _fail(opened, error)
            _fail(self._ended, error)
        else:
            self._ended.set_result(None)
        finally:
            self._listeners.shutdown(wait=False, cancel_futures=True)

    async def _main(self, opening: AbstractAsyncContextManager[T], opened: Future[T]) -> None:
        self._loop, self._leave = asyncio.get_running_loop(), asyncio.Event()
        try:
            async with opening as workspace:
                if opened.set_running_or_notify_cancel():
                    opened.set_result(workspace)
                    await self._leave.wait()
        finally:
            with self._gate:
                self._is_over = True
            await asyncio.sleep(0)  # calls that were handed over before become tasks
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)


async def _settle(work: Callable[[], Any], done: Future[Any]) -> None:
    try:
        result = work()
        if isinstance(result, Coroutine) or inspect.isawaitable(result):
            result = await result
    except asyncio.CancelledError:
        _fail(done, WorkspaceGoneError(_CLOSED))
    except BaseException as error:  # noqa: BLE001 - raised in the thread of the caller
        _fail(done, error)
    else:
        done.set_result(result)


def _fail(future: Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
