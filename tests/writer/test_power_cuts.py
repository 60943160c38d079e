"""Power cuts under writers, on a disk that forgets what was not synced: no durable change is lost, torn, or a stranger's.

A failure prints its seed: `python -m tests.support.core_power_cuts --seed SEED --cuts 20 --kind KIND` tries such cuts again,
as far as the timing allows.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from pathlib import Path
from typing import Any, ClassVar

import pytest

from filetools.errors import StorageFailedError
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.local import LocalStore
from filetools.writer.syncing import BackgroundSync
from tests.support.core import opened_core
from tests.support.core_crashes import locked
from tests.support.core_power_cuts import BUGS
from tests.support.dose import dose
from tests.support.forked import forked
from tests.support.watching import until

FAULTS = {"lost", "torn", "adopted", "astray", "left", "gaps", "unapplied", "failed"}
needs_fuse = pytest.mark.skipif(not os.access("/dev/fuse", os.R_OK | os.W_OK), reason="no /dev/fuse to make a disk of")


def cuts(kind: str, count: int, *options: str, seed: int) -> list[dict[str, Any]]:
    arguments = ["--kind", kind, "--seed", str(seed), "--cuts", str(count), *options]
    with forked("tests.support.core_power_cuts", *arguments) as machine:
        results = list(machine.rest())
        if machine.wait() == 77:
            pytest.skip("mounting is not permitted here")
        assert (machine.returncode, len(results)) == (0, count)
    return results


@needs_fuse
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("kind", "count"), [("once", 6), ("again", 3)])
def test_nothing_durable_is_lost_torn_or_taken_for_a_strangers(kind: str, count: int) -> None:
    found = [result for result in cuts(kind, dose(count), seed=1000) if FAULTS & result.keys()]
    assert not found, json.dumps(found, indent=1)


@needs_fuse
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("bug", list(BUGS)[: min(len(BUGS), dose(2))])
def test_a_planted_fault_is_found(bug: str) -> None:
    for seed in range(1, 200, 8):
        if any(FAULTS & result.keys() for result in cuts("once", 8, "--bug", bug, seed=seed)):
            return
    pytest.fail("nothing was lost in 200 cuts")


class FailingStore(LocalStore):
    """A store that cannot sync some paths."""

    failing: ClassVar[set[str]] = set()

    def sync(self, path: WorkspacePath, *, synced: set[WorkspacePath] | None = None) -> bool:
        if path in self.failing:
            raise StorageFailedError(path, "planned")
        return super().sync(path, synced=synced)


async def test_what_cannot_be_synced_is_logged_once_and_tried_again_and_others_do_not_wait(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / ".filetools/state").mkdir(parents=True)
    store = FailingStore(Workspace.open(tmp_path), private_directory=tmp_path / ".filetools/state")
    store.failing.add("a")
    async with opened_core(tmp_path, store) as core:
        left: list[list[str]] = []

        def look() -> bool:
            core.writer.submit(lambda: left.append([row.path for row in core.state.rows.unsynced()]))
            return bool(left)

        sync = BackgroundSync(core.state, core.writer.submit, 0.01)
        sync.start()
        await core.write("a", "text")
        await core.write("b", "text")
        sync.notice()
        await until(lambda: look() and left[-1] == ["a"] and len(left) > 50)
        store.failing.clear()
        await until(lambda: look() and left[-1] == [])
        sync.close()
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


async def test_closing_syncs_nothing_and_waits_for_nothing(tmp_path: Path) -> None:
    async with opened_core(tmp_path) as core:
        await core.write("a", "text")
        before = threading.active_count()
        sync = BackgroundSync(core.state, core.writer.submit, 3600)
        sync.start()
        sync.close()
        await until(lambda: threading.active_count() == before)
    with locked(tmp_path) as state:
        assert [row.path for row in state.rows.unsynced()] == ["a"]
