"""Cells of a Jupyter notebook: found by their ids, and changed with nothing else touched.

Source: the nbformat documentation, format 4. Cells of notebooks before 4.5 have no ids; `cell-0` is the first one then.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from filetools.content.text_edits import TextEdit
from filetools.errors import InvalidArgumentError
from filetools.tools.dialects.claude_code.json_spans import Member, Part, items, members, whole
from filetools.tools.dialects.claude_code.layout import Layout, layout_of

CellType = Literal["code", "markdown"]
_OF_CODE: Final[dict[str, Any]] = {"outputs": [], "execution_count": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell and where it stands."""

    id: str
    type: str
    source: str
    part: Part
    members: dict[str, Member]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notebook:
    """A notebook's text, read. Lives for one call."""

    text: str
    array: Part
    cells: tuple[Cell, ...]
    language: str
    has_ids: bool
    """Whether its format wants an id for each cell."""

    def cell(self, cell_id: str) -> Cell:
        """Return a cell by its id, or by `cell-<number from 0>`.

        Raises:
            InvalidArgumentError: There is none; names those there are.
        """
        for cell in self.cells:
            if cell.id == cell_id:
                return cell
        number = cell_id.removeprefix("cell-")
        if number != cell_id and number.isdecimal() and int(number[:6]) < len(self.cells):
            return self.cells[int(number[:6])]
        known = [cell.id for cell in self.cells]
        raise InvalidArgumentError(f"There is no cell {cell_id!r} in the notebook", details={"cells": known[:100]})


def read_notebook(text: str) -> Notebook:
    """Return the cells of a notebook.

    Raises:
        InvalidArgumentError: It is no notebook of format 4.
    """
    try:
        root = whole(text)
        parts = members(text, root) if isinstance(root.value, dict) else {}
        array = parts["cells"].value
        found = tuple(_cell(text, part, number) for number, part in enumerate(items(text, array)))
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise InvalidArgumentError(f"This is no Jupyter notebook of format 4: {exc}") from exc
    metadata = root.value.get("metadata")
    info = metadata.get("language_info") if isinstance(metadata, dict) else None
    language = info.get("name") if isinstance(info, dict) else None
    version = (root.value.get("nbformat"), root.value.get("nbformat_minor"))
    has_ids = isinstance(version[1], int) and (version[0] == 4 and version[1] >= 5)
    return Notebook(text=text, array=array, cells=found, language=str(language or "python"), has_ids=has_ids)


def replace_cell(notebook: Notebook, cell: Cell, source: str, cell_type: str | None) -> list[TextEdit]:
    """Return what gives a cell another source; what code has put out goes, since it is not of this source."""
    if cell_type is not None and cell_type != cell.type:
        return [_as_other_type(notebook, cell, source, cell_type)]
    layout = layout_of(notebook.text, cell.part, cell.members)
    old = cell.members["source"].value
    new = source if isinstance(old.value, str) else _lines(source)
    edits = [] if new == old.value else [TextEdit(old.start, old.end, layout.value(new, depth=1))]
    for name, empty in _OF_CODE.items():
        member = cell.members.get(name)
        if member is not None and member.value.value != empty:
            edits.append(TextEdit(member.value.start, member.value.end, json.dumps(empty)))
    return sorted(edits, key=lambda edit: edit.start)


def insert_cell(notebook: Notebook, after: Cell | None, source: str, cell_type: str, cell_id: str) -> list[TextEdit]:
    """Return what puts a new cell behind another one, or before all."""
    cell: dict[str, Any] = {"cell_type": cell_type}
    if cell_type == "code":
        cell["execution_count"] = None
    if notebook.has_ids:
        cell["id"] = cell_id
    cell["metadata"] = {}
    if cell_type == "code":
        cell["outputs"] = []
    cell["source"] = _lines(source)
    if not notebook.cells:
        layout = Layout.of_array(notebook.text, notebook.array)
        inside = f"[{layout.line(1)}{layout.value(cell, depth=1)}{layout.line(0)}]"
        return [TextEdit(notebook.array.start, notebook.array.end, inside)]
    beside = after or notebook.cells[0]
    layout = layout_of(notebook.text, beside.part, beside.members)
    made = layout.value(cell, depth=0)
    if after is None:
        return [TextEdit(beside.part.start, beside.part.start, f"{made},{layout.line(0)}")]
    return [TextEdit(after.part.end, after.part.end, f",{layout.line(0)}{made}")]


def delete_cell(notebook: Notebook, cell: Cell) -> list[TextEdit]:
    """Return what takes a cell away."""
    at = notebook.cells.index(cell)
    if at:
        return [TextEdit(notebook.cells[at - 1].part.end, cell.part.end, "")]
    if len(notebook.cells) > 1:
        return [TextEdit(cell.part.start, notebook.cells[1].part.start, "")]
    return [TextEdit(notebook.array.start, notebook.array.end, "[]")]


def _as_other_type(notebook: Notebook, cell: Cell, source: str, cell_type: str) -> TextEdit:
    layout = layout_of(notebook.text, cell.part, cell.members)
    values = {name: member.value.value for name, member in cell.members.items() if name not in _OF_CODE}
    new = values | {"cell_type": cell_type, "source": _lines(source)}
    if cell_type == "code":
        new |= _OF_CODE
    return TextEdit(cell.part.start, cell.part.end, layout.value(dict(sorted(new.items())), depth=0))


def _cell(text: str, part: Part, number: int) -> Cell:
    found = members(text, part)
    source = part.value["source"]
    return Cell(
        id=str(part.value.get("id") or f"cell-{number}"),
        type=str(part.value["cell_type"]),
        source=source if isinstance(source, str) else "".join(source),
        part=part,
        members=found,
    )


def _lines(source: str) -> Sequence[str]:
    lines = source.split("\n")
    return [*(f"{line}\n" for line in lines[:-1]), *([lines[-1]] if lines[-1] else [])]
