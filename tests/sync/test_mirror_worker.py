"""Workers: order, giving up, and threads that hang."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from typing import Any

import pytest

from filetools.errors import CallTimeoutError
from filetools.sync.mirror_worker import AbandonedError, Job, MirrorWorker

LIMIT_SECONDS = 60.0


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
