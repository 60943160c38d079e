from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from filetools.errors import AccessDeniedError
from filetools.models.records import Actor
from filetools.tools.call_log import CallLog, CallRecord
from filetools.tools.tool import AbortSignal


def record(name: str) -> CallRecord:
    return CallRecord(id=name, tool="read_file", arguments={"path": "a"}, started=1.5)


def test_the_log_keeps_the_latest_calls_that_have_ended_and_all_that_run() -> None:
    log = CallLog(limit=2)
    numbers = {name: log.begin(record(name), AbortSignal()) for name in ("1", "2", "3", "4")}
    for name in ("3", "1", "4"):
        log.finish(numbers[name], status="completed")
    assert [(each.id, each.status) for each in log] == [("1", "completed"), ("4", "completed"), ("2", "running")]


def test_the_log_is_exported_as_json() -> None:
    log = CallLog()
    number = log.begin(record("1"), AbortSignal())
    log.begin(record("2"), AbortSignal())
    log.finish(number, status="failed", duration_ms=3, approval="denied", error_code="APPROVAL_DENIED", attempts=2)
    assert json.loads(log.to_json()) == [
        {
            "id": "1",
            "tool": "read_file",
            "arguments": {"path": "a"},
            "status": "failed",
            "started": 1.5,
            "duration_ms": 3,
            "approval": "denied",
            "error_code": "APPROVAL_DENIED",
            "attempts": 2,
        },
        {
            "id": "2",
            "tool": "read_file",
            "arguments": {"path": "a"},
            "status": "running",
            "started": 1.5,
            "attempts": 1,
        },
    ]


ALICE = Actor(kind="agent", id="alice", session="1")


def running(log: CallLog, name: str, actor: Actor) -> AbortSignal:
    signal = AbortSignal()
    log.begin(CallRecord(id=name, tool="read_file", arguments={}, started=1.5, actor=actor), signal)
    return signal


def test_an_agent_cannot_stop_the_calls_of_another_session() -> None:
    log = CallLog()
    signal = running(log, "1", ALICE)
    for by in (replace(ALICE, id="bob"), replace(ALICE, session="2"), Actor(kind="external", id="alice", session="1")):
        with pytest.raises(AccessDeniedError):
            log.abort("1", by)
    assert not signal.is_aborted()
    assert log.abort("2", ALICE) == 0
    assert log.abort("1", ALICE) == 1
    assert signal.is_aborted()


def test_a_person_stops_any_call_and_whoever_closes_stops_all() -> None:
    log = CallLog(limit=1)
    first, second = running(log, "1", ALICE), running(log, "2", ALICE)
    assert [each.id for each in log.running()] == ["1", "2"]  # a call that runs is not forgotten
    assert log.abort("1", Actor(kind="editor", id="ann")) == 1
    assert (first.is_aborted(), second.is_aborted()) == (True, False)
    log.abort_all()
    assert second.is_aborted()
