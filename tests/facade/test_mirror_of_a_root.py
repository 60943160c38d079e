"""A mirror belongs to its root: it gets every change, whoever makes it and whatever happens to the mirror's folder."""

from __future__ import annotations

import asyncio
import os
import shutil
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

import filetools
from tests.support.crashing import grow, snapshot
from tests.support.mirror_worlds import QUICK, Hang, hurry, local_store, scripted, tree
from tests.support.opened import refused, steps_until, told

OLD: dict[str, bytes | None] = {"a.txt": b"old", "d": None, "d/e": None, "d/e/b.txt": b"old", "empty": None}


async def whole(files: filetools.FileToolsFacade) -> None:
    """Wait until the mirror reports that it is in sync."""
    async with asyncio.timeout(60):
        while (status := (await state_of(files)))["state"] != "ready" or status["behind"]:
            await asyncio.sleep(0.005)


async def state_of(files: filetools.FileToolsFacade) -> dict[str, Any]:
    status: dict[str, Any] = (await files.status())["mirrors"]["mirror"]
    return status


def folders(tmp_path: Path) -> tuple[Path, Path]:
    grow(tmp_path / "root", OLD)
    return tmp_path / "root", tmp_path / "mirror"


async def test_what_is_written_without_the_mirror_reaches_it_when_it_is_attached(tmp_path: Path) -> None:
    root, mirror = folders(tmp_path)
    async with filetools.open(root, mirror=mirror, settings=QUICK) as files:
        await whole(files)
    async with filetools.open(root, settings=QUICK) as files:
        await files.write_file("new.txt", "1")
        await files.delete_file("a.txt")
        await files.move_file("d", "moved")
    async with filetools.open(root, mirror=mirror, settings=QUICK) as files:
        await whole(files)
    assert snapshot(mirror) == snapshot(root)


async def test_what_is_written_beside_an_attached_mirror_reaches_it(tmp_path: Path) -> None:
    root, mirror = folders(tmp_path)
    async with (
        filetools.open(root, mirror=mirror, settings=QUICK) as server,
        filetools.open(root, settings=QUICK) as command,
    ):
        await whole(server)
        await command.write_file("d/by_command.txt", "1")
        assert (await command.delete_directory("d/e", recursive=True)).mirror == "off"
        await whole(server)
        assert snapshot(mirror) == snapshot(root)


async def test_two_mirrors_of_one_root_both_get_everything(tmp_path: Path) -> None:
    root, one = folders(tmp_path)
    two = tmp_path / "other"
    async with (
        filetools.open(root, mirror=one, settings=QUICK) as first,
        filetools.open(root, mirror=two, settings=QUICK) as second,
    ):
        await first.write_file("by_first.txt", "1")
        await second.write_file("by_second.txt", "2")
        await whole(first)
        await whole(second)
    assert snapshot(one) == snapshot(two) == snapshot(root)


async def test_a_foreign_save_seen_by_a_process_without_the_mirror_reaches_it(tmp_path: Path) -> None:
    root, mirror = folders(tmp_path)
    async with filetools.open(root, mirror=mirror, settings=QUICK) as files:
        await whole(files)
    async with filetools.open(root, settings=QUICK) as leader:
        await leader.write_file("a.txt", "agent")
        (root / "a.txt").write_text("person")
        await refused("VERSION_MISMATCH", leader.delete_file("a.txt", expected_version="0" * 64))
    async with filetools.open(root, mirror=mirror, settings=QUICK) as files:
        await whole(files)
    assert (mirror / "a.txt").read_text() == "person"


async def test_a_path_to_a_mirror_is_the_same_mirror_however_it_is_spelt(tmp_path: Path) -> None:
    root, mirror = folders(tmp_path)
    async with filetools.open(root, mirror=mirror, settings=QUICK) as files:
        await whole(files)
    (tmp_path / "link").symlink_to(mirror)
    async with filetools.open(root, mirror=tmp_path / "link", settings=QUICK) as files:
        assert await state_of(files) == {"state": "ready", "behind": 0, "last_error": None}
        assert [row.place for row in files._parts.journal.mirrors.all()] == [os.path.realpath(mirror)]


