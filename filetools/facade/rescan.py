"""Looking through the whole tree after the watcher has missed something: what is young is looked at, what is gone is told.

The time of an inode's last change cannot be set back by a program, so whatever changed since the watcher was last sure of
itself is young by it.
"""

from __future__ import annotations

from collections.abc import Iterator

from filetools.errors import FileToolsError
from filetools.facade.parts import Parts
from filetools.paths.patterns import ExcludeRules
from filetools.paths.workspace_path import ROOT
from filetools.search.walk import walk_tree
from filetools.watch.hints import Hint

SLACK_NS = 2_000_000_000
"""Older than the last sure moment by this much still counts as young: clocks of file systems lag behind."""


def rescan(parts: Parts, rules: ExcludeRules, since_ns: int) -> Iterator[Hint]:
    """Yield hints for everything that may have changed since a moment; iterate it in a worker thread.

    Args:
        parts: The workspace.
        rules: What is not looked at.
        since_ns: The last moment at which nothing had been missed, in nanoseconds since the epoch.
    """
    seen: set[str] = set()
    for path, entry in walk_tree(parts.store, ROOT, rules=rules):
        seen.add(parts.workspace.key(path))
        try:
            stat = parts.store.stat(path)
        except FileToolsError:
            continue
        if stat is not None and max(stat.changed_ns, stat.modified_ns) >= since_ns - SLACK_NS:
            yield Hint("changed", path, is_directory=entry.type == "directory")
        elif parts.names.find(path) == "absent":
            yield Hint("changed", path, is_directory=entry.type == "directory", is_listed=True)
    for known, is_directory in parts.names.below(""):
        if known not in seen:
            yield Hint("deleted", known, is_directory=is_directory)
    for known, _ in parts.journal.heads_below(""):
        if parts.workspace.key(known) not in seen:
            yield Hint("deleted", known)
