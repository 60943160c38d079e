"""Lanes: order, giving up, and threads that hang."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from functools import partial
from typing import Any

import pytest

from filetools.errors import CallTimeoutError, DiskFullError
from filetools.sync.lane import AbandonedError, Job, Lane

LIMIT_SECONDS = 60.0


def _note(ran: list[int], number: int, job: Job[None]) -> None:
    ran.append(number)


def test_an_abandoned_job_changes_nothing_any_more() -> None:
    lane, reached, go, changed = Lane("test"), threading.Event(), threading.Event(), []

    def work(job: Job[None]) -> None:
        reached.set()
        go.wait(LIMIT_SECONDS)
        job.go_on()
        changed.append("changed")

    job = lane.submit(work)
    assert reached.wait(LIMIT_SECONDS)
    assert not job.wait(0)
    assert job.abandon()
    assert lane.is_stuck
    go.set()
    assert lane.submit(lambda job: None).wait(LIMIT_SECONDS)
    assert changed == []
    assert isinstance(job.error, AbandonedError)
    assert (job.is_late, lane.is_stuck) == (False, False)
    lane.close(LIMIT_SECONDS)


def test_a_job_given_up_inside_its_change_is_late() -> None:
    lane, reached, go, late = Lane("test"), threading.Event(), threading.Event(), []

    def work(job: Job[None]) -> None:
        job.go_on()
        reached.set()
        go.wait(LIMIT_SECONDS)

    job = lane.submit(work, lambda job: late.append(job.is_late))
    assert reached.wait(LIMIT_SECONDS)
    job.abandon()
    go.set()
    assert lane.submit(lambda job: None).wait(LIMIT_SECONDS)
    assert late == [True]
    lane.close(LIMIT_SECONDS)


def test_abandon_says_no_once_the_job_has_ended() -> None:
    lane = Lane("test")
    job = lane.submit(lambda job: 7)
    assert job.wait(LIMIT_SECONDS)
    assert not job.abandon()
    assert job.result() == 7
    lane.close(LIMIT_SECONDS)


def test_jobs_abandoned_together_release_their_waiters_and_never_begin() -> None:
    lane, go, ran = Lane("test"), threading.Event(), list[int]()
    lane.submit(lambda job: go.wait(LIMIT_SECONDS))
    waiting = [lane.submit(partial(_note, ran, number)) for number in range(3)]
    lane.abandon_all()
    assert all(job.wait(0) for job in waiting)
    go.set()
    assert lane.submit(lambda job: None).wait(LIMIT_SECONDS)
    assert ran == []
    lane.close(LIMIT_SECONDS)


def test_jobs_run_in_the_order_they_came() -> None:
    lane, ran = Lane("test"), list[int]()
    jobs = [lane.submit(partial(_note, ran, number)) for number in range(100)]
    assert all(job.wait(LIMIT_SECONDS) for job in jobs)
    assert ran == list(range(100))
    lane.close(LIMIT_SECONDS)


def test_what_a_job_raises_reaches_its_waiter_and_not_the_next_job() -> None:
    lane = Lane("test")

    def fail(job: Job[None]) -> None:
        raise DiskFullError("a")

    job = lane.submit(fail)
    assert job.wait(LIMIT_SECONDS)
    with pytest.raises(DiskFullError):
        job.result()
    assert lane.submit(lambda job: 1).wait(LIMIT_SECONDS)
    lane.close(LIMIT_SECONDS)


async def test_perform_gives_up_in_time_and_abandons_the_job() -> None:
    lane, go = Lane("test"), threading.Event()
    with pytest.raises(CallTimeoutError):
        await lane.perform(lambda job: go.wait(LIMIT_SECONDS), seconds=0.5)
    assert lane.is_stuck
    go.set()
    assert await lane.perform(lambda job: "done", seconds=LIMIT_SECONDS) == "done"
    lane.close(LIMIT_SECONDS)


async def test_a_cancelled_perform_abandons_its_job() -> None:
    lane, reached, go = Lane("test"), threading.Event(), threading.Event()
    jobs: list[Job[Any]] = []

    def work(job: Job[None]) -> None:
        jobs.append(job)
        reached.set()
        go.wait(LIMIT_SECONDS)

    task = asyncio.create_task(lane.perform(work))
    await asyncio.to_thread(reached.wait, LIMIT_SECONDS)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert jobs[0].is_abandoned
    go.set()
    lane.close(LIMIT_SECONDS)


def test_the_end_of_the_process_waits_for_no_lane() -> None:
    program = (
        "import threading\n"
        "from filetools.sync.lane import Lane\n"
        "reached = threading.Event()\n"
        "Lane('hung').submit(lambda job: (reached.set(), threading.Event().wait()))\n"
        "assert reached.wait(10)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], timeout=LIMIT_SECONDS, check=False)
    assert done.returncode == 0
