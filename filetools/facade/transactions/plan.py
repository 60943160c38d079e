"""From what a transaction holds to the steps of its exit: the net effect, one step a path."""

from __future__ import annotations

from functools import partial
from operator import itemgetter

from filetools.changes.operations import MakeFolder, Move, Put, Remove, RemoveFolder, TreeOperation
from filetools.changes.overlay import OverlayNode
from filetools.changes.planner import plan
from filetools.facade.parts import Parts
from filetools.facade.steps.folders import MakeFolderStep
from filetools.facade.steps.move import MoveFile
from filetools.facade.steps.put import PutFile
from filetools.facade.steps.remove import RemoveFile
from filetools.facade.steps.step import Step
from filetools.facade.transactions.held import HeldTree
from filetools.facade.transactions.seen import (
    MoveSeenFolder,
    RemoveSeenFolder,
    decide_put,
    permit_move,
    permit_removal,
)
from filetools.models.records import Actor
from filetools.paths.workspace_path import WorkspacePath


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
                return [(1, MoveSeenFolder(path, to, held.before_below(path)))]
            target = held.before(to)
            permit = partial(permit_move, parts, (before, target))
            return [(2, MoveFile(path, to, overwrite=target.kind is not None, permit=permit))]
        case Put():
            node = held.overlay.find(path)
            encoding = None if node is None else node.encoding
            decide = partial(
                decide_put, put=operation, encoding=encoding, base=before, is_strict=held.is_strict(path), actor=actor
            )
            return [(3, PutFile(path, decide))]
        case Remove():
            return [(3, RemoveFile(path, partial(permit_removal, parts, actor, before)))]
        case RemoveFolder():
            return [(4, RemoveSeenFolder(path, held.before_below(path)))]
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
