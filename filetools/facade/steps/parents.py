"""Missing parents of a new path: recorded with it, made before the exchange, removed if that fails."""

from __future__ import annotations

from collections.abc import Sequence

from filetools.errors import DirectoryNotFoundError, PathNotDirectoryError
from filetools.facade.parts import Parts
from filetools.journal.changes import Change
from filetools.models.records import Operation
from filetools.paths.workspace_path import WorkspacePath


def missing_parents(parts: Parts, path: WorkspacePath) -> Sequence[WorkspacePath]:
    """Return the folders above a path that do not exist, outermost first.

    Raises:
        PathNotDirectoryError: A parent is not a folder.
    """
    missing: list[WorkspacePath] = []
    parent = path.parent
    while not parent.is_root and (stat := parts.store.stat(parent)) is None:
        missing.append(parent)
        parent = parent.parent
    if not parent.is_root and stat is not None and stat.type != "directory":
        raise PathNotDirectoryError(parent)
    return missing[::-1]


def folder_change(parts: Parts, folder: WorkspacePath) -> Change:
    """Return the draft of the record that a folder was made."""
    return Change(operation=Operation.CREATE_DIRECTORY, path=folder, key=parts.workspace.key(folder))


def require_parent(parts: Parts, path: WorkspacePath) -> None:
    """Raise unless the parent of a path is a folder.

    Raises:
        DirectoryNotFoundError, PathNotDirectoryError
    """
    if path.parent.is_root:
        return
    stat = parts.store.stat(path.parent)
    if stat is None:
        raise DirectoryNotFoundError(path.parent)
    if stat.type != "directory":
        raise PathNotDirectoryError(path.parent)
