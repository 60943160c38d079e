"""Looking into folders for facts about projects: of the workspace, of a registered project, or of another allowed folder."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from filetools.facade.parts import Parts
from filetools.models import Actor
from filetools.project.folder import ProjectFolder, below, folder_path, holder, opened_folder, real_folders

T = TypeVar("T")
Authorise = Callable[..., Awaitable[Any]]


class ProjectCalls:
    """What one actor may know of projects. Lives as long as the workspace; what blocks runs in a worker."""

    def __init__(self, parts: Parts, actor: Actor, authorise: Authorise) -> None:
        self._parts = parts
        self._actor = actor
        self._authorise = authorise

    async def look(
        self,
        tool: str,
        path: str,
        work: Callable[[ProjectFolder], T],
        *,
        top: Callable[[str, str | None], str] | None = None,
        allowed: Sequence[str] = (),
        everywhere: bool = False,
    ) -> T:
        """Return what `work` makes of a folder, in a worker thread; nothing is made in the folder.

        Args:
            tool: The tool that is permitted or not, where the folder lies in the workspace.
            path: Relative to the workspace, absolute, `~` or `~/…`.
            work: Reads the folder.
            top: Given the folder that is meant and the outermost one that can be looked at, says which folder on the way
                between is opened instead; a file, or what is not there yet, then means the folder that holds it.
            allowed: Folders outside the workspace that can be looked at besides those of the settings.
            everywhere: Whether any folder can, for calls of people.

        Raises:
            AccessDeniedError, DirectoryNotFoundError, PathNotDirectoryError, InvalidArgumentError
            ToolBlockedError, ApprovalRequiredError, ApprovalDeniedError
        """
        further = None if everywhere else (*self._parts.settings.allow_roots, *allowed)
        place, outermost = await self._parts.crew.run(partial(self._found, path, further, is_nearest=top is not None))
        inside = below(place, self._root)
        await self._authorise(tool, [] if inside is None else [inside], {"path": place}, change=False)
        return await self._parts.crew.run(
            lambda: self._looked(place, place if top is None else top(place, outermost), work)
        )

    def _found(self, path: str, further: Sequence[str] | None, *, is_nearest: bool) -> tuple[str, str | None]:
        """Return the folder that is meant, and the outermost one around it that can be looked at; None for everywhere."""
        allowed = None if further is None else [self._root, *real_folders(further)]
        place = folder_path(path, base=self._root, allowed=allowed, is_nearest=is_nearest)
        return place, None if allowed is None else holder(place, allowed)

    def _looked(self, place: str, opened: str, work: Callable[[ProjectFolder], T]) -> T:
        policy, root = self._parts.gatekeeper.policy, self._root

        def is_withheld(path: str) -> bool:
            where = below(f"{opened}/{path}", root)
            if where is None:
                return False
            return not policy.check("read_file", where, actor=self._actor, operation="read").can_execute

        asked = os.path.relpath(place, opened) if opened != place else ""
        with opened_folder(opened, asked=asked, is_withheld=is_withheld if policy.rules else None) as folder:
            return work(folder)

    @property
    def _root(self) -> str:
        """The workspace's own absolute path, its links resolved."""
        return self._parts.workspace.spellings[-1]
