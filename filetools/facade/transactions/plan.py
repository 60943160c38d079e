"""Plans the end of a transaction: its net effect as steps, one for each path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from operator import itemgetter

from msgspec import Struct
from msgspec.structs import replace

from filetools.changes.deciding.files import permit_leaving, refuse_unsaved, seen_by
from filetools.changes.decision import PutDecision, read_as
from filetools.changes.overlay import OverlayNode
from filetools.changes.parts import Parts
from filetools.changes.steps.files import MoveFile, PutFile, RemoveFile
from filetools.changes.steps.folders import MakeFolderStep, MoveFolder, RemoveFolderStep
from filetools.changes.steps.look import Look
from filetools.changes.steps.put_back import opened
from filetools.changes.steps.step import Step
from filetools.changes.writing import CHANGED, on_top
from filetools.errors import InvalidPathError, VersionMismatchError
from filetools.facade.transactions.held import DiskPath, HeldTree, is_same
from filetools.models.records import Actor
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.walk import walk_tree


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
    found: list[tuple[int, str, Step]] = []
    gone: list[DiskPath] = []
    renamed: set[str] = set()
    with held.lock:
        waiting, met = held.changed(), set[str]()
        while waiting:
            path = waiting.pop()
            key, node, before = held.key(path), held.overlay.find(path), held.before(path)
            if key in met:
                continue
            met.add(key)
            if node is None:
                gone += [] if before.kind is None else [before]
            elif node.origin is not None and _may_rename(held, path, node):
                renamed.add(held.key(node.origin.path))
                found.append((1 if node.kind == "directory" else 2, key, _move(parts, held, node.origin.path, path)))
            elif node.kind != "directory":
                found += [(3, key, put) for put in _put(held, path, node, actor)]
            elif not _is_at(held, node, path):
                if before.kind is None:
                    mode = None if node.origin is None or node.origin.mode is None else opened(node.origin.mode)
                    found.append((0, key, MakeFolderStep(before.path, mode)))
                waiting += [path.child(child.name) for child in held.overlay.children(node)]
        for before in gone:
            key, path = held.key(before.path), before.path
            # A folder that is removed or moved takes its contents with it.
            if key not in renamed and all(held.overlay.find(above) is not None for above in path.folders):
                rank = 4 if before.kind == "directory" else 3
                found.append((rank, key, _removal(parts, held, actor, before)))
    return [step for _, _, step in sorted(found, key=itemgetter(0, 1))]


def _is_at(held: HeldTree, node: OverlayNode, path: WorkspacePath) -> bool:
    """True if a node is at the path that it had before the transaction."""
    return node.origin is not None and held.key(node.origin.path) == held.key(path)


def _move(parts: Parts, held: HeldTree, source: WorkspacePath, path: WorkspacePath) -> Step:
    before, target = held.before(source), held.before(path)
    if before.kind == "directory":
        return MoveFolder(source, path, require=partial(_refuse_new, parts, source, held.before_below(source)))
    permit = partial(permit_move, parts, (before, target))
    return MoveFile(source, path, overwrite=target.kind is not None, permit=permit)


def _put(held: HeldTree, path: WorkspacePath, node: OverlayNode, actor: Actor) -> Iterator[Step]:
    before, origin, content, mode, source = held.before(path), node.origin, node.content, node.mode, None
    if origin is not None and not _is_at(held, node, path):
        if content is None:
            content, source = held.content(origin), origin.path
        mode = origin.mode if mode is None else mode
    if content is None:
        return
    facts = read_as(content, node.encoding, name=path)[0]
    if before.version != facts.version or mode not in (None, before.mode):
        plain = PutDecision(
            content=content, facts=facts, mode=mode, encoding=node.encoding, sent=content, sent_version=facts.version
        )
        yield PutFile(path, DecidePut(plain=plain, base=before, actor=actor, source=source))


def _removal(parts: Parts, held: HeldTree, actor: Actor, before: DiskPath) -> Step:
    if not parts.workspace.is_addressable(before.path):
        raise InvalidPathError(before.path, "no call can name it, so it goes only with its folder, which stays")
    if before.kind != "directory":
        return RemoveFile(before.path, partial(permit_removal, parts, actor, before))
    below = held.before_below(before.path)
    return RemoveFolderStep(before.path, recursive=bool(below), require=partial(_refuse_new, parts, before.path, below))


def _may_rename(held: HeldTree, path: WorkspacePath, node: OverlayNode) -> bool:
    """True if the entry that was moved to a path can be renamed by a step that does not depend on another."""
    if node.content is not None or node.origin is None or held.overlay.find(node.origin.path) is not None:
        return False
    for above in node.origin.path.folders:
        folder = held.overlay.find(above)
        if folder is None or (folder.origin is not None and not _is_at(held, folder, above)):
            return False
    return node.kind != "directory" or (held.before(path).kind is None and _is_whole(held, node))


def _is_whole(held: HeldTree, node: OverlayNode) -> bool:
    """True if a folder's contents are unchanged."""
    waiting = [node]
    while waiting:
        folder = waiting.pop()
        for child in folder.children.values():
            assert folder.origin is not None
            at = folder.origin.path.child(child.name)
            is_same = child.content is None and child.origin is not None and child.origin.path == at
            if not is_same and (child.kind is not None or held.before(at).kind is not None):
                return False
            waiting += [child] if is_same else []
    return True


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
        plain = self.plain
        if seen.version == plain.facts.version or is_base(self.base, seen):
            return plain
        now = seen_by(parts, seen, self.actor)
        merged = on_top(plain, self.base, now, is_strict=self.base.is_strict, settings=parts.settings)
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
