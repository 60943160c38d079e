"""Where a command works: the root, and what the workspace calls the paths given on the command line."""

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


class Workplace(Struct, frozen=True, kw_only=True):
    """The root and the working folder of one command."""

    root: Path
    """Absolute, as it was given or found."""
    folder: Path
    """The working folder, links resolved."""
    is_named: bool = False
    """Whether somebody named the root."""

    def path(self, raw_path: str) -> str:
        """Return the path relative to the root of one that is relative to the working folder, as git does it.

        Outside the root there is no working folder to be relative to; there paths are relative to the root.

        Raises:
            PathTraversalError, AbsolutePathError: It leads out of the root.
        """
        if not self.is_inside and not os.path.isabs(raw_path):
            return raw_path
        # By name only, as git does it: a link on the way is for the workspace's own rules to judge.
        place = Path(os.path.normpath(os.path.join(self.folder, raw_path)))
        for root in (self._real_root, self.root):
            if place.is_relative_to(root):
                inside = place.relative_to(root).as_posix()
                return "" if inside == "." else inside
        raise AbsolutePathError(raw_path) if os.path.isabs(raw_path) else PathTraversalError(raw_path)

    def typed(self, path: str) -> str:
        """Return how a path of the workspace is typed on the command line: what `path` makes that path of."""
        return os.path.relpath(self._real_root / path, self.folder) if self.is_inside else path

    @property
    def is_inside(self) -> bool:
        """Whether the working folder lies in the root."""
        return self.folder.is_relative_to(self._real_root)

    @property
    def has_state(self) -> bool:
        """Whether the root has ever been opened."""
        return (self.root / STATE_DIRECTORY).is_dir()

    def refuse_accident(self) -> None:
        """Refuse to change what nobody can have meant by standing in it.

        Raises:
            InvalidArgumentError: Nobody named the root, and it is the home folder, or holds it.
        """
        if not self.is_named:
            _refuse_wide(
                self.root, f"Go into the folder of a project; or mean it: --root {shlex.quote(str(self.root))}."
            )

    @property
    def _real_root(self) -> Path:
        return Path(os.path.realpath(self.root))


def find_workplace(root: Path | None) -> Workplace:
    """Return the workplace: the root given, else the nearest folder upwards that has a state, else the working folder.

    Upwards ends below the home folder: what lies in that is not all one tree because somebody made it a root once.

    Raises:
        InvalidArgumentError: The root given is no folder.
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
    """Refuse to make a root of what is one only on purpose.

    Raises:
        InvalidArgumentError: It is the home folder, holds it, or lies in another root.
    """
    command = f"filetools init --root {shlex.quote(str(folder))}"
    _refuse_wide(folder, f"Name the folder of a project; or mean it: {command}.")
    real = Path(os.path.realpath(folder))
    outer = root_above(real)
    if outer not in (None, real):
        raise InvalidArgumentError(
            f"{str(folder)!r} lies in the root {str(outer)!r}, which covers it",
            suggested_action=f"Work in that root, or create a separate history: {command}.",
        )


def refuse_relative(names: Sequence[str]) -> None:
    """Refuse the home folder, or what holds it, by a relative path: a client starts a server in whatever folder it is in.

    Raises:
        InvalidArgumentError: One of the folders is.
    """
    for name in names:
        if not os.path.isabs(os.path.expanduser(name)):
            place = Path(os.path.abspath(name))
            _refuse_wide(place, f"Serve the folder of a project; or mean it, by its whole path: {place}.")


def root_above(folder: Path) -> Path | None:
    """Return the nearest folder with a state, from this one upwards and below the home folder; links are resolved."""
    home = _home()
    wide = () if home is None else (home, *home.parents)
    near = takewhile(lambda place: place not in wide and place != place.parent, (folder, *folder.parents))
    return next((place for place in near if _has_usable_state(place)), None)


def _has_usable_state(folder: Path) -> bool:
    """Whether a folder has a state that no other user put there: anybody can make one in a shared folder such as /tmp."""
    state = folder / STATE_DIRECTORY
    if not state.is_dir():
        return False
    return os.name == "nt" or state.lstat().st_uid == os.geteuid() or own_folder(folder / STATE_PATH) is not None


def _refuse_wide(folder: Path, remedy: str) -> None:
    """Refuse a folder that holds far more than one project, if nobody named it.

    Args:
        folder: What would be the root.
        remedy: What to do instead, or how to do it on purpose.

    Raises:
        InvalidArgumentError: It is the home folder, holds it, or is all of a file system.
    """
    place, home = Path(os.path.realpath(folder)), _home()
    if place == place.parent:
        what = "is the whole file system"
    elif home is not None and place in (home, *home.parents):
        what = "is your home folder" if place == home else "holds your home folder"
    else:
        return
    raise InvalidArgumentError(f"{str(folder)!r} {what}, and becomes a root only on purpose", suggested_action=remedy)


def _home() -> Path | None:
    """Return the home folder, links resolved; None if the user has none, as in some containers."""
    try:
        home = Path.home()
    except RuntimeError:
        return None
    return Path(os.path.realpath(home)) if home.is_absolute() else None


def refuse_file(what: str, place: Path) -> None:
    """Refuse what is given for a folder and is none.

    Raises:
        InvalidArgumentError: Something else stands there.
    """
    if os.path.lexists(place) and not place.is_dir():
        raise InvalidArgumentError(f"The {what} is not a folder: {str(place)!r}", suggested_action="Name a folder.")
