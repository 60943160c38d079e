"""How far a mirror has come, told by the process that writes to it to the others that have it attached."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

_FLAGS: Final = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_BYTES: Final = 1024
_LONGEST_ERROR: Final = 200


class MirrorProgress(Struct, frozen=True, kw_only=True):
    """How far a mirror has come, and whether it answers."""

    reached: int = 0
    """Every change up to this number is in the mirror, except those that it refused, or that were not applied yet."""
    unsettled: int | None = None
    """The first change that was not applied yet."""
    is_ready: bool = True
    is_filling: bool = False
    error: str | None = None


class ProgressNote:
    """A small file with the progress of one mirror. It may be lost or old: it only shortens waiting. Any thread may call.

    Args:
        path: The file, in the state directory.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._is_closed = False
        self._descriptor = -1
        self._written: MirrorProgress | None = None

    def write(self, progress: MirrorProgress) -> None:
        """Tell others, if it is news."""
        if progress == self._written:
            return
        error = None if progress.error is None else progress.error[:_LONGEST_ERROR]
        text = msgspec.json.encode(msgspec.structs.replace(progress, error=error)).ljust(_BYTES)
        try:
            with self._lock:
                os.pwrite(self._opened(), text, 0)
        except OSError:
            return  # a full disk, or one that was removed: others wait a little longer
        self._written = progress

    def read(self) -> MirrorProgress | None:
        """Return what was last told; None if nothing was."""
        try:
            with self._lock:
                text = os.pread(self._opened(), 2 * _BYTES, 0)
            return msgspec.json.decode(text, type=MirrorProgress)
        except (OSError, msgspec.MsgspecError):
            return None

    def close(self) -> None:
        """Release the file; may be called twice."""
        with self._lock:
            descriptor, self._descriptor, self._is_closed = self._descriptor, -1, True
            if descriptor >= 0:
                os.close(descriptor)

    def _opened(self) -> int:
        if self._is_closed:
            raise OSError(errno.EBADF, "the note is closed")
        if self._descriptor < 0:
            self._descriptor = os.open(self._path, _FLAGS, 0o600)
        return self._descriptor
