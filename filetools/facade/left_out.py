"""What looks at the tree leave out: excluded patterns, and what ignore files name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from filetools.paths.ignore import IgnoreStack
from filetools.paths.patterns import ExcludeRules
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.folder import is_ours
from filetools.search.ignores import IgnoreCache, load_rules, outer_stack
from filetools.stores.store import Store


class LeftOut:
    """Tells for one look what it leaves out. Ignore files are read once in each folder.

    Args:
        store: The tree.
        rules: What is left out besides what ignore files name.
        cache: Ignore files that are known.
        is_open: Whether an editor has a path open: then ignore files do not count.
    """

    def __init__(self, store: Store, rules: ExcludeRules, cache: IgnoreCache, is_open: Callable[[str], bool]) -> None:
        self._store = store
        self._rules = rules
        self._cache = cache
        self._is_open = is_open
        self._folders: dict[str, IgnoreStack | None] = {}
        """Ignore files that hold in a folder; None if it is left out itself."""

    def __call__(self, path: str, is_directory: bool) -> bool:
        """Whether a path is left out, by itself or with a folder above it."""
        if is_ours(path.rpartition("/")[2]):
            return True
        if not is_directory and self._is_open(path):
            return False
        stack = self._stack_of(path.rpartition("/")[0])
        if stack is None or self._rules.ignores_itself(path, is_directory):
            return True
        return stack.ignores_itself(path, is_directory)

    def among(self, folder: str, names: Sequence[str], is_directory: bool) -> list[str]:
        """Return the paths that are left out of several in a folder, at a fraction of the cost of asking for each."""
        prefix, stack, kept = f"{folder}/" if folder else "", self._stack_of(folder), names
        for rules in (self._rules, stack or IgnoreStack()):
            if (sieve := rules.in_directory(folder)) is not None:
                kept = sieve(kept, is_directory)
        suspects = set(names).difference(kept if stack is not None else ())
        return [path for path in map(prefix.__add__, suspects) if self(path, is_directory)]

    def _stack_of(self, folder: str) -> IgnoreStack | None:
        if folder not in self._folders:
            for each in ("", *WorkspacePath(folder).folders, folder):  # without recursion, however deep it is
                if each not in self._folders:
                    self._folders[each] = self._stack_in(each)
        return self._folders[folder]

    def _stack_in(self, folder: str) -> IgnoreStack | None:
        if not folder:
            stack = outer_stack(self._store, self._cache)
        elif self(folder, True):
            return None
        else:
            above = self._folders[folder.rpartition("/")[0]]
            assert above is not None
            stack = above
        rules = load_rules(self._store, WorkspacePath(folder), self._cache)
        return stack if rules is None else stack.push(rules)
