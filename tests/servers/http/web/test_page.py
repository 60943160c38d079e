"""The page itself: what it is made of, under which policy, and that a login leads there."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.support.browsers import Served, until


def asked(page: Page) -> list[str]:
    """Note the names of the files that the page asks for, from now on."""
    names: list[str] = []
    page.on("request", lambda request: names.append(request.url.rpartition("/")[2]))
    return names


def test_without_a_login_nothing_of_monaco_is_loaded(serving: Served, page: Page) -> None:
    names = asked(page)
    page.goto(serving.server.address)
    until(page, "document.getElementById('connection').dataset.state === 'no-login'")
    assert "main.js" in names
    assert not {"loader.js", "editor.main.js", "editor.main.css"} & set(names)


def test_what_the_page_asks_for_early_is_asked_for_once_and_used(serving: Served, page: Page) -> None:
    names = asked(page)
    serving.log_in(page)
    core = page.evaluate("document.documentElement.dataset.core")
    early = [core, "loader.js", "editor.main.js", "editor.main.css"]
    assert [names.count(name) for name in early] == [1, 1, 1, 1]
    assert names.index(core) < names.index("nls.messages-loader.js")
    until(page, f"[...document.styleSheets].some((sheet) => sheet.href?.endsWith('{early[-1]}'))")
