"""Files with hard links: a write separates the written name, with a warning, or is refused."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from tests.support.crashing import QUIET, Tree, deaths, grow, leftovers, reopened, snapshot
from tests.support.opened import recorded, refused

OTHERS = ("d/b.txt", "d/s/c.txt")
Call = Callable[[FileToolsFacade], Awaitable[object]]
CHANGES: dict[str, tuple[Call, bytes]] = {
    "write": (lambda files: files.write_file("a.txt", "new\n"), b"new\n"),
    "append": (lambda files: files.append_file("a.txt", "more\n"), b"old\nmore\n"),
    "edit": (lambda files: files.edit_file("a.txt", [filetools.Edit(old="old", new="new")]), b"new\n"),
    "insert": (lambda files: files.insert_lines("a.txt", 0, "first\n"), b"first\nold\n"),
    "patch": (
        lambda files: files.apply_patch("*** Begin Patch\n*** Update File: a.txt\n@@\n-old\n+new\n*** End Patch\n"),
        b"new\n",
    ),
    "copy": (lambda files: files.copy_file("other.txt", "a.txt", overwrite=True), b"other\n"),
    "batch": (lambda files: files.write_multiple([{"path": "a.txt", "content": "new\n"}]), b"new\n"),
}


def plant(root: Path) -> None:
    grow(root, {"a.txt": b"old\n", "d/s": None, "other.txt": b"other\n"})
    for name in OTHERS:
        os.link(root / "a.txt", root / name)


def tree(content: bytes) -> Tree:
    return {"d": None, "d/s": None, "other.txt": b"other\n", "a.txt": content, **dict.fromkeys(OTHERS, b"old\n")}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    plant(root)
    return root


async def test_where_the_settings_say_so_every_change_is_refused(root: Path) -> None:
    async with filetools.open(root, settings={**QUIET, "hard_links": "refuse"}) as files:
        for name, (call, _) in CHANGES.items():
            error = await refused("BATCH_FAILED" if name == "batch" else "HARD_LINKED", call(files))
            assert error.details.get("cause", "HARD_LINKED") == "HARD_LINKED"
        assert (await files.write_file("a.txt", "old\n")).unchanged
        assert snapshot(root) == tree(b"old\n")
        assert await recorded(files) == []


@pytest.mark.parametrize("name", CHANGES)
async def test_the_written_name_becomes_a_separate_file(files: FileToolsFacade, root: Path, name: str) -> None:
    call, content = CHANGES[name]
    await call(files)
    assert snapshot(root) == tree(content)
    assert (root / "a.txt").stat().st_nlink == 1
    assert os.path.samefile(*(root / other for other in OTHERS))
    assert [record.path for record in (await files.changes()).records] == ["a.txt"]


async def test_a_warning_names_where_the_old_text_remains(files: FileToolsFacade, root: Path) -> None:
    os.link(root / "a.txt", root.parent / "outside.txt")
    (warning,) = (await files.write_file("d/b.txt", "new\n")).warnings
    kept = {name for name in ("a.txt", "d/s/c.txt") if name in warning["message"]}
    assert (warning["code"], kept, sorted(warning["names"])) == (
        "HARD_LINK_BROKEN", {"a.txt", "d/s/c.txt"}, ["a.txt", "d/s/c.txt"],
    )  # fmt: skip
    assert "4 names" in warning["message"]
    assert "and others" in warning["message"]
    assert (await files.write_file("d/b.txt", "newer\n")).warnings == []
    assert (root.parent / "outside.txt").read_bytes() == b"old\n"


async def test_no_name_brings_a_line_break_into_the_warning(files: FileToolsFacade, root: Path) -> None:
    os.link(root / "a.txt", root / "x\nObey me")
    (warning,) = (await files.write_file("a.txt", "new\n")).warnings
    assert "\n" not in warning["message"] + "".join(warning["names"])
    assert "Obey me" in warning["message"]


async def test_the_warning_mentions_names_outside_the_root(files: FileToolsFacade, root: Path) -> None:
    os.link(root / "other.txt", root.parent / "outside.txt")
    (warning,) = (await files.write_file("other.txt", "new\n")).warnings
    assert (warning["message"].endswith("the old text remains in others."), warning["names"]) == (True, [])


async def test_a_name_that_nothing_may_be_written_to_keeps_its_text(root: Path) -> None:
    (root / ".git/hooks").mkdir(parents=True)
    os.link(root / "a.txt", root / ".git/hooks/pre-commit")
    async with filetools.open(root, settings=QUIET) as files:
        await files.write_file("a.txt", "evil\n")
    assert (root / ".git/hooks/pre-commit").read_bytes() == b"old\n"


async def test_two_names_of_one_file_can_be_changed_in_one_call(files: FileToolsFacade, root: Path) -> None:
    await files.write_multiple([{"path": name, "content": f"{name}\n"} for name in OTHERS])
    assert [(root / name).read_text() for name in OTHERS] == ["d/b.txt\n", "d/s/c.txt\n"]
    await files.undo()
    assert snapshot(root) == tree(b"old\n")


async def test_one_name_is_deleted_or_moved_for_itself(files: FileToolsFacade, root: Path) -> None:
    inode = (root / "a.txt").stat().st_ino
    await files.move_file("d/b.txt", "moved.txt")
    await files.delete_file("d/s/c.txt")
    assert {(root / name).stat().st_ino for name in ("a.txt", "moved.txt")} == {inode}
    assert snapshot(root) == {"d": None, "d/s": None, "other.txt": b"other\n", "a.txt": b"old\n", "moved.txt": b"old\n"}


def test_after_a_death_at_any_step_the_other_names_have_the_old_bytes(tmp_path: Path) -> None:
    call, content = CHANGES["edit"]
    plant(tmp_path / "model")
    found = []
    for death in deaths(tmp_path / "model", call, most=6):
        found.append(reopened(death.root, death.root.with_name(f"{death.root.name}-mirror")))
        assert found[-1] in ([tree(content)] if death.acknowledged else [tree(b"old\n"), tree(content)]), death
        assert leftovers(death.root) == [], death
    assert tree(b"old\n") in found
    assert tree(content) in found
