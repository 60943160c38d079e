"""Calls that wait for a turn: their work, their owner and their outcome."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, Protocol

from filetools.errors import ChangedMeanwhileError, FileBusyError
from filetools.journal.commit import CommitDraft, HeadMovedError
from filetools.journal.journal import Records
from filetools.journal.tree_rows import Identity
from filetools.locks.deadline import Deadline, current_deadline
from filetools.models.records import ChangeRecord
from filetools.writer.worker_pool import Hop

Publication = tuple[ChangeRecord, float | None]
"""A record to publish, and when its call's turn began; None for changes by others."""

MOST_TRIES: Final = 5
"""Attempts of a call when another program changes its files each time."""
FIRST_PAUSE_SECONDS: Final = 0.001
"""Pause before the second attempt; doubles each time."""
BUSY_PAUSE_SECONDS: Final = 0.02
BUSY_SECONDS: Final = 2.0
"""How long a call waits for another program to finish writing a file."""

_log = logging.getLogger(__name__)


class TurnWork(Protocol):
    """The work of a call in its turn."""

    found: list[ChangeRecord]
    """Changes by others that it found in this turn."""

    @property
    def records(self) -> Records:
        """The records that it has made, once it is done."""

    def prepare(self) -> CommitDraft | None:
        """Read, decide, and do everything that may fail, without leaving a trace.

        Returns:
            The draft to commit; None if there is nothing to commit and the call is done.

        Raises:
            HeadMovedError: Another program was faster; nothing was changed, try again.
            FileBusyError: Another program is writing one of the files.
        """

    def apply(self, records: Records) -> Mapping[str, Identity]:
        """Apply what was committed, or set it back and raise; `HeadMovedError` means to try again.

        Returns:
            Identities of the files that it has written, by key, so that they are not read again.
        """

    def abandon(self) -> None:
        """Undo the preparation, since nothing was committed."""


class TurnTask:
    """Work that commits by itself; no other call precedes it in its turn."""

    records: Records = ()

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self.found = list[ChangeRecord]()

    def prepare(self) -> CommitDraft | None:
        """Do the work."""
        self._work()
        return None

    def apply(self, records: Records) -> Mapping[str, Identity]:
        """Nothing is left to do."""
        return {}

    def abandon(self) -> None:
        """Nothing was prepared."""


class TurnCall:
    """A call that waits for its turn or is in it. Created and awaited on the workspace's loop."""

    def __init__(
        self,
        work: TurnWork,
        keys: Sequence[str],
        *,
        path: str,
        owner: str,
        timeout_seconds: float,
        happened: Callable[[], None] = lambda: None,
    ) -> None:
        """Create a call.

        Args:
            work: What it does.
            keys: Keys of the paths that it changes.
            path: Its path, for messages.
            owner: Its caller, for messages.
            timeout_seconds: How long it may wait.
            happened: Called on the loop after its work is done and published, even if its caller is cancelled.
        """
        self.work = work
        self.keys = keys
        self.path = path
        self.owner = owner
        self.timeout_seconds = timeout_seconds
        self.happened = happened
        self.hop: Hop[None]
        """Its outcome; set when it begins to wait."""
        self._caller_deadline: Deadline | None = None
        """The clock of its caller, stopped while it waits for its turn."""
        self.acquired = 0.0
        """When its turn began, in seconds since the epoch."""
        self.error: BaseException | None = None
        """Why it was refused, or failed."""
        self.not_before = 0.0
        self.is_late = False
        """True once its time is up: then it gets no further turn."""
        self.is_finished = False
        """True once its work is done."""
        self._tries = 0
        self._busy_since = 0.0

    def touches(self, touched: set[str]) -> bool:
        """True if one of its paths has one of these keys, or is above or below one."""
        return bool(touched) and any(touches(key, touched) for key in self.keys)

    def is_tried_again(self, error: BaseException) -> bool:
        """True if it gets another turn after an error; otherwise the error becomes its outcome."""
        now = time.monotonic()
        if isinstance(error, FileBusyError):
            self._busy_since = self._busy_since or now
            self.not_before = now + BUSY_PAUSE_SECONDS
            if now - self._busy_since < BUSY_SECONDS and not self.is_late:
                return True
        elif isinstance(error, HeadMovedError):
            self._tries += 1
            self.not_before = now + FIRST_PAUSE_SECONDS * 2 ** (self._tries - 1)
            if self._tries < MOST_TRIES and not self.is_late:
                return True
            error = ChangedMeanwhileError(self.path, MOST_TRIES)
        self.error = error
        return False

    def wait(self, withdraw: Callable[[], bool]) -> None:
        """Begin to wait; `withdraw` removes the call from the queue while it waits."""
        self.hop = Hop(withdraw)
        self._caller_deadline = current_deadline()
        if self._caller_deadline is not None:
            self._caller_deadline.pause()

    def take_found(self) -> Sequence[ChangeRecord]:
        """Return and clear the changes that its turn found: it may have another turn before they are published."""
        found = [*self.work.found]
        self.work.found.clear()
        return found

    def expire(self) -> None:
        """Note that its time is up."""
        self.is_late = True

    def finish(self) -> None:
        """Note that its work is done."""
        self.is_finished = True

    def fail(self, error: BaseException) -> None:
        """Note why it was refused, or failed."""
        self.error = error

    def claimed(self) -> None:
        """Note that its turn begins; in the thread that takes it."""
        self.acquired = time.time()
        if self._caller_deadline is not None:
            with suppress(RuntimeError):  # the loop is closed, and nobody waits
                self.hop.get_loop().call_soon_threadsafe(self.resume_deadline)

    def resume_deadline(self) -> None:
        """Let its caller's clock run on, because it waits no longer; on the loop. May be called twice."""
        deadline, self._caller_deadline = self._caller_deadline, None
        if deadline is not None:
            deadline.resume()

    def settle(self) -> None:
        """Pass the outcome to its caller; on the loop."""
        if self.hop.done():
            return
        if self.error is None:
            self.hop.set_result(None)
        else:
            self.hop.set_exception(self.error)
            self.hop.exception()  # marks it as retrieved: perhaps nobody waits


def touches(key: str, touched: set[str]) -> bool:
    """True if a key is in the set, or above or below a key in it."""
    if key in touched or any(one.startswith(f"{key}/") for one in touched):
        return True
    return any(key.startswith(f"{one}/") for one in touched)


def quietly(act: Callable[[], object]) -> None:
    """Call what must not fail, such as listeners, which are foreign code, and log what it raises: callers wait."""
    try:
        act()
    except Exception:  # noqa: BLE001 - see above
        _log.exception("a callback of a turn failed")
