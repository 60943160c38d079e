"""A look at the whole tree: what differs from the index is read, and journaled as changes of other programs.

Names and facts of everything are compared with the rows of the newest look, as git does with its index; what nobody has
recorded before gets its first version. The same recorder works as behind the watcher: a look only says where to look.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from filetools.content import version_of
from filetools.content.identity_cache import CLOCK_TICK_NS, is_settled
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
from filetools.facade.look import CHUNK_BYTES
from filetools.facade.parts import Parts
from filetools.journal import HeadFacts, IndexRow, Looked
from filetools.models import VERSION_PREFIX
from filetools.paths import WorkspacePath
from filetools.paths.ignore import IGNORE_FILE
from filetools.paths.patterns import ExcludeRules
from filetools.search import IgnoreCache, survey
from filetools.stores import FileStat
from filetools.watch import Hint

MOST_PASSES: Final = 5
"""How often the tree is looked at until a look finds nothing that it has not told."""
PAUSE_SECONDS: Final = 0.02
_OTHERS_BY_NOW: Final = (
    PathNotFoundError,
    DirectoryNotFoundError,
    PathNotDirectoryError,
    PathIsDirectoryError,
    SymlinkNotAllowedError,
    NotRegularFileError,
)
"""What a path says that has changed since its name was read: the next pass finds what is true."""


@dataclass(slots=True)
class TreeLook:
    """What one look has met. Whatever is not named stands as the journal says."""

    position: int
    """Number of the newest record before the look."""
    rows: dict[str, IndexRow] = field(default_factory=dict)
    """All that stands in the tree, by key."""
    heads: dict[str, HeadFacts] = field(default_factory=dict)
    closed: list[str] = field(default_factory=list)
    """Paths that could not be read."""
    moving: list[str] = field(default_factory=list)
    """Paths that kept changing, or that somebody was at work on, while the tree was looked at."""
    unnamed: list[str] = field(default_factory=list)
    """Names that no call can say, such as those that are no UTF-8; escaped."""
    scope: str = ""
    """Version of what is left out: rules, ignore files, and what could not be read; equal for looks that see the same."""
    hints: list[Hint] = field(default_factory=list)


class TreeLooker:
    """Looks at the whole tree. One an opened workspace; looks come one after the other.

    Args:
        parts: The workspace.
        rules: What is never looked at.
        recorder: Records what other programs have done; nobody else may use it.
    """

    def __init__(self, parts: Parts, rules: ExcludeRules, recorder: ForeignRecorder) -> None:
        self._parts = parts
        self._rules = rules
        self._recorder = recorder
        self._ignores = IgnoreCache()
        self._lock = asyncio.Lock()

    async def look(self) -> TreeLook:
        """Look until nothing is new, at most five times; returns what stands."""
        async with self._lock:
            for number in range(MOST_PASSES):
                seen = await self._parts.crew.run(_Comparison(self._parts, self._rules, self._ignores).run)
                if not seen.hints:
                    return seen
                again = await self._recorder.record(seen.hints)
                if again:
                    await self._recorder.record(again)
                if number:
                    await asyncio.sleep(PAUSE_SECONDS)
            seen.moving = [hint.path for hint in seen.hints]
            return seen


class _Comparison:
    """The tree against index and heads, in a worker thread. Lives for one pass."""

    def __init__(self, parts: Parts, rules: ExcludeRules, ignores: IgnoreCache) -> None:
        self._parts = parts
        self._rules = rules
        self._ignores = ignores

    def run(self) -> TreeLook:
        """Compare, and write what was learnt into the index."""
        parts = self._parts
        parts.journal.marks.flush()
        self._looked = parts.journal.tree_index.looked()
        self._seen = TreeLook(position=parts.journal.position())
        self._old = parts.journal.tree_index.rows()
        self._seen.heads = parts.journal.heads()
        self._found: dict[str, IndexRow] = {}
        self._changed: dict[str, IndexRow] = {}
        self._closed: set[str] = set()
        changed_ns: dict[str, int] = {}
        for path, stat in self._all():
            key = parts.workspace.key(path)
            try:
                self._seen.rows[key] = self._row(key, path, stat)
            except _OTHERS_BY_NOW:
                self._seen.hints.append(Hint("changed", path))
                continue
            changed_ns[key] = stat.changed_ns
        self._seen.scope = self._scope()
        arrived = [(key, row) for key, row in self._seen.rows.items() if self._is_new(key, row, changed_ns[key])]
        self._compare_names(arrived)
        self._save({key for key, _ in arrived})
        return self._seen

    def _all(self) -> Iterator[tuple[WorkspacePath, FileStat]]:
        parts, met = self._parts, set[str]()
        for path, stat in survey(parts.store, self._rules, self._ignores, on_closed=self._close):
            if not parts.workspace.is_addressable(path):
                self._seen.unnamed.append(path.encode("utf-8", "backslashreplace").decode())
            elif stat.type != "other":
                met.add(parts.workspace.key(path))
                yield path, stat
        for key, head in self._seen.heads.items():
            if head.version is not None and head.number > 0 and key not in met and not self._is_closed(key):
                # Ignored, and written by filetools all the same; or gone.
                try:
                    found = parts.store.stat(WorkspacePath(head.path))
                except _OTHERS_BY_NOW:
                    continue
                except FileToolsError:
                    self._close(WorkspacePath(head.path))
                    continue
                if found is not None and found.type == "file":
                    yield WorkspacePath(head.path), found

    def _row(self, key: str, path: WorkspacePath, stat: FileStat) -> IndexRow:
        old = self._old.get(key)
        is_known = old is not None and (old.kind, old.identity, old.mode) == (stat.type, stat.identity, stat.mode)
        if old is not None and is_known and (old.version is not None or stat.type != "file"):
            return old
        if stat.type != "file":
            row = IndexRow(path, stat.type, stat.identity, stat.mode, None)
        elif old is not None and old.identity == stat.identity and old.version is not None:
            row = IndexRow(path, "file", old.identity, stat.mode, old.version)
        else:
            row = self._read(path, stat)
        if row != old:
            self._changed[key] = row
        return row

    def _read(self, path: WorkspacePath, stat: FileStat) -> IndexRow:
        facts = self._parts.facts.get(stat.identity)
        if facts is not None:
            return IndexRow(path, "file", stat.identity, stat.mode, facts.version)
        taken_ns = time.time_ns()
        try:
            version, stat = self._version(path)
        except _OTHERS_BY_NOW:
            raise
        except FileToolsError:
            self._close(path)
            return IndexRow(path, "file", (*stat.identity[:3], 0, 0), stat.mode, None)
        is_trusted = is_settled(stat.identity, taken_ns, tick_ns=self._parts.store.tick_ns)
        identity = stat.identity if is_trusted else (*stat.identity[:3], 0, 0)
        return IndexRow(path, "file", identity, stat.mode, version)

    def _version(self, path: WorkspacePath) -> tuple[str, FileStat]:
        try:
            content, stat = self._parts.store.read(path, limit=self._parts.settings.max_foreign_bytes)
        except FileTooLargeError:
            return _hashed(self._parts, path)
        return version_of(content), stat

    def _is_new(self, key: str, row: IndexRow, changed_ns: int) -> bool:
        """Have what differs looked at; returns whether nobody has heard of what stands there."""
        head, old = self._seen.heads.get(key), self._old.get(key)
        if row.kind == "directory":
            is_told = old is not None and old.kind == "directory"
            is_new = not is_told and (head is None or head.version is None)
            return is_new and (self._looked is None or not self._was_overlooked(changed_ns))
        if row.kind != "file":
            return False
        if head is None:
            is_known = old is not None and old.kind != "directory"
            if self._looked is not None and not is_known and not self._was_overlooked(changed_ns):
                return True
            self._found[key] = row
            return False
        if head.version is None:
            return True
        if row.version is not None and (row.version != head.version or head.mode not in (None, row.mode)):
            self._seen.hints.append(Hint("changed", row.path))
        return False

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
        for key, head in seen.heads.items():
            if head.version is not None and not self._stands(key, "file") and not self._is_out(key, head):
                gone[key] = self._old.get(key) or IndexRow(head.path, "file", None, head.mode, head.version)
        folders = {key: row for key, row in self._old.items() if row.kind == "directory"}
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

    def _is_out(self, key: str, head: HeadFacts) -> bool:
        """Whether a file that was only ever found is left out by now."""
        return head.number == 0 and key not in self._seen.rows and self._parts.names.is_left_out(head.path)

    def _has_moved(self, origin: IndexRow, row: IndexRow) -> bool:
        if origin.kind != row.kind or origin.identity is None or row.identity is None:
            return False
        if row.kind == "file":
            return origin.version == row.version
        # The inode of a folder that is gone is soon another's: what is in it must have come along.
        return bool(self._inside(self._old, origin.path) & self._inside(self._seen.rows, row.path))

    def _inside(self, rows: Mapping[str, IndexRow], folder: str) -> set[tuple[str, tuple[int, int] | None]]:
        prefix = f"{self._parts.workspace.key(WorkspacePath(folder))}/"
        inside = ((key[len(prefix) :], row) for key, row in rows.items() if key.startswith(prefix))
        return {(name, _inode(row)) for name, row in inside if "/" not in name}

    def _scope(self) -> str:
        ignore_files = [row for row in self._seen.rows.values() if row.path.rpartition("/")[2] == IGNORE_FILE]
        parts = [
            self._rules.patterns,
            sorted((row.path, row.version) for row in ignore_files),
            sorted(self._seen.closed),
        ]
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

    def _save(self, arrived: set[str]) -> None:
        seen, index = self._seen, self._parts.journal.tree_index
        for key, row in self._found.items():
            if row.version is not None:
                seen.heads[key] = HeadFacts(row.path, row.version, row.mode, 0)
        # What is new has a row once it is told: until then it counts as absent.
        told = {key: row for key, row in self._changed.items() if self._looked is None or key not in arrived}
        missed = {key for key in self._old if key not in seen.rows}
        gone = [key for key in missed if self._old[key].kind != "directory" or key in self._out]
        if not (index.found(self._found, seen.position) and index.save(told, gone, seen.position)):
            seen.hints.append(Hint("changed", next(iter({**self._old, **seen.rows}.values())).path))
            return  # to look again
        if self._looked is None or not seen.hints:
            # Else what is new, but could not be told yet, would count as overlooked the next time.
            index.complete(Looked(seen.position, time.time(), seen.scope))


def _hashed(parts: Parts, path: WorkspacePath) -> tuple[str, FileStat]:
    reader = parts.store.open(path)
    try:
        digest, offset = hashlib.sha256(), 0
        while chunk := reader.read_at(offset, CHUNK_BYTES):
            digest.update(chunk)
            offset += len(chunk)
        return VERSION_PREFIX + digest.hexdigest(), reader.stat
    finally:
        reader.close()


def _inode(row: IndexRow) -> tuple[int, int] | None:
    return None if row.identity is None else row.identity[:2]


def _depth(hint: Hint) -> int:
    return (hint.old_path or hint.path).count("/")
