"""What each kind of step does to the tree of a transaction, in place of the disk."""

from __future__ import annotations

from filetools.changes.operations import MakeFolder, Move, Put, Remove, RemoveFolder
from filetools.errors import InvalidArgumentError
from filetools.facade.parts import Parts
from filetools.facade.steps.folders import MakeFolderStep, MoveFolder, RemoveFolderStep
from filetools.facade.steps.move import MoveFile
from filetools.facade.steps.put import PutFile
from filetools.facade.steps.remove import RemoveFile
from filetools.facade.steps.step import Step
from filetools.facade.transactions.held import FOLDER_MODE, HeldTree
from filetools.models.words import EntryType
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.walk import walk_tree


def act(parts: Parts, held: HeldTree, step: Step) -> None:
    """Have a step that has looked and decided change the tree of a transaction.

    Args:
        parts: The workspace as the transaction sees it.
        held: Changed.
        step: Has looked and decided.

    Raises:
        DirectoryNotFoundError, PathNotDirectoryError: There is no folder to hold what it makes.
        InvalidArgumentError: It is not for transactions.
    """
    match step:
        case PutFile(decision=decision) if decision is not None:
            _note_parents(parts, held, step)
            held.note(step.path, step.seen, becomes="file")
            held.put(Put(path=step.path, content=decision.content, mode=decision.mode), decision.encoding)
        case RemoveFile():
            held.note(step.path, step.seen)
            held.take(Remove(path=step.path))
        case MoveFile():
            _move(parts, held, step)
        case MakeFolderStep():
            for path in step.new_folders(parts):
                held.note(path, becomes="directory")
                held.overlay.apply(MakeFolder(path=path, mode=FOLDER_MODE))
        case RemoveFolderStep():
            _note_whole(parts, held, step.paths[0])
            held.take(RemoveFolder(path=step.paths[0]))
        case MoveFolder():
            _move_folder(parts, held, step)
        case _:
            raise InvalidArgumentError(
                "This cannot be part of a transaction; do it before or after", path=step.paths[0]
            )


def _note_parents(parts: Parts, held: HeldTree, step: PutFile | MoveFile | MoveFolder) -> None:
    for folder in step.new_folders(parts):
        held.note(folder, becomes="directory")


def _move(parts: Parts, held: HeldTree, step: MoveFile) -> None:
    source, destination = step.seen
    _refuse_one_name(held, step)
    _note_parents(parts, held, step)
    held.note(step.source, source)
    held.note(step.destination, destination, becomes="file")
    if destination.stat is not None:
        held.overlay.apply(Remove(path=step.destination))
    held.take(Move(path=step.source, to=step.destination))
    held.demand(step.destination)  # one file's text on top of another one's is no merge


def _move_folder(parts: Parts, held: HeldTree, step: MoveFolder) -> None:
    source, destination = step.paths
    _refuse_one_name(held, step)
    _note_parents(parts, held, step)
    below = _note_whole(parts, held, source)
    held.note(destination, becomes="directory")
    for path, kind in below:
        held.note(WorkspacePath(destination + path[len(source) :]), becomes=kind)
    node = held.overlay.find(source)
    if node is not None and node.origin is None:
        held.overlay.apply(MakeFolder(path=source, mode=FOLDER_MODE))
    held.take(Move(path=source, to=destination))


def _note_whole(parts: Parts, held: HeldTree, folder: WorkspacePath) -> list[tuple[WorkspacePath, EntryType]]:
    """Note a folder and all below it, and return what is below."""
    below = [(path, entry.type) for path, entry in walk_tree(parts.store, folder)]
    # What lies deepest comes first: once a folder has changed, what is below it is not the disk's any more.
    for path, _ in reversed(below):
        held.note(path)
    held.note(folder)
    return below


def _refuse_one_name(held: HeldTree, step: MoveFile | MoveFolder) -> None:
    source, destination = step.paths
    if held.key(source) == held.key(destination):
        raise InvalidArgumentError(
            f"{source} and {destination} are one name here; rename it outside of a transaction", path=source
        )
