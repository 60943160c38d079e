"""Calls on files as bytes, for servers: hold files open, upload in parts, replace and patch."""

from __future__ import annotations

import errno
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from functools import partial
from types import TracebackType
from typing import Final

from aiofiles.tempfile import SpooledTemporaryFile

from filetools.changes.deciding.files import TextChange
from filetools.changes.parts import Parts
from filetools.changes.writing import WriteRequest, decide_write
from filetools.content.identity_cache import IdentityCache
from filetools.content.patching.patches import apply_file_patch, parse_patch
from filetools.content.version import hashed_parts
from filetools.errors import (
    DiskFullError,
    FileBusyError,
    FileTooLargeError,
    FileToolsError,
    InvalidArgumentError,
    StorageFailedError,
)
from filetools.events.types import FileRead
from filetools.facade.reading import reading
from filetools.facade.write_calls import WriteCalls
from filetools.models.files import EditResult, WriteResult
from filetools.models.words import VERSION_PREFIX
from filetools.paths.lexical import AnyPath
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import FileStat, Reader


class BodyCalls(WriteCalls):
    """Calls on files as they are on disk, byte for byte."""

    @asynccontextmanager
    async def open_file(self, path: AnyPath) -> AsyncIterator[OpenedFile]:
        """Open a file of any size for the length of a block; its bytes and version do not change meanwhile.

        Args:
            path: Workspace-relative path.

        Raises:
            PathNotFoundError, PathIsDirectoryError, NotRegularFileError
            FileBusyError: Another program kept writing into the file.
        """
        where = await self._readable("read_file", path)
        reader, version = await self._parts.workers.run(partial(opened, self._parts, where))
        with closing(reader):
            if self._parts.bus.has_listeners(FileRead.name):
                self._parts.bus.publish(FileRead(path=where, actor=self.actor, version=version))
            yield OpenedFile(self._parts, where, reader, version)

    def upload(self) -> Upload:
        """Return a buffer for bytes that arrive slowly, for `replace_file` or `create_file`: `async with files.upload()`."""
        self._runner.check_open()
        return Upload(self._parts)

    async def replace_file(
        self, path: AnyPath, content: str | bytes, *, expected_version: str | None = None
    ) -> WriteResult:
        """Create or replace a file with exactly this content, even if this actor has not read it.

        The replaced content stays readable by its version. Only an editor's unsaved text is merged, if the bytes are text;
        if that fails, `on_conflict` of `for_actor` decides.

        Args:
            path: Workspace-relative path.
            content: All bytes, or the text in the encoding and with the line ends of the file.
            expected_version: Refuse unless the file is at this version, even if its bytes are equal to `content`.

        Raises:
            EditConflictError: An editor has unsaved text that cannot be merged.
            VersionMismatchError, FileTooLargeError, PathIsDirectoryError, SyncFailedError
        """
        request = WriteRequest(content=content, expected_version=expected_version, on_conflict=self._on_conflict)
        return await self._put("write_file", path, request, partial(decide_write, is_forced=True), None)

    async def patch_file(
        self, path: AnyPath, diff: str, *, expected_version: str | None = None, dry_run: bool = False
    ) -> EditResult:
        """Apply a unified diff of one file, ignoring the names in it. Otherwise as `edit_file`.

        Args:
            path: Workspace-relative path of the file.
            diff: The hunks of one file, without any other change than text.
            expected_version: Refuse unless the file is at this version.
            dry_run: Only report what would change.

        Raises:
            InvalidArgumentError: The diff is malformed, is for several files, or changes more than text.
            EditNotFoundError, EditAmbiguousError: A hunk does not fit; nothing was changed.
            PathNotFoundError, VersionMismatchError, EncodingError
        """
        where = self._runner.resolve(path)
        patches = parse_patch(diff)
        if len(patches) != 1:
            raise InvalidArgumentError(f"The diff is for {len(patches)} files; send the hunks of one", path=where)
        [patch] = patches
        if patch.kind != "update" or patch.move_to is not None or patch.mode is not None or not patch.hunks:
            raise InvalidArgumentError("A diff of one file can only change its text", path=where)
        apply = partial(apply_file_patch, patch=patch, path=where)
        change = TextChange(path=where, apply=apply, actor=self.actor, expected_version=expected_version)
        return await self._change_text("apply_patch", change, {"patch": diff}, dry_run=dry_run)


