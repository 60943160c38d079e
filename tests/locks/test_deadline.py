from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from filetools.errors import AbortedError, CallTimeoutError
from filetools.locks.deadline import Deadline
from tests.support.loops import VirtualTimeLoop

SHORT_SECONDS = 0.03


Act = Callable[[], None]


async def hang_in(deadline: Deadline, *acts: Act, at_end: Sequence[Act] = ()) -> None:
    """Enter the block, do these acts, wait until cancelled, then do those at the end."""
    async with deadline:
        for act in acts:
            act()
        try:
            await asyncio.Event().wait()
        finally:
            for act in at_end:
                act()


async def test_time_that_is_used_up_ends_the_block() -> None:
    with pytest.raises(CallTimeoutError, match=r"probe did not finish within 0\.03 s"):
        async with Deadline("probe", SHORT_SECONDS):
            await asyncio.Event().wait()


async def test_an_abort_ends_the_block_also_while_it_is_paused() -> None:
    deadline = Deadline("probe", 60)
    asyncio.get_running_loop().call_soon(deadline.abort)
    with pytest.raises(AbortedError):
        await hang_in(deadline, deadline.pause)


async def test_what_resumes_after_an_abort_does_not_take_it_back() -> None:
    deadline = Deadline("probe", 60)
    with pytest.raises(AbortedError):
        await hang_in(deadline, deadline.pause, deadline.abort, deadline.resume)


async def test_pauses_left_behind_by_cancelled_work_do_no_harm() -> None:
    deadline = Deadline("probe", SHORT_SECONDS)
    with pytest.raises(CallTimeoutError):
        await hang_in(deadline, at_end=(deadline.pause, deadline.resume))
    deadline.pause()
    deadline.resume()
    deadline.abort()


def test_nested_pauses_count_as_one() -> None:
    async def main() -> None:
        deadline = Deadline("probe", SHORT_SECONDS)
        async with deadline:
            deadline.pause()
            deadline.pause()
            deadline.resume()
            await asyncio.sleep(2 * SHORT_SECONDS)
            deadline.resume()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(main())


def test_after_a_pause_only_the_rest_is_left() -> None:
    async def pause(deadline: Deadline) -> None:
        async with deadline:
            await asyncio.sleep(SHORT_SECONDS / 2)
            deadline.pause()
            await asyncio.sleep(10)
            deadline.resume()
            await asyncio.Event().wait()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        started = loop.time()
        with pytest.raises(CallTimeoutError):
            await pause(Deadline("probe", SHORT_SECONDS))
        assert loop.time() - started == pytest.approx(10 + SHORT_SECONDS)

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(main())


async def test_a_foreign_cancellation_passes_unchanged() -> None:
    async def block() -> None:
        async with Deadline("probe", 60):
            await asyncio.Event().wait()

    task = asyncio.create_task(block())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
