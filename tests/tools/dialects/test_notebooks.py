"""Notebooks: one cell changes and every other stays; a cell that somebody else has changed is not put away."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from filetools.tools.dialects import CLAUDE_CODE
from tests.support.crashing import QUIET
from tests.support.dialects import Session

NOTEBOOK = """\
{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": "# Größe \\"quoted\\""
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "sum",
   "metadata": {},
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "3\\n"
     ]
    }
   ],
   "source": [
    "x = 1\\n",
    "print(x + 2)"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": null,
   "id": "last",
   "metadata": {},
   "outputs": [],
   "source": []
  }
 ],
 "metadata": {
  "language_info": {
   "name": "python"
  }
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
"""
"""As nbformat writes it."""
SUM_BEFORE = NOTEBOOK[
    NOTEBOOK.index('   "execution_count": 3') : NOTEBOOK.index(
        '  },\n  {\n   "cell_type": "code",\n   "execution_count": null'
    )
]


@pytest.fixture
async def files(tmp_path: Path) -> AsyncIterator[FileToolsFacade]:
    (tmp_path / "n.ipynb").write_text(NOTEBOOK)
    (tmp_path / "text.py").write_text("{}")
    (tmp_path / "no.ipynb").write_text('{"cells": 3}')
    (tmp_path / "cut.ipynb").write_text(NOTEBOOK[:200])
    (tmp_path / "deep.ipynb").write_text("[" * 100_000)
    async with filetools.open(tmp_path, settings=QUIET) as opened:
        yield opened


@pytest.fixture
async def session(files: FileToolsFacade) -> Session:
    reader = Session(files, CLAUDE_CODE)
    for name in ("n", "no", "cut", "deep"):
        await reader.says("Read", file_path=f"{name}.ipynb")
    return reader


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"notebook_path": "text.py", "cell_id": "sum"}, "INVALID_ARGUMENT", "use Edit for other files"),
    ({"notebook_path": "/etc/a.ipynb", "cell_id": "sum"}, "ABSOLUTE_PATH", "not allowed"),
    ({"notebook_path": "no.ipynb", "cell_id": "sum"}, "INVALID_ARGUMENT", "not a Jupyter notebook"),
    ({"notebook_path": "deep.ipynb", "cell_id": "sum"}, "INVALID_ARGUMENT", "not a Jupyter notebook"),
    ({"notebook_path": "n.ipynb"}, "INVALID_ARGUMENT", "cell_id is needed"),
    ({"notebook_path": "n.ipynb", "cell_id": "som"}, "INVALID_ARGUMENT", '"intro","sum","last"'),
    ({"notebook_path": "n.ipynb", "edit_mode": "insert"}, "INVALID_ARGUMENT", "cell_type is needed"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "code", "said"), REFUSED, ids=lambda value: str(value)[:60])
async def test_a_mistake_is_refused_in_words_that_repair_it(
    session: Session, tmp_path: Path, arguments: dict[str, Any], code: str, said: str
) -> None:
    assert said in await session.refuses(code, "NotebookEdit", new_source="x", **arguments)
    assert (tmp_path / "n.ipynb").read_text() == NOTEBOOK


async def test_a_notebook_that_was_not_read_is_not_changed(files: FileToolsFacade) -> None:
    stranger = Session(files, CLAUDE_CODE, "s2")
    await stranger.refuses("VERSION_MISMATCH", "NotebookEdit", notebook_path="n.ipynb", cell_id="sum", new_source="x")


async def test_reading_shows_cells_with_their_ids_and_outputs(session: Session, tmp_path: Path) -> None:
    assert await session.says("Read", file_path="n.ipynb") == (
        '<cell id="intro"><cell_type>markdown</cell_type># Größe "quoted"</cell id="intro">\n'
        '<cell id="sum">x = 1\nprint(x + 2)</cell id="sum">\n3\n\n'
        '<cell id="last"></cell id="last">'
    )
    data = await session.data("Read", file_path="n.ipynb")
    assert data["file"]["cells"][1] == {
        "cellType": "code", "source": "x = 1\nprint(x + 2)", "cell_id": "sum", "language": "python",
        "outputs": [{"output_type": "stream", "text": "3\n"}],
    }  # fmt: skip
    assert (await session.data("Read", file_path="n.ipynb", offset=1, limit=1))["type"] == "text"


SUM_AFTER = """\
   "execution_count": null,
   "id": "sum",
   "metadata": {},
   "outputs": [],
   "source": [
    "y = \\"ü\\"\\n"
   ]
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
async def test_a_replaced_cell_loses_its_outputs_and_nothing_else_changes(
    session: Session, tmp_path: Path, end: str
) -> None:
    (tmp_path / "n.ipynb").write_bytes(NOTEBOOK.replace("\n", end).encode())
    await session.says("Read", file_path="n.ipynb")
    made = await session.data("NotebookEdit", notebook_path="n.ipynb", cell_id="sum", new_source='y = "ü"\n')
    after = NOTEBOOK.replace(SUM_BEFORE, SUM_AFTER).replace("\n", end)
    assert (tmp_path / "n.ipynb").read_bytes() == after.encode()
    assert made == {
        "new_source": 'y = "ü"\n', "old_source": "x = 1\nprint(x + 2)", "cell_id": "sum", "cell_type": "code",
        "language": "python", "edit_mode": "replace", "notebook_path": str(tmp_path / "n.ipynb"),
        "original_file": NOTEBOOK.replace("\n", end), "updated_file": after,
    }  # fmt: skip


async def test_cells_are_inserted_and_deleted_and_the_bytes_are_as_before(session: Session, tmp_path: Path) -> None:
    ids = []
    for arguments in (
        {"cell_id": "sum", "cell_type": "code", "new_source": "a\nb"},
        {"cell_type": "markdown", "new_source": "# Top"},
        {"cell_id": "last", "cell_type": "code", "new_source": ""},
    ):
        made = await session.data("NotebookEdit", notebook_path="n.ipynb", edit_mode="insert", **arguments)
        ids.append(made["cell_id"])
    text = (tmp_path / "n.ipynb").read_text()
    cells = json.loads(text)["cells"]
    assert [cell["id"] for cell in cells] == [ids[1], "intro", "sum", ids[0], "last", ids[2]]
    assert cells[3] == {
        "cell_type": "code", "execution_count": None, "id": ids[0], "metadata": {}, "outputs": [], "source": ["a\n", "b"],
    }  # fmt: skip
    assert f'  {{\n   "cell_type": "code",\n   "execution_count": null,\n   "id": "{ids[0]}",\n' in text
    for each in ids:
        await session.says("NotebookEdit", notebook_path="n.ipynb", cell_id=each, new_source="", edit_mode="delete")
    assert (tmp_path / "n.ipynb").read_text() == NOTEBOOK


async def test_the_first_cell_of_an_empty_notebook_and_the_last_of_one(session: Session, tmp_path: Path) -> None:
    empty = '{\n "cells": [],\n "metadata": {},\n "nbformat": 4,\n "nbformat_minor": 4\n}\n'
    (tmp_path / "e.ipynb").write_text(empty)
    await session.says("NotebookEdit", notebook_path="e.ipynb", edit_mode="insert", cell_type="code", new_source="1")
    text = (tmp_path / "e.ipynb").read_text()
    assert text.startswith('{\n "cells": [\n  {\n   "cell_type": "code",\n')
    assert json.loads(text)["cells"][0].get("id") is None
    await session.says("Read", file_path="e.ipynb")
    await session.says("NotebookEdit", notebook_path="e.ipynb", cell_id="cell-0", new_source="", edit_mode="delete")
    assert (tmp_path / "e.ipynb").read_text() == empty


async def test_another_type_gives_a_cell_the_members_of_that_type(session: Session, tmp_path: Path) -> None:
    await session.says("NotebookEdit", notebook_path="n.ipynb", cell_id="sum", cell_type="markdown", new_source="# A")
    await session.says("NotebookEdit", notebook_path="n.ipynb", cell_id="intro", cell_type="code", new_source="1")
    text = (tmp_path / "n.ipynb").read_text()
    first, second, _ = json.loads(text)["cells"]
    assert second == {"cell_type": "markdown", "id": "sum", "metadata": {}, "source": ["# A"]}
    assert first | {"metadata": {}} == {
        "cell_type": "code", "execution_count": None, "id": "intro", "metadata": {}, "outputs": [], "source": ["1"],
    }  # fmt: skip
    assert text.endswith(NOTEBOOK[NOTEBOOK.index(' "metadata": {\n  "language_info"') :])


async def test_a_cell_that_another_session_changed_is_refused_and_others_are_not(
    files: FileToolsFacade, session: Session, tmp_path: Path
) -> None:
    other = Session(files, CLAUDE_CODE, "s2")
    await other.says("Read", file_path="n.ipynb")
    await other.says("NotebookEdit", notebook_path="n.ipynb", cell_id="sum", new_source="theirs")
    for mode in ("replace", "delete"):
        said = await session.refuses(
            "EDIT_CONFLICT", "NotebookEdit", notebook_path="n.ipynb", cell_id="sum", new_source="mine", edit_mode=mode
        )
        assert "current: theirs" in said
    await session.says("NotebookEdit", notebook_path="n.ipynb", cell_id="last", new_source="mine")
    await session.says("Read", file_path="n.ipynb")
    await session.says("NotebookEdit", notebook_path="n.ipynb", cell_id="sum", new_source="ours")
    sources = ["".join(cell["source"]) for cell in json.loads((tmp_path / "n.ipynb").read_text())["cells"]]
    assert sources == ['# Größe "quoted"', "ours", "mine"]


async def test_cells_that_sessions_insert_at_once_are_all_there(files: FileToolsFacade, tmp_path: Path) -> None:
    sessions = [Session(files, CLAUDE_CODE, f"s{number}") for number in range(8)]
    calls = [
        each.says(
            "NotebookEdit", notebook_path="n.ipynb", cell_id="sum", edit_mode="insert", cell_type="code",
            new_source=f"made {number}",
        )
        for number, each in enumerate(sessions)
    ]  # fmt: skip
    await asyncio.gather(*calls)
    sources = {"".join(cell["source"]) for cell in json.loads((tmp_path / "n.ipynb").read_text())["cells"]}
    assert {f"made {number}" for number in range(8)} <= sources


@pytest.mark.parametrize(
    "layout",
    [{"indent": 1, "ensure_ascii": False}, {"indent": 4}, {"indent": "\t", "ensure_ascii": False}, {"indent": None}],
)
async def test_a_notebook_keeps_its_layout(session: Session, tmp_path: Path, layout: dict[str, Any]) -> None:
    notebook = json.loads(NOTEBOOK)
    (tmp_path / "n.ipynb").write_text(json.dumps(notebook, **layout))
    await session.says("Read", file_path="n.ipynb")
    await session.says("NotebookEdit", notebook_path="n.ipynb", cell_id="last", new_source="ß")
    notebook["cells"][2]["source"] = ["ß"]
    assert (tmp_path / "n.ipynb").read_text() == json.dumps(notebook, **layout)
