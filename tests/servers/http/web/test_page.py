"""The page itself: what it is made of, under which policy, and that a login leads there."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.support.browsers import Served


def test_a_login_leads_to_the_page(serving: Served, page: Page) -> None:
    serving.log_in(page)
    assert page.url == f"{serving.server.address}/"
