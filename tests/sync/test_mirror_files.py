"""The files of one mirror: what dead processes left there, and whose bytes they are."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from filetools.content.version import version_of
from filetools.errors import DiskFullError, StorageFailedError
from filetools.events.types import SyncStarted
from filetools.journal.backlog import BacklogEntry
from filetools.journal.records import Change
from filetools.models.records import ChangeRecord, Operation
from filetools.paths.workspace_path import WorkspacePath
from filetools.sync import worker
from tests.support.inside import mirror_of
from tests.support.mirror_worlds import FOR_EVER_SECONDS, Hang, hurry, local_store, scripted, tree, world


@pytest.mark.parametrize("moment", ["Displaced.is_untouched", "Displaced.read", "Displaced.discard"])
async def test_a_leftover_that_another_process_removes_first_is_nobodys_failure(tmp_path: Path, moment: str) -> None:
    names = [f"999999-1-0-0-00000000{number:08x}" for number in range(3)]
    inner = local_store(tmp_path / "mirror")
    temporary = tmp_path / "mirror/.filetools/tmp"
    for name in names:
        (temporary / name).write_text(name)

    def remove_first(method: str, path: str) -> None:
        if method == moment:
            next(temporary.iterdir()).unlink()

    async with world(tmp_path, scripted(inner, before=remove_first), is_filled=False, is_started=False) as opened:
        opened.mirror_files().sweep()
        assert opened.kept == []
    assert list(temporary.iterdir()) == []


async def test_a_file_that_cannot_be_read_is_replaced(tmp_path: Path) -> None:
    def fail(method: str, path: str) -> None:
        if method == "open":
            raise StorageFailedError(path, "a bad sector")

    inner = local_store(tmp_path / "mirror")
    (tmp_path / "mirror" / "a").write_bytes(b"1")
    async with world(tmp_path, scripted(inner, before=fail), is_started=False) as opened:
        opened.mirror_files().put(WorkspacePath("a"), b"2", version_of(b"2"), None, size=1, must_write=False)
    assert (tmp_path / "mirror" / "a").read_bytes() == b"2"


async def test_a_file_of_others_with_the_inode_of_a_discarded_one_is_kept(tmp_path: Path) -> None:
    mirror, spare = tmp_path / "mirror", tmp_path / "spare"

    def put(path: str, content: bytes) -> None:
        files.put(WorkspacePath(path), content, version_of(content), None, size=1, must_write=False)

    async with world(tmp_path, local_store(mirror), is_started=False) as opened:
        files = opened.mirror_files()
        put("a", b"1")
        os.link(mirror / "a", spare)  # keeps the inode
        stat = spare.stat()
        put("a", b"2")
        spare.write_bytes(b"x")
        os.utime(spare, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # as within one tick of the clock
        spare.rename(mirror / "b")
        put("b", b"3")
        assert opened.kept == [("b", b"x")]


LARGE_BYTES = 8 * 1024 * 1024


async def test_small_files_do_not_wait_for_a_large_one_and_holes_stay_holes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_LONGEST_LOOK_SECONDS", 0.0)
    order, parts = list[str](), list[str]()

    def note(method: str, path: str) -> None:
        if method == "Prepared.exchange":
            order.append(path)
        if (method, path, order.count("small4")) == ("sync", "small4", 1):
            raise DiskFullError(path)

    def write_meanwhile(method: str, path: str) -> None:
        parts.extend([path] if (method, path) == ("Reader.read_at", "big") else [])
        if len(parts) in (3, 6):
            parts.append("")
            opened.put(f"small{len(parts)}", b"1")

    mirror = scripted(local_store(tmp_path / "mirror"), after=note)
    async with world(tmp_path, mirror, is_started=False) as opened:
        _make_sparse(opened.root / "big")
        opened.put("z", b"1")
        opened.journal.backlog.add("mirror", [BacklogEntry(key="big", path="big", number=0)])
        await opened.build(primary=scripted(opened.primary, before=write_meanwhile)).start()
        await opened.until_paid()
    assert (order[:2], order.count("small4")) == (["z", "small4"], 2)  # again, because the disk may have lost it
    assert order.index("small7") < order.index("big")
    assert (tmp_path / "mirror/big").read_bytes() == (tmp_path / "primary/big").read_bytes()
    assert (tmp_path / "mirror/big").stat().st_blocks * 512 < LARGE_BYTES // 8


async def test_small_files_do_not_wait_for_the_comparison_of_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_LONGEST_LOOK_SECONDS", 0.0)
    order = list[str]()

    def note(method: str, path: str) -> None:
        order.extend([path] if method == "Prepared.exchange" else [])

    def write_meanwhile(method: str, path: str) -> None:
        if (method, path) == ("Reader.read_at", "d/big"):
            if not order:
                opened.put("small", b"1")
            order.append("part")

    async with world(tmp_path, scripted(local_store(tmp_path / "mirror"), after=note), is_started=False) as opened:
        for folder in (opened.root, tmp_path / "mirror"):
            (folder / "d").mkdir()
            _make_sparse(folder / "d/big")
        opened.journal.backlog.add("mirror", [BacklogEntry(key="d", path="d", number=0, below=True)])
        await opened.build(primary=scripted(opened.primary, before=write_meanwhile)).start()
        await opened.until_paid()
    assert "part" in order[order.index("small") :]


async def test_a_call_hears_of_a_large_file_as_soon_as_the_mirror_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_SHORTEST_DEFERRAL_SECONDS", "_LONGEST_DEFERRAL_SECONDS"):
        monkeypatch.setattr(worker, name, 300.0)
    async with world(tmp_path, local_store(tmp_path / "mirror"), mirror_probe_seconds=300.0) as opened:
        await opened.until(lambda: opened.manager.standing() == "in_sync")
        assert await opened.write("big", bytes(LARGE_BYTES)) == "in_sync"


@pytest.mark.parametrize("is_kept", [False, True])
@pytest.mark.parametrize("change", ["delete", "move", "write"])
async def test_a_large_file_that_changes_while_it_is_copied_is_not_copied_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, is_kept: bool
) -> None:
    """The bytes of a version that is kept are read from the journal, which nobody changes."""
    monkeypatch.setattr(worker, "_LONGEST_LOOK_SECONDS", 0.0)
    is_changed = False

    def change_once(method: str, path: str) -> None:
        nonlocal is_changed
        if (method, path, is_changed) == ("prepare" if is_kept else "Reader.read_at", "d/big", False):
            is_changed = True
            if change == "move":
                opened.rename("d", "e")
            elif change == "delete":
                opened.remove("d/big")
            else:
                opened.put("d/big", b"new")

    mirror = scripted(local_store(tmp_path / "mirror"), before=change_once)
    async with world(tmp_path, mirror, is_started=False) as opened:
        opened.make("d")
        if is_kept:
            opened.put("d/big", bytes(LARGE_BYTES))
        else:
            _make_sparse(opened.root / "d/big")
            opened.journal.backlog.add("mirror", [BacklogEntry(key="d/big", path="d/big", number=0)])
        await opened.build(primary=scripted(opened.primary, before=change_once)).start()
        await opened.until(lambda: is_changed)
        await opened.until_paid()
        assert tree(opened.primary) == tree(mirror)


async def test_a_synchronisation_does_not_wait_for_a_large_file_that_it_did_not_find(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_LONGEST_LOOK_SECONDS", 0.0)
    content, records, is_synced = b"x" * LARGE_BYTES, list[ChangeRecord](), threading.Event()
    change = Change(operation=Operation.MODIFY, path="big", key="big", after=version_of(content), size=LARGE_BYTES)

    def change_large(method: str, path: str) -> None:
        if (method, path) == ("Prepared.exchange", "a"):
            (opened.root / "big").write_bytes(content)
            records.extend(opened.commit(change))
            opened.journal.marks.applied([records[0].number])

    def wait(method: str, path: str) -> None:
        if (method, path) == ("Reader.read_at", "big") and records:
            is_synced.wait(0.2)  # for each of many parts

    mirror = scripted(local_store(tmp_path / "mirror"), before=change_large)
    async with world(tmp_path, mirror, is_started=False) as opened:
        for folder in (opened.root, tmp_path / "mirror"):
            _make_sparse(folder / "big")
        await opened.build(primary=scripted(opened.primary, before=wait)).start()
        (opened.root / "a").write_bytes(b"1")
        assert (await opened.manager.sync_all()).added == ["a"]
        for _ in range(4):  # rounds while the file is copied
            await opened.run(lambda: mirror_of(opened.manager).wait_for_round(60))
        hurry(opened.manager)
        assert await opened.manager.follow(records) == "pending"
        assert tree(mirror) != tree(opened.primary)
        is_synced.set()
        await opened.until_paid()
        assert tree(mirror) == tree(opened.primary)


async def test_requests_during_a_comparison_of_the_whole_mirror_are_answered_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_LONGEST_LOOK_SECONDS", 0.0)
    reached, never = threading.Event(), threading.Event()

    def slow(method: str, path: str) -> None:
        if (method, path) == ("Reader.read_at", "big"):
            reached.set()
            never.wait(0.01)  # for each of many parts

    async with world(tmp_path, local_store(tmp_path / "mirror"), is_filled=False, is_started=False) as opened:
        for folder in (opened.root, tmp_path / "mirror"):
            _make_sparse(folder / "big")
        await opened.build(primary=scripted(opened.primary, before=slow)).start()
        await opened.run(lambda: reached.wait(60) and mirror_of(opened.manager).wait_for_round(60))
        assert opened.journal.mirrors.register("mirror").is_filled


async def test_a_synchronisation_with_a_mirror_that_has_room_again_does_not_fail(tmp_path: Path) -> None:
    hang, is_full = Hang("prepare"), True

    def fail(method: str, path: str) -> None:
        if method == "probe" and is_full:
            raise DiskFullError(path)
        hang(method, path)

    mirror = scripted(local_store(tmp_path / "mirror"), before=fail)
    async with world(tmp_path, mirror, is_started=False) as opened:
        opened.put("big", bytes(LARGE_BYTES))
        await opened.build(mirror_probe_seconds=FOR_EVER_SECONDS).start()  # only the call makes it try again
        await opened.until(lambda: not mirror_of(opened.manager).progress.is_ready)
        hang.on()
        is_full = False
        running = asyncio.create_task(opened.manager.sync_all())
        await opened.until(lambda: running.done() or any(isinstance(each, SyncStarted) for each in opened.events))
        hang.off()
        assert (await running).added == ["big"]


def _make_sparse(place: Path) -> None:
    with place.open("wb") as file:
        file.write(b"head")
        file.seek(LARGE_BYTES // 2)
        file.write(b"middle")
        file.truncate(LARGE_BYTES)


async def test_a_copy_that_a_dead_process_did_not_finish_is_removed_whatever_its_size(tmp_path: Path) -> None:
    store = local_store(tmp_path / "mirror")
    temporary = tmp_path / "mirror/.filetools/tmp"
    for name in ("999999-1-0-0-0000000000000001.part", "999999-1-0-0-0000000000000002"):
        (temporary / name).write_bytes(b"larger than that")
    async with world(tmp_path, store, is_filled=False, is_started=False, max_foreign_bytes=8) as opened:
        opened.mirror_files().sweep()
    assert [place.name for place in temporary.iterdir()] == ["999999-1-0-0-0000000000000002"]


def test_a_copy_is_named_as_unfinished_until_it_is_complete(tmp_path: Path) -> None:
    store, names = local_store(tmp_path / "mirror"), list[str]()

    def parts() -> Iterator[bytes]:
        for part in (b"1", b"2"):
            names.extend(place.suffix for place in (tmp_path / "mirror/.filetools/tmp").iterdir())
            yield part

    prepared = store.prepare(WorkspacePath("a"), parts(), new=True)
    assert names == [".part", ".part"]
    assert not prepared.temporary.endswith(".part")
    prepared.exchange()
    assert store.read(WorkspacePath("a"))[0] == b"12"
