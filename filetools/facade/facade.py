"""The facade: one method for each operation on files, the same for every interface and caller."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Protocol

from msgspec.structs import replace

from filetools.changes.runner import CallRunner
from filetools.events.bus import EventBus
from filetools.events.subscriptions import Listener, Subscription
from filetools.facade.body_calls import BodyCalls
from filetools.facade.buffers import Buffers
from filetools.facade.descriptor_calls import DescriptorCalls
from filetools.facade.history_calls import HistoryCalls
from filetools.facade.project_calls import ProjectCalls
from filetools.facade.read_calls import ReadCalls
from filetools.facade.reading import information
from filetools.facade.reading.feed import Feed, FeedPage, concerns, filtered, listed, wanted
from filetools.facade.run_calls import RunCalls
from filetools.facade.search_calls import SearchCalls
from filetools.facade.transactions.transaction import Transaction
from filetools.facade.tree_calls import TreeCalls
from filetools.locks.holder import LockInfo
from filetools.models.files import SyncResult
from filetools.models.history import LookResult
from filetools.models.records import Actor, ChangedFile, ChangeRecord
from filetools.models.words import OnConflict
from filetools.paths.lexical import AnyPath
from filetools.permissions.audience import Approver, Attendance
from filetools.permissions.requests import ApprovalRequest
from filetools.settings import Settings


class ToolCaller(Protocol):
    """Runs tools by name for one facade; made by the tool registry."""

    async def call(self, name: str, arguments: Mapping[str, Any], *, tool_call_id: str | None = None) -> dict[str, Any]:
        """Run a tool and return its envelope; never raises."""


class FileToolsFacade(ReadCalls, SearchCalls, BodyCalls, TreeCalls, HistoryCalls):
    """File tools of one actor on one opened workspace. Usable until the workspace is closed; bound to one event loop.

    All changes go through one pipeline (`pipeline.py`); every error is a `FileToolsError`. All methods may raise:
    InvalidPathError, AbsolutePathError, PathTraversalError, PathTooLongError, SymlinkNotAllowedError,
    AccessDeniedError for the path; ToolBlockedError, ApprovalRequiredError, ApprovalDeniedError for the actor;
    WorkspaceGoneError, StateDamagedError, DiskFullError. Changes also: LockTimeoutError, FileBusyError,
    ChangedMeanwhileError, HardLinkedError.
    """

    def __init__(
        self,
        runner: CallRunner,
        feed: Feed,
        actor: Actor,
        tools: Callable[[FileToolsFacade], ToolCaller],
        *,
        require_version: bool = False,
        on_conflict: OnConflict = "merge",
    ) -> None:
        super().__init__(runner, feed, actor, require_version=require_version, on_conflict=on_conflict)
        self._make_tools = tools
        self._tools: ToolCaller | None = None

    @property
    def bus(self) -> EventBus:
        """The event bus of the workspace, shared by all actors."""
        return self._parts.bus

    @property
    def settings(self) -> Settings:
        """The settings of the workspace."""
        return self._parts.settings

    @property
    def root_paths(self) -> tuple[str, ...]:
        """The absolute path of the root as given, and with its symbolic links resolved if that differs."""
        return self._parts.workspace.spellings

    @property
    def state_directory(self) -> Path:
        """The folder of the workspace's journal and secrets; no tool can access it."""
        return self._parts.workspace.state_directory

    def for_actor(
        self,
        actor: Actor,
        *,
        require_version: bool | None = None,
        on_conflict: OnConflict | None = None,
        ephemeral: bool = False,
    ) -> FileToolsFacade:
        """Return a facade of the same workspace whose calls belong to another actor.

        Args:
            actor: The actor of the calls.
            require_version: True if replacing an existing file requires `expected_version`, for interfaces whose callers may
                share one actor; None as this facade.
            on_conflict: Default of `on_conflict` for writes and edits of one file, see `write_file`; None as this facade.
            ephemeral: True if no other process can have this actor. What it has read is then forgotten when the workspace
                closes.
        """
        if ephemeral:
            self._parts.tracker.end_with_process(actor)
        require = self._require_version if require_version is None else require_version
        usual = on_conflict or self._on_conflict
        return FileToolsFacade(
            self._runner, self._feed, actor, self._make_tools, require_version=require, on_conflict=usual
        )

    @property
    def buffers(self) -> Buffers:
        """The documents that this actor, an editor, has open; their unsaved text is shared with all actors."""
        return Buffers(self._runner, self._feed, self.actor)

    def descriptors(self, *, owner: str | None = None, is_opaque: bool = False) -> DescriptorCalls:
        """Return the long texts that this actor reads in pages, kept in the journal; see `docs/descriptors.md`.

        Args:
            owner: The owner, for interfaces that identify their callers differently; by default this actor's session.
            is_opaque: True for random ids that expire a day after their last use, for shared interfaces.
        """
        return DescriptorCalls(self._parts, self.actor, owner=owner, is_opaque=is_opaque)

    @property
    def projects(self) -> ProjectCalls:
        """Facts about projects and other folders; see `docs/context.md`."""
        return ProjectCalls(self._runner, self._feed, self.actor)

    @property
    def runs(self) -> RunCalls:
        """Runs of agents on this workspace; see `docs/runs.md`."""
        return RunCalls(self._parts, self._feed, self)

    def transaction(self) -> Transaction:
        """Return a transaction: calls on any files that are applied together or not at all.

        `async with files.transaction() as tx:` gives an object with the calls of this one. Changes are buffered, and reads
        see them; at the end of the block all are applied, or none. `tx.result` then describes them.
        """
        return Transaction(self._runner, self._feed, self.actor, require_version=self._require_version)

    def on(self, pattern: str, listener: Listener, *, once: bool = False) -> Subscription:
        """Call `listener` for events whose name matches, such as "file:modified" or "file:*".

        Raises:
            InvalidArgumentError: No event has such a name; the error names those that there are.
        """
        return self._parts.bus.subscribe(pattern, listener, once=once)

    async def changes(
        self,
        since: str | None = None,
        *,
        limit: int = 1000,
        paths: Sequence[AnyPath] | None = None,
        actors: Sequence[Actor | str] | None = None,
    ) -> FeedPage:
        """Return recorded changes after a position; None starts with the oldest kept.

        Args:
            since: `position` of the previous page.
            limit: Maximum number of changes, 1 to 1000.
            paths: Only changes of these files, or in and below these folders.
            actors: Only changes by these ids or actors; an actor without a session matches all its sessions.

        Raises:
            InvalidArgumentError: The position is malformed, or an option is out of range.
        """
        if paths is None and actors is None:
            return await self._feed.page(since, limit=limit)
        below = None if paths is None else [self._runner.resolve(each, allow_root=True) for each in listed(paths)]
        is_wanted = wanted(below, None if actors is None else listed(actors), self._parts.workspace.key)
        return await filtered(self._feed, since, is_wanted, limit=limit)

    async def follow(self, since: str | None = None) -> AsyncIterator[ChangeRecord]:
        """Yield every change after a position, then new ones as they come; None starts now."""
        async for page in self._feed.follow_pages(since, is_whole=True):
            for record in page.records:
                yield record

    async def follow_pages(self, since: str | None = None, *, path: AnyPath = "") -> AsyncGenerator[FeedPage, None]:
        """Yield pages of changes after a position, then new ones; None starts now. For interfaces with many readers.

        Args:
            since: A position.
            path: Only changes of this file, or in and below this folder.

        Yields:
            Pages with changes; or an empty page with `resync`, if the changes before its position are no longer known.

        Raises:
            InvalidArgumentError: The position is malformed.
        """
        below, key = self._runner.resolve(path, allow_root=True), self._parts.workspace.key
        async for page in self._feed.follow_pages(since):
            records = tuple(record for record in page.records if concerns(record, below, key))
            if records or page.resync:
                yield replace(page, records=records)

    async def position(self) -> str:
        """Return the position in the feed after the newest change.

        Raises:
            WorkspaceGoneError: The workspace was closed.
        """
        return await self._feed.position()

    def answer_approvals(self, approver: Approver) -> Attendance:
        """Register a callback that answers the approval requests of this process, until the returned attendance is closed.

        The callback acts for a person, whom the opener of the workspace chooses; it must never act for an agent.

        Args:
            approver: Called with a request; returns an answer, or an `ApprovalDecision` with a text to write instead. It
                should be async if it asks a person, so that other calls continue meanwhile.

        Raises:
            InvalidArgumentError: The approver is not callable.
        """
        return self._parts.gatekeeper.approvals.audience.listen(approver)

    def attend_approvals(self) -> Attendance:
        """Declare that a person is present and will call `answer_approval`, until the attendance is closed.

        Meanwhile calls that need approval wait for the answer, in all processes on the root.
        """
        return self._parts.gatekeeper.approvals.audience.attend()

    async def require_approvals(self) -> Attendance:
        """Require approval for every agent's changes, in all processes on the root, until the attendance is closed.

        Meanwhile the preset `allow` acts as `ask`; other presets, rules and trust are unchanged.
        """
        self._runner.check_open()
        return await self._parts.gatekeeper.approvals.require()

    async def recall(self) -> None:
        """Load what this actor has read while the workspace was open before; its first write does this by itself."""
        self._runner.check_open()
        if not self._parts.tracker.is_loaded(self.actor):
            await self._parts.workers.run(partial(self._parts.tracker.load, self.actor))

    def changed_since_read(self) -> tuple[ChangedFile, ...]:
        """Return files that this actor has read and others have changed since, oldest first; each is returned once.

        Files that the actor has since read or written as a whole are left out. Changes made while the workspace was closed
        are included only after `recall`.
        """
        return self._parts.tracker.take_changed(self.actor)

    async def approvals(self) -> tuple[ApprovalRequest, ...]:
        """Return the open approval requests of all processes, oldest first."""
        approvals = self._parts.gatekeeper.approvals
        await approvals.look()
        return tuple(approvals.open_requests())

    async def answer_approval(self, approval_id: str, answer: str, *, edited_text: str | None = None) -> None:
        """Answer a request of any process. A late approval lets the next identical call pass once.

        Args:
            approval_id: Id of an open request.
            answer: "allow", "allow_for_run", "deny", or "merge" to write another text instead; for a conflict also
                "cancel".
            edited_text: For "merge": the whole text of the file.

        Raises:
            AccessDeniedError: This facade's actor is not a person.
            InvalidArgumentError: The answer does not fit the request, or the request is not open.
        """
        self._runner.check_open()
        approvals = self._parts.gatekeeper.approvals
        await approvals.answer(approval_id, answer, by=self.actor, edited_text=edited_text)

    async def is_locked(self, path: AnyPath) -> bool:
        """True if a call is changing a path, in this process or another."""
        return await self.lock_info(path) is not None

    async def lock_info(self, path: AnyPath) -> LockInfo | None:
        """Return who is changing a path, or None. For a call of another process only its first path is known."""
        key = self._parts.workspace.key(self._runner.resolve(path))
        return await self._parts.workers.run(partial(self._runner.turns.holder_of, key))

    def held_locks(self) -> list[LockInfo]:
        """Return the paths that calls of this process are changing; see `lock_info` for other processes."""
        self._runner.check_open()
        return self._runner.turns.held()

    async def sync_all(self, preview: bool = False, *, verify: bool = False) -> SyncResult:
        """Bring the mirror up to the primary: plan by size and hash, and execute unless `preview`.

        Unless it is a preview without `verify`, the whole tree is scanned first, as by `look`. The process that writes to
        the mirror repairs differences, also if the caller is cancelled.

        Raises:
            SyncFailedError: No mirror is attached, it is not ready, it fails, or another synchronisation is running.
        """
        self._runner.check_open()
        await self._authorise("sync_all", [], {}, change=not preview)
        seen = await self._runner.look() if verify or not preview else LookResult()
        result = await self._runner.while_open(self._parts.sync.sync_all(preview))
        return result.model_copy(update={"unread": seen.unread})

    async def status(self) -> dict[str, Any]:
        """Return the recorded state of the workspace: journal position, mirrors, open documents, retention, and more."""
        return await self._parts.workers.run(partial(information.status, self._parts))

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], *, tool_call_id: str | None = None
    ) -> dict[str, Any]:
        """Run a tool by name, as an agent does; returns the envelope and never raises.

        Arguments are JSON-compatible; a `pathlib.Path` is converted to text.
        """
        if isinstance(arguments, Mapping):
            arguments = {name: fspath(each) if isinstance(each, PathLike) else each for name, each in arguments.items()}
        if self._tools is None:
            self._tools = self._make_tools(self)
        return await self._tools.call(name, arguments, tool_call_id=tool_call_id)
