"""Logs of one project, as its agents would have left them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.agent_logs import ENCODED, LogWriter


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """The folder that holds a folder for each project."""
    return tmp_path / "projects"


@pytest.fixture
def writer(logs: Path) -> LogWriter:
    """Writes logs of `PROJECT`."""
    return LogWriter(logs / ENCODED)


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """Returns what was warned of so far."""
    return lambda: [record.getMessage() for record in caplog.records]
