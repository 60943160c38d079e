"""Callers over HTTP: whose reading another process could ever ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

import filetools
from filetools.servers.http.callers import Admission, Callers
from filetools.tools.call_log import CallLog
from tests.support.crashing import QUIET


@pytest.mark.parametrize(
    ("admission", "session", "kept"),
    [(Admission(), None, 0), (Admission(), " ", 0), (Admission(), "s", 1), (Admission(login="l"), None, 1)],
)
async def test_what_was_read_is_written_down_for_sessions_that_can_come_back_alone(
    tmp_path: Path, admission: Admission, session: str | None, kept: int
) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    async with filetools.open(tmp_path, settings=QUIET) as files:
        caller = Callers(files, person="ann", log=CallLog()).caller(admission, session)
        await caller.files.read_file("a.txt")
        await files._parts.crew.run(files._parts.tracker.save)
        rows = files._parts.journal._database.rows("SELECT hash FROM contents WHERE used < 0")  # type: ignore[attr-defined]
        assert len(rows) == kept
