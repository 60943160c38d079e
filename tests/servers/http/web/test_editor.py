"""The editor: tabs, what it shows of files, and that others' edits leave the person where they are."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browsers import Desk, Served, Watched, connected, served, until, window
from tests.support.live_pages import LATE_PARTS, OUTAGE
from tests.support.pages import LATER, open_file, settled, shows, text_of

LINES = "".join(f"line {number}\n" for number in range(1, 401))


@pytest.fixture
def page(desk: Desk) -> Iterator[Page]:
    """The page of all tests here; those that leave it otherwise open one themselves."""
    with desk.cleared() as cleared:
        yield cleared


@pytest.fixture
def serving(desk: Desk, page: Page) -> Served:
    return desk.serving


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
    open_file(page, "notes.md")
    page.keyboard.type("zero ")
    expect(page.locator("#tabs [data-path='notes.md']")).to_have_attribute("data-dirty", "true")
    expect(page).to_have_title("● notes.md · project · filetools")
    page.keyboard.press("Control+s")
    expect(page.locator("#status")).to_have_text("Saved notes.md.")
    assert (serving.root / "notes.md").read_text() == "zero one\n"
    expect(page).to_have_title("notes.md · project · filetools")


def test_an_agents_edit_above_leaves_selections_and_view(serving: Served, page: Page) -> None:
    (serving.root / "notes.md").write_text(LINES)
    open_file(page, "notes.md")
    page.evaluate("filetools.editor.code.setScrollTop(3001, 1)")
    select(page, (175, 2, 177, 4), (180, 3, 180, 3))
    before, text = view_of(page), LINES
    for old, new, by in (("line 3\n", "line 3\nmore\nand more\n", 2), ("line 4\nline 5\nline 6\n", "", -1)):
        edit(serving, "notes.md", old, new)
        text = text.replace(old, new, 1)
        shows(page, text)
        wanted = [[line + by, column, to_line + by, to] for line, column, to_line, to in before["selections"]]
        assert view_of(page) == {**before, "selections": wanted}
    assert text_of(page) == text


def test_a_file_in_the_background_is_found_where_it_was_left(serving: Served, page: Page) -> None:
    (serving.root / "notes.md").write_text(LINES)
    (serving.root / "other.md").write_text("other\n")
    open_file(page, "notes.md")
    page.evaluate("filetools.editor.code.setScrollTop(3001, 1)")
    select(page, (175, 2, 177, 4))
    before = view_of(page)
    open_file(page, "other.md")
    edit(serving, "notes.md", "line 3\n", "line 3\nmore\n")
    until(page, "filetools.editor.tabs[0].document.text.includes('more')")
    open_file(page, "notes.md")
    assert view_of(page) == {**before, "selections": [[176, 2, 178, 4]]}


def test_an_edit_where_the_caret_is_leaves_it_where_the_person_means_it(serving: Served, page: Page) -> None:
    text = "one\ntwo\nthree\n"
    cases: list[tuple[int, str, tuple[int, int, int, int], list[int]]] = [
        (4, "X", (2, 1, 2, 1), [2, 1, 2, 1]),  # beside a caret: what is typed next stands before it
        (4, "whole line\n", (2, 1, 2, 1), [3, 1, 3, 1]),  # a caret goes with its line
        (7, "\nmore", (2, 4, 2, 4), [2, 4, 2, 4]),  # at the end of a caret's line
        (4, "X", (2, 1, 2, 4), [2, 2, 2, 5]),  # before what is selected
        (7, "X", (2, 4, 2, 1), [2, 4, 2, 1]),  # behind what is selected, from right to left
        (6, "X", (2, 1, 2, 4), [2, 1, 2, 5]),  # in the midst of it
    ]
    for number, (place, new, selection, kept) in enumerate(cases):
        path = f"{number}.md"
        (serving.root / path).write_text(text)
        open_file(page, path)
        select(page, selection)
        opened = serving.does("buffer_open", path=path)
        edits = [{"start": place, "end": place, "text": new}]
        serving.does("buffer_change", handle=opened["handle"], buffer_version=opened["buffer_version"], edits=edits)
        until(page, "filetools.editor.active.document.text.length > 14")
        assert (view_of(page)["selections"], text_of(page)) == ([kept], text[:place] + new + text[place:]), number


def undone(page: Page, times: int, key: str = "Control+z") -> list[str]:
    """Press a key some times, and return the text after each."""
    seen = []
    for _ in range(times):
        page.keyboard.press(key)
        seen.append(text_of(page))
    return seen


def test_undo_leaves_what_an_agent_saved_out_of_sight(serving: Served, page: Page) -> None:
    (serving.root / "notes.md").write_text(LINES)
    open_file(page, "notes.md")
    page.keyboard.type("oops")
    settled(page)
    edit(serving, "notes.md", "line 250\n", "line 250 of the agent\n")
    text = LINES.replace("line 250\n", "line 250 of the agent\n")
    shows(page, "oops" + text)
    assert undone(page, 2) == [text, text]
    page.keyboard.press("Control+s")
    expect(page.locator("#status")).to_have_text("Saved notes.md.")
    assert (serving.root / "notes.md").read_text() == text


def test_undo_and_redo_take_a_persons_steps_alone(serving: Served, page: Page) -> None:
    """An agent's edit parts the letters before it from those after it."""
    (serving.root / "notes.md").write_text("one\ntwo\n")
    open_file(page, "notes.md")
    page.keyboard.type("abc")
    settled(page)
    edit(serving, "notes.md", "two", "TWO")
    shows(page, "abcone\nTWO\n")
    page.keyboard.type("def")
    assert undone(page, 3) == ["abcone\nTWO\n", "one\nTWO\n", "one\nTWO\n"]
    edit(serving, "notes.md", "TWO", "2")
    shows(page, "one\n2\n")
    assert undone(page, 3, "Control+y") == ["abcone\n2\n", "abcdefone\n2\n", "abcdefone\n2\n"]
    page.keyboard.press("Control+z")
    page.keyboard.type("x")
    assert undone(page, 1, "Control+y") == ["abcxone\n2\n"]


