"""Syncing files in the background: what is marked as synced is synced, even while changes are being applied."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

import filetools
from filetools.errors import AccessDeniedError
from filetools.facade.facade import FileToolsFacade
from filetools.tree.leader import Leadership
from filetools.writer.file_sync import sync_files
from tests.support.crashing import CrashingOpening
from tests.support.inside import parts
from tests.support.opened import outcome_of

OFF = {"sync_after_seconds": 3600.0}


@pytest.fixture(autouse=True)
async def _nobody_keeps(tmp_path: Path) -> AsyncIterator[None]:
    """Run without a leader, whose first round would sync what a test has just written."""
    async with filetools.open(tmp_path, settings=OFF):
        pass
    leadership = Leadership(tmp_path / ".filetools/state", "leader.lock")
    assert leadership.try_lead()
    yield
    leadership.close()


def unsynced(files: FileToolsFacade) -> list[str]:
    """Return the paths of the applied records that are not synced yet."""
    return [record.path for record in parts(files).journal.marks.unfinished("unsynced")]


def sync_all(files: FileToolsFacade) -> None:
    opened = parts(files)
    sync_files(opened.workspace, opened.store, opened.journal)


async def settled(files: FileToolsFacade) -> None:
    """Sync everything first."""
    await parts(files).workers.run(lambda: sync_all(files))
    assert unsynced(files) == []


def meddle(
    opening: CrashingOpening, files: FileToolsFacade, method: str, *, then: Callable[[], None] = lambda: None
) -> None:
    """Sync all files just before a call of the store."""

    def act() -> None:
        sync_all(files)
        then()

    opening.plan.acts[method] = act


@pytest.mark.parametrize("is_refused", [False, True])
async def test_a_file_whose_folder_is_about_to_be_renamed_is_not_taken_for_synced(
    tmp_path: Path, is_refused: bool
) -> None:
    opening = CrashingOpening(tmp_path, settings=OFF)
    async with opening as files:
        await files.create_directory("a")
        await settled(files)
        await files.write_file("a/file.txt", "text")

        def refuse() -> None:
            if is_refused:
                raise AccessDeniedError("b", "a fault of the test")

        meddle(opening, files, "move", then=refuse)  # it is recorded at its new name, but is still at the old one
        assert await outcome_of(files.move_file("a", "b")) == ("PERMISSION_DENIED" if is_refused else "done")
        assert not opening.plan.acts
        assert (tmp_path / ("a" if is_refused else "b") / "file.txt").read_text() == "text"
        assert "a/file.txt" in unsynced(files)
        await settled(files)
