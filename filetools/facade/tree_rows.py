"""Reading a file for the tree index: its version, and the state in which it has it, as far as that can be trusted."""

from __future__ import annotations

import time
from typing import Final

from filetools.content.identity_cache import is_settled
from filetools.content.version import version_of
from filetools.errors import (
    DirectoryNotFoundError,
    FileTooLargeError,
    FileToolsError,
    NotRegularFileError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
    SymlinkNotAllowedError,
)
from filetools.facade.look import hashed
from filetools.facade.parts import Parts
from filetools.journal.tree_index import IndexRow
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import FileStat

OTHERS_BY_NOW: Final = (
    PathNotFoundError,
    DirectoryNotFoundError,
    PathNotDirectoryError,
    PathIsDirectoryError,
    SymlinkNotAllowedError,
    NotRegularFileError,
)
"""What a path says that has changed since its name was read: the next pass finds what is true."""


def read_row(parts: Parts, path: WorkspacePath, stat: FileStat) -> IndexRow:
    """Return the row of a file or link; without version if it cannot be read, without times if too young to be trusted.

    Raises:
        FileToolsError: One of `OTHERS_BY_NOW`: something else stands there by now, or nothing.
    """
    facts = parts.facts.get(stat.identity) if stat.type == "file" else None
    if facts is not None:
        return IndexRow(str(path), "file", stat.identity, stat.mode, facts.version)
    taken_ns = time.time_ns()
    try:
        version, stat = _version(parts, path, stat)
    except OTHERS_BY_NOW:
        raise
    except FileToolsError:
        return IndexRow(str(path), stat.type, (*stat.identity[:3], 0, 0), stat.mode, None)
    is_trusted = is_settled(stat.identity, taken_ns, tick_ns=parts.store.tick_ns)
    identity = stat.identity if is_trusted else (*stat.identity[:3], 0, 0)
    return IndexRow(str(path), stat.type, identity, stat.mode, version)


def _version(parts: Parts, path: WorkspacePath, stat: FileStat) -> tuple[str, FileStat]:
    if stat.type == "symlink":
        return version_of(parts.store.read_link(path)), stat
    try:
        content, stat = parts.store.read(path, limit=parts.settings.max_foreign_bytes)
    except FileTooLargeError:
        return hashed(parts, path)
    return version_of(content), stat
