"""pydantic-ai: a workspace whose files are ours. It has files and real paths, and runs no commands."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from filetools.adapters.answering import telling
from filetools.adapters.whole_files import WholeFiles
from filetools.distribution import require_extra
from filetools.errors import AbsolutePathError, FileToolsError, WorkspaceGoneError
from filetools.facade import FileToolsFacade

require_extra("pydantic-ai", __name__, "pydantic_ai")

from pydantic_ai.workspaces import FileEntry, WorkspaceError, WorkspaceRef, WorkspaceUnavailableError

_told = telling(
    "read_file write_file edit_file list_files=list_directory search_files=find_files grep_files=search_files"
)


class FileToolsWorkspace:
    """A `WorkspaceBackend` for one agent; lives as long as the opened workspace.

    Args:
        files: The agent's own facade: `files.for_actor(…)`.
    """

    def __init__(self, files: FileToolsFacade) -> None:
        self._files = files
        self._whole = WholeFiles(files)
        self._root = files.root_paths[-1]
        self._below = f"{self._root.rstrip('/')}/"

    @property
    def ref(self) -> WorkspaceRef:
        """Which environment this is."""
        return WorkspaceRef(provider="filetools", id=self._root)

    async def working_dir(self) -> str:
        """Return the root, its links resolved."""
        return self._root

    async def read_bytes(self, path: str) -> bytes:
        """Return a file's bytes, or those of the text that an editor has not saved yet."""
        with _in_their_words:
            return await self._whole.read(self._inside(path))

    async def write_bytes(self, path: str, data: bytes) -> None:
        """Write a whole file, merged with what others wrote since it was read."""
        with _in_their_words:
            await self._whole.write(self._inside(path), data)

    async def stat(self, path: str) -> FileEntry:
        """Return what is known of a file or folder."""
        with _in_their_words:
            found = await self._files.file_info(await self._files.real_path(self._inside(path)))
        return _entry(path, found.type, found.size)

    async def list_dir(self, path: str) -> Sequence[FileEntry]:
        """Return what is in a folder."""
        with _in_their_words:
            entries = await self._whole.entries(self._inside(path))
        return [_entry(posixpath.join(path, each.name), each.type, each.size) for each in entries]

    async def make_dir(self, path: str) -> None:
        """Make a folder and its missing parents."""
        with _in_their_words:
            await self._files.create_directory(self._inside(path))

    async def remove(self, path: str) -> None:
        """Delete a file, or a folder with all that is in it."""
        with _in_their_words:
            await self._whole.remove(self._inside(path))

    async def exists(self, path: str) -> bool:
        """Whether anything stands at a path; nothing outside of the root does."""
        with _in_their_words:
            return self._holds(path) and await self._files.exists(self._inside(path))

    async def realpath(self, path: str) -> str:
        """Return where a path leads, as far as links are followed."""
        normal = posixpath.normpath(path)
        if not self._holds(normal):
            return normal
        with _in_their_words:
            return posixpath.join(self._root, await self._files.real_path(self._inside(normal))).rstrip("/")

    def _holds(self, path: str) -> bool:
        return path.startswith(self._below) or path == self._root

    def _inside(self, path: str) -> str:
        if not self._holds(path):
            raise AbsolutePathError(path)
        return path[len(self._below) :]


def _entry(path: str, kind: str, size: int | None) -> FileEntry:
    return FileEntry(name=posixpath.basename(path), path=path, is_dir=kind == "directory", size=size)


class _InTheirWords:
    """Raises our errors as the interface has them: builtin ones where the path or an argument is wrong, else its own."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, WorkspaceGoneError):
            raise WorkspaceUnavailableError(_told(error)) from None
        if isinstance(error, FileToolsError):
            kinds = (each for each in type(error).__mro__ if each.__module__ == "builtins")
            theirs = next((each for each in kinds if issubclass(each, OSError | ValueError)), WorkspaceError)
            raise theirs(_told(error)) from None


_in_their_words = _InTheirWords()
