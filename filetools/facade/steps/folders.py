"""The steps that make, delete and move folders."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

from msgspec import structs

from filetools.errors import (
    ChangedMeanwhileError,
    DirectoryNotEmptyError,
    DirectoryNotFoundError,
    HoldsStateError,
    InvalidArgumentError,
    PathExistsError,
    PathNotDirectoryError,
    SymlinkNotAllowedError,
)
from filetools.facade.background.syncer import sync_files
from filetools.facade.deciding.folders import Contents, contents_of
from filetools.facade.parts import Parts
from filetools.facade.steps.parents import (
    missing_parents,
    require_parent,
)
from filetools.facade.steps.step import Step, sync_names
from filetools.facade.steps.unsaved import refuse_unsaved_below
from filetools.journal.changes import Change, HeadMovedError
from filetools.models.records import Operation
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.walk import walk_tree
from filetools.stores.store import Displaced


class FolderStep(Step):
    """A step that moves or deletes a folder with everything in it."""

    def __init__(self, *paths: WorkspacePath, require: Callable[[], None] = lambda: None) -> None:
        super().__init__(*paths)
        self._require_more = require
        self._is_allowed = False
        self._inside: Contents = {}
        self._changing: Set[WorkspacePath] = frozenset()

    def be_allowed(self, paths: frozenset[WorkspacePath]) -> None:
        """Refuse at the exchange what was not in the folder at the look, except for changes by the call's other steps."""
        self._is_allowed = True
        self._changing = paths

    def _see_inside(self, parts: Parts) -> None:
        self._require_more()
        if self._is_allowed:
            self._inside = self._others(parts)

    def _require_inside(self, parts: Parts) -> None:
        if self._is_allowed and self._others(parts) != self._inside:
            raise ChangedMeanwhileError(self.paths[0], 1)

    def _others(self, parts: Parts) -> Contents:
        """Return what is in the folder, without the paths of the call's other steps."""
        top = self.paths[0]
        return {
            path: version
            for path, version in contents_of(parts, top).items()
            if self._changing.isdisjoint(each for each in (path, *path.folders) if each.is_below(top))
        }


class MakeFolderStep(Step):
    """Makes one folder and its missing parents."""

    def __init__(self, path: WorkspacePath, mode: int | None = None) -> None:
        """Prepare to make a folder; None gives it the usual permission bits."""
        super().__init__(path)
        self._path = path
        self._mode = mode

    def look(self, parts: Parts) -> None:
        """Look at the path."""
        require_free(parts, self._path)
        stat = parts.store.stat(self._path)
        if stat is not None and stat.type == "symlink":
            raise SymlinkNotAllowedError(self._path, self._path)
        if stat is not None and stat.type != "directory":
            raise PathExistsError(self._path)
        self._exists = stat is not None

    def decide(self, parts: Parts) -> bool:
        """Return False if it exists."""
        return not self._exists

    def new_folders(self, parts: Parts) -> Sequence[WorkspacePath]:
        """Return the folder and its missing parents."""
        self._missing = (*missing_parents(parts, self._path), self._path)
        return self._missing

    def prepare(self, parts: Parts) -> None:
        """Record its mode."""
        super().prepare(parts)
        self._parents = (*self._parents[:-1], structs.replace(self._parents[-1], mode=self._mode))

    def make_folders(self, parts: Parts) -> None:
        """Make it, with its mode."""
        super().make_folders(parts)
        if self._mode is not None:
            parts.store.set_directory_mode(self._path, self._mode)

    def drafts(self) -> Sequence[Change]:
        """New parents, outermost first, then the folder."""
        return self._parents

    def exchange(self, parts: Parts) -> None:
        """Do nothing: `make_folders` has made it."""

    def set_back(self, parts: Parts) -> None:
        """Do nothing: `remove_folders` removes it."""

    def compensations(self, parts: Parts, number: int) -> Sequence[Change]:
        """Return nothing, as for `set_back`."""
        return ()


