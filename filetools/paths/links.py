"""Where symbolic links lead: shown in errors if inside the root, followed only if the settings say so."""

from __future__ import annotations

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
    reached = [] if target.startswith("/") else link.split("/")[:-1]
    for segment in pending:
        if segment != "..":
            reached.append(segment)
        elif reached:
            reached.pop()
        else:
            return None
    return "/".join(reached)


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
    pending = path.split("/")
    links = 0
    while pending:
        if pending[0] == "..":
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
        links += 1
        if links > _MOST_LINKS:
            raise SymlinkNotAllowedError(path, found.path)
        reached, pending = _behind(path, found, chunk, pending[stretch:], roots)
    return reached


def _behind(
    path: str, found: Obstacle, chunk: list[str], rest: list[str], roots: Sequence[tuple[str, ...]]
) -> tuple[list[str], list[str]]:
    """Return the folder where a link's target starts, and the segments to resolve from there."""
    target = found.target or ""
    behind = _pending(target, roots)
    depth = found.path.count("/")
    start = [] if target.startswith("/") else chunk[:depth]
    if behind is None or not _stays_inside(len(start), behind):
        raise SymlinkEscapeError(path, found.path)
    return start, [*behind, *chunk[depth + 1 :], *rest]


def _stays_inside(depth: int, segments: Sequence[str]) -> bool:
    for segment in segments:
        depth += -1 if segment == ".." else 1
        if depth < 0:
            return False
    return True


def _pending(target: str, roots: Sequence[tuple[str, ...]]) -> list[str] | None:
    segments = [segment for segment in target.split("/") if segment and segment != "."]
    if not target.startswith("/"):
        # An empty text is a junction or another link that only Windows can read: outside, to be safe.
        return segments if target else None
    for root in roots:
        if tuple(segments[: len(root)]) == root:
            return segments[len(root) :]
    return None
