"""What is known of the time before a record, what the journal answers, and which creations must stay because nobody knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from filetools.journal.history import History, RecordFilter
from filetools.models.records import ChangeRecord, Operation
from filetools.versions.draft_tree import within


def lineage(
    history: History,
    key: str,
    key_of: Callable[[str], str],
    *,
    below: int | None = None,
    limit: int = 2**62,
) -> Iterator[ChangeRecord]:
    """Yield the records of a file, newest first, until it was made.

    Args:
        history: The journal's past.
        key: Lock key of the file now or, with `below`, before that record.
        key_of: Returns the lock key of a path.
        below: Only records with a smaller number.
        limit: Most records under one name.
    """
    while True:
        # It came, or went, with the folder.
        removal = history.folder_change([*within(key)][1:], below=below)
        first = 0 if removal is None else removal.number
        step = None
        for record in history.of_key(key, below=below, limit=limit):
            if record.number < first:
                break
            yield record
            step = record
            if record.before is None and not record.before_unknown:
                return
            if record.operation is Operation.MOVE:
                break
        if step is not None and step.operation is Operation.MOVE and step.old_path is not None:
            key, below = key_of(step.old_path), step.number
        elif removal is not None and removal.old_path is not None and key.startswith(f"{key_of(removal.path)}/"):
            key, below = key_of(removal.old_path) + key[len(key_of(removal.path)) :], removal.number
        else:
            return


class FileState(Struct, frozen=True, kw_only=True):
    """A file, a link, or a folder but for what is in it, as a record left or met it."""

    version: str | None = None
    """None of a folder."""
    mode: int | None
    """None where it is not known, and of a link."""


def mode_before(history: History, record: ChangeRecord, key_of: Callable[[str], str]) -> int | None:
    """Return the permission bits of a file before a record, where they are known."""
    if record.operation is Operation.DELETE and record.mode is not None:
        return record.mode
    former = next(lineage(history, key_of(record.path), key_of, below=record.number, limit=1), None)
    return former.mode if former is not None and former.after == record.before else None


def deletions(history: History, record: ChangeRecord) -> list[int]:
    """Return the records that deleted what one did, newest first: a redo is one of its own."""
    newer = numbers = {record.number}
    while newer:
        newer = {number for several in history.undoers(newer).values() for number in several} - numbers
        numbers = numbers | newer
    related = history.select(RecordFilter(numbers=tuple(numbers)), limit=len(numbers))
    return [
        each.number
        for each in related
        if each.operation in (Operation.DELETE_DIRECTORY, Operation.DELETE) and each.path == record.path
    ]


def tree_before(history: History, record: ChangeRecord) -> dict[str, FileState | None]:
    """Return what the journal knew below a folder before the record that removed it, by paths; None is a folder."""
    # Nobody may have read its files before it came back and went once more.
    found = [row for number in deletions(history, record) for row in history.gone_below(number)]
    return {
        path: None if version is None else FileState(version=version, mode=mode)
        for path, version, mode in found
        if path != record.path
    }


def unknown_creations(history: History, records: Sequence[ChangeRecord]) -> set[int]:
    """Return which creations must stay: something stood there before that nobody had seen, and it may be that.

    Args:
        history: The records.
        records: All that will be taken back, newest first.
    """
    unknown: set[int] = set()
    gone: set[str] = set()
    seen: dict[str, dict[str, FileState | None]] = {}
    for record in reversed(records):
        if record.operation is Operation.DELETE_DIRECTORY and record.before_unknown:
            seen[record.path] = tree_before(history, record)
        elif record.operation is Operation.DELETE and record.before_unknown and record.actor.kind == "external":
            gone.add(record.path)
        elif record.operation is Operation.CREATE and (
            record.path in gone
            or any(record.path not in seen[folder] for folder in seen.keys() & [*within(record.path)][1:])
        ):
            unknown.add(record.number)
            gone.discard(record.path)
    return unknown
