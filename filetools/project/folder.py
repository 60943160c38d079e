"""Which folder is meant, whether the caller may look into it, and how its paths are shown."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

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
from filetools.stores.folder import FolderStore


class ProjectFolder(Struct, frozen=True, kw_only=True):
    """A folder held open for reading. Lives inside the `with` block of `opened_folder`."""

    path: str
    """Absolute, with its links resolved."""
    reads: FolderStore
    """Reads what is in it, by paths relative to it."""
    asked: str = ""
    """What was asked about, relative to it: the folder itself, or something below, where a folder above is looked at."""

    def shown(self, inside: str = "") -> str:
        """Return how a path in the folder is told: absolute, with the home folder as `~`."""
        return short_path(f"{self.path.rstrip('/')}/{inside}" if inside else self.path)


def short_path(path: str) -> str:
    """Return an absolute path with the home folder as `~`: `~/x` for `/home/me/x`, but not for `/home/me2/x`.

    Bytes that are no UTF-8 are told as `\\xff`, as no answer can hold them.
    """
    home = home_folder()
    short = path if home is None or not is_within(path, home) else f"~{path[len(home) :]}"
    return short.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def home_folder() -> str | None:
    """Return the home folder with its links resolved; None if there is none, or it is the root of the file system."""
    try:
        home = os.path.realpath(Path.home())
    except RuntimeError:  # some containers have users without one
        return None
    return None if home == os.sep else home


def real_folders(paths: Sequence[str]) -> list[str]:
    """Return absolute paths with their links resolved; `~` expands."""
    return [os.path.realpath(os.path.expanduser(each)) for each in paths]


def folder_path(raw_path: str, *, base: str, allowed: Sequence[str] | None, is_nearest: bool = False) -> str:
    """Return the folder that a path means, absolute and with its links resolved.

    Args:
        raw_path: Relative to `base`, absolute, `~` or `~/…`; nothing else expands.
        base: What relative paths are relative to.
        allowed: Folders below which the caller may look, links resolved; None for everywhere.
        is_nearest: Whether a file, or what is not there yet, means the nearest folder that holds it.

    Raises:
        InvalidArgumentError: A character that no path can hold is in it.
        AccessDeniedError: It lies elsewhere, or in the state of filetools.
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
    # The folder of a project can be gone itself: what is above it is not for the caller.
    while is_nearest and not os.path.isdir(place) and is_allowed(os.path.dirname(place)):
        place = os.path.dirname(place)
    if not os.path.lexists(place):
        raise DirectoryNotFoundError(short_path(place))
    if not os.path.isdir(place):
        raise PathNotDirectoryError(short_path(place))
    return place


def real_path(raw_path: str, *, base: str) -> str:
    """Return the path that is meant, absolute and with its links resolved, whether there is anything or not.

    Args:
        raw_path: Relative to `base`, absolute, `~` or `~/…`; nothing else expands.
        base: What relative paths are relative to.

    Raises:
        InvalidArgumentError: A character that no path can hold is in it.
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
    """Whether a folder is there."""
    return os.path.isdir(path)


def holder(path: str, folders: Sequence[str]) -> str | None:
    """Return the outermost of some folders that a path is, or lies in; None if it is in none."""
    return min((each for each in folders if is_within(path, each)), key=len, default=None)


def holds_any(folder: str, names: Iterable[str]) -> bool:
    """Whether something stands in a folder under one of some names."""
    return any(os.path.lexists(os.path.join(folder, name)) for name in names)


def below(path: str, root: str) -> WorkspacePath | None:
    """Return an absolute path as a path in a folder; None if it lies elsewhere."""
    if not is_within(path, root):
        return None
    return WorkspacePath(path[len(root) :].lstrip(os.sep))


def located(reads: FolderStore, path: WorkspacePath, kind: EntryType) -> WorkspacePath | None:
    """Return where something in a folder really lies; None if it is no such thing, or lies outside."""
    try:
        found = reads.followed(path)
        is_such = found is not None and found[1].type == kind and reads.resolve(found[0]) == found[0]
    except FileToolsError:  # a link that leads nowhere, the state of filetools, a name that is no text
        return None
    return found[0] if found is not None and is_such else None


@contextmanager
def opened_folder(
    path: str, *, asked: str = "", is_withheld: Callable[[str], bool] | None = None
) -> Iterator[ProjectFolder]:
    """Hold a folder open for reading; nothing is made in it.

    Args:
        path: What `folder_path` returned, or a folder above that.
        asked: See `ProjectFolder`.
        is_withheld: Says of a path below it whether the caller may not read it.
    """
    with closing(Workspace.open(path, follow_symlinks=True)) as workspace:
        yield ProjectFolder(path=path, reads=FolderStore(workspace, is_withheld=is_withheld), asked=asked)


def is_within(path: str, folder: str) -> bool:
    """Whether a path is a folder, or lies in it, as their names tell."""
    return path == folder or path.startswith(f"{folder.rstrip(os.sep)}{os.sep}")
