"""Writing temporary files on a local disk: whatever can fail for space or rights fails here."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from filetools.errors import StateDamagedError
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.attributes import copy_attributes
from filetools.stores.linux import MISSING_CALL, O_TMPFILE
from filetools.stores.local_disk import (
    Explained,
    HiddenPlace,
    LocalDisk,
    OpenedRegular,
    opened_file,
    opened_parent,
    parent_of_names,
)
from filetools.stores.local_prepared import PreparedName, PreparedNameless, PreparedReplacement
from filetools.stores.reading import to_file_stat

NEW_FILE_MODE: Final = 0o666
"""Less the umask, or as the folder's default ACL says."""
MAX_NAMELESS: Final = 64
"""Nameless files of one store at a time; each holds a descriptor, and a large batch would use them all up."""
_TRY_FLAGS: Final[int] = (
    os.O_WRONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
)
_CREATE_FLAGS: Final[int] = (
    os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
)


class Preparer:
    """Makes the temporary files of one local store; lives as long as the store."""

    __slots__ = ("_disk", "_room")

    def __init__(self, disk: LocalDisk) -> None:
        self._disk = disk
        self._room = threading.BoundedSemaphore(MAX_NAMELESS)

    def replacement(
        self, path: WorkspacePath, content: bytes, mode: int | None, now_at: WorkspacePath
    ) -> PreparedReplacement:
        """Write the next bytes of an existing file, with the attributes it has now."""
        disk = self._disk
        with (
            Explained(disk.workspace, path),
            parent_of_names(disk.workspace, now_at) as parent,
            OpenedRegular(disk.workspace, now_at) as (live, facts),
        ):
            refuse_unwritable(parent, now_at.name)
            place = disk.reachable(disk.temporary(), now_at, parent)
            # Nearly always right from the beginning, so that nothing needs to be set. A temporary file that lies beside the
            # live one is closed to others until it has its owner and access list.
            bits = (facts.st_mode if mode is None else mode) & 0o777 if place.is_private else 0o600
            with written(place, content, bits) as temporary:
                made = to_file_stat(copy_attributes(live, temporary, mode))
        return PreparedReplacement(disk, path, place, made)

    def new(
        self,
        path: WorkspacePath,
        content: bytes,
        mode: int | None,
        like: WorkspacePath | None = None,
        within: WorkspacePath | None = None,
    ) -> PreparedName | PreparedNameless:
        """Write a new file, without a name where that is possible, with the attributes of another one if there is one."""
        disk = self._disk
        # A folder that is only about to be made takes rights, group and file system from the one that it will be in.
        beside = path if within is None else within.child(path.name)
        with Explained(disk.workspace, path), opened_parent(disk.workspace, beside) as parent:
            refuse_unwritable(parent, ".")
            if disk.capabilities.tmpfile and self._room.acquire(blocking=False):
                nameless = self._nameless(path, parent, content, mode, like)
                if nameless is not None:
                    return nameless
            place = disk.temporary()
            place = disk.beside(beside) if hands_down(parent) else disk.reachable(place, beside, parent)
            with written(place, content, NEW_FILE_MODE) as temporary:
                self._dress(temporary, mode, like)
                made = to_file_stat(os.fstat(temporary))
        return PreparedName(disk, path, place, made)

    def _nameless(
        self, path: WorkspacePath, parent: int, content: bytes, mode: int | None, like: WorkspacePath | None
    ) -> PreparedNameless | None:
        """Return a nameless file, or None where the file system knows none; the room taken goes with it."""
        descriptor = -1
        try:
            assert O_TMPFILE is not None
            descriptor = os.open(".", O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, NEW_FILE_MODE, dir_fd=parent)
            write_all(descriptor, content)
            self._dress(descriptor, mode, like)
        except BaseException as exc:
            self._room.release()
            if descriptor >= 0:
                os.close(descriptor)
            # A kernel or file system without nameless files takes this for the opening of a directory.
            elif isinstance(exc, OSError) and exc.errno in (*MISSING_CALL, errno.EISDIR):
                return None
            raise
        return PreparedNameless(self._disk, path, descriptor, self._room)

    def _dress(self, temporary: int, mode: int | None, like: WorkspacePath | None) -> None:
        if like is not None:
            with suppress(FileNotFoundError), opened_file(self._disk.workspace, like) as model:
                copy_attributes(model, temporary, mode)
                return
        if mode is not None:
            os.fchmod(temporary, mode)


@contextmanager
def written(place: HiddenPlace, content: bytes, mode: int) -> Iterator[int]:
    """Make a file at a free place, give its descriptor for the attributes, and remove it if anything fails.

    Args:
        place: Where.
        content: All its bytes.
        mode: Permission bits, less the umask.

    Raises:
        StateDamagedError: The private directory was removed.
        OSError: No space, or no permission; network file systems may say so only when the file is closed.
    """
    with place.opened() as folder:
        descriptor = _create(place, folder, mode)
        try:
            try:
                write_all(descriptor, content)
                yield descriptor
            finally:
                os.close(descriptor)
        except BaseException:
            with suppress(OSError):
                os.unlink(place.name, dir_fd=folder)
            raise


def _create(place: HiddenPlace, folder: int, mode: int) -> int:
    try:
        return os.open(place.name, _CREATE_FLAGS, mode, dir_fd=folder)
    except FileNotFoundError as exc:
        # An open directory takes no new names only when it was itself removed.
        raise StateDamagedError("the folder for temporary files was removed") from exc


def write_all(descriptor: int, content: bytes) -> None:
    """Write all bytes; one call may take fewer, at most 2 GiB less a page."""
    done = os.write(descriptor, content)
    if done < len(content):
        rest = memoryview(content)
        while done < len(content):
            done += os.write(descriptor, rest[done:])


def refuse_unwritable(parent: int, name: str) -> None:
    """Raise where a replacement would be refused, or would go round a file's own write protection.

    Args:
        parent: Descriptor of the folder, in which names will change.
        name: The file to be replaced, or "." for a new one.

    Raises:
        OSError: EROFS, EACCES or EPERM; ENOENT where the file has vanished meanwhile.
    """
    effective = os.access in os.supports_effective_ids
    if not os.access(".", os.W_OK, dir_fd=parent, effective_ids=effective):
        read_only = hasattr(os, "fstatvfs") and os.fstatvfs(parent).f_flag & os.ST_RDONLY
        number = errno.EROFS if read_only else errno.EACCES
        raise OSError(number, os.strerror(number))
    if name != "." and not os.access(name, os.W_OK, dir_fd=parent, effective_ids=effective):
        # That says no of what is not there as well, and other programs take names away and put them back: opening tells.
        os.close(os.open(name, _TRY_FLAGS, dir_fd=parent))


def hands_down(parent: int) -> bool:
    """Whether new files take a group or an access list from their folder, so that they must be made in it."""
    if os.fstat(parent).st_mode & stat.S_ISGID:
        return True
    if not hasattr(os, "getxattr"):
        return False
    try:
        return bool(os.getxattr(parent, "system.posix_acl_default"))
    except OSError:
        return False
