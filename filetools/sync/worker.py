"""Working off the backlog of one mirror, and filling a folder that was not this mirror until now.

For each path it is looked what should be there now, so an older version never covers a newer one. One thread does it.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Final

import filetools.events as events
from filetools.errors import (
    AccessDeniedError,
    ChangedMeanwhileError,
    DiskFullError,
    FileToolsError,
    HoldsStateError,
    InvalidPathError,
    NotRegularFileError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathTooLongError,
    SymlinkNotAllowedError,
)
from filetools.journal.backlog import MAX_TRIES
from filetools.journal.changes import BacklogEntry
from filetools.models.records import ChangeRecord, Operation, RecordState
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.sync.context import RecentFile, SyncContext, Work, is_recordable
from filetools.sync.identity import MirrorIdentity
from filetools.sync.mirror_files import GONE, MirrorFiles, twins_of
from filetools.sync.plan import Comparison, Plan, Versions
from filetools.sync.wanted import UnsettledError, Wanted, wanted

if TYPE_CHECKING:
    from filetools.sync.mirror import Mirror

LONGEST_PAUSE_SECONDS: Final = 60.0
MOST_UNSYNCED: Final = 500
"""Paths after which what was written is made durable at once."""
MOST_COPIED: Final = 1024 * 1024
"""Size from which a moved file is renamed in the mirror instead of written there."""
_BATCH: Final = 1000
_LONGEST_LOOK_SECONDS: Final = 0.05
"""How long older entries are worked off before new ones have their turn."""
_SHORTEST_DEFERRAL_SECONDS: Final = 0.02
_LONGEST_DEFERRAL_SECONDS: Final = 0.5
_LOOK_SECONDS: Final = 1.0
"""How often it is looked which folder it is, at most."""
_CHECK_SECONDS: Final = 0.2
"""How often it is made sure that nobody emptied the folder."""
LAST_KEY: Final = chr(0x10FFFF)
_REMOVALS: Final = (Operation.DELETE, Operation.DELETE_DIRECTORY)
_ABOUT_PATH: Final = (
    InvalidPathError, PathTooLongError, SymlinkNotAllowedError, NotRegularFileError, PathIsDirectoryError,
    PathNotDirectoryError, HoldsStateError, ChangedMeanwhileError,
)  # fmt: skip
"""Errors that say nothing about the mirror's other files."""
_PERHAPS_ABOUT_PATH: Final = (AccessDeniedError, DiskFullError)
"""Errors that one file, or all, may meet; a probe tells."""

_log = logging.getLogger(__name__)


class StoppedError(Exception):
    """Raised if the mirror was paused, or the workspace closed, in the middle of the work."""


