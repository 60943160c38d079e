"""The private directory of a local store, and the places and names of temporary files in and outside of it.

A name identifies the process that made a file, and so whether the file is still needed. A file in a target's own folder
cannot have such a name, and nobody scans the tree for it: before the first one, the folder is noted in the private directory.
"""

from __future__ import annotations

import errno
import hashlib
import itertools
import os
import re
import secrets
import stat
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final

from msgspec import Struct, structs

from filetools.errors import (
    FileToolsError,
    InvalidArgumentError,
    NotRegularFileError,
    PathIsDirectoryError,
    StateDamagedError,
    SymlinkNotAllowedError,
)
from filetools.models.words import STATE_DIRECTORY, EntryType
from filetools.paths.names import is_state_name
from filetools.paths.resolver import FOLDER_FLAGS, NEW_FILE_FLAGS, READ_FLAGS
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.processes import is_alive, own_mark
from filetools.stores.renaming import can_rename_between
from filetools.stores.store import Store
from filetools.stores.system import Opened

FOLDERS: Final = ("tmp", "trash", "displaced", "beside")
ORPHAN_AGE_SECONDS: Final = 3600.0
"""Age from which a temporary file counts as left behind if its process cannot be looked up."""
FOREIGN_NAME: Final = re.compile(r"\.ft-[0-9a-f]{16}")
"""A temporary file that had to be made in the folder of its target, or trash that could not be moved away from there."""
UNFINISHED: Final = ".part"
"""End of the name of a temporary file that was not completely written, so that it has no bytes of others."""
_OWNED_NAME: Final = re.compile(r"(\d+)-(\d+-[0-9a-f]+-[0-9a-f]+)-([0-9a-f]{8})[0-9a-f]{8}(?:\.part)?")
_open_marks: Final[set[str]] = set()


class PrivateDirectory:
    """Holds the descriptors of the private directory and its folders while the store is open. Thread-safe.

    Also makes the names of the store's files; these files count as left behind once it is closed or its process has ended.
    """

    __slots__ = ("_counter", "_mark", "_noted", "folders")

    def __init__(self, workspace: Workspace, directory: Path) -> None:
        """Open the directory and its folders; create missing ones.

        Args:
            workspace: The store's root; a directory inside it is opened relative to the root's descriptor.
            directory: Where it is; its parent must exist.

        Raises:
            StateDamagedError: One of the folders is a link or a file.
            FileToolsError: It cannot be made.
        """
        self._counter = itertools.count()
        self._mark = secrets.token_hex(4)
        _open_marks.add(self._mark)
        self.folders: dict[str, nullcontext[int]] = {}
        """Gives the descriptor of each folder to a `with` block; -1 once they are closed. "" is the directory itself."""
        self._noted: set[str] = set()
        try:
            top = _open_top(workspace, directory)
            self.folders[""] = nullcontext(top)
            _seal(top)
            for name in FOLDERS:
                self.folders[name] = nullcontext(_open_folder(name, top))
            with suppress(FileExistsError):
                _create(".gitignore", b"*\n", top)
        except OSError as exc:
            self.close()
            raise _explained(workspace, directory, exc) from exc

    def folder(self, name: str) -> int:
        """Return the descriptor of one of the folders; -1 once they are closed."""
        return self.folders[name].enter_result

    def close(self) -> None:
        """Close the descriptors, and give up all files with its names; may be called twice."""
        _open_marks.discard(self._mark)
        for folder in self.folders.values():
            descriptor, folder.enter_result = folder.enter_result, -1
            if descriptor >= 0:
                os.close(descriptor)

    def check_present(self) -> None:
        """Raise StateDamagedError if the directory was removed since it was opened."""
        with suppress(OSError):  # some drivers refuse fstat() of a removed folder
            if all(os.fstat(folder.enter_result).st_nlink for folder in self.folders.values()):
                return
        raise StateDamagedError("its folders were removed while the workspace was open")

    def new_name(self) -> str:
        """Return a name for `.filetools/tmp` that nothing else has; also valid in a forked child."""
        process = os.getpid()
        return f"{process}-{own_mark(process)}-{self._mark}{next(self._counter) & 0xFFFFFFFF:08x}"

    def new_foreign_name(self, folder: str) -> str:
        """Return a name `.ft-<16 hex>` for a temporary file in a folder of the tree, once that folder is noted.

        The name begins with the mark that is in the note's name. The note stays until this store is closed and a sweep finds
        nothing in the folder.

        Raises:
            OSError: The note cannot be written, so the file must not be made.
        """
        if folder not in self._noted:  # two threads may make two notes, which does no harm
            _create(self.new_name(), os.fsencode(folder), self.folder("beside"))
            self._noted.add(folder)
        return f".ft-{self.new_name()[-16:]}"

    def notes_of_dead_owners(self) -> list[tuple[str, WorkspacePath, str]]:
        """Return (name of the note, folder, start of the names of the files in it) for owners that no longer exist."""
        beside, found = self.folder("beside"), []
        for name in os.listdir(beside):
            with suppress(FileNotFoundError):
                match = _OWNED_NAME.fullmatch(name)
                if match and is_left_behind(name, os.stat(name, dir_fd=beside, follow_symlinks=False).st_ctime_ns):
                    with Opened(os.open, name, READ_FLAGS, dir_fd=beside) as descriptor:
                        folder = WorkspacePath(os.fsdecode(os.read(descriptor, 8192)))
                    found.append((name, folder, f".ft-{match[3]}"))
        return found

    def drop_note(self, name: str) -> None:
        """Remove a note whose folder has no temporary file left."""
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.folder("beside"))


