"""The demo in a real browser: the page shows what the scenes do, as they do it."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from playwright.sync_api import Page, Route, expect

from tests.support.browsers import connected, until
from tests.support.http_servers import line_of
from tests.support.pages import open_file


def test_the_scenes_play_in_the_page(page: Page) -> None:
    command = (sys.executable, "-m", "filetools", "demo", "--open")
    environment = os.environ | {"BROWSER": "true"}
    begun: list[Route] = []
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, bufsize=0) as process:
        while (found := re.search(r"(http://\S+)/login#code=\S+", line := line_of(process))) is None:
            assert line, "it has ended"
        # The play begins once the page is connected, and does not wait for the editor.
        page.route("**/main.js", lambda route: begun.append(route))
        page.goto(found[0])
        page.wait_for_url(f"{found[1]}/", wait_until="commit")
        until(page, "window.monaco?.editor")
        for each in begun:
            each.continue_()
        connected(page)
        expect(page.locator('[data-path="README.md"] [data-badge="changed"]')).to_be_visible()
        open_file(page, "src/tally.py")
        expect(page.locator("#editor .view-lines").first).to_contain_text("# alice")
        page.goto("about:blank")  # the server ends with the play
        rest = process.communicate()[0].decode()
    assert process.returncode == 0, rest
