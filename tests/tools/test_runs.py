"""The tools of the group `runs`: which runs there are, and what each of them made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import filetools
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Actor
from filetools.tools.answers.shown import MOST_CHARACTERS
from filetools.tools.registry import ToolRegistry

BEFORE = {"a.txt": b"one\n", "old.txt": b"old\n"}
BOB = Actor(kind="agent", id="bob", session="s2")


async def call(files: FileToolsFacade, name: str, **arguments: Any) -> Any:
    envelope = await ToolRegistry(files.for_actor(BOB)).call(name, arguments)
    return envelope.get("error_code") or envelope["data"]


async def ran(files: FileToolsFacade, *paths: str, prompt: str = "Write") -> filetools.Actor:
    """Have an agent create files in a run, and return who it was; its session is the run's id."""
    run = await files.runs.begin(command="agent", prompt=prompt, checkpoint=False)
    agent = Actor(kind="agent", id="alice", session=run.session)
    await files.for_actor(agent).write_multiple([{"path": path, "content": "new\n"} for path in paths])
    await files.runs.finish(run.id, exit_code=0)
    return agent


async def test_what_is_no_run_is_refused(files: FileToolsFacade) -> None:
    assert await call(files, "get_run", id="run-0") == "RUN_NOT_FOUND"
    assert await call(files, "get_run") == "INVALID_ARGUMENT"
    assert await call(files, "list_runs", limit=0) == "INVALID_ARGUMENT"
    assert await call(files, "list_runs") == {"runs": []}


async def test_runs_are_listed_newest_first_with_what_is_known_of_them(files: FileToolsFacade) -> None:
    older = (await ran(files, "n.txt")).session
    newer = await files.runs.begin(session="s9", prompt="Go\non")
    await files.runs.note_turn(newer.id, "Step 1/9")
    found = (await call(files, "list_runs"))["runs"]
    assert [row["id"] for row in found] == [newer.id, older]
    rows = {row.pop("id"): row for row in found}
    assert [row.pop("started")[-1] for row in rows.values()] == ["Z", "Z"]
    assert rows[older].pop("ended")[-1] == "Z"
    assert rows == {
        newer.id: {"session": "s9", "status": "running", "step": "Step 1/9", "prompt": "Go\non"},
        older: {"session": older, "status": "completed", "command": "agent", "prompt": "Write"},
    }
    assert [row["id"] for row in (await call(files, "list_runs", limit=1))["runs"]] == [newer.id]


async def test_a_run_is_told_with_what_it_made_by_the_paths_of_other_tools(
    files: FileToolsFacade, tmp_path: Path
) -> None:
    run = await files.runs.begin(prompt="Tidy up")
    agent = files.for_actor(Actor(kind="agent", id="alice", session=run.session))
    made = await agent.write_file("docs/new.txt", "new\n")
    await agent.append_file("a.txt", "two\n")
    await agent.delete_file("old.txt")
    await files.runs.finish(run.id, exit_code=3, status="failed")
    told = await call(files, "get_run", id=run.id)
    (created,), (changed,), (gone,) = (told[f"files_{action}"] for action in ("created", "modified", "deleted"))
    assert {name: value for name, value in created.items() if not name.endswith("_at")} == {
        "path": "docs/new.txt", "size_bytes": 4, "checksum": made.version, "mime_type": "text/plain", "action": "created",
    }  # fmt: skip
    assert (changed["path"], gone) == ("a.txt", {"path": "old.txt", "action": "deleted"})
    assert [told[name] for name in ("id", "status", "exit_code", "prompt")] == [run.id, "failed", 3, "Tidy up"]
    assert (await call(files, "read_file", path=created["path"]))["content"] == "new\n"


async def test_an_answer_has_an_end_and_says_what_is_left_out(files: FileToolsFacade) -> None:
    session = (await ran(files, *(f"folder/{number}.txt" for number in range(100)))).session
    told = await call(files, "get_run", id=session)
    assert told["truncated"]
    assert 20 < len(told["files_created"]) < 100
    assert len(json.dumps(told, separators=(",", ":"))) <= MOST_CHARACTERS
