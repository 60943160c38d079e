"""Ignore files inside the tree and outside it, found as git does; cached while they are unchanged."""

from __future__ import annotations

import logging
import os
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from shutil import which
from typing import Final

from filetools.content.identity_cache import Identity, IdentityCache, identity_of
from filetools.errors import FileBusyError, FileTooLargeError, NotRegularFileError, PathIsDirectoryError
from filetools.paths.ignore import IGNORE_FILE, IgnoreRules, IgnoreStack
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.source import GONE, Listable
from filetools.settings import variables
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
    command = [which("git") or "", "-C", str(top), "config", "--type=path", "--get", "core.excludesFile"]
    try:
        answer = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_GIT_SECONDS, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        answer = b""
    if answer:
        return top / os.fsdecode(answer.removesuffix(b"\n"))
    return Path(
        variables(["XDG_CONFIG_HOME"]).get("XDG_CONFIG_HOME") or Path("~/.config").expanduser(), "git", "ignore"
    )


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
