"""The half of a lock inside one process."""

from __future__ import annotations

import asyncio

import pytest

from filetools.locks.stripe import Turns


def far() -> float:
    return asyncio.get_running_loop().time() + 60


async def steps(count: int = 3) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def no_leave() -> None:
    raise AssertionError("a turn was given back that was never given")


async def test_taken_turn_is_refused() -> None:
    turns = Turns()
    assert turns.take_now()
    assert not turns.take_now()


async def test_wait_is_refused_when_the_time_is_over() -> None:
    turns = Turns()
    turns.take_now()
    assert not await turns.wait(asyncio.get_running_loop().time(), no_leave)
    assert not turns.pass_on(), "who gave up must not be given the turn"
    assert turns.take_now()


async def test_refuse_ends_all_waiting() -> None:
    turns = Turns()
    turns.take_now()
    waiting = [asyncio.create_task(turns.wait(far(), no_leave)) for _ in range(3)]
    await steps()
    turns.refuse()
    assert await asyncio.gather(*waiting) == [False, False, False]
    assert not turns.pass_on()


async def test_turn_goes_to_exactly_one_in_the_order_of_asking() -> None:
    turns = Turns()
    turns.take_now()
    order: list[int] = []

    async def ask(number: int) -> None:
        assert await turns.wait(far(), no_leave)
        order.append(number)

    async with asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(ask(number))
        await steps()
        for number in range(20):
            assert turns.pass_on()
            assert not turns.take_now(), "a newcomer must not overtake who was given the turn"
            await steps()
            assert order == list(range(number + 1))
    assert not turns.pass_on()


async def test_cancelled_waiter_is_passed_over() -> None:
    turns = Turns()
    turns.take_now()
    first, second = (asyncio.create_task(turns.wait(far(), no_leave)) for _ in range(2))
    await steps()
    first.cancel()
    assert turns.pass_on()
    assert await second
    with pytest.raises(asyncio.CancelledError):
        await first
    assert not turns.pass_on()


async def test_turn_given_to_a_task_that_is_then_cancelled_is_handed_on() -> None:
    turns = Turns()
    turns.take_now()
    first, second = (asyncio.create_task(turns.wait(far(), turns.pass_on)) for _ in range(2))  # type: ignore[arg-type]
    await steps()
    assert turns.pass_on()
    first.cancel()
    assert await second
    with pytest.raises(asyncio.CancelledError):
        await first
    assert not turns.pass_on()


async def test_turn_given_in_the_moment_the_time_is_over_is_kept() -> None:
    turns = Turns()
    turns.take_now()
    waiting = asyncio.create_task(turns.wait(asyncio.get_running_loop().time(), no_leave))
    await asyncio.sleep(0)
    assert turns.pass_on()
    assert await waiting
