"""The pipeline that applies every change of the tree: it runs in a turn, after the call was permitted."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

from msgspec import Struct, structs

from filetools.changes.parts import Parts
from filetools.changes.steps.files import PutFile
from filetools.changes.steps.folders import MakeFolderStep
from filetools.changes.steps.look import found
from filetools.changes.steps.step import Step
from filetools.content.editing.edits import joined
from filetools.errors import (
    ChangedMeanwhileError,
    DirectoryNotFoundError,
    FileToolsError,
    PathExistsError,
    PathNotDirectoryError,
    PathNotFoundError,
    SyncFailedError,
)
from filetools.journal.commit import CommitDraft, HeadMovedError
from filetools.journal.journal import Records
from filetools.journal.tree_rows import Identity
from filetools.models.records import SYSTEM, Actor, ChangeRecord, RecordState
from filetools.models.words import MirrorStatus
from filetools.paths.workspace_path import WorkspacePath

MOST_LOOKS: Final = 3
"""How often a call looks again because its paths differ from their rows; a file too large to read always differs."""
MOST_TAKING_BACK: Final = 20
"""Tries to set back the heads together with open documents; the last try leaves out the documents."""

_OVERTAKEN: Final = (PathExistsError, PathNotFoundError, DirectoryNotFoundError, PathNotDirectoryError)
"""Errors of a step after its decision that mean that names have changed since its look, so it must look again."""

_log = logging.getLogger(__name__)


class Outcome(Struct, frozen=True, kw_only=True):
    """What a pipeline has changed."""

    records: tuple[ChangeRecord, ...]
    """All new records in order, including those of files found and of foreign saves."""
    mirror: MirrorStatus
    warnings: Sequence[dict[str, Any]] = ()
    """Warnings for the caller of a successful call."""
    followed: Sequence[ChangeRecord] = ()
    """The records that mirrors follow."""

    def with_mirror(self, mirror: MirrorStatus) -> Outcome:
        """Return the outcome with the state of the mirrors, and a warning if they are behind."""
        if mirror != "pending":
            return structs.replace(self, mirror=mirror)
        behind = SyncFailedError(None, "it catches up by itself")
        warning = {
            "code": behind.code,
            "message": behind.message,
            "retryable": behind.retryable,
            "suggested_action": behind.suggested_action,
        }
        return structs.replace(self, mirror=mirror, warnings=(*self.warnings, warning))


ReportProgress = Callable[[int, int], None]


def ignore_progress(_done: int, _total: int) -> None:
    """Report nothing."""


class Pipeline:
    """Applies steps, all or nothing. Used once, in turns.

    Args:
        parts: The workspace.
        steps: What to change.
        actor: Who changes it.
        report_progress: Called until the commit, in the pipeline's thread; raises `AbortedError` to stop.
        checks: Called once all steps have looked; each raises unless this is still what a person approved.
    """

    def __init__(
        self,
        parts: Parts,
        steps: Sequence[Step],
        actor: Actor,
        report_progress: ReportProgress,
        checks: Sequence[Callable[[], None]] = (),
    ) -> None:
        self._parts = parts
        self._steps = steps
        self._actor = actor
        self._report_progress = report_progress
        self._checks = checks
        self._active: Sequence[Step] = ()
        self._ends: list[int] = []
        """For each active step the place after its last draft, which is its own change."""
        self.found = list[ChangeRecord]()
        """Records of foreign changes that are not in the outcome; they stay even if the call fails."""
        self.outcome: Outcome | None = None

    @property
    def records(self) -> Records:
        """The records of the outcome."""
        return () if self.outcome is None else self.outcome.records

    def prepare(self) -> CommitDraft | None:
        """Look, decide and prepare. Returns the draft to commit; None if there is nothing to change.

        After an error nothing was changed.

        Raises:
            AbortedError: `report_progress` asked to stop.
            HeadMovedError: Another program changed a path; try again.
            FileBusyError: Another program is writing one of the files.
            FileToolsError: A step refused or failed.
            UnsavedQuestion: A person must decide first.
        """
        parts, steps = self._parts, self._steps
        parts.tracker.load(self._actor)
        for done, step in enumerate(steps):
            self._report_progress(done, 2 * len(steps))
            step.look(parts)
        for _ in range(MOST_LOOKS):
            news = parts.observer.named(path for step in steps for path in _unrecorded(step))
            if news is None:
                break  # the looks match the records
            self.found += news
            for step in steps:  # all: what has moved to the path of one may come from that of another
                step.look(parts)
        else:
            if news:  # they still change, and the newest change is not recorded
                raise HeadMovedError(steps[0].paths[0])
        for check in self._checks:
            check()
        decided = decide_all(parts, steps, partial(self._report_progress, len(steps), 2 * len(steps)))
        if not decided:
            self.outcome = Outcome(records=(), mirror=parts.sync.standing())
            return None
        self._active = _with_parents(parts, decided)
        try:
            return self._prepared(decided)
        except BaseException:
            self.abandon()
            raise

    def _prepared(self, decided: Sequence[Step]) -> CommitDraft:
        if self._parts.sync.is_strict:
            self._parts.sync.check()
        total = 2 * len(decided)
        for done, step in enumerate(decided):
            self._report_progress(len(decided) + done, total)
            try:
                step.prepare(self._parts)
            except _OVERTAKEN as exc:
                raise HeadMovedError(step.paths[0]) from exc
        changes = found([seen for step in decided for seen in step.looks])
        self._ends = []
        for step in self._active:
            for change in step.drafts():
                relations = tuple(dict.fromkeys((*change.relations, *step.undone)))
                changes.append(structs.replace(change, relations=relations) if step.undone else change)
            self._ends.append(len(changes))
        # The last chance to stop: preparing a large file takes long, and from here on the change is made.
        self._report_progress(total - 1, total)
        return CommitDraft(changes=changes, actor=self._actor)

    def apply(self, records: Records) -> Mapping[str, Identity]:
        """Apply what was committed to the tree; returns the identities of new files. If it fails, set it back and raise.

        Raises:
            HeadMovedError: Another program changed a path; try again.
            FileToolsError: A step failed.
        """
        parts, active = self._parts, self._active
        for step, end in zip(active, self._ends, strict=True):
            step.recorded(records[end - 1])
        followed = [record for record in records if record.state is not RecordState.BUFFER]
        try:
            _exchange(parts, active, followed)
        except FileToolsError as exc:
            self.found += [record for record in records if record.actor.kind == "external"]
            _compensate(parts, active)
            if isinstance(exc, _OVERTAKEN):
                raise HeadMovedError(active[0].paths[0]) from exc
            raise
        surprises = _finish(parts, active, self._actor)
        self.outcome = Outcome(
            records=records + surprises,
            mirror="off",
            warnings=_warnings(parts, active, surprises),
            followed=(*followed, *surprises),
        )
        return {
            step.seen.key: step.identity
            for step in active
            if isinstance(step, PutFile) and step.identity is not None and not surprises
        }

    def abandon(self) -> None:
        """Discard what was prepared."""
        _abandon(self._parts, self._steps)


def decide_all(parts: Parts, steps: Sequence[Step], report: Callable[[], object] = lambda: None) -> list[Step]:
    """Decide all steps, which have looked; returns those that have something to change.

    Args:
        parts: The workspace.
        steps: The steps.
        report: Called before each decision, as a merge of large texts takes long; raises to stop.

    Raises:
        FileToolsError: The first refusal, with those of the other steps added.
        HeadMovedError, UnsavedQuestion
    """
    changing: list[Step] = []
    refusals: list[FileToolsError] = []
    for step in steps:
        report()
        try:
            if step.decide(parts):
                changing.append(step)
            else:
                step.recorded(None)
        except FileToolsError as exc:
            refusals.append(exc)
    if refusals:
        raise joined(refusals)
    return changing


def try_steps(parts: Parts, steps: Sequence[Step]) -> None:
    """Look and decide outside of a turn, without changing anything: a dry run.

    Raises:
        ChangedMeanwhileError: The paths kept changing.
        FileToolsError: As `decide_all`.
    """
    for _ in range(MOST_LOOKS):
        with suppress(HeadMovedError):
            for step in steps:
                step.look(parts)
            decide_all(parts, steps)
            return
    raise ChangedMeanwhileError(steps[0].path, MOST_LOOKS)


def _unrecorded(step: Step) -> Sequence[WorkspacePath]:
    """Return paths where other programs may have made changes that are not recorded yet."""
    return [seen.path for seen in step.looks if not seen.is_recorded] if step.looks else step.paths


def _with_parents(parts: Parts, steps: Sequence[Step]) -> Sequence[Step]:
    """Return steps with those that make their missing parents.

    Raises:
        HeadMovedError: A missing folder has a row: its removal must be recorded before it is made again.
    """
    found: list[Step] = []
    made = set[str]()
    for step in steps:
        for folder in step.missing:
            key = parts.workspace.key(folder)
            row = parts.journal.tree_index.get(key)
            if row is not None and row.kind == "directory":
                raise HeadMovedError(folder)
            if key not in made:
                found.append(MakeFolderStep(folder, key=key))
            made.add(key)
        made.update(map(parts.workspace.key, step.paths))
        found.append(step)
    return found


def _exchange(parts: Parts, active: Sequence[Step], records: Sequence[ChangeRecord]) -> None:
    """Exchange every step, then let strict mirrors follow. If one fails, set back those before it."""
    done: list[Step] = []
    try:
        for step in active:
            step.exchange(parts)
            done.append(step)
            step.sync(parts)
        if parts.sync.is_strict:
            parts.sync.follow_strictly(records)
    except FileToolsError:
        for step in reversed(done):
            _set_back(parts, step)
        raise


def _set_back(parts: Parts, step: Step) -> None:
    try:
        step.set_back(parts)
        step.sync(parts)
    except FileToolsError as exc:
        # The head is set back anyway; the next look records the file as a foreign change.
        _log.error("could not set back %s: %s", step.paths[0], exc)


def _compensate(parts: Parts, active: Sequence[Step]) -> None:
    try:
        for attempt in range(MOST_TAKING_BACK):
            changes = [change for step in reversed(active) for change in step.compensations(parts)]
            if attempt == MOST_TAKING_BACK - 1:
                changes = [structs.replace(change, document=None) for change in changes]
            try:
                parts.journal.commit(changes, SYSTEM)
            except HeadMovedError:
                continue  # somebody typed in the open document: rebase the inverse edit and try again
            return
    finally:
        _abandon(parts, active)


def _abandon(parts: Parts, steps: Sequence[Step]) -> None:
    """Discard what was prepared, the last step first: its folder may be inside one of an earlier step."""
    for step in reversed(steps):
        _quietly(partial(step.abandon, parts))


def _finish(parts: Parts, active: Sequence[Step], actor: Actor) -> tuple[ChangeRecord, ...]:
    """Keep unexpected displaced bytes and discard the rest. The change has succeeded, so errors are only logged."""
    surprises: tuple[ChangeRecord, ...] = ()
    is_recorded = True
    try:
        changes = [change for step in active for change in step.surprises(parts)]
        if changes:
            surprises = parts.journal.commit(changes, actor)
    except (FileToolsError, HeadMovedError) as exc:
        _log.warning("the displaced file of %s is kept until a sweep: %s", active[0].paths[0], exc)
        is_recorded = False
    for step in active:
        _quietly(partial(step.finish, parts, is_recorded=is_recorded))
    return surprises


def _quietly(act: Callable[[], None]) -> None:
    try:
        act()
    except FileToolsError as exc:
        _log.warning("a temporary file stays until the next sweep: %s", exc)


def _warnings(parts: Parts, active: Sequence[Step], surprises: Sequence[ChangeRecord]) -> list[dict[str, Any]]:
    """Return a warning for each foreign save that was displaced, and for each file that lost its hard links."""
    warnings: list[dict[str, Any]] = []
    for record in surprises:
        if record.actor.kind == "external":
            message = "Another program saved this file at the same moment; its text is kept as a version."
            warnings.append(
                {"code": "CHANGED_MEANWHILE", "path": record.path, "message": message, "version": record.after}
            )
    for step in active:
        if isinstance(step, PutFile):
            warnings += step.separated(parts)
    return warnings
