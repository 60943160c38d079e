"""The facade for programs without an event loop: the same calls, each of which waits for its end.

The methods are made from those of the async classes. `blocking.pyi` declares them for type checkers and editors;
`python -m tests.support.reference` generates it, and a test compares it.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar, cast

from filetools.app.opening import Opening, open_workspace
from filetools.distribution import require_extra
from filetools.errors import InternalError, InvalidArgumentError, WorkspaceGoneError
from filetools.events.bus import EventBus
from filetools.events.subscriptions import Subscription
from filetools.facade.buffers import Buffers
from filetools.facade.descriptor_calls import DescriptorCalls
from filetools.facade.facade import FileToolsFacade
from filetools.facade.opened_file import OpenedFile
from filetools.facade.project_calls import ProjectCalls
from filetools.facade.run_calls import RunCalls
from filetools.facade.transactions.transaction import Transaction
from filetools.facade.uploads import Upload
from filetools.permissions.audience import Attendance

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

T = TypeVar("T")

LISTENING_THREADS: Final = 8
"""Most listeners and approvers that run at the same time; each gets its events in order."""
_CALLED_BACK: Final = frozenset({"on", "subscribe", "batch", "answer", "answer_approvals"})
"""Methods whose callbacks belong to a program or a person: they may take their time, and call the workspace."""
_END: Final = object()


class LoopThread:
    """A thread with an event loop in which one workspace is open; other threads call it."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._portal: BlockingPortal
        self._stack = ExitStack()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._local = threading.local()
        self._listeners = ThreadPoolExecutor(LISTENING_THREADS, thread_name_prefix="filetools listener")

    def enter(self, opening: AbstractAsyncContextManager[T]) -> T:
        """Start the thread, and open the workspace in it."""
        from anyio.from_thread import start_blocking_portal  # of the extra `sync`

        with ExitStack() as stack:
            stack.callback(self._listeners.shutdown, wait=False, cancel_futures=True)
            self._portal = stack.enter_context(start_blocking_portal(name="filetools loop"))
            stack.callback(self._portal.call, self._cancel_calls)
            # Before it is entered: an interrupt may come when the workspace is open, but nobody has it yet.
            stack.push(lambda *error: bool(self.call(lambda: opening.__aexit__(*error))))
            workspace = self.call(opening.__aenter__)
            self._stack = stack.pop_all()
        return workspace

    def leave(self, *error: Any) -> None:
        """Close the workspace and end the thread; may be called twice."""
        if self._process == os.getpid():
            self._stack.__exit__(*error)

    def call(self, work: Callable[[], T | Awaitable[T]]) -> T:
        """Do work on the loop and return its result. An interrupt cancels the work and waits for its end.

        Raises:
            WorkspaceGoneError: The workspace was closed.
            InternalError: Called on the loop's own thread, which would wait for itself, or after a fork.
        """
        if self._process != os.getpid():
            raise InternalError("This workspace was opened before a fork; open it again in the new process")
        # One context for each calling thread: what one call sets, such as the current transaction, the next one finds.
        if not hasattr(self._local, "context"):
            self._local.context = contextvars.copy_context()
        tasks, context = list[asyncio.Task[T]](), self._local.context

        async def run() -> T:
            # In a task of its own, which is cancelled once: anyio cancels again at each await, also in cleanup.
            task = asyncio.get_running_loop().create_task(_awaited(work), context=context)
            tasks.append(task)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return await task

        def cancel() -> None:
            for task in tasks:
                task.cancel()

        try:
            future = self._portal.start_task_soon(run)
        except RuntimeError as error:
            if "event loop thread" in str(error):
                message = "This callback runs on the loop that it would wait for; do it in another thread"
                raise InternalError(message) from error
            raise WorkspaceGoneError("it was closed") from error
        try:
            return future.result()
        except CancelledError as error:
            raise WorkspaceGoneError("it was closed") from error
        except BaseException:
            if not future.done():
                with suppress(BaseException):
                    self._portal.call(cancel)
                    future.result()
            raise

    async def _cancel_calls(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def elsewhere(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        """Return a callback for the loop that runs `callback` in a thread in which it may call the workspace, and wait."""
        if inspect.iscoroutinefunction(callback):
            return callback

        async def run_elsewhere(*arguments: Any) -> Any:
            return await asyncio.get_running_loop().run_in_executor(self._listeners, callback, *arguments)

        return run_elsewhere


async def _awaited(work: Callable[[], T | Awaitable[T]]) -> T:
    result = work()
    return await result if inspect.isawaitable(result) else cast("T", result)


class Front:
    """One object of an opened workspace, for threads without a loop."""

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
        if hasattr(of, "__aenter__"):
            cls.__enter__ = _enter  # type: ignore[attr-defined]
            cls.__exit__ = _exit  # type: ignore[attr-defined]


def shown(thread: LoopThread, value: Any) -> Any:
    """Return what a caller without a loop gets for a value of the async classes."""
    front = next((Front.fronts[each] for each in type(value).__mro__ if each in Front.fronts), None)
    if front is not None:
        return front(thread, value)
    if isinstance(value, AsyncIterator):
        return _iterated(thread, value)
    if isinstance(value, AbstractAsyncContextManager):
        return _entered(thread, value)
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
        return shown(thread, thread.call(lambda: getattr(target, name)(*arguments, **options)))

    return method


def _enter(self: Front) -> Any:
    return shown(self._thread, self._thread.call(self._target.__aenter__))


def _exit(
    self: Front, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
) -> bool:
    return bool(self._thread.call(lambda: self._target.__aexit__(kind, error, trace)))


def _iterated(thread: LoopThread, source: AsyncIterator[Any]) -> Iterator[Any]:
    try:
        while (item := thread.call(lambda: _next(source))) is not _END:
            yield shown(thread, item)
    finally:
        if hasattr(source, "aclose"):
            with suppress(WorkspaceGoneError, InternalError):  # it has ended with the workspace
                thread.call(source.aclose)


async def _next(source: AsyncIterator[Any]) -> Any:
    return await cast("Awaitable[Any]", anext(source, _END))


@contextmanager
def _entered(thread: LoopThread, block: AbstractAsyncContextManager[Any]) -> Iterator[Any]:
    value = shown(thread, thread.call(block.__aenter__))
    try:
        yield value
    except BaseException as error:
        leave: Callable[[], Any] = functools.partial(block.__aexit__, type(error), error, error.__traceback__)
        if not thread.call(leave):
            raise
    else:
        end: Callable[[], Any] = functools.partial(block.__aexit__, None, None, None)
        thread.call(end)


class BlockingFacade(Front, of=FileToolsFacade, fields=("actor",)):
    """File tools of one actor on one opened workspace, for any thread. Lives until the workspace is closed.

    Its methods are those of `FileToolsFacade`, and raise what they raise.
    """


class BlockingTransaction(Front, of=Transaction, fields=("actor",)):
    """The calls of one actor, done together: `with files.transaction() as tx:`."""


class BlockingBuffers(Front, of=Buffers):
    """The documents that one editor has open; `files.buffers`."""


class BlockingDescriptors(Front, of=DescriptorCalls, fields=("settings",)):
    """Long texts that one actor reads in pages; `files.descriptors()`."""


class BlockingProjects(Front, of=ProjectCalls):
    """Facts about projects and other folders; `files.projects`."""


class BlockingRuns(Front, of=RunCalls):
    """Runs of agents on the workspace; `files.runs`."""


class BlockingFile(Front, of=OpenedFile, fields=("path", "version")):
    """A file that is held open: `with files.open_file(path) as file:`."""


class BlockingUpload(Front, of=Upload, fields=("size",)):
    """Takes in bytes that come slowly: `with files.upload() as upload:`."""


class BlockingBus(Front, of=EventBus):
    """The event bus of the workspace; `files.bus`."""


class BlockingSubscription(Front, of=Subscription, fields=("pattern",)):
    """What `on` and `subscribe` return."""

    @functools.wraps(Subscription.unsubscribe)
    def unsubscribe(self) -> None:  # noqa: D102 - the docstring of the async one
        with suppress(WorkspaceGoneError):  # it has ended with the workspace
            self._thread.call(self._target.unsubscribe)


class BlockingAttendance(Front, of=Attendance):
    """That somebody is there to answer approvals; lives until closed."""

    @functools.wraps(Attendance.close)
    def close(self) -> None:  # noqa: D102 - the docstring of the async one
        with suppress(WorkspaceGoneError):  # it has ended with the workspace
            self._thread.call(self._target.close)


class BlockingOpening:
    """A workspace on its way to being open; enter it once."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._thread: LoopThread | None = None

    def __enter__(self) -> Any:
        if self._thread is not None:
            raise InvalidArgumentError("An opening is entered once; call filetools.open_sync again for another")
        self._thread = LoopThread()
        return shown(self._thread, self._thread.enter(self._opening))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is not None:
            self._thread.leave(kind, error, trace)


@functools.wraps(open_workspace, assigned=())
def open_sync(*arguments: Any, **options: Any) -> BlockingOpening:
    """Open a directory as a workspace for a program without an event loop: `with filetools.open_sync("project") as files:`.

    The workspace runs on an event loop in a thread of its own; any thread may call it. Listeners and approvers run in other
    threads, in which they may call it, too, and take their time. Otherwise as `filetools.open`. Needs the extra `sync`.

    Raises:
        ModuleNotFoundError: The extra is not installed; the message names the command that installs it.
    """
    require_extra("sync", "filetools.open_sync", "anyio")
    return BlockingOpening(open_workspace(*arguments, **options))
