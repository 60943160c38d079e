"""A look at the whole tree: what differs from the index is read, and journaled as changes of other programs.

Names and facts of everything are compared with the rows of the tree, as git does with its index; what nobody has recorded
before gets its first version. The same recorder works as behind the watcher: a look only says where to look.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from msgspec import Struct

from filetools.content.identity_cache import CLOCK_TICK_NS, is_settled
from filetools.content.version import version_of
from filetools.errors import (
    DirectoryNotFoundError,
    FileTooLargeError,
    FileToolsError,
    NotRegularFileError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
    SymlinkNotAllowedError,
)
from filetools.facade.foreign import ForeignRecorder
from filetools.facade.look import hashed
from filetools.facade.parts import Parts
from filetools.facade.tree_memory import Memory, NewestSnapshot, RememberedFolder, TreeLook, no_rows, recalled
from filetools.journal.plain_rows import PlainRows
from filetools.journal.tree_index import IndexRow, Looked
from filetools.paths.ignore import IGNORE_FILE
from filetools.paths.patterns import ExcludeRules
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.survey import TreeSurvey
from filetools.stores.reading import stat_of
from filetools.stores.store import Facts, FileStat
from filetools.watch.hints import Hint

MOST_PASSES: Final = 5
"""How often the tree is looked at until a look finds nothing that it has not told."""
PAUSE_SECONDS: Final = 0.02


class TreeLooker:
    """Looks at the whole tree. One an opened workspace; looks come one after the other.

    Args:
        parts: The workspace.
        rules: What is never looked at.
        recorder: Records what other programs have done; nobody else may use it.
        check_open: Raises if the workspace was closed: a look ends with it.
    """

    def __init__(
        self, parts: Parts, rules: ExcludeRules, recorder: ForeignRecorder, check_open: Callable[[], None]
    ) -> None:
        self._parts = parts
        self._rules = rules
        self._recorder = recorder
        self._check_open = check_open
        self._survey = TreeSurvey(parts.store, rules)
        self._memory: Memory | None = None
        self._snapshots = NewestSnapshot()
        self._lock = asyncio.Lock()

    async def look(self) -> TreeLook:
        """Look until nothing is new, at most five times; returns what stands."""
        async with self._lock:
            stirred: Mapping[str, set[str]] | None = None
            began = time.time()
            for number in range(MOST_PASSES):
                given = (self._parts, self._rules, self._survey, self._memory, self._check_open)
                comparison = _Comparison(*given, began, stirred)
                self._memory = None  # of a look that does not come to its end nothing is left
                seen = await self._parts.crew.run(comparison.run)
                self._memory = comparison.memory
                seen.snapshots = self._snapshots
                if not seen.hints:
                    return seen
                stirred = _names_of(seen.hints)
                again = await self._recorder.record(seen.hints)
                if again:
                    await self._recorder.record(again)
                if number:
                    await asyncio.sleep(PAUSE_SECONDS)
            seen.moving = [hint.path for hint in seen.hints]
            return seen


class _Met(Struct, frozen=True):
    """What was compared on its own, and not with all of its folder."""

    row: IndexRow
    stat: FileStat
    folder: RememberedFolder | None
    """None of what the walk has left out."""


class _Comparison:
    """The tree against the known rows, in a worker thread. Lives for one pass.

    Folders in which nothing differs from what the look before has met are taken as a whole; what differs, and what that
    look could not settle, is compared one by one. Only the first pass of a look reads all folders; the others look at the names
    of which the pass before had something to tell (`stirred`, by folder; None is everything), and at those with records since.
    """

    def __init__(
        self,
        parts: Parts,
        rules: ExcludeRules,
        survey: TreeSurvey,
        memory: Memory | None,
        check_open: Callable[[], None],
        began: float,
        stirred: Mapping[str, set[str]] | None = None,
    ) -> None:
        self._parts = parts
        self._rules = rules
        self._survey = survey
        self._check_open = check_open
        self._began = began
        self._stirred = stirred
        self.memory = memory
        """What the next look may rely on."""

    def run(self) -> TreeLook:
        """Compare, and write what was learnt."""
        parts = self._parts
        parts.journal.marks.flush()
        self._looked = parts.journal.tree_index.looked()
        self._seen = TreeLook(position=parts.journal.position(), began=self._began)
        self._before = recalled(parts, self.memory, self._seen.position)
        self._known = self._before.known
        self._met: dict[str, _Met] = {}
        self._changed: dict[str, IndexRow] = {}
        self._closed: set[str] = set()
        rows, folders = self._walk()
        self._lacking = self._before.lacking_in(rows)
        self._seen.rows = rows.with_rows(beyond) if (beyond := self._beyond()) else rows
        self._missing = self._lacking - beyond.keys()
        self._seen.scope = self._scope(folders, beyond)
        arrived = [(key, met.row) for key, met in self._met.items() if self._is_new(key, met.row, met.stat)]
        self._compare_names(arrived)
        is_saved = self._save({key for key, _ in arrived})
        self.memory = self._remembered(folders, rows) if is_saved else None
        return self._seen

    def _walk(self) -> tuple[PlainRows[IndexRow], dict[str, RememberedFolder]]:
        """Return what stands in the tree, by key, and its folders."""
        folders: dict[str, RememberedFolder] = {}
        is_same = True
        for path, entries in self._survey.walk(self._close, self._stirred_in):
            self._check_open()
            key = self._parts.workspace.key(path)
            folder = self._before.folders.get(key)
            if folder is None or folder.entries is not entries or folder.restless:
                folder = self._compared(path, entries, folder or RememberedFolder({}))
                is_same = False
            folders[key] = folder
        if is_same and len(folders) == len(self._before.folders):
            return self._before.rows, folders
        rows = no_rows().with_rows({key: met.row for key, met in self._met.items()})
        for folder in folders.values():
            rows.plain.update(folder.rows)
        return rows, folders

    def _stirred_in(self, path: WorkspacePath) -> Collection[str] | None:
        if self._stirred is None:
            return None
        folder = self._before.folders.get(self._parts.workspace.key(path))
        if folder is None:
            return None
        return (folder.restless or set()) | self._stirred.get(path, set())

    def _compared(
        self, path: WorkspacePath, entries: Mapping[str, Facts], before: RememberedFolder
    ) -> RememberedFolder:
        """Return a folder as it is, with what differs, or is not settled, still to be settled."""
        key = self._parts.workspace.key
        known, restless = before.entries, before.restless or ()
        names = [name for name, facts in entries.items() if known.get(name) != facts or name in restless]
        folder = RememberedFolder(entries, before.rows, set(names) or None)
        for name in [*names, *(known.keys() - entries.keys())]:
            folder.rows.pop(key(path.child(name)), None)
        for name in names:
            self._check_open()
            child, stat = path.child(name), stat_of(entries[name])
            if not self._parts.workspace.is_addressable(child):
                self._seen.unnamed.append(child.encode("utf-8", "backslashreplace").decode())
            elif stat.type == "other":
                folder.settle(name)
            else:
                self._meet(child, stat, folder)
        return folder

    def _meet(self, path: WorkspacePath, stat: FileStat, folder: RememberedFolder | None) -> None:
        key = self._parts.workspace.key(path)
        try:
            self._met[key] = _Met(self._row(key, path, stat), stat, folder)
        except OTHERS_BY_NOW:
            self._seen.hints.append(Hint("changed", path))

    def _beyond(self) -> dict[str, IndexRow]:
        """Return what the walk has left out, and filetools has written all the same."""
        for key in sorted(self._lacking):
            row = self._known[key]
            if not row.is_known_file or row.number == 0 or self._is_closed(key):
                continue
            path = WorkspacePath(row.path)
            try:
                found = self._parts.store.stat(path)
            except OTHERS_BY_NOW:
                continue
            except FileToolsError:
                self._close(path)
                continue
            if found is not None and found.type == "file":
                self._meet(path, found, None)
        return {key: met.row for key, met in self._met.items() if met.folder is None}

    def _row(self, key: str, path: WorkspacePath, stat: FileStat) -> IndexRow:
        old = self._known.get(key)
        is_known = old is not None and (old.kind, old.identity, old.mode) == (stat.type, stat.identity, stat.mode)
        if old is not None and is_known and (old.version is not None or stat.type == "directory"):
            return old
        if stat.type == "directory":
            row = IndexRow(str(path), stat.type, stat.identity, stat.mode, None)
        elif old is not None and (old.kind, old.identity) == (stat.type, stat.identity) and old.version is not None:
            row = IndexRow(str(path), stat.type, old.identity, stat.mode, old.version)
        else:
            row = read_row(self._parts, path, stat)
            if row.version is None:
                self._close(path)
        row = row if old is None else row._replace(number=old.number)
        if row != old:
            self._changed[key] = row
        return row

    def _is_new(self, key: str, row: IndexRow, stat: FileStat) -> bool:
        """Have what differs looked at; returns whether nobody has heard of what stands there."""
        old, changed_ns = self._known.get(key), stat.changed_ns
        if row.kind == "directory":
            is_new = old is None or not (old.kind == "directory" or old.is_known_file)
            return is_new and (self._looked is None or not self._was_overlooked(changed_ns))
        if row.kind != "file":
            # Where a folder stood, its end is told before anything else is known of the path.
            return old is not None and old.kind == "directory" and self._looked is not None
        if old is not None and old.is_gone_file:
            return True
        if old is not None and old.is_known_file:
            if row.version is not None and not old.may_become(row):
                self._seen.hints.append(Hint("changed", row.path))
            return False
        if self._looked is None:
            return self._parts.names.is_watched(stat)  # then listeners are told of it, be the watcher quicker or not
        is_known = old is not None and old.kind != "directory"
        return not is_known and not self._was_overlooked(changed_ns)

    def _was_overlooked(self, changed_ns: int) -> bool:
        """Whether something stood there at the last look, which left out more than this one."""
        assert self._looked is not None
        # A program cannot set back when a file was changed; a clock may be, so this alone says nothing.
        is_old = changed_ns < int(self._looked.time * 1e9) + CLOCK_TICK_NS
        return is_old and self._looked.scope != self._seen.scope

    def _compare_names(self, arrived: list[tuple[str, IndexRow]]) -> None:
        """Have what is gone and what is new looked at; what bears another name since is moved."""
        seen = self._seen
        if self._looked is None:
            # Folders that nobody has looked at before are found, not made.
            arrived = [(key, row) for key, row in arrived if row.kind == "file"]
        gone: dict[str, IndexRow] = {}
        others = {key for key, met in self._met.items() if met.row.kind != "file"} & self._known.keys()
        for key in sorted(self._missing | others):
            file = self._known[key]
            if file.is_known_file and not self._stands(key, "file") and not self._is_out(key, file):
                gone[key] = file
        absent = self._missing | {key for key, met in self._met.items() if met.row.kind != "directory"}
        folders = {key: row for key in sorted(absent) if (row := self._known.get(key)) and row.kind == "directory"}
        self._out = {
            key for key in folders if key not in seen.rows and self._parts.names.is_left_out(folders[key].path)
        }
        gone |= {
            key: row for key, row in folders.items() if key not in self._out and not self._stands(key, "directory")
        }
        origins = {_inode(row): row for row in gone.values() if row.identity is not None}
        moved = []
        for _, row in arrived:
            origin = origins.pop(_inode(row), None)
            if origin is not None and self._has_moved(origin, row):
                moved.append(Hint("moved", row.path, old_path=origin.path, is_directory=row.kind == "directory"))
            else:
                seen.hints.append(Hint("changed", row.path, is_directory=row.kind == "directory"))
        sources = {hint.old_path for hint in moved}
        left = [row for row in gone.values() if row.path not in sources]
        deleted = [Hint("deleted", row.path, is_directory=row.kind == "directory") for row in left]
        seen.hints = [*sorted(moved, key=_depth), *sorted(deleted, key=_depth), *seen.hints]

    def _is_out(self, key: str, row: IndexRow) -> bool:
        """Whether a file that was only ever found is left out by now."""
        return row.number == 0 and key not in self._seen.rows and self._parts.names.is_left_out(row.path)

    def _has_moved(self, origin: IndexRow, row: IndexRow) -> bool:
        if origin.kind != row.kind or origin.identity is None or row.identity is None:
            return False
        if row.kind == "file":
            return origin.version == row.version
        # The inode of a folder that is gone is soon another's: what is in it must have come along.
        return bool(self._inside(self._known, origin.path) & self._inside(self._seen.rows, row.path))

    def _inside(self, rows: Mapping[str, IndexRow], folder: str) -> set[tuple[str, tuple[int, int] | None]]:
        prefix = f"{self._parts.workspace.key(folder)}/"
        inside = ((key[len(prefix) :], row) for key, row in rows.items() if key.startswith(prefix))
        return {(name, _inode(row)) for name, row in inside if "/" not in name}

    def _scope(self, folders: Iterable[str], beyond: Mapping[str, IndexRow]) -> str:
        rows, names = self._seen.rows, (f"{folder}/{IGNORE_FILE}" if folder else IGNORE_FILE for folder in folders)
        found = [*(rows[name] for name in names if name in rows.plain), *beyond.values()]
        ignore_files = {(row.path, row.version) for row in found if row.path.rpartition("/")[2] == IGNORE_FILE}
        parts = [self._rules.patterns, sorted(ignore_files), sorted(self._seen.closed)]
        return version_of(repr(parts).encode("utf-8", "surrogateescape"))

    def _close(self, path: WorkspacePath) -> None:
        self._seen.closed.append(path)
        self._closed.add(self._parts.workspace.key(path))

    def _stands(self, key: str, kind: str) -> bool:
        row = self._seen.rows.get(key)
        if row is not None:
            return row.kind == kind
        return self._is_closed(key)

    def _is_closed(self, key: str) -> bool:
        """Whether nothing can be said of a path, since it or a folder above it could not be read."""
        if not self._closed:
            return False
        above = [key]
        while (cut := above[-1].rfind("/")) >= 0:
            above.append(above[-1][:cut])
        return not self._closed.isdisjoint([*above, ""])

    def _save(self, arrived: set[str]) -> bool:
        """Write what was met; False if folders have moved meanwhile, so that the tree must be looked at again."""
        seen, index = self._seen, self._parts.journal.tree_index
        # What is new has a row once it is told: until then it counts as absent.
        told = {
            key: row
            for key, row in self._changed.items()
            if (key not in arrived or (self._looked is None and row.kind != "file"))
            and ((old := self._known.get(key)) is None or old.may_become(row))
        }
        if is_unfinished := self._looked is not None and bool(seen.hints):
            # Of a folder that nobody has looked at, what is in it is new until then.
            unmet = {
                key
                for key in told
                if (old := self._known.get(key)) and old.kind == "directory" and old.identity is None
            }
            told = {key: row for key, row in told.items() if key not in unmet}
        missing = ((key, self._known[key]) for key in self._missing)
        gone = [
            key
            for key, row in missing
            if key in self._out or not (row.is_known_file or row.kind in ("directory", "absent"))
        ]
        if not index.save(told, gone, seen.position):
            seen.hints.append(Hint("changed", next(iter({**self._known, **seen.rows}.values())).path))
            return False
        self._known.update(told)
        for key in gone:
            left = self._known.pop(key)
            if left.number > 0:
                self._known[key] = IndexRow(left.path, "absent", None, None, None, left.number)
        self._has_learnt = bool(told or gone)
        if not is_unfinished:
            # Else what is new, but could not be told yet, would count as overlooked the next time.
            # Of what it could not read it knows no more than the look before.
            began = seen.began if not seen.closed else self._looked.began if self._looked is not None else 0.0
            index.complete(Looked(seen.position, time.time(), seen.scope, began))
        return True

    def _remembered(self, folders: dict[str, RememberedFolder], rows: PlainRows[IndexRow]) -> Memory:
        """Return what the next look may rely on; of what is not settled that is nothing."""
        paths = (path for hint in self._seen.hints for path in (hint.path, hint.old_path) if path is not None)
        hinted = {self._parts.workspace.key(path) for path in paths}
        for key, met in self._met.items():
            row, folder = met.row, met.folder
            is_told = self._known.get(key) == row and key not in hinted
            is_known = row.identity == met.stat.identity and (row.kind == "directory" or row.version is not None)
            if folder is not None and is_told and is_known:
                folder.settle(row.path.rpartition("/")[2])
                folder.rows[key] = tuple(row)
        before = self._before
        lacking = None if self._has_learnt else self._lacking
        return Memory(before.position, before.writes, self._known, folders, rows, lacking)


def _names_of(hints: Iterable[Hint]) -> dict[str, set[str]] | None:
    """Return the names of what hints are about, by folder; None if they are about folders, too."""
    names: dict[str, set[str]] = {}
    for hint in hints:
        if hint.is_directory:
            return None
        for path in (hint.path, hint.old_path):
            if path is not None:
                folder, _, name = path.rpartition("/")
                names.setdefault(folder, set()).add(name)
    return names


def _inode(row: IndexRow) -> tuple[int, int] | None:
    return None if row.identity is None else row.identity[:2]


def _depth(hint: Hint) -> int:
    return (hint.old_path or hint.path).count("/")


OTHERS_BY_NOW: Final = (
    PathNotFoundError,
    DirectoryNotFoundError,
    PathNotDirectoryError,
    PathIsDirectoryError,
    SymlinkNotAllowedError,
    NotRegularFileError,
)
"""What a path says that has changed since its name was read: the next pass finds what is true."""


def read_row(parts: Parts, path: WorkspacePath, stat: FileStat) -> IndexRow:
    """Return the row of a file or link; without version if it cannot be read, without times if too young to be trusted.

    Raises:
        FileToolsError: One of `OTHERS_BY_NOW`: something else stands there by now, or nothing.
    """
    facts = parts.facts.get(stat.identity) if stat.type == "file" else None
    if facts is not None:
        return IndexRow(str(path), "file", stat.identity, stat.mode, facts.version)
    taken_ns = time.time_ns()
    try:
        version, stat = _version(parts, path, stat)
    except OTHERS_BY_NOW:
        raise
    except FileToolsError:
        return IndexRow(str(path), stat.type, (*stat.identity[:3], 0, 0), stat.mode, None)
    is_trusted = is_settled(stat.identity, taken_ns, tick_ns=parts.store.tick_ns)
    identity = stat.identity if is_trusted else (*stat.identity[:3], 0, 0)
    return IndexRow(str(path), stat.type, identity, stat.mode, version)


def _version(parts: Parts, path: WorkspacePath, stat: FileStat) -> tuple[str, FileStat]:
    if stat.type == "symlink":
        return version_of(parts.store.read_link(path)), stat
    try:
        content, stat = parts.store.read(path, limit=parts.settings.max_foreign_bytes)
    except FileTooLargeError:
        return hashed(parts, path)
    return version_of(content), stat