def _create(name: str, content: bytes, folder: int) -> None:
    with Opened(os.open, name, NEW_FILE_FLAGS, 0o600, dir_fd=folder) as descriptor:
        os.write(descriptor, content)


def _open_top(workspace: Workspace, directory: Path) -> int:
    if directory.parent == workspace.root:
        return _open_folder(directory.name, workspace.root_descriptor)
    with suppress(FileExistsError):
        directory.mkdir(mode=0o700)
    return os.open(directory, FOLDER_FLAGS)


def _open_folder(name: str, parent: int) -> int:
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=parent)
    return os.open(name, FOLDER_FLAGS, dir_fd=parent)


def _seal(descriptor: int) -> None:
    """Deny access to other users, even if the directory was made by hand or inherits an access list."""
    with suppress(PermissionError):
        if os.fstat(descriptor).st_mode & 0o077:
            os.fchmod(descriptor, 0o700)
    if hasattr(os, "removexattr"):
        with suppress(OSError):
            os.removexattr(descriptor, "system.posix_acl_default")


def _explained(workspace: Workspace, directory: Path, error: OSError) -> Exception:
    if isinstance(error, NotADirectoryError) or error.errno == errno.ELOOP:
        return StateDamagedError("a private folder was replaced by a link or a file")
    return workspace.explain(workspace.resolve("", allow_root=True).child(directory.name), error)


def private_name(name: str) -> str:
    """Return `name` if it is a single name, fit for the trash or `displaced`.

    Raises:
        InvalidArgumentError: It is empty, a path, or would leave the folder.
    """
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise InvalidArgumentError(f"Not a name for a private file: {name!r}")
    return name


def is_ours(name: str) -> bool:
    """True if a name is a state directory, in any spelling that cannot be addressed, or a temporary file."""
    # Most names are settled by the first test; folding each would double the cost of a scan.
    if name[0] != "." and name.isascii() and "~" not in name:
        return False
    return is_state_name(name) or FOREIGN_NAME.fullmatch(name) is not None


def state_below(store: Store, path: WorkspacePath) -> WorkspacePath | None:
    """Return some state directory in a folder, or None; folders that vanish or cannot be read count as empty."""
    pending = [path]
    while pending:
        folder = pending.pop()
        with suppress(FileToolsError):
            found = store.stat(folder.child(STATE_DIRECTORY))
            if found is not None and found.type == "directory":  # a link is not a state
                return folder.child(STATE_DIRECTORY)
            pending += [folder.child(entry.name) for entry in store.scan(folder) if entry.type == "directory"]
    return None


