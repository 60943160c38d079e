"""Examining and repairing the state of a root that need not be open, and perhaps cannot be opened."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from filelock import lock_descriptor

from filetools.errors import AccessDeniedError, LockTimeoutError, StateDamagedError
from filetools.journal import JournalReport, Rescue, examine_journal, rescue_journal
from filetools.settings import STATE_DIRECTORY

KEEPER_LOCK: Final = "keeper.lock"
_FLAGS: Final = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What an examination of a root found; nothing was changed."""

    exists: bool
    """Whether the root is a directory."""
    has_state: bool
    """Whether it has a state directory; without one it was never opened."""
    is_open: bool = False
    """Whether some process has it open now."""
    journal: JournalReport | None = None
    """None if there is no journal yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What a repair did."""

    damage: str
    """What was wrong."""
    aside: str
    """Name, in the state directory, of the folder that holds the damaged journal now."""
    rescue: Rescue


def examine(root: Path, state_directory: Path | None = None) -> Health:
    """Look at a root and its journal. Reads the whole journal; blocks, so call it where no loop runs."""
    directory = state_directory or root / STATE_DIRECTORY
    if not directory.is_dir():
        return Health(exists=root.is_dir(), has_state=False)
    return Health(exists=root.is_dir(), has_state=True, is_open=_is_kept(directory), journal=examine_journal(directory))


def repair(root: Path, state_directory: Path | None = None) -> Repair | None:
    """Replace a damaged journal by a fresh one with all that can be rescued; None if it is not damaged.

    The files of the root are not touched. Blocks, so call it where no loop runs.

    Raises:
        LockTimeoutError: A process has the root open; end it first.
        StateTooNewError, AccessDeniedError, DiskFullError: The journal cannot be used, but is not damaged either.
    """
    directory = state_directory or root / STATE_DIRECTORY
    if not directory.is_dir():
        return None
    with _kept(directory):
        report = examine_journal(directory)
        if report is None or report.problem is None:
            return None
        if not isinstance(report.problem, StateDamagedError):
            raise report.problem
        aside = directory / time.strftime("damaged-%Y%m%d-%H%M%S")
        rescue = rescue_journal(directory, aside)
    return Repair(damage=report.problem.message, aside=aside.name, rescue=rescue)


def _is_kept(directory: Path) -> bool:
    try:
        with _kept(directory):
            return False
    except LockTimeoutError:
        return True
    except AccessDeniedError:
        return False


@contextmanager
def _kept(directory: Path) -> Iterator[None]:
    """Be the keeper of a state directory meanwhile, so that nobody else works in it."""
    try:
        descriptor = os.open(directory / KEEPER_LOCK, _FLAGS | os.O_CREAT, 0o600)
    except OSError as exc:
        raise AccessDeniedError("the state directory", exc.strerror or "denied") from exc
    try:
        if not lock_descriptor(descriptor, blocking=False):
            raise LockTimeoutError("the journal", 0, "a process that has this root open")
        yield
    finally:
        os.close(descriptor)
