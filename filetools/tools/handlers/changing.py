"""Tools that change files and folders: write, edit, move, delete, several at once, and undo."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Annotated, Final

from msgspec.structs import replace
from pydantic import Field

from filetools.content.editing.edits import Edit
from filetools.errors import InvalidArgumentError, PathIsDirectoryError, PathNotFoundError
from filetools.facade.facade import FileToolsFacade
from filetools.models.files import (
    BatchResult,
    DeleteResult,
    DirectoryResult,
    EditResult,
    MoveResult,
    PatchResult,
    ReadBatchResult,
    WriteResult,
)
from filetools.models.history import UndoResult
from filetools.tools.arguments import Parameters
from filetools.tools.handlers.reading import OnePath
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


class OneEdit(Parameters):
    """One replacement of edit_file."""

    old_string: str
    new_string: str
    replace_all: bool = False


class EditFile(Parameters):
    """Parameters of edit_file."""

    path: str
    old_string: str | None = None
    new_string: str | None = None
    replace_all: bool = False
    edits: Annotated[list[OneEdit] | None, Field(description="Several, in order")] = None
    dry_run: bool = False


class InsertLines(Parameters):
    """Parameters of insert_lines."""

    path: str
    line: Annotated[int, Field(ge=0, description="Insert after this line; 0 is before the first")]
    text: str
    dry_run: bool = False


class ApplyPatch(Parameters):
    """Parameters of apply_patch."""

    patch: str
    dry_run: bool = False


def _edits(given: EditFile) -> list[Edit]:
    if given.edits is not None:
        if given.old_string is not None or given.new_string is not None:
            raise InvalidArgumentError("Give old_string and new_string, or edits, not both", path=given.path)
        return [Edit(old=one.old_string, new=one.new_string, replace_all=one.replace_all) for one in given.edits]
    if given.old_string is None or given.new_string is None:
        raise InvalidArgumentError("edit_file needs old_string and new_string, or edits", path=given.path)
    return [Edit(old=given.old_string, new=given.new_string, replace_all=given.replace_all)]


class FromTo(Parameters):
    """Parameters of move_file and copy_file."""

    source: str
    destination: str
    overwrite: bool = False


_DESTINATION_EXISTS: Final = {
    "FILE_EXISTS": "Choose another destination, or pass overwrite=true to replace the file there."
}


class DeleteFile(Parameters):
    """Parameters of delete_file."""

    path: str
    recursive: bool = False


async def move_or_copy(context: ToolContext, given: FromTo, *, move: bool) -> MoveResult | WriteResult:
    """Move a file or folder, or copy a file."""
    work = context.files.move_file if move else context.files.copy_file
    try:
        return await work(given.source, given.destination, overwrite=given.overwrite)
    except PathIsDirectoryError as exc:
        folder, name = given.destination.rstrip("/"), given.source.rstrip("/").rpartition("/")[2]
        if exc.path == folder:
            exc.suggested_action = f"Name the destination in full, such as {f'{folder}/{name}'!r}."
        raise


async def delete_file(context: ToolContext, given: DeleteFile) -> DeleteResult:
    """Delete a file, or with `recursive` a folder with all that is in it."""
    # Look first, but only if it matters: trying to delete it as a file first would ask a person twice about a folder.
    if given.recursive:
        with suppress(PathNotFoundError):  # or a link whose target is missing, which is deleted as a link
            if (await context.files.file_info(given.path)).type == "directory":
                return await context.files.delete_directory(
                    given.path, recursive=True, abort=context.is_aborted, progress=context.percent
                )
    return await context.files.delete_file(given.path)


MAX_FILES = 1000


class Paths(Parameters):
    """Parameters of read_multiple and delete_multiple."""

    paths: Annotated[list[str], Field(min_length=1, max_length=MAX_FILES)]


class WriteMultiple(Parameters):
    """Parameters of write_multiple."""

    items: Annotated[list[WriteFile], Field(min_length=1, max_length=MAX_FILES)]


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


class UndoChanges(Parameters):
    """Parameters of undo_changes."""

    call_id: str | None = None
    since: int | None = None
    path: str | None = None
    dry_run: bool = False


async def undo_changes(files: FileToolsFacade, given: UndoChanges, *, partial: bool = False) -> UndoResult:
    """Undo changes of the calling actor only."""
    # A call ID belongs to one conversation. Other selections apply to this conversation only, as others may be active.
    whose = replace(files.actor, session=None) if given.call_id is not None else files.actor
    return await files.undo(
        call=given.call_id, since=given.since, path=given.path, actor=whose, dry_run=given.dry_run, partial=partial
    )


CHANGING: tuple[AnyTool, ...] = (
    Tool(
        name="write_file",
        description=(
            "Create a file, with missing folders, or replace all of it; what others changed since is merged. Returns the"
            " new version. VERSION_MISMATCH: read again, redo it."
        ),
        parameters=WriteFile,
        handler=lambda context, given: context.files.write_file(
            given.path,
            given.content,
            expected_version=given.expected_version,
            on_stale="merge",
            require_read=context.require_read,
        ),
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
        handler=lambda context, given: context.files.create_file(given.path, given.content),
        group="files",
        result=WriteResult,
    ),
    Tool(
        name="append_file",
        description=(
            "Add text to the end of a file without reading it; a missing file is created. No line end is inserted:"
            " begin with one if the file does not end with one."
        ),
        parameters=PathAndContent,
        handler=lambda context, given: context.files.append_file(given.path, given.content),
        group="files",
        result=WriteResult,
    ),
    Tool(
        name="edit_file",
        description=(
            "Replace exact text. old_string must occur once, unless replace_all. Returns hunks and version."
            " EDIT_NOT_FOUND shows the closest text: copy it exactly. EDIT_AMBIGUOUS lists the lines: give more context."
        ),
        parameters=EditFile,
        handler=lambda context, given: context.files.edit_file(given.path, _edits(given), dry_run=given.dry_run),
        group="core",
        result=EditResult,
        actions={
            "EDIT_AMBIGUOUS": "Include more of the surrounding lines in old_string, or pass replace_all=true for all."
        },
    ),
    Tool(
        name="insert_lines",
        description="Insert text after a line of a file; line 0 inserts before the first.",
        parameters=InsertLines,
        handler=lambda context, given: context.files.insert_lines(
            given.path, given.line, given.text, dry_run=given.dry_run
        ),
        group="files",
        result=EditResult,
    ),
    Tool(
        name="apply_patch",
        description=(
            "Apply a patch over several files, all or nothing: *** Begin Patch form, or a unified diff. A hunk that"
            " does not fit changes nothing; the closest text is shown."
        ),
        parameters=ApplyPatch,
        handler=lambda context, given: context.files.apply_patch(given.patch, dry_run=given.dry_run),
        group="core",
        result=PatchResult,
        actions={"FILE_EXISTS": "Change what is there with '*** Update File:', or add another path."},
    ),
    Tool(
        name="move_file",
        description=(
            "Move or rename a file or folder, creating missing folders. FILE_EXISTS: choose another destination, or pass"
            " overwrite."
        ),
        parameters=FromTo,
        handler=partial(move_or_copy, move=True),
        group="core",
        result=MoveResult,
        actions=_DESTINATION_EXISTS,
    ),
    Tool(
        name="copy_file",
        description="Copy a file. FILE_EXISTS: choose another destination, or pass overwrite to replace it.",
        parameters=FromTo,
        handler=partial(move_or_copy, move=False),
        group="files",
        result=WriteResult,
        actions=_DESTINATION_EXISTS,
    ),
    Tool(
        name="delete_file",
        description=(
            "Delete a file, or with recursive a folder. Returns the entry count; a deleted file stays readable by its"
            " version."
        ),
        parameters=DeleteFile,
        handler=delete_file,
        group="core",
        effect="delete",
        result=DeleteResult,
        actions={"IS_A_DIRECTORY": "Pass recursive=true to delete the folder with everything in it."},
    ),
    Tool(
        name="create_directory",
        description="Create a folder and its missing parents. write_file does not need it. An existing folder is not an error.",
        parameters=OnePath,
        handler=lambda context, given: context.files.create_directory(given.path),
        group="files",
        is_idempotent=True,
        result=DirectoryResult,
    ),
    Tool(
        name="undo_changes",
        description=(
            "Undo your last change, or those of one call, of a path, or since a number. Others' later changes stay; where"
            " they overlap: EDIT_CONFLICT, nothing undone."
        ),
        parameters=UndoChanges,
        handler=lambda context, given: undo_changes(context.files, given),
        group="core",
        result=UndoResult,
        actions={"EDIT_CONFLICT": "Edit by hand what not_undone names, or undo the rest by its call_id or path."},
    ),
    Tool(
        name="read_multiple",
        description="Read several whole files. Each item holds what read_file returns, or its error; failed counts those.",
        parameters=Paths,
        handler=lambda context, given: context.files.read_multiple(
            given.paths, page=context.kept is None, abort=context.is_aborted, progress=context.percent
        ),
        group="batches",
        effect="read",
        looks_at="file",
        has_body=True,
        result=ReadBatchResult,
    ),
    Tool(
        name="write_multiple",
        description=(
            "Create or replace several files, all or nothing; each item as in write_file. BATCH_FAILED: nothing was"
            " changed; fix the file it names and repeat the whole call."
        ),
        parameters=WriteMultiple,
        handler=write_multiple,
        group="batches",
        is_idempotent=True,
        result=BatchResult,
    ),
    Tool(
        name="delete_multiple",
        description="Delete several files, all or nothing. BATCH_FAILED: nothing was deleted; the error names the file.",
        parameters=Paths,
        handler=lambda context, given: context.files.delete_multiple(
            given.paths, abort=context.is_aborted, progress=context.percent
        ),
        group="batches",
        effect="delete",
        result=BatchResult,
    ),
)