def refuse_other_kinds(kind: EntryType | None, path: WorkspacePath) -> None:
    """Raise unless it is a regular file, or nothing.

    Raises:
        PathIsDirectoryError, SymlinkNotAllowedError, NotRegularFileError
    """
    if kind == "directory":
        raise PathIsDirectoryError(path)
    if kind == "symlink":
        raise SymlinkNotAllowedError(path, path)
    if kind == "other":
        raise NotRegularFileError(path)


def foreign_name_for(purpose: str) -> str:
    """Return the name `.ft-<16 hex>` that belongs to a purpose, the same in each call."""
    return f".ft-{hashlib.blake2b(os.fsencode(purpose), digest_size=8).hexdigest()}"


def is_left_behind(name: str, changed_ns: int) -> bool:
    """True if the process that made a temporary file has ended, or its store was closed.

    Args:
        name: A name from `.filetools/tmp`.
        changed_ns: When its inode last changed, renames included, for files whose maker cannot be looked up.
    """
    match = _OWNED_NAME.fullmatch(name)
    # A process whose start time is unknown is not looked up.
    alive = is_alive(int(match[1]), match[2]) if match and not match[2].startswith("0-") else None
    if match is None or alive is None:
        return time.time() - changed_ns / 1e9 > ORPHAN_AGE_SECONDS
    process = int(match[1])
    if alive and process == os.getpid():
        return match[3] not in _open_marks
    return not alive


class HiddenPlace(Struct, frozen=True):
    """A name in a directory, accessed by the directory's descriptor; it need not exist."""

    name: str
    label: str
    """Its path relative to the store, "/"-separated."""
    folder: AbstractContextManager[int]
    """Opens the directory for a `with` block, each time anew."""
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
        return self.hidden("tmp", self.private.new_name())

    def hidden(self, folder: str, name: str) -> HiddenPlace:
        """Return a place in a folder of the private directory: "displaced" for files that may still be written, or "trash"."""
        private = self.private
        return HiddenPlace(name, f"{STATE_DIRECTORY}/{folder}/{name}", private.folders[folder], private.new_name)

    def live(self, path: WorkspacePath) -> HiddenPlace:
        """Return the visible place at `path`."""
        folder = Opened(self.workspace.open_parent, path)
        return HiddenPlace(path.name, path, folder, partial(self.private.new_foreign_name, path.parent))

    def beside(self, path: WorkspacePath, name: str | None = None) -> HiddenPlace:
        """Return a place in the folder of `path`, by default a free one, for what cannot be renamed out of that folder."""
        return self.live(path.parent.child(name or self.private.new_foreign_name(path.parent)))

    def is_near(self, parent: int) -> bool:
        """True if things can be renamed between the private directory and a folder of the tree, given by its descriptor.

        Raises:
            OSError: The folder is read-only.
        """
        return can_rename_between(self.private.folder("tmp"), parent)

    def away(self, place: HiddenPlace, path: WorkspacePath, parent: int, otherwise: str | None = None) -> HiddenPlace:
        """Return a private place if it is near, else one as far up as possible, so that the folder itself can be removed, too.

        Args:
            place: The private place wanted.
            path: What is moved there.
            parent: Descriptor of its folder.
            otherwise: Name for the other place; by default a free one.

        Raises:
            OSError: The folder is read-only.
        """
        return place if self.is_near(parent) else self.beside(self._outermost(path, parent), otherwise)

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


class Explained:
    """Translates a system error inside its `with` block into the typed error of the path concerned.

    Args:
        workspace: The root.
        path: The path.
        opening: Opens a descriptor for the block, given the path, such as `Workspace.open_parent`; None if none is needed.
    """

    __slots__ = ("_descriptor", "_opening", "_path", "_workspace")

    def __init__(
        self, workspace: Workspace, path: WorkspacePath, opening: Callable[[WorkspacePath], int] | None = None
    ) -> None:
        self._workspace = workspace
        self._path = path
        self._opening = opening
        self._descriptor = -1

    def __enter__(self) -> int:
        """Begin the block; returns the descriptor, or -1."""
        if self._opening is not None:
            self._descriptor = self._opening(self._path)
        return self._descriptor

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the descriptor, and raise the typed error if the block failed with a system error."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        if isinstance(error, OSError) and not isinstance(error, FileToolsError):
            raise self._workspace.explain(self._path, error) from error
