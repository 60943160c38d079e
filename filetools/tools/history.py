"""Tools that go back."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from filetools.errors import EditConflictError
from filetools.models.history import UndoResult
from filetools.tools.arguments import Parameters
from filetools.tools.tool import AnyTool, Tool, ToolContext

_HINT: Final = "Edit by hand what not_undone names, or undo the rest by its call_id or path."


class UndoChanges(Parameters):
    """Parameters of undo_changes."""

    call_id: str | None = None
    since: int | None = None
    path: str | None = None
    dry_run: bool = False


async def undo_changes(context: ToolContext, given: UndoChanges) -> UndoResult:
    """Take back changes of the calling actor, and of nobody else."""
    actor = context.files.actor
    # A call has one conversation; what says less is meant within this one, where others may be going on.
    whose = replace(actor, session=None) if given.call_id is not None else actor
    try:
        return await context.files.undo(
            call=given.call_id, since=given.since, path=given.path, actor=whose, dry_run=given.dry_run
        )
    except EditConflictError as exc:
        # The hint of the call names an argument that this tool does not have.
        raise EditConflictError(exc.message, path=exc.path, suggested_action=_HINT, details=exc.details) from exc


HISTORY: tuple[AnyTool, ...] = (
    Tool(
        name="undo_changes",
        description=(
            "Undo your last change, or those of one call, of a path, or since a number. Others' later changes stay; where"
            " they overlap: EDIT_CONFLICT, nothing undone."
        ),
        parameters=UndoChanges,
        handler=undo_changes,
        group="core",
        result=UndoResult,
    ),
)
