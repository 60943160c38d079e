"""pydantic-ai: a workspace backend. It has files and real paths, and runs no commands."""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final
from weakref import WeakKeyDictionary

from filetools.adapters.answering import Call, HomeLoop, T, error_formatter
from filetools.adapters.whole_files import WholeFiles
from filetools.distribution import require_extra
from filetools.errors import AbsolutePathError, FileToolsError, WorkspaceGoneError
from filetools.facade.facade import FileToolsFacade

require_extra("pydantic-ai", __name__, "pydantic_ai")

from pydantic_ai.workspaces import FileEntry, WorkspaceError, WorkspaceRef, WorkspaceUnavailableError

_KNOWN: Final[tuple[type[Exception], ...]] = (
    FileExistsError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError, ValueError
)  # fmt: skip
"""Builtin errors that the interface defines; any other would end a run of the harness."""
_error_text = error_formatter(
    "read_file write_file edit_file list_files=list_directory search_files=find_files grep_files=search_files",
    FILE_TOO_LARGE="It can only be read and written as a whole. Continue without it, or ask the user to raise the limit.",
)


class FileToolsWorkspace:
    """A `WorkspaceBackend` for one agent; usable while the workspace is open.

    pydantic-ai runs each edit in one task, so a write is based on what the same task has read.

    Args:
        files: The agent's own facade: `files.for_actor(…)`.
    """

    def __init__(self, files: FileToolsFacade) -> None:
        self._files = files
        self._home = HomeLoop(files)
        self._of_tasks: WeakKeyDictionary[asyncio.Task[Any], WholeFiles] = WeakKeyDictionary()
        self._root = files.root_paths[-1]
        self._below = f"{self._root.rstrip('/')}/"

    @property
    def ref(self) -> WorkspaceRef:
        """Identifies the environment."""
        return WorkspaceRef(provider="filetools", id=self._root)

    async def working_dir(self) -> str:
        """Return the root, its links resolved."""
        return self._root

    async def read_bytes(self, path: str) -> bytes:
        """Return a file's bytes, or those of the text that an editor has not saved yet."""
        return await self._call(self._whole.read, self._inside(path))

    async def write_bytes(self, path: str, data: bytes) -> None:
        """Write a whole file, merged with what others wrote since it was read."""
        await self._call(self._whole.write, self._inside(path), data)

    async def stat(self, path: str) -> FileEntry:
        """Return facts about a file or folder."""
        return await self._call(self._stat, path)

    async def list_dir(self, path: str) -> Sequence[FileEntry]:
        """Return the entries of a folder."""
        entries = await self._call(self._whole.entries, self._inside(path))
        return [await self._listed(posixpath.join(path, each.name), each.type, each.size) for each in entries]

    async def make_dir(self, path: str) -> None:
        """Make a folder and its missing parents."""
        await self._call(self._files.create_directory, self._inside(path))

    async def remove(self, path: str) -> None:
        """Delete a file, or a folder with everything in it."""
        await self._call(self._whole.remove, self._inside(path))

    async def exists(self, path: str) -> bool:
        """Return True if a path exists; always False outside the root."""
        return self._holds(path) and await self._call(self._files.exists, self._inside(path))

    async def realpath(self, path: str) -> str:
        """Resolve the links of a path, if they may be followed; segments after a link are relative to its target."""
        real = "/"
        for name in path.split("/") if "/.." in path else [path]:
            real = posixpath.normpath(posixpath.join(real, name))
            if self._holds(real):
                real = posixpath.join(self._root, await self._call(self._files.real_path, self._inside(real))).rstrip(
                    "/"
                )
        return real

    @property
    def _whole(self) -> WholeFiles:
        task = asyncio.current_task()
        assert task is not None
        return self._of_tasks.get(task) or self._of_tasks.setdefault(task, WholeFiles(self._files))

    async def _call(self, call: Call[..., T], *arguments: Any) -> T:
        """Run a call on its loop, and convert errors into builtin ones that the interface defines, or else its own."""
        try:
            return await self._home.awaited(call, *arguments)
        except WorkspaceGoneError as error:
            raise WorkspaceUnavailableError(_error_text(error)) from None
        except FileToolsError as error:
            raise next((kind for kind in _KNOWN if isinstance(error, kind)), WorkspaceError)(
                _error_text(error)
            ) from None

    async def _stat(self, path: str) -> FileEntry:
        found = await self._files.file_info(await self._files.real_path(self._inside(path)))
        return _entry(path, found.type, found.size)

    async def _listed(self, path: str, kind: str, size: int | None) -> FileEntry:
        """Return an entry of a folder; for a link that may be followed, its target."""
        with suppress(FileToolsError):
            if kind == "symlink":
                return await self._home.awaited(self._stat, path)
        return _entry(path, kind, size)

    def _holds(self, path: str) -> bool:
        return path.startswith(self._below) or path == self._root

    def _inside(self, path: str) -> str:
        if path.startswith(self._below) or self._holds(path):
            return path[len(self._below) :]
        raise ValueError(_error_text(AbsolutePathError(path))) from None


def _entry(path: str, kind: str, size: int | None) -> FileEntry:
    return FileEntry(name=posixpath.basename(path), path=path, is_dir=kind == "directory", size=size)