class BacklogWorker:
    """Brings one mirror what it lacks. Used by one thread; lives as the mirror.

    Attributes:
        files: The mirror's files.
        identity: Whether its place holds the right folder.
    """

    def __init__(self, place: str, files: MirrorFiles, identity: MirrorIdentity, context: SyncContext, told: Mirror):
        self.files = files
        self.identity = identity
        self._place = place
        self._context = context
        self._told = told
        self._versions = (Versions(context.primary), Versions(files.store))
        self._is_whole_due = True
        self._seen = 0
        self._unsynced: dict[str, BacklogEntry] = {}
        self._sync_at = math.inf
        self._must_write: set[str] = set()
        self._not_before: dict[str, float] = {}
        self._deferred: dict[str, tuple[int, float]] = {}
        self._unrecordable: list[WorkspacePath] = []
        self._lacking: set[str] = set()
        self._hidden: set[WorkspacePath] = set()
        self._is_swept = False
        self._is_unknown = True
        self._look_at = self._check_at = 0.0
        self._fill_at = time.monotonic() + context.times.sync_after_seconds

    def round(self, work: Work) -> float:
        """Do all that can be done now; returns the seconds until there may be more.

        Raises:
            FileToolsError: The mirror fails; call `forget`, and try again later.
            StoppedError: There is to be no more work.
        """
        now = time.monotonic()
        self._look_at_folder(now)
        if not self.identity.is_filled:
            # Who only asks for something, such as a preview, has asked by then.
            if now < self._fill_at and not work.is_hasty:
                self._follow_new()
                return self._fill_at - now
            self._fill()
        is_whole = self._is_whole_due or work.is_whole or any(then <= now for then in self._pauses())
        self._unrecordable += work.others
        self._is_whole_due = True
        self._work_off(is_whole=is_whole)
        self._is_whole_due = False
        if work.is_hasty or self._sync_at <= time.monotonic():
            self.make_durable()
        soonest = min(*self._pauses(), self._sync_at, now + self._context.times.probe_seconds)
        return max(0.0, soonest - time.monotonic())

    def _look_at_folder(self, now: float) -> None:
        """Make sure that the place still holds the folder that was filled, and now and then that nobody emptied it."""
        if now < self._check_at:
            self.files.store.stat(ROOT)  # the folder itself
            return
        self._check_at = now + _CHECK_SECONDS
        if now < self._look_at:
            self.identity.check()
            return
        self._look_at = now + max(self._context.times.probe_seconds, _LOOK_SECONDS)
        if self._is_unknown:
            self.files.store.probe()
        self.identity.establish()
        if self._is_unknown:
            self._lacking = {entry.key for entry in self._unnumbered()}
            self._is_unknown = False
        if not self._is_swept:
            self.files.sweep()
            self._is_swept = True

    def _unnumbered(self) -> Iterator[BacklogEntry]:
        """Yield the entries of paths of which nobody knows what the mirror lacks."""
        after = (-1, "")
        while entries := self._context.journal.backlog.of(self._place, after, limit=_BATCH):
            for entry in entries:
                if entry.number:
                    return
                yield entry
            after = (0, entries[-1].key)

    def forget(self) -> None:
        """Trust nothing that was found out about the mirror's folder: another one may be at its place."""
        self._is_unknown = self._is_whole_due = True
        self._look_at = self._check_at = self._seen = 0
        self._unsynced.clear()
        self._sync_at = math.inf

    def make_durable(self) -> None:
        """Make durable what was written, and take it out of the backlog.

        Raises:
            FileToolsError: A sync failed; what it was about is written anew.
        """
        batch, self._unsynced, self._sync_at = self._unsynced, {}, math.inf
        # Until it is known to be durable: after a failed sync another one would succeed, and prove nothing.
        self._must_write |= batch.keys()
        synced: set[WorkspacePath] = set()
        for entry in batch.values():
            path = WorkspacePath(entry.path)
            if not self._context.left_out(path, False):
                self._sync(path, synced)
        self._must_write -= batch.keys()
        self._context.journal.backlog.remove(entry for entry in batch.values() if is_recordable(entry.key))

    def is_unsettled(self, key: str) -> bool:
        """Whether a path waits for others who are at work on it; any thread may ask."""
        return key in self._deferred

    def has_written(self, key: str) -> bool:
        """Whether a path is there, and only waits to be made durable; any thread may ask."""
        return key in self._unsynced

    def compare(self, top: WorkspacePath, *, is_fresh: bool, go_on: Callable[[], None]) -> Plan:
        """Return how the mirror differs from the primary below a folder; any thread may call, and it may take long.

        Args:
            top: The folder.
            is_fresh: Whether every file is read, even if it looks unchanged.
            go_on: Asked before each folder and file; what it raises ends the comparison.
        """
        stores = (self._context.primary, self.files.store)
        return Comparison(*self._versions, stores, self._context.left_out, fresh=is_fresh, go_on=go_on).walk(top)

    def add_to_backlog(self, paths: Iterable[WorkspacePath]) -> list[str]:
        """Have paths looked at that may differ; any thread may call. Returns their keys, those of names in UTF-8."""
        places = [(self._context.key(path), path) for path in paths if is_recordable(path)]
        self._context.journal.backlog.add(self._place, places)
        return [key for key, _ in places]

    # -- the backlog -------------------------------------------------------------------------------------------------

    def _pauses(self) -> list[float]:
        return [math.inf, *self._not_before.values(), *(then for _, then in self._deferred.values())]

    def _work_off(self, *, is_whole: bool) -> None:
        """Bring over what is new in the backlog; or all of it, and what is new in between."""
        self._follow_new()
        if not is_whole:
            return
        backlog, after, page = self._context.journal.backlog, (-1, ""), _BATCH
        lacking: set[str] = set()
        met: set[str] = set()
        before: dict[str, object] = {**self._not_before, **self._deferred}
        looked_at = time.monotonic()
        while page == _BATCH:
            entries = backlog.of(self._place, after, limit=_BATCH)
            unknown = [entry.key for entry in entries if entry.number == 0]
            lacking.update(unknown)
            self._lacking.update(unknown)
            met.update(entry.key for entry in entries)
            for several in _together(entries):
                self._go_on()
                self._bring_together(several)
                if time.monotonic() - looked_at > _LONGEST_LOOK_SECONDS:
                    self._follow_new()
                    looked_at = time.monotonic()
            page = len(entries)
            after = (entries[-1].number, entries[-1].key) if entries else after
        self._lacking &= lacking
        # Others may have brought them over, or taken them out of the backlog.
        for key in before.keys() - met:
            if before[key] in (self._not_before.get(key), self._deferred.get(key)):
                self._not_before.pop(key, None)
                self._deferred.pop(key, None)
        self._bring_unrecordable()
        self._follow_new()

    def _follow_new(self) -> None:
        """Bring over the changes that no look has met yet."""
        journal, page = self._context.journal, _BATCH
        while page == _BATCH:
            # In this order: what is recorded in between is looked at again.
            own = journal.own_position
            entries = journal.backlog.of(self._place, (self._seen, LAST_KEY), limit=_BATCH)
            for several in _together(entries):
                self._go_on()
                self._bring_together(several, is_new=True)
                self._seen = several[0].number
            page = len(entries)
        unsettled = min((number for number, _ in self._deferred.values() if number), default=None)
        self._told.reached(
            max(own, self._seen), unsettled=unsettled, is_filling=bool(self._lacking) or not self.identity.is_filled
        )

    def _bring_together(self, entries: Sequence[BacklogEntry], *, is_new: bool = False) -> None:
        """Bring over the paths of one change, both of a move; what is to be there goes first. New: no later one came before."""
        due = [entry for entry in entries if self._is_due(entry)]
        if len(due) > 1:
            due.sort(key=lambda entry: self._context.primary.stat(WorkspacePath(entry.path)) is None)
        for entry in due:
            self._bring(entry, self._context.recent.get(entry.number) if is_new else None)
            if len(self._unsynced) >= MOST_UNSYNCED:
                self.make_durable()

    def _is_due(self, entry: BacklogEntry) -> bool:
        written = self._unsynced.get(entry.key)
        if entry.number and written is not None and written.number == entry.number:
            return False
        _, then = self._deferred.get(entry.key, (0, 0.0))
        return max(self._not_before.get(entry.key, 0.0), then) <= time.monotonic()

    def _bring(self, entry: BacklogEntry, recent: RecentFile | None) -> None:
        path = WorkspacePath(entry.path)
        if self._context.left_out(path, False):
            self._note_written(entry)
            return
        try:
            goal = self._wanted(path, entry, recent)
        except UnsettledError:
            self._defer(entry)
            return
        except FileToolsError as exc:  # of the primary, or of the journal
            self._refuse(entry, exc, None)
            return
        try:
            self._put_there(path, goal, entry)
        except UnsettledError:
            self._defer(entry)
        except FileToolsError as exc:
            self._judge(exc)
            self._refuse(entry, exc, exc.message)
        else:
            self._note_written(entry)

    def _wanted(self, path: WorkspacePath, entry: BacklogEntry, recent: RecentFile | None = None) -> Wanted:
        if recent is not None and recent.mode is not None:
            return Wanted(kind="file", content=recent.content, version=recent.version, mode=recent.mode)
        look = partial(wanted, self._context, path, entry.key, is_told=bool(entry.number))
        try:
            goal = look()
        except UnsettledError:
            # Strict calls wait before their changes are marked as applied.
            if not self._is_made(path, entry):
                raise
            return look(is_settled=True)
        if goal.kind == "file" or not entry.number:
            return goal
        if not self._is_made(path, entry, only_pending=True):
            raise UnsettledError  # a folder has no head that would say so
        return look()  # again: it may have been made since

    def _is_made(self, path: WorkspacePath, entry: BacklogEntry, *, only_pending: bool = False) -> bool:
        """Whether the primary shows the change that an entry is about; of a change that is applied, it did."""
        record = self._record(entry)
        if record is None or (only_pending and record.state is not RecordState.PENDING):
            return only_pending
        is_there = self._context.primary.stat(path) is not None
        return is_there == (record.path == path and record.operation not in _REMOVALS)

    def _put_there(self, path: WorkspacePath, goal: Wanted, entry: BacklogEntry) -> None:
        spelled = self.files.spelled(path)
        twins = [] if spelled is None else twins_of(path, self._context.primary)
        if goal.kind == "nothing":
            if twins:
                self._bring_again([*twins, *self._hidden])
                return
            self.files.remove(path, only_empty=entry.number == 0)
            self._prune(path.parent)
            return
        if spelled in twins:
            self._hidden.add(path)
            raise InvalidPathError(path, f"the mirror's disk takes it for {spelled!r}")
        if is_respelt := spelled is not None and spelled.name != path.name:
            self.files.respell(path)
        self._bring_again(twins)
        may_be_renamed = goal.kind == "directory" or len(goal.content) > MOST_COPIED
        record = self._record(entry) if entry.number and may_be_renamed else None
        is_renamed = record is not None and self._renamed(record, path, goal)
        if goal.kind == "file":
            must_write = entry.number == 0 or entry.key in self._must_write
            self.files.put(path, goal.content, goal.version, goal.mode, must_write=must_write)
            return
        self.files.make_folder(path, goal.mode)
        is_unknown = bool(entry.number) and (record is None or record.old_path is not None)
        if entry.below or is_respelt or (is_unknown and not is_renamed):
            self._compare_below(path)

    def _bring_again(self, paths: Iterable[WorkspacePath]) -> None:
        """Have the next round bring paths over, also those that were refused: their place in the mirror may be free."""
        self._not_before.update(dict.fromkeys(self.add_to_backlog(paths), 0.0))
        self._hidden.difference_update(paths)

    def _record(self, entry: BacklogEntry) -> ChangeRecord | None:
        """Return the record of the change that an entry is about, applied or not."""
        records = self._context.journal.records(key=entry.key, newest_first=True, limit=1)
        return records[0] if records and records[0].number == entry.number else None

    def _renamed(self, record: ChangeRecord, path: WorkspacePath, goal: Wanted) -> bool:
        """Rename in the mirror what the primary has moved, if the mirror has it; then bring over what it lacked of it."""
        if record.old_path is None or record.path != path:
            return False
        source = WorkspacePath(record.old_path)
        if self._context.left_out(source, False) or self._context.primary.stat(source) is not None:
            return False
        is_file = goal.kind == "file"
        lacking = [] if is_file else self._context.journal.backlog.below(self._place, self._context.key(source))
        if not self.files.move(source, path, goal.version if is_file else None, goal.mode):
            return False
        for entry in lacking:
            self._bring_place(WorkspacePath(path + entry.path[len(source) :]))
        return True

    def _compare_below(self, folder: WorkspacePath) -> None:
        """Bring over all that is below a folder of which nobody knows what the mirror lacks."""
        plan = self.compare(folder, is_fresh=False, go_on=self._go_on)
        for path in plan.changes:
            self._bring_place(path)
        for path in plan.emptied:
            self.files.remove(path, only_empty=True)
        for error in plan.failed.values():
            raise error

    def _bring_place(self, path: WorkspacePath) -> None:
        """Bring over a path that has no entry of its own."""
        if self._context.left_out(path, False):
            return
        entry = BacklogEntry(mirror=self._place, key=self._context.key(path), path=path, number=0, tries=0)
        self._put_there(path, self._wanted(path, entry), entry)
        self._note_written(self._unsynced.get(entry.key, entry))

    def _bring_unrecordable(self) -> None:
        """Bring over files whose names are not UTF-8: they have no entries."""
        while self._unrecordable:
            path = self._unrecordable.pop()
            try:
                self._bring_place(path)
            except FileToolsError as exc:
                self._judge(exc)

    def _prune(self, folder: WorkspacePath) -> None:
        """Remove a directory, and those above it, that the primary does not have and that are empty."""
        while not folder.is_root and self._context.primary.stat(folder) is None:
            with suppress(*GONE):
                found = self.files.store.stat(folder)
                if found is not None and not self.files.remove_if_empty(folder):
                    return
            folder = folder.parent

    def _go_on(self) -> None:
        if not self._told.goes_on():
            raise StoppedError

    # -- what became of an entry -------------------------------------------------------------------------------------

    def _note_written(self, entry: BacklogEntry) -> None:
        """The mirror has it; it leaves the backlog when it is durable there."""
        self._unsynced[entry.key] = entry
        self._lacking.discard(entry.key)
        self._not_before.pop(entry.key, None)
        self._deferred.pop(entry.key, None)
        self._told.accepted(entry.key)
        self._sync_at = min(self._sync_at, time.monotonic() + self._context.times.sync_after_seconds)

    def _defer(self, entry: BacklogEntry) -> None:
        """Look at it again soon: others are at work on it."""
        is_first = entry.key not in self._deferred
        pause = _SHORTEST_DEFERRAL_SECONDS if is_first else _LONGEST_DEFERRAL_SECONDS
        self._deferred[entry.key] = (entry.number, time.monotonic() + pause)

    def _refuse(self, entry: BacklogEntry, error: FileToolsError, told: str | None) -> None:
        """Count one more refusal; the path is tried again with growing pauses, and blocks no other."""
        self._told.refused(entry.key, told)  # first, because waiting calls check for a refusal once the path is settled
        self._deferred.pop(entry.key, None)
        self._lacking.discard(entry.key)
        self._context.journal.backlog.fail(entry, f"{error.code}: {error.message}")
        if entry.tries + 1 < MAX_TRIES:
            pause = min(self._context.times.probe_seconds * 2**entry.tries, LONGEST_PAUSE_SECONDS)
            self._not_before[entry.key] = time.monotonic() + pause
            return
        self._not_before.pop(entry.key, None)
        _log.error("the mirror refused %s %d times: %s", entry.path, MAX_TRIES, error)
        self._context.tell(events.SyncError(error=error.message, error_code=error.code, file=entry.path))

    def _judge(self, error: FileToolsError) -> None:
        """Raise unless an error is about one path only."""
        if isinstance(error, _PERHAPS_ABOUT_PATH):
            self.files.store.probe()
        elif not isinstance(error, _ABOUT_PATH):
            raise error

    def _sync(self, path: WorkspacePath, synced: set[WorkspacePath]) -> None:
        while True:
            try:
                self.files.store.sync(path, synced=synced)
            except (*GONE, SymlinkNotAllowedError, NotRegularFileError):
                # Something else is there by now, with an entry of its own: it is that change which must be durable.
                if path.is_root:
                    raise
                path = path.parent
            else:
                return

    # -- filling -----------------------------------------------------------------------------------------------------

    def _fill(self) -> None:
        """Enter into the backlog all that the folder lacks; what the primary does not have stays there.

        Only a folder that is an older state of this mirror loses what was deleted since.
        """
        self._told.reached(0, is_filling=True)
        journal = self._context.journal
        position = journal.visible_position()
        plan = self.compare(ROOT, is_fresh=False, go_on=self._go_on)
        lacking = [*plan.added, *plan.modified, *plan.failed]
        if self.identity.is_older:
            lacking += [*plan.deleted, *plan.emptied]
        met = {self._context.key(path) for path in (*lacking, *plan.equal)}
        # Recorded files that neither tree shows: one may be gone for an instant of which nobody is ever told.
        for key, row in journal.tree_index.rows().items():
            if row.kind == "file" and row.number > 0 and key not in met:
                lacking.append(WorkspacePath(row.path))
        self._lacking.update(self.add_to_backlog(lacking))
        self._unrecordable += [path for path in lacking if not is_recordable(path)]
        self._is_whole_due = True
        self.identity.confirm(position)


def _together(entries: Sequence[BacklogEntry]) -> Iterator[list[BacklogEntry]]:
    """Yield the entries of each change, which are next to each other."""
    for _, several in groupby(entries, lambda entry: entry.number or entry.key):
        yield list(several)
