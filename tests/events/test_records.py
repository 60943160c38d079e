"""Which events a journal record becomes."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from filetools.events.types import (
    DirectoryCreated,
    DirectoryDeleted,
    DirectoryRenamed,
    Event,
    FileCreated,
    FileDeleted,
    FileModified,
    FileRenamed,
    from_record,
)
from filetools.models.records import Actor, ChangeRecord, Operation, RecordState

ALICE = Actor(kind="agent", id="alice")
RECORD = ChangeRecord(
    number=5, operation=Operation.CREATE, path="d/a", after="sha256:1", size=3, actor=ALICE, time=1.0,
    state=RecordState.APPLIED,
)  # fmt: skip


def test_what_did_not_change_a_file_is_not_told() -> None:
    assert from_record(replace(RECORD, operation=Operation.FOUND)) == []
    assert from_record(replace(RECORD, state=RecordState.BUFFER)) == []
    assert from_record(replace(RECORD, state=RecordState.ABORTED)) == []


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (Operation.CREATE, FileCreated(path="d/a", actor=ALICE, seq=5, version="sha256:1", size=3)),
        (Operation.MODIFY, FileModified(path="d/a", actor=ALICE, seq=5, version="sha256:1", size=3)),
        (Operation.DELETE, FileDeleted(path="d/a", actor=ALICE, seq=5, version="sha256:0")),
        (Operation.MOVE, FileRenamed(path="d/a", old_path="o", actor=ALICE, seq=5, version="sha256:1")),
        (Operation.CREATE_DIRECTORY, DirectoryCreated(path="d/a", actor=ALICE, seq=5)),
        (Operation.DELETE_DIRECTORY, DirectoryDeleted(path="d/a", actor=ALICE, seq=5)),
        (Operation.MOVE_DIRECTORY, DirectoryRenamed(path="d/a", old_path="o", actor=ALICE, seq=5)),
    ],
)
def test_each_operation_becomes_its_event(operation: Operation, expected: Event) -> None:
    assert from_record(replace(RECORD, operation=operation, old_path="o", before="sha256:0")) == [expected]


@pytest.mark.parametrize("operation", [Operation.FOUND, Operation.LINK, Operation.MODIFY_DIRECTORY])
def test_operations_without_an_event_become_none(operation: Operation) -> None:
    assert from_record(replace(RECORD, operation=operation)) == []
