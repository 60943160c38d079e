"""Checkpoints hold whoever changes what: a restore gives the first tree with bytes, modes and empty folders, redo the last."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools import Edit
from tests.support.exact_trees import ALONE, ANN, run
from tests.support.inside import idle_connections
from tests.support.journals import save
from tests.support.opened import recorded, refused, told
from tests.support.storms.pictures import Picture, on_disk
from tests.support.unprivileged import as_nobody


def grow(root: Path) -> Picture:
    run(root, "mkdir -p src/inner docs empty/inner; echo 'print(1)' > src/app.py; seq 100 > src/inner/numbers.txt")
    run(root, "echo '#!/bin/sh' > src/run.sh; chmod 755 src/run.sh; echo text > docs/note.md; : > docs/nothing")
    run(root, "printf 'a\\0b' > data.bin")
    return on_disk(root)


async def test_what_is_found_at_the_first_look_is_told_to_nobody_and_later_changes_are(tmp_path: Path) -> None:
    grow(tmp_path)
    async with filetools.open(tmp_path, settings=ALONE) as files:
        events = told(files)
        await files.checkpoint("before")
        assert (events, await recorded(files)) == ([], [])
        run(tmp_path, "echo more >> docs/note.md; mv docs/nothing docs/none; mkdir m; rm data.bin; rmdir empty/inner")
        await files.checkpoint("after")
        assert sorted(await recorded(files)) == [
            ("create_directory", "m", "external"),
            ("delete", "data.bin", "external"),
            ("delete_directory", "empty/inner", "external"),
            ("modify", "docs/note.md", "external"),
            ("move", "docs/none", "external"),
        ]


async def test_ignored_files_are_left_out_and_what_filetools_wrote_is_not(tmp_path: Path) -> None:
    grow(tmp_path)
    (tmp_path / ".gitignore").write_text("build/\n*.log\n")
    run(tmp_path, "mkdir -p build; echo mine > build/mine; echo log > a.log")
    async with filetools.open(tmp_path, settings=ALONE) as files:
        await files.write_file("build/agent.txt", "one\n")
        made = await files.checkpoint("before")
        assert made.files == 8
        run(tmp_path, "echo changed > build/mine; echo two > build/agent.txt; rm a.log")
        await files.restore("before")
    assert (tmp_path / "build/agent.txt").read_text() == "one\n"
    assert (tmp_path / "build/mine").read_text() == "changed\n"
    assert not (tmp_path / "a.log").exists()


async def test_a_file_that_was_ignored_at_the_checkpoint_is_not_taken_away(tmp_path: Path) -> None:
    grow(tmp_path)
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "a.log").write_text("a person's\n")
    async with filetools.open(tmp_path, settings=ALONE) as files:
        await files.checkpoint("before")
        await asyncio.sleep(0.05)
        (tmp_path / ".gitignore").write_text("")
        await files.checkpoint("later")
        await files.restore("before")
    assert (tmp_path / "a.log").read_text() == "a person's\n"


async def test_large_files_are_in_it_by_their_hash_and_said_so(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * 1001)
    (tmp_path / "small").write_text("small\n")
    async with filetools.open(tmp_path, settings={**ALONE, "snapshot_max_file_bytes": 1000}) as files:
        made = await files.checkpoint("before")
        assert (made.by_hash_alone, made.unread) == (["large"], [])
        run(tmp_path, "echo y > large; echo z > small")
        error = await refused("EDIT_CONFLICT", files.restore("before"))
        assert "large" in error.message
        assert (tmp_path / "small").read_text() == "z\n"
        await files.restore("before", partial=True)
        assert ((tmp_path / "small").read_text(), (tmp_path / "large").read_text()) == ("small\n", "y\n")


def test_what_cannot_be_read_is_named_and_never_counts_as_gone(tmp_path: Path) -> None:
    async def act() -> None:
        grow(tmp_path)
        async with filetools.open(tmp_path, settings=ALONE) as files:
            await files.checkpoint("before")
            (tmp_path / "src").chmod(0)
            (tmp_path / "docs/note.md").chmod(0)
            made = await files.checkpoint("closed")
            assert made.unread == ["docs/note.md", "src"]
            assert await recorded(files) == []

    as_nobody(tmp_path, lambda: asyncio.run(act()))


async def test_other_processes_know_what_a_look_has_found(tmp_path: Path) -> None:
    first = grow(tmp_path)
    async with filetools.open(tmp_path, settings=ALONE) as one, filetools.open(tmp_path, settings=ALONE) as two:
        await one.checkpoint("before")
        run(tmp_path, "echo x > docs/new.txt; echo y >> docs/note.md")
        await two.edit_file("docs/note.md", [Edit(old="text", new="TEXT")])
        await two.append_file("docs/new.txt", "more\n")
        assert [record[:2] for record in await recorded(two)] == [
            ("modify", "docs/note.md"), ("modify", "docs/note.md"),
            ("create", "docs/new.txt"), ("modify", "docs/new.txt"),
        ]  # fmt: skip
        await two.restore("before")
        assert on_disk(tmp_path) == first


async def test_a_persons_unsaved_text_is_not_touched(tmp_path: Path) -> None:
    grow(tmp_path)
    async with filetools.open(tmp_path, settings=ALONE) as files:
        await files.checkpoint("before")
        person = files.for_actor(ANN)
        buffer = await person.buffers.open("docs/note.md")
        await person.buffers.change(buffer.handle, buffer_version=buffer.buffer_version, text="unsaved\n")
        run(tmp_path, "rm -r src; echo program > docs/nothing")
        await files.restore("before")
        assert (await person.buffers.read(buffer.handle)).text == "unsaved\n"
    assert (tmp_path / "src/app.py").exists()


@pytest.mark.parametrize(("act", "size"), [("write", 3000), ("delete", 10), ("move over", 3000)])
async def test_bytes_that_only_a_look_has_met_are_kept_before_they_are_replaced(
    tmp_path: Path, act: str, size: int
) -> None:
    (tmp_path / "a").write_bytes(b"x" * size)
    async with filetools.open(tmp_path, settings={**ALONE, "snapshot_max_file_bytes": 1000}) as files:
        await files.checkpoint("before")
        if act == "write":
            await files.write_file("a", "new\n", expected_version=(await files.read_file("a")).version)
        elif act == "delete":
            await files.delete_file("a")
        else:
            await files.write_file("b", "new\n")
            await files.move_file("b", "a", overwrite=True)
        await files.undo()
        assert (tmp_path / "a").read_bytes() == b"x" * size


@pytest.mark.parametrize("is_ignored_later", [True, False])
async def test_what_was_left_out_of_the_checkpoint_is_not_taken_for_new(tmp_path: Path, is_ignored_later: bool) -> None:
    grow(tmp_path)
    (tmp_path / ".gitignore").write_text("*.env\ndata/\n")
    run(tmp_path, "mkdir data; echo secret > s.env; echo large > data/x")
    await asyncio.sleep(0.05)
    async with filetools.open(tmp_path, settings=ALONE) as files:
        await files.checkpoint("before")
        await asyncio.sleep(0.05)
        if not is_ignored_later:
            (tmp_path / ".gitignore").write_text("")
        await files.append_file("s.env", "more\n")
        await files.restore("before")
        assert ((tmp_path / "s.env").read_text(), (tmp_path / "data/x").read_text()) == ("secret\n", "large\n")
        assert ("modify", "data/x", "external") not in await recorded(files)


async def test_another_folder_with_the_inode_of_one_that_is_gone_has_not_moved(tmp_path: Path) -> None:
    run(tmp_path, "mkdir a; echo x > a/x")
    async with filetools.open(tmp_path, settings=ALONE) as files:
        await files.checkpoint("before")
        run(tmp_path, "rm -r a; mkdir b; echo y > b/y")
        await files.checkpoint("after")
        assert ("delete_directory", "a", "external") in await recorded(files)
        assert ("create_directory", "b", "external") in await recorded(files)


@pytest.mark.parametrize("other", ["ln -s b a", "mkfifo a"])
async def test_a_file_whose_place_a_link_or_a_pipe_has_taken_is_told_as_gone_and_listed(
    tmp_path: Path, other: str
) -> None:
    run(tmp_path, "echo a > a; echo b > b")
    async with filetools.open(tmp_path, settings=ALONE) as files:
        await files.checkpoint("before")
        run(tmp_path, f"rm a; {other}")
        assert (await files.checkpoint("after")).unread == []
        assert await recorded(files) == [("delete", "a", "external")]
        if other.startswith("ln"):
            await files.restore("before")
            assert (tmp_path / "a").read_text() == "a\n"
            return
        await refused("EDIT_CONFLICT", files.restore("before"))
        result = await files.restore("before", partial=True)
        assert [conflict.path for conflict in result.conflicts] == ["a"]


async def test_one_path_that_is_refused_does_not_keep_the_rest_from_coming_back(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    grow_into = root
    grow_into.mkdir()
    grow(root)
    async with filetools.open(root, settings={**ALONE, "hard_links": "refuse"}) as files:
        await files.checkpoint("before")
        run(root, "echo a >> docs/note.md; echo b >> src/app.py; ln src/app.py ../outside")
        await refused("HARD_LINKED", files.restore("before"))
        result = await files.restore("before", partial=True)
        assert [conflict.path for conflict in result.conflicts] == ["src/app.py"]
        assert (root / "docs/note.md").read_text() == "text\n"
        assert outside.read_text().endswith("b\n")


@pytest.mark.parametrize("deed", ["replace", "delete"])
async def test_a_checkpoint_that_another_process_replaces_during_a_restore_deletes_nothing(
    tmp_path: Path, deed: str
) -> None:
    first = grow(tmp_path)
    async with filetools.open(tmp_path, settings=ALONE) as files, filetools.open(tmp_path, settings=ALONE) as others:
        await files.checkpoint("before")
        run(tmp_path, "echo more >> docs/note.md; mv src/app.py app.py")
        await files.checkpoints()  # opens a connection that is lent again

        def meanwhile(statement: str) -> None:
            if "FROM snapshot_rows" in statement and deed == "replace":
                save(others._parts.journal, "before", {}, 0, replace=True)
            elif "FROM snapshot_rows" in statement:
                others._parts.journal.checkpoints.remove("before")
                save(others._parts.journal, "other", {}, 0, replace=True)

        for connection in idle_connections(files):
            connection.set_trace_callback(meanwhile)
        await files.restore("before")
        assert on_disk(tmp_path) == first


@pytest.mark.parametrize("lost", ["key LIKE 'docs%'", "key > ''"])
async def test_a_checkpoint_that_lost_rows_is_refused_and_its_number_leads_back(tmp_path: Path, lost: str) -> None:
    grow(tmp_path)
    async with filetools.open(tmp_path, settings=ALONE) as files:
        made = await files.checkpoint("before")
        first = on_disk(tmp_path)
        note = await files.read_file("docs/note.md")
        await files.write_file("docs/note.md", "other\n", expected_version=note.version)
        await files.delete_file("src/app.py")
        checkpoints: Any = files._parts.journal.checkpoints
        checkpoints._database.write(lambda connection: connection.execute(f"DELETE FROM snapshot_rows WHERE {lost}"))
        assert "damaged" in (await refused("INVALID_ARGUMENT", files.restore("before"))).message
        await files.undo(since=made.number + 1, actor="*")
        assert on_disk(tmp_path) == first
