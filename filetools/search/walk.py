"""Walks over a tree: in order and resumable for listings, in any order for those who look at everything.

No walk calls itself, so depth costs no stack, and no walk follows a link.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final, Self

from filetools.dataclass import dataclass
from filetools.errors import AbortedError, AccessDeniedError
from filetools.models import EntryType
from filetools.paths import WorkspacePath
from filetools.paths.ignore import IGNORE_FILE, IgnoreStack
from filetools.paths.patterns import ExcludeRules, Sieve
from filetools.search.folder import Folder, combined, is_ours, position_after, position_before
from filetools.search.ignores import IgnoreCache, load_rules, stack_above
from filetools.search.options import ListOptions
from filetools.search.source import GONE, LOOK_EVERY, Abort, Listable, Source
from filetools.stores.store import ScanEntry

Row = tuple[str, str, EntryType]
"""Path relative to the root, name, and type of one entry, as the disk has them."""

MAX_KEPT: Final = 16
"""Most descriptors that a walk keeps; in deeper trees the upper folders are opened again."""
LOOKED_AT: Final = 256
"""Fewest names that are sieved at a time."""


@dataclass(slots=True)
class _Level:
    """A folder on the way down; read when its first entry is wanted."""

    path: WorkspacePath
    stack: IgnoreStack
    folder: Folder | None = None
    sieve: Sieve | None = None
    directories: Sequence[str] = ()
    """Visible subfolders."""
    directory: int = 0
    """Position among them."""
    other: int = 0
    """Position among the others; they come when the subfolders are through."""
    descriptor: int | None = None
    """Kept while there are subfolders to open through it."""

    def close(self) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None

    @property
    def prefix(self) -> str:
        return f"{self.path}/" if self.path else ""


class OrderedWalk:
    """The entries below a folder in the order of listings. Lives for one page, inside a `with` block."""

    def __init__(
        self,
        source: Source,
        path: WorkspacePath,
        options: ListOptions,
        rules: ExcludeRules,
        cache: IgnoreCache,
        *,
        on_closed: Callable[[AccessDeniedError], None] = lambda _: None,
    ) -> None:
        """Begin at a folder; `on_closed` is told of each folder below it that may not be read and counts as empty."""
        self._on_closed = on_closed
        self._source = source
        self._options = options
        self._rules = rules
        self._ignores = cache
        self._hidden: Sieve | None = None if options.include_hidden else _without_hidden
        self._depth = options.max_depth if options.recursive else 1
        self._levels: list[_Level] = []
        self._path = path

    def __enter__(self) -> Self:
        """Read the folder itself; of it alone a failure is the caller's."""
        source, options = self._source, self._options
        stack = stack_above(source.store, self._path, self._ignores) if options.use_gitignore else IgnoreStack()
        top = _Level(self._path, stack)
        folder, top.descriptor = source.folder(self._path)
        self._levels.append(top)
        try:
            self._fill(top, folder)
            if not options.recursive:
                # All of it is sieved for the total, once for all pages of a folder that is remembered.
                top.folder = folder.visible(top.sieve, (options.include_hidden, self._rules.patterns, top.stack.levels))
                top.sieve = None
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Close the folders that are still open."""
        while self._levels:
            self._levels.pop().close()

    def total(self) -> int:
        """Return how many entries the folder itself has; only of a walk that is not recursive."""
        folder = self._levels[0].folder
        return 0 if folder is None else len(folder)

    def resume(self, relative: str, kind: EntryType, *, again: bool = False) -> None:
        """Go on behind an entry, which may be gone by now.

        Args:
            relative: Its path below the folder listed.
            kind: The type it had.
            again: Go on with the entry itself, if it is still there; not for folders.
        """
        names = relative.split("/")
        for depth, name in enumerate(names, start=1):
            level = self._levels[-1]
            folder = self._folder_of(level)
            if depth == len(names) and kind != "directory":
                level.directory = len(level.directories)
                level.other = (position_before if again else position_after)(folder.others, name)
                return
            level.directory = position_after(level.directories, name)
            is_there = level.directory > 0 and level.directories[level.directory - 1] == name
            if depth >= self._depth or not is_there:
                return
            self._levels.append(_Level(level.path.child(name), level.stack))

    def take(self, count: int, wanted: Callable[[str], bool] | None = None) -> list[Row]:
        """Return the next entries; fewer only at the end.

        Args:
            count: How many.
            wanted: Given the path of an entry, whether it counts; its subfolders are visited anyway.
        """
        rows: list[Row] = []
        while self._levels and len(rows) < count:
            level = self._levels[-1]
            folder = self._folder_of(level)
            if level.directory < len(level.directories):
                found = [self._next_directory(level)]
            else:
                found = _next_others(level, folder, count - len(rows))
                if level.other >= len(folder.others):
                    self._levels.pop().close()
            rows += found if wanted is None else [row for row in found if wanted(row[0])]
        return rows

    def _next_directory(self, level: _Level) -> Row:
        name = level.directories[level.directory]
        level.directory += 1
        path = level.path.child(name)
        if len(self._levels) < self._depth:
            self._levels.append(_Level(path, level.stack))
        return (path, name, "directory")

    def _folder_of(self, level: _Level) -> Folder:
        if level.folder is not None:
            return level.folder
        depth = len(self._levels)
        above = self._levels[-2].descriptor if depth > 1 else None
        try:
            folder, level.descriptor = self._source.folder(level.path, above)
        except GONE as exc:
            if isinstance(exc, AccessDeniedError):
                self._on_closed(exc)
            folder = Folder((), (), {})
        if depth > MAX_KEPT:
            self._levels[depth - 1 - MAX_KEPT].close()
        self._fill(level, folder)
        return folder

    def _fill(self, level: _Level, folder: Folder) -> None:
        if self._options.use_gitignore and folder.has_file(IGNORE_FILE):
            rules = load_rules(self._source.store, level.path, self._ignores)
            level.stack = level.stack.push(rules) if rules is not None else level.stack
        level.folder = folder
        sieves = (self._hidden, self._rules.in_directory(level.path), level.stack.in_directory(level.path))
        level.sieve = combined(sieves)
        level.directories = folder.directories
        if level.sieve is not None and level.directories:
            level.directories = level.sieve(level.directories, True)
        if not level.directories:
            level.close()


def _next_others(level: _Level, folder: Folder, count: int) -> list[Row]:
    """Return up to `count` of the next entries that are no folders; perhaps none of some that are hidden."""
    prefix, kinds = level.prefix, folder.kinds
    looked_at = count if level.sieve is None else max(count, LOOKED_AT)
    names = folder.others[level.other : level.other + looked_at]
    level.other += len(names)
    if level.sieve is not None:
        names = level.sieve(names, False)
        if len(names) > count:
            names = names[:count]
            level.other = position_after(folder.others, names[-1])
    if not kinds:
        return [(prefix + name, name, "file") for name in names]
    return [(prefix + name, name, kinds.get(name, "file")) for name in names]


def _without_hidden(names: Sequence[str], _is_directory: bool) -> Sequence[str]:
    return [name for name in names if name[0] != "."]


def walk_tree(
    store: Listable, path: WorkspacePath, *, rules: ExcludeRules | None = None, abort: Abort | None = None
) -> Iterator[tuple[WorkspacePath, ScanEntry]]:
    """Yield everything below a folder in no order, but each folder before what is in it.

    Folders that vanish, or cannot be read, on the way yield nothing; links are yielded, not followed.

    Args:
        store: What to walk over.
        path: The folder; not yielded itself.
        rules: What to leave out, with all below.
        abort: Looked at for every folder and now and then within one; True stops the walk.

    Raises:
        DirectoryNotFoundError, PathNotDirectoryError: Of `path` itself.
        AbortedError: `abort` said so.
    """
    pending = [path]
    while pending:
        directory = pending.pop()
        sieve = rules.in_directory(directory) if rules is not None else None
        entries = _entries(store, directory, is_top=directory == path)
        while batch := list(islice(entries, LOOK_EVERY)):
            if abort is not None and abort():
                raise AbortedError("The walk")
            for entry in batch if sieve is None else _sieved(batch, sieve):
                if is_ours(entry.name):
                    continue
                child = directory.child(entry.name)
                yield child, entry
                if entry.type == "directory":
                    pending.append(child)


def _sieved(entries: Sequence[ScanEntry], sieve: Sieve) -> Iterator[ScanEntry]:
    folders = {entry.name for entry in entries if entry.type == "directory"}
    kept = {*sieve([*folders], True), *sieve([entry.name for entry in entries if entry.name not in folders], False)}
    return (entry for entry in entries if entry.name in kept)


def _entries(store: Listable, directory: WorkspacePath, *, is_top: bool) -> Iterator[ScanEntry]:
    try:
        yield from store.scan(directory)
    except GONE:
        if is_top:
            raise
