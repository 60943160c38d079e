from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.terminal import CommandLine, shared_server


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "app.py").write_text("one\ntwo\nthree\n")
    (folder / "notes.md").write_text("notes\n")
    return folder


@pytest.fixture
def run(root: Path, tmp_path: Path) -> CommandLine:
    return CommandLine(shared_server(), root, tmp_path)
