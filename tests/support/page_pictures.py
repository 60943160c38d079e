"""The states that the editor page can be in, played on the real page, and a picture of each.

`python -m tests.support.page_pictures [FOLDER [STATE …]]` writes them all, or those of some states; the tests of
accessibility look at the same states.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Final, Literal

from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

from filetools.models.words import Preset
from tests.support.browsers import PATIENCE_MS, Served, Watched, launched, served, until, window
from tests.support.declared import REPOSITORY
from tests.support.live_pages import LATE_PARTS, OUTAGE
from tests.support.pages import open_file, settled, typing

SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")
SIZES: Final[tuple[ViewportSize, ...]] = ({"width": 1280, "height": 800}, {"width": 800, "height": 640})
PICTURE: Final = REPOSITORY / "docs" / "pictures" / "editor-page.png"
_APP: Final = '''"""A small shop."""

import json
from pathlib import Path

PRICES = Path("prices.json")


def load():
    return json.loads(PRICES.read_text())


def total(basket):
    prices = load()
    amount = 0
    for name, number in basket.items():
        amount += prices[name] * number
    return amount


def receipt(basket):
    lines = [f"{number} x {name}" for name, number in basket.items()]
    lines.append(f"Total: {total(basket)}")
    return lines
'''
_NOTES: Final = "# Shop\n\nWhat is left to do:\n\n- prices with tax\n- a receipt on paper\n- tests\n"
_PROJECT: Final = {
    "package.json": '{\n  "name": "shop",\n  "version": "1.0.0",\n  "private": true\n}\n',
    "notes.md": _NOTES,
    "prices.json": '{\n  "tea": 3,\n  "coffee": 4\n}\n',
    "src/shop/__init__.py": "",
    "src/shop/app.py": _APP,
    "src/shop/stock.py": "STOCK = {}\n",
    "tests/test_app.py": "from shop.app import total\n",
}
_AGENT: Final = """
import asyncio, sys, filetools
from filetools import Actor, Edit
async def main(name, call, permissions):
    async with filetools.open(".", permissions=permissions) as files:
        actor = Actor(kind="agent", id=name, session="demo")
        await eval("own." + call, {"own": files.for_actor(actor, on_conflict="merge_or_ask"), "Edit": Edit})
