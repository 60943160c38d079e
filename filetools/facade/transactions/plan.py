"""Plans the end of a transaction: its net effect as steps, one for each path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from operator import itemgetter
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from filetools.changes.deciding.files import permit_leaving, refuse_unsaved, seen_by
from filetools.changes.decision import PutDecision, read_as
from filetools.changes.parts import Parts
from filetools.changes.steps.files import MoveFile, PutFile, RemoveFile
from filetools.changes.steps.folders import MakeFolderStep, MoveFolder, RemoveFolderStep, moved
from filetools.changes.steps.look import Look
from filetools.changes.steps.put_back import opened
from filetools.changes.steps.step import Step
from filetools.changes.writing import merged_into
from filetools.errors import InvalidPathError, PathExistsError, VersionMismatchError
from filetools.facade.transactions.held import DiskPath, HeldEntry, HeldTree, is_same, refuse_changed, up_to
from filetools.journal.seen_versions import SeenVersion
from filetools.models.records import Actor
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.walk import walk_tree

CHANGED: Final = "others changed it since this transaction first did"


def steps_of(parts: Parts, held: HeldTree, actor: Actor) -> list[Step]:
    """Return the steps that apply a transaction: folders are made first and removed last. Call it in a worker thread.

    All steps look before the first one is applied, so that none may depend on another. A moved entry is renamed where one
    step can do it; otherwise it is written again at its new path.

    Args:
        parts: The workspace itself.
        held: The tree of the transaction.
        actor: Whose transaction it is.

    Raises:
        VersionMismatchError: Others have changed a file that the transaction moved and that must be written again.
        FileTooLargeError: Such a file is too large.
    """
    moves: dict[str, Step] = {}
    others: dict[str, HeldEntry] = {}
    with held.lock:
        changed = held.changed()
        for key, entry in changed.items():
            if not moves.keys().isdisjoint(up_to(key)):
                continue  # it moves with its folder
            if _may_rename(held, changed, entry):
                moves[key] = _move(parts, held, changed, entry)
            else:
                others[key] = entry
        found = [(1 if isinstance(step, MoveFolder) else 2, key, step) for key, step in moves.items()]
        left = {held.key(step.path) for step in moves.values()}
        for key, entry in others.items():
            before = entry.before
            if entry.kind is None:
                # A folder that is removed or moved takes its contents with it.
                if before.kind and key not in left and all(held.find(folder).kind for folder in entry.path.folders):
                    rank = 4 if before.kind == "directory" else 3
                    found.append((rank, key, _removal(parts, held, changed, actor, before)))
            elif entry.kind != "directory":
                found += [(3, key, put) for put in _put(parts, held, entry, actor)]
            elif before.kind is None:
                mode = None if entry.origin is None or entry.origin.mode is None else opened(entry.origin.mode)
                found.append((0, key, MakeFolderStep(entry.path, mode)))
    return [step for _, _, step in sorted(found, key=itemgetter(0, 1))]


Changed = Mapping[str, HeldEntry]
"""The entries of all changed paths, by key."""


def _is_at(held: HeldTree, entry: HeldEntry) -> bool:
    """True if an entry is at the path that it had before the transaction."""
    return entry.origin is not None and held.key(entry.origin.path) == held.key(entry.path)


def _before_below(held: HeldTree, changed: Changed, folder: WorkspacePath) -> dict[str, DiskPath]:
    """Return what was below a folder that was moved or deleted, by key."""
    prefix = f"{held.key(folder)}/"
    return {key: each.before for key, each in changed.items() if each.before.kind and key.startswith(prefix)}


def _move(parts: Parts, held: HeldTree, changed: Changed, entry: HeldEntry) -> Step:
    source, target = entry.origin, entry.before
    assert source is not None
    if source.kind == "directory":
        below = _before_below(held, changed, source.path)
        return MoveFolder(source.path, entry.path, require=partial(_refuse_new, parts, source.path, below))
    permit = partial(permit_move, parts, (source, target))
    return MoveFile(source.path, entry.path, overwrite=target.kind is not None, permit=permit)


def _put(parts: Parts, held: HeldTree, entry: HeldEntry, actor: Actor) -> Iterator[Step]:
    before, origin, content, mode, source = entry.before, entry.origin, entry.content, entry.mode, None
    if origin is not None and not _is_at(held, entry):
        if content is None:
            (content, stat), source = held.disk.read(origin.path, limit=parts.settings.max_write_bytes), origin.path
            refuse_changed(origin, stat)
        mode = origin.mode if mode is None else mode
    if content is None:
        return
    facts = read_as(content, entry.encoding, name=entry.path)[0]
    if before.version != facts.version or mode not in (None, before.mode):
        plain = PutDecision(
            content=content, facts=facts, mode=mode, encoding=entry.encoding, sent=content, sent_version=facts.version
        )
        yield PutFile(entry.path, DecidePut(plain=plain, base=before, actor=actor, source=source))


def _removal(parts: Parts, held: HeldTree, changed: Changed, actor: Actor, before: DiskPath) -> Step:
    if not parts.workspace.is_addressable(before.path):
        raise InvalidPathError(before.path, "no call can name it, so it goes only with its folder, which stays")
    if before.kind != "directory":
        return RemoveFile(before.path, partial(permit_removal, parts, actor, before))
    below = _before_below(held, changed, before.path)
    return RemoveFolderStep(before.path, recursive=bool(below), require=partial(_refuse_new, parts, before.path, below))


def _may_rename(held: HeldTree, changed: Changed, entry: HeldEntry) -> bool:
    """True if the entry that was moved to a path can be renamed by a step that does not depend on another."""
    origin = entry.origin
    if origin is None or entry.kind is None or entry.content is not None or held.find(origin.path).kind is not None:
        return False
    for above in map(held.find, origin.path.folders):
        if above.kind is None or (above.origin is not None and not _is_at(held, above)):
            return False
    if entry.kind != "directory":
        return True
    # A folder is renamed only with everything that was in it, and nothing else.
    inside = [each for key, each in changed.items() if key.startswith(f"{held.key(entry.path)}/") and each.kind]
    places = {held.key(moved(each.path, entry.path, origin.path)): each for each in inside}
    return (
        entry.before.kind is None
        and places.keys() == _before_below(held, changed, origin.path).keys()
        and all(
            each.content is None and each.origin and held.key(each.origin.path) == key for key, each in places.items()
        )
    )


class DecidePut(Struct, frozen=True, kw_only=True):
    """Decides which bytes to write at a path that a transaction has changed."""

    plain: PutDecision
    """The transaction's text."""
    base: DiskPath
    actor: Actor
    source: WorkspacePath | None = None
    """The path that the file had, if the transaction moved it and did not write its text."""

    def __call__(self, parts: Parts, seen: Look) -> PutDecision:
        """Return the text, merged with what others have written meanwhile.

        Raises:
            EditConflictError: Their changes and this one overlap, or one side is binary.
            VersionMismatchError: The caller had named the version that it changes, or the base is not kept any more.
            PathExistsError: Others made a file where there was none.
        """
        plain, base, path = self.plain, self.base, seen.path
        if seen.version == plain.facts.version or is_base(base, seen):
            return plain
        version, content = base.version or "", base.content
        if base.kind is None:
            raise PathExistsError(path)
        if base.is_strict:
            raise VersionMismatchError(path, version, seen.version, reason=CHANGED)
        now, known = (
            seen_by(parts, seen, self.actor),
            SeenVersion(version=version, base=version, encoding=plain.encoding),
        )
        kept = now.kept if content is None else lambda _version: content
        merged = merged_into(plain, replace(now, rows=(known,), kept=kept), known, plain.text_for(path), parts.settings)
        return replace(merged, mode=None)


