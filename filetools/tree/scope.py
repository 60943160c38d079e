"""The context of an observation, and the scopes that it looks at."""

from __future__ import annotations

import math
from collections.abc import Callable

from msgspec import Struct

from filetools.journal.commit import ObservedChanges
from filetools.journal.storage.contents import Contents
from filetools.journal.tree_rows import TreeTable
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import FileStat, Store
from filetools.tree.hints import FolderId, Names


class ObservationContext(Struct, frozen=True, kw_only=True):
    """The context of an observation."""

    rows: TreeTable
    store: Store
    contents: Contents
    found: ObservedChanges
    """Collects the changes."""
    is_left_out: Callable[[str, bool], bool]
    """True if ignore rules leave out a path; the second argument is True for a folder."""
    knows_all: bool
    """True if the whole tree was looked at once: what is new from then on was made since. Before that it was found, and is
    not recorded."""
    largest_kept_bytes: int
    """Size up to which the bytes of a foreign change are kept."""
    largest_read_bytes: float = math.inf
    """Size up to which a file is read and hashed at all: a sparse one may be of any size."""
    is_overlooked: Callable[[WorkspacePath, FileStat], bool] = lambda path, stat: False
    """True if something new was there before, when ignore rules left it out: then it is found, and not made."""


class Scope(Struct, frozen=True, kw_only=True):
    """Something that an observation looks at."""

    path: WorkspacePath
    names: Names
    deep: bool = False
    """True to look at its known folders, too; new ones are always looked at."""
    is_call: bool = False
    """True if a call named it: then ignore rules do not count, and new folders are looked at later."""
    folder: FolderId | None = None
    """The folder, if it is meant rather than its path."""
    was_led: bool = False
    """True if its own folder was looked at just before."""
    was_delayed: bool = False
    """True if it waited until exchanges at the folders above were recorded."""
