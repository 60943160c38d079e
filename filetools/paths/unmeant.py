"""Names that nobody means for a file of the root: a home folder's, a URL, one in quotes, an absolute path of the machine."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final

from filetools.errors import AbsolutePathError, FileToolsError, InvalidPathError
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath

_HOME: Final = re.compile(r"~[\w.-]*[/\\]+")
_URL: Final = re.compile(r"file:[/\\]+(?:localhost/)?")
_QUOTED: Final = re.compile("[`'\"\u2018\u201c](.+)[`'\"\u2019\u201d]", re.DOTALL)


def refuse_unmeant(workspace: Workspace, raw_path: str, path: WorkspacePath) -> None:
    """Refuse what a path names if its first name is not in the root and it was hardly meant.

    Looks at the disk, but for odd paths only.

    Args:
        workspace: The root.
        raw_path: As the caller wrote it.
        path: What it resolves to.

    Raises:
        InvalidPathError: It begins with `~/` or `file:/`, or is in quotes or backticks.
        AbsolutePathError: It is absolute, and its first folder is one of the machine.
    """
    found = next(_refusals(workspace, raw_path, path), None)
    if found is None or _is_there(workspace, path.split("/", 1)[0]):
        return
    error, rest = found
    segments = [segment for segment in rest.replace("\\", "/").split("/") if segment not in ("", ".", "..")]
    tails = ("/".join(segments[at:]) for at in range(len(segments)))
    meant = next((tail for tail in tails if _is_there(workspace, tail.split("/", 1)[0])), "/".join(segments))
    error.details["root"] = workspace.spellings[0]
    error.suggested_action = f"Paths are relative to the workspace root. Did you mean {meant!r}?"
    raise error


def _refusals(workspace: Workspace, raw_path: str, path: WorkspacePath) -> Iterator[tuple[FileToolsError, str]]:
    """Yield why a path is odd, and what is left of it without that."""
    if raw_path[:1].isalnum() and not raw_path.startswith("file:"):
        return
    if quoted := _QUOTED.fullmatch(raw_path):
        yield InvalidPathError(raw_path, "it stands in quotes"), quoted[1]
    if url := _URL.match(raw_path):
        rest = f"/{raw_path[url.end() :]}"
        yield InvalidPathError(raw_path, "it is a URL"), next(_inside(workspace, rest), rest)
    if home := _HOME.match(raw_path):
        yield InvalidPathError(raw_path, "'~' is no home folder here"), raw_path[home.end() :]
    first, *below = path.split("/")
    if (
        raw_path.startswith("/")
        and below
        and raw_path.strip("/").startswith(f"{first}/")
        and os.path.lexists(f"/{first}")
    ):
        yield AbsolutePathError(raw_path), path


def _inside(workspace: Workspace, absolute: str) -> Iterator[str]:
    for spelling in workspace.spellings:
        if absolute.startswith(f"{spelling}/"):
            yield absolute[len(spelling) + 1 :]


def _is_there(workspace: Workspace, name: str) -> bool:
    try:
        return workspace.stat(WorkspacePath(name)) is not None
    except FileToolsError:  # a link, or closed to us: something is there
        return True
