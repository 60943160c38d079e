"""One mirror of the root: its state, its progress, and the thread that writes to it."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

import filetools.events as events
from filetools.errors import FileToolsError, InternalError, StateDamagedError, SyncFailedError, WorkspaceGoneError
from filetools.journal.backlog import RecordsForgottenError
from filetools.sync.mirror_files import MirrorFiles, SyncContext
from filetools.sync.worker import LONGEST_PAUSE_SECONDS, BacklogWorker, StoppedError
from filetools.tree.leader import Leadership

MirrorState = Literal["ready", "filling", "not_ready", "paused"]

HEARD_SECONDS: Final = 5.0
"""How long the note is updated for every record after another process has asked for it."""
_POLL_SECONDS: Final = 0.002
"""How often a waiting call reads the note of the process that writes to the mirror."""

_log = logging.getLogger(__name__)


class MirrorProgress(Struct, frozen=True, kw_only=True):
    """The progress of a mirror, and whether it answers."""

    reached: int = 0
    """Number up to which every change is in the mirror, except those of paths that are tried again."""
    retried: dict[str, bool] = {}
    """Keys of paths that are tried again: True if the mirror refused their newest change, False if it is not applied yet."""
    is_ready: bool = True
    error: str | None = None
    """The last reason why the mirror did not answer, refused a path, or is not filled yet."""


def write_note(place: Path, progress: MirrorProgress) -> None:
    """Publish a mirror's progress to other processes. A note may be lost or old, because it only shortens waiting."""
    with suppress(OSError):  # a full disk, or one that was removed
        place.write_bytes(msgspec.json.encode(progress))


class Waiter(NamedTuple):
    """A call that waits for a mirror."""

    number: int
    keys: Sequence[str]
    answer: Future[bool]
    """True once the mirror has followed; False if it fails or has refused one of the keys. Cannot be cancelled."""

    def is_reached(self, progress: MirrorProgress) -> bool:
        """True if the mirror has, or has refused, everything that the call waits for."""
        return progress.reached >= self.number and all(progress.retried.get(key, True) for key in self.keys)


