"""Tools that change parts of files: exact replacements, inserted lines, patches."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from filetools.content.edits import Edit
from filetools.errors import EditAmbiguousError, InvalidArgumentError, PathExistsError
from filetools.models.files import EditResult, PatchResult
from filetools.tools.arguments import Parameters
from filetools.tools.tool import AnyTool, Tool, ToolContext


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


async def edit_file(context: ToolContext, given: EditFile) -> EditResult:
    """Replace exact texts in a file."""
    try:
        return await context.files.edit_file(given.path, _edits(given), dry_run=given.dry_run)
    except EditAmbiguousError as exc:
        exc.suggested_action = (
            "Copy more of the lines around the place into old_string, or pass replace_all=true for all."
        )
        raise


async def insert_lines(context: ToolContext, given: InsertLines) -> EditResult:
    """Insert text after a line."""
    return await context.files.insert_lines(given.path, given.line, given.text, dry_run=given.dry_run)


async def apply_patch(context: ToolContext, given: ApplyPatch) -> PatchResult:
    """Apply a patch."""
    try:
        return await context.files.apply_patch(given.patch, dry_run=given.dry_run)
    except PathExistsError as exc:
        exc.suggested_action = "Change what is there with '*** Update File:', or add another path."
        raise


def _edits(given: EditFile) -> list[Edit]:
    if given.edits is not None:
        if given.old_string is not None or given.new_string is not None:
            raise InvalidArgumentError("Give old_string and new_string, or edits, not both", path=given.path)
        return [_edit(one.old_string, one.new_string, replace_all=one.replace_all) for one in given.edits]
    if given.old_string is None or given.new_string is None:
        raise InvalidArgumentError("edit_file needs old_string and new_string, or edits", path=given.path)
    return [_edit(given.old_string, given.new_string, replace_all=given.replace_all)]


def _edit(old: str, new: str, *, replace_all: bool) -> Edit:
    return Edit(old=old, new=new, replace_all=replace_all)


EDITING: tuple[AnyTool, ...] = (
    Tool(
        name="edit_file",
        description=(
            "Replace exact text. old_string must be there once, unless replace_all. Returns hunks and version."
            " EDIT_NOT_FOUND shows the closest text: copy it exactly. EDIT_AMBIGUOUS lists the lines: give more context."
        ),
        parameters=EditFile,
        handler=edit_file,
        group="core",
        result=EditResult,
    ),
    Tool(
        name="insert_lines",
        description="Insert text after a line of a file; line 0 inserts before the first.",
        parameters=InsertLines,
        handler=insert_lines,
        group="files",
        is_additive=True,
        result=EditResult,
    ),
    Tool(
        name="apply_patch",
        description=(
            "Apply a patch over several files, all or nothing: *** Begin Patch form, or a unified diff. A hunk that"
            " does not fit changes nothing; the closest text is shown."
        ),
        parameters=ApplyPatch,
        handler=apply_patch,
        group="core",
        result=PatchResult,
    ),
)
