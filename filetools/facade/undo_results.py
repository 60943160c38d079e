"""What an undo has done, as its result shows it: each change that it took back, and each file with its hunks."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final, Literal

from filetools.content.diff import structured_patch
from filetools.content.facts import inspect
from filetools.content.formats import decode
from filetools.content.version import version_of
from filetools.errors import FileToolsError, VersionGoneError
from filetools.facade.steps.move import MoveFile
from filetools.facade.steps.put import PutFile
from filetools.facade.steps.put_back import MakeFolderAgain, MoveFolderBack, RestoreFolder, UndoStep
from filetools.facade.steps.remove import RemoveFile
from filetools.facade.steps.texts import PutLink, PutMode
from filetools.facade.undo_steps import Drafted, place_of
from filetools.models.history import UndoneChange, UndoneFile
from filetools.models.records import ChangeRecord
from filetools.paths.workspace_path import WorkspacePath
from filetools.versions.draft_tree import DraftTree, Node
from filetools.versions.undo import Finding

MOST_SHOWN_FILES: Final = 20
"""Files whose hunks are part of a result."""
LARGEST_SHOWN_BYTES: Final = 256 * 1024


def change_of(record: ChangeRecord, finding: Finding) -> UndoneChange:
    """Return a change with what became of it."""
    return UndoneChange(
        number=record.number,
        operation=record.operation.value,
        path=record.path,
        old_path=record.old_path,
        actor={name: value for name, value in asdict(record.actor).items() if value is not None},
        time=record.time,
        outcome=finding.outcome,
    )


def by_number(change: UndoneChange) -> int:
    """Return what to order changes by, the newest first."""
    return -change.number


def file_of(tree: DraftTree, step: UndoStep, drafted: Drafted | None, *, shown: bool) -> UndoneFile:
    """Return what a step does; with `shown` the hunks of a text, too."""
    path = place_of(step)
    if isinstance(step, MoveFile):
        return UndoneFile(path=path, action="move", old_path=step.paths[0])
    if isinstance(step, MoveFolderBack):
        return UndoneFile(path=path, action="move_directory", old_path=step.paths[0])
    if isinstance(step, RemoveFile) or (isinstance(step, PutFile) and drafted is not None):
        return _written(tree, path, drafted, shown=shown)
    if isinstance(step, PutFile):
        return UndoneFile(path=path, action="write")  # an open document, whose text is not the plan's to tell
    if isinstance(step, MakeFolderAgain):
        return UndoneFile(path=path, action="make_directory")
    if isinstance(step, PutLink | PutMode):
        then, now = (None if text is None else version_of(text) for text in (step.then, step.now))
        action: Literal["link", "set_mode", "delete"] = "link" if then is not None else "delete"
        if isinstance(step, PutMode):
            action = "set_mode"
        return UndoneFile(path=path, action=action, version=then, replaced_version=now)
    return UndoneFile(path=path, action="restore_directory" if isinstance(step, RestoreFolder) else "delete_directory")


def _written(tree: DraftTree, path: WorkspacePath, drafted: Drafted | None, *, shown: bool) -> UndoneFile:
    now, then = (None, None) if drafted is None else (drafted.now, drafted.then)
    return UndoneFile(
        path=path,
        action="delete" if then is None else "create" if now is None else "write",
        version=None if then is None else tree.version(then),
        replaced_version=None if now is None else tree.version(now),
        structured_patch=_hunks(tree, drafted) if shown and drafted is not None else [],
    )


def _hunks(tree: DraftTree, drafted: Drafted) -> list[dict[str, Any]]:
    """Return what changes in a text; nothing where it appears, goes, or cannot be shown."""
    if drafted.now is None or drafted.then is None:
        return []
    try:
        texts = []
        for node in (drafted.now, drafted.then):
            content = _bytes_of(tree, node)
            form = inspect(content, name=drafted.path)[0].text_format
            if form is None or len(content) > LARGEST_SHOWN_BYTES:
                return []
            texts.append(decode(content, form, path=drafted.path))
    except FileToolsError:
        return []  # the hunks only help to read the result
    return [hunk.to_dict() for hunk in structured_patch(texts[0], texts[1])]


def _bytes_of(tree: DraftTree, node: Node) -> bytes:
    """Return the bytes of a file as the plan saw it, also after it was carried out: then its version is kept."""
    try:
        return tree.text(tree.version(node))
    except VersionGoneError:
        return tree.content(node)
