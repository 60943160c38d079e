"""Facts about projects, read from folders: the workspace, a registered project, or another allowed folder."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from filetools.errors import AccessDeniedError, InvalidArgumentError
from filetools.events.types import Event
from filetools.facade.calls import ActorCalls
from filetools.project import git
from filetools.project.folder import ProjectFolder, below, folder_path, holder, opened_folder, real_folders
from filetools.project.instructions import instruction_files
from filetools.project.registry import Registry

T = TypeVar("T")


class ProjectCalls(ActorCalls):
    """The project calls of one actor. Blocking work runs in a worker thread."""

    async def run(self, work: Callable[[Registry], T]) -> T:
        """Run `work` on the registry of projects and instances in a worker thread and return its result.

        It checks no permission: it is for people, programs and servers, and models have no tool that changes the registry.
        Its events are published in this process before it returns.

        Raises:
            WorkspaceGoneError: The workspace was closed.
        """
        loop, bus = asyncio.get_running_loop(), self._parts.bus
        registry = self._registry(lambda event: loop.call_soon_threadsafe(bus.publish, event))
        return await self._parts.workers.run(lambda: work(registry))

    async def look(
        self,
        tool: str,
        path: str | None,
        work: Callable[[ProjectFolder], T],
        *,
        project_id: str | None = None,
        top: Callable[[str, str | None], str] | None = None,
        allowed: Sequence[str] = (),
        everywhere: bool = False,
    ) -> T:
        """Run `work` on a folder in a worker thread and return its result. The folder is only read.

        Args:
            tool: The tool whose permission is checked if the folder is inside the workspace.
            path: Relative to the workspace, absolute, `~` or `~/…`.
            work: Reads the folder.
            project_id: A registered project, whose folder is used if there is no path.
            top: Called with the requested folder and the outermost allowed folder around it; returns the folder between them
                to open instead. The path may then be a file or missing: the folder that holds it is used.
            allowed: Folders outside the workspace to allow besides those of the settings and projects.
            everywhere: True to allow any folder, for calls by people.

        Raises:
            AccessDeniedError, DirectoryNotFoundError, PathNotDirectoryError, InvalidArgumentError, ProjectNotFoundError
            ToolBlockedError, ApprovalRequiredError, ApprovalDeniedError
        """
        if path is None and project_id is None:
            raise InvalidArgumentError("Either project_id or path is required")
        further = None if everywhere else (*self._parts.settings.allow_roots, *allowed)
        find = partial(self._found, path, project_id, further, is_nearest=top is not None)
        place, outermost = await self._parts.workers.run(find)
        inside = below(place, self._root)
        await self._authorise(tool, [] if inside is None else [inside], {"path": place}, change=False)
        return await self._parts.workers.run(
            lambda: self._looked(place, place if top is None else top(place, outermost), work)
        )

    async def instructions_in(self, folders: Sequence[str]) -> tuple[str, ...]:
        """Return the real paths of instruction files for agents, such as AGENTS.md, in some folders of the workspace.

        Files that this actor may not read are left out, without asking for approval.
        """

        def work(folder: ProjectFolder) -> tuple[str, ...]:
            reads = folder.reads
            return tuple(path for each in folders for path in instruction_files(reads, reads.resolve(each)))

        return await self._parts.workers.run(lambda: self._looked(self._root, self._root, work))

    def _found(
        self, path: str | None, project_id: str | None, further: Sequence[str] | None, *, is_nearest: bool
    ) -> tuple[str, str | None]:
        """Return the requested folder and the outermost allowed folder around it; None if every folder is allowed."""
        registry = self._registry(lambda _: None)
        meant = registry.project(str(project_id))["path"] if path is None else path
        find = partial(folder_path, meant, base=self._root, is_nearest=is_nearest)
        allowed = None if further is None else [self._root, *real_folders(further)]
        try:
            place = find(allowed=allowed)
        except AccessDeniedError:  # most folders are allowed without reading the registry
            if allowed is None:
                raise
            # Not resolved again: a symbolic link that has replaced a project's folder is not followed.
            allowed += [each["path"] for each in registry.list_projects()]
            place = find(allowed=allowed)
        return place, None if allowed is None else holder(place, allowed)

    def _registry(self, publish: Callable[[Event], object]) -> Registry:
        return Registry(
            self._parts.journal.registry,
            base=self._root,
            clock=time.time,
            publish=publish,
            remote=lambda path: git.git_remote(path),
        )

    def _looked(self, place: str, opened: str, work: Callable[[ProjectFolder], T]) -> T:
        withholds = self._parts.gatekeeper.policy.withholding(self.actor, "read_file")
        root = self._root

        def is_withheld(path: str) -> bool:
            where = below(f"{opened}/{path}", root)
            return where is not None and withholds is not None and withholds(where)

        asked = os.path.relpath(place, opened) if opened != place else ""
        with opened_folder(opened, asked=asked, is_withheld=is_withheld if withholds else None) as folder:
            return work(folder)

    @property
    def _root(self) -> str:
        """The workspace's absolute path, with symbolic links resolved."""
        return self._parts.workspace.spellings[-1]
