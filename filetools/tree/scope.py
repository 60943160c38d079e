"""What an observation works with, and what it looks at."""

from __future__ import annotations

import math
from collections.abc import Callable

from msgspec import Struct

from filetools.journal.changes import ObservedChanges
from filetools.journal.storage.contents import Contents
from filetools.journal.tree_rows import TreeTable
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import FileStat, Store
from filetools.tree.hints import FolderId, Names


class ObservationContext(Struct, frozen=True, kw_only=True):
    """What an observation works with."""

    rows: TreeTable
    store: Store
    contents: Contents
    found: ObservedChanges
    """Gets the changes."""
    is_left_out: Callable[[str, bool], bool]
    """Tells of a path, and whether it is a folder, that ignore rules leave it out."""
    knows_all: bool
    """Whether the whole tree was looked at once: what is new from then on was made since. Before that it was found, and is
    not recorded."""
    largest_kept_bytes: int
    """Size up to which the bytes of a foreign change are kept."""
    largest_read_bytes: float = math.inf
    """Size up to which a file is read at all, and hashed: one full of holes may be as large as it likes."""
    is_overlooked: Callable[[WorkspacePath, FileStat], bool] = lambda path, stat: False
    """Tells of what is new that it was there before, when ignore rules left it out: it is found then, and not made."""


class Scope(Struct, frozen=True, kw_only=True):
    """Something that an observation looks at."""

    path: WorkspacePath
    names: Names
    deep: bool = False
    """Whether the folders in it that are known are looked at, too; new ones always are."""
    is_call: bool = False
    """Whether a call named it: then ignore rules do not count, and new folders are looked at later."""
    everything: bool = False
    """Whether ignore rules do not count."""
    folder: FolderId | None = None
    """The folder, if it is meant rather than its path."""
    was_led: bool = False
    """Whether its own folder was looked at just before."""
    was_delayed: bool = False
    """Whether it waited until what was exchanged at the folders above was recorded."""
