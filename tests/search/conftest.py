"""A store on the test's own tree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.direct_store import DirectStore, open_store


@pytest.fixture
def direct(root: Path) -> Iterator[DirectStore]:
    opened = open_store(root)
    yield opened
    opened.close()
    opened.workspace.close()


@pytest.fixture
def store(direct: DirectStore) -> DirectStore:
    return direct
