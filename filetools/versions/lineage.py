"""The changes of one file, newest first, under every name that it has had."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from filetools.journal.history import History
from filetools.models.records import ChangeRecord, Operation

PAGE: Final = 500


def lineage(
    history: History,
    key: str,
    key_of: Callable[[str], str],
    *,
    below: int | None = None,
    page: int = PAGE,
) -> Iterator[ChangeRecord]:
    """Yield the records of a file, newest first, until it was made.

    Args:
        history: The journal's past.
        key: Lock key of the file now or, with `below`, before that record.
        key_of: Returns the lock key of a path.
        below: Only records with a smaller number.
        page: How many records are read at a time.
    """
    while True:
        # It came, or went, with the folder.
        removal = history.folder_change(folders_above(key), below=below)
        first = 0 if removal is None else removal.number
        step = None
        for record in _records(history, key, below, page):
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
            source = key_of(removal.old_path) + key[len(key_of(removal.path)) :]
            if not _was_there_before(history, key, source, removal.number):
                key = source
            below = removal.number
        else:
            return


def _was_there_before(history: History, key: str, source: str, number: int) -> bool:
    """Whether a file stood at a path already when a folder was told of as moved over it, and none at its old name.

    So it is where other programs' changes were told of file by file before the move of the folder was.
    """
    here, there = _newest(history, key, number), _newest(history, source, number)
    return here is not None and here.after is not None and there is not None and there.after is None


def _newest(history: History, key: str, below: int) -> ChangeRecord | None:
    """Return the newest record of a path before another one, unless a folder has taken it along since."""
    newest = next(iter(history.of_key(key, below=below, limit=1)), None)
    change = history.folder_change(folders_above(key), below=below)
    return newest if newest is not None and (change is None or change.number < newest.number) else None


def _records(history: History, key: str, below: int | None, page: int) -> Iterator[ChangeRecord]:
    while True:
        records = history.of_key(key, below=below, limit=page)
        yield from records
        if len(records) < page:
            return
        below = records[-1].number


def folders_above(key: str) -> list[str]:
    """Return the keys of the folders that a path is in, the innermost first."""
    parts = key.split("/")
    return ["/".join(parts[:depth]) for depth in range(len(parts) - 1, 0, -1)]
