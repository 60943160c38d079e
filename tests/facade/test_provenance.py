"""The last author of each line: of every actor, followed across moves, and unknown where it cannot be known."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from msgspec.structs import replace

from filetools import Actor, Edit
from filetools.facade.facade import FileToolsFacade
from tests.support.crashing import Tree
from tests.support.inside import lose_version
from tests.support.opened import refused

ALICE = Actor(kind="agent", id="alice", session="s1", call="c1")
BOB = Actor(kind="agent", id="bob")
ANN = Actor(kind="editor", id="ann")
BEFORE: Tree = {
    "a.txt": b"one\ntwo\nthree\nfour\nfive\n",
    "d": None,
    "d/e.txt": b"deep\n",
    "b.bin": b"\x89PNG\r\n\x1a\n\x00\x01\xff",
}


async def lines_of(files: FileToolsFacade, path: str) -> list[str]:
    """Return the author's name for each line."""
    found = await files.provenance(path)
    names: list[str] = []
    for part in found.ranges:
        assert part.first == len(names) + 1
        name = f"before {part.before}" if part.before is not None else str((part.actor or {})["id"])
        names += [name] * (part.last - part.first + 1)
    assert len(names) == found.total_lines
    return names


async def test_a_missing_and_a_binary_file_have_no_lines(files: FileToolsFacade) -> None:
    await refused("FILE_NOT_FOUND", files.provenance("nope.txt"))
    await refused("INVALID_ARGUMENT", files.provenance("b.bin"))


async def test_each_line_belongs_to_who_wrote_it_last(files: FileToolsFacade, root: Path) -> None:
    done = await files.for_actor(ALICE).edit_file("a.txt", [Edit(old="two", new="TWO")])
    await files.for_actor(BOB).append_file("a.txt", "six\n")
    (root / "a.txt").write_text("ONE\n" + (root / "a.txt").read_text().split("\n", 1)[1])
    older = f"before {(done.number or 0) - 1}"
    assert await lines_of(files, "a.txt") == ["external", "alice", older, older, older, "bob"]
    await files.for_actor(ANN).edit_file("a.txt", [Edit(old="four", new="FOUR")])
    assert await lines_of(files, "a.txt") == ["external", "alice", older, "ann", older, "bob"]
    second = (await files.provenance("a.txt")).ranges[1]
    assert second.model_dump(exclude={"time"}) == {
        "first": 2, "last": 2, "actor": {"kind": "agent", "id": "alice"}, "session": "s1", "call": "c1",
        "number": done.number, "before": None, "run": None,
    }  # fmt: skip
    assert abs(time.time() - (second.time or 0)) < 60


async def test_a_created_file_is_its_creators_and_an_empty_one_has_no_lines(files: FileToolsFacade) -> None:
    await files.for_actor(ALICE).write_file("new.txt", "a\nb")
    await files.for_actor(ALICE).write_file("empty.txt", "")
    assert await lines_of(files, "new.txt") == ["alice", "alice"]
    assert await lines_of(files, "empty.txt") == []


async def test_moves_of_files_and_folders_are_followed_backwards(files: FileToolsFacade) -> None:
    await files.for_actor(ALICE).write_file("x/new.txt", "a\nb\nc\n")
    await files.for_actor(BOB).move_file("x/new.txt", "y/z/old.txt")
    await files.for_actor(BOB).edit_file("y/z/old.txt", [Edit(old="b", new="B")])
    await files.for_actor(ANN).move_file("y", "t")
    await files.for_actor(ANN).append_file("t/z/old.txt", "d\n")
    assert await lines_of(files, "t/z/old.txt") == ["alice", "bob", "alice", "ann"]
    await files.write_file("x/new.txt", "a\nb\nc\n")
    assert "alice" not in await lines_of(files, "x/new.txt")


async def test_merged_lines_stay_with_those_who_wrote_them(files: FileToolsFacade) -> None:
    alice, bob = files.for_actor(ALICE), files.for_actor(BOB)
    text = (await alice.read_file("a.txt")).content
    await bob.edit_file("a.txt", [Edit(old="five", new="FIVE")])
    done = await alice.write_file("a.txt", text.replace("one", "ONE"))
    assert done.merged
    names = await lines_of(files, "a.txt")
    assert (names[0], names[4]) == ("alice", "bob")


async def test_lines_that_an_undo_brings_back_are_its(files: FileToolsFacade) -> None:
    await files.for_actor(ALICE).write_file("n.txt", "a\nb\nc\nd\ne\n")
    await files.for_actor(BOB).edit_file("n.txt", [Edit(old="b", new="B")])
    await files.for_actor(ANN).edit_file("n.txt", [Edit(old="e", new="E")])
    await files.for_actor(ANN).undo(session=None, numbers=[2])
    assert await lines_of(files, "n.txt") == ["alice", "ann", "alice", "alice", "ann"]


async def test_a_file_that_was_deleted_and_made_anew_begins_anew(files: FileToolsFacade, root: Path) -> None:
    await files.for_actor(ALICE).write_file("n.txt", "a\nb\n")
    await files.for_actor(ALICE).delete_file("n.txt")
    await files.for_actor(BOB).write_file("n.txt", "a\nc\n")
    assert await lines_of(files, "n.txt") == ["bob", "bob"]
    await files.for_actor(ALICE).delete_file("n.txt")
    (root / "n.txt").write_text("a\n")
    assert await lines_of(files, "n.txt") == ["external"]


