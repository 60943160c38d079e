"""The private directory of a local store: `.filetools` with its folders for temporary, trashed and waiting files."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from filetools.errors import (
    InvalidArgumentError,
    NotRegularFileError,
    PathIsDirectoryError,
    StateDamagedError,
    SymlinkNotAllowedError,
)
from filetools.models.words import EntryType
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath

_FOLDER_FLAGS: Final[int] = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


class PrivateDirectory:
    """Holds the descriptors of the private directory and its folders for as long as the store is open."""

    __slots__ = ("_top", "beside", "limbo", "tmp", "trash")

    def __init__(self, workspace: Workspace, directory: Path) -> None:
        """Open the directory, making what is missing.

        Args:
            workspace: The store's root; a directory inside it is opened relative to the root's descriptor.
            directory: Where it is; its parent must exist.

        Raises:
            StateDamagedError: A link or a file stands in the place of one of the folders.
            FileToolsError: It cannot be made.
        """
        self._top = self.tmp = self.trash = self.limbo = self.beside = -1
        try:
            self._top = _open_top(workspace, directory)
            _seal(self._top)
            self.tmp = _open_folder("tmp", self._top)
            self.trash = _open_folder("trash", self._top)
            self.limbo = _open_folder("limbo", self._top)
            self.beside = _open_folder("beside", self._top)
            self._write_ignore_rule()
        except OSError as exc:
            self.close()
            raise _explained(workspace, directory, exc) from exc

    @property
    def is_open(self) -> bool:
        """Whether it was not closed yet."""
        return self.tmp >= 0

    def close(self) -> None:
        """Release the descriptors; may be called twice."""
        held = (self._top, self.tmp, self.trash, self.limbo, self.beside)
        # An invalid number makes a late caller fail; a reused one would let it act in somebody else's directory.
        self._top = self.tmp = self.trash = self.limbo = self.beside = -1
        for descriptor in held:
            if descriptor >= 0:
                os.close(descriptor)

    def check_present(self) -> None:
        """Raise StateDamagedError if somebody has removed the directory since it was opened."""
        if any(os.fstat(folder).st_nlink == 0 for folder in (self._top, self.tmp, self.trash, self.limbo, self.beside)):
            raise StateDamagedError("its folders were removed while the workspace was open")

    def _write_ignore_rule(self) -> None:
        with suppress(FileExistsError):
            descriptor = os.open(".gitignore", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600, dir_fd=self._top)
            try:
                os.write(descriptor, b"*\n")
            finally:
                os.close(descriptor)


def _open_top(workspace: Workspace, directory: Path) -> int:
    if directory.parent == workspace.root:
        return _open_folder(directory.name, workspace.root_descriptor)
    with suppress(FileExistsError):
        directory.mkdir(mode=0o700)
    return os.open(directory, _FOLDER_FLAGS)


def _open_folder(name: str, parent: int) -> int:
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=parent)
    return os.open(name, _FOLDER_FLAGS, dir_fd=parent)


def _seal(descriptor: int) -> None:
    """Keep others out, also where the directory was made by hand or its parent hands down an access list."""
    with suppress(PermissionError):
        if os.fstat(descriptor).st_mode & 0o077:
            os.fchmod(descriptor, 0o700)
    if hasattr(os, "removexattr"):
        with suppress(OSError):
            os.removexattr(descriptor, "system.posix_acl_default")


def _explained(workspace: Workspace, directory: Path, error: OSError) -> Exception:
    if isinstance(error, NotADirectoryError) or error.errno == errno.ELOOP:
        return StateDamagedError("a link or a file stands in the place of a private folder")
    return workspace.explain(workspace.resolve("", allow_root=True).child(directory.name), error)


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
