from __future__ import annotations

import asyncio

import pytest

from filetools.permissions.call_watch import current_watch, uncounted, watched
from tests.support.people import Stopwatch


async def test_outside_of_a_call_nothing_is_counted() -> None:
    with uncounted():
        assert current_watch() is None


async def test_tasks_of_a_call_share_its_watch_and_others_do_not() -> None:
    watch = Stopwatch()

    async def wait() -> None:
        with uncounted():
            await asyncio.sleep(0)

    with watched(watch):
        await asyncio.gather(wait(), wait())
    await wait()
    assert watch.noted == ["pause", "pause", "resume", "resume"]


async def test_the_watch_ends_with_its_block_even_when_it_raises() -> None:
    with pytest.raises(ValueError, match="inside"), watched(Stopwatch()):
        raise ValueError("inside")
    assert current_watch() is None
