"""The page for everybody: by keyboard alone, by screen readers, in light and dark, on narrow screens, without motion."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.support.page_pictures import STATES, played

MONACOS: Final[dict[str, str]] = {}
"""Rules of axe-core that nodes which Monaco draws may break, each with the reason."""


def faults(page: Page) -> list[str]:
    """Return what axe-core finds that is serious, as "rule: element"."""
    found: Any = Axe().run(page).response["violations"]
    return [
        f"{rule['id']}: {' '.join(node['target'])}: {node['html'][:120]} {[each['message'] for each in node['any']]}"
        for rule in found
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
        if not (rule["id"] in MONACOS and page.locator(node["target"][0]).locator("xpath=ancestor-or-self::*[contains(@class, 'monaco')]").count())
    ]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 800)])
@pytest.mark.parametrize("state", list(STATES))
def test_axe_finds_nothing_serious(browser: Browser, tmp_path: Path, state: str, scheme: str, width: int) -> None:
    with played(state, browser, tmp_path, color_scheme=scheme, viewport={"width": width, "height": 640}) as stage:
        found = faults(stage.page)
        assert not found, "\n".join(found)