asyncio.run(main(*sys.argv[1:]))
"""
"""One call of an agent; text that is not saved and cannot be merged is for the person."""


@dataclass(frozen=True)
class Stage:
    """A served root, a page on it, and agents; lives as long as one state is looked at."""

    served: Served
    page: Page
    permissions: Preset
    agents: list[subprocess.Popen[bytes]]
    """They end with the stage."""

    def acts(self, actor: str, call: str) -> subprocess.Popen[bytes]:
        """Do something to files as an agent with a name of its own, in another process; it may wait for the person.

        Args:
            actor: Its name.
            call: A method of the facade with its arguments, as Python.
        """
        environment = {name: value for name, value in os.environ.items() if not name.startswith("FILETOOLS_")}
        agent = subprocess.Popen(
            [sys.executable, "-c", _AGENT, actor, call, self.permissions],
            cwd=self.served.root, env={**environment, "PYTHONPATH": str(REPOSITORY)}, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.agents.append(agent)
        return agent

    def writes(self, actor: str, path: str, text: str) -> None:
        """Write a file as an agent."""
        self.acts(actor, f"write_file({path!r}, {text!r})")

    def edits(self, actor: str, path: str, old: str, new: str) -> None:
        """Replace a text in a file as an agent."""
        self.acts(actor, f"edit_file({path!r}, [Edit(old={old!r}, new={new!r})])")

    def types(self, path: str, line: int, text: str) -> None:
        """Type into a line of a file, as a person does."""
        open_file(self.page, path)
        self.page.evaluate("(line) => filetools.editor.code.setPosition({ lineNumber: line, column: 1 })", line)
        self.page.evaluate("(line) => filetools.editor.code.revealLineInCenterIfOutsideViewport(line)", line)
        self.page.keyboard.type(text)


def _empty(stage: Stage) -> None:
    expect(stage.page.locator("#tree-note")).to_contain_text("This folder is empty")


def _open(stage: Stage) -> None:
    open_file(stage.page, "src/shop/app.py")
    stage.page.evaluate("filetools.tree.reveal('src/shop/app.py')")


def _working(stage: Stage) -> None:
    """Agents write where a person has text that is not saved."""
    stage.page.evaluate("filetools.tree.reveal('src/shop/app.py')")
    open_file(stage.page, "package.json")
    stage.types("notes.md", 5, "- [ ] ask Ann about the tax\n")
    stage.types("src/shop/app.py", 12, "\n# Prices are without tax.")
    settled(stage.page)
    stage.writes("bob", "src/shop/money/rounding.py", "def cents(amount): ...\n")
    expect(stage.page.locator("#tree [data-path='src/shop/money/rounding.py']")).to_be_visible()
    stage.edits("alice", "src/shop/app.py", "amount = 0", "amount = Decimal(0)")
    expect(stage.page.locator(".caret-name")).to_have_count(1)
    old = '    lines.append(f"Total: {total(basket)}")\n'
    new = '    lines.append(f"Total: {cents(total(basket))}")\n    lines.append("Thank you.")\n'
    stage.edits("bob", "src/shop/app.py", old, new)
    expect(stage.page.locator(".caret-name")).to_have_count(2)
    expect(stage.page.locator("#tree [data-path='src/shop/app.py'] [data-badge=changed]")).to_have_text("bob")


def _large(stage: Stage) -> None:
    open_file(stage.page, "server.log")
    expect(stage.page.get_by_role("region", name="server.log, read-only")).to_be_visible()


def _many(stage: Stage) -> None:
    paths = list(STATES["many"].files)
    stage.page.evaluate("(path) => filetools.tree.reveal(path)", paths[400])
    expect(stage.page.locator("#tree [aria-selected='true']")).to_be_visible()
    for path in paths[400:412]:
        open_file(stage.page, path)


def _binary(stage: Stage) -> None:
    open_file(stage.page, "logo.png")
    expect(stage.page.get_by_role("region", name="logo.png, read-only")).to_be_visible()


def _approval(stage: Stage) -> None:
    stage.edits("alice", "package.json", "1.0.0", "1.1.0")
    _answerable(stage.page)


def _queue(stage: Stage) -> None:
    for name in ("one", "two", "three"):
        stage.writes("alice", f"docs/{name}.md", f"# {name}\n")
    expect(stage.page.locator("#question-count")).to_contain_text("3")
    _answerable(stage.page)


def _waiting(stage: Stage) -> None:
    """A question comes while the person types: a bar tells of it, the text keeps the keyboard."""
    open_file(stage.page, "notes.md")
    with typing(stage.page):
        stage.page.keyboard.type("a")
        stage.writes("alice", "docs/one.md", "# one\n")
        expect(stage.page.locator("#question-bar")).to_be_visible()


def _conflict(stage: Stage) -> None:
    """An agent writes over text that is not saved."""
    assert stage.acts("alice", "read_file('notes.md')").wait(PATIENCE_MS / 1000) == 0
    stage.types("notes.md", 5, "")
    stage.page.keyboard.press("End")
    stage.page.keyboard.type(", for Ann first")
    settled(stage.page)
    text = _NOTES.replace("prices with tax", "prices with tax (done)").replace("- tests", "- tests of all of it")
    stage.writes("alice", "notes.md", text)
    expect(stage.page.locator("#question-bar")).to_be_visible()
    stage.page.keyboard.press("F8")
    _answerable(stage.page)


def _merge(stage: Stage) -> None:
    _conflict(stage)
    stage.page.get_by_role("button", name="Merge …").click()
    expect(stage.page.locator(".merge .view-lines")).to_have_count(3)
    _answerable(stage.page)


def _answerable(page: Page) -> None:
    expect(page.locator("#question .question-actions button").first).to_be_enabled()
    expect(page.locator("#question .view-lines").first).to_be_visible()


def _inline(stage: Stage) -> None:
    stage.types("notes.md", 5, "- [ ] ask Ann about the tax\n")
    settled(stage.page)
    stage.page.keyboard.press("Alt+w")
    expect(stage.page.get_by_role("alertdialog")).to_be_visible()


def _disconnected(stage: Stage) -> None:
    stage.types("notes.md", 5, "- [ ] ask Ann about the tax\n")
    settled(stage.page)
    stage.served.server.stop(signal.SIGKILL)
    until(stage.page, "filetools.live.state !== 'connected'")
    stage.page.keyboard.type("- [ ] typed while the server is gone\n")
    expect(stage.page.locator("#connection")).to_be_visible()


def _error(stage: Stage) -> None:
    open_file(stage.page, "notes.md")
    stage.page.click('[aria-label="New file"]')
    stage.page.locator("#tree-asking input").fill("notes.md")
    stage.page.keyboard.press("Enter")
    expect(stage.page.locator("#status")).to_have_attribute("data-kind", "error")


def _deleting(stage: Stage) -> None:
    stage.page.evaluate("filetools.tree.reveal('src/shop/stock.py')")
    expect(stage.page.locator("#tree [aria-selected='true']")).to_be_visible()
    stage.page.focus("#tree")
    stage.page.keyboard.press("Delete")
    expect(stage.page.get_by_role("alertdialog")).to_be_focused()


@dataclass(frozen=True)
class State:
    """How a state of the page comes about."""

    play: Callable[[Stage], None]
    permissions: Preset = "allow"
    files: Mapping[str, bytes] = field(default_factory=dict)
    """What the root has beside the project."""
    is_empty: bool = False
    expected: tuple[str, ...] = ()
    """Patterns of errors that the browser itself reports."""


STATES: Final = {
    "empty": State(_empty, is_empty=True),
    "open": State(_open),
    "working": State(_working),
    "many": State(
        _many, files={f"many/measurement-{number:04}-of-a-long-series.csv": b"1;2\n" for number in range(1500)}
    ),
    "large": State(
        _large, files={"server.log": b"GET /v1/files/notes.md 200\n" * 500_000}, expected=("status of 4..",)
    ),
    "binary": State(_binary, files={"logo.png": bytes(range(256)) * 64}, expected=("status of 4..",)),
    "deleting": State(_deleting),
    "approval": State(_approval, "ask"),
    "queue": State(_queue, "ask"),
    "waiting": State(_waiting, "ask"),
    "conflict": State(_conflict),
    "merge": State(_merge),
    "inline": State(_inline),
    "disconnected": State(_disconnected, expected=(*OUTAGE, *LATE_PARTS)),
    "error": State(_error, expected=("status of 4..",)),
}


@contextmanager
def played(name: str, browser: Browser, folder: Path, **options: Any) -> Iterator[Stage]:
    """Have the page in a state until the block ends; fails if the page reports an error that is none of the state.

    Args:
        name: One of STATES.
        browser: What shows it.
        folder: Empty; the root is made in it.
        options: Of Playwright's `new_context`: `color_scheme`, `viewport`.
    """
    state, watched = STATES[name], Watched()
    watched.expect(*state.expected)
    root = folder / "shop"
    root.mkdir()
    project = {} if state.is_empty else {path: text.encode() for path, text in _PROJECT.items()}
    for path, content in {**project, **state.files}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    with served(root, permissions=state.permissions) as serving, window(browser, watched, **options) as (_, page):
        serving.log_in(page)
        stage = Stage(serving, page, state.permissions, [])
        try:
            state.play(stage)
            yield stage
        finally:
            for agent in stage.agents:
                agent.kill()
                agent.wait()
    watched.check()


def main() -> None:
    """Save a picture of every state, light and dark, wide and narrow; one of them is the README's."""
    named = sys.argv[2:] or list(STATES)
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="pictures-"))
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = launched(playwright)
        for name, scheme, size in product(named, SCHEMES, SIZES):
            picture = folder / f"{name}-{scheme}-{size['width']}.png"
            with (
                tempfile.TemporaryDirectory() as temporary,
                played(name, browser, Path(temporary), color_scheme=scheme, viewport=size) as stage,
            ):
                stage.page.screenshot(path=picture)
            if picture.name == "working-light-1280.png":
                PICTURE.write_bytes(picture.read_bytes())
        browser.close()
    print(folder)  # noqa: T201 - where they are


if __name__ == "__main__":
    main()
