"""The page for everybody: by keyboard alone, by screen readers, in light and dark, on narrow screens, without motion."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect

from tests.support.browsers import Served, Watched, window
from tests.support.page_pictures import SCHEMES, SIZES, STATES, played
from tests.support.pages import open_file


def faults(page: Page) -> list[str]:
    """Return what axe-core finds that is serious, as "rule: element"."""
    found: Any = Axe().run(page).response["violations"]
    return [
        f"{rule['id']}: {' '.join(node['target'])}: {node['html'][:120]} {[each['message'] for each in node['any']]}"
        for rule in found
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]


@pytest.mark.parametrize(("scheme", "size"), list(zip(SCHEMES, SIZES, strict=True)), ids=["light-1280", "dark-800"])
@pytest.mark.parametrize("state", list(STATES))
def test_axe_finds_nothing_serious(
    browser: Browser, tmp_path: Path, state: str, scheme: str, size: ViewportSize
) -> None:
    with played(state, browser, tmp_path, color_scheme=scheme, viewport=size) as stage:
        found = faults(stage.page)
        assert not found, "\n".join(found)


FOCUSED: Final = """(() => {
  const node = document.activeElement;
  const text = node.localName === "button" ? node.textContent : node.className;
  return (node.closest("[role=tree]") ?? node).getAttribute("aria-label") || node.id || text || node.localName;
})()"""


def focused(page: Page) -> str:
    """Return the name of what has the keyboard."""
    return str(page.evaluate(FOCUSED))


def row(page: Page, path: str) -> Locator:
    """Return a row of the tree."""
    return page.locator(f'#tree [data-path="{path}"]')


def pressed(page: Page, key: str, times: int) -> list[str]:
    """Press a key some times, and return what had the keyboard after each."""
    found = []
    for _ in range(times):
        page.keyboard.press(key)
        found.append(focused(page))
    return found


def test_f6_goes_round_the_parts_of_the_page(serving: Served, page: Page) -> None:
    (serving.root / "notes.md").write_text("one\n")
    serving.log_in(page)
    assert pressed(page, "F6", 3) == ["Files", "empty", "status"]
    open_file(page, "notes.md")
    page.keyboard.type("x")
    page.keyboard.press("Alt+w")
    page.focus("#tree")
    round_trip = [
        "notes.md, not saved",
        "notes.md is not saved",
        "Editor content",
        "State of the file",
        "status",
        "Files",
    ]
    assert pressed(page, "F6", 6) == round_trip
    assert pressed(page, "Shift+F6", 6) == [*reversed(round_trip[:-1]), "Files"]


def test_in_a_dialog_tab_goes_round_and_f6_does_not_leave_it(browser: Browser, tmp_path: Path) -> None:
    with played("merge", browser, tmp_path) as stage:
        there = pressed(stage.page, "Tab", 5)
        assert there == ["Your text", "Result", "From alice (agent)", "Write the result", "Back"]
        assert pressed(stage.page, "F6", 1) == ["Back"]


def test_tab_reaches_every_control_and_each_shows_that_it_has_the_keyboard(serving: Served, page: Page) -> None:
    (serving.root / "notes.md").write_text("one\n")
    serving.log_in(page)
    open_file(page, "notes.md")
    page.keyboard.press("Control+m")  # Tab leaves the text
    order = [
        "Filter files",
        "New file",
        "New folder",
        "Rename",
        "Delete",
        "Files",
        "notes.md",
        "Save",
        "Close notes.md",
    ]
    order.append("Editor content")
    page.focus("#status")
    page.keyboard.press("Tab")
    for name in order:
        assert focused(page) == name
        marks = page.evaluate(
            "(({ outlineStyle, outlineWidth }) => [outlineStyle, outlineWidth])(getComputedStyle(document.activeElement))"
        )
        assert marks == ["solid", "2px"] or name == "Editor content", name  # a text has its caret
        page.keyboard.press("Tab")


def test_a_journey_by_keyboard_alone(serving: Served, page: Page) -> None:
    (serving.root / "src").mkdir()
    (serving.root / "src/app.py").write_text("one\n")
    (serving.root / "old.txt").write_text("old\n")
    serving.log_in(page)
    expect(row(page, "src")).to_be_visible()
    page.keyboard.press("F6")
    for key in ("Home", "ArrowRight"):
        page.keyboard.press(key)
    expect(row(page, "src/app.py")).to_be_visible()
    for key in ("ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(page.locator("#editor .native-edit-context")).to_be_focused()
    page.keyboard.type("zero ")
    page.keyboard.press("Control+s")
    expect(page.locator("#status")).to_have_text("Saved src/app.py.")
    assert (serving.root / "src/app.py").read_text() == "zero one\n"

    for key in ("Shift+F6", "Shift+F6", "Shift+Tab", "Shift+Tab", "Shift+Tab", "Shift+Tab"):
        page.keyboard.press(key)
    assert focused(page) == "New file"
    page.keyboard.press("Enter")
    page.keyboard.type("more/new.py")
    page.keyboard.press("Enter")
    expect(page.get_by_role("tab", name="new.py")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#editor .native-edit-context")).to_be_focused()
    page.keyboard.type("x = 1")
    page.keyboard.press("Control+s")
    expect(page.locator("#status")).to_have_text("Saved src/more/new.py.")

    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("F6")
    page.keyboard.press("F2")
    page.keyboard.type("newer.py")
    page.keyboard.press("Enter")
    expect(row(page, "src/more/newer.py")).to_be_visible()
    expect(page.locator("#tree:focus-within")).to_have_count(1)
    page.keyboard.press("End")
    page.keyboard.press("Delete")
    page.keyboard.press("Enter")
    expect(row(page, "old.txt")).to_have_count(0)
    expect(page.locator("#tree:focus-within")).to_have_count(1)
    assert not (serving.root / "old.txt").exists()

    for _ in range(5):
        page.keyboard.press("Shift+Tab")
    assert focused(page) == "Filter files"
    page.keyboard.type("app")
    expect(row(page, "src/app.py")).to_be_visible()
    expect(row(page, "src/more/newer.py")).to_have_count(0)
    for key in ("ArrowDown", "Enter"):
        page.keyboard.press(key)
    expect(page.get_by_role("tab", name="app.py")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#editor .native-edit-context")).to_be_focused()


def test_the_keyboard_is_never_lost(serving: Served, page: Page) -> None:
    """What had it closes: a tab, a question, a file that is gone."""
    for name in ("a.txt", "b.txt"):
        (serving.root / name).write_text("one\n")
    serving.log_in(page)
    for name in ("a.txt", "b.txt"):
        open_file(page, name)
    page.keyboard.type("x ")
    page.keyboard.press("Alt+w")
    assert focused(page) == "b.txt is not saved"
    page.keyboard.press("Escape")
    assert focused(page) == "Editor content"
    page.keyboard.press("Alt+w")
    expect(page.get_by_role("alertdialog").get_by_role("button", name="Save")).to_be_enabled()
    page.keyboard.press("Enter")
    expect(page.get_by_role("tab")).to_have_count(1)
    assert focused(page) == "Editor content"
    page.get_by_role("button", name="Close a.txt").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("tab")).to_have_count(0)
    assert focused(page) == "empty"


def test_the_keyboard_is_not_lost_with_the_last_question(browser: Browser, tmp_path: Path) -> None:
    with played("waiting", browser, tmp_path) as stage:
        page = stage.page
        page.get_by_role("button", name="Answer (F8)").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Deny")).to_be_enabled()
        page.keyboard.press("Escape")
        expect(page.locator("#question-bar")).to_be_hidden()
        assert focused(page) == "Editor content"


def test_without_motion_nothing_glows_away(browser: Browser, watched: Watched, serving: Served) -> None:
    (serving.root / "notes.md").write_text("one\ntwo\n")
    with window(browser, watched, reduced_motion="reduce") as (_, page):
        page.clock.install()
        serving.log_in(page)
        open_file(page, "notes.md")
        serving.does("edit_file", path="notes.md", old_string="two", new_string="TWO")
        expect(page.locator(".glow")).to_have_css("animation-name", "none")
        expect(page.locator(".caret-name")).to_have_css("animation-timing-function", "steps(1)")
        page.clock.fast_forward(4_000)
        expect(page.locator(".glow")).to_have_count(0)


OVER: Final = """[...document.querySelectorAll("button, input, [role=tab][aria-selected=true]")]
  .filter((node) => node.checkVisibility())
  .map((node) => [node, node.getBoundingClientRect()])
  .filter(([node, { left, right, top, bottom }]) => {
    const found = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    const isModal = document.querySelector("dialog[open]") && !node.closest("dialog");
    return !isModal && (left < 0 || top < 0 || right > innerWidth || bottom > innerHeight || !node.contains(found));
  }).map(([node]) => node.ariaLabel || node.textContent)"""


@pytest.mark.parametrize("state", ["working", "many", "deleting", "approval", "merge", "inline", "waiting"])
def test_at_twice_the_size_every_control_is_in_view(browser: Browser, tmp_path: Path, state: str) -> None:
    """A window of 1280 x 800 pixels at 200 % has 640 x 400."""
    with played(state, browser, tmp_path, viewport={"width": 640, "height": 400}) as stage:
        assert stage.page.evaluate("document.documentElement.scrollWidth") <= 640
        assert stage.page.evaluate(OVER) == []


CONTRASTS: Final = """(pairs) => {
  const probe = document.body.appendChild(document.createElement("i"));
  const light = (name) => {
    probe.style.color = `var(--${name})`;
    const parts = getComputedStyle(probe).color.match(/[0-9.]+/g).map((part) => part / 255);
    const [red, green, blue] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
  };
  return pairs.map(([ink, back]) => Math.max(light(ink), light(back)) / Math.min(light(ink), light(back)));
}"""
"""Contrast of pairs of the page's colours. Source: WCAG 2.2, relative luminance and contrast ratio."""


@pytest.mark.parametrize("scheme", SCHEMES)
def test_colours_of_actors_and_badges_are_readable_wherever_they_stand(
    browser: Browser, watched: Watched, serving: Served, scheme: Literal["light", "dark"]
) -> None:
    inks = ["ink", "soft", "link", "good", "bad", "warn", *(f"hue-{number}" for number in range(8))]
    pairs = [(ink, back) for ink in inks for back in ("back", "side", "pick")]
    with window(browser, watched, color_scheme=scheme) as (_, page):
        serving.log_in(page)
        contrasts = page.evaluate(CONTRASTS, pairs)
    assert [(pair, contrast) for pair, contrast in zip(pairs, contrasts, strict=True) if contrast < 4.5] == []
