"""The page for everybody: by keyboard alone, by screen readers, in light and dark, on narrow screens, without motion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect

from tests.support.browsers import Desk, Served, Watched, served, until, window
from tests.support.dose import sampled
from tests.support.page_pictures import SCHEMES, SIZES, STATES, played
from tests.support.pages import LATER, open_file


def faults(page: Page) -> list[str]:
    """Return what axe-core finds that is serious, as "rule: element"."""
    if not page.evaluate("typeof axe !== 'undefined'"):
        page.evaluate(Axe().axe_script)
    found: Any = page.evaluate("axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)")
    return [
        f"{rule['id']}: {' '.join(node['target'])}: {node['html'][:120]} {[each['message'] for each in node['any']]}"
        for rule in found
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]


LATE: Final = """document.getAnimations().forEach((each) => {
  const { endTime } = each.effect.getComputedTiming();
  if (Number.isFinite(endTime)) each.currentTime = 0.9 * endTime;
})"""
"""Whatever fades is looked at when it has almost gone."""
OVER: Final = """[...document.querySelectorAll("button, input, [role=tab][aria-selected=true]")]
  .filter((node) => node.checkVisibility())
  .map((node) => [node, node.getBoundingClientRect()])
  .filter(([node, { left, right, top, bottom }]) => {
    const found = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    const isModal = document.querySelector("dialog[open]") && !node.closest("dialog");
    return !isModal && (left < 0 || top < 0 || right > innerWidth || bottom > innerHeight || !node.contains(found));
  }).map(([node]) => node.ariaLabel || node.textContent)"""


ENLARGED: Final = ("working", "many", "deleting", "approval", "merge", "inline", "waiting")
"""Whose controls must all be in view at 200 %, where a window of 1280 x 800 pixels has 640 x 400."""
LOOKS: Final = tuple(zip(SCHEMES, SIZES, strict=True))
DIALOGS: Final = ("approval", "queue", "conflict", "merge")
"""Monaco forgets the names of their texts when the window changes its size, so that each look is played anew."""
PLAYS: Final = [
    (state, looks)
    for number, state in enumerate(STATES)
    for looks in (sampled([(look,) for look in LOOKS], 1, number) if state in DIALOGS else [LOOKS])
]


@pytest.mark.parametrize(("state", "looks"), PLAYS, ids=[f"{state}-{len(looks)}" for state, looks in PLAYS])
def test_axe_finds_nothing_serious(
    browser: Browser, tmp_path: Path, state: str, looks: Sequence[tuple[Literal["light", "dark"], ViewportSize]]
) -> None:
    scheme, size = looks[0]
    with played(state, browser, tmp_path, color_scheme=scheme, viewport=size) as stage:
        for scheme, size in looks:
            stage.page.emulate_media(color_scheme=scheme)
            stage.page.set_viewport_size(size)
            stage.page.evaluate(LATE)
            found = faults(stage.page)
            assert not found, "\n".join(found)
        if state in ENLARGED:
            stage.page.set_viewport_size({"width": 640, "height": 400})
            until(stage.page, "document.documentElement.scrollWidth <= 640")
            until(stage.page, f"!({OVER}).length")


@pytest.fixture
def page(desk: Desk) -> Iterator[Page]:
    with desk.cleared() as cleared:
        yield cleared


@pytest.fixture
def serving(desk: Desk, page: Page) -> Served:
    return desk.serving


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
    assert pressed(page, "F6", 3) == ["Files", "empty", "status"]
    open_file(page, "notes.md")
    page.keyboard.type("x")
    page.keyboard.press("Alt+w")
    page.focus("#tree")
    round_trip = [
        "notes.md, not saved",
        "Editor content",
        "notes.md is not saved",
        "State of the file",
        "status",
        "Files",
    ]
    assert pressed(page, "F6", 6) == round_trip
    assert pressed(page, "Shift+F6", 6) == [*reversed(round_trip[:-1]), "Files"]
    page.get_by_role("alertdialog").get_by_role("button", name="Cancel").click()


def test_in_a_dialog_tab_goes_round_and_f6_does_not_leave_it(browser: Browser, tmp_path: Path) -> None:
    with played("merge", browser, tmp_path) as stage:
        assert focused(stage.page) == "Result"
        assert pressed(stage.page, "Shift+Tab", 1) == ["Your text"]
        there = pressed(stage.page, "Tab", 4)
        assert there == ["Result", "From alice (agent)", "Write the result", "Back"]
        assert pressed(stage.page, "F6", 1) == ["Back"]


def test_tab_reaches_every_control_and_each_shows_that_it_has_the_keyboard(serving: Served, page: Page) -> None:
    (serving.root / "notes.md").write_text("one\n")
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
    page.evaluate("filetools.editor.focus()")
    page.keyboard.press("Control+m")


def test_a_journey_by_keyboard_alone(serving: Served, page: Page) -> None:
    (serving.root / "src").mkdir()
    (serving.root / "src/app.py").write_text("one\n")
    (serving.root / "old.txt").write_text("old\n")
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


def test_without_motion_nothing_glows_away(browser: Browser, watched: Watched, root: Path) -> None:
    (root / "notes.md").write_text("one\ntwo\n")
    with served(root) as serving, window(browser, watched, reduced_motion="reduce") as (_, page):
        page.add_init_script(LATER)
        serving.log_in(page)
        open_file(page, "notes.md")
        serving.does("edit_file", path="notes.md", old_string="two", new_string="TWO")
        expect(page.locator(".glow")).to_have_css("animation-name", "none")
        expect(page.locator(".caret-name")).to_have_css("animation-timing-function", "steps(1)")
        page.evaluate("pass(4_000)")
        expect(page.locator(".glow")).to_have_count(0)


CONTRASTS: Final = r"""(pairs) => {
  const probe = document.body.appendChild(document.createElement("i"));
  const light = (name) => {
    probe.className = name;
    probe.style.color = `var(--${name.replace(/-\d/, "")})`;
    const parts = getComputedStyle(probe).color.match(/[0-9.]+/g).map((part) => part / 255);
    const [red, green, blue] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
  };
  return pairs.map(([ink, back]) => Math.max(light(ink), light(back)) / Math.min(light(ink), light(back)));
}"""
"""Contrast of pairs of the page's colours. Source: WCAG 2.2, relative luminance and contrast ratio."""


def test_colours_of_actors_and_badges_are_readable_wherever_they_stand(page: Page) -> None:
    inks = ["ink", "soft", "link", "good", "bad", "warn", *(f"hue-{number}" for number in range(7))]
    pairs = [(ink, back) for ink in inks for back in ("back", "side", "pick")]
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        contrasts = page.evaluate(CONTRASTS, pairs)
        assert [(pair, contrast) for pair, contrast in zip(pairs, contrasts, strict=True) if contrast < 4.5] == []
    page.emulate_media(color_scheme=None)
