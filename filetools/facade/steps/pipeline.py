"""The pipeline that applies every change of the tree: it runs in a turn, after the call was permitted."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from msgspec import Struct, structs

from filetools.errors import (
    DirectoryNotFoundError,
    FileToolsError,
    PathExistsError,
    PathNotDirectoryError,
    PathNotFoundError,
    SyncFailedError,
)
from filetools.facade.parts import Parts
from filetools.facade.steps.look import found
from filetools.facade.steps.put import PutFile
from filetools.facade.steps.step import Step
from filetools.journal.changes import Change, HeadMovedError
from filetools.journal.commit import CommitDraft
from filetools.journal.journal import Records
from filetools.journal.tree_rows import Identity
from filetools.models.records import Actor, ChangeRecord, Operation, RecordState
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
    changes: tuple[ChangeRecord | None, ...]
    """The record of each step's own change; None for a step that had nothing to change."""
    mirror: MirrorStatus
    warnings: tuple[dict[str, Any], ...] = ()
    """Warnings for the caller of a successful call."""
    followed: Sequence[ChangeRecord] = ()
    """The records that mirrors follow."""

    def with_mirror(self, mirror: MirrorStatus) -> Outcome:
        """Return the outcome with the state of the mirrors, and a warning if they are behind."""
        return structs.replace(self, mirror=mirror, warnings=(*self.warnings, *_behind(mirror)))


ReportProgress = Callable[[int, int], None]


def ignore_progress(_done: int, _total: int) -> None:
    """Report nothing."""


class Observer(Struct, frozen=True, kw_only=True):
    """Receives reports while a pipeline runs, in its thread."""

    report_progress: ReportProgress = ignore_progress
    """Called with the work done and the total until the commit; raises `AbortedError` to stop."""
    report_found: Callable[[Sequence[ChangeRecord]], None] = lambda records: None
    """Called with records of foreign changes that are not in the outcome; they stay even if the call fails."""


class Pipeline:
    """Applies steps, all or nothing. Used once, in turns.

    Args:
        parts: The workspace.
        steps: What to change.
        actor: Who changes it.
        observer: Receives progress and foreign changes.
        checks: Called once all steps have looked; each raises unless this is still what a person approved.
    """

    def __init__(
        self,
        parts: Parts,
        steps: Sequence[Step],
        actor: Actor,
        observer: Observer,
        checks: Sequence[Callable[[], None]] = (),
    ) -> None:
        self._parts = parts
        self._steps = steps
        self._actor = actor
        self._observer = observer
        self._checks = checks
        self._active: Sequence[Step] = ()
        self._drafted: list[int] = []
        self.outcome: Outcome | None = None
        self.identities: Mapping[str, Identity] = {}

    def prepare(self) -> CommitDraft | None:
        """Look, decide and prepare. Returns the draft to commit; None if there is nothing to change.

        After an error nothing was changed.

        Raises:
            AbortedError: The observer asked to stop.
            HeadMovedError: Another program changed a path; try again.
            FileBusyError: Another program is writing one of the files.
            FileToolsError: A step refused or failed.
            UnsavedQuestion: A person must decide first.
        """
        parts, steps, report_progress = self._parts, self._steps, self._observer.report_progress
        parts.tracker.load(self._actor)
        for done, step in enumerate(steps):
            report_progress(done, 2 * len(steps))
            step.look(parts)
        for _ in range(MOST_LOOKS):
            news = parts.observer.named(path for step in steps for path in step.unrecorded)
            if news is None:
                break  # the looks match the records
            self._observer.report_found(news)
            for step in steps:
                if step.unrecorded:
                    step.look(parts)
        for check in self._checks:
            check()
        self._active = _decided(parts, steps, report_progress)
        if not self._active:
            self.outcome = Outcome(records=(), changes=tuple(None for _ in steps), mirror=parts.sync.standing())
            return None
        for step in self._active:
            _refuse_recorded(parts, step.new_folders(parts))
        try:
            return self._prepared()
        except BaseException:
            self.abandon()
            raise

    def _prepared(self) -> CommitDraft:
        active, report_progress = self._active, self._observer.report_progress
        if self._parts.sync.is_strict:
            self._parts.sync.check()
        for done, step in enumerate(active):
            report_progress(len(active) + done, 2 * len(active))
            _prepare(self._parts, step)
        changes = list(found(seen for step in active for seen in step.looks))
        self._drafted, made = [len(changes)], set[str]()
        for step in active:
            changes += _drafts(step, made)
            self._drafted.append(len(changes))
        # The last chance to stop: preparing a large file takes long, and from here on the change is made.
        report_progress(2 * len(active) - 1, 2 * len(active))
        return CommitDraft(changes=changes, actor=self._actor)

    def apply(self, records: Records) -> None:
        """Apply what was committed to the tree. If that fails, set it back before raising.

        Raises:
            HeadMovedError: Another program changed a path; try again.
            FileToolsError: A step failed.
        """
        parts, active = self._parts, self._active
        for step, ends in zip(active, pairwise(self._drafted), strict=True):
            step.recorded(records[slice(*ends)])
        own = [records[end - 1] for end in self._drafted[1:]]  # the last draft of each step is its own change
        followed = [record for record in records if record.state is not RecordState.BUFFER]
        try:
            _exchange(parts, active, followed)
        except FileToolsError as exc:
            self._observer.report_found([record for record in records if record.actor.kind == "external"])
            _compensate(parts, active, own)
            if isinstance(exc, _OVERTAKEN):
                raise HeadMovedError(active[0].paths[0]) from exc
            raise
        surprises = _finish(parts, active, self._actor)
        self.identities = {
            step.seen.key: step.identity
            for step in active
            if isinstance(step, PutFile) and step.identity is not None and not surprises
        }
        changes = {id(step): record for step, record in zip(active, own, strict=True)}
        self.outcome = Outcome(
            records=records + surprises,
            changes=tuple(changes.get(id(step)) for step in self._steps),
            mirror="off",
            warnings=(*_kept(surprises), *_separated(parts, active)),
            followed=(*followed, *surprises),
        )

    def abandon(self) -> None:
        """Discard what was prepared."""
        _abandon(self._parts, self._steps)


