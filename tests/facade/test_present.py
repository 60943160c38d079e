"""Who holds locks, and who is present to answer: what interfaces show people."""

from __future__ import annotations

from pathlib import Path

import filetools
from filetools.events.types import ApprovalRequired
from tests.support import inside
from tests.support.crashing import QUIET
from tests.support.opened import refused, steps_until
from tests.support.people import ALICE, EDITOR


async def test_held_locks_are_returned_with_their_owner(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=QUIET) as files:
        assert files.held_locks() == []
        async with inside.at_work(files, "a.txt", "alice"):
            [lock] = files.held_locks()
            assert (lock.path, lock.owner) == ("a.txt", "alice")
        assert files.held_locks() == []
    await refused("WORKSPACE_GONE", held(files))


async def held(files: filetools.FileToolsFacade) -> None:
    files.held_locks()


async def test_what_meets_unsaved_text_is_a_question_only_while_somebody_attends_here_or_elsewhere(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    async with filetools.open(tmp_path, settings=QUIET) as files, filetools.open(tmp_path, settings=QUIET) as others:
        ann = files.for_actor(EDITOR)
        opened = await ann.buffers.open("a.txt")
        await ann.buffers.change(opened.handle, buffer_version=1, text="mine\n")
        agent = files.for_actor(ALICE, on_conflict="ask_if_attended")
        await refused("EDIT_CONFLICT", agent.edit_file("a.txt", [filetools.Edit(old="one", new="theirs")]))
        await refused("EDIT_CONFLICT", agent.write_file("a.txt", "theirs\n"))
        assert not await files.approvals()  # it is not needed again

        told: list[str] = []

        async def decide(event: ApprovalRequired) -> None:
            told.append(event.reason)
            await others.for_actor(EDITOR).answer_approval(event.approval_id, "allow")

        others.on("tool:approval_required", decide)
        attendance = others.attend_approvals()
        approvals = files._parts.gatekeeper.approvals
        await steps_until(approvals.is_attended)  # another workspace reports it through the journal
        assert (await agent.write_file("a.txt", "theirs\n")).replaced_version
        assert told == ["conflict"]
        attendance.close()
