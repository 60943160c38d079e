from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import httpx2
import pytest

from tests.support import bearer
from tests.support.http_servers import HttpServer, http_server

# The door needs an extra; whoever works on the rest without it can run the rest.
collect_ignore_glob = [] if find_spec("fastapi") and find_spec("mcp") else ["test_*.py"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """One process for all tests of a module; each uses names of its own."""
    root = tmp_path_factory.mktemp("served") / "project"
    root.mkdir()
    with http_server(root) as serving:
        yield serving


@pytest.fixture(scope="module")
def client(server: HttpServer) -> Iterator[httpx2.Client]:
    with bearer.Client(base_url=server.address, timeout=60) as opened:
        yield opened


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder
