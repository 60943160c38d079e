"""The facade for programs without an event loop: every call of the async one, run on the loop of another thread."""

from __future__ import annotations

import gc
import inspect
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal

import filetools
from filetools import BlockingFacade
from filetools.app.fronts import Front
from tests.support.blocking_stub import PLACE, stub
from tests.support.crashing import QUIET, grow
from tests.support.declared import REPOSITORY
from tests.support.people import ALICE


@pytest.fixture
def files(tmp_path: Path) -> Iterator[BlockingFacade]:
    grow(tmp_path, {"a.txt": b"one\ntwo\n"})
    with filetools.open_sync(tmp_path, settings=QUIET) as opened:
        yield opened.for_actor(ALICE)


def refused(code: str, call: Any, *arguments: Any, **options: Any) -> filetools.FileToolsError:
    with pytest.raises(filetools.FileToolsError) as caught:
        call(*arguments, **options)
    assert caught.value.code == code, caught.value
    return caught.value


def loop_threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name.startswith("filetools")]


def test_the_stub_is_what_the_async_classes_say() -> None:
    assert (REPOSITORY / "filetools" / PLACE).read_text(encoding="utf-8") == stub()


def test_every_async_method_has_its_blocking_one() -> None:
    for of, front in Front.fronts.items():
        for name in dir(of):
            member = getattr(of, name)
            if not name.startswith("_") and callable(member):
                method = getattr(front, name)
                assert inspect.signature(method) == inspect.signature(member)
                assert method.__doc__ == member.__doc__
                assert not inspect.iscoroutinefunction(method)
    assert inspect.signature(filetools.open_sync) == inspect.signature(filetools.open)


def test_calls_return_what_the_async_ones_return(files: BlockingFacade, tmp_path: Path) -> None:
    before = files.read_file("a.txt")
    assert before.content == "one\ntwo\n"
    written = files.edit_file(Path("a.txt"), old="two", new="2", expected_version=before.version)
    assert (tmp_path / "a.txt").read_text() == "one\n2\n"
    assert [entry.path for entry in files.list_files().entries] == ["a.txt"]
    assert files.call_tool("read_file", {"path": "a.txt"})["data"]["version"] == written.version
    assert files.actor == ALICE
    assert files.settings.watch is False
    files.undo()
    assert (tmp_path / "a.txt").read_text() == "one\ntwo\n"


def test_errors_are_raised_where_the_call_is(files: BlockingFacade) -> None:
    error = refused("FILE_NOT_FOUND", files.read_file, "none.txt")
    assert isinstance(error, FileNotFoundError)
    with pytest.raises(TypeError):
        files.read_file()  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        files.read_fiel("a.txt")  # type: ignore[attr-defined]


def test_blocks_and_streams(files: BlockingFacade, tmp_path: Path) -> None:
    with files.transaction() as tx:
        tx.write_file("b.txt", "b")
        assert tx.read_file("b.txt").content == "b"
        assert not (tmp_path / "b.txt").exists()
    assert [each.path for each in tx.result.changes] == ["b.txt"]
    with suppress(ZeroDivisionError), files.transaction() as tx:
        tx.write_file("c.txt", "c")
        _ = 1 // 0
    assert not (tmp_path / "c.txt").exists()
    with files.open_file("a.txt") as file:
        assert (file.path, file.size, b"".join(file.chunks(4))) == ("a.txt", 8, b"two\n")
    with files.upload() as upload:
        upload.write(b"x" * 3)
        files.replace_file("d.bin", upload.content())
        assert upload.size == 3
    assert list(files.stream_file("d.bin")) == [b"xxx"]
    with pytest.raises(FileNotFoundError):
        list(files.stream_file("none"))
    with pytest.raises(FileNotFoundError), files.open_file("none"):
        pass


def test_buffers_and_the_bus(files: BlockingFacade) -> None:
    ann = files.for_actor(filetools.Actor(kind="editor", id="ann"))
    opened = ann.buffers.open("a.txt")
    changed = ann.buffers.change(opened.handle, buffer_version=opened.buffer_version, text="typed\n")
    assert files.read_file("a.txt").content == "typed\n"
    ann.buffers.save(opened.handle, buffer_version=changed.buffer_version)
    heard = threading.Event()
    files.bus.subscribe("file:created", lambda event: heard.set(), once=True)
    files.write_file("e.txt", "")
    assert heard.wait(30)


def test_a_listener_may_call_the_workspace(files: BlockingFacade) -> None:
    texts: list[str] = []
    enough = threading.Event()

    def read(event: filetools.events.FileModified) -> None:
        texts.append(files.read_file(event.path).content)
        if len(texts) == 2:
            enough.set()

    subscription = files.on("file:modified", read)
    files.write_file("a.txt", "1")
    while not texts:
        assert not enough.wait(0.01)
    files.write_file("a.txt", "2")
    assert enough.wait(30)
    assert texts == ["1", "2"]
    subscription.unsubscribe()
    assert not subscription.is_active
    refused("INVALID_ARGUMENT", files.on, "file:changed", print)


