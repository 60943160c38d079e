"""The text editor of Anthropic's models: refusals that repair the call, then each command, in the sentences they know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from anthropic.types import ToolResultBlockParam, ToolTextEditor20250728Param, ToolUseBlock
from pydantic import TypeAdapter

import filetools
from filetools.facade.facade import FileToolsFacade
from filetools.tools.dialects import TEXT_EDITOR
from filetools.tools.exports import answer
from tests.support.dialects import Session

DIALECT = TEXT_EDITOR
TOOL = "str_replace_based_edit_tool"
POEM = "roses\nviolets\nroses\nsugar\n"
BEFORE = {
    "poem.txt": POEM.encode(), "src/deep/deeper/hidden.py": b"", "src/.cache": b"", "logo.png": b"\x89PNG\r\n\x1a\n\0",
}  # fmt: skip


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"command": "undo_edit", "path": "poem.txt"}, "INVALID_ARGUMENT", "command"),
    ({"command": "create", "path": "a"}, "INVALID_ARGUMENT", "Parameter `file_text` is required for command: create"),
    (
        {"command": "insert", "path": "poem.txt", "insert_line": 1, "insert_text": "a", "new_str": "b"},
        "INVALID_ARGUMENT", "different values",
    ),
    ({"command": "view", "path": "poem.txt", "range": [1, 2]}, "INVALID_ARGUMENT", "did you mean 'view_range'"),
    ({"command": "view", "path": "src", "view_range": [1, 2]}, "INVALID_ARGUMENT", "is not allowed when `path` points"),
    ({"command": "view", "path": "logo.png"}, "INVALID_ARGUMENT", "logo.png is binary (image/png"),
    ({"command": "view", "path": "no.txt"}, "FILE_NOT_FOUND", "The path no.txt does not exist. Please provide a valid path."),
    (
        {"command": "create", "path": "poem.txt", "file_text": "x"},
        "FILE_EXISTS", "File already exists at: poem.txt. Cannot overwrite files using command `create`.",
    ),
    (
        {"command": "str_replace", "path": "poem.txt", "old_str": "{lilies}", "new_str": ""},
        "EDIT_NOT_FOUND", "No replacement was performed, old_str `{lilies}` did not appear verbatim in poem.txt.",
    ),
    (
        {"command": "str_replace", "path": "poem.txt", "old_str": "roses", "new_str": "x"},
        "EDIT_AMBIGUOUS", "Multiple occurrences of old_str `roses` in lines 1, 3. Please ensure it is unique",
    ),
    (
        {"command": "insert", "path": "poem.txt", "insert_line": 5, "insert_text": "x"},
        "INVALID_ARGUMENT", "Invalid `insert_line` parameter: 5. It should be within the range of lines of the file: [0, 4]",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "code", "said"), REFUSED, ids=lambda value: str(value)[:60])
async def test_a_mistake_is_refused_in_words_that_repair_it(
    session: Session, tmp_path: Path, arguments: dict[str, Any], code: str, said: str
) -> None:
    assert said in await session.refuses(code, TOOL, **arguments)
    assert (tmp_path / "poem.txt").read_text() == POEM


async def test_a_view_numbers_lines_and_a_range_shows_a_part(session: Session) -> None:
    head = "Here's the result of running `cat -n` on poem.txt:\n"
    whole = "     1\troses\n     2\tviolets\n     3\troses\n     4\tsugar\n"
    assert await session.says(TOOL, command="view", path="poem.txt") == head + whole.rstrip()
    assert await session.says(TOOL, command="view", path="poem.txt", view_range=[2, 3]) == (
        head + "     2\tviolets\n     3\troses"
    )
    assert await session.says(TOOL, command="view", path="poem.txt", view_range=[4, -1]) == head + "     4\tsugar"
    assert await session.says(TOOL, command="view", path="poem.txt", view_range=[4, 99]) == head + "     4\tsugar"


@pytest.mark.parametrize("path", [".", "/"])
async def test_a_folder_is_shown_two_levels_deep_without_what_is_hidden(session: Session, path: str) -> None:
    shown = (await session.says(TOOL, command="view", path=path)).splitlines()
    assert shown[0] == f"Here's the files and directories up to 2 levels deep in {path}, excluding hidden items:"
    prefix = path.rstrip("/")
    assert shown[2:] == [f"{prefix}/{each}" for each in ("src/", "src/deep/", "logo.png", "poem.txt")]


async def test_text_that_is_there_once_is_replaced_and_the_place_is_shown(session: Session, tmp_path: Path) -> None:
    said = await session.says(
        TOOL, command="str_replace", path="poem.txt", old_str="violets", new_str="lilies\nand more"
    )
    assert said.startswith(
        "The file poem.txt has been edited. Here's the result of running `cat -n` on a snippet of poem.txt:"
    )
    assert "     2\tlilies\n     3\tand more\n" in said
    assert (tmp_path / "poem.txt").read_text() == "roses\nlilies\nand more\nroses\nsugar\n"


@pytest.mark.parametrize("name", ["insert_text", "new_str"])
async def test_lines_are_inserted_at_the_top_and_behind_a_line(session: Session, tmp_path: Path, name: str) -> None:
    await session.says(TOOL, command="insert", path="poem.txt", insert_line=0, **{name: "first"})
    said = await session.says(TOOL, command="insert", path="/poem.txt", insert_line=5, **{name: "last\n"})
    assert "     6\tlast\n" in said
    assert (tmp_path / "poem.txt").read_text() == f"first\n{POEM}last\n"


async def test_edits_of_two_sessions_are_both_there_and_one_hears_of_the_other(
    files: FileToolsFacade, session: Session, tmp_path: Path
) -> None:
    other = Session(files, TEXT_EDITOR, "s2")
    await session.says(TOOL, command="view", path="poem.txt")
    await other.says(TOOL, command="str_replace", path="poem.txt", old_str="sugar", new_str="honey")
    said = await session.says(TOOL, command="str_replace", path="poem.txt", old_str="violets", new_str="lilies")
    assert "changed since you saw it: poem.txt by agent agent" in said
    assert (tmp_path / "poem.txt").read_text() == "roses\nlilies\nroses\nhoney\n"


async def test_the_setting_for_texts_bounds_a_view(files: FileToolsFacade, tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings={"max_text_characters": 30}) as bound:
        tools = Session(bound, TEXT_EDITOR).tools
        said = tools.show(TOOL, await tools.call(TOOL, {"command": "view", "path": "poem.txt"})).text
    assert said.splitlines()[1:] == [
        "     1\troses",
        "     2\tviolets",
        "[lines 1-2 of 4; view_range [3, -1] shows the rest]",
    ]


async def test_a_change_of_text_that_a_person_has_not_saved_says_so(files: FileToolsFacade, session: Session) -> None:
    person = files.for_actor(filetools.Actor(kind="editor", id="ann"))
    opened = await person.buffers.open("poem.txt")
    await person.buffers.change(opened.handle, buffer_version=opened.buffer_version, text="typed\n")
    assert "     1\ttyped" in await session.says(TOOL, command="view", path="poem.txt")
    said = await session.says(TOOL, command="str_replace", path="poem.txt", old_str="typed", new_str="agreed")
    assert "unsaved text of an open document" in said
    assert (await person.buffers.read(opened.handle)).text == "agreed\n"


def test_the_definition_is_what_the_sdk_sends() -> None:
    hosted = TypeAdapter(ToolTextEditor20250728Param).validate_python(TEXT_EDITOR.hosted, strict=True)
    assert hosted == {"type": "text_editor_20250728", "name": TOOL}


async def test_blocks_of_the_sdk_are_answered_with_blocks_it_takes(session: Session) -> None:
    for path, is_error in (("poem.txt", False), ("no", True)):
        asked: dict[str, object] = {"command": "view", "path": path}
        block = await answer(session.tools, ToolUseBlock(id="toolu_1", type="tool_use", name=TOOL, input=asked))
        taken = TypeAdapter(ToolResultBlockParam).validate_python(block, strict=True)
        assert (taken["tool_use_id"], taken.get("is_error")) == ("toolu_1", is_error)
