from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import pytest

from filetools.errors import (
    ApprovalDeniedError,
    ApprovalRequiredError,
    CallTimeoutError,
    FileToolsError,
    LockTimeoutError,
    NetworkError,
    PathNotFoundError,
    RateLimitedError,
    SyncFailedError,
)
from filetools.events.activity import ToolCompleted, ToolFailed, ToolProgress, ToolStarted
from filetools.events.types import Event
from filetools.models.records import Actor, ChangedFile
from filetools.permissions.call_watch import current_watch, uncounted
from filetools.tools.abort import AbortSignal
from filetools.tools.arguments import NoParameters
from filetools.tools.registry import ToolRegistry
from filetools.tools.tool import Effect, ToolContext
from tests.support.loops import VirtualTimeLoop
from tests.support.memory_files import MemoryFiles
from tests.support.probe_tools import Handler, Pauses, probe

SHORT_SECONDS = 0.05


@pytest.fixture
async def files() -> MemoryFiles:
    return MemoryFiles.of({"a.txt": "text"})


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
    files: MemoryFiles, caplog: pytest.LogCaptureFixture, error: Exception
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


async def test_a_handler_that_returns_nothing_is_a_defect_and_not_a_crash(files: MemoryFiles) -> None:
    async def handler(context: ToolContext, given: NoParameters) -> Mapping[str, Any]:
        return None  # type: ignore[return-value]

    assert (await ToolRegistry(files, [probe(handler)]).call("probe", {}))["error_code"] == "INTERNAL"


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


async def test_a_call_over_its_time_is_ended_and_cleaned_up(files: MemoryFiles) -> None:
    stuck = Stuck()
    registry = ToolRegistry(files, [probe(stuck, time_limit_seconds=SHORT_SECONDS)])
    envelope = await registry.call("probe", {})
    assert (envelope["error_code"], envelope["retryable"], stuck.cleaned_up) == ("TIMEOUT", False, True)
    assert "look before repeating" in envelope["suggested_action"]


async def test_the_limit_of_the_settings_holds_where_a_tool_has_none() -> None:
    files = MemoryFiles.of({}, tool_timeout_seconds=SHORT_SECONDS)
    envelope = await ToolRegistry(files, [probe(Stuck(), effect="read")]).call("probe", {})
    assert (envelope["error_code"], envelope["suggested_action"]) == ("TIMEOUT", CallTimeoutError.action)


async def test_a_warning_comes_before_the_time_is_up(files: MemoryFiles) -> None:
    await ToolRegistry(files, [probe(Stuck(), time_limit_seconds=SHORT_SECONDS)]).call("probe", {})
    [warning] = [event for event in files.events if isinstance(event, ToolProgress)]
    assert warning.message == "probe has used 0.0416667 of its 0.05 seconds"
    assert files.names()[-1] == "agent:tool:failed"


def test_waiting_for_others_is_not_counted(files: MemoryFiles) -> None:
    async def handler(context: ToolContext, given: NoParameters) -> Mapping[str, Any]:
        with uncounted():
            await asyncio.sleep(3 * SHORT_SECONDS)
        return {"done": True}

    async def main() -> None:
        registry = ToolRegistry(files, [probe(handler, time_limit_seconds=SHORT_SECONDS)])
        assert (await registry.call("probe", {}))["success"]

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(main())


async def test_an_aborted_call_is_ended_and_cleaned_up(files: MemoryFiles) -> None:
    stuck, signal = Stuck(), AbortSignal()
    call = asyncio.create_task(ToolRegistry(files, [probe(stuck)]).call("probe", {}, abort=signal))
    await stuck.begun.wait()
    signal.abort()
    envelope = await call
    assert (envelope["error_code"], stuck.cleaned_up) == ("ABORTED", True)


async def test_a_call_that_is_aborted_before_it_begins_does_nothing(files: MemoryFiles) -> None:
    signal = AbortSignal()
    signal.abort()
    envelope = await ToolRegistry(files).call("delete_file", {"path": "a.txt"}, abort=signal)
    assert (envelope["error_code"], files.tree.calls) == ("ABORTED", [])


async def test_an_abort_at_the_moment_at_which_a_call_is_told_to_begin_ends_it(files: MemoryFiles) -> None:
    stuck, signal = Stuck(), AbortSignal()
    files.bus.subscribe("agent:tool:started", lambda event: signal.abort())
    async with asyncio.timeout(60):
        envelope = await ToolRegistry(files, [probe(stuck)]).call("probe", {}, abort=signal)
    assert (envelope["error_code"], stuck.begun.is_set()) == ("ABORTED", False)


