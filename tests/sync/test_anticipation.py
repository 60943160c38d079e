"""What a mirror writes before the commit: it becomes the change, or it leaves no trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from filetools.models.words import MirrorStatus
from filetools.stores.local import LocalStore
from filetools.sync import following
from filetools.sync.actions import MirrorPut
from tests.support.crashing import leftovers
from tests.support.mirror_worlds import (
    LIMIT_SECONDS,
    Hang,
    World,
    at,
    hurry,
    local_store,
    scripted,
    tree,
    world,
)


@pytest.fixture(autouse=True)
def every_change_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small ones are not written ahead, since they are followed inline."""
    monkeypatch.setattr(following, "LARGEST_INLINE_BYTES", 0)


def ahead_of(path: str, content: bytes, *, new: bool = False) -> MirrorPut:
    return MirrorPut(path=at(path), key=path, number=0, content=content, new=new)


async def lane_is_idle(opened: World) -> None:
    await opened.manager._mirrors[0].front.perform(lambda job: None, silence_seconds=LIMIT_SECONDS)


async def write_ahead(opened: World, path: str, content: bytes, *, new: bool = False) -> MirrorStatus:
    def work() -> MirrorStatus:
        anticipated = opened.manager.anticipate([ahead_of(path, content, new=new)])
        return opened.manager.begin([opened.put(path, content)], anticipated).join()

    return await opened.locked((path,), work)


async def test_what_was_not_committed_leaves_no_trace(opened: World, inner: LocalStore, tmp_path: Path) -> None:
    await opened.write("a", b"old")
    opened.manager.anticipate([ahead_of("a", b"new")]).discard()
    await lane_is_idle(opened)
    assert tree(inner) == {"a": b"old"}
    assert leftovers(tmp_path / "mirror") == []


async def test_nothing_is_made_for_a_file_whose_folder_is_missing(opened: World, inner: LocalStore) -> None:
    anticipated = opened.manager.anticipate([ahead_of("d/a", b"1", new=True)])
    await lane_is_idle(opened)
    assert tree(inner) == {}
    anticipated.discard()
    assert await write_ahead(opened, "d/a", b"1", new=True) == "in_sync"
    assert tree(inner) == {"d": None, "d/a": b"1"}


async def test_the_prepared_file_is_the_one_that_goes_live(inner: LocalStore, tmp_path: Path) -> None:
    prepared: list[str] = []

    def count(method: str, path: str) -> None:
        if method == "prepare":
            prepared.append(path)

    async with world(tmp_path, scripted(inner, before=count)) as opened:
        assert await write_ahead(opened, "a", b"1", new=True) == "in_sync"
        assert await write_ahead(opened, "a", b"22") == "in_sync"
        assert prepared == ["a", "a"]
        assert tree(inner) == {"a": b"22"}
        assert leftovers(tmp_path / "mirror") == []


@pytest.mark.parametrize("in_the_way", ["nothing", "a folder"])
async def test_a_mirror_that_is_not_as_expected_is_put_right_by_following(
    opened: World, inner: LocalStore, tmp_path: Path, in_the_way: str
) -> None:
    await opened.write("a", b"old")
    inner.remove(at("a")).discard()
    if in_the_way == "a folder":
        inner.make_directory(at("a"))
    assert await write_ahead(opened, "a", b"new") == "in_sync"
    assert tree(inner) == {"a": b"new"}
    assert leftovers(tmp_path / "mirror") == []


async def test_a_mirror_that_hangs_ahead_of_the_commit_costs_its_wait_and_leaves_nothing(tmp_path: Path) -> None:
    inner, hang = local_store(tmp_path / "mirror"), Hang("prepare")
    async with world(tmp_path, scripted(inner, before=hang)) as opened:
        await opened.write("a", b"old")
        hurry(opened.manager)
        hang.on()
        assert await write_ahead(opened, "a", b"late") == "pending"
        assert opened.manager.status()["mirror"]["state"] == "not_ready"
        hang.off()
        await lane_is_idle(opened)
        assert tree(inner) == {"a": b"old"}
        assert leftovers(tmp_path / "mirror") == []
        assert opened.owed() == 1


async def test_what_a_mirror_prepared_goes_when_it_takes_no_calls_any_more(
    opened: World, inner: LocalStore, tmp_path: Path
) -> None:
    await opened.write("a", b"old")
    anticipated = opened.manager.anticipate([ahead_of("a", b"new")])
    opened.manager.pause()
    put = await opened.run(lambda: opened.put("a", b"new"))
    assert opened.manager.begin([put], anticipated).join() == "pending"
    await lane_is_idle(opened)
    assert tree(inner) == {"a": b"old"}
    assert leftovers(tmp_path / "mirror") == []
