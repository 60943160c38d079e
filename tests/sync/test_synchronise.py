"""Synchronising a whole mirror: the plan, the repair, the events, and what one bad file may not do."""

from __future__ import annotations

import asyncio
import os
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from filetools.errors import AccessDeniedError, StorageFailedError, SyncFailedError
from filetools.events.types import SyncCompleted, SyncError, SyncProgress, SyncStarted
from filetools.journal.backlog import BacklogEntry
from filetools.models.files import SyncResult
from filetools.stores.local import LocalStore
from tests.support.mirror_worlds import FOR_EVER_SECONDS, Hang, World, hurry, local_store, scripted, tree, world


def plant(root: Path, files: dict[str, bytes]) -> None:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)


def without_time(result: SyncResult) -> SyncResult:
    return result.model_copy(update={"duration_ms": 0})


async def drifted(opened: World, mirror: Path) -> None:
    """Make a mirror that differs from the primary in every way."""
    for path in ("same", "tampered", "shorter", "d/gone"):
        await opened.write(path, b"ours")
    (mirror / "tampered").write_bytes(b"0urs")
    (mirror / "shorter").write_bytes(b"our")
    (mirror / "d" / "gone").unlink()
    plant(mirror, {"foreign": b"a stranger's", "theirs/deep/er": b"another's"})
    (mirror / "link").symlink_to("same")
    (opened.root / "empty").mkdir()


async def test_a_mirror_that_is_down_or_paused_refuses(tmp_path: Path) -> None:
    def fail(method: str, path: str) -> None:
        if method == "probe":
            raise StorageFailedError(path, "down")

    async with world(tmp_path, scripted(local_store(tmp_path / "mirror"), before=fail)) as opened:
        with pytest.raises(SyncFailedError, match=r"^The mirror is not in sync: Storage failed at [^:]*: down$"):
            await opened.manager.sync_all()
        opened.manager.pause()
        with pytest.raises(SyncFailedError, match="is paused"):
            await opened.manager.sync_all()


async def test_a_preview_plans_and_changes_nothing(opened: World, inner: LocalStore, tmp_path: Path) -> None:
    mirror = tmp_path / "mirror"
    await drifted(opened, mirror)
    before = tree(inner)
    result = await opened.manager.sync_all(preview=True)
    assert without_time(result) == SyncResult(
        success=True, preview=True, total_files=9, synced_files=0, failed_files=0, duration_ms=0, added=["empty", "d/gone"],
        modified=["shorter", "tampered"], deleted=["foreign", "link", "theirs/deep/er", "theirs/deep", "theirs"],
    )  # fmt: skip
    assert tree(inner) == before
    assert opened.named("sync:started") == []


async def test_every_difference_is_mended_towards_the_primary_and_foreign_text_is_kept(
    opened: World, inner: LocalStore, tmp_path: Path
) -> None:
    mirror = tmp_path / "mirror"
    await drifted(opened, mirror)
    result = await opened.manager.sync_all()
    assert (result.success, result.total_files, result.synced_files, result.failed_files) == (True, 9, 9, 0)
    assert tree(inner) == tree(opened.primary)
    assert not (mirror / "link").is_symlink()
    assert sorted(opened.kept) == [
        ("foreign", b"a stranger's"), ("shorter", b"our"), ("tampered", b"0urs"), ("theirs/deep/er", b"another's"),
    ]  # fmt: skip
    progress = [event for event in opened.events if isinstance(event, SyncProgress)]
    assert [(event.current, event.total) for event in progress] == [(done, 9) for done in range(9)]
    assert (await opened.manager.sync_all()).total_files == 0


async def test_the_events_tell_the_whole_story(opened: World) -> None:
    await opened.write("0", b"0")
    plant(opened.root, {"a": b"1", "b": b"2"})
    before = time.time()
    await opened.manager.sync_all()
    started, *progress, completed = opened.events
    assert started == SyncStarted(file_count=2, direction="to_mirror")
    assert progress == [
        SyncProgress(current=0, total=2, current_file="a"),
        SyncProgress(current=1, total=2, current_file="b"),
    ]
    assert isinstance(completed, SyncCompleted)
    assert (completed.success, completed.files_processed, completed.files_failed) == (True, 2, 0)
    assert before <= completed.timestamp <= time.time()


