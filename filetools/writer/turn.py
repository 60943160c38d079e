"""One turn of the writer: look, decide, prepare, commit, apply, mark. The caller holds the root's lock."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct, structs

from filetools.errors import (
    AccessDeniedError,
    ChangedMeanwhileError,
    DirectoryNotFoundError,
    FileBusyError,
    FileToolsError,
    PathExistsError,
    PathNotDirectoryError,
    PathNotFoundError,
    StorageFailedError,
    VersionGoneError,
)
from filetools.journal.contents import digest_of, hash_of, version_from
from filetools.journal.core.log import LogDraft, LogRecord
from filetools.journal.core.tree_rows import TreeRow
from filetools.models.records import Actor
from filetools.paths.workspace_path import WorkspacePath
from filetools.tree.agenda import Due
from filetools.tree.hints import FolderId
from filetools.tree.observe import Observation
from filetools.tree.reading import stat_if_any
from filetools.tree.scope import Names
from filetools.writer.displaced import enter_displaced
from filetools.writer.operations import (
    Call,
    Decided,
    Link,
    MakeFolder,
    Move,
    Put,
    Remove,
    RemoveFolder,
    Seen,
    SeenPath,
    TreeOperation,
)
from filetools.writer.state import WriterState
from filetools.writer.steps import OperationStep

logger = logging.getLogger(__name__)

_RACES: Final = (
    PathExistsError, PathNotFoundError, DirectoryNotFoundError, PathNotDirectoryError, ChangedMeanwhileError,
)  # fmt: skip
"""Errors of an exchange that say that another program was there first: the call is decided anew."""


class CallOutcome(Struct, frozen=True, kw_only=True):
    """What became of a call."""

    records: Sequence[LogRecord] = ()
    """Its own, and of what its exchange brought to light."""
    answer: object = None
    error: BaseException | None = None
    """Why it was refused, or failed; then the disk is as before."""
    is_busy: bool = False
    """Whether it is to be tried again soon: another program is writing a file that it needs."""
    is_overtaken: bool = False
    """Whether it is to be decided anew: another program changed what it needs."""


class TurnResult(Struct, frozen=True, kw_only=True):
    """What a turn did."""

    done: Sequence[CallOutcome]
    """For each call, in their order."""
    records: Sequence[LogRecord] = ()
    """All that it recorded, in the order of their numbers."""
    again: Mapping[FolderId, Names] = {}
    """What is to be looked at once more, soon."""
    later: Mapping[FolderId, Names] = {}
    """What another program is writing."""
    missing: frozenset[str] = frozenset()
    """Doubtful at the next look."""
    new_folders: Sequence[WorkspacePath] = ()
    """To be watched."""
    unread: Sequence[str] = ()
    """Paths that could not be read."""
    displaced: Sequence[OperationStep] = ()
    """Steps whose displaced files are to be tidied away."""


class Turn:
    """One turn. Used once."""

    def __init__(self, state: WriterState, calls: Sequence[Call], due: Due) -> None:
        self._state = state
        self._calls = calls
        self._due = due
        self._steps: list[list[OperationStep]] = [[] for _ in calls]
        self._done: list[CallOutcome] = [CallOutcome() for _ in calls]
        self._touched: set[str] = set()

    def run(self) -> TurnResult:
        """Do all of it.

        Raises:
            FileToolsError: The commit failed; nothing was changed.
        """
        state = self._state
        durable = any(call.durable for call in self._calls)
        try:
            with state.transaction(durable=durable) as draft:
                observation = Observation(state.observation_context(draft), self._due.doubtful)
                self._observe(observation)
                for number, call in enumerate(self._calls):
                    self._done[number] = self._decide(number, call, observation, draft)
                if draft.records and not any(self._steps):
                    state.rows.note_applied(draft.records[-1].number)
        except BaseException:
            self._discard()
            raise
        records = list(draft.records)
        if any(self._steps):
            records += self._apply(records[-1].number)
        return TurnResult(
            done=self._done, records=records, again=observation.again, missing=observation.missing, later=observation.later,
            new_folders=observation.new_folders, unread=observation.unread,
            displaced=[step for steps in self._steps for step in steps if step.displaced is not None],
        )  # fmt: skip

    def _observe(self, observation: Observation) -> None:
        if self._due.whole_tree:
            observation.whole_tree(patient=True)
            self._state.rows.note_whole_look()
        elif self._due.hints:
            observation.hinted(self._due.hints)

    # -- decide ------------------------------------------------------------------------------------------------------

    def _decide(self, number: int, call: Call, observation: Observation, draft: LogDraft) -> CallOutcome:
        """Look, ask the call what it wants, prepare it and enter it into the database; a refusal ends this call alone."""
        steps = self._steps[number]
        try:
            if self._is_touched(call):
                return CallOutcome(
                    is_overtaken=True
                )  # by another call of this turn: it goes on from there in the next one
            seen = self._see(call, observation)
            decided = call.decide(seen)
            self._read_former(decided, observation)
            steps += [OperationStep(self._state, operation) for operation in decided.operations]
            self._prepare(steps)
        except FileBusyError as exc:
            self._drop(steps)
            return CallOutcome(is_busy=True, error=exc)
        except _RACES as exc:
            self._drop(steps)
            # A refusal of the decision is final; of the preparation it says that somebody was there first.
            return CallOutcome(error=exc, is_overtaken=bool(exc.__cause__ is not None and steps))
        except FileToolsError as exc:
            if not self._state.database.connection.in_transaction:
                raise  # SQLite has rolled back all of the turn, not just this call
            self._drop(steps)
            return CallOutcome(error=exc)
        first: int | None = None
        for step in steps:
            step.enter(draft, call.actor, first)
            first = first or step.records[0].batch
            self._touched |= {row.key for row in step.former}
        return CallOutcome(records=[record for step in steps for record in step.records], answer=decided.answer)

    def _is_touched(self, call: Call) -> bool:
        """Whether another call of this turn changes what a call names, or what is above or below it."""
        if not self._touched:
            return False
        for want in call.wants:
            key = self._state.rows.key_of(want.path)
            above = {self._state.rows.key_of(folder) for folder in want.path.folders}
            if key in self._touched or not self._touched.isdisjoint(above):
                return True
            if any(touched.startswith(f"{key}/") for touched in self._touched):
                return True
        return False

    def _see(self, call: Call, observation: Observation) -> Seen:
        paths = [want.path for want in call.wants]
        observation.busy.clear()
        observation.named(paths)
        whole = [want.path for want in call.wants if want.whole]
        if whole:
            observation.below(whole)
        if observation.busy:
            raise FileBusyError(observation.busy[0])
        seen_paths: dict[str, SeenPath] = {}
        below: dict[str, Sequence[SeenPath]] = {}
        for want in call.wants:
            row = self._state.rows.at(want.path)
            seen_paths[want.path] = self._seen_path(want.path, row, observation, with_content=want.content)
            self._see_folders(want.path, seen_paths)
            if want.whole and row is not None and row.kind == "directory":
                rows = self._state.rows.below(row.key)
                below[want.path] = [
                    self._seen_path(WorkspacePath(each.path), each, observation, with_content=want.content)
                    for each in rows
                ]
        return Seen(paths=seen_paths, below=below, kept=self._bytes)

    def _see_folders(self, path: WorkspacePath, seen_paths: dict[str, SeenPath]) -> None:
        for folder in reversed(path.folders):
            if folder in seen_paths:
                return
            row = self._state.rows.at(folder)
            seen_paths[folder] = _seen_path_of(folder, row)
            if row is not None and row.kind == "directory":
                # Folders above a folder are folders.
                seen_paths.update({each: SeenPath(path=each, kind="directory") for each in folder.folders})
                return

    def _seen_path(
        self, path: WorkspacePath, row: TreeRow | None, observation: Observation, *, with_content: bool
    ) -> SeenPath:
        stat = observation.stats.get(path)
        if stat is not None and stat.type == "other":
            return SeenPath(path=path, kind="other", mode=stat.mode)
        if row is None or not row.is_there or row.kind == "directory":
            return _seen_path_of(path, row)
        content = None
        if with_content or row.version is None:
            row = self._with_version(row, observation)
            content = self._content(row) if with_content else None
        return _seen_path_of(path, row, content=content, links=1 if stat is None else stat.links)

    def _with_version(self, row: TreeRow, observation: Observation) -> TreeRow:
        if row.version is not None:
            return row
        read = read_row(self._state, observation, row)
        if read is None:
            raise FileBusyError(row.path)
        return read

    def _content(self, row: TreeRow) -> bytes:
        assert row.version is not None
        try:
            return self._state.contents.get_inside(row.version)
        except VersionGoneError:  # too large to be kept: the disk has it
            content, _ = self._state.store.read(WorkspacePath(row.path))
            if hash_of(content) != row.version:
                raise FileBusyError(row.path) from None
            return content

    def _bytes(self, version: str) -> bytes | None:
        try:
            return self._state.contents.get_inside(digest_of(version))
        except VersionGoneError:
            return None

    def _read_former(self, decided: Decided, observation: Observation) -> None:
        """Keep the bytes of everything that is about to go: what comes out is compared with them."""
        for operation in decided.operations:
            if isinstance(operation, Put | Remove | RemoveFolder | Link):
                row = self._state.rows.at(operation.path)
                below = [] if row is None else self._state.rows.below(row.key) if row.kind == "directory" else [row]
                for each in below:
                    if each.is_there and each.kind in ("file", "symlink"):
                        self._with_version(each, observation)

    def _prepare(self, steps: Sequence[OperationStep]) -> None:
        """Prepare each operation for the tree that those before it will have made, none of which is applied yet."""
        made: set[WorkspacePath] = set()
        moves: list[Move] = []
        # Paths that earlier operations of the call change, and those of them that they take away with all below.
        there: dict[WorkspacePath, bool] = {}
        gone: set[WorkspacePath] = set()
        for step in steps:
            operation, path = step.operation, step.operation.path
            now_at = _before(path, moves)
            is_there = there.get(path)
            if is_there is None:
                row = self._state.rows.at(now_at)
                was_moved = now_at != path
                is_there = row is not None and row.is_there and (was_moved or gone.isdisjoint(path.folders))
            if is_there:
                step.prepare(is_new=False, within=None, now_at=None if now_at == path else now_at)
            else:
                folder = path.parent
                while folder in made:
                    folder = folder.parent
                folder = _before(folder, moves)
                step.prepare(is_new=True, within=None if folder == path.parent else folder, now_at=None)
            there[path] = not isinstance(operation, Remove | RemoveFolder | Move)
            if not there[path]:
                gone.add(path)
            if isinstance(operation, Move):
                there[operation.to] = True
                moves.append(operation)
            elif isinstance(operation, MakeFolder) and not is_there:
                made.add(path)

    # -- apply -------------------------------------------------------------------------------------------------------

    def _apply(self, newest: int) -> list[LogRecord]:
        """Exchange names, then mark what is done and take back what could not be.

        Args:
            newest: Number of the last record of the commit.

        Returns:
            The further records.
        """
        failed: list[int] = []
        for number, steps in enumerate(self._steps):
            try:
                for step in steps:
                    step.apply()
            except FileToolsError as exc:
                failed.append(number)
                self._done[number] = CallOutcome(error=exc, is_overtaken=isinstance(exc, _RACES))
                _reverse(steps)
        try:
            with self._state.transaction() as more:
                self._mark(newest, failed, more)
        except FileToolsError as exc:
            # All is committed, and the next turn settles it: that finishes what was set back, too.
            logger.warning("Changes are applied, and cannot be marked: %s", exc)
            for number in failed:
                self._done[number] = CallOutcome(error=exc)
            return []
        for step in (step for steps in self._steps for step in steps):
            step.note_mark()
        return more.records

    def _mark(self, newest: int, failed: Sequence[int], draft: LogDraft) -> None:
        rows = self._state.rows
        for number, steps in enumerate(self._steps):
            actor = self._calls[number].actor
            for step in reversed(steps) if number in failed else ():
                step.enter_reversal(draft, actor)
            for step in steps:
                self._enter_surprises(step, draft, actor)
                if number not in failed:
                    rows.put(step.marked_rows())
        if any(isinstance(step.operation, Move) for steps in self._steps for step in steps):
            # What was changed, and moved with its folder in the same call.
            rows.put([self._marked(row) for row in rows.unapplied()])
        if failed:
            self._look_after(failed, draft)
        rows.note_applied(newest)

    def _marked(self, row: TreeRow) -> TreeRow:
        """Return an applied row; the next look compares a file with it."""
        stat = self._state.store.stat(WorkspacePath(row.path)) if row.kind == "directory" else None
        return structs.replace(row, identity=None if stat is None else stat.identity, applied=True)

    def _enter_surprises(self, step: OperationStep, draft: LogDraft, actor: Actor) -> None:
        try:
            for surprise in step.surprises():
                enter_displaced(self._state, draft, surprise.row, surprise.content, actor, surprise.mode)
        except (FileBusyError, AccessDeniedError, StorageFailedError) as exc:
            logger.warning("What came out at %s is looked into later: %s", step.operation.path, exc)
        else:
            step.note_look_inside()

    def _look_after(self, failed: Sequence[int], draft: LogDraft) -> None:
        """Compare the paths of calls that were taken back: another program was there."""
        observation = Observation(self._state.observation_context(draft))
        for number in failed:
            observation.named([path for step in self._steps[number] for path in _paths(step.operation)])

    def _drop(self, steps: list[OperationStep]) -> None:
        for step in steps:
            step.discard()
        steps.clear()

    def _discard(self) -> None:
        for steps in self._steps:
            self._drop(steps)


def read_row(state: WriterState, observation: Observation, row: TreeRow) -> TreeRow | None:
    """Read the bytes of a file that was only found so far, so that its version is known and kept.

    Returns:
        The row with its version; None if it is busy or gone, which the next look finds.
    """
    path = WorkspacePath(row.path)
    stat = stat_if_any(state.store, path)
    seen = None if stat is None or stat.type != row.kind else observation.read(path, stat)
    if seen is None:
        return None
    state.rows.put((structs.replace(row, version=seen.digest, mode=seen.stat.mode, identity=seen.identity),))
    return state.rows.get(row.key)


def _reverse(steps: Sequence[OperationStep]) -> None:
    for step in reversed(steps):
        try:
            step.reverse()
        except FileToolsError:
            continue  # another program is at work there, too: what stays is recorded as found by the look that follows
        finally:
            step.discard()


def _seen_path_of(
    path: WorkspacePath, row: TreeRow | None, *, content: bytes | None = None, links: int = 1
) -> SeenPath:
    if row is None or not row.is_there:
        return SeenPath(path=path, number=0 if row is None else row.number)
    return SeenPath(
        path=WorkspacePath(row.path), kind=None if row.kind == "absent" else row.kind, version=version_from(row.version),
        size=None if row.identity is None else row.identity[2], mode=row.mode, links=links, number=row.number, content=content,
    )  # fmt: skip


def _before(path: WorkspacePath, moves: Sequence[Move]) -> WorkspacePath:
    """Return where something is now that will be at a path once all moves are done."""
    for move in reversed(moves):
        if path == move.to or path.is_below(move.to):
            path = WorkspacePath(move.path + path[len(move.to) :])
    return path


def _paths(operation: TreeOperation) -> tuple[WorkspacePath, ...]:
    return (operation.path, operation.to) if isinstance(operation, Move) else (operation.path,)
