"""Turns: no two overlap in any process, waiting calls share one, and a timeout names the holder."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest

import filetools
import filetools.errors as errors
from filetools.events.types import Event
from filetools.models.records import Actor
from filetools.writer import turn_calls, turns
from filetools.writer.call_queue import CallQueue
from filetools.writer.turn_calls import TurnCall, TurnTask
from filetools.writer.worker_pool import WorkerPool
from tests.support import inside
from tests.support.crashing import QUIET
from tests.support.opened import refused, steps_until, told
from tests.support.peers import peer

WHERE = pytest.mark.parametrize("moment", ["before", "after"])
"""Stop a process before or after its commit, in the middle of its turn."""


@pytest.fixture(autouse=True)
def slow_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a turn take calls, and calls wait for a busy file, however slow the machine is."""
    monkeypatch.setattr(turns, "MOST_SECONDS", 60.0)
    monkeypatch.setattr(turn_calls, "BUSY_SECONDS", 60.0)


async def waiting(files: filetools.FileToolsFacade, calls: int) -> None:
    """Wait until this many calls wait for a turn."""
    await steps_until(lambda: inside.waiting_calls(files) == calls)


@WHERE
async def test_others_wait_for_a_stopped_process_and_then_say_which_it_is(tmp_path: Path, moment: str) -> None:
    async with filetools.open(tmp_path, settings=QUIET) as files:
        async with peer(tmp_path, "a.txt", moment, task="stays") as other:
            other.process.send_signal(signal.SIGSTOP)
            began = time.monotonic()
            error = await refused("LOCK_TIMEOUT", files.write_file("b.txt", "ours\n", lock_timeout_seconds=0.3))
            assert time.monotonic() - began >= 0.3
            assert f"(process {other.process.pid}, for " in error.message
            held = await files.lock_info("a.txt")
            assert held is not None
            assert (held.process_id, held.path) == (other.process.pid, "a.txt")
            assert await files.lock_info("b.txt") is None
            other.process.send_signal(signal.SIGCONT)
            await other.ask("go on")
            assert await other.hear() == {"done": True}
            await other.end()
        await files.write_file("b.txt", "ours\n")
        assert await files.lock_info("a.txt") is None
        changes = (await files.changes()).records
    assert [(change.operation.value, change.path) for change in changes] == [("create", "a.txt"), ("create", "b.txt")]
    assert (tmp_path / "a.txt").read_text() == "theirs\n"


@WHERE
async def test_what_a_killed_process_had_committed_is_there_after_the_next_turn(tmp_path: Path, moment: str) -> None:
    async with filetools.open(tmp_path, settings=QUIET) as files:
        heard: list[Event] = told(files, "file:*")
        async with peer(tmp_path, "d/a.txt", moment, task="stays") as other:
            other.process.kill()
            await other.end()
        await files.write_file("b.txt", "ours\n")
        texts = {path.name: path.read_text() for path in tmp_path.rglob("*.txt") if ".filetools" not in path.parts}
        await asyncio.sleep(0.05)
    theirs = {"a.txt": "theirs\n"} if moment == "after" else {}
    assert texts == {"b.txt": "ours\n", **theirs}
    assert [path for event in heard if (path := event.to_dict()["path"]) != "b.txt"] == (["d/a.txt"] if theirs else [])


async def test_a_workspace_closes_at_once_though_another_process_has_a_turn(tmp_path: Path) -> None:
    async with (
        filetools.open(tmp_path, settings=QUIET) as files,
        peer(tmp_path, "a.txt", "before", task="stays") as other,
    ):
        other.process.send_signal(signal.SIGSTOP)
        write = asyncio.create_task(files.write_file("b.txt", "ours\n"))
        await waiting(files, 1)
        await files._runner.aclose()
        await refused("WORKSPACE_GONE", write)  # and not for having waited too long
    assert not (tmp_path / "b.txt").exists()


async def test_calls_that_wait_share_a_turn_and_a_refusal_ends_one_alone(tmp_path: Path) -> None:
    (tmp_path / "there.txt").write_text("there\n")
    async with filetools.open(tmp_path, settings=QUIET) as files:
        async with inside.at_work(files, "elsewhere.txt"):
            writes = [asyncio.create_task(files.write_file(f"new/{number}.txt", "x")) for number in range(10)]
            bad = asyncio.create_task(files.create_file("there.txt", "mine"))
            await waiting(files, 11)
        await asyncio.gather(*writes)
        await refused("FILE_EXISTS", bad)
        records = (await files.changes()).records
    # The first makes the folder; the others work inside it, and share the next turn.
    assert [record.operation.value for record in records] == ["create_directory", *["create"] * 10]
    assert {record.actor.kind for record in records} == {"agent"}
    assert (tmp_path / "there.txt").read_text() == "there\n"


async def test_calls_about_one_path_keep_their_order(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=QUIET) as files:
        async with inside.at_work(files, "elsewhere.txt"):
            calls = [asyncio.create_task(files.append_file("a.txt", f"{number}\n")) for number in range(20)]
            await waiting(files, 20)
        await asyncio.gather(*calls)
    assert (tmp_path / "a.txt").read_text() == "".join(f"{number}\n" for number in range(20))


