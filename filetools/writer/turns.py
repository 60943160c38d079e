"""Turns: every change of the tree is made in one, from the first look to the mark, and no two overlap in any process.

Waiting calls of one process share a turn, and with it one commit and one sync.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, TypeVar

from filetools.errors import (
    FileToolsError,
    LockTimeoutError,
    StateDamagedError,
    StorageFailedError,
    WorkspaceGoneError,
    require_within,
)
from filetools.journal.commit import CommitDraft
from filetools.journal.journal import Journal
from filetools.journal.storage.database import TRANSLATED
from filetools.journal.tree_rows import Identity
from filetools.locks.holder import LockInfo, from_line, to_line
from filetools.models.records import ChangeRecord
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath
from filetools.processes import abandon_in_child
from filetools.writer.call_queue import CallQueue
from filetools.writer.publisher import Publisher
from filetools.writer.turn_calls import Publication, TurnCall, TurnTask, quietly, touches
from filetools.writer.worker_pool import InFlight, WorkerPool

T = TypeVar("T")

SHORTEST_WAIT_SECONDS: Final = 0.05
"""Shortest wait before a call is given up: another call of this process may be in its turn."""
MOST_BYTES: Final = 8 * 1024 * 1024
"""Contents prepared in one turn; once exceeded, the turn takes no further call."""
MOST_SECONDS: Final = 0.05
"""Time spent preparing calls in one turn, likewise."""
ALL_RECORDS: Final = 1_000_000
UNSETTLED_PAUSE_SECONDS: Final = 1.0
"""Pause before retrying to finish what a dead process left."""
FORKED: Final = "this process was forked from the one that opened it"

_log = logging.getLogger(__name__)


class Turns:
    """Runs the calls of one workspace in turns. Belongs to its loop; works in one worker thread at a time."""

    def __init__(
        self,
        workspace: Workspace,
        journal: Journal,
        workers: WorkerPool,
        settle: Callable[[Sequence[ChangeRecord]], Iterable[int]],
        is_each_alone: Callable[[], bool],
        made: Callable[[], object],
        publish: Callable[[Sequence[Publication]], None],
    ) -> None:
        """Begin without calls.

        Args:
            workspace: The root.
            journal: Records the changes.
            workers: Worker threads that take the turns.
            settle: Finishes records that dead processes left; returns the numbers of those that cannot be finished.
            is_each_alone: True if no two calls may share a turn now.
            made: Called in a worker thread at the end of each turn.
            publish: Publishes the records that a turn made or found, in the order of their numbers.
        """
        self._workspace = workspace
        self._journal = journal
        self._workers = workers
        self._settle_all = settle
        self._is_each_alone = is_each_alone
        self._made = made
        self._gate = journal.turn_gate
        self._queue = CallQueue(lambda: workers.put(self._serve), self._describe_holder)
        self._calls: set[TurnCall] = set()
        """Calls that wait or are in a turn; used on the loop."""
        self._at_work: Sequence[TurnCall] = ()
        self._unsettled: dict[int, float] = {}
        self._in_flight = InFlight()
        self.publisher = Publisher(journal, workers, publish)
        abandon_in_child(self)

    async def run(self, call: TurnCall) -> None:
        """Run a call in a turn; returns once its records are published.

        A caller cancelled while the call waits returns at once; one cancelled later waits for the end of the turn first.

        Raises:
            LockTimeoutError: Its turn did not begin in time.
            FileToolsError: It was refused or failed; nothing was changed.
            WorkspaceGoneError: The workspace was closed.
            InvalidArgumentError: The timeout is negative.
        """
        require_within("lock_timeout_seconds", call.timeout_seconds, 0)
        call.wait(partial(self._queue.withdraw, call))
        seconds = max(call.timeout_seconds, SHORTEST_WAIT_SECONDS)
        alarm = call.hop.get_loop().call_later(seconds, self._queue.give_up, call)
        self._in_flight.begin()
        self._calls.add(call)
        try:
            self._queue.add(call)
            await call.hop
        finally:
            alarm.cancel()
            self._calls.discard(call)
            call.resume_deadline()
            self._in_flight.end()

    async def do(self, work: Callable[[], T], *, path: str, owner: str, timeout_seconds: float) -> T:
        """Run a function in a turn; raises what it raises, and the errors of `run`."""
        results = list[T]()
        task = TurnTask(lambda: results.append(work()))
        await self.run(TurnCall(task, (), path=path, owner=owner, timeout_seconds=timeout_seconds))
        return results.pop()  # the call may be referred to for longer, and the result hold a whole text

    def holder_of(self, key: str) -> LockInfo | None:
        """Return the holder of a key's path, in this process or another; callable from any thread.

        Of a call in another process, only the first path is known.

        Raises:
            WorkspaceGoneError: The workspace was closed.
        """
        self._queue.check_open()
        for info, keys in self._own_holders():
            if key in keys:
                return info
        other = from_line(self._gate.line()) if self._gate.is_held_elsewhere() else None
        if other is None or other.process_id == os.getpid():
            return None
        return other if self._workspace.key(other.path) == key else None

    def is_at_work(self, path: WorkspacePath) -> bool:
        """True if a call of this process is changing a path or waits to."""
        return bool(self._calls) and any(self._workspace.key(path) in call.keys for call in self._calls)

    def held(self) -> list[LockInfo]:
        """Return the holders in this process."""
        self._queue.check_open()
        return [info for info, _ in self._own_holders()]

    async def aclose(self) -> None:
        """Refuse waiting and new calls; return when those that have begun are finished and published."""
        self._queue.close()
        await self._in_flight.none()

    def abandon(self) -> None:
        """Fail all calls in a forked child, which has no thread to run them."""
        for call in (*self._queue.abandon(FORKED), *self._at_work):
            call.fail(WorkspaceGoneError(FORKED))
            with suppress(RuntimeError):  # the loop is closed, and nobody waits
                call.hop.get_loop().call_soon(call.settle)

    def _own_holders(self) -> list[tuple[LockInfo, Sequence[str]]]:
        return [
            (LockInfo(path=call.path, owner=call.owner, process_id=os.getpid(), since=call.acquired), call.keys)
            for call in self._at_work
        ]

    # -- on the loop -------------------------------------------------------------------------------------------------

    def _describe_holder(self) -> str:
        infos = [info for info, _ in self._own_holders()] or [from_line(self._gate.line())]
        return infos[0].describe(time.time())

    # -- in the worker thread ----------------------------------------------------------------------------------------

    def _serve(self) -> None:
        while self._queue.is_due():
            try:
                with TRANSLATED:
                    self._gate.enter()
            except LockTimeoutError:
                continue  # to see whether a call is still waiting
            except Exception as exc:  # noqa: BLE001 - raised again where the calls are awaited
                self._fail(exc)
                continue
            calls, again = list[TurnCall](), list[TurnCall]()
            self.publisher.begin()
            try:
                self._take_turn(calls, again)
            except BaseException as exc:  # noqa: BLE001 - raised again where the calls are awaited
                _log.exception("a turn failed")
                calls = calls or self._claimed()
                for call in calls:
                    if not (call in again or call.is_finished or call.error is not None):
                        quietly(call.work.abandon)
                        call.fail(exc)
            self._at_work = ()
            with suppress(OSError):  # the descriptor is gone, and with it the lock
                self._gate.leave()
            if calls:
                self._end_all(calls, again)
                quietly(self._made)
            else:
                self.publisher.drop()

    def _fail(self, error: Exception) -> None:
        """Fail all waiting calls: no turn can begin."""
        calls = self._claimed()
        for call in calls:
            call.fail(error if isinstance(error, FileToolsError) else StorageFailedError("the journal", str(error)))
        if calls:
            self.publisher.begin()
            self._end_all(calls, [])

    def _claimed(self) -> list[TurnCall]:
        return [call for call in self._queue.due() if self._queue.claim(call)]

    def _end_all(self, calls: Sequence[TurnCall], again: list[TurnCall]) -> None:
        for call in calls:
            if isinstance(call.error, StateDamagedError):
                call.fail(self._workers.explained(call.error))
        # Before they wait again: another turn may end before this one is published.
        found = [(call, call.take_found()) for call in calls]
        self._queue.put_back(again)
        with suppress(RuntimeError):  # the loop is closed, and nobody waits
            calls[0].hop.get_loop().call_soon_threadsafe(self.publisher.end, found, again)

    def _take_turn(self, calls: list[TurnCall], again: list[TurnCall]) -> None:
        """Run the waiting calls.

        Args:
            calls: Filled with those that have begun.
            again: Filled with those of them that get another turn.
        """
        journal = self._journal
        reached = journal.positions()
        self.publisher.begins_at(reached.newest + 1)
        if reached.visible < reached.newest:  # something is committed but not applied
            self._settle()
        ready = self._prepare(calls, again)
        if not ready:
            return
        made: list[int] = []
        identities: dict[str, Identity] = {}
        for (call, _), outcome in zip(ready, journal.commit_all([draft for _, draft in ready]), strict=True):
            if isinstance(outcome, Exception):
                error: BaseException = outcome
                call.work.abandon()
            else:
                try:
                    identities |= call.work.apply(outcome)
                except BaseException as exc:  # noqa: BLE001 - raised again where the call is awaited
                    error = exc
                else:
                    call.finish()
                    made += [record.number for record in outcome]
                    continue
            if call.is_tried_again(error):
                again.append(call)
        self._mark(made, identities)

    def _prepare(self, calls: list[TurnCall], again: list[TurnCall]) -> list[tuple[TurnCall, CommitDraft]]:
        """Prepare calls in order; a call whose paths an earlier one changes waits for the next turn."""
        ready: list[tuple[TurnCall, CommitDraft]] = []
        touched: set[str] = set()
        size, until = 0, time.monotonic() + MOST_SECONDS
        for call in self._queue.due():
            # Otherwise each of several calls would wait for a strict mirror and hold up the others.
            is_alone = isinstance(call.work, TurnTask) or self._is_each_alone()
            is_full = size > MOST_BYTES or time.monotonic() > until
            if call.touches(touched) or (ready and (is_alone or is_full)):
                touched.update(call.keys)  # calls of one path keep their order
                continue
            if not self._queue.claim(call):
                continue
            if not calls:
                since_ns = int(call.acquired * 1e9)
                self._gate.sign(to_line(call.path, call.owner, process_id=os.getpid(), since_ns=since_ns))
            calls.append(call)
            self._at_work = (*calls,)
            try:
                draft = call.work.prepare()
            except BaseException as exc:  # noqa: BLE001 - raised again where the call is awaited
                if call.is_tried_again(exc):
                    again.append(call)
                continue
            finally:
                if call.work.found and ready:
                    self._put_off(ready, again, call.work.found)
            if draft is None:
                call.finish()
                continue
            keys = {key for change in draft.changes for key in (change.key, change.old_key) if key is not None}
            if touched and any(touches(key, touched) for key in keys):
                call.work.abandon()  # it touches more paths than it declared
                again.append(call)
                continue
            ready.append((call, draft))
            touched |= keys
            size += sum(len(change.content or b"") for change in draft.changes)
        return ready

    def _put_off(
        self, ready: list[tuple[TurnCall, CommitDraft]], again: list[TurnCall], found: Sequence[ChangeRecord]
    ) -> None:
        """Put calls back that were prepared before others changed their paths, as a later call has found."""
        keys = {self._workspace.key(path) for each in found for path in (each.path, each.old_path) if path is not None}
        for call, draft in [each for each in ready if each[0].touches(keys)]:
            call.work.abandon()
            again.append(call)
            ready.remove((call, draft))

    def _mark(self, made: Sequence[int], identities: Mapping[str, Identity]) -> None:
        try:
            self._journal.marks.applied(made, identities)
        except FileToolsError as exc:
            # The changes are applied, and the next turn finds that out.
            _log.warning("changes were applied but could not be marked: %s", exc)

    def _settle(self) -> None:
        """Finish what dead processes left, before any call is prepared."""
        pending = self._journal.marks.unfinished("pending", ALL_RECORDS)
        now = time.monotonic()
        if any(self._unsettled.get(record.number, 0.0) <= now for record in pending):
            failed = self._settle_all(pending)
            self._unsettled = dict.fromkeys(failed, now + UNSETTLED_PAUSE_SECONDS)
