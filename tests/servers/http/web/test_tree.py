"""The tree in a real browser: it opens to what agents make, holds large folders, and never loses a file."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Error, Locator, Page, Route, expect

from filetools.content.version import version_of
from tests.support.browsers import (
    SHORT_PATIENCE_MS,
    Served,
    Watched,
    connected,
    have_patience,
    served,
    until,
    without_editor,
)
from tests.support.declared import REPOSITORY
from tests.support.dose import sampled
from tests.support.pages import open_file

TREE: Final = REPOSITORY / "filetools" / "servers" / "http" / "web" / "tree.js"
NAMES = "[...document.querySelectorAll('#tree [role=treeitem]')].map((row) => row.dataset.path)"


@pytest.fixture
def page(page: Page, watched: Watched) -> Page:
    """A page without an editor: the tree is another part of it."""
    watched.expect("was preloaded using link preload")
    return without_editor(page)


@pytest.fixture
def whole_page(page: Page) -> Page:
    page.unroute_all()
    return page


def rows(page: Page) -> list[str]:
    """Return the paths of the rows that are in the page."""
    found: list[str] = page.evaluate(NAMES)
    return found


def row(page: Page, path: str) -> Locator:
    return page.locator(f'#tree [data-path="{path}"]')


def badge(page: Page, path: str, kind: str) -> Locator:
    return row(page, path).locator(f'[data-badge="{kind}"]')


def focused(page: Page) -> str | None:
    """Return the path of the row that has the focus."""
    found: str | None = page.evaluate("document.activeElement.dataset.path ?? null")
    return found


def fill(folder: Path, number: int) -> None:
    """Make a folder with so many empty files."""
    folder.mkdir()
    for place in range(number):
        (folder / f"f{place:05}").touch()


def tell(page: Page, *events: dict[str, Any]) -> None:
    """Let events come all at once, as the server would tell them."""
    page.evaluate("(events) => { for (const event of events) filetools.live.emit('event', event); }", list(events))


def made(path: str, source: str = "agent") -> dict[str, Any]:
    """Return the event of a new file."""
    return {"event": "file:created", "path": path, "source": source, "actor": {"kind": source, "id": source}}


def all_rows(page: Page) -> list[str]:
    """Return the paths of all rows, in view or not: the tree is scrolled from its beginning to its end."""
    found: list[str] = page.evaluate(
        f"""async () => {{
          const tree = document.getElementById("tree");
          const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
          const paths = new Set();
          for (let top = 0; top < tree.scrollHeight; top += 300) {{
            tree.scrollTop = top;
            await drawn();
            for (const path of {NAMES}) paths.add(path);
          }}
          return [...paths];
        }}"""
    )
    return found


def test_an_agent_creates_a_deep_file_and_the_tree_opens_to_it(serving: Served, page: Page) -> None:
    (serving.root / "readme.md").write_text("one\n")
    serving.log_in(page, has_editor=False)
    expect(row(page, "readme.md")).to_be_visible()
    serving.does("write_file", path="a/b/c/d.py", content="pass\n")
    made = row(page, "a/b/c/d.py")
    expect(made).to_be_visible()
    expect(made.locator('[data-badge="new"]')).to_have_attribute("aria-label", "new, by http")
    assert rows(page) == ["a", "a/b", "a/b/c", "a/b/c/d.py", "readme.md"]
    assert made.get_attribute("aria-level") == "4"


def test_a_large_folder_is_listed_to_its_end_with_few_rows_in_the_page(serving: Served, page: Page) -> None:
    fill(serving.root / "many", 3_000)
    serving.log_in(page, has_editor=False)
    page.evaluate("window.filetools.tree.reveal('many/f00000')")
    last, tree = row(page, "many/f02999"), "document.getElementById('tree')"
    shown = "document.querySelector('#tree [data-path=\"many/f02999\"]')"
    until(page, f"({tree}.scrollTop = {tree}.scrollHeight, {shown})")  # each end lists the next page
    page.focus("#tree")
    page.keyboard.press("End")
    expect(last).to_have_attribute("aria-selected", "true")
    expect(last).to_be_visible()
    assert (last.get_attribute("aria-setsize"), last.get_attribute("aria-posinset")) == ("3000", "3000")
    assert len(rows(page)) < 100


def test_what_agents_and_programs_delete_and_move_is_seen(serving: Served, page: Page) -> None:
    serving.does("write_file", path="src/lib/one.py", content="1\n")
    serving.does("write_file", path="src/two.py", content="2\n")
    serving.log_in(page, has_editor=False)
    row(page, "src").click()
    row(page, "src/lib").click()
    expect(row(page, "src/lib/one.py")).to_be_visible()
    serving.does("move_file", source="src/lib", destination="src/kit")
    expect(row(page, "src/kit")).to_be_visible()
    expect(row(page, "src/lib")).to_have_count(0)
    expect(row(page, "src/lib/one.py")).to_have_count(0)
    expect(row(page, "src/kit/one.py")).to_be_visible()
    serving.does("delete_file", path="src/two.py")
    expect(row(page, "src/two.py")).to_have_count(0)


def test_a_storm_of_files_ends_with_exactly_what_is_on_disk(serving: Served, page: Page) -> None:
    (serving.root / "storm").mkdir()
    (serving.root / "storm" / "first").touch()
    serving.log_in(page, has_editor=False)
    page.evaluate("window.filetools.tree.reveal('storm/first')")
    expect(row(page, "storm/first")).to_be_visible()
    program = "import pathlib\nfor n in range(1500): pathlib.Path(f'storm/s{n:04}').write_text(str(n))\n" + (
        "for n in range(0, 1500, 3): pathlib.Path(f'storm/s{n:04}').unlink()\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=serving.root, check=True)
    left = sorted(each.name for each in (serving.root / "storm").iterdir())
    serving.does("write_file", path="storm/zz-last", content="")
    wanted = ["storm", *(f"storm/{name}" for name in [*left, "zz-last"])]
    seen: list[str] = []
    for _ in range(20):  # looked at again until the last event is there
        seen = all_rows(page)
        if seen == wanted:
            break
    assert seen == wanted


def test_a_row_that_no_path_names_leads_to_no_other_file(serving: Served, page: Page) -> None:
    (serving.root / "src").mkdir()
    (serving.root / "src/main.py").write_text("mine\n")
    (serving.root / "src\\main.py").write_text("strange\n")
    serving.log_in(page, has_editor=False)
    strange = page.locator("#tree [role=treeitem]", has_text="main.py").last
    for key in ("Enter", "F2", "Delete"):
        strange.click()
        page.keyboard.press(key)
        expect(page.locator("#status")).to_contain_text("no path can name this")
    expect(page.get_by_role("alertdialog")).to_have_count(0)
    expect(page.get_by_role("tab")).to_have_count(0)
    assert (serving.root / "src/main.py").read_text() == "mine\n"


def test_a_name_that_is_refused_is_told_and_nothing_is_made(serving: Served, page: Page, watched: Watched) -> None:
    watched.expect("status of 4..")
    (serving.root / "there.txt").write_text("mine\n")
    serving.log_in(page, has_editor=False)
    for name, told in (
        ("../outside.txt", "“../outside.txt”"), ("there.txt", "exists"), ("a\\b.txt", "“a\\b.txt”"), ("a%2525", "'a%2525'"),
    ):  # fmt: skip
        page.click('[aria-label="New file"]')
        page.locator("#tree-asking input").fill(name)
        page.keyboard.press("Enter")
        expect(page.locator("#status")).to_have_attribute("data-kind", "error")
        expect(page.locator("#status")).to_contain_text(told)
        expect(page.locator("#status")).to_have_text(re.compile(r"\.$"))
        page.keyboard.press("Escape")
    assert (serving.root / "there.txt").read_text() == "mine\n"
    assert not (serving.root.parent / "outside.txt").exists()
    assert [each.name for each in serving.root.iterdir() if each.name != ".filetools"] == ["there.txt"]


@pytest.mark.parametrize("step", ["open", "new folder", "delete"])
def test_an_error_goes_with_the_next_step_that_succeeds(
    serving: Served, whole_page: Page, watched: Watched, step: str
) -> None:
    watched.expect("status of 4..")
    (serving.root / "there.txt").write_text("mine\n")
    serving.log_in(whole_page)
    page, status = whole_page, whole_page.locator("#status")
    page.click('[aria-label="New file"]')
    page.locator("#tree-asking input").fill("there.txt")
    page.keyboard.press("Enter")
    expect(status).to_have_text("It exists already. Choose another name.")
    page.keyboard.press("Escape")
    if step == "open":
        row(page, "there.txt").click()
    elif step == "new folder":
        page.click('[aria-label="New folder"]')
        page.locator("#tree-asking input").fill("folder")
        page.keyboard.press("Enter")
    else:
        page.focus("#tree")
        page.keyboard.press("Delete")
        page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
    expect(status).to_have_text("")


def test_after_one_click_keys_act_in_the_tree_and_after_two_in_the_text(serving: Served, whole_page: Page) -> None:
    page = whole_page
    (serving.root / "a.txt").write_text("one\n")
    serving.log_in(page)
    row(page, "a.txt").click()
    until(page, "filetools.editor.active?.document?.text === 'one\\n'")
    page.keyboard.type("abc")
    page.keyboard.press("F2")
    page.keyboard.press("Control+a")
    page.keyboard.type("renamed.txt")
    page.keyboard.press("Enter")
    expect(row(page, "renamed.txt")).to_be_focused()
    until(page, "filetools.editor.active.path === 'renamed.txt'")
    assert page.evaluate("filetools.editor.active.document.text") == "one\n"
    row(page, "renamed.txt").dblclick()
    page.keyboard.type("x ")
    until(page, "filetools.editor.active.document.text === 'x one\\n'")


def test_a_double_click_opens_a_folder_and_a_slash_too_many_makes_one_row(serving: Served, page: Page) -> None:
    serving.does("write_file", path="folder/inside.txt", content="x\n")
    serving.log_in(page, has_editor=False)
    row(page, "folder").dblclick()
    expect(row(page, "folder/inside.txt")).to_be_visible()
    expect(row(page, "folder")).to_have_attribute("aria-expanded", "true")
    page.click('[aria-label="New file"]')
    page.locator("#tree-asking input").fill("folder//new.txt")
    page.keyboard.press("Enter")
    expect(row(page, "folder/new.txt")).to_be_visible()
    expect(page.get_by_role("treeitem")).to_have_count(3)


def test_the_filter_finds_files_in_folders_that_are_closed(serving: Served, page: Page) -> None:
    serving.does("write_file", path="deep/down/needle.txt", content="x\n")
    serving.does("write_file", path="hay.txt", content="x\n")
    serving.log_in(page, has_editor=False)
    expect(row(page, "hay.txt")).to_be_visible()
    page.fill("#filter", "needle")
    expect(row(page, "deep/down/needle.txt")).to_be_visible()
    expect(row(page, "hay.txt")).to_have_count(0)
    page.focus("#filter")
    page.keyboard.press("Escape")
    expect(row(page, "hay.txt")).to_be_visible()


def test_a_name_that_looks_like_a_page_is_shown_as_text(serving: Served, page: Page) -> None:
    name = '<img src=x onerror="document.title=1">'
    (serving.root / name).write_text("x\n")
    serving.log_in(page, has_editor=False)
    expect(page.locator("#tree .name")).to_have_text(name)
    page.locator("#tree .name").click()
    expect(page.locator("#tabs [role=tab] span")).to_have_text(name)
    assert page.locator("#parts img").count() == 0


def test_a_strange_name_takes_one_row_hides_nothing_and_opens(serving: Served, page: Page) -> None:
    names = {
        "two\nlines\t.txt": "two⟨000a⟩lines⟨0009⟩.txt",
        "photo\u202egpj.exe": "photo⟨202e⟩gpj.exe",
        "\u05e9\u05dc\u05d5\u05dd.txt": "\u05e9\u05dc\u05d5\u05dd.txt",
        "x" * 251 + ".txt": "x" * 251 + ".txt",
    }
    for name in names:
        (serving.root / name).write_text("x\n")
    serving.log_in(page, has_editor=False)
    side = page.locator("#tree").bounding_box()
    assert side is not None
    for name, shown in names.items():
        found = page.locator("#tree [role=treeitem]", has=page.locator(".name", has_text=shown))
        expect(found.locator(".name")).to_have_text(shown)
        size = found.bounding_box()
        assert size is not None
        assert (size["height"], size["width"]) == (22, side["width"])
        found.locator(".name").click()
        until(page, f"filetools.editor.active?.path === {json.dumps(name)}")


def test_a_folder_that_cannot_be_listed_says_so_once_and_is_tried_again(
    serving: Served, page: Page, watched: Watched
) -> None:
    failing_pages(serving, page, watched)


def failing_pages(serving: Served, page: Page, watched: Watched) -> None:
    """Open a folder whose second page is refused at first."""
    watched.expect("status of 503")
    asked: list[str] = []

    def refuse(route: Route) -> None:
        asked.append(route.request.url)
        route.fulfill(status=503, json={"detail": "The disk is away."})

    fill(serving.root / "many", 1200)
    serving.log_in(page, has_editor=False)
    page.route("**/v1/list?*cursor=*", refuse)
    row(page, "many").click()
    expect(row(page, "many/f00000")).to_be_visible()
    page.focus("#tree")
    page.keyboard.press("End")
    again = page.get_by_role("button", name="Retry")
    expect(again).to_be_visible()
    expect(page.locator("#tree .more")).to_contain_text("The disk is away.")
    for _ in range(3):  # drawn again, it does not ask again by itself
        serving.does("write_file", path=f"new{len(rows(page))}.txt", content="")
        page.keyboard.press("Home")
        page.keyboard.press("End")
        expect(again).to_be_visible()
    assert len(asked) == 1
    page.unroute("**/v1/list?*cursor=*")
    again.click()
    expect(again).to_have_count(0)
    expect(row(page, "many/f01001")).to_be_attached()


def test_rows_that_come_in_above_do_not_move_what_a_person_reads(serving: Served, page: Page) -> None:
    rows_above(serving, page)


def rows_above(serving: Served, page: Page) -> None:
    """Read in the middle of a folder while folders above it are opened to new files."""
    fill(serving.root / "many", 300)
    (serving.root / "above").mkdir()
    (serving.root / "above" / "old.txt").touch()
    serving.log_in(page, has_editor=False)
    row(page, "many").click()
    row(page, "many/f00005").hover()
    page.mouse.wheel(0, 2000)
    until(page, "document.getElementById('tree').scrollTop === 2000")
    read = row(page, "many/f00100")
    before = read.bounding_box()
    serving.does("write_file", path="above/new.txt", content="")
    serving.does("write_file", path="above/deep/newer.txt", content="")
    until(page, "document.querySelector('#tree .sheet').offsetHeight === 306 * 22")
    assert read.bounding_box() == before
    shutil.rmtree(serving.root / "above")
    until(page, "document.querySelector('#tree .sheet').offsetHeight === 301 * 22")
    assert read.bounding_box() == before


def test_the_rows_that_stay_are_the_same_elements(serving: Served, page: Page) -> None:
    (serving.root / "a.txt").touch()
    (serving.root / "z.txt").touch()
    serving.log_in(page, has_editor=False)
    expect(row(page, "z.txt")).to_be_visible()
    page.evaluate("for (const each of document.querySelectorAll('#tree [role=treeitem]')) each.wasThere = true")
    serving.does("write_file", path="m.txt", content="")
    expect(row(page, "m.txt")).to_be_visible()
    found = "[...document.querySelectorAll('#tree [role=treeitem]')].map((each) => each.wasThere ?? false)"
    assert page.evaluate(found) == [True, False, True]  # a click that has begun on one goes on


def test_the_focus_stays_in_the_tree_when_its_row_is_deleted(serving: Served, page: Page) -> None:
    deleted_under_the_focus(serving, page)


def deleted_under_the_focus(serving: Served, page: Page) -> None:
    """Let the focused row be deleted, until there is none."""
    for name in ("a.txt", "b.txt", "c.txt"):
        serving.does("write_file", path=name, content="")
    serving.log_in(page, has_editor=False)
    expect(row(page, "c.txt")).to_be_visible()
    page.focus("#tree")
    page.keyboard.press("ArrowDown")
    expect(row(page, "b.txt")).to_be_focused()
    for gone, left in (("b.txt", "c.txt"), ("c.txt", "a.txt")):
        serving.does("delete_file", path=gone)
        expect(row(page, gone)).to_have_count(0)
        expect(row(page, left)).to_be_focused()
        assert page.locator("#tree [tabindex='0']").count() == 1
    serving.does("delete_file", path="a.txt")
    expect(page.locator("#tree")).to_be_focused()
    serving.does("write_file", path="d.txt", content="")
    expect(row(page, "d.txt")).to_be_focused()


def test_a_folder_that_is_renamed_stays_open_and_keeps_the_focus(serving: Served, page: Page) -> None:
    renamed_folder(serving, page)


def renamed_folder(serving: Served, page: Page) -> None:
    """Rename a folder in which the focus is, and then the one above it."""
    serving.does("write_file", path="src/lib/one.py", content="1\n")
    serving.log_in(page, has_editor=False)
    page.evaluate("filetools.tree.reveal('src/lib/one.py')")
    row(page, "src/lib/one.py").focus()
    serving.does("move_file", source="src/lib", destination="src/kit")
    expect(row(page, "src/kit/one.py")).to_be_focused()
    serving.does("write_file", path="deep/two.py", content="2\n")
    expect(row(page, "deep/two.py")).to_be_visible()
    serving.does("move_file", source="src", destination="deep/source")
    expect(row(page, "deep/source/kit/one.py")).to_be_focused()
    assert rows(page) == ["deep", "deep/source", "deep/source/kit", "deep/source/kit/one.py", "deep/two.py"]
    assert row(page, "deep/source/kit/one.py").get_attribute("aria-level") == "4"


def test_listing_again_has_all_pages_that_were_there(serving: Served, page: Page) -> None:
    listed_again(serving, page)


def listed_again(serving: Served, page: Page) -> None:
    """List a folder of more than two pages again, after a change that no event told of."""
    fill(serving.root / "many", 2300)
    serving.log_in(page, has_editor=False)
    page.evaluate("filetools.tree.reveal('many/f02299')")
    last = row(page, "many/f02299")
    expect(last).to_be_visible()
    # Whatever is told of the files that were made is heard by then; it would put those that went back into the tree.
    (serving.root / "heard").touch()
    expect(row(page, "heard")).to_be_visible()
    page.evaluate("filetools.live.emit = () => {}")
    (serving.root / "many" / "f00000").unlink()
    (serving.root / "many" / "f02200").unlink()
    page.evaluate("filetools.tree.refresh()")
    expect(last).to_have_attribute("aria-setsize", "2298")
    expect(last).to_have_attribute("aria-posinset", "2298")
    expect(last).to_be_visible()


def test_what_happens_while_a_folder_is_listed_is_not_lost(serving: Served, page: Page) -> None:
    listed_meanwhile(serving, page)


def listed_meanwhile(serving: Served, page: Page) -> None:
    """Change a folder after the server has listed it, and before the page has the list."""
    for name in ("a.txt", "b.txt"):
        serving.does("write_file", path=f"src/{name}", content="")
    serving.log_in(page, has_editor=False)
    page.evaluate(
        """() => {
          const { server } = filetools, json = server.json.bind(server);
          const gate = new Promise((open) => { window.open_ = open; });
          server.json = async (...asked) => {
            const answer = await json(...asked);
            window.isListed = true;
            await gate;
            return answer;
          };
        }"""
    )
    row(page, "src").click()
    until(page, "window.isListed")
    serving.does("write_file", path="src/c.txt", content="")
    serving.does("delete_file", path="src/a.txt")
    serving.does("write_file", path="z.txt", content="")
    expect(row(page, "z.txt")).to_be_visible()
    page.evaluate("window.open_()")
    expect(row(page, "src/c.txt")).to_be_visible()
    assert rows(page) == ["src", "src/b.txt", "src/c.txt", "z.txt"]


def test_of_many_new_files_at_once_only_the_last_is_opened_to(serving: Served, page: Page) -> None:
    floods(serving, page)


def floods(serving: Served, page: Page) -> None:
    """Tell of new files in more folders than are opened to, and in as many as are, two at a time as if all took long."""
    page.set_viewport_size({"width": 1280, "height": 2000})  # all rows are in the page
    for place in range(21):
        serving.does("write_file", path=f"more/{place:02}/x.txt", content="")
        if place:
            serving.does("write_file", path=f"most/{place:02}/x.txt", content="")
    serving.log_in(page, has_editor=False)
    expect(row(page, "most")).to_be_visible()
    page.evaluate("() => { let now = 0; performance.now = () => (now += 8); }")
    for folder, opened in (("more", 1 + 1), ("most", 1 + 1 + 1 + 20)):
        tell(page, *(made(f"{folder}/{place:02}/x.txt") for place in range(folder == "most", 21)))
        expect(row(page, f"{folder}/20/x.txt")).to_be_attached()
        expect(page.locator("#tree [aria-expanded=true]")).to_have_count(opened)


def test_files_that_the_server_finds_when_it_starts_open_no_folder(serving: Served, page: Page) -> None:
    found_at_the_start(serving, page)


def found_at_the_start(serving: Served, page: Page) -> None:
    """Tell of a program's file at once after connecting, of an agent's, and of a program's later."""
    for name in ("old", "agents", "later"):
        serving.does("write_file", path=f"{name}/x.txt", content="")
    serving.log_in(page, has_editor=False)
    expect(row(page, "old")).to_be_visible()
    page.evaluate("filetools.live.emit('snapshot', filetools.live.welcome)")
    page.evaluate("() => { const now = performance.now(); performance.now = () => now + 1000; }")
    tell(page, made("old/x.txt", "external"), made("agents/x.txt"))
    expect(row(page, "agents/x.txt")).to_be_visible()
    expect(row(page, "old")).to_have_attribute("aria-expanded", "false")
    page.evaluate("() => { const now = performance.now(); performance.now = () => now + 5000; }")
    tell(page, made("later/x.txt", "external"))
    expect(row(page, "later/x.txt")).to_be_visible()


