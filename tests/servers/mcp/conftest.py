from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

# The door needs an extra; whoever works on the rest without it can run the rest.
collect_ignore_glob = [] if find_spec("mcp") else ["test_*.py"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "app.py").write_text("one\ntwo\nthree\n")
    (folder / "notes.md").write_text("notes\n")
    return folder
