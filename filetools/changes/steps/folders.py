"""Steps that make, delete and move folders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from typing import Final

from msgspec import Struct

from filetools.changes.parts import Parts
from filetools.changes.steps.look import missing_parents, require_parent
from filetools.changes.steps.step import Step
from filetools.changes.steps.unsaved import refuse_unsaved_below
from filetools.errors import (
    ChangedMeanwhileError,
    DirectoryNotEmptyError,
    DirectoryNotFoundError,
    FileToolsError,
    HoldsStateError,
    InvalidArgumentError,
    PathExistsError,
    PathNotDirectoryError,
    SymlinkNotAllowedError,
)
from filetools.journal.commit import HeadMovedError
from filetools.journal.records import Change
from filetools.models.records import EXTERNAL, Operation
from filetools.models.words import EntryType
from filetools.paths.protected import matches_protected
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.walk import walk_tree
from filetools.stores.private import state_below
from filetools.stores.store import FileStat
from filetools.writer.file_sync import sync_files

FOLDER: Final = "directory"

Contents = Mapping[WorkspacePath, str]
"""Of every file below a folder its type, size and times, by path; `FOLDER` for folders."""


class FolderStep(Step):
    """A step that moves or deletes a folder with everything in it."""

    def __init__(self, *paths: WorkspacePath, require: Callable[[], None] = lambda: None) -> None:
        super().__init__(*paths)
        self._require_more = require
        self._inside: Contents = {}
        self._changing: Set[WorkspacePath] | None = None

    def be_allowed(self, paths: frozenset[WorkspacePath]) -> None:
        """At the exchange refuse entries that the look did not see, other than those of steps about `paths`."""
        self._changing = paths

    def _see_inside(self, parts: Parts) -> None:
        self._require_more()
        self._inside = self._others(parts)

    def _require_inside(self, parts: Parts) -> None:
        if self._others(parts) != self._inside:
            raise ChangedMeanwhileError(self.path, 1)

    def _others(self, parts: Parts) -> Contents:
        """Return the contents of the folder, if a person has approved them, except what other steps of the call change."""
        top, changing = self.path, self._changing
        if changing is None:
            return {}
        return {
            path: version
            for path, version in contents_of(parts, top).items()
            if changing.isdisjoint(each for each in (path, *path.folders) if each.is_below(top))
        }


class MakeFolderStep(Step):
    """Makes one folder."""

    def __init__(self, path: WorkspacePath, mode: int | None = None, *, key: str = "") -> None:
        """Make a folder.

        Args:
            path: The folder.
            mode: Permission bits; None for the default ones.
            key: Key of the path, for a folder that another step needs, at which nobody looks again.
        """
        super().__init__(path)
        self._mode = mode
        self._key = key
        self._is_made = False

    def look(self, parts: Parts) -> None:
        """Look at the path; raises if something other than a folder is there."""
        self._key = require_free(parts, self.path)
        stat = parts.store.stat(self.path)
        if stat is not None and stat.type == "symlink":
            raise SymlinkNotAllowedError(self.path, self.path)
        if stat is not None and stat.type != "directory":
            raise PathExistsError(self.path)
        self._exists = stat is not None

    def decide(self, parts: Parts) -> bool:
        """Return False if the folder exists."""
        self.missing = () if self._exists else missing_parents(parts, self.path)
        return not self._exists

    def prepare(self, parts: Parts) -> None:
        """Fail where the outermost folder cannot be made."""
        parts.store.prepare((*self.missing, self.path)[0], b"", new=True).discard()

    def drafts(self) -> Sequence[Change]:
        """Return one record."""
        change = Change(operation=Operation.CREATE_DIRECTORY, path=self.path, key=self._key, mode=self._mode)
        return (change,)

    def exchange(self, parts: Parts) -> None:
        """Make the folder, unless another program has just made it, and set its mode."""
        self._is_made = parts.store.make_directory(self.path)
        try:
            if self._mode is not None:
                parts.store.set_mode(self.path, self._mode, directory=True)
        except BaseException:
            self.set_back(parts)
            raise

    def set_back(self, parts: Parts) -> None:
        """Remove the folder if this step made it, unless somebody has put something in it."""
        if self._is_made:
            with suppress(FileToolsError):
                parts.store.remove_empty_directory(self.path)


class RemoveFolderStep(FolderStep):
    """Moves a folder and everything in it from the tree to the trash."""

    def __init__(
        self,
        path: WorkspacePath,
        *,
        recursive: bool,
        inside: int = 0,
        report_progress: Callable[[int, int], None] = lambda _done, _total: None,
        mode: int | None = None,
        permit: Callable[[], None] | None = None,
        require: Callable[[], None] = lambda: None,
    ) -> None:
        """Remove a folder.

        Args:
            path: The folder.
            recursive: True if the folder may have contents.
            inside: Estimated number of entries in it, for progress.
            report_progress: Called for each entry; may raise to stop.
            mode: Permission bits to record; None records the current ones.
            permit: Replaces the usual conditions, and raises to refuse: for callers whose other steps empty the folder, or
                who have planned for its contents.
            require: Called after the look; raises to refuse.
        """
        super().__init__(path, require=require)
        self._total = 2 * (inside + 1)
        self._report_progress = report_progress
        self.is_recursive = recursive
        self._key = ""
        self.unsynced = (path.parent,)
        self._mode = mode
        self._permit = permit
        self.entries = 0

    def look(self, parts: Parts) -> None:
        """Check the folder and count its entries."""
        self._stat = require_folder(parts, self.path)
        refuse_state_below(parts, self.path)
        self._key = require_free(parts, self.path)
        self.entries = 1
        for _ in walk_tree(parts.store, self.path):
            self.entries += 1
            self._report_progress(min(self.entries, self._total // 2), self._total)
        self._see_inside(parts)

    def decide(self, parts: Parts) -> bool:
        """Refuse a folder that is not empty, unless `recursive`, or that has unsaved text in it."""
        if self._permit is not None:
            self._permit()
            return True
        if self.entries > 1 and not self.is_recursive:
            raise DirectoryNotEmptyError(self.path)
        refuse_unsaved_below(parts, self.path, self._key)
        return True

    def prepare(self, parts: Parts) -> None:
        """Sync the contents: recovery does not repair files in the trash, and an undo restores them as they are."""
        half = self._total // 2
        sync_files(
            parts.workspace,
            parts.store,
            parts.journal,
            self.path,
            lambda done, total: self._report_progress(half + half * done // total, self._total),
        )

    def drafts(self) -> Sequence[Change]:
        """Return one record for the whole folder."""
        mode = self._stat.mode if self._mode is None else self._mode
        gone = Change(operation=Operation.DELETE_DIRECTORY, path=self.path, key=self._key, mode=mode)
        return (gone,)

    def exchange(self, parts: Parts) -> None:
        """Rename the folder into the trash, named by the record's number; without `recursive`, remove the empty folder."""
        self._require_inside(parts)
        if self.is_recursive:
            self._trashed = parts.store.remove(self.path, trash=str(self._number))
        else:
            parts.store.remove_empty_directory(self.path)

    def set_back(self, parts: Parts) -> None:
        """Rename the folder back, or make the empty one again."""
        if self._trashed is not None:
            self._trashed.put_back()
            if self._trashed.temporary:  # another program has put something in its place
                self._keep_displaced(parts)
        elif parts.store.make_directory(self.path):
            parts.store.set_mode(self.path, self._stat.mode, directory=True)

    def _keep_displaced(self, parts: Parts) -> None:
        """Keep the files that another program has put in the folder's place as versions; the rest stays in the trash."""
        displaced = parts.store.trashed(self.path, str(self._number))
        for relative, stat in displaced.entries():
            path = WorkspacePath(f"{self.path}/{relative}" if relative else self.path)
            if stat.type == "file" and parts.workspace.is_addressable(path):
                parts.journal.keep_aside(path, parts.workspace.key(path), displaced.read(relative), EXTERNAL)


