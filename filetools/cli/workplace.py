"""Finds the root of a command, and converts paths of the command line to workspace paths."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

from msgspec import Struct

from filetools.app.trust import own_folder
from filetools.errors import AbsolutePathError, InvalidArgumentError, PathTraversalError, WorkspaceGoneError
from filetools.models.words import STATE_DIRECTORY, STATE_PATH
from filetools.settings import home_directory


class Workplace(Struct, frozen=True, kw_only=True):
    """The root and the working folder of one command."""

    root: Path
    """Absolute, as given or found."""
    folder: Path
    """The working folder, with links resolved."""
    is_named: bool = False
    """True if the root was given explicitly."""

    def path(self, raw_path: str) -> str:
        """Convert a path relative to the working folder to one relative to the root, as git does.

        If the working folder is outside the root, paths are relative to the root.

        Raises:
            PathTraversalError, AbsolutePathError: It leads out of the root.
        """
        if not self.is_inside and not os.path.isabs(raw_path):
            return raw_path
        # Lexically, as git does: the workspace's own rules decide about links in the path.
        place = Path(os.path.normpath(os.path.join(self.folder, raw_path)))
        for root in (self._real_root, self.root):
            if place.is_relative_to(root):
                inside = place.relative_to(root).as_posix()
                return "" if inside == "." else inside
        raise AbsolutePathError(raw_path) if os.path.isabs(raw_path) else PathTraversalError(raw_path)

    def typed(self, path: str) -> str:
        """Return a workspace path as typed on the command line; the inverse of `path`."""
        return os.path.relpath(self._real_root / path, self.folder) if self.is_inside else path

    @property
    def is_inside(self) -> bool:
        """True if the working folder is in the root."""
        return self.folder.is_relative_to(self._real_root)

    def refuse_accident(self) -> None:
        """Prevent accidental changes in a root that was not given explicitly.

        Raises:
            InvalidArgumentError: The root was not given, and it is the home folder or contains it.
        """
        if not self.is_named:
            _refuse_wide(
                self.root, f"Change to the folder of a project, or confirm with --root {shlex.quote(str(self.root))}."
            )

    @property
    def _real_root(self) -> Path:
        return Path(os.path.realpath(self.root))


def find_workplace(root: Path | None) -> Workplace:
    """Return the workplace: the given root, else the nearest parent folder with a state, else the working folder.

    The search ends below the home folder, so that a home folder that once became a root does not capture everything in it.

    Raises:
        InvalidArgumentError: The given root is not a folder.
        WorkspaceGoneError: The working folder was deleted.
    """
    if root is not None:
        refuse_file("root", root)
        if not root.is_dir():
            raise InvalidArgumentError(
                f"The root was not found: {str(root)!r}", suggested_action="Make the folder first, or name another."
            )
    try:
        folder = Path(os.path.realpath(os.getcwd()))
    except FileNotFoundError as exc:
        raise WorkspaceGoneError("the working folder was deleted") from exc
    if root is not None:
        return Workplace(root=Path(os.path.abspath(root)), folder=folder, is_named=True)
    return Workplace(root=root_above(folder) or folder, folder=folder)


def refuse_new_root(folder: Path) -> None:
    """Prevent a folder from becoming a root by accident.

    Raises:
        InvalidArgumentError: It is the home folder, contains it, or is inside another root.
    """
    command = f"filetools init --root {shlex.quote(str(folder))}"
    _refuse_wide(folder, f"Name the folder of a project, or confirm with: {command}.")
    real = Path(os.path.realpath(folder))
    outer = root_above(real)
    if outer not in (None, real):
        raise InvalidArgumentError(
            f"{str(folder)!r} is inside the root {str(outer)!r}",
            suggested_action=f"Work in that root, or create a separate history: {command}.",
        )


def refuse_relative(names: Sequence[str]) -> None:
    """Refuse relative paths to the home folder or its parents: a client may start a server in any working folder.

    Raises:
        InvalidArgumentError: One of the folders is such a path.
    """
    for name in names:
        if not os.path.isabs(os.path.expanduser(name)):
            place = Path(os.path.abspath(name))
            _refuse_wide(place, f"Serve the folder of a project, or confirm with the absolute path: {place}.")


def root_above(folder: Path) -> Path | None:
    """Return the nearest folder with a state, from this one upwards but below the home folder; `folder` must be resolved."""
    home = Path(os.path.realpath(home_directory()))
    near = takewhile(
        lambda place: place not in (home, *home.parents) and place != place.parent, (folder, *folder.parents)
    )
    return next((place for place in near if _has_usable_state(place)), None)


def _has_usable_state(folder: Path) -> bool:
    """Return True if a folder has a state that is not another user's: anybody can create one in folders such as /tmp."""
    state = folder / STATE_DIRECTORY
    if not state.is_dir():
        return False
    return os.name == "nt" or state.lstat().st_uid == os.geteuid() or own_folder(folder / STATE_PATH) is not None


def _refuse_wide(folder: Path, remedy: str) -> None:
    """Refuse a folder that contains far more than one project.

    Args:
        folder: The root that would be used.
        remedy: What to do instead, or how to use it on purpose.

    Raises:
        InvalidArgumentError: It is the home folder, contains it, or is the root of a file system.
    """
    place, home = (Path(os.path.realpath(each)) for each in (folder, home_directory()))
    if place == place.parent:
        what = "is the whole file system"
    elif place in (home, *home.parents):
        what = "is your home folder" if place == home else "contains your home folder"
    else:
        return
    raise InvalidArgumentError(f"{str(folder)!r} {what}, which is rarely meant to be a root", suggested_action=remedy)


def refuse_file(what: str, place: Path) -> None:
    """Check that an existing path is a folder.

    Raises:
        InvalidArgumentError: It is not a folder.
    """
    if os.path.lexists(place) and not place.is_dir():
        raise InvalidArgumentError(f"The {what} is not a folder: {str(place)!r}", suggested_action="Name a folder.")