async def test_lines_older_than_what_is_kept_say_before_which_change(files: FileToolsFacade) -> None:
    first = await files.for_actor(ALICE).write_file("n.txt", "a\nb\nc\n")
    await files.for_actor(BOB).append_file("n.txt", "d\n")
    done = await files.for_actor(ANN).append_file("n.txt", "e\n")
    lose_version(files, first.version)
    assert await lines_of(files, "n.txt") == [f"before {(done.number or 0) - 1}"] * 4 + ["ann"]


async def test_what_an_agent_put_into_unsaved_text_is_its_own_after_the_save(files: FileToolsFacade) -> None:
    ann = files.for_actor(ANN)
    await ann.write_file("n.txt", "a\nb\nc\nd\n")
    opened = await ann.buffers.open("n.txt")
    await ann.buffers.change(opened.handle, buffer_version=1, text="a\nB typed\nc\nd\n")
    await files.for_actor(ALICE).edit_file("n.txt", [Edit(old="B typed\nc", new="B typed\nc agent")])
    typed = await ann.buffers.read(opened.handle)
    await ann.buffers.change(opened.handle, buffer_version=typed.buffer_version, text=f"{typed.text[:-1]} typed\n")
    await ann.buffers.save(opened.handle)
    assert await lines_of(files, "n.txt") == ["ann", "ann", "alice", "ann"]


async def test_a_deleted_and_restored_folder_keeps_no_wrong_names(files: FileToolsFacade, root: Path) -> None:
    await files.for_actor(ALICE).write_file("t/n.txt", "a\n")
    shutil.rmtree(root / "t")
    (root / "t").mkdir()
    (root / "t" / "n.txt").write_text("a\nb\n")
    assert await lines_of(files, "t/n.txt") == ["alice", "external"]


async def test_who_wrote_what_is_right_after_many_versions(files: FileToolsFacade) -> None:
    lines = [f"line {number} of a file with some text in it\n" for number in range(500)]
    actors = [files.for_actor(ALICE), files.for_actor(BOB)]
    await files.write_file("big.txt", "".join(lines))
    for number in range(100):
        lines[(number * 37) % 500] = f"changed in {number}\n"
        if number % 7 == 0:
            lines.insert((number * 101) % 500, f"added in {number}\n")
        await actors[number % 2].write_file("big.txt", "".join(lines))
    found = await files.provenance("big.txt")
    assert found.ranges[-1].last == len(lines)
    for part in found.ranges:
        for line in lines[part.first - 1 : part.last]:
            if " in " in line and "line " not in line:
                assert (part.actor or {})["id"] == ("alice", "bob")[int(line.split()[-1]) % 2]


async def runs_of(files: FileToolsFacade, path: str) -> list[object]:
    """Return the run of each range of lines, without its id."""
    found = [part.run for part in (await files.provenance(path)).ranges]
    return [run and {name: value for name, value in run.items() if name != "id"} for run in found]


async def test_only_what_a_run_wrote_while_it_lasted_is_from_it(files: FileToolsFacade) -> None:
    agent = files.for_actor(ALICE)
    await agent.write_file("n.txt", "before\n")
    run = await files.runs.begin(session="s1", prompt="  Write\n\ta report ")
    await agent.append_file("n.txt", "first\n")
    await files.for_actor(BOB).append_file("n.txt", "bob's\n")
    await files.runs.note_turn(run.id)
    await files.runs.note_turn(run.id)
    await agent.append_file("n.txt", "second\n")
    during = await runs_of(files, "n.txt")
    await files.runs.finish(run.id)
    await agent.append_file("n.txt", "after\n")
    told = {"prompt": "Write a report"}
    assert during == [None, told, None, {**told, "turn": 2}]
    assert await runs_of(files, "n.txt") == [*during, None]
    assert [part.run for part in (await files.provenance("n.txt")).ranges][1] == {"id": run.id, **told}


async def test_what_a_shell_did_is_from_the_run_that_it_counts_for(files: FileToolsFacade, root: Path) -> None:
    (root / "a.txt").write_text("before\n")
    run = await files.runs.begin(prompt="Go on")
    await files.runs.note_turn(run.id)
    (root / "a.txt").write_text("before\nduring\n")
    during = await runs_of(files, "a.txt")
    await files.runs.finish(run.id)
    (root / "a.txt").write_text("before\nduring\nafter\n")
    assert during == [None, None]
    assert await runs_of(files, "a.txt") == [None, {"prompt": "Go on", "turn": 1}, None]


async def test_lines_that_the_undo_of_a_run_brings_back_are_not_from_it(files: FileToolsFacade) -> None:
    run = await files.runs.begin()
    await files.for_actor(replace(ALICE, session=run.session)).edit_file("a.txt", [Edit(old="two", new="2")])
    await files.runs.finish(run.id)
    assert await runs_of(files, "a.txt") == [None, {"prompt": ""}, None]
    await files.undo(run=run.id)
    assert not any(await runs_of(files, "a.txt"))
