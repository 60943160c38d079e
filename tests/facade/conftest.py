"""A workspace on each test's own tree, without background work."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from tests.support.crashing import QUIET


@pytest.fixture
async def files(root: Path) -> AsyncIterator[FileToolsFacade]:
    """Open the tree made by the fixture `root` of the test's module."""
    async with filetools.open(root, settings=QUIET) as opened:
        yield opened
