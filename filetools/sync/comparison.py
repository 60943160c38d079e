"""What a mirror should have at a path, as the journal and the primary say, and comparing the whole mirror with the primary."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Final, Literal

from msgspec import Struct, field

from filetools.content.version import stat_version, version_of
from filetools.errors import ChangedMeanwhileError, FileToolsError
from filetools.journal.journal import Head, View
from filetools.journal.tree_rows import TreeRow
from filetools.models.records import ChangeRecord, Operation, RecordState
from filetools.models.words import VERSION_PREFIX, EntryType
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import PART_BYTES, FileStat, Store
from filetools.sync.mirror_files import GONE, SyncContext, file_version
from filetools.tree.reading import is_text

REMOVALS: Final = (Operation.DELETE, Operation.DELETE_DIRECTORY)
LARGE_BYTES: Final = 4 * 1024 * 1024
"""Size above which a file is copied in parts, after all smaller ones."""
_YOUNG_NS: Final = 250_000_000
"""Age up to which a path without a row, or with that of another file, is not copied: it may change back without a record.

Neither is a path with a row that is missing removed, while its folder is as young.
"""


class UnsettledError(Exception):
    """Raised if a change of a path is not applied yet, or if a path is too young to be judged."""


class UnreadableError(Exception):
    """Raised with an error of the primary or of the journal, which says nothing about the mirror."""


class Wanted(Struct, frozen=True, kw_only=True):
    """The entry that should be at a path."""

    kind: Literal["file", "directory", "nothing"]
    content: bytes | None = b""
    """None of a large file, which `large_parts` reads."""
    size: int = 0
    version: str = ""
    """Of a large file that was never hashed, made from its facts."""
    mode: int | None = None


def wanted(
    context: SyncContext,
    path: WorkspacePath,
    key: str,
    *,
    record: ChangeRecord | None = None,
    is_recorded: bool = False,
    is_late: bool = False,
) -> Wanted:
    """Return the entry that should be at a path of a mirror.

    For a recorded file its newest version in the journal counts, because the primary may differ for an instant of which no
    record is made.

    Args:
        context: The journal and the primary.
        path: The path.
        key: Its key in the journal.
        record: The path's newest record, if the mirror follows that one.
        is_recorded: True to follow a record of the path: a recorded deletion counts until a record of a new file.
        is_late: True if the path has been too young for so long that it is judged all the same.

    Raises:
        UnsettledError: A change of the path is not applied yet, or the path is too young to be judged.
        UnreadableError: The primary or the journal cannot be read.
    """
    try:
        is_made = record is not None and _is_made(context.primary, path, record)
        view = context.journal.view(key) if is_text(path) else View(head=None)
        head = view.head
        if not is_made and (view.blocked or (head is not None and not head.applied)):
            raise UnsettledError
        if head is not None and head.version is not None and head.number:
            if head.size is not None and head.size > LARGE_BYTES:
                return Wanted(kind="file", content=None, size=head.size, version=head.version, mode=head.mode)
            content, mode = _head_content(context, path, head, head.version)
            return Wanted(kind="file", content=content, size=len(content), version=head.version, mode=mode)
        stat = context.primary.stat(path)
        is_there = stat is not None and stat.type in ("file", "directory")
        is_deleted = not is_there or (stat is not None and stat.type == "file" and head is not None and head.number > 0)
        if is_recorded and is_deleted:
            return Wanted(kind="nothing")
        row = context.journal.tree_index.get(key) if is_text(path) else None
        is_unseen = is_text(path) and (is_there != (row is not None) or _is_changed(row, stat))
        if is_unseen and not is_late and _is_young(context.primary, path):
            raise UnsettledError  # it may change back at once, and no record would be made of that
        if stat is None or not is_there:
            return Wanted(kind="nothing")
        if stat.type == "directory":
            return Wanted(kind="directory", mode=stat.mode)
        if stat.size > LARGE_BYTES:
            version = stat_version((*stat.identity[:4], 0))  # without the change time, which a new mode moves
            return Wanted(kind="file", content=None, size=stat.size, version=version, mode=stat.mode)
        content, stat = context.primary.read(path)
        return Wanted(kind="file", content=content, size=stat.size, version=version_of(content), mode=stat.mode)
    except FileToolsError as exc:
        raise UnreadableError(exc) from exc


def large_parts(context: SyncContext, path: WorkspacePath, goal: Wanted) -> Iterator[bytes]:
    """Yield a large file in parts, from the journal if it has the bytes, else from the primary.

    Args:
        context: The journal and the primary.
        path: The file.
        goal: As from `wanted`.

    Raises:
        UnsettledError: Another change of the path was made meanwhile.
        UnreadableError: The primary's file cannot be read, does not have the version, or is being written.
    """
    kept = context.journal.contents
    is_hashed = goal.version.startswith(VERSION_PREFIX)
    try:
        if is_hashed and kept.has(goal.version):
            content = kept.get(goal.version)
            yield from (content[offset : offset + PART_BYTES] for offset in range(0, len(content), PART_BYTES))
            head = context.journal.view(context.key(path)).head
            if head is None or head.version != goal.version:
                raise UnsettledError
            return
        with closing(context.primary.open(path)) as reader:
            digest, offset = hashlib.sha256(), 0
            while part := reader.read_at(offset, PART_BYTES):
                if is_hashed:
                    digest.update(part)
                yield part
                offset += len(part)
            now, found = context.primary.stat(path), reader.stat
            if now is None or now.inode != found.inode:
                raise UnsettledError
            version = VERSION_PREFIX + digest.hexdigest() if is_hashed else stat_version((*found.identity[:4], 0))
            if now.identity != found.identity or version != goal.version:
                raise ChangedMeanwhileError(path, 1)
    except FileToolsError as exc:
        raise UnreadableError(exc) from exc


def _is_made(primary: Store, path: WorkspacePath, record: ChangeRecord) -> bool:
    """True if a change is in the primary, marked as applied or not: a strict call waits for the mirror before it is marked.

    Raises:
        UnsettledError: It is not applied yet.
    """
    is_arrival = record.path == path and record.operation not in REMOVALS
    is_made = is_arrival == (primary.stat(path) is not None)
    if record.state is RecordState.PENDING and not is_made:
        raise UnsettledError
    return is_made


def _is_changed(row: TreeRow | None, stat: FileStat | None) -> bool:
    """True if a file is another one, or has another mode, than the one that was seen."""
    if row is None or row.identity is None or stat is None or stat.type != "file":
        return False
    return row.identity[:4] != stat.identity[:4] or row.mode not in (None, stat.mode)


def _is_young(store: Store, path: WorkspacePath) -> bool:
    while (stat := store.stat(path)) is None and not path.is_root:
        path = path.parent
    return stat is not None and 0 <= time.time_ns() - stat.changed_ns < _YOUNG_NS


def _head_content(context: SyncContext, path: WorkspacePath, head: Head, version: str) -> tuple[bytes, int | None]:
    with suppress(FileToolsError):
        content, stat = context.primary.read(path)
        if version_of(content) == version:
            return content, stat.mode if head.mode is None else head.mode
    # The primary differs by a foreign change that is not recorded yet, and will get a record of its own.
    return context.journal.contents.get(version), head.mode


class Plan(Struct, kw_only=True):
    """The differences of two trees, in the order in which they are repaired; directories come before their entries."""

    added: list[WorkspacePath] = field(default_factory=list)
    modified: list[WorkspacePath] = field(default_factory=list)
    deleted: list[WorkspacePath] = field(default_factory=list)
    """Files, then directories to be removed once they are empty, the deepest first."""
    equal: list[WorkspacePath] = field(default_factory=list)
    """Files that are the same in both."""
    failed: dict[WorkspacePath, FileToolsError] = field(default_factory=dict)
    """Paths that could not be compared."""

    @property
    def changes(self) -> list[WorkspacePath]:
        """All paths to be repaired."""
        return [*self.added, *self.modified, *self.deleted]


def compared(context: SyncContext, mirror: Store, top: WorkspacePath, go_on: Callable[[], None] = lambda: None) -> Plan:
    """Compare both trees below `top`, which may be missing in either. Blocks; holds no lock, so paths may change meanwhile.

    Files that agree in size and mode are read and hashed.

    Args:
        context: The primary.
        mirror: The tree of the mirror.
        top: The folder.
        go_on: Called before each folder and part of a file; an exception ends the comparison.
    """
    primary, plan, pending, emptied = context.primary, Plan(), [top], list[WorkspacePath]()
    while pending:
        folder = pending.pop()
        go_on()
        try:
            here, there = _names(primary, folder), _names(mirror, folder)
        except FileToolsError as exc:
            # A folder that cannot be listed is not missing: nothing below it may be added or deleted.
            plan.failed[folder] = exc
            continue
        for name in sorted({*here, *there}):
            path = folder.child(name)
            is_directory = "directory" in (here.get(name), there.get(name))
            if context.left_out(path, is_directory):
                continue
            if (kind := here.get(name)) == there.get(name) == "file":
                _compare_files(plan, path, primary, mirror, go_on)
            elif kind not in ("file", "directory"):
                if name in there:
                    (emptied if is_directory else plan.deleted).append(path)
            elif name not in there:
                plan.added.append(path)
            elif kind != there[name]:
                plan.modified.append(path)
            if is_directory:
                pending.append(path)
    plan.deleted.extend(reversed(emptied))  # the entries of a folder were found after it
    return plan


def _compare_files(plan: Plan, path: WorkspacePath, primary: Store, mirror: Store, go_on: Callable[[], None]) -> None:
    try:
        here, there = primary.stat(path), mirror.stat(path)
        is_equal = (
            here is not None
            and there is not None
            and (here.size, here.mode) == (there.size, there.mode)
            and file_version(primary, path, go_on) == file_version(mirror, path, go_on)
        )
        (plan.equal if is_equal else plan.modified).append(path)
    except GONE:
        plan.modified.append(path)
    except FileToolsError as exc:
        plan.failed[path] = exc


def _names(store: Store, folder: WorkspacePath) -> dict[str, EntryType]:
    try:
        return {entry.name: entry.type for entry in store.scan(folder)}
    except GONE:
        return {}