def test_undo_knows_own_text_in_the_midst_of_others(serving: Served, page: Page) -> None:
    (serving.root / "midst.md").write_text("one\n2\n3\nfour\n")
    open_file(page, "midst.md")
    page.keyboard.type("helloworld")
    select(page, (4, 1, 4, 5))  # over "four"
    page.keyboard.press("Delete")
    page.keyboard.type("gone\n")
    settled(page)
    opened = serving.does("buffer_open", path="midst.md")
    assert opened["text"] == "helloworldone\n2\n3\ngone\n\n"
    edits = [{"start": 5, "end": 5, "text": "BIG"}, {"start": 18, "end": 23, "text": ""}]
    serving.does("buffer_change", handle=opened["handle"], buffer_version=opened["buffer_version"], edits=edits)
    shows(page, "helloBIGworldone\n2\n3\n\n")
    assert undone(page, 3) == ["helloBIGworldone\n2\n3\nfour\n", "BIGone\n2\n3\nfour\n", "BIGone\n2\n3\nfour\n"]
    assert undone(page, 2, "Control+y")[1] == "helloBIGworldone\n2\n3\n\n"


@pytest.mark.parametrize("change", ["moved", "reconnected", "another window", "background"])
def test_undo_goes_on_after_what_happens_to_a_file(serving: Served, page: Page, desk: Desk, change: str) -> None:
    path, text = f"{change}.md", "one\ntwo\n"  # documents stay open to agents after a test
    (serving.root / path).write_text(text)
    open_file(page, path)
    page.keyboard.type("mine")
    settled(page)
    if change == "moved":
        path = "undone.py"
        serving.does("move_file", source="moved.md", destination=path)
        until(page, "filetools.editor.active.document.path === 'undone.py'")
    elif change == "reconnected":
        page.evaluate("filetools.live.reconnect()")
    elif change == "background":
        (serving.root / "other.md").write_text("other\n")
        open_file(page, "other.md")
    if change == "another window":
        other = page.context.new_page()
        desk.watched.watch(other)
        other.goto(f"{serving.server.address}/")
        connected(other)
        open_file(other, path)
        other.keyboard.press("Control+End")
        other.keyboard.type("theirs")
        settled(other)
        assert undone(other, 2) == ["mineone\ntwo\n", "mineone\ntwo\n"]
        other.close()
    else:
        opened = serving.does("buffer_open", path=path)
        edits = [{"start": 8, "end": 11, "text": "TWO"}]
        serving.does("buffer_change", handle=opened["handle"], buffer_version=opened["buffer_version"], edits=edits)
        text = "one\nTWO\n"
    open_file(page, path)
    shows(page, f"mine{text}")
    assert undone(page, 2) == [text, text]
    settled(page)


