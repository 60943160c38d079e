"""The worlds in which the contract is tested."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.store_worlds import LOCAL_WORLDS, WORLDS, LocalWorld, World, has_other_device, make_world


def opened_world(kind: str, folder: Path) -> Iterator[World]:
    if kind == "elsewhere" and not has_other_device(folder):
        pytest.skip("only one file system to write to")
    made = make_world(kind, folder)
    yield made
    made.close()


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    yield from opened_world(request.param, tmp_path)


@pytest.fixture(params=LOCAL_WORLDS)
def local(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LocalWorld]:
    for made in opened_world(request.param, tmp_path):
        assert isinstance(made, LocalWorld)
        yield made


@pytest.fixture
def native(tmp_path: Path) -> Iterator[LocalWorld]:
    made = make_world("local", tmp_path)
    assert isinstance(made, LocalWorld)
    yield made
    made.close()
