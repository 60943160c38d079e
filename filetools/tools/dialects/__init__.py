"""Dialects: tools with the names and schemas of other products, on our engine."""

from __future__ import annotations

from typing import Final

from filetools.errors import InvalidArgumentError
from filetools.tools.arguments import meant
from filetools.tools.dialects.apply_patch import APPLY_PATCH
from filetools.tools.dialects.claude_code import CLAUDE_CODE
from filetools.tools.dialects.dialect import Dialect
from filetools.tools.dialects.mcp_filesystem import MCP_FILESYSTEM
from filetools.tools.dialects.memory import MEMORY
from filetools.tools.dialects.text_editor import TEXT_EDITOR

DIALECTS: Final[tuple[Dialect, ...]] = (
    CLAUDE_CODE,
    MCP_FILESYSTEM,
    TEXT_EDITOR,
    MEMORY,
    APPLY_PATCH,
)
"""All dialects."""


def dialect_named(name: str) -> Dialect:
    """Return a dialect by its name.

    Raises:
        InvalidArgumentError: The name is unknown; names the most similar one, or all.
    """
    names = [each.name for each in DIALECTS]
    if name in names:
        return DIALECTS[names.index(name)]
    raise InvalidArgumentError(f"There is no dialect named {name!r}; {meant(name, names)}")


__all__ = [
    "APPLY_PATCH",
    "CLAUDE_CODE",
    "DIALECTS",
    "MCP_FILESYSTEM",
    "MEMORY",
    "TEXT_EDITOR",
    "Dialect",
    "dialect_named",
]
