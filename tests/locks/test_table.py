"""The locks of one workspace, as the tasks of one process see them."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import re
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from filetools.errors import (
    InternalError,
    InvalidArgumentError,
    LockTimeoutError,
    StateDamagedError,
    WorkspaceGoneError,
)
from filetools.locks.holder import LockInfo
from filetools.locks.stripe import HeldLocks
from filetools.locks.table import LockTable
from tests.support.loops import SteppingLoop, VirtualTimeLoop


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "locks"


@pytest.fixture
async def table(directory: Path) -> AsyncIterator[LockTable]:
    made = LockTable(directory)
    yield made
    await made.aclose()


@pytest.fixture
async def other(directory: Path) -> AsyncIterator[LockTable]:
    made = LockTable(directory)
    yield made
    await made.aclose()


async def steps(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def is_free(table: LockTable, *keys: str) -> bool:
    """Take and give back the locks, with one try."""
    try:
        async with table.hold(keys, path="probe", owner="probe", timeout_seconds=0):
            return True
    except LockTimeoutError:
        return False


def open_count(directory: Path) -> int:
    targets = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            targets.append(os.readlink(f"/proc/self/fd/{number}"))
    return sum(target.startswith(str(directory)) for target in targets)


def key_pair(table: LockTable) -> tuple[str, str]:
    """Return two keys whose locks are taken in this order."""
    first, second = sorted(("a", "b"), key=lambda key: table._stripes.of([key])[0].name)
    return first, second


@pytest.mark.parametrize("seconds", [-1.0, float("nan")])
async def test_impossible_time_is_refused(directory: Path, seconds: float) -> None:
    with pytest.raises(InvalidArgumentError, match="timeout_seconds"):
        LockTable(directory, timeout_seconds=seconds)
    table = LockTable(directory)
    with pytest.raises(InvalidArgumentError, match="timeout_seconds"):
        table.hold(["a"], path="a", owner="alice", timeout_seconds=seconds)
    await table.aclose()


async def test_one_try_refuses_at_once_and_names_the_holder(table: LockTable, other: LockTable) -> None:
    async with table.hold(["a"], path="src/a.py", owner="alice"):
        for asking in (table, other):
            task = asyncio.create_task(is_free(asking, "a"))
            await steps(3)
            assert task.done()
            assert not task.result()
            with pytest.raises(LockTimeoutError) as caught:
                async with asking.hold(["a"], path="./src/a.py", owner="bob", timeout_seconds=0):
                    pass
            assert caught.value.path == "./src/a.py"
            assert caught.value.details["seconds"] == 0
            assert re.fullmatch(rf"alice \(process {os.getpid()}, for \d+\.\d s\)", caught.value.details["holder"])
    assert await is_free(other, "a")


@pytest.mark.parametrize("where", ["turn", "file", "both"])
def test_thirty_seconds_cover_all_waiting_exactly(directory: Path, where: str) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        table, other = LockTable(directory), LockTable(directory)
        turn, file = key_pair(table)
        release = asyncio.Event()

        async def occupy(at: LockTable, key: str, seconds: float) -> None:
            async with at.hold([key], path=key, owner="alice"):
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(release.wait(), seconds)

        async with asyncio.TaskGroup() as group:
            if where != "file":
                group.create_task(occupy(table, turn, 20 if where == "both" else 100))
            if where != "turn":
                group.create_task(occupy(other, file, 100))
            await steps()
            started = loop.time()
            with pytest.raises(LockTimeoutError, match="within 30 s; held by alice"):
                async with table.hold([turn, file], path="a", owner="bob"):
                    pass
            assert 30 <= loop.time() - started <= 30.1
            assert await is_free(table, turn) is (where != "turn")
            release.set()
        assert await is_free(other, turn, file)
        await table.aclose()
        await other.aclose()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(main())


async def test_asking_for_what_the_task_holds_ends_in_time_and_takes_nothing(table: LockTable) -> None:
    async with table.hold(["a"], path="a", owner="alice"):
        with pytest.raises(LockTimeoutError):
            async with table.hold(["b", "a"], path="a", owner="alice", timeout_seconds=0.01):
                pass
        assert await is_free(table, "b")
    assert await is_free(table, "a", "b")


def test_another_event_loop_is_refused(directory: Path) -> None:
    table = LockTable(directory)
    assert asyncio.run(is_free(table, "a"))
    with pytest.raises(InternalError, match="this is another"):
        asyncio.run(is_free(table, "a"))
    asyncio.run(table.aclose())


async def test_holder_is_told_here_and_to_another_table(table: LockTable, other: LockTable) -> None:
    assert not table.is_locked("a")
    async with table.hold(["a"], path="src/a.py", owner="alice") as held:
        for asking in (table, other):
            assert asking.is_locked("a")
            info = asking.lock_info("a")
            assert info is not None
            assert info == LockInfo(path="src/a.py", owner="alice", process_id=os.getpid(), since=info.since)
            assert info.since == pytest.approx(held.acquired_at, abs=0.1)
        assert not other.is_locked("b")
    for asking in (table, other):
        assert asking.lock_info("a") is None
    await table.aclose()
    await other.aclose()
    for gone in (table, other):
        with pytest.raises(WorkspaceGoneError):
            gone.is_locked("a")


async def test_planted_lock_file_fails_the_hold_and_leaves_nothing_locked(
    table: LockTable, directory: Path, tmp_path: Path
) -> None:
    first, second = key_pair(table)
    (directory / table._stripes.of([second])[0].name).symlink_to(tmp_path / "outside")
    with pytest.raises(StateDamagedError, match="a symbolic link"):
        async with table.hold([first, second], path="a", owner="alice"):
            pass
    assert not (tmp_path / "outside").exists()
    assert await is_free(table, first)
    with pytest.raises(StateDamagedError):
        table.is_locked(second)
    (directory / table._stripes.of([second])[0].name).unlink()
    assert await is_free(table, first, second)


async def test_waiter_gets_a_lock_that_excludes_though_the_file_was_deleted(
    table: LockTable, other: LockTable, directory: Path
) -> None:
    asked = asyncio.Event()

    async def wait() -> bool:
        asked.set()
        async with table.hold(["a"], path="a", owner="bob"):
            return not await is_free(other, "a")

    async with table.hold(["a"], path="a", owner="alice"):
        waiting = asyncio.create_task(wait())
        await asked.wait()
        for path in directory.iterdir():
            path.unlink()
    assert await waiting


async def test_removed_folder_is_state_damaged(table: LockTable, directory: Path) -> None:
    assert await is_free(table, "a")
    for path in directory.iterdir():
        path.unlink()
    directory.rmdir()
    with pytest.raises(StateDamagedError, match="was removed"):
        await is_free(table, "a")


async def test_turns_are_strictly_first_come_first_served(table: LockTable) -> None:
    order: list[int] = []

    async def ask(number: int) -> None:
        async with table.hold(["a"], path="a", owner=str(number)):
            order.append(number)
            await steps(number % 3)

    async with table.hold(["a"], path="a", owner="alice"):
        tasks = [asyncio.create_task(ask(number)) for number in range(60)]
        await steps()
        for number in range(0, 60, 7):
            tasks[number].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == [number for number in range(60) if number % 7]


async def test_closing_ends_waiting_for_either_half_and_keeps_what_is_held(
    table: LockTable, other: LockTable, directory: Path
) -> None:
    own, others = key_pair(table)

    async def wait(key: str) -> None:
        with pytest.raises(WorkspaceGoneError, match="it was closed"):
            async with table.hold([key], path=key, owner="bob"):
                pass

    async with table.hold([own], path="a", owner="alice"), other.hold([others], path="b", owner="carol"):
        waiting = [asyncio.create_task(wait(key)) for key in (own, own, others, others)]
        await steps()
        await table.aclose()
        await table.aclose()
        await asyncio.wait_for(asyncio.gather(*waiting), 60)
        assert not await is_free(other, own)
    assert await is_free(other, own)
    with pytest.raises(WorkspaceGoneError):
        await is_free(table, own)
    await other.aclose()
    assert open_count(directory) == 0


async def is_free_later(table: LockTable) -> None:
    async with table.hold(["a"], path="a", owner="bob"):
        pass


async def story(table: LockTable, other: LockTable, victim_started: Callable[[asyncio.Task[None]], None]) -> list[str]:
    """Let one task wait for a turn, then for a file, then work, while another waits behind it; tell who got in."""
    first, second = key_pair(table)
    entered: list[str] = []

    async def visit(at: LockTable, name: str, *keys: str, seconds: float) -> None:
        async with at.hold(keys, path="a", owner=name):
            entered.append(name)
            await asyncio.sleep(seconds)

    occupying = [
        asyncio.create_task(visit(table, "turn", first, seconds=0.004)),
        asyncio.create_task(visit(other, "file", second, seconds=0.009)),
    ]
    await steps(2)
    victim = asyncio.create_task(visit(table, "victim", first, second, seconds=0.002))
    victim_started(victim)
    behind = [
        asyncio.create_task(visit(table, "behind", second, first, seconds=0.0)),
        asyncio.create_task(visit(other, "behind in another table", first, seconds=0.0)),
    ]
    with contextlib.suppress(asyncio.CancelledError):
        await victim
    await asyncio.wait_for(asyncio.gather(*occupying, *behind), 60)
    return entered


@pytest.fixture
def small_heap() -> Iterator[None]:
    """Leave what is there out of collections: in a long session each would take half a second."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("small_heap")
