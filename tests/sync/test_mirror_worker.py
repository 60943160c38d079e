"""Workers: order, giving up, and threads that hang."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from functools import partial
from typing import Any

import pytest

from filetools.errors import CallTimeoutError, DiskFullError
from filetools.sync.mirror_worker import AbandonedError, Job, MirrorWorker

LIMIT_SECONDS = 60.0


def _note(ran: list[int], number: int, job: Job[None]) -> None:
    ran.append(number)


def test_an_abandoned_job_changes_nothing_any_more() -> None:
    worker, reached, go, changed = MirrorWorker("test"), threading.Event(), threading.Event(), []

    def work(job: Job[None]) -> None:
        reached.set()
        go.wait(LIMIT_SECONDS)
        job.go_on()
        changed.append("changed")

    job = worker.submit(work)
    assert reached.wait(LIMIT_SECONDS)
    assert not job.wait(0)
    assert job.abandon()
    assert worker.is_stuck
    go.set()
    assert worker.submit(lambda job: None).wait(LIMIT_SECONDS)
    assert changed == []
    assert isinstance(job.error, AbandonedError)
    assert (job.is_late, worker.is_stuck) == (False, False)
    worker.close(LIMIT_SECONDS)


def test_a_job_given_up_inside_its_change_is_late() -> None:
    worker, reached, go, late = MirrorWorker("test"), threading.Event(), threading.Event(), []

    def work(job: Job[None]) -> None:
        job.go_on()
        reached.set()
        go.wait(LIMIT_SECONDS)

    job = worker.submit(work, lambda job: late.append(job.is_late))
    assert reached.wait(LIMIT_SECONDS)
    job.abandon()
    go.set()
    assert worker.submit(lambda job: None).wait(LIMIT_SECONDS)
    assert late == [True]
    worker.close(LIMIT_SECONDS)


def test_abandon_says_no_once_the_job_has_ended() -> None:
    worker = MirrorWorker("test")
    job = worker.submit(lambda job: 7)
    assert job.wait(LIMIT_SECONDS)
    assert not job.abandon()
    assert job.result() == 7
    worker.close(LIMIT_SECONDS)


def test_jobs_abandoned_together_release_their_waiters_and_never_begin() -> None:
    worker, go, ran = MirrorWorker("test"), threading.Event(), list[int]()
    worker.submit(lambda job: go.wait(LIMIT_SECONDS))
    waiting = [worker.submit(partial(_note, ran, number)) for number in range(3)]
    worker.abandon_all()
    assert all(job.wait(0) for job in waiting)
    go.set()
    assert worker.submit(lambda job: None).wait(LIMIT_SECONDS)
    assert ran == []
    worker.close(LIMIT_SECONDS)


def test_jobs_run_in_the_order_they_came() -> None:
    worker, ran = MirrorWorker("test"), list[int]()
    jobs = [worker.submit(partial(_note, ran, number)) for number in range(100)]
    assert all(job.wait(LIMIT_SECONDS) for job in jobs)
    assert ran == list(range(100))
    worker.close(LIMIT_SECONDS)


def test_what_a_job_raises_reaches_its_waiter_and_not_the_next_job() -> None:
    worker = MirrorWorker("test")

    def fail(job: Job[None]) -> None:
        raise DiskFullError("a")

    job = worker.submit(fail)
    assert job.wait(LIMIT_SECONDS)
    with pytest.raises(DiskFullError):
        job.result()
    assert worker.submit(lambda job: 1).wait(LIMIT_SECONDS)
    worker.close(LIMIT_SECONDS)


async def test_perform_gives_up_in_time_and_abandons_the_job() -> None:
    worker, go = MirrorWorker("test"), threading.Event()
    with pytest.raises(CallTimeoutError):
        await worker.perform(lambda job: go.wait(LIMIT_SECONDS), silence_seconds=0.5)
    assert worker.is_stuck
    go.set()
    assert await worker.perform(lambda job: "done", silence_seconds=LIMIT_SECONDS) == "done"
    worker.close(LIMIT_SECONDS)


async def test_a_cancelled_perform_abandons_its_job() -> None:
    worker, reached, go = MirrorWorker("test"), threading.Event(), threading.Event()
    jobs: list[Job[Any]] = []

    def work(job: Job[None]) -> None:
        jobs.append(job)
        reached.set()
        go.wait(LIMIT_SECONDS)

    task = asyncio.create_task(worker.perform(work))
    await asyncio.to_thread(reached.wait, LIMIT_SECONDS)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert jobs[0].is_abandoned
    go.set()
    worker.close(LIMIT_SECONDS)


def test_the_end_of_the_process_waits_for_no_worker() -> None:
    program = (
        "import threading\n"
        "from filetools.sync.mirror_worker import MirrorWorker\n"
        "reached = threading.Event()\n"
        "MirrorWorker('hung').submit(lambda job: (reached.set(), threading.Event().wait()))\n"
        "assert reached.wait(10)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], timeout=LIMIT_SECONDS, check=False)
    assert done.returncode == 0
