from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

# The page's tests need the extra and a driver of browsers; whoever works on the rest without them can run the rest.
collect_ignore_glob = [] if find_spec("rocher") and find_spec("playwright") else ["test_*.py"]

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.support.browsers import Served, Watched


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests of a process."""
    from playwright.sync_api import expect, sync_playwright

    from tests.support.browsers import PATIENCE_MS, browser_program, launched

    browser_program()
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        started = launched(playwright)
        yield started
        started.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def watched() -> Iterator[Watched]:
    """Fails the test if a page reports an error or calls another machine."""
    from tests.support.browsers import Watched

    watching = Watched()
    yield watching
    watching.check()


@pytest.fixture
def page(browser: Browser, watched: Watched) -> Iterator[Page]:
    """A window of a browser with an empty profile."""
    from tests.support.browsers import window

    with window(browser, watched) as (_, opened):
        yield opened


@pytest.fixture
def serving(root: Path, browser: Browser) -> Iterator[Served]:
    """The root, served where agents may do everything; a test that needs another preset calls `served` itself."""
    from tests.support.browsers import served

    with served(root) as found:
        yield found
