"""Copies the paths that one mirror lacks, and fills a folder that was not this mirror until now.

The worker follows the records above the mirror's number, and retries paths that the mirror refused or that were being changed.

For each path it copies the version that is current at that moment, so an older version never replaces a newer one. It runs
in one thread.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

import filetools.events as events
from filetools.errors import (
    AccessDeniedError,
    ChangedMeanwhileError,
    DiskFullError,
    FileToolsError,
    HoldsStateError,
    InvalidPathError,
    MountPointError,
    NotRegularFileError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathTooLongError,
    SymlinkNotAllowedError,
    SyncFailedError,
)
from filetools.journal.backlog import MAX_TRIES, BacklogEntry, KeptFile, RecordsForgottenError
from filetools.models.records import ChangeRecord, RecordState
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.printable import encodable
from filetools.sync.comparison import (
    REMOVALS,
    UnreadableError,
    UnsettledError,
    Wanted,
    compared,
    large_parts,
    wanted,
)
from filetools.sync.mirror_files import GONE, MirrorFiles, SyncContext, spellings

if TYPE_CHECKING:
    from filetools.sync.mirror import Mirror

LONGEST_PAUSE_SECONDS: Final = 60.0
MOST_UNSYNCED: Final = 500
"""Number of written paths after which they are synced at once."""
_BATCH: Final = 1000
_LONGEST_LOOK_SECONDS: Final = 0.05
"""How long older entries are processed before new records are followed."""
_SHORTEST_DEFERRAL_SECONDS: Final = 0.02
_LONGEST_DEFERRAL_SECONDS: Final = 0.5
_PATIENCE_SECONDS: Final = 5.0
"""How long a missing path may come back in a folder that keeps changing."""
_LOOK_SECONDS: Final = 1.0
"""How often the worker checks, at most, which folder is at the mirror's place, and that it was not emptied."""
_ABOUT_PATH: Final = (
    InvalidPathError, PathTooLongError, SymlinkNotAllowedError, NotRegularFileError, PathIsDirectoryError,
    PathNotDirectoryError, HoldsStateError, ChangedMeanwhileError, AccessDeniedError, DiskFullError,
)  # fmt: skip
"""Errors of one path, which say nothing about the mirror's other files unless a probe fails, too."""

_log = logging.getLogger(__name__)


class StoppedError(Exception):
    """Raised to end a round early: the mirror was paused or closed, or must be compared as a whole."""


class _Retry(NamedTuple):
    """The next try of a path in the backlog that the mirror refused, or that others are changing."""

    at: float
    """When, as from `time.monotonic()`."""
    number: int
    """Number of its newest change; 0 if it has none."""
    deferred_at: float | None
    """Time when it was deferred first; None if the mirror refused it."""


