"""The way from the watching thread to the loop: portions, spacing, pairing, and receivers that fail."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from filetools.watch.handover import ASKED_HINTS, PORTION_HINTS, SPACING_SECONDS, Handover, pause_after
from filetools.watch.hints import Hint, HintBuffer
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


async def test_a_closed_loop_is_no_error() -> None:
    told = Watched()

    async def build() -> Handover[str]:
        return made(told)

    handover: list[Handover[str]] = []
    in_thread(lambda: handover.append(asyncio.run(build())))
    handover[0].hints.change("a")
    handover[0].send()
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


async def test_many_hints_come_in_portions_and_the_loop_turns_in_between() -> None:
    told = Watched()
    turns: list[int] = []
    handover = made(told)
    for number in range(2 * PORTION_HINTS + 1):
        handover.hints.change(str(number))
    in_thread(handover.send)
    while sum(map(len, told.portions)) < 2 * PORTION_HINTS + 1:
        await asyncio.sleep(0)
        turns.append(len(told.portions))
    assert [len(portion) for portion in told.portions] == [PORTION_HINTS, PORTION_HINTS, 1]
    assert {1, 2, 3} <= set(turns)


async def test_the_first_hint_after_a_silence_comes_at_once() -> None:
    told = Watched()
    handover = made(told)
    handover.hints.change("first")
    in_thread(handover.send)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert told.portions == [[Hint("changed", "first")]]


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


@pytest.mark.parametrize(
    "note",
    [
        lambda hints: hints.delete("a"),
        lambda hints: hints.change("a", is_directory=True),
        lambda hints: hints.change("a", is_listed=True),
        lambda hints: (hints.delete("a"), hints.change("a")),
        lambda hints: hints.arrive(hints.depart("b"), "a"),
    ],
)
async def test_only_what_was_written_to_a_file_can_be_known_before_it_is_told(
    note: Callable[[HintBuffer], Any],
) -> None:
    told, asked = Watched(), list[str]()
    handover = knowing(told, asked)
    with handover.lock:
        note(handover.hints)
    in_thread(handover.send)
    await until(lambda: told.hints != [])
    assert asked == []
    assert not handover.is_idle


async def test_of_a_burst_nothing_is_asked_one_by_one() -> None:
    told, asked = Watched(), list[str]()
    handover = knowing(told, asked)
    with handover.lock:
        for number in range(ASKED_HINTS + 1):
            handover.hints.change(str(number))
    in_thread(handover.send)
    await until(lambda: len(told.hints) == ASKED_HINTS + 1)
    assert asked == []


async def test_a_receiver_that_fails_to_say_what_it_knows_is_told(caplog: pytest.LogCaptureFixture) -> None:
    told = Watched()
    handover: Handover[str] = Handover(
        asyncio.get_running_loop(), told.take, told.resyncs.append, lambda hint: bool(1 // 0)
    )
    with handover.lock:
        handover.hints.change("a")
    in_thread(handover.send)
    await until(lambda: told.hints == [Hint("changed", "a")])
    assert "The receiver of foreign changes failed" in caplog.text


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


async def test_an_unpaired_departure_holds_nothing_else_back(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Watched()
    monkeypatch.setattr("filetools.watch.handover.PAIRING_SECONDS", 3600)
    handover = made(told)
    with handover.lock:
        handover.depart(7, "d", None, is_directory=False)
        handover.hints.change("other")
    in_thread(handover.send)
    await until(lambda: told.hints != [])
    assert told.hints == [Hint("changed", "other")]


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


def test_a_hint_that_follows_few_waits_less_than_one_amid_a_burst() -> None:
    assert pause_after(0) == 0
    assert pause_after(1) < pause_after(10) < pause_after(PORTION_HINTS) == SPACING_SECONDS


async def test_an_unpaired_departure_wakes_the_loop_only_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Watched()
    monkeypatch.setattr("filetools.watch.handover.PAIRING_SECONDS", 3600)
    handover = made(told)
    wakes: list[str] = []
    deliver = handover._deliver

    def counted() -> None:
        wakes.append("deliver")
        deliver()

    monkeypatch.setattr(handover, "_deliver", counted)
    with handover.lock:
        handover.depart(7, "d", None, is_directory=False)
    for _ in range(10):
        in_thread(handover.send)
        await asyncio.sleep(0)
    assert wakes == ["deliver"]
    assert handover._giving_up is not None
    assert handover._giving_up.when() > asyncio.get_running_loop().time() + 3000
    handover._giving_up.cancel()


async def test_the_watching_thread_may_rest_only_while_its_receiver_knows_all_it_tells() -> None:
    got: list[str] = []

    def receive(hints: list[Hint]) -> bool:
        got.extend(hint.path for hint in hints)
        return any(hint.path.startswith("foreign") for hint in hints)

    handover: Handover[str] = Handover(asyncio.get_running_loop(), receive, lambda reason: None)
    for path, is_idle in (("own", True), ("foreign", False), ("own again", True), ("foreign again", False)):
        with handover.lock:
            handover.hints.change(path)
        in_thread(handover.send)
        await until(lambda path=path: path in got)  # type: ignore[misc]
        assert handover.is_idle is is_idle
    handover.close()
