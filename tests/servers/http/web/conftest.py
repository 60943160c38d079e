from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

# The page's tests need the extra and a driver of browsers; whoever works on the rest without them can run the rest.
collect_ignore_glob = [] if find_spec("rocher") and find_spec("playwright") else ["test_*.py"]

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.support.browsers import Desk, Served, Watched


_OPEN = ExitStack()
_BROWSERS: list[Browser] = []


@pytest.fixture(scope="module")
def browser() -> Browser:
    """One browser for the tests of this folder that a process runs on end."""
    from playwright.sync_api import sync_playwright

    from tests.support.browsers import browser_program, have_patience, launched

    browser_program()
    have_patience()
    if not _BROWSERS:
        started = launched(_OPEN.enter_context(sync_playwright()))
        _OPEN.callback(started.close)
        _OPEN.callback(_BROWSERS.clear)
        _BROWSERS.append(started)
    return _BROWSERS[0]


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Close the browser before another folder's test: Playwright keeps an event loop running, beside which none can start."""
    if nextitem is None or nextitem.path.parent != Path(__file__).parent:
        _OPEN.close()


def pytest_sessionfinish() -> None:
    _OPEN.close()


@pytest.fixture
def agents() -> Iterator[ThreadPoolExecutor]:
    """Carries agents' calls, which wait for the person."""
    with ThreadPoolExecutor(4) as pool:
        yield pool


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


@pytest.fixture(scope="module")
def desk(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A server and a page for those tests of a module that leave both as they were."""
    from tests.support.browsers import Desk

    made = Desk(browser, tmp_path_factory.mktemp("desk"))
    yield made
    made.close()