def test_badges_say_what_changed_who_changed_it_and_what_is_not_saved(serving: Served, whole_page: Page) -> None:
    serving.does("write_file", path="a.txt", content="one\n")
    page = whole_page
    serving.log_in(page)
    serving.does("edit_file", path="a.txt", old_string="one", new_string="two")
    expect(badge(page, "a.txt", "changed")).to_have_attribute("aria-label", "changed, by http")
    expect(badge(page, "a.txt", "changed")).to_have_text("http")
    open_file(page, "a.txt")
    page.keyboard.type("typed ")
    expect(badge(page, "a.txt", "dirty")).to_have_attribute("aria-label", "not saved")
    serving.does("move_file", source="a.txt", destination="b.txt")
    expect(badge(page, "b.txt", "dirty")).to_be_visible()
    page.reload()
    expect(badge(page, "b.txt", "dirty")).to_be_visible()
    open_file(page, "b.txt")
    page.keyboard.press("Control+s")
    expect(badge(page, "b.txt", "dirty")).to_have_count(0)


def test_a_file_that_a_call_works_on_is_marked_also_in_a_window_that_comes_later(
    root: Path, page: Page, watched: Watched
) -> None:
    watched.expect("WebSocket", "net::ERR")
    with served(root, permissions="ask") as serving:
        (root / "a.txt").write_text("one\n")
        serving.log_in(page, has_editor=False)
        expect(row(page, "a.txt")).to_be_visible()
        given = {"path": "a.txt", "content": "two\n", "expected_version": version_of(b"one\n")}
        call = threading.Thread(target=serving.call, args=("write_file",), kwargs=given)
        call.start()
        try:
            expect(badge(page, "a.txt", "writing")).to_have_attribute("aria-label", "being written")
            later = page.context.new_page()
            later.goto(serving.server.address)
            expect(badge(later, "a.txt", "writing")).to_be_visible()
            connected(later)
            later.evaluate("filetools.live.welcome.approvals.map((each) => filetools.live.answer(each.id, 'deny'))")
            expect(badge(later, "a.txt", "writing")).to_have_count(0)
            expect(badge(page, "a.txt", "writing")).to_have_count(0)
        finally:
            serving.server.stop()
            call.join()


