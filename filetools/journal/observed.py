"""What an observation of the tree finds, as records and rows of the journal."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from typing import Final

from msgspec import structs

from filetools.journal.changes import Change
from filetools.journal.contents import Contents, version_from
from filetools.journal.core.log import LogRecord
from filetools.journal.core.tree_rows import TreeRow, TreeTable
from filetools.models.records import Operation
from filetools.paths.ignore import IGNORE_FILE

_IGNORE_FILES: Final = (
    f"SELECT 1 FROM records WHERE number > ? AND (path = '{IGNORE_FILE}' OR path LIKE '%/{IGNORE_FILE}'"
    f" OR old_path = '{IGNORE_FILE}' OR old_path LIKE '%/{IGNORE_FILE}') LIMIT 1"
)


class ObservedRows(TreeTable):
    """Rows for one observation, in which `number` is of the newest record of a file: folders and links have none."""

    def __init__(self, connection: sqlite3.Connection, key_of: Callable[[str], str], contents: Contents) -> None:
        super().__init__(connection, key_of)
        self._contents = contents
        self.unseen: set[int] = set()
        """Numbers of records of folders that went with files that nobody had read."""

    def put(self, rows: Iterable[TreeRow]) -> None:
        """Set rows."""
        super().put(map(self._numbered, rows))

    def take_away(self, below: Iterable[TreeRow], number: int) -> None:
        """Note that rows went with the folder above them: of them its removal is all that is recorded."""
        rows = list(below)
        self._contents.replaced(
            self._connection, [(version_from(row.version) or "", number) for row in rows if row.version is not None]
        )
        if any(row.kind == "file" and row.version is None for row in rows):
            self.unseen.add(number)
        super().put(
            structs.replace(row, kind="absent", version=None, mode=None, identity=None, number=0, applied=True)
            for row in rows
        )

    def are_ignore_files_changed(self, position: int) -> bool:
        """Whether an ignore file was made, changed, moved or removed after a record."""
        return self._connection.execute(_IGNORE_FILES, (position,)).fetchone() is not None

    def _numbered(self, row: TreeRow) -> TreeRow:
        former = self.get(row.key)
        is_file = row.kind == "file" or (row.kind == "absent" and (former is None or former.kind in ("file", "absent")))
        if not is_file:
            number = former.number if former is not None and former.kind != "file" else 0
            row = structs.replace(row, number=number)
        return row if row.kind == "file" else structs.replace(row, version=row.version if row.is_there else None)


def change_of(record: LogRecord, *, is_unseen: bool) -> Change:
    """Return the draft of a record by another program.

    Args:
        record: What was observed.
        is_unseen: Whether it is of a folder that went with files that nobody had read.
    """
    has_former = record.kind in (Operation.MODIFY, Operation.DELETE)
    return Change(
        operation=record.kind, path=record.path, key=record.key, old_path=record.old_path, old_key=record.old_key,
        before=version_from(record.before), before_unknown=is_unseen or (has_former and record.before is None),
        after=version_from(record.after), size=record.size, mode=record.mode, applied=True, external=True,
    )  # fmt: skip
