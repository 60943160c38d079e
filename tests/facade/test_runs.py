"""Runs on a workspace: which changes count as a run's, what is reported about them, and undoing a whole run."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from filetools.facade.run_calls import runs_of
from filetools.models.records import Actor
from tests.support.crashing import QUIET, files_in
from tests.support.declared import REPOSITORY
from tests.support.opened import refused

Json = dict[str, Any]
PERSON = Actor(kind="editor", id="ann")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "root"
    (place / "old").mkdir(parents=True)
    (place / "a.txt").write_text("one\n")
    (place / "old" / "b.txt").write_text("b\n")
    return place


def shell(root: Path, script: str) -> None:
    subprocess.run(["sh", "-c", script], cwd=root, check=True)


def agent_of(files: FileToolsFacade, session: str) -> FileToolsFacade:
    return files.for_actor(Actor(kind="agent", id="claude", session=session))


def told(metadata: Json) -> dict[str, dict[str, str | None]]:
    """Return the paths of each list, with the reason why they count as the run's."""
    lists = {name.removeprefix("files_"): files for name, files in metadata.items() if name.startswith("files_")}
    return {name: {file["relative_path"]: file.get("attributed") for file in files} for name, files in lists.items()}


async def test_an_unknown_run_is_refused(files: FileToolsFacade) -> None:
    for ask in (
        files.runs.get("x"),
        files.runs.metadata("x"),
        files.undo(run="x"),
        files.undo(run="x"),
        files.runs.finish("x"),
    ):
        await refused("RUN_NOT_FOUND", ask)
    await refused("PATH_TRAVERSAL", files.runs.begin(outputs=["../elsewhere"]))
    assert await files.runs.list() == []


@pytest.mark.parametrize("name", ["a\0b", "a\nb", "\x1b[2J", "x\u202egnp", "tag\U000e0041"])
async def test_names_that_steer_a_terminal_are_refused(files: FileToolsFacade, name: str) -> None:
    for call in (files.runs.begin(session=name), files.checkpoint(name)):
        error = await refused("INVALID_ARGUMENT", call)
        assert "control characters" in error.message
        assert error.message.isprintable()


@pytest.mark.parametrize("session", ["", " \t", "s" * 121])
async def test_a_session_name_of_a_wrong_length_is_refused(files: FileToolsFacade, session: str) -> None:
    error = await refused("INVALID_ARGUMENT", files.runs.begin(session=session))
    assert error.message == "The name of a session has 1 to 120 characters"


async def test_a_run_in_progress_is_not_undone(files: FileToolsFacade) -> None:
    run = await files.runs.begin()
    await agent_of(files, run.session).write_file("new.txt", "new\n")
    error = await refused("INVALID_ARGUMENT", files.undo(run=run.id))
    assert error.message == f"The run {run.id} is under way"
    assert await files.exists("new.txt")


async def test_all_changes_of_a_run_are_reported_and_undone(files: FileToolsFacade, root: Path) -> None:
    before = files_in(root)
    run = await files.runs.begin(command="agent --now", prompt="Write a report")
    agent = agent_of(files, run.session)
    await agent.write_file("made.txt", "made\n")
    await agent.delete_file("old/b.txt")
    shell(root, "mkdir -p claudedocs && echo '# report' > claudedocs/r.md && echo two >> a.txt")
    metadata = await files.runs.finish(run.id, exit_code=0)
    assert told(metadata) == {
        "created": {"made.txt": None, "claudedocs/r.md": "folder"},
        "modified": {"a.txt": "alone"},
        "deleted": {"old/b.txt": None},
    }
    assert metadata["session_tracking"] == {"cli_session_id": run.session, "session_dir": files.root_paths[-1]}
    assert await files.runs.metadata(run.id) == metadata
    dry = await files.undo(run=run.id, dry_run=True)
    assert files_in(root) != before
    assert {file.path for file in dry.files} >= {"made.txt", "a.txt", "old/b.txt", "claudedocs/r.md"}
    await files.undo(run=run.id)
    assert files_in(root) == before
    assert (await files.undo(run=run.id)).changes == []
    await files.redo()
    assert (root / "claudedocs" / "r.md").read_text() == "# report\n"


