"""The facade: one short method for each thing that can be done with files, the same for every door and every caller."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from os import PathLike, fspath
from typing import Any, Protocol

from msgspec.structs import replace

from filetools.events.listeners import Listener
from filetools.events.subscriptions import Subscription, known_pattern
from filetools.facade import descriptor_calls, project_calls, run_calls
from filetools.facade.body_calls import BodyCalls
from filetools.facade.descriptor_calls import DescriptorCalls
from filetools.facade.documents.buffers import Buffers
from filetools.facade.history_calls import HistoryCalls
from filetools.facade.project_calls import ProjectCalls
from filetools.facade.read_calls import ReadCalls
from filetools.facade.reading import information
from filetools.facade.reading.feed import Feed, FeedPage
from filetools.facade.reading.watching import concerns, filtered, listed, wanted
from filetools.facade.run_calls import RunCalls
from filetools.facade.runner import CallRunner
from filetools.facade.search_calls import SearchCalls
from filetools.facade.transactions import transaction
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


class ToolCaller(Protocol):
    """Runs tools by name for one facade; what the registry of tools gives."""

    async def call(self, name: str, arguments: Mapping[str, Any], *, tool_call_id: str | None = None) -> dict[str, Any]:
        """Run a tool and return its envelope; never raises."""


class FileToolsFacade(ReadCalls, SearchCalls, BodyCalls, TreeCalls, HistoryCalls):
    """File tools of one actor on one opened workspace. Lives until the workspace is closed; bound to one event loop.

    Every method that changes something goes through one pipeline (`pipeline.py`); every error is a `FileToolsError`. Common to
    all of them: InvalidPathError, AbsolutePathError, PathTraversalError, PathTooLongError, SymlinkNotAllowedError,
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
            actor: Whose calls they are.
            require_version: Whether replacing an existing file needs `expected_version`, as doors for models demand it,
                whose callers may share one actor; None is as here.
            on_conflict: What its writes and edits of one file do about unsaved text where a call says nothing: as in
                `write_file`; None is as here.
            ephemeral: Whether no other process can be this actor, because its name was made up for this one. What it has
                read is then forgotten when the workspace closes.
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
        """The documents that this actor, an editor, has open: text that is not saved yet, shared with everybody."""
        return Buffers(self._runner, self._runner.news, self.actor, self._authorise)

    def descriptors(self, *, owner: str | None = None, is_opaque: bool = False) -> DescriptorCalls:
        """Return long texts that this actor reads in pages, kept in the journal; see `docs/descriptors.md`.

        Args:
            owner: Whose they are, for doors that tell their callers apart in another way; by default this actor's session.
            is_opaque: Whether ids are random and expire a day after their last use, for doors that others share.
        """
        return descriptor_calls.kept_for(self._parts, self.actor, owner=owner, is_opaque=is_opaque)

    @property
    def projects(self) -> ProjectCalls:
        """Facts about projects and other folders; see `docs/context.md`."""
        return project_calls.ProjectCalls(self._parts, self.actor, self._authorise)

    @property
    def runs(self) -> RunCalls:
        """Executions of agents on this workspace; see `docs/runs.md`."""
        return run_calls.RunCalls(self._parts, self._feed, self)

    def transaction(self) -> Transaction:
        """Return a block for any calls over any files that are done together or not at all.

        `async with files.transaction() as tx:` gives an object with the calls of this one. They are buffered; reads see
        what the transaction has made; at the end of the block all is done, or nothing. `tx.result` then says what.
        """
        return transaction.Transaction(self._runner, self._feed, self.actor, require_version=self._require_version)

    def on(self, pattern: str, listener: Listener, *, once: bool = False) -> Subscription:
        """Call `listener` for events whose name matches, such as "file:modified" or "file:*".

        Raises:
            InvalidArgumentError: There is no event of such a name; names the nearest.
        """
        return self._parts.bus.subscribe(known_pattern(pattern), listener, once=once)

    async def changes(
        self,
        since: str | None = None,
        *,
        limit: int = 1000,
        path: AnyPath | None = None,
        paths: Sequence[AnyPath] | None = None,
        actors: Sequence[Actor | str] | None = None,
    ) -> FeedPage:
        """Return recorded changes after a position; None starts with the oldest kept.

        Args:
            since: `position` of the page before.
            limit: Most changes, 1 to 1000.
            path: Only changes of this path, found by the journal's index.
            paths: Only changes of these files, or in these folders and below.
            actors: Only changes by these: actors, in all their sessions if they name none, or ids.

        Raises:
            InvalidArgumentError: The position is malformed, or an option is out of range.
        """
        where = None if path is None else self._runner.resolve(path)
        if paths is None and actors is None:
            return await self._feed.page(since, limit=limit, path=where)
        below = None if paths is None else [self._runner.resolve(each, allow_root=True) for each in listed(paths)]
        is_wanted = wanted(below, None if actors is None else listed(actors), self._parts.workspace.key)
        return await filtered(self._feed, since, is_wanted, limit=limit, path=where)

    def follow(self, since: str | None = None) -> AsyncIterator[ChangeRecord]:
        """Yield every change after a position, then those to come; None starts now."""
        return self._feed.follow(since)

    async def follow_pages(self, since: str | None = None, *, path: AnyPath = "") -> AsyncGenerator[FeedPage, None]:
        """Yield the changes after a position in pages, then those to come; None starts now. For doors with many readers.

        Args:
            since: A position.
            path: Only changes of this file, or in this folder and below.

        Yields:
            Pages with changes, or with `resync` and none: what lies before such a page's position is not known any more.

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
        self._runner.check_open()
        return await self._feed.position()

    def answer_approvals(self, approver: Approver, *, everywhere: bool = True) -> Attendance:
        """Have a callback answer what a person must decide in this workspace, until the returned attendance is closed.

        The callback stands for a person: whoever opened the workspace decides who that is. An agent's token never does.

        Args:
            approver: Gets a request, returns an answer, or an `ApprovalDecision` with the text to be written instead. A
                plain function answers at once; one that asks a person is async, so that others go on meanwhile.
            everywhere: Whether it is asked about the calls of other processes on the root, too.

        Raises:
            InvalidArgumentError: The approver cannot be called.
        """
        return self._parts.gatekeeper.approvals.listen(approver, everywhere=everywhere)

    def attend_approvals(self) -> Attendance:
        """Say that a person follows the notices and will call `answer_approval`, until the attendance is closed.

        Calls that need a person then wait for the answer, in all processes on the root.
        """
        return self._parts.gatekeeper.approvals.attend()

    async def require_approvals(self) -> Attendance:
        """Have every agent asked before it changes files, in all processes on the root, until the attendance is closed.

        Meanwhile the preset `allow` acts as `ask`; other presets, rules and trust stay as they are.
        """
        self._runner.check_open()
        return await self._parts.gatekeeper.approvals.require()

    async def recall(self) -> None:
        """Load what this actor knew in earlier openings; happens by itself at its first write."""
        self._runner.check_open()
        if not self._parts.tracker.is_loaded(self.actor):
            await self._parts.workers.run(partial(self._parts.tracker.load, self.actor))

    def changed_since_read(self) -> tuple[ChangedFile, ...]:
        """Return the files that this actor knows and others have changed since, the oldest first; each is told once.

        A file that the actor has read or written whole meanwhile is not among them. Of changes made while the workspace
        was closed it tells after `recall`.
        """
        return self._parts.tracker.take_changed(self.actor)

    async def instructions_in(self, folders: Sequence[str]) -> tuple[str, ...]:
        """Return the instruction files for agents that stand in some folders, such as AGENTS.md, by the names of real files.

        What this actor may not read is left out; nobody is asked.
        """
        self._runner.check_open()
        return await self.projects.instructions_in(folders)

    async def approvals(self) -> tuple[ApprovalRequest, ...]:
        """Return what waits for a person's answer, in whatever process it was asked; oldest first."""
        self._runner.check_open()
        approvals = self._parts.gatekeeper.approvals
        await approvals.look()
        return tuple(approvals.open_requests())

    async def answer_approval(self, approval_id: str, answer: str, *, edited_text: str | None = None) -> None:
        """Answer a request, of this process or another. An answer that comes late lets the next identical call pass once.

        Args:
            approval_id: Id of an open request.
            answer: "allow", "allow_for_run", "deny", or "merge" to have another text written instead; of a conflict
                also "cancel".
            edited_text: For "merge": the whole text of the file.

        Raises:
            AccessDeniedError: This facade's actor is no person.
            InvalidArgumentError: It is no answer to this request, or the request is not open (any more).
        """
        self._runner.check_open()
        approvals = self._parts.gatekeeper.approvals
        await approvals.answer(approval_id, answer, by=self.actor, edited_text=edited_text)

    async def is_locked(self, path: AnyPath) -> bool:
        """Whether anybody is changing a path, in this process or another."""
        return await self.lock_info(path) is not None

    async def lock_info(self, path: AnyPath) -> LockInfo | None:
        """Return who is changing a path, or None; of several paths of one call in another process only the first is known."""
        key = self._parts.workspace.key(self._runner.resolve(path))
        return await self._parts.workers.run(partial(self._runner.turns.holder_of, key))

    def held_locks(self) -> list[LockInfo]:
        """Return what calls of this process are changing now; those of other processes `lock_info` tells."""
        self._runner.check_open()
        return self._runner.turns.held()

    async def sync_all(
        self,
        preview: bool = False,
        *,
        verify: bool = False,
        abort: asyncio.Event | None = None,
        progress: Callable[[int, int, str], None] | None = None,
    ) -> SyncResult:
        """Bring the mirror up to the primary: plan by size and hash, and execute unless `preview`.

        With `verify` every file is read and hashed. Unless it is only a preview, the whole tree is looked at first, as by
        `look`. Whichever process writes to the mirror mends what differs.

        Raises:
            SyncFailedError: There is no mirror, it is not ready, or a synchronisation is running.
        """
        self._runner.check_open()
        await self._authorise("sync_all", [], {}, change=True)
        seen = await self._runner.look() if verify or not preview else LookResult()
        work = self._parts.sync.sync_all(preview, verify=verify, abort=abort, progress=progress)
        result = await self._runner.while_open(work)
        return result.model_copy(update={"unread": seen.unread})

    async def status(self) -> dict[str, Any]:
        """Return the state of the workspace as it is recorded: journal position, mirror, keeper, listeners."""
        return await information.status(self._parts)

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], *, tool_call_id: str | None = None
    ) -> dict[str, Any]:
        """Run a tool by name, as an agent does; returns the envelope and never raises.

        Arguments are JSON-compatible; a `pathlib.Path` counts as its text.
        """
        if isinstance(arguments, Mapping):
            arguments = {name: fspath(each) if isinstance(each, PathLike) else each for name, each in arguments.items()}
        if self._tools is None:
            self._tools = self._make_tools(self)
        return await self._tools.call(name, arguments, tool_call_id=tool_call_id)
