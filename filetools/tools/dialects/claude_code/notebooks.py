"""NotebookEdit: one cell of a Jupyter notebook."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from filetools.content.text_edits import TextEdit, apply_text_edits
from filetools.errors import EditConflictError, InvalidArgumentError
from filetools.tools.arguments import Parameters
from filetools.tools.clipping import TextLimits
from filetools.tools.dialects.claude_code.cells import (
    Cell,
    CellType,
    Notebook,
    delete_cell,
    insert_cell,
    read_notebook,
    replace_cell,
)
from filetools.tools.dialects.claude_code.places import GROUP, located, own_hints
from filetools.tools.dialects.presenting import presented
from filetools.tools.tool import AnyTool, Tool, ToolContext


class NotebookEdit(Parameters):
    """Parameters of NotebookEdit."""

    notebook_path: Annotated[str, Field(description="Absolute, or relative to the root")]
    cell_id: Annotated[str | None, Field(description="insert: the new cell stands behind it; without, at the top")] = (
        None
    )
    new_source: str
    cell_type: Annotated[CellType | None, Field(description="Needed for insert")] = None
    edit_mode: Literal["replace", "insert", "delete"] = "replace"

    def about(self) -> str | None:
        """Return the notebook."""
        return self.notebook_path


class CellChange:
    """One change of a cell, computed from the notebook that stands there; lives for one call."""

    def __init__(self, given: NotebookEdit, path: str) -> None:
        self._given = given
        self._path = path
        self._new_id = secrets.token_hex(4)
        self.result: dict[str, Any] = {}

    def compute(self, text: str, known: str | None) -> Sequence[TextEdit]:
        """Return the replacements, and keep the result.

        Raises:
            InvalidArgumentError: It is no notebook, or has no such cell.
            EditConflictError: Somebody else has changed the cell since the caller read it.
        """
        given, notebook = self._given, read_notebook(text)
        cell = None if given.cell_id is None else notebook.cell(given.cell_id)
        if given.edit_mode == "insert":
            edits = insert_cell(notebook, cell, given.new_source, given.cell_type or "code", self._new_id)
            self._keep(notebook, None, edits)
            return edits
        if cell is None:
            raise InvalidArgumentError("cell_id is needed, unless a cell is inserted")
        if known is not None:
            self._refuse_unknown(cell, read_notebook(known))
        deletes = given.edit_mode == "delete"
        edits = (
            delete_cell(notebook, cell) if deletes else replace_cell(notebook, cell, given.new_source, given.cell_type)
        )
        self._keep(notebook, cell, edits)
        return edits

    def _refuse_unknown(self, cell: Cell, former: Notebook) -> None:
        """Refuse to put away a text that the caller has not seen."""
        seen = [each for each in former.cells if each.id == cell.id]
        if not seen or seen[0].source != cell.source:
            raise EditConflictError(
                f"Somebody changed cell {cell.id!r} of {self._path} since you read it",
                path=self._path,
                details={"cell_id": cell.id, "current": cell.source, "known": seen[0].source if seen else None},
            )

    def _keep(self, notebook: Notebook, cell: Cell | None, edits: Sequence[TextEdit]) -> None:
        given = self._given
        inserted_id = self._new_id if notebook.has_ids else None
        cell_id = inserted_id if cell is None else cell.id
        self.result = {
            "new_source": given.new_source,
            **({} if cell is None else {"old_source": cell.source}),
            **({} if cell_id is None else {"cell_id": cell_id}),
            "cell_type": given.cell_type or ("code" if cell is None else cell.type),
            "language": notebook.language,
            "edit_mode": given.edit_mode,
            "original_file": notebook.text,
            "updated_file": apply_text_edits(notebook.text, edits),
        }


async def edit_notebook(context: ToolContext, given: NotebookEdit) -> dict[str, Any]:
    """Replace, insert or delete a cell."""
    if not given.notebook_path.endswith(".ipynb"):
        raise InvalidArgumentError("NotebookEdit edits notebooks (.ipynb); use Edit for other files")
    if given.edit_mode == "insert" and given.cell_type is None:
        raise InvalidArgumentError("cell_type is needed to insert a cell")
    place = await located(context, given.notebook_path)
    change = CellChange(given, place.path)
    async with own_hints(place):
        await place.files.change_text(
            place.path,
            change.compute,
            arguments=given.model_dump(exclude={"notebook_path"}),
            require_read=context.require_read and given.edit_mode != "insert",
        )
    return change.result | {"notebook_path": place.absolute}


def _shown(data: Mapping[str, Any], _limits: TextLimits) -> str:
    cell = data.get("cell_id", "")
    if data["edit_mode"] == "insert":
        return f"Inserted cell {cell} with {data['new_source']}"
    if data["edit_mode"] == "delete":
        return f"Deleted cell {cell}"
    return f"Updated cell {cell} with {data['new_source']}"


NOTEBOOKS: tuple[AnyTool, ...] = (
    Tool(
        name="NotebookEdit",
        description=(
            "Replace, insert or delete one cell of a Jupyter notebook (.ipynb); nothing else of the file changes. cell_id is"
            " what Read shows. A cell that others have changed since you read it is refused: read again."
        ),
        parameters=NotebookEdit,
        handler=edit_notebook,
        group=GROUP,
        present=presented(_shown),
    ),
)
