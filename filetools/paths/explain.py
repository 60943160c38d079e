"""Translation of operating-system errors, by errno and where the path is known."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from typing import Final

from filetools.errors import (
    AccessDeniedError,
    ChangedMeanwhileError,
    DirectoryNotEmptyError,
    DiskFullError,
    FileBusyError,
    FileToolsError,
    InvalidPathError,
    NetworkError,
    NotRegularFileError,
    PathExistsError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
    PathTooLongError,
    RateLimitedError,
    StorageFailedError,
)

_BY_ERRNO: Final[dict[int, Callable[[str], FileToolsError]]] = {
    errno.ENOENT: PathNotFoundError,
    errno.EEXIST: PathExistsError,
    errno.EISDIR: PathIsDirectoryError,
    errno.ENOTDIR: PathNotDirectoryError,
    errno.ENOTEMPTY: DirectoryNotEmptyError,
    errno.EACCES: AccessDeniedError,
    errno.EPERM: AccessDeniedError,
    errno.EROFS: lambda path: AccessDeniedError(path, "the file system is read-only"),
    errno.EXDEV: lambda path: AccessDeniedError(path, "it leads to another file system"),
    errno.ENOSPC: DiskFullError,
    errno.EFBIG: DiskFullError,
    errno.ENAMETOOLONG: lambda path: PathTooLongError(path, "too long for this file system"),
    errno.EINVAL: lambda path: InvalidPathError(path, "this file system does not accept it"),
    errno.EILSEQ: lambda path: InvalidPathError(path, "this file system does not accept it"),
    errno.ENXIO: NotRegularFileError,
    errno.ENODEV: NotRegularFileError,
    errno.EAGAIN: FileBusyError,
    errno.EBUSY: FileBusyError,
    errno.ETXTBSY: FileBusyError,
    errno.EMFILE: lambda path: RateLimitedError("Too many open files in this process", path=path),
    errno.ENFILE: lambda path: RateLimitedError("Too many open files on this machine", path=path),
    errno.ENOMEM: lambda path: RateLimitedError("The operating system is out of memory", path=path),
}
# Not every system has these.
for _name, _kind in (
    ("EDQUOT", DiskFullError),
    ("ESTALE", lambda path: ChangedMeanwhileError(path, 1)),
    ("ENOTCONN", lambda path: NetworkError("The file system of the workspace does not answer", path=path)),
    ("ETIMEDOUT", lambda path: NetworkError("The file system of the workspace does not answer", path=path)),
    ("EHOSTDOWN", lambda path: NetworkError("The file system of the workspace does not answer", path=path)),
):
    if hasattr(errno, _name):
        _BY_ERRNO[getattr(errno, _name)] = _kind

_KINDS: Final = {
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "character device",
    stat.S_IFBLK: "block device",
}


def translate(path: str, error: OSError) -> FileToolsError:
    """Return the typed error for an errno, without looking at the disk.

    Args:
        path: Workspace-relative path concerned; the only one that the message names.
        error: What the operating system said.
    """
    make = _BY_ERRNO.get(error.errno or 0)
    if make is not None:
        return make(path)
    return StorageFailedError(path, os.strerror(error.errno) if error.errno else "unknown error")


def wrong_kind(path: str, mode: int) -> FileToolsError:
    """Return the error for a path that is not a regular file.

    Args:
        path: Workspace-relative path.
        mode: File type and permission bits that `stat` found there.
    """
    if stat.S_ISDIR(mode):
        return PathIsDirectoryError(path)
    return NotRegularFileError(path, _KINDS.get(stat.S_IFMT(mode), "special file"))
