"""The locks of one workspace, as several processes see them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from filetools.errors import LockTimeoutError
from filetools.locks.table import LockTable
from tests.support.dose import dose
from tests.support.lock_worker import lock_worker


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "locks"


@pytest.fixture
async def table(directory: Path) -> AsyncIterator[LockTable]:
    made = LockTable(directory)
    yield made
    await made.aclose()


async def try_once(table: LockTable, key: str, seconds: float = 0) -> str | None:
    """Return the holder that refused us, or None if we got the lock."""
    try:
        async with table.hold([key], path=key, owner="test", timeout_seconds=seconds):
            return None
    except LockTimeoutError as error:
        return str(error.details["holder"])


async def test_other_process_is_refused_and_told_who_holds(table: LockTable, directory: Path) -> None:
    with lock_worker("hold", directory, "a") as worker:
        assert await try_once(table, "b") is None
        for seconds in (0, 0.05):
            holder = await try_once(table, "a", seconds)
            assert holder is not None
            assert holder.startswith(f"worker (process {worker.pid}, for ")
        info = table.lock_info("a")
        assert info is not None
        assert (info.path, info.owner, info.process_id) == ("a", "worker", worker.pid)
        worker.tell()
        assert worker.said() == "done"
        assert table.lock_info("a") is None
        assert await try_once(table, "a") is None


async def test_waiter_gets_the_lock_when_the_holder_is_killed(table: LockTable, directory: Path) -> None:
    with lock_worker("hold", directory, "a") as worker:
        waiting = asyncio.create_task(try_once(table, "a", 60))
        assert await try_once(table, "a") is not None
        worker.kill()
        assert await asyncio.wait_for(waiting, 60) is None


async def test_stopped_holder_is_waited_for_and_never_taken_over(table: LockTable, directory: Path) -> None:
    with lock_worker("hold", directory, "a") as worker:
        worker.send_signal(signal.SIGSTOP)
        holder = await try_once(table, "a", 0.3)
        assert holder is not None
        assert f"process {worker.pid}" in holder
        waiting = asyncio.create_task(try_once(table, "a", 60))
        worker.send_signal(signal.SIGCONT)
        worker.tell()
        assert await asyncio.wait_for(waiting, 60) is None


async def test_lock_of_a_killed_process_is_free_though_its_forked_child_lives(
    table: LockTable, directory: Path
) -> None:
    with lock_worker("fork", directory, "a") as worker:
        child = int(worker.said())
        try:
            assert await try_once(table, "a") is not None
            worker.kill()
            os.kill(child, 0)
            assert await try_once(table, "a", 60) is None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)


async def test_process_that_never_pauses_lets_others_in(table: LockTable, directory: Path, tmp_path: Path) -> None:
    with lock_worker("hog", directory, "a") as worker:
        for _ in range(20):
            assert await try_once(table, "a", 60) is None
        (tmp_path / "stop").touch()
        assert worker.said() == "done"
    await table.aclose()


@contextlib.contextmanager
def workers(count: int, command: str, *arguments: str | Path | int) -> Iterator[list[str]]:
    """Run workers at the same time; the list has their last lines at the end of the block."""
    answers: list[str] = []
    with contextlib.ExitStack() as stack:
        started = [stack.enter_context(lock_worker(command, *arguments, *extra(command, n))) for n in range(count)]
        for worker in started:
            worker.tell()
        yield answers
        answers.extend(worker.said() for worker in started)


def extra(command: str, number: int) -> list[int]:
    return [number] if command == "mix" else []


def test_four_processes_with_two_spellings_count_exactly(directory: Path, tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0")
    rounds = dose(40)
    with workers(4, "count", directory, counter, rounds) as answers:
        pass
    assert answers == ["done"] * 4
    assert int(counter.read_text()) == 4 * 2 * rounds


def test_random_sets_of_keys_never_deadlock_nor_meet(directory: Path, tmp_path: Path) -> None:
    counters = [tmp_path / f"count-{key}" for key in "abcdef"]
    for counter in counters:
        counter.write_text("0")
    with workers(3, "mix", directory, dose(20)) as answers:
        pass
    assert sum(int(counter.read_text()) for counter in counters) == sum(map(int, answers))
