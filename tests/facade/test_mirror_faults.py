"""Mirrors that fail midway: strict calls change both or neither, catching up survives a kill, only one synchronisation runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
import pytest

import filetools
from filetools.errors import DiskFullError, StorageFailedError
from filetools.sync.mirror import MirrorProgress, write_note
from tests.support import inside
from tests.support.changes import BEFORE, CASES
from tests.support.crashing import grow, leftovers, snapshot
from tests.support.mirror_worlds import QUICK, Hang, caught_up, local_store, scripted
from tests.support.opened import names_of, outcome_of, refused, steps_until, told


class Failing:
    """Fails every call of some methods while it is on."""

    def __init__(self, *methods: str, error: Callable[[str], filetools.FileToolsError] = DiskFullError) -> None:
        self._methods = methods
        self._error = error
        self.is_on = False

    def __call__(self, method: str, path: str) -> None:
        if self.is_on and method in self._methods:
            raise self._error(path)


STRICT = [name for name in CASES if name != "make folder"]


@pytest.mark.parametrize("methods", [("prepare",), ("Prepared.exchange", "move", "remove", "probe")])
@pytest.mark.parametrize("name", STRICT)
async def test_a_strict_call_is_in_both_or_in_neither(tmp_path: Path, name: str, methods: tuple[str, ...]) -> None:
    action, wanted = CASES[name]
    root, folder = tmp_path / "root", tmp_path / "mirror"
    grow(root, BEFORE)
    failing = Failing(*methods, error=lambda path: StorageFailedError(path, "I/O error"))
    mirror = scripted(local_store(folder), before=failing)
    async with filetools.open(root, mirror=mirror, mirror_policy="strict", settings=QUICK) as files:
        assert (await files.sync_all()).success
        failing.is_on = True
        heard = told(files, "file:*")
        code = await outcome_of(action(files))
        failing.is_on = False
        if code == "done":
            assert snapshot(root) == wanted
        else:
            assert code in ("SYNC_FAILED", "BATCH_FAILED")
            assert without_new_folders(snapshot(root)) == BEFORE
            assert names_of(heard) == []
        await caught_up(files)
        assert (await files.sync_all(verify=True)).success
        assert snapshot(folder) == snapshot(root)
        assert leftovers(root) == []


def without_new_folders(found: dict[str, bytes | None]) -> dict[str, bytes | None]:
    return {path: content for path, content in found.items() if content is not None or path in BEFORE}


async def test_a_move_into_an_excluded_folder_leaves_the_mirror_without_its_source(tmp_path: Path) -> None:
    root, folder = tmp_path / "root", tmp_path / "mirror"
    grow(root, {"a.txt": b"a", "d/e.txt": b"e", "node_modules": None})
    async with filetools.open(root, mirror=folder, settings=QUICK) as files:
        await files.sync_all()
        assert snapshot(folder) == {"a.txt": b"a", "d": None, "d/e.txt": b"e"}
        await files.move_file("a.txt", "node_modules/a.txt")
        await files.move_file("d", "node_modules/d")
        await caught_up(files)
        assert snapshot(folder) == {}
        await files.move_file("node_modules/a.txt", "b.txt")
        await files.move_file("node_modules/d", "t")
        await caught_up(files)
        assert snapshot(folder) == {"b.txt": b"a", "t": None, "t/e.txt": b"e"}


async def test_one_synchronisation_at_a_time_and_closing_ends_it(tmp_path: Path) -> None:
    grow(tmp_path / "root", {f"{number}.txt": b"x" for number in range(20)})
    hang = Hang("prepare")
    mirror = scripted(local_store(tmp_path / "mirror"), before=hang)
    opening = filetools.open(tmp_path / "root", mirror=mirror, settings=QUICK)
    files = await opening.__aenter__()
    hang.on()
    first = asyncio.ensure_future(files.sync_all())
    await steps_until(lambda: hang.reached.is_set() and inside.is_synchronising(files))
    assert "another synchronisation is running" in (await refused("SYNC_FAILED", files.sync_all())).message
    async with asyncio.timeout(60):
        await opening.__aexit__(None, None, None)
        await refused("WORKSPACE_GONE", first)
    hang.off()


async def test_a_new_writer_takes_back_what_a_dead_one_said_of_the_mirror(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    opened = partial(filetools.open, tmp_path / "root", mirror=tmp_path / "mirror", settings=QUICK)
    async with opened() as files:
        await files.write_file("a.txt", "1")
        await caught_up(files)
    (place,) = (tmp_path / "root" / ".filetools" / "state").glob("mirror-*.json")
    write_note(place, MirrorProgress(is_ready=False, error="it was down"))
    async with opened() as files:
        await caught_up(files)
        told = msgspec.json.decode(place.read_bytes(), type=MirrorProgress)
        assert (told.is_ready, told.error) == (True, None)