class Mirror:
    """One mirror, as this process knows it. Thread-safe; lives as long as the workspace is open.

    Attributes:
        name: Its name in messages.
        place: Its name in the journal.
        is_paused: True while this process does not write to it.
        progress: Its last known progress.
        asked: How often somebody has asked for the whole backlog to be processed, and synced at once.
        worker: Its worker, which runs in the mirror's thread.
    """

    def __init__(self, name: str, files: MirrorFiles, context: SyncContext) -> None:
        """Treat the mirror as ready until it fails; `start` begins to write.

        Args:
            name: Its name in messages.
            files: Its files, and its row in the journal.
            context: Its surroundings.
        """
        self.name = name
        self.place = files.row.place
        self.is_paused = False
        self.progress = MirrorProgress()
        self.worker = BacklogWorker(files, context, self)
        self._context = context
        digest = hashlib.sha256(self.place.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        self._leadership = Leadership(context.directory, f"mirror-{digest}.lock")
        self._place_of_note = context.directory / f"mirror-{digest}.json"
        # A daemon, so that the end of the process waits for no mirror.
        self._thread = threading.Thread(target=self._run, name=f"filetools mirror {name}", daemon=True)
        self._failures = 0
        self._changed = threading.Condition()
        # Guarded by the condition:
        self._is_known = False
        self._late_until = 0
        self._heard_until = 0.0
        self._waiters: list[Waiter] = []
        self._is_due = self._is_closed = False
        self.asked = self._answered = 0

    @property
    def takes_calls(self) -> bool:
        """True if calls wait for it."""
        progress = self.progress
        return progress.is_ready and not self.is_paused and progress.reached >= self._late_until

    @property
    def state(self) -> MirrorState:
        """Its state for `status`; reads the journal."""
        if self.is_paused:
            return "paused"
        if not (self.takes_calls and self._is_known):
            return "not_ready"
        return "filling" if self._context.journal.backlog.is_filling(self.place) else "ready"

    def check(self) -> None:
        """Raise SyncFailedError if it is paused or not ready."""
        if not self.takes_calls and not self._leadership.is_leading:
            self._context.notify()
            self._take_note()
        if not self.takes_calls:
            raise self.failure()

    def failure(self, path: str | None = None) -> SyncFailedError:
        """Return the error of a change or a synchronisation that it does not follow."""
        reason = "it is paused" if self.is_paused else self.progress.error or "it does not answer in time"
        return SyncFailedError(path, reason, self.name)

    def start(self) -> None:
        """Start the thread, which writes once no other process does."""
        self._thread.start()

    def is_current(self) -> bool:
        """True if it has every recorded change."""
        backlog = self._context.journal.backlog
        with suppress(RecordsForgottenError):
            is_behind = self.state != "ready" or any(each.tries for each in backlog.behind(self.place))
            return not is_behind and not backlog.since(self.progress.reached, limit=1)[0]
        return False

    def wake(self, *, is_urgent: bool = False, is_heard: bool = False) -> None:
        """Make the worker, here or in another process, follow new records now.

        Args:
            is_urgent: True to have the whole backlog processed, and synced at once.
            is_heard: True if another process has asked for it, and may be waiting.
        """
        with self._changed:
            if is_heard:
                self._heard_until = time.monotonic() + HEARD_SECONDS
            self._is_due = True
            if is_urgent:
                self.asked += 1
            self._changed.notify_all()

    @contextmanager
    def waiting(self, number: int, keys: Sequence[str]) -> Iterator[Future[bool]]:
        """Give the answer that comes once the mirror has everything up to a number, fails, or has refused one of the keys.

        Once a call has given up, others do not wait until the mirror has everything up to its number.
        """
        waiter = Waiter(number, keys, Future())
        waiter.answer.set_running_or_notify_cancel()  # the mirror also answers a call that has given up
        with self._changed:
            self._waiters.append(waiter)
            if not self._leadership.is_leading:  # also if it is late, so that the process that writes updates its note
                self.wake(is_urgent=True)
        self._answer_calls()  # it may have everything already
        try:
            yield waiter.answer
        finally:
            with self._changed:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)
                    self._late_until = max(self._late_until, number)

    def _answer_calls(self) -> None:
        with self._changed:
            progress = self.progress
            is_over = not self.takes_calls or self._is_closed
            done = [each for each in self._waiters if is_over or each.is_reached(progress)]
            self._waiters = [each for each in self._waiters if each not in done]
        for each in done:
            each.answer.set_result(each.is_reached(progress) and progress.retried.keys().isdisjoint(each.keys))

    def wait_for_round(self, seconds: float) -> bool:
        """Wait until the whole backlog was processed once more and synced; False after `seconds`."""
        with self._changed:
            self.wake(is_urgent=True)
            request = self.asked
            return self._changed.wait_for(lambda: self._answered >= request or self._is_closed, seconds)

    def wait_for_look(self, seconds: float) -> None:
        """Wait until the mirror's state is known, for at most `seconds`."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_known or self.is_paused or not self._thread.is_alive(), seconds)

    def set_paused(self, is_paused: bool) -> None:
        """Do not write while it is paused, so that another process may; or write again, beginning now."""
        self.is_paused = is_paused
        self.wake(is_urgent=True)

    def close(self, seconds: float) -> None:
        """Process and sync the backlog if the mirror is ready, and end the thread; waits at most `seconds` for each."""
        with suppress(FileToolsError):  # of the journal
            if seconds and self.state == "ready":
                self.wait_for_round(seconds)
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self._answer_calls()
        if self._thread.is_alive():
            self._thread.join(seconds)  # one that hangs keeps other processes from writing until it ends

    # -- called by the worker ----------------------------------------------------------------------------------------

    @property
    def is_urgent(self) -> bool:
        """True if somebody has asked for the whole backlog to be processed, and synced at once."""
        return self.asked > self._answered

    @property
    def is_heard(self) -> bool:
        """True if another process may wait for the whole backlog, because differences that it found have no record."""
        return time.monotonic() < self._heard_until

    def answer(self, request: int) -> None:
        """Release those who have asked for the whole backlog, up to a request."""
        with self._changed:
            self._answered = max(self._answered, request)
            self._changed.notify_all()

    def go_on(self) -> None:
        """Raise StoppedError once the mirror was paused or closed."""
        if self._is_closed or self.is_paused:
            raise StoppedError

    # -- the thread --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._is_closed:
                self._is_due, asked = False, self.asked
                pause = self._round()
                with self._changed:
                    self.answer(asked)
                    # New records do not shorten the pause of a mirror that fails.
                    self._changed.wait_for(
                        lambda: self._is_closed or self.is_urgent or (self._is_due and self.progress.is_ready), pause
                    )
        finally:
            self._leadership.close()

    def _round(self) -> float | None:
        """Do all work that is due; returns the seconds until more may be, None if it is paused."""
        if self.is_paused:
            self._leadership.close()  # the next leader follows from the mirror's position
            return None
        try:
            if not self._leads():
                if self.is_urgent:
                    self._context.notify()
                self._take_note()
                return _POLL_SECONDS if self._waiters else self._context.settings.mirror_probe_seconds
            pause = self.worker.round()
        except StoppedError:
            return 0.0
        except FileToolsError as exc:
            self._fail(exc)
        except Exception as exc:  # noqa: BLE001 - a store is foreign code; any exception means that the mirror failed
            _log.exception("mirror %s raised an untyped error", self.name)
            self._fail(InternalError(f"mirror {self.name!r} failed with {type(exc).__name__}"))
        else:
            self._failures = 0
            if not self.progress.is_ready:
                self.report(is_ready=True)
            return pause
        self._failures += 1
        return float(
            min(self._context.settings.mirror_probe_seconds * 2 ** (self._failures - 1), LONGEST_PAUSE_SECONDS)
        )

    def _leads(self) -> bool:
        was_leading = self._leadership.is_leading
        try:
            is_won = self._leadership.try_lead()
        except OSError as exc:
            raise SyncFailedError(None, f"its lock file cannot be made ({exc.strerror})") from exc
        if is_won and not was_leading:
            # The note is of another process, which may have ended while the mirror failed.
            write_note(self._place_of_note, self.progress)
            self.worker.forget()
        return is_won

    def _fail(self, error: FileToolsError) -> None:
        """Mark the mirror as not ready until it answers again, and release the calls that wait for it."""
        if isinstance(error, StateDamagedError | WorkspaceGoneError):
            # As an error of the mirror, because the workspace is not gone and needs no repair.
            error = SyncFailedError(None, "its folder is gone or was emptied", self.name)
        self.worker.forget()
        if self.progress.is_ready:
            _log.warning("%s", error)
            self._context.publish(events.SyncError(error=error.message, error_code=error.code))
        self.report(is_ready=False, error=error.reason if isinstance(error, SyncFailedError) else error.message)

    def report(self, **facts: Any) -> None:
        """Change facts of the mirror's progress, and notify waiting calls, listeners and other processes. Thread-safe."""
        with self._changed:
            progress = replace(self.progress, **facts)
            if progress.is_ready and not self.progress.is_ready:
                progress = replace(progress, error=None)
            is_news = replace(progress, reached=self.progress.reached) != self.progress
            if is_news or self.is_heard:
                write_note(self._place_of_note, progress)
            self._set_progress(progress)

    def _take_note(self) -> None:
        """Read the progress from the note of the process that writes."""
        with suppress(OSError, msgspec.MsgspecError):  # there is none, or it is being written
            self._set_progress(msgspec.json.decode(self._place_of_note.read_bytes(), type=MirrorProgress))

    def _set_progress(self, progress: MirrorProgress) -> None:
        with self._changed:
            was_ready, self.progress, self._is_known = self.progress.is_ready, progress, True
            self._changed.notify_all()
        if self._waiters:
            self._answer_calls()
        if was_ready and not progress.is_ready:
            self._context.publish(events.SyncPaused(reason="error"))
        elif progress.is_ready and not was_ready:
            self._context.publish(events.SyncResumed())
