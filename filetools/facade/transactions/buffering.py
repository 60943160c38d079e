"""How a call runs inside a transaction: its steps change the overlay instead of the disk."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, cast

from msgspec import structs

from filetools.changes.deciding.files import record_steps
from filetools.changes.parts import Parts
from filetools.changes.read_tracker import ReadTracker, Rows, added, owner_of
from filetools.changes.runner import CallRunner
from filetools.changes.steps.files import MoveFile, PutFile, RemoveFile
from filetools.changes.steps.folders import MakeFolderStep, MoveFolder, RemoveFolderStep
from filetools.changes.steps.pipeline import Outcome, ReportProgress, decide_all, ignore_progress
from filetools.changes.steps.step import Step
from filetools.editors.documents import Documents
from filetools.errors import ChangedMeanwhileError, FileToolsError, InvalidArgumentError
from filetools.events.bus import EventBus
from filetools.facade.transactions.held import HeldTree, OverlayStore
from filetools.journal.commit import HeadMovedError
from filetools.journal.journal import Journal
from filetools.journal.seen_versions import SeenVersion
from filetools.models.records import Actor, ChangeRecord, Operation
from filetools.paths.workspace_path import WorkspacePath
from filetools.permissions.gatekeeper import Permit
from filetools.search.walk import walk_tree
from filetools.stores.store import Store
from filetools.writer.turn_calls import FIRST_PAUSE_SECONDS, MOST_TRIES

OUTSIDE: Final = "A transaction works inside its block only; begin another with `async with files.transaction() as tx`"


class BufferingRunner(CallRunner):
    """Runs the calls of one transaction."""

    def __init__(self, outer: CallRunner) -> None:
        parts = outer.parts
        self.outer = outer
        self.held = HeldTree(parts.store, parts.workspace.key)
        self.tracker = TransactionTracker(parts.journal, parts.tracker, self.held.is_changed)
        self.is_over = True
        self._turn = asyncio.Lock()
        super().__init__(
            structs.replace(
                parts,
                # It can only be read: what a transaction makes reaches the disk at its exit, and no other way.
                store=cast("Store", OverlayStore(self.held)),
                documents=Documents(parts.journal),
                tracker=self.tracker,
                bus=EventBus(),
                is_inner=True,
            ),
            outer.wake_followers,
            outer.before_change,
        )

    def check_open(self) -> None:
        """Raise unless the transaction is open.

        Raises:
            InvalidArgumentError: It has not begun, or has ended.
            WorkspaceGoneError: The workspace was closed.
        """
        if self.is_over:
            raise InvalidArgumentError(OUTSIDE)
        self.outer.check_open()

    def begin(self) -> None:
        """Accept calls from now on."""
        self.is_over = False

    async def end(self) -> None:
        """Accept no more calls, and wait for the running one."""
        self.is_over = True
        async with self._turn:
            pass

    async def change(
        self,
        steps: Sequence[Step],
        actor: Actor,
        *,
        lock_timeout_seconds: float | None = None,
        report_progress: ReportProgress = ignore_progress,
        happened: Callable[[], None] | None = None,
        permits: Iterable[Permit | None] = (),
    ) -> Outcome:
        """Apply steps to the overlay, all or nothing; nothing is locked, recorded or reported. People are asked at the exit.

        Raises:
            ChangedMeanwhileError: Others were moving a folder in every try.
            FileToolsError: A step refused; the overlay is as it was.
        """
        async with self._turn:
            self.check_open()
            for attempt in range(MOST_TRIES):
                try:
                    await self.parts.workers.run(partial(self._apply, steps, actor, report_progress))
                    break
                except HeadMovedError:
                    await asyncio.sleep(FIRST_PAUSE_SECONDS * 2**attempt)
            else:
                raise ChangedMeanwhileError(steps[0].paths[0], MOST_TRIES)
            (happened or partial(record_steps, self.parts, actor, steps))()
        return Outcome(records=(), mirror="off")

    def _apply(self, steps: Sequence[Step], actor: Actor, report_progress: ReportProgress) -> None:
        with self.held.lock:
            self.outer.parts.tracker.load(actor)
            saved = self.held.saved()
            try:
                for number, step in enumerate(steps):
                    report_progress(number, len(steps))
                    step.look(self.parts)
                for step in decide_all(self.parts, steps):
                    act(self.parts, self.held, step)
                    # It says that something will change, and has no number yet.
                    record = ChangeRecord(
                        number=0, operation=Operation.MODIFY, path=step.paths[-1], actor=actor, time=time.time()
                    )
                    step.recorded(record)
            except (FileToolsError, HeadMovedError):
                self.held.restore(saved)
                raise


class TransactionTracker(ReadTracker):
    """The rows of one transaction over those of the workspace.

    A text that the transaction made is known only inside it until its exit; a text of the disk is known outside, too.
    """

    def __init__(self, journal: Journal, outer: ReadTracker, is_changed: Callable[[str], bool]) -> None:
        """Begin without rows.

        Args:
            journal: Where texts may be kept.
            outer: The tracker of the workspace.
            is_changed: Returns True if the transaction has changed the path of a key.
        """
        super().__init__(journal)
        self._outer = outer
        self._is_changed = is_changed
        self._own: dict[str, Rows] = {}
        self._own_texts: dict[str, bytes] = {}

    def text(self, version: str) -> bytes | None:
        """Return the bytes of a version that a row names; None if they are not kept."""
        content = self._own_texts.get(version)
        return self._outer.text(version) if content is None else content

    def publish(self, actor: Actor, steps: Sequence[Step], key_of: Callable[[WorkspacePath], str]) -> None:
        """Record in the workspace what the actor knows of the files that its transaction has changed."""
        for key, rows in self._own.items():
            self._outer._replace(owner_of(actor), key, rows)
        for step in steps:
            key = key_of(step.path)
            known = self._own.get(key)
            if not known or not isinstance(step, PutFile):
                continue
            decision = step.decision
            if decision.sent is not None:
                self._outer._hold(owner_of(actor), decision.sent_version, decision.sent)
            if step.decision.facts.version not in known:
                self._outer.record_reported(actor, key, step.decision.facts.version)

    def _add(
        self,
        actor: Actor,
        key: str,
        rows: tuple[SeenVersion, ...],
        version: str | None,
        content: bytes | memoryview | None,
    ) -> None:
        if not self._is_changed(key):
            self._outer._add(actor, key, rows, version, content)
            return
        if version is not None and content is not None:
            self._own_texts[version] = bytes(content)
        self._own[key] = added(self._rows(owner_of(actor), key), rows)

    def _replace(self, owner: str, key: str, rows: Rows) -> None:
        self._own[key] = rows

    def _rows(self, owner: str, key: str) -> Rows:
        return self._own[key] if key in self._own else self._outer._rows(owner, key)

    def _below(self, actor: Actor, key: str) -> list[str]:
        own = [known for known, rows in self._own.items() if rows and known.startswith(f"{key}/")]
        return [*own, *(known for known in self._outer._below(actor, key) if known not in self._own)]


def act(parts: Parts, held: HeldTree, step: Step) -> None:
    """Apply a step that has looked and decided to the tree of a transaction.

    Args:
        parts: The workspace as the transaction sees it.
        held: Changed.
        step: Has looked and decided.

    Raises:
        InvalidArgumentError: It would change the kind of an entry, or only the spelling of a name.
    """
    if isinstance(step, MoveFile | MoveFolder) and held.key(step.paths[0]) == held.key(step.paths[1]):
        source, destination = step.paths
        raise InvalidArgumentError(
            f"{source} and {destination} are one name here; rename it outside of a transaction", path=source
        )
    for folder in step.missing:
        held.make_folder(folder)
    is_whole = isinstance(step, RemoveFolderStep | MoveFolder)
    below = [path for path, _ in walk_tree(parts.store, step.path)] if is_whole else []
    match step:
        case PutFile():
            held.put(step.path, step.seen, step.decision)
        case RemoveFile():
            held.remove(step.path, seen=step.seen)
        case MoveFile():
            held.move(step.source, step.destination, seen=step.seen)
        case MakeFolderStep():
            held.make_folder(step.path)
        case RemoveFolderStep():
            held.remove(step.path, below)
        case MoveFolder():
            held.move(step.paths[0], step.paths[1], below)
