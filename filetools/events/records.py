"""From journal records to events: the one place that says which change is told under which name."""

from __future__ import annotations

from typing import Final

from filetools.errors import InternalError
from filetools.events.types import (
    ContentLoader,
    DirectoryCreated,
    DirectoryDeleted,
    DirectoryRenamed,
    Event,
    FileCreated,
    FileDeleted,
    FileModified,
    FileRenamed,
)
from filetools.models.records import WITHOUT_BYTES, ChangeRecord, Operation, RecordState

_UNTOLD: Final = (Operation.FOUND, *WITHOUT_BYTES)


def from_record(
    record: ChangeRecord,
    *,
    content_loader: ContentLoader | None = None,
    lock_acquired: float | None = None,
    lock_released: float | None = None,
) -> list[Event]:
    """Return the events that tell of a change, in the order to publish them.

    Args:
        record: The change, as the journal keeps it.
        content_loader: Loads the text of `record.after` when a listener asks for it.
        lock_acquired: Seconds since the epoch when the writer got the path's lock.
        lock_released: Seconds since the epoch when the writer gave it back.

    Returns:
        Nothing for a file that was merely found, a link, a folder's mode, a change of an unsaved document, and a change
        that was set back.

    Raises:
        InternalError: A move without the path it came from.
    """
    if record.operation in _UNTOLD or record.state in (RecordState.BUFFER, RecordState.ABORTED):
        return []
    if record.operation in (Operation.CREATE, Operation.MODIFY):
        kind = FileCreated if record.operation is Operation.CREATE else FileModified
        return [
            kind(
                path=record.path,
                actor=record.actor,
                seq=record.number,
                version=record.after,
                size=record.size,
                lock_acquired=lock_acquired,
                lock_released=lock_released,
                content_loader=content_loader,
            )
        ]
    return [_without_content(record)]


def _without_content(record: ChangeRecord) -> Event:
    path, actor, number = record.path, record.actor, record.number
    match record.operation:
        case Operation.DELETE:
            return FileDeleted(path=path, actor=actor, seq=number, version=record.before)
        case Operation.MOVE:
            return FileRenamed(path=path, old_path=_origin(record), actor=actor, seq=number, version=record.after)
        case Operation.CREATE_DIRECTORY:
            return DirectoryCreated(path=path, actor=actor, seq=number)
        case Operation.DELETE_DIRECTORY:
            return DirectoryDeleted(path=path, actor=actor, seq=number)
        case Operation.MOVE_DIRECTORY:
            return DirectoryRenamed(path=path, old_path=_origin(record), actor=actor, seq=number)
    raise InternalError(f"No event tells of a {record.operation} record", path=path)


def _origin(record: ChangeRecord) -> str:
    if record.old_path is None:
        raise InternalError(f"Move record {record.number} has no old path", path=record.path)
    return record.old_path
