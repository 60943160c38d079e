"""The folder of the lock files: opened without following anything planted there; nothing in it is ever unlinked."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path
from typing import Final

from filetools.errors import AccessDeniedError, DiskFullError, FileToolsError, StateDamagedError
from filetools.locks.lock_file import LockFile

_FOLDER_MODE: Final = 0o700
_FILE_MODE: Final = 0o600
# Without O_NONBLOCK opening a planted pipe or device could hang. Flags that a system does not have count as 0.
_COMMON_FLAGS: Final = (
    getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
)
_FOLDER_FLAGS: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _COMMON_FLAGS
_FILE_FLAGS: Final = os.O_RDWR | getattr(os, "O_BINARY", 0) | _COMMON_FLAGS
_HAS_DIRECTORY_DESCRIPTORS: Final = os.open in os.supports_dir_fd and os.stat in os.supports_dir_fd
_KINDS: Final = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFREG: "a file with several names",
}


class LockFolder:
    """The folder, held by a descriptor where the system allows. Lives as long as any of its files is open."""

    def __init__(self, directory: Path) -> None:
        """Open the folder, made with mode 0700 if it is missing.

        Raises:
            StateDamagedError: Something else stands in its place.
            AccessDeniedError
        """
        self._directory = directory.absolute()
        self._descriptor = _open_folder(self._directory)

    def open(self, name: str, *, create: bool) -> LockFile:
        """Open a lock file for reading and writing.

        Raises:
            StateDamagedError: It is not a plain file with one name.
            OSError: Anything else, to be told by `refusal`.
        """
        flags = _FILE_FLAGS | (os.O_CREAT if create else 0)
        descriptor = os.open(self._located(name), flags, _FILE_MODE, dir_fd=self._descriptor)
        found = os.fstat(descriptor)
        # A second name may be somebody's document, and holders write their line into the file.
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            os.close(descriptor)
            raise _planted(name, found.st_mode)
        return LockFile(name, descriptor, (found.st_ino, found.st_dev))

    def refusal(self, name: str, error: OSError) -> FileToolsError:
        """Return the typed error for a lock file that could not be opened."""
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return DiskFullError(f"locks/{name}")
        if error.errno in (errno.ENOENT, errno.ESTALE):
            return StateDamagedError("the folder of the locks was removed")
        with contextlib.suppress(OSError):
            mode = os.stat(self._located(name), dir_fd=self._descriptor, follow_symlinks=False).st_mode
            if not stat.S_ISREG(mode):
                return _planted(name, mode)
        return AccessDeniedError(f"locks/{name}", error.strerror or "the operating system denied access")

    def is_named(self, file: LockFile) -> bool:
        """Whether the name still leads to this file: a lock on a deleted file excludes nobody."""
        try:
            found = os.stat(self._located(file.name), dir_fd=self._descriptor, follow_symlinks=False)
        except OSError:
            return False
        return (found.st_ino, found.st_dev) == file.identity

    def close(self) -> None:
        """Close the folder; may be called twice."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)

    def _located(self, name: str) -> str:
        # Never a bare name without a descriptor: that would be a file of the current directory.
        return name if self._descriptor is not None else str(self._directory / name)


def _open_folder(directory: Path) -> int | None:
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(directory, _FOLDER_MODE)
        if not _HAS_DIRECTORY_DESCRIPTORS:
            return None
        descriptor = os.open(directory, _FOLDER_FLAGS)
    except OSError as exc:
        if exc.errno in (errno.ENOTDIR, errno.ELOOP):
            raise StateDamagedError("something else stands in the place of the folder of the locks") from exc
        raise AccessDeniedError("locks", exc.strerror or "the operating system denied access") from exc
    try:
        if os.fstat(descriptor).st_mode & 0o077:
            os.fchmod(descriptor, _FOLDER_MODE)
    except OSError as exc:
        os.close(descriptor)
        raise AccessDeniedError("locks", "the folder is open to other users") from exc
    return descriptor


def _planted(name: str, mode: int) -> StateDamagedError:
    return StateDamagedError(f"locks/{name} is {_KINDS.get(stat.S_IFMT(mode), 'a device')} instead of a lock file")
