"""The mirror half of synchronisation, as the facade sees it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import chain, count
from typing import Any, Final

from msgspec import Struct, field

import filetools.events as events
from filetools.errors import FileToolsError, InvalidArgumentError, SyncFailedError
from filetools.events.activity import PauseReason
from filetools.events.types import Event
from filetools.journal.changes import MirrorRow
from filetools.journal.journal import Journal
from filetools.locks.table import LockTable
from filetools.models.files import SyncResult
from filetools.models.words import MirrorPolicy, MirrorStatus
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import Store
from filetools.sync import anticipation, carrying, catch_up, following, mirror_files, strict, synchronise
from filetools.sync import mirror as mirrors
from filetools.sync.actions import MirrorAction
from filetools.sync.anticipation import Anticipation
from filetools.sync.carrying import Carrier
from filetools.sync.catch_up import CatchUp
from filetools.sync.context import Stepper, SyncContext, SyncTimes, leaving_out
from filetools.sync.following import Follower, InlineFollower
from filetools.sync.mirror import Mirror
from filetools.sync.mirror_files import KeepForeign, MirrorFiles
from filetools.sync.strict import StrictTicket
from filetools.sync.synchronise import Progress, Synchronisation, SyncRequest

CLOSE_SECONDS: Final = 2.0
"""Longest wait of closing for what was exchanged to become durable; what is left waits for the next opening."""
MIB: Final = 1024 * 1024

_log = logging.getLogger(__name__)


class AttachedMirror(Struct, frozen=True, kw_only=True):
    """A mirror of the root that this process has at hand."""

    name: str
    """What messages and the status call it; usually "mirror"."""
    row: MirrorRow
    """What the journal knows of it."""
    store: Store


class _MirrorWork(Struct, frozen=True):
    """What is done for one mirror in the background."""

    synchronisation: Synchronisation
    catch_up: CatchUp
    tasks: list[asyncio.Task[None]] = field(default_factory=list)


class SyncManager:
    """Keeps mirrors in step with the primary. One a workspace; lives as long as it is open.

    `begin`, `follow`, `prepare_strict`, `standing` and `status` are called from worker threads, the first three with
    the locks of their paths held; everything else on the loop. The stores are closed by their owner.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        primary: Store,
        mirrors: Sequence[AttachedMirror],
        locks: LockTable,
        publish: Callable[[Event], None],
        run: Stepper,
        key: Callable[[WorkspacePath], str],
        resolve: Callable[[str], WorkspacePath],
        keep_foreign: KeepForeign,
        open_added: Callable[[MirrorRow], Store] | None = None,
        policy: MirrorPolicy = "eventual",
        excluded: Callable[[str, bool], bool] = lambda path, is_directory: False,
        mirror_wait_seconds: float = 0.25,
        strict_wait_seconds: float = 30.0,
        mirror_probe_seconds: float = 5.0,
        sync_after_seconds: float = 1.0,
        max_foreign_bytes: int = 64 * MIB,
    ) -> None:
        """Start nothing yet.

        Args:
            journal: Keeps heads, contents and backlogs.
            primary: What mirrors follow.
            mirrors: Those that the caller names; usually none or one.
            locks: The workspace's locks.
            publish: Publishes an event; called on the loop.
            run: Runs blocking work in the project's threads.
            key: Returns a path's lock key.
            resolve: Returns the path of a journal row.
            keep_foreign: Keeps bytes found in a mirror that the journal does not know; called in a worker's thread.
            open_added: Returns the store of a mirror that was added to the root, now or later; None leaves those alone.
            policy: Whether a call waits for mirrors to be changed with the primary.
            excluded: Whether a path is left out of mirrors; asked with whether it is a directory.
            mirror_wait_seconds: How long a call waits for an eventual mirror.
            strict_wait_seconds: How long a call waits for each step of a strict one.
            mirror_probe_seconds: First pause before a mirror that missed is tried again; doubles up to a minute.
            sync_after_seconds: Pause after which exchanged files are synced, and leave the backlog.
            max_foreign_bytes: Larger foreign files are not read; they stay in the mirror's limbo.
        """
        self._context = SyncContext(
            journal=journal,
            primary=primary,
            locks=locks,
            run=run,
            tell=self._tell,
            key=key,
            resolve=resolve,
            left_out=leaving_out(excluded),
            times=SyncTimes(
                wait_seconds=mirror_wait_seconds,
                strict_wait_seconds=strict_wait_seconds,
                probe_seconds=mirror_probe_seconds,
                sync_after_seconds=sync_after_seconds,
            ),
        )
        self._policy = policy
        self._publish = publish
        self._files: Callable[[Store], MirrorFiles] = lambda store: mirror_files.MirrorFiles(
            store, contents=journal.contents, keep_foreign=keep_foreign, max_foreign_bytes=max_foreign_bytes
        )
        self._open_added = open_added
        self._mirrors: tuple[Mirror, ...] = ()
        self._carriers: tuple[Carrier, ...] = ()
        self._work: dict[Mirror, _MirrorWork] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        self._looking: asyncio.Task[None] | None = None
        self._is_synchronising = False
        for mirror in mirrors:
            self._attach(mirror)

    @property
    def is_strict(self) -> bool:
        """Whether changes must be prepared with `prepare_strict` and follow nothing."""
        return self._policy == "strict" and bool(self._mirrors)

    def is_mirrored(self, path: str) -> bool:
        """Whether a change of this path is to be followed here."""
        return bool(self._mirrors) and not self._context.is_left_out(path)

    def anticipate(self, actions: Sequence[MirrorAction]) -> Anticipation:
        """Have eventual mirrors write what a change needs while it is being committed, unless it is followed inline.

        The result goes to `begin`, or is discarded if nothing was committed. `number` of the actions is not looked at.
        """
        mirrors = () if self.inline(actions) is not None else self._mirrors
        return anticipation.Anticipation(mirrors, actions, self._context.is_left_out)

    def inline(self, actions: Sequence[MirrorAction]) -> InlineFollower | None:
        """Return what follows a committed change in the calling thread; None where the mirrors' own workers shall."""
        is_alone = len(self._carriers) == 1 and self._carriers[0].mirror.takes_calls
        if not is_alone or not following.are_small(actions):
            return None
        return following.InlineFollower(self._carriers[0], actions, self._context.times.wait_seconds)

    def begin(self, actions: Sequence[MirrorAction], anticipated: Anticipation | None = None) -> Follower:
        """Start following a committed change, in parallel with the primary's exchange; `join` the result after it."""
        return following.Follower(self._carriers, actions, self._context.times.wait_seconds, anticipated)

    def follow(self, actions: Sequence[MirrorAction]) -> MirrorStatus:
        """Follow a change, waiting for the mirrors no longer than `mirror_wait_seconds`; never raises for a mirror."""
        return self.begin(actions).join()

    def prepare_strict(self, actions: Sequence[MirrorAction]) -> StrictTicket:
        """Prepare a change in every mirror, before its commit; `number` of the actions is not looked at.

        Raises:
            SyncFailedError: A mirror is paused, not ready, out of step, or cannot take it. Nothing was changed.
        """
        return strict.StrictTicket(self._carriers, actions, self._context.times.strict_wait_seconds)

    def standing(self) -> MirrorStatus:
        """Return how the mirrors stand without any new change."""
        if not self._mirrors:
            return "off"
        backlog = self._context.journal.backlog
        behind = any(
            mirror.state != "ready" or backlog.count(mirror.place) > len(mirror.completions) for mirror in self._mirrors
        )
        return "pending" if behind else "in_sync"

    def status(self) -> dict[str, dict[str, Any]]:
        """Return state ("ready", "filling", "not_ready" or "paused"), paths behind and last error of each mirror.

        Right after opening it waits for the first look at a mirror, but no longer than a call would.
        """
        for mirror in self._mirrors:
            if mirror.takes_calls and not mirror.identity.is_established:
                look = mirror.front.submit(mirror.guarded(lambda job, mirror=mirror: mirror.identity.check()))  # type: ignore[misc]
                look.wait(self._context.times.wait_seconds)
        return {
            mirror.name: {
                "state": mirror.state,
                "behind": self._context.journal.backlog.count(mirror.place) + mirror.filling,
                "last_error": None if mirror.last_error is None else mirror.last_error.message,
            }
            for mirror in self._mirrors
        }

    async def start(self) -> None:
        """Attach the mirrors that were added to the root, and start filling and catching up in the background."""
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()
        for mirror in self._mirrors:
            self._begin_work(mirror)
        if self._open_added is not None:
            await self._look_for_added(self._open_added)
            self._looking = asyncio.create_task(self._keep_looking(self._open_added), name="filetools mirrors")
            self._looking.add_done_callback(_log_failure)

    async def sync_all(
        self,
        preview: bool = False,
        *,
        verify: bool = False,
        progress: Progress | None = None,
        abort: asyncio.Event | None = None,
    ) -> SyncResult:
        """Make the mirrors equal to the primary; a file that fails does not stop the others.

        Args:
            preview: Only plan.
            verify: Read and hash every file, rather than trust what is known of files that look unchanged.
            progress: Called on the loop with paths done, paths in all, and the next path.
            abort: Stops between two files when it is set.

        Raises:
            SyncFailedError: One runs already, or a mirror is paused or not ready.
            InvalidArgumentError: There is no mirror.
            AbortedError: It was aborted; what was done stays done.
        """
        if not self._mirrors:
            raise InvalidArgumentError(
                "This workspace has no mirror to synchronise",
                suggested_action="Add one with 'filetools mirror add', or name one where the root is opened.",
            )
        if self._is_synchronising:
            raise SyncFailedError(None, "already running")
        self._is_synchronising = True
        request = synchronise.SyncRequest(preview=preview, verify=verify, progress=progress, abort=abort)
        try:
            results = [await self._synchronise(mirror, request) for mirror in self._mirrors]
        finally:
            self._is_synchronising = False
        return results[0] if len(results) == 1 else synchronise.summed(results)

    def pause(self, reason: PauseReason = "user") -> None:
        """Follow nothing until `resume`; changes go into the backlog."""
        for mirror in self._mirrors:
            mirror.is_paused = True
        self._tell(events.SyncPaused(reason=reason))

    def resume(self) -> None:
        """Follow again, and catch up at once."""
        for mirror in self._mirrors:
            mirror.is_paused = False
            mirror.work.set()
        self._tell(events.SyncResumed())

    async def finish(self) -> None:
        """Stop the background work, and bring the mirrors what they lack if that is quick; before locks are closed."""
        await self._stop()
        for mirror, work in self._work.items():
            if mirror.is_ready:
                with suppress(TimeoutError, FileToolsError):
                    async with asyncio.timeout(CLOSE_SECONDS):
                        await work.catch_up.finish()

    async def aclose(self) -> None:
        """Make durable what was exchanged, if that is quick, and stop; may be called twice. Waits for no hung worker."""
        await self._stop()
        for mirror, work in self._work.items():
            if work.tasks and mirror.is_ready:
                with suppress(TimeoutError, FileToolsError):
                    async with asyncio.timeout(CLOSE_SECONDS):
                        await mirror.completions.flush()
            work.tasks.clear()
            _close_workers(mirror)

    async def _stop(self) -> None:
        tasks = [task for work in self._work.values() for task in work.tasks]
        if self._looking is not None:
            tasks.append(self._looking)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _keep_looking(self, open_added: Callable[[MirrorRow], Store]) -> None:
        """Notice what other processes add and remove; what is written until then waits in the backlog."""
        while True:
            await asyncio.sleep(self._context.times.probe_seconds)
            try:
                await self._look_for_added(open_added)
            except FileToolsError as exc:
                _log.debug("the mirrors of the root cannot be told now: %s", exc)

    async def _look_for_added(self, open_added: Callable[[MirrorRow], Store]) -> None:
        rows = await self._context.run(self._context.journal.mirrors.all)
        places = {row.place for row in rows}
        for mirror in self._mirrors:
            if mirror.place not in places:
                self._detach(mirror)
        attached = {mirror.place for mirror in self._mirrors}
        for row in rows:
            if row.root is not None and row.place not in attached:
                mirror = self._attach(AttachedMirror(name=self._free_name(), row=row, store=open_added(row)))
                self._begin_work(mirror)

    def _free_name(self) -> str:
        taken = {mirror.name for mirror in self._mirrors}
        names = chain(("mirror",), (f"mirror {number}" for number in count(2)))
        return next(name for name in names if name not in taken)

    def _attach(self, attached: AttachedMirror) -> Mirror:
        store = attached.store
        files = self._files(store)
        mirror = mirrors.Mirror(attached.name, attached.row, store, self._context, files, changed=self._changed)
        carrier = carrying.Carrier(self._context, mirror)
        synchronisation = synchronise.Synchronisation(self._context, carrier)
        self._work[mirror] = _MirrorWork(synchronisation, catch_up.CatchUp(self._context, carrier, synchronisation))
        # As new tuples: calls in other threads go through the old ones meanwhile.
        self._mirrors, self._carriers = (*self._mirrors, mirror), (*self._carriers, carrier)
        return mirror

    def _begin_work(self, mirror: Mirror) -> None:
        work = self._work[mirror]
        for coroutine in (work.catch_up.run(), mirror.completions.run(mirror.missed)):
            task = asyncio.create_task(coroutine, name=f"filetools mirror {mirror.name}")
            task.add_done_callback(_log_failure)
            work.tasks.append(task)

    def _detach(self, mirror: Mirror) -> None:
        self._mirrors = tuple(each for each in self._mirrors if each is not mirror)
        self._carriers = tuple(each for each in self._carriers if each.mirror is not mirror)
        for task in self._work.pop(mirror).tasks:
            task.cancel()
        _close_workers(mirror)

    async def _synchronise(self, mirror: Mirror, request: SyncRequest) -> SyncResult:
        try:
            return await self._work[mirror].synchronisation.run(request)
        except SyncFailedError as exc:
            if len(self._mirrors) == 1:
                raise
            # One whose disk is away keeps no other from being synchronised.
            return synchronise.failed_result(mirror.name, exc, preview=request.preview)

    def _changed(self, mirror: Mirror) -> None:
        if mirror.is_ready:
            self._tell(events.SyncResumed())
            return
        error = mirror.last_error
        if error is not None:
            self._tell(events.SyncError(error=error.message, error_code=error.code))
        self._tell(events.SyncPaused(reason="error"))

    def _tell(self, event: Event) -> None:
        if self._loop is None:
            return
        if threading.get_ident() == self._thread:
            self._publish(event)
            return
        with suppress(RuntimeError):  # the loop is closed, and nobody listens
            self._loop.call_soon_threadsafe(self._publish, event)


def _close_workers(mirror: Mirror) -> None:
    for worker in (mirror.front, mirror.back):
        worker.close(0)


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.critical("%s has stopped", task.get_name(), exc_info=error)
