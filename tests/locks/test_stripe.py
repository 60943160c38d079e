"""Both halves of one lock: polling, and letting other processes go first."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from pathlib import Path

import pytest

from filetools.locks.lock_files import LockFiles
from filetools.locks.stripe import Stripe
from tests.support.loops import VirtualTimeLoop


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[list[LockFiles]]:
    """Two openers of one folder, as two processes would be."""
    opened = [LockFiles(tmp_path / "locks") for _ in range(2)]
    yield opened
    for files in opened:
        files.close()


@pytest.fixture
def stripes(folders: list[LockFiles]) -> list[Stripe]:
    return [Stripe("0001", files) for files in folders]


def run(main: Coroutine[None, None, None]) -> None:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(main)


def test_free_lock_is_left_to_the_waiter_for_whom_this_process_stands_back(
    stripes: list[Stripe], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("filetools.locks.waiting_room._FRESH_NS", 3600 * 10**9)
    ours, other = stripes
    seat = other._file.take_seat()
    ours._file.is_standing_back = True

    async def main() -> None:
        now = asyncio.get_running_loop().time()
        seat.is_first()
        assert not ours.enter_now()
        waiting = asyncio.create_task(ours.enter(now + 60))
        for _ in range(3):
            await asyncio.sleep(0)
        assert not waiting.done()
        seat.is_first()
        assert other._file.lock_now(), "the lock is still free"
        other._file.release()
        seat.leave()
        assert await waiting
        ours.leave()

    run(main())


def test_who_stands_back_takes_the_lock_if_nobody_waits_any_more(stripes: list[Stripe]) -> None:
    ours, _ = stripes
    ours._file.is_standing_back = True

    async def main() -> None:
        assert not ours.enter_now()
        now = asyncio.get_running_loop().time()
        assert await ours.enter(now + 60)
        assert asyncio.get_running_loop().time() == now
        ours.leave()

    run(main())


def test_one_try_takes_a_free_lock_though_this_process_stands_back(stripes: list[Stripe]) -> None:
    ours, other = stripes
    ours._file.is_standing_back = True
    seat = other._file.take_seat()
    seat.is_first()

    async def main() -> None:
        assert await ours.enter(asyncio.get_running_loop().time())
        ours.leave()

    run(main())
    seat.leave()


def test_last_try_takes_a_free_lock_though_another_has_waited_longer(stripes: list[Stripe]) -> None:
    ours, other = stripes
    seat = other._file.take_seat()
    ours._file.is_standing_back = True

    async def main() -> None:
        seat.is_first()
        assert await ours.enter(asyncio.get_running_loop().time() + 0.003)
        ours.leave()

    run(main())
    seat.leave()


@pytest.mark.parametrize("held_seconds", [0.05, 2.0])
def test_free_lock_is_found_within_two_milliseconds(stripes: list[Stripe], held_seconds: float) -> None:
    ours, other = stripes
    assert other.enter_now()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        freed_at = loop.time() + held_seconds
        loop.call_at(freed_at, other.leave)
        assert await ours.enter(loop.time() + 30)
        assert loop.time() - freed_at <= 0.0021
        ours.leave()

    run(main())
