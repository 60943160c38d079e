"""What an actor must know of a file before it changes it, and what it knows afterwards. Decided in a turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from filetools.changes import knowledge
from filetools.facade.deciding.seeing import seen_by
from filetools.facade.parts import Parts
from filetools.facade.steps.folders import MoveFolder, RemoveFolderStep
from filetools.facade.steps.look import Look
from filetools.facade.steps.move import MoveFile
from filetools.facade.steps.put import PutFile
from filetools.facade.steps.remove import RemoveFile
from filetools.facade.steps.step import Step
from filetools.facade.steps.unsaved import unsaved_error, unsaved_text
from filetools.models.records import Actor, sayable


def refuse_unsaved(parts: Parts, seen: Look) -> None:
    """Refuse to remove or cover a file whose document has unsaved text.

    Raises:
        EditConflictError
    """
    if (opened := unsaved_text(parts, seen)) is not None:
        raise unsaved_error(seen.path, opened.document.version)


def permit_leaving(parts: Parts, actor: Actor, seen: Look) -> None:
    """Refuse to let an agent remove a file whose document has unsaved text.

    Raises:
        EditConflictError
    """
    if actor.kind == "agent":
        refuse_unsaved(parts, seen)


def permit_removal(parts: Parts, actor: Actor, expected: str | None, seen: Look) -> None:
    """Refuse to delete a file that is not at the version that its actor names, or else knows, or has unsaved text.

    Raises:
        VersionMismatchError, EditConflictError
    """
    permit_leaving(parts, actor, seen)
    now, known = seen_by(parts, seen, actor)
    if expected is None:
        knowledge.refuse_changed(now, known)
    knowledge.require_version(now, known, expected)


def permit_move(parts: Parts, actor: Actor, source: Look, destination: Look) -> None:
    """Refuse to move or cover what others have changed since its actor saw it, and to cover unsaved text.

    Raises:
        VersionMismatchError, EditConflictError
    """
    if destination.key != source.key:
        refuse_unsaved(parts, destination)
    for seen in (source, destination):
        knowledge.refuse_changed(*seen_by(parts, seen, actor))


def same_change(parts: Parts, seen: Look, actor: Actor) -> tuple[dict[str, Any], ...]:
    """Return the warning for a writer whose change somebody else has already made since it looked."""
    records = parts.journal.records(key=seen.key, limit=1, newest_first=True)
    is_recorded = seen.is_recorded and bool(records)
    if is_recorded and all(
        getattr(records[0].actor, name) == getattr(actor, name) for name in ("kind", "id", "session")
    ):
        return ()
    who = sayable(records[0].actor.to_dict()) if is_recorded else "another program"
    message = f"The same change was made by {who} since you saw it; yours added nothing."
    return ({"code": "SAME_CHANGE", "path": seen.path, "message": message, "version": seen.version},)


def record_steps(parts: Parts, actor: Actor, steps: Sequence[Step]) -> None:
    """Record what an actor knows after its change."""
    tracker = parts.tracker
    for step in steps:
        if isinstance(step, PutFile):
            _record_put(parts, actor, step)
        elif isinstance(step, RemoveFile):
            tracker.forget(actor, step.seen.key)
        elif isinstance(step, RemoveFolderStep):
            tracker.forget_below(actor, parts.workspace.key(step.paths[0]))
        elif isinstance(step, MoveFile):
            tracker.move(actor, *(end.key for end in step.seen))
        elif isinstance(step, MoveFolder):
            tracker.move_below(actor, *map(parts.workspace.key, step.paths))


def _record_put(parts: Parts, actor: Actor, step: PutFile) -> None:
    decision = step.decision
    key, sent = step.seen.key, decision.sent_version
    if decision.sent is None:
        _record_made(parts, actor, key, step)
        return
    parts.tracker.record_seen(actor, key, sent, content=decision.sent, encoding=decision.encoding)
    told = {step.version, decision.told_version, step.seen.version if decision.in_buffer else None}
    for version in told - {sent}:
        if version is not None:
            parts.tracker.record_reported(actor, key, version, base=sent)


def _record_made(parts: Parts, actor: Actor, key: str, step: PutFile) -> None:
    """Record an edit of the file, of its unsaved text, or of both; the one that the actor knew comes first."""
    decision = step.decision
    made: list[tuple[str | None, str, bytes | None]] = []
    if not decision.in_buffer:
        made.append((step.seen.version, step.version, None))
    if decision.shown is not None:
        made.append((decision.shown.before, decision.shown.version, decision.shown.content))
    known = parts.tracker.base(actor, key)
    base = None if known is None else known.base
    for before, after, content in sorted(made, key=lambda change: change[0] != base):
        parts.tracker.record_made(actor, key, before, after, content=content)