class RemoveFolderStep(FolderStep):
    """Moves a folder and everything in it to the trash."""

    def __init__(
        self,
        path: WorkspacePath,
        *,
        recursive: bool,
        inside: int = 0,
        beat: Callable[[int, int], None] = lambda _done, _total: None,
        mode: int | None = None,
        permit: Callable[[], None] | None = None,
        require: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare to remove a folder.

        Args:
            path: The folder.
            recursive: True if it may contain anything.
            inside: About how many entries it contains.
            beat: Called for every entry; may raise to stop.
            mode: Permission bits for its record, if they are not the present ones.
            permit: Raises the refusal, in place of the usual conditions: other steps of the call leave the folder empty,
                or its contents were planned for.
            require: Raises a further refusal after the look.
        """
        super().__init__(path, require=require)
        self._total = 2 * (inside + 1)
        self._beat = beat
        self._path = path
        self.is_recursive = recursive
        self._key = ""
        self._taken: Displaced | None = None
        self._mode = self._former_mode = mode
        self._permit = permit
        self.entries = 0

    def look(self, parts: Parts) -> None:
        """Look at the folder and count its entries."""
        require_folder(parts, self._path)
        refuse_state_below(parts, self._path)
        self._key = require_free(parts, self._path)
        stat = parts.store.stat(self._path)
        self._mode = stat.mode if self._former_mode is None and stat is not None else self._former_mode
        self.entries = 1
        for _ in walk_tree(parts.store, self._path):
            self.entries += 1
            self._beat(min(self.entries, self._total // 2), self._total)
        self._see_inside(parts)

    def decide(self, parts: Parts) -> bool:
        """Refuse a folder that is not empty, unless it is deleted with its contents."""
        if self._permit is not None:
            self._permit()
            return True
        if self.entries > 1 and not self.is_recursive:
            raise DirectoryNotEmptyError(self._path)
        refuse_unsaved_below(parts, self._path, self._key)
        return True

    def prepare(self, parts: Parts) -> None:
        """Sync its contents: recovery restores nothing in the trash, and an undo takes it as it is."""
        half = self._total // 2
        sync_files(parts, self._path, lambda done, total: self._beat(half + half * done // total, self._total))

    def drafts(self) -> Sequence[Change]:
        """Return one record for the whole folder."""
        gone = Change(operation=Operation.DELETE_DIRECTORY, path=self._path, key=self._key, mode=self._mode)
        return (gone,)

    def exchange(self, parts: Parts) -> None:
        """Move it to the trash, named after the record's number; an empty one is just removed."""
        self._require_inside(parts)
        if self.is_recursive:
            self._taken = parts.store.remove(self._path, trash=str(self._number))
        else:
            parts.store.remove_empty_directory(self._path)

    def sync(self, parts: Parts) -> None:
        """Sync its name in the trash first: a power cut must not leave it without one."""
        if self._taken is not None:
            self._taken.sync()
        sync_names(parts, self._path)

    def set_back(self, parts: Parts) -> None:
        """Rename it back."""
        if self._taken is not None:
            self._taken.put_back()
        else:
            parts.store.make_directory(self._path)

    def compensations(self, parts: Parts, number: int) -> Sequence[Change]:
        """Return the record that the folder, and the heads of its files, are there again."""
        change = Change(
            operation=Operation.CREATE_DIRECTORY, path=self._path, key=self._key, applied=True, compensates=number
        )
        return (change,)


class MoveFolder(FolderStep):
    """Moves a folder with everything in it."""

    def __init__(
        self, source: WorkspacePath, destination: WorkspacePath, *, require: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__(source, destination, require=require)
        self._source = source
        self._destination = destination
        self._keys = ("", "")

    def look(self, parts: Parts) -> None:
        """Look at both ends."""
        if self._destination.is_below(self._source):
            raise InvalidArgumentError(f"Cannot move {self._source!r} into itself", path=self._source)
        require_folder(parts, self._source)
        refuse_state_below(parts, self._source)
        self._keys = (require_free(parts, self._source), require_free(parts, self._destination))
        if self._keys[0] != self._keys[1] and parts.store.stat(self._destination) is not None:
            raise PathExistsError(self._destination)
        self._see_inside(parts)

    def decide(self, parts: Parts) -> bool:
        """Return False if it has that name already."""
        return self._source != self._destination

    def _made_path(self) -> WorkspacePath | None:
        """The destination."""
        return self._destination

    def drafts(self) -> Sequence[Change]:
        """Return new parents, then one record for the whole folder."""
        move = Change(
            operation=Operation.MOVE_DIRECTORY,
            path=self._destination,
            key=self._keys[1],
            old_path=self._source,
            old_key=self._keys[0],
        )
        return (*self._parents, move)

    def exchange(self, parts: Parts) -> None:
        """Rename."""
        self._require_inside(parts)
        parts.store.move(self._source, self._destination)

    def sync(self, parts: Parts) -> None:
        """Sync the new name first: a power cut must not leave it without one."""
        sync_names(parts, self._destination, self._source)

    def set_back(self, parts: Parts) -> None:
        """Rename back."""
        parts.store.move(self._destination, self._source)

    def compensations(self, parts: Parts, number: int) -> Sequence[Change]:
        """Return the record that sets the heads below back to their former names."""
        change = Change(
            operation=Operation.MOVE_DIRECTORY,
            path=self._source,
            key=self._keys[0],
            old_path=self._destination,
            old_key=self._keys[1],
            applied=True,
            compensates=number,
        )
        return (change,)


def require_folder(parts: Parts, path: WorkspacePath) -> None:
    """Raise unless a folder is there.

    Raises:
        DirectoryNotFoundError, PathNotDirectoryError, SymlinkNotAllowedError
    """
    require_parent(parts, path)
    stat = parts.store.stat(path)
    if stat is None:
        raise DirectoryNotFoundError(path)
    if stat.type == "symlink":
        raise SymlinkNotAllowedError(path, path)
    if stat.type != "directory":
        raise PathNotDirectoryError(path)


def refuse_state_below(parts: Parts, path: WorkspacePath) -> None:
    """Raise HoldsStateError if a journal is in a folder: it must not be removed or moved while it is used."""
    if (state := parts.store.state_below(path)) is not None:
        raise HoldsStateError(path, state)


def require_free(parts: Parts, path: WorkspacePath) -> str:
    """Return the key of a path.

    Raises:
        HeadMovedError: A move or deletion of a folder above it waits to be finished.
    """
    key = parts.workspace.key(path)
    if parts.view(key).blocked:
        raise HeadMovedError(path)
    return key