def _decided(parts: Parts, steps: Sequence[Step], report_progress: ReportProgress) -> list[Step]:
    active = []
    for step in steps:
        report_progress(len(steps), 2 * len(steps))
        if step.decide(parts):
            active.append(step)
    return active


def _drafts(step: Step, made: set[str]) -> Sequence[Change]:
    """Return the drafts of a step except folders that earlier steps make; adds the keys of its folders to `made`."""
    *others, own = step.drafts()
    if step.undone:
        own = structs.replace(own, relations=tuple(dict.fromkeys((*own.relations, *step.undone))))
    new = [each for each in others if each.key not in made or each.operation is not Operation.CREATE_DIRECTORY]
    made.update(each.key for each in (*new, own) if each.operation is Operation.CREATE_DIRECTORY)
    return (*new, own)


def _prepare(parts: Parts, step: Step) -> None:
    try:
        step.prepare(parts)
    except _OVERTAKEN as exc:
        raise HeadMovedError(step.paths[0]) from exc


def _refuse_recorded(parts: Parts, missing: Sequence[WorkspacePath]) -> None:
    """Raise HeadMovedError if a missing folder has a row: its removal must be recorded before it is made again."""
    for folder in missing:
        row = parts.journal.tree_index.get(parts.workspace.key(folder))
        if row is not None and row.kind == "directory":
            raise HeadMovedError(folder)


def _exchange(parts: Parts, active: Sequence[Step], records: Sequence[ChangeRecord]) -> None:
    """Exchange every step, then let strict mirrors follow. If one fails, set back those before it."""
    done: list[Step] = []
    try:
        for step in active:
            step.make_folders(parts)
            step.exchange(parts)
            done.append(step)
            step.sync(parts)
        if parts.sync.is_strict:
            parts.sync.follow_strictly(records)
    except FileToolsError:
        for step in reversed(done):
            _set_back(parts, step)
        for step in reversed(active):
            step.remove_folders(parts)
        raise


def _set_back(parts: Parts, step: Step) -> None:
    try:
        step.set_back(parts)
        step.sync(parts)
    except FileToolsError as exc:
        # The head is set back anyway; the next look records the file as a foreign change.
        _log.error("could not set back %s: %s", step.paths[0], exc)


def _compensate(parts: Parts, active: Sequence[Step], own: Sequence[ChangeRecord]) -> None:
    try:
        for attempt in range(MOST_TAKING_BACK):
            changes = [
                change
                for step, record in zip(active, own, strict=True)
                for change in step.compensations(parts, record.number)
            ]
            changes += [change for step in reversed(active) for change in step.without_folders()]
            if attempt == MOST_TAKING_BACK - 1:
                changes = [structs.replace(change, document=None) for change in changes]
            try:
                parts.journal.commit(changes, parts.recovery.actor)
            except HeadMovedError:
                continue  # somebody typed in the open document: rebase the inverse edit and try again
            return
    finally:
        _abandon(parts, active)


def _abandon(parts: Parts, steps: Sequence[Step]) -> None:
    """Discard what was prepared, the last step first: its folder may be inside one of an earlier step."""
    for step in reversed(steps):
        _quietly(step.abandon, parts)


def _finish(parts: Parts, active: Sequence[Step], actor: Actor) -> tuple[ChangeRecord, ...]:
    """Keep unexpected displaced bytes and discard the rest. The change has succeeded, so errors are only logged."""
    surprises: tuple[ChangeRecord, ...] = ()
    try:
        surprises = _keep_surprises(parts, active, actor)
    except (FileToolsError, HeadMovedError) as exc:
        _log.warning("the displaced file of %s stays in limbo until a sweep: %s", active[0].paths[0], exc)
        for step in active:
            _quietly(step.shelve, parts)
    for step in active:
        _quietly(step.finish, parts)
    return surprises


def _quietly(act: Callable[[Parts], None], parts: Parts) -> None:
    try:
        act(parts)
    except FileToolsError as exc:
        _log.warning("a temporary file stays until the next sweep: %s", exc)


def _keep_surprises(parts: Parts, active: Sequence[Step], actor: Actor) -> tuple[ChangeRecord, ...]:
    surprises = [change for step in active for change in step.surprises(parts)]
    if not surprises:
        return ()
    return parts.journal.commit(surprises, actor)


def _kept(surprises: Sequence[ChangeRecord]) -> Iterator[dict[str, Any]]:
    return (
        {
            "code": "CHANGED_MEANWHILE",
            "path": record.path,
            "message": "Another program saved this file at the same moment; its text is kept as a version.",
            "version": record.after,
        }
        for record in surprises
        if record.actor.kind == "external"
    )


def _separated(parts: Parts, steps: Sequence[Step]) -> Iterator[dict[str, Any]]:
    return (warning for step in steps if isinstance(step, PutFile) and (warning := step.separated(parts)) is not None)


def _behind(mirror: MirrorStatus) -> tuple[dict[str, Any], ...]:
    if mirror != "pending":
        return ()
    behind = SyncFailedError(None, "the mirror is not ready; it catches up by itself")
    return (
        {
            "code": behind.code,
            "message": behind.message,
            "retryable": behind.retryable,
            "suggested_action": behind.suggested_action,
        },
    )
