"""Translates operating-system errors, by errno and where the path is known."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Sequence
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
    SymlinkNotAllowedError,
)
from filetools.paths.links import Look, inside_target
from filetools.printable import encodable

_NO_ANSWER: Final = "The file system of the workspace does not answer"
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
    errno.EDQUOT: DiskFullError,
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
    errno.ESTALE: lambda path: ChangedMeanwhileError(path, 1),
    errno.ENOTCONN: lambda path: NetworkError(_NO_ANSWER, path=path),
    errno.ETIMEDOUT: lambda path: NetworkError(_NO_ANSWER, path=path),
    errno.EHOSTDOWN: lambda path: NetworkError(_NO_ANSWER, path=path),
}
MAYBE_ON_THE_WAY: Final = frozenset((errno.ELOOP, errno.ENOTDIR, errno.EXDEV, errno.EMLINK, errno.ENXIO, errno.ENODEV))
"""Errors that a link may have caused (EMLINK: FreeBSD), or a special file whose kind should be named."""
MAYBE_GONE: Final = frozenset((errno.ENOENT, errno.EBADF, errno.ESTALE, errno.ENOTCONN))
"""Errors that the loss of the root itself may have caused."""

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
        error: The operating system's error.
    """
    make = _BY_ERRNO.get(error.errno or 0)
    if make is not None:
        return make(encodable(path))
    return StorageFailedError(encodable(path), os.strerror(error.errno) if error.errno else "unknown error")


def wrong_kind(path: str, mode: int) -> FileToolsError:
    """Return the error for a path that is not a regular file.

    Args:
        path: Workspace-relative path.
        mode: File type and permission bits that `stat` found there.
    """
    if stat.S_ISDIR(mode):
        return PathIsDirectoryError(encodable(path))
    return NotRegularFileError(encodable(path), _KINDS.get(stat.S_IFMT(mode), "special file"))


def explain_way(path: str, error: OSError, look: Look, roots: Sequence[tuple[str, ...]]) -> FileToolsError:
    """Return the typed error that names the link, the file or the special file on the way of a path.

    Args:
        path: A normalised path.
        error: One of `MAYBE_ON_THE_WAY`.
        look: Finds the first component of a path that is not a folder.
        roots: Segments of the root's absolute path, in each known spelling.
    """
    try:
        found = look(path) if path else None
    except OSError:
        found = None
    if found is not None and found.is_link:
        target = inside_target(found.path, found.target or "", roots)
        return SymlinkNotAllowedError(
            encodable(path), encodable(found.path), (encodable(target) or ".") if target is not None else None
        )
    if error.errno == errno.ELOOP:
        # The link is gone again: another process is exchanging names right now.
        return ChangedMeanwhileError(encodable(path), 1)
    if found is not None and error.errno == errno.ENOTDIR and not stat.S_ISDIR(found.mode):
        return PathNotDirectoryError(encodable(found.path))
    if found is not None and error.errno in (errno.ENXIO, errno.ENODEV) and found.path == path:
        return wrong_kind(path, found.mode)
    return translate(path, error)