async def test_an_abort_after_the_end_changes_nothing(files: MemoryFiles) -> None:
    signal = AbortSignal()
    assert (await ToolRegistry(files).call("exists", {"path": "a.txt"}, abort=signal))["success"]
    signal.abort()


async def test_a_handler_that_finishes_in_spite_of_an_abort_is_believed(files: MemoryFiles) -> None:
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


async def test_a_cancelled_caller_is_cancelled_after_the_handler_has_ended(files: MemoryFiles) -> None:
    stuck = Stuck()
    registry = ToolRegistry(files, [probe(stuck)])
    call = asyncio.create_task(registry.call("probe", {}))
    await stuck.begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert stuck.cleaned_up
    assert [record.status for record in registry.log] == ["cancelled"]
    assert files.names() == ["agent:tool:started", "agent:tool:failed"]


@pytest.mark.parametrize(
    ("error", "effect"),
    [
        (LockTimeoutError("a", 30), "change"),
        (PathNotFoundError("a"), "read"),
        (SyncFailedError("a", "down"), "change"),
    ],
)
async def test_other_errors_are_the_callers_to_repeat(
    files: MemoryFiles, error: FileToolsError, effect: Effect
) -> None:
    pauses = Pauses()
    registry = ToolRegistry(files, [probe(failing(error), effect=effect)], retries=pauses.policy())
    envelope = await registry.call("probe", {})
    assert (envelope["error_code"], envelope["attempts"], pauses.seconds) == (error.code, 1, [])


async def test_a_strict_mirror_is_not_retried_for_reads() -> None:
    files = MemoryFiles.of({}, mirror_policy="strict")
    tool = probe(failing(SyncFailedError("a", "down")), effect="read")
    assert (await ToolRegistry(files, [tool], retries=Pauses().policy()).call("probe", {}))["attempts"] == 1


async def test_after_three_repetitions_the_call_has_failed(files: MemoryFiles) -> None:
    pauses = Pauses()
    tool = probe(failing(*(NetworkError("down") for _ in range(9))))
    envelope = await ToolRegistry(files, [tool], retries=pauses.policy()).call("probe", {})
    assert (envelope["error_code"], envelope["attempts"]) == ("NETWORK_ERROR", 4)
    assert (envelope["retryable"], envelope["suggested_action"]) == (True, "Wait 5 seconds and retry")
    assert pauses.seconds == [1.15, 2.15, 4.15]
    assert [name for name in files.names() if name.startswith("retry:")] == [
        *["retry:queued", "retry:attempt"] * 3,
        "retry:exhausted",
    ]


@pytest.mark.parametrize(
    ("policy", "error"),
    [
        ("eventual", NetworkError("down")),
        ("eventual", RateLimitedError("slow down")),
        ("strict", SyncFailedError("a", "down")),
    ],
)
async def test_what_may_pass_is_repeated_by_the_layer_itself(policy: str, error: FileToolsError) -> None:
    files = MemoryFiles.of({}, mirror_policy=policy)
    registry = ToolRegistry(files, [probe(failing(error))], retries=Pauses().policy())
    assert (await registry.call("probe", {}))["success"]
    assert files.names()[1:-1] == ["retry:queued", "retry:attempt", "retry:success"]
    assert [record.attempts for record in registry.log] == [2]


async def test_events_tell_of_a_call_from_begin_to_end(files: MemoryFiles) -> None:
    await ToolRegistry(files).call("read_file", {"file_path": "a.txt"}, tool_call_id="c1")
    started, completed = files.events
    assert isinstance(started, ToolStarted)
    assert isinstance(completed, ToolCompleted)
    assert (started.tool_name, started.tool_call_id, started.path) == ("read_file", "c1", "a.txt")
    assert started.arguments == {"file_path": "a.txt"}
    assert completed.result is not None
    assert completed.result["content"] == "<4 characters>"
    assert completed.duration_ms is not None


async def test_the_event_of_a_failure_carries_its_code(files: MemoryFiles) -> None:
    await ToolRegistry(files).call("read_file", {"path": "nope"}, tool_call_id="c1")
    failed = files.events[-1]
    assert isinstance(failed, ToolFailed)
    assert (failed.error_code, failed.retryable, failed.path) == ("FILE_NOT_FOUND", False, "nope")


