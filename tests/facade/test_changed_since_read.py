"""A change by others to a file that an actor has read is reported once, unless the actor has since seen it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import filetools
from filetools import Actor, Edit
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import EXTERNAL, ChangedFile
from tests.support.facade_worker import RELAXED
from tests.support.opened import refused, steps_until, version
from tests.support.peers import peer

Agents = tuple[FileToolsFacade, FileToolsFacade]
ALICE = Actor(kind="agent", id="alice", session="s")
BOB = Actor(kind="agent", id="bob", session="s")
TEN_LINES = "".join(f"line {number}\n" for number in range(1, 11))


@pytest.fixture
async def agents(tmp_path: Path) -> AsyncIterator[Agents]:
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        yield files.for_actor(ALICE), files.for_actor(BOB)


def changed(path: str, content: str | None, by: Actor = ALICE) -> ChangedFile:
    return ChangedFile(path=path, by=by, version=None if content is None else version(content))


async def test_changes_of_unread_files_are_not_reported(agents: Agents) -> None:
    alice, bob = agents
    await bob.write_file("b.txt", "bob")
    await alice.write_file("a.txt", "alice")
    await bob.list_files()
    assert bob.changed_since_read() == ()


async def test_own_changes_are_not_reported(agents: Agents) -> None:
    alice, bob = agents
    await alice.write_file("a.txt", TEN_LINES)
    await bob.read_file("a.txt")
    await bob.edit_file("a.txt", [Edit(old="line 5", new="five")])
    await bob.append_file("a.txt", "more\n")
    await bob.read_file("a.txt")
    await bob.write_file("a.txt", "all\n")
    await bob.delete_file("a.txt")
    assert bob.changed_since_read() == ()


async def test_a_change_by_another_is_reported_once(agents: Agents) -> None:
    alice, bob = agents
    await alice.write_file("a.txt", "1")
    await bob.read_file("a.txt")
    await alice.write_file("a.txt", "2")
    assert bob.changed_since_read() == (changed("a.txt", "2"),)
    assert bob.changed_since_read() == ()
    assert alice.changed_since_read() == ()


@pytest.mark.parametrize("how", ["read", "read a part", "write", "merge", "write what stands there"])
async def test_changes_that_an_actor_has_seen_since_are_not_reported(agents: Agents, how: str) -> None:
    alice, bob = agents
    await bob.write_file("a.txt", TEN_LINES)
    await alice.write_file("a.txt", TEN_LINES.replace("line 2", "two"))
    if how == "read":
        await bob.read_file("a.txt")
    elif how == "read a part":
        await bob.read_file("a.txt", offset=1, limit=2)
    elif how == "write":
        current = await bob.read_file("a.txt")
        await bob.write_file("a.txt", "all new\n", expected_version=current.version)
    elif how == "merge":
        assert (await bob.write_file("a.txt", TEN_LINES.replace("line 9", "nine"))).merged
    else:
        assert (await bob.write_file("a.txt", TEN_LINES.replace("line 2", "two"))).unchanged
    assert bob.changed_since_read() == ()


async def test_an_edit_does_not_show_what_others_changed(agents: Agents) -> None:
    alice, bob = agents
    await bob.write_file("a.txt", TEN_LINES)
    await alice.write_file("a.txt", TEN_LINES.replace("line 2", "two"))
    await bob.edit_file("a.txt", [Edit(old="line 9", new="nine")])
    assert [one.path for one in bob.changed_since_read()] == ["a.txt"]


async def test_changes_that_were_reverted_are_not_reported(agents: Agents) -> None:
    alice, bob = agents
    await bob.write_file("a.txt", "1")
    await alice.write_file("a.txt", "2")
    await alice.write_file("a.txt", "1", expected_version=version("2"))
    assert bob.changed_since_read() == ()


async def test_deleted_and_moved_files_are_reported_as_gone(agents: Agents) -> None:
    alice, bob = agents
    for path in ("deleted", "moved", "covered", "d/below", "m/below"):
        await bob.write_file(path, path)
    await alice.delete_file("deleted")
    await alice.read_file("covered")
    await alice.move_file("moved", "covered", overwrite=True)
    await alice.delete_directory("d", recursive=True)
    await alice.move_file("m", "n")
    told = {one.path: one for one in bob.changed_since_read()}
    gone = {path: changed(path, None) for path in ("deleted", "moved", "d/below", "m/below")}
    assert told == gone | {"covered": changed("covered", "moved")}


async def test_another_programs_save_that_a_call_finds_is_reported(agents: Agents, tmp_path: Path) -> None:
    alice, bob = agents
    await bob.write_file("a.txt", TEN_LINES)
    (tmp_path / "a.txt").write_text("person\n")
    await alice.append_file("a.txt", "alice\n")
    assert bob.changed_since_read() == (changed("a.txt", "person\nalice\n"),)
    await bob.read_file("a.txt")
    (tmp_path / "a.txt").write_text(TEN_LINES)
    await bob.edit_file("a.txt", [Edit(old="line 5", new="five")])
    assert bob.changed_since_read() == (changed("a.txt", TEN_LINES, EXTERNAL),)
    (tmp_path / "a.txt").write_text("person\n")
    await refused("EDIT_NOT_FOUND", bob.edit_file("a.txt", [Edit(old="line 5", new="five")]))
    assert bob.changed_since_read() == (changed("a.txt", "person\n", EXTERNAL),)


async def test_another_programs_save_of_an_unrecorded_file_is_reported(agents: Agents, tmp_path: Path) -> None:
    alice, bob = agents
    (tmp_path / "a.txt").write_text("before filetools came\n")
    await bob.read_file("a.txt")
    (tmp_path / "a.txt").write_text("person\n")
    await alice.append_file("a.txt", "alice\n")
    assert [one.path for one in bob.changed_since_read()] == ["a.txt"]
    (tmp_path / "b.txt").write_text("before filetools came\n")
    await bob.read_file("b.txt")
    await alice.read_file("b.txt")
    (tmp_path / "b.txt").write_text("person\n")
    await bob.edit_file("b.txt", [Edit(old="person", new="bob")])
    assert bob.changed_since_read() == (changed("b.txt", "person\n", EXTERNAL),)
    assert alice.changed_since_read() == (changed("b.txt", "bob\n", BOB),)


async def test_a_save_that_only_the_watcher_sees_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("before\n")
    async with filetools.open(tmp_path, settings={"durability": "relaxed"}) as files:
        heard = []
        files.on("file:modified", lambda event: heard.append(event.path))
        bob = files.for_actor(BOB)
        await bob.read_file("a.txt")
        await steps_until(lambda: _saved(tmp_path, heard))
        assert [(one.path, one.by) for one in bob.changed_since_read()] == [("a.txt", EXTERNAL)]


def _saved(root: Path, heard: list[str]) -> bool:
    """Save a file repeatedly, each time with another text, until its watcher has reported that it is watching."""
    (root / "a.txt").write_text(f"{len(list(root.iterdir()))} {time.monotonic()}\n")
    return "a.txt" in heard


async def test_a_save_that_a_whole_write_merges_is_not_reported(agents: Agents, tmp_path: Path) -> None:
    _, bob = agents
    await bob.write_file("a.txt", TEN_LINES)
    (tmp_path / "a.txt").write_text(TEN_LINES.replace("line 2", "two"))
    assert (await bob.write_file("a.txt", TEN_LINES.replace("line 9", "nine"))).merged
    assert bob.changed_since_read() == ()


async def test_a_change_in_another_process_is_reported(agents: Agents, tmp_path: Path) -> None:
    _, bob = agents
    await bob.write_file("a.txt", "1")
    await bob.write_file("b.txt", "1")
    async with peer(tmp_path, "other") as other:
        await other.ask("a.txt")
        changed_there = changed("a.txt", "by other\n", Actor(kind="agent", id="other"))
        tracker = bob._parts.tracker
        await steps_until(lambda: any(seen.changed for seen in tracker._actors.values()))
        assert bob.changed_since_read() == (changed_there,)


async def test_a_merge_over_a_change_whose_record_comes_late_is_not_reported(agents: Agents, tmp_path: Path) -> None:
    _, bob = agents
    await bob.write_file("a.txt", TEN_LINES)
    async with filetools.open(tmp_path, settings=RELAXED) as others:
        other = others.for_actor(ALICE)
        await other.write_file("a.txt", TEN_LINES.replace("line 2", "two"))
        assert (await bob.write_file("a.txt", TEN_LINES.replace("line 9", "nine"))).merged
        heard = []
        bob.on("file:*", lambda event: heard.append(event.name))
        await other.write_file("b.txt", "last")
        await steps_until(lambda: "file:created" in heard)
        assert bob.changed_since_read() == ()


async def test_changes_while_the_workspace_was_closed_are_reported_after_recall(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        bob = files.for_actor(BOB)
        for path in ("a.txt", "b.txt", "c.txt", "d.txt"):
            await bob.write_file(path, TEN_LINES)
        await bob.edit_file("c.txt", [Edit(old="line 5", new="five")])
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        alice = files.for_actor(ALICE)
        await alice.write_file("a.txt", "alice")
        await alice.delete_file("d.txt")
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        bob = files.for_actor(BOB)
        assert bob.changed_since_read() == ()
        await bob.recall()
        assert bob.changed_since_read() == (changed("a.txt", "alice"), changed("d.txt", None))
        await bob.recall()
        assert bob.changed_since_read() == ()
        await files.for_actor(ALICE).write_file("b.txt", "alice")
        assert bob.changed_since_read() == (changed("b.txt", "alice"),)


async def test_the_first_tool_call_of_an_actor_reports_earlier_changes(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        await files.for_actor(BOB).write_file("a.txt", "1")
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        await files.for_actor(ALICE).write_file("a.txt", "2")
        envelope = await files.for_actor(BOB).call_tool("exists", {"path": "a.txt"})
        by = {"kind": "agent", "id": "alice", "session": "s"}
        assert envelope["changed_since_read"] == [{"path": "a.txt", "by": by, "version": version("2")}]


async def test_a_tool_that_reads_the_file_itself_does_not_tell_of_it(agents: Agents) -> None:
    alice, bob = agents
    await bob.write_file("a.txt", "1")
    await bob.write_file("b.txt", "1")
    await alice.write_file("a.txt", "2")
    await alice.write_file("b.txt", "2")
    envelope = await bob.call_tool("read_file", {"path": "a.txt"})
    assert [one["path"] for one in envelope["changed_since_read"]] == ["b.txt"]
    assert "changed_since_read" not in await bob.call_tool("exists", {"path": "a.txt"})


async def test_an_actor_that_has_read_that_a_file_is_gone_creates_it_again(agents: Agents) -> None:
    alice, bob = agents
    await bob.write_file("a.txt", "1\n")
    await alice.read_file("a.txt")
    await bob.delete_file("a.txt")
    error = await refused("EDIT_CONFLICT", alice.write_file("a.txt", "2\n"))
    assert "was deleted" in error.message
    assert "Read it" in (error.suggested_action or "")
    await refused("FILE_NOT_FOUND", alice.read_file("a.txt"))
    assert (await alice.write_file("a.txt", "2\n")).created


async def test_errors_do_not_claim_that_an_actor_has_read_what_it_has_not(agents: Agents) -> None:
    alice, bob = agents
    first = (await bob.write_file("a.txt", "1\n")).version
    await bob.write_file("a.txt", "2\n")
    merging = alice.write_file("a.txt", "3\n", expected_version=first, on_stale="merge")
    refusals = [
        await refused("EDIT_CONFLICT", merging),
        await refused("VERSION_MISMATCH", alice.write_file("a.txt", "3\n", expected_version=first)),
        await refused("EDIT_NOT_FOUND", alice.edit_file("a.txt", [Edit(old="9", new="3")])),
    ]
    told = [f"{each.message} {each.suggested_action}" for each in refusals]
    assert [each for each in told if "you read" in each or "again" in each or "somebody else" in each] == []
