"""What all tools of the dialect do with paths and refusals."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from filetools.errors import (
    AbsolutePathError,
    DirectoryNotFoundError,
    EditAmbiguousError,
    EditNotFoundError,
    InvalidArgumentError,
    PathIsDirectoryError,
    PathNotFoundError,
    VersionMismatchError,
)
from filetools.tools.nearby import similar_paths
from filetools.tools.roots import ServedPath
from filetools.tools.tool import ToolContext

GROUP: Final = "claude-code"


async def located(context: ToolContext, raw_path: str | None) -> ServedPath:
    """Return what a path names: an absolute one inside the root, or one relative to it; None is the root.

    Raises:
        AbsolutePathError: It lies outside; names the root, and files in it that are like it.
    """
    try:
        return context.roots.locate(raw_path or "")
    except AbsolutePathError as error:
        root = context.roots.first
        found = await similar_paths(root.files, (raw_path or "").replace("\\", "/").strip("/"))
        error.details.update({"root": root.absolute("")} | ({"similar": found} if found else {}))
        hint = f"Did you mean {found[0]!r}? " if found else ""
        error.suggested_action = f"{hint}Use a path relative to the root, or one below it."
        raise


@asynccontextmanager
async def own_hints(place: ServedPath) -> AsyncIterator[None]:
    """Name the tools of this dialect in what a refusal says to do next."""
    try:
        yield
    except InvalidArgumentError as error:
        if "position" in error.details:
            error.suggested_action = "Correct the pattern; a backslash before a character makes it stand for itself."
        raise
    except PathIsDirectoryError as error:
        error.suggested_action = "Use Glob to see which files are in the folder."
        raise
    except (PathNotFoundError, DirectoryNotFoundError) as error:
        found = await similar_paths(place.files, error.path or "")
        error.details.update({"similar": found} if found else {})
        meant = f"Did you mean {found[0]!r}? Else find" if found else "Check the path, or find"
        error.suggested_action = f"{meant} the file with Glob."
        raise
    except VersionMismatchError as error:
        error.suggested_action = "Read the whole file, then repeat the change on its current text."
        raise
    except EditNotFoundError as error:
        error.suggested_action = "Read the file and copy old_string from it exactly, without the line numbers."
        raise
    except EditAmbiguousError as error:
        error.suggested_action = "Give more of the lines around the place in old_string, or set replace_all."
        raise
