"""The workspaces behind one door that serves several folders, opened as they are needed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from filetools.app.folders import Folder, outermost
from filetools.app.opening import Opening
from filetools.errors import FileToolsError
from filetools.facade.facade import FileToolsFacade
from filetools.tools.roots import Root, Roots

logger = logging.getLogger(__name__)

OpenFolder = Callable[[Path], Opening]


class Workspaces:
    """The opened workspaces of one door; used as `async with workspaces`.

    Args:
        opener: Opens the workspace of a folder.
    """

    def __init__(self, opener: OpenFolder) -> None:
        self._opener = opener
        self._open: dict[Path, FileToolsFacade] = {}
        self._stack = AsyncExitStack()
        self._turn = asyncio.Lock()

    def all(self) -> Sequence[FileToolsFacade]:
        """Return those that are open."""
        return list(self._open.values())

    async def roots(self, folders: Sequence[Folder]) -> Roots:
        """Return folders as roots; those that lie in one another, or in what is open, are parts of one workspace.

        A folder that cannot be opened is left out, and the log tells.

        Raises:
            FileToolsError: None of them can be opened.
        """
        # Whoever is cancelled while it waits must not leave a workspace half open.
        return await asyncio.shield(asyncio.create_task(self._roots(folders)))

    async def _roots(self, folders: Sequence[Folder]) -> Roots:
        whole: dict[Path, Root] = {}
        failed: list[FileToolsError] = []
        async with self._turn:
            for folder in outermost(folders):
                try:
                    holder = await self._holder(folder)
                except FileToolsError as error:
                    failed.append(error)
                    logger.warning("%s is not served: %s", folder.given, error.message)
                else:
                    whole[holder] = Root.of(self._open[holder])
        if failed and not whole:
            raise failed[0]
        return Roots(list(whole.values())).narrowed(folder.spellings for folder in folders)

    async def _holder(self, folder: Folder) -> Path:
        """Return the key of the workspace that holds a folder."""
        for real in self._open:
            if folder.real.is_relative_to(real):
                return real
        self._open[folder.real] = await self._stack.enter_async_context(self._opener(folder.given))
        return folder.real

    async def __aenter__(self) -> Workspaces:
        return self

    async def __aexit__(self, *_: object) -> None:
        async with self._turn:
            await self._stack.aclose()
