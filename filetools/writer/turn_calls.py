"""What waits for a turn: work, who is at it, and what became of it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, Generic, Protocol, TypeVar

from filetools.errors import ChangedMeanwhileError, FileBusyError
from filetools.journal.changes import HeadMovedError
from filetools.journal.commit import CommitDraft
from filetools.journal.journal import Records
from filetools.journal.tree_rows import Identity
from filetools.models.records import ChangeRecord
from filetools.permissions.call_watch import current_watch
from filetools.writer.worker_pool import Hop

T = TypeVar("T")
Told = tuple[ChangeRecord, float | None]
"""A record that is to be published, and when the turn of the call began that made it; None for what others made."""
Tell = Callable[[list[Told], Sequence[ChangeRecord], bool], None]
"""Adds to the first what is to be published of a call: what it has met in a turn, and, if that was its last, what it made."""

SHORTEST_WAIT_SECONDS: Final = 0.05
"""How long a call waits in any case: others of this process may have a turn just now."""
MOST_TRIES: Final = 5
"""Of a call that another program is quicker than each time."""
FIRST_PAUSE_SECONDS: Final = 0.001
"""Before the second try; doubles."""
BUSY_PAUSE_SECONDS: Final = 0.02
BUSY_SECONDS: Final = 2.0
"""How long a call waits for another program to finish writing a file."""

_log = logging.getLogger(__name__)


class TurnWork(Protocol):
    """What a call does in its turn."""

    identities: Mapping[str, Identity]
    """Of what it has put into place, by key, so that its own work is not read again."""

    def prepare(self) -> CommitDraft | None:
        """Look, decide, and do all that may fail without a trace.

        Returns:
            What is to be committed; None if nothing is, and the call is done.

        Raises:
            HeadMovedError: Another program was quicker; nothing was changed, try again.
            FileBusyError: Another program is writing one of the files.
        """

    def apply(self, records: Records) -> None:
        """Make real what was committed, or set it back and raise; `HeadMovedError` means to try again."""

    def abandon(self) -> None:
        """Take back what was prepared, since it was not committed."""


class TurnTask(Generic[T]):
    """Work that commits by itself; it has a turn without other calls before it."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self.results: list[T] = []
        self.identities: Mapping[str, Identity] = {}

    def prepare(self) -> CommitDraft | None:
        """Do it."""
        self.results = [self._work()]
        return None

    def apply(self, records: Records) -> None:
        """Nothing is left to do."""

    def abandon(self) -> None:
        """Nothing was prepared."""


class TurnCall:
    """A call that waits for its turn, or has it. Made and awaited on the loop of its workspace."""

    def __init__(
        self,
        work: TurnWork,
        keys: Sequence[str],
        *,
        path: str,
        owner: str,
        timeout_seconds: float,
        tell: Tell = lambda _told, _met, _is_over: None,
    ) -> None:
        """Describe a call.

        Args:
            work: What it does.
            keys: Of the paths that it changes.
            path: What it is about, for messages.
            owner: Who makes it, for messages.
            timeout_seconds: How long it may wait.
            tell: Called on the loop after each of its turns, before the calls of later ones tell of theirs.
        """
        self.work = work
        self.keys = keys
        self.path = path
        self.owner = owner
        self.timeout_seconds = timeout_seconds
        self.tell = tell
        self.hop: Hop[None]
        """Its outcome, from when it waits."""
        self.begun: asyncio.Future[None] | None = None
        self.met: list[ChangeRecord] = []
        """What others did, as far as its turn has met it."""
        self.acquired = 0.0
        """When its turn began, in seconds since the epoch."""
        self.error: BaseException | None = None
        self.not_before = 0.0
        self.given_up_at = 0.0
        """When it has waited too long for its turn, as `time.monotonic` counts."""
        self.is_finished = False
        """Whether it has done what it is for."""
        self._deadline = 0.0
        self._tries = 0
        self._busy_since = 0.0

    def touches(self, touched: set[str]) -> bool:
        """Whether it is about a path of these keys, or above or below one."""
        return bool(touched) and any(touches(key, touched) for key in self.keys)

    def is_tried_again(self, error: BaseException) -> bool:
        """Whether it is to have another turn after an error; else this is what became of it."""
        now = time.monotonic()
        if isinstance(error, FileBusyError):
            self._busy_since = self._busy_since or now
            self.not_before = now + BUSY_PAUSE_SECONDS
            if now - self._busy_since < BUSY_SECONDS and now < self._deadline:
                return True
        elif isinstance(error, HeadMovedError):
            self._tries += 1
            self.not_before = now + FIRST_PAUSE_SECONDS * 2 ** (self._tries - 1)
            if self._tries < MOST_TRIES and now < self._deadline:
                return True
            error = ChangedMeanwhileError(self.path, MOST_TRIES)
        self.error = error
        return False

    def wait(self, withdraw: Callable[[], bool]) -> None:
        """Begin to wait; `withdraw` takes the call back as long as it does."""
        self.hop = Hop(withdraw)
        now = time.monotonic()
        self._deadline = now + self.timeout_seconds
        self.given_up_at = now + max(self.timeout_seconds, SHORTEST_WAIT_SECONDS)
        if current_watch() is not None:
            self.begun = self.hop.get_loop().create_future()

    def claimed(self) -> None:
        """Have its turn, from now on; in the thread that has it."""
        self.acquired = time.time()
        if self.begun is not None:
            with suppress(RuntimeError):  # the loop is closed, and nobody waits
                self.hop.get_loop().call_soon_threadsafe(self.begin)

    def take_met(self) -> Sequence[ChangeRecord]:
        """Return what its turn has met, and forget it: it may have another turn before this is told."""
        met, self.met = self.met, []
        return met

    def finish(self) -> None:
        """Note that it has done what it is for."""
        self.is_finished = True

    def fail(self, error: BaseException) -> None:
        """Note why it was refused, or failed."""
        self.error = error

    def begin(self) -> None:
        """Note that its turn has begun; on the loop."""
        if self.begun is not None and not self.begun.done():
            self.begun.set_result(None)

    def settle(self) -> None:
        """Give its caller the outcome; on the loop."""
        if self.hop.done():
            return
        if self.error is None:
            self.hop.set_result(None)
        else:
            self.hop.set_exception(self.error)
            self.hop.exception()  # it is asked for by who waits, if anybody does


def touches(key: str, touched: set[str]) -> bool:
    """Whether a key is one of others, or above or below one."""
    if key in touched or any(one.startswith(f"{key}/") for one in touched):
        return True
    return any(key.startswith(f"{one}/") for one in touched)


def quietly(act: Callable[[], object]) -> None:
    """Do what must not fail, such as telling listeners, which are foreign code: whatever they raise, callers wait."""
    try:
        act()
    except Exception:  # noqa: BLE001 - see above
        _log.exception("what happened could not be told")
