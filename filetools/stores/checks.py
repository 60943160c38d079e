"""What every store refuses alike."""

from __future__ import annotations

from filetools.errors import (
    InvalidArgumentError,
    NotRegularFileError,
    PathIsDirectoryError,
    SymlinkNotAllowedError,
)
from filetools.models.words import EntryType
from filetools.paths.workspace_path import WorkspacePath


def private_name(name: str) -> str:
    """Return `name` if it is a single name, fit for the trash or limbo.

    Raises:
        InvalidArgumentError: It is empty, a path, or would leave the folder.
    """
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise InvalidArgumentError(f"Not a name for a private file: {name!r}")
    return name


def refuse_nesting(source: WorkspacePath, destination: WorkspacePath) -> None:
    """Raise InvalidArgumentError where one path lies inside the other."""
    if source.is_below(destination) or destination.is_below(source):
        raise InvalidArgumentError(f"Cannot move {source!r} to {destination!r}: one lies inside the other", path=source)


def refuse_other_kinds(kind: EntryType, path: WorkspacePath) -> None:
    """Raise unless it is a regular file.

    Raises:
        PathIsDirectoryError, SymlinkNotAllowedError, NotRegularFileError
    """
    if kind == "directory":
        raise PathIsDirectoryError(path)
    if kind == "symlink":
        raise SymlinkNotAllowedError(path, path)
    if kind == "other":
        raise NotRegularFileError(path)