def permit_removal(parts: Parts, actor: Actor, base: DiskPath, seen: Look) -> None:
    """Refuse to delete a file that has changed since the transaction saw it, or has unsaved text.

    Raises:
        VersionMismatchError, EditConflictError
    """
    permit_leaving(parts, actor, seen)
    permit_seen(base, seen)


def permit_move(parts: Parts, bases: tuple[DiskPath, DiskPath], source: Look, destination: Look) -> None:
    """Refuse to move or replace a file that has changed since the transaction saw it, and to replace unsaved text.

    Raises:
        VersionMismatchError, EditConflictError
    """
    refuse_unsaved(parts, destination)
    permit_seen(bases[0], source)
    permit_seen(bases[1], destination)


def permit_seen(base: DiskPath, seen: Look) -> None:
    """Refuse a file that has changed since the transaction saw it.

    Raises:
        VersionMismatchError
    """
    if not is_base(base, seen):
        raise VersionMismatchError(seen.path, base.version, seen.version, reason=CHANGED)


def is_base(base: DiskPath, seen: Look) -> bool:
    """True if the entry is still what the transaction saw."""
    if seen.stat is None or base.stat is None:
        return seen.stat is None and base.kind is None
    if base.version is not None and base.version.startswith("stat:"):
        return is_same(base.stat, seen.stat)
    return seen.version == base.version


def _refuse_new(parts: Parts, folder: WorkspacePath, below: Mapping[str, DiskPath]) -> None:
    """Refuse a folder if anything in it has changed since the transaction saw it, by key.

    Raises:
        VersionMismatchError
    """
    for path, _ in walk_tree(parts.store, folder):
        stat, before = parts.store.stat(path), below.get(parts.workspace.key(path))
        if stat is None or (
            before is not None and (is_same(before.stat, stat) or before.kind == stat.type == "directory")
        ):
            continue
        reason = "others changed it since this transaction moved or deleted the folder that holds it"
        raise VersionMismatchError(path, None, None, reason=reason)