async def test_a_file_that_a_program_is_writing_keeps_only_its_own_call_waiting(tmp_path: Path) -> None:
    (tmp_path / "busy.txt").write_text("one\n")
    async with filetools.open(tmp_path, settings={**QUIET, "worker_threads": 1}) as files:
        await files.write_file("busy.txt", "two\n")
        with (tmp_path / "busy.txt").open("r+") as program:
            program.write("half")
            program.flush()
            edit = asyncio.create_task(files.append_file("busy.txt", "more\n"))
            for number in range(5):
                await files.write_file(f"{number}.txt", "x")
            await files.list_files()
            assert not edit.done()
            program.write(" and half\n")
        await edit
    assert (tmp_path / "busy.txt").read_text() == "half and half\nmore\n"


async def test_two_calls_that_step_aside_in_one_turn_are_both_done(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=QUIET) as files:
        for name in ("a.txt", "b.txt"):
            await files.write_file(name, "one\n")
        with (tmp_path / "a.txt").open("r+") as first, (tmp_path / "b.txt").open("r+") as second:
            for program in (first, second):
                program.write("two\n")
                program.flush()
            async with inside.at_work(files, "elsewhere.txt"):
                calls = [asyncio.create_task(files.append_file(name, "more\n")) for name in ("a.txt", "b.txt")]
                await waiting(files, 2)
            await asyncio.sleep(0.1)
            first.close()
            await asyncio.sleep(0.1)
        async with asyncio.timeout(30):
            await asyncio.gather(*calls)
    assert [(tmp_path / name).read_text() for name in ("a.txt", "b.txt")] == ["two\nmore\n"] * 2


async def test_closing_refuses_a_call_that_has_stepped_aside(tmp_path: Path) -> None:
    opening = filetools.open(tmp_path, settings=QUIET)
    files = await opening.__aenter__()
    await files.write_file("a.txt", "one\n")
    with (tmp_path / "a.txt").open("r+") as program:
        program.write("two\n")
        program.flush()
        call = asyncio.create_task(files.append_file("a.txt", "more\n"))
        await asyncio.sleep(0.1)
        async with asyncio.timeout(30):
            await opening.__aexit__(None, None, None)
            await refused("WORKSPACE_GONE", call)
    assert (tmp_path / "a.txt").read_text() == "two\n"


async def test_a_call_cancelled_while_it_waits_leaves_at_once(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=QUIET) as files:
        async with inside.at_work(files, "a.txt"):
            call = asyncio.create_task(files.write_file("a.txt", "x"))
            await waiting(files, 1)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                async with asyncio.timeout(30):
                    await call
        await files.write_file("b.txt", "x")
    assert not (tmp_path / "a.txt").exists()


async def test_a_foreign_change_found_by_a_later_call_of_a_shared_turn_is_published_first(tmp_path: Path) -> None:
    """It was recorded before the changes of all of them, and numbers ascend on the bus."""
    async with filetools.open(tmp_path, settings=QUIET) as files:
        for name in "abc":
            await files.write_file(f"{name}.txt", "one\n")
        heard: list[Event] = told(files, "file:*")
        (tmp_path / "c.txt").write_text("theirs\n")
        async with inside.at_work(files, "elsewhere.txt"):
            calls = [asyncio.create_task(files.append_file(f"{name}.txt", "two\n")) for name in "abc"]
            await waiting(files, 3)
        await asyncio.gather(*calls)
        changes = (await files.changes()).records
    assert (tmp_path / "c.txt").read_text() == "theirs\ntwo\n"
    assert [event.to_dict()["seq"] for event in heard] == [change.number for change in changes[3:]]
    assert sorted(change.actor.kind for change in changes[3:]) == ["agent", "agent", "agent", "external"]


async def test_a_call_looks_again_if_a_later_one_of_its_turn_meets_that_others_changed_its_path(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=QUIET) as files:
        for name in "ab":
            await files.write_file(f"d/{name}.txt", "one\n")
        position = await files.position()

        def take_away() -> bool:
            if (tmp_path / "d/b.txt").exists():
                shutil.rmtree(tmp_path / "d")
            return False

        async with inside.at_work(files, "elsewhere.txt"):
            first = asyncio.create_task(files.append_file("d/a.txt", "two\n"))
            await waiting(files, 1)
            later = asyncio.create_task(files.write_multiple([{"path": "d/c.txt", "content": "c"}], abort=take_away))
            await waiting(files, 2)
        await asyncio.gather(first, later)
        changes = [(each.operation.value, each.path) for each in (await files.changes(position)).records]
    assert changes[0] == ("delete_directory", "d")
    assert set(changes[1:]) == {("create_directory", "d"), ("create", "d/a.txt"), ("create", "d/c.txt")}
    assert (tmp_path / "d/a.txt").read_text() == "two\n"


