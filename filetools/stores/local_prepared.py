"""Complete temporary files on a local disk, waiting to go live in one step."""

from __future__ import annotations

import os
import threading

from filetools.errors import ChangedMeanwhileError, InternalError, StateDamagedError, WorkspaceGoneError
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.linux import link_descriptor
from filetools.stores.local_disk import Explained, HiddenPlace, LocalDisk, parent_of_names
from filetools.stores.local_displaced import LocalDisplaced
from filetools.stores.private import refuse_other_kinds
from filetools.stores.reading import to_file_stat
from filetools.stores.removal import remove_place
from filetools.stores.renaming import Spot, exchange, exists, identity, rename_without_replacing
from filetools.stores.store import FileStat


class _Named:
    """What both kinds with a name share: the place, until the file went live."""

    __slots__ = ("_disk", "_path", "_place", "stat")

    def __init__(self, disk: LocalDisk, path: WorkspacePath, place: HiddenPlace, stat: FileStat) -> None:
        """Stand for a complete file.

        Args:
            disk: The store's means.
            path: Where it will go.
            place: Where it waits.
            stat: Its facts.
        """
        self._disk = disk
        self._path = path
        self._place: HiddenPlace | None = place
        self.stat = stat

    @property
    def temporary(self) -> str:
        """Where the file waits, relative to the store; "" once it is live or discarded."""
        return self._place.label if self._place else ""

    def discard(self) -> None:
        """Remove the file if it did not go live; may be called twice."""
        place, self._place = self._place, None
        if place is not None:
            with Explained(self._disk.workspace, self._path):
                remove_place(place)

    def waiting(self) -> HiddenPlace:
        """Return where the file waits.

        Raises:
            InternalError: It is live, or discarded.
        """
        if self._place is None:
            raise InternalError("A prepared file can go live only once", path=self._path)
        return self._place

    def _missing(self, hidden: Spot, error: FileNotFoundError) -> Exception:
        """Tell a vanished temporary file, with which the whole state is in doubt, from a vanished live one, or root."""
        explained = self._disk.workspace.explain(self._path, error)
        if isinstance(explained, WorkspaceGoneError) or exists(hidden):
            return explained
        return StateDamagedError(f"the temporary file for {self._path} was removed")


class PreparedReplacement(_Named):
    """The next bytes of an existing file."""

    __slots__ = ()

    def exchange(self) -> LocalDisplaced:
        """Go live; what stood there comes out.

        Raises:
            PathNotFoundError: Nothing stands there now. Still prepared.
            PathIsDirectoryError, SymlinkNotAllowedError, NotRegularFileError: No file does. Still prepared.
            ChangedMeanwhileError: Others exchanged the name at the same time. Not prepared any more.
        """
        place, origin = self.waiting(), self._disk.live(self._path)
        workspace = self._disk.workspace
        parent_opened = parent_of_names(workspace, self._path)
        with Explained(workspace, self._path), parent_opened as parent, place.opened() as folder:
            live, hidden = (parent, origin.name), (folder, place.name)
            place = self._exchange(place, live, hidden)
            hidden = (folder, place.name)
            displaced = to_file_stat(os.stat(place.name, dir_fd=folder, follow_symlinks=False))
            if displaced.type != "file":
                # A stranger put something else there since it was prepared: theirs goes back before anybody misses it.
                self._place = self._exchange(place, live, hidden)
                self._check_still_ours(self._place, (folder, self._place.name))
                refuse_other_kinds(displaced.type, self._path)
        self._place = None
        return LocalDisplaced(self._disk, place, displaced, path=self._path, origin=origin)

    def _check_still_ours(self, place: HiddenPlace, hidden: Spot) -> None:
        """Raise if what came back is somebody else's, and leave it where a sweep finds it."""
        if identity(hidden) != (self.stat.device, self.stat.inode):
            found = to_file_stat(os.stat(hidden[1], dir_fd=hidden[0], follow_symlinks=False))
            self._place = None
            LocalDisplaced(self._disk, place, found, path=self._path).keep_in_limbo(place.name)
            raise ChangedMeanwhileError(self._path, 1)

    def _exchange(self, place: HiddenPlace, live: Spot, hidden: Spot) -> HiddenPlace:
        """Put what is hidden in the live place, and return where what stood there is now."""
        try:
            return place.named(exchange(self._disk.capabilities, live, hidden, lambda: place.sibling().name))
        except FileNotFoundError as exc:
            raise self._missing(hidden, exc) from exc


class PreparedName(_Named):
    """A new file that had to be written under a temporary name."""

    __slots__ = ()

    def exchange(self) -> None:
        """Go live.

        Raises:
            PathExistsError: Something stands there now. Still prepared.
        """
        place, origin = self.waiting(), self._disk.live(self._path)
        with Explained(self._disk.workspace, self._path), origin.opened() as parent, place.opened() as folder:
            live, hidden = (parent, origin.name), (folder, place.name)
            try:
                rename_without_replacing(self._disk.capabilities, hidden, live)
            except FileNotFoundError as exc:
                raise self._missing(hidden, exc) from exc
        self._place = None


class PreparedNameless:
    """A new file without a name: a process that dies leaves nothing behind. Holds a descriptor until it is live."""

    __slots__ = ("_descriptor", "_disk", "_path", "_room", "stat")

    def __init__(self, disk: LocalDisk, path: WorkspacePath, descriptor: int, room: threading.BoundedSemaphore) -> None:
        """Stand for an open file.

        Args:
            disk: The store's means.
            path: Where it will go.
            descriptor: Of the complete file; closed by this object.
            room: Given back when the descriptor is closed.
        """
        self._disk = disk
        self._path = path
        self._descriptor = descriptor
        self._room = room
        self.stat = to_file_stat(os.fstat(descriptor))

    @property
    def temporary(self) -> str:
        """Always "": the file has no name before it is live."""
        return ""

    def exchange(self) -> None:
        """Go live.

        Raises:
            PathExistsError: Something stands there now. Still prepared.
        """
        if self._descriptor < 0:
            raise InternalError("A prepared file can go live only once", path=self._path)
        origin = self._disk.live(self._path)
        with Explained(self._disk.workspace, self._path), origin.opened() as parent:
            link_descriptor(self._descriptor, parent, origin.name)
        # Closed at once: as long as it is open for writing the new file looks as if somebody were at work on it.
        self.discard()

    def discard(self) -> None:
        """Close the descriptor, with which a file that is not live is gone; may be called twice."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            self._room.release()
            os.close(descriptor)

    def __del__(self) -> None:
        # A cancelled call may never hand this object to anybody who would discard it.
        self.discard()
