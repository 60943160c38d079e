"""Paths as clients of the official file server write them: absolute, or relative to the first root, or with `~`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filetools.errors import FileToolsError, SymlinkEscapeError
from filetools.tools.roots import Place, Root
from filetools.tools.tool import ToolContext


async def place_of(context: ToolContext, raw_path: str) -> Place:
    """Return what a path names.

    Raises:
        AbsolutePathError: It lies in none of the roots.
        SymlinkEscapeError: A link leads out of the part of a workspace that is served.
    """
    place = context.roots.locate(_without_tilde(raw_path))
    if place.root.base and place.files.settings.follow_symlinks:
        with told_as(raw_path):
            await real_path(place.root, place.path)
    return place


async def real_path(root: Root, path: str) -> str:
    """Return where a path of a root's workspace leads.

    Raises:
        SymlinkEscapeError: A link leads out of the root, which may be a part of the workspace.
    """
    real = await root.files.real_path(path)
    if not root.holds(real):
        raise SymlinkEscapeError(path, path)
    return real


@contextmanager
def told_as(raw_path: str) -> Iterator[None]:
    """Have errors tell the path that the client gave, which says of which root it is."""
    try:
        yield
    except FileToolsError as error:
        error.path = raw_path
        raise


def _without_tilde(raw_path: str) -> str:
    is_home = raw_path == "~" or raw_path.startswith("~/")
    return Path.home().as_posix() + raw_path[1:] if is_home else raw_path
