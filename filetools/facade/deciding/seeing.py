"""What a decision is based on: what is at a path, and what the actor knows of it."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from functools import partial
from typing import Final

from msgspec import structs

from filetools.changes.decision import PutDecision
from filetools.changes.knowledge import Knowledge
from filetools.changes.seen_path import SeenPath, UnsavedText
from filetools.content.facts import inspect
from filetools.errors import ChangedMeanwhileError, PathNotFoundError, VersionGoneError
from filetools.facade.parts import Parts
from filetools.facade.steps.look import Look, content_of, facts_of, unseen
from filetools.facade.steps.put import PutFile
from filetools.facade.steps.unsaved import unsaved_text
from filetools.journal.changes import HeadMovedError
from filetools.models.records import Actor
from filetools.paths.workspace_path import WorkspacePath

MOST_LOOKS: Final = 3
LOOKED_THROUGH: Final = 1000
"""Records of a path that are searched for a shortened version."""


def seen_by(parts: Parts, look: Look, actor: Actor) -> tuple[SeenPath, Knowledge]:
    """Return what a decision about one path is based on: what is there, and what its actor knows of it.

    Bytes are read when they are needed.

    Raises:
        HeadMovedError: The path's open document has moved on since the look.
    """
    stat, opened = look.stat, unsaved_text(parts, look)
    unsaved = None
    if opened is not None:
        content, version = parts.documents.texts.bytes_of(opened)
        unsaved = UnsavedText(version=version, content=content)
    if stat is None:
        now = SeenPath(path=look.path, unsaved=unsaved)
    else:
        # Without its other names: the step refuses hard links itself, and not for a change of unsaved text alone.
        now = SeenPath(
            path=look.path, kind=stat.type, version=look.version, size=stat.size, mode=stat.mode,
            content=partial(content_of, parts, look), facts=facts_of(parts, look), identity=stat.identity,
            unsaved=unsaved,
        )  # fmt: skip
    knowledge = Knowledge(
        actor=actor, rows=parts.tracker.rows(actor, look.key), had=partial(versions_had, parts, look.key),
        kept=partial(_kept, parts),
    )  # fmt: skip
    return now, knowledge


def versions_had(parts: Parts, key: str) -> Collection[str]:
    """Return the versions that a path has had, according to its newest records."""
    records = parts.journal.records(key=key, limit=LOOKED_THROUGH, newest_first=True)
    return {version for record in records for version in (record.after, record.before) if version is not None}


def _kept(parts: Parts, version: str) -> bytes | None:
    try:
        return parts.tracker.text(version)
    except VersionGoneError:
        return None


def glance(parts: Parts, path: WorkspacePath, limit: int) -> Look:
    """Return what is at a path now, to be shown: outside of a turn, and without finishing what a dead process left.

    Raises:
        FileTooLargeError: It has more than `limit` bytes.
        FileToolsError: It cannot be read, or is not a file.
    """
    nothing = unseen(parts, path)
    try:
        content, stat = parts.store.read(path, limit=limit)
    except PathNotFoundError:
        return nothing
    facts = inspect(content, name=path)[0]
    return structs.replace(nothing, stat=stat, facts=facts, version=facts.version, content=content)


def tried(parts: Parts, step: PutFile) -> tuple[Look, PutDecision]:
    """Return what is at the path of a step, and what the step would put there.

    Raises:
        ChangedMeanwhileError: Somebody types in it all the time.
        FileToolsError: The step refuses.
    """
    for _ in range(MOST_LOOKS):
        with suppress(HeadMovedError):
            seen = glance(parts, step.path, parts.settings.max_write_bytes)
            return seen, step.preview(parts, seen)
    raise ChangedMeanwhileError(step.path, MOST_LOOKS)
