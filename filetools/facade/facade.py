"""The facade: one short method for each thing that can be done with files, the same for every door and every caller."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from filetools.errors import InvalidArgumentError, LockTimeoutError
from filetools.events import EventBus, FileRead, Listener, Subscription
from filetools.facade import batches, folders, information, reading
from filetools.facade.feed import Feed, FeedPage
from filetools.facade.latest import latest
from filetools.facade.outcomes import delete_result, directory_result, move_result, write_result
from filetools.facade.progress import Abort, Progress, beat_of
from filetools.facade.proposals import propose
from filetools.facade.requests import NewlineChoice, OnLocked, ReadRequest, WriteRequest
from filetools.facade.runner import Runner
from filetools.facade.steps import MakeFolder, MoveFile, MoveFolder, PutFile, RemoveFile, RemoveFolder
from filetools.facade.streaming import stream
from filetools.facade.writing import decide_append, decide_copy, decide_create, decide_write, require_version
from filetools.locks import LockInfo
from filetools.models import (
    Actor,
    BatchResult,
    ChangeRecord,
    DeleteResult,
    DirectoryResult,
    InfoResult,
    ListResult,
    MoveResult,
    ReadBatchResult,
    ReadResult,
    SyncResult,
    VersionsResult,
    WriteResult,
)
from filetools.paths import WorkspacePath
from filetools.permissions import Approver, Attendance
from filetools.search import ListOptions, list_page
from filetools.settings import Settings


class ToolCaller(Protocol):
    """Runs tools by name for one facade; what the registry of tools gives."""

    async def call(self, name: str, arguments: Mapping[str, Any], *, tool_call_id: str | None = None) -> dict[str, Any]:
        """Run a tool and return its envelope; never raises."""


class FileToolsFacade:
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
        self._runner = runner
        self._parts = runner.parts
        self._feed = feed
        self.actor = actor
        self._make_tools = tools
        self._tools: ToolCaller | None = None

    @property
    def bus(self) -> EventBus:
        """The event bus of the workspace, shared by all actors."""
        return self._parts.bus

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._parts.settings

    def for_actor(self, actor: Actor) -> FileToolsFacade:
        """Return a facade of the same workspace whose calls belong to another actor."""
        return FileToolsFacade(self._runner, self._feed, actor, self._make_tools)

    async def read_file(
        self,
        path: str,
        *,
        offset: int | None = None,
        limit: int | None = None,
        byte_offset: int | None = None,
        byte_count: int | None = None,
        encoding: str | None = None,
        version: str | None = None,
        on_locked: OnLocked = "flag",
    ) -> ReadResult:
        """Read a file or a part of it. Takes no lock; the content is never half of a write.

        Args:
            path: Workspace-relative path.
            offset: First line from 1, or from the end: -1 is the last.
            limit: Most lines.
            byte_offset: First byte from 0; not together with lines.
            byte_count: Most bytes, up to 10 MiB.
            encoding: Read as text in this codec; None finds out.
            version: Read this kept version instead of what is on disk.
            on_locked: While a writer of this process is at work: "flag" returns the present content at once, "wait"
                waits up to 2 s, "error" raises.

        Raises:
            PathNotFoundError, PathIsDirectoryError, NotRegularFileError, FileTooLargeError, EncodingError,
            VersionGoneError, InvalidArgumentError, LockTimeoutError
        """
        request = ReadRequest(
            offset=offset, limit=limit, byte_offset=byte_offset, byte_count=byte_count, encoding=encoding,
            version=version, on_locked=on_locked,
        )  # fmt: skip
        where = self._runner.resolve(path)
        await self._authorise("read_file", [where], {}, change=False)
        stale = self._runner.is_being_written(where) and await self._is_stale(where, on_locked)
        result = reading.read_now(self._parts, where, request)
        if result is None:
            result = await self._parts.crew.run(partial(reading.read, self._parts, where, request))
        if stale:
            result = result.model_copy(update={"stale": True})
        if self._parts.bus.has_listeners(FileRead.name):
            self._parts.bus.publish(FileRead(path=where, actor=self.actor, version=result.version))
        return result

    async def stream_file(self, path: str, *, offset: int = 0, count: int | None = None) -> AsyncIterator[bytes]:
        """Yield a file's bytes in chunks of at most 256 KiB, whatever its size; all from one moment's file.

        Args:
            path: Workspace-relative path.
            offset: First byte from 0.
            count: Most bytes; None for all to the end.

        Raises:
            PathNotFoundError, PathIsDirectoryError, NotRegularFileError, InvalidArgumentError
            ChangedMeanwhileError: Another program wrote into the file itself while it was read.
        """
        where = self._runner.resolve(path)
        await self._authorise("read_file", [where], {}, change=False)
        async for chunk in stream(self._parts, where, offset=offset, count=count):
            yield chunk

    async def write_file(
        self,
        path: str,
        content: str | bytes,
        *,
        expected_version: str | None = None,
        encoding: str | None = None,
        newline: NewlineChoice | None = None,
        create_parents: bool = True,
        lock_timeout_seconds: float | None = None,
    ) -> WriteResult:
        """Create or replace a file atomically, keeping mode, owner, attributes, encoding and byte-order mark.

        Args:
            path: Workspace-relative path.
            content: Text, or bytes.
            expected_version: Refuse unless this version stands there; equal bytes always succeed.
            encoding: Codec for the text, or "base64"; None keeps the file's own, UTF-8 for new files.
            newline: "exact" writes line ends as given; None keeps CRLF in a file that has nothing else.
            create_parents: Create missing folders.
            lock_timeout_seconds: Longest wait for the file's lock; 30 s by default.

        Raises:
            VersionMismatchError, EncodingError, FileTooLargeError, PathIsDirectoryError, DirectoryNotFoundError,
            SyncFailedError
        """
        request = WriteRequest(
            content=content, encoding=encoding, newline=newline, expected_version=expected_version,
            create_parents=create_parents,
        )  # fmt: skip
        return await self._put("write_file", path, request, decide_write, lock_timeout_seconds)

    async def create_file(self, path: str, content: str | bytes = "", *, encoding: str | None = None) -> WriteResult:
        """Create a file; raises PathExistsError if something stands there. Otherwise as `write_file`."""
        request = WriteRequest(content=content, encoding=encoding)
        return await self._put("create_file", path, request, decide_create, None)

    async def append_file(
        self, path: str, content: str | bytes, *, expected_version: str | None = None, encoding: str | None = None
    ) -> WriteResult:
        """Add to the end of a file under its lock, creating it if missing. Otherwise as `write_file`."""
        request = WriteRequest(content=content, encoding=encoding, expected_version=expected_version)
        return await self._put("append_file", path, request, decide_append, None)

    async def copy_file(self, source: str, destination: str, *, overwrite: bool = False) -> WriteResult:
        """Copy a file's bytes and mode.

        Raises:
            PathNotFoundError: There is no source.
            PathExistsError: The destination exists and `overwrite` is False.
        """
        origin, where = self._runner.resolve(source), self._runner.resolve(destination)
        await self._authorise("copy_file", [where], {"source": origin, "overwrite": overwrite}, change=True)
        step = PutFile(where, partial(decide_copy, source=origin, overwrite=overwrite))
        return write_result(step, await self._runner.change([step], self.actor))

    async def delete_file(self, path: str, *, expected_version: str | None = None) -> DeleteResult:
        """Delete a file; its bytes stay readable by `read_file(version=…)`.

        Raises:
            PathNotFoundError, PathIsDirectoryError, VersionMismatchError
        """
        where = self._runner.resolve(path)
        await self._authorise("delete_file", [where], {}, change=True)
        step = RemoveFile(where, partial(require_version, expected=expected_version))
        return delete_result(step, await self._runner.change([step], self.actor))

    async def move_file(self, source: str, destination: str, *, overwrite: bool = False) -> MoveResult:
        """Move a file or a folder; bytes, mode and attributes are untouched, missing parents are created.

        Raises:
            PathNotFoundError: There is no source.
            PathExistsError: The destination exists, and is a folder or `overwrite` is False.
            InvalidArgumentError: A folder was to be moved into itself.
        """
        origin, where = self._runner.resolve(source), self._runner.resolve(destination)
        inside = await self._parts.crew.run(partial(folders.survey, self._parts, origin))
        await self._authorise("move_file", [origin, where, *inside.protected], {"overwrite": overwrite}, change=True)
        step = MoveFolder(origin, where) if inside.is_folder else MoveFile(origin, where, overwrite=overwrite)
        return move_result(step, await self._runner.change([step], self.actor))

    async def create_directory(self, path: str) -> DirectoryResult:
        """Create a folder and its missing parents; one that exists is no error.

        Raises:
            PathExistsError: A file stands there.
        """
        where = self._runner.resolve(path)
        await self._authorise("create_directory", [where], {}, change=True)
        return directory_result(where, await self._runner.change([MakeFolder(where)], self.actor))

    async def delete_directory(self, path: str, *, recursive: bool = False) -> DeleteResult:
        """Delete a folder, with `recursive` also all that is in it.

        Raises:
            DirectoryNotFoundError, PathNotDirectoryError, DirectoryNotEmptyError
        """
        where = self._runner.resolve(path)
        inside = await self._parts.crew.run(partial(folders.survey, self._parts, where))
        await self._authorise("delete_directory", [where, *inside.protected], {"recursive": recursive}, change=True)
        step = RemoveFolder(where, recursive=recursive)
        return delete_result(step, await self._runner.change([step], self.actor))

    async def file_info(self, path: str) -> InfoResult:
        """Return what is known of a path; a link is described, not followed.

        Raises:
            PathNotFoundError
        """
        where = self._runner.resolve(path, allow_root=True)
        await self._authorise("file_info", [where], {}, change=False)
        return await self._parts.crew.run(partial(information.describe, self._parts, where))

    async def versions(self, path: str, *, limit: int = 100) -> VersionsResult:
        """Return the versions that a path has had, newest first; also those of other programs and those displaced.

        Args:
            path: Workspace-relative path; the file need not exist any more.
            limit: Most journal records looked through, from 1.

        Raises:
            InvalidArgumentError: `limit` is under 1.
        """
        if limit < 1:
            raise InvalidArgumentError(f"limit must be at least 1, not {limit}")
        where = self._runner.resolve(path)
        await self._authorise("versions", [where], {}, change=False)
        return await self._parts.crew.run(partial(information.history, self._parts, where, limit))

    async def exists(self, path: str) -> bool:
        """Whether anything stands at a path."""
        where = self._runner.resolve(path, allow_root=True)
        await self._authorise("exists", [where], {}, change=False)
        return await self._parts.crew.run(lambda: self._parts.store.stat(where) is not None)

    async def list_files(
        self,
        path: str = "",
        *,
        recursive: bool = False,
        limit: int = 1000,
        cursor: str | None = None,
        include_hidden: bool = True,
        exclude: Sequence[str] | None = None,
        use_gitignore: bool = False,
        max_depth: int = 64,
        details: bool = True,
        abort: Abort | None = None,
    ) -> ListResult:
        """Return one page of a folder, or of the tree below it: folders first, then by name; see `ListOptions`.

        Raises:
            DirectoryNotFoundError, PathNotDirectoryError, InvalidArgumentError, AbortedError
        """
        where = self._runner.resolve(path, allow_root=True)
        await self._authorise("list_files", [where], {}, change=False)
        options = ListOptions(
            recursive=recursive, limit=limit, include_hidden=include_hidden, exclude=tuple(exclude or ()),
            default_excludes=self.settings.exclude, use_gitignore=use_gitignore, max_depth=max_depth, details=details,
        )  # fmt: skip
        page = partial(list_page, self._parts.store, where, options, cursor, abort=abort)
        return await self._parts.crew.run(page)

    async def read_multiple(
        self, paths: Sequence[str], *, abort: Abort | None = None, progress: Progress | None = None
    ) -> ReadBatchResult:
        """Read several files; one that fails does not stop the others."""
        return await batches.read_multiple(self, paths, beat_of(abort, progress))

    async def write_multiple(
        self,
        items: Sequence[Mapping[str, Any]],
        *,
        abort: Abort | None = None,
        progress: Progress | None = None,
    ) -> BatchResult:
        """Write several files, all or nothing. Each item holds `path`, `content` and options of `write_file`.

        Raises:
            BatchFailedError: One of them was refused; names the file and the cause. Nothing was changed.
        """
        steps = batches.write_steps(self._runner, items)
        await self._authorise("write_multiple", [step.path for step in steps], {"items": items}, change=True)
        return await batches.run(self._runner, steps, self.actor, beat_of(abort, progress))

    async def delete_multiple(
        self, paths: Sequence[str], *, abort: Abort | None = None, progress: Progress | None = None
    ) -> BatchResult:
        """Delete several files, all or nothing.

        Raises:
            BatchFailedError: One of them was refused; names the file and the cause. Nothing was changed.
        """
        steps = batches.delete_steps(self._runner, paths)
        await self._authorise("delete_multiple", [step.path for step in steps], {}, change=True)
        return await batches.run(self._runner, steps, self.actor, beat_of(abort, progress))

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

    async def _authorise(
        self, tool: str, paths: Sequence[WorkspacePath], arguments: Mapping[str, Any], *, change: bool
    ) -> None:
        describe = partial(propose, self._parts, tool, paths, arguments)
        await self._parts.gatekeeper.authorise(tool, paths, actor=self.actor, change=change, describe=describe)

    async def _put(
        self, tool: str, path: str, request: WriteRequest, decide: Any, lock_timeout_seconds: float | None
    ) -> WriteResult:
        where = self._runner.resolve(path)
        await self._authorise(tool, [where], {"content": request.content, "encoding": request.encoding}, change=True)
        step = PutFile(where, partial(decide, request=request), create_parents=request.create_parents)
        outcome = await self._runner.change([step], self.actor, lock_timeout_seconds=lock_timeout_seconds)
        return write_result(step, outcome)

    async def _is_stale(self, path: Any, on_locked: OnLocked) -> bool:
        if on_locked == "error":
            raise LockTimeoutError(path, 0)
        return on_locked == "flag" or not await self._runner.wait_for_writers(path)
