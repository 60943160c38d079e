"""Runs calls in turns and publishes their events. Shared by the facades of all actors."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar

from filetools.changes.deciding.files import record_steps
from filetools.changes.documents.document_news import DocumentNews
from filetools.changes.foreign import ForeignChanges
from filetools.changes.parts import Parts
from filetools.changes.steps import pipeline
from filetools.changes.steps.folders import FolderStep
from filetools.changes.steps.pipeline import Outcome
from filetools.changes.steps.step import Step
from filetools.changes.tree_look import TreeLook, look_at_tree
from filetools.content.facts import inspect
from filetools.errors import (
    AbortedError,
    FileToolsError,
    InvalidPathError,
    LockTimeoutError,
    WorkspaceGoneError,
)
from filetools.events.types import from_record
from filetools.locks.deadline import current_deadline
from filetools.models.history import LookResult
from filetools.models.records import Actor, ChangeRecord
from filetools.paths.lexical import AnyPath, names_folder, plain_path
from filetools.paths.unmeant import refuse_unmeant
from filetools.paths.workspace_path import WorkspacePath
from filetools.permissions.gatekeeper import Permit
from filetools.writer.turn_calls import Publication, TurnCall, TurnTask, quietly
from filetools.writer.turns import Turns
from filetools.writer.worker_pool import CLOSED, InFlight

T = TypeVar("T")

_log = logging.getLogger(__name__)

LARGEST_EVENT_CONTENT_BYTES: Final = 1024 * 1024
READER_WAIT_SECONDS: Final = 2.0


BeforeChange = Callable[["CallRunner", Actor], Awaitable[None]]
"""Given the runner of a change and its actor."""


class CallRunner:
    """Runs the calls of an opened workspace."""

    def __init__(self, parts: Parts, wake_followers: Callable[[], None], before_change: BeforeChange) -> None:
        """Begin without calls.

        Args:
            parts: The workspace.
            wake_followers: Called on the loop when the journal has grown, before the events are published.
            before_change: Called before a change waits for its turn.
        """
        self.parts = parts
        self.news = DocumentNews(parts)
        """Publishes the events of open documents."""
        self.foreign = ForeignChanges(parts, self.record)
        """Records changes by other programs."""
        self.wake_followers = wake_followers
        self.before_change = before_change
        self.turns = Turns(
            parts.workspace,
            parts.journal,
            parts.workers,
            parts.recovery.settle_all,
            lambda: parts.sync.is_strict,
            parts.sync.wake,
            self._publish,
        )
        self._changes = InFlight()
        self._long: set[asyncio.Task[Any]] = set()
        self._is_closed = False

    async def aclose(self) -> None:
        """Refuse new calls and those waiting for their turn; finish and publish changes in progress.

        Long work, such as a look at the tree, is cancelled. May be called twice.
        """
        self._is_closed = True
        for task in self._long:
            task.cancel()
        await self.turns.aclose()
        await self._changes.none()

    def resolve(
        self, raw_path: AnyPath, *, allow_root: bool = False, as_name: bool = False, is_new: bool = False
    ) -> WorkspacePath:
        """Return the normal form of a caller's path, with symbolic links resolved if the settings say so.

        Args:
            raw_path: The caller's path.
            allow_root: True to accept the root.
            as_name: True to not follow a link at the end, as unlink and rename do.
            is_new: True if the path may be created, so that one that is almost certainly a mistake is refused.

        Raises:
            WorkspaceGoneError: The workspace was closed.
            InvalidPathError, AbsolutePathError
        """
        self.check_open()
        workspace, text = self.parts.workspace, plain_path(raw_path)
        path = workspace.resolve(text, allow_root=allow_root)
        if is_new or text[:1] == "/":
            refuse_unmeant(workspace, text, path)
        if not workspace.follow_symlinks or path.is_root:
            return path
        return workspace.locate(path.parent).child(path.name) if as_name else workspace.locate(path)

    def resolve_new(
        self, raw_path: AnyPath, *, as_name: bool = False, is_folder: bool = False, source: WorkspacePath | None = None
    ) -> WorkspacePath:
        """As `resolve`, for a path that may be created.

        A path that ends in a slash is a folder: `source` goes into it, as with `mv`; without a source it is refused.

        Args:
            raw_path: The caller's path.
            as_name: True to not follow a link at the end.
            is_folder: True if a folder is created.
            source: The path that is moved or copied there.

        Raises:
            InvalidPathError, AbsolutePathError
        """
        text = plain_path(raw_path)
        is_into = not is_folder and names_folder(text)
        path = self.resolve(text, allow_root=is_into and source is not None, as_name=as_name, is_new=True)
        if not is_into:
            return path
        if source is None:
            action = "Name a file in the folder, or leave out the '/' at the end."
            raise InvalidPathError(text, "it ends in '/', so it names a folder", suggested_action=action)
        return path if path == source or self._is_renamed(source, path) else path.child(source.name)

    def _is_renamed(self, source: WorkspacePath, destination: WorkspacePath) -> bool:
        """True if a folder is renamed, because its destination does not exist."""
        of_source = self.parts.store.stat(source)
        return of_source is not None and of_source.type == "directory" and self.parts.store.stat(destination) is None

    async def look(self) -> LookResult:
        """Record foreign changes in the whole tree; does nothing if the workspace is read-only.

        Raises:
            WorkspaceGoneError: The workspace was closed.
        """
        self.check_open()
        if self.parts.gatekeeper.refusal is not None:
            return LookResult(recorded=False)
        seen = await self.while_open(self.look_at_tree())
        return LookResult(unread=seen.unread)

    async def look_at_tree(self, *, keep: bool = False) -> TreeLook:
        """Record foreign changes anywhere in the tree, for calls that report on all of it; see `tree_look.look_at_tree`."""
        return await look_at_tree(self.parts, self.foreign, self.check_open, keep=keep)

    def check_open(self) -> None:
        """Raise WorkspaceGoneError if the workspace was closed."""
        if self._is_closed:
            raise WorkspaceGoneError(CLOSED)

    async def while_open(self, work: Coroutine[Any, Any, T]) -> T:
        """Await work that may take long; closing the workspace cancels it.

        Raises:
            WorkspaceGoneError: The workspace was closed.
        """
        task = asyncio.ensure_future(work)
        self._long.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if self._is_closed and not (current and current.cancelling()):
                raise WorkspaceGoneError(CLOSED) from None
            raise
        finally:
            self._long.discard(task)

    async def wait_for_writers(self, path: WorkspacePath) -> bool:
        """Wait up to 2 s for earlier calls on a path; False if they have not finished."""
        try:
            await self.turns.do(lambda: None, path=path, owner="reader", timeout_seconds=READER_WAIT_SECONDS)
        except LockTimeoutError:
            return False
        return True

    async def observe(self, path: WorkspacePath) -> None:
        """Record and publish foreign changes of a file. Errors are ignored, such as another process's long turn."""
        parts = self.parts
        with suppress(FileToolsError):
            if await parts.workers.run(partial(_is_changed, parts, path)):
                await self.record(lambda: parts.observer.named([path]) or (), path, "reader", READER_WAIT_SECONDS)

    async def record(
        self, work: Callable[[], Sequence[ChangeRecord]], path: str, owner: str, timeout_seconds: float
    ) -> None:
        """Run work in a turn and publish the records that it returns.

        Raises:
            LockTimeoutError: Another process's turn took too long.
            FileToolsError: The work raised it.
        """
        task = TurnTask(lambda: task.found.extend(work()))
        await self.turns.run(TurnCall(task, (), path=path, owner=owner, timeout_seconds=timeout_seconds))

    async def change(
        self,
        steps: Sequence[Step],
        actor: Actor,
        *,
        lock_timeout_seconds: float | None = None,
        report_progress: pipeline.ReportProgress = pipeline.ignore_progress,
        happened: Callable[[], None] | None = None,
        permits: Iterable[Permit | None] = (),
    ) -> Outcome:
        """Apply steps in a turn, then publish the changes.

        Cancellation while waiting for the turn takes effect at once; later, the change is first finished or undone, and its
        events are published. Foreign changes found by a refused call are published too.

        Args:
            steps: What to change.
            actor: Who changes it.
            lock_timeout_seconds: Longest wait for the turn; None as in the settings.
            report_progress: Called with the progress in a worker thread.
            happened: Called on the loop after a success, even if the caller is cancelled; None records what the actor then
                knows.
            permits: What people have approved; the turn checks that the steps still do exactly that.

        Raises:
            ChangedMeanwhileError: The change is no longer what was approved.
            LockTimeoutError: Other turns took too long.
            FileToolsError: A step refused or failed; nothing was changed.
            UnsavedQuestion: A person must decide first; nothing was changed.
        """
        self.check_open()
        await self.before_change(self, actor)
        self.check_open()
        parts = self.parts
        paths = [path for step in steps for path in step.paths]
        checks = [permit.check for permit in permits if permit is not None]
        if checks:
            changing = frozenset(paths)
            for step in steps:
                if isinstance(step, FolderStep):
                    step.be_allowed(changing)
        keys = [parts.workspace.key(path) for path in paths]

        def report(done: int, total: int) -> None:
            if call.hop.is_cancelled:  # before the commit, so that nothing needs to be set back
                raise AbortedError("The call", {"done": 0, "total": total})
            report_progress(done, total)

        applying = pipeline.Pipeline(parts, steps, actor, report, checks)
        timeout = parts.settings.lock_timeout_seconds if lock_timeout_seconds is None else lock_timeout_seconds
        call = TurnCall(
            applying, keys, path=paths[0], owner=actor.id, timeout_seconds=timeout,
            happened=happened or partial(record_steps, parts, actor, steps),
        )  # fmt: skip
        self._changes.begin()
        try:
            try:
                await self.turns.run(call)
            except asyncio.CancelledError:
                if call.hop.cancelled() or not call.hop.done() or applying.outcome is None or not is_late():
                    raise
            call.hop.result()
            assert applying.outcome is not None
            return await self._followed(applying.outcome)
        finally:
            self._changes.end()

    async def _followed(self, outcome: Outcome) -> Outcome:
        """Wait briefly for mirrors, and for the documents of moved files."""
        if self.parts.documents.known.is_any and any(record.old_path is not None for record in outcome.records):
            with suppress(FileToolsError):  # it will be published later
                await self.news.publish()  # the next read must find unsaved text at its new path
        if not outcome.followed:
            return outcome
        try:
            return outcome.with_mirror(await self.parts.sync.follow(outcome.followed))
        except asyncio.CancelledError:
            if not is_late():
                raise
        return outcome.with_mirror("pending")

    async def afterwards(self, work: Callable[[], T]) -> T:
        """Run `work` after a change; a caller stopped by its time limit still gets the result of the change."""
        hop = self.parts.workers.start(work)
        try:
            return await hop
        except asyncio.CancelledError:
            if not is_late():
                raise
        return hop.result()

    def _publish(self, publications: Sequence[Publication]) -> None:
        """Tell each actor about changes by others to files it has read, then wake followers and publish the events."""
        if publications:
            records = [record for record, _ in publications]
            quietly(partial(self.parts.tracker.notice, records, self.parts.workspace.key))
            quietly(partial(self.news.note, records))
            quietly(self.wake_followers)
        for record, acquired in publications:
            quietly(partial(self._publish_one, record, acquired))

    def _publish_one(self, record: ChangeRecord, acquired: float | None) -> None:
        loader = partial(self._load, record) if record.after is not None else None
        released = None if acquired is None else time.time()
        for event in from_record(record, content_loader=loader, lock_acquired=acquired, lock_released=released):
            self.parts.bus.publish(event)

    async def _load(self, record: ChangeRecord) -> str | None:
        if record.after is None or (record.size or 0) > LARGEST_EVENT_CONTENT_BYTES:
            return None
        return await self.parts.workers.run(partial(_text_of, self.parts, record.path, record.after))


def _is_changed(parts: Parts, path: WorkspacePath) -> bool:
    """True if a recorded path may differ from its row; looks without a lock."""
    return parts.view(parts.workspace.key(path)).head is not None and parts.observer.differs(path)


def is_late() -> bool:
    """True if a call is cancelled only by its time limit or abort signal; a finished change is then still returned."""
    task, deadline = asyncio.current_task(), current_deadline()
    return task is not None and task.cancelling() == 1 and deadline is not None and deadline.is_over()


def _text_of(parts: Parts, path: str, version: str) -> str | None:
    try:
        return inspect(parts.journal.contents.get(version), name=path)[1]
    except FileToolsError:
        return None
