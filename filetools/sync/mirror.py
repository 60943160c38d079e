"""One mirror: its store, its two worker threads, and whether it is ready."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import Final, Literal, TypeVar

from filetools.errors import (
    AccessDeniedError,
    CallTimeoutError,
    DiskFullError,
    FileToolsError,
    InternalError,
    InvalidPathError,
    NotRegularFileError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathTooLongError,
    StateDamagedError,
    SymlinkNotAllowedError,
    SyncFailedError,
    WorkspaceGoneError,
)
from filetools.journal.changes import MirrorRow
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import Store
from filetools.sync.actions import OutOfStepError
from filetools.sync.completions import Completions
from filetools.sync.context import Signal, SyncContext
from filetools.sync.identity import MirrorIdentity
from filetools.sync.mirror_files import MirrorFiles
from filetools.sync.mirror_worker import AbandonedError, Job, MirrorWorker

T = TypeVar("T")
MirrorState = Literal["ready", "filling", "not_ready", "paused"]

PROBE_SECONDS: Final = 5.0
"""Longest time that a worker of a mirror may spend on one thing without the mirror being taken for hung."""
_ABOUT_PATH: Final = (
    InvalidPathError,
    PathTooLongError,
    SymlinkNotAllowedError,
    NotRegularFileError,
    PathIsDirectoryError,
    PathNotDirectoryError,
)
"""Errors that say nothing about the mirror's other files."""
_PERHAPS_ABOUT_PATH: Final = (AccessDeniedError, DiskFullError)
"""Errors that one file, or all, may meet; a probe tells."""

_log = logging.getLogger(__name__)


