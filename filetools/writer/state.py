"""What the writer works on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from msgspec import Struct

from filetools.journal.contents import Contents
from filetools.journal.core.log import Log, LogDraft
from filetools.journal.core.tree_rows import TreeTable
from filetools.journal.database import Database
from filetools.paths.workspace import Workspace
from filetools.stores.store import Store
from filetools.tree.scope import ObservationContext

LARGEST_KEPT_BYTES: Final = 64 * 1024 * 1024
"""Size up to which the bytes of a foreign change are kept."""


class WriterState(Struct, frozen=True, kw_only=True):
    """The disk and the database of one root. Lives as long as its writer, and is used in its thread."""

    workspace: Workspace
    store: Store
    database: Database
    log: Log
    contents: Contents
    rows: TreeTable
    is_left_out: Callable[[str, bool], bool]
    """Tells of a path, and whether it is a folder, that ignore rules leave it out."""
    largest_kept_bytes: int = LARGEST_KEPT_BYTES

    @contextmanager
    def transaction(self, *, durable: bool = False) -> Iterator[LogDraft]:
        """Run the block in one transaction, and add the records of its draft at the end."""
        with self.database.transaction(durable=durable):
            self.rows.begin(self.database.generation)
            draft = LogDraft(self.log.newest_inside(), time.time())
            yield draft
            self.log.add(draft.records)

    def observation_context(self, draft: LogDraft) -> ObservationContext:
        """Return what an observation works with, inside a transaction."""
        return ObservationContext(
            rows=self.rows, store=self.store, contents=self.contents, draft=draft, is_left_out=self.is_left_out,
            knows_all=self.rows.knows_all(), largest_kept_bytes=self.largest_kept_bytes,
        )  # fmt: skip
