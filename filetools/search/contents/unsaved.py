"""Unsaved texts of editors in a search; they replace files, or appear where there is no file."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from filetools.models.words import EntryType
from filetools.paths.patterns import ExcludeRules
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.folder import sort_key
from filetools.search.ignores import stack_above
from filetools.search.options import ListOptions
from filetools.search.source import Listable

Place = tuple[tuple[int, str, str], ...]
"""Sort key of a path in listing order."""


class Unsaved(Struct, frozen=True, kw_only=True):
    """The documents with unsaved text, for one page of a search."""

    texts: Mapping[str, tuple[str, Callable[[], str | None]]] = field(default_factory=dict)
    """By path key: the path, and a function that returns the text, or None if it has been saved or closed meanwhile."""
    key: Callable[[WorkspacePath], str] = str

    def has(self, path: str) -> bool:
        """Return True if a path had unsaved text when the search began."""
        return bool(self.texts) and self.key(WorkspacePath(path)) in self.texts

    def text(self, path: str) -> str | None:
        """Return the unsaved text of a path, if there is one."""
        found = self.texts.get(self.key(WorkspacePath(path)))
        return None if found is None else found[1]()


def place_of(path: str, kind: EntryType = "file") -> Place:
    """Return the sort key of listings: folders first, then by name; a folder before its contents."""
    *folders, name = path.split("/")
    return (*((0, *sort_key(folder)) for folder in folders), (int(kind != "directory"), *sort_key(name)))


def without_file(
    unsaved: Unsaved, store: Listable, folder: WorkspacePath, options: ListOptions, rules: ExcludeRules,
) -> list[str]:  # fmt: skip
    """Return the paths below a folder, in order, with unsaved text but no file, that a listing would show."""
    prefix = f"{folder}/" if folder else ""
    found = []
    for path, _ in unsaved.texts.values():
        where = WorkspacePath(path)
        if not path.startswith(prefix) or store.stat(where) is not None:
            continue
        is_hidden = not options.include_hidden and any(name.startswith(".") for name in path[len(prefix) :].split("/"))
        if is_hidden or rules.matches(path, False):
            continue
        if options.use_gitignore and stack_above(store, where).ignores(path, False):
            continue
        found.append(path)
    return sorted(found, key=place_of)