async def test_changes_of_people_and_of_later_stay(files: FileToolsFacade, root: Path) -> None:
    run = await files.runs.begin()
    await agent_of(files, run.session).write_file(
        "a.txt", "zero\none\n", expected_version=(await files.read_file("a.txt")).version
    )
    await files.for_actor(PERSON).write_file("mine.txt", "mine\n")
    metadata = await files.runs.finish(run.id)
    await files.for_actor(PERSON).append_file("a.txt", "three\n")
    assert told(metadata) == {"created": {}, "modified": {"a.txt": None}}
    await files.undo(run=run.id)
    assert files_in(root) == {"a.txt": b"one\nthree\n", "mine.txt": b"mine\n", "old/b.txt": b"b\n"}


async def test_an_overlap_is_named_and_nothing_is_done(files: FileToolsFacade, root: Path) -> None:
    run = await files.runs.begin()
    agent = agent_of(files, run.session)
    await agent.write_file("a.txt", "agent\n", expected_version=(await files.read_file("a.txt")).version)
    await agent.write_file("made.txt", "made\n")
    await files.runs.finish(run.id)
    await files.for_actor(PERSON).write_file(
        "a.txt", "person\n", expected_version=(await files.read_file("a.txt")).version
    )
    after = files_in(root)
    error = await refused("EDIT_CONFLICT", files.undo(run=run.id))
    assert [conflict["path"] for conflict in error.details["conflicts"]] == ["a.txt"]
    assert files_in(root) == after


async def test_runs_at_once_do_not_claim_each_others_files(files: FileToolsFacade, root: Path) -> None:
    runs = [await files.runs.begin(outputs=[f"out/{number}"], checkpoint=False) for number in range(20)]
    for number, run in enumerate(runs):
        await agent_of(files, run.session).write_file(f"own/{number}.txt", f"{number}\n")
        if number % 2:
            shell(
                root,
                f"mkdir -p out/{number} && echo {number} > out/{number}/r.md && echo {number} > shared-{number}.txt",
            )
    found = await asyncio.gather(*(files.runs.finish(run.id) for run in runs))
    for number, metadata in enumerate(found):
        own = {f"own/{number}.txt": None} | ({f"out/{number}/r.md": "folder"} if number % 2 else {})
        assert told(metadata) == {"created": own}
        assert metadata["unattributed"] >= 10  # written elsewhere by the shells
    await files.undo(run=runs[3].id)
    left = files_in(root)
    assert "out/3/r.md" not in left
    assert {"out/5/r.md", "own/5.txt", "shared-3.txt"} <= left.keys()


async def test_a_folder_that_two_runs_share_belongs_to_neither(files: FileToolsFacade, root: Path) -> None:
    runs = [await files.runs.begin(checkpoint=False) for _ in range(2)]
    shell(root, "mkdir -p claudedocs && echo x > claudedocs/x.md")
    for run in runs:
        metadata = await files.runs.finish(run.id)
        assert told(metadata) == {"created": {}}
        assert metadata["discovery_status"] == "no_files_found"


async def test_a_tool_call_that_names_a_file_claims_it(files: FileToolsFacade, root: Path) -> None:
    block = '{"type":"tool_use","id":"t1","name":"Write","input":{"file_path":"%s"}}'
    call = '{"type":"assistant","message":{"content":[' + block + "]}}"
    run, other = [await files.runs.begin(checkpoint=False) for _ in range(2)]
    shell(root, "echo said > said.txt; echo other > other.txt")
    metadata = await files.runs.finish(run.id, messages=(call % (root / "said.txt")).encode())
    assert told(metadata) == {"created": {"said.txt": "call"}}
    assert metadata["files_created"][0]["tool"] == "Write"
    assert metadata["unattributed"] == 1
    assert told(await files.runs.finish(other.id)) == {"created": {}}


