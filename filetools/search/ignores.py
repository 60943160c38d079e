"""Ignore files of the tree and above it, kept while they are unchanged."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from typing import Final

from filetools.errors import FileBusyError, FileTooLargeError, NotRegularFileError, PathIsDirectoryError
from filetools.paths.ignore import IGNORE_FILE, IgnoreRules, IgnoreStack
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.folder import YOUNG_NS
from filetools.search.outer_ignores import MAX_IGNORE_BYTES, outer_ignore_files
from filetools.search.source import GONE, Listable, OpensDirectories

logger = logging.getLogger(__name__)

MAX_CACHED_BYTES: Final = 16 * 1024 * 1024

_Identity = tuple[int, int, int, int, int]


class IgnoreCache:
    """Compiled ignore files by identity and place, within a bound of bytes. Thread-safe; one a process is enough."""

    def __init__(self, max_bytes: int = MAX_CACHED_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[str, tuple[_Identity, IgnoreRules]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, place: str, identity: _Identity) -> IgnoreRules | None:
        """Return the rules of an unchanged file."""
        with self._lock:
            kept = self._kept.get(place)
            return kept[1] if kept is not None and kept[0] == identity else None

    def put(self, place: str, identity: _Identity, rules: IgnoreRules, *, taken_ns: int) -> None:
        """Keep rules, unless the file was young when it was read."""
        size = identity[2]
        with self._lock:
            old = self._kept.pop(place, None)
            self._bytes -= old[0][2] if old is not None else 0
            if size > self._max_bytes or taken_ns - max(identity[3:]) < YOUNG_NS:
                return
            self._kept[place] = (identity, rules)
            self._bytes += size
            while self._bytes > self._max_bytes:
                _, (dropped, _) = self._kept.popitem(last=False)
                self._bytes -= dropped[2]


def load_rules(store: Listable, directory: WorkspacePath, cache: IgnoreCache) -> IgnoreRules | None:
    """Return the rules of a folder's ignore file, or None if it has none that can be read."""
    path = directory.child(IGNORE_FILE)
    try:
        facts = store.stat(path)
        if facts is None or facts.type != "file":
            return None
        if (kept := cache.get(path, facts.identity)) is not None:
            return kept
        taken_ns = time.time_ns()
        content, facts = store.read(path, limit=MAX_IGNORE_BYTES)
    except (*GONE, PathIsDirectoryError, NotRegularFileError, FileBusyError, FileTooLargeError) as exc:
        logger.warning("The ignore file %s cannot be read, and its rules do not apply: %s", path, exc)
        return None
    rules = IgnoreRules.parse(content, directory)
    _keep(rules, str(path), facts.identity, cache, taken_ns)
    return rules


def _keep(rules: IgnoreRules, place: str, identity: _Identity, cache: IgnoreCache, taken_ns: int) -> None:
    for problem in rules.problems:
        logger.warning("%s, line %d is ignored: %s", place.partition("\0")[0], problem.line, problem.reason)
    cache.put(place, identity, rules, taken_ns=taken_ns)


def outer_stack(store: Listable, cache: IgnoreCache) -> IgnoreStack:
    """Return the ignore files from outside the root, the weakest first."""
    stack = IgnoreStack()
    for file in outer_ignore_files(store.root) if isinstance(store, OpensDirectories) else ():
        place = f"{file.path}\0{file.above}"
        rules = cache.get(place, file.identity)
        if rules is None:
            taken_ns = time.time_ns()
            try:
                content = file.path.read_bytes()
            except OSError as exc:
                logger.warning("The ignore file %s cannot be read, and its rules do not apply: %s", file.path, exc)
                continue
            rules = IgnoreRules.parse(content, above=file.above)
            _keep(rules, place, file.identity, cache, taken_ns)
        stack = stack if rules.is_empty else stack.push(rules)
    return stack


def stack_above(store: Listable, directory: WorkspacePath, cache: IgnoreCache) -> IgnoreStack:
    """Return the ignore files that hold above a folder: those from outside the root, then the root's and so on."""
    stack = outer_stack(store, cache)
    above: list[WorkspacePath] = []
    while not directory.is_root:
        directory = directory.parent
        above.append(directory)
    for folder in reversed(above):
        rules = load_rules(store, folder, cache)
        stack = stack.push(rules) if rules is not None else stack
    return stack
