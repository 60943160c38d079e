"""The tree in a real browser: it opens to what agents make, holds large folders, and never loses a file."""

from __future__ import annotations

import subprocess
import sys

import pytest
from playwright.sync_api import Page, expect

from tests.support.browsers import Served, until

NAMES = "[...document.querySelectorAll('#tree [role=treeitem]')].map((row) => row.dataset.path)"


def rows(page: Page) -> list[str]:
    """Return the paths of the rows that are in the page."""
    found: list[str] = page.evaluate(NAMES)
    return found


def row(page: Page, path: str):  # type: ignore[no-untyped-def]
    return page.locator(f'#tree [data-path="{path}"]')


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
    serving.log_in(page)
    expect(row(page, "readme.md")).to_be_visible()
    serving.does("write_file", path="a/b/c/d.py", content="pass\n")
    made = row(page, "a/b/c/d.py")
    expect(made).to_be_visible()
    expect(made.locator('[data-badge="new"]')).to_have_attribute("aria-label", "new, by http")
    assert rows(page) == ["a", "a/b", "a/b/c", "a/b/c/d.py", "readme.md"]
    assert made.get_attribute("aria-level") == "4"


@pytest.mark.parametrize("number", [500, 10_000])
def test_a_large_folder_is_listed_to_its_end_with_few_rows_in_the_page(
    serving: Served, page: Page, number: int
) -> None:
    (serving.root / "many").mkdir()
    for place in range(number):
        (serving.root / "many" / f"f{place:05}").touch()
    serving.log_in(page)
    page.evaluate("window.filetools.tree.reveal('many/f00000')")
    last = row(page, f"many/f{number - 1:05}")
    tree = "document.getElementById('tree')"
    shown = f"document.querySelector('#tree [data-path=\"many/f{number - 1:05}\"]')"
    until(page, f"({tree}.scrollTop = {tree}.scrollHeight, {shown})")  # each end lists the next page
    page.focus("#tree")
    page.keyboard.press("End")
    expect(last).to_have_attribute("aria-selected", "true")
    expect(last).to_be_visible()
    assert last.get_attribute("aria-setsize") == str(number)
    assert last.get_attribute("aria-posinset") == str(number)
    assert len(rows(page)) < 100


def test_what_agents_and_programs_delete_and_move_is_seen(serving: Served, page: Page) -> None:
    serving.does("write_file", path="src/lib/one.py", content="1\n")
    serving.does("write_file", path="src/two.py", content="2\n")
    serving.log_in(page)
    row(page, "src").click()
    row(page, "src/lib").click()
    expect(row(page, "src/lib/one.py")).to_be_visible()
    serving.does("move_file", source="src/lib", destination="src/kit")
    expect(row(page, "src/kit")).to_be_visible()
    expect(row(page, "src/lib")).to_have_count(0)
    expect(row(page, "src/lib/one.py")).to_have_count(0)
    row(page, "src/kit").click()
    expect(row(page, "src/kit/one.py")).to_be_visible()
    serving.does("delete_file", path="src/two.py")
    expect(row(page, "src/two.py")).to_have_count(0)


def test_a_storm_of_files_ends_with_exactly_what_is_on_disk(serving: Served, page: Page) -> None:
    (serving.root / "storm").mkdir()
    (serving.root / "storm" / "first").touch()
    serving.log_in(page)
    page.evaluate("window.filetools.tree.reveal('storm/first')")
    expect(row(page, "storm/first")).to_be_visible()
    program = "import pathlib\nfor n in range(600): pathlib.Path(f'storm/s{n:04}').write_text(str(n))\n" + (
        "for n in range(0, 600, 3): pathlib.Path(f'storm/s{n:04}').unlink()\n"
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


def test_files_made_during_a_break_are_there_after_it(serving: Served, page: Page) -> None:
    serving.log_in(page)
    expect(page.locator("#tree-note")).to_contain_text("This folder is empty")
    page.evaluate("window.filetools.live.reconnect()")
    serving.does("write_file", path="meanwhile.txt", content="x\n")
    expect(row(page, "meanwhile.txt")).to_be_visible()


def test_files_are_made_renamed_and_deleted_by_keyboard_alone(serving: Served, page: Page) -> None:
    serving.log_in(page)
    page.focus('[aria-label="New file"]')
    page.keyboard.press("Enter")
    page.keyboard.type("notes/<b>&%41 #1?.md")
    page.keyboard.press("Enter")
    made = row(page, "notes/<b>&%41 #1?.md")
    expect(made).to_be_visible()
    assert (serving.root / "notes" / "<b>&%41 #1?.md").read_text() == ""
    until(page, "filetools.editor.active?.path === 'notes/<b>&%41 #1?.md'")
    page.focus("#tree")
    page.keyboard.press("F2")
    page.keyboard.type("plan.md")
    page.keyboard.press("Enter")
    expect(row(page, "notes/plan.md")).to_be_visible()
    expect(made).to_have_count(0)
    page.keyboard.press("Delete")
    page.keyboard.press("Escape")
    expect(row(page, "notes/plan.md")).to_be_visible()
    page.keyboard.press("Delete")
    expect(page.locator("#tree-asking")).to_contain_text("Delete notes/plan.md?")
    page.keyboard.press("Enter")
    expect(row(page, "notes/plan.md")).to_have_count(0)
    assert list((serving.root / "notes").iterdir()) == []


def test_a_name_that_is_refused_is_told_and_nothing_is_made(serving: Served, page: Page, watched) -> None:  # type: ignore[no-untyped-def]
    watched.expect("status of 4..")
    (serving.root / "there.txt").write_text("mine\n")
    serving.log_in(page)
    for name, told in (("../outside.txt", "inside the root"), ("there.txt", "exists")):
        page.click('[aria-label="New file"]')
        page.locator("#tree-asking input").fill(name)
        page.keyboard.press("Enter")
        expect(page.locator("#status")).to_have_attribute("data-kind", "error")
        expect(page.locator("#status")).to_contain_text(told)
        page.keyboard.press("Escape")
    assert (serving.root / "there.txt").read_text() == "mine\n"
    assert not (serving.root.parent / "outside.txt").exists()


def test_the_filter_finds_files_in_folders_that_are_closed(serving: Served, page: Page) -> None:
    serving.does("write_file", path="deep/down/needle.txt", content="x\n")
    serving.does("write_file", path="hay.txt", content="x\n")
    serving.log_in(page)
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
    serving.log_in(page)
    expect(page.locator("#tree .name")).to_have_text(name)
    page.locator("#tree .name").click()
    expect(page.locator("#tabs [role=tab] span")).to_have_text(name)
    assert page.locator("#parts img").count() == 0