def test_a_file_that_the_mirror_lacks_is_marked_until_it_has_it(
    root: Path, tmp_path: Path, page: Page, watched: Watched
) -> None:
    watched.expect("net::ERR", "WebSocket")  # at the end it may be asking how the mirror is
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    (root / "a.txt").write_text("one\n")
    with served(root, "--mirror", str(mirror)) as serving:
        serving.log_in(page, has_editor=False)
        serving.does("write_file", path="b.txt", content="one\n")
        expect(row(page, "b.txt")).to_be_visible()
        until(page, "!document.querySelector('#tree [data-badge=mirror]')")
        mirror.rename(tmp_path / "away")
        serving.does("write_file", path="c.txt", content="one\n")
        expect(badge(page, "c.txt", "mirror")).to_have_attribute("aria-label", "not in the mirror yet")
        expect(badge(page, "b.txt", "mirror")).to_have_count(0)
        expect(page.locator("#tree-note")).to_contain_text("behind")
        (tmp_path / "away").rename(mirror)
        until(page, "!document.querySelector('#tree [data-badge=mirror]')")
        until(page, "!document.getElementById('tree-note').textContent")
        assert (mirror / "c.txt").read_text() == "one\n"


FAULTS: Final = {
    "nothing held in place": ("before !== this.#rows &&", "false &&"),
    "only the first page again": ("entries.length < least", "false"),
    "what was missed": ("for (const event of missed) this.#take(event);", ""),
    "asked for ever": ("folder.cursor && !folder.error &&", "folder.cursor &&"),
    "no bound": ("created.length > MOST_REVEALED ?", "false ?"),
    "found at the start": ("const isFound = ", "const isFound = false && "),
    "focus lost": ("if (focused && !isButton &&", "if (false &&"),
    "closed by a move": ('kind === "directory", moved)', 'kind === "directory")'),
}
JOURNEYS: Final[dict[str, Callable[[Served, Page, Watched], None]]] = {
    "nothing held in place": lambda serving, page, _: rows_above(serving, page),
    "only the first page again": lambda serving, page, _: listed_again(serving, page),
    "what was missed": lambda serving, page, _: listed_meanwhile(serving, page),
    "asked for ever": failing_pages,
    "no bound": lambda serving, page, _: floods(serving, page),
    "found at the start": lambda serving, page, _: found_at_the_start(serving, page),
    "focus lost": lambda serving, page, _: deleted_under_the_focus(serving, page),
    "closed by a move": lambda serving, page, _: renamed_folder(serving, page),
}


@pytest.mark.parametrize("fault", sampled(tuple(FAULTS), 2, "fault"))
def test_a_planted_fault_is_found(serving: Served, page: Page, watched: Watched, fault: str) -> None:
    right, wrong = FAULTS[fault]
    source = TREE.read_text()
    assert source.count(right) == 1
    planted: list[str] = []

    def plant(route: Route) -> None:
        planted.append(route.request.url)
        route.fulfill(body=source.replace(right, wrong), content_type="text/javascript")

    page.context.route("**/tree.js", plant)
    have_patience(SHORT_PATIENCE_MS)
    try:
        with pytest.raises((AssertionError, Error), match=r"expected to|it never came true|assert"):
            JOURNEYS[fault](serving, page, watched)
    finally:
        have_patience()
    assert planted
