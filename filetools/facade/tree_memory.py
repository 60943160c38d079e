"""What looks at the whole tree remember of each other, so that a look costs what has changed since the one before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from filetools.dataclass import dataclass
from filetools.facade.parts import Parts
from filetools.journal import HeadFacts, IndexRow, SnapshotRow
from filetools.stores import Facts
from filetools.watch import Hint


@dataclass(slots=True)
class Folder:
    """One folder as the newest look has met it."""

    entries: Mapping[str, Facts]
    rows: dict[str, IndexRow] = field(default_factory=dict)
    """What is in it, by key, as far as there is nothing to be said of it until its facts change, or its head."""
    restless: set[str] = field(default_factory=set)
    """Names of what is looked at again in any case."""

    def stir(self, key: str) -> None:
        """Have what stands under a key looked at again."""
        row = self.rows.pop(key, None)
        if row is not None:
            self.restless.add(row.path.rpartition("/")[2])


@dataclass(slots=True)
class Memory:
    """The index, the heads and the tree as of the newest look. Never changed by others once a look has returned it."""

    position: int
    """Number of the newest record that the heads show, at least."""
    writes: int
    """Writes of the index by others before it was read."""
    old: dict[str, IndexRow]
    """The rows of the index."""
    heads: dict[str, HeadFacts]
    folders: dict[str, Folder] = field(default_factory=dict)
    """By key."""
    rows: dict[str, IndexRow] = field(default_factory=dict)
    """All that stood in the tree."""


@dataclass(slots=True)
class NewestSnapshot:
    """What a look was made into when a snapshot was taken of it: the next one is most often of nearly the same rows."""

    last: tuple[Mapping[str, IndexRow], str, dict[str, SnapshotRow]] | None = None
    """The rows, the scope, and the rows of the snapshot."""


@dataclass(slots=True)
class TreeLook:
    """What one look has met. Whatever is not named stands as the journal says."""

    position: int
    """Number of the newest record before the look."""
    began: float
    """When the first pass began, in seconds since the epoch: the others do not read everything again."""
    rows: dict[str, IndexRow] = field(default_factory=dict)
    """All that stands in the tree, by key."""
    heads: dict[str, HeadFacts] = field(default_factory=dict)
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
    """Return what is known before a look: what the look before has left, if only heads of files have changed since.

    Args:
        parts: The workspace.
        memory: What the look before has left; not to be used any more.
        position: Number of the newest record.
    """
    index = parts.journal.tree_index
    writes = index.writes_by_others()
    moved = None if memory is None or memory.writes != writes else index.heads_since(memory.position)
    if memory is None or moved is None:
        return Memory(position, writes, index.rows(), parts.journal.heads())
    if moved:
        # Another dictionary: the one of the look before may still be read.
        memory.heads = {**memory.heads, **{key: head for key, head in moved.items() if head is not None}}
        for key in moved.keys() - {key for key, head in moved.items() if head is not None}:
            memory.heads.pop(key, None)
    for key in moved:
        if (folder := memory.folders.get(key.rpartition("/")[0])) is not None:
            folder.stir(key)
    memory.position = position
    return memory
