"""The newest changes, read backwards: what a log shows first."""

from __future__ import annotations

from filetools.errors import InvalidArgumentError
from filetools.facade.feed import PAGE_RECORDS, is_told
from filetools.facade.parts import Parts
from filetools.models.records import ChangeRecord
from filetools.paths.workspace_path import WorkspacePath


def latest(parts: Parts, limit: int, path: WorkspacePath | None = None) -> tuple[ChangeRecord, ...]:
    """Return the newest changes that readers of the feed see, newest first; call it in a worker thread.

    Raises:
        InvalidArgumentError: `limit` is not 1 to 1000.
    """
    if not 1 <= limit <= PAGE_RECORDS:
        raise InvalidArgumentError(f"limit must be 1 to {PAGE_RECORDS}, not {limit}")
    journal, key = parts.journal, None if path is None else parts.workspace.key(path)
    journal.marks.flush()  # whoever was told of a change finds it here
    # Records that are not told lie between those that are, so that a fixed number of rows would not do.
    rows = 2 * limit
    while True:
        records = journal.records(limit=rows, key=key, newest_first=True)
        told = tuple(record for record in records if is_told(record))
        if len(told) >= limit or len(records) < rows:
            return told[:limit]
        rows *= 4
