from __future__ import annotations

import asyncio

import pytest

from filetools.errors import AbortedError
from filetools.tools.step_counter import StepCounter


async def reason_of(counter: StepCounter) -> str:
    with pytest.raises(AbortedError) as caught:
        await counter.begin_step()
    return str(caught.value.details["reason"])


async def test_no_step_begins_beyond_the_limit() -> None:
    counter = StepCounter()
    labels = [await counter.begin_step() for _ in range(10)]
    assert (labels[0], labels[-1]) == ("Step 1/10", "Step 10/10")
    assert await reason_of(counter) == "limit"
    assert counter.label == "Step 10/10"


async def test_three_failures_in_a_row_stop_the_loop() -> None:
    counter = StepCounter()
    for success in (False, False, True, False, False, False):
        assert counter.stop_reason is None
        await counter.begin_step()
        counter.note(success)
    assert await reason_of(counter) == "failures"


async def test_an_ended_loop_begins_no_step_even_after_resume() -> None:
    counter = StepCounter()
    counter.pause()
    counter.end()
    counter.pause()
    counter.resume()
    assert await reason_of(counter) == "ended"


async def test_ending_wakes_a_step_that_waits() -> None:
    counter = StepCounter()
    counter.pause()
    waiting = asyncio.create_task(counter.begin_step())
    await asyncio.sleep(0)
    counter.end()
    with pytest.raises(AbortedError):
        await waiting


async def test_a_paused_loop_goes_on_when_resumed() -> None:
    counter = StepCounter(limit=3)
    counter.pause()
    waiting = asyncio.create_task(counter.begin_step())
    await asyncio.sleep(0)
    assert (counter.is_paused, waiting.done()) == (True, False)
    counter.resume()
    assert await waiting == "Step 1/3"