class BacklogWorker:
    """Copies the paths that one mirror lacks. Used by one thread; lives as the mirror.

    Attributes:
        files: The mirror's folder.
        waits_for_look: True if the mirror is filled only after a look at the whole tree.
    """

    def __init__(self, files: MirrorFiles, context: SyncContext, mirror: Mirror):
        self.files = files
        self.waits_for_look = False
        self._place = files.row.place
        self._context = context
        self._mirror = mirror
        self._seen = 0
        """Number of the last record followed; its paths are in the mirror, refused, or deferred."""
        self._doubtful: set[str] = set()
        """Keys of paths whose last sync has failed: their bytes may be lost although the mirror seems to have them."""
        self._retries: dict[str, _Retry] = {}
        """Paths that are tried again, by key."""
        self._between_at = 0.0
        """Time from which newer records are followed before the work goes on."""
        self._fill_at = time.monotonic() + context.settings.sync_after_seconds
        self.forget()

    def forget(self) -> None:
        """Discard all facts about the mirror's folder: another folder may be at its place."""
        self._backlog_at = 0.0
        """Time from which the backlog is processed."""
        self._look_at = 0.0
        """Time of the next check of the mirror's folder; 0 if it is unknown which folder that is."""
        self._unsynced: dict[tuple[str, bool], BacklogEntry] = {}
        """Paths written since the last sync, by key; a recorded change and a found difference leave the backlog separately."""
        self._sync_at = math.inf
        self._long: dict[str, BacklogEntry] = {}
        """Large files to be copied and folders to be compared after all others, by key; each is in the backlog, too."""

    def round(self) -> float:
        """Do all work that is due, or asked for; returns the seconds until more may be.

        Raises:
            FileToolsError: The mirror fails; call `forget`, and try again later.
            StoppedError: The mirror was paused or closed, or the next round compares it as a whole.
        """
        now = time.monotonic()
        self._look_at_folder(now)
        # After a pause, so that a process opened only for a preview compares the folder as it was.
        if not self.files.is_filled and (self._mirror.is_urgent or self._fill_at <= now):
            # Earlier changes by other programs have no records to follow.
            self.waits_for_look = self._context.journal.tree_index.looked() is None
            if self.waits_for_look:
                self._fill_at = now + self._context.settings.mirror_probe_seconds
            else:
                self._fill()
        self._work()
        while self._long:
            entry = next(iter(self._long.values()))
            self._process(entry, is_long=True)
            self.make_durable()  # at once: a copy that must be made again takes long
            if self._long[entry.key].number == entry.number:
                del self._long[entry.key]
            self._follow()  # reports the copy to the calls that wait for it
        fill_at = math.inf if self.files.is_filled else self._fill_at
        soonest = min(self._backlog_at, self._sync_at, fill_at, now + self._context.settings.mirror_probe_seconds)
        return max(0.0, soonest - time.monotonic())

    def _work(self) -> None:
        asked = self._mirror.asked  # first: what is asked for later is not done yet
        is_urgent = self._mirror.is_urgent
        self._follow()
        if is_urgent or self._mirror.is_heard or self._backlog_at <= time.monotonic():
            self._process_backlog()
            self._follow()
        if is_urgent or self._sync_at <= time.monotonic():
            self.make_durable()
        if is_urgent and self.files.is_filled:  # else it is being compared as a whole
            self._mirror.report(is_ready=True)  # first: who has asked does not wait for the rest of the round
            self._mirror.answer(asked)

    def _between(self) -> None:
        """While something is copied or compared that takes long, do all other work; may raise StoppedError."""
        self._mirror.go_on()
        if time.monotonic() >= self._between_at:
            self._work()
            self._between_at = time.monotonic() + _LONGEST_LOOK_SECONDS

    def _parts(self, path: WorkspacePath, goal: Wanted) -> Iterator[bytes]:
        for part in large_parts(self._context, path, goal):
            self._between()
            yield part

    def _look_at_folder(self, now: float) -> None:
        """Check that the place still holds the folder that was filled, and at times that it was not emptied."""
        if now < self._look_at:
            return
        is_unknown, self._look_at = self._look_at == 0.0, now + _LOOK_SECONDS
        if is_unknown:
            self.files.store.probe()
        self.files.establish()
        if is_unknown:
            self.files.sweep()
            self._seen = self.files.row.position

    def make_durable(self) -> None:
        """Sync the written paths, and record the mirror's position.

        Raises:
            SyncFailedError, FileToolsError: A sync failed. Its paths must be written again: another sync would succeed
                although the bytes may be lost.
        """
        batch, self._unsynced, self._sync_at = self._unsynced, {}, math.inf
        keys = {entry.key for entry in batch.values()}
        self._doubtful |= keys
        synced: set[WorkspacePath] = set()
        for entry in batch.values():
            path = WorkspacePath(entry.path)
            try:
                if not self._context.left_out(path, False):
                    self.files.store.sync(path, synced=synced)
            except _ABOUT_PATH as exc:
                raise SyncFailedError(None, exc.message) from exc  # not of a large file that is copied meanwhile
        self._doubtful -= keys
        if batch:
            self._context.journal.backlog.advance(self._place, self._seen, batch.values())

    def add_to_backlog(self, paths: Iterable[WorkspacePath], *, below: bool = False) -> list[str]:
        """Add paths that may differ to the backlog, with all below them if `below`; returns their keys. Thread-safe."""
        entries = [BacklogEntry(key=self._context.key(path), path=path, number=0, below=below) for path in paths]
        self._context.journal.backlog.add(self._place, entries)
        return [entry.key for entry in entries]

    # -- the backlog -------------------------------------------------------------------------------------------------

    def _process_backlog(self) -> None:
        """Process the backlog: paths that were refused or deferred, and differences; follow new records in between."""
        self._backlog_at = math.inf
        after, began = "", time.monotonic()
        while entries := self._context.journal.backlog.behind(self._place, after, limit=1):
            (entry,) = entries
            after = entry.key
            self._go_on()
            retry = self._retries.get(entry.key)
            is_written = entry.number > 0 and (entry.key, True) in self._unsynced
            is_waiting = entry.key in self._long and self._long[entry.key].number == entry.number
            if retry is not None and retry.deferred_at is None and entry.tries and retry.at > time.monotonic():
                self._backlog_at = min(self._backlog_at, retry.at)
            elif entry.tries < MAX_TRIES and not is_written and not is_waiting:
                self._process(entry)
            if time.monotonic() >= self._between_at:
                self._follow()
                self._between_at = time.monotonic() + _LONGEST_LOOK_SECONDS
        # The others have left the backlog with another entry of their path.
        self._retries = {key: retry for key, retry in self._retries.items() if retry.at > began or key in self._long}

    def _follow(self) -> None:
        """Follow the records since the last call."""
        journal, page = self._context.journal, _BATCH
        while page >= _BATCH:
            # In this order: a record made in between is read again.
            own = journal.own_position
            # The files are as of one moment; the rest of the page is read path by path.
            try:
                entries, files = journal.backlog.since(self._seen, limit=_BATCH)
            except RecordsForgottenError:
                self.files.renew()
                self.forget()
                raise StoppedError from None
            for entry in _newest(entries):
                self._go_on()
                self._process(entry, files.get(entry.number))
            page = len(entries)
            self._seen = entries[-1].number if entries else self._seen
        self._seen = max(own, self._seen)
        retried = {key: retry.deferred_at is None for key, retry in self._retries.items() if retry.number}
        self._mirror.report(reached=self._seen, retried=retried)

    def _go_on(self) -> None:
        """Before the next path: sync the written ones if there are many. The last ones of a page are synced after it."""
        self._mirror.go_on()
        if len(self._unsynced) >= MOST_UNSYNCED:
            self.make_durable()

    def _process(self, entry: BacklogEntry, known: KeptFile | None = None, *, is_long: bool = False) -> None:
        """Bring one path to what it should be; what takes long only if `is_long`, else it waits for all others."""
        path = WorkspacePath(entry.path)
        if self._context.left_out(path, False):
            self._note_done(entry)
            return
        record, retry = None, self._retries.get(entry.key)
        deferred_at = None if retry is None else retry.deferred_at
        is_late = deferred_at is not None and deferred_at < time.monotonic() - _PATIENCE_SECONDS
        try:
            if known is None:
                newest = (
                    self._context.journal.records(key=entry.key, newest_first=True, limit=1) if entry.number else ()
                )
                record = next((each for each in newest if each.number == entry.number), None)
                goal = wanted(
                    self._context, path, entry.key, record=record, is_recorded=bool(entry.number), is_late=is_late
                )
            else:
                goal = Wanted(kind="file", size=len(known.content), **known._asdict())
            if (goal.content is None and not is_long) or not self._apply(path, goal, entry, record, is_long=is_long):
                self._long[entry.key] = waiting = replace(entry, below=True)
                self._try_again(waiting)
                return
        except UnsettledError:
            self._try_again(entry)
        except UnreadableError as exc:
            self._try_again(entry, exc.args[0])
        except _ABOUT_PATH as exc:
            self.files.store.probe()
            self._try_again(entry, exc)
            self._mirror.report(error=exc.message)
        else:
            self._note_done(entry)

    def _apply(
        self, path: WorkspacePath, goal: Wanted, entry: BacklogEntry, record: ChangeRecord | None, *, is_long: bool
    ) -> bool:
        """Make, change or remove one entry; False if a folder must also be compared, which takes long."""
        spelled = self.files.spelled(path)
        twins = [] if spelled is None else [each for each in spellings(path, self._context.primary) if each != path]
        if goal.kind == "nothing":
            if twins:
                self._retry(twins, is_free=True)
                return True
            self.files.remove(path, only_empty=entry.number == 0)
            self._prune(path.parent)
            return True
        if spelled in twins:
            raise InvalidPathError(path, f"the mirror's disk takes it for {spelled!r}")
        if is_respelt := spelled is not None and spelled.name != path.name:
            self.files.respell(path)
        if twins:
            self._retry(twins, is_free=False)
        if goal.kind == "file":
            must_write = entry.number == 0 or entry.key in self._doubtful
            content = (lambda: self._parts(path, goal)) if goal.content is None else goal.content
            self.files.put(path, content, goal.version, goal.mode, size=goal.size, must_write=must_write)
            return True
        is_renamed = record is not None and self._move_again(record, path)
        self.files.make_folder(path, goal.mode)
        # A folder that exists although its record removed it was made since; one that was set back has its former content.
        is_made = record is not None and record.operation not in REMOVALS and record.state is not RecordState.ABORTED
        is_followed = record is not None and record.old_path is None and is_made
        is_unknown = entry.number > 0 and not is_followed and not is_renamed
        older = self._context.journal.backlog.get(self._place, entry.key)
        lacks_more = older is not None and (older.below or older.number != entry.number)
        must_compare = entry.below or lacks_more or is_respelt or is_unknown
        if must_compare and is_long:
            plan = compared(self._context, self.files.store, path, self._between)
            self._process_all(plan.changes)
            for error in plan.failed.values():
                raise error
        return is_long or not must_compare

    def _retry(self, twins: Iterable[WorkspacePath], *, is_free: bool) -> None:
        """Process paths that share a name in the mirror, unless they wait for that; if it `is_free`, also all refused ones."""
        backlog = self._context.journal.backlog
        known = [backlog.get(self._place, self._context.key(path)) for path in twins]
        if any(entry is None or (is_free and entry.tries) for entry in known):
            self.add_to_backlog(twins)
            self._backlog_at = 0.0
        if is_free:
            backlog.reset(self._place)

    def _move_again(self, record: ChangeRecord, path: WorkspacePath) -> bool:
        """Repeat the move of a folder in the mirror, and copy the paths that it lacked; False if that is not possible."""
        if record.old_path is None or record.path != path:
            return False
        source = WorkspacePath(record.old_path)
        is_gone = not self._context.left_out(source, False) and self._context.primary.stat(source) is None
        if not is_gone or not self.files.move_folder(source, path):
            return False
        lacking = self._context.journal.backlog.below(self._place, self._context.key(source))
        self._process_all(WorkspacePath(path + each[len(source) :]) for each in lacking)
        return True

    def _process_all(self, paths: Iterable[WorkspacePath]) -> None:
        """Process paths that may differ."""
        for path in paths:
            self._process(BacklogEntry(key=self._context.key(path), path=path, number=0))

    def _prune(self, folder: WorkspacePath) -> None:
        """Remove a directory and those above it as far as they are empty and the primary does not have them."""
        while not folder.is_root and self._context.primary.stat(folder) is None:
            with suppress(*GONE, HoldsStateError, MountPointError):
                if not self.files.remove_if_empty(folder):
                    return
            folder = folder.parent

    # -- results of an entry -----------------------------------------------------------------------------------------

    def _note_done(self, entry: BacklogEntry) -> None:
        """Note that the mirror has a path; its entry is removed once that is durable."""
        self._unsynced[entry.key, entry.number > 0] = entry
        retry = self._retries.get(entry.key)
        if retry is not None and (retry.number == entry.number or 0 < retry.number < entry.number):
            del self._retries[entry.key]
        self._sync_at = min(self._sync_at, time.monotonic() + self._context.settings.sync_after_seconds)

    def _try_again(self, entry: BacklogEntry, error: FileToolsError | None = None) -> None:
        """Try a path again: soon if others are changing it; with growing pauses if the mirror refused it with an error."""
        former, now = self._retries.get(entry.key), time.monotonic()
        if error is None:
            deferred_at = (former and former.deferred_at) or now
            pause = _SHORTEST_DEFERRAL_SECONDS if deferred_at == now else _LONGEST_DEFERRAL_SECONDS
        else:
            deferred_at = None
            pause = min(self._context.settings.mirror_probe_seconds * 2**entry.tries, LONGEST_PAUSE_SECONDS)
            entry = replace(entry, tries=entry.tries + 1, reason=f"{error.code}: {error.message}")
            if entry.tries >= MAX_TRIES:
                pause, path = math.inf, encodable(entry.path)
                _log.error("the mirror refused %s %d times: %s", path, MAX_TRIES, error)
                self._context.publish(events.SyncError(error=error.message, error_code=error.code, file=path))
        # Always: neither the record nor an older entry leads back to this change.
        self._context.journal.backlog.add(self._place, [entry])
        for is_recorded in (True, False):  # a sync of its last copy would remove its entry
            self._unsynced.pop((entry.key, is_recorded), None)
        number = entry.number if former is None else max(entry.number, former.number)
        self._retries[entry.key] = _Retry(now + pause, number, deferred_at)
        self._backlog_at = min(self._backlog_at, now + pause)

    def _fill(self) -> None:
        """Add all that the folder lacks to the backlog. Files that the primary does not have stay.

        Only from a folder that is an older state of this mirror, paths that were deleted since are removed.
        """
        plan = compared(self._context, self.files.store, ROOT, self._between)
        if ROOT in plan.failed:
            raise plan.failed[ROOT]
        self.add_to_backlog(plan.failed, below=True)
        lacking = [*plan.added, *plan.modified, *(plan.deleted if self.files.is_older else ())]
        met = {self._context.key(path) for path in (*lacking, *plan.equal)}
        # A known file may be missing for an instant of which no record is made.
        files = self._context.journal.tree_index.paths("file").items()
        unmet = (WorkspacePath(path) for key, path in files if key not in met)
        self.add_to_backlog([*lacking, *(path for path in unmet if not self._context.left_out(path, False))])
        self._backlog_at = 0.0
        self.files.confirm()


def _newest(entries: Iterable[BacklogEntry]) -> Iterable[BacklogEntry]:
    """Return the newest entry of each path in their order, with `below` set if there were others."""
    newest: dict[str, BacklogEntry] = {}
    for entry in entries:
        is_known = newest.pop(entry.key, None) is not None
        newest[entry.key] = replace(entry, below=True) if is_known else entry
    return newest.values()