def test_white_space_of_a_new_line_is_not_taken_away_by_anothers_edit(serving: Served, page: Page) -> None:
    (serving.root / "a.py").write_text("def f():\n    pass\nend\n")
    open_file(page, "a.py")
    for key in ("ArrowDown", "End", "Enter"):
        page.keyboard.press(key)
    settled(page)
    edit(serving, "a.py", "end", "END")
    shows(page, "def f():\n    pass\n    \nEND\n")
    page.keyboard.type("x")
    settled(page)
    assert text_of(page) == "def f():\n    pass\n    x\nEND\n"


def test_what_nobody_typed_stays_in_the_file(serving: Served, page: Page) -> None:
    cases = [
        (b"one\r\ntwo\r\n", b"x\r\none\r\ntwo\r\n", ["CRLF", "UTF-8"]),
        (b"one\r\ntwo\n", b"x\r\none\r\ntwo\n", ["mixed line ends", "UTF-8"]),
        (b"\xef\xbb\xbf\xef\xbb\xbfone\n", b"\xef\xbb\xbfx\n\xef\xbb\xbfone\n", ["LF", "UTF-8 with BOM"]),
        ("one\u2028two\x85\n".encode(), "x\none\u2028two\x85\n".encode(), ["LF", "UTF-8"]),
        (b"caf\xe9\n", b"x\ncaf\xe9\n", ["LF", "LATIN-1"]),
    ]
    for number, (content, typed, facts) in enumerate(cases):
        path = f"{number}.txt"
        (serving.root / path).write_bytes(content)
        open_file(page, path)
        settled(page)
        assert page.locator("#file-bar [data-fact=newline], #file-bar [data-fact=encoding]").all_inner_texts() == facts
        page.keyboard.type("x\n")
        page.keyboard.press("Control+s")
        expect(page.locator("#status")).to_have_text(f"Saved {path}.")
        text_of(page)
        assert (serving.root / path).read_bytes() == typed


def test_a_line_of_two_million_characters_can_be_edited(serving: Served, page: Page) -> None:
    (serving.root / "long.txt").write_text("x y" * 700_000)
    open_file(page, "long.txt")
    page.keyboard.type("abc")
    page.keyboard.press("Control+End")
    page.keyboard.type("def")
    page.keyboard.press("Control+s")
    expect(page.locator("#status")).to_have_text("Saved long.txt.")
    assert (serving.root / "long.txt").read_text() == f"abc{'x y' * 700_000}def"


def test_what_no_editor_opens_is_shown_read_only(serving: Served, page: Page) -> None:
    strange = "<img src=x onerror=alert(1)>.bin"
    (serving.root / strange).write_bytes(bytes(range(256)) * 1024)
    (serving.root / "big.log").write_text("a line\n" * 1_700_000)
    open_file(page, strange)
    view = page.get_by_role("region", name=f"{strange}, read-only")
    expect(view.get_by_role("heading")).to_have_text(f"A binary file: {strange}")
    expect(view).to_contain_text("262,144 bytes")
    with page.expect_download() as downloaded:
        view.get_by_role("link", name="Download").click()
    assert downloaded.value.path().read_bytes() == (serving.root / strange).read_bytes()
    open_file(page, "big.log")
    view = page.get_by_role("region", name="big.log, read-only")
    expect(view.get_by_role("heading")).to_have_text("A text that is too large to edit here: big.log")
    expect(view.locator("pre")).to_contain_text("a line\na line\n")


def test_a_viewed_file_that_becomes_text_can_be_edited(serving: Served, page: Page) -> None:
    (serving.root / "a.bin").write_bytes(b"\0\1\2")
    open_file(page, "a.bin")
    expect(page.get_by_role("region", name="a.bin, read-only")).to_be_visible()
    (serving.root / "a.bin").write_text("text\n")
    until(page, "filetools.editor.active.document?.text === 'text\\n'")
    page.keyboard.press("Alt+PageDown")
    page.keyboard.type("a ")
    settled(page)
    assert text_of(page) == "a text\n"