async def test_one_failing_file_does_not_stop_the_rest(inner: LocalStore, tmp_path: Path) -> None:

    def fail(method: str, path: str) -> None:
        if method == "prepare" and path == "b":
            raise AccessDeniedError(path)

    async with world(tmp_path, scripted(inner, before=fail), mirror_probe_seconds=FOR_EVER_SECONDS) as opened:
        await opened.write("0", b"0")
        plant(opened.root, {"a": b"1", "b": b"2", "c": b"3"})
        result = await opened.manager.sync_all()
        message = "Permission denied: b (the operating system denied access)"
        assert without_time(result) == SyncResult(
            success=False, total_files=3, synced_files=2, failed_files=1, duration_ms=0, added=["a", "b", "c"],
            errors=[{"path": "b", "error": message, "error_code": "PERMISSION_DENIED"}],
        )  # fmt: skip
        assert opened.named("sync:error") == [SyncError(error=message, error_code="PERMISSION_DENIED", file="b")]
        assert tree(inner) == {"0": b"0", "a": b"1", "c": b"3"}


@pytest.mark.parametrize("preview", [True, False])
async def test_a_folder_that_cannot_be_listed_loses_nothing_in_the_mirror(
    opened: World, inner: LocalStore, preview: bool
) -> None:
    def fail(method: str, path: str) -> None:
        if method == "scan" and path == "d":
            raise AccessDeniedError(path)

    await opened.write("d/a", b"1")
    await opened.write("b", b"2")
    await opened.manager.aclose()
    await opened.build(primary=scripted(opened.primary, before=fail)).start()
    result = await opened.manager.sync_all(preview)
    assert (result.success, result.deleted, [error["path"] for error in result.errors]) == (False, [], ["d"])
    assert tree(inner) == {"b": b"2", "d": None, "d/a": b"1"}


async def test_a_mirror_that_fails_ends_a_synchronisation(tmp_path: Path, inner: LocalStore) -> None:
    def fail(method: str, path: str) -> None:
        if (method, path) == ("prepare", "b"):
            raise StorageFailedError(path, "I/O error")

    async with world(tmp_path, scripted(inner, before=fail), mirror_probe_seconds=FOR_EVER_SECONDS) as opened:
        plant(opened.root, {"a": b"1", "b": b"2"})
        with pytest.raises(SyncFailedError, match="Storage failed at b: I/O error"):
            await opened.manager.sync_all()
        assert [event.to_dict()["success"] for event in opened.named("sync:completed")] == [False]


async def test_a_mirror_that_is_removed_ends_a_synchronisation(tmp_path: Path, inner: LocalStore) -> None:
    def remove(method: str, path: str) -> None:
        if (method, path) == ("open", "a"):
            opened.journal.mirrors.remove("mirror")

    async with world(tmp_path, scripted(inner, before=remove), open_added=lambda row: inner) as opened:
        await opened.write("a", b"1")
        plant(tmp_path / "mirror", {"a": b"2"})
        with pytest.raises(SyncFailedError, match="removed from the root"):
            await asyncio.wait_for(opened.manager.sync_all(), 60)