async def test_a_mirror_named_later_than_its_tree_is_filled_in_the_background(tmp_path: Path) -> None:
    root, folder = folders(tmp_path)
    hang = Hang("prepare")
    mirror = scripted(local_store(folder), before=hang)
    hang.on()
    async with filetools.open(root, mirror=mirror, settings=QUICK) as files:
        async with asyncio.timeout(60):
            while (await state_of(files))["behind"] < len(OLD):
                await asyncio.sleep(0.005)
        assert (await state_of(files))["state"] == "filling"
        hang.off()
        await whole(files)
        assert (await files.status())["position"] == 0  # nothing was recorded for it
    assert tree(mirror) == OLD


async def test_filling_keeps_what_stands_in_a_folder_and_the_primary_does_not_have(tmp_path: Path) -> None:
    root, mirror = folders(tmp_path)
    grow(mirror, {"a.txt": b"theirs", "theirs.txt": b"theirs", "d": None, "d/e": b"a file in the way"})
    async with filetools.open(root, mirror=mirror, settings=QUICK) as files:
        await whole(files)
        texts = [(await files.read_file(path, version=entry.version)).content
                 for path in ("a.txt", "d/e") for entry in (await files.versions(path)).versions]  # fmt: skip
    assert snapshot(mirror) == {**OLD, "theirs.txt": b"theirs"}
    assert {"theirs", "a file in the way"} <= set(texts)


async def test_filling_goes_on_after_it_was_broken_off(tmp_path: Path) -> None:
    root, folder = folders(tmp_path)
    grow(root, {f"many/{number}": b"x" for number in range(200)})
    inner, hang = local_store(folder), Hang("sync")
    hang.on()

    def hold(method: str, path: str) -> None:
        if path.startswith("many/"):
            hang(method, path)

    async with filetools.open(root, mirror=scripted(inner, before=hold), settings=QUICK):
        await steps_until(lambda: any(folder.rglob("many/*")))
    hang.off()
    shutil.rmtree(folder / "d", ignore_errors=True)
    async with filetools.open(root, mirror=folder, settings=QUICK) as files:
        await whole(files)
    assert snapshot(folder) == snapshot(root)


@pytest.mark.parametrize("policy", ["eventual", "strict"])
@pytest.mark.parametrize("way", ["moved away", "removed", "emptied", "emptied but for the hidden folder"])
async def test_a_mirror_whose_place_was_lost_is_noticed_and_filled_anew(tmp_path: Path, way: str, policy: Any) -> None:
    root, mirror = folders(tmp_path)
    async with filetools.open(root, mirror=mirror, mirror_policy=policy, settings=QUICK) as files:
        await whole(files)
        former = snapshot(mirror)
        if way == "moved away":
            mirror.rename(tmp_path / "elsewhere")
            mirror.mkdir()
        elif way == "removed":
            mirror.rename(tmp_path / "gone")
        else:
            gone = tmp_path / "gone"
            gone.mkdir()
            for place in tuple(mirror.iterdir()):
                if way == "emptied" or place.name != ".filetools":
                    place.rename(gone / place.name)  # removed one by one, they could coincide with what is made again
        await whole_again(mirror, former)
        await whole(files)
        assert (await files.write_file("c.txt", "2")).mirror == "in_sync"
        await whole(files)
    assert snapshot(mirror) == snapshot(root)
    if way == "moved away":
        assert snapshot(tmp_path / "elsewhere") == former


