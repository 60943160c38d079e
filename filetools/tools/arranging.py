"""Tools that move, copy and delete files and folders."""

from __future__ import annotations

from typing import Final

from filetools.errors import PathExistsError, PathIsDirectoryError
from filetools.models.files import DeleteResult, DirectoryResult, MoveResult, WriteResult
from filetools.tools.arguments import Parameters
from filetools.tools.reading import OnePath
from filetools.tools.tool import AnyTool, Tool, ToolContext

_THERE_ALREADY: Final = "Choose another destination, or pass overwrite=true to replace the file there."


class FromTo(Parameters):
    """Parameters of move_file and copy_file."""

    source: str
    destination: str
    overwrite: bool = False


class DeleteFile(Parameters):
    """Parameters of delete_file."""

    path: str
    recursive: bool = False


async def move_file(context: ToolContext, given: FromTo) -> MoveResult:
    """Move a file or folder."""
    try:
        return await context.files.move_file(given.source, given.destination, overwrite=given.overwrite)
    except (PathExistsError, PathIsDirectoryError) as exc:
        exc.suggested_action = _way_out(exc, given)
        raise


async def copy_file(context: ToolContext, given: FromTo) -> WriteResult:
    """Copy a file."""
    try:
        return await context.files.copy_file(given.source, given.destination, overwrite=given.overwrite)
    except (PathExistsError, PathIsDirectoryError) as exc:
        exc.suggested_action = _way_out(exc, given)
        raise


def _way_out(error: PathExistsError | PathIsDirectoryError, given: FromTo) -> str | None:
    if isinstance(error, PathExistsError):
        return _THERE_ALREADY
    folder, name = given.destination.rstrip("/"), given.source.rstrip("/").rpartition("/")[2]
    if error.path != folder:
        return error.suggested_action
    return f"Name the destination in full, such as {f'{folder}/{name}'!r}."


async def delete_file(context: ToolContext, given: DeleteFile) -> DeleteResult:
    """Delete a file, or with `recursive` a folder with all that is in it."""
    # Looking first, and only where it matters: trying the file first would ask a person twice about a folder.
    if given.recursive and (await context.files.file_info(given.path)).type == "directory":
        return await context.files.delete_directory(
            given.path, recursive=True, abort=context.is_aborted, progress=context.percent
        )
    try:
        return await context.files.delete_file(given.path)
    except PathIsDirectoryError as exc:
        exc.suggested_action = "Pass recursive=true to delete the folder with everything in it."
        raise


async def create_directory(context: ToolContext, given: OnePath) -> DirectoryResult:
    """Create a folder and its missing parents."""
    return await context.files.create_directory(given.path)


ARRANGING: tuple[AnyTool, ...] = (
    Tool(
        name="move_file",
        description=(
            "Move or rename a file or folder, creating missing folders. FILE_EXISTS: choose another destination, or pass"
            " overwrite."
        ),
        parameters=FromTo,
        handler=move_file,
        group="core",
        result=MoveResult,
    ),
    Tool(
        name="copy_file",
        description="Copy a file. FILE_EXISTS: choose another destination, or pass overwrite to replace it.",
        parameters=FromTo,
        handler=copy_file,
        group="files",
        result=WriteResult,
    ),
    Tool(
        name="delete_file",
        description=(
            "Delete a file, or with recursive a folder. Returns the number of entries; a deleted file stays readable by its"
            " version."
        ),
        parameters=DeleteFile,
        handler=delete_file,
        group="core",
        effect="delete",
        result=DeleteResult,
    ),
    Tool(
        name="create_directory",
        description="Create a folder and its missing parents. write_file does not need it. One that exists is no error.",
        parameters=OnePath,
        handler=create_directory,
        group="files",
        is_idempotent=True,
        is_additive=True,
        result=DirectoryResult,
    ),
)
