"""Following a change in the call: what it costs, what it says, and what is left for later."""

from __future__ import annotations

import asyncio
import threading
import time
from functools import partial
from pathlib import Path

import pytest

import filetools
from filetools.errors import (
    AccessDeniedError,
    DiskFullError,
    FileToolsError,
    StateDamagedError,
    StorageFailedError,
    SyncFailedError,
    WorkspaceGoneError,
)
from filetools.events.types import SyncError, SyncPaused, SyncResumed
from filetools.stores.local import LocalStore
from filetools.sync import worker
from filetools.sync.mirror_files import MARKER
from filetools.sync.worker import BacklogWorker
from tests.support.crashing import grow, snapshot
from tests.support.inside import mirror_of, parts
from tests.support.mirror_worlds import (
    FOR_EVER_SECONDS,
    QUICK,
    Hang,
    World,
    at,
    caught_up,
    hurry,
    local_store,
    scripted,
    tree,
    world,
)
from tests.support.mounts import CASELESS, caseless
from tests.support.opened import Once, ScriptedOpening, failing, steps_until


async def test_a_small_file_is_brought_over_without_a_look_at_the_primary(tmp_path: Path) -> None:
    looked: list[str] = []

    def note(method: str, path: str) -> None:
        if path == "a" and threading.current_thread().name.startswith("filetools mirror"):
            looked.append(method)

    async with world(tmp_path, local_store(tmp_path / "mirror"), is_started=False) as opened:
        opened.put("a", b"new", mode=0o640)
        await opened.build(primary=scripted(opened.primary, before=note)).start()
        await opened.until_paid()
        assert opened.mirror.read(at("a"))[0] == b"new"
        found = opened.mirror.stat(at("a"))
        assert found is not None
        assert (found.mode, looked) == (0o640, [])


async def test_an_exchange_that_hung_is_put_right_once_it_has_ended(tmp_path: Path) -> None:
    """The one case in which an older version can come late: inside the mirror's own system call."""
    inner, hang = local_store(tmp_path / "mirror"), Hang("Prepared.exchange")
    async with world(tmp_path, scripted(inner, before=hang)) as opened:
        await opened.write("a", b"old")
        hurry(opened.manager, 0.05)
        hang.on()
        assert await opened.write("a", b"late") == "pending"
        assert await opened.write("a", b"newest") == "pending"
        hang.off()
        await opened.until(
            lambda: inner.read(at("a"))[0] == b"newest" and opened.manager.status()["mirror"]["state"] == "ready"
        )
        await opened.until_paid()
        assert inner.read(at("a"))[0] == b"newest"


async def test_an_error_of_the_mirror_is_told_once_and_leaves_the_entry(tmp_path: Path) -> None:
    tries = 0

    def fail(method: str, path: str) -> None:
        nonlocal tries
        if method == "prepare" and path == "a":
            tries += 1
            if tries <= 3:
                raise StorageFailedError(path, "broken")

    mirror = scripted(local_store(tmp_path / "mirror"), before=fail)
    async with world(tmp_path, mirror, mirror_probe_seconds=0.01) as opened:
        assert await opened.write("a", b"1") == "pending"
        await opened.until(lambda: opened.owed() == 0 and bool(opened.named("sync:resumed")))
        assert opened.events == [
            SyncError(error="Storage failed at a: broken", error_code="INTERNAL"),
            SyncPaused(reason="error"),
            SyncResumed(),
        ]


@pytest.mark.parametrize(
    "error", [StateDamagedError("the folder for temporary files was removed"), WorkspaceGoneError("it is no folder")]
)
async def test_a_mirror_that_is_gone_is_not_taken_for_a_damaged_workspace(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, error: FileToolsError
) -> None:
    def fail(method: str, path: str) -> None:
        if method == "prepare":
            raise error

    mirror = scripted(local_store(tmp_path / "mirror"), before=fail)
    async with world(tmp_path, mirror, mirror_probe_seconds=FOR_EVER_SECONDS) as opened:
        assert await opened.write("a", b"1") == "pending"
        told = opened.manager.status()["mirror"]["last_error"]
    assert told == "its folder is gone or was emptied"
    assert caplog.messages == [f"The mirror is not in sync: {told}"]


