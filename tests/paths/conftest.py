from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from filetools.paths.root import ResolverChoice
from filetools.paths.workspace import Workspace

Opener = Callable[..., Workspace]


@pytest.fixture(params=["openat2", "walk", "checked"])
def resolver(request: pytest.FixtureRequest) -> ResolverChoice:
    choice: ResolverChoice = request.param
    return choice


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "root"
    place.mkdir()
    return place


@pytest.fixture
def open_root(root: Path, resolver: ResolverChoice) -> Iterator[Opener]:
    """Open the root with each resolver in turn; closed after the test."""
    opened: list[Workspace] = []

    def opener(**options: object) -> Workspace:
        opened.append(Workspace.open(root, resolver=resolver, **options))  # type: ignore[arg-type]
        return opened[-1]

    yield opener
    for workspace in opened:
        workspace.close()


@pytest.fixture
def workspace(open_root: Opener) -> Workspace:
    return open_root()
