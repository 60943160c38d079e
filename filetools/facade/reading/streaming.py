"""Streams files of any size, for servers and copies, with one chunk in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Final

from filetools.changes.parts import Parts
from filetools.errors import ChangedMeanwhileError, InvalidArgumentError
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import Reader

CHUNK_BYTES: Final = 256 * 1024


async def stream(parts: Parts, path: WorkspacePath, offset: int, count: int | None) -> AsyncIterator[bytes]:
    """Yield a file's bytes as `chunks`. A replacement meanwhile has no effect, because the old file stays open.

    Raises:
        PathNotFoundError, PathIsDirectoryError, NotRegularFileError, SymlinkNotAllowedError, AccessDeniedError
        InvalidArgumentError, ChangedMeanwhileError
    """
    reader = await parts.workers.run(partial(parts.store.open, path))
    try:
        async for chunk in chunks(parts, path, reader, offset, count):
            yield chunk
    finally:
        reader.close()


async def chunks(
    parts: Parts, path: WorkspacePath, reader: Reader, offset: int, count: int | None
) -> AsyncIterator[bytes]:
    """Yield the bytes of an open file in chunks of at most 256 KiB.

    Args:
        parts: The workspace.
        path: The file's path.
        reader: The open file.
        offset: First byte from 0.
        count: Maximum number of bytes; None reads to the end.

    Raises:
        InvalidArgumentError: `offset` or `count` is negative.
        ChangedMeanwhileError: Another program wrote into the file in place while it was read.
    """
    if offset < 0 or (count is not None and count < 0):
        raise InvalidArgumentError("offset and count must not be negative")
    end = reader.stat.size if count is None else min(reader.stat.size, offset + count)
    while offset < end:
        chunk = await parts.workers.run(partial(reader.read_at, offset, min(CHUNK_BYTES, end - offset)))
        if not chunk or reader.has_changed():
            raise ChangedMeanwhileError(path, 1)
        offset += len(chunk)
        yield chunk
