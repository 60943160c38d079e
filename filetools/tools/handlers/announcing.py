"""Reports to an agent, once, the instruction files in the folders it looks into."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from filetools.errors import FileToolsError
from filetools.facade.facade import FileToolsFacade
from filetools.tools.arguments import Parameters
from filetools.tools.roots import Roots, ServedPath
from filetools.tools.tool import AnyTool

MOST_FOLDERS: Final = 10_000
"""Maximum number of folders remembered; beyond it the oldest are forgotten and may be reported again."""


class Announcer:
    """Remembers which folders' instructions have been reported to one caller.

    Only folders below the root are considered: the caller's program handles the root's own instructions.

    Args:
        files: The workspace.
        served: The folders served by absolute paths; None for the workspace alone.
    """

    def __init__(self, files: FileToolsFacade, served: Roots | None) -> None:
        self._roots = Roots.of(files) if served is None else served
        self._is_absolute = served is not None
        self._looked: dict[str, None] = {}

    async def news(self, tool: AnyTool, parameters: Parameters) -> dict[str, Any]:
        """Return `{"instructions": [path]}` for the envelope of a successful call, or nothing.

        Each folder is examined once, together with its parents, even if it has no instructions: later calls in it make no
        system calls.
        """
        announced: dict[str, None] = {}
        for place in self._places(tool, parameters):
            folders = self._fresh(place, itself=tool.looks_at == "folder")
            if not folders:
                continue
            try:
                found = await place.files.projects.instructions_in(folders)
            except FileToolsError:  # the call itself has succeeded, and this is only an addition
                continue
            shown = place.root.absolute if self._is_absolute else str
            announced |= {shown(path): None for path in found if path != place.path and _is_nested(place, path)}
        return {"instructions": [*announced]} if announced else {}

    def _places(self, tool: AnyTool, parameters: Parameters) -> Iterator[ServedPath]:
        """Yield the paths that the call has read, from its parameters only."""
        if tool.looks_at is None:
            return
        about = parameters.about()
        for raw in getattr(parameters, "paths", ()) if about is None else (about,):
            try:
                yield self._roots.locate(raw)
            except FileToolsError:
                if not self._is_absolute:  # then a leading slash means the root
                    yield self._roots.locate(raw.lstrip("/\\"))

    def _fresh(self, place: ServedPath, *, itself: bool) -> list[str]:
        """Return the folders below the root that contain a path and are new, outermost first, and mark them as seen."""
        parts = place.path.split("/")
        first = place.root.base.count("/") + 1 if place.root.base else 0
        folders = ["/".join(parts[:end]) for end in range(first + 1, len(parts) + itself)]
        # The common case: a folder that was seen implies that its parents were seen, too.
        if not folders or place.root.absolute(folders[-1]) in self._looked or ".." in parts or not place.path:
            return []
        fresh = [each for each in folders if place.root.absolute(each) not in self._looked]
        self._looked |= {place.root.absolute(each): None for each in fresh}
        while len(self._looked) > MOST_FOLDERS:
            del self._looked[next(iter(self._looked))]
        # The contents of a folder of this name belong to its parent.
        return [each for each in fresh if each.rpartition("/")[2] != ".claude"]


def _is_nested(place: ServedPath, path: str) -> bool:
    """Return True if a file, perhaps reached by a link, lies in a folder below the served root."""
    return place.root.holds(path) and "/" in path.removeprefix(place.root.base).strip("/")
