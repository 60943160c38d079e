"""Calls of other threads and loops, on the loop of the workspace."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from filetools.adapters.answering import HomeLoop
from tests.adapters.conftest import World, on_another_loop


async def test_a_call_of_another_loop_runs_on_that_of_the_workspace(world: World) -> None:
    async def call(name: str, *, times: int) -> tuple[str, asyncio.AbstractEventLoop]:
        return name * times, asyncio.get_running_loop()

    here = asyncio.get_running_loop()
    assert await HomeLoop(world.files).awaited(call, "a", times=2) == ("aa", here)
    assert await on_another_loop(lambda: HomeLoop(world.files).awaited(call, "a", times=2)) == ("aa", here)


async def test_a_call_that_was_given_up_never_begins(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("filetools.adapters.answering.BEGIN_SECONDS", 0.1)
    begun = []

    async def call() -> None:
        begun.append(True)

    with ThreadPoolExecutor() as pool, pytest.raises(RuntimeError, match="it did not start the call"):
        pool.submit(HomeLoop(world.files).waited, call).result()
    for _ in range(10):
        await asyncio.sleep(0)
    assert not begun
