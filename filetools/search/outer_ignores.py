"""Finds the ignore files outside a root that apply inside it, as git does: the user's, the repository's, those above."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from shutil import which
from typing import Final, NamedTuple

from filetools.paths.ignore import IGNORE_FILE
from filetools.settings import variables

MAX_IGNORE_BYTES: Final = 64 * 1024 * 1024
"""A larger ignore file is left aside; git's own limit is 100 MB."""
_GIT_SECONDS: Final = 5.0


class OuterIgnoreFile(NamedTuple):
    """An ignore file outside the root."""

    path: Path
    above: str
    """The root, relative to the folder in which its rules begin; "" if they begin at the root."""
    identity: tuple[int, int, int, int, int]
    """Device, inode, size, mtime and ctime."""


def outer_ignore_files(root: Path) -> Iterator[OuterIgnoreFile]:
    """Yield the ignore files that hold in a root and lie outside it, the weakest first.

    They are the user's own (`core.excludesFile`), the repository's `info/exclude`, and `.gitignore` in each folder from the
    top of the work tree down to the root. Where the root lies in no work tree there are none.
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
            identity = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
            yield OuterIgnoreFile(path, "" if folder == root else root.relative_to(folder).as_posix(), identity)


@lru_cache(maxsize=64)
def _resolved(root: Path) -> Path:
    return root.resolve()


def _exclude_file(git: Path) -> Path:
    """Return `info/exclude` of a repository; in a linked work tree and a submodule `.git` is a file that leads to it."""
    try:
        if git.is_file():
            git = git.parent / git.read_text().removeprefix("gitdir:").strip()
        if (common := git / "commondir").is_file():
            git /= common.read_text().strip()
    except (OSError, UnicodeDecodeError):
        pass  # as git: a repository that leads nowhere has no rules
    return git / "info" / "exclude"


@lru_cache(maxsize=64)
def _users_file(top: Path) -> Path:
    # Asked once a process: only git knows all the files that its configuration includes. `git config` starts no program.
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
