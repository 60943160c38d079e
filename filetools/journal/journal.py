"""The journal's interface: one ordered record of every change, its contents, marks, backlogs and feed.

Methods are synchronous, may block, and are called from worker threads. One contract suite covers every implementation.
Any method may raise StateDamagedError, LockTimeoutError, DiskFullError, StorageFailedError and, on a remote database,
NetworkError; then nothing was changed. Only a commit can end in OutcomeUnknownError.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from filetools.journal.approvals import ApprovalRow
from filetools.journal.changes import BacklogEntry, Change, HeadFacts, MirrorRow, RelationKind, View
from filetools.journal.checkpoints import Checkpoints
from filetools.journal.documents import DocumentTable
from filetools.journal.history import NameChange, RecordFilter
from filetools.journal.plain_rows import PlainRows
from filetools.journal.retention import Retained
from filetools.journal.seen_versions import SeenVersions
from filetools.journal.table import Table
from filetools.journal.tree_index import TreeIndex
from filetools.models.records import Actor, ChangeRecord


class Contents(Protocol):
    """The bytes of every recorded version, each kept once under its hash."""

    def get(self, version: str) -> bytes:
        """Return the bytes of a version, verified against its hash.

        Raises:
            VersionGoneError: They are not kept, or no longer intact.
        """

    def has(self, version: str) -> bool:
        """Whether the bytes of a version are kept."""

    def keep(self, content: bytes, version: str) -> None:
        """Keep bytes that no record refers to, until retention takes them as the oldest."""

    def keep_all(self, contents: Mapping[str, bytes]) -> None:
        """As `keep`, for several versions at once; durable with the next commit."""

    def missing(self, versions: Iterable[str]) -> set[str]:
        """Return those of these versions whose bytes are not kept."""

    def keep_read(self, texts: Mapping[str, bytes]) -> None:
        """Keep texts that actors have read, by version, all at once and unsynced, until retention takes them first."""

    def put(self, content: bytes, version: str) -> None:
        """Make very large content durable ahead of the commit that refers to it; other content travels in the commit."""


class Backlog(Protocol):
    """What mirrors lack; entries are inserted by commits, and removed when a mirror holds the change durably."""

    def of(self, mirror: str, limit: int = 1000, max_tries: int = 5) -> list[BacklogEntry]:
        """Return the oldest entries of a mirror that failed fewer than `max_tries` times."""

    def get(self, mirror: str, key: str) -> BacklogEntry | None:
        """Return the entry of one path, or None."""

    def count(self, mirror: str) -> int:
        """Number of paths that a mirror lacks."""

    def remove(self, done: Iterable[BacklogEntry]) -> None:
        """Remove entries, except those that newer changes have raised meanwhile."""

    def fail(self, entry: BacklogEntry) -> None:
        """Count one more failed try of a entry."""

    def reset(self, mirror: str) -> None:
        """Forget the failed tries of a mirror, for an explicit synchronisation."""

    def add(self, mirror: str, paths: Iterable[tuple[str, str]]) -> None:
        """Record that a mirror lacks these (key, path) pairs, found out by a verification."""


class Mirrors(Protocol):
    """Which mirrors the root has. Every commit, of any process, adds its paths to the backlog of each."""

    def register(self, place: str) -> MirrorRow:
        """Return the row of a mirror; from its first registration on every commit adds to its backlog."""

    def get(self, place: str) -> MirrorRow | None:
        """Return the row of a mirror, or None if it is not registered."""

    def all(self) -> list[MirrorRow]:
        """Return every registered mirror, attached or not."""

    def renew(self, row: MirrorRow) -> None:
        """Give a mirror a new identity of the same line, not filled, unless somebody else has done so since `row` was read."""

    def filled(self, row: MirrorRow, position: int) -> None:
        """Record that all changes up to a position are in a mirror or in its backlog, unless it has another identity by now."""

    def remember(self, row: MirrorRow, root: bytes) -> None:
        """Have everybody who opens the root attach a mirror, as long as the root stays where it is."""

    def remove(self, place: str) -> None:
        """Forget a mirror and its backlog."""


class ApprovalTable(Protocol):
    """What people are asked, shared by all processes; each instance speaks for its own. Times are seconds since the epoch."""

    def ask(
        self, new_id: str, call: str, request: str, *, now: float, expires: float, is_heard: bool
    ) -> tuple[ApprovalRow, bool] | None:
        """Return the request of an identical call, or open one, and whether another process listens; None if too many."""

    def answer(self, approval_id: str, answer: str, edited_text: str | None, *, now: float, expires: float) -> bool:
        """Answer an open request; False if it is not open (any more)."""

    def take(self, approval_id: str) -> bool:
        """Use an answer, which one call can do once."""

    def live(self, *, now: float) -> tuple[list[ApprovalRow], bool]:
        """Return the requests that are open or answered, oldest first, and whether another process listens."""

    def request(self, approval_id: str) -> str | None:
        """Return what a request asks, or None if it is gone."""

    def has_any(self) -> bool:
        """Whether there is anything to look at; costs next to nothing."""

    def attend(self, *, now: float, listens: bool) -> None:
        """Say that this process lives, and whether somebody in it answers."""

    def leave(self) -> None:
        """Say that this process ends, and with it the requests that it has open."""


class Marks(Protocol):
    """How far changes have come: in the file (applied), and durable without the journal's help (synced)."""

    def applied(self, numbers: Iterable[int]) -> None:
        """Note that files carry these records; written with the next commit or `flush`, whichever is first."""

    def flush(self) -> bool:
        """Write the notes now; False if there were none."""

    def synced(self, numbers: Iterable[int]) -> None:
        """Note that files and folders of these records are durable themselves."""

    def is_pending(self, number: int) -> bool:
        """Whether a record is committed but not applied, as far as this process knows."""

    def pending(self, limit: int = 1000) -> list[ChangeRecord]:
        """Return records that are committed but not applied, oldest first."""

    def unsynced(self, limit: int = 1000) -> list[ChangeRecord]:
        """Return records that are applied but not synced, oldest first; those that must be restored first left out."""

    def unrestored(self, limit: int = 1000) -> list[ChangeRecord]:
        """Return records that a power cut may have undone in the files, oldest first."""

    def restored(self, number: int, keys: Iterable[str]) -> None:
        """Note that the files of these keys carry their heads again, and with them this record."""

    def unsettled(self, key: str) -> list[ChangeRecord]:
        """Return the records of one path from its last synced one on, newest first; at most 1000."""

    def kept(self, numbers: Iterable[int]) -> set[int]:
        """Return those of these records that retention has not removed; what hangs on the others may go too."""


