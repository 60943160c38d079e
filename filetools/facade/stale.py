"""What an actor knows against what stands there: stale stamps, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from filetools.errors import VersionGoneError, VersionMismatchError
from filetools.facade.expected import is_version
from filetools.facade.look import Look
from filetools.facade.parts import Parts
from filetools.facade.requests import WriteRequest
from filetools.facade.steps import unsaved_text
from filetools.journal import Stamp
from filetools.models import Actor, ChangeRecord, RecordState

RECENT_RECORDS: Final = 100
"""Records of a path that are looked through for where a version comes from; beyond it, a write is rebased or merged."""


def stale_stamp(parts: Parts, seen: Look, actor: Actor) -> Stamp | None:
    """Return what an actor knows of a path, if that is not what stands there now."""
    stamp = parts.knowledge.stamp(actor, seen.key)
    return None if stamp is None or stamp.version == seen.version else stamp


def require_known(parts: Parts, actor: Actor, *looks: Look) -> None:
    """Refuse to take away, or to cover, what others have changed since the actor got to know it.

    Raises:
        VersionMismatchError: Somebody has changed it since.
    """
    for seen in looks:
        if seen.stat is None or not parts.knowledge.is_surprised(actor, seen.key, seen.version):
            continue
        if not _knows_unsaved(parts, seen, actor):
            reason = "somebody changed it since you read or wrote it"
            raise VersionMismatchError(seen.path, None, seen.version, reason=reason)


def _knows_unsaved(parts: Parts, seen: Look, actor: Actor) -> bool:
    """Whether what an actor knows of a path is the text that an editor has not saved, which is what a read returns."""
    opened = unsaved_text(parts, seen)
    if opened is None:
        return False
    return not parts.knowledge.is_surprised(actor, seen.key, parts.documents.texts.bytes_of(opened)[1])


def needs_rebase(parts: Parts, seen: Look, request: WriteRequest, actor: Actor) -> bool:
    """Whether a write is put on top of what its actor knows not to be there.

    Who names the version that stands there knows it better than its stamp does, with one exception: the version of a merged
    result names a text that its actor has never seen, and a write made from what was sent would undo the other side.
    """
    if request.expected_version is None or not is_version(seen, request.expected_version):
        return True
    # Or of a text in an editor, with what a person has typed, that was saved since.
    was_told = parts.knowledge.was_told(actor, seen.key, seen.version)
    return was_told or is_own_result(parts, seen.key, seen.version, actor)


def is_own_result(parts: Parts, key: str, version: str | None, actor: Actor) -> bool:
    """Whether a version of a path came out of an actor's own change, whatever has been recorded since."""
    return any(record.after == version and _is_by(record, actor) for record in _recent(parts, key))


def has_written(parts: Parts, key: str, actor: Actor) -> bool:
    """Whether one of the newest records of a path is an actor's own."""
    return any(_is_by(record, actor) for record in _recent(parts, key))


def has_stood(parts: Parts, key: str, version: str) -> bool:
    """Whether a version of a path has been its file's, as far as the newest records tell, and not only unsaved text."""
    return any(record.after == version and record.state is not RecordState.BUFFER for record in _recent(parts, key))


def _recent(parts: Parts, key: str) -> Sequence[ChangeRecord]:
    return parts.journal.records(key=key, limit=RECENT_RECORDS, newest_first=True)


def _is_by(record: ChangeRecord, actor: Actor) -> bool:
    return (record.actor.kind, record.actor.id) == (actor.kind, actor.id)


def known_text(parts: Parts, seen: Look, stamp: Stamp) -> bytes:
    """Return the text that an actor knows.

    Raises:
        VersionMismatchError: It is no longer kept.
    """
    try:
        return parts.knowledge.text(stamp.version)
    except VersionGoneError as exc:
        reason = "the text you knew is no longer kept, so it cannot be merged"
        raise VersionMismatchError(seen.path, stamp.version, seen.version, reason=reason) from exc
