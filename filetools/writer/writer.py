"""The writer: one thread that takes the calls that wait, and does them in turns under the root's lock."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from filetools.errors import ChangedMeanwhileError, FileToolsError, InternalError, LockTimeoutError
from filetools.journal.core.log import LogRecord
from filetools.journal.forks import abandon_in_child
from filetools.tree.agenda import Agenda, Due
from filetools.writer.cleanup import Cleanup
from filetools.writer.operations import Call
from filetools.writer.settle import settle, settle_at_opening
from filetools.writer.state import WriterState
from filetools.writer.turn import CallOutcome, Turn, TurnResult

logger = logging.getLogger(__name__)

MOST_CALLS: Final = 64
"""In one turn."""
MOST_BYTES: Final = 8 * 1024 * 1024
"""Of contents that the calls of one turn bring with them; a single call may bring more."""
MOST_TRIES: Final = 5
"""Of a call that another program is quicker than each time."""
BUSY_PAUSE_SECONDS: Final = 0.02
BUSY_SECONDS: Final = 2.0
"""How long a call waits for another program to finish writing."""
FAILURE_PAUSE_SECONDS: Final = 0.5
"""Until hints are looked at again after the turn that should have done so has failed."""
WAIT_SECONDS: Final = 30.0
T = TypeVar("T")


class Pending:
    """A call that waits for its turn. Made on a loop; the writer's thread claims it once."""

    def __init__(self, call: Call, timeout_seconds: float) -> None:
        self.call = call
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[CallOutcome] = self.loop.create_future()
        self.timeout_seconds = timeout_seconds
        self.tries = 0
        self.busy_since = 0.0
        self.not_before = 0.0
        self._lock = threading.Lock()
        self._is_taken = False

    def claim(self) -> bool:
        """Take the call for a turn, or for giving it up; False if somebody has done so before."""
        with self._lock:
            was_taken, self._is_taken = self._is_taken, True
            return not was_taken

    def wait_for_program(self, now: float) -> bool:
        """Wait until another program has finished writing; False if it has taken too long."""
        self.busy_since = self.busy_since or now
        self.not_before = now + BUSY_PAUSE_SECONDS
        return now - self.busy_since <= BUSY_SECONDS

    def decide_anew(self, *, counts: bool) -> bool:
        """Wait for the next turn; False if another program was quicker too often.

        Args:
            counts: Whether a program was, and not just another call of the same turn.
        """
        self.tries += counts
        self.not_before = 0.0
        return self.tries < MOST_TRIES

    def put_back(self) -> None:
        """Let it wait again."""
        self._is_taken = False

    def answer(self, done: CallOutcome) -> None:
        """Tell the caller; on its loop."""
        if self.future.done():
            return
        if done.error is not None:
            self.future.set_exception(done.error)
        else:
            self.future.set_result(done)


