"""Bytes on their way in, as slowly as they may come: in memory while they are few, then in a file without a name."""

from __future__ import annotations

import errno
import tempfile
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import IO, Final

from filetools.errors import DiskFullError, FileTooLargeError, StorageFailedError
from filetools.facade.parts import Parts

IN_MEMORY_BYTES: Final = 1024 * 1024
_WHAT: Final = "what is being sent"
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)


class Upload:
    """Takes bytes in, part by part; used as `async with`, and gone at its end.

    Args:
        parts: The workspace.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._limit = parts.settings.max_write_bytes
        self._memory = bytearray()
        self._file: IO[bytes] | None = None
        self.size = 0
        """Bytes taken in so far."""

    async def __aenter__(self) -> Upload:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._memory = bytearray()
        if self._file is not None:
            with suppress(OSError):  # a full disk, told already, has no room for the rest
                self._file.close()

    async def write(self, part: bytes) -> None:
        """Take in the next part.

        Raises:
            FileTooLargeError: There are more bytes than a file may have.
            DiskFullError, StorageFailedError: They cannot be kept.
        """
        self.size += len(part)
        if self.size > self._limit:
            raise FileTooLargeError(_WHAT, self.size, self._limit)
        self._memory += part
        if len(self._memory) > IN_MEMORY_BYTES:
            await self._parts.crew.run(self._put_away)

    async def content(self) -> bytes:
        """Return all of it."""
        return (
            bytes(self._memory) if self._file is None else await self._parts.crew.run(partial(self._whole, self._file))
        )

    def _put_away(self) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="filetools-")  # noqa: SIM115 - closed at the end of the block
            self._file.write(self._memory)
        except OSError as exc:
            raise _explained(exc) from exc
        self._memory = bytearray()

    def _whole(self, file: IO[bytes]) -> bytes:
        self._put_away()
        try:
            file.seek(0)
            return file.read()
        except OSError as exc:
            raise _explained(exc) from exc


def _explained(error: OSError) -> DiskFullError | StorageFailedError:
    return DiskFullError(_WHAT) if error.errno in _FULL else StorageFailedError(_WHAT, error.strerror or str(error))
