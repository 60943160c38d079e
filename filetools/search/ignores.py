"""Ignore files inside the tree and outside it, found as git does; cached while they are unchanged."""

from __future__ import annotations

import logging
import os
import stat
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence, Set
from functools import lru_cache
from pathlib import Path
from typing import Final

from filetools.content.identity_cache import Identity, IdentityCache, identity_of
from filetools.errors import FileBusyError, FileTooLargeError, NotRegularFileError, PathIsDirectoryError
from filetools.paths.ignore import IGNORE_FILE, IgnoreRules, IgnoreStack
from filetools.paths.patterns import ExcludeRules
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.source import GONE, Listable
from filetools.settings import git_program, home_directory, variables
from filetools.stores.private import is_ours
from filetools.stores.reading import LocalReading

logger = logging.getLogger(__name__)

MAX_IGNORE_BYTES: Final = 64 * 1024 * 1024
"""Larger ignore files are skipped; git's own limit is 100 MB."""
_GIT_SECONDS: Final = 5.0

_RULES: Final = IdentityCache[IgnoreRules]()
"""Compiled ignore files by identity and path, of all workspaces of the process."""
_BLOCK_BYTES: Final = 4096
"""Size of an ignore file that counts as one entry of the cache."""
_resolved: Final = lru_cache(maxsize=64)(Path.resolve)


def load_rules(store: Listable, directory: WorkspacePath) -> IgnoreRules | None:
    """Return the rules of a folder's ignore file, or None if there is none or it cannot be read."""
    path = directory.child(IGNORE_FILE)
    try:
        facts = store.stat(path)
        if facts is None or facts.type != "file":
            return None
        return _rules(facts.identity, path, lambda: store.read(path, limit=MAX_IGNORE_BYTES)[0], base=directory)
    except (*GONE, PathIsDirectoryError, NotRegularFileError, FileBusyError, FileTooLargeError) as exc:
        logger.warning("The ignore file %s cannot be read, and its rules do not apply: %s", path, exc)
        return None