class Writer:
    """Serves one root in one process. Lives from `start` until `close`.

    Args:
        state: The disk and the database; used in the writer's thread only.
        on_records: Gets all records in the order of their numbers, those of other processes too. In the writer's thread.
        on_folders: Gets the folders that came to be known, or moved, for the watcher. In the writer's thread.
        published: Number of the newest record that nobody needs to hear of; None for the newest one at the start.
    """

    def __init__(
        self,
        state: WriterState,
        *,
        on_records: Callable[[Sequence[LogRecord]], None] = lambda records: None,
        on_folders: Callable[[Sequence[str]], None] = lambda paths: None,
        published: int | None = None,
    ) -> None:
        self._state = state
        self._gate = state.database.gate
        self.agenda: Final = Agenda(self.wake)
        self._on_records = on_records
        self._on_folders = on_folders
        self._published = published
        self._waiting: deque[Pending] = deque()
        self._tasks: deque[Callable[[], None]] = deque()
        self._condition = threading.Condition()
        self._is_awake = False
        self._is_closing = False
        self._has_settled = False
        self._cleanup = Cleanup(state)
        abandon_in_child(self)
        self._thread = threading.Thread(target=self._main, name="filetools writer", daemon=True)

    def start(self) -> None:
        """Begin to work; what a dead process left is settled before anything else."""
        self.wake()
        self._thread.start()

    async def run(self, call: Call, timeout_seconds: float = WAIT_SECONDS) -> CallOutcome:
        """Do a call, and return once it is on the disk.

        A call that is cancelled before its turn is dropped; in its turn it is finished, and reported to listeners.

        Args:
            call: What to do.
            timeout_seconds: How long it may wait for its turn.

        Raises:
            FileToolsError: The call was refused, or failed; nothing of it is on the disk.
            LockTimeoutError: Another process held the root's lock for too long.
            FileBusyError: Another program kept writing a file that it needs.
            ChangedMeanwhileError: Another program was quicker each time.
        """
        pending = Pending(call, timeout_seconds)
        self._add(pending)
        timer = pending.loop.call_later(timeout_seconds, self._give_up, pending)
        try:
            return await pending.future
        except asyncio.CancelledError:
            pending.claim()
            raise
        finally:
            timer.cancel()

    def submit(self, task: Callable[[], None]) -> None:
        """Run something in a turn of its own, under the root's lock; what it raises is logged. From any thread."""
        with self._condition:
            self._tasks.append(task)
            self._is_awake = True
            self._condition.notify()

    def look_at_everything(self) -> None:
        """Compare the whole tree with what is known of it, soon. From any thread."""
        self.agenda.hints.everything("asked")

    def wake(self) -> None:
        """Look for hints, and for records of other processes. From any thread."""
        with self._condition:
            self._is_awake = True
            self._condition.notify()

    def close(self, timeout_seconds: float = 5.0) -> bool:
        """Finish what waits, and end the thread.

        Returns:
            False if it still waits for another process that holds the lock; it ends with this process.
        """
        with self._condition:
            self._is_closing = True
            self._condition.notify()
        self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    def abandon(self) -> None:
        """Refuse all calls in a forked child, which has no such thread, where nobody would do them."""
        self._condition = threading.Condition()
        self._is_closing = True

    # -- on the loop -------------------------------------------------------------------------------------------------

    def _add(self, pending: Pending) -> None:
        with self._condition:
            if self._is_closing:
                raise InternalError("The workspace is closed")
            self._waiting.append(pending)
            self._is_awake = True
            self._condition.notify()

    def _give_up(self, pending: Pending) -> None:
        if pending.claim():
            path = pending.call.wants[0].path if pending.call.wants else ""
            error = LockTimeoutError(path, pending.timeout_seconds, self._gate.holder())
            pending.answer(CallOutcome(error=error))

    # -- in the thread -----------------------------------------------------------------------------------------------

    def _main(self) -> None:
        while True:
            with self._condition:
                while not self._is_awake and not (self._is_closing and not self._waiting):
                    if not self._condition.wait(self._seconds_to_wait()):
                        break
                self._is_awake = False
                if self._is_closing and not self._waiting and not self._tasks:
                    return
            try:
                if not self._has_settled or self._has_work():
                    self._take_turn()
                else:
                    self._publish(())
            except Exception:
                # Whatever it is, the thread must serve the calls that come.
                logger.exception("A turn of the writer failed")

    def _seconds_to_wait(self) -> float | None:
        """Return how long nothing is to be done; None for as long as nobody comes."""
        now, soonest = time.monotonic(), None
        times = [pending.not_before for pending in self._waiting]
        if (due_at := self.agenda.due_at()) is not None:
            times.append(due_at)
        if self._cleanup.is_waiting:
            times.append(self._cleanup.next_at)
        if times:
            soonest = max(min(times) - now, 0.0005)
        return soonest

    def _has_work(self) -> bool:
        now, due_at = time.monotonic(), self.agenda.due_at()
        return (
            bool(self._tasks)
            or (due_at is not None and due_at <= now)
            or (self._cleanup.is_waiting and self._cleanup.next_at <= now)
            or any(pending.not_before <= now for pending in list(self._waiting))
        )

    def _take_turn(self) -> None:
        claimed: list[Pending] = []
        results: list[TurnResult] = []
        try:
            self._gate.enter(math.inf)  # calls give up by themselves
            try:
                settled = settle(self._state) if self._has_settled else settle_at_opening(self._state)
                self._has_settled = True
                claimed = self._claim()
                results.append(self._turn(claimed))
                self._run_tasks()
            finally:
                self._gate.leave()
        except BaseException as exc:
            error = (
                exc if isinstance(exc, FileToolsError) else InternalError(f"The writer failed: {type(exc).__name__}")
            )
            self._answer([(pending, CallOutcome(error=error)) for pending in claimed or self._claim()])
            if not isinstance(exc, FileToolsError):
                raise
            logger.warning("A turn failed: %s", exc)
            return
        (result,) = results
        self._publish([*settled, *result.records])
        self._answer(list(zip(claimed, result.done, strict=True)))
        self._remember(result)

    def _claim(self) -> list[Pending]:
        """Take the calls of this turn out of the queue, in their order."""
        now, size = time.monotonic(), 0
        left: list[Pending] = []
        claimed: list[Pending] = []
        with self._condition:
            while self._waiting and len(claimed) < MOST_CALLS and size < MOST_BYTES:
                pending = self._waiting.popleft()
                if pending.not_before > now:
                    left.append(pending)
                elif pending.claim():
                    claimed.append(pending)
                    size += pending.call.bytes
            self._waiting.extendleft(reversed(left))
            self._is_awake = self._is_awake or bool(self._waiting)
        return claimed

    def _turn(self, claimed: Sequence[Pending]) -> TurnResult:
        due = self.agenda.take()
        calls = [pending.call for pending in claimed]
        try:
            return Turn(self._state, calls, due).run()
        except FileToolsError:
            for reason in due.reasons:
                self.agenda.hints.everything(reason)
            if len(calls) < 2:
                self.agenda.look_again(due.hints, FAILURE_PAUSE_SECONDS)
                raise
        # The commit failed, perhaps by one of them alone.
        done: list[CallOutcome] = []
        records: list[LogRecord] = []
        for call in calls:
            try:
                result = Turn(self._state, [call], Due()).run()
            except FileToolsError as exc:
                done.append(CallOutcome(error=exc))
            else:
                done += result.done
                records += result.records
                self._remember(result)
        return TurnResult(done=done, records=records, again=due.hints)

    def _run_tasks(self) -> None:
        self._cleanup.work()
        while self._tasks:
            task = self._tasks.popleft()
            try:
                task()
            except Exception:
                logger.exception("A task of the writer failed")

    def _answer(self, results: Sequence[tuple[Pending, CallOutcome]]) -> None:
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[Pending, CallOutcome]]] = {}
        # From the last to the first, so that those that wait for another turn are before each other as they came.
        for pending, done in reversed(results):
            if (final := self._final(pending, done)) is not None:
                by_loop.setdefault(pending.loop, []).append((pending, final))
        for loop, ended in by_loop.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_settle_all, ended[::-1])

    def _final(self, pending: Pending, done: CallOutcome) -> CallOutcome | None:
        """Return what the caller is told, or None if the call waits for another turn."""
        now = time.monotonic()
        if pending.future.cancelled():
            return done  # it is not tried again
        if done.is_busy:
            if not pending.wait_for_program(now):
                return done
        elif done.is_overtaken:
            if not pending.decide_anew(counts=done.error is not None):
                path = pending.call.wants[0].path if pending.call.wants else ""
                return CallOutcome(error=ChangedMeanwhileError(path, MOST_TRIES))
        else:
            return done
        pending.put_back()
        with self._condition:
            # Before whatever came later: a call is served in its order again.
            self._waiting.appendleft(pending)
            self._is_awake = self._is_awake or pending.not_before == 0.0
        return None

    def _publish(self, own: Sequence[LogRecord]) -> None:
        """Hand on all records that were not handed on yet, in their order, whichever process made them."""
        if self._published is None:
            self._published = own[0].number - 1 if own else self._state.log.newest()
        if own and own[0].number == self._published + 1:
            self._hand_on(own)
        while records := self._state.log.after(self._published):
            self._hand_on(records)

    def _hand_on(self, records: Sequence[LogRecord]) -> None:
        self._published = records[-1].number
        try:
            self._on_records(records)
        except Exception:
            # Foreign code in this thread: one failing listener must not stop the writer.
            logger.exception("Handing on records failed")

    def _remember(self, result: TurnResult) -> None:
        self.agenda.note(result.again, result.later, result.missing)
        if result.new_folders:
            self._on_folders(result.new_folders)
        self._cleanup.add(result.displaced)


def _settle_all(ended: Sequence[tuple[Pending, CallOutcome]]) -> None:
    for pending, done in ended:
        pending.answer(done)
