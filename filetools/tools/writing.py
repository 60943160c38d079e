"""Tools that write one file, and the rule that models replace only what they know."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from filetools.errors import PathExistsError, VersionMismatchError
from filetools.models import WriteResult
from filetools.tools.arguments import Parameters
from filetools.tools.tool import AnyTool, Tool, ToolContext


class WriteFile(Parameters):
    """Parameters of write_file, and of each item of write_multiple."""

    path: str
    content: str
    expected_version: Annotated[
        str | None, Field(description="Version you read or 12+ hex digits of it; needed if the file exists")
    ] = None


class PathAndContent(Parameters):
    """Parameters of create_file and append_file."""

    path: str
    content: str


async def write_file(context: ToolContext, given: WriteFile) -> WriteResult:
    """Create or replace a file."""
    if given.expected_version is not None or not context.require_version:
        return await context.files.write_file(given.path, given.content, expected_version=given.expected_version)
    try:
        # Creating refuses what exists in the same step; looking first would let a file appear in between.
        return await context.files.create_file(given.path, given.content)
    except PathExistsError as exc:
        raise await unknown_version(context, given.path) from exc


async def unknown_version(context: ToolContext, path: str) -> VersionMismatchError:
    """Return the error for replacing a file without saying which version of it is known."""
    current = (await context.files.file_info(path)).version
    return VersionMismatchError(
        path,
        None,
        current,
        reason=(
            "it exists already, and replacing it needs expected_version, so that nobody's newer text is lost;"
            f" it is at {current}"
        ),
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
            "Create a file, with missing folders, or replace all of it. Returns the new version. VERSION_MISMATCH: it"
            " changed since you read it; read again, redo your change on that text."
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
        result=WriteResult,
    ),
)
