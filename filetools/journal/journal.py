"""The journal's interface: one ordered record of every change, its contents, marks, backlogs and feed.

Methods are synchronous, may block, and are called from worker threads. One contract suite covers every implementation.
Any method may raise StateDamagedError, LockTimeoutError, DiskFullError, StorageFailedError and, on a remote database,
NetworkError; then nothing was changed. Only a commit can end in OutcomeUnknownError.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from filetools.journal.approvals import ApprovalTable
from filetools.journal.backlog import Backlog, Mirrors
from filetools.journal.changes import Change, HeadFacts, View
from filetools.journal.checkpoints import Checkpoints
from filetools.journal.contents import Contents
from filetools.journal.documents import DocumentTable
from filetools.journal.history import History
from filetools.journal.marks import Marks
from filetools.journal.plain_rows import PlainRows
from filetools.journal.retention import Retained
from filetools.journal.seen_versions import SeenVersions
from filetools.journal.table import Table
from filetools.journal.tree_index import TreeIndex
from filetools.models.records import Actor, ChangeRecord


class Journal(Protocol):
    """One ordered journal of a workspace. Instances live as long as the workspace is open."""

    @property
    def epoch(self) -> str:
        """Identity of this numbering; changes when a journal was restored or rolled back."""

    @property
    def contents(self) -> Contents:
        """The bytes of versions."""

    @property
    def backlog(self) -> Backlog:
        """What mirrors lack."""

    @property
    def mirrors(self) -> Mirrors:
        """Which mirrors there are."""

    @property
    def seen_versions(self) -> SeenVersions:
        """What actors have seen."""

    @property
    def documents(self) -> DocumentTable:
        """What editors have open."""

    @property
    def approvals(self) -> ApprovalTable:
        """What people are asked."""

    @property
    def descriptors(self) -> Table:
        """Long texts that models read in pages."""

    @property
    def registry(self) -> Table:
        """Projects, and the agents and servers that run."""

    @property
    def runs(self) -> Table:
        """Executions of agents."""

    @property
    def marks(self) -> Marks:
        """How far changes have come."""

    @property
    def history(self) -> History:
        """The past, asked backwards."""

    @property
    def checkpoints(self) -> Checkpoints:
        """States of the whole tree with a name."""

    @property
    def tree_index(self) -> TreeIndex:
        """What looks at the whole tree have met."""

    def view(self, key: str) -> View:
        """Return what is known of a path now, for a commit to compare."""

    def views(self, keys: Iterable[str]) -> dict[str, View]:
        """Return what is known of many paths now, all of one moment, by key."""

    def commit(self, changes: Sequence[Change], actor: Actor) -> tuple[ChangeRecord, ...]:
        """Record changes in one transaction, durable on return as the durability of the journal says.

        Args:
            changes: Drafts in order; all are recorded or none.
            actor: Who makes them, except drafts marked external.

        Raises:
            HeadMovedError: Some path is not as its view says; nothing was recorded.
            DiskFullError, StorageFailedError, StateDamagedError, LockTimeoutError, NetworkError: Nothing was recorded.
            OutcomeUnknownError: The connection broke in between. The same changes, by an actor with the same `call`,
                are recorded at most once: the second commit returns what the first one recorded.
        """

    def records(
        self,
        since: int = 0,
        *,
        limit: int = 1000,
        key: str | None = None,
        newest_first: bool = False,
        foreign_only: bool = False,
    ) -> list[ChangeRecord]:
        """Return records after `since` up to the first that is not applied; aborted ones included, their state says so.

        Args:
            since: Number of the last record already seen.
            limit: Most records returned; fewer are always the last.
            key: Only changes of this path, its moves away and onto it included.
            newest_first: Order by falling number; then pending records are included.
            foreign_only: Leave out records committed through this instance.
        """

    def heads_below(self, key: str) -> Iterator[tuple[str, str]]:
        """Yield (path, version) of every file recorded below a folder, in order of their keys, read page by page."""

    def heads(self) -> PlainRows[HeadFacts]:
        """Return the heads of all paths, by key; those of files that are gone have no version."""

    def position(self) -> int:
        """Number of the newest record; 0 if there is none."""

    def others_position(self) -> int:
        """Number up to which others may have recorded changes, as far as the numbers of own commits tell."""

    def own_position(self) -> int:
        """Number of the newest record of this process; -1 if there is none."""

    def visible_position(self) -> int:
        """Number of the newest record that the feed may deliver; 0 if there is none."""

    def forgotten(self) -> int:
        """Number up to which records may have been removed by retention; 0 if none was."""

    def checkpoint(self) -> None:
        """Bound what has to be read at the next opening; cheap if there is little."""

    def needs_restoring(self) -> bool:
        """Whether a power cut may have taken what files held since they were last synced, and nobody noted it yet."""

    def begin_restoring(self) -> None:
        """Note which records a power cut may have undone in the files; `marks.unrestored` returns them."""

    def maintain(self, *, retention_bytes: int, retention_records: int, retention_seconds: float | None = None) -> int:
        """Tidy up and remove what exceeds the retention; returns how many records were removed.

        Args:
            retention_bytes: Most bytes of contents; exceeded by a hundredth before anything is removed; records likewise.
            retention_seconds: Greatest age of a record; None for any.
        """

    def retained(self) -> Retained:
        """Return what the journal holds now, and which checkpoint keeps retention from removing more."""

    def close(self) -> None:
        """Write what is noted and release the database; may be called twice."""