class MoveFolder(FolderStep):
    """Moves a folder with everything in it."""

    def __init__(
        self, source: WorkspacePath, destination: WorkspacePath, *, require: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__(source, destination, require=require)
        self._source = source
        self._destination = destination
        self._keys = ("", "")
        self.unsynced = (destination.parent, source.parent)

    def look(self, parts: Parts) -> None:
        """Check the source and the destination."""
        if self._destination.is_below(self._source):
            raise InvalidArgumentError(f"Cannot move {self._source!r} into itself", path=self._source)
        require_folder(parts, self._source)
        refuse_state_below(parts, self._source)
        self._keys = (require_free(parts, self._source), require_free(parts, self._destination))
        if self._keys[0] != self._keys[1] and parts.store.stat(self._destination) is not None:
            raise PathExistsError(self._destination)
        self._see_inside(parts)

    def decide(self, parts: Parts) -> bool:
        """Return False if the folder already has that name."""
        self.missing = missing_parents(parts, self._destination)
        return self._source != self._destination

    def drafts(self) -> Sequence[Change]:
        """Return one record for the whole folder."""
        move = Change(
            operation=Operation.MOVE_DIRECTORY,
            path=self._destination,
            key=self._keys[1],
            old_path=self._source,
            old_key=self._keys[0],
        )
        return (move,)

    def exchange(self, parts: Parts) -> None:
        """Rename the folder."""
        self._require_inside(parts)
        parts.store.move(self._source, self._destination)

    def set_back(self, parts: Parts) -> None:
        """Rename the folder back."""
        parts.store.move(self._destination, self._source)


def require_folder(parts: Parts, path: WorkspacePath) -> FileStat:
    """Return the facts of a folder; raises unless it is one.

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
    return stat


def refuse_state_below(parts: Parts, path: WorkspacePath) -> None:
    """Raise HoldsStateError if a folder contains a state directory, which must not move or vanish while it is used.

    In a transaction it is looked for at the exit.
    """
    if not parts.is_inner and (state := state_below(parts.store, path)) is not None:
        raise HoldsStateError(path, state)


def require_free(parts: Parts, path: WorkspacePath) -> str:
    """Return the key of a path.

    Raises:
        HeadMovedError: A move or deletion of a folder above it is unfinished.
    """
    key = parts.workspace.key(path)
    if parts.view(key).blocked:
        raise HeadMovedError(path)
    return key


class PathSurvey(Struct, frozen=True, kw_only=True):
    """What is at a path."""

    kind: EntryType | None
    """None if nothing is there."""
    protected: tuple[WorkspacePath, ...]
    """Protected paths inside, each of which needs an approval of its own, and hidden ones that a move would reveal."""
    count: int = 0
    """Number of entries below it."""


def survey(parts: Parts, path: WorkspacePath, destination: WorkspacePath | None = None) -> PathSurvey:
    """Return what is at a path and, if it is a folder, below it.

    Args:
        parts: The workspace.
        path: What may be deleted or moved.
        destination: Where it may move to; paths that are protected there count, too.
    """
    stat = parts.store.stat(path)
    if stat is None or stat.type != "directory":
        return PathSurvey(kind=None if stat is None else stat.type, protected=())
    patterns, is_hidden = parts.settings.protected_paths, parts.gatekeeper.policy.is_hidden
    inside = [below for below, _ in walk_tree(parts.store, path)]
    targets = [] if destination is None else [moved(below, path, destination) for below in inside]
    protected = [each for each in (*inside, *targets) if matches_protected(each, patterns)]
    # A move must not reveal a hidden path.
    moves = zip(inside, targets, strict=False)  # without a destination there are none
    protected += [before for before, after in moves if is_hidden(before) and not is_hidden(after)]
    return PathSurvey(kind="directory", protected=tuple(protected), count=len(inside))


def moved(path: WorkspacePath, folder: WorkspacePath, destination: WorkspacePath) -> WorkspacePath:
    """Return where a path in a folder, or the folder itself, is after the folder has moved."""
    return WorkspacePath(destination + path[len(folder) :])


def contents_of(parts: Parts, path: WorkspacePath) -> Contents:
    """Return what an approval to delete or move a file or folder is bound to; empty if nothing is there."""
    top = parts.store.stat(path)
    inside = walk_tree(parts.store, path) if top is not None and top.type == "directory" else ()
    found: dict[WorkspacePath, str] = {}
    for each in (path, *(below for below, _ in inside)):
        stat = parts.store.stat(each)
        if stat is not None:
            # Without the inode, which some drivers make up; a rename and every other change set the last time.
            facts = (stat.type, stat.size, stat.modified_ns, stat.changed_ns)
            found[each] = FOLDER if stat.type == "directory" else "-".join(map(str, facts))
    return found
