"""Files that came out of their place on a local disk and that nobody sees any more."""

from __future__ import annotations

import errno
import os
import stat
from typing import Final

from filetools.errors import (
    ChangedMeanwhileError,
    InternalError,
    NotRegularFileError,
    PathNotFoundError,
)
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.linux import sync_descriptor
from filetools.stores.local_disk import READ_FLAGS, Explained, HiddenPlace, LocalDisk, Opened
from filetools.stores.private import private_name, refuse_other_kinds
from filetools.stores.reading import is_open_for_writing, read_stable, to_file_stat
from filetools.stores.removal import remove_place
from filetools.stores.renaming import exchange, rename_without_replacing
from filetools.stores.store import FileStat

_TRIES: Final = 5


class LocalDisplaced:
    """One file or directory at a hidden place; the object lives as long as its holder decides what becomes of it."""

    __slots__ = ("_disk", "_origin", "_path", "_place", "_stat")

    def __init__(
        self,
        disk: LocalDisk,
        place: HiddenPlace,
        stat: FileStat,
        *,
        path: WorkspacePath,
        origin: HiddenPlace | None = None,
    ) -> None:
        """Stand for what is at `place`.

        Args:
            disk: The store's means.
            place: Where it is now.
            stat: Its facts.
            path: The path that errors name.
            origin: Where it came from; None for what a dead process left.
        """
        self._disk = disk
        self._place: HiddenPlace | None = place
        self._stat = stat
        self._path = path
        self._origin = origin

    @property
    def temporary(self) -> str:
        """Where it is, relative to the store; "" once it is gone."""
        return self._place.label if self._place else ""

    @property
    def stat(self) -> FileStat:
        """Facts taken after it came out."""
        return self._stat

    def read(self) -> bytes:
        """Return its whole content.

        Raises:
            PathNotFoundError: It was put back or discarded.
            PathIsDirectoryError, NotRegularFileError, SymlinkNotAllowedError: It has no content.
            FileBusyError: Somebody keeps writing it.
        """
        refuse_other_kinds(self._stat.type, self._path)
        with Explained(self._disk.workspace, self._path):
            return read_stable(lambda: Opened(self._open), path=self._path)[0]

    def is_being_written(self) -> bool:
        """Whether some process still has it open for writing."""
        if self._stat.type != "file" or self._place is None:
            return False
        with Explained(self._disk.workspace, self._path), Opened(self._open) as descriptor:
            return is_open_for_writing(descriptor, leases=self._disk.capabilities.leases)

    def is_untouched(self) -> bool:
        """Whether nobody has it open for writing, and nobody has written to it since `stat` was taken: that is final."""
        if self._stat.type != "file" or self._place is None:
            return True
        with Explained(self._disk.workspace, self._path), Opened(self._open_anything) as descriptor:
            # In this order: once nobody has it open for writing any more, whether it was written to is final.
            if is_open_for_writing(descriptor, leases=self._disk.capabilities.leases):
                return False
            now = os.fstat(descriptor)
        return (now.st_size, now.st_mtime_ns) == (self._stat.size, self._stat.modified_ns)

    def put_back(self) -> None:
        """Exchange it back to its place; afterwards this object stands for what came out, if anything did."""
        if self._origin is None or self._place is None:
            raise InternalError("A file without a former place cannot be put back", path=self._path)
        with (
            Explained(self._disk.workspace, self._path),
            self._origin.opened() as parent,
            self._place.opened() as folder,
        ):
            self._put_back((parent, self._origin.name), (folder, self._place.name))

    def _put_back(self, live: tuple[int, str], hidden: tuple[int, str]) -> None:
        capabilities, place = self._disk.capabilities, self._place
        assert place is not None
        for _ in range(_TRIES):
            try:
                name = exchange(capabilities, live, hidden, lambda: place.sibling().name)
            except FileNotFoundError:
                try:
                    rename_without_replacing(capabilities, hidden, live)
                except FileExistsError:
                    continue
                self._place = None
            else:
                self._place = place.named(name)
                self._stat = to_file_stat(os.stat(name, dir_fd=hidden[0], follow_symlinks=False))
            return
        raise ChangedMeanwhileError(self._path, _TRIES)

    def keep_in_limbo(self, name: str) -> None:
        """Move it to `.filetools/limbo/<name>`; where that is another file system it stays beside its former place.

        Raises:
            PathExistsError: Limbo has that name already.
        """
        if self._place is None:
            raise PathNotFoundError(self._path)
        target = self._disk.limbo(private_name(name))
        with (
            Explained(self._disk.workspace, self._path),
            self._place.opened() as folder,
            target.opened() as limbo,
        ):
            spots = (folder, self._place.name), (limbo, target.name)
            try:
                rename_without_replacing(self._disk.capabilities, *spots)
            except OSError as exc:
                if exc.errno != errno.EXDEV:
                    raise
            else:
                self._place = target

    def sync(self) -> None:
        """Make the name that it has now durable, but not its bytes; nothing to do once it is gone."""
        if self._place is not None:
            with Explained(self._disk.workspace, self._path), self._place.opened() as folder:
                sync_descriptor(folder)

    def discard(self) -> None:
        """Remove it for good, a directory with all below it; may be called twice."""
        place = self._place
        if place is None:
            return
        with Explained(self._disk.workspace, self._path):
            remove_place(place)
        self._place = None

    def _open_anything(self) -> int:
        """Open what is there: its type is known where it stands hidden, and nobody else has its name."""
        if self._place is None:
            raise PathNotFoundError(self._path)
        with self._place.opened() as folder:
            return os.open(self._place.name, READ_FLAGS, dir_fd=folder)

    def _open(self) -> int:
        descriptor = self._open_anything()
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise NotRegularFileError(self._path)
        return descriptor