async def test_one_file_that_does_not_fit_leaves_the_mirror_ready(tmp_path: Path) -> None:
    def fail(method: str, path: str) -> None:
        if method == "prepare" and path == "large":
            raise DiskFullError(path)

    async with world(tmp_path, scripted(local_store(tmp_path / "mirror"), before=fail)) as opened:
        assert await opened.write("large", b"1") == "pending"
        assert await opened.write("small", b"1") == "in_sync"


async def test_a_paused_mirror_is_owed_and_catches_up_when_resumed(opened: World, inner: LocalStore) -> None:
    opened.manager.pause()
    assert await opened.write("a", b"1") == "pending"
    assert opened.manager.status()["mirror"] == {"state": "paused", "behind": 1, "last_error": None}
    assert tree(inner) == {}
    opened.manager.resume()
    await opened.until_paid()
    assert tree(inner) == {"a": b"1"}
    assert opened.events == [SyncPaused(reason="user"), SyncResumed()]


async def test_another_process_takes_a_mirror_over_when_its_writer_is_gone(opened: World, inner: LocalStore) -> None:
    first, second = opened.manager, opened.build(notify=partial(opened.manager.wake, is_heard=True))
    await second.start()
    assert await opened.write("a", b"1") == "in_sync"
    assert [each.status()["mirror"]["state"] for each in (first, second)] == ["ready", "ready"]
    await first.aclose()
    await opened.until(lambda: second.standing() == "in_sync")  # of what the other wrote, too
    assert await opened.write("b", b"2") == "in_sync"
    assert tree(inner) == {"a": b"1", "b": b"2"}


async def test_a_process_that_does_not_write_to_a_mirror_hears_that_it_fails(tmp_path: Path) -> None:
    def fail(method: str, path: str) -> None:
        if method == "prepare" and path == "bad":
            raise StorageFailedError(path, "broken")

    mirror = scripted(local_store(tmp_path / "mirror"), before=fail)
    async with world(tmp_path, mirror, mirror_probe_seconds=FOR_EVER_SECONDS) as opened:
        assert await opened.write("a", b"1") == "in_sync"
        first, second = (
            opened.manager,
            opened.build(mirror_probe_seconds=FOR_EVER_SECONDS, notify=partial(opened.manager.wake, is_heard=True)),
        )
        await second.start()
        assert await opened.write("bad", b"2") == "pending"
        assert second.status()["mirror"]["state"] == "not_ready"
        await first.aclose()


async def test_a_change_is_in_the_mirror_at_once_and_paid_when_it_is_durable(inner: LocalStore, tmp_path: Path) -> None:
    order: list[str] = []

    def note(method: str, path: str) -> None:
        if method in ("Prepared.exchange", "sync") and path == "deep/er/a":
            order.append(f"{method} {path}, owed {opened.owed()}")

    async with world(tmp_path, scripted(inner, before=note)) as opened:
        assert await opened.write("deep/er/a", b"1") == "in_sync"
        assert tree(inner) == {"deep": None, "deep/er": None, "deep/er/a": b"1"}
        await opened.until_paid()
        assert order == ["Prepared.exchange deep/er/a, owed 1", "sync deep/er/a, owed 1"]
        assert opened.manager.standing() == "in_sync"


async def test_the_first_change_while_a_mirror_is_looked_at_does_not_make_it_look_emptied(tmp_path: Path) -> None:
    scanned: list[str] = []

    def act(method: str, path: str) -> None:
        if method == "scan":
            scanned.append(path)
            if len(scanned) == 1:
                opened.put("a", b"1")

    async with world(tmp_path, scripted(local_store(tmp_path / "mirror"), after=act), is_started=False) as opened:
        files = opened.mirror_files()
        files.establish()
        assert (scanned, files.is_filled) == ([""], True)


async def test_an_entry_that_was_raised_meanwhile_stays(tmp_path: Path) -> None:
    hang = Hang("sync")
    inner = local_store(tmp_path / "mirror")
    async with world(tmp_path, scripted(inner, before=hang)) as opened:
        hang.on()
        assert await opened.write("a", b"1") == "in_sync"
        assert await opened.run(lambda: hang.reached.wait(60))
        hurry(opened.manager, 0.01)
        assert await opened.write("a", b"2") == "pending"
        opened.manager.pause()
        hang.off()
        await opened.manager.aclose()
        assert (opened.lacking(), inner.read(at("a"))[0]) == ({"a"}, b"1")


