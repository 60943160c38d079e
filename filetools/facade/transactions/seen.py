"""The steps of a transaction's exit: each is based on what the transaction saw, merges what it may, and refuses the rest."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from filetools.changes.knowledge import read_as
from filetools.changes.operations import Put
from filetools.changes.rebasing import CHANGED, on_top
from filetools.content.facts import inspect
from filetools.errors import VersionMismatchError
from filetools.facade import preconditions
from filetools.facade.look import Look
from filetools.facade.parts import Parts
from filetools.facade.seeing import seen_by
from filetools.facade.steps.decision import PutDecision, SentText
from filetools.facade.steps.folders import MoveFolder, RemoveFolderStep
from filetools.facade.steps.unsaved import unsaved_error, unsaved_text
from filetools.facade.transactions.held import DiskPath, is_same
from filetools.models.records import Actor
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.walk import walk_tree

SeenBelow = Mapping[str, DiskPath]
"""By key what a transaction saw below a folder."""


def decide_put(
    parts: Parts, seen: Look, *, put: Put, encoding: str | None, base: DiskPath, is_strict: bool, actor: Actor
) -> PutDecision:
    """Put a transaction's text where its base stands; onto what others have made of it the text is merged.

    Raises:
        EditConflictError: Their changes and this one overlap, or there is no text to merge.
        VersionMismatchError: The caller had named the version that it changes, or the base is not kept any more.
        PathExistsError: Others made a file where there was none.
    """
    facts = read_as(put.content, encoding, name=seen.path)[0]
    sent = SentText(content=put.content, version=facts.version)
    plain = PutDecision(content=put.content, facts=facts, mode=put.mode, encoding=encoding, sent=sent)
    if seen.version == facts.version or is_base(base, seen):
        return plain
    at, now, _ = seen_by(parts, seen, actor)
    made = on_top(at, base, now, put.content, encoding=encoding, is_strict=is_strict, settings=parts.settings)
    merged = inspect(made.content, name=seen.path)[0]
    foreign = tuple(dict(hunk.to_dict()) for hunk in made.foreign)
    return replace(plain, content=made.content, facts=merged, foreign=foreign, mode=None)


def permit_removal(parts: Parts, actor: Actor, base: DiskPath, seen: Look) -> None:
    """Refuse to delete what is not as the transaction saw it, or what a person has unsaved text of.

    Raises:
        VersionMismatchError, EditConflictError
    """
    preconditions.permit_removal(parts, actor, seen.version, seen)
    permit_seen(base, seen)


def permit_move(parts: Parts, bases: tuple[DiskPath, DiskPath], source: Look, destination: Look) -> None:
    """Refuse to move, or to cover, what is not as the transaction saw it, and to cover unsaved text.

    Raises:
        VersionMismatchError, EditConflictError
    """
    opened = unsaved_text(parts, destination)
    if opened is not None:
        raise unsaved_error(destination.path, opened.document.version)
    permit_seen(bases[0], source)
    permit_seen(bases[1], destination)


def permit_seen(base: DiskPath, seen: Look) -> None:
    """Refuse what is not as the transaction saw it.

    Raises:
        VersionMismatchError
    """
    if not is_base(base, seen):
        raise VersionMismatchError(seen.path, base.version, seen.version, reason=CHANGED)


def is_base(base: DiskPath, seen: Look) -> bool:
    """Whether what stands there is what the transaction saw there."""
    if seen.stat is None or base.stat is None:
        return seen.stat is None and base.kind is None
    if base.version is not None and base.version.startswith("stat:"):
        return is_same(base.stat, seen.stat)
    return seen.version == base.version


class RemoveSeenFolder(RemoveFolderStep):
    """Deletes a folder, if nothing in it is newer than what its transaction saw."""

    def __init__(self, path: WorkspacePath, below: SeenBelow) -> None:
        super().__init__(path, recursive=bool(below))
        self._below = below

    def look(self, parts: Parts) -> None:
        """See the folder, and refuse what is new in it."""
        super().look(parts)
        _refuse_new(parts, self.paths[0], self._below)


class MoveSeenFolder(MoveFolder):
    """Moves a folder, if nothing in it is newer than what its transaction saw."""

    def __init__(self, source: WorkspacePath, destination: WorkspacePath, below: SeenBelow) -> None:
        super().__init__(source, destination)
        self._below = below

    def look(self, parts: Parts) -> None:
        """See both ends, and refuse what is new in the folder."""
        super().look(parts)
        _refuse_new(parts, self.paths[0], self._below)


def _refuse_new(parts: Parts, folder: WorkspacePath, below: SeenBelow) -> None:
    for path, _ in walk_tree(parts.store, folder):
        stat, before = parts.store.stat(path), below.get(parts.workspace.key(path))
        if stat is None or (
            before is not None and (is_same(before.stat, stat) or before.kind == stat.type == "directory")
        ):
            continue
        reason = "others changed it since this transaction moved or deleted the folder that holds it"
        raise VersionMismatchError(path, None, None, reason=reason)
