"""The shared parts of a local store: the root, the private directory, and the places of hidden files."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from types import TracebackType

from msgspec import Struct, structs

from filetools.errors import FileToolsError
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.settings import STATE_DIRECTORY
from filetools.stores.private import PrivateDirectory
from filetools.stores.renaming import can_rename_between
from filetools.stores.system import Opened


class HiddenPlace(Struct, frozen=True):
    """A name in a directory, accessed by the directory's descriptor; it need not exist."""

    name: str
    label: str
    """Its path relative to the store, "/"-separated."""
    opened: Callable[[], AbstractContextManager[int]]
    """Opens the directory for a `with` block."""
    spare: Callable[[], str]
    """Returns a free name in the same directory."""

    def named(self, name: str) -> HiddenPlace:
        """Return the place of another name in the same directory."""
        return structs.replace(self, name=name, label=self.label[: -len(self.name)] + name)


class Disk(Struct, frozen=True):
    """The part of a local disk that reading needs."""

    workspace: Workspace
    """The root that is read."""


class LocalDisk(Disk, frozen=True):
    """The disk of one local store; usable while the store is open."""

    private: PrivateDirectory

    def temporary(self) -> HiddenPlace:
        """Return a free place in `.filetools/tmp`."""
        return self.hidden("tmp", self.private.owner.new_name())

    def hidden(self, folder: str, name: str) -> HiddenPlace:
        """Return a place in a folder of the private directory: "displaced" for files that may still be written, or "trash"."""
        opened = partial(self.private.opened, folder)
        return HiddenPlace(name, f"{STATE_DIRECTORY}/{folder}/{name}", opened, self.private.owner.new_name)

    def live(self, path: WorkspacePath) -> HiddenPlace:
        """Return the visible place at `path`."""
        opened = partial(Opened, self.workspace.open_parent, path)
        return HiddenPlace(path.name, path, opened, partial(self.private.new_foreign_name, path.parent))

    def beside(self, path: WorkspacePath, name: str | None = None) -> HiddenPlace:
        """Return a place in the folder of `path`, by default a free one, for what cannot be renamed out of that folder."""
        return self.live(path.parent.child(name or self.private.new_foreign_name(path.parent)))

    def reachable(self, place: HiddenPlace, path: WorkspacePath, parent: int) -> HiddenPlace:
        """Return a private place if things can be renamed between it and the folder of `path`, else one beside.

        Args:
            place: The private place wanted.
            path: What is moved there or from there.
            parent: Descriptor of its folder.

        Raises:
            OSError: The folder is read-only.
        """
        return place if self._is_near(place, parent) else self.beside(path)

    def away(self, place: HiddenPlace, path: WorkspacePath, parent: int, otherwise: str | None = None) -> HiddenPlace:
        """As `reachable`, for removals: otherwise a place as far up as possible, so that the folder itself can be removed, too.

        Args:
            place: The private place wanted.
            path: What is moved there.
            parent: Descriptor of its folder.
            otherwise: Name for the other place; by default a free one.

        Raises:
            OSError: The folder is read-only.
        """
        return place if self._is_near(place, parent) else self.beside(self._outermost(path, parent), otherwise)

    def _is_near(self, place: HiddenPlace, parent: int) -> bool:
        with place.opened() as folder:
            return can_rename_between(folder, parent)

    def _outermost(self, path: WorkspacePath, parent: int) -> WorkspacePath:
        """Return the name of a path in the outermost folder above it to which it can be renamed."""
        owner = os.stat(path.name, dir_fd=parent, follow_symlinks=False).st_uid
        for folder in (ROOT, *path.folders[:-1]):
            with suppress(OSError, FileToolsError), Opened(self.workspace.open_directory, folder) as outer:
                if can_rename_between(outer, parent) and _allows_removal(outer, owner):
                    return folder.child(path.name)
        return path


def _allows_removal(folder: int, owner: int) -> bool:
    """True if an entry of this owner can be moved into a folder and out again; a sticky folder may refuse that."""
    found = os.fstat(folder)
    is_free = not found.st_mode & stat.S_ISVTX or os.geteuid() in (0, found.st_uid, owner)
    return is_free and os.access(".", os.W_OK | os.X_OK, dir_fd=folder)


def parent_of_names(workspace: Workspace, path: WorkspacePath) -> AbstractContextManager[int]:
    """Open the folder that holds `path`, for calls that take it as `dir_fd` only.

    For the root, its own descriptor is enough: in a root that was deleted such a call fails with ENOENT, which
    `Explained` distinguishes from a missing file.
    """
    if "/" in path or workspace.root_descriptor < 0:
        return Opened(workspace.open_parent, path)
    return nullcontext(workspace.root_descriptor)


class Explained:
    """Translates a system error inside its `with` block into the typed error of the path concerned."""

    __slots__ = ("_path", "_workspace")

    def __init__(self, workspace: Workspace, path: WorkspacePath) -> None:
        self._workspace = workspace
        self._path = path

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Raise the typed error if the block failed with a system error."""
        if isinstance(error, OSError) and not isinstance(error, FileToolsError):
            raise self._workspace.explain(self._path, error) from error
