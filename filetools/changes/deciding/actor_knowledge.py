"""What an actor knows of a file: what it must know before a change, and what it knows afterwards. Decided in a turn."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Final

from filetools.changes.knowledge import KnownPath, UnsavedText, refuse_changed, require_version
from filetools.changes.parts import Parts
from filetools.changes.steps.files import MoveFile, PutFile, RemoveFile
from filetools.changes.steps.folders import MoveFolder, RemoveFolderStep
from filetools.changes.steps.look import Look, content_of
from filetools.changes.steps.step import Step
from filetools.changes.steps.unsaved import unsaved_error, unsaved_text
from filetools.errors import VersionGoneError
from filetools.models.records import Actor

LOOKED_THROUGH: Final = 1000
"""Records of a path that are searched for a shortened version."""


def seen_by(parts: Parts, look: Look, actor: Actor) -> KnownPath:
    """Return what a decision about one path is based on: what is there, and what its actor knows of it.

    Bytes are read when they are needed.

    Raises:
        HeadMovedError: The path's open document has moved on since the look.
    """
    opened, unsaved = unsaved_text(parts, look), None
    if opened is not None:
        content, version = parts.documents.texts.bytes_of(opened)
        unsaved = UnsavedText(version=version, content=content)
    return KnownPath(
        seen=look, actor=actor, rows=parts.tracker.rows(actor, look.key), unsaved=unsaved,
        content=partial(content_of, parts, look), had=partial(versions_had, parts, look.key), kept=partial(_kept, parts),
    )  # fmt: skip


def versions_had(parts: Parts, key: str) -> Collection[str]:
    """Return the versions that a path has had, according to its newest records."""
    records = parts.journal.records(key=key, limit=LOOKED_THROUGH, newest_first=True)
    return {version for record in records for version in (record.after, record.before) if version is not None}


def _kept(parts: Parts, version: str) -> bytes | None:
    try:
        return parts.tracker.text(version)
    except VersionGoneError:
        return None


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
    now = seen_by(parts, seen, actor)
    if expected is None:
        refuse_changed(now)
    require_version(now, expected)


def permit_move(parts: Parts, actor: Actor, source: Look, destination: Look) -> None:
    """Refuse to move or cover what others have changed since its actor saw it, and to cover unsaved text.

    Raises:
        VersionMismatchError, EditConflictError
    """
    if destination.key != source.key:
        refuse_unsaved(parts, destination)
    for seen in (source, destination):
        refuse_changed(seen_by(parts, seen, actor))


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
