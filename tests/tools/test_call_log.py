from __future__ import annotations

import json

from filetools.tools import CallLog, CallRecord


def record(name: str) -> CallRecord:
    return CallRecord(id=name, tool="read_file", arguments={"path": "a"}, started=1.5)


def test_the_log_is_bounded_and_a_dropped_call_may_still_finish() -> None:
    log = CallLog(limit=2)
    first = log.begin(record("1"))
    log.begin(record("2"))
    log.begin(record("3"))
    log.finish(first, status="completed")
    assert [each.id for each in log] == ["2", "3"]
    assert len(log) == 2


def test_the_log_is_exported_as_json() -> None:
    log = CallLog()
    number = log.begin(record("1"))
    log.begin(record("2"))
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
