"""What other programs did to the folders that a call works in: recorded before what the call itself does there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import takewhile

from msgspec.structs import replace

from filetools.facade.parts import Parts
from filetools.facade.steps.folders import FolderStep, MoveFolder, RemoveFolderStep
from filetools.facade.steps.parents import folder_change
from filetools.facade.steps.put import PutFile
from filetools.facade.steps.step import Step
from filetools.journal.changes import Change, HeadMovedError
from filetools.models.records import EXTERNAL, ChangeRecord, Operation
from filetools.paths.workspace_path import WorkspacePath
from filetools.watch.inventory import Known

Noticed = Callable[[Sequence[ChangeRecord]], None]
"""Told of records that stand whatever becomes of the call: foreign changes, and folders made on the way."""


def folder_deletion(parts: Parts, folder: WorkspacePath) -> Change:
    """Return the record of a folder that another program took away, with all that was in it."""
    key = parts.workspace.key
    files = {name for name, is_directory in parts.names.below(folder) if not is_directory}
    is_unseen = not files <= {key(WorkspacePath(head)) for head, _ in parts.journal.heads_below(key(folder))}
    return Change(
        operation=Operation.DELETE_DIRECTORY, path=folder, key=key(folder), before_unknown=is_unseen,
        applied=True, external=True,
    )  # fmt: skip


def tell_of_new_folders(parts: Parts, steps: Sequence[Step], noticed: Noticed) -> None:
    """Record the folders above that another program has made, before anything in them."""
    changes = [replace(folder_change(parts, folder), external=True) for folder in _untold_folders(parts, steps)]
    if changes:
        noticed(parts.journal.commit(changes, EXTERNAL))


def _untold_folders(parts: Parts, steps: Sequence[Step]) -> list[WorkspacePath]:
    """Return the folders above the paths of steps that stand there and nobody has been told of, outermost first."""
    new: dict[WorkspacePath, None] = {}
    parents = {path.parent for step in steps if not _is_told(step) for path in step.paths}
    for folder in parents | _folders_of(steps):
        absent = [each for each, _ in takewhile(lambda one: one[1] == "absent", reversed(_way(parts, folder)))]
        new |= dict.fromkeys(takewhile(partial(_is_folder, parts), reversed(absent)))
    return list(new)


def _is_told(step: Step) -> bool:
    """Whether a step changes a file that stands there as it is recorded, so that its folder was told of with it."""
    if not isinstance(step, PutFile) or step.seen.adoption is not None:
        return False
    return step.seen.stat is not None and step.seen.view.head is not None


def _is_folder(parts: Parts, path: WorkspacePath) -> bool:
    stat = parts.store.stat(path)
    return stat is not None and stat.type == "directory"


def _folders_of(steps: Sequence[Step]) -> set[WorkspacePath]:
    return {path for step in steps if isinstance(step, FolderStep) for path in step.paths}


def tell_of_gone_folders(parts: Parts, active: Sequence[Step], noticed: Noticed) -> None:
    """Record the folders that other programs took away where new ones will be made, before these have their names.

    Raises:
        HeadMovedError: There were some; what was in them is gone, too, and has to be looked at again. Or one stands there
            again, that was gone at the look: what is known of it would be taken for what comes there. Or one is to leave
            that nobody was told of, as it was away for an instant.
    """
    for leaving in (step.paths[0] for step in active if isinstance(step, MoveFolder | RemoveFolderStep)):
        if _way(parts, leaving)[-1][1] == "absent":
            raise HeadMovedError(leaving)
    coming = {step.paths[1] for step in active if isinstance(step, MoveFolder)}
    folders = {folder for step in active for folder in step.new_folders(parts)} | _folders_of(active)
    if not folders:
        return
    outermost: dict[WorkspacePath, None] = {}
    for innermost in folders - {folder.parent for folder in folders}:
        known = [folder for folder, was in _way(parts, innermost) if was == "directory" and folder in folders]
        gone = [folder for folder in known if parts.store.stat(folder) is None]
        outermost |= dict.fromkeys(gone[:1])
        if not gone and innermost in coming and known[-1:] == [innermost]:
            raise HeadMovedError(innermost)
    if outermost:
        deletions = [folder_deletion(parts, folder) for folder in outermost]
        noticed(parts.journal.commit(deletions, EXTERNAL))
        raise HeadMovedError(next(iter(outermost)))


def _way(parts: Parts, folder: WorkspacePath) -> list[tuple[WorkspacePath, Known]]:
    """Return the folders above a folder, the outermost first, and itself, each with what was known to be there."""
    return [] if folder.is_root else list(zip((*folder.folders, folder), parts.names.on_the_way(folder), strict=True))
