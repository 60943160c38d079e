"""Resolves the paths given to the tools of the dialect."""

from __future__ import annotations

from typing import Final

from filetools.errors import AbsolutePathError
from filetools.tools.answers.nearby import similar_paths
from filetools.tools.roots import ServedPath
from filetools.tools.tool import ToolContext

GROUP: Final = "claude-code"


async def located(context: ToolContext, raw_path: str | None) -> ServedPath:
    """Resolve a path, absolute inside the root or relative to it; None is the root.

    Raises:
        AbsolutePathError: It lies outside the root; names the root and similar paths in it.
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