def test_cancelling_at_every_step_loses_no_lock(directory: Path) -> None:
    outcomes: list[bool] = []
    after = 0
    while outcomes[-3:] != [True, True, True]:
        after += 1

        async def main(cancel_after: int) -> bool:
            loop = asyncio.get_running_loop()
            assert isinstance(loop, SteppingLoop)
            table, other = LockTable(directory), LockTable(directory)
            entered = await story(table, other, lambda victim: loop.arm(cancel_after, victim.cancel))
            assert {"turn", "file", "behind", "behind in another table"} <= set(entered)
            for asking in (table, other):
                assert await is_free(asking, "a", "b")
            await table.aclose()
            await other.aclose()
            return loop.steps < loop.chosen

        with asyncio.Runner(loop_factory=SteppingLoop) as runner:
            outcomes.append(runner.run(main(after)))
        gc.collect()
        assert open_count(directory) == 0
    assert after > 20, "the story is too short to be cancelled in the middle"


def test_destroyed_waiter_loses_no_lock(directory: Path) -> None:
    async def main() -> None:
        table = LockTable(directory)
        async with table.hold(["a"], path="a", owner="alice"):
            waiting = table.hold(["a"], path="a", owner="bob").__aenter__()
            waiting.send(None)
            waiting.close()
        assert await is_free(table, "a")
        await table.aclose()

    asyncio.run(main())


