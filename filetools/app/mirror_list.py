"""The mirrors that a root remembers: adding, removing and listing them. Everybody who opens the root applies them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from filetools.app.mirrors import ROOT_MOVED, DirectoryMirror, home_of, mirror_of, place_of, refuse_overlaps
from filetools.app.state import prepare_state
from filetools.errors import InvalidArgumentError
from filetools.journal.changes import MirrorRow
from filetools.journal.sqlite import SqliteJournal
from filetools.paths.lexical import AnyPath
from filetools.settings import STATE_DIRECTORY
from filetools.sync.identity import MARKER, mark

MirrorPresence = Literal["attached", "filling", "away"]
_OF_A_ROOT: Final = (f"{STATE_DIRECTORY}/journal.db", f"{STATE_DIRECTORY}/id", "journal.db")
"""What the folder of another root holds, or its state directory."""
_ANOTHER: Final = "Name another folder."


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedMirror:
    """One mirror that the journal of a root knows."""

    path: str
    """Its folder, or the name of a store."""
    added: bool
    """Whether everybody who opens the root applies it; else only who names it does."""
    state: MirrorPresence
    """"attached": its folder is there; "filling": it is there, and does not hold everything yet; "away"."""
    behind: int
    """Number of paths that wait for it; while it is filled, those that have changed since."""
    reason: str | None = None
    """Why it is away."""


def add_mirror(
    root: Path, folder: AnyPath, *, state_directory: Path | None = None, adopt: bool = False
) -> ListedMirror:
    """Have everybody who opens a root apply a mirror, from now on. Blocks; the first synchronisation fills it.

    Args:
        root: The root.
        folder: An empty folder, one that was this mirror before, or none; made if it is missing.
        state_directory: Where the state of the root is, if not in `.filetools`.
        adopt: Take a folder that holds something else, or is a mirror of another root. A synchronisation makes it equal to the
            root; what it loses is kept as versions.

    Raises:
        InvalidArgumentError: It cannot be a mirror of the root, or needs `adopt`.
        AccessDeniedError, DiskFullError, StateDamagedError, StateElsewhereError, LockTimeoutError: The state cannot be written.
    """
    mirror = mirror_of(folder)
    if not isinstance(mirror, Path):
        raise InvalidArgumentError("Only a folder can be added; name a store whenever you open the root")
    refuse_overlaps(root, mirror, state_directory)
    place, home = Path(place_of(mirror)), home_of(root)
    _refuse_state(place)
    with _journal(root, state_directory) as journal:
        mirrors = journal.mirrors
        known = mirrors.get(str(place))
        is_moved = known is not None and known.root not in (None, home)
        if is_moved and not adopt:
            raise _refusal(place, ROOT_MOVED)
        if is_moved:
            # A line of its own: a copy of the root, or the one that was copied, must not take the folder for its own.
            mirrors.remove(str(place))
        marker, names = _looked_at(place)
        is_same = known is not None and not is_moved and known.is_or_was(marker)
        if names and not (adopt or is_same):
            whose = "it holds files already" if marker is None else "it is, or was, a mirror of another root"
            raise _refusal(place, whose)
        row = mirrors.register(str(place))
        if not is_same:
            mirrors.renew(row)
            row = mirrors.register(str(place))
            _make(place, row.identity)
        mirrors.remember(row, home)
        return _listed(journal, mirrors.register(str(place)), home)


def remove_mirror(root: Path, folder: AnyPath, *, state_directory: Path | None = None) -> ListedMirror:
    """Forget a mirror and its backlog, however the root came to know it; its files stay. Blocks.

    Raises:
        InvalidArgumentError: The root has no such mirror.
        AccessDeniedError, DiskFullError, StateDamagedError, StateElsewhereError, LockTimeoutError: The state cannot be written.
    """
    name = os.fsdecode(folder)
    if _has_state(root, state_directory):
        with _journal(root, state_directory) as journal:
            for place in (name, os.path.abspath(name), os.path.realpath(name)):
                row = journal.mirrors.get(place)
                if row is not None:
                    found = _listed(journal, row, home_of(root))
                    journal.mirrors.remove(place)
                    return found
    raise InvalidArgumentError(
        f"The root has no mirror {name!r}", suggested_action="See which it has with 'filetools mirror list'."
    )


def list_mirrors(root: Path, *, state_directory: Path | None = None) -> list[ListedMirror]:
    """Return the mirrors of a root, also those that were only named once: their backlogs are kept, too. Blocks.

    Raises:
        AccessDeniedError, DiskFullError, StateDamagedError, StateElsewhereError, LockTimeoutError: The state cannot be used.
    """
    if not _has_state(root, state_directory):
        return []
    with _journal(root, state_directory) as journal:
        return [_listed(journal, row, home_of(root)) for row in journal.mirrors.all()]


def presence(row: MirrorRow, home: bytes) -> tuple[MirrorPresence, str | None]:
    """Return whether a mirror is there, and why not; looks at its folder, and changes nothing.

    Args:
        row: What the journal knows of it.
        home: Where the root is.
    """
    if row.root not in (None, home):
        return "away", ROOT_MOVED
    if not os.path.isabs(row.place):
        return "away", "it is a store, which only a program can name"
    try:
        marker = _marker(Path(row.place))
    except OSError as exc:
        return "away", exc.strerror or str(exc)
    if marker is None:
        return "away", "its folder is not there"
    if not row.is_or_was(marker):
        return "away", "another folder stands at its place"
    return ("attached" if marker == row.identity and row.position is not None else "filling"), None


def _listed(journal: SqliteJournal, row: MirrorRow, home: bytes) -> ListedMirror:
    state, reason = presence(row, home)
    behind = journal.backlog.count(row.place)
    return ListedMirror(path=row.place, added=row.root is not None, state=state, behind=behind, reason=reason)


def _has_state(root: Path, state_directory: Path | None) -> bool:
    return (state_directory or root / STATE_DIRECTORY).is_dir()


@contextmanager
def _journal(root: Path, state_directory: Path | None) -> Iterator[SqliteJournal]:
    journal = SqliteJournal(prepare_state(root, state_directory).directory)
    try:
        yield journal
    finally:
        journal.close()


def _looked_at(place: Path) -> tuple[str | None, list[str]]:
    """Return what a folder says of itself, and the names in it; nothing of one that is missing."""
    try:
        return _marker(place), os.listdir(place)
    except FileNotFoundError:
        return None, []
    except OSError as exc:
        raise _refusal(place, exc.strerror or str(exc), _ANOTHER) from exc


def _marker(place: Path) -> str | None:
    try:
        return (place / MARKER).read_bytes().decode("ascii", "replace")
    except FileNotFoundError:
        return None


def _make(place: Path, identity: str) -> None:
    """Make the folder if it is missing, and have it say whose mirror it is."""
    try:
        store = DirectoryMirror(place)
    except OSError as exc:
        raise _refusal(place, exc.strerror or str(exc), _ANOTHER) from exc
    try:
        mark(store, identity)
    finally:
        store.close()


def _refuse_state(place: Path) -> None:
    """Refuse folders that belong to a root, and names that the journal cannot keep."""
    try:
        str(place).encode()
    except UnicodeEncodeError as exc:
        raise _refusal(place, "its name is not UTF-8", _ANOTHER) from exc
    if STATE_DIRECTORY in map(str.casefold, place.parts) or any(os.path.lexists(place / name) for name in _OF_A_ROOT):
        raise _refusal(place, "it is a root of its own, or the state of one", _ANOTHER)


def _refusal(place: Path, reason: str, remedy: str | None = None) -> InvalidArgumentError:
    shown = os.fsencode(place).decode("utf-8", "backslashreplace")
    usual = "Name an empty folder or a new one; --adopt makes this one equal to the root, and keeps what it loses as versions."
    return InvalidArgumentError(f"{shown!r} cannot be a mirror: {reason}", suggested_action=remedy or usual)
