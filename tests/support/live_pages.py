"""A small page around `live.js` alone, in a real browser: no editor, no Monaco; its fields are in `live_page.js`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Page, Route

from tests.support.browsers import Served
from tests.support.declared import REPOSITORY

LIVE: Final = REPOSITORY / "filetools" / "servers" / "http" / "web" / "live.js"
_SCRIPT: Final = Path(__file__).with_name("live_page.js")
OUTAGE: Final = (r"WebSocket connection to .* failed", r"Failed to load resource", r"net::ERR_")
"""What a browser itself reports while a server is gone or refuses."""
LATE_PARTS: Final = (r"[wW]eb worker", r"importScripts", r"uncaught: (ErrorEvent|Canceled|\[object Event\])")
"""What Monaco reports of its worker and languages, which it fetches when it first needs them, if the server is gone."""


class LivePage:
    """A page with `live.js` of a server, perhaps patched; lives as long as its window.

    Args:
        page: The browser's.
        served: The server; its origin is the page's.
        patch: What stands in `live.js`, and what in its place.
        logs_in: Whether it logs in; another window of its browser may have done so.
    """

    def __init__(
        self, page: Page, served: Served, patch: tuple[str, str] | None = None, *, logs_in: bool = True
    ) -> None:
        self.page = page
        self.served = served
        context = page.context
        context.route("**/live_page.js", lambda route: _script(route, _SCRIPT.read_text()))
        if patch is not None:
            source = LIVE.read_text()
            assert source.count(patch[0]) == 1, f"{patch[0]!r} stands {source.count(patch[0])} times in live.js"
            context.route("**/assets/live.js", lambda route: _script(route, source.replace(*patch)))
        self.load()
        if logs_in:
            self.log_in(served)

    def load(self) -> None:
        """Load the page, or load it again."""
        # A document of the server's own: of one that a test makes up the browser does not know that it is this machine's.
        self.page.goto(f"{self.served.server.address}/healthz")
        self.start()

    def start(self) -> None:
        """Give the page its script."""
        self.page.evaluate(
            "async (token) => { window.token = token; await import('/live_page.js'); }", self.served.server.token
        )

    def log_in(self, served: Served) -> None:
        """Log in at a server, with the code that it printed."""
        self.page.evaluate("(code) => logIn(code)", served.codes.pop())

    def open(self, path: str, options: str = "{}") -> None:
        """Connect as `live`, and open a document as `field`."""
        self.run(f"window.live = connected({options})")
        self.run("window.field = new Field(await live.open(given))", path)

    def reload(self, path: str) -> None:
        """Load the page again, as its person does, and go on with the document."""
        self.page.reload()
        self.start()
        self.open(path)

    def run(self, script: str, given: Any = None) -> Any:
        """Run statements, or return an expression, with `given`; they may await."""
        body = script if re.match(r"(return|const|let|for|if)\b|window\.\w+ =", script) else f"return {script}"
        return self.page.evaluate(f"async (given) => {{ {body}; }}", given)

    def until(self, condition: str) -> None:
        """Wait until an expression is true."""
        self.run(f"until(() => {condition})")

    def settle(self) -> str:
        """Wait until all that was typed has arrived, and return the text that is everybody's then."""
        text: str = self.run(
            "const {path} = (await settled(field), field.document); const theirs = await textOf(path);"
            "await until(() => field.text === theirs && field.document.text === theirs); return theirs"
        )
        return text


def _script(route: Route, text: str) -> None:
    route.fulfill(body=text, content_type="text/javascript", headers={"Cache-Control": "no-store"})