async def test_full_disk_does_not_stop_locking(table: LockTable, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await is_free(table, "a")

    def refuse(descriptor: int, content: bytes, offset: int) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.pwrite", refuse)
    async with table.hold(["a"], path="a", owner="alice"):
        assert not await is_free(table, "a")


def in_child(action: Callable[[], bool]) -> bool:
    """Run an action in a forked child and return what it returned."""
    child = os.fork()
    if not child:
        answer = 1
        with contextlib.suppress(BaseException):
            answer = 0 if action() else 1
        os._exit(answer)
    return os.waitpid(child, 0)[1] == 0


def refuses_everything(table: LockTable, held: HeldLocks) -> bool:
    try:
        asyncio.run(is_free(table, "b"))
    except WorkspaceGoneError as error:
        is_refused = "forked" in str(error)
    held.release()
    return is_refused


async def test_forked_child_has_no_locks_and_takes_none_from_its_parent(
    table: LockTable, other: LockTable, directory: Path
) -> None:
    assert await is_free(table, "c")
    async with table.hold(["a"], path="a", owner="alice") as held:
        waiting = asyncio.create_task(is_free_later(table))
        await steps()
        assert in_child(lambda: refuses_everything(table, held))
        assert in_child(lambda: open_count(directory) == 0)
        assert not await is_free(other, "a")
        assert not waiting.done()
    await waiting
    assert await is_free(other, "a")
