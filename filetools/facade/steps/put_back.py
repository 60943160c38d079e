"""The steps of an undo: those of every change, in records that say what they undo, and folders out of the trash."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from filetools.content.version import version_of
from filetools.errors import (
    AccessDeniedError,
    ChangedMeanwhileError,
    DirectoryNotEmptyError,
    FileToolsError,
    PathExistsError,
)
from filetools.facade.parts import Parts
from filetools.facade.steps.folders import FolderStep, MakeFolderStep, MoveFolder, RemoveFolderStep
from filetools.facade.steps.move import MoveFile
from filetools.facade.steps.put import PutFile
from filetools.facade.steps.remove import RemoveFile
from filetools.facade.steps.step import sync_names
from filetools.facade.steps.texts import PutLink, PutMode
from filetools.journal.changes import Change, Relation
from filetools.models.records import Operation
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import FileStat

OWNER_RIGHTS: Final = 0o700
OWNER_WRITES: Final = 0o200


class PutBack(PutFile):
    """Gives a file the bytes that it had, also one that is read-only."""

    def prepare(self, parts: Parts) -> None:
        """As of every change; the write protection that somebody gave the file since is no wish of the one who goes back."""
        stat = self.seen.stat
        if stat is None or stat.mode & OWNER_WRITES:
            super().prepare(parts)
            return
        with suppress(AccessDeniedError):  # another user's
            parts.store.set_mode(self.path, stat.mode | OWNER_WRITES)
        try:
            super().prepare(parts)
        finally:
            with suppress(FileToolsError):
                parts.store.set_mode(self.path, stat.mode)


class MakeFolderAgain(MakeFolderStep):
    """Makes a folder that had been removed, and brings back what has no name that calls can say, which had been moved out."""

    def __init__(self, path: WorkspacePath, mode: int | None = None) -> None:
        """Stand for the folder.

        Args:
            path: Where it is made.
            mode: Its permission bits; its owner has all rights until all else is done in it.
        """
        super().__init__(path)
        self._mode = mode
        self.others: list[tuple[WorkspacePath, WorkspacePath]] = []
        """Where each is, and where it goes; there are no records of them."""

    def prepare(self, parts: Parts) -> None:
        """Say its mode."""
        super().prepare(parts)
        if self._mode is not None:
            self._parents = (*self._parents[:-1], replace(self._parents[-1], mode=opened(self._mode)))

    def make_folders(self, parts: Parts) -> None:
        """Make it, with its mode."""
        super().make_folders(parts)
        if self._mode is not None:
            parts.store.set_directory_mode(self._path, opened(self._mode))

    def exchange(self, parts: Parts) -> None:
        """Rename what comes back; the folder stands already."""
        moved: list[tuple[WorkspacePath, WorkspacePath]] = []
        try:
            for source, destination in self.others:
                parts.store.move(source, destination)
                moved.append((source, destination))
        except FileToolsError:
            _move_back(parts, moved)
            raise

    def sync(self, parts: Parts) -> None:
        """Sync the names of what comes back."""
        for source, destination in self.others:
            sync_names(parts, destination, source)

    def set_back(self, parts: Parts) -> None:
        """Rename it back."""
        _move_back(parts, self.others)


def opened(mode: int) -> int:
    """Return a folder's mode with all rights of its owner, who changes what is in it."""
    return mode | OWNER_RIGHTS


def _move_back(parts: Parts, moved: Sequence[tuple[WorkspacePath, WorkspacePath]]) -> None:
    for source, destination in reversed(moved):
        parts.store.move(destination, source)


class RemoveBack(RemoveFolderStep):
    """Removes a folder that was made. Its record says the mode that it had before its owner was given all rights on it."""

    def __init__(self, path: WorkspacePath, mode: int | None, permit: Callable[[], None] | None = None) -> None:
        """Stand for the removal.

        Args:
            path: The folder.
            mode: Its permission bits.
            permit: Has it go with links and all else in it that has no versions, as an undo had brought it back; raises
                the refusal if it is not as it was when the undo was worked out. None if the other steps leave it empty.
        """
        super().__init__(path, recursive=permit is not None)
        self._former_mode = mode
        self._permit = permit

    def look(self, parts: Parts) -> None:
        """See the folder."""
        super().look(parts)
        self._mode = self._former_mode

    def decide(self, parts: Parts) -> bool:
        """Refuse if something in it has changed that does not go with the other steps."""
        if self._permit is not None:
            self._permit()
        return True

    def exchange(self, parts: Parts) -> None:
        """Remove it, unless somebody has put something into it meanwhile."""
        try:
            super().exchange(parts)
        except DirectoryNotEmptyError as exc:
            raise PathExistsError(self.paths[0]) from exc