async def test_what_was_not_durable_when_a_mirror_failed_is_written_anew(tmp_path: Path) -> None:
    """Its place may hold another folder by the time that it is synced, where syncing a missing file succeeds."""
    inner, written = local_store(tmp_path / "mirror"), list[str]()

    def fail(method: str, path: str) -> None:
        if method == "prepare" and path != MARKER:
            written.append(path)
            if written == ["a", "b"]:
                raise StorageFailedError(path, "I/O error")

    async with world(tmp_path, scripted(inner, before=fail), sync_after_seconds=FOR_EVER_SECONDS) as opened:
        assert await opened.write("a", b"1") == "in_sync"
        inner.remove(at("a")).discard()
        assert await opened.write("b", b"2") == "pending"
        await opened.until(lambda: tree(inner) == {"a": b"1", "b": b"2"})


async def test_every_kind_of_change_is_followed(opened: World, inner: LocalStore) -> None:
    statuses = [
        await opened.write("a", b"1"),
        await opened.write("a", b"22"),
        await opened.make_directory("d/e"),
        await opened.write("d/e/f", b"3"),
        await opened.move("a", "d/b"),
        await opened.write("c", b"4"),
        await opened.move("c", "d/b"),
        await opened.write("gone", b"5"),
        await opened.delete("gone"),
        await opened.make_directory("x/y"),
        await opened.write("x/y/z", b"6"),
        await opened.delete("x"),
    ]
    await opened.until_paid()
    assert set(statuses) == {"in_sync"}
    assert await opened.move("d", "moved") == "in_sync"
    await opened.until_paid()
    assert tree(inner) == tree(opened.primary) == {
        "moved": None, "moved/b": b"4", "moved/e": None, "moved/e/f": b"3"
    }  # fmt: skip
    assert opened.kept == []


@pytest.mark.parametrize("make", CASELESS)
async def test_a_mirror_that_ignores_case_keeps_what_is_left_of_two_twins(tmp_path: Path, make: str) -> None:
    def small(store: LocalStore) -> dict[str, bytes | None]:
        return {path.casefold(): content for path, content in tree(store).items()}  # one driver lists them so

    with caseless(tmp_path, make) as disk:
        inner = local_store(disk / "mirror")
        async with world(tmp_path, inner) as opened:
            await opened.write("Folder/x", b"1")
            assert await opened.move("Folder/x", "Folder/X") == "in_sync"
            assert await opened.move("Folder", "folder") == "in_sync"
            for upper, lower, gone in (("A", "a", "A"), ("B", "b", "b"), ("C/x", "c/x", "C"), ("D/x", "d/x", "d")):
                await opened.write(upper, b"upper")
                await opened.until_paid()
                await opened.write(lower, b"lower")
                await opened.until(lambda: bool(opened.manager.status()["mirror"]["last_error"]) and opened.owed() == 1)
                await opened.delete(gone)
                await opened.until_paid()
                assert small(inner) == small(opened.primary)


