"""Everything in the tree with its facts, ignored files left out: the walk of those who compare the whole tree."""

from __future__ import annotations

import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Protocol, runtime_checkable

from msgspec import Struct

from filetools.errors import AccessDeniedError, FileToolsError
from filetools.paths.ignore import IGNORE_FILE, IgnoreRules, IgnoreStack
from filetools.paths.patterns import ExcludeRules
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.search.folder import is_ours
from filetools.search.ignores import IgnoreCache, load_rules, outer_stack
from filetools.search.source import GONE, Listable
from filetools.stores.reading import facts_of
from filetools.stores.store import Facts


@runtime_checkable
class ScansFacts(Protocol):
    """What a store of local disks may offer besides."""

    def scan_again(
        self, path: WorkspacePath, state: Facts | None, names: Collection[str]
    ) -> tuple[Mapping[str, Facts], Facts | None]:
        """Return the names in a directory with the facts of each, and its own; with the facts given it has the names given."""


_Found = tuple[Mapping[str, Facts], Facts | None]


class _SurveyedFolder(Struct):
    """What the newest walk has met in a folder."""

    found: Mapping[str, Facts]
    state: Facts | None
    """Facts of the folder itself, with which it has these names; None if that is not sure."""
    levels: tuple[IgnoreRules, ...]
    shown: Mapping[str, Facts]
    folders: tuple[str, ...]
    """Names of those in it."""


class TreeSurvey:
    """Walks over one tree, one after the other; each remembers what the one before has met. Lives as long as its owner.

    Args:
        store: The tree.
        rules: What is left out besides, with all below.
    """

    def __init__(self, store: Listable, rules: ExcludeRules) -> None:
        self._store = store
        self._scans = store if isinstance(store, ScansFacts) else None
        self._rules = rules
        self._ignores = IgnoreCache()
        self._kept: dict[str, _SurveyedFolder] = {}

    def walk(
        self,
        on_closed: Callable[[WorkspacePath], None],
        stirred: Callable[[WorkspacePath], Collection[str] | None] = lambda _: None,
    ) -> Iterator[tuple[WorkspacePath, Mapping[str, Facts]]]:
        """Yield each folder with the facts of everything in it that neither rules nor ignore files leave out.

        Folders come before those in them; links are not followed; what vanishes on the way is left out. As long as nothing in
        a folder differs, each walk gives the same mapping for it.

        Args:
            on_closed: Told of each folder that may not be read.
            stirred: The names in a folder that are looked at again, where all else may be taken as the walk before has met it;
                None has the folder read.
        """
        kept, self._kept = self._kept, {}
        pending = [(ROOT, outer_stack(self._store, self._ignores))]
        while pending:
            path, stack = pending.pop()
            folder = kept.get(path)
            names = None if folder is None else stirred(path)
            try:
                if folder is None or names is None:
                    found, state = self._entries(path, folder)
                else:
                    found, state = self._again(path, folder, names)
            except AccessDeniedError:
                on_closed(path)
                continue
            except GONE:
                continue
            if (entry := found.get(IGNORE_FILE)) is not None and stat.S_ISREG(entry[-1]):
                ignored = load_rules(self._store, path, self._ignores)
                stack = stack if ignored is None else stack.push(ignored)
            if folder is None or folder.levels != stack.levels or not _is_followed(folder, found):
                folder = self._sifted(path, found, stack)
            folder.state = state
            self._kept[str(path)] = folder
            yield path, folder.shown
            pending += [(path.child(name), stack) for name in folder.folders]

    def _again(self, path: WorkspacePath, folder: _SurveyedFolder, names: Collection[str]) -> _Found:
        if not names:
            return folder.found, folder.state
        found = {name: facts for name, facts in folder.found.items() if name not in names}
        found |= {name: facts for name in names if (facts := self._facts(path.child(name))) is not None}
        # A name whose facts cannot be had may still be there: the next walk reads them all.
        return found, folder.state if found.keys() == folder.found.keys() else None

    def _entries(self, path: WorkspacePath, folder: _SurveyedFolder | None) -> _Found:
        if self._scans is not None:
            state, names = (None, ()) if folder is None else (folder.state, folder.found)
            return self._scans.scan_again(path, state, names)
        entries = self._store.scan(path)
        return {entry.name: facts for entry in entries if (facts := self._facts(path.child(entry.name)))}, None

    def _facts(self, path: WorkspacePath) -> Facts | None:
        try:
            found = self._store.stat(path)
        except FileToolsError:
            return None
        return None if found is None else facts_of(found)

    def _sifted(self, path: WorkspacePath, found: Mapping[str, Facts], stack: IgnoreStack) -> _SurveyedFolder:
        names: dict[bool, list[str]] = {True: [], False: []}
        for name, facts in found.items():
            if not is_ours(name):
                names[stat.S_ISDIR(facts[-1])].append(name)
        sieves = [sieve for rules in (self._rules, stack) if (sieve := rules.in_directory(path)) is not None]
        shown: dict[str, Facts] = {}
        for is_directory, several in names.items():
            for sieve in sieves:
                several = list(sieve(several, is_directory))
            shown |= {name: found[name] for name in several}
        return _SurveyedFolder(
            found, None, stack.levels, shown, tuple(name for name in shown if stat.S_ISDIR(shown[name][-1]))
        )


def _is_followed(folder: _SurveyedFolder, found: Mapping[str, Facts]) -> bool:
    """Have a folder in which no name and no kind has changed follow its facts; whether that is so."""
    if folder.found is found or folder.found == found:
        return True
    if folder.found.keys() != found.keys():
        return False
    changed = [name for name, facts in found.items() if folder.found[name] != facts]
    if any(stat.S_IFMT(folder.found[name][-1]) != stat.S_IFMT(found[name][-1]) for name in changed):
        return False
    folder.found = found
    if not folder.shown.keys().isdisjoint(changed):
        folder.shown = {name: found[name] for name in folder.shown}
    return True
