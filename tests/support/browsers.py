"""The browser of this machine, driven by tests of the editor page: each window has a profile of its own, and is watched."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Playwright, Request, WebSocket, expect

from tests.support import bearer
from tests.support.dose import DOSE
from tests.support.http_servers import HttpServer, http_server

SHELL: Final = "chromium-headless-shell"
"""The engine without the rest of a browser, which makes half the work of a page; a longer dose takes the whole."""
PROGRAMS: Final = (*([SHELL] if DOSE <= 1 else []), "chromium", "chromium-browser", "google-chrome", SHELL)
ARGUMENTS: Final = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
PATIENCE_MS: Final = 60_000
"""How long a test waits for what must come; nothing is measured by it."""
FOLDER_GONE: Final = r"404 \(Not Found\) \(\S+/v1/list\?path="
SHORT_PATIENCE_MS: Final = 4_000
"""How long a test waits for what a planted fault keeps from coming."""
_patience = {"ms": PATIENCE_MS}


def browser_program() -> str:
    """Return the browser's program; skips where none is installed."""
    found = next((place for name in PROGRAMS if (place := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"needs a browser: none of {', '.join(PROGRAMS)} is installed")
    return found


def have_patience(milliseconds: int = PATIENCE_MS) -> None:
    """Set how long everything waits in a page from now on."""
    _patience["ms"] = milliseconds
    expect.set_options(timeout=milliseconds)


def launched(playwright: Playwright, **options: Any) -> Browser:
    """Start the browser of this machine."""
    return playwright.chromium.launch(executable_path=browser_program(), args=list(ARGUMENTS), **options)


@dataclass
class Watched:
    """What a page did that it must not: errors in its console, and requests that leave this machine."""

    errors: list[str] = field(default_factory=list)
    strange_requests: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=lambda: ["WebSocket is closed before the connection is established"])
    """Patterns of errors that a test brings about itself, such as a server that is gone, or a page closed as it connects."""

    def expect(self, *patterns: str) -> None:
        """Let errors pass that match."""
        self.expected += patterns

    def watch(self, page: Page) -> None:
        """Watch a page from now on."""
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.errors.append(f"uncaught: {error}"))
        page.on("request", self._note)
        page.on("websocket", self._note)

    def check(self) -> None:
        """Fail if there was anything."""
        left = [error for error in self.errors if not any(re.search(pattern, error) for pattern in self.expected)]
        assert left == [], left
        assert self.strange_requests == []

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(f"{message.text} ({message.location.get('url', '')})")

    def _note(self, request: Request | WebSocket) -> None:
        if not re.match(r"(https?|wss?)://(127\.0\.0\.1|localhost)[:/]|data:|blob:", request.url):
            self.strange_requests.append(request.url)


@dataclass(frozen=True)
class Served:
    """A root that is served for a person; `log_in` lets browsers in."""

    server: HttpServer
    codes: list[str]

    @property
    def root(self) -> Path:
        """What is served."""
        return self.server.root

    def log_in(self, page: Page, *, has_editor: bool = True) -> None:
        """Log a page's browser in and wait until the editor page is connected, perhaps without its editor."""
        page.goto(f"{self.server.address}/login#code={self.codes.pop()}")
        page.wait_for_url(f"{self.server.address}/", wait_until="commit")
        connected(page, has_editor=has_editor)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool as an agent does, and return the envelope."""
        answer = bearer.post(f"{self.server.address}/v1/tools/{tool}", json=arguments, timeout=PATIENCE_MS / 1000)
        envelope: dict[str, Any] = answer.json()
        return envelope

    def does(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed, and return its data."""
        envelope = self.call(tool, **arguments)
        assert envelope["success"], envelope
        data: dict[str, Any] = envelope["data"]
        return data


@contextmanager
def served(root: Path, *arguments: str, permissions: str | None = "allow") -> Iterator[Served]:
    """Serve a root in a process of its own, for a person and agents; None names no preset."""
    # "true" stands for the browser that --open starts.
    options = ("--open", *(("--permissions", permissions) if permissions else ()), *arguments)
    with http_server(root, *options, environment={"BROWSER": "true"}) as server:
        yield Served(server, [server.login_code()])


