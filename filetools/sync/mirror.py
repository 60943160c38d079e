"""One mirror: its store, its two lanes, and whether it is ready."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
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
from filetools.stores import Store
from filetools.sync.actions import OutOfStepError
from filetools.sync.context import Signal, SyncContext
from filetools.sync.doubts import Doubts
from filetools.sync.lane import AbandonedError, Job, Lane
from filetools.sync.mirror_files import MirrorFiles
from filetools.sync.payments import Payments

T = TypeVar("T")
MirrorState = Literal["ready", "not_ready", "paused"]

PROBE_SECONDS: Final = 5.0
"""How long each half of a probe may take."""
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

    Calls go through the front lane, and catching up through the back lane, so that a long repair delays no call. Both
    change a path only under its lock. A lane at a job that nobody waits for any more is stuck: then nothing else is
    written until it has ended, because it may still exchange an older version.
    """

    def __init__(
        self,
        name: str,
        store: Store,
        context: SyncContext,
        files: MirrorFiles,
        *,
        changed: Callable[[Mirror], None],
    ) -> None:
        """Take the mirror for ready until it misses.

        Args:
            name: Its name in the journal.
            store: Its files.
            context: Its surroundings.
            files: Looks after what its files lose.
            changed: Told from any thread when it becomes ready or not ready.
        """
        self.name = name
        self.files = files
        self.front = Lane(f"{name} calls")
        self.back = Lane(f"{name} repairs")
        self.work = Signal()
        """Set when there may be something to catch up with."""
        self.payments = Payments(name, store, context, self.in_back_lane)
        self.doubts = Doubts(self.work.set)
        self.last_error: FileToolsError | None = None
        self.is_paused = False
        self._is_ready = True
        self._misses = 0
        self._changed = changed
        self._lock = threading.Lock()

    @property
    def is_ready(self) -> bool:
        """Whether it answers; a pause aside."""
        return self._is_ready

    @property
    def takes_calls(self) -> bool:
        """Whether a call may be followed at once."""
        return self._is_ready and not self.is_paused

    @property
    def state(self) -> MirrorState:
        """One word for the user."""
        if self.is_paused:
            return "paused"
        return "ready" if self._is_ready else "not_ready"

    def check(self) -> None:
        """Raise SyncFailedError unless it takes calls."""
        if not self.takes_calls:
            reason = "is paused" if self.is_paused else f"is not ready ({self.last_error})"
            raise SyncFailedError(None, f"mirror {self.name!r} {reason}")

    def missed(self, error: FileToolsError) -> None:
        """Stop following calls until a probe succeeds; whoever waits for a call is released."""
        self.last_error = error = _of_mirror(error)
        with self._lock:
            self._misses += 1
        if self._set_ready(False):
            _log.warning("mirror %r is left behind: %s", self.name, error)
            # In this order: a call that is released tells of its change at once, and that must come after this.
            self._changed(self)
            self.front.abandon_all()
        self.work.set()

    async def probe(self) -> bool:
        """Try both lanes and the store; ready if all answer in time, and nothing was missed meanwhile."""
        misses = self._misses
        try:
            await self.front.perform(lambda job: None, seconds=PROBE_SECONDS)
            await self.in_back_lane(lambda job: self.files.store.probe(), seconds=PROBE_SECONDS)
        except FileToolsError as exc:
            self.missed(exc)
            return False
        with self._lock:
            is_outdated = self._misses != misses  # the answers may be from before it failed
            was_ready, self._is_ready = self._is_ready, self._is_ready or not is_outdated
        if not (was_ready or is_outdated):
            self._changed(self)
        return not is_outdated

    def guarded(self, work: Callable[[Job[T]], T]) -> Callable[[Job[T]], T]:
        """Return work for a lane after whose failure it is known whether the mirror is still ready."""

        def guarded(job: Job[T]) -> T:
            try:
                return work(job)
            except (AbandonedError, OutOfStepError):
                self.work.set()
                raise
            except FileToolsError as exc:
                self._judge(exc)
                raise
            except Exception as exc:
                # A store is foreign code; whatever it raises, the mirror is what failed.
                _log.exception("mirror %s raised an untyped error", self.name)
                error = InternalError(f"mirror {self.name!r} failed with {type(exc).__name__}")
                self.missed(error)
                raise error from exc

        return guarded

    async def in_back_lane(self, work: Callable[[Job[T]], T], *, seconds: float | None = None) -> T:
        """Do guarded work in the back lane and await it.

        Args:
            work: Called in the lane's thread with its job.
            seconds: Longest wait, after which the mirror is left behind; None waits for ever.

        Raises:
            CallTimeoutError: The time was over; the job is abandoned.
            FileToolsError, OutOfStepError: What the work raised.
        """
        try:
            return await self.back.perform(self.guarded(work), seconds=seconds)
        except CallTimeoutError as exc:
            self.missed(exc)
            raise

    def _judge(self, error: FileToolsError) -> None:
        """Leave the mirror behind unless an error is about one path only; called inside a lane."""
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
