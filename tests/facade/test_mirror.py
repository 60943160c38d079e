"""Mirrors through the facade: down, hung, slow, gone and back; calls on the primary are not affected."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.events.types import SyncProgress
from filetools.journal.records import Change
from filetools.models.records import SYSTEM, Operation
from filetools.paths.workspace_path import WorkspacePath
from filetools.sync import worker
from filetools.sync.comparison import Wanted, wanted
from filetools.sync.mirror_files import SyncContext
from tests.support.crashing import snapshot
from tests.support.mirror_worlds import (
    FOR_EVER_SECONDS,
    QUICK,
    WAIT_SECONDS,
    Hang,
    caught_up,
    hurry,
    local_store,
    scripted,
)
from tests.support.opened import refused, told


async def test_a_synchronisation_without_a_mirror_is_refused(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=QUICK) as files:
        await refused("INVALID_ARGUMENT", files.sync_all())
        assert (await files.write_file("a", "1")).mirror == "off"


async def test_a_hung_mirror_costs_one_call_its_wait_and_later_calls_nothing(tmp_path: Path) -> None:
    hang = Hang("prepare", "probe")
    (tmp_path / "root").mkdir()
    mirror = scripted(local_store(tmp_path / "mirror"), before=hang)
    settings = QUICK | {"mirror_wait_seconds": WAIT_SECONDS}
    async with filetools.open(tmp_path / "root", mirror=mirror, settings=settings) as files:
        await files.write_file("a.txt", "healthy")
        await caught_up(files)
        hang.on()
        first = await files.write_file("a.txt", "first")
        assert (first.mirror, first.warnings[0]["code"]) == ("pending", "SYNC_FAILED")
        hurry(files._parts.sync, FOR_EVER_SECONDS)  # a call that waited for it would never return
        assert {(await files.write_file("a.txt", str(number))).mirror for number in range(50)} == {"pending"}
        hang.off()
        await caught_up(files)


async def test_a_tampered_mirror_is_found_mended_and_its_bytes_kept(tmp_path: Path) -> None:
    root, folder = tmp_path / "root", tmp_path / "mirror"
    root.mkdir()
    async with filetools.open(root, mirror=folder, settings=QUICK) as files:
        await files.write_file("a.txt", "agent\n")
        await files.look()
        assert (await files.sync_all()).success
        (folder / "a.txt").write_text("stranger\n")
        (folder / "extra.txt").write_text("extra\n")
        planned = await files.sync_all(preview=True, verify=True)
        assert (planned.modified, planned.deleted) == (["a.txt"], ["extra.txt"])
        assert (folder / "a.txt").read_text() == "stranger\n"
        heard = told(files, "sync:progress")
        done = await files.sync_all(verify=True)
        assert done.success
        assert heard == [
            SyncProgress(current=0, total=2, current_file="a.txt"),
            SyncProgress(current=1, total=2, current_file="extra.txt"),
        ]
        assert snapshot(folder) == snapshot(root) == {"a.txt": b"agent\n"}
        versions = [entry.version for entry in (await files.versions("a.txt")).versions]
        texts = {(await files.read_file("a.txt", version=version)).content for version in versions}
        assert texts == {"agent\n", "stranger\n"}


async def test_a_file_made_anew_has_its_own_mode_in_a_mirror_that_still_holds_the_former_one(tmp_path: Path) -> None:
    root, mirror = tmp_path / "root", tmp_path / "mirror"
    root.mkdir()
    async with filetools.open(root, mirror=mirror, settings=QUICK) as files:
        await files.write_file("run.sh", "1")
        await caught_up(files)
        (mirror / "run.sh").chmod(0o755)
        (root / "run.sh").unlink()
        await files.for_actor(filetools.Actor(kind="agent", id="bob")).write_file("run.sh", "2")
        await caught_up(files)
        assert (mirror / "run.sh").stat().st_mode == (root / "run.sh").stat().st_mode


async def test_a_folder_made_again_while_its_removal_is_owed_has_nothing_of_the_former_one(tmp_path: Path) -> None:
    root, mirror = tmp_path / "root", tmp_path / "mirror"
    root.mkdir()
    async with filetools.open(root, mirror=mirror, settings=QUICK) as files:
        await files.write_file("d/a", "1")
        await caught_up(files)
        shutil.rmtree(root / "d")
        gone = Change(operation=Operation.DELETE_DIRECTORY, path="d", key="d", applied=True, external=True)
        files._parts.journal.commit([gone], SYSTEM)  # as by a process without the mirror
        await files.create_directory("d")
        await caught_up(files)
    assert snapshot(mirror) == snapshot(root) == {"d": None}


async def test_a_file_that_moves_after_a_chmod_has_its_new_mode_in_the_mirror(tmp_path: Path) -> None:
    root, mirror = tmp_path / "root", tmp_path / "mirror"
    root.mkdir()
    async with filetools.open(root, mirror=mirror, settings=QUICK) as files:
        await files.write_file("a", "1")
        await caught_up(files)
        (root / "a").chmod(0o755)
        await files.move_file("a", "b")
        await caught_up(files)
        assert (mirror / "b").stat().st_mode & 0o777 == 0o755


async def test_a_file_that_was_back_for_an_instant_does_not_stay_in_the_mirror(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "root/a.txt"
    place.parent.mkdir()

    def at_an_instant(context: SyncContext, path: WorkspacePath, key: str, **options: Any) -> Wanted:
        place.write_text("2")
        try:
            return wanted(context, path, key, **options)
        finally:
            place.unlink()

    async with filetools.open(tmp_path / "root", mirror=tmp_path / "mirror", settings=QUICK) as files:
        await files.write_file("a.txt", "1")
        await caught_up(files)
        monkeypatch.setattr(worker, "wanted", at_an_instant)
        await files.delete_file("a.txt")
        await caught_up(files)
        assert not (tmp_path / "mirror/a.txt").exists()


@pytest.mark.parametrize("change", ["delete the folder", "delete", "replace", "replace by a program"])
async def test_a_large_file_that_goes_after_a_restart_is_not_kept_beside_the_mirror(
    tmp_path: Path, change: str
) -> None:
    settings = {**QUICK, "max_foreign_bytes": 1000}
    (tmp_path / "root").mkdir()
    for is_changed in (False, True):
        async with filetools.open(tmp_path / "root", mirror=tmp_path / "mirror", settings=settings) as files:
            match change if is_changed else "":
                case "delete the folder":
                    await files.delete_directory("d", recursive=True)
                case "delete":
                    await files.delete_file("d/large.txt")
                case "replace":
                    await files.write_file("d/large.txt", "new")
                case "replace by a program":
                    (tmp_path / "root/d/large.txt").write_text("z" * 6000)
                case _:
                    await files.write_file("d/large.txt", "x" * 5000)
                    if change == "replace by a program":
                        (tmp_path / "root/d/large.txt").write_text("y" * 5000)
            await files.sync_all()
    assert snapshot(tmp_path / "mirror") == snapshot(tmp_path / "root")
    assert list((tmp_path / "mirror/.filetools/displaced").iterdir()) == []
