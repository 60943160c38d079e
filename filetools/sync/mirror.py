"""One mirror: its store, its two lanes, whether it is ready, and what it may hold without the journal's knowledge."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, Literal, TypeVar

from filetools.errors import (
    AccessDeniedError,
    DiskFullError,
    FileToolsError,
    InternalError,
    InvalidPathError,
    NotRegularFileError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathTooLongError,
    SymlinkNotAllowedError,
    SyncFailedError,
)
from filetools.paths import WorkspacePath
from filetools.stores import Store
from filetools.sync.actions import MirrorAction, Move, OutOfStepError, Put, Remove, places
from filetools.sync.context import Signal, SyncContext
from filetools.sync.lane import AbandonedError, Job, Lane
from filetools.sync.mirror_files import KeepForeign, MirrorFiles
from filetools.sync.payments import Payment, Payments
from filetools.sync.steps import Step, step_for

T = TypeVar("T")
MirrorState = Literal["ready", "not_ready", "paused"]

PROBE_SECONDS: Final = 5.0
"""How long a probe may take."""
_MANY_DEBTS: Final = 1000
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
        *,
        keep_foreign: KeepForeign,
        max_foreign_bytes: int,
        changed: Callable[[Mirror], None],
    ) -> None:
        """Take the mirror for ready until it misses.

        Args:
            name: Its name in the journal.
            store: Its files.
            context: Its surroundings.
            keep_foreign: Keeps bytes that the journal does not know.
            max_foreign_bytes: Larger unknown files stay in the mirror's limbo.
            changed: Told from any thread when it becomes ready or not ready.
        """
        self.name = name
        self.context = context
        self.files = MirrorFiles(store, context.journal.contents, keep_foreign, max_foreign_bytes=max_foreign_bytes)
        self.front = Lane(f"{name} calls")
        self.back = Lane(f"{name} repairs")
        self.payments = Payments(name, store, self.back, context)
        self.work = Signal()
        """Set when there may be something to catch up with."""
        self.last_error: FileToolsError | None = None
        self.is_paused = False
        self._is_ready = True
        self._changed = changed
        self._lock = threading.Lock()
        self._doubtful: dict[str, WorkspacePath] = {}

    @property
    def is_ready(self) -> bool:
        """Whether calls go to it; a pause aside."""
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

    def follow(self, actions: Sequence[MirrorAction]) -> Job[None]:
        """Queue the actions of one call in the front lane."""
        return self.front.submit(self.guarded(partial(self._carry, actions)), lambda job: self._ended(actions, job))

    def step(self, action: MirrorAction) -> Step:
        """Return the step of an action in this mirror."""
        return step_for(self.files, action, self._moved_version)

    def missed(self, error: FileToolsError) -> None:
        """Stop following calls until a probe succeeds; whoever waits for a call is released."""
        self.last_error = error
        with self._lock:
            was_ready, self._is_ready = self._is_ready, False
        if was_ready:
            _log.warning("mirror %s is left behind: %s", self.name, error)
            self.front.abandon_all()
            self._changed(self)
        self.work.set()

    def failed(self, error: FileToolsError) -> bool:
        """Judge an error of a job, inside a lane; the mirror is left behind if it is not about one path only.

        Returns:
            Whether the error is about one path only.
        """
        self.last_error = error
        if isinstance(error, _PERHAPS_ABOUT_PATH):
            try:
                self.files.store.probe()
            except FileToolsError as exc:
                self.missed(exc)
                return False
        elif not isinstance(error, _ABOUT_PATH):
            self.missed(error)
            return False
        self.work.set()
        return True

    async def probe(self) -> bool:
        """Try both lanes and the store; ready if all answer in time."""
        try:
            await self.front.perform(lambda job: None, seconds=PROBE_SECONDS)
            await self.back.perform(lambda job: self.files.store.probe(), seconds=PROBE_SECONDS)
        except FileToolsError as exc:
            self.missed(exc)
            return False
        with self._lock:
            was_ready, self._is_ready = self._is_ready, True
        if not was_ready:
            self._changed(self)
        return True

    def check(self) -> None:
        """Raise SyncFailedError unless calls go to it."""
        if not self.takes_calls:
            reason = "is paused" if self.is_paused else f"is not ready ({self.last_error})"
            raise SyncFailedError(None, f"mirror {self.name!r} {reason}")

    def doubt(self, paths: Iterable[tuple[str, WorkspacePath]]) -> None:
        """Note paths that may hold something else than the journal thinks, whatever their debts say."""
        with self._lock:
            self._doubtful.update(paths)
        self.work.set()

    def doubted(self) -> dict[str, WorkspacePath]:
        """Return those paths."""
        with self._lock:
            return dict(self._doubtful)

    def believe(self, keys: Iterable[str]) -> None:
        """Forget doubts that are debts by now."""
        with self._lock:
            for key in keys:
                self._doubtful.pop(key, None)

    def note(self, action: MirrorAction) -> None:
        """Pay the debts of an action that was exchanged; a moved directory with debts below is left to catching up."""
        if isinstance(action, Move) and action.version is None and self._owes_below(action.source_key):
            self.work.set()
            return
        for key, path in places(action):
            number = self._number(action, key)
            head = number if isinstance(action, Put) else None
            self.payments.note(Payment(key=key, path=path, number=number, head=head))

    def guarded(self, work: Callable[[Job[T]], T]) -> Callable[[Job[T]], T]:
        """Return work for a lane after whose failure it is known whether the mirror is still ready."""

        def guarded(job: Job[T]) -> T:
            try:
                return work(job)
            except (AbandonedError, OutOfStepError):
                self.work.set()
                raise
            except FileToolsError as exc:
                self.failed(exc)
                raise
            except Exception as exc:
                # A store is foreign code; whatever it raises, the mirror is what failed.
                _log.exception("mirror %s raised an untyped error", self.name)
                error = InternalError(f"mirror {self.name!r} failed with {type(exc).__name__}")
                self.missed(error)
                raise error from exc

        return guarded

    def _carry(self, actions: Sequence[MirrorAction], job: Job[None]) -> None:
        for action in self.mirrored(actions):
            self._carry_one(action, job)

    def _carry_one(self, action: MirrorAction, job: Job[None]) -> None:
        step = self.step(action)
        try:
            step.prepare()
            step.exchange(job.go_on)
        except Exception:
            step.discard()
            raise
        step.finish()
        if not job.is_abandoned:
            self.note(action)

    def mirrored(self, actions: Sequence[MirrorAction]) -> Sequence[MirrorAction]:
        """Return what is left of actions without the paths that are left out of the mirror, whose debts are paid."""
        found: list[MirrorAction] = []
        for action in actions:
            left_out = [self.context.is_left_out(path) for _, path in places(action)]
            if not any(left_out):
                found.append(action)
                continue
            for (key, path), is_left_out in zip(places(action), left_out, strict=True):
                if is_left_out:
                    self.payments.note(Payment(key=key, path=path, number=self._number(action, key), needs_sync=False))
            if isinstance(action, Move) and left_out == [True, False]:
                found.append(Remove(path=action.source, key=action.source_key, number=action.number))
            elif isinstance(action, Move) and left_out == [False, True]:
                self.work.set()  # it comes from where the mirror has nothing; catching up writes it
        return found

    def _ended(self, actions: Sequence[MirrorAction], job: Job[None]) -> None:
        if job.is_late:
            self.doubt(place for action in actions for place in places(action))

    def _number(self, action: MirrorAction, key: str) -> int | None:
        """Return the number of an action's debt; of one made before the commit it is the newest of the path."""
        if action.number:
            return action.number
        debt = self.context.journal.debts.get(self.name, key)
        return None if debt is None else debt.number

    def _moved_version(self, action: Move) -> str | None:
        """Return the version of a moved file: before the commit it is the source's head, after it the destination's."""
        for key in (action.key, action.source_key):
            head = self.context.journal.view(key).head
            if head is not None and head.version is not None and (key != action.key or head.number == action.number):
                return head.version
        return None

    def _owes_below(self, key: str) -> bool:
        debts = self.context.journal.debts.of(self.name, _MANY_DEBTS, max_tries=1_000_000)
        return len(debts) == _MANY_DEBTS or any(debt.key.startswith(f"{key}/") for debt in debts)
