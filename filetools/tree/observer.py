"""Updates the journal's rows of the tree from the disk, by observations in turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache
from typing import Final

from msgspec import Struct, field

from filetools.content.version import version_of
from filetools.errors import DiskFullError, FileToolsError
from filetools.journal.commit import ObservedChanges
from filetools.journal.journal import Journal, Records
from filetools.journal.tree_rows import Looked, TreeRow, TreeTable
from filetools.models.records import Operation
from filetools.paths.ignore import IGNORE_FILE
from filetools.paths.patterns import compile_patterns
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.project.git import tracked_although_ignored
from filetools.search.ignores import LeftOut, outer_ignore_files
from filetools.settings import Settings
from filetools.stores.store import FileStat, PrimaryStore
from filetools.tree.hints import Agenda, Due
from filetools.tree.moves import ObservationContext
from filetools.tree.observation import Observation, Scope
from filetools.tree.watching import TreeWatcher, reason_to_poll

WORK_SECONDS: Final = 0.05
"""Time limit for one part of a look at the whole tree, because calls wait meanwhile."""


class WholeLook(Struct, kw_only=True):
    """A look at the whole tree, in several parts, and the paths that it cannot determine."""

    marker: Looked
    """What the journal keeps of it when it ends."""
    began_at: float
    """On the monotonic clock."""
    left: Sequence[Scope] = ()
    """What remains after a part."""
    closed: set[str] = field(default_factory=set)
    """Unreadable paths."""
    unnamed: set[str] = field(default_factory=set)
    """Names that no call can address, such as names that are not UTF-8; escaped."""
    moving: set[str] = field(default_factory=set)
    """Paths that other programs are changing."""


class TreeObserver:
    """Compares the tree with its rows and records changes by other programs. One per opened workspace; used in turns.

    Args:
        workspace: The root.
        store: The tree.
        journal: Receives the records.
        settings: Size limits and exclusions.
        is_open: True if an editor has the path of a key open.
    """

    def __init__(
        self,
        workspace: Workspace,
        store: PrimaryStore,
        journal: Journal,
        settings: Settings,
        is_open: Callable[[str], bool],
    ) -> None:
        self._workspace = workspace
        self._store = store
        self._journal = journal
        self._settings = settings
        self._is_open = is_open
        self._rules = compile_patterns((), defaults=settings.exclude)
        self.watcher: TreeWatcher | None = None
        """Only in the leader."""
        self._tracked_files: frozenset[str] = frozenset()
        self._tracked: frozenset[str] = frozenset()
        """Those files and the folders above them."""
        self.on_observed: Callable[[Observation], None] = lambda observation: None
        """Called with each observation, in its thread."""

    def read_tracked(self) -> None:
        """Read which files git tracks although ignore rules match them: they are not left out. Runs git.

        Those that git has ceased to track stay until their deletion is recorded.
        """
        before = self._journal.tree_index.looked()
        former = self._tracked_files if before is None else self._tracked_files | before.tracked
        found = tracked_although_ignored(str(self._workspace.root))
        tracked = {path for path in found if not self._rules.matches(path, is_directory=False)}
        tracked.update(path for path in former if self._row(WorkspacePath(path)) is not None)
        self._tracked_files = frozenset(tracked)
        self._tracked = frozenset(above for path in tracked for above in (path, *WorkspacePath(path).folders))

    def watch(self, agenda: Agenda) -> None:
        """Start watching the tree; call it once, in a worker thread. The caller closes the watcher."""
        folders = self._journal.tree_index.paths("directory").values()
        self.watcher = TreeWatcher(self._workspace, agenda)
        with suppress(FileToolsError):  # the next look reads it again, but nobody starts the watcher again
            self.read_tracked()
        self.watcher.start(map(WorkspacePath, folders))

    @property
    def polling(self) -> str | None:
        """Why looks at the whole tree take the place of notices; None if they do not, as far as this process knows."""
        if self.watcher is None:
            return reason_to_poll(self._workspace.root_descriptor) if self._settings.watch else None
        return self.watcher.reason

    def left_out(self) -> LeftOut:
        """Return the filter of excluded paths for one look."""
        return LeftOut(
            self._store,
            self._rules,
            self._tracked,
            lambda path: self._is_open(self._workspace.key(path)),
        )

    def is_left_out(self, path: str) -> bool:
        """True if a path is excluded from looks at the whole tree, as a file or as a folder."""
        left_out = self.left_out()
        return any(left_out(path, is_directory) for is_directory in (False, True))

    def may_be_old(self, path: WorkspacePath) -> bool:
        """True if a file may have been at a path before the first look at the tree; otherwise it is newer."""
        return self._row(path) is not None or self._journal.tree_index.looked() is None or self.is_left_out(path)

    def named(self, paths: Iterable[WorkspacePath]) -> Records | None:
        """Record foreign changes of a call's paths and of the folders above them; None if there are none."""
        differing = [path for path in dict.fromkeys(paths) if not path.is_root and self.differs(path)]
        if not differing:
            return None
        try:
            return self._observe(lambda observation: observation.named(differing))[1]
        except DiskFullError:
            return None  # a deletion must be able to continue: it frees space

    def begin_look(self) -> WholeLook:
        """Return a look at the whole tree that begins now."""
        marker = Looked(self._journal.positions().newest, time.time(), self.rules_version(), self._tracked_files)
        return WholeLook(marker=marker, began_at=time.monotonic())

    def due(self, due: Due, whole: WholeLook | None) -> Records:
        """Record foreign changes of hinted names, and of one part of the whole tree.

        Args:
            due: Hints that are due.
            whole: The look at the whole tree; it ends when nothing is left of it.
        """

        def look(observation: Observation) -> None:
            if due.hints:
                observation.hinted(due.hints)
            if whole is not None:
                observation.whole_tree(whole.left, patient=True)

        marker = None if whole is None else whole.marker
        observation, records = self._observe(look, due.doubtful, seconds=WORK_SECONDS, marker=marker)
        if whole is not None:
            whole.left = observation.left
            whole.closed.update(observation.unread)
            whole.unnamed.update(observation.unnamed)
            whole.moving.update(observation.busy)
        return records

    def _observe(
        self,
        look: Callable[[Observation], None],
        doubtful: frozenset[str] = frozenset(),
        *,
        seconds: float = float("inf"),
        marker: Looked | None = None,
    ) -> tuple[Observation, Records]:
        made: list[Observation] = []
        before = self._journal.tree_index.looked()

        def work(changes: ObservedChanges, rows: TreeTable) -> None:
            @cache
            def are_rules_changed() -> bool:
                assert before is not None
                changed = any(record.path.rpartition("/")[2] == IGNORE_FILE for record in changes.records)
                return changed or self.rules_version() != before.rules or rows.are_ignore_files_changed(before.position)

            def is_overlooked(path: WorkspacePath, stat: FileStat) -> bool:
                # Programs cannot set ctime, but the clock may have been set back, so this alone proves nothing.
                is_old = before is not None and stat.changed_ns < int(before.time * 1e9)
                return is_old and (are_rules_changed() or self._is_ignore_file_changed(rows, path))

            context = ObservationContext(
                rows=rows, store=self._store, contents=self._journal.contents, found=changes, is_left_out=self.left_out(),
                knows_all=before is not None, largest_kept_bytes=self._settings.max_foreign_bytes,
                largest_read_bytes=self._settings.max_write_bytes,
                is_overlooked=is_overlooked,
            )  # fmt: skip
            made[:] = [Observation(context, doubtful, seconds=seconds)]
            look(made[0])
            for record in changes.records:
                if record.old_path is not None and record.operation is Operation.MOVE_DIRECTORY:
                    # The rows below the folder were moved too, and recovery relies on the folder being at its new name.
                    self._sync(record.path, record.old_path)
            if marker is not None and not made[0].left:
                rows.note_whole_look(marker)

        records = self._journal.observe(self._workspace.key, work)
        self.on_observed(made[0])
        return made[0], records

    def _sync(self, *paths: str) -> None:
        for path in paths:
            with suppress(FileToolsError):  # it has moved again, and will be found there
                self._store.sync(WorkspacePath(path).parent)

    def _is_ignore_file_changed(self, rows: TreeTable, path: WorkspacePath) -> bool:
        """True if an ignore file above a path differs from its row."""
        for folder in (ROOT, *path.folders):
            row = rows.at(folder.child(IGNORE_FILE))
            try:
                stat = self._store.stat(folder.child(IGNORE_FILE))
            except FileToolsError:
                continue
            if (None if stat is None else stat.identity) != (None if row is None else row.identity):
                return True
        return False

    def rules_version(self) -> str:
        """Return a hash of the exclusion rules, apart from the ignore files in the tree."""
        rules = [self._rules.patterns, list(outer_ignore_files(self._workspace.root)), sorted(self._tracked)]
        return version_of(repr(rules).encode("utf-8", "surrogateescape"))

    def differs(self, path: WorkspacePath) -> bool:
        """True if a path differs from its row; if it has no row and does not exist, the folders above are compared."""
        try:
            for place in (path, *reversed(path.folders)):
                stat, row = self._store.stat(place), self._row(place)
                if stat is None and row is None:
                    continue
                if stat is None or row is None or row.kind != stat.type:
                    return True
                if row.kind == "directory":
                    return row.identity is not None and row.identity[:2] != stat.identity[:2]
                return row.identity != stat.identity
        except FileToolsError:
            return True
        return False

    def _row(self, path: WorkspacePath) -> TreeRow | None:
        return self._journal.tree_index.get(self._workspace.key(path))
