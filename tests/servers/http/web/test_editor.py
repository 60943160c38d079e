"""The editor: tabs, what it shows of files, and that others' edits leave the person where they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.support.browsers import Served, until
from tests.support.pages import open_file, text_of

LINES = "".join(f"line {number}\n" for number in range(1, 401))


def view_of(page: Page) -> Any:
    """Return where the person is: caret and selections, the first visible line, and how far it is scrolled."""
    return page.evaluate(
        """() => {
          const code = filetools.editor.code;
          const line = code.getVisibleRanges()[0].startLineNumber;
          return {
            selections: code.getSelections().map((each) => [each.selectionStartLineNumber, each.selectionStartColumn,
              each.positionLineNumber, each.positionColumn]),
            text: code.getSelections().map((each) => code.getModel().getValueInRange(each)),
            first: code.getModel().getLineContent(line),
            rest: code.getScrollTop() - code.getTopForLineNumber(line),
          };
        }"""
    )


def select(page: Page, *places: tuple[int, int, int, int]) -> None:
    """Put selections into the text: from line and column, to line and column."""
    page.evaluate(
        """(places) => filetools.editor.code.setSelections(places.map(([line, column, toLine, toColumn]) => ({
          selectionStartLineNumber: line, selectionStartColumn: column,
          positionLineNumber: toLine, positionColumn: toColumn,
        })))""",
        places,
    )


def edit(serving: Served, path: str, old: str, new: str) -> None:
    """Change a file as an agent does."""
    serving.does("edit_file", path=path, old_string=old, new_string=new)


def test_a_file_is_shown_and_typing_reaches_the_file_when_it_is_saved(serving: Served, page: Page) -> None:
    (serving.root / "notes.md").write_text("one\n")
    serving.log_in(page)
    open_file(page, "notes.md")
    page.keyboard.type("zero ")
    expect(page.locator("#tabs [data-path='notes.md']")).to_have_attribute("data-dirty", "true")
    expect(page).to_have_title("● notes.md · filetools")
    page.keyboard.press("Control+s")
    expect(page.locator("#status")).to_have_text("Saved notes.md.")
    assert (serving.root / "notes.md").read_text() == "zero one\n"
    expect(page).to_have_title("notes.md · filetools")


@pytest.mark.parametrize(("old", "new"), [("line 3\n", "line 3\nmore\nand more\n"), ("line 4\nline 5\nline 6\n", "")])
def test_an_agents_edit_above_leaves_selections_and_view(serving: Served, page: Page, old: str, new: str) -> None:
    (serving.root / "notes.md").write_text(LINES)
    serving.log_in(page)
    open_file(page, "notes.md")
    page.evaluate("filetools.editor.code.setScrollTop(3001, 1)")
    select(page, (175, 2, 177, 4), (180, 3, 180, 3))
    before = view_of(page)
    edit(serving, "notes.md", old, new)
    until(page, f"filetools.editor.active.document.text === {LINES.replace(old, new, 1)!r}")
    after = view_of(page)
    moved = new.count("\n") - old.count("\n")
    wanted = [[line + moved, column, to_line + moved, to] for line, column, to_line, to in before["selections"]]
    assert after == {**before, "selections": wanted}
    assert text_of(page) == LINES.replace(old, new, 1)


def test_a_file_in_the_background_is_found_where_it_was_left(serving: Served, page: Page) -> None:
    (serving.root / "notes.md").write_text(LINES)
    (serving.root / "other.md").write_text("other\n")
    serving.log_in(page)
    open_file(page, "notes.md")
    page.evaluate("filetools.editor.code.setScrollTop(3001, 1)")
    select(page, (175, 2, 177, 4))
    before = view_of(page)
    open_file(page, "other.md")
    edit(serving, "notes.md", "line 3\n", "line 3\nmore\n")
    until(page, "filetools.editor.tabs[0].document.text.includes('more')")
    open_file(page, "notes.md")
    assert view_of(page) == {**before, "selections": [[176, 2, 178, 4]]}
