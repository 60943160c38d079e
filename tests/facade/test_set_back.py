"""If a part of a call fails, its earlier changes are set back; foreign saves meanwhile are kept and reported."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.errors import DiskFullError, StorageFailedError
from filetools.facade.facade import FileToolsFacade
from tests.support.crashing import QUIET, Tree, deaths, grow, leftovers, reopened, snapshot
from tests.support.inside import parts
from tests.support.opened import (
    Hook,
    Once,
    ScriptedOpening,
    assert_at_rest,
    failing,
    names_of,
    recorded,
    refused,
    steps_until,
    told,
    version,
)

TWO = [{"path": "a.txt", "content": "A"}, {"path": "b.txt", "content": "B"}]


def full_disk() -> DiskFullError:
    return DiskFullError("b.txt")


def several(*hooks: Hook) -> Hook:
    def hook(method: str, path: str) -> None:
        for one in hooks:
            one(method, path)

    return hook


async def test_a_foreign_change_found_by_a_refused_call_is_published(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=QUIET) as files:
        known = await files.write_file("a.txt", "agent\n")
        events = told(files)
        (tmp_path / "a.txt").write_text("person\n")
        await refused("VERSION_MISMATCH", files.write_file("a.txt", "again\n", expected_version=known.version))
        assert [(event.to_dict()["event"], event.to_dict()["source"]) for event in events] == [
            ("file:modified", "external")
        ]
        assert (await files.read_file("a.txt", version=version("person\n"))).content == "person\n"


async def test_a_failed_batch_is_set_back(tmp_path: Path) -> None:
    grow(tmp_path, {"a.txt": b"old a", "b.txt": b"old b"})
    hook = Once("Prepared.exchange", failing(full_disk), at=2)
    async with ScriptedOpening(tmp_path, before=hook) as files:
        events = told(files)
        error = await refused("BATCH_FAILED", files.write_multiple(TWO))
        assert (error.details["cause"], error.path) == ("DISK_FULL", "b.txt")
        assert snapshot(tmp_path) == {"a.txt": b"old a", "b.txt": b"old b"}
        assert (events, await recorded(files)) == ([], [])
        await assert_at_rest(files, tmp_path)
        assert [type(result).__name__ for result in (await files.write_multiple(TWO)).results] == ["WriteResult"] * 2


@pytest.mark.parametrize(("method", "at"), [("Prepared.exchange", 1), ("prepare", 2)], ids=["recorded", "not recorded"])
async def test_folders_made_for_a_failed_batch_are_removed_again(tmp_path: Path, method: str, at: int) -> None:
    items = [{"path": "x/1.txt", "content": "1"}, {"path": "x/y/2.txt", "content": "2"}]
    async with ScriptedOpening(tmp_path, before=Once(method, failing(full_disk), at=at)) as files:
        events = told(files)
        await refused("BATCH_FAILED", files.write_multiple(items))
        assert (snapshot(tmp_path), events, await recorded(files)) == ({}, [], [])
        await assert_at_rest(files, tmp_path)


@pytest.mark.parametrize("content", [b"old a", None])
async def test_a_save_before_a_file_is_put_back_stays(tmp_path: Path, content: bytes | None) -> None:
    grow(tmp_path, {"b.txt": b"old b", **({} if content is None else {"a.txt": content})})

    def save() -> None:
        (tmp_path / "a.txt").write_bytes(b"person")

    hook = several(
        Once("Prepared.exchange", failing(full_disk), at=2),
        Once("Displaced.put_back" if content else "remove", save, path="a.txt"),
    )
    async with ScriptedOpening(tmp_path, before=hook) as files:
        await refused("BATCH_FAILED", files.write_multiple(TWO))
        assert snapshot(tmp_path) == {"a.txt": b"person", "b.txt": b"old b"}
        assert leftovers(tmp_path) == []
        assert (await files.write_file("a.txt", "next")).replaced_version == version(b"person")
        assert (await files.read_file("a.txt", version=version(b"person"))).content == "person"
        await assert_at_rest(files, tmp_path)


async def test_a_deleted_file_created_again_before_it_is_put_back_is_kept(tmp_path: Path) -> None:
    grow(tmp_path, {"a.txt": b"old a", "b.txt": b"old b"})

    def save() -> None:
        (tmp_path / "a.txt").write_bytes(b"person")

    hook = several(Once("remove", failing(full_disk), at=2), Once("Displaced.put_back", save))
    async with ScriptedOpening(tmp_path, before=hook) as files:
        await refused("BATCH_FAILED", files.delete_multiple(["a.txt", "b.txt"]))
        assert snapshot(tmp_path) == {"a.txt": b"person", "b.txt": b"old b"}
        assert leftovers(tmp_path) == []
        await files.write_file("a.txt", "next")
        assert (await files.read_file("a.txt", version=version(b"person"))).content == "person"


@pytest.mark.parametrize("max_foreign_bytes", [64, 4])
async def test_the_old_text_outlives_a_failed_putting_back(tmp_path: Path, max_foreign_bytes: int) -> None:
    grow(tmp_path, {"a.txt": b"the old a", "b.txt": b"the old b"})
    hook = several(
        Once("Prepared.exchange", failing(full_disk), at=2),
        Once("Displaced.put_back", failing(lambda: StorageFailedError("a.txt", "I/O error"))),
    )
    settings = {"max_foreign_bytes": max_foreign_bytes}
    async with ScriptedOpening(tmp_path, before=hook, settings=settings) as files:
        await refused("BATCH_FAILED", files.write_multiple(TWO))
        assert snapshot(tmp_path) == {"a.txt": b"A", "b.txt": b"the old b"}
        assert leftovers(tmp_path) == []
        assert (await files.read_file("a.txt", version=version(b"the old a"))).content == "the old a"
        await files.write_file("a.txt", "next")
        assert await recorded(files) == [("modify", "a.txt", "external"), ("modify", "a.txt", "agent")]
        await assert_at_rest(files, tmp_path)


async def until_swept(root: Path) -> None:
    await steps_until(lambda: not leftovers(root))


@pytest.mark.parametrize("method", ["Displaced.discard", "Displaced.is_untouched"])
async def test_a_change_is_acknowledged_and_published_although_cleanup_fails(tmp_path: Path, method: str) -> None:
    grow(tmp_path, {"a.txt": b"old a"})
    hook = Once(method, failing(full_disk))
    async with ScriptedOpening(tmp_path, before=hook) as files:
        events = told(files)
        result = await files.write_file("a.txt", "new")
        assert (result.created, result.replaced_version) == (False, version("old a"))
        assert names_of(events) == [("file:modified", "a.txt")]
        assert (tmp_path / "a.txt").read_text() == "new"
        assert await recorded(files) == [("modify", "a.txt", "agent")]
    async with filetools.open(tmp_path, settings={**QUIET, "sync_after_seconds": 0.01}) as files:
        await until_swept(tmp_path)
        await assert_at_rest(files, tmp_path)


async def test_a_stranger_s_save_that_cannot_be_looked_at_waits_for_the_sweep(tmp_path: Path) -> None:
    grow(tmp_path, {"a.txt": b"old a"})

    def save() -> None:
        (tmp_path / "a.txt").write_bytes(b"person")

    acts: dict[str, Callable[[], None]] = {"Prepared.exchange": save, "Displaced.read": failing(full_disk)}
    hook = several(*(Once(method, act) for method, act in acts.items()))
    async with ScriptedOpening(tmp_path, before=hook, settings={"sync_after_seconds": 0.01}) as files:
        await files.write_file("a.txt", "new")
        await until_swept(tmp_path)
        assert (tmp_path / "a.txt").read_text() == "new"
        assert (await files.read_file("a.txt", version=version(b"person"))).content == "person"
        assert await recorded(files) == [
            ("modify", "a.txt", "agent"),
            ("modify", "a.txt", "external"),
            ("modify", "a.txt", "system"),
        ]


async def test_a_folder_that_a_stranger_made_meanwhile_stays_when_the_call_fails(tmp_path: Path) -> None:
    made = Once("make_directory", (tmp_path / "x").mkdir)
    async with ScriptedOpening(tmp_path, before=several(made, Once("Prepared.exchange", failing(full_disk)))) as files:
        await files.look()
        await refused("DISK_FULL", files.write_file("x/y/1.txt", "1"))
        assert snapshot(tmp_path) == {"x": None}
        await files.look()
        assert await recorded(files) == [("create_directory", "x", "external")]
        await assert_at_rest(files, tmp_path)


async def test_a_move_into_a_new_folder_where_nothing_may_be_made_is_refused_before_it_is_recorded(
    tmp_path: Path,
) -> None:
    grow(tmp_path, {"a.txt": b"a"})
    async with ScriptedOpening(tmp_path, before=Once("prepare", failing(full_disk), at=1)) as files:
        await refused("DISK_FULL", files.move_file("a.txt", "x/a.txt"))
        assert (snapshot(tmp_path), parts(files).journal.positions().newest) == ({"a.txt": b"a"}, 0)
        await files.move_file("a.txt", "x/a.txt")


async def test_a_file_that_was_only_hashed_is_kept_before_it_is_replaced_though_its_move_is_recorded(
    tmp_path: Path,
) -> None:
    grow(tmp_path, {"a.txt": b"precious"})
    async with filetools.open(tmp_path, settings=QUIET) as files:
        await files.look()  # which hashes it
        for name in ("b.txt", "c.txt"):
            await files.move_file("a.txt" if name == "b.txt" else "b.txt", name)
        await files.write_file("c.txt", "other")
        await files.undo()
        assert snapshot(tmp_path) == {"c.txt": b"precious"}


async def test_an_empty_folder_that_is_made_again_has_its_mode(tmp_path: Path) -> None:
    hook = Once("remove_empty_directory", failing(full_disk), at=2)
    async with ScriptedOpening(tmp_path, before=hook) as files:
        for name in ("a", "b"):
            (tmp_path / name).mkdir(mode=0o710)

        async def delete_both() -> None:
            async with files.transaction() as tx:
                await tx.delete_directory("a")
                await tx.delete_directory("b")

        await refused("DISK_FULL", delete_both())
        assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "b")] == [0o710, 0o710]


async def test_a_folder_that_cannot_have_its_mode_does_not_stay(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir(mode=0o750)
    async with ScriptedOpening(tmp_path, before=Once("set_mode", failing(full_disk), at=1)) as files:
        await files.checkpoint("first")
        (tmp_path / "d").rmdir()
        await refused("DISK_FULL", files.restore("first"))
        assert snapshot(tmp_path) == {}
        await files.restore("first")
        assert (tmp_path / "d").stat().st_mode & 0o777 == 0o750


async def test_a_mode_that_a_stranger_sets_right_after_an_exchange_is_recorded(tmp_path: Path) -> None:
    hook = Once("Prepared.exchange", lambda: (tmp_path / "a.txt").chmod(0o600))
    async with ScriptedOpening(tmp_path, after=hook) as files:
        await files.write_file("a.txt", "A")
        await files.look()
        assert [record.mode for record in (await files.changes()).records] == [0o644, 0o600]


async def test_a_mode_that_a_stranger_sets_between_look_and_preparation_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    hook = Once("prepare", lambda: (tmp_path / "a.txt").chmod(0o600))
    async with ScriptedOpening(tmp_path, before=hook) as files:
        await files.look()
        await files.replace_file("a.txt", b"A")
        await files.look()
        assert [record.mode for record in (await files.changes()).records] == [0o644, 0o600]
        assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("place", ["d", "d/new.txt"])
async def test_a_save_before_a_folder_is_put_back_is_kept_as_a_version(tmp_path: Path, place: str) -> None:
    tree: Tree = {"d": None, "d/a.txt": b"a", "e": None, "e/b.txt": b"b"}
    grow(tmp_path, tree)
    save = Once("Displaced.put_back", lambda: grow(tmp_path, {place: b"person"}), path="d")
    async with ScriptedOpening(tmp_path, before=several(save, Once("remove", failing(full_disk), path="e"))) as files:
        with suppress(DiskFullError):
            async with files.transaction() as tx:
                await tx.delete_directory("d", recursive=True)
                await tx.delete_directory("e", recursive=True)
        assert snapshot(tmp_path) == tree
        assert (await files.read_file(place, version=version(b"person"))).content == "person"


async def fail_late(files: FileToolsFacade) -> None:
    """Fail at the deletion, once all the rest of a transaction is applied."""

    def fail() -> None:
        raise full_disk()

    store: Any = parts(files).store
    store.plan.acts["remove"] = fail
    with suppress(DiskFullError):
        async with files.transaction() as tx:
            await tx.write_file("a.txt", "A")
            await tx.write_file("x/new.txt", "new")
            await tx.move_file("c.txt", "d/c.txt")
            await tx.move_file("e", "f")
            await tx.delete_file("z.txt")


def test_after_a_death_while_a_failed_call_is_set_back_everything_is_old_or_new(tmp_path: Path) -> None:
    old: Tree = {"a.txt": b"old a", "c.txt": b"c", "e": None, "e/g.txt": b"g", "z.txt": b"z"}
    grow(tmp_path / "root", old)
    new: Tree = {"a.txt": b"A", "d": None, "d/c.txt": b"c", "f": None, "f/g.txt": b"g", "x": None, "x/new.txt": b"new"}
    for death in deaths(tmp_path / "root", fail_late, most=6):
        assert reopened(death.root) in ([old] if death.acknowledged else [old, new]), death
        assert leftovers(death.root) == [], death
