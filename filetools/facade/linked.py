"""The other names of a file that has several."""

from __future__ import annotations

from collections.abc import Iterator

from filetools.errors import FileToolsError
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.search.walk import walk_tree
from filetools.stores.store import FileStat, Store


def other_names(store: Store, path: WorkspacePath, stat: FileStat) -> Iterator[WorkspacePath]:
    """Yield the names below the root that a file had beside a path. Call it in a worker thread: it walks the whole tree.

    Args:
        store: The tree.
        path: The name that is left out.
        stat: Facts of the file.
    """
    for name, entry in walk_tree(store, ROOT):
        # Layered file systems may list other inodes than their files have: those names are not found.
        if entry.type != "file" or entry.inode not in (0, stat.inode) or name == path:
            continue
        try:
            found = store.stat(name)
        except FileToolsError:
            continue
        if found is not None and (found.device, found.inode) == (stat.device, stat.inode):
            yield name
