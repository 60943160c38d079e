"""The gate: several processes write one journal; none starves or hangs, and a dead one blocks no other."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from filetools.errors import LockTimeoutError
from filetools.journal.journal import Journal
from filetools.journal.storage.gate import GATE_FILE, NEWS_NS, Gate
from tests.support import inside
from tests.support.journals import put, worker

PROCESSES = 3
COMMITS = 50
LONGEST_WAIT_SECONDS = 30.0
"""A thousand times the time on an idle machine: starvation would last while the others write."""


def test_processes_committing_in_loops_count_exactly_and_none_starves(state: Path) -> None:
    Journal(state, durability="relaxed").close()
    with ExitStack() as stack:
        processes = [
            stack.enter_context(worker(state, "count", f"p{index}", str(COMMITS))) for index in range(PROCESSES)
        ]
        assert [process.said() for process in processes] == ["ready"] * PROCESSES
        for process in processes:
            process.tell()
        waits = [float(process.said()) for process in processes]
    assert max(waits) < LONGEST_WAIT_SECONDS
    journal = Journal(state)
    head = journal.view("counter").head
    assert head is not None
    assert journal.contents.get(str(head.version)) == b"%d" % (PROCESSES * COMMITS)
    makers = [record.actor.id for record in journal.records(newest_first=True)]
    assert {name: makers.count(name) for name in makers} == {f"p{index}": COMMITS for index in range(PROCESSES)}
    journal.close()


def test_a_stopped_holder_means_a_timeout_never_a_hang(state: Path) -> None:
    journal = Journal(state, timeout_seconds=0.4)
    with worker(state, "hold") as holder:
        assert holder.said() == "holding"
        holder.signal(signal.SIGSTOP)
        with pytest.raises(LockTimeoutError) as caught:
            put(journal, "a", b"1")
        assert caught.value.details == {"seconds": 0.4, "holder": f"process {holder.pid}"}
        assert journal.positions().newest == 0
    journal.close()


def test_a_killed_holder_frees_the_gate(state: Path) -> None:
    journal = Journal(state, timeout_seconds=10)
    with worker(state, "hold") as holder:
        assert holder.said() == "holding"
        holder.signal(signal.SIGKILL)
        assert put(journal, "a", b"1").number == 1
    journal.close()


def test_a_forked_child_keeps_no_dead_parents_lock(tmp_path: Path) -> None:
    """The middle process dies in the gate; its child survives and must not hold it."""
    born, die, live_on = (os.pipe() for _ in range(3))
    middle = os.fork()
    if middle == 0:
        gate = Gate(tmp_path)
        gate.enter()
        if os.fork() == 0:
            os.close(live_on[1])
            os.write(born[1], b"x")
            os.read(live_on[0], 1)
            os._exit(0)
        os.read(die[0], 1)
        os._exit(0)
    assert os.read(born[0], 1) == b"x"
    os.write(die[1], b"x")
    os.waitpid(middle, 0)
    gate = Gate(tmp_path, timeout_seconds=1)
    with gate:
        pass
    gate.close()
    for end in (*born, *die, *live_on):
        os.close(end)


def test_a_free_gate_is_left_to_a_longer_waiting_process_that_has_announced_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1_000_000_000]
    monkeypatch.setattr(time, "monotonic_ns", lambda: clock[0])
    with (
        closing(Gate(tmp_path)) as holder,
        closing(Gate(tmp_path, timeout_seconds=0.01)) as first,
        closing(Gate(tmp_path, timeout_seconds=0.0)) as second,
    ):
        with holder:
            with pytest.raises(LockTimeoutError):
                first.enter()
            clock[0] += 1_000_000
        with pytest.raises(LockTimeoutError):
            second.enter()  # nobody holds it
        clock[0] += NEWS_NS
        with second:
            pass


def test_a_process_that_has_waited_does_not_block_others_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1_000_000_000]
    monkeypatch.setattr(time, "monotonic_ns", lambda: clock[0])
    with (
        closing(Gate(tmp_path)) as holder,
        closing(Gate(tmp_path)) as first,
        closing(Gate(tmp_path, timeout_seconds=0.0)) as second,
    ):
        holder.enter()
        opening = threading.Timer(0.05, holder.leave)
        opening.start()
        with first:
            opening.join()
        clock[0] += 1
        with second:
            pass


def test_a_planted_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / GATE_FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic link"):
        Gate(tmp_path)
    assert not (tmp_path / "elsewhere").exists()


def test_a_checkpoint_waits_for_a_query_in_a_turn(journal: Journal) -> None:
    for number in range(300):
        put(journal, f"a{number}", b"x" * 100)
    database = inside.database_of(journal)
    is_over = threading.Event()

    def keep() -> int:
        rounds = 0
        while not is_over.is_set():
            database.checkpoint(at_least_bytes=1)
            rounds += 1
        return rounds

    with ThreadPoolExecutor() as pool:
        keeping = pool.submit(keep)
        for _ in range(300):
            with journal.turn_gate:
                journal.records()
        is_over.set()
        assert keeping.result() > 0
