"""NotebookEdit: one cell of a Jupyter notebook.

Source: the nbformat documentation, format 4. Cells of notebooks before 4.5 have no ids; `cell-0` is the first one then.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

from msgspec import Struct
from pydantic import Field

from filetools.content.diff import minimal_edits
from filetools.content.text_edits import TextEdit
from filetools.errors import EditConflictError, InvalidArgumentError
from filetools.tools.arguments import Parameters
from filetools.tools.dialects.claude_code.places import GROUP, located
from filetools.tools.dialects.dialect import presented
from filetools.tools.tool import AnyTool, Tool, ToolContext

CellType = Literal["code", "markdown"]
_OF_CODE: Final[dict[str, Any]] = {"outputs": [], "execution_count": None}
_INDENT: Final = re.compile(r"\{\r?\n([ \t]+)")


class Cell(Struct, frozen=True, kw_only=True):
    """One cell."""

    id: str
    type: str
    source: str
    value: dict[str, Any]
    """Its members; part of the notebook's value."""


class Notebook(Struct, frozen=True, kw_only=True):
    """A notebook, read. Lives for one call."""

    value: dict[str, Any]
    cells: tuple[Cell, ...]
    language: str
    has_ids: bool
    """Whether its format wants an id for each cell."""

    def cell(self, cell_id: str) -> Cell:
        """Return a cell by its id, or by `cell-<number from 0>`.

        Raises:
            InvalidArgumentError: There is none; names those there are.
        """
        named = {f"cell-{number}": cell for number, cell in enumerate(self.cells)}
        named |= {cell.id: cell for cell in reversed(self.cells)}
        if cell_id not in named:
            known = [cell.id for cell in self.cells[:100]]
            raise InvalidArgumentError(f"There is no cell {cell_id!r} in the notebook", details={"cells": known})
        return named[cell_id]


def read_notebook(text: str) -> Notebook:
    """Return the cells of a notebook.

    Raises:
        InvalidArgumentError: It is not a notebook of format 4.
    """
    try:
        value = json.loads(text)
        cells = tuple(
            Cell(
                id=str(each.get("id") or f"cell-{number}"),
                type=str(each["cell_type"]),
                source="".join(each["source"]),  # a text, or its lines
                value=each,
            )
            for number, each in enumerate(value["cells"])
        )
        language = value.get("metadata", {}).get("language_info", {}).get("name") or "python"
        has_ids = value.get("nbformat") == 4 and value.get("nbformat_minor", 0) >= 5
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as exc:
        raise InvalidArgumentError(f"This is not a Jupyter notebook of format 4: {exc}") from exc
    return Notebook(value=value, cells=cells, language=str(language), has_ids=has_ids)


def _write(notebook: Notebook, text: str) -> str:
    """Return a notebook as text, in the layout that its text had; Jupyter indents by one blank."""
    found = _INDENT.match(text)
    is_escaped = text.isascii() and "\\u" in text
    made = json.dumps(notebook.value, ensure_ascii=is_escaped, indent=found and found[1])
    made += text[len(text.rstrip()) :].replace("\r\n", "\n")
    return made.replace("\n", "\r\n") if found and "\r" in found[0] else made


def _change_cell(cell: Cell, source: str, cell_type: str) -> None:
    """Give a cell another source; the outputs of code go, since they are not of this source."""
    value = cell.value
    made = {name: each for name, each in value.items() if name not in _OF_CODE} | {"cell_type": cell_type}
    made |= _OF_CODE if cell_type == "code" else {}
    is_text = isinstance(value["source"], str) and cell_type == cell.type
    made["source"] = source if is_text else _lines(source)
    ordered = {name: made[name] for name in dict.fromkeys((*value, *made)) if name in made}
    value.clear()
    value.update(ordered)


def _lines(source: str) -> list[str]:
    return [line for line in re.split(r"(?<=\n)", source) if line]


class NotebookEdit(Parameters):
    """Parameters of NotebookEdit."""

    notebook_path: Annotated[str, Field(description="Absolute, or relative to the root")]
    cell_id: Annotated[str | None, Field(description="insert: the new cell goes behind it; without it, at the top")] = (
        None
    )
    new_source: str
    cell_type: Annotated[CellType | None, Field(description="Needed for insert")] = None
    edit_mode: Literal["replace", "insert", "delete"] = "replace"


def _changed(notebook: Notebook, given: NotebookEdit, known: str | None, path: str) -> dict[str, Any]:
    """Change a notebook, and return what is told of the cell.

    Raises:
        InvalidArgumentError: It has no such cell.
        EditConflictError: Somebody else has changed the cell since the caller read it.
    """
    cell = None if given.cell_id is None else notebook.cell(given.cell_id)
    if given.edit_mode == "insert":
        new_id, kind = secrets.token_hex(4), given.cell_type or "code"
        fresh: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": _lines(given.new_source)}
        fresh |= (_OF_CODE if kind == "code" else {}) | ({"id": new_id} if notebook.has_ids else {})
        at = 0 if cell is None else notebook.cells.index(cell) + 1
        notebook.value["cells"].insert(at, dict(sorted(fresh.items())))
        return ({"cell_id": new_id} if notebook.has_ids else {}) | {"cell_type": kind}
    if cell is None:
        raise InvalidArgumentError("cell_id is needed, unless a cell is inserted")
    seen = [] if known is None else [each.source for each in read_notebook(known).cells if each.id == cell.id]
    if known is not None and seen[:1] != [cell.source]:  # a text that the caller has not seen is not put away
        raise EditConflictError(
            f"Somebody changed cell {cell.id!r} of {path} since you read it",
            path=path,
            details={"cell_id": cell.id, "current": cell.source, "known": seen[0] if seen else None},
        )
    if given.edit_mode == "delete":
        del notebook.value["cells"][notebook.cells.index(cell)]
    else:
        _change_cell(cell, given.new_source, given.cell_type or cell.type)
    return {"old_source": cell.source, "cell_id": cell.id, "cell_type": given.cell_type or cell.type}


async def edit_notebook(context: ToolContext, given: NotebookEdit) -> dict[str, Any]:
    """Replace, insert or delete a cell."""
    if not given.notebook_path.endswith(".ipynb"):
        raise InvalidArgumentError("NotebookEdit edits notebooks (.ipynb); use Edit for other files")
    if given.edit_mode == "insert" and given.cell_type is None:
        raise InvalidArgumentError("cell_type is needed to insert a cell")
    place = await located(context, given.notebook_path)
    result: dict[str, Any] = {"new_source": given.new_source, "edit_mode": given.edit_mode}

    def compute(text: str, known: str | None) -> Sequence[TextEdit]:
        notebook = read_notebook(text)
        result.update(_changed(notebook, given, known, place.path))
        updated = _write(notebook, text)
        result.update({"language": notebook.language, "original_file": text, "updated_file": updated})
        return minimal_edits(text, updated)

    await place.files.change_text(
        place.path,
        compute,
        arguments=given.model_dump(exclude={"notebook_path"}),
        require_read=context.require_read and given.edit_mode != "insert",
    )
    return result | {"notebook_path": place.absolute}


_TOLD: Final = {
    "insert": "Inserted cell {cell_id} with {new_source}",
    "delete": "Deleted cell {cell_id}",
    "replace": "Updated cell {cell_id} with {new_source}",
}


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
        present=presented(lambda data, _: _TOLD[data["edit_mode"]].format(**{"cell_id": "", **data})),
    ),
)
