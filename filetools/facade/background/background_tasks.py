"""The background tasks of an opened workspace: following other processes, and the work of the leader.

Of all processes on one root, the one that holds `leader.lock` is the leader: it recovers from crashed processes, syncs
files, records foreign changes and tidies the journal. When it dies, another process takes over within a second.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import filetools.events as events
from filetools.changes.documents.files import sweep_handles
from filetools.changes.parts import Parts
from filetools.changes.runner import CallRunner
from filetools.errors import FileToolsError, LockTimeoutError, WorkspaceGoneError
from filetools.events.notifier import Notifier
from filetools.facade.background.leftovers import sweep
from filetools.facade.reading.feed import Feed
from filetools.models.records import SYSTEM, ChangeRecord
from filetools.paths.workspace_path import ROOT
from filetools.tree.leader import Leadership
from filetools.writer.file_sync import sync_files

FOLLOW_PAUSE_SECONDS: Final = 0.01
"""Shortest time between two reads of other processes' records; the first one after a silence is immediate."""
LEADER_SECONDS: Final = 1.0
RECOVERY_WAIT_SECONDS: Final = 0.25
"""How long recovery waits for another process's turn."""
TIDY_ROUNDS: Final = 60
SAVE_SEEN_SECONDS: Final = 1.0
"""Interval for saving the read tracker."""
RESTORED_RECORDS: Final = 1_000_000
"""In effect all: unsynced records are those of the last seconds before the machine went down."""

_log = logging.getLogger(__name__)


