"""Temporary files on a local disk: lack of space or permission is detected when they are written, before they go live."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from filetools.errors import ChangedMeanwhileError, StateDamagedError, WorkspaceGoneError
from filetools.paths.resolver import NEW_FILE_FLAGS, O_NONBLOCK, SAFE_FLAGS
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.attributes import copy_attributes
from filetools.stores.local_displaced import HiddenFile, LocalDisplaced
from filetools.stores.private import (
    FOREIGN_NAME,
    UNFINISHED,
    Explained,
    HiddenPlace,
    LocalDisk,
    refuse_other_kinds,
)
from filetools.stores.reading import to_file_stat
from filetools.stores.renaming import Spot, exchange, exists, rename_without_replacing
from filetools.stores.store import PART_BYTES, Content
from filetools.stores.system import Opened

_ZEROS: Final = bytes(PART_BYTES)
NEW_FILE_MODE: Final = 0o666
"""Less the umask, or as the folder's default ACL demands."""


def prepare_replacement(
    disk: LocalDisk, path: WorkspacePath, content: Content, mode: int | None, *, ignores_read_only: bool = False
) -> PreparedReplacement:
    """Write the next bytes of an existing file, with the attributes it has now."""
    live, facts = disk.workspace.open_regular(path)
    try:
        with Explained(disk.workspace, path, disk.workspace.open_parent) as parent:
            refuse_unwritable(parent, "." if ignores_read_only and facts.st_uid == os.geteuid() else path.name)
            is_near = disk.is_near(parent)
            place = disk.temporary() if is_near else disk.beside(path)
            # Usually the final bits already, so that nothing needs to be set. A temporary file beside the live one is closed
            # to others until it has its owner and access list.
            bits = (facts.st_mode if mode is None else mode) & 0o777 if is_near else 0o600
            with written(place, content, bits) as temporary:
                made = to_file_stat(copy_attributes(live, facts, temporary, mode))
    finally:
        os.close(live)
    return PreparedReplacement(disk, path, place, made)


def prepare_new(
    disk: LocalDisk,
    path: WorkspacePath,
    content: Content,
    mode: int | None,
    like: WorkspacePath | None = None,
    within: WorkspacePath | None = None,
) -> PreparedName:
    """Write a new file, with the attributes of another one if there is one."""
    # A folder that is yet to be made takes permissions, group and file system from its own folder.
    beside = path if within is None else within.child(path.name)
    with Explained(disk.workspace, path), Opened(disk.workspace.open_parent, beside) as parent:
        refuse_unwritable(parent, ".")
        is_private = not passes_on_attributes(parent) and disk.is_near(parent)
        place = disk.temporary() if is_private else disk.beside(beside)
        with written(place, content, NEW_FILE_MODE) as temporary:
            _set_attributes(disk, temporary, mode, like)
            made = to_file_stat(os.fstat(temporary))
    return PreparedName(disk, path, place, made)


def _set_attributes(disk: LocalDisk, temporary: int, mode: int | None, like: WorkspacePath | None) -> None:
    if like is not None:
        with suppress(FileNotFoundError), Opened(disk.workspace.open_file, like) as model:
            copy_attributes(model, os.fstat(model), temporary, mode)
            return
    if mode is not None:
        os.fchmod(temporary, mode)


@contextmanager
def written(place: HiddenPlace, content: Content, mode: int) -> Iterator[int]:
    """Create a file at a free place, yield its descriptor for the attributes, and remove it if anything fails.

    Args:
        place: Where to create it.
        content: All its bytes. Until all parts of a large file are written, its name shows that nobody needs it.
        mode: Permission bits, less the umask.

    Raises:
        StateDamagedError: The private directory was removed.
        OSError: No space, or no permission; network file systems may report that only when the file is closed.
    """
    # The names of temporary files in the folders of others are fixed, because scans leave them out.
    is_marked = not isinstance(content, bytes) and FOREIGN_NAME.fullmatch(place.name) is None
    name = f"{place.name}{UNFINISHED}" if is_marked else place.name
    with place.folder as folder:
        try:
            descriptor = os.open(name, NEW_FILE_FLAGS, mode, dir_fd=folder)
        except FileNotFoundError as exc:
            # An open directory accepts no new names only if it was itself removed.
            raise StateDamagedError("the folder for temporary files was removed") from exc
        try:
            try:
                write_all(descriptor, content)
                yield descriptor
            finally:
                os.close(descriptor)
            if is_marked:
                os.rename(name, place.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)
            raise