async def test_a_call_that_gave_up_on_a_slow_mirror_does_not_end_a_synchronisation(
    tmp_path: Path, inner: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    hang, polls = Hang("sync"), list[str]()
    async with world(tmp_path, scripted(inner, before=hang)) as opened:
        plant(opened.root, {"a": b"1"})
        hang.on()
        syncing = asyncio.create_task(opened.manager.sync_all())
        assert await opened.run(lambda: hang.reached.wait(60))
        hurry(opened.manager, 0.01)
        assert await opened.write("b", b"2") == "pending"
        behind = opened.journal.backlog.behind

        def counted(*arguments: Any, **options: Any) -> list[BacklogEntry]:
            polls.append("")
            return behind(*arguments, **options)

        monkeypatch.setattr(opened.journal.backlog, "behind", counted)
        await opened.until(lambda: len(polls) > 2 or syncing.done())
        hang.off()
        assert (await syncing).success


async def test_excluded_and_private_paths_are_left_alone_on_both_sides(inner: LocalStore, tmp_path: Path) -> None:
    mirror = tmp_path / "mirror"

    def excluded(path: str, is_directory: bool) -> bool:
        return ".git" in path.split("/")

    async with world(tmp_path, inner, excluded=excluded) as opened:
        plant(opened.root, {"a": b"1", ".git/config": b"x", "sub/.FileTools/x": b"x", ".ft-0123456789abcdef": b"x"})
        plant(mirror, {"old/.git/config": b"theirs", "old/file": b"gone"})
        assert (await opened.manager.sync_all()).success
        assert tree(inner) == {
            "a": b"1", "sub": None, "old": None, "old/.git": None, "old/.git/config": b"theirs"
        }  # fmt: skip


async def test_names_that_no_tool_can_write_are_mirrored_too(opened: World, inner: LocalStore) -> None:
    await opened.write("0", b"0")
    (opened.root / os.fsdecode(b"bad-\xff")).write_bytes(b"1")
    (opened.root / "back\\slash").write_bytes(b"2")
    result = await opened.manager.sync_all()
    assert result.success
    assert result.added == ["back\\slash", "bad-\\xff"]
    assert tree(inner) == tree(opened.primary)
    result.to_dict()


async def test_a_refused_name_that_is_not_utf8_is_escaped_in_events(tmp_path: Path, inner: LocalStore) -> None:
    bad = os.fsdecode(b"bad-\xff")

    def refuse(method: str, path: str) -> None:
        if (method, path) == ("prepare", bad):
            raise AccessDeniedError(path)

    mirror = scripted(inner, before=refuse)
    async with world(tmp_path, mirror, is_started=False, mirror_probe_seconds=0.01) as opened:
        (opened.root / bad).write_bytes(b"1")
        opened.journal.backlog.add("mirror", [BacklogEntry(key=bad, path=bad, number=0)])
        await opened.manager.start()
        await opened.until(lambda: bool(opened.named("sync:error")))
        assert [event.to_dict()["file"] for event in opened.named("sync:error")] == ["bad-\\xff"]


async def test_a_file_and_a_folder_of_the_same_name_are_exchanged(
    opened: World, inner: LocalStore, tmp_path: Path
) -> None:
    mirror = tmp_path / "mirror"
    plant(opened.root, {"a/inside": b"1", "b": b"2"})
    plant(mirror, {"a": b"a file", "b/inside": b"a folder"})
    assert (await opened.manager.sync_all()).success
    assert tree(inner) == tree(opened.primary)
    assert sorted(opened.kept) == [("a", b"a file"), ("b/inside", b"a folder")]


async def test_refused_paths_are_tried_again_by_an_explicit_synchronisation(opened: World, inner: LocalStore) -> None:
    opened.manager.pause()
    record = opened.put("a", b"1")
    entry = BacklogEntry(key="a", path="a", number=record.number, tries=5, reason="INVALID_PATH: no")
    opened.journal.backlog.advance("mirror", record.number, [])
    opened.journal.backlog.add("mirror", [entry])
    opened.manager.resume()
    assert opened.owed() == 1
    await opened.manager.sync_all()
    await opened.until_paid()
    assert tree(inner) == {"a": b"1"}


async def test_a_synchronisation_and_calls_at_once_end_equal(opened: World, inner: LocalStore) -> None:
    plant(opened.root, {f"old{number}": b"%d" % number for number in range(40)})
    sync = asyncio.create_task(opened.manager.sync_all())
    for number in range(60):
        await opened.write(f"old{number % 40}", b"new %d" % number)
    await sync
    await opened.until_paid()
    assert tree(inner) == tree(opened.primary)


async def test_comparing_does_not_block_the_loop(opened: World) -> None:
    plant(opened.root, {f"large{number}": bytes(2 * 1024 * 1024) for number in range(8)})
    await opened.manager.sync_all()
    sync = asyncio.create_task(opened.manager.sync_all())
    turns = 0
    while not sync.done():
        await asyncio.sleep(0)
        turns += 1
    assert sync.result().total_files == 0
    # Turns, not seconds: a loop that compares by itself makes a few for each file.
    assert turns > 200


async def test_a_process_that_does_not_write_to_the_mirror_has_it_synchronised(
    opened: World, inner: LocalStore, tmp_path: Path
) -> None:
    await opened.write("a", b"1")
    first, second = (
        opened.manager,
        opened.build(notify=partial(opened.manager.wake, is_heard=True), mirror_probe_seconds=FOR_EVER_SECONDS),
    )
    await second.start()
    (tmp_path / "mirror/a").write_bytes(b"theirs")
    async with asyncio.timeout(60):
        result = await second.sync_all()
    assert (result.modified, tree(inner)) == (["a"], {"a": b"1"})
    await first.aclose()
