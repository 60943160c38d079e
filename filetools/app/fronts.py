"""Blocking fronts: classes whose methods run an async class's methods on another thread's loop and wait for them."""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, ExitStack, suppress
from typing import Any, ClassVar, Final, TypeVar

from filetools.errors import InternalError, WorkspaceGoneError

T = TypeVar("T")

LISTENING_THREADS: Final = 8
"""Maximum number of listeners and approvers that run at the same time; each receives its events in order."""
_CALLED_BACK: Final = frozenset({"on", "subscribe", "batch", "answer", "answer_approvals"})
"""Methods whose callbacks belong to a program or a person: they may block, and may call the workspace."""
_ENDING: Final = frozenset({"unsubscribe", "close"})
"""Methods that end something which closing the workspace ends as well; after that they do nothing."""
_END: Final = object()


class LoopThread:
    """A thread whose event loop runs one open workspace; other threads call into it."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._portal: Any
        self._stack = ExitStack()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._listeners = ThreadPoolExecutor(LISTENING_THREADS, thread_name_prefix="filetools listener")

    def enter(self, opening: AbstractAsyncContextManager[T]) -> T:
        """Start the thread, and open the workspace in it."""
        from anyio.from_thread import start_blocking_portal  # of the extra `sync`

        with ExitStack() as stack:
            stack.callback(self._listeners.shutdown, wait=False, cancel_futures=True)
            self._portal = stack.enter_context(start_blocking_portal(name="filetools loop"))
            stack.callback(self._portal.call, self._cancel_calls)
            # Pushed before entering: an interrupt may arrive after the workspace is open but before it is returned.
            stack.push(lambda *error: bool(self.call(lambda: opening.__aexit__(*error))))
            workspace: T = self.call(opening.__aenter__)
            self._stack = stack.pop_all()
        return workspace

    def leave(self, *error: Any) -> None:
        """Close the workspace and end the thread. Idempotent."""
        if self._process == os.getpid():
            self._stack.__exit__(*(error or (None, None, None)))

    def call(self, work: Callable[[], Any]) -> Any:
        """Run `work` on the loop and return its result. An interrupt cancels the work and waits until it has ended.

        Raises:
            WorkspaceGoneError: The workspace was closed.
            InternalError: Called on the loop's own thread, which would deadlock, or after a fork.
        """
        if self._process != os.getpid():
            raise InternalError("This workspace was opened before a fork; open it again in the new process")
        tasks = list[asyncio.Task[Any]]()

        async def run() -> Any:
            # In a separate task, which is cancelled once: anyio cancels again at each await, even during cleanup.
            task = asyncio.get_running_loop().create_task(_awaited(work))
            tasks.append(task)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return await task

        async def end() -> None:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        future: Future[Any] | None = None
        try:
            future = self._portal.start_task_soon(run)
            return future.result()
        except CancelledError as error:
            raise WorkspaceGoneError("it was closed") from error
        except Exception as error:
            if future is not None or not isinstance(error, RuntimeError):
                raise
            if "event loop thread" in str(error):
                message = "This callback runs on the loop that it would wait for; do it in another thread"
                raise InternalError(message) from error
            raise WorkspaceGoneError("it was closed") from error
        except BaseException:
            # An interrupt, possibly while the task was being submitted; the task then starts before `end` does.
            if future is None or not future.done():
                with suppress(BaseException):
                    self._portal.call(end)
            raise

    async def _cancel_calls(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def elsewhere(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap `callback` for the loop: run it in a listener thread, where it may call the workspace and block."""
        if inspect.iscoroutinefunction(callback):
            return callback

        async def run_elsewhere(*arguments: Any) -> Any:
            return await asyncio.get_running_loop().run_in_executor(self._listeners, callback, *arguments)

        return run_elsewhere


async def _awaited(work: Callable[[], Any]) -> Any:
    result = work()
    return await result if inspect.isawaitable(result) else result


class Front:
    """Blocking wrapper of one object of an open workspace, or of one `async with` block."""

    fronts: ClassVar[dict[type, type[Front]]] = {}
    """The front of each async class."""

    def __init__(self, thread: LoopThread, target: Any) -> None:
        self._thread = thread
        self._target = target

    def __init_subclass__(cls, *, of: type, fields: tuple[str, ...] = ()) -> None:
        """Give a class the methods, properties and fields of an async class, with their signatures and docstrings."""
        super().__init_subclass__()
        Front.fronts[of] = cls
        for name in (*dir(of), *fields):
            member = getattr(of, name, None)
            if not name.startswith("_") and name not in vars(cls):
                setattr(cls, name, _method(name, member) if callable(member) else _property(name, member))

    def __enter__(self) -> Any:
        return shown(self._thread, self._thread.call(self._target.__aenter__))

    def __exit__(self, *error: Any) -> bool:
        return bool(self._thread.call(lambda: self._target.__aexit__(*error)))


def shown(thread: LoopThread, value: Any) -> Any:
    """Wrap a value of the async classes for callers without a loop; return other values unchanged."""
    front = next((Front.fronts[each] for each in type(value).__mro__ if each in Front.fronts), None)
    if front is not None:
        return front(thread, value)
    if isinstance(value, AsyncIterator):
        return _iterated(thread, value)
    if isinstance(value, AbstractAsyncContextManager):
        return Front(thread, value)
    return value


def _property(name: str, member: Any) -> property:
    return property(lambda self: shown(self._thread, getattr(self._target, name)), doc=getattr(member, "__doc__", None))


def _method(name: str, member: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(member)
    def method(self: Front, *arguments: Any, **options: Any) -> Any:
        thread, target = self._thread, self._target
        if name in _CALLED_BACK:
            arguments = tuple(thread.elsewhere(each) if callable(each) else each for each in arguments)
            options = {key: thread.elsewhere(each) if callable(each) else each for key, each in options.items()}
        with suppress(*((WorkspaceGoneError,) if name in _ENDING else ())):
            return shown(thread, thread.call(lambda: getattr(target, name)(*arguments, **options)))
        return None

    return method


def _iterated(thread: LoopThread, source: AsyncIterator[Any]) -> Iterator[Any]:
    try:
        while (item := thread.call(lambda: anext(source, _END))) is not _END:
            yield shown(thread, item)
    finally:
        if hasattr(source, "aclose"):
            with suppress(WorkspaceGoneError, InternalError):  # closing the workspace has ended it
                thread.call(source.aclose)
