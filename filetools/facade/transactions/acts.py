"""What each kind of step does to the overlay of a transaction, in place of the disk."""

from __future__ import annotations

from msgspec.structs import replace

from filetools.errors import InvalidArgumentError
from filetools.facade.look import Look
from filetools.facade.parts import Parts
from filetools.facade.steps.folders import MakeFolderStep, MoveFolder, RemoveFolderStep
from filetools.facade.steps.move import MoveFile
from filetools.facade.steps.parents import require_parent
from filetools.facade.steps.put import PutFile
from filetools.facade.steps.remove import RemoveFile
from filetools.facade.steps.step import Step
from filetools.facade.transactions.overlay import TransactionOverlay
from filetools.facade.transactions.states import (
    Base,
    Original,
    State,
    Written,
    base_seen,
    folder,
    written,
)
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.walk import walk_tree
from filetools.stores.store import FileStat


def act(parts: Parts, overlay: TransactionOverlay, step: Step) -> None:
    """Have a step that has looked and decided change the overlay.

    Args:
        parts: The workspace as the transaction sees it.
        overlay: Changed.
        step: Has looked and decided.

    Raises:
        DirectoryNotFoundError, PathNotDirectoryError: There is no folder to hold what it makes.
        InvalidArgumentError: It is not for transactions.
    """
    match step:
        case PutFile():
            _put(parts, overlay, step)
        case RemoveFile():
            overlay.put(step.path, None, base=_base(overlay, step.seen))
        case MoveFile():
            _move(parts, overlay, step)
        case MakeFolderStep():
            for path in (*step.new_folders(parts), step.paths[0]):
                overlay.put(path, folder())
        case RemoveFolderStep():
            # What lies deepest goes first: once a folder is gone, what the disk holds below it is hidden.
            for path in reversed(_all_below(parts, step.paths[0])):
                overlay.put(path, None)
        case MoveFolder():
            _move_folder(parts, overlay, step)
        case _:
            raise InvalidArgumentError(
                "This cannot be part of a transaction; do it before or after", path=step.paths[0]
            )


def _put(parts: Parts, overlay: TransactionOverlay, step: PutFile) -> None:
    decision, seen = step.decision, step.seen
    assert decision is not None
    if seen.stat is None and not step.new_folders(parts):
        require_parent(parts, step.path)
    before = overlay.state(step.path)
    mode = decision.mode
    if mode is None and not isinstance(before, FileStat):
        mode = _mode_of(before)
    shown_mode = seen.stat.mode if mode is None and seen.stat is not None else mode
    file = written(decision.content, step.version, mode, shown_mode=shown_mode)
    overlay.put(step.path, replace(file, encoding=decision.encoding), base=_base(overlay, seen))


def _base(overlay: TransactionOverlay, seen: Look) -> Base | None:
    """Return what a look saw as the base of its path, if it was the disk that it saw."""
    return None if overlay.entry(seen.path) is not None else base_seen(seen)


def _mode_of(state: State) -> int | None:
    """Return the mode that a file of the transaction takes with it; None if it has none of its own."""
    if isinstance(state, Original):
        return state.stat.mode
    return state.mode if isinstance(state, Written) else None


def _move(parts: Parts, overlay: TransactionOverlay, step: MoveFile) -> None:
    source, destination = step.seen
    _refuse_one_name(overlay, step.source, step.destination)
    step.new_folders(parts)
    moved = _as_state(overlay, step.source)
    bases = _base(overlay, source), _base(overlay, destination)
    overlay.put(step.source, None, base=bases[0])
    overlay.put(step.destination, moved, base=bases[1])
    overlay.demand(step.destination)  # one file's text on top of another one's is no merge


def _as_state(overlay: TransactionOverlay, path: WorkspacePath) -> State:
    """Return what stands at a path, as it may stand elsewhere."""
    found = overlay.state(path)
    if isinstance(found, Written) and found.mode is None:
        entry = overlay.entry(path)
        stat = entry.base.stat if entry is not None else None
        return found if stat is None else replace(found, mode=stat.mode)
    if not isinstance(found, FileStat):
        return found
    return folder(origin=path) if found.type == "directory" else Original(path=path, stat=found)


def _move_folder(parts: Parts, overlay: TransactionOverlay, step: MoveFolder) -> None:
    source, destination = step.paths
    _refuse_one_name(overlay, source, destination)
    step.new_folders(parts)
    paths = _all_below(parts, source)
    moved = [(WorkspacePath(destination + path[len(source) :]), _as_state(overlay, path)) for path in paths]
    for path in reversed(paths):  # the deepest first, as in a deletion
        overlay.put(path, None)
    for path, state in moved:
        overlay.put(path, state)


def _all_below(parts: Parts, folder: WorkspacePath) -> list[WorkspacePath]:
    """Return a folder and all that is in it, each folder before what it holds."""
    return [folder, *(path for path, _ in walk_tree(parts.store, folder))]


def _refuse_one_name(overlay: TransactionOverlay, source: WorkspacePath, destination: WorkspacePath) -> None:
    if overlay.key(source) == overlay.key(destination):
        raise InvalidArgumentError(
            f"{source} and {destination} are one name here; rename it outside of a transaction", path=source
        )
