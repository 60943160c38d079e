"""With `auto_checkpoint`, a checkpoint is made before the first change of each session."""

from __future__ import annotations

import asyncio
import logging
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools import Actor
from filetools.errors import DiskFullError
from filetools.facade.facade import FileToolsFacade
from tests.support.opened import outcome_of, refused
from tests.support.storms.pictures import Picture, on_disk

SETTINGS: dict[str, Any] = {
    "watch": False, "durability": "relaxed", "sync_after_seconds": 3600.0, "auto_checkpoint": "session",
}  # fmt: skip
BEFORE = {"docs/b.txt": b"two\n", "a.txt": b"one\n"}


def agent(files: FileToolsFacade, session: str | None) -> FileToolsFacade:
    return files.for_actor(Actor(kind="agent", id="alice", session=session))


async def names(files: FileToolsFacade) -> list[str]:
    return [one.name for one in (await files.checkpoints()).checkpoints]


@pytest.mark.parametrize(("setting", "session"), [("off", "s1"), ("session", None)])
async def test_without_the_setting_or_without_a_session_nothing_is_made(
    root: Path, setting: str, session: str | None
) -> None:
    async with filetools.open(root, settings={**SETTINGS, "auto_checkpoint": setting}) as files:
        await agent(files, session).write_file("a.txt", "new\n")
        assert await names(files) == []


async def test_reading_and_what_is_refused_before_it_begins_makes_none(files: FileToolsFacade) -> None:
    alice = agent(files, "s1")
    await alice.read_file("a.txt")
    await refused("PATH_TRAVERSAL", alice.write_file("../x", "x"))
    assert await names(files) == []


@pytest.mark.parametrize(
    "deed",
    [
        lambda files: files.write_file("a.txt", "new\n"),
        lambda files: files.delete_directory("docs", recursive=True),
        lambda files: files.move_file("docs", "papers"),
        lambda files: files.write_multiple([{"path": "a.txt", "content": "1"}, {"path": "n.txt", "content": "2"}]),
    ],
)
async def test_the_state_before_the_first_change_is_there_whoever_made_it(
    files: FileToolsFacade, root: Path, deed: Callable[[FileToolsFacade], Awaitable[object]]
) -> None:
    await files.checkpoint("mine")
    subprocess.run(["sh", "-ec", "echo program >> a.txt; mkdir made; chmod 755 docs/b.txt"], cwd=root, check=True)
    first: Picture = on_disk(root)
    alice = agent(files, "s1")
    await deed(alice)
    await alice.write_file("more.txt", "more\n")
    subprocess.run(["sh", "-ec", "echo x > x; rm -rf made"], cwd=root, check=True)
    assert await names(files) == ["mine", "auto: s1"]
    (_, made) = (await files.checkpoints()).checkpoints
    assert (made.automatic, made.files) == (True, 2)
    await files.restore(made.name)
    assert on_disk(root) == first


async def test_each_session_has_one_also_over_openings_and_at_once(root: Path) -> None:
    for _ in range(2):
        async with filetools.open(root, settings=SETTINGS) as files:
            writes = [agent(files, f"s{number % 2}").write_file(f"{number}.txt", "x") for number in range(6)]
            await asyncio.gather(*writes)
            assert sorted(await names(files)) == ["auto: s0", "auto: s1"]


@pytest.mark.parametrize(("one", "other"), [("a b", "a"), ("a" * 150, "a" * 151)])
async def test_sessions_whose_names_begin_alike_have_one_each(files: FileToolsFacade, one: str, other: str) -> None:
    await agent(files, one).write_file("1.txt", "x")
    await agent(files, other).write_file("2.txt", "x")
    assert len((await files.checkpoints()).checkpoints) == 2


async def test_the_last_twenty_are_kept_and_named_ones_all(files: FileToolsFacade) -> None:
    await files.checkpoint("mine")
    for number in range(22):
        await agent(files, f"s{number:02}").write_file("a.txt", f"{number}\n")
    assert await names(files) == ["mine", *(f"auto: s{number:02}" for number in range(2, 22))]


async def test_a_change_is_done_where_the_checkpoint_fails_and_the_log_says_so(
    files: FileToolsFacade, caplog: pytest.LogCaptureFixture
) -> None:
    checkpoints: Any = files._parts.journal.checkpoints
    database, write = checkpoints._database, checkpoints._database.write

    def filled(work: Any, **options: Any) -> Any:
        if getattr(work, "func", work).__module__ == checkpoints.__module__:
            raise DiskFullError("journal.db")
        return write(work, **options)

    database.write = filled
    with caplog.at_level(logging.WARNING, "filetools"):
        outcome = await outcome_of(agent(files, "s1").write_file("a.txt", "new\n"))
    assert (outcome, await names(files)) == ("done", [])
    assert "no checkpoint was made before session 's1'" in caplog.text


async def test_a_cancelled_call_does_not_take_the_checkpoint_from_the_others(
    files: FileToolsFacade, root: Path
) -> None:
    alice = agent(files, "s1")
    first = asyncio.ensure_future(alice.write_file("first.txt", "x"))
    second = asyncio.ensure_future(alice.write_file("second.txt", "x"))
    await asyncio.sleep(0)
    first.cancel()
    await second
    assert first.cancelled()
    assert await names(files) == ["auto: s1"]
    assert not (root / "first.txt").exists()


async def test_a_session_whose_name_is_long_or_odd_has_one(files: FileToolsFacade, root: Path) -> None:
    await agent(files, "../x\n" * 100).write_file("a.txt", "new\n")
    (made,) = (await files.checkpoints()).checkpoints
    assert made.automatic
    await files.restore(made.name)
    assert (root / "a.txt").read_text() == "one\n"
