"""`live.js` alone: what is typed arrives once, on both sides, whatever happens between."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.support.browsers import Served
from tests.support.live_pages import LivePage


def test_what_is_typed_arrives_and_is_saved(serving: Served, page: Page) -> None:
    (serving.root / "a.txt").write_text("one\ntwo\n")
    live = LivePage(page, serving)
    live.open("a.txt")
    live.run("field.type(0, 3, 'ONE')")
    live.settle()
    assert live.run("textOf('a.txt')") == "ONE\ntwo\n"
    serving.does("edit_file", path="a.txt", old_string="two", new_string="TWO")
    live.until("field.text === 'ONE\\nTWO\\n'")
    live.run("await field.document.save()")
    assert (serving.root / "a.txt").read_text() == "ONE\nTWO\n"
    assert live.run("[field.document.dirty, Object.keys(sessionStorage)]") == [False, []]