async def test_files_of_a_removed_folder_are_reported_one_by_one(files: FileToolsFacade, root: Path) -> None:
    before = files_in(root)
    run = await files.runs.begin()
    agent = agent_of(files, run.session)
    await agent.move_file("old", "new")
    metadata = await files.runs.finish(run.id)
    assert told(metadata) == {"created": {"new/b.txt": None}, "deleted": {"old/b.txt": None}}
    await files.undo(run=run.id)
    assert files_in(root) == before


async def test_a_folder_removed_by_a_shell_is_restored_with_unchanged_files(files: FileToolsFacade, root: Path) -> None:
    (root / "old" / "sub").mkdir()
    (root / "old" / "sub" / "c.txt").write_text("c\n")
    before = files_in(root)
    run = await files.runs.begin()
    shell(root, "mv old ../elsewhere")
    assert told(await files.runs.finish(run.id))["deleted"] == {"old/b.txt": "alone", "old/sub/c.txt": "alone"}
    await files.undo(run=run.id)
    assert files_in(root) == before


async def test_the_state_before_a_run_can_be_restored(files: FileToolsFacade, root: Path) -> None:
    before = files_in(root)
    run = await files.runs.begin()
    shell(root, "rm -r old; echo more > a.txt")
    await files.runs.finish(run.id, status="failed", exit_code=3)
    assert run.checkpoint is not None
    await files.restore(run.checkpoint)
    assert files_in(root) == before


async def test_the_changes_of_a_run_of_a_dead_process_are_reported_and_undone(root: Path) -> None:
    program = (
        "import asyncio, sys, filetools\n"
        "async def main():\n"
        "    files = await filetools.open(sys.argv[1]).__aenter__()\n"
        "    run = await files.runs.begin(session='night')\n"
        "    agent = files.for_actor(filetools.Actor(kind='agent', id='a', session='night'))\n"
        "    await agent.write_file('made.txt', 'made')\n"
        "    print(run.id, flush=True)\n"
        "    import os, signal; os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())"
    )
    died = subprocess.run([sys.executable, "-c", program, str(root)], cwd=REPOSITORY, capture_output=True, text=True)
    run_id = died.stdout.strip()
    async with filetools.open(root, settings=QUIET) as files:
        assert (await files.runs.get(run_id)).status == "failed"
        assert told(await files.runs.metadata(run_id)) == {"created": {"made.txt": None}}
        await files.undo(run=run_id)
        assert not (root / "made.txt").exists()


async def test_changes_by_others_are_not_attributed_to_a_run_without_a_recorded_end(
    files: FileToolsFacade, root: Path
) -> None:
    run = await files.runs.begin(session="s", outputs=["out"])
    await agent_of(files, "s").write_file("made.txt", "made\n")
    shell(root, "mkdir out; echo x > out/x.txt")
    await files.look()
    runs_of(files._parts).alter(run.id, status="failed", ended=time.time())  # as the next look finds a dead process
    shell(root, "echo mine > mine.txt")
    later = await files.runs.begin(session="s")
    await agent_of(files, "s").write_file("later.txt", "later\n")
    await files.runs.finish(later.id)
    metadata = await files.runs.metadata(run.id)
    assert (told(metadata), metadata["unattributed"]) == ({"created": {"made.txt": None}}, 2)
    await files.undo(run=run.id)
    assert files_in(root).keys() == {"a.txt", "later.txt", "mine.txt", "old/b.txt", "out/x.txt"}


async def test_earlier_and_later_changes_of_its_session_do_not_belong_to_a_run(
    files: FileToolsFacade, root: Path
) -> None:
    agent = agent_of(files, "s")
    await agent.write_file("before.txt", "before\n")
    run = await files.runs.begin(session="s")
    await agent.write_file("within.txt", "within\n")
    metadata = await files.runs.finish(run.id)
    await agent.write_file("after.txt", "after\n")
    assert told(metadata) == told(await files.runs.metadata(run.id)) == {"created": {"within.txt": None}}
    await files.undo(run=run.id)
    assert files_in(root).keys() == {"a.txt", "after.txt", "before.txt", "old/b.txt"}
