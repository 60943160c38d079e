"""A mirror on the disk, and a world in which a root follows it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from filetools.stores.local import LocalStore
from tests.support.mirror_worlds import World, local_store, world


@pytest.fixture
def inner(tmp_path: Path) -> LocalStore:
    return local_store(tmp_path / "mirror")


@pytest.fixture
async def opened(tmp_path: Path, inner: LocalStore) -> AsyncIterator[World]:
    async with world(tmp_path, inner) as made:
        yield made
