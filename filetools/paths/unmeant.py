"""Refuses paths that are almost certainly mistakes: home folders, URLs, quoted names, absolute paths of the machine."""

from __future__ import annotations

import os
import re
from typing import Final

from filetools.errors import AbsolutePathError, FileToolsError, InvalidPathError
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath

_ODD: Final = re.compile(
    "(?P<quotes>[`'\"\u2018\u201c](?=.+[`'\"\u2019\u201d]\\Z))|(?P<url>file:[/\\\\]+(?:localhost/)?)|(?P<home>~[\\w.-]*[/\\\\]+)",
    re.DOTALL,
)
_REASONS: Final = {"quotes": "it is in quotes", "url": "it is a URL", "home": "'~' is not a home folder here"}


def refuse_unmeant(workspace: Workspace, raw_path: str, path: WorkspacePath) -> None:
    """Refuse a path that is almost certainly a mistake, if its first name is not in the root.

    Looks at the disk only for odd paths.

    Args:
        workspace: The root.
        raw_path: As the caller wrote it.
        path: Its resolved form.

    Raises:
        InvalidPathError: It begins with `~/` or `file:/`, or is in quotes or backticks.
        AbsolutePathError: It is absolute, and its first folder exists on the machine.
    """
    first, _, below = path.partition("/")
    found = _ODD.match(raw_path)
    is_absolute = raw_path.startswith("/") and below != "" and raw_path.strip("/").startswith(f"{first}/")
    if found is not None:
        error: FileToolsError = InvalidPathError(raw_path, _REASONS[found.lastgroup or ""])
    elif is_absolute and os.path.lexists(f"/{first}"):
        error = AbsolutePathError(raw_path)
    else:
        return
    if _is_there(workspace, first):
        return
    rest = raw_path[found.end() if found is not None else 0 :].replace("\\", "/").rstrip("`'\"\u2019\u201d")
    segments = [segment for segment in rest.split("/") if segment not in ("", ".", "..")]
    tails = ("/".join(segments[at:]) for at in range(len(segments)))
    meant = next((tail for tail in tails if _is_there(workspace, tail.split("/", 1)[0])), "/".join(segments))
    error.details["root"] = workspace.spellings[0]
    error.suggested_action = f"Paths are relative to the workspace root. Did you mean {meant!r}?"
    raise error


def _is_there(workspace: Workspace, name: str) -> bool:
    try:
        return workspace.stat(WorkspacePath(name)) is not None
    except FileToolsError:  # a link, or closed to us: something is there
        return True
