"""A hub on the test's own root, without a network."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from filetools.facade.facade import FileToolsFacade
from filetools.servers.http.live.hub import Hub
from filetools.tools.call_log import CallLog
from tests.support.crashing import grow


@pytest.fixture
def root(request: pytest.FixtureRequest, root: Path) -> Path:
    """The root of a server, with the files that the test's module names `BEFORE`."""
    grow(root, request.module.BEFORE)
    return root


@pytest.fixture
async def hub(files: FileToolsFacade) -> AsyncIterator[Hub]:
    made = Hub(files, CallLog())
    yield made
    made.close()
