"""The changes of one file, newest first, under every name that it has had."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from filetools.journal import FolderRemoval, History
from filetools.models import ChangeRecord, Operation

PAGE: Final = 500


def lineage(
    history: History,
    key: str,
    key_of: Callable[[str], str],
    *,
    below: int | None = None,
    removals: Sequence[FolderRemoval] | None = None,
    page: int = PAGE,
) -> Iterator[ChangeRecord]:
    """Yield the records of a file, newest first, until it was made.

    Args:
        history: The journal's past.
        key: Lock key of the file now or, with `below`, before that record.
        key_of: Returns the lock key of a path.
        below: Only records with a smaller number.
        removals: `history.removals()`, where the caller has it already.
        page: How many records are read at a time.
    """
    removals = history.removals() if removals is None else removals
    while True:
        removal = _removal_above(removals, key, below)
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
        elif removal is not None and removal.operation is Operation.MOVE_DIRECTORY and removal.old_key is not None:
            key, below = removal.old_key + key[len(removal.key) :], removal.number
        else:
            return


def _records(history: History, key: str, below: int | None, page: int) -> Iterator[ChangeRecord]:
    while True:
        records = history.of_key(key, below=below, limit=page)
        yield from records
        if len(records) < page:
            return
        below = records[-1].number


def _removal_above(removals: Sequence[FolderRemoval], key: str, below: int | None) -> FolderRemoval | None:
    """Return the newest removal of a folder that says what stands at a key: it came, or went, with the folder."""
    for removal in removals:
        if (below is None or removal.number < below) and key.startswith(f"{removal.key}/"):
            return removal
    return None
