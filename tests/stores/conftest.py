"""The worlds in which the contract is tested."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.store_worlds import WORLDS, LocalWorld, has_other_device, make_world


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LocalWorld]:
    if request.param == "elsewhere" and not has_other_device(tmp_path):
        pytest.skip("only one file system to write to")
    made = make_world(request.param, tmp_path)
    yield made
    made.close()


@pytest.fixture
def native(tmp_path: Path) -> Iterator[LocalWorld]:
    made = make_world("local", tmp_path)
    yield made
    made.close()
