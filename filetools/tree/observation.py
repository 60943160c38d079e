"""Compares the disk with the rows of the tree, and records what other programs did."""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct, structs

from filetools.errors import (
    AccessDeniedError,
    ChangedMeanwhileError,
    DirectoryNotFoundError,
    FileBusyError,
    FileToolsError,
    PathNotDirectoryError,
    SymlinkNotAllowedError,
)  # fmt: skip
from filetools.journal.tree_rows import Identity, TreeRow
from filetools.models.records import Operation
from filetools.paths.names import escaped
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.stores.store import FileStat
from filetools.tree.hints import FolderId, Names, join
from filetools.tree.moves import (
    ObservationContext,
    Replaced,
    is_same_folder,
    new_file_id,
    news_in,
    record_move,
    source_of,
    take_next_replaced,
)
from filetools.tree.reading import (
    UNSETTLED,
    SeenContent,
    file_size,
    is_text,
    read_content,
    spelled,
    stat_if_any,
)

MOST_LOOKS: Final = 100
"""Most looks at the same names in one observation; beyond that the tree changes faster than it can be read."""
_REMOVALS: Final = {"directory": Operation.DELETE_DIRECTORY, "symlink": Operation.LINK, "file": Operation.DELETE}
_CREATIONS: Final = {"directory": Operation.CREATE_DIRECTORY, "symlink": Operation.LINK, "file": Operation.CREATE}


class Scope(Struct, frozen=True, kw_only=True):
    """Something that an observation looks at."""

    path: WorkspacePath
    names: Names
    deep: bool = False
    """True to look at its known folders, too; new ones are always looked at."""
    is_call: bool = False
    """True if a call named it: then ignore rules do not count, and new folders are looked at later."""
    folder: FolderId | None = None
    """The folder, if it is meant rather than its path."""
    was_led: bool = False
    """True if its own folder was looked at just before."""
    was_delayed: bool = False
    """True if it waited until exchanges at the folders above were recorded."""


