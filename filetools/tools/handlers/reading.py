"""Tools that read files, facts about them, and folders."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import Field

from filetools.content.lines import count_lines
from filetools.models.files import InfoResult, ReadResult
from filetools.models.searching import ListResult, PageResult
from filetools.tools.arguments import Parameters
from filetools.tools.tool import AnyTool, Tool, ToolContext

Page = TypeVar("Page", bound=PageResult)


async def pages(call: Callable[..., Awaitable[Page]]) -> AsyncIterator[Page]:
    """Yield all pages of a search or list, requesting each on demand.

    Args:
        call: Returns the page at a `cursor`; its errors end the iteration.
    """
    cursor: str | None = None
    while True:
        page = await call(cursor=cursor)
        yield page
        if (cursor := page.next_cursor) is None:
            return


MAX_PAGE_ENTRIES = 1000


class ReadFile(Parameters):
    """Parameters of read_file."""

    path: str
    offset: Annotated[int | None, Field(description="First line from 1; negative: from the end")] = None
    limit: Annotated[int | None, Field(ge=1)] = None
    column: Annotated[int | None, Field(ge=1)] = None
    version: str | None = None


class OnePath(Parameters):
    """Parameters of tools that take a path and nothing else."""

    path: str


class ListFiles(Parameters):
    """Parameters of list_files."""

    path: str = ""
    recursive: bool = False
    max_depth: Annotated[int, Field(ge=1, le=64)] = 64
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE_ENTRIES)] = MAX_PAGE_ENTRIES
    cursor: str | None = None


async def read_file(context: ToolContext, given: ReadFile) -> ReadResult:
    """Read a file or some of its lines."""
    read = await context.files.read_file(
        given.path, offset=given.offset, limit=given.limit, column=given.column, version=given.version,
        # Lines that the model does not see must not count as read.
        page=context.kept is None,
    )  # fmt: skip
    is_page = read.truncated and (given.limit is None or count_lines(read.content) < given.limit)
    return read.model_copy(update={"is_page": True}) if is_page else read


async def exists(context: ToolContext, given: OnePath) -> Mapping[str, Any]:
    """Return whether a file or folder exists."""
    return {"path": given.path, "exists": await context.files.exists(given.path)}


READING: tuple[AnyTool, ...] = (
    Tool(
        name="read_file",
        description=(
            "Read a file. Returns content, version (needed to replace it), line count. Parts: offset, limit; column in a long"
            " line. Continue at next_offset."
        ),
        parameters=ReadFile,
        handler=read_file,
        group="core",
        effect="read",
        looks_at="file",
        has_body=True,
        result=ReadResult,
        actions={
            "IS_A_DIRECTORY": "Use list_files to see what is in the folder.",
            "FILE_TOO_LARGE": "Read a part: pass offset and limit, such as offset=1 and limit=2000.",
        },
    ),
    Tool(
        name="list_files",
        description=(
            "List a folder, or with recursive the tree below. Returns path, type, size; pass next_cursor as cursor for more."
        ),
        parameters=ListFiles,
        handler=lambda context, given: context.files.list_files(**given.model_dump(), abort=context.is_aborted),
        group="core",
        effect="read",
        looks_at="folder",
        has_body=True,
        result=ListResult,
    ),
    Tool(
        name="file_info",
        description=("Facts about a file or folder without content: type, size, version, encoding, lock, last change."),
        parameters=OnePath,
        handler=lambda context, given: context.files.file_info(given.path),
        group="core",
        effect="read",
        looks_at="file",
        result=InfoResult,
    ),
    Tool(
        name="exists",
        description="Check whether a file or folder exists. For more facts use file_info.",
        parameters=OnePath,
        handler=exists,
        group="files",
        effect="read",
    ),
)
