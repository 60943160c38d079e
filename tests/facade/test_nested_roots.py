"""Folders that contain other roots: their journals are never moved or deleted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from tests.support.crashing import QUIET
from tests.support.opened import recorded, refused, steps_until


@pytest.fixture
async def root(tmp_path: Path) -> Path:
    """A root with a root of its own two levels down, whose file has a journaled past."""
    (tmp_path / "d" / "sub").mkdir(parents=True)
    async with filetools.open(tmp_path / "d" / "sub", settings=QUIET) as inner:
        await inner.write_file("a", "one")
        await inner.write_file("a", "two")
    return tmp_path


async def assert_intact(root: Path) -> None:
    async with filetools.open(root / "d" / "sub", settings=QUIET) as inner:
        kept = (await inner.versions("a")).versions
        texts = [(await inner.read_file("a", version=each.version)).content for each in kept if each.version]
        assert texts == ["two", "one"]


@pytest.mark.parametrize("folder", ["d", "d/sub"])
async def test_a_folder_that_holds_a_root_is_neither_deleted_nor_moved(
    files: FileToolsFacade, root: Path, folder: str
) -> None:
    before = await recorded(files)
    for recursive in (True, False):
        error = await refused("PERMISSION_DENIED", files.delete_directory(folder, recursive=recursive))
        assert (error.path, error.details["state"]) == (folder, "d/sub/.filetools")
        assert error.suggested_action is not None
    await refused("PERMISSION_DENIED", files.move_file(folder, "elsewhere"))
    assert not (root / "elsewhere").exists()
    assert await recorded(files) == before
    await assert_intact(root)


async def test_a_transaction_takes_no_root_along(files: FileToolsFacade, root: Path) -> None:
    async def deletion() -> None:
        async with files.transaction() as tx:
            await tx.write_file("d/more", "x")
            await tx.delete_directory("d", recursive=True)

    async def move() -> None:
        async with files.transaction() as tx:
            await tx.move_file("d/sub", "elsewhere")

    await refused("PERMISSION_DENIED", deletion())
    await refused("PERMISSION_DENIED", move())
    await assert_intact(root)


async def test_an_undo_leaves_a_folder_in_which_a_root_was_opened(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=QUIET) as outer:
        await outer.create_directory("sub")
        async with filetools.open(tmp_path / "sub", settings=QUIET) as inner:
            await inner.write_file("a", "one")
            await inner.delete_file("a")
        await refused("PERMISSION_DENIED", outer.undo())
    assert (tmp_path / "sub" / ".filetools").is_dir()


async def test_links_named_like_a_state_do_not_hold_a_folder_back(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    os.symlink("/", tmp_path / "d" / ".filetools")
    async with filetools.open(tmp_path, settings=QUIET) as files:
        await files.delete_directory("d", recursive=True)
        assert not (tmp_path / "d").exists()


@pytest.mark.parametrize(
    ("folder", "what", "policy"),
    [
        ("d", "delete", "strict"),
        ("d/sub", "move", "strict"),
        ("d", "move", "eventual"),
        ("d/sub", "delete", "eventual"),
    ],
)
async def test_a_mirror_takes_no_root_along_that_was_opened_in_it(
    tmp_path: Path, folder: str, what: str, policy: Literal["strict", "eventual"]
) -> None:
    source, mirror = tmp_path / "source", tmp_path / "mirror"
    (source / "d" / "sub").mkdir(parents=True)
    async with filetools.open(source, mirror=mirror, mirror_policy=policy, settings=QUIET) as files:
        await files.write_file("d/sub/x", "x")
        await steps_until((mirror / "d" / "sub" / "x").exists)  # a call does not wait for it for long
        async with filetools.open(mirror / "d" / "sub", settings=QUIET) as inner:
            await inner.write_file("a", "one")
            await inner.write_file("a", "two")
        call = files.delete_directory(folder, recursive=True) if what == "delete" else files.move_file(folder, "else")
        if policy == "strict":
            with pytest.raises(filetools.FileToolsError, match=r"d/sub/\.filetools"):
                await call
        else:
            assert (await call).mirror == "pending"
        assert (source / "d" / "sub" / "x").exists() == (policy == "strict")
    await assert_intact(mirror)
