"""Resolves a project's folder, checks that the caller may read it, and formats its paths."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager

from msgspec import Struct

from filetools.errors import (
    AccessDeniedError,
    DirectoryNotFoundError,
    FileToolsError,
    InvalidArgumentError,
    PathNotDirectoryError,
)
from filetools.models.words import EntryType
from filetools.paths.names import is_state_name
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath
from filetools.settings import home_directory
from filetools.stores.folder import FolderStore


class ProjectFolder(Struct, frozen=True, kw_only=True):
    """A folder open for reading, valid inside the `with` block of `opened_folder`."""

    path: str
    """Absolute, with links resolved."""
    reads: FolderStore
    """Reads its contents, by relative paths."""
    asked: str = ""
    """The requested path relative to it: the folder itself, or a path below if a parent folder was opened."""

    def shown(self, inside: str = "") -> str:
        """Return the displayed form of a path in the folder: absolute, with the home folder as `~`."""
        return short_path(f"{self.path.rstrip('/')}/{inside}" if inside else self.path)


def short_path(path: str) -> str:
    """Return an absolute path with the home folder as `~`: `~/x` for `/home/me/x`, but not for `/home/me2/x`.

    Invalid UTF-8 is shown as `\\xff`, because answers cannot contain it.
    """
    home = home_folder()
    short = path if home is None or not is_within(path, home) else f"~{path[len(home) :]}"
    return short.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def home_folder() -> str | None:
    """Return the home folder with links resolved; None if it is the root of the file system."""
    home = os.path.realpath(home_directory())
    return None if home == os.sep else home


def real_folders(paths: Sequence[str]) -> list[str]:
    """Return absolute paths with `~` expanded and links resolved."""
    return [os.path.realpath(os.path.expanduser(each)) for each in paths]


def folder_path(raw_path: str, *, base: str, allowed: Sequence[str] | None, is_nearest: bool = False) -> str:
    """Resolve a path to a folder, absolute and with links resolved.

    Args:
        raw_path: Relative to `base`, absolute, `~` or `~/…`; nothing else expands.
        base: The base of relative paths.
        allowed: Folders that the caller may read, with links resolved; None for everywhere.
        is_nearest: True if a file or a missing path means the nearest existing parent folder.

    Raises:
        InvalidArgumentError: It contains a character that is not valid in paths.
        AccessDeniedError: It is outside the allowed folders, or in the state of filetools.
        DirectoryNotFoundError, PathNotDirectoryError
    """

    def is_allowed(path: str) -> bool:
        return allowed is None or holder(path, allowed) is not None

    place = real_path(raw_path, base=base)
    if not is_allowed(place):
        raise AccessDeniedError(
            short_path(place), "it lies outside the folders that can be looked at",
            suggested_action="Name a folder of the workspace or a registered project, or ask the user to start the"
            " server with --allow-root for that folder.",
        )  # fmt: skip
    if any(is_state_name(segment) for segment in place.split(os.sep)):
        raise AccessDeniedError(short_path(place), "it belongs to filetools")
    # The folder of a project may itself be deleted; the caller must not read its parents.
    while is_nearest and not os.path.isdir(place) and is_allowed(os.path.dirname(place)):
        place = os.path.dirname(place)
    if not os.path.lexists(place):
        raise DirectoryNotFoundError(short_path(place))
    if not os.path.isdir(place):
        raise PathNotDirectoryError(short_path(place))
    return place


def real_path(raw_path: str, *, base: str) -> str:
    """Resolve a path, existing or not, absolute and with links resolved.

    Args:
        raw_path: Relative to `base`, absolute, `~` or `~/…`; nothing else expands.
        base: The base of relative paths.

    Raises:
        InvalidArgumentError: It contains a character that is not valid in paths.
    """
    if "\0" in raw_path:
        raise InvalidArgumentError("A path cannot hold the character NUL")
    try:
        os.fsencode(raw_path)
    except UnicodeEncodeError as exc:
        raise InvalidArgumentError(f"A path cannot hold the character {raw_path[exc.start]!a}") from exc
    expanded = raw_path
    if raw_path == "~" or raw_path.startswith("~/"):
        expanded = (home_folder() or "~") + raw_path[1:]
    return os.path.realpath(os.path.join(base, expanded))


def is_folder(path: str) -> bool:
    """Return True if the path is an existing folder."""
    return os.path.isdir(path)


def holder(path: str, folders: Sequence[str]) -> str | None:
    """Return the outermost of the given folders that contains a path or equals it, or None."""
    return min((each for each in folders if is_within(path, each)), key=len, default=None)


def holds_any(folder: str, names: Iterable[str]) -> bool:
    """Return True if a folder has an entry with one of the names."""
    return any(os.path.lexists(os.path.join(folder, name)) for name in names)


def below(path: str, root: str) -> WorkspacePath | None:
    """Convert an absolute path to a path relative to a folder; None if it is outside."""
    return WorkspacePath(path[len(root) :].lstrip(os.sep)) if is_within(path, root) else None


def located(reads: FolderStore, path: WorkspacePath, kind: EntryType) -> WorkspacePath | None:
    """Return the real path of an entry in a folder; None if it is of another type or outside."""
    try:
        found = reads.followed(path)
        is_such = found is not None and found[1].type == kind and reads.resolve(found[0]) == found[0]
    except FileToolsError:  # a broken link, the state of filetools, a name that is not text
        return None
    return found[0] if found is not None and is_such else None


@contextmanager
def opened_folder(
    path: str, *, asked: str = "", is_withheld: Callable[[str], bool] | None = None
) -> Iterator[ProjectFolder]:
    """Open a folder for reading, without creating anything in it.

    Args:
        path: The result of `folder_path`, or a folder above it.
        asked: See `ProjectFolder`.
        is_withheld: Returns True for a path below it that the caller may not read.
    """
    with closing(Workspace.open(path, follow_symlinks=True)) as workspace:
        yield ProjectFolder(path=path, reads=FolderStore(workspace, is_withheld=is_withheld), asked=asked)


def is_within(path: str, folder: str) -> bool:
    """Return True if a path equals a folder or is inside it, lexically."""
    return path == folder or path.startswith(f"{folder.rstrip(os.sep)}{os.sep}")
