"""Fronts: classes whose methods run those of an async class on the loop of another thread, and wait for them."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from types import TracebackType
from typing import Any, ClassVar, Final, cast

from filetools.app.loop_thread import LoopThread
from filetools.errors import InternalError, WorkspaceGoneError

_CALLED_BACK: Final = frozenset({"on", "subscribe", "batch", "answer", "answer_approvals"})
"""Methods whose callbacks stand for a program or a person: they may take their time, and call the workspace."""
_END: Final = object()


class Front:
    """One object of an opened workspace, for threads without a loop; made and kept by its `LoopThread`'s owner."""

    fronts: ClassVar[dict[type, type[Front]]] = {}
    """The front of each async class."""

    def __init__(self, thread: LoopThread, target: Any) -> None:
        self._thread = thread
        self._target = target

    def __init_subclass__(cls, *, of: type) -> None:
        """Give a class the methods of an async class, with their names, signatures and docstrings."""
        super().__init_subclass__()
        Front.fronts[of] = cls
        for name in dir(of):
            member = getattr(of, name)
            if not name.startswith("_") and callable(member) and name not in vars(cls):
                setattr(cls, name, _method(name, member))
        if hasattr(of, "__aenter__"):
            cls.__enter__ = _enter  # type: ignore[attr-defined]
            cls.__exit__ = _exit  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> Any:
        """Return a property or a field of the async object."""
        if name.startswith("_"):
            raise AttributeError(name)
        return shown(self._thread, getattr(self._target, name))


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