COVERED = """() => {
  const name = document.querySelector(".caret-name").getBoundingClientRect();
  return [...document.querySelectorAll(".view-line > span")].map((text) => text.getBoundingClientRect()).filter(
    (text) => text.left < name.right && text.right > name.left && text.top < name.bottom && text.bottom > name.top);
}"""


def test_others_are_named_beside_what_they_changed_and_their_caret_goes_after_a_while(
    root: Path, browser: Browser, watched: Watched
) -> None:
    (root / "notes.md").write_text("one of three\ntwo\nthree\n")
    with served(root) as serving, window(browser, watched) as (_, page):
        page.add_init_script(LATER)
        serving.log_in(page)
        open_file(page, "notes.md")
        edit(serving, "notes.md", "two", "TWO")
        name = page.locator(".caret-name")
        expect(name).to_have_text("http (agent)")
        assert page.evaluate(COVERED) == []
        expect(page.locator(".glow")).to_have_count(1)
        expect(page.locator("#file-bar [data-fact=others]")).to_have_text("editing now: http (agent)")
        expect(page.locator(".mark")).to_have_attribute("title", re.compile(r"^http \(agent\), \d\d:\d\d:\d\d$"))
        page.keyboard.press("ArrowDown")
        expect(page.locator("#file-bar [data-fact=who]")).to_have_text(re.compile(r"^http \(agent\), \d\d:\d\d:\d\d$"))
        page.keyboard.press("ArrowUp")
        page.keyboard.type("zero\n")
        until(page, "filetools.editor.active.others.at(3).startsWith('http')")
        page.evaluate("pass(31_000)")
        expect(name).to_have_count(0)
        expect(page.locator("#file-bar [data-fact=others]")).to_be_hidden()
        expect(page.locator(".glow")).to_have_count(0)
        expect(page.locator(".mark")).to_have_count(1)


def test_text_that_was_not_sent_is_there_after_a_reload(serving: Served, page: Page, desk: Desk) -> None:
    desk.watched.expect(*OUTAGE)
    (serving.root / "notes.md").write_text("one\n")
    (serving.root / "other.md").write_text("other\n")
    open_file(page, "other.md")
    open_file(page, "notes.md")
    page.evaluate("filetools.live.close()")
    page.keyboard.type("kept ")
    expect(page.locator("#file-bar [data-fact=state]")).to_have_text("kept in this window, not sent")
    page.reload()
    connected(page)
    until(page, "filetools.editor.active?.document?.path === 'notes.md'")
    settled(page)
    assert text_of(page) == "kept one\n"
    assert page.evaluate("filetools.editor.tabs.map((each) => each.path)") == ["other.md", "notes.md"]
    page.keyboard.press("Control+s")
    expect(page.locator("#status")).to_have_text("Saved notes.md.")
    assert (serving.root / "notes.md").read_text() == "kept one\n"


def test_typing_goes_on_over_a_killed_server_and_an_expired_login(
    root: Path, browser: Browser, watched: Watched
) -> None:
    watched.expect(*OUTAGE, *LATE_PARTS)
    (root / "notes.md").write_text("one\n")
    with window(browser, watched) as (context, page):
        with served(root) as first:
            first.log_in(page)
            open_file(page, "notes.md")
            page.keyboard.type("a")
            settled(page)
            first.server.stop(signal.SIGKILL)
            page.keyboard.type("b")
            page.keyboard.press("Control+s")
            expect(page.locator("#status")).to_contain_text("Not saved: notes.md")
            port = str(first.server.port)
        # The logins of a server end with it.
        with served(root, "--port", port) as second:
            until(page, "filetools.live.state === 'logged-out'")
            page.bring_to_front()
            page.keyboard.type("c ")
            second.log_in(context.new_page())
            until(page, "filetools.live.state === 'connected'")
            settled(page)
            assert text_of(page) == "abc one\n"
            page.keyboard.press("Control+s")
            expect(page.locator("#status")).to_have_text("Saved notes.md.")
            assert (root / "notes.md").read_text() == "abc one\n"


