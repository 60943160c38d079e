"""Who holds locks, and who is there to answer: what doors tell people."""

from __future__ import annotations

import asyncio
from pathlib import Path

import filetools
from tests.support.crashing import QUIET
from tests.support.opened import refused, steps_until
from tests.support.people import ALICE, EDITOR

SETTINGS_FILE = ".vscode/settings.json"


async def test_locks_that_are_held_are_told_with_their_owner(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=QUIET) as files:
        assert files.held_locks() == []
        key = files._parts.workspace.key(files._runner.resolve("a.txt"))
        async with files._parts.locks.hold([key], path="a.txt", owner="alice"):
            [lock] = files.held_locks()
            assert (lock.path, lock.owner) == ("a.txt", "alice")
        assert files.held_locks() == []
    await refused("WORKSPACE_GONE", held(files))


async def held(files: filetools.FileToolsFacade) -> None:
    files.held_locks()


async def test_a_call_waits_for_a_person_who_attends_and_no_longer(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=QUIET) as files:
        agent = files.for_actor(ALICE)
        await refused("APPROVAL_REQUIRED", agent.write_file(SETTINGS_FILE, "{}"))
        attendance = files.attend_approvals()
        call = asyncio.create_task(agent.write_file(SETTINGS_FILE, "{}"))
        await steps_until(lambda: files._parts.gatekeeper.approvals.open_requests())
        [request] = await files.approvals()
        await files.for_actor(EDITOR).answer_approval(request.id, "allow")
        assert (await call).created
        attendance.close()
        await refused("APPROVAL_REQUIRED", agent.write_file(SETTINGS_FILE, "{ }"))
