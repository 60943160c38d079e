"""Where symbolic links lead: shown in errors if inside the root, followed only if the settings say so."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from typing import Final

from filetools.errors import SymlinkEscapeError, SymlinkNotAllowedError
from filetools.paths.resolver import Obstacle

_MOST_LINKS: Final = 40
"""As in the kernel's own resolution; more is a loop."""

Look = Callable[[str], Obstacle | None]


def inside_target(link: str, target: str, roots: Sequence[tuple[str, ...]]) -> str | None:
    """Return the workspace-relative path that a link's text names, or None if it names something outside.

    Args:
        link: Path of the link.
        target: Its text.
        roots: Segments of the root's absolute path, in each known spelling.
    """
    pending = _pending(target, roots)
    if pending is None:
        return None
    folder = "" if target.startswith("/") else posixpath.dirname(link)
    found = posixpath.normpath(posixpath.join(folder, *pending))
    if found == ".." or found.startswith("../"):
        return None
    return "" if found == "." else found


def follow_links(path: str, look: Look, roots: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the segments of the path that `path` leads to if links inside the root are followed.

    The answer is a name, not a permission: what is opened afterwards is opened without following links.

    Args:
        path: A normalised path, not the root.
        look: Finds the first component of a path that is not a folder.
        roots: Segments of the root's absolute path, in each known spelling.

    Raises:
        SymlinkEscapeError: A link leads outside the root.
        SymlinkNotAllowedError: The links form a loop.
        OSError: Access was denied.
    """
    reached: list[str] = []
    pending, link, links = path.split("/"), path, 0
    while pending:
        if pending[0] == "..":
            if not reached:
                raise SymlinkEscapeError(path, link)
            # `reached` holds no link here, so that its parent is the real one.
            reached.pop()
            pending.pop(0)
            continue
        stretch = pending.index("..") if ".." in pending else len(pending)
        chunk = reached + pending[:stretch]
        found = look("/".join(chunk))
        if found is None or not found.is_link:
            reached, pending = chunk, pending[stretch:]
            continue
        link, links, target = found.path, links + 1, found.target or ""
        behind, depth = _pending(target, roots), link.count("/")
        if behind is None:
            raise SymlinkEscapeError(path, link)
        if links > _MOST_LINKS:
            raise SymlinkNotAllowedError(path, link)
        reached = [] if target.startswith("/") else chunk[:depth]
        pending = [*behind, *chunk[depth + 1 :], *pending[stretch:]]
    return reached


def _pending(target: str, roots: Sequence[tuple[str, ...]]) -> list[str] | None:
    segments = [segment for segment in target.split("/") if segment and segment != "."]
    if not target.startswith("/"):
        # An empty text is a junction or another link that only Windows can read: outside, to be safe.
        return segments if target else None
    for root in roots:
        if tuple(segments[: len(root)]) == root:
            return segments[len(root) :]
    return None
