"""Telling an agent once of the instruction files that stand in the folders which it looks into."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from filetools.errors import FileToolsError
from filetools.facade.facade import FileToolsFacade
from filetools.tools.arguments import Parameters
from filetools.tools.roots import Roots, ServedPath
from filetools.tools.tool import AnyTool

MOST_FOLDERS: Final = 10_000
"""Folders that are remembered; of more, those looked at first are looked at again."""


class Announcer:
    """The folders that one caller has been told of. Lives as long as its registry of tools.

    Only folders below the root count: the root's own instructions are the business of the caller's program.

    Args:
        files: The workspace.
        served: The folders that the door serves by absolute paths; None for the workspace alone.
    """

    def __init__(self, files: FileToolsFacade, served: Roots | None) -> None:
        self._roots = Roots.of(files) if served is None else served
        self._is_absolute = served is not None
        self._looked: dict[str, None] = {}

    async def news(self, tool: AnyTool, parameters: Parameters) -> dict[str, Any]:
        """Return what the envelope of a successful call tells: `{"instructions": [path]}`, or nothing.

        A folder is looked at once, with those above it, and so is one in which nothing stands: later calls there make no
        system call.
        """
        told: dict[str, None] = {}
        for place in self._places(tool, parameters):
            folders = self._fresh(place, itself=tool.looks_at == "folder")
            if not folders:
                continue
            try:
                found = await place.files.instructions_in(folders)
            except FileToolsError:  # the call itself has succeeded, and this is no part of what was asked
                continue
            shown = place.root.absolute if self._is_absolute else str
            told |= {shown(path): None for path in found if path != place.path and _is_nested(place, path)}
        return {"instructions": [*told]} if told else {}

    def _places(self, tool: AnyTool, parameters: Parameters) -> Iterator[ServedPath]:
        """Yield what the call has read, by names alone."""
        if tool.looks_at is None:
            return
        about = parameters.about()
        for raw in getattr(parameters, "paths", ()) if about is None else (about,):
            try:
                yield self._roots.locate(raw)
            except FileToolsError:
                if not self._is_absolute:  # a path that begins with a slash then means the root
                    yield self._roots.locate(raw.lstrip("/\\"))

    def _fresh(self, place: ServedPath, *, itself: bool) -> list[str]:
        """Return the folders below the root that a place is in, outermost first, which were not looked at; now they are."""
        parts = place.path.split("/")
        first = place.root.base.count("/") + 1 if place.root.base else 0
        folders = ["/".join(parts[:end]) for end in range(first + 1, len(parts) + itself)]
        # Mostly the first question is the last: whoever was told of a folder was told of those above it, too.
        if not folders or place.root.absolute(folders[-1]) in self._looked or ".." in parts or not place.path:
            return []
        fresh = [each for each in folders if place.root.absolute(each) not in self._looked]
        self._looked |= {place.root.absolute(each): None for each in fresh}
        while len(self._looked) > MOST_FOLDERS:
            del self._looked[next(iter(self._looked))]
        # What stands in a folder of this name belongs to the one above.
        return [each for each in fresh if each.rpartition("/")[2] != ".claude"]


def _is_nested(place: ServedPath, path: str) -> bool:
    """Whether a file that a link may have led to lies below the root that is served."""
    return place.root.holds(path) and "/" in path.removeprefix(place.root.base).strip("/")
