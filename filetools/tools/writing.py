"""Tools that write one file."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from filetools.models.files import WriteResult
from filetools.tools.arguments import Parameters
from filetools.tools.tool import AnyTool, Tool, ToolContext


class WriteFile(Parameters):
    """Parameters of write_file, and of each item of write_multiple."""

    path: str
    content: str
    expected_version: Annotated[
        str | None, Field(description="Version read, or 12+ hex digits; needed if it exists")
    ] = None


class PathAndContent(Parameters):
    """Parameters of create_file and append_file."""

    path: str
    content: str


async def write_file(context: ToolContext, given: WriteFile) -> WriteResult:
    """Create or replace a file."""
    return await context.files.write_file(
        given.path,
        given.content,
        expected_version=given.expected_version,
        on_stale="merge",
        require_read=context.require_read,
    )


async def create_file(context: ToolContext, given: PathAndContent) -> WriteResult:
    """Create a file that must not exist."""
    return await context.files.create_file(given.path, given.content)


async def append_file(context: ToolContext, given: PathAndContent) -> WriteResult:
    """Add to the end of a file."""
    return await context.files.append_file(given.path, given.content)


WRITING: tuple[AnyTool, ...] = (
    Tool(
        name="write_file",
        description=(
            "Create a file, with missing folders, or replace all of it; what others changed since is merged. Returns the"
            " new version. VERSION_MISMATCH: read again, redo it."
        ),
        parameters=WriteFile,
        handler=write_file,
        group="core",
        is_idempotent=True,
        result=WriteResult,
    ),
    Tool(
        name="create_file",
        description=(
            "Create a new file; missing folders are created. FILE_EXISTS: it is there already; read it, then use"
            " write_file to replace it."
        ),
        parameters=PathAndContent,
        handler=create_file,
        group="files",
        is_additive=True,
        result=WriteResult,
    ),
    Tool(
        name="append_file",
        description=(
            "Add text to the end of a file without reading it; a missing file is created. Nothing is added between:"
            " begin with a line end if the file does not end with one."
        ),
        parameters=PathAndContent,
        handler=append_file,
        group="files",
        is_additive=True,
        result=WriteResult,
    ),
)