class Observation:
    """One comparison, within one transaction of the writer.

    Attributes:
        again: Names to look at once more, by folder: what is very young, or may only be on its way to another name.
        later: Names to look at after some time: what is being written.
        new_folders: Paths of new or moved folders; they are to be watched.
        unread: Paths that could not be read.
        unnamed: Names that no call can address, such as those that are not UTF-8; escaped.
        busy: Paths that another program is writing now.
        missing: Keys that the next patient look treats as doubtful.
        left: Parts of the whole tree that there was no time for.
    """

    def __init__(
        self, context: ObservationContext, doubtful: frozenset[str] = frozenset(), *, seconds: float = math.inf
    ) -> None:
        """Begin.

        Args:
            context: Where to look, and where to write what is found.
            doubtful: Keys that were missing at the last patient look: if missing again, they are deleted.
            seconds: Time after which a patient look enters no further folder that is new, or of the whole tree.
        """
        self._context = context
        self._rows = context.rows
        self._doubtful = doubtful
        self._seconds, self._is_whole = seconds, False
        self._deadline = time.monotonic() + seconds
        self._waiting: deque[Scope] = deque()
        self._gone: dict[str, TreeRow] = {}
        self._replaced: list[Replaced] = []
        self._later: list[Scope] = []
        self._listed: set[FolderId] = set()
        self.again: dict[FolderId, Names] = {}
        self.later: dict[FolderId, Names] = {}
        self.new_folders: list[WorkspacePath] = []
        self.unread: list[str] = []
        self.unnamed: list[str] = []
        self.busy: list[str] = []
        self.missing: frozenset[str] = frozenset()
        self.left: Sequence[Scope] = ()

    def whole_tree(self, left: Iterable[Scope] = (), *, patient: bool = False) -> None:
        """Compare everything that is not left out, and what is left out but was recorded before; see `hinted`.

        Args:
            left: What an earlier observation had no time for; empty for the whole tree.
            patient: True if a missing name counts as deleted only when the next look misses it, too.
        """
        self._waiting += left or [Scope(path=ROOT, names=None, deep=True)]
        self._deadline = time.monotonic() + self._seconds
        self._work(patient=patient, is_whole=True)

    def hinted(self, folders: Mapping[FolderId, Names]) -> None:
        """Compare the hinted names patiently: a missing name counts as deleted when the next look misses it, too."""
        self._waiting += sorted(
            (Scope(path=WorkspacePath(row.path), names=names, folder=folder)
             for folder, names in folders.items() for row in self._rows.by_inode(*folder)[:1]),
            key=lambda item: item.path,
        )  # fmt: skip
        self._work(patient=True)

    def named(self, paths: Iterable[WorkspacePath]) -> None:
        """Compare the paths that a call names, which count as deleted at once if they are gone.

        Raises:
            ChangedMeanwhileError: The folders above one of them keep moving.
        """
        by_folder: dict[WorkspacePath, set[str]] = {}
        for path in paths:
            by_folder.setdefault(path.parent, set()).add(path.name)
        self._waiting += [Scope(path=each, names=frozenset(names), is_call=True) for each, names in by_folder.items()]
        self._work(patient=False)

    # -- looking -----------------------------------------------------------------------------------------------------

    def _work(self, *, patient: bool, is_whole: bool = False) -> None:
        looks: Counter[tuple[str, Names]] = Counter()
        self._is_whole = is_whole
        self._listed.clear()
        while self._waiting:
            while self._waiting:
                if is_whole and patient and looks and time.monotonic() > self._deadline:
                    self.left = (*self.left, *self._waiting)
                    self._waiting.clear()
                    break
                item = self._waiting.popleft()
                path = self._place_of(item)
                if path is None:
                    continue  # the folder is gone, and so it was recorded when its parent was looked at
                looks[path, item.names] += not item.is_call  # those are few, or look above one folder of many
                if looks[path, item.names] > MOST_LOOKS:
                    self._waiting.clear()
                    raise ChangedMeanwhileError(path, MOST_LOOKS)
                row = self._rows.at(path)
                if path.is_root or (row is not None and row.kind == "directory"):
                    self._look_into(item, path, row)
                else:
                    self._lead_up(item, path)
            while self._replaced:
                self._replace(*take_next_replaced(self._rows, self._replaced))
            # What replaced something else is known now, and can be looked into.
            self._waiting += self._later
            self._later.clear()
        self._take_away(patient=patient)

    def _place_of(self, item: Scope) -> WorkspacePath | None:
        """Return where the item's folder is now: one that is known by its inode may have moved since."""
        if item.folder is None or item.path.is_root:
            return item.path
        found = [row for row in self._rows.by_inode(*item.folder) if row.kind == "directory"]
        return WorkspacePath(found[0].path) if found else None

    def _look_into(self, item: Scope, path: WorkspacePath, row: TreeRow | None) -> None:
        try:
            own, found = self._context.store.look_into(path, item.names)
            if item.names is not None:
                found = spelled(self._context.store, path, found, self._rows.key_of)
        except (DirectoryNotFoundError, PathNotDirectoryError, SymlinkNotAllowedError):
            if path.is_root:
                raise
            self._lead_up(item, path)
            return
        except FileToolsError as exc:
            if path.is_root and not isinstance(exc, AccessDeniedError):
                raise
            self.unread.append(path)  # also on a broken disk, or at a dead mount
            return
        if row is None:  # the root, looked at for the first time
            row = TreeRow(key="", path="", kind="directory", file=new_file_id(), mode=own.mode, identity=own.identity)
            self._rows.put((row,))
            self.new_folders.append(path)
        elif row.identity is None or row.identity[:2] != own.identity[:2]:
            if not path.is_root:
                self._lead_up(item, path)
                return
            if row.identity is not None and row.identity[1] == own.inode:
                # Some file systems have another device number after a reboot.
                self._rows.move_device(row.identity[0], own.device)
            self._rows.put((structs.replace(row, identity=own.identity),))
        path = WorkspacePath(row.path)  # as the disk spells it
        if item.names is None:
            self._listed.add(own.identity[:2])
        newest = len(self._context.found.records)
        known, names = news_in(self._rows, row, item.names, found, self._gone)
        for name in sorted(names):
            if "\\" in name or not is_text(name):  # no call can name it
                self.unnamed.append(escaped(path.child(name)))
                continue
            key = self._rows.key_of(path.child(name))
            at = known.pop(key, None)
            if len(self._context.found.records) > newest:
                at = self._rows.get(key)  # what came to another name of this folder may have been moved from this one
            self._meet(item, path.child(name), found[name], at if at is not None and at.is_there else None)
        self._gone.update(known)

    def _lead_up(self, item: Scope, path: WorkspacePath) -> None:
        """Look at the parent first: the folder is unknown or gone, or another one has its name."""
        if not item.was_led:
            self._waiting.appendleft(structs.replace(item, was_led=True))
            self._waiting.appendleft(Scope(path=path.parent, names=frozenset((path.name,)), is_call=True))
        elif not item.was_delayed:
            self._later.append(structs.replace(item, was_delayed=True))
        elif item.folder is not None:
            self.again[item.folder] = None
        # Else the names that a call asked for are gone with their folder.

    def _meet(self, item: Scope, path: WorkspacePath, stat: FileStat, row: TreeRow | None) -> None:
        """Compare the entry at a path with its row."""
        self._gone.pop(self._rows.key_of(path), None)
        if stat.type == "other":
            if row is not None:
                self._gone[row.key] = row
            return
        is_folder = stat.type == "directory"
        if row is not None and not self._rows.is_settled(row):
            self._look_again(path, self.later)  # what a dead process, or a power cut, left there is to be settled first
        elif row is None:
            if item.is_call or not self._is_unrecorded(path, is_folder, self._rows.at(path)):
                self._come(item, path, stat)
        elif row.kind != stat.type or (
            is_folder and row.identity is not None and row.identity[:2] != stat.identity[:2]
        ):
            self._replaced.append((path, stat))
        elif is_folder:
            is_unseen = row.identity is None  # filetools has made it, or restored it
            if is_unseen or row.mode != stat.mode:
                row = structs.replace(row, identity=stat.identity, mode=stat.mode)
                self._rows.put((row,))
            if row.path != path:
                row = self._move(row, path, stat)
            if is_unseen and item.is_call:
                self.again[stat.identity[:2]] = None
            if item.is_call:
                return
            if is_unseen:
                self._arrive(path)
                return
            # Another process may have found it: this one does not watch it yet.
            self.new_folders.append(path)
            if item.deep and stat.identity[:2] not in self._listed:
                self._descend(row)
        elif row.identity != stat.identity:
            self._compare(row, path, stat)

    def _is_unrecorded(self, path: str, is_folder: bool, row: TreeRow | None) -> bool:
        """True if ignore rules leave out a path, and it was never reported to listeners: a call may only have looked at it."""
        return (row is None or row.number == 0) and self._context.is_left_out(path, is_folder)

    def _descend(self, row: TreeRow) -> None:
        names: Names = None
        if self._context.is_left_out(row.path, True):
            names = frozenset(each.path.rpartition("/")[2] for each in self._rows.children(row.key))
        self._waiting.append(Scope(path=WorkspacePath(row.path), names=names, deep=True))

    # -- arrivals ----------------------------------------------------------------------------------------------------

    def _come(self, item: Scope, path: WorkspacePath, stat: FileStat) -> None:
        """Record what arrived at a free path: a move if its inode is known and no longer at its old path."""
        source = self._source_of(path, stat)
        if source is not None:
            self._move(source, path, stat)
        elif not self._create(path, stat, item):
            return
        if stat.type == "directory":
            if not item.is_call or source is not None:
                self._arrive(path)
            else:
                self.new_folders.append(path)
                self.again[stat.identity[:2]] = None

    def _arrive(self, path: WorkspacePath) -> None:
        """Look at all of a folder that is new at its path."""
        self.new_folders.append(path)
        if self._is_whole or time.monotonic() < self._deadline:
            self._waiting.append(Scope(path=path, names=None, deep=True))
        elif (row := self._rows.at(path)) is not None and row.identity is not None:
            self.again[row.identity[:2]] = None

    def _create(self, path: WorkspacePath, stat: FileStat, item: Scope) -> bool:
        rows, key = self._rows, self._rows.key_of(path)
        former = rows.get(key)
        file = new_file_id() if former is None else former.file
        was_left_out = item.is_call and self._is_unrecorded(path, stat.type == "directory", former)
        is_recorded = (former is not None and former.number > 0) or (
            self._context.knows_all and not was_left_out and not self._context.is_overlooked(path, stat)
        )
        version, identity, number = None, stat.identity, 0
        if stat.type != "directory" and (is_recorded or stat.type == "symlink"):
            seen = self._read(path, stat)
            if seen is None:
                return False
            stat, version, identity = seen.stat, seen.digest, seen.identity
            if stat.links > 1:
                self._look_at_links(path, identity)
        if is_recorded:
            kind, size = _CREATIONS[stat.type], file_size(stat)
            number = self._context.found.add(kind, path, key, after=version, size=size, mode=stat.mode)
        row = TreeRow(key=key, path=path, kind=stat.type, file=file, version=version, mode=stat.mode, number=number)
        rows.put((structs.replace(row, identity=identity),))
        return True

    def _source_of(self, path: WorkspacePath, stat: FileStat) -> TreeRow | None:
        source = source_of(self._rows, self._context.store, path, stat)
        if source is None or self._is_unrecorded(source.path, source.kind == "directory", source):
            return None
        return source

    def _move(self, row: TreeRow, path: WorkspacePath, stat: FileStat) -> TreeRow:
        """Record a move, and return the new row."""
        moved = record_move(self._rows, self._context.found, row, path, stat)
        self._gone.pop(row.key, None)
        if moved.kind == "directory":
            below = self._rows.below(moved.key)
            self.new_folders += [WorkspacePath(each.path) for each in below if each.kind == "directory"]
        elif moved.identity is not None and moved.identity[4] == UNSETTLED:
            self._look_again(path)
        return moved

    def _compare(self, row: TreeRow, path: WorkspacePath, stat: FileStat) -> None:
        """Read a file or link whose identity has changed, and record it if its bytes or mode have."""
        if row.path != path:
            row = self._move(row, path, stat)
        was_read = row.version is not None or self._context.knows_all
        if row.number == 0 and (not was_read or self._is_unrecorded(row.path, False, row)):
            self._rows.put((structs.replace(row, version=None, mode=stat.mode, identity=stat.identity),))
            return  # found, and not read yet
        seen = self._read(path, stat)
        if seen is None:
            return
        self._look_at_links(row.path, row.identity)
        if stat.links > 1:
            self._look_at_links(row.path, stat.identity)
        number = row.number
        if seen.digest != row.version or row.mode not in (None, seen.stat.mode):
            kind = Operation.LINK if row.kind == "symlink" else Operation.MODIFY
            number = self._context.found.add(
                kind, row.path, row.key, before=row.version, after=seen.digest, size=file_size(seen.stat),
                mode=seen.stat.mode,
            )  # fmt: skip
        new = structs.replace(row, version=seen.digest, mode=seen.stat.mode, identity=seen.identity, number=number)
        self._rows.put((new,))

    def _read(self, path: WorkspacePath, stat: FileStat) -> SeenContent | None:
        """Read and keep the bytes of a file, or the target of a link; None if it must be read later."""
        if stat.type == "file" and stat.size > self._context.largest_read_bytes:
            self.unread.append(path)
            return None
        try:
            seen = read_content(self._context.store, path, stat, self._context.largest_kept_bytes)
        except FileBusyError:
            self.busy.append(path)
            # The kernel reports the close before it counts the file as closed, so the next hint may never come.
            self._look_again(path, self.later)
            return None
        except AccessDeniedError:
            self.unread.append(path)
            return None
        except FileToolsError:  # gone, or of another kind by now: the next look finds it
            self._look_again(path)
            return None
        if seen.content is not None:
            self._context.contents.keep_inside(seen.digest, seen.content)
        if seen.identity[4] == UNSETTLED:
            self._look_again(path)
        return seen

    def _look_at_links(self, path: str, identity: Identity | None) -> None:
        """Look again at all other names of a file: writing through one gives no hint at the folders of the others."""
        for row in self._rows.by_inode(*identity[:2]) if identity is not None else ():
            if row.path != path and row.kind == "file":  # a copied root has other inodes
                self._look_again(WorkspacePath(row.path))

    def _look_again(self, path: WorkspacePath, when: dict[FolderId, Names] | None = None) -> None:
        folder = self._rows.at(path.parent)
        if folder is not None and folder.identity is not None:
            join(self.again if when is None else when, {folder.identity[:2]: frozenset((path.name,))})

    def _replace(self, path: WorkspacePath, stat: FileStat) -> None:
        """Record that something of another kind, or another folder, is at a path, after all plain arrivals.

        A follower of the log must not lose what still exists: an entry that was here and is elsewhere now moves there first.
        """
        row, now = self._rows.at(path), stat_if_any(self._context.store, path)
        if row is None or (row.kind == stat.type and (row.identity or ())[:2] == stat.identity[:2]):
            return  # a folder above has moved, and is looked at there; or this was recorded with what changed places with it
        if now is None or now.identity[:2] != stat.identity[:2]:
            self._look_again(path)  # it changed once more
            return
        source = self._source_below(row, path, stat)
        row = self._rows.get(row.key) or row  # absent if it has moved to a name that it was exchanged with
        if source is None and is_same_folder(self._context, row, path, stat):
            # The same folder with another inode, as drivers make them up, or one in its place with the same names.
            self._rows.put((structs.replace(row, identity=stat.identity, mode=stat.mode),))
            self._arrive(path)
            return
        if source is None or not source.key.startswith(f"{row.key}/"):
            self._forget(row)
        if source is None:
            self._come(Scope(path=path.parent, names=None, deep=True), path, stat)
            return
        gone: list[TreeRow] = []
        for below in reversed(self._rows.below(row.key)):
            if source.key.startswith(f"{below.key}/"):
                gone.append(structs.replace(below, kind="absent", identity=None))
            elif not f"{below.key}/".startswith(f"{source.key}/"):
                self._forget(below)
        # Before the move, which replaces them, too: what comes with it may have the same names.
        self._rows.put(gone)
        self._move(source, path, stat)
        if stat.type == "directory":
            self._arrive(path)

    def _source_below(self, row: TreeRow, path: WorkspacePath, stat: FileStat) -> TreeRow | None:
        """Return the row of what arrived at a path from elsewhere, after moving away what changed places with it."""
        source = self._source_of(path, stat)
        if source is None or row.identity is None or source.path.startswith(f"{row.path}/"):
            return source
        other = stat_if_any(self._context.store, WorkspacePath(source.path))
        if other is None or other.identity[:2] != row.identity[:2]:
            return source
        # Two names were exchanged. One of them is recorded as removed and made anew.
        self._forget(source)
        self._move(row, WorkspacePath(source.path), other)
        if other.type == "directory":
            self._arrive(WorkspacePath(source.path))
        return None

    def _take_away(self, *, patient: bool) -> None:
        """Record what is gone, a folder with all below it."""
        gone, self._gone = self._gone, {}
        for key in sorted(gone):
            row = self._rows.get(key)
            if row is None or not row.is_there or not self._rows.is_settled(row) or row.file != gone[key].file:
                continue  # recorded with a folder above it, or something else has moved there
            if patient and row.key not in self._doubtful:
                self.missing |= {row.key}
                self._look_again(WorkspacePath(row.path))
                continue
            self._forget(row)

    def _forget(self, row: TreeRow) -> None:
        """Record that an entry is gone, a folder with all below it."""
        number = row.number
        below = self._rows.below(row.key) if row.kind == "directory" else []
        if row.is_there and self._is_unrecorded(row.path, row.kind == "directory", row):
            for each in reversed(below):
                self._forget(each)
            below = []
        elif row.is_there:
            kind, before = _REMOVALS.get(row.kind, Operation.DELETE), row.version
            number = self._context.found.add(kind, row.path, row.key, before=before, mode=row.mode)
        self._rows.put((structs.replace(row, kind="absent", identity=None, number=number),))
        for each in (row, *below):
            if each.kind == "file":
                self._look_at_links(each.path, each.identity)
