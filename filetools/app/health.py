"""Examines and repairs the state of a root, which need not be open and may be impossible to open."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from filetools.app.state import blocking, is_id, own_directory, planted_state
from filetools.app.trust import is_anothers, refuse_owner
from filetools.errors import AccessDeniedError, FileToolsError, LockTimeoutError, StateDamagedError
from filetools.journal.storage.rescue import JournalReport as JournalReport
from filetools.journal.storage.rescue import Rescue, folder_for_damage, start_again
from filetools.journal.storage.rescue import examine_journal as examine_journal
from filetools.models.words import STATE_PATH
from filetools.permissions.policy import SavedPermissions
from filetools.tree.leader import Leadership

LEADER_LOCK: Final = "leader.lock"
_KINDS: Final = {
    **dict.fromkeys(("beside", "blobs", "displaced", "tmp", "trash"), stat.S_IFDIR),
    **dict.fromkeys((LEADER_LOCK, "notify", "gate", "id", "mark", "position", "reserve", "turn"), stat.S_IFREG),
}
"""The file type of each name in a state directory."""
_RULES: Final = "permissions.json"


class Health(Struct, frozen=True, kw_only=True):
    """Result of examining a root; the examination changes nothing."""

    exists: bool
    """True if the root is a directory."""
    has_state: bool
    """True if it has a state directory; a root without one was never opened."""
    journal: JournalReport | None = None
    """None if there is no journal yet, or it is another user's."""
    misplaced: tuple[str, ...] = ()
    """Entries besides the journal that prevent opening: unreadable or of the wrong type; relative to the state directory."""

    @property
    def problem(self) -> FileToolsError | None:
        """The error that opening the root would raise, or None."""
        if self.misplaced:
            return StateDamagedError(f"{', '.join(self.misplaced)} cannot be used")
        return None if self.journal is None else self.journal.problem


class StateRepair(Struct, frozen=True, kw_only=True):
    """Result of a repair."""

    damage: str
    """What was wrong."""
    aside: str
    """Name of the folder in the state directory that now holds the damaged files."""
    misplaced: tuple[str, ...] = ()
    """Entries set aside besides the journal; the next opening recreates them."""
    rescue: Rescue | None = None
    """What was recovered from the journal and what is lost; None if the journal was sound."""


def examine(root: Path, state_directory: Path | None = None) -> Health:
    """Examine a root and its journal. Reads the whole journal and blocks: do not call it on an event loop."""
    directory = state_directory or root / STATE_PATH
    is_planted = blocking(directory) is not None
    is_refused = is_planted or is_anothers(directory)
    if is_refused or not directory.is_dir():
        problem = JournalReport(problem=planted_state()) if is_planted else None
        return Health(exists=root.is_dir(), has_state=is_refused, journal=problem)
    rules = own_directory(root, state_directory) or directory
    return Health(
        exists=root.is_dir(),
        has_state=True,
        journal=examine_journal(directory),
        misplaced=tuple(_misplaced(root, directory, rules)),
    )


def repair(root: Path, state_directory: Path | None = None) -> StateRepair | None:
    """Set aside whatever prevents opening and rebuild the state from disk. Return None if nothing is wrong.

    The files of the root are not touched. Blocks: do not call it on an event loop.

    Raises:
        LockTimeoutError: A process has the root open; end it first.
        StateDamagedError: The state directory's path is a link or not a directory.
        StateUntrustedError: Another user owns the state directory.
        StateVersionError, AccessDeniedError, DiskFullError: The journal cannot be used, but is not damaged either.
    """
    directory = state_directory or root / STATE_PATH
    if blocking(directory) is not None:
        raise planted_state()
    refuse_owner(directory)
    if not directory.is_dir():
        return None
    aside = folder_for_damage(directory)
    with _kept(directory, aside):
        rules = own_directory(root, state_directory) or directory
        misplaced = tuple(_misplaced(root, directory, rules))
        for name in misplaced:
            _put_aside(rules if name == _RULES else directory, aside, name)
        if "id" in misplaced:  # the IDs on both sides must be equal
            _put_aside(root / STATE_PATH, aside / "root", "id")
        report = examine_journal(directory)
        if report is None or report.problem is None:
            if not misplaced:
                return None
            damage = f"{', '.join(misplaced)} cannot be used"
            return StateRepair(damage=damage, aside=aside.name, misplaced=misplaced)
        if not isinstance(report.problem, StateDamagedError):
            raise report.problem
        rescue = start_again(directory, aside)
    return StateRepair(damage=report.problem.message, aside=aside.name, misplaced=misplaced, rescue=rescue)


def _misplaced(root: Path, directory: Path, rules: Path) -> Iterator[str]:
    """Yield the entries besides the journal that the opening or a first call would refuse."""
    for name, kind in _KINDS.items():
        if _kind(directory / name) not in (None, kind):
            yield name
    ids = [side / "id" for side in (directory, root / STATE_PATH) if _kind(side / "id") == stat.S_IFREG]
    if not all(is_id(each.read_bytes()) for each in ids):
        yield "id"
    try:
        SavedPermissions.read(rules / _RULES)
    except StateDamagedError:
        yield _RULES
    except FileToolsError:
        pass  # written by a newer release: not damaged


def _kind(place: Path) -> int | None:
    try:
        return stat.S_IFMT(place.lstat().st_mode)
    except FileNotFoundError:
        return None


def _put_aside(directory: Path, aside: Path, name: str) -> None:
    target = aside / name
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.path.lexists(directory / name):
        shutil.move(directory / name, target)  # the root and its state directory may be on different disks


@contextmanager
def _kept(directory: Path, aside: Path) -> Iterator[None]:
    """Hold the leader lock of a state directory, so that no other process works in it.

    Args:
        directory: The state directory.
        aside: Where to move the entry at the lock file's path if it is not a regular file.
    """
    with closing(Leadership(directory, LEADER_LOCK)) as leader:
        try:
            if _kind(directory / LEADER_LOCK) not in (None, stat.S_IFREG):
                _put_aside(directory, aside, LEADER_LOCK)
            is_ours = leader.try_lead()
        except OSError as exc:
            raise AccessDeniedError("the state directory", exc.strerror or "denied") from exc
        if not is_ours:
            raise LockTimeoutError("the journal", 0, "a process that has this root open")
        yield
