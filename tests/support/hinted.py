"""Collecting what the watching half of the tree hints at, and waiting for it without sleeping blindly."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filetools.tree.hints import Agenda, FolderId
from tests.support.declared import REPOSITORY


def wait_until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Return once a condition holds; fail after a bounded time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.002)


def folder_id(place: Path) -> FolderId:
    """Return device and inode of a folder."""
    facts = os.stat(place)
    return (facts.st_dev, facts.st_ino)


@contextmanager
def descriptors_left(count: int) -> Iterator[None]:
    """Let this process open only so many files more, until the block ends."""
    limits, fillers = resource.getrlimit(resource.RLIMIT_NOFILE), [os.dup(1) for _ in range(count + 1)]
    for filler in fillers[:-1]:
        os.close(filler)
    resource.setrlimit(resource.RLIMIT_NOFILE, (fillers[-1], limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        os.close(fillers[-1])


def said_by(*command: str | Path, program: str, arguments: tuple[str | Path, ...]) -> str:
    """Return what a Python program prints in a process of its own, started by a command such as `unshare`."""
    line = [*command, sys.executable, "-c", program, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(line, check=False, capture_output=True, text=True, timeout=60, env=environment)
    return done.stdout.strip() or done.stderr.strip()


class Sink:
    """Takes hints and calls, as the writer would."""

    def __init__(self) -> None:
        self.wakes = 0
        self.agenda = Agenda(self._wake)
        self.folders: dict[FolderId, set[str | None]] = {}
        self.reasons: set[str] = set()
        self.unable: list[str] = []

    def look(self) -> None:
        """Take what is hinted at."""
        due = self.agenda.take(with_again=True)
        for folder, names in due.hints.items():
            self.folders.setdefault(folder, set()).update({None} if names is None else names)
        self.reasons |= due.reasons

    def names(self, place: Path) -> set[str | None]:
        """Return the names hinted at in a folder since the last `forget`."""
        self.look()
        return self.folders.get(folder_id(place), set())

    def has(self, *reasons: str) -> bool:
        """True if everything was hinted at since the last `forget`, for exactly these reasons."""
        self.look()
        return self.reasons == set(reasons)

    def forget(self) -> None:
        """Forget what was hinted at so far."""
        self.look()
        self.folders.clear()
        self.reasons.clear()

    def _wake(self) -> None:
        self.wakes += 1
