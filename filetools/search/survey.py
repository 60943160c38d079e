"""Everything in the tree with its facts, ignored files left out: the walk of those who compare the whole tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, runtime_checkable

from filetools.errors import AccessDeniedError, FileToolsError
from filetools.paths import ROOT, WorkspacePath
from filetools.paths.ignore import IGNORE_FILE, IgnoreStack
from filetools.paths.patterns import ExcludeRules
from filetools.search.folder import is_ours
from filetools.search.ignores import IgnoreCache, load_rules
from filetools.search.source import GONE, Listable
from filetools.stores.store import FileStat


@runtime_checkable
class ScansFacts(Protocol):
    """What a store of local disks may offer besides."""

    def scan_facts(self, path: WorkspacePath) -> list[tuple[str, FileStat]]:
        """Return the names in a directory with the facts of each."""


def survey(
    store: Listable, rules: ExcludeRules, cache: IgnoreCache, *, on_closed: Callable[[WorkspacePath], None]
) -> Iterator[tuple[WorkspacePath, FileStat]]:
    """Yield path and facts of everything that neither rules nor ignore files leave out, folders before what is in them.

    Links are not followed. What vanishes on the way is left out.

    Args:
        store: The tree.
        rules: What is left out besides, with all below.
        cache: Keeps ignore files between walks.
        on_closed: Told of each folder that may not be read.
    """
    pending = [(ROOT, IgnoreStack())]
    while pending:
        folder, stack = pending.pop()
        try:
            entries = _entries(store, folder)
        except AccessDeniedError:
            on_closed(folder)
            continue
        except GONE:
            continue
        if (found := entries.get(IGNORE_FILE)) is not None and found.type == "file":
            ignored = load_rules(store, folder, cache)
            stack = stack if ignored is None else stack.push(ignored)
        for name in _kept(entries, folder, rules, stack):
            path, stat = folder.child(name), entries[name]
            yield path, stat
            if stat.type == "directory":
                pending.append((path, stack))


def _entries(store: Listable, folder: WorkspacePath) -> dict[str, FileStat]:
    if isinstance(store, ScansFacts):
        return {name: stat for name, stat in store.scan_facts(folder) if not is_ours(name)}
    return {entry.name: stat for entry in store.scan(folder) if (stat := _stat(store, folder.child(entry.name)))}


def _stat(store: Listable, path: WorkspacePath) -> FileStat | None:
    try:
        return store.stat(path)
    except FileToolsError:
        return None


def _kept(
    entries: dict[str, FileStat], folder: WorkspacePath, rules: ExcludeRules, stack: IgnoreStack
) -> Iterator[str]:
    names = {True: [], False: []}  # type: dict[bool, list[str]]
    for name, stat in entries.items():
        names[stat.type == "directory"].append(name)
    for is_directory, several in names.items():
        kept = several
        for sieve in (rules.in_directory(folder), stack.in_directory(folder)):
            kept = kept if sieve is None else list(sieve(kept, is_directory))
        yield from kept
