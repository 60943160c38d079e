"""Tools over several files at once."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from filetools.models.files import BatchResult, ReadBatchResult
from filetools.tools.arguments import Parameters
from filetools.tools.tool import AnyTool, Tool, ToolContext
from filetools.tools.writing import WriteFile

MAX_FILES = 1000


class Paths(Parameters):
    """Parameters of read_multiple and delete_multiple."""

    paths: Annotated[list[str], Field(min_length=1, max_length=MAX_FILES)]


class WriteMultiple(Parameters):
    """Parameters of write_multiple."""

    items: Annotated[list[WriteFile], Field(min_length=1, max_length=MAX_FILES)]


async def read_multiple(context: ToolContext, given: Paths) -> ReadBatchResult:
    """Read several files."""
    return await context.files.read_multiple(given.paths, abort=context.is_aborted, progress=context.percent)


async def write_multiple(context: ToolContext, given: WriteMultiple) -> BatchResult:
    """Write several files, all or nothing."""
    return await context.files.write_multiple(
        [
            item.model_dump(exclude_none=True) | {"require_read": context.require_read, "on_stale": "merge"}
            for item in given.items
        ],
        abort=context.is_aborted,
        progress=context.percent,
    )


async def delete_multiple(context: ToolContext, given: Paths) -> BatchResult:
    """Delete several files, all or nothing."""
    return await context.files.delete_multiple(given.paths, abort=context.is_aborted, progress=context.percent)


BATCHES: tuple[AnyTool, ...] = (
    Tool(
        name="read_multiple",
        description="Read several whole files. Each item holds what read_file returns, or its error; failed counts those.",
        parameters=Paths,
        handler=read_multiple,
        group="batches",
        level="auto",
        effect="read",
        looks_at="file",
        is_idempotent=True,
        has_body=True,
        result=ReadBatchResult,
    ),
    Tool(
        name="write_multiple",
        description=(
            "Create or replace several files, all or nothing; each item as in write_file. BATCH_FAILED: nothing was"
            " changed; mend the file it names and repeat the whole call."
        ),
        parameters=WriteMultiple,
        handler=write_multiple,
        group="batches",
        is_idempotent=True,
        result=BatchResult,
    ),
    Tool(
        name="delete_multiple",
        description="Delete several files, all or nothing. BATCH_FAILED: nothing was; the error names the file.",
        parameters=Paths,
        handler=delete_multiple,
        group="batches",
        effect="delete",
        result=BatchResult,
    ),
)
