"""A call that is cancelled at any await is done or undone, holds no lock, and is published if it was done."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.events.types import Event
from filetools.facade.facade import FileToolsFacade
from tests.support import inside
from tests.support.changes import BEFORE, CASES
from tests.support.crashing import QUIET, grow, snapshot
from tests.support.dose import dose
from tests.support.opened import assert_at_rest, steps_until, told
from tests.support.people import EDITOR, Person

Call = Callable[[FileToolsFacade], Awaitable[object]]
READS: dict[str, Call] = {
    "read": lambda files: files.read_file("a.txt", offset=1),
    "read several": lambda files: files.read_multiple(["a.txt", "b.txt"]),
    "list": lambda files: files.list_files(recursive=True),
    "info": lambda files: files.file_info("a.txt"),
    "versions": lambda files: files.versions("a.txt"),
    "changes": lambda files: files.changes(),
    "status": lambda files: files.status(),
}


class Interrupted:
    """Runs a call as a task and cancels it when it waits for the N-th time, perhaps once more right after."""

    def __init__(self, call: Awaitable[object], at: int, *, times: int) -> None:
        self._call = call
        self._at = at
        self._times = times
        self.waits = 0
        self._task: asyncio.Task[object] | None = None

    async def run(self) -> bool:
        """Return whether the call was cancelled; errors that it raises are raised."""
        self._task = asyncio.ensure_future(self._stepped())
        try:
            await self._task
        except asyncio.CancelledError:
            return True
        return False

    async def _stepped(self) -> object:
        return await self

    def __await__(self) -> Generator[Any, Any, object]:
        inner = self._call.__await__()
        send: Callable[[], Any] = lambda: inner.send(None)  # noqa: E731
        while True:
            try:
                waited_for = send()
            except StopIteration as exc:
                return exc.value
            self.waits += 1
            if self._at <= self.waits < self._at + self._times:
                assert self._task is not None
                asyncio.get_running_loop().call_soon(self._task.cancel)
            try:
                result = yield waited_for
            except BaseException as exc:  # noqa: BLE001  # handed on to the call
                send = lambda exc=exc: inner.throw(exc)  # type: ignore[misc]  # noqa: E731
            else:
                send = lambda result=result: inner.send(result)  # type: ignore[misc]  # noqa: E731


EVERY = 1 if dose(1) > 1 else 2
"""In calls with many awaits, one of this many is tried; every one with FILETOOLS_DOSE=2."""


async def interrupted(root: Path, call: Call, at: int, *, times: int, **options: Any) -> tuple[bool, list[Event]]:
    """Open a root, interrupt one call, and check that nothing is held or half done."""
    grow(root, BEFORE)
    async with filetools.open(root, **{"settings": QUIET, **options}) as files:
        if options.get("permissions") == "ask":
            files.answer_approvals(Person("allow", "allow"))
        heard = told(files, "*")
        running = Interrupted(call(files), at, times=times)
        async with asyncio.timeout(60):
            cancelled = await running.run()
        # The leader may be looking at the change, for a moment.
        for path in ("a.txt", "b.txt", "d", "d/e.txt", "new.txt", "c.txt", "t", "n", "x"):
            await steps_until(lambda path=path: not inside.is_locked(files, path))  # type: ignore[misc]
        await assert_at_rest(files, root)
        happened = [event for event in heard if event.name.startswith(("file:", "directory:"))]
        assert len((await files.changes()).records) == len([event for event in happened if event.name != "file:read"])
        person = files.for_actor(EDITOR)
        await person.write_file("next.txt", "the next call works")
        await person.delete_file("next.txt")
        return cancelled, happened


@pytest.mark.parametrize(
    ("name", "times"), [*((name, 1) for name in CASES), ("replace", 3), ("move over", 3), ("write several", 3)]
)
async def test_a_change_cancelled_at_any_await_is_done_or_undone(tmp_path: Path, name: str, times: int) -> None:
    call, wanted = CASES[name]
    at = 0
    while True:
        at += 1
        root = tmp_path / str(at)
        cancelled, happened = await interrupted(root, call, at, times=times)
        found = snapshot(root)
        assert found in [BEFORE, wanted], at
        assert bool(happened) == (found != BEFORE), at
        if not cancelled:
            assert found == wanted
            break
        assert at < 60
        shutil.rmtree(root)


@pytest.mark.parametrize("name", ["replace", "write several"])
async def test_a_change_that_asks_and_mirrors_is_done_or_undone_too(tmp_path: Path, name: str) -> None:
    call, wanted = CASES[name]
    at = 0
    while True:
        at += EVERY
        root, mirror = tmp_path / f"root{at}", tmp_path / f"mirror{at}"
        cancelled, happened = await interrupted(root, call, at, times=1, mirror=mirror, permissions="ask")
        found = snapshot(root)
        assert found in (BEFORE, wanted), at
        assert bool(happened) == (found == wanted), at
        if not cancelled:
            break
        assert at < 60


@pytest.mark.parametrize("name", READS)
async def test_a_read_cancelled_at_any_await_holds_nothing(tmp_path: Path, name: str) -> None:
    at = 0
    while True:
        at += EVERY
        cancelled, happened = await interrupted(tmp_path / str(at), READS[name], at, times=1)
        assert [event for event in happened if event.name != "file:read"] == []
        if not cancelled:
            break
        assert at < 60


async def test_a_time_limit_of_the_caller_waits_for_a_change_in_progress(tmp_path: Path) -> None:
    grow(tmp_path, BEFORE)
    async with filetools.open(tmp_path, settings=QUIET) as files:
        for number in range(30):
            done = True
            try:
                async with asyncio.timeout(number / 3000):
                    await files.write_file("a.txt", str(number))
            except TimeoutError:
                done = False
            standing = (tmp_path / "a.txt").read_text()
            assert standing == str(number) or not done
            await assert_at_rest(files, tmp_path)