class Mirror:
    """The state of one mirror, as this process knows it. Thread-safe; lives as long as the workspace is open.

    Calls go through the front worker, and catching up through the back worker, so that a long repair delays no call. Both
    change a path only under its lock. A worker at a job that nobody waits for any more is stuck: then nothing else is
    written until it has ended, because it may still exchange an older version.
    """

    def __init__(
        self,
        name: str,
        row: MirrorRow,
        store: Store,
        context: SyncContext,
        files: MirrorFiles,
        *,
        changed: Callable[[Mirror], None],
    ) -> None:
        """Take the mirror for ready until it misses.

        Args:
            name: Its name in messages.
            row: Its row in the journal.
            store: Its files.
            context: Its surroundings.
            files: Looks after what its files lose.
            changed: Told from any thread when it becomes ready or not ready.
        """
        self.name = name
        self.place = row.place
        """Its name in the journal."""
        self.files = files
        self.identity = MirrorIdentity(row, store, context)
        self.front = MirrorWorker(f"{name} calls")
        self.back = MirrorWorker(f"{name} repairs")
        self.work = Signal()
        """Set when there may be something to catch up with."""
        self.completions = Completions(row.place, store, context, self.in_back_worker)
        self.filling = 0
        """Number of paths that filling it has found missing, and not written yet."""
        self.last_error: FileToolsError | None = None
        self.is_paused = False
        self._is_ready = True
        self._is_late = False
        self.losses = 0
        """How often it has failed: what was found out about its folder before may be about another one."""
        self._misses = 0
        self._suspects: dict[str, WorkspacePath] = {}
        self._overdue = 0
        self._changed = changed
        self._lock = threading.Lock()

    @property
    def is_ready(self) -> bool:
        """Whether it answers; a pause aside."""
        return self._is_ready

    @property
    def takes_calls(self) -> bool:
        """Whether a call may be followed at once."""
        return self._is_ready and not (self.is_paused or self._is_late)

    @property
    def state(self) -> MirrorState:
        """One word for the user."""
        if self.is_paused:
            return "paused"
        if not (self.takes_calls and self.identity.is_established):
            return "not_ready"
        return "ready" if self.identity.is_filled else "filling"

    def check(self) -> None:
        """Raise SyncFailedError unless it takes calls."""
        if not self.takes_calls:
            reason = "is paused" if self.is_paused else f"is not ready ({self.last_error or 'it is slow'})"
            raise SyncFailedError(None, f"mirror {self.name!r} {reason}")

    def late(self) -> None:
        """Release whoever waits for it, and let calls skip it until a probe tells at once whether it is slow or hung."""
        with self._lock:
            self._misses += 1
            self._is_late = True
        self.front.abandon_all()
        self.work.set()

    def suspect(self, places: Iterable[tuple[str, WorkspacePath]]) -> None:
        """Have catching up look at (key, path) pairs that may hold something else than the journal thinks."""
        with self._lock:
            self._suspects.update(places)
        self.work.set()

    def take_suspects(self) -> dict[str, WorkspacePath]:
        """Return what is suspected; the caller puts it into the backlog, or suspects it again."""
        with self._lock:
            suspects, self._suspects = self._suspects, {}
        return suspects

    def skipped(self, number: int) -> None:
        """Note that no call of this process will bring the mirror what it lacks up to a number."""
        with self._lock:
            self._overdue = max(self._overdue, number)
        self.work.set()

    def is_overdue(self, number: int) -> bool:
        """Whether catching up need not wait for the call that made a change."""
        return number <= self._overdue

    def missed(self, error: FileToolsError) -> None:
        """Stop following calls until a probe succeeds; whoever waits for a call is released."""
        self.last_error = error = _of_mirror(error)
        with self._lock:
            self._misses += 1
            self.losses += 1
        # What was exchanged is not synced elsewhere, if another folder is found at its place: the backlog knows of it.
        self.completions.forget()
        if self._set_ready(False):
            _log.warning("mirror %r is left behind: %s", self.name, error)
            # In this order: a call that is released tells of its change at once, and that must come after this.
            self._changed(self)
            self.front.abandon_all()
        self.work.set()

    async def probe(self) -> bool:
        """Try both workers and the store; ready if all answer, and nothing was missed meanwhile."""
        misses = self._misses
        try:
            await self.front.perform(lambda job: None, silence_seconds=PROBE_SECONDS)
            await self.back.perform(self.guarded(self._look), silence_seconds=PROBE_SECONDS)
        except FileToolsError as exc:
            self.missed(exc)
            return False
        with self._lock:
            is_outdated = self._misses != misses  # the answers may be from before it failed
            was_ready, self._is_ready = self._is_ready, self._is_ready or not is_outdated
            self._is_late = self._is_late and is_outdated
        if not (was_ready or is_outdated):
            self._changed(self)
        return not is_outdated

    def guarded(self, work: Callable[[Job[T]], T]) -> Callable[[Job[T]], T]:
        """Return work for a worker after whose failure it is known whether the mirror is still ready."""

        def guarded(job: Job[T]) -> T:
            try:
                return work(job)
            except (AbandonedError, OutOfStepError):
                self.work.set()
                raise
            except FileToolsError as exc:
                self.judge(exc)
                raise
            except Exception as exc:
                # A store is foreign code; whatever it raises, the mirror is what failed.
                _log.exception("mirror %s raised an untyped error", self.name)
                error = InternalError(f"mirror {self.name!r} failed with {type(exc).__name__}")
                self.missed(error)
                raise error from exc

        return guarded

    async def in_back_worker(self, work: Callable[[Job[T]], T], *, silence_seconds: float | None = None) -> T:
        """Do guarded work in the back worker and await it.

        Args:
            work: Called in the worker's thread with its job.
            silence_seconds: Longest time without progress, after which a probe tells whether the mirror is slow or hung;
                None waits for ever.

        Raises:
            CallTimeoutError: Nothing went on for so long; the job is abandoned.
            FileToolsError, OutOfStepError: What the work raised.
        """
        try:
            return await self.back.perform(self.guarded(work), silence_seconds=silence_seconds)
        except CallTimeoutError:
            self.late()
            raise

    def _look(self, job: Job[None]) -> None:
        self.files.store.probe()
        job.progress()
        self.identity.establish()

    def judge(self, error: FileToolsError) -> None:
        """Leave the mirror behind unless an error is about one path only; called inside a worker."""
        self.last_error = error
        if isinstance(error, _PERHAPS_ABOUT_PATH):
            try:
                self.files.store.probe()
            except FileToolsError as exc:
                self.missed(exc)
        elif not isinstance(error, _ABOUT_PATH):
            self.missed(error)
        self.work.set()

    def _set_ready(self, is_ready: bool) -> bool:
        """Return whether that changes anything."""
        with self._lock:
            was_ready, self._is_ready = self._is_ready, is_ready
        return was_ready != is_ready


def _of_mirror(error: FileToolsError) -> FileToolsError:
    """Return an error that is told as one of a mirror: the workspace is not gone, and needs no repair."""
    if isinstance(error, StateDamagedError | WorkspaceGoneError):
        return SyncFailedError(None, "its folder is gone or was emptied")
    return error