class History(Protocol):
    """The past, asked backwards. Records that were set back are left out everywhere."""

    def select(self, wanted: RecordFilter, *, below: int | None = None, limit: int = 1000) -> list[ChangeRecord]:
        """Return records that are in the files, or in an unsaved document, newest first; files merely found left out.

        Args:
            wanted: Which.
            below: Only records with a smaller number, to go on after a page.
            limit: Most records; fewer are always the last.
        """

    def together_with(self, record: ChangeRecord) -> list[ChangeRecord]:
        """Return the records that were committed together with one, itself included, in their order."""

    def of_key(self, key: str, *, below: int | None = None, limit: int = 1000) -> list[ChangeRecord]:
        """Return the changes of a file that bore this key at the time, newest first; folders of that name left out."""

    def of_folder(self, key: str, *, below: int) -> list[ChangeRecord]:
        """Return the changes below a folder before a record, oldest first; moves out of it included."""

    def folder_change(self, keys: Sequence[str], *, below: int | None = None) -> ChangeRecord | None:
        """Return the newest deletion of a folder of these keys, or move to such a key or away from it, before a record."""

    def removals_since(self, number: int) -> list[ChangeRecord]:
        """Return the records that moved or deleted folders after this number, oldest first, also those not applied yet."""

    def names_since(self, number: int) -> list[NameChange]:
        """Return what happened to names after a record, oldest first; what is not applied yet, or was set back, too."""

    def undoers(self, numbers: Iterable[int]) -> dict[int, list[int]]:
        """Return for each record the records that undo or redo it."""

    def undone(self, numbers: Iterable[int]) -> set[int]:
        """Return those of these records that are taken back."""

    def taken_back(self, numbers: Iterable[int]) -> dict[int, list[int]]:
        """Return for each undo or redo among these records what it takes back."""

    def brought_by(self, number: int) -> list[int]:
        """Return the records of what came back whole from where a deletion had put it."""

    def targets(self, numbers: Iterable[int], kind: RelationKind) -> dict[int, list[int]]:
        """Return for each record what it undoes or redoes, or whose children it is."""

    def children(self, numbers: Iterable[int]) -> dict[int, list[int]]:
        """Return for each record of an unsaved document the saves that name it as a parent."""


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
            limit: Most records returned; fewer are always the last, since the next is taken for a damaged one.
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