def write_all(descriptor: int, content: Content) -> None:
    """Write all bytes. Parts of a large file that are zero become holes."""
    if not isinstance(content, bytes):
        size = 0
        for part in content:
            if part != _ZEROS[: len(part)]:
                os.lseek(descriptor, size, os.SEEK_SET)
                write_all(descriptor, part)
            size += len(part)
        os.ftruncate(descriptor, size)
        return
    # One call may take fewer, at most 2 GiB less a page.
    done = os.write(descriptor, content)
    if done < len(content):
        rest = memoryview(content)
        while done < len(content):
            done += os.write(descriptor, rest[done:])


def refuse_unwritable(parent: int, name: str) -> None:
    """Raise if a replacement would be refused, or would bypass the file's own write protection.

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
        # access() also refuses a missing file, and other programs remove names and put them back: opening shows the reason.
        os.close(os.open(name, os.O_WRONLY | O_NONBLOCK | SAFE_FLAGS, dir_fd=parent))


def passes_on_attributes(parent: int) -> bool:
    """True if new files inherit a group or an access list from their folder, so that they must be made in it."""
    if os.fstat(parent).st_mode & stat.S_ISGID:
        return True
    if not hasattr(os, "getxattr"):
        return False
    try:
        return bool(os.getxattr(parent, "system.posix_acl_default"))
    except OSError:
        return False


class PreparedName(HiddenFile):
    """A complete new file under a temporary name."""

    __slots__ = ()

    def exchange(self) -> LocalDisplaced | None:
        """Go live.

        Raises:
            PathExistsError: The path is taken now. Still prepared.
        """
        place, path, workspace = self.where(), self._path, self._disk.workspace
        with Explained(workspace, path, workspace.open_parent) as parent, place.folder as folder:
            live, hidden = (parent, path.name), (folder, place.name)
            try:
                rename_without_replacing(hidden, live)
            except FileNotFoundError as exc:
                raise self._missing(hidden, exc) from exc
        self._place = None
        return None

    def _missing(self, hidden: Spot, error: FileNotFoundError) -> Exception:
        """Return the error for a missing file: the temporary one (the state is damaged), the live one, or the root."""
        explained = self._disk.workspace.explain(self._path, error)
        if isinstance(explained, WorkspaceGoneError) or exists(hidden):
            return explained
        return StateDamagedError(f"the temporary file for {self._path} was removed")


class PreparedReplacement(PreparedName):
    """The next bytes of an existing file."""

    __slots__ = ()

    def exchange(self) -> LocalDisplaced:
        """Go live; returns the replaced file.

        Raises:
            PathNotFoundError: Nothing is there now. Still prepared.
            PathIsDirectoryError, SymlinkNotAllowedError, NotRegularFileError: It is not a file now. Still prepared.
            ChangedMeanwhileError: Others exchanged the name at the same time. No longer prepared.
        """
        place, path, workspace = self.where(), self._path, self._disk.workspace
        with Explained(workspace, path, workspace.open_parent) as parent, place.folder as folder:
            live, hidden = (parent, path.name), (folder, place.name)
            place = self._exchange(place, live, hidden)
            hidden = (folder, place.name)
            displaced = to_file_stat(os.stat(place.name, dir_fd=folder, follow_symlinks=False))
            if displaced.type != "file":
                # Another program has put something else there since the preparation: put it back at once.
                self._place = self._exchange(place, live, hidden)
                self._check_still_ours(self._place, (folder, self._place.name))
                refuse_other_kinds(displaced.type, path)
        self._place = None
        return LocalDisplaced(self._disk, path, place, displaced)

    def _check_still_ours(self, place: HiddenPlace, hidden: Spot) -> None:
        """Raise if the file that came back is another program's, and keep it where a sweep finds it."""
        found = to_file_stat(os.stat(hidden[1], dir_fd=hidden[0], follow_symlinks=False))
        if found.identity[:2] != self.stat.identity[:2]:
            self._place = None
            LocalDisplaced(self._disk, self._path, place, found).keep(place.name)
            raise ChangedMeanwhileError(self._path, 1)

    def _exchange(self, place: HiddenPlace, live: Spot, hidden: Spot) -> HiddenPlace:
        """Put the hidden file in the live place, and return where the former live file is now."""
        try:
            name = exchange(live, hidden, place.spare)
        except FileNotFoundError as exc:
            raise self._missing(hidden, exc) from exc
        return place if name == place.name else place.named(name)
