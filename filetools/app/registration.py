"""Registers a server among the instances of the workspaces it serves, in the background, until it ends."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final

from filetools.errors import FileToolsError, InvalidArgumentError
from filetools.facade.facade import FileToolsFacade
from filetools.project.registry import Registry

NOTED_SECONDS: Final = 2.0
"""Interval at which activity is recorded while calls happen."""
FIRST_SECONDS: Final = 0.2
"""Delay before a server is registered: the modules this needs are loaded after the first responses are sent."""
STATUS_TOOL: Final = "get_instance_status"
_log = logging.getLogger(__name__)


class Registration:
    """Records which server runs and that it is called; used as `async with registration`. Belongs to one event loop.

    Calls never wait for it: a separate task writes to the registry, without syncing, and only while calls happen.
    Failed writes are logged and tried again with the next call.

    Args:
        workspaces: Returns the open workspaces.
        name: Name of the server or of its client, if already known.
    """

    def __init__(self, workspaces: Callable[[], Sequence[FileToolsFacade]], name: str | None = None) -> None:
        self._workspaces = workspaces
        self.name = name
        self._is_called = False
        self._has_news = asyncio.Event()
        self._ids: dict[FileToolsFacade, str] = {}
        self._task: asyncio.Task[None] | None = None

    def note_name(self, name: str) -> None:
        """Record the client's name, unless a name is known already."""
        if self.name is None:
            self.name = name
            self._has_news.set()

    def note_call(self, tool: str | None = None) -> None:
        """Record that a call begins. Status queries do not count: a server that receives only those is idle."""
        if tool != STATUS_TOOL:
            self._is_called = True
            self._has_news.set()

    async def _note(self) -> None:
        await self._has_news.wait()
        await asyncio.sleep(FIRST_SECONDS)
        while True:
            self._has_news.clear()
            for files in self._workspaces():
                await self._put(files, partial(self._noted, files, self._is_called))
            await asyncio.sleep(NOTED_SECONDS)
            await self._has_news.wait()

    async def _put(self, files: FileToolsFacade, work: Callable[[Registry], None]) -> None:
        try:
            await files.projects.run(work)
        except FileToolsError as error:
            _log.warning("this server is not recorded among the instances: %s", error)

    def _noted(self, files: FileToolsFacade, is_called: bool, registry: Registry) -> None:
        """Runs in a worker thread."""
        if files not in self._ids:
            self._ids[files] = registry.register_instance(self.name or "mcp", _folder(files), pid=os.getpid())
        if is_called:
            try:
                registry.touch_instance(self._ids[files], name=self.name)
            except InvalidArgumentError:  # after a day without a call, another container considered this server dead
                del self._ids[files]
                raise

    async def __aenter__(self) -> Registration:
        if self.name is not None:
            self._has_news.set()
        self._task = asyncio.create_task(self._note())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        for files, instance in self._ids.items():
            await self._put(files, partial(Registry.close_instance, instance_id=instance))


def _folder(files: FileToolsFacade) -> str:
    """Return the working folder of the process if it lies in the root, else the root: clients start servers anywhere."""
    root = files.root_paths[-1]
    try:
        place = Path.cwd()
    except OSError:  # it was deleted
        return root
    return str(place) if place.is_relative_to(root) else root
