"""From what a transaction holds to the steps of its exit: the net effect, one step a path."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from operator import itemgetter

from msgspec import Struct
from msgspec.structs import replace

from filetools.changes.decision import PutDecision
from filetools.changes.knowledge import read_as
from filetools.changes.operations import MakeFolder, Move, Put, Remove, RemoveFolder, TreeOperation
from filetools.changes.overlay import OverlayNode
from filetools.changes.planner import plan
from filetools.changes.rebasing import CHANGED, on_top
from filetools.errors import VersionMismatchError
from filetools.facade.deciding import preconditions
from filetools.facade.deciding.seeing import seen_by
from filetools.facade.parts import Parts
from filetools.facade.steps.folders import MakeFolderStep, MoveFolder, RemoveFolderStep
from filetools.facade.steps.look import Look
from filetools.facade.steps.move import MoveFile
from filetools.facade.steps.put import PutFile
from filetools.facade.steps.remove import RemoveFile
from filetools.facade.steps.step import Step
from filetools.facade.steps.unsaved import unsaved_error, unsaved_text
from filetools.facade.transactions.held import DiskPath, HeldTree, is_same
from filetools.models.records import Actor
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.walk import walk_tree


def steps_of(parts: Parts, held: HeldTree, actor: Actor) -> list[Step]:
    """Return the steps of a transaction's exit: folders are made first and removed last. Call it in a worker thread.

    The way looks at all paths before it changes one, so each step is one that the others neither need nor hinder.

    Args:
        parts: The workspace itself.
        held: What shall be.
        actor: Whose transaction it is.

    Raises:
        VersionMismatchError: Others have changed what the transaction moved, and its bytes are needed now.
        FileTooLargeError: They are needed, and too many.
    """
    with held.lock:
        operations = plan(held.overlay, partial(_may_rename, held))
        replaced = {operation.to for operation in operations if isinstance(operation, Move)}
        found = []
        for operation in operations:
            path = operation.to if isinstance(operation, Move) else operation.path
            if not (isinstance(operation, Remove) and path in replaced):
                found += [(rank, held.key(path), step) for rank, step in _steps(parts, held, actor, operation)]
    return [step for _, _, step in sorted(found, key=itemgetter(0, 1))]


def _steps(parts: Parts, held: HeldTree, actor: Actor, operation: TreeOperation) -> list[tuple[int, Step]]:
    """Return the step of an operation, if it has one, and when its turn is."""
    path = operation.path
    before = held.before(path)
    match operation:
        case MakeFolder(mode=int()) if before.kind is None:
            return [(0, MakeFolderStep(path))]
        case Move(to=to) if held.key(path) != held.key(to):
            if before.kind == "directory":
                require = partial(_refuse_new, parts, path, held.before_below(path))
                return [(1, MoveFolder(path, to, require=require))]
            target = held.before(to)
            permit = partial(permit_move, parts, (before, target))
            return [(2, MoveFile(path, to, overwrite=target.kind is not None, permit=permit))]
        case Put():
            node, content = held.overlay.find(path), operation.content
            encoding = None if node is None else node.encoding
            facts = read_as(content, encoding, name=path)[0]
            plain = PutDecision(
                content=content,
                facts=facts,
                mode=operation.mode,
                encoding=encoding,
                sent=content,
                sent_version=facts.version,
            )
            decide = DecidePut(plain=plain, base=before, is_strict=held.is_strict(path), actor=actor)
            return [(3, PutFile(path, decide))]
        case Remove():
            return [(3, RemoveFile(path, partial(permit_removal, parts, actor, before)))]
        case RemoveFolder():
            below = held.before_below(path)
            require = partial(_refuse_new, parts, path, below)
            return [(4, RemoveFolderStep(path, recursive=bool(below), require=require))]
    return []


def _may_rename(held: HeldTree, path: WorkspacePath, node: OverlayNode) -> bool:
    """Whether what has moved to a path can be renamed by a step that does not depend on any other."""
    if node.content is not None or node.origin is None or held.overlay.find(node.origin.path) is not None:
        return False
    return node.kind != "directory" or (held.before(path).kind is None and _is_whole(held, node))


def _is_whole(held: HeldTree, node: OverlayNode) -> bool:
    """Whether everything in a folder is as it was, with nothing added."""
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
    """Decides what stands at a path that a transaction has changed."""

    plain: PutDecision
    """The transaction's text."""
    base: DiskPath
    is_strict: bool
    actor: Actor

    def __call__(self, parts: Parts, seen: Look) -> PutDecision:
        """Put the text where its base stands; onto what others have made of it the text is merged.

        Raises:
            EditConflictError: Their changes and this one overlap, or there is no text to merge.
            VersionMismatchError: The caller had named the version that it changes, or the base is not kept any more.
            PathExistsError: Others made a file where there was none.
        """
        plain = self.plain
        if seen.version == plain.facts.version or is_base(self.base, seen):
            return plain
        now, knowledge = seen_by(parts, seen, self.actor)
        merged = on_top(plain, self.base, now, kept=knowledge.kept, is_strict=self.is_strict, settings=parts.settings)
        return replace(merged, mode=None)


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


def _refuse_new(parts: Parts, folder: WorkspacePath, below: Mapping[str, DiskPath]) -> None:
    """Refuse a folder in which something is newer than what its transaction saw, by key.

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