def _rules(
    identity: Identity, place: str, read: Callable[[], bytes], *, base: str = "", above: str = ""
) -> IgnoreRules:
    if (kept := _RULES.get(identity, place=place)) is not None:
        return kept
    taken_ns = time.time_ns()
    rules = IgnoreRules.parse(read(), base, above=above)
    _RULES.put(identity, rules, taken_ns=taken_ns, place=place, weight=1 + identity[2] // _BLOCK_BYTES)
    return rules


def outer_ignore_files(root: Path) -> Iterator[tuple[Path, str, Identity]]:
    """Yield the ignore files outside a root that apply in it, lowest precedence first.

    They are the user's own (`core.excludesFile`), the repository's `info/exclude`, and `.gitignore` in each folder from the
    top of the work tree down to the root. A root outside any work tree has none. Each file comes with the path of the root
    relative to the folder where its rules begin ("" if they begin at the root), and its identity.
    """
    root = _resolved(root)
    top = next((folder for folder in (root, *root.parents) if os.path.lexists(folder / ".git")), None)
    if top is None:
        return
    between = [folder for folder in reversed(root.parents) if folder.is_relative_to(top)]
    files = [(_users_file(top), top), (_exclude_file(top / ".git"), top)]
    for path, folder in (*files, *((folder / IGNORE_FILE, folder) for folder in between)):
        try:
            found = path.stat()
        except OSError:
            continue
        if stat.S_ISREG(found.st_mode) and found.st_size <= MAX_IGNORE_BYTES:
            yield path, "" if folder == root else root.relative_to(folder).as_posix(), identity_of(found)


def _exclude_file(git: Path) -> Path:
    """Return `info/exclude` of a repository; in linked work trees and submodules, `.git` is a file that points to it."""
    try:
        if git.is_file():
            git = git.parent / git.read_text().removeprefix("gitdir:").strip()
        if (common := git / "commondir").is_file():
            git /= common.read_text().strip()
    except (OSError, UnicodeDecodeError):
        pass  # as in git: a broken repository has no rules
    return git / "info" / "exclude"


@lru_cache(maxsize=64)
def _users_file(top: Path) -> Path:
    # Once per process: only git knows all files that its configuration includes. `git config` starts no other program.
    command = [git_program(top) or "", "-C", str(top), "config", "--type=path", "--get", "core.excludesFile"]
    try:
        answer = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_GIT_SECONDS, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        answer = b""
    if answer:
        return top / os.fsdecode(answer.removesuffix(b"\n"))
    return Path(variables(["XDG_CONFIG_HOME"]).get("XDG_CONFIG_HOME") or home_directory() / ".config", "git", "ignore")


def outer_stack(store: Listable) -> IgnoreStack:
    """Return the rules of the ignore files outside the root, lowest precedence first."""
    stack = IgnoreStack()
    for path, above, identity in outer_ignore_files(store.root) if isinstance(store, LocalReading) else ():
        try:
            rules = _rules(identity, f"{path}\0{above}", path.read_bytes, above=above)
        except OSError as exc:
            logger.warning("The ignore file %s cannot be read, and its rules do not apply: %s", path, exc)
            continue
        stack = stack if rules.is_empty else stack.push(rules)
    return stack


def stack_above(store: Listable, directory: WorkspacePath) -> IgnoreStack:
    """Return the rules that apply to a folder from above: from outside the root, then the root's, and so on down."""
    stack = outer_stack(store)
    above: list[WorkspacePath] = []
    while not directory.is_root:
        directory = directory.parent
        above.append(directory)
    for folder in reversed(above):
        rules = load_rules(store, folder)
        stack = stack.push(rules) if rules is not None else stack
    return stack


class LeftOut:
    """The filter of excluded paths for one look. Reads the ignore files of each folder once.

    Args:
        store: The tree.
        rules: Exclusions besides those of ignore files.
        tracked: Paths that git tracks although ignore files exclude them, and the folders above them.
        is_open: True if an editor has a path open; then it is not excluded.
    """

    def __init__(
        self,
        store: Listable,
        rules: ExcludeRules,
        tracked: Set[str],
        is_open: Callable[[str], bool],
    ) -> None:
        self._store = store
        self._rules = rules
        self._tracked = tracked
        self._is_open = is_open
        self._folders: dict[str, IgnoreStack | None] = {}
        """The ignore rules in force in a folder; None if it is excluded itself."""

    def __call__(self, path: str, is_directory: bool) -> bool:
        """True if a path is excluded, by itself or because a folder above it is."""
        if is_ours(path.rpartition("/")[2]):
            return True
        if path in self._tracked or (not is_directory and self._is_open(path)):
            return False
        return self._is_ignored(path, is_directory)

    def _is_ignored(self, path: str, is_directory: bool) -> bool:
        stack = self._stack_of(path.rpartition("/")[0])
        if stack is None or self._rules.ignores_itself(path, is_directory):
            return True
        return stack.ignores_itself(path, is_directory)

    def among(self, folder: str, names: Sequence[str], is_directory: bool) -> list[str]:
        """Return the excluded paths among several names in a folder, much faster than one call for each."""
        prefix, stack, kept = f"{folder}/" if folder else "", self._stack_of(folder), names
        for rules in (self._rules, stack or IgnoreStack()):
            if (keep := rules.in_directory(folder)) is not None:
                kept = keep(kept, is_directory)
        suspects = set(names).difference(kept if stack is not None else ())
        return [path for path in map(prefix.__add__, suspects) if self(path, is_directory)]

    def _stack_of(self, folder: str) -> IgnoreStack | None:
        if folder not in self._folders:
            for each in ("", *WorkspacePath(folder).folders, folder):  # iterative, because folders may be nested deeply
                if each not in self._folders:
                    self._folders[each] = self._stack_in(each)
        return self._folders[folder]

    def _stack_in(self, folder: str) -> IgnoreStack | None:
        if not folder:
            stack = outer_stack(self._store)
        elif is_ours(folder.rpartition("/")[2]) or self._is_ignored(folder, True):
            return None
        else:
            above = self._folders[folder.rpartition("/")[0]]
            assert above is not None
            stack = above
        rules = load_rules(self._store, WorkspacePath(folder))
        return stack if rules is None else stack.push(rules)
