"""The calls on files as bodies of bytes, for servers: held open, taken in part by part, replaced, patched."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from filetools.events.types import FileRead
from filetools.facade import file_patches, opened_file, uploads
from filetools.facade.opened_file import OpenedFile
from filetools.facade.requests import WriteRequest
from filetools.facade.uploads import Upload
from filetools.facade.write_calls import WriteCalls
from filetools.facade.writing import decide_replace
from filetools.models.files import EditResult, WriteResult
from filetools.paths.lexical import AnyPath


class BodyCalls(WriteCalls):
    """Calls on files as they are on disk, byte for byte."""

    @asynccontextmanager
    async def open_file(self, path: AnyPath) -> AsyncIterator[OpenedFile]:
        """Hold a file open for a block, whatever its size: its version, and its bytes, of one moment.

        Args:
            path: Workspace-relative path.

        Raises:
            PathNotFoundError, PathIsDirectoryError, NotRegularFileError
            FileBusyError: Another program kept writing into it.
        """
        where = self._runner.resolve(path)
        await self._authorise("read_file", [where], {}, change=False)
        file = await self._parts.crew.run(partial(opened_file.opened, self._parts, where))
        try:
            if self._parts.bus.has_listeners(FileRead.name):
                self._parts.bus.publish(FileRead(path=where, actor=self.actor, version=file.version))
            yield file
        finally:
            await file.aclose()

    def upload(self) -> Upload:
        """Return what takes in bytes that come slowly, for `replace_file` or `create_file`: `async with files.upload()`."""
        self._runner.check_open()
        return uploads.Upload(self._parts)

    async def replace_file(self, path: AnyPath, content: bytes, *, expected_version: str | None = None) -> WriteResult:
        """Create or replace a file with exactly these bytes, whatever this actor knows of it.

        What is replaced stays readable by its version. Only text that an editor has not saved is merged with, if the bytes
        are text.

        Args:
            path: Workspace-relative path.
            content: All bytes.
            expected_version: Refuse unless this version stands there, even if equal bytes do.

        Raises:
            EditConflictError: An editor has unsaved text that cannot be merged with.
            VersionMismatchError, FileTooLargeError, PathIsDirectoryError, SyncFailedError
        """
        request = WriteRequest(content=content, expected_version=expected_version)
        return await self._put("write_file", path, request, decide_replace, None)

    async def patch_file(
        self, path: AnyPath, diff: str, *, expected_version: str | None = None, dry_run: bool = False
    ) -> EditResult:
        """Apply a unified diff of one file, whatever name it gives it. Otherwise as `edit_file`.

        Args:
            path: Workspace-relative path of the file.
            diff: The hunks of one file, which only change its text.
            expected_version: Refuse unless this version stands there.
            dry_run: Only say what would change.

        Raises:
            InvalidArgumentError: It is malformed, is for several files, or does more than to change text.
            EditNotFoundError, EditAmbiguousError: A hunk does not fit; nothing was changed.
            PathNotFoundError, VersionMismatchError, EncodingError
        """
        where = self._runner.resolve(path)
        change = file_patches.file_patch_change(where, diff, self.actor, expected_version=expected_version)
        return await self._change_text("apply_patch", change, {"patch": diff}, dry_run=dry_run)
