"""The pipeline of a change, top to bottom. Everything that changes the tree goes through it in a turn, once permitted."""

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
"""Times that a call looks again because its paths differ from their rows; a file too large to be read always does."""
MOST_TAKING_BACK: Final = 20
"""How often the heads are set back together with documents that people type in; in the last try without these."""

_OVERTAKEN: Final = (PathExistsError, PathNotFoundError, DirectoryNotFoundError, PathNotDirectoryError)
"""What a step says after its decision if names have changed since its look: a new look finds what is true now."""

_log = logging.getLogger(__name__)


class Outcome(Struct, frozen=True, kw_only=True):
    """What a run of the pipeline has changed."""

    records: tuple[ChangeRecord, ...]
    """All new records in order, files found and foreign saves of the same instant included."""
    changes: tuple[ChangeRecord | None, ...]
    """For each step the record of its own change; None if it had nothing to change."""
    mirror: MirrorStatus
    warnings: tuple[dict[str, Any], ...] = ()
    """What the caller should know although the call succeeded."""
    followed: Sequence[ChangeRecord] = ()
    """The records that mirrors follow."""

    def with_mirror(self, mirror: MirrorStatus) -> Outcome:
        """Return the same with what became of it in the mirrors."""
        return structs.replace(self, mirror=mirror, warnings=(*self.warnings, *_behind(mirror)))


Beat = Callable[[int, int], None]
Noticed = Callable[[Sequence[ChangeRecord]], None]
"""Told of records that stand whatever becomes of the call: foreign changes."""


def no_beat(_done: int, _total: int) -> None:
    """Go on."""


class Observer(Struct, frozen=True, kw_only=True):
    """Receives reports while a pipeline runs, in its thread."""

    beat: Beat = no_beat
    """Told how much is done of how much before anything is recorded; raises `AbortedError` to stop there."""
    noticed: Noticed = lambda records: None
    """Told of records that are not in the outcome: there is none, or it is that of a later try."""


class Pipeline:
    """Applies steps, all or nothing. Used once, in turns.

    Args:
        parts: The workspace.
        steps: What to change.
        actor: Who changes it.
        observer: Who is told meanwhile.
        checks: Each raises unless this still is what a person has allowed; called once all steps have looked.
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
        """Do everything that may fail without a trace; returns what is to be committed, None if that is nothing.

        Raises:
            AbortedError: The observer said so; nothing was changed.
            HeadMovedError: Another program was quicker; nothing was changed, try again.
            FileBusyError: Another program is writing one of the files.
            FileToolsError: A step refused or failed; nothing was changed.
            UnsavedQuestion: A person must decide first; nothing was changed.
        """
        parts, steps, beat, noticed = self._parts, self._steps, self._observer.beat, self._observer.noticed
        parts.tracker.load(self._actor)
        for done, step in enumerate(steps):
            beat(done, 2 * len(steps))
            step.look(parts)
        for _ in range(MOST_LOOKS):
            news = parts.observer.named(path for step in steps for path in step.unrecorded)
            if news is None:
                break  # what was seen is what is recorded
            noticed(news)
            for step in steps:
                if step.unrecorded:
                    step.look(parts)
        for check in self._checks:
            check()
        self._active = _decided(parts, steps, beat)
        if not self._active:
            self.outcome = Outcome(records=(), changes=tuple(None for _ in steps), mirror=parts.sync.standing())
            return None
        for step in self._active:
            _refuse_known(parts, step.new_folders(parts))
        try:
            return self._prepared()
        except BaseException:
            self.abandon()
            raise

    def _prepared(self) -> CommitDraft:
        active, beat = self._active, self._observer.beat
        if self._parts.sync.is_strict:
            self._parts.sync.check()
        for done, step in enumerate(active):
            beat(len(active) + done, 2 * len(active))
            _prepare(self._parts, step)
        changes = list(found(seen for step in active for seen in step.looks))
        self._drafted, made = [len(changes)], set[str]()
        for step in active:
            changes += _drafts(step, made)
            self._drafted.append(len(changes))
        # A large file takes long to prepare; from here on the change happens.
        beat(2 * len(active) - 1, 2 * len(active))
        return CommitDraft(changes=changes, actor=self._actor)

    def apply(self, records: Records) -> None:
        """Make real what was committed, or set it back.

        Raises:
            HeadMovedError: Another program was quicker, and it was set back; try again.
            FileToolsError: It failed, and was set back.
        """
        parts, active = self._parts, self._active
        for step, ends in zip(active, pairwise(self._drafted), strict=True):
            step.recorded(records[slice(*ends)])
        own = [records[end - 1] for end in self._drafted[1:]]  # of each step, the last of its drafts
        followed = [record for record in records if record.state is not RecordState.BUFFER]
        try:
            _exchange(parts, active, followed)
        except FileToolsError as exc:
            self._observer.noticed([record for record in records if _stands(record)])
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
        """Take back what was prepared, so that another try or a refusal leaves no trace."""
        _abandon(self._parts, self._steps)


def _decided(parts: Parts, steps: Sequence[Step], beat: Beat) -> list[Step]:
    active = []
    for step in steps:
        beat(len(steps), 2 * len(steps))
        if step.decide(parts):
            active.append(step)
    return active


def _drafts(step: Step, made: set[str]) -> Sequence[Change]:
    """Return the drafts of a step without those of folders that former ones make; adds the keys of its own to these."""
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


def _refuse_known(parts: Parts, missing: Sequence[WorkspacePath]) -> None:
    """Raise HeadMovedError if a missing folder is known: that it went is recorded before it is made again."""
    for folder in missing:
        row = parts.journal.tree_index.get(parts.workspace.key(folder))
        if row is not None and row.kind == "directory":
            raise HeadMovedError(folder)


def _exchange(parts: Parts, active: Sequence[Step], records: Sequence[ChangeRecord]) -> None:
    """Make every step real, then have strict mirrors follow; what was made real is set back if a later one fails."""
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
        # The head goes back all the same; the file is then a foreign change for the next look.
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
                continue  # somebody typed in an open document meanwhile, and it is taken back under that
            return
    finally:
        _abandon(parts, active)


def _stands(record: ChangeRecord) -> bool:
    """Whether a record of a commit stays when its changes are set back."""
    return record.actor.kind == "external"


def _abandon(parts: Parts, steps: Sequence[Step]) -> None:
    """Take back what was prepared, the last first: the folder of one step may hold that of a later one."""
    for step in reversed(steps):
        _quietly(step.abandon, parts)


def _finish(parts: Parts, active: Sequence[Step], actor: Actor) -> tuple[ChangeRecord, ...]:
    """Keep what came out unexpectedly and let go of the rest. The change is made by now: nothing here can fail it."""
    surprises: tuple[ChangeRecord, ...] = ()
    try:
        surprises = _keep_surprises(parts, active, actor)
    except (FileToolsError, HeadMovedError) as exc:
        _log.warning("what came out of %s waits in limbo: %s", active[0].paths[0], exc)
        for step in active:
            _quietly(step.shelve, parts)
    for step in active:
        _quietly(step.finish, parts)
    return surprises


def _quietly(act: Callable[[Parts], None], parts: Parts) -> None:
    try:
        act(parts)
    except FileToolsError as exc:
        _log.warning("a temporary file stays until a sweep finds it: %s", exc)


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
            "message": "Another program saved this file in the same instant; its text is kept as a version.",
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
