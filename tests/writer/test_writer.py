"""What the writer promises its callers, those that it refuses first."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import pytest

from filetools.content.version import version_of
from filetools.errors import (
    AccessDeniedError,
    DirectoryNotEmptyError,
    DiskFullError,
    FileBusyError,
    FileToolsError,
    InternalError,
    LockTimeoutError,
    PathExistsError,
    StateDamagedError,
    WorkspaceGoneError,
)
from filetools.journal.contents import version_from
from filetools.journal.core.log import LogRecord
from filetools.models.records import Operation
from filetools.writer import writer as writing
from filetools.writer.operations import Call, Decided, MakeFolder, Put, Remove, RemoveFolder, Seen, Want
from filetools.writer.writer import Writer
from tests.support import inside
from tests.support.core import ALICE, Core, at, close_state, open_state, opened_core
from tests.support.core_crashes import opened
from tests.support.core_worker import increment
from tests.support.dose import dose
from tests.support.faulty import Plan
from tests.support.forked import forked
from tests.support.mounts import mounted
from tests.support.watching import until


@asynccontextmanager
async def held(core: Core) -> AsyncIterator[None]:
    """Keep the writer in a turn, so that calls collect."""
    is_in, may_go = threading.Event(), threading.Event()

    def stay() -> None:
        is_in.set()
        may_go.wait(60)

    core.writer.submit(stay)
    await asyncio.to_thread(is_in.wait)
    try:
        yield
    finally:
        may_go.set()


def put(path: str, text: str) -> Put:
    return Put(path=at(path), content=text.encode())


# -- refusals ----------------------------------------------------------------------------------------------------------


async def test_a_call_that_waits_too_long_names_the_process_that_is_in_a_turn(tmp_path: Path) -> None:
    async with opened_core(tmp_path) as core:
        with forked("tests.support.core_worker", "hold", tmp_path) as other:
            assert other.line() == "in turn\n"
            other.send_signal(signal.SIGSTOP)
            wait = Call(
                actor=ALICE, wants=[Want(path=at("a"))], decide=lambda _: Decided(operations=[put("a", "late")])
            )
            with pytest.raises(LockTimeoutError, match=f"process {other.pid}"):
                await core.writer.run(wait, timeout_seconds=0.05)
            counted = asyncio.ensure_future(increment(core))
            other.send_signal(signal.SIGCONT)
            other.ask("go on")
            assert other.line() == "done\n"
            await counted
        assert (tmp_path / "counter").read_text() == "2"
        assert not (tmp_path / "a").exists()
        await until(lambda: [each.number for each in core.heard] == [1, 2])


async def test_a_call_that_is_cancelled_before_its_turn_is_dropped(tmp_path: Path) -> None:
    async with opened_core(tmp_path) as core:
        async with held(core):
            call = asyncio.ensure_future(core.write("a", "text"))
            await asyncio.sleep(0)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
        await core.write("b", "text")
        assert not (tmp_path / "a").exists()


async def test_a_call_that_is_cancelled_in_its_turn_is_finished_and_published(tmp_path: Path) -> None:
    is_in, may_go = threading.Event(), threading.Event()

    def decide(_seen: Seen) -> Decided:
        is_in.set()
        may_go.wait(60)
        return Decided(operations=[put("a", "text")])

    async with opened_core(tmp_path) as core:
        call = asyncio.ensure_future(core.decide(decide, Want(path=at("a"))))
        await asyncio.to_thread(is_in.wait)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        may_go.set()
        await until(lambda: [each.path for each in core.heard] == ["a"])
        assert (tmp_path / "a").read_text() == "text"


async def test_a_busy_call_that_is_cancelled_is_not_tried_again(tmp_path: Path) -> None:
    async with opened_core(tmp_path) as core:
        await core.write("a", "text")
        with (tmp_path / "a").open("r+") as program:
            program.write("half")
            program.flush()
            call = asyncio.ensure_future(core.write("a", "new"))
            await core.write("b", "text")
            call.cancel()
            await asyncio.wait([call])
        await core.write("c", "text")
        await core.write("d", "text")
        assert (tmp_path / "a").read_text() == "half"


async def test_a_refusal_ends_that_call_alone(tmp_path: Path) -> None:
    def refuse(_seen: Seen) -> Decided:
        raise PathExistsError("b")

    async with opened_core(tmp_path) as core:
        async with held(core):
            calls = [core.write("a", "text"), core.decide(refuse, Want(path=at("b"))), core.write("c", "text")]
            tasks = [asyncio.ensure_future(call) for call in calls]
            await asyncio.sleep(0)
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert [isinstance(each, PathExistsError) for each in done] == [False, True, False]
        assert sorted(place.name for place in tmp_path.glob("[a-z]")) == ["a", "c"]


async def test_a_file_that_a_program_keeps_writing_is_busy_and_others_do_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "BUSY_SECONDS", 0.1)
    async with opened_core(tmp_path) as core:
        await core.write("a", "text")
        with (tmp_path / "a").open("r+") as program:
            program.write("half")
            program.flush()
            call = asyncio.ensure_future(core.write("a", "new"))
            await core.write("b", "text")
            assert not call.done()
            with pytest.raises(FileBusyError):
                await call
        assert (tmp_path / "a").read_text() == "half"


async def test_a_file_that_a_program_stops_writing_is_written_then(tmp_path: Path) -> None:
    async with opened_core(tmp_path) as core:
        await core.write("a", "text")
        with (tmp_path / "a").open("r+") as program:
            program.write("half")
            program.flush()
            call = asyncio.ensure_future(core.write("a", "new"))
            await core.write("b", "text")
        done = await call
        assert (tmp_path / "a").read_text() == "new"
        assert done.records[0].before == bytes.fromhex(version_of(b"half").removeprefix("sha256:"))


async def test_a_full_database_refuses_the_call_that_does_not_fit_and_heals(tmp_path: Path) -> None:
    async with opened_core(tmp_path) as core:
        await core.write("a", "text")
        limits: list[int] = []

        async def limit(pages: int) -> None:
            def set_limit() -> None:
                core.state.database.connection.execute(f"PRAGMA max_page_count = {pages}")
                limits.append(pages)

            core.writer.submit(set_limit)
            await until(lambda: pages in limits)

        await limit(1)  # as many as there are
        async with held(core):
            texts = {"b": "small", "a": "x" * 100_000, "c": "small"}
            tasks = [asyncio.ensure_future(core.write(path, text)) for path, text in texts.items()]
            await asyncio.sleep(0)
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert [isinstance(each, DiskFullError) for each in done] == [False, True, False]
        assert (tmp_path / "a").read_text() == "text"
        await limit(1_000_000)
        await core.write("a", "more")
        assert [each.path for each in core.heard] == ["a", "b", "c", "a"]
        assert (tmp_path / "a").read_text() == "more"


@pytest.mark.parametrize(("gone", "error"), [(".", WorkspaceGoneError), (".filetools/state", StateDamagedError)])
async def test_calls_are_refused_once_the_root_or_its_state_is_gone(
    gone: str, error: type[FileToolsError], tmp_path: Path
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    async with opened_core(root) as core:
        await core.write("a", "text")
        shutil.rmtree(root / gone)
        for _ in range(2):
            with pytest.raises((error, StateDamagedError)):
                await core.write("a", "new")


async def test_a_read_only_folder_refuses_calls_and_a_read_only_root_its_opening(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    root = tmp_path / "root"
    root.mkdir()
    with mounted(root / "d", "--bind", tmp_path / "other", read_only=True):
        async with opened_core(root) as core:
            with pytest.raises(AccessDeniedError):
                await core.write("d/a", "text")
            await core.write("a", "text")
            assert [each.path for each in core.heard] == ["a"]
    with mounted(tmp_path / "again", "--bind", root, read_only=True), pytest.raises(AccessDeniedError):
        open_state(tmp_path / "again")


async def test_a_forked_child_is_refused_and_harms_nobody(tmp_path: Path) -> None:
    async with opened_core(tmp_path) as core:
        await core.write("a", "text")
        child = os.fork()
        if child == 0:
            try:
                loop = asyncio.new_event_loop()
                inside.leave_running_loop()
                loop.run_until_complete(core.write("a", "child"))
            except InternalError:
                os._exit(7)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        await core.write("b", "text")
        assert (tmp_path / "a").read_text() == "text"


async def test_an_empty_folder_stays_if_a_program_puts_something_into_it_at_that_instant(tmp_path: Path) -> None:
    plan = Plan(acts={"remove_empty_directory": lambda: (tmp_path / "d/new").write_text("a program's")})
    state = opened(tmp_path, plan)
    core = Core(tmp_path, state, Writer(state))
    core.writer.start()
    await core.do(MakeFolder(path=at("d")))
    with pytest.raises(DirectoryNotEmptyError):
        await core.do(RemoveFolder(path=at("d")))
    assert core.writer.close()
    assert (tmp_path / "d/new").read_text() == "a program's"
    assert [(each.kind, each.path, each.origin) for each in state.log.after(1)] == [
        (Operation.DELETE_DIRECTORY, "d", "call"),
        (Operation.CREATE_DIRECTORY, "d", "set_back"),
    ]
    close_state(state)


# -- turns -------------------------------------------------------------------------------------------------------------


async def test_64_calls_that_wait_are_one_turn_and_the_next_begins_another(tmp_path: Path) -> None:
    plan = Plan(is_armed=False)
    state = opened(tmp_path, plan)
    core = Core(tmp_path, state, Writer(state))
    core.writer.start()
    await core.write("first", "text")
    async with held(core):
        plan.is_armed = True
        tasks = [asyncio.ensure_future(core.write(f"{number}", "text")) for number in range(65)]
        await asyncio.sleep(0)
    done = await asyncio.gather(*tasks)
    assert core.writer.close()
    exchanges = [number for number, call in enumerate(plan.calls) if call.method == "Prepared.exchange"]
    commits = [number for number, call in enumerate(plan.calls) if call.method == "committed"]
    assert sum(commits[0] < exchange < commits[1] for exchange in exchanges) == 64
    assert [each.records[0].number for each in done] == list(range(2, 67))
    close_state(state)


async def test_calls_on_one_path_happen_in_their_order(tmp_path: Path) -> None:
    async with opened_core(tmp_path) as core:
        async with held(core):
            tasks = [asyncio.ensure_future(core.write("a", f"{number}")) for number in range(5)]
            await asyncio.sleep(0)
        await asyncio.gather(*tasks)
        texts = [version_of(f"{number}".encode()) for number in range(5)]
        assert [version_from(each.after) for each in core.heard] == texts
        assert (tmp_path / "a").read_text() == "4"


async def test_what_a_program_writes_to_the_old_file_becomes_a_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("filetools.writer.cleanup.LIMBO_PAUSE_SECONDS", 0.01)
    async with opened_core(tmp_path) as core:
        await core.write("a", "text")
        with (tmp_path / "a").open("a") as program:
            await core.write("a", "new")
            program.write(", and more")
        await until(lambda: len(core.heard) == 4)
        late, again = core.heard[2:]
        assert (late.origin, late.path, version_from(late.after)) == ("displaced", "a", version_of(b"text, and more"))
        assert (again.before, version_from(again.after)) == (late.after, version_of(b"new"))
        assert core.content(version_of(b"text, and more")) == b"text, and more"
        await until(lambda: not list((tmp_path / ".filetools/state/limbo").iterdir()))
        assert (tmp_path / "a").read_text() == "new"


async def test_what_a_program_writes_to_a_removed_file_becomes_a_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("filetools.writer.cleanup.LIMBO_PAUSE_SECONDS", 0.01)
    async with opened_core(tmp_path) as core:
        await core.write("a", "text")
        with (tmp_path / "a").open("a") as program:
            await core.do(Remove(path=at("a")))
            program.write(", and more")
        await until(lambda: len(core.heard) == 4)
        assert version_from(core.heard[2].after) == version_of(b"text, and more")
        assert core.heard[3].after is None
        assert not (tmp_path / "a").exists()


# -- listeners and processes -------------------------------------------------------------------------------------------


async def test_a_listener_that_raises_stops_nothing(tmp_path: Path) -> None:
    heard: list[int] = []

    def hear(records: Sequence[LogRecord]) -> None:
        heard.extend(record.number for record in records)
        raise ValueError("planned")

    state = open_state(tmp_path)
    core = Core(tmp_path, state, Writer(state, on_records=hear, published=0))
    core.writer.start()
    await core.write("a", "text")
    await core.write("b", "text")
    assert core.writer.close()
    close_state(state)
    assert heard == [1, 2]


async def test_four_processes_that_increment_a_counter_lose_nothing_and_all_is_heard_once(tmp_path: Path) -> None:
    times = dose(50)
    async with opened_core(tmp_path) as core:
        with ExitStack() as stack:
            arguments = ("increment", tmp_path, str(times))
            others = [stack.enter_context(forked("tests.support.core_worker", *arguments)) for _ in range(3)]
            for other in others:
                assert other.line() == "ready\n"
                other.ask("go")
            for _ in range(times):
                await increment(core)
            for other in others:
                assert await asyncio.to_thread(other.line) == "done\n"
        core.writer.wake()
        await until(lambda: len(core.heard) == 4 * times)
        assert [record.number for record in core.heard] == list(range(1, 4 * times + 1))
        assert (tmp_path / "counter").read_text() == f"{4 * times}"
