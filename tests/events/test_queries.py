"""Questions over the bus."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from filetools.events.bus import EventBus


@pytest.fixture
async def bus() -> AsyncIterator[EventBus]:
    made = EventBus()
    yield made
    await made.aclose()


async def test_a_query_nobody_answers_is_none(bus: EventBus) -> None:
    assert await bus.query("editor:text", "a.txt") is None


async def test_a_raising_responder_is_logged_and_passed_over(bus: EventBus, caplog: pytest.LogCaptureFixture) -> None:
    def broken(payload: str) -> str:
        raise ZeroDivisionError

    bus.answer("q", broken)
    bus.answer("q", lambda payload: f"answer to {payload}")
    assert await bus.query("q", "x") == "answer to x"
    assert caplog.text.count("Event listener") == 1


async def test_cancelling_a_query_passes_through(bus: EventBus) -> None:
    asked = asyncio.Event()

    async def hangs(payload: object) -> None:
        asked.set()
        await asyncio.Event().wait()

    bus.answer("q", hangs)
    task = asyncio.create_task(bus.query("q"))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_first_answer_that_is_not_none_counts(bus: EventBus) -> None:
    asked: list[str] = []

    def unknowing(payload: object) -> None:
        asked.append("unknowing")

    async def knowing(payload: object) -> int:
        asked.append("knowing")
        return 0

    def too_late(payload: object) -> int:
        asked.append("too late")
        return 1

    for responder in (unknowing, knowing, too_late):
        bus.answer("q", responder)
    assert await bus.query("q") == 0
    assert asked == ["unknowing", "knowing"]


async def test_a_responder_that_an_earlier_one_ended_is_not_asked(bus: EventBus) -> None:
    def ends_the_next(payload: object) -> None:
        later.unsubscribe()

    bus.answer("q", ends_the_next)
    later = bus.answer("q", lambda payload: 1)
    assert await bus.query("q") is None
