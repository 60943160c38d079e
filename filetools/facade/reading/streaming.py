"""Files of any size as a stream of bytes, for servers and copies: one open descriptor, one chunk in memory."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

import aiofiles

from filetools.errors import ChangedMeanwhileError, InvalidArgumentError
from filetools.facade.parts import Parts
from filetools.paths.workspace_path import WorkspacePath

CHUNK_BYTES = 256 * 1024


async def stream(parts: Parts, path: WorkspacePath, *, offset: int, count: int | None) -> AsyncIterator[bytes]:
    """Yield a file's bytes; a replacement meanwhile changes nothing, since the old file stays open.

    Args:
        parts: The workspace.
        path: A regular file.
        offset: First byte.
        count: Most bytes; None for all to the end.

    Raises:
        PathNotFoundError, PathIsDirectoryError, NotRegularFileError, SymlinkNotAllowedError, AccessDeniedError
        InvalidArgumentError: `offset` or `count` is negative.
        ChangedMeanwhileError: Another program wrote into the open file while it was read.
    """
    if offset < 0 or (count is not None and count < 0):
        raise InvalidArgumentError("offset and count must not be negative")
    descriptor = await parts.workers.run(lambda: parts.workspace.open_file(path))
    before = os.fstat(descriptor)
    async with aiofiles.open(descriptor, "rb", executor=parts.workers) as file:
        await file.seek(offset)
        left = before.st_size - offset if count is None else min(count, before.st_size - offset)
        while left > 0 and (chunk := await file.read(min(CHUNK_BYTES, left))):
            left -= len(chunk)
            yield chunk
        after = os.fstat(descriptor)
    if (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size):
        raise ChangedMeanwhileError(path, 1)
