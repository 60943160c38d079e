from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.terminal import CommandLine, Server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "app.py").write_text("one\ntwo\nthree\n")
    (folder / "notes.md").write_text("notes\n")
    return folder


@pytest.fixture
def run(server: Server, root: Path, tmp_path: Path) -> CommandLine:
    return CommandLine(server, root, tmp_path)