def test_a_person_saves_while_an_agent_edits(serving: Served, page: Page) -> None:
    (serving.root / "notes.md").write_text(LINES)
    open_file(page, "notes.md")
    text = LINES
    for number in range(5):
        page.keyboard.type(f"person {number}\n")
        page.keyboard.press("Control+s")
        edit(serving, "notes.md", f"line {300 + number}\n", f"agent {number}\n")
        text = text.replace(f"line {300 + number}\n", f"agent {number}\n")
        until(page, "!filetools.editor.active.task")
    text = "".join(f"person {number}\n" for number in range(5)) + text
    page.keyboard.press("Control+s")
    until(page, "!filetools.editor.active.task && !filetools.editor.active.dirty")
    shows(page, text)
    assert (serving.root / "notes.md").read_text() == text_of(page) == text


def test_a_save_over_the_same_place_asks(serving: Served, page: Page) -> None:
    for answer, wanted in (
        ("Overwrite", "mine\n2\n3\n4\nfive\n"),
        ("Merge …", "mine\n2\n3\n4\nFIVE\n"),
        ("Cancel", "theirs\n2\n3\n4\nFIVE\n"),
    ):
        file = serving.root / f"{answer[:5]}.md"
        file.write_text("one\n2\n3\n4\nfive\n")
        open_file(page, file.name)
        page.keyboard.press("Shift+End")
        page.keyboard.type("mine")
        settled(page)
        file.write_text("theirs\n2\n3\n4\nFIVE\n")
        until(page, "filetools.editor.active.document.behind")
        page.keyboard.press("Control+s")
        page.get_by_role("alertdialog").get_by_role("button", name=answer).click()
        if answer == "Merge …":
            page.get_by_role("button", name="Use the result").click()
        until(page, "!filetools.editor.active.task")
        assert file.read_text() == wanted
        assert text_of(page) == ("mine\n2\n3\n4\nfive\n" if answer == "Cancel" else wanted)


@pytest.mark.parametrize("meanwhile", [None, "two\r\nTHREE\n"])
def test_what_an_encoding_lacks_is_saved_in_another_if_the_person_wants(
    serving: Served, page: Page, meanwhile: str | None
) -> None:
    file = serving.root / "a.txt"
    file.write_bytes("caf\xe9\r\ntwo\r\nthree\n".encode("latin-1"))
    open_file(page, "a.txt")
    page.keyboard.type("\u20ac")
    settled(page)
    if meanwhile:
        file.write_bytes("caf\xe9\r\n".encode("latin-1") + meanwhile.encode())
        until(page, "filetools.editor.active.document.text.includes('THREE')")
    before = file.read_bytes()
    for answer in ("Cancel", "Save as UTF-8"):
        assert file.read_bytes() == before
        page.keyboard.press("Control+s")
        box = page.get_by_role("alertdialog", name="LATIN-1 has no \u201c\u20ac\u201d")
        box.get_by_role("button", name=answer).click()
        until(page, "!filetools.editor.active.task")
    expect(page.locator("#status")).to_have_text("Saved a.txt.")
    assert file.read_bytes() == b"\xe2\x82\xac" + before.decode("latin-1").encode()
    expect(page.locator("#file-bar [data-fact=encoding]")).to_have_text("UTF-8")
    page.keyboard.type("x")
    page.keyboard.press("Control+s")
    until(page, "!filetools.editor.active.task && !filetools.editor.active.dirty")
    assert file.read_bytes().decode().startswith("\u20acxcaf\xe9")


def test_closing_a_file_that_is_not_saved_asks(serving: Served, page: Page) -> None:
    for answer, on_disk, tabs in (("Save", "x one\n", 0), ("Discard", "one\n", 0), ("Cancel", "one\n", 1)):
        file = serving.root / f"{answer}.md"
        file.write_text("one\n")
        open_file(page, file.name)
        page.keyboard.type("x ")
        page.keyboard.press("Alt+w")
        page.keyboard.press("Alt+w")  # is asked once
        page.get_by_role("alertdialog").get_by_role("button", name=answer, exact=True).click()
        expect(page.get_by_role("alertdialog")).to_have_count(0)
        expect(page.get_by_role("tab")).to_have_count(tabs)
        assert file.read_text() == on_disk
        if answer == "Discard":
            expect(page.locator("#status")).to_contain_text("Its text is kept as version sha256:")
    assert text_of(page) == "x one\n"


def test_a_file_that_is_moved_or_deleted_stays_under_the_caret(serving: Served, page: Page) -> None:
    (serving.root / "notes.md").write_text("one\n")
    open_file(page, "notes.md")
    page.keyboard.type("a ")
    settled(page)
    serving.does("move_file", source="notes.md", destination="moved.py")
    expect(page.locator("#tabs [role=tab]")).to_have_attribute("data-path", "moved.py")
    page.keyboard.type("b ")
    page.keyboard.press("Control+s")
    expect(page.locator("#status")).to_have_text("Saved moved.py.")
    (serving.root / "moved.py").unlink()
    expect(page.locator("#tabs [role=tab]")).to_have_attribute("data-deleted", "true")
    expect(page.locator("#file-bar [data-fact=state]")).to_contain_text("deleted")
    page.keyboard.type("c ")
    page.keyboard.press("Control+s")
    until(page, "!filetools.editor.active.dirty && !filetools.editor.active.document.deleted")
    assert (serving.root / "moved.py").read_text() == text_of(page) == "a b c one\n"


@pytest.mark.parametrize("width", [1280, 640])
def test_bars_that_come_and_go_do_not_move_the_text(serving: Served, page: Page, desk: Desk, width: int) -> None:
    desk.watched.expect(*OUTAGE)
    (serving.root / "notes.md").write_text(LINES)
    page.set_viewport_size({"width": width, "height": 700})
    open_file(page, "notes.md")
    page.keyboard.type("x")
    place = page.locator("#main .view-line").nth(1)
    expect(place).to_be_visible()
    before = place.bounding_box()
    page.keyboard.press("Alt+w")
    expect(page.get_by_role("alertdialog")).to_be_visible()
    assert place.bounding_box() == before
    page.evaluate("for (const id of ['question-bar', 'connection']) document.getElementById(id).hidden = false")
    page.evaluate("document.getElementById('connection').textContent = 'The server does not answer. '.repeat(9)")
    assert place.bounding_box() == before
    page.evaluate("for (const id of ['question-bar', 'connection']) document.getElementById(id).hidden = true")
    page.get_by_role("alertdialog").get_by_role("button", name="Cancel").click()
    page.set_viewport_size({"width": 1280, "height": 800})


def test_a_file_that_cannot_be_opened_takes_the_keyboard_from_nobody(serving: Served, page: Page) -> None:
    (serving.root / "notes.md").write_text("one\n")
    (serving.root / "folder").mkdir()
    open_file(page, "notes.md")
    page.focus("#filter")
    page.evaluate("filetools.editor.open('folder')")
    expect(page.locator("#status")).to_contain_text("folder cannot be opened")
    expect(page.locator("#filter")).to_be_focused()


def test_tabs_are_walked_and_closed_by_keys(serving: Served, page: Page) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        (serving.root / name).write_text(f"{name}\n")
    expect(page.get_by_text("Open a file from the tree")).to_be_visible()
    for name in ("a.txt", "b.txt", "c.txt"):
        open_file(page, name)
    page.keyboard.press("Alt+PageUp")
    until(page, "filetools.editor.active.path === 'b.txt'")
    page.get_by_role("tab", name="b.txt").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("tab", name="a.txt")).to_be_focused()
    expect(page.get_by_role("tab", name="a.txt")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Delete")
    expect(page.get_by_role("tab")).to_have_count(2)
    page.get_by_role("tab", name="c.txt").click(button="middle")
    expect(page.get_by_role("tab")).to_have_count(1)
    page.get_by_role("button", name="Close b.txt").click()
    expect(page.get_by_text("Open a file from the tree")).to_be_visible()
    expect(page).to_have_title("project · filetools")


def test_monaco_follows_the_colours_of_the_system_and_starts_one_worker(serving: Served, page: Page) -> None:
    for name in ("a.ts", "a.json", "a.css", "a.html"):
        (serving.root / name).write_text("{,}\n")
    for name in ("a.ts", "a.json", "a.css", "a.html"):
        open_file(page, name)
        page.keyboard.type(" ")
        settled(page)
    expect(page.locator(".monaco-editor.vs")).not_to_have_count(0)
    page.emulate_media(color_scheme="dark")
    expect(page.locator(".monaco-editor.vs-dark")).not_to_have_count(0)
    page.emulate_media(color_scheme=None)
    assert len(page.workers) <= 1