@pytest.mark.parametrize("way", ["moved away", "removed"])
async def test_a_call_does_not_write_to_a_folder_that_lost_its_place(tmp_path: Path, way: str) -> None:
    root, mirror = folders(tmp_path)
    never = {**QUICK, "mirror_probe_seconds": 3600.0}
    async with AsyncExitStack() as stack:
        # One after the other: a process that finds the mirror being filled looks again after the probe interval.
        files = await stack.enter_async_context(filetools.open(root, mirror=mirror, settings=never))
        await whole(files)
        opening = filetools.open(root, mirror=mirror, mirror_policy="strict", settings=never)
        strict = await stack.enter_async_context(opening)
        await whole(strict)
        if way == "moved away":
            mirror.rename(tmp_path / "elsewhere")
            mirror.mkdir()
        else:
            shutil.rmtree(mirror)
        await refused("SYNC_FAILED", strict.write_file("a.txt", "1"))
        assert snapshot(root) == OLD
        assert (await files.write_file("a.txt", "1")).mirror == "pending"
        assert (await state_of(files))["state"] == "not_ready"


async def whole_again(mirror: Path, former: dict[str, bytes | None]) -> None:
    await steps_until(lambda: former.items() <= (snapshot(mirror) if mirror.exists() else {}).items())


async def test_a_former_folder_that_comes_back_to_its_place_loses_what_was_deleted_meanwhile(tmp_path: Path) -> None:
    """A disk that was unplugged, and is plugged in again after its mount point was taken for the mirror."""
    root, mirror = folders(tmp_path)
    async with filetools.open(root, mirror=mirror, settings=QUICK) as files:
        await whole(files)
        mirror.rename(tmp_path / "disk")
        mirror.mkdir()
        await files.write_file("new.txt", "1")
        await files.delete_file("a.txt")
        await files.delete_directory("d", recursive=True)
        await whole_again(mirror, {"new.txt": b"1", "empty": None})
        await whole(files)
    shutil.rmtree(mirror)
    (tmp_path / "disk").rename(mirror)
    async with filetools.open(root, mirror=mirror, settings=QUICK) as files:
        await whole(files)
    assert snapshot(mirror) == snapshot(root) == {"empty": None, "new.txt": b"1"}


async def test_a_batch_that_a_healthy_mirror_does_not_finish_in_time_is_no_failure(tmp_path: Path) -> None:
    root, folder = tmp_path / "root", tmp_path / "mirror"
    root.mkdir()
    hang = Hang("Prepared.exchange")
    mirror = scripted(local_store(folder), before=hang)
    async with filetools.open(root, mirror=mirror, settings={**QUICK, "mirror_probe_seconds": 60.0}) as files:
        heard = told(files, "sync:*")
        await files.write_file("first.txt", "0")
        await whole(files)
        hurry(files._parts.sync, 0.01)
        hang.on()
        loop = asyncio.get_running_loop()
        batch = [{"path": f"d{number % 10}/{number}.txt", "content": "x"} for number in range(300)]
        result = await files.write_multiple(batch)
        assert result.results[0].mirror == "pending"
        loop.call_later(0.05, hang.off)
        await whole(files)
        assert (await state_of(files))["last_error"] is None
    assert heard == []
    assert snapshot(folder) == snapshot(root)


async def test_modes_reach_the_mirror_and_verifying_mends_them(tmp_path: Path) -> None:
    root, mirror = folders(tmp_path)
    (root / "d").chmod(0o700)
    (root / "a.txt").chmod(0o750)
    async with filetools.open(root, mirror=mirror, settings=QUICK) as files:
        await files.look()
        assert (await files.sync_all()).success
        assert modes(mirror) == modes(root)
        (mirror / "a.txt").chmod(0o644)
        (mirror / "d/e/b.txt").chmod(0o600)
        planned = await files.sync_all(preview=True, verify=True)
        assert planned.modified == ["a.txt", "d/e/b.txt"]
        assert (await files.sync_all(verify=True)).success
        assert modes(mirror) == modes(root)
        assert (await files.sync_all(preview=True, verify=True)).total_files == 0


def modes(top: Path) -> dict[str, int]:
    return {
        place.relative_to(top).as_posix(): place.stat().st_mode & 0o777
        for place in top.rglob("*")
        if ".filetools" not in place.parts
    }
