"""The local store in every variant, each with a stranger who looks and saves without the store.

`WORLDS` names them all; `make_world` builds one. A world is closed by its maker.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import shutil
import tempfile
from pathlib import Path
from typing import Any, Final

import pytest

from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.local import LocalStore
from filetools.stores.store import Displaced
from tests.support import inside

OTHER_DEVICE: Final = Path("/dev/shm")
WORLDS: Final = ("local", "fallbacks", "no_links", "walk", "elsewhere")


FILE: Final = WorkspacePath("file.txt")
OTHER: Final = WorkspacePath("other.txt")
FOLDER: Final = WorkspacePath("folder")
DEEP: Final = WorkspacePath("folder/deep.txt")
MISSING: Final = WorkspacePath("missing.txt")
BELOW_MISSING: Final = WorkspacePath("missing/file.txt")
BELOW_FILE: Final = WorkspacePath("file.txt/below.txt")


def refuse_calls(*, links: bool = False) -> pytest.MonkeyPatch:
    """Make the system refuse what not all have: `renameat2`, leases and, with `links`, hard links. `undo` ends that."""
    refused = pytest.MonkeyPatch()
    inside.refuse_library_call(refused, "renameat2")
    refused.delattr(fcntl, "F_SETLEASE")
    link = os.link

    def refuse(*arguments: Any, **options: Any) -> None:
        if "src_dir_fd" in options:  # else a test makes the link
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))
        link(*arguments, **options)

    if links:
        refused.setattr(os, "link", refuse)
    return refused


class LocalWorld:
    """A store on a real folder."""

    store: LocalStore

    def __init__(
        self,
        root: Path,
        *,
        refused: pytest.MonkeyPatch | None = None,
        private: Path | None = None,
        walk: bool = False,
    ) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root = root
        self.private = private or root / ".filetools"
        self.workspace = Workspace.open(root, resolver="walk" if walk else "auto")
        self.refused = refused
        self.store = self._open()

    def _open(self) -> LocalStore:
        return LocalStore(self.workspace, private_directory=self.private)

    def save(self, path: str, content: bytes) -> None:
        """Replace or create a file as another program would, by renaming over it; parents are made."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        other = target.with_name(f"stranger-{secrets.token_hex(4)}")
        other.write_bytes(content)
        other.replace(target)

    def make_folder(self, path: str) -> None:
        (self.root / path).mkdir(parents=True)

    def look(self, path: str) -> bytes | None:
        """Return what others see at a path; None if nothing is there."""
        try:
            return (self.root / path).read_bytes()
        except FileNotFoundError:
            return None

    def erase(self, path: str) -> None:
        target = self.root / path
        if target.is_dir():
            shutil.rmtree(target)
        else:
            target.unlink()

    def names(self, path: str = "") -> set[str]:
        """Return the names that others see in a folder, without the state directory."""
        return set(os.listdir(self.root / path)) - {".filetools"}

    def hidden(self) -> set[str]:
        """Return the names in the folder for temporary files, and of temporary files elsewhere."""
        return set(os.listdir(self.private / "tmp")) | {found.name for found in self.root.rglob(".ft-*")}

    def reopen(self) -> LocalStore:
        """Close the store and open another one on the same files, as after a restart."""
        self.store.close()
        self.store = self._open()
        return self.store

    def close(self) -> None:
        self.store.close()
        self.workspace.close()
        if self.refused is not None:
            self.refused.undo()
        if self.private.parent != self.root:
            shutil.rmtree(self.private)


def exchanged(world: LocalWorld, path: WorkspacePath, content: bytes) -> Displaced:
    """Replace a file through the store and return what came out."""
    displaced = world.store.prepare(path, content, new=False).exchange()
    assert displaced is not None
    return displaced


def has_other_device(folder: Path) -> bool:
    """Whether there is a second file system to keep the private directory on."""
    return OTHER_DEVICE.is_dir() and OTHER_DEVICE.stat().st_dev != folder.stat().st_dev


def make_world(kind: str, folder: Path) -> LocalWorld:
    """Return one of `WORLDS`, its files below `folder`; `FILE` holds b"one", `DEEP` b"deep"."""
    world = _make_empty(kind, folder)
    world.save(FILE, b"one")
    world.save(DEEP, b"deep")
    return world


def _make_empty(kind: str, folder: Path) -> LocalWorld:
    root = folder / "root"
    match kind:
        case "local":
            return LocalWorld(root)
        case "fallbacks":
            return LocalWorld(root, refused=refuse_calls())
        case "no_links":
            return LocalWorld(root, refused=refuse_calls(links=True))
        case "walk":
            return LocalWorld(root, walk=True)
        case "elsewhere":
            private = Path(tempfile.mkdtemp(prefix="filetools-", dir=OTHER_DEVICE))
            return LocalWorld(root, private=private)
        case _:
            raise ValueError(kind)
