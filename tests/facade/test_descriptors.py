"""Descriptors of a workspace: in several processes, after a restart and a kill, on a full disk; they never cost history."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

import filetools
from filetools.descriptors.descriptors import Descriptors
from filetools.descriptors.frames import Frame
from filetools.errors import DescriptorExpiredError, DescriptorNotFoundError, DiskFullError, WorkspaceGoneError
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Actor
from tests.support.crashing import QUIET
from tests.support.forked import Forked, forked
from tests.support.mounts import fill, mounted

ALICE = Actor(kind="agent", id="alice")
LINES = "".join(f"line {number}\n" for number in range(3000))
T = TypeVar("T")


async def keep(files: FileToolsFacade, text: str, **options: Any) -> str:
    frame = await files.descriptors().run(partial(Descriptors.create, text=text, **options))
    return str(frame.attributes["fd"])


async def read(files: FileToolsFacade, fd: str, **asked: Any) -> Frame:
    return await files.descriptors().run(partial(Descriptors.read, fd=fd, **asked))


async def names(files: FileToolsFacade) -> list[str]:
    return [info.id for info in await files.descriptors().run(Descriptors.all)]


def worker(root: Path, name: str, count: int, size: int) -> Forked:
    return forked("tests.support.facade_worker", "keeps", root, name, f"{count}", f"{size}")


async def test_other_actors_and_sessions_know_nothing_of_it(files: FileToolsFacade) -> None:
    alice = files.for_actor(ALICE)
    assert await keep(alice, LINES) == "fd:1"
    for other in (
        Actor(kind="agent", id="bob"),
        Actor(kind="editor", id="alice"),
        Actor(kind="agent", id="alice", session="s"),
    ):
        with pytest.raises(DescriptorNotFoundError, match="fd:1 not found"):
            await read(files.for_actor(other), "fd:1")


async def test_after_closing_there_is_an_error_and_no_text(root: Path) -> None:
    async with filetools.open(root, settings=QUIET) as files:
        await keep(files, LINES)
    with pytest.raises(WorkspaceGoneError):
        await read(files, "fd:1")


async def test_a_descriptor_survives_a_restart_and_numbers_go_on(root: Path) -> None:
    text = LINES + "\ud800 ä \U0001f600\r\n"
    async with filetools.open(root, settings=QUIET) as files:
        alice = files.for_actor(ALICE)
        assert [await keep(alice, text), await keep(alice, "x")] == ["fd:1", "fd:2"]
        before = await read(alice, "fd:1", start=3)
    async with filetools.open(root, settings=QUIET) as files:
        alice = files.for_actor(ALICE)
        assert await read(alice, "fd:1", start=3) == before
        assert (await read(alice, "fd:1", read_all=True)).content == text
        assert await keep(alice, "new") == "fd:3"


async def test_a_copy_of_a_file_stays_as_it_was_read(files: FileToolsFacade) -> None:
    written = await files.write_file("a.txt", LINES)
    fd = await keep(files, LINES, source="file", path="a.txt", version=written.version)
    await files.write_file("a.txt", "new\n", expected_version=written.version)
    frame = await read(files, fd, read_all=True)
    assert frame.content == LINES
    assert frame.attributes["version"] == written.version.removeprefix("sha256:")[:12]


def test_two_processes_give_no_number_twice(root: Path) -> None:
    with worker(root, "a", 60, 3) as one, worker(root, "b", 60, 3) as other:
        said = [*one.rest(), *other.rest()]
        assert (one.wait(), other.wait()) == (0, 0)
    assert {each["fd"] for each in said} == {f"fd:{number}" for number in range(1, 121)}
    asyncio.run(find_all(root, said))


def test_after_a_kill_at_any_moment_each_descriptor_has_its_text_and_no_number_is_used_twice(root: Path) -> None:
    chance, said = random.Random(11), list[dict[str, str]]()
    for number in range(4):
        with worker(root, f"w{number}", 10_000, chance.choice([3, 30_000])) as killed:
            said += [killed.hear() for _ in range(chance.randint(1, 12))]
            killed.kill()
            said += killed.rest()
    assert len({each["fd"] for each in said}) == len(said)
    asyncio.run(find_all(root, said))


async def find_all(root: Path, said: list[dict[str, str]]) -> None:
    """Read everything acknowledged and everything listed: no name is without its text."""
    async with filetools.open(root, settings=QUIET) as files:
        alice = files.for_actor(ALICE)
        first = {fd: (await read(alice, fd, mode="line")).content for fd in await names(alice)}
        assert {each["fd"]: first[each["fd"]] for each in said} == {each["fd"]: f"{each['first']}\n" for each in said}
        assert all(first.values())
        assert await keep(alice, "next") not in first


async def test_descriptors_go_before_any_recorded_version(root: Path) -> None:
    settings = {**QUIET, "retention_bytes": 10**9}
    versions, fds = [], []
    async with filetools.open(root, settings=settings) as opened:
        files = opened.for_actor(ALICE)
        for number in range(10):
            written = await files.append_file("a.txt", f"{number}" * 10_000)
            versions.append(written.version)
            fds.append(await keep(files, chance_text(number, 40_000)))
    async with filetools.open(root, settings=settings) as opened:  # now all are synced, and may be removed
        files = opened.for_actor(ALICE)
        journal = opened._parts.journal
        limit = journal.retention.retained().bytes - 100_000
        await asyncio.to_thread(journal.retention.collect, retention_bytes=limit, retention_records=1_000_000)
        known = await names(files)
        assert known == fds[len(fds) - len(known) :]  # the least recently used were removed
        assert 0 < len(known) < len(fds) - 2
        for fd in set(fds) - set(known):
            with pytest.raises(DescriptorExpiredError):
                await read(files, fd)
        for fd in known:
            assert (await read(files, fd, read_all=True)).content
        assert all(journal_has(opened, version) for version in versions)


def chance_text(seed: int, size: int) -> str:
    return random.Random(seed).randbytes(size // 2).hex()


def journal_has(files: FileToolsFacade, version: str) -> bool:
    return files._parts.journal.contents.has(version)


async def test_a_read_during_expiry_returns_a_page_or_an_error_and_never_nothing(root: Path) -> None:
    text = chance_text(1, 100_000)
    async with filetools.open(root, settings=QUIET) as files:
        fd = await keep(files, text, page_size=1000)
        table = files._parts.journal.descriptors

        async def pages() -> list[str]:
            read_pages = []
            for number in range(1, 101):
                try:
                    read_pages.append((await read(files, fd, start=number)).content or "")
                except DescriptorExpiredError:
                    return read_pages
            return read_pages

        reading = asyncio.create_task(pages())
        await asyncio.to_thread(table.release, 0, unused_since=0.0)
        got = await reading
        assert "".join(got) == text[: 1000 * len(got)]
        assert all(got)
        with pytest.raises(DescriptorExpiredError):
            await read(files, fd)


async def test_the_same_text_as_a_recorded_version_takes_nothing_from_it(files: FileToolsFacade) -> None:
    written = await files.write_file("a.txt", LINES)
    await keep(files, LINES)
    await asyncio.to_thread(files._parts.journal.descriptors.release, 0, unused_since=0.0)
    assert journal_has(files, written.version)
    assert (await files.read_file("a.txt", version=written.version)).content == LINES


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=4m", "tmpfs") as place:
        yield place


async def test_on_a_full_disk_there_is_an_error_and_no_number_is_lost(small_disk: Path) -> None:
    async with filetools.open(small_disk, settings=QUIET) as files:
        assert await keep(files, LINES) == "fd:1"
        fill(small_disk)
        with pytest.raises(DiskFullError):
            await keep(files, os.urandom(400_000).hex())
        assert (await read(files, "fd:1")).content
        (small_disk / "filler").unlink()
        assert await keep(files, LINES * 2) == "fd:2"


async def test_a_child_reads_what_it_is_given_and_nothing_else(root: Path) -> None:
    settings = {**QUIET, "file_descriptor": {"enabled": True, "enable_references": True}}
    child = Actor(kind="agent", id="child", session="two")
    async with filetools.open(root, settings=settings) as files:
        alice, own = files.for_actor(ALICE), files.for_actor(child)
        assert [await keep(own, "its own"), await keep(alice, LINES), await keep(alice, "kept back")] == [
            "fd:1",
            "fd:1",
            "fd:2",
        ]
        await alice.descriptors().run(partial(Descriptors.keep_references, text='<ref id="x">figures</ref>'))
        with pytest.raises(DescriptorNotFoundError):
            await alice.descriptors().spawn_child(child, ["fd:3"])
        assert await names(own) == ["fd:1"]
        assert await alice.descriptors().spawn_child(child, ["fd:1"]) == ["fd:2", "ref:x"]
    async with filetools.open(root, settings=settings) as files:
        own = files.for_actor(child)
        assert await names(own) == ["fd:1", "fd:2", "ref:x"]
        assert (await own.call_tool("read_fd", {"fd": "ref:x"}))["success"]
        assert ((await read(own, "fd:2")).content or "").startswith("line 0")
        assert await names(files.for_actor(Actor(kind="agent", id="child"))) == []
