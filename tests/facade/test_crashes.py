"""The process dies at each call of store and journal, for every kind of change: afterwards old or new, never a mix.

The seed chooses a part of these moments; from about FILETOOLS_DOSE=10 on all are tried.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from pathlib import Path

import pytest

import filetools
from filetools import Actor, Edit
from filetools.content.editing.text_edits import TextEdit
from filetools.facade.facade import FileToolsFacade
from tests.support.changes import ALICE, BEFORE, CASES, undo
from tests.support.crashing import (
    BUSY,
    QUIET,
    Action,
    Tree,
    deaths,
    grow,
    is_settled,
    leftovers,
    recover,
    recovered,
    reopened,
    snapshot,
)  # fmt: skip
from tests.support.exact_trees import on_disk
from tests.support.inside import heads_below
from tests.support.opened import steps_until

ANN = Actor(kind="editor", id="ann")


async def acted(root: Path, act: Action) -> None:
    """Act as Alice, and close the root properly."""
    async with filetools.open(root, settings=QUIET) as files:
        await act(files.for_actor(ALICE))


@pytest.mark.parametrize("name", CASES)
def test_after_a_death_at_any_call_everything_is_old_or_new(name: str, tmp_path: Path) -> None:
    action, wanted = CASES[name]
    grow(tmp_path / "root", BEFORE)
    for death in deaths(tmp_path / "root", action, most=3, about=name):
        found = reopened(death.root)
        assert found in ([wanted] if death.acknowledged else [BEFORE, wanted]), death
        assert leftovers(death.root) == [], death


@pytest.mark.parametrize("name", CASES)
def test_after_a_death_in_the_recovery_of_a_death_everything_is_old_or_new(name: str, tmp_path: Path) -> None:
    action, wanted = CASES[name]
    grow(tmp_path / "root", BEFORE)

    async def settle(files: FileToolsFacade) -> None:
        await steps_until(lambda: is_settled(files, files._parts.workspace.root))

    for first in deaths(tmp_path / "root", action, most=1, about=name):
        allowed = [wanted] if first.acknowledged else [BEFORE, wanted]
        for second in deaths(first.root, settle, most=2, settings=BUSY, about=first.where):
            assert reopened(second.root) in allowed, second
            assert leftovers(second.root) == [], second


def test_a_write_in_two_halves_is_detected(tmp_path: Path) -> None:
    grow(tmp_path / "root", BEFORE)

    async def write_in_halves(files: FileToolsFacade) -> None:
        place = files._parts.workspace.root / "a.txt"
        place.write_bytes(b"ne")
        await files.write_file("b.txt", "in between\n")
        place.write_bytes(b"new\n")

    found = [reopened(death.root) for death in deaths(tmp_path / "root", write_in_halves, most=3)]
    assert b"ne" in [tree["a.txt"] for tree in found]


LINES = "".join(f"line {number}\n" for number in range(1, 21))
EDITED = LINES.replace("line 15", "LINE 15")
Found = tuple[str, str | None]
"""The content of the file and the text of the open document; None if there is none."""


async def typed(files: FileToolsFacade) -> tuple[FileToolsFacade, str]:
    ann = files.for_actor(ANN)
    opened = await ann.buffers.open("a.txt")
    await ann.buffers.change(opened.handle, buffer_version=1, edits=[TextEdit(0, 0, "typed ")])
    return ann, opened.handle


async def edit_beside(files: FileToolsFacade) -> None:
    await typed(files)
    await files.edit_file("a.txt", [Edit(old="line 15", new="LINE 15")])


async def edit_in_buffer(files: FileToolsFacade) -> None:
    await typed(files)
    await files.edit_file("a.txt", [Edit(old="typed line", new="better line")])


async def save(files: FileToolsFacade) -> None:
    ann, handle = await typed(files)
    await ann.buffers.save(handle)


async def replace(files: FileToolsFacade) -> None:
    await typed(files)
    await files.write_file("a.txt", "new\n", on_conflict="allow")


async def close(files: FileToolsFacade) -> None:
    ann, handle = await typed(files)
    await ann.buffers.close(handle)


BEGINNING: list[Found] = [(LINES, None), (LINES, LINES), (LINES, "typed " + LINES)]
UNSAVED: dict[str, tuple[Action, Found]] = {
    "beside": (edit_beside, (EDITED, "typed " + EDITED)),
    "in buffer": (edit_in_buffer, (LINES, "better " + LINES)),
    "save": (save, ("typed " + LINES, "typed " + LINES)),
    "replace": (replace, ("new\n", "new\n")),
    "close": (close, (LINES, None)),
}


@pytest.mark.parametrize("name", UNSAVED)
def test_after_a_death_file_and_document_tell_one_story(name: str, tmp_path: Path) -> None:
    action, wanted = UNSAVED[name]
    grow(tmp_path / "root", {"a.txt": LINES.encode()})
    for death in deaths(tmp_path / "root", action, most=3, about=name):
        found, texts = asyncio.run(file_and_document(death.root))
        assert found in ([wanted] if death.acknowledged else [wanted, *BEGINNING]), death
        if death.acknowledged and name in ("replace", "close"):
            assert "typed " + LINES in texts


async def file_and_document(root: Path) -> tuple[Found, list[str]]:
    """Return the texts of the file and its document, and of all versions."""
    async with recovered(root) as files:
        parts = files._parts
        heads = dict(heads_below(parts.journal, ""))
        every = parts.journal.documents.all
        await steps_until(lambda: not heads or all(each.base == heads.get(each.path) for each in every()))
        documents = parts.journal.documents.all()
        shown = parts.documents.newest(documents[0].id) if documents else None
        entries = (await files.versions("a.txt")).versions
        kept = [(await files.read_file("a.txt", version=entry.version)).content for entry in entries]
        return ((root / "a.txt").read_text(), None if shown is None else shown.text), kept


TREE: Tree = {
    "a.txt": b"one\ntwo\nthree\nfour\nfive\n", "b.txt": b"other\n",
    "d": None, "d/e.txt": b"deep\n", "d/s": None, "d/s/f.txt": b"f\n"
}  # fmt: skip


async def several(files: FileToolsFacade) -> None:
    await files.edit_file("a.txt", [Edit(old="two", new="TWO")])
    await files.for_actor(ANN).edit_file("a.txt", [Edit(old="five", new="5")])
    await files.write_file("n/m/new.txt", "n\n")
    await files.delete_file("b.txt")
    await files.move_file("d/e.txt", "e.txt")


async def folders(files: FileToolsFacade) -> None:
    await files.write_file("d/e.txt", "changed\n")
    await files.move_file("d", "x/t")


UNDONE: dict[str, tuple[Action, Tree]] = {
    "several files": (several, {**TREE, "a.txt": b"one\ntwo\nthree\nfour\n5\n"}),
    "folder out of the trash": (lambda files: files.delete_directory("d", recursive=True), TREE),
    "folder moved and changed": (folders, TREE),
    "file deleted with its folder": (lambda files: files.delete_multiple(["a.txt", "d/e.txt"]), TREE),
}


@pytest.mark.parametrize("name", UNDONE)
def test_after_a_death_at_any_call_an_undo_is_done_or_not_and_can_be_done_again(name: str, tmp_path: Path) -> None:
    act, wanted = UNDONE[name]
    root = tmp_path / "root"
    grow(root, TREE)
    asyncio.run(acted(root, act))
    before = snapshot(root)
    for death in deaths(root, undo, most=3, about=name):
        allowed = [wanted] if death.acknowledged else [before, wanted]
        assert reopened(death.root) in allowed, death
        assert leftovers(death.root) == [], death
        asyncio.run(acted(death.root, undo))
        assert snapshot(death.root) == wanted, death


RESTORED = {
    "links and modes": "rm link d/s/dangling; ln -s d made; ln -s other d/s/dangling; chmod 755 d; chmod 700 d/s",
    "kinds": "rm link; mkdir link; echo y > link/y; rm f; ln -s d f; rm -r d; echo file > d",
}


@pytest.mark.parametrize("name", RESTORED)
def test_after_a_death_at_any_call_a_tree_is_restored_or_can_be(name: str, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    grown = "mkdir -p d/s; echo f > f; echo x > d/x; ln -s f link; ln -s nowhere d/s/dangling; chmod 711 d"
    subprocess.run(["sh", "-ec", grown], cwd=root, check=True)
    wanted = on_disk(root)
    asyncio.run(acted(root, lambda files: files.for_actor(ANN).checkpoint("before")))
    subprocess.run(["sh", "-ec", RESTORED[name]], cwd=root, check=True)
    before = on_disk(root)

    async def restore(files: FileToolsFacade) -> None:
        await files.for_actor(ANN).restore("before")

    for death in deaths(root, restore, most=4, about=name):
        recover(death.root)
        if death.acknowledged:
            assert on_disk(death.root) == wanted, death
        elif name != "kinds":  # which are restored one after the other
            assert on_disk(death.root) in (before, wanted), death
        asyncio.run(acted(death.root, restore))
        assert on_disk(death.root) == wanted, death


MANY: Tree = {
    **{f"edited/{number}.txt": f"{number}\nold\n".encode() for number in range(14)},
    **{f"deleted/{number}.txt": f"{number}\n".encode() for number in range(9)},
    "deleted/kept.txt": b"kept\n",
    **{f"moved/{number}.txt": f"moved {number}\n".encode() for number in range(8)},
    **{f"folder/{number}.txt": f"in folder {number}\n".encode() for number in range(3)},
    **{f"trash/s/{number}.txt": f"in trash {number}\n".encode() for number in range(3)},
}
NEW_FOLDERS: Tree = {"new": None, "new/0": None, "new/1": None, "new/2": None}
CHANGED: Tree = {
    **{f"edited/{number}.txt": f"{number}\nnew\n".encode() for number in range(14)},
    "deleted/kept.txt": b"kept\n",
    "moved/7.txt": b"moved 0\n",
    **{f"moved/to/{number}.txt": f"moved {number}\n".encode() for number in range(1, 7)},
    **{f"renamed/{number}.txt": f"in folder {number}\n".encode() for number in range(3)},
    "saved.txt": b"in trash 1\n",
    **NEW_FOLDERS,
    **{f"new/{number % 3}/{number}.txt": f"new {number}\n".encode() for number in range(12)},
}


async def change_fifty_files(files: FileToolsFacade) -> None:
    async with files.transaction() as tx:
        for number in range(14):
            await tx.edit_file(f"edited/{number}.txt", [Edit(old="old", new="new")])
        for number in range(9):
            await tx.delete_file(f"deleted/{number}.txt")
        await tx.move_file("moved/0.txt", "moved/7.txt", overwrite=True)
        for number in range(1, 7):
            await tx.move_file(f"moved/{number}.txt", f"moved/to/{number}.txt")
        await tx.move_file("folder", "renamed")
        await tx.move_file("trash/s/1.txt", "saved.txt")
        await tx.delete_directory("trash", recursive=True)
        for number in range(12):
            await tx.create_file(f"new/{number % 3}/{number}.txt", f"new {number}\n")


def with_folders(tree: Tree) -> Tree:
    above = {parent.as_posix() for path in tree for parent in Path(path).parents} - {"."}
    return {**dict.fromkeys(sorted(above)), **tree}


def test_a_file_that_was_only_found_is_lost_at_no_death_of_its_move_over_another(tmp_path: Path) -> None:
    before: Tree = {"a.txt": b"a", "b.txt": b"b"}
    grow(tmp_path / "model", before)

    async def look() -> None:
        async with filetools.open(tmp_path / "model", settings=QUIET) as files:
            await files.look()

    async def move(files: FileToolsFacade) -> None:
        async with files.transaction() as tx:
            await tx.move_file("a.txt", "b.txt", overwrite=True)

    asyncio.run(look())
    for death in deaths(tmp_path / "model", move, most=60):
        assert reopened(death.root) in (before, {"b.txt": b"a"}), death


@pytest.mark.parametrize("place", ["made", "made/deep"])
def test_an_entry_in_place_of_a_folder_of_a_dead_call_is_kept(place: str, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()

    async def write(files: FileToolsFacade) -> None:
        await files.write_file("made/deep/a.txt", "a")

    first = ("make_directory", "'made'")
    death = next(one for one in deaths(root, write, most=60) if all(each in one.where for each in first))
    shutil.rmtree(death.root / "made", ignore_errors=True)  # it died one call later than planned
    (death.root / place).parent.mkdir(exist_ok=True)
    (death.root / place).write_text("a program's")
    assert reopened(death.root) == with_folders({place: b"a program's"})


def test_a_folder_whose_making_was_interrupted_is_as_private_as_it_was(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "own").mkdir(parents=True, mode=0o700)

    async def remove(files: FileToolsFacade) -> None:
        await files.checkpoint("before")
        await files.delete_directory("own")

    async def restore(files: FileToolsFacade) -> None:
        await files.restore("before")

    asyncio.run(acted(root, remove))
    death = next(
        one for one in deaths(root, restore, most=60) if "make_directory" in one.where and "'own'" in one.where
    )
    recover(death.root)
    own = death.root / "own"
    assert not own.exists() or own.stat().st_mode & 0o777 == 0o700  # it may have died before the commit


def test_fifty_files_are_wholly_changed_or_wholly_not_after_a_death_at_any_step(tmp_path: Path) -> None:
    root, mirror = tmp_path / "model/root", tmp_path / "model/mirror"
    grow(root, MANY)
    mirror.mkdir()

    async def mirrored() -> None:
        async with filetools.open(root, mirror=mirror, settings=QUIET) as files:
            assert (await files.sync_all()).success

    asyncio.run(mirrored())
    before, after = with_folders(MANY), with_folders(CHANGED)
    ends = set()
    for death in deaths(tmp_path / "model", change_fifty_files, most=6, has_mirror=True):
        found = reopened(death.root, death.mirror)
        assert found == after or not death.acknowledged, death
        assert found in (before, after), death
        assert leftovers(death.root) == [], death
        assert death.mirror is not None
        shown = snapshot(death.mirror)
        assert found == shown, death
        ends.add(found == after)
    assert ends == {False, True}
