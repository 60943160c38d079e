"""The feed: malformed positions are refused, unknown ones require a resync, and no change is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from filetools.facade.reading.feed import FeedPage
from filetools.models.records import ChangeRecord
from tests.support.crashing import QUIET
from tests.support.opened import refused, steps_until, told, version
from tests.support.people import ALICE

ACTOR = ALICE
BEFORE = {"a.txt": b"a"}
MALFORMED = [
    "",
    "5",
    "epoch:5",
    "abcdef:",
    "abcdef:-1",
    "abcdef:1.5",
    ":5",
    "abcdef:٣",
    "abcdef:" + "9" * 19,
    " abcdef:1",
]


@pytest.mark.parametrize("position", MALFORMED)
async def test_a_malformed_position_is_refused(files: FileToolsFacade, position: str) -> None:
    await refused("INVALID_ARGUMENT", files.changes(position))
    async with asyncio.timeout(60):
        await refused("INVALID_ARGUMENT", collect(files.follow(position), 1))


@pytest.mark.parametrize("limit", [0, 1001])
async def test_a_limit_out_of_range_is_refused(files: FileToolsFacade, limit: int) -> None:
    await refused("INVALID_ARGUMENT", files.changes(limit=limit))
    await refused("INVALID_ARGUMENT", files.latest_changes(limit))


async def test_options_of_the_newest_changes_that_do_not_fit_are_refused(files: FileToolsFacade) -> None:
    await refused("INVALID_PATH", files.latest_changes(path=""))
    await refused("INVALID_ARGUMENT", files.latest_changes(session="s", run="run-0"))
    await refused("INVALID_ARGUMENT", files.latest_changes(since=-1))


async def collect(records: AsyncIterator[ChangeRecord], count: int) -> list[str]:
    found = []
    async for record in records:
        found.append(record.path)
        if len(found) == count:
            break
    return found


async def test_a_position_of_another_journal_requires_a_resync(files: FileToolsFacade) -> None:
    await files.write_file("a.txt", "b")
    page = await files.changes("abcdef:1")
    assert (page.resync, [record.path for record in page.records]) == (True, ["a.txt"])
    again = await files.changes(page.position)
    assert again == FeedPage(records=(), position=page.position)


async def test_a_position_ahead_of_the_journal_requires_a_resync(files: FileToolsFacade) -> None:
    await files.write_file("a.txt", "b")
    here = (await files.changes()).position
    page = await files.changes(here.split(":")[0] + ":999999")
    assert page == FeedPage(records=(), position=here, resync=True)


async def test_every_change_is_in_the_feed_once_with_its_whole_record(files: FileToolsFacade) -> None:
    result = await files.write_file("a.txt", "b")
    page = await files.changes()
    (record,) = page.records
    assert record == ChangeRecord(
        number=result.number or 0, operation=record.operation, path="a.txt", before=version("a"), after=version("b"),
        size=1, mode=record.mode, actor=ALICE, time=record.time, state=record.state, transaction=record.transaction,
    )  # fmt: skip
    assert (record.operation.value, record.state.value) == ("modify", "applied")
    assert (await files.changes(page.position)).records == ()
    await files.delete_file("a.txt")
    later = await files.changes(page.position)
    assert [record.operation.value for record in later.records] == ["delete"]
    assert not later.resync


async def test_the_changes_of_one_path_follow_it_through_moves(files: FileToolsFacade) -> None:
    await files.write_file("b.txt", "other")
    await files.move_file("a.txt", "c.txt")
    await files.write_file("c.txt", "new")
    assert [record.operation.value for record in (await files.changes(paths=["c.txt"])).records] == ["move", "modify"]
    assert [record.path for record in (await files.changes(paths=["a.txt"])).records] == ["c.txt"]
    assert [record.path for record in await files.latest_changes(2, path="c.txt")] == ["c.txt", "c.txt"]
    assert [record.operation.value for record in await files.latest_changes(2)] == ["modify", "move"]


async def test_a_follower_gets_old_and_new_changes(files: FileToolsFacade) -> None:
    await files.write_file("a.txt", "1")
    start = (await files.changes()).position
    await files.write_file("b.txt", "2")
    following = asyncio.ensure_future(collect(files.follow(start), 3))
    await files.write_file("c.txt", "3")
    await steps_until(lambda: not following.done())
    await files.write_file("d.txt", "4")
    async with asyncio.timeout(60):
        assert await following == ["b.txt", "c.txt", "d.txt"]


async def test_a_published_change_is_in_the_feed(files: FileToolsFacade) -> None:
    """An event is published before its mark is written; the feed waits for the mark, not for the next change."""
    found: list[bool] = []
    heard = told(files, "file:*")
    for number in range(40):
        result = await files.write_file("a.txt", str(number))
        assert heard[-1].to_dict()["seq"] == result.number
        page = await files.changes(paths=["a.txt"])
        found.append(page.records[-1].number == result.number)
    assert all(found)


async def pages_of(files: FileToolsFacade, since: str | None, count: int) -> list[FeedPage]:
    found = []
    async for page in files.follow_pages(since):
        found.append(page)
        if sum(len(each.records) or 1 for each in found) >= count:
            break
    return found


async def test_pages_that_are_followed_have_each_change_once(files: FileToolsFacade) -> None:
    start = await files.position()
    followers = [asyncio.create_task(pages_of(files, start, 20)) for _ in range(10)]
    late = asyncio.create_task(pages_of(files, start, 20))
    for number in range(20):
        await files.write_file(f"{number}.txt", "")
    late_too = asyncio.create_task(pages_of(files, start, 20))
    for follower in (*followers, late, late_too):
        pages = await follower
        assert [record.path for page in pages for record in page.records] == [f"{number}.txt" for number in range(20)]
        assert not any(page.resync for page in pages)


async def test_following_in_pages_ends_with_the_workspace(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=QUIET) as files:
        following = asyncio.create_task(pages_of(files, None, 1))
        await asyncio.sleep(0)
    assert await following == []
    with pytest.raises(filetools.FileToolsError):
        await pages_of(files, None, 1)


async def test_following_from_an_unknown_position_begins_with_the_oldest_change(tmp_path: Path) -> None:
    """Changes are missing, which a follower of single changes cannot be told."""
    async with filetools.open(tmp_path, settings=QUIET) as files:
        for name in "abc":
            await files.write_file(f"{name}.txt", "x")
        heard: list[str] = []
        async with asyncio.timeout(60):
            async for record in files.follow("abcd1234:2"):
                heard.append(record.path)
                if len(heard) == 3:
                    break
    assert heard == ["a.txt", "b.txt", "c.txt"]
