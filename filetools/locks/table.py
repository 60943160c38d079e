"""The locks of one workspace: how all that an action needs are taken together and given back."""

from __future__ import annotations

import asyncio
import functools
import os
import time
import weakref
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import TracebackType

from filetools.errors import InternalError, InvalidArgumentError, LockTimeoutError, WorkspaceGoneError
from filetools.locks.holder import LockInfo, to_line
from filetools.locks.lock_files import LockFiles
from filetools.locks.stripe import HeldLocks, Stripe
from filetools.locks.stripes import Stripes


class LockTable:
    """Exclusive locks among the tasks, tables and processes that share one folder.

    One lives as long as its workspace is open and belongs to the first event loop that uses it. A key stands for one
    of a fixed number of lock files, chosen by hash, so that now and then two keys are one lock. A lock never expires:
    it is free when its holder gives it back or the holder's process dies. In a forked child the table is gone.
    """

    def __init__(self, directory: Path, *, stripes: int = 1024, timeout_seconds: float = 30.0) -> None:
        """Open the folder of the lock files, made with mode 0700 if it is missing; its parent exists.

        Args:
            directory: Where the lock files lie; on a local disk.
            stripes: How many there are; the same number in every process, or they do not exclude each other.
            timeout_seconds: How long `hold` waits unless told otherwise.

        Raises:
            StateDamagedError: Something else stands in the place of the folder.
            AccessDeniedError, InvalidArgumentError
        """
        if stripes < 1:
            raise InvalidArgumentError(f"stripes must be at least 1, not {stripes}")
        self._timeout_seconds = _checked(timeout_seconds)
        self._files = LockFiles(directory)
        self._stripes = Stripes(self._files, stripes)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._gone: str | None = None
        _watch_forks(self)

    def hold(
        self, keys: Sequence[str], *, path: str, owner: str, timeout_seconds: float | None = None
    ) -> AbstractAsyncContextManager[HeldLocks]:
        """Hold the locks of all keys during one `async with` block.

        All that an action needs is taken in one `hold`. A second one inside its block waits for whoever holds the lock,
        even if that is the block itself, and is not protected from deadlock.

        Args:
            keys: Normalised keys, in any order; keys that share a lock take it once.
            path: What is locked, for messages.
            owner: Who locks, for messages.
            timeout_seconds: Limit of all waiting together; 0 is one try; None is the table's own.

        Raises:
            LockTimeoutError: On entry: not free in time; names the holder and its age.
            WorkspaceGoneError: On entry: the table was closed, also while waiting, or the process was forked.
            StateDamagedError, AccessDeniedError, DiskFullError: On entry: a lock file cannot be used.
            InternalError: On entry: it was entered before, or the table is another loop's.
            InvalidArgumentError: At once: a negative time, or a string in place of the sequence.
        """
        if isinstance(keys, str):
            raise InvalidArgumentError("keys must be a sequence of keys, not one string")
        limit = self._timeout_seconds if timeout_seconds is None else _checked(timeout_seconds)
        return _Hold(self, HeldLocks(keys, self._stripes.of(keys), path=path, owner=owner), limit)

    def is_locked(self, key: str) -> bool:
        """Whether anybody holds the lock of this key, here or in another process; from any thread.

        Raises:
            As `lock_info`.
        """
        return self.lock_info(key) is not None

    def lock_info(self, key: str) -> LockInfo | None:
        """Return who holds the lock of this key, here or in another process, or None; from any thread.

        The path it names is another one where two keys share a lock.

        Raises:
            WorkspaceGoneError, StateDamagedError, AccessDeniedError
        """
        self.check_alive()
        return self._stripes.holder_of(key)

    def held(self) -> list[LockInfo]:
        """Return the locks that this process holds, the oldest first."""
        self.check_alive()
        return self._stripes.own_holders()

    async def aclose(self) -> None:
        """End all waiting with `WorkspaceGoneError` and close the files; may be called twice.

        Locks that are held stay held until the end of their block.
        """
        if self._gone is None:
            self._gone = "it was closed"
            self._files.close()
            self._stripes.refuse_all()

    def check_alive(self) -> None:
        """Raise `WorkspaceGoneError` if the table was closed or this process was forked from its owner."""
        if self._gone is not None:
            raise WorkspaceGoneError(self._gone)

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        """Belong to this event loop from now on.

        Raises:
            InternalError: It belongs to another one.
        """
        if self._loop is not None and self._loop is not loop:
            raise InternalError("A lock table belongs to the first event loop that uses it; this is another")
        self._loop = loop

    def timeout_error(self, stripe: Stripe, path: str, seconds: float) -> LockTimeoutError:
        """Return the error of a hold that waited in vain for this stripe."""
        return LockTimeoutError(path, seconds, holder=self._stripes.describe_holder(stripe))

    def abandon(self) -> None:
        """Let go of everything in a forked child, and touch nothing that the parent holds."""
        self._gone = "this process was forked from the one that opened it"
        self._files.abandon()
        self._stripes.abandon()


class _Hold:
    """Entering and leaving one `hold`. A class, because a generator-based context manager costs as much as the lock."""

    __slots__ = ("_held", "_limit", "_table")

    def __init__(self, table: LockTable, held: HeldLocks, limit_seconds: float) -> None:
        self._table = table
        self._held = held
        self._limit = limit_seconds

    async def __aenter__(self) -> HeldLocks:
        held = self._held
        loop = asyncio.get_running_loop()
        self._table.check_alive()
        self._table.bind(loop)
        held.begin()
        deadline: float | None = None
        try:
            for stripe in held.stripes:
                if not stripe.enter_now():
                    deadline = loop.time() + self._limit if deadline is None else deadline
                    await self._wait(stripe, deadline)
                # No await between taking and signing: what is not signed is not released.
                now_ns = time.time_ns()
                stripe.sign(held, now_ns, to_line(held.path, held.owner, process_id=os.getpid(), since_ns=now_ns))
        except BaseException:
            held.release()
            raise
        held.acquired_at = time.time()
        return held

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.release()

    async def _wait(self, stripe: Stripe, deadline: float) -> None:
        if not await stripe.enter(deadline):
            self._table.check_alive()
            raise self._table.timeout_error(stripe, self._held.path, self._limit)


_tables: weakref.WeakSet[LockTable] = weakref.WeakSet()


def _watch_forks(table: LockTable) -> None:
    # With the first table, not on import, which starts nothing.
    _register_fork_hook()
    _tables.add(table)


@functools.cache
def _register_fork_hook() -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_abandon_all)


def _abandon_all() -> None:
    for table in tuple(_tables):
        table.abandon()


def _checked(timeout_seconds: float) -> float:
    if not timeout_seconds >= 0:
        raise InvalidArgumentError(f"timeout_seconds must be 0 or more, not {timeout_seconds}")
    return timeout_seconds
