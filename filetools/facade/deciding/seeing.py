"""What a decision sees of a path that was looked at, and what its actor knows of it."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Final, TypeAlias

from filetools.changes.knowledge import Knowledge
from filetools.changes.operations import Seen, SeenPath, UnsavedText
from filetools.errors import VersionGoneError
from filetools.facade.parts import Parts
from filetools.facade.steps.look import Look, content_of, facts_of
from filetools.facade.steps.unsaved import unsaved_text
from filetools.models.records import Actor

LOOKED_THROUGH: Final = 1000
"""Records of a path among which a shortened version is looked for."""

SeenByActor: TypeAlias = tuple[Seen, SeenPath, Knowledge]
"""What a decision sees, the path that it is about, and what its actor knows of that."""


def seen_by(parts: Parts, look: Look, actor: Actor) -> SeenByActor:
    """Return what a decision about one path goes by. Its bytes are read when they are needed.

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
        actor=actor, rows=parts.tracker.rows(actor, look.key), had=partial(versions_had, parts, look.key)
    )
    return Seen(paths={look.path: now}, kept=partial(_kept, parts)), now, knowledge


def versions_had(parts: Parts, key: str) -> Collection[str]:
    """Return the versions that a path has had, as far as its newest records tell."""
    records = parts.journal.records(key=key, limit=LOOKED_THROUGH, newest_first=True)
    return {version for record in records for version in (record.after, record.before) if version is not None}


def _kept(parts: Parts, version: str) -> bytes | None:
    try:
        return parts.tracker.text(version)
    except VersionGoneError:
        return None
