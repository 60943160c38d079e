"""The worker threads: work goes on to its end, whoever waits for it, and a thread that hangs keeps nobody."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from filetools.errors import AccessDeniedError, StateDamagedError, WorkspaceGoneError
from filetools.facade.worker_pool import Hop, WorkerPool


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    pool = WorkerPool(2)
    yield pool
    pool.close()


async def test_what_work_returns_or_raises_reaches_its_caller(pool: WorkerPool) -> None:
    def fail() -> None:
        raise AccessDeniedError("a", "no")

    def stop() -> None:
        raise StopIteration

    assert await pool.run(lambda: 7) == 7
    with pytest.raises(AccessDeniedError):
        await pool.run(fail)
    with pytest.raises(RuntimeError, match="StopIteration"):
        await pool.run(stop)


async def test_a_cancelled_caller_waits_for_the_end_of_its_work_and_the_work_can_ask(pool: WorkerPool) -> None:
    begun, may_end = threading.Event(), threading.Event()
    hop: Hop[bool] = Hop()

    def work() -> bool:
        begun.set()
        may_end.wait()
        return hop.is_cancelled

    async def call() -> None:
        await pool.start(work, hop)

    task = asyncio.create_task(call())
    while not begun.is_set():
        await asyncio.sleep(0)
    task.cancel()
    for _ in range(10):
        await asyncio.sleep(0)
    assert not task.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert hop.result() is True


async def test_work_that_waits_for_other_work_has_a_thread(pool: WorkerPool) -> None:
    came = threading.Barrier(2)
    assert len(set(await asyncio.gather(*(pool.run(came.wait) for _ in range(2))))) == 2


async def test_a_sealed_pool_takes_no_work_but_the_last_and_waits_for_what_is_under_way(pool: WorkerPool) -> None:
    may_end, sealed = threading.Event(), asyncio.Event()
    hop = pool.start(may_end.wait)

    async def seal() -> None:
        await pool.seal()
        sealed.set()

    sealing = asyncio.create_task(seal())
    for _ in range(10):
        await asyncio.sleep(0)
    assert not sealed.is_set()
    with pytest.raises(WorkspaceGoneError):
        pool.start(lambda: None)
    may_end.set()
    await hop
    await sealing
    assert await pool.run_last(lambda: 1) == 1
    pool.close()
    with pytest.raises(WorkspaceGoneError):
        await pool.run_last(lambda: 1)


async def test_threads_that_hang_are_replaced_and_neither_sealing_nor_the_end_waits_for_them() -> None:
    pool = WorkerPool(2)
    may_end = threading.Event()
    hung = [pool.start(may_end.wait) for _ in range(2)]
    pool.let_go(hung[0], False)
    assert await hung[0] is False
    assert await pool.run(lambda: "done") == "done"
    pool.let_go(hung[1], False)
    await pool.seal()
    pool.shutdown(wait=True)  # as at the end of the interpreter
    threads = [hop.thread for hop in hung]
    may_end.set()
    for thread in threads:
        assert thread is not None
        thread.join()
    await asyncio.sleep(0)
    assert [hop.result() for hop in hung] == [False, False]


async def test_a_state_that_went_with_its_root_is_not_damaged(pool: WorkerPool) -> None:
    def gone() -> None:
        raise WorkspaceGoneError("it was removed")

    def fail() -> None:
        raise StateDamagedError("no database")

    with pytest.raises(StateDamagedError):
        await pool.run(fail)
    pool.check_root = gone
    with pytest.raises(WorkspaceGoneError):
        await pool.run(fail)


def test_work_that_waits_is_done_before_the_threads_end() -> None:
    pool = WorkerPool(1)
    done: list[int] = []
    for number in range(20):
        pool.submit(done.append, number)
    pool.shutdown(wait=True)
    assert done == list(range(20))
