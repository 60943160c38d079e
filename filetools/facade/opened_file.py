"""One file held open, so that its size, its version and all its bytes are those of one moment."""

from __future__ import annotations

import hashlib
import time
from collections.abc import AsyncGenerator
from functools import partial
from typing import Final

from filetools.content.identity_cache import IdentityCache
from filetools.errors import ChangedMeanwhileError, FileBusyError, InvalidArgumentError
from filetools.facade.parts import Parts
from filetools.models.words import VERSION_PREFIX
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import FileStat, Reader

CHUNK_BYTES: Final = 256 * 1024
_HASHED_AT_ONCE_BYTES: Final = 1024 * 1024
_TRIES: Final = 5
_VERSIONS: Final[IdentityCache[str]] = IdentityCache()
"""Versions of files that nothing else has looked at as a whole."""


class OpenedFile:
    """A file as it was when it was opened; replacing it meanwhile changes nothing. Close it with `aclose`.

    Args:
        parts: The workspace.
        path: Where it stands.
        reader: Reads it.
        version: Version of its bytes.
    """

    def __init__(self, parts: Parts, path: WorkspacePath, reader: Reader, version: str) -> None:
        self.path = path
        self.version = version
        self.stat: FileStat = reader.stat
        """Its facts, of the moment its version is of."""
        self._parts = parts
        self._reader = reader

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.stat.size

    async def chunks(self, offset: int = 0, count: int | None = None) -> AsyncGenerator[bytes, None]:
        """Yield its bytes in chunks of at most 256 KiB.

        Args:
            offset: First byte from 0.
            count: Most bytes; None for all to the end.

        Raises:
            InvalidArgumentError: `offset` or `count` is negative.
            ChangedMeanwhileError: Another program wrote into the file itself while it was read.
        """
        if offset < 0 or (count is not None and count < 0):
            raise InvalidArgumentError("offset and count must not be negative")
        end = self.size if count is None else min(self.size, offset + count)
        while offset < end:
            chunk = await self._parts.crew.run(partial(self._reader.read_at, offset, min(CHUNK_BYTES, end - offset)))
            if not chunk or self._reader.has_changed():
                raise ChangedMeanwhileError(self.path, 1)
            offset += len(chunk)
            yield chunk

    async def aclose(self) -> None:
        """Let go of it; may be called twice."""
        self._reader.close()


def opened(parts: Parts, path: WorkspacePath) -> OpenedFile:
    """Open a file and find out its version; call it in a worker thread.

    Raises:
        PathNotFoundError, PathIsDirectoryError, NotRegularFileError, SymlinkNotAllowedError, AccessDeniedError
        FileBusyError: Another program kept writing into it.
    """
    for _ in range(_TRIES):
        reader = parts.store.open(path)
        try:
            version = _version(parts, reader)
        except BaseException:
            reader.close()
            raise
        if version is not None:
            return OpenedFile(parts, path, reader, version)
        reader.close()
    raise FileBusyError(path)


def _version(parts: Parts, reader: Reader) -> str | None:
    """The version of an open file, of as many bytes as it had before; None if it changed meanwhile."""
    taken_ns, stat = time.time_ns(), reader.stat
    facts = parts.facts.get(stat.identity)
    known = _VERSIONS.get(stat.identity) if facts is None else facts.version
    if known is not None:
        return known
    digest, offset = hashlib.sha256(), 0
    while chunk := reader.read_at(offset, _HASHED_AT_ONCE_BYTES):
        digest.update(chunk)
        offset += len(chunk)
    if offset != stat.size or reader.has_changed():
        return None
    version = VERSION_PREFIX + digest.hexdigest()
    _VERSIONS.put(stat.identity, version, taken_ns=taken_ns)
    return version
