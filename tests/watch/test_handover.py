"""The way from the watching thread to the loop: portions, spacing, pairing, and receivers that fail."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from filetools.watch.handover import PORTION_HINTS, SPACING_SECONDS, Handover
from filetools.watch.hints import Hint
from tests.support.watching import Watched, until


def made(told: Watched) -> Handover[str]:
    return Handover(asyncio.get_running_loop(), told.take, told.resyncs.append)


def in_thread(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


async def test_after_close_nothing_is_delivered() -> None:
    told = Watched()
    handover = made(told)
    handover.hints.change("a")
    in_thread(handover.send)
    handover.close()
    await asyncio.sleep(2 * SPACING_SECONDS)
    assert told == Watched()


async def test_a_failing_receiver_gets_the_next_portion(caplog: pytest.LogCaptureFixture) -> None:
    got: list[list[Hint]] = []

    def fails(hints: list[Hint]) -> None:
        got.append(hints)
        raise ZeroDivisionError

    handover: Handover[str] = Handover(asyncio.get_running_loop(), fails, lambda reason: None)
    for path in ("a", "b"):
        with handover.lock:
            handover.hints.change(path)
        in_thread(handover.send)
        await until(lambda path=path: got[-1:] == [[Hint("changed", path)]])  # type: ignore[misc] # mypy and defaults
    assert len(caplog.records) == 2


def knowing(told: Watched, asked: list[str]) -> Handover[str]:
    """Return a handover whose receiver knows everything, and the paths that it is asked about."""

    def is_known(hint: Hint) -> bool:
        asked.append(hint.path)
        return True

    return Handover(asyncio.get_running_loop(), told.take, told.resyncs.append, is_known)


async def test_what_the_receiver_knows_wakes_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    told, asked = Watched(), list[str]()
    handover = knowing(told, asked)
    monkeypatch.setattr(handover, "call", lambda callback: pytest.fail("the loop was woken"))
    with handover.lock:
        # As others see it when two names are exchanged: what stood there has left, and something else has come.
        handover.depart(7, "a", None, is_directory=False)
        handover.hints.change("a")
    in_thread(handover.send)
    assert asked == ["a"]
    assert handover.is_idle
    assert len(handover.hints) == 0


async def test_portions_of_a_stream_are_spaced_and_complete() -> None:
    loop = asyncio.get_running_loop()
    arrivals: list[tuple[float, list[Hint]]] = []
    handover: Handover[str] = Handover(loop, lambda hints: arrivals.append((loop.time(), hints)), lambda reason: None)

    def stream() -> None:
        for number in range(3000):
            with handover.lock:
                handover.hints.change(str(number))
            handover.send()

    began = loop.time()
    await asyncio.to_thread(stream)
    await until(lambda: sum(len(hints) for _, hints in arrivals) == 3000)
    assert [hint.path for _, hints in arrivals for hint in hints] == [str(number) for number in range(3000)]
    # However slow the machine is, a portion comes at most every so often; the first one comes at once.
    portions = sum(len(hints) < PORTION_HINTS for _, hints in arrivals)
    assert portions <= (loop.time() - began) / SPACING_SECONDS + 1


async def test_a_departed_name_without_a_second_half_is_deleted_soon() -> None:
    told = Watched()
    handover = made(told)
    with handover.lock:
        handover.depart(7, "d", "folder of d", is_directory=True)
    in_thread(handover.send)
    await until(lambda: told.hints != [])
    assert told.hints == [Hint("deleted", "d", is_directory=True)]
    assert handover.take_abandoned() == ["folder of d"]
    assert handover.take_abandoned() == []
    with handover.lock:
        assert handover.claim(7) is None


async def test_a_resync_drops_what_it_covers_and_is_told_once() -> None:
    told = Watched()
    handover = made(told)
    handover.hints.change("a")

    def lose_three_times() -> None:
        for _ in range(3):
            handover.resync("overflow")

    in_thread(lose_three_times)
    await until(lambda: told.resyncs != [])
    await asyncio.sleep(2 * SPACING_SECONDS)
    assert told == Watched(resyncs=["overflow"])
