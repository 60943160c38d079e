"""Tree walks: ordered and resumable for listings, unordered for complete scans.

Walks are iterative, so that depth uses no stack, and never follow links.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from filetools.errors import AccessDeniedError
from filetools.models.words import EntryType
from filetools.paths.ignore import IGNORE_FILE, IgnoreStack, NameFilter
from filetools.paths.patterns import ExcludeRules
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.search.folder import SortedFolder, combined, position_after, position_before
from filetools.search.ignores import load_rules, stack_above
from filetools.search.options import ListOptions
from filetools.search.source import GONE, Listable, Source
from filetools.stores.store import ScanEntry

Found = tuple[str, EntryType]
"""The path of an entry as on disk, and its type."""

LOOKED_AT: Final = 256
"""Minimum number of names filtered at a time."""


class _Level:
    """A folder on the way down; read when its first entry is needed."""

    # Class attributes hold the defaults that most folders keep: a walk creates one object for every folder.
    folder: SortedFolder | None = None
    name_filter: NameFilter | None = None
    directories: Sequence[str] = ()
    """Visible subfolders."""
    directory = 0
    """Position in `directories`."""
    other = 0
    """Position in the folder's `others`, which follow after the subfolders."""

    def __init__(self, path: str, stack: IgnoreStack) -> None:
        self.path = path
        self.prefix = path + "/" if path else ""
        self.stack = stack


class OrderedWalk:
    """The entries below a folder in listing order, with their paths as on disk.

    Use for one page or one pass over the tree, and in one thread at a time.
    """

    def __init__(
        self,
        source: Source,
        path: WorkspacePath,
        options: ListOptions,
        rules: ExcludeRules,
        *,
        on_closed: Callable[[AccessDeniedError], None] = lambda _: None,
    ) -> None:
        """Read the folder itself, the only one whose failure is raised.

        `on_closed` is called for each folder below it that cannot be read and counts as empty.
        """
        self._on_closed = on_closed
        self.source, self.path, self.options = source, path, options
        self._rules = rules
        self._hidden: NameFilter | None = (
            None if options.include_hidden else (lambda names, _: [name for name in names if name[0] != "."])
        )
        self._usual = combined((self._hidden, rules.in_directory(ROOT)))
        """The filter for every folder without ignore rules, if the patterns depend only on names."""
        self._depth = options.max_depth if options.recursive else 1
        stack = stack_above(source.store, path) if options.use_gitignore else IgnoreStack()
        top = _Level(path, stack)
        folder = source.folder(path)
        self._fill(top, folder)
        if not options.recursive and top.name_filter is not None:
            # Filter the whole folder, for the total.
            top.folder = SortedFolder(top.directories, top.name_filter(folder.others, False), folder.kinds)
            top.name_filter = None
        self._levels = [top]

    def total(self) -> int:
        """Return the number of entries of the folder itself; only for non-recursive walks."""
        folder = self._levels[0].folder
        return 0 if folder is None else len(folder.directories) + len(folder.others)

    def resume(self, relative: str, *, is_directory: bool, again: bool = False) -> None:
        """Continue after an entry, which may no longer exist.

        Args:
            relative: Its path below the folder listed.
            is_directory: True if it was a folder.
            again: Continue with the entry itself, if it still exists; not for folders.
        """
        names = relative.split("/")
        for depth, name in enumerate(names, start=1):
            level = self._levels[-1]
            folder = level.folder or self._read(level)
            if depth == len(names) and not is_directory:
                level.directory = len(level.directories)
                level.other = (position_before if again else position_after)(folder.others, name)
                return
            level.directory = position_after(level.directories, name)
            is_there = level.directory > 0 and level.directories[level.directory - 1] == name
            if depth >= self._depth or not is_there:
                return
            self._levels.append(_Level(level.prefix + name, level.stack))

    def take(self, count: int, wanted: Callable[[str], bool] | None = None) -> list[Found]:
        """Return the next entries; fewer than `count` only at the end.

        Args:
            count: Number of entries.
            wanted: Returns True if the entry with the given path counts; its subfolders are visited anyway.
        """
        if wanted is None:
            return self._next(count)
        rows: list[Found] = []
        while len(rows) < count and (found := self._next(count - len(rows))):
            rows += [row for row in found if wanted(row[0])]
        return rows

    def _next(self, count: int) -> list[Found]:
        rows: list[Found] = []
        levels, depth = self._levels, self._depth
        while levels and len(rows) < count:
            level = levels[-1]
            folder = level.folder or self._read(level)
            if level.directory < len(level.directories):
                path = level.prefix + level.directories[level.directory]
                level.directory += 1
                rows.append((path, "directory"))
                if len(levels) < depth:
                    levels.append(_Level(path, level.stack))
                continue
            rows += _next_others(level, folder, count - len(rows))
            if level.other >= len(folder.others):
                levels.pop()
        return rows

    def _read(self, level: _Level) -> SortedFolder:
        try:
            folder = self.source.folder(level.path)
        except GONE as exc:
            if isinstance(exc, AccessDeniedError):
                self._on_closed(exc)
            folder = SortedFolder((), (), {})
        self._fill(level, folder)
        return folder

    def _fill(self, level: _Level, folder: SortedFolder) -> None:
        if self.options.use_gitignore and folder.has_file(IGNORE_FILE):
            rules = load_rules(self.source.store, WorkspacePath(level.path))
            level.stack = level.stack.push(rules) if rules is not None else level.stack
        level.folder = folder
        level.name_filter = name_filter = self._name_filter(level.path, level.stack)
        level.directories = folder.directories
        if name_filter is not None and level.directories:
            level.directories = name_filter(level.directories, True)

    def _name_filter(self, path: str, stack: IgnoreStack) -> NameFilter | None:
        if self._rules.is_of_names and not stack.levels:
            return self._usual
        return combined((self._hidden, self._rules.in_directory(path), stack.in_directory(path)))


def _next_others(level: _Level, folder: SortedFolder, count: int) -> list[Found]:
    """Return up to `count` of the next entries that are not folders; may be empty if the next ones are hidden."""
    looked_at = count if level.name_filter is None else max(count, LOOKED_AT)
    names = folder.others[level.other : level.other + looked_at]
    level.other += len(names)
    if level.name_filter is not None:
        names = level.name_filter(names, False)
        if len(names) > count:
            names = names[:count]
            level.other = position_after(folder.others, names[-1])
    return [(level.prefix + name, folder.kinds.get(name, "file")) for name in names]


def walk_tree(store: Listable, path: WorkspacePath) -> Iterator[tuple[WorkspacePath, ScanEntry]]:
    """Yield everything below a folder in no particular order, but each folder before its contents.

    Folders that disappear or cannot be read yield nothing; links are yielded but not followed.

    Args:
        store: The store to walk.
        path: The folder; not yielded itself.

    Raises:
        DirectoryNotFoundError, PathNotDirectoryError: For `path` itself.
    """
    pending = [path]
    while pending:
        directory = pending.pop()
        try:
            entries = list(store.scan(directory))
        except GONE:
            if directory == path:
                raise
            continue
        for entry in entries:
            child = directory.child(entry.name)
            yield child, entry
            if entry.type == "directory":
                pending.append(child)
