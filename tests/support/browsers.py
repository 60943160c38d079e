"""The browser of this machine, driven by tests of the editor page: each window has a profile of its own, and is watched."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Playwright, Request, WebSocket

from tests.support.http_servers import HttpServer, http_server

PROGRAMS: Final = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS: Final = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
PATIENCE_MS: Final = 60_000
"""How long a test waits for what must come; nothing is measured by it."""


def browser_program() -> str:
    """Return the browser's program; skips where none is installed."""
    found = next((place for name in PROGRAMS if (place := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"needs a browser: none of {', '.join(PROGRAMS)} is installed")
    return found


def launched(playwright: Playwright, **options: Any) -> Browser:
    """Start the browser of this machine."""
    return playwright.chromium.launch(executable_path=browser_program(), args=list(ARGUMENTS), **options)


@dataclass
class Watched:
    """What a page did that it must not: errors in its console, and requests that leave this machine."""

    errors: list[str] = field(default_factory=list)
    strange_requests: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    """Patterns of errors that a test brings about itself, such as a server that is gone."""

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

    def log_in(self, page: Page) -> None:
        """Log a page's browser in and wait until the editor page is connected."""
        page.goto(f"{self.server.address}/login#code={self.codes.pop()}")
        page.wait_for_url(f"{self.server.address}/")
        connected(page)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool as an agent does, and return the envelope."""
        answer = httpx2.post(f"{self.server.address}/v1/tools/{tool}", json=arguments, timeout=PATIENCE_MS / 1000)
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
        told = iter(server.line, "")
        found = next(match for line in told if (match := re.search(r"/login#code=(\S+)", line)))
        yield Served(server, [found[1]])


def until(page: Page, condition: str) -> None:
    """Wait until an expression of JavaScript is true in a page; Playwright's own way is refused by the page's policy."""
    page.evaluate(
        f"""async () => {{
          const ends = performance.now() + {PATIENCE_MS};
          while (!({condition})) {{
            if (performance.now() > ends) throw new Error("it never came true: " + {json.dumps(condition)});
            await new Promise((resolve) => setTimeout(resolve, 20));
          }}
        }}"""
    )


def connected(page: Page) -> None:
    """Wait until the editor page has its connection and its editor."""
    until(page, "window.filetools?.live.state === 'connected'")
    page.evaluate("async () => { await window.filetools.editor.monaco; }")


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
