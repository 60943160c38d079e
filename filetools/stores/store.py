"""The interface through which the product accesses files, on a local disk or in a caller's own store.

All methods are synchronous and may block; they are called from worker threads, never from the event loop, except
`read_now`, which promises not to block. Every error is a `FileToolsError` naming the workspace-relative path.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol, runtime_checkable

from msgspec import Struct

from filetools.models.words import EntryType
from filetools.paths.workspace_path import WorkspacePath

PART_BYTES: Final = 64 * 1024
"""Size of the parts in which a large file is copied."""
Content = bytes | Iterator[bytes]
"""The bytes of a file, or of a large one its parts of `PART_BYTES`, in order."""


class FileStat(Struct, frozen=True):
    """Facts about a file or directory; none of them requires reading its content."""

    type: EntryType
    size: int
    mode: int
    """Permission bits only."""
    modified_ns: int
    changed_ns: int
    """Time of the last change of the inode (ctime); equals `modified_ns` where a store has none."""
    device: int
    inode: int
    links: int = 1

    @property
    def identity(self) -> tuple[int, int, int, int, int]:
        """Device, inode, size, mtime and ctime: equal identities mean equal bytes, unless younger than a clock tick."""
        return (self.device, self.inode, self.size, self.modified_ns, self.changed_ns)


@dataclass(frozen=True, slots=True)
class ScanEntry:
    """One name in a directory, as stored."""

    name: str
    """May hold surrogate escapes where the name on disk is not UTF-8."""
    type: EntryType
    inode: int = field(default=0, compare=False)
    """Of a file on a disk, as the folder lists it, which may differ from the inode in `FileStat`; 0 if unknown."""


class Reader(Protocol):
    """An open file for reading parts; holds a descriptor until closed."""

    @property
    def stat(self) -> FileStat:
        """Facts taken from the open descriptor."""

    def read_at(self, offset: int, count: int) -> bytes:
        """Return up to `count` bytes from `offset`; fewer only at the end of the file."""

    def is_being_written(self) -> bool:
        """True if some process has it open for writing (a read lease is refused)."""

    def has_changed(self) -> bool:
        """True if its bytes have changed since it was opened, as far as its size and times show; renames do not count."""

    def close(self) -> None:
        """Release the descriptor; may be called twice."""


class Displaced(Protocol):
    """A file displaced by an exchange, a removal or a move; other programs no longer see it."""

    @property
    def temporary(self) -> str:
        """Its path relative to the store; "" once it was put back or discarded."""

    @property
    def stat(self) -> FileStat:
        """Facts of the displaced file, taken after it was displaced."""

    def read(self) -> bytes:
        """Return its whole content."""

    def is_untouched(self) -> bool:
        """True if no program has it open for writing or has written to it since `stat` was taken: then that is final."""

    def put_back(self) -> None:
        """Exchange it with the file that is now at its former path.

        Afterwards this object represents that file, so that it can be examined before it is discarded.
        """

    def keep(self, name: str) -> None:
        """Move it to `.filetools/displaced/<name>`, so that a program that has it open can finish writing before it is read."""

    def sync(self) -> None:
        """Make its current name durable, but not its bytes; does nothing once it was put back or discarded."""

    def discard(self) -> None:
        """Delete it permanently; may be called twice."""


class Trashed(Protocol):
    """A file or a directory in the trash."""

    def is_there(self) -> bool:
        """False if the trash has no such name."""

    def entries(self) -> list[tuple[str, FileStat]]:
        """Return the entries that `restore` would restore: path below the folder and facts, folders before their contents.

        The entry itself comes first, as "". The list is empty if it is not there.
        """

    def read(self, relative: str) -> bytes:
        """Return the bytes of a file that `entries` has named, or a link's target.

        Raises:
            PathNotFoundError: It is gone.
        """

    def restore(self) -> None:
        """Move it back to its path, whose parent must exist.

        Raises:
            PathExistsError: Something is at the path.
            PathNotFoundError: It is gone.
        """

    def discard(self) -> None:
        """Delete it permanently, if it is there."""


class Prepared(Protocol):
    """A complete temporary file on the store, with mode, owner and attributes, waiting to go live."""

    @property
    def temporary(self) -> str:
        """Path of the temporary file relative to the store; "" if it has no name."""

    @property
    def stat(self) -> FileStat:
        """Facts of the complete file, taken before it went live; its change time moves when it does."""

    def exchange(self) -> Displaced | None:
        """Go live in one atomic step; other programs never see a partial file.

        Returns:
            The file that was there, or None if the name was free.

        Raises:
            PathExistsError: The file was prepared as new, but the path is taken now. Still prepared.
            PathNotFoundError: The file was prepared as a replacement, but nothing is there now. Still prepared.
            FileToolsError: The step failed; nothing changed. Still prepared.
        """

    def discard(self) -> None:
        """Remove the temporary file if it did not go live; may be called twice."""


@runtime_checkable
class Store(Protocol):
    """A tree of files, such as a mirror."""

    @property
    def name(self) -> str:
        """Short name, such as "primary"; in the journal it identifies a store that is used as a mirror."""

    def stat(self, path: WorkspacePath) -> FileStat | None:
        """Return facts of a path without following links, or None if nothing is there."""

    def read(self, path: WorkspacePath, *, limit: int | None = None) -> tuple[bytes, FileStat]:
        """Return a file's whole content and the facts it had while it was read.

        The facts are equal before and after reading, else reading is repeated (at most 5 times).

        Raises:
            PathNotFoundError, PathIsDirectoryError, NotRegularFileError, FileBusyError
            FileTooLargeError: It has more than `limit` bytes.
        """

    def open(self, path: WorkspacePath) -> Reader:
        """Open a regular file for reading parts."""

    def prepare(
        self,
        path: WorkspacePath,
        content: Content,
        *,
        new: bool,
        mode: int | None = None,
        like: WorkspacePath | None = None,
        within: WorkspacePath | None = None,
        ignores_read_only: bool = False,
    ) -> Prepared:
        """Write `content` to a temporary file that can replace `path`.

        Args:
            path: Where it will go; its parent directory must exist.
            content: The bytes. Only a mirror gets parts, of files over 4 MiB; zeros may become holes.
            new: True if nothing is there; False if it replaces a regular file, whose mode, owner, extended
                attributes and ACL the temporary file takes over.
            mode: Permission bits to set instead of the replaced file's or the default of 0o666 less the umask.
            like: A file whose owner, extended attributes and ACL a new one takes over, if it exists.
            within: The nearest folder above that exists, if the parent of a new file is yet to be made.
            ignores_read_only: True to replace a file of this user even if its mode forbids writing.

        Raises:
            DiskFullError, AccessDeniedError: Detected here, before anything is recorded.
            DirectoryNotFoundError: The parent does not exist.
            PathNotFoundError, PathIsDirectoryError, NotRegularFileError, SymlinkNotAllowedError: No file to replace.
        """

    def make_directory(self, path: WorkspacePath, mode: int = 0o777) -> bool:
        """Create one directory whose parent exists; False if it was there already.

        Raises:
            PathExistsError: A file is there.
            SymlinkNotAllowedError: A link is there.
        """

    def remove_empty_directory(self, path: WorkspacePath) -> None:
        """Remove a directory only if nothing is in it, in one atomic step.

        Raises:
            DirectoryNotEmptyError: Something is in it.
            PathNotFoundError, PathNotDirectoryError
        """

    def remove(self, path: WorkspacePath, trash: str | None = None) -> Displaced:
        """Take a file or a whole directory out of the tree in one atomic step.

        Args:
            path: A regular file, a link (the link itself goes), or a directory.
            trash: Name under `.filetools/trash/` to keep it as; None keeps it only until `discard`.

        Raises:
            PathNotFoundError: Nothing is there.
        """

    def move(self, source: WorkspacePath, destination: WorkspacePath, *, overwrite: bool = False) -> Displaced | None:
        """Rename a file or directory in one atomic step; the destination's parent must exist.

        Returns:
            With `overwrite`, the displaced destination if one was there.

        Raises:
            PathExistsError: The destination exists and `overwrite` is False.
            PathNotFoundError: The source does not exist.
        """

    def scan(self, path: WorkspacePath) -> Iterator[ScanEntry]:
        """Yield the names in a directory, in no particular order, without `.filetools` at the root.

        Raises:
            DirectoryNotFoundError, PathNotDirectoryError
        """

    def set_mode(self, path: WorkspacePath, mode: int, *, directory: bool = False) -> None:
        """Set the permission bits of a regular file or, with `directory`, of a directory, by descriptor.

        Raises:
            PathNotFoundError, PathIsDirectoryError, DirectoryNotFoundError, PathNotDirectoryError
            AccessDeniedError: It is another user's, or may not be read.
        """

    def sync(self, path: WorkspacePath, *, synced: set[WorkspacePath] | None = None) -> bool:
        """Make a file's bytes and its name durable, with the names of all folders on the way to it.

        Args:
            path: Path of a file, a folder, or what is gone, also with a folder above it.
            synced: For many changes at once: folders that were made durable after all these changes, with all folders
                above them. They are skipped, and those of this path are added.

        Returns:
            True if a file or a folder is there; if not, its absence is durable.
        """

    def leftovers(self) -> Iterator[Displaced]:
        """Yield the temporary files that dead processes left, for the sweep to hash before it discards them.

        Also everything in `.filetools/displaced`, and the temporary files that had to be made in other folders.
        """

    def probe(self) -> None:
        """Raise a `FileToolsError` unless the store can be read and written now."""

    def close(self) -> None:
        """Release descriptors; may be called twice."""


class PrimaryStore(Store, Protocol):
    """The tree of files that people and programs work in."""

    @property
    def tick_ns(self) -> int:
        """Longest time within which a file can change twice and keep its identity; 0 if never."""

    def read_now(self, path: WorkspacePath, limit: int) -> tuple[memoryview, FileStat] | None:
        """As `read`, if that does not wait for a disk. For the event loop.

        Returns:
            None if it would wait, or if the file has more than `limit` bytes.

        Raises:
            PathNotFoundError, PathIsDirectoryError, NotRegularFileError
        """

    def read_link(self, path: WorkspacePath) -> bytes:
        """Return the target of a symbolic link, uninterpreted.

        Raises:
            PathNotFoundError: Nothing is there.
            NotRegularFileError: It is not a link.
        """

    def make_link(self, path: WorkspacePath, target: bytes) -> None:
        """Make a symbolic link whose parent exists; its target is not checked.

        Raises:
            PathExistsError: Something is there.
        """

    def trash_names(self) -> list[str]:
        """Return the names in `.filetools/trash`, in no particular order."""

    def trashed(self, path: WorkspacePath, trash: str) -> Trashed:
        """Return what was removed from `path` with a name in the trash, whether it is there or not."""

    def look_into(
        self, path: WorkspacePath, names: Collection[str] | None = None
    ) -> tuple[FileStat, dict[str, FileStat]]:
        """Return the facts of a folder itself, and those of names in it, without following links.

        Args:
            path: The folder.
            names: The names; None for all, without those of filetools itself. Missing ones are left out.

        Raises:
            DirectoryNotFoundError, PathNotDirectoryError, SymlinkNotAllowedError, AccessDeniedError
        """


def make_parents(store: Store, path: WorkspacePath) -> None:
    """Make the folders above a path that are missing."""
    for folder in path.folders:
        store.make_directory(folder)


def replace_file(
    store: Store, path: WorkspacePath, content: Content, *, is_new: bool, mode: int | None
) -> tuple[FileStat, Displaced | None]:
    """Write a file and make it live; returns its facts and the entry that it replaced.

    Args:
        store: Where to write it.
        path: The file; its folder exists.
        content: Its bytes.
        is_new: True if nothing is at the path.
        mode: Permission bits; None keeps those of the file that is replaced.
    """
    prepared = store.prepare(path, content, new=is_new, mode=mode)
    try:
        displaced = prepared.exchange()
    except BaseException:
        prepared.discard()
        raise
    return prepared.stat, displaced