def test_an_approver_may_take_its_time_and_look(tmp_path: Path) -> None:
    grow(tmp_path, {"a.txt": b"a"})
    with filetools.open_sync(tmp_path, permissions="ask", settings=QUIET) as files:

        def approve(request: filetools.ApprovalRequest) -> filetools.ApprovalAnswer:
            return "allow" if files.exists(request.path) else "deny"

        attendance = files.answer_approvals(approve)
        files.write_file("a.txt", "b", on_stale="merge")
        refused("APPROVAL_DENIED", files.write_file, "b.txt", "b")
        attendance.close()
        refused("APPROVAL_REQUIRED", files.write_file, "a.txt", "c")


def test_a_callback_on_the_loop_is_told_so_and_does_not_hang(files: BlockingFacade) -> None:
    errors: list[filetools.FileToolsError] = []

    def progress(_percent: int) -> None:
        with pytest.raises(filetools.FileToolsError) as caught:
            files.read_file("a.txt")
        errors.append(caught.value)

    files.write_multiple([{"path": "b.txt", "content": "1"}], progress=progress)
    assert errors
    assert {error.code for error in errors} == {"INTERNAL"}


def test_following_yields_what_comes_and_ends_with_the_workspace(tmp_path: Path) -> None:
    found: list[str] = []
    with filetools.open_sync(tmp_path, settings=QUIET) as files:
        since = files.position()

        def follow() -> None:
            found.extend(record.path for record in files.follow(since))

        thread = threading.Thread(target=follow)
        thread.start()
        files.write_file("a.txt", "1")
        for record in files.follow(since):
            assert record.path == "a.txt"
            break
        gc.collect()
    thread.join(30)
    assert not thread.is_alive()
    assert found in (["a.txt"], [])  # it may not have begun before the end


def test_after_the_block_calls_are_refused_and_no_thread_is_left(tmp_path: Path) -> None:
    before = loop_threads()
    opening = filetools.open_sync(tmp_path, settings=QUIET)
    with opening as files:
        subscription, attendance = files.on("file:*", print), files.attend_approvals()
        files.write_file("a.txt", "1")
    refused("WORKSPACE_GONE", files.read_file, "a.txt")
    subscription.unsubscribe()
    attendance.close()
    assert [name for name in loop_threads() if name == "filetools loop"] == [
        name for name in before if name == "filetools loop"
    ]
    refused("INVALID_ARGUMENT", opening.__enter__)


def test_what_cannot_be_opened_is_refused_and_leaves_no_thread(tmp_path: Path) -> None:
    refused("INVALID_ARGUMENT", filetools.open_sync, tmp_path, mirror=tmp_path)
    with pytest.raises(filetools.FileToolsError), filetools.open_sync(tmp_path / "none"):
        pass
    with pytest.raises(filetools.FileToolsError), filetools.open_sync(tmp_path, settings={"bogus": 1}):
        pass
    assert "filetools loop" not in loop_threads()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_after_a_fork_a_call_is_refused_and_does_not_hang(tmp_path: Path) -> None:
    program = f"""
import os, sys, filetools
with filetools.open_sync({str(tmp_path)!r}) as files:
    child = os.fork()
    if not child:
        try:
            files.exists("a")
        except filetools.FileToolsError as error:
            os._exit(7 if "fork" in error.message else 8)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, timeout=60)


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
def test_an_interrupt_ends_a_call_that_waits(tmp_path: Path) -> None:
    program = f"""
import filetools, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has its background jobs ignore it
with filetools.open_sync({str(tmp_path)!r}) as files:
    files.write_file("a.txt", "1")
    for _ in range(3):
        try:
            print("ready", flush=True)
            for number, record in enumerate(files.follow(files.position())):
                pass
        except KeyboardInterrupt:
            print(files.read_file("a.txt").content, flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            for _ in range(3):  # some in the first instant of a call, before its task has taken a step
                assert child.stdout.readline() == "ready\n"
                child.send_signal(signal.SIGINT)
                assert child.stdout.readline() == "1\n"
            assert child.wait(timeout=60) == 0
        finally:
            child.kill()


def test_an_interrupt_while_a_call_is_handed_to_the_loop_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hand_over = BlockingPortal.start_task_soon

    def interrupted(portal: BlockingPortal, *work: Any) -> None:
        monkeypatch.undo()
        hand_over(portal, *work)
        raise KeyboardInterrupt

    with filetools.open_sync(tmp_path) as files:
        changes = iter(files.follow(files.position()))
        monkeypatch.setattr(BlockingPortal, "start_task_soon", interrupted)
        with pytest.raises(KeyboardInterrupt):
            next(changes)
        assert files.write_file("a.txt", "1").created


def test_without_its_extra_the_error_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anyio", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'agent-filetools\[sync\]'"):
        filetools.open_sync(".")
