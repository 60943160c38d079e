"""The example pages of `docs/examples`: an editor on `live.js` alone, from an origin of its own."""

from __future__ import annotations

import mimetypes
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.support import node
from tests.support.browsers import Served, served
from tests.support.declared import REPOSITORY

EXAMPLES = REPOSITORY / "docs" / "examples"
SHOWN = {"monaco.html": ".view-lines", "codemirror.html": ".cm-content"}


@pytest.fixture
def origin(browser: Browser) -> Iterator[str]:
    """Serve the example pages and their editors, as any server of plain files does."""
    try:
        node.install(node.CODEMIRROR)
    except (OSError, subprocess.CalledProcessError) as exc:
        pytest.skip(f"needs {node.CODEMIRROR}, which npm cannot install: {exc}")
    places = {
        "vs": Path(import_module("rocher").path()),
        "npm": node.folder(node.CODEMIRROR) / "node_modules",
    }

    class Files(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            first, _, rest = self.path.partition("?")[0].lstrip("/").partition("/")
            file = places[first] / rest if first in places else EXAMPLES / first
            if not file.is_file():
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Type", mimetypes.guess_type(file.name)[0] or "application/octet-stream")
            self.end_headers()
            self.wfile.write(file.read_bytes())

        def log_message(self, *arguments: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Files) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture
def elsewhere(origin: str, root: Path) -> Iterator[Served]:
    """The root, whose server lets the example pages call it."""
    with served(root, "--allow-origin", origin) as found:
        yield found


@pytest.mark.parametrize("name", SHOWN)
def test_a_page_of_your_own_edits_beside_an_agent_and_saves(
    name: str, elsewhere: Served, origin: str, page: Page
) -> None:
    poem = elsewhere.root / "poem.txt"
    poem.write_text("roses\nviolets\n")
    page.goto(f"{origin}/{name}?server={elsewhere.server.address}&path=poem.txt#{elsewhere.server.token}")
    shown = page.locator(SHOWN[name])
    shown.get_by_text("violets").wait_for()
    shown.click(position={"x": 1, "y": 5})
    page.keyboard.press("ControlOrMeta+Home")
    page.keyboard.type("red ")
    page.wait_for_function("document.title.startsWith('●')")
    elsewhere.does("edit_file", path="poem.txt", old_string="violets", new_string="violins")
    shown.get_by_text("violins").wait_for()
    page.keyboard.type("dark ")
    page.keyboard.press("ControlOrMeta+s")
    page.wait_for_function("document.title === 'poem.txt (connected)'")
    assert poem.read_text() == "red dark roses\nviolins\n"


def test_the_examples_are_short() -> None:
    assert {page.name for page in EXAMPLES.glob("*.html")} == set(SHOWN)
    assert all(len(page.read_text().splitlines()) <= 60 for page in EXAMPLES.glob("*.html"))
