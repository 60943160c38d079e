"""The facade: one short method for each thing that can be done with files, the same for every door and every caller."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import Any, Protocol

from filetools.events import Listener, Subscription
from filetools.facade import information
from filetools.facade.feed import Feed, FeedPage
from filetools.facade.latest import latest
from filetools.facade.read_calls import ReadCalls
from filetools.facade.runner import Runner
from filetools.facade.tree_calls import TreeCalls
from filetools.facade.write_calls import WriteCalls
from filetools.locks import LockInfo
from filetools.models import Actor, ChangeRecord, SyncResult
from filetools.permissions import Approver, Attendance


class ToolCaller(Protocol):
    """Runs tools by name for one facade; what the registry of tools gives."""

    async def call(self, name: str, arguments: Mapping[str, Any], *, tool_call_id: str | None = None) -> dict[str, Any]:
        """Run a tool and return its envelope; never raises."""


class FileToolsFacade(ReadCalls, WriteCalls, TreeCalls):
    """File tools of one actor on one opened workspace. Lives until the workspace is closed; bound to one event loop.

    Every method that changes something goes the way of a write (`way.py`); every error is a `FileToolsError`. Common to
    all of them: InvalidPathError, AbsolutePathError, PathTraversalError, PathTooLongError, SymlinkNotAllowedError,
    AccessDeniedError for the path; ToolBlockedError, ApprovalRequiredError, ApprovalDeniedError for the actor;
    WorkspaceGoneError, StateDamagedError, DiskFullError. Changes also: LockTimeoutError, FileBusyError,
    ChangedMeanwhileError, HardLinkedError.
    """

    def __init__(
        self, runner: Runner, feed: Feed, actor: Actor, tools: Callable[[FileToolsFacade], ToolCaller]
    ) -> None:
        super().__init__(runner, feed, actor)
        self._make_tools = tools
        self._tools: ToolCaller | None = None

    def for_actor(self, actor: Actor) -> FileToolsFacade:
        """Return a facade of the same workspace whose calls belong to another actor."""
        return FileToolsFacade(self._runner, self._feed, actor, self._make_tools)

    def on(self, pattern: str, listener: Listener, *, once: bool = False) -> Subscription:
        """Call `listener` for events whose name matches, such as "file:modified" or "file:*"."""
        return self._parts.bus.subscribe(pattern, listener, once=once)

    async def changes(self, since: str | None = None, *, limit: int = 1000, path: str | None = None) -> FeedPage:
        """Return recorded changes after a position; None starts with the oldest kept.

        Raises:
            InvalidArgumentError: The position is malformed.
        """
        where = None if path is None else self._runner.resolve(path)
        return await self._feed.page(since, limit=limit, path=where)

    async def latest_changes(self, limit: int = 20, *, path: str | None = None) -> tuple[ChangeRecord, ...]:
        """Return the newest recorded changes, newest first, of all paths or of one.

        Raises:
            InvalidArgumentError: `limit` is not 1 to 1000.
        """
        where = None if path is None else self._runner.resolve(path)
        return await self._parts.crew.run(partial(latest, self._parts, limit, where))

    def follow(self, since: str | None = None) -> AsyncIterator[ChangeRecord]:
        """Yield every change after a position, then those to come; None starts now."""
        return self._feed.follow(since)

    def answer_approvals(self, approver: Approver) -> Attendance:
        """Have a callback answer what a person must decide in this workspace, until the returned attendance is closed.

        The callback stands for a person: whoever opened the workspace decides who that is. An agent's token never does.
        """
        return self._parts.gatekeeper.approvals.listen(approver)

    async def is_locked(self, path: str) -> bool:
        """Whether anybody holds a path's lock, in this process or another."""
        key = self._parts.workspace.key(self._runner.resolve(path))
        return await self._parts.crew.run(lambda: self._parts.locks.is_locked(key))

    async def lock_info(self, path: str) -> LockInfo | None:
        """Return who holds a path's lock, or None."""
        key = self._parts.workspace.key(self._runner.resolve(path))
        return await self._parts.crew.run(lambda: self._parts.locks.lock_info(key))

    async def sync_all(
        self,
        preview: bool = False,
        *,
        verify: bool = False,
        abort: asyncio.Event | None = None,
        progress: Callable[[int, int, str], None] | None = None,
    ) -> SyncResult:
        """Bring the mirror up to the primary: plan by size and hash, and execute unless `preview`.

        Raises:
            SyncFailedError: There is no mirror, it is not ready, or a synchronisation is running.
        """
        self._runner.check_open()
        await self._authorise("sync_all", [], {}, change=True)
        work = self._parts.sync.sync_all(preview, verify=verify, abort=abort, progress=progress)
        return await self._runner.while_open(work)

    async def status(self) -> dict[str, Any]:
        """Return the state of the workspace: journal position, mirror, keeper, listeners."""
        return await information.status(self._parts)

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], *, tool_call_id: str | None = None
    ) -> dict[str, Any]:
        """Run a tool by name, as an agent does; returns the envelope and never raises."""
        if self._tools is None:
            self._tools = self._make_tools(self)
        return await self._tools.call(name, arguments, tool_call_id=tool_call_id)