@pytest.mark.parametrize("make", CASELESS)
async def test_a_refused_twin_does_not_keep_the_mirror_busy(
    tmp_path: Path, make: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds, work = list[float](), BacklogWorker.round

    def counted(self: BacklogWorker) -> float:
        rounds.append(time.monotonic())
        return work(self)

    monkeypatch.setattr(BacklogWorker, "round", counted)
    settings = {"watch": False, "durability": "relaxed", "mirror_probe_seconds": 0.5, "sync_after_seconds": 0.5}
    (tmp_path / "root").mkdir()
    with caseless(tmp_path, make) as disk:
        async with filetools.open(tmp_path / "root", mirror=disk / "mirror", settings=settings) as files:
            await files.look()
            for name in ("a.txt", "A.txt", "b.txt"):
                await files.write_file(name, name)
            await asyncio.sleep(0.5)  # a write wakes the worker as often as it finds time, so rounds count from here
            before, start = len(rounds), time.monotonic()
            await asyncio.sleep(2.0)
            assert len(rounds) - before <= 2 * (time.monotonic() - start) / 0.5 + 2


async def test_excluded_paths_are_never_mirrored_and_owe_nothing(inner: LocalStore, tmp_path: Path) -> None:

    def excluded(path: str, is_directory: bool) -> bool:
        return "node_modules" in path.split("/")

    async with world(tmp_path, inner, excluded=excluded) as opened:
        await opened.write("node_modules/a", b"1")
        await opened.write("b", b"2")
        await opened.move("b", "node_modules/b")
        await opened.move("node_modules/a", "a")
        await opened.until_paid()
        assert tree(inner) == {"a": b"1"}


async def test_a_strangers_text_in_the_mirror_is_kept_before_it_is_replaced(
    opened: World, inner: LocalStore, tmp_path: Path
) -> None:
    await opened.write("a", b"ours")
    (tmp_path / "mirror" / "a").write_bytes(b"a stranger's")
    assert await opened.write("a", b"newer") == "in_sync"
    assert opened.kept == [("a", b"a stranger's")]
    assert tree(inner) == {"a": b"newer"}


async def test_a_strangers_files_are_kept_before_their_folder_is_removed(
    opened: World, inner: LocalStore, tmp_path: Path
) -> None:
    await opened.make_directory("d")
    await opened.write("d/ours", b"ours")
    (tmp_path / "mirror" / "d" / "theirs").write_bytes(b"theirs")
    assert await opened.delete("d") == "in_sync"
    assert opened.kept == [("d/theirs", b"theirs")]
    assert tree(inner) == {}


async def test_a_strangers_text_that_cannot_be_journaled_is_kept_as_a_file(inner: LocalStore, tmp_path: Path) -> None:
    async with world(tmp_path, inner, max_foreign_bytes=8) as opened:
        await opened.write("a", b"ours")
        (tmp_path / "mirror" / "a").write_bytes(b"too large to be read")
        assert await opened.write("a", b"newer") == "in_sync"
        assert [left.read() for left in inner.leftovers()] == [b"too large to be read"]
        assert opened.kept == []


async def test_a_file_that_a_stranger_still_writes_is_kept_as_a_file(
    opened: World, inner: LocalStore, tmp_path: Path
) -> None:
    await opened.write("a", b"ours")
    with (tmp_path / "mirror" / "a").open("wb") as theirs:
        theirs.write(b"half a sen")
        theirs.flush()
        assert await opened.write("a", b"newer") == "in_sync"
        theirs.write(b"tence")
    assert [left.read() for left in inner.leftovers()] == [b"half a sentence"]


async def test_other_kinds_in_the_way_are_kept_and_replaced(tmp_path: Path) -> None:
    inner, root = local_store(tmp_path / "mirror"), tmp_path / "mirror"
    async with world(tmp_path, inner) as opened:
        (root / "file").mkdir()
        (root / "file" / "inside").write_bytes(b"inside")
        (root / "folder").write_bytes(b"a file")
        (root / "link").symlink_to(tmp_path)
        assert await opened.write("file", b"1") == "in_sync"
        assert await opened.write("folder/a", b"2") == "in_sync"
        assert await opened.write("link/b", b"3") == "in_sync"
        (root / "new").write_bytes(b"in the way")
        assert await opened.make_directory("new/d") == "in_sync"
        assert tree(inner) == tree(opened.primary)
        assert opened.kept == [("file/inside", b"inside"), ("folder", b"a file"), ("new", b"in the way")]
        assert not (tmp_path / "b").exists()


async def test_only_a_folder_that_was_filled_counts_as_emptied_without_its_marker(
    inner: LocalStore, tmp_path: Path
) -> None:
    async with world(tmp_path, inner, is_filled=False, is_started=False) as opened:
        files = opened.mirror_files()
        files.establish()
        files.confirm()
        files.establish()
        assert files.is_filled
        inner.remove(MARKER).discard()
        with pytest.raises(SyncFailedError, match="emptied"):
            files.establish()
        files.establish()
        assert not files.is_filled


async def test_a_first_file_that_is_not_recorded_yet_does_not_fail_an_empty_mirror(
    opened: World, inner: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_LOOK_SECONDS", 0.0)
    assert await opened.write("a", b"1") == "in_sync"
    assert await opened.delete("a") == "in_sync"
    await opened.until_paid()
    (opened.root / "b").write_bytes(b"2")  # by another program, and nobody has looked
    identity = opened.journal.mirrors.register("mirror").identity
    assert await opened.run(lambda: mirror_of(opened.manager).wait_for_round(60))
    assert (await opened.write("c", b"3"), opened.events, tree(inner)) == ("in_sync", [], {"c": b"3"})
    assert opened.journal.mirrors.register("mirror").identity == identity  # it is not compared as a whole


async def test_a_chmod_copies_no_bytes(tmp_path: Path) -> None:
    root, mirror = tmp_path / "root", tmp_path / "mirror"
    root.mkdir()
    async with filetools.open(root, mirror=mirror, settings=QUICK) as files:
        await files.write_file("a", "1")
        await caught_up(files)
        before = (mirror / "a").stat()
        (root / "a").chmod(0o755)
        await files.look()
        await caught_up(files)
        after = (mirror / "a").stat()
    assert (after.st_ino, after.st_mode & 0o777) == (before.st_ino, 0o755)


async def test_each_file_of_a_batch_whose_sync_failed_is_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner, written, has_failed = local_store(tmp_path / "mirror"), list[str](), False
    names = ["a", "b", "c", "d"]

    def fail(method: str, path: str) -> None:
        nonlocal has_failed
        if method == "prepare" and path in names:
            written.append(path)
        elif method == "sync" and path == "d" and not has_failed:
            has_failed = True
            monkeypatch.setattr(
                "filetools.sync.worker.MOST_UNSYNCED", 3
            )  # "d" comes after the first batch that succeeds
            raise StorageFailedError(path, "I/O error")

    async with world(tmp_path, scripted(inner, before=fail), is_started=False) as opened:
        for name in names:
            opened.put(name, b"1")
        await opened.manager.start()
        await opened.until_paid()
    assert sorted(written) == sorted([*names, *names])


async def test_a_folder_that_could_not_be_listed_when_a_mirror_was_filled_comes_later(tmp_path: Path) -> None:
    root, mirror = tmp_path / "root", tmp_path / "mirror"
    grow(root, {"d": None, "d/x": b"x", "d/e": None, "d/e/y": b"y"})
    refuse = Once("scan", failing(lambda: AccessDeniedError("d", "a fault of the test")), path="d")
    async with ScriptedOpening(root, before=refuse, mirror=mirror, settings=QUICK) as files:
        await steps_until(lambda: snapshot(mirror) == snapshot(root))
        await caught_up(files)


async def test_what_a_refused_folder_lacks_below_is_known_after_a_restart(tmp_path: Path) -> None:
    root, mirror = tmp_path / "root", tmp_path / "mirror"
    grow(root, {"d": None, "d/x": b"x", "d/y": b"y"})

    def refuse(method: str, path: str) -> None:
        if method == "remove":
            raise AccessDeniedError(path, "a fault of the test")

    store = local_store(mirror)
    async with filetools.open(root, mirror=scripted(store, before=refuse), settings=QUICK) as files:
        await caught_up(files)
        await files.delete_directory("d", recursive=True)
        await files.create_directory("d")
        await files.write_file("other", "1")
        journal = parts(files).journal
        await steps_until(lambda: journal.mirrors.register("store mirror").position == journal.positions().newest)
        assert (mirror / "d/x").exists()
    async with filetools.open(root, mirror=store, settings=QUICK) as files:
        await caught_up(files)
        assert snapshot(mirror) == {"d": None, "other": b"1"}


async def test_a_mirror_leaves_the_root_of_somebody_alone(tmp_path: Path) -> None:
    root, mirror = tmp_path / "root", tmp_path / "mirror"
    grow(root, {"a": b"a"})
    async with filetools.open(root, mirror=mirror, settings=QUICK) as files:
        await caught_up(files)
    (mirror / "strange").mkdir()
    async with filetools.open(mirror / "strange", settings=QUICK) as strange:
        await strange.write_file("a", "precious")
        await strange.delete_file("a")
    async with filetools.open(root, mirror=mirror, settings=QUICK) as files:
        result = await files.sync_all()
        assert [error["path"] for error in result.errors] == ["strange"]
    async with filetools.open(mirror / "strange", settings=QUICK) as strange:
        assert len((await strange.versions("a")).versions) == 1
