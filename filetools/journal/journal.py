"""The journal's interface: one ordered record of every change, its contents, marks, debts and feed.

Methods are synchronous, may block, and are called from worker threads. An implementation on a remote database hands
its work to the event loop and waits; the embedded one works in the calling thread. One contract suite covers both.

Any method may raise StateDamagedError, LockTimeoutError, DiskFullError, StorageFailedError and, where the database is
remote, NetworkError; then nothing was changed. Only a commit can end in OutcomeUnknownError.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from filetools.journal.changes import Change, Debt, View
from filetools.journal.stamps import Stamp
from filetools.models import Actor, ChangeRecord


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

    def put(self, content: bytes, version: str) -> None:
        """Make large content durable ahead of the commit that refers to it; small content travels in the commit."""


class Debts(Protocol):
    """What mirrors lack; rows inserted by commits, removed when a mirror holds the change durably."""

    def of(self, mirror: str, limit: int = 1000, max_tries: int = 5) -> list[Debt]:
        """Return the oldest debts of a mirror that failed fewer than `max_tries` times."""

    def get(self, mirror: str, key: str) -> Debt | None:
        """Return the debt of one path, or None."""

    def count(self, mirror: str) -> int:
        """Number of paths that a mirror lacks."""

    def pay(self, paid: Iterable[Debt]) -> None:
        """Remove debts, except those that newer changes have raised meanwhile."""

    def fail(self, debt: Debt) -> None:
        """Count one more failed try of a debt."""

    def reset(self, mirror: str) -> None:
        """Forget the failed tries of a mirror, for an explicit synchronisation."""

    def owe(self, mirror: str, paths: Iterable[tuple[str, str]]) -> None:
        """Record that a mirror lacks these (key, path) pairs, found out by a verification."""


class Stamps(Protocol):
    """Which text each actor knows of each path."""

    def of(self, owner: str) -> dict[str, Stamp]:
        """Return the stamps of an actor by key, the oldest first."""

    def save(self, stamps: Iterable[tuple[str, str, Stamp | None]]) -> None:
        """Keep (owner, key, stamp) rows; None removes the stamp of a key."""


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
        """Return records that are applied but not synced, oldest first."""

    def unsettled(self, key: str) -> list[ChangeRecord]:
        """Return the records of one path from its last synced one on, newest first; at most 1000."""

    def kept(self, numbers: Iterable[int]) -> set[int]:
        """Return those of these records that retention has not removed; what hangs on the others may go too."""


class Journal(Protocol):
    """One ordered journal of a workspace. Instances live as long as the workspace is open."""

    @property
    def epoch(self) -> str:
        """Identity of this numbering; changes when a journal was restored or rolled back."""

    @property
    def contents(self) -> Contents:
        """The bytes of versions."""

    @property
    def debts(self) -> Debts:
        """What mirrors lack."""

    @property
    def stamps(self) -> Stamps:
        """What actors know."""

    @property
    def marks(self) -> Marks:
        """How far changes have come."""

    def view(self, key: str) -> View:
        """Return what is known of a path now, for a commit to compare."""

    def commit(
        self, changes: Sequence[Change], actor: Actor, *, mirrors: Sequence[str] = ()
    ) -> tuple[ChangeRecord, ...]:
        """Record changes in one transaction, durable on return as the durability of the journal says.

        Args:
            changes: Drafts in order; all are recorded or none.
            actor: Who makes them, except drafts marked external.
            mirrors: Names of mirrors that owe these paths from now on.

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

        A damaged record is left out, and the next one taken for it: fewer than `limit` are always the last.

        Args:
            since: Number of the last record already seen.
            limit: Most records returned.
            key: Only changes of this path, its moves away and onto it included.
            newest_first: Order by falling number; then pending records are included.
            foreign_only: Leave out records committed through this instance.
        """

    def heads_below(self, key: str) -> Iterator[tuple[str, str]]:
        """Yield (path, version) of every file recorded below a folder, in order of their keys, read page by page."""

    def position(self) -> int:
        """Number of the newest record; 0 if there is none."""

    def visible_position(self) -> int:
        """Number of the newest record that the feed may deliver; 0 if there is none."""

    def forgotten(self) -> int:
        """Number up to which records may have been removed by retention; 0 if none was."""

    def checkpoint(self) -> None:
        """Bound what has to be read at the next opening; cheap if there is little."""

    def needs_restoring(self) -> bool:
        """Whether a power cut may have taken what files held since they were last synced."""

    def note_restored(self) -> None:
        """Note that the files are as the journal says."""

    def maintain(self, *, retention_bytes: int, retention_records: int, retention_seconds: float | None = None) -> int:
        """Tidy up and remove what exceeds the retention; returns how many records were removed.

        Args:
            retention_bytes: Most bytes of contents; exceeded by a hundredth before anything is removed.
            retention_records: Most records, likewise.
            retention_seconds: Greatest age of a record; None for any.
        """

    def close(self) -> None:
        """Write what is noted and release the database; may be called twice."""
