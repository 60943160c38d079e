"""Missing parents of a new path: made before the commit, recorded by it, taken back if it fails."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from filetools.errors import DirectoryNotFoundError, FileToolsError, PathExistsError, PathNotDirectoryError
from filetools.facade.parts import Parts
from filetools.journal.changes import Change
from filetools.models.records import Operation
from filetools.paths.workspace_path import WorkspacePath


def missing_parents(parts: Parts, path: WorkspacePath) -> Sequence[WorkspacePath]:
    """Return the folders above a path that do not exist, outermost first.

    Raises:
        PathNotDirectoryError: A file stands where a folder is needed.
    """
    missing: list[WorkspacePath] = []
    parent = path.parent
    while not parent.is_root and (stat := parts.store.stat(parent)) is None:
        missing.append(parent)
        parent = parent.parent
    if not parent.is_root and stat is not None and stat.type != "directory":
        raise PathNotDirectoryError(parent)
    return missing[::-1]


def make_parents(parts: Parts, missing: Sequence[WorkspacePath]) -> Sequence[Change]:
    """Create folders, outermost first.

    Returns:
        The records of those that were not there yet.

    Raises:
        PathNotDirectoryError: A file stands where a folder is needed.
    """
    made: list[Change] = []
    try:
        for folder in missing:
            made += _make(parts, folder)
    except FileToolsError:
        remove_parents(parts, made)
        raise
    return made


def remove_parents(parts: Parts, made: Sequence[Change]) -> None:
    """Take back folders that were made for nothing, innermost first; one that is in use stays."""
    for change in reversed(made):
        folder = parts.workspace.resolve(change.path)
        with suppress(FileToolsError):
            parts.store.remove_empty_directory(folder)


def folder_change(parts: Parts, folder: WorkspacePath) -> Change:
    """Return the record of a folder that exists now."""
    return Change(
        operation=Operation.CREATE_DIRECTORY,
        path=folder,
        key=parts.workspace.key(folder),
        applied=True,
    )


def require_parent(parts: Parts, path: WorkspacePath) -> None:
    """Raise unless the folder that shall hold a path exists.

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


def _make(parts: Parts, folder: WorkspacePath) -> list[Change]:
    try:
        return [folder_change(parts, folder)] if parts.store.make_directory(folder) else []
    except PathExistsError as exc:
        raise PathNotDirectoryError(folder) from exc