class RestoreFolder(FolderStep):
    """Brings a folder back out of the trash with everything in it."""

    def __init__(self, path: WorkspacePath, trash: str, inside: Sequence[WorkspacePath]) -> None:
        """Stand for the folder.

        Args:
            path: Where it comes back.
            trash: Its name in the trash.
            inside: The paths of all that is in it.
        """
        super().__init__(path, *inside)
        self._path = path
        self._trash = trash
        self._changes: list[Change] = []

    def look(self, parts: Parts) -> None:
        """See whether the place is free, and what comes back."""
        found = parts.store.trashed(self._path, self._trash)
        # What no call can name comes along without a record.
        self._entries = [each for each in found if parts.workspace.is_addressable(self._place(each[0]))]
        self._is_taken = parts.store.stat(self._path) is not None

    def decide(self, parts: Parts) -> bool:
        """Refuse if it is not as it was when the undo was worked out."""
        found = {self._place(relative) for relative, _ in self._entries if relative}
        if self._is_taken or not self._entries or found != set(self.paths[1:]):
            raise ChangedMeanwhileError(self._path, 1)
        return True

    def _made_path(self) -> WorkspacePath | None:
        """The folder."""
        return self._path

    def prepare(self, parts: Parts) -> None:
        """Create missing parents, and keep the texts of files that nobody has recorded yet."""
        super().prepare(parts)
        self._changes = [
            change for relative, stat in self._entries if (change := self._change(parts, relative, stat)) is not None
        ]

    def drafts(self) -> Sequence[Change]:
        """New parents, the folder, then what is in it: so that recovery brings back the folder before its files."""
        # Recovery finds by this where in the trash it is, and a restore that the folder is the one that went.
        said = (*self.undone, Relation(kind="brings", number=int(self._trash)))
        return (*self._parents, *(replace(change, relations=said) for change in self._changes))

    def exchange(self, parts: Parts) -> None:
        """Rename it back."""
        parts.store.restore(self._path, self._trash)

    def sync(self, parts: Parts) -> None:
        """Sync its name."""
        sync_names(parts, self._path)

    def set_back(self, parts: Parts) -> None:
        """Rename it into the trash again."""
        parts.store.remove(self._path, trash=self._trash)

    def compensations(self, parts: Parts, number: int) -> Sequence[Change]:
        """All of it is gone again; the records of one commit have numbers in a row."""
        first = number - len(self._changes) + 1
        return [
            replace(
                change,
                operation=(
                    Operation.DELETE if change.operation is Operation.CREATE else Operation.DELETE_DIRECTORY
                ),
                before=change.after, after=None, content=None, size=None, mode=None, relations=(),
                applied=True, compensates=first + place,
            )
            for place, change in reversed(list(enumerate(self._changes)))
        ]  # fmt: skip

    def _place(self, relative: str) -> str:
        return f"{self._path}/{relative}" if relative else self._path

    def _change(self, parts: Parts, relative: str, stat: FileStat) -> Change | None:
        """Return the record of one entry; a link, or a file too large to be kept, comes back without one."""
        path = WorkspacePath(self._place(relative))
        key = parts.workspace.key(path)
        if stat.type == "directory":
            return Change(operation=Operation.CREATE_DIRECTORY, path=path, key=key)
        if not relative and (stat.type != "file" or stat.size > parts.settings.max_write_bytes):
            return Change(
                operation=Operation.CREATE,
                path=path,
                key=key,
                before_unknown=True,
                size=stat.size,
                mode=stat.mode,
            )
        if stat.type != "file" or stat.size > parts.settings.max_foreign_bytes:
            return None
        content = parts.store.read_trashed(self._path, self._trash, relative)
        version = version_of(content)
        if not parts.journal.contents.has(version):
            parts.journal.contents.keep(content, version)
        return Change(operation=Operation.CREATE, path=path, key=key, after=version, size=len(content), mode=stat.mode)


UndoStep = (
    PutBack | RemoveFile | MoveFile | MoveFolder | MakeFolderAgain | RemoveBack | RestoreFolder | PutLink | PutMode
)
