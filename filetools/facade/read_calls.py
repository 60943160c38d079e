"""The calls that read files, parts of files, listings and facts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Final, TypeVar

from filetools.changes.requests import OnLocked, ReadRequest, View, refuse_many
from filetools.errors import FileToolsError, LockTimeoutError, PathNotFoundError
from filetools.events.types import FileRead
from filetools.facade.calls import ActorCalls
from filetools.facade.progress import Abort, Progress, progress_reporter
from filetools.facade.reading import information, reading
from filetools.models.files import InfoResult, ReadBatchResult, ReadItem, ReadResult
from filetools.models.searching import ListResult
from filetools.models.words import Row
from filetools.paths.lexical import AnyPath, plain_path
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.listing import list_page, rows_below
from filetools.search.options import ListOptions

T = TypeVar("T")

_BEING_WRITTEN: Final = "File is being modified by another operation. Please wait."


class ReadCalls(ActorCalls):
    """Calls that change nothing and need no turn."""

    async def read_file(
        self,
        path: AnyPath,
        *,
        offset: int | None = None,
        limit: int | None = None,
        column: int | None = None,
        max_characters: int | None = None,
        byte_offset: int | None = None,
        byte_count: int | None = None,
        encoding: str | None = None,
        version: str | None = None,
        page: bool = False,
        on_locked: OnLocked = "flag",
        view: View = "auto",
    ) -> ReadResult:
        """Read a file or a part of it, without waiting for writers. The content is never half a write.

        Args:
            path: Workspace-relative path.
            offset: First line from 1, or from the end: -1 is the last.
            limit: Maximum number of lines.
            column: First character of the line `offset`, from 1; for lines too long for one read.
            max_characters: Maximum number of characters; a line that does not fit is left for the next read, but the first
                line is cut.
            byte_offset: First byte from 0; not together with lines.
            byte_count: Maximum number of bytes, up to 10 MiB.
            encoding: Codec to decode the text with; None detects it.
            version: Read this kept version instead of the file on disk.
            page: Read at most `max_text_lines` and `max_text_characters`, the most that a model gets at once. An agent that
                has read only parts of a file cannot replace the whole file.
            on_locked: While a call of this process writes the file: "flag" returns the current content at once, "wait"
                waits up to 2 s, "error" raises.
            view: "auto" returns the unsaved text of an editor if there is one; "disk" the file.

        Raises:
            PathNotFoundError, PathIsDirectoryError, NotRegularFileError, FileTooLargeError, EncodingError,
            VersionGoneError, InvalidArgumentError, LockTimeoutError
        """
        request = ReadRequest(
            offset=offset, limit=limit, column=column, max_characters=max_characters, byte_offset=byte_offset,
            byte_count=byte_count, encoding=encoding, version=version, page=page, on_locked=on_locked, view=view,
        )  # fmt: skip
        where = await self._readable("read_file", path)
        stale = self._runner.turns.is_at_work(where) and await self._is_stale(where, on_locked)
        try:
            result = reading.read_now(self._parts, where, request, self.actor)
            if result is None:
                result = await self._parts.workers.run(partial(reading.read, self._parts, where, request, self.actor))
        except PathNotFoundError:
            if self.actor.kind == "agent" and version is None:
                # The agent now knows that the file is gone, so its next write creates a new file.
                self._parts.tracker.forget(self.actor, self._parts.workspace.key(where))
            raise
        if view == "disk" and self._parts.documents.known.is_dirty(self._parts.workspace.key(where)):
            result = result.model_copy(update={"buffer_is_newer": True})
        if stale:
            result = result.model_copy(update={"stale": True})
        if self._parts.bus.has_listeners(FileRead.name):
            self._parts.bus.publish(FileRead(path=where, actor=self.actor, version=result.version))
        return result

    async def stream_file(self, path: AnyPath, *, offset: int = 0, count: int | None = None) -> AsyncIterator[bytes]:
        """Yield the bytes of a file of any size in chunks of at most 256 KiB. A replacement meanwhile has no effect.

        Args:
            path: Workspace-relative path.
            offset: First byte from 0.
            count: Maximum number of bytes; None reads to the end.

        Raises:
            PathNotFoundError, PathIsDirectoryError, NotRegularFileError, InvalidArgumentError
            ChangedMeanwhileError: Another program wrote into the file in place while it was read.
        """
        where = await self._readable("read_file", path)
        reader = await self._parts.workers.run(partial(self._parts.store.open, where))
        try:
            async for chunk in reading.chunks(self._parts, where, reader, offset, count):
                yield chunk
        finally:
            reader.close()

    async def read_multiple(
        self,
        paths: Sequence[AnyPath],
        *,
        page: bool = False,
        abort: Abort | None = None,
        progress: Progress | None = None,
    ) -> ReadBatchResult:
        """Read several files, with `page` at most a page of each; a failure does not stop the others.

        Raises:
            AbortedError: `abort` returned True.
            InvalidArgumentError: There are more than 1,000 paths.
        """
        refuse_many(paths)
        report_progress, items = progress_reporter(abort, progress), []
        for done, path in enumerate(paths):
            report_progress(done, len(paths))
            try:
                items.append(ReadItem(path=plain_path(path), result=await self.read_file(path, page=page)))
            except FileToolsError as exc:
                items.append(ReadItem(path=str(path), error={"error": exc.message, "error_code": exc.code}))
        report_progress(len(paths), len(paths))
        await asyncio.sleep(0)
        return ReadBatchResult(items=items, failed=sum(item.error is not None for item in items))

    async def list_files(
        self,
        path: AnyPath = "",
        *,
        recursive: bool = False,
        limit: int = 1000,
        cursor: str | None = None,
        include_hidden: bool = True,
        exclude: Sequence[str] | None = None,
        use_gitignore: bool = False,
        max_depth: int = 64,
        details: bool = True,
        all: bool = False,  # noqa: A002 - the word of the tools
        abort: Abort | None = None,
    ) -> ListResult:
        """Return one page of a folder, or of the tree below it: folders first, then by name; see `ListOptions`.

        `all` includes what the setting `exclude` leaves out of a tree, such as `.git` and `node_modules`.

        Raises:
            DirectoryNotFoundError, PathNotDirectoryError, InvalidArgumentError, AbortedError
        """
        options = ListOptions(
            recursive=recursive, limit=limit, include_hidden=include_hidden, exclude=tuple(exclude or ()),
            default_excludes=() if all else self._parts.settings.exclude, use_gitignore=use_gitignore,
            max_depth=max_depth, details=details,
        )  # fmt: skip
        page = partial(list_page, self._parts.store, options=options, cursor=cursor, abort=abort)
        return await self._of_path("list_files", path, page)

    async def walk_files(
        self,
        path: AnyPath = "",
        *,
        include_hidden: bool = True,
        exclude: Sequence[str] | None = None,
        use_gitignore: bool = False,
        max_depth: int = 64,
        all: bool = False,  # noqa: A002 - the word of the tools
    ) -> AsyncIterator[list[Row]]:
        """Yield everything below a folder, in the order of `list_files`, in batches of up to 4,096 rows.

        The fastest way through a whole tree, for programs. Each row is a path, its type ("file", "directory", "symlink" or
        "other"), and whether calls accept that path; a name that is not a valid path is escaped. An entry that exists
        throughout is yielded exactly once. The options are those of `list_files`.

        Raises:
            DirectoryNotFoundError, PathNotDirectoryError, InvalidArgumentError
        """
        where = await self._readable("list_files", path, allow_root=True)
        options = ListOptions(
            recursive=True, include_hidden=include_hidden, exclude=tuple(exclude or ()),
            default_excludes=() if all else self._parts.settings.exclude, use_gitignore=use_gitignore, max_depth=max_depth,
        )  # fmt: skip
        portions = rows_below(self._parts.store, where, options)
        while rows := await self._parts.workers.run(partial(next, portions, [])):
            yield rows

    async def file_info(self, path: AnyPath, *, times: bool = False) -> InfoResult:
        """Return the facts about a path; a symbolic link is described, not followed.

        `times` adds `created` and `accessed`.

        Raises:
            PathNotFoundError
        """
        holder_of = self._runner.turns.holder_of
        describe = partial(information.describe, self._parts, holder_of=holder_of, times=times)
        return await self._of_path("file_info", path, describe)

    async def real_path(self, path: AnyPath) -> str:
        """Return a path with its symbolic links resolved if `follow_symlinks` is set; otherwise the path itself.

        The result may be outdated immediately.

        Raises:
            SymlinkEscapeError, SymlinkNotAllowedError
        """
        return await self._of_path("file_info", path, self._parts.workspace.locate)

    async def exists(self, path: AnyPath) -> bool:
        """True if a path exists."""
        return await self._of_path("exists", path, lambda where: self._parts.store.stat(where) is not None)

    async def _of_path(self, tool: str, path: AnyPath, work: Callable[[WorkspacePath], T]) -> T:
        """Run `work` on a path, which may be the root, in a worker thread."""
        where = await self._readable(tool, path, allow_root=True)
        return await self._parts.workers.run(partial(work, where))

    async def _is_stale(self, path: WorkspacePath, on_locked: OnLocked) -> bool:
        if on_locked == "error":
            raise LockTimeoutError(path, 0, reason=_BEING_WRITTEN)
        return on_locked == "flag" or not await self._runner.wait_for_writers(path)
