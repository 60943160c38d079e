"""What a change demands of what its actor knows, which text is its base, and what it leaves known: the read tracker's use.

All of it is decided under the path's lock, in a worker thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from filetools.content.diff import unified_diff
from filetools.content.facts import inspect
from filetools.editors.open_text import OpenText
from filetools.errors import VersionGoneError, VersionMismatchError
from filetools.facade.expected import LOOKED_THROUGH, is_version, matches
from filetools.facade.look import Look, content_of
from filetools.facade.parts import Parts
from filetools.facade.requests import WriteRequest
from filetools.facade.steps.folders import MoveFolder, RemoveFolderStep
from filetools.facade.steps.move import MoveFile
from filetools.facade.steps.put import PutFile
from filetools.facade.steps.remove import RemoveFile
from filetools.facade.steps.step import Step
from filetools.facade.steps.unsaved import unsaved_error, unsaved_text
from filetools.journal.seen_versions import SeenVersion
from filetools.models.records import Actor, sayable
from filetools.versions.rebasing import LARGEST_DIFF_CHARACTERS

LARGEST_COMPARED_BYTES: Final = 1024 * 1024
"""Texts above this size are refused without the diff since."""


def base_for(
    parts: Parts, seen: Look, request: WriteRequest, actor: Actor, opened: OpenText | None = None
) -> SeenVersion | None:
    """Return what the writer of a whole text knows of a path; None if it need know nothing, and replaces plainly.

    The version that it names and has seen, or was told, decides; else what is tracked of it; else what it names.

    Args:
        parts: The workspace.
        seen: What stands there.
        request: The write.
        actor: Who writes.
        opened: The path's document, if it has unsaved text: a writer may name that text's version or the file's.

    Raises:
        VersionMismatchError: The named version does not stand there and the writer wants no merge, or nobody knows it.
    """
    expected = request.expected_version
    if request.creates:
        return None
    if expected is None:
        return parts.tracker.base(actor, seen.key)
    standing = _standing(parts, seen, opened)
    current = next((version for version in standing if _is_named(seen, version, expected)), None)
    named = current
    if named is None and request.on_stale == "merge":
        named = named_version(parts, seen, actor, expected)
    if named is None:
        raise stale_error(parts, seen, actor, expected, opened=opened)
    known = parts.tracker.base(actor, seen.key, named)
    # The hash of a file too large for reading tells all that can be known of it. And a text made from an older version than
    # its actor knows by now would undo what came in between.
    is_older = known is not None and known.version != named and current is None and known.base in standing
    if known is None or is_older or expected.startswith("stat:"):
        return SeenVersion(version=named, base=named, is_whole=True, time=0.0)
    return known


def named_version(parts: Parts, seen: Look, actor: Actor, expected: str) -> str | None:
    """Return the version of a path that a caller names, in its full form; None if the path is not known to have had it."""
    if expected.startswith("stat:"):
        return None
    found = {version for version in parts.tracker.versions(actor, seen.key) if matches(version, expected)}
    if not found:
        records = parts.journal.records(key=seen.key, limit=LOOKED_THROUGH, newest_first=True)
        had = {version for record in records for version in (record.after, record.before)}
        found = {version for version in had if version is not None and matches(version, expected)}
    return found.pop() if len(found) == 1 else None


def known_text(parts: Parts, seen: Look, version: str) -> bytes:
    """Return the text that an actor knows.

    Raises:
        VersionMismatchError: It is no longer kept.
    """
    try:
        return parts.tracker.text(version)
    except VersionGoneError as exc:
        reason = "the text you knew is no longer kept, so it cannot be merged"
        raise VersionMismatchError(seen.path, version, seen.version, reason=reason) from exc


def require_version(parts: Parts, seen: Look, actor: Actor, expected: str | None) -> None:
    """Refuse unless the version that a caller expects stands there; None expects nothing.

    Raises:
        VersionMismatchError: Another one does.
        InvalidArgumentError: It is no version.
    """
    if expected is not None and not is_version(seen, expected):
        raise stale_error(parts, seen, actor, expected)


def require_seen(parts: Parts, seen: Look, request: WriteRequest, actor: Actor) -> None:
    """Refuse to replace a file by a text whose writer does not name the version, or has not read it, where that is demanded.

    An agent that has read a part of it never replaces the rest, whatever it names.

    Raises:
        VersionMismatchError: The version of what a read returns now is in its details.
    """
    if seen.stat is None:
        return
    expected = request.expected_version
    known = _known(parts, seen, actor, expected)
    if actor.kind == "agent" and known is not None and not known.is_whole:
        reason = "you have read only a part of it; read the rest first, or change what you have read with an edit"
    elif expected is not None:
        return
    elif request.require_version:
        reason = "it exists already, and replacing it needs expected_version, so that nobody's newer text is lost"
    elif request.require_read and (known is None or not known.is_whole):
        reason = "you have not read all of it; read the whole file first"
    else:
        return
    opened = unsaved_text(parts, seen)
    current = _standing(parts, seen, opened)[0]
    raise stale_error(parts, seen, actor, None, reason=f"{reason}; it is at {current}", opened=opened)


def _known(parts: Parts, seen: Look, actor: Actor, expected: str | None) -> SeenVersion | None:
    """Return what an actor knows of the version that it names, or of its base."""
    named = None
    if expected is not None and not expected.startswith("stat:"):
        versions = parts.tracker.versions(actor, seen.key)
        named = next((version for version in versions if matches(version, expected)), None)
    return parts.tracker.base(actor, seen.key, named)


def refuse_changed(parts: Parts, actor: Actor, *looks: Look) -> None:
    """Refuse to take away, or to cover, what others have changed since the actor saw it.

    Raises:
        VersionMismatchError: Somebody has.
    """
    for seen in looks:
        if seen.stat is None or not parts.tracker.changed_by_others(actor, seen.key, seen.version):
            continue
        standing = _standing(parts, seen, unsaved_text(parts, seen))  # what a read returned may be unsaved
        if parts.tracker.changed_by_others(actor, seen.key, *standing):
            raise stale_error(parts, seen, actor, None, reason="somebody changed it since you saw it")


def permit_removal(parts: Parts, actor: Actor, expected: str | None, seen: Look) -> None:
    """Refuse to delete what is not at the version that its actor expects or knows, or what a person has unsaved text of.

    Raises:
        VersionMismatchError, EditConflictError
    """
    if actor.kind == "agent" and (opened := unsaved_text(parts, seen)) is not None:
        raise unsaved_error(seen.path, opened.document.version)
    if expected is not None:
        require_version(parts, seen, actor, expected)
    else:
        refuse_changed(parts, actor, seen)


def permit_move(parts: Parts, actor: Actor, source: Look, destination: Look) -> None:
    """Refuse to move, or to cover, what others have changed since its actor saw it, and to cover unsaved text.

    Raises:
        VersionMismatchError, EditConflictError
    """
    if destination.key != source.key and (opened := unsaved_text(parts, destination)) is not None:
        raise unsaved_error(destination.path, opened.document.version)
    refuse_changed(parts, actor, source, destination)


def stale_error(
    parts: Parts,
    seen: Look,
    actor: Actor,
    expected: str | None,
    *,
    reason: str | None = None,
    opened: OpenText | None = None,
) -> VersionMismatchError:
    """Return the refusal of a change of what is not at the version that its actor names, or knows, with the diff since."""
    current = _standing(parts, seen, opened)[0]
    known = parts.tracker.base(actor, seen.key)
    version = None if known is None else known.base
    if expected is not None:
        version = named_version(parts, seen, actor, expected)
        if version is None and reason is None and seen.stat is not None:
            reason = f"it is not known to have had the version {expected}; it is at {current}"
    diff = None if version is None or seen.stat is None else _diff_since(parts, seen, version, opened)
    return VersionMismatchError(seen.path, expected, current, reason=reason, diff=diff)


def same_change(parts: Parts, seen: Look, actor: Actor, base: SeenVersion | None) -> tuple[dict[str, Any], ...]:
    """Return the warning for a writer whose own change stands there already, made by somebody else since it looked."""
    if base is None or base.base == seen.version:
        return ()
    records = parts.journal.records(key=seen.key, limit=1, newest_first=True)
    is_recorded = seen.adoption is None and bool(records)
    if is_recorded and _same_actor(records[0].actor, actor):
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
    if decision is None:
        return
    if decision.sent is None:
        _record_made(parts, actor, step.seen.key, step)
        return
    key, sent = step.seen.key, decision.sent
    parts.tracker.record_seen(actor, key, sent.version, content=sent.content, encoding=decision.encoding)
    told = {step.version, decision.told_version, step.seen.version if decision.in_buffer else None}
    for version in told - {sent.version}:
        if version is not None:
            parts.tracker.record_reported(actor, key, version, base=sent.version)


def _record_made(parts: Parts, actor: Actor, key: str, step: PutFile) -> None:
    """Record an edit: of the file, of the unsaved text over it, or of both. What the actor knew comes first."""
    decision = step.decision
    assert decision is not None
    made: list[tuple[str | None, str, bytes | None]] = []
    if not decision.in_buffer:
        made.append((step.seen.version, step.version, None))
    if decision.shown is not None:
        made.append((decision.shown.before, decision.shown.version, decision.shown.content))
    known = parts.tracker.base(actor, key)
    base = None if known is None else known.base
    for before, after, content in sorted(made, key=lambda change: change[0] != base):
        parts.tracker.record_made(actor, key, before, after, content=content)


def _standing(parts: Parts, seen: Look, opened: OpenText | None) -> list[str | None]:
    """Return the versions that stand at a path: what a read returns first, the file's last."""
    return [seen.version] if opened is None else [parts.documents.texts.bytes_of(opened)[1], seen.version]


def _is_named(seen: Look, version: str | None, expected: str) -> bool:
    return is_version(seen, expected) if version == seen.version else matches(version, expected)


def _diff_since(parts: Parts, seen: Look, version: str, opened: OpenText | None) -> str | None:
    """Return what has changed since a version as a unified diff; None if there is none, or it cannot be made."""
    if seen.stat is not None and seen.stat.size > LARGEST_COMPARED_BYTES:
        return None
    try:
        before = parts.tracker.text(version)
    except VersionGoneError:
        return None
    after = content_of(parts, seen) if opened is None else opened.shown_bytes()
    old, new = (inspect(content, name=seen.path)[1] for content in (before, after))
    if old is None or new is None or len(before) > LARGEST_COMPARED_BYTES:
        return None
    return unified_diff(old, new, f"a/{seen.path}", f"b/{seen.path}")[:LARGEST_DIFF_CHARACTERS] or None


def _same_actor(one: Actor, other: Actor) -> bool:
    return (one.kind, one.id, one.session) == (other.kind, other.id, other.session)
