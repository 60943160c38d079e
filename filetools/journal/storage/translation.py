"""Translates errors of SQLite and of the operating system into the product's own."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Callable
from types import TracebackType
from typing import Final

from filetools.errors import (
    AccessDeniedError,
    DiskFullError,
    FileToolsError,
    InternalError,
    LockTimeoutError,
    RateLimitedError,
    StateDamagedError,
    StorageFailedError,
)
from filetools.paths.explain import translate

BUSY_SECONDS: Final = 10.0
"""How long SQLite waits for programs that lock the database without going through the gate."""
_WHAT: Final = "the journal"
_DAMAGE: Final = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EEXIST)
"""Something in the state directory is missing or was replaced; all other errors are trouble of the system."""
NO_SHARED_MEMORY: Final = (sqlite3.SQLITE_IOERR_SHMOPEN, sqlite3.SQLITE_IOERR_SHMLOCK, sqlite3.SQLITE_IOERR_SHMMAP)


class Translation:
    """A context that translates foreign errors into the product's; has no state, so that one serves all."""

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, sqlite3.Error):
            raise of_sqlite(error) from error
        if isinstance(error, OSError) and not isinstance(error, FileToolsError):
            raise of_system(error) from error


TRANSLATED: Final = Translation()


def of_system(error: OSError) -> FileToolsError:
    """Return the product's error for one of the operating system."""
    reason = error.strerror or str(error)
    if error.errno in _DAMAGE:
        return StateDamagedError(reason)
    found = translate(_WHAT, error)
    is_known = isinstance(found, AccessDeniedError | DiskFullError | RateLimitedError)
    return found if is_known else StorageFailedError(_WHAT, reason)


_BY_CODE: Final[dict[int, Callable[[sqlite3.Error], FileToolsError]]] = {
    **dict.fromkeys(
        (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL),
        lambda _: LockTimeoutError(_WHAT, BUSY_SECONDS, "a program that does not go through filetools"),
    ),
    **dict.fromkeys((sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE), lambda _: DiskFullError(_WHAT)),
    **dict.fromkeys(
        NO_SHARED_MEMORY,
        lambda _: StorageFailedError(
            _WHAT,
            "its file system gives processes no memory to share, as some network, virtual and FUSE ones do",
            suggested_action="Keep the state on another disk with state_dir.",
        ),
    ),
    **dict.fromkeys(
        (sqlite3.SQLITE_IOERR_SHORT_READ, sqlite3.SQLITE_IOERR_CORRUPTFS), lambda error: StateDamagedError(str(error))
    ),
    sqlite3.SQLITE_IOERR: lambda error: StorageFailedError(_WHAT, str(error)),
    sqlite3.SQLITE_READONLY_DBMOVED: lambda _: StateDamagedError("its database was moved while open"),
    **dict.fromkeys(
        (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM),
        lambda error: AccessDeniedError(_WHAT, f"its database cannot be written: {error}"),
    ),
}
"""Errors by extended or primary code; all other codes mean damage."""


def of_sqlite(error: sqlite3.Error) -> FileToolsError:
    """Return the product's error for one of SQLite."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    if code is None and isinstance(error, (sqlite3.ProgrammingError, sqlite3.InterfaceError)):
        return InternalError(f"The journal was used wrongly: {error}")
    found = None if code is None else _BY_CODE.get(code) or _BY_CODE.get(code & 0xFF)
    return StateDamagedError(str(error)) if found is None else found(error)
