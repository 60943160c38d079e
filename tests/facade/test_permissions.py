"""Permissions are checked first in every call: presets, protected paths, and people who answer, late or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from filetools.models.words import Preset
from filetools.permissions.policy import Rule
from filetools.permissions.requests import ApprovalRequest
from tests.support import inside
from tests.support.crashing import QUIET, grow, snapshot
from tests.support.opened import outcome_of, recorded, refused, steps_until, told, version
from tests.support.people import ALICE, BOB, EDITOR, Person

Call = Callable[[FileToolsFacade], Awaitable[object]]
BEFORE: dict[str, bytes | None] = {"a.txt": b"a", "b.txt": b"b", "d": None, "d/e.txt": b"e"}
DIFF = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+new\n\\ No newline at end of file\n"
READS: dict[str, Call] = {
    "read_file": lambda files: files.read_file("a.txt"),
    "read_multiple": lambda files: files.read_multiple(["a.txt"]),
    "list_files": lambda files: files.list_files(),
    "file_info": lambda files: files.file_info("a.txt"),
    "exists": lambda files: files.exists("a.txt"),
    "versions": lambda files: files.versions("a.txt"),
}
WRITES: dict[str, Call] = {
    "write_file": lambda files: files.write_file("a.txt", "new"),
    "create_file": lambda files: files.create_file("new.txt", "new"),
    "append_file": lambda files: files.append_file("a.txt", "more"),
    "copy_file": lambda files: files.copy_file("a.txt", "c.txt"),
    "move_file": lambda files: files.move_file("a.txt", "c.txt"),
    "move a folder": lambda files: files.move_file("d", "t"),
    "create_directory": lambda files: files.create_directory("n"),
    "write_multiple": lambda files: files.write_multiple([{"path": "a.txt", "content": "new"}]),
}
DELETES: dict[str, Call] = {
    "delete_file": lambda files: files.delete_file("a.txt"),
    "delete_directory": lambda files: files.delete_directory("d", recursive=True),
    "delete_multiple": lambda files: files.delete_multiple(["a.txt", "b.txt"]),
}
ALL = {**READS, **WRITES, **DELETES}


@asynccontextmanager
async def opened(root: Path, preset: Preset = "allow", **settings: Any) -> AsyncIterator[FileToolsFacade]:
    """Open a root for an agent called Alice."""
    grow(root, BEFORE)
    settings = {**QUIET, "approval_wait_seconds": 60.0, **settings}
    async with filetools.open(root, permissions=preset, settings=settings) as files:
        yield files.for_actor(ALICE)


@pytest.mark.parametrize(
    ("preset", "writes", "deletes"),
    [
        ("ask", "APPROVAL_REQUIRED", "APPROVAL_REQUIRED"),
        ("guarded", "APPROVAL_REQUIRED", "TOOL_BLOCKED"),
        ("read_only", "TOOL_BLOCKED", "TOOL_BLOCKED"),
    ],
)
async def test_presets_bind_agents_and_not_people(tmp_path: Path, preset: Preset, writes: str, deletes: str) -> None:
    async with opened(tmp_path, preset) as files:
        heard = told(files, "file:*")
        for name, call in {**WRITES, **DELETES}.items():
            assert await outcome_of(call(files)) == (writes if name in WRITES else deletes), name
        assert (snapshot(tmp_path), heard, await recorded(files)) == (BEFORE, [], [])
        for name, call in READS.items():
            assert await outcome_of(call(files)) == "done", name
        for name in ("write_file", "create_file", "delete_directory"):
            assert await outcome_of(ALL[name](files.for_actor(EDITOR))) == "done", name


@pytest.mark.parametrize("preset", ["ask", "guarded", "read_only"])
async def test_a_refused_call_gives_the_reason_and_does_not_wait_without_listeners(
    tmp_path: Path, preset: Preset
) -> None:
    async with opened(tmp_path, preset, approval_wait_seconds=60.0) as files, asyncio.timeout(30):
        code = "TOOL_BLOCKED" if preset == "read_only" else "APPROVAL_REQUIRED"
        error = await refused(code, files.write_file("a.txt", "new"))
        assert (error.path, error.details["tool"], error.retryable) == ("a.txt", "write_file", False)
        assert isinstance(error, PermissionError)
        if preset != "read_only":
            assert error.details["approval_id"]
            assert error.suggested_action == "Ask the user to approve this call, then repeat it unchanged."


PROTECTED: dict[str, Call] = {
    "write": lambda files: files.write_file(".git/config", "x"),
    "write, another case": lambda files: files.write_file(".GIT/config", "x"),
    "write, ignorable sign": lambda files: files.write_file(".g\u200cit/config", "x"),
    "write, nested": lambda files: files.write_file("d/.git/hooks/post-commit", "x"),
    "write what is not there": lambda files: files.write_file(".mcp.json", "{}"),
    "create": lambda files: files.create_file(".vscode/tasks.json", "{}"),
    "append": lambda files: files.append_file(".gitmodules", "x"),
    "copy onto": lambda files: files.copy_file("a.txt", ".claude/settings.json"),
    "make a folder": lambda files: files.create_directory(".git"),
    "make a folder below": lambda files: files.create_directory(".idea/x"),
    "move from": lambda files: files.move_file("r/.git/config", "x"),
    "move onto": lambda files: files.move_file("a.txt", ".cursor/rules"),
    "move the folder itself": lambda files: files.move_file("r/.git", "x"),
    "move a folder around it": lambda files: files.move_file("r", "x"),
    "move a folder to its name": lambda files: files.move_file("d", ".git"),
    "delete": lambda files: files.delete_file("r/.git/config"),
    "delete the folder": lambda files: files.delete_directory("r/.git", recursive=True),
    "delete a folder around it": lambda files: files.delete_directory("r", recursive=True),
    "write several": lambda files: files.write_multiple(
        [{"path": "a.txt", "content": "x"}, {"path": ".git/config", "content": "x"}]
    ),
    "delete several": lambda files: files.delete_multiple(["a.txt", "r/.git/config"]),
}


@pytest.mark.parametrize("actor", [ALICE, EDITOR])
async def test_protected_paths_need_an_approval_of_anybody(tmp_path: Path, actor: filetools.Actor) -> None:
    grow(tmp_path, {"r/.git/config": b"secret"})
    async with opened(tmp_path, "allow") as files:
        before = snapshot(tmp_path)
        for name, call in PROTECTED.items():
            assert await outcome_of(call(files.for_actor(actor))) == "APPROVAL_REQUIRED", name
        assert (snapshot(tmp_path), await recorded(files)) == (before, [])


@pytest.mark.parametrize("name", ["write", "create", "copy onto", "delete a folder around it", "write several"])
async def test_only_approved_changes_of_protected_paths_are_made(tmp_path: Path, name: str) -> None:
    grow(tmp_path, {"r/.git/config": b"secret"})
    async with opened(tmp_path, "allow") as files:
        before, call, person = snapshot(tmp_path), PROTECTED[name], Person("deny", "allow")
        files.answer_approvals(person)
        await refused("APPROVAL_DENIED", call(files.for_actor(BOB)))
        assert snapshot(tmp_path) == before
        await call(files.for_actor(BOB))
        assert snapshot(tmp_path) != before
        assert [(request.reason, request.risk) for request in person.asked] == [("protected", "high")] * 2


async def test_reading_protected_paths_is_allowed(tmp_path: Path) -> None:
    grow(tmp_path, {".git/config": b"text"})
    async with opened(tmp_path, "allow") as files:
        assert (await files.read_file(".git/config")).content == "text"
        assert (await files.list_files(".git")).entries[0].path == ".git/config"
        assert (await files.copy_file(".git/config", "copy.txt")).created


async def test_a_folder_that_would_make_its_content_protected_needs_an_approval(tmp_path: Path) -> None:
    grow(tmp_path, {"x/hook.sh": b"x"})
    async with opened(tmp_path, "allow", protected_paths=("run/hook.sh",)) as files:
        error = await refused("APPROVAL_REQUIRED", files.move_file("x", "run"))
        assert error.path == "run/hook.sh"
        assert await outcome_of(files.move_file("x", "other")) == "done"


async def test_an_own_list_of_protected_paths_replaces_the_default(tmp_path: Path) -> None:
    async with opened(tmp_path, "allow", protected_paths=("d/**",)) as files:
        await refused("APPROVAL_REQUIRED", files.write_file("d/e.txt", "x"))
        assert await outcome_of(files.write_file(".git/config", "x")) == "done"


async def test_a_rule_against_reading_binds_copies_too(tmp_path: Path) -> None:
    async with opened(tmp_path, "allow") as files:
        inside.parts(files).gatekeeper.policy.use("allow", [Rule(tool="read_file", path="d/**", level="block")])
        await refused("TOOL_BLOCKED", files.read_file("d/e.txt"))
        await refused("TOOL_BLOCKED", files.copy_file("d/e.txt", "mine.txt"))
        assert (await files.read_multiple(["d/e.txt"])).failed == 1
        assert snapshot(tmp_path) == BEFORE


async def test_a_request_shows_what_a_person_must_know(tmp_path: Path) -> None:
    async with opened(tmp_path, "ask") as files:
        person, heard = Person("allow"), told(files, "tool:*")
        files.answer_approvals(person)
        await files.write_file("a.txt", "new")
        (request,) = person.asked
        assert request == ApprovalRequest(
            id=request.id, tool="write_file", path=request.path, paths=request.paths, version=version("a"),
            description="Write file a.txt", risk="medium", reason="prompt", old_text="a", new_text="new", can_merge=True,
            diff=DIFF,
            actor=ALICE, created=request.created, expires=request.expires,
        )  # fmt: skip
        assert request.paths == (request.path,) == ("a.txt",)
        assert [event.name for event in heard] == ["tool:approval_required", "tool:approved"]


async def test_allowed_for_this_run_is_asked_once(tmp_path: Path) -> None:
    async with opened(tmp_path, "ask") as files:
        person = Person("allow_for_run")
        files.answer_approvals(person)
        await files.write_file("a.txt", "1")
        await files.write_file("b.txt", "2")
        assert len(person.asked) == 1
        assert await outcome_of(files.for_actor(BOB).read_file("a.txt")) == "done"


async def test_a_late_answer_lets_the_next_identical_call_pass_once(tmp_path: Path) -> None:
    async with opened(tmp_path, "ask", approval_wait_seconds=0.01) as files:
        person = Person()
        files.answer_approvals(person)
        error = await refused("APPROVAL_REQUIRED", files.write_file("a.txt", "new"))
        assert error.details["approval_id"] == person.asked[0].id
        person.say("allow")
        await steps_until(lambda: not files._parts.gatekeeper.approvals.open_requests())
        await refused("APPROVAL_REQUIRED", files.write_file("a.txt", "another text"))
        await refused("APPROVAL_REQUIRED", files.for_actor(BOB).write_file("a.txt", "new"))
        assert await outcome_of(files.write_file("a.txt", "new")) == "done"
        await refused("APPROVAL_REQUIRED", files.write_file("a.txt", "new again"))


async def test_an_approval_holds_for_the_version_that_was_shown(tmp_path: Path) -> None:
    async with opened(tmp_path, "ask") as files:
        person = Person()
        files.answer_approvals(person)
        call = asyncio.ensure_future(files.write_file("a.txt", "new"))
        await steps_until(lambda: len(person.asked) == 1)
        (tmp_path / "a.txt").write_bytes(b"person")
        person.say("allow")
        await steps_until(lambda: len(person.asked) == 2)
        assert (tmp_path / "a.txt").read_bytes() == b"person"
        assert [request.old_text for request in person.asked] == ["a", "person"]
        person.say("allow")
        await call
        assert (tmp_path / "a.txt").read_bytes() == b"new"


async def test_a_file_that_keeps_changing_while_a_person_is_asked_is_not_written(tmp_path: Path) -> None:
    async with opened(tmp_path, "ask") as files:
        count = 0

        async def approve(_request: ApprovalRequest) -> Any:
            nonlocal count
            count += 1
            (tmp_path / "a.txt").write_text(f"person {count}")
            return "allow"

        files.answer_approvals(approve)
        await refused("CHANGED_MEANWHILE", files.write_file("a.txt", "new"))
        assert (count, (tmp_path / "a.txt").read_text()) == (3, "person 3")


async def test_a_copy_is_approved_with_its_text(tmp_path: Path) -> None:
    async with opened(tmp_path, "ask") as files:
        person = Person()
        files.answer_approvals(person)
        call = asyncio.ensure_future(files.copy_file("a.txt", "c.txt"))
        await steps_until(lambda: len(person.asked) == 1)
        (tmp_path / "a.txt").write_bytes(b"other")
        person.say("allow")
        await steps_until(lambda: len(person.asked) == 2)
        assert [request.new_text for request in person.asked] == ["a", "other"]
        person.say("deny")
        await refused("APPROVAL_DENIED", call)
        assert not (tmp_path / "c.txt").exists()


async def test_nobody_is_asked_while_a_lock_is_held(tmp_path: Path) -> None:
    async with opened(tmp_path, "ask") as files:
        person = Person()
        files.answer_approvals(person)
        call = asyncio.ensure_future(files.write_file("a.txt", "agent"))
        await steps_until(lambda: len(person.asked) == 1)
        assert not await files.is_locked("a.txt")
        await files.for_actor(EDITOR).write_file("b.txt", "person")
        person.say("deny")
        await refused("APPROVAL_DENIED", call)


async def test_an_approver_that_raises_has_not_answered(tmp_path: Path) -> None:
    async def broken(_request: ApprovalRequest) -> Any:
        raise RuntimeError("gone home")

    async with opened(tmp_path, "ask", approval_wait_seconds=0.05) as files:
        files.answer_approvals(broken)
        await refused("APPROVAL_REQUIRED", files.write_file("a.txt", "new"))
        assert snapshot(tmp_path) == BEFORE


async def test_a_cancelled_call_is_not_made_by_a_late_answer(tmp_path: Path) -> None:
    async with opened(tmp_path, "ask") as files:
        person = Person()
        files.answer_approvals(person)
        call = asyncio.ensure_future(files.write_file("a.txt", "new"))
        await steps_until(lambda: len(person.asked) == 1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        person.say("allow")
        await steps_until(lambda: not files._parts.gatekeeper.approvals.open_requests())
        assert snapshot(tmp_path) == BEFORE