def call_of(queue: CallQueue) -> TurnCall:
    made = TurnCall(TurnTask(lambda: None), (), path="a.txt", owner="me", timeout_seconds=10)
    made.wait(lambda: queue.withdraw(made))
    return made


async def test_a_new_call_does_not_wait_for_one_that_has_stepped_aside() -> None:
    pool, due = WorkerPool(1), asyncio.get_running_loop().create_future()

    def serve() -> None:
        if queue.is_due():
            due.get_loop().call_soon_threadsafe(due.set_result, queue.due())

    queue = CallQueue(lambda: pool.put(serve), lambda: "somebody")
    aside, later = call_of(queue), call_of(queue)
    aside.not_before = time.monotonic() + 40
    queue.add(aside)
    await asyncio.sleep(0.1)
    queue.add(later)
    assert await asyncio.wait_for(due, 20) == [later]
    queue.close()
    pool.close()


async def test_a_call_that_waits_again_after_its_time_is_given_up() -> None:
    queue = CallQueue(lambda: None, lambda: "somebody")
    call = call_of(queue)
    queue.add(call)
    assert queue.claim(call)
    queue.give_up(call)
    again = [call]
    queue.put_back(again)
    call.settle()
    error = await refused("LOCK_TIMEOUT", asyncio.wait_for(call.hop, 10))
    assert "somebody" in error.message
    assert not queue
    assert not again
    queue.close()


async def test_a_call_that_needed_another_turn_is_published_once_although_the_loop_is_late(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=QUIET) as files:
        await files.write_file("a.txt", "ours\n")
        heard: list[Event] = told(files, "file:*")
        program = (tmp_path / "b.txt").open("w")
        program.write("half")
        program.flush()
        async with inside.at_work(files, "elsewhere.txt"):
            move = asyncio.create_task(files.move_file("a.txt", "b.txt"))
            await waiting(files, 1)
            others = [asyncio.create_task(files.write_file(f"{number}.txt", "x")) for number in range(300)]
            await waiting(files, 301)
        gone = threading.Timer(0.02, (tmp_path / "b.txt").unlink)
        gone.start()
        held_until = time.monotonic() + 10
        while inside.is_at_work(files) and time.monotonic() < held_until:
            time.sleep(0.01)  # the loop is late on purpose
        await asyncio.gather(move, *others)
        gone.join()
        program.close()
        numbers = [event.to_dict()["seq"] for event in heard]
        assert numbers == sorted(set(numbers))
        (tmp_path / "b.txt").write_text("ours\nand theirs\n")
        await refused("VERSION_MISMATCH", files.delete_file("b.txt"))


async def test_changes_of_two_processes_are_published_once_each_in_their_order(tmp_path: Path) -> None:
    """Numbers ascend on every bus, whichever process made a change."""
    async with (
        filetools.open(tmp_path, settings=QUIET) as first,
        filetools.open(tmp_path, settings=QUIET) as second,
    ):
        heard = [told(files, "file:*") for files in (first, second)]

        async def work(files: filetools.FileToolsFacade, name: str) -> None:
            mine = files.for_actor(Actor(kind="agent", id=name))
            for number in range(40):
                await mine.append_file("shared.txt", f"{name} {number}\n")

        await asyncio.gather(work(first, "ann"), work(second, "bob"))
        await steps_until(lambda: all(len(events) >= 80 for events in heard))
    for events in heard:
        numbers = [event.to_dict()["seq"] for event in events]
        assert numbers == sorted(set(numbers))
    assert len((tmp_path / "shared.txt").read_text().splitlines()) == 80


async def test_a_forked_child_is_refused(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=QUIET) as files:
        await files.write_file("a.txt", "x")
        child = os.fork()
        if child == 0:
            code = 1
            try:
                files.held_locks()
            except filetools.FileToolsError as exc:
                code = 0 if "forked" in exc.message else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        await files.write_file("a.txt", "y")


async def test_a_thread_that_the_system_refuses_keeps_no_call_from_its_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused_threads: list[str] = []

    def refuse(thread: threading.Thread) -> None:
        refused_threads.append(thread.name)
        raise RuntimeError("can't start new thread")

    async with filetools.open(tmp_path, settings=QUIET) as files:
        await files.write_file("a.txt", "one\n")
        busy, is_over = inside.busy_threads(files)
        monkeypatch.setattr(threading.Thread, "start", refuse)
        write = asyncio.create_task(files.write_file("a.txt", "two\n"))
        await steps_until(lambda: refused_threads)
        is_over.set()
        await asyncio.gather(write, *busy)
    assert (tmp_path / "a.txt").read_text() == "two\n"


async def test_the_first_thread_that_the_system_refuses_fails_one_call_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = WorkerPool(2)
    queue = CallQueue(lambda: pool.put(lambda: served.append(queue.due())), lambda: "somebody")
    served: list[object] = []

    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as refusing:
        refusing.setattr(threading.Thread, "start", refuse)
        with pytest.raises(errors.RateLimitedError, match="threads"):
            queue.add(call_of(queue))
    assert not queue
    later = call_of(queue)
    queue.add(later)
    pool.shutdown()
    assert served == [[later]]
    queue.close()
