"""What looks at the whole tree remember of each other, so that a look costs what has changed since the one before."""

from __future__ import annotations

from collections.abc import Mapping, Set

from msgspec import Struct, field

from filetools.facade.parts import Parts
from filetools.journal.checkpoints import SnapshotRow
from filetools.journal.plain_rows import PlainRows, Values
from filetools.journal.tree_index import IndexRow
from filetools.stores.store import Facts
from filetools.watch.hints import Hint


def no_rows() -> PlainRows[IndexRow]:
    """Return rows of an index that has none."""
    return PlainRows(IndexRow._make, {})


class RememberedFolder(Struct):
    """One folder as the newest look has met it."""

    entries: Mapping[str, Facts]
    rows: dict[str, Values] = field(default_factory=dict)
    """What is in it, by key, as `PlainRows` keep it, while there is nothing to say until its facts change, or its head."""
    restless: set[str] | None = None
    """Names of what is looked at again in any case, if there is any."""

    def stir(self, key: str) -> None:
        """Have what stands under a key looked at again."""
        row = self.rows.pop(key, None)
        if row is not None:
            self.restless = {*(self.restless or ()), IndexRow._make(row).path.rpartition("/")[2]}

    def settle(self, name: str) -> None:
        """Have a name looked at again only if its facts change."""
        if self.restless is not None:
            self.restless.discard(name)
            self.restless = self.restless or None  # one set for each folder would be many objects


class Memory(Struct):
    """What is known, and the tree, as of the newest look. Never changed by others once a look has returned it."""

    position: int
    """Number of the newest record that the known rows show, at least."""
    writes: int
    """Writes of looks by others before they were read."""
    known: PlainRows[IndexRow]
    folders: dict[str, RememberedFolder] = field(default_factory=dict)
    """By key."""
    rows: PlainRows[IndexRow] = field(default_factory=no_rows)
    """All that stood in the tree."""
    lacking: Set[str] | None = None
    """What `lacking_in` says of that, unless what is known has changed."""

    def lacking_in(self, rows: PlainRows[IndexRow]) -> Set[str]:
        """Return the keys of what is known, and does not stand in a tree."""
        if self.lacking is None or rows is not self.rows:
            return self.known.keys() - rows.keys()
        return self.lacking


class NewestSnapshot(Struct):
    """What a look was made into when a snapshot was taken of it: the next one is most often of nearly the same rows."""

    last: tuple[PlainRows[IndexRow], str, PlainRows[SnapshotRow]] | None = None
    """The rows, the scope, and the rows of the snapshot."""


class TreeLook(Struct):
    """What one look has met. Whatever is not named stands as the journal says."""

    position: int
    """Number of the newest record before the look."""
    began: float
    """When the first pass began, in seconds since the epoch: the others do not read everything again."""
    rows: PlainRows[IndexRow] = field(default_factory=no_rows)
    """All that stands in the tree, by key."""
    closed: list[str] = field(default_factory=list)
    """Paths that could not be read."""
    moving: list[str] = field(default_factory=list)
    """Paths that kept changing, or that somebody was at work on, while the tree was looked at."""
    unnamed: list[str] = field(default_factory=list)
    """Names that no call can say, such as those that are no UTF-8; escaped."""
    scope: str = ""
    """Version of what is left out: rules, ignore files, and what could not be read; equal for looks that see the same."""
    hints: list[Hint] = field(default_factory=list)
    snapshots: NewestSnapshot = field(default_factory=NewestSnapshot)
    """Shared by the looks of a process."""

    @property
    def unread(self) -> list[str]:
        """Paths of which nothing is known for sure."""
        return sorted({*self.closed, *self.moving, *self.unnamed})


def recalled(parts: Parts, memory: Memory | None, position: int) -> Memory:
    """Return what is known before a look: what the look before has left, if only files have changed since.

    Args:
        parts: The workspace.
        memory: What the look before has left; not to be used any more.
        position: Number of the newest record.
    """
    index = parts.journal.tree_index
    writes = index.writes_by_others()
    moved = None if memory is None or memory.writes != writes else index.rows_since(memory.position)
    if memory is None or moved is None:
        return Memory(position, writes, index.rows())
    for key, row in moved.items():
        memory.lacking = None
        if row is not None:
            memory.known[key] = row
        else:
            memory.known.pop(key, None)
        if (folder := memory.folders.get(key.rpartition("/")[0])) is not None:
            folder.stir(key)
    memory.position = position
    return memory
