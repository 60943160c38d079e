"""Mirrors that were added to a root: every opening applies them, also those that were open before."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.app.mirrors import add_mirror, list_mirrors, remove_mirror
from filetools.errors import InvalidArgumentError
from tests.support.crashing import grow, snapshot
from tests.support.mirror_worlds import QUICK, local_store
from tests.support.mounts import mounted
from tests.support.opened import refused


@pytest.fixture
def root(tmp_path: Path) -> Path:
    grow(tmp_path / "root", {"a.txt": b"old", "d": None, "d/b.txt": b"old"})
    return tmp_path / "root"


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    return tmp_path / "backup"


async def stands(files: filetools.FileToolsFacade, wanted: dict[str, tuple[str, int]]) -> None:
    """Wait until the workspace has these mirrors, in these states, so many paths behind."""
    async with asyncio.timeout(60):
        while {name: (each["state"], each["behind"]) for name, each in (await mirrors(files)).items()} != wanted:
            await asyncio.sleep(0.005)


async def mirrors(files: filetools.FileToolsFacade) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = (await files.status())["mirrors"]
    return found


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        (".", "same directory, nor one inside the other"),
        ("..", "same directory, nor one inside the other"),
        ("../other", "a root of its own"),
        ("../state", "a root of its own"),
        ("../full", "holds files already"),
        ("../taken", "it is, or was, a mirror already"),
        ("../file", "Not a directory"),
    ],
)
def test_a_folder_that_is_something_else_is_refused_and_left_as_it_is(root: Path, place: str, reason: str) -> None:
    around = root.parent
    grow(around, {"other/a": b"1", "bound/a": b"1", "full/theirs": b"1", "file": b"1"})
    (around / "link to root").symlink_to(root)
    add_mirror(around / "other", around / "taken")
    for name, state in (("other", None), ("bound", around / "state")):
        with filetools.open_sync(around / name, state_dir=state, settings=QUICK):
            pass
    assert list_mirrors(root) == []
    before = everything(around)
    with pytest.raises(filetools.errors.InvalidArgumentError, match=reason):
        add_mirror(root, root / place)
    assert everything(around) == before
    assert list_mirrors(root) == []


def everything(around: Path) -> set[str]:
    """Return all names but those in the state of the root, which the first look makes."""
    return {str(place) for place in around.rglob("*") if not place.is_relative_to(around / "root" / ".filetools")}


async def test_under_the_strict_policy_nothing_is_written_while_the_mirror_is_away(root: Path, backup: Path) -> None:
    """Both or neither: a change that only the root had would break what the policy promises."""
    add_mirror(root, backup)
    strict = {**QUICK, "mirror_policy": "strict"}
    async with filetools.open(root, settings=QUICK) as files:
        await stands(files, {"mirror": ("ready", 0)})
    backup.rename(backup.with_name("disk"))
    former = snapshot(root)
    async with filetools.open(root, settings=strict) as files:
        await refused("SYNC_FAILED", files.write_file("new.txt", "1"))
    assert (snapshot(root), [each.behind for each in list_mirrors(root)]) == (former, [0])
    backup.with_name("disk").rename(backup)
    async with filetools.open(root, settings=strict) as files:
        await stands(files, {"mirror": ("ready", 0)})
        assert (await files.write_file("new.txt", "1")).mirror == "in_sync"
    assert snapshot(backup) == snapshot(root)


async def test_a_mirror_that_is_added_is_noticed_by_whoever_has_the_root_open(root: Path, backup: Path) -> None:
    async with filetools.open(root, settings=QUICK) as files:
        assert (await files.write_file("before.txt", "1")).mirror == "off"
        await asyncio.to_thread(add_mirror, root, backup)
        await stands(files, {"mirror": ("ready", 0)})
        assert (await files.write_file("after.txt", "1")).mirror == "in_sync"
        assert snapshot(backup) == snapshot(root)


async def test_what_is_written_before_a_new_mirror_is_noticed_waits_for_it(root: Path, backup: Path) -> None:
    never = {**QUICK, "mirror_probe_seconds": 3600.0}
    async with filetools.open(root, settings=never) as files:
        await asyncio.to_thread(add_mirror, root, backup)
        assert (await files.write_file("new.txt", "1")).mirror == "off"
        (listed,) = await asyncio.to_thread(list_mirrors, root)
        assert (listed.state, listed.behind) == ("filling", 1)
    async with filetools.open(root, settings=QUICK) as files:
        await stands(files, {"mirror": ("ready", 0)})
    assert snapshot(backup) == snapshot(root)


async def test_a_mirror_that_is_removed_is_let_go_by_whoever_has_the_root_open(root: Path, backup: Path) -> None:
    add_mirror(root, backup)
    async with filetools.open(root, settings=QUICK) as files:
        await stands(files, {"mirror": ("ready", 0)})
        former = snapshot(backup)
        await asyncio.to_thread(remove_mirror, root, backup)
        await stands(files, {})
        assert (await files.write_file("new.txt", "1")).mirror == "off"
        assert (await asyncio.to_thread(list_mirrors, root), snapshot(backup)) == ([], former)


async def test_a_removed_mirror_does_not_come_back_through_a_process_that_has_not_noticed(
    root: Path, backup: Path
) -> None:
    never = {**QUICK, "mirror_probe_seconds": 3600.0}
    add_mirror(root, backup)
    async with filetools.open(root, settings=never) as files:
        await asyncio.to_thread(remove_mirror, root, backup)
        await files.write_file("new.txt", "1")
    assert list_mirrors(root) == []


async def test_a_mirror_that_comes_back_while_the_root_is_open_is_caught_up(root: Path, backup: Path) -> None:
    add_mirror(root, backup)
    async with filetools.open(root, settings=QUICK) as files:
        await stands(files, {"mirror": ("ready", 0)})
        backup.rename(backup.with_name("disk"))
        assert (await files.write_file("new.txt", "1")).mirror == "pending"
        await stands(files, {"mirror": ("not_ready", 1)})
        assert not backup.exists()
        backup.with_name("disk").rename(backup)
        await stands(files, {"mirror": ("ready", 0)})
    assert snapshot(backup) == snapshot(root)


async def test_a_mirror_that_is_named_comes_on_top_and_the_same_one_counts_once(root: Path, backup: Path) -> None:
    add_mirror(root, backup)
    named = local_store(backup.with_name("named"))
    async with filetools.open(root, mirror=named, settings=QUICK) as files:
        await stands(files, {"mirror": ("ready", 0), "mirror 2": ("ready", 0)})
        assert (await files.write_file("new.txt", "1")).mirror == "in_sync"
    async with filetools.open(root, mirror=backup, settings=QUICK) as files:
        await stands(files, {"mirror": ("ready", 0)})
    assert snapshot(backup) == snapshot(root)
    backup.rename(backup.with_name("disk"))
    async with filetools.open(root, mirror=backup, settings=QUICK) as files:
        assert (await files.write_file("new.txt", "2")).mirror == "pending"
    assert not backup.exists()


async def test_the_older_disk_of_a_mirror_is_taken_back_and_compared(root: Path, backup: Path) -> None:
    add_mirror(root, backup)
    disk = backup.with_name("disk")
    async with filetools.open(root, settings=QUICK) as files:
        await stands(files, {"mirror": ("ready", 0)})
    backup.rename(disk)
    add_mirror(root, backup)  # a new folder in its place
    async with filetools.open(root, settings=QUICK) as files:
        await files.delete_file("a.txt")
        await stands(files, {"mirror": ("ready", 0)})
    backup.rename(backup.with_name("newer"))
    disk.rename(backup)
    async with filetools.open(root, settings=QUICK) as files:
        await stands(files, {"mirror": ("ready", 0)})
    assert snapshot(backup) == snapshot(root)


@pytest.mark.parametrize("shown", ["root/backup", "root", "."])
async def test_a_mount_does_not_hide_that_root_and_mirror_overlap(tmp_path: Path, shown: str) -> None:
    root, mirror = tmp_path / "around/root", tmp_path / "mirror"
    (root / "backup").mkdir(parents=True)
    with mounted(mirror, "--bind", tmp_path / "around" / shown):
        with pytest.raises(InvalidArgumentError, match="must not be the same directory"):
            add_mirror(root, mirror)
        with pytest.raises(InvalidArgumentError, match="must not be the same directory"):
            filetools.open(root, mirror=mirror)
        assert sorted(each.name for each in root.iterdir()) == ["backup"]