class BackgroundTasks:
    """Runs the background tasks of one workspace, from `start` to `aclose`."""

    def __init__(self, runner: CallRunner, feed: Feed, notifier: Notifier, state_directory: Path) -> None:
        self._runner = runner
        self._parts = runner.parts
        self._feed = feed
        self._sync_files = partial(sync_files, self._parts.workspace, self._parts.store, self._parts.journal)
        self._notifier = notifier
        self._foreign = runner.foreign
        self._tasks: list[asyncio.Task[None]] = []
        self._notified = asyncio.Event()
        self._leadership = Leadership(state_directory, "leader.lock")
        self._rounds = 0
        self._trash_sizes: dict[int, int] = {}

    async def start(self) -> None:
        """Recover from crashed processes, then start the background tasks. The tree is not scanned."""
        self._foreign.begin()
        # First: later commits of other processes notify this one, and earlier ones are read below.
        self._notifier.listen(self._on_notified)
        await self._runner.turns.publisher.start()
        await self._runner.news.start()
        await self._recover()
        await self._keep_documents()  # before the first call: a short-lived process may end before a leader's round
        self._try_to_keep()
        self._tasks = [
            asyncio.create_task(self._repeatedly(self._follow), name="filetools follow"),
            asyncio.create_task(self._repeatedly(self._foreign.work), name="filetools foreign"),
            asyncio.create_task(self._repeatedly(self._save_seen), name="filetools read tracker"),
            asyncio.create_task(self._repeatedly(self._runner.news.follow_changes), name="filetools documents"),
            asyncio.create_task(self._repeatedly(partial(self._parts.sync.tend, self.look)), name="filetools mirrors"),
            asyncio.create_task(self._repeatedly(self._keep), name="filetools keep"),
        ]

    async def look(self) -> None:
        """Record foreign changes anywhere in the tree; raises as `ForeignChanges.look`."""
        await self._runner.while_open(self._foreign.look())

    async def aclose(self) -> None:
        """Stop the background tasks."""
        self._feed.close()
        self._notifier.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._foreign.aclose()
        with suppress(FileToolsError):
            await self._parts.workers.run(self._parts.tracker.save)
        if self._leadership.is_leading:
            with suppress(FileToolsError):
                await self._parts.workers.run(self._sync_files)
        self._leadership.close()

    async def _repeatedly(self, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await work()
                continue
            except WorkspaceGoneError:
                pass  # the workspace was closed or its root is gone; every call reports that
            except FileToolsError as exc:
                _log.warning("background work failed and will be retried: %s", exc)
            except Exception:  # noqa: BLE001 - otherwise the task would end silently
                _log.exception("background work failed and will be retried")
            await asyncio.sleep(LEADER_SECONDS)

    def _on_notified(self) -> None:
        self._notified.set()
        self._parts.sync.wake(is_heard=True)

    async def _follow(self) -> None:
        """Publish the records of other processes, with their own actors."""
        await self._notified.wait()
        self._notified.clear()
        await self._runner.news.publish()
        if await self._runner.turns.publisher.follow():
            self._notified.set()
        approvals = self._parts.gatekeeper.approvals
        if await self._parts.workers.run(approvals.has_news):
            await approvals.look()
        # A process also receives its own notifications; while it writes constantly, this limits how often it reads.
        await asyncio.sleep(FOLLOW_PAUSE_SECONDS)

    async def _keep(self) -> None:
        """Do one round of the leader's work, or try to become the leader."""
        if not self._leadership.is_leading:
            await asyncio.sleep(LEADER_SECONDS)
            self._try_to_keep()
            return
        await self._recover()  # first: files not yet restored would be recorded as foreign changes
        if self._parts.settings.watch:
            await self._foreign.watch()
        await sweep(self._runner)
        await self._keep_documents()
        await self._parts.workers.run(self._sync_files)
        settings, journal = self._parts.settings, self._parts.journal
        await self._parts.workers.run(journal.checkpoint)
        if self._rounds % TIDY_ROUNDS == 0:
            tidy = partial(
                journal.retention.collect,
                retention_bytes=settings.retention_bytes,
                retention_records=settings.retention_records,
            )
            await self._parts.workers.run(tidy)
            await self._parts.workers.run(partial(tidy_trash, self._parts, self._trash_sizes))
        self._rounds += 1
        await asyncio.sleep(settings.sync_after_seconds or LEADER_SECONDS)

    async def _keep_documents(self) -> None:
        """Keep the text of vanished editors, and update documents whose file's writer died before they followed."""
        await self._runner.news.publish()
        if not self._parts.documents.known.is_any:
            return
        for document, version, author in await self._parts.workers.run(lambda: list(sweep_handles(self._parts))):
            self._parts.bus.publish(
                events.BufferAbandoned(path=document.path, document=document.id, actor=author, kept_version=version)
            )
        await self._runner.news.follow()

    async def _recover(self) -> None:
        """Recover from crashed processes and power cuts; the next round retries what fails."""
        if await self._parts.workers.run(self._is_unrecovered):
            with suppress(LockTimeoutError):  # the process whose turn it is recovers first
                await self._runner.record(self._recovered, "", SYSTEM.id, RECOVERY_WAIT_SECONDS)

    def _is_unrecovered(self) -> bool:
        marks = self._parts.journal.marks
        return bool(marks.unfinished("pending", 1) or marks.unfinished("unrestored", 1))

    def _recovered(self) -> Sequence[ChangeRecord]:
        marks = self._parts.journal.marks
        self._parts.recovery.settle_all(
            [*marks.unfinished("unrestored", RESTORED_RECORDS), *marks.unfinished("pending")]
        )
        return ()

    def _try_to_keep(self) -> None:
        try:
            self._leadership.try_lead()
        except OSError as exc:
            _log.warning("this process cannot become the leader: %s", exc.strerror)

    async def _save_seen(self) -> None:
        await asyncio.sleep(SAVE_SEEN_SECONDS)
        if self._parts.tracker.is_new:
            await self._parts.workers.run(self._parts.tracker.save)


def tidy_trash(parts: Parts, sizes: dict[int, int]) -> int:
    """Delete trash that the journal has forgotten or that exceeds the retention. Only the leader calls it, in a worker.

    Args:
        parts: The workspace.
        sizes: Bytes of the entries measured before, by number, which do not change; those of new ones are added.

    Returns:
        The number of entries deleted.
    """
    forgotten = parts.journal.positions().forgotten
    numbers = sorted(int(name) for name in parts.store.trash_names() if name.isdecimal())
    trash = {number: parts.store.trashed(ROOT, str(number)) for number in numbers}
    for number in trash.keys() - sizes.keys():
        sizes[number] = sum(stat.size for _, stat in trash[number].entries() if stat.type != "directory")
    total = sum(sizes[number] for number in numbers)
    emptied = 0
    checkpoints = parts.journal.checkpoints.all()
    for number, found in trash.items():
        is_within = number > forgotten and total <= parts.settings.retention_bytes
        if is_within or (checkpoints and number > checkpoints[0].number):
            break
        found.discard()
        total -= sizes[number]
        emptied += 1
    return emptied
