"""Events of calls: in order, after the lock is released, with the text of that version, whatever listeners do."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.errors import StorageFailedError
from filetools.events.types import ContentEvent, Event
from filetools.facade.facade import FileToolsFacade
from tests.support import inside
from tests.support.crashing import QUIET
from tests.support.mirror_worlds import local_store, scripted
from tests.support.opened import names_of, steps_until, told

BEFORE = {"a.txt": b"old\n", "d/e.txt": b"e"}


async def test_a_refused_call_publishes_nothing(files: FileToolsFacade) -> None:
    heard = told(files)
    for call in (
        files.write_file("a.txt", "x", expected_version="0" * 64),
        files.create_file("a.txt", "x"),
        files.delete_file("no.txt"),
        files.move_file("a.txt", "d"),
        files.delete_directory("d"),
        files.read_file("no.txt"),
    ):
        with pytest.raises(filetools.FileToolsError):
            await call
    assert heard == []


async def test_events_of_every_call_are_in_the_order_of_its_records(files: FileToolsFacade) -> None:
    heard = told(files)
    await files.create_file("x/y/z.txt", "1")
    await files.move_file("d", "x/d")
    await files.move_file("x/d/e.txt", "a.txt", overwrite=True)
    await files.copy_file("a.txt", "b.txt")
    await files.delete_directory("x", recursive=True)
    assert names_of(heard) == [
        ("directory:created", "x"),
        ("directory:created", "x/y"),
        ("file:created", "x/y/z.txt"),
        ("directory:renamed", "x/d"),
        ("file:deleted", "a.txt"),
        ("file:renamed", "a.txt"),
        ("file:created", "b.txt"),
        ("directory:deleted", "x"),
    ]
    numbers = [event.to_dict()["seq"] for event in heard]
    assert numbers == sorted(numbers)
    records = (await files.changes()).records
    assert numbers == [record.number for record in records]


async def test_the_lock_is_free_when_the_event_comes(files: FileToolsFacade) -> None:
    held: list[bool] = []
    files.on("file:*", lambda _event: held.append(inside.is_locked(files, "a.txt")))
    await files.write_file("a.txt", "1")
    await files.append_file("a.txt", "2")
    await files.delete_file("a.txt")
    assert held == [False] * 3


async def test_a_listener_may_call_the_facade_on_the_same_path(files: FileToolsFacade) -> None:
    done = asyncio.Event()

    async def answer(event: Event) -> None:
        if event.to_dict()["actor"]["id"] == files.actor.id:
            await files.for_actor(filetools.Actor(kind="agent", id="echo")).append_file("a.txt", "echo\n")
            done.set()

    files.on("file:modified", answer)
    await files.write_file("a.txt", "1\n")
    async with asyncio.timeout(60):
        await done.wait()
    assert (await files.read_file("a.txt")).content == "1\necho\n"


async def test_the_text_is_that_of_the_change_and_not_of_what_came_after(files: FileToolsFacade) -> None:
    heard = told(files, "file:*")
    await files.write_file("a.txt", "1")
    await files.write_file("a.txt", "2")
    await files.write_file("b.bin", b"\x89PNG\r\n\x1a\n")
    await files.write_file("long.txt", "x" * (1024 * 1024 + 1))
    await files.delete_file("a.txt")
    texts = [await event.content() for event in heard if isinstance(event, ContentEvent)]
    assert texts == ["1", "2", None, None]
    assert "content_loader" not in str(heard[0].to_dict())


async def test_events_of_a_mirror_follow_those_of_the_change(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()

    def fail(method: str, path: str) -> None:
        if method == "prepare":
            raise StorageFailedError(path, "I/O error")

    mirror = scripted(local_store(tmp_path / "mirror"), before=fail)
    settings = {**QUIET, "mirror_probe_seconds": 3600.0}
    async with filetools.open(tmp_path / "root", mirror=mirror, settings=settings) as files:
        await steps_until(lambda: not files.bus.has_listeners("file:modified"))
        heard = told(files)
        result = await files.write_file("a.txt", "1")
        assert result.mirror == "pending"
        await steps_until(lambda: len(heard) == 3)  # the mirror publishes its own events later
        assert sorted(event.name for event in heard) == ["file:created", "sync:error", "sync:paused"]
        plain: dict[str, Any] = next(event for event in heard if event.name == "sync:error").to_dict()
        assert (plain["error_code"], "I/O error" in plain["error"]) == ("INTERNAL", True)