async def test_a_listener_that_raises_does_not_disturb_the_call(files: MemoryFiles) -> None:
    def listener(event: Event) -> None:
        raise RuntimeError

    files.bus.subscribe("agent:*", listener)
    assert (await ToolRegistry(files).call("exists", {"path": "a.txt"}))["success"]


async def test_progress_reaches_bus_and_callback(files: MemoryFiles) -> None:
    told: list[tuple[int, int | None, str | None]] = []
    await ToolRegistry(files).call(
        "read_multiple", {"paths": ["a.txt", "b"]}, tool_call_id="c1", progress=lambda *now: told.append(now)
    )
    assert told == [(0, 100, None), (50, 100, None), (100, 100, None)]
    assert [event for event in files.events if isinstance(event, ToolProgress)] == [
        ToolProgress(tool_call_id="c1", current=current, total=100) for current in (0, 50, 100)
    ]


async def test_a_progress_callback_that_raises_does_not_fail_the_call(files: MemoryFiles) -> None:
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
    files: MemoryFiles, handler: Handler, status: str, approval: str | None, code: str | None
) -> None:
    registry = ToolRegistry(files, [probe(handler)])
    await registry.call("probe", {})
    [record] = registry.log
    assert (record.tool, record.status, record.approval, record.error_code) == ("probe", status, approval, code)


async def test_the_log_says_what_a_person_allowed(files: MemoryFiles) -> None:
    async def handler(context: ToolContext, given: NoParameters) -> Mapping[str, Any]:
        watch = current_watch()
        assert watch is not None
        watch.note_approval("allow_for_run")
        return {}

    registry = ToolRegistry(files, [probe(handler)])
    await registry.call("probe", {})
    assert [record.approval for record in registry.log] == ["allow_for_run"]
    assert current_watch() is None


async def test_unknown_tools_and_bad_arguments_are_logged_too(files: MemoryFiles) -> None:
    registry = ToolRegistry(files)
    await registry.call("nope", {"password": "hunter2"})
    await registry.call("read_file", {})
    assert [(record.tool, record.error_code) for record in registry.log] == [
        ("nope", "UNKNOWN_TOOL"),
        ("read_file", "INVALID_ARGUMENT"),
    ]
    assert "hunter2" not in registry.log.to_json()


async def test_calls_at_once_do_not_mix(files: MemoryFiles) -> None:
    registry = ToolRegistry(files)
    names = [f"f{number}" for number in range(50)]
    writes = [registry.call("write_file", {"path": name, "content": name}, tool_call_id=name) for name in names]
    envelopes = await asyncio.gather(*writes)
    assert [envelope["data"]["path"] for envelope in envelopes] == names
    assert {actor.call for _, actor in files.tree.calls} == set(names)


def changes_by_bob(count: int) -> list[ChangedFile]:
    bob = Actor(kind="agent", id="bob")
    return [ChangedFile(path=f"{number}.txt", by=bob, version=f"sha256:{number}") for number in range(count)]


@pytest.mark.parametrize("error", [None, PathNotFoundError("a.txt")])
async def test_success_and_failure_tell_which_known_files_others_have_changed(
    files: MemoryFiles, error: FileToolsError | None
) -> None:
    registry = ToolRegistry(files, [probe(failing(*([] if error is None else [error])))])
    assert "changed_since_read" not in await registry.call("unknown", {})
    files.tree.changed = [*changes_by_bob(1), ChangedFile(path="x", by=Actor(kind="external", id="x"), version=None)]
    envelope = await registry.call("probe", {})
    assert envelope["success"] is (error is None)
    assert envelope["changed_since_read"] == [
        {"path": "0.txt", "by": {"kind": "agent", "id": "bob"}, "version": "sha256:0"},
        {"path": "x", "by": {"kind": "external", "id": "x"}, "deleted": True},
    ]
    assert "changed_since_read" not in await registry.call("probe", {})


async def test_of_many_changed_files_the_last_20_are_told_and_the_rest_counted(files: MemoryFiles) -> None:
    files.tree.changed = changes_by_bob(27)
    envelope = await ToolRegistry(files, [probe(failing())]).call("probe", {})
    assert [one["path"] for one in envelope["changed_since_read"]] == [f"{number}.txt" for number in range(7, 27)]
    assert envelope["changed_since_read_more"] == 7