def until(page: Page, condition: str, patience_ms: int | None = None) -> None:
    """Wait until an expression of JavaScript is true in a page; Playwright's own way is refused by the page's policy."""
    page.evaluate(
        f"""async () => {{
          const ends = Date.now() + {patience_ms or _patience["ms"]};
          while (!({condition})) {{
            if (Date.now() > ends) throw new Error("it never came true: " + {json.dumps(condition)});
            await new Promise((resolve) => setTimeout(resolve, 20));
          }}
        }}"""
    )


def connected(page: Page, *, has_editor: bool = True) -> None:
    """Wait until the editor page has its connection, and its editor unless that is held back."""
    until(page, "window.filetools?.live.state === 'connected'", PATIENCE_MS)
    if has_editor:
        page.evaluate("async () => { await window.filetools.editor.monaco; }")


def without_editor(page: Page) -> Page:
    """Hold Monaco back, which most of a page's time is spent on; for what the rest of the page does."""
    page.route("**/editor.main.js", lambda route: route.fulfill(body="", content_type="text/javascript"))
    return page


@contextmanager
def window(browser: Browser, watched: Watched, **options: Any) -> Iterator[tuple[BrowserContext, Page]]:
    """Open a page with an empty profile of its own."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
    context.set_default_timeout(PATIENCE_MS)
    try:
        page = context.new_page()
        watched.watch(page)
        yield context, page
    finally:
        context.close()


CLEAR: Final = """async () => {
  const { editor, live } = filetools;
  const ask = editor.askInline;
  editor.askInline = async () => "discard";
  for (const tab of [...editor.tabs]) if (!(await editor.close(tab.path))) throw new Error(`${tab.path} stays open`);
  editor.askInline = ask;
  document.getElementById("status").textContent = "";
  const filter = document.getElementById("filter");
  filter.value = "";
  filter.dispatchEvent(new Event("input"));
  document.activeElement.blur();
}"""
"""Close all files without a question."""
NOBODY_ASKED: Final = """!document.querySelector("dialog[open], [role=alertdialog]")
  && document.getElementById("question-bar").hidden"""
"""Agents may have their answer before the page knows that it has arrived. A page that goes on asking is not used again."""


class Desk:
    """One server and one page on it for many tests, each of which begins with an empty root and no open file.

    Args:
        browser: What shows the page.
        folder: Where roots are made.
        arguments: Of `filetools serve`.
        permissions: The preset for agents; None names none.
    """

    def __init__(self, browser: Browser, folder: Path, *arguments: str, permissions: str | None = "allow") -> None:
        self._browser = browser
        self._folder = folder
        self._arguments = arguments
        self._permissions = permissions
        self._opened = ExitStack()
        self._page: Page | None = None
        self.watched = Watched()

    @contextmanager
    def cleared(self) -> Iterator[Page]:
        """Give a test the page, and clear up behind it; after a failure the next one gets another server and page."""
        page, self._page = self._page or self._open(), None
        self.watched.errors.clear()
        self.watched.expected[:] = [FOLDER_GONE]  # of the test before, whose folders are removed while the page looks
        page.keyboard.press("Control+s")  # a command: whoever types is not interrupted by questions
        yield page
        until(page, NOBODY_ASKED)
        self.watched.check()
        page.evaluate(CLEAR)
        for place in self.serving.root.iterdir():
            if place.is_dir() and place.name != ".filetools":
                shutil.rmtree(place)
            elif place.name != ".filetools":
                place.unlink()
        until(page, "!document.querySelector('#tree [role=treeitem]')")
        self._page = page

    def close(self) -> None:
        """End server and page."""
        self._opened.close()

    def _open(self) -> Page:
        self.close()
        root = Path(tempfile.mkdtemp(dir=self._folder)) / "project"
        root.mkdir()
        self.serving = self._opened.enter_context(served(root, *self._arguments, permissions=self._permissions))
        _, page = self._opened.enter_context(window(self._browser, self.watched))
        self.serving.log_in(page)
        return page
