"""The tool that takes changes back: the caller's own, whatever it asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from filetools import Actor
from filetools.facade.facade import FileToolsFacade
from filetools.tools.registry import ToolRegistry

BEFORE = {"a.txt": b"one\ntwo\nthree\n"}
ALICE = Actor(kind="agent", id="alice", session="s1")
BOB = Actor(kind="agent", id="bob", session="s2")
ANN = Actor(kind="editor", id="ann", session="s1")


async def call(files: FileToolsFacade, actor: Actor, name: str, known_as: str | None = None, **given: Any) -> Any:
    envelope = await ToolRegistry(files.for_actor(actor)).call(name, given, tool_call_id=known_as)
    return envelope.get("error_code") or envelope["data"]


@pytest.mark.parametrize("actor", [BOB, ANN])
async def test_nobody_reaches_the_changes_of_others(files: FileToolsFacade, actor: Actor, tmp_path: Path) -> None:
    done = await call(files, ALICE, "edit_file", "c1", path="a.txt", old_string="two", new_string="TWO")
    assert (await call(files, actor, "undo_changes"))["changes"] == []
    assert (await call(files, actor, "undo_changes", since=done["number"]))["changes"] == []
    assert (await call(files, actor, "undo_changes", path="a.txt"))["changes"] == []
    assert await call(files, actor, "undo_changes", call_id="c1") == "INVALID_ARGUMENT"
    assert (tmp_path / "a.txt").read_text() == "one\nTWO\nthree\n"


async def test_what_overlaps_with_others_is_refused_with_both_texts(files: FileToolsFacade, tmp_path: Path) -> None:
    await call(files, ALICE, "edit_file", path="a.txt", old_string="two", new_string="TWO")
    await call(files, BOB, "edit_file", path="a.txt", old_string="TWO", new_string="Two")
    envelope = await ToolRegistry(files.for_actor(ALICE)).call("undo_changes", {})
    (conflict,) = envelope["details"]["conflicts"][0]["conflicts"]
    assert (envelope["error_code"], conflict["current"], conflict["yours"]) == ("EDIT_CONFLICT", "Two\n", "two\n")
    assert (tmp_path / "a.txt").read_text() == "one\nTwo\nthree\n"


async def test_a_refusal_names_each_path_and_why_and_only_arguments_that_there_are(
    files: FileToolsFacade, tmp_path: Path
) -> None:
    items = [{"path": name, "content": "one\ntwo\n"} for name in ("b.txt", "c.txt", "d.txt")]
    await call(files, ALICE, "write_multiple", "c1", items=items)
    await call(files, BOB, "edit_file", path="b.txt", old_string="two", new_string="2")
    await call(files, BOB, "delete_file", path="c.txt")
    (tmp_path / "c.txt").mkdir()
    envelope = await ToolRegistry(files.for_actor(ALICE)).call("undo_changes", {"call_id": "c1"})
    told = {each["path"]: each["reason"] for each in envelope["details"]["not_undone"]}
    assert (envelope["error_code"], sorted(told)) == ("EDIT_CONFLICT", ["b.txt", "c.txt"])
    assert all(0 < len(reason) < 100 for reason in told.values())
    assert "partial" not in envelope["suggested_action"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".filetools", "a.txt", "b.txt", "c.txt", "d.txt"]
    text = ToolRegistry(files.for_actor(ALICE)).show("undo_changes", envelope).text
    assert all(f'"{path}"' in text for path in told)


async def test_the_last_call_is_taken_back_whole_and_an_undo_by_its_id(files: FileToolsFacade, tmp_path: Path) -> None:
    items = [{"path": "b.txt", "content": "b"}, {"path": "d/c.txt", "content": "c"}]
    await call(files, ALICE, "write_multiple", "c1", items=items)
    preview = await call(files, ALICE, "undo_changes", dry_run=True)
    assert (preview["dry_run"], len(preview["files"])) == (True, 3)
    assert (tmp_path / "d" / "c.txt").exists()
    done = await call(files, ALICE, "undo_changes", "c2")
    assert [(file["path"], file["action"]) for file in done["files"]] == [
        ("b.txt", "delete"), ("d/c.txt", "delete"), ("d", "delete_directory")
    ]  # fmt: skip
    assert sorted(path.name for path in tmp_path.iterdir()) == [".filetools", "a.txt"]
    await call(files, ALICE, "undo_changes", "c3", call_id="c2")
    assert (tmp_path / "d" / "c.txt").read_text() == "c"


async def test_the_last_change_is_one_of_this_conversation(files: FileToolsFacade, tmp_path: Path) -> None:
    await call(files, ALICE, "write_file", path="mine.txt", content="1")
    other = Actor(kind="agent", id="alice", session="other")
    await call(files, other, "write_file", "c9", path="other.txt", content="2")
    await call(files, ALICE, "undo_changes")
    assert sorted(path.name for path in tmp_path.glob("*.txt")) == ["a.txt", "other.txt"]
    await call(files, ALICE, "undo_changes", call_id="c9")
    assert sorted(path.name for path in tmp_path.glob("*.txt")) == ["a.txt"]


async def test_calls_of_one_name_in_several_conversations_are_taken_back_by_their_own(
    files: FileToolsFacade, tmp_path: Path
) -> None:
    other, third = (Actor(kind="agent", id="alice", session=session) for session in ("other", "third"))
    await call(files, ALICE, "write_file", "call-1", path="mine.txt", content="1")
    await call(files, other, "write_file", "call-1", path="other.txt", content="2")
    assert await call(files, third, "undo_changes", call_id="call-1") == "INVALID_ARGUMENT"
    assert sorted(path.name for path in tmp_path.glob("*.txt")) == ["a.txt", "mine.txt", "other.txt"]
    await call(files, other, "undo_changes", call_id="call-1")
    assert sorted(path.name for path in tmp_path.glob("*.txt")) == ["a.txt", "mine.txt"]
