from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.errors import (
    ApprovalDeniedError,
    ApprovalRequiredError,
    CallTimeoutError,
    FileToolsError,
    NetworkError,
    PathNotFoundError,
    RateLimitedError,
)
from filetools.events.types import Event, ToolCompleted, ToolProgress, ToolStarted
from filetools.facade.facade import FileToolsFacade
from filetools.locks.deadline import current_deadline, uncounted
from filetools.tools import registry as call
from filetools.tools.arguments import NoParameters
from filetools.tools.registry import ToolRegistry
from filetools.tools.tool import AbortSignal, ToolContext
from tests.support.opened import steps_until
from tests.support.people import ALICE, BOB
from tests.support.probe_tools import Handler, probe

ACTOR = ALICE
BEFORE = {"a.txt": b"one\ntwo\n", "docs/b.txt": b"b"}
SHORT_SECONDS = 0.05


def failing(*errors: BaseException) -> Handler:
    left = list(errors)

    async def handler(context: ToolContext, given: NoParameters) -> Mapping[str, Any]:
        if left:
            raise left.pop(0)
        return {"done": True}

    return handler


@pytest.mark.parametrize(
    "error", [ValueError("/etc/shadow"), OSError(2, "No such file", "/etc/shadow"), RecursionError(), TimeoutError("x")]
)
async def test_an_unexpected_error_becomes_internal_and_tells_no_path(
    files: FileToolsFacade, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    envelope = await ToolRegistry(files, [probe(failing(error))]).call("probe", {}, tool_call_id="c1")
    assert envelope == {
        "success": False,
        "error": "probe failed unexpectedly; the log says why",
        "error_code": "INTERNAL",
        "retryable": False,
        "suggested_action": "Report this with its message: it is a defect of filetools.",
        "details": {"call_id": "c1"},
        "attempts": 1,
    }
    [record] = caplog.records
    assert record.levelno == logging.ERROR
    assert record.exc_info
    assert record.exc_info[1] is error


class Stuck:
    """A handler that works until it is stopped, and keeps whether it could clean up."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.cleaned_up = False

    async def __call__(self, context: ToolContext, given: NoParameters) -> Mapping[str, Any]:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            self.cleaned_up = True
        return {}


async def test_a_call_over_its_time_is_ended_and_cleaned_up(files: FileToolsFacade) -> None:
    stuck = Stuck()
    registry = ToolRegistry(files, [probe(stuck, time_limit_seconds=SHORT_SECONDS)])
    envelope = await registry.call("probe", {})
    assert (envelope["error_code"], envelope["retryable"], stuck.cleaned_up) == ("TIMEOUT", False, True)
    assert "check before repeating" in envelope["suggested_action"]


async def test_the_limit_of_the_settings_holds_where_a_tool_has_none(tmp_path: Path) -> None:
    settings = {"tool_timeout_seconds": SHORT_SECONDS, "durability": "relaxed", "watch": False}
    async with filetools.open(tmp_path, settings=settings) as files:
        envelope = await ToolRegistry(files, [probe(Stuck(), effect="read")]).call("probe", {})
    assert (envelope["error_code"], envelope["suggested_action"]) == ("TIMEOUT", CallTimeoutError.action)


async def test_waiting_for_others_is_not_counted(files: FileToolsFacade, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()

    async def handler(context: ToolContext, given: NoParameters) -> Mapping[str, Any]:
        with uncounted():
            later = loop.time() + 100
            monkeypatch.setattr(loop, "time", lambda: later)
        await asyncio.sleep(0)
        return {"done": True}

    envelope = await ToolRegistry(files, [probe(handler, time_limit_seconds=50)]).call("probe", {})
    monkeypatch.undo()
    assert envelope["success"], envelope


async def test_an_aborted_call_is_ended_and_cleaned_up(files: FileToolsFacade) -> None:
    stuck, signal = Stuck(), AbortSignal()
    running = asyncio.create_task(ToolRegistry(files, [probe(stuck)]).call("probe", {}, abort=signal))
    await stuck.begun.wait()
    signal.abort()
    envelope = await running
    assert (envelope["error_code"], stuck.cleaned_up) == ("ABORTED", True)


async def test_a_call_that_is_aborted_before_it_begins_does_nothing(files: FileToolsFacade) -> None:
    signal = AbortSignal()
    signal.abort()
    envelope = await ToolRegistry(files).call("delete_file", {"path": "a.txt"}, abort=signal)
    assert (envelope["error_code"], await files.exists("a.txt")) == ("ABORTED", True)


async def test_an_abort_at_the_moment_at_which_a_call_is_told_to_begin_ends_it(files: FileToolsFacade) -> None:
    stuck, signal = Stuck(), AbortSignal()
    files.bus.subscribe("agent:tool:started", lambda event: signal.abort())
    async with asyncio.timeout(60):
        envelope = await ToolRegistry(files, [probe(stuck)]).call("probe", {}, abort=signal)
    assert (envelope["error_code"], stuck.begun.is_set()) == ("ABORTED", False)


async def test_a_handler_that_finishes_in_spite_of_an_abort_is_believed(files: FileToolsFacade) -> None:
    signal = AbortSignal()

    async def handler(context: ToolContext, given: NoParameters) -> Mapping[str, Any]:
        signal.abort()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return {"committed": True}
        return {}

    envelope = await ToolRegistry(files, [probe(handler)]).call("probe", {}, abort=signal)
    assert envelope == {"success": True, "data": {"committed": True}}


async def test_a_cancelled_caller_is_cancelled_after_the_handler_has_ended(
    files: FileToolsFacade, events: list[Event]
) -> None:
    stuck = Stuck()
    registry = ToolRegistry(files, [probe(stuck)])
    running = asyncio.create_task(registry.call("probe", {}))
    await stuck.begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert stuck.cleaned_up
    assert [record.status for record in registry.log] == ["cancelled"]
    assert [event.name for event in events] == ["agent:tool:started", "agent:tool:failed"]


@pytest.mark.parametrize("error", [NetworkError("down"), RateLimitedError("Too many open files")])
async def test_a_shortage_that_may_pass_is_waited_for(
    files: FileToolsFacade, monkeypatch: pytest.MonkeyPatch, error: FileToolsError
) -> None:
    monkeypatch.setattr(call, "PAUSES_SECONDS", (0, 0))
    registry = ToolRegistry(files, [probe(failing(error, error))])
    assert (await registry.call("probe", {}))["success"]
    envelope = await ToolRegistry(files, [probe(failing(*[error] * 9))], log=registry.log).call("probe", {})
    assert (envelope["error_code"], envelope["attempts"], envelope["retryable"]) == (error.code, 3, True)
    assert [record.attempts for record in registry.log] == [3, 3]


async def test_events_tell_of_a_call_from_begin_to_end(files: FileToolsFacade, events: list[Event]) -> None:
    await ToolRegistry(files).call("read_file", {"file_path": "a.txt"}, tool_call_id="c1")
    started, completed = events
    assert isinstance(started, ToolStarted)
    assert isinstance(completed, ToolCompleted)
    assert (started.tool_name, started.tool_call_id, started.path) == ("read_file", "c1", "a.txt")
    assert started.arguments == {"file_path": "a.txt"}
    assert completed.result is not None
    assert completed.result["content"] == "<8 characters>"
    assert completed.duration_ms is not None


async def test_progress_reaches_bus_and_callback(files: FileToolsFacade, events: list[Event]) -> None:
    told: list[tuple[int, int | None, str | None]] = []
    await ToolRegistry(files).call(
        "read_multiple", {"paths": ["a.txt", "b"]}, tool_call_id="c1", progress=lambda *now: told.append(now)
    )
    await steps_until(lambda: len(told) == 3)  # the worker reports the end beside the result
    assert told == [(0, 100, None), (50, 100, None), (100, 100, None)]
    assert [event for event in events if isinstance(event, ToolProgress)] == [
        ToolProgress(tool_call_id="c1", current=current, total=100) for current in (0, 50, 100)
    ]


async def test_a_progress_callback_that_raises_does_not_fail_the_call(files: FileToolsFacade) -> None:
    def progress(current: int, total: int | None, message: str | None) -> None:
        raise RuntimeError

    assert (await ToolRegistry(files).call("read_multiple", {"paths": ["a.txt"]}, progress=progress))["success"]


@pytest.mark.parametrize(
    ("handler", "status", "approval", "code"),
    [
        (failing(ApprovalDeniedError("probe", "a")), "failed", "denied", "APPROVAL_DENIED"),
        (failing(ApprovalRequiredError("probe", "a", "x")), "failed", "required", "APPROVAL_REQUIRED"),
        (failing(PathNotFoundError("a")), "failed", None, "FILE_NOT_FOUND"),
        (failing(), "completed", None, None),
    ],
)
async def test_the_log_says_how_a_call_ended(
    files: FileToolsFacade, handler: Handler, status: str, approval: str | None, code: str | None
) -> None:
    registry = ToolRegistry(files, [probe(handler)])
    await registry.call("probe", {})
    [record] = registry.log
    assert (record.tool, record.status, record.approval, record.error_code) == ("probe", status, approval, code)


async def test_the_log_says_what_a_person_allowed(files: FileToolsFacade) -> None:
    async def handler(context: ToolContext, given: NoParameters) -> Mapping[str, Any]:
        deadline = current_deadline()
        assert deadline is not None
        deadline.note_approval("allow_for_run")
        return {}

    registry = ToolRegistry(files, [probe(handler)])
    await registry.call("probe", {})
    assert [record.approval for record in registry.log] == ["allow_for_run"]
    assert current_deadline() is None


async def test_unknown_tools_and_bad_arguments_are_logged_too(files: FileToolsFacade) -> None:
    registry = ToolRegistry(files)
    await registry.call("nope", {"password": "hunter2"})
    await registry.call("read_file", {})
    assert [(record.tool, record.error_code) for record in registry.log] == [
        ("nope", "UNKNOWN_TOOL"),
        ("read_file", "INVALID_ARGUMENT"),
    ]
    assert "hunter2" not in registry.log.to_json()


async def test_calls_at_once_do_not_mix(files: FileToolsFacade) -> None:
    registry = ToolRegistry(files)
    names = [f"f{number}" for number in range(50)]
    writes = [registry.call("write_file", {"path": name, "content": name}, tool_call_id=name) for name in names]
    envelopes = await asyncio.gather(*writes)
    assert [envelope["data"]["path"] for envelope in envelopes] == names
    assert {change.actor.call for change in await files.latest_changes(100)} == set(names)


@pytest.mark.parametrize("error", [None, PathNotFoundError("a.txt")])
async def test_success_and_failure_tell_which_known_files_others_have_changed(
    files: FileToolsFacade, error: FileToolsError | None
) -> None:
    registry = ToolRegistry(files, [probe(failing(*([] if error is None else [error])))])
    for path in ("a.txt", "docs/b.txt"):
        await files.read_file(path)
    assert "changed_since_read" not in await registry.call("unknown", {})
    written = await files.for_actor(BOB).write_file("a.txt", "new")
    await files.for_actor(BOB).delete_file("docs/b.txt")
    envelope = await registry.call("probe", {})
    assert envelope["success"] is (error is None)
    bob = {"kind": "agent", "id": "bob", "session": "s1"}
    assert envelope["changed_since_read"] == [
        {"path": "a.txt", "by": bob, "version": written.version},
        {"path": "docs/b.txt", "by": bob, "deleted": True},
    ]
    assert "changed_since_read" not in await registry.call("probe", {})


async def test_of_many_changed_files_the_last_20_are_told_and_the_rest_counted(files: FileToolsFacade) -> None:
    paths = [f"{number:02}.txt" for number in range(27)]
    await files.write_multiple([{"path": path, "content": "old"} for path in paths])
    await files.read_multiple(paths)
    await files.for_actor(BOB).write_multiple([{"path": path, "content": "new"} for path in paths])
    envelope = await ToolRegistry(files, [probe(failing())]).call("probe", {})
    assert [one["path"] for one in envelope["changed_since_read"]] == paths[7:]
    assert envelope["changed_since_read_more"] == 7