IN_MEMORY_BYTES: Final = 1024 * 1024
_WHAT: Final = "the upload"
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)


class Upload:
    """Receives bytes in parts; used as `async with`. Beyond 1 MiB they are held in an unnamed temporary file.

    Args:
        parts: The workspace.
    """

    def __init__(self, parts: Parts) -> None:
        self._executor = parts.workers
        self._limit = parts.settings.max_write_bytes
        self.size = 0
        """Bytes received so far."""

    async def __aenter__(self) -> Upload:
        self._file = await SpooledTemporaryFile(IN_MEMORY_BYTES, prefix="filetools-", executor=self._executor)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):  # a full disk has been reported by `write`, and has no room for the rest
            await self._file.close()

    async def write(self, part: bytes) -> None:
        """Add the next part.

        Raises:
            FileTooLargeError: There are more than `max_write_bytes` bytes.
            DiskFullError, StorageFailedError: The bytes cannot be stored.
        """
        self.size += len(part)
        if self.size > self._limit:
            raise FileTooLargeError(_WHAT, self.size, self._limit)
        try:
            await self._file.write(part)
        except OSError as exc:
            raise _explained(exc) from exc

    async def content(self) -> bytes:
        """Return all bytes.

        Raises:
            DiskFullError, StorageFailedError: The last part could not be stored, or the bytes could not be read.
        """
        try:
            await self._file.seek(0)
            content = await self._file.read()
        except OSError as exc:
            raise _explained(exc) from exc
        assert isinstance(content, bytes)
        return content


def _explained(error: OSError) -> FileToolsError:
    if isinstance(error, FileToolsError):  # the workspace was closed
        return error
    return DiskFullError(_WHAT) if error.errno in _FULL else StorageFailedError(_WHAT, error.strerror or str(error))


_TRIES: Final = 5
_VERSIONS: Final[IdentityCache[str]] = IdentityCache()
"""Versions of files that are not in the facts cache."""


class OpenedFile:
    """A file as it was when it was opened, even if it is replaced later. Valid inside the block of `open_file`.

    Args:
        parts: The workspace.
        path: Its path.
        reader: The open file.
        version: Version of its bytes.
    """

    def __init__(self, parts: Parts, path: WorkspacePath, reader: Reader, version: str) -> None:
        self.path = path
        self.version = version
        self.stat: FileStat = reader.stat
        """Its stat, taken when it was opened."""
        self._parts = parts
        self._reader = reader

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return self.stat.size

    async def chunks(self, offset: int = 0, count: int | None = None) -> AsyncGenerator[bytes, None]:
        """Yield its bytes in chunks of at most 256 KiB.

        Args:
            offset: First byte from 0.
            count: Maximum number of bytes; None reads to the end.

        Raises:
            InvalidArgumentError: `offset` or `count` is negative.
            ChangedMeanwhileError: Another program wrote into the file in place while it was read.
        """
        async for chunk in reading.chunks(self._parts, self.path, self._reader, offset, count):
            yield chunk


def opened(parts: Parts, path: WorkspacePath) -> tuple[Reader, str]:
    """Open a file and compute the version of its bytes; call it in a worker thread.

    Raises:
        PathNotFoundError, PathIsDirectoryError, NotRegularFileError, SymlinkNotAllowedError, AccessDeniedError
        FileBusyError: Another program kept writing into the file.
    """
    for _ in range(_TRIES):
        reader = parts.store.open(path)
        try:
            version = _version(parts, reader)
        except BaseException:
            reader.close()
            raise
        if version is not None:
            return reader, version
        reader.close()
    raise FileBusyError(path)


def _version(parts: Parts, reader: Reader) -> str | None:
    """Return the version of an open file; None if it changed while it was read."""
    taken_ns, stat = time.time_ns(), reader.stat
    facts = parts.facts.get(stat.identity)
    known = _VERSIONS.get(stat.identity) if facts is None else facts.version
    if known is not None:
        return known
    digest, size = hashed_parts(reader.read_at)
    if size != stat.size or reader.has_changed():
        return None
    version = VERSION_PREFIX + digest.hex()
    _VERSIONS.put(stat.identity, version, taken_ns=taken_ns)
    return version
