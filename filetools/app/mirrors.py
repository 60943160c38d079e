"""Opens a root's mirrors, which may be missing for a while, and adds, removes and lists them."""

from __future__ import annotations

import os
import re
import shlex
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from filetools.app.state import prepare_state
from filetools.app.trust import is_anothers
from filetools.errors import InvalidArgumentError, SyncFailedError
from filetools.journal.backlog import MirrorRow
from filetools.journal.journal import Journal
from filetools.models.words import STATE_DIRECTORY, STATE_PATH
from filetools.paths.lexical import AnyPath
from filetools.stores.mirror import DirectoryMirror
from filetools.stores.store import Store
from filetools.sync.mirror_files import MARKER, mark

ROOT_MOVED: Final = (
    "the root was moved or copied since the mirror was added; 'filetools mirror add --adopt' takes it along"
)
MirrorPresence = Literal["attached", "filling", "away"]
_OF_A_ROOT: Final = (f"{STATE_PATH}/journal.db", f"{STATE_PATH}/id", "journal.db")
"""Paths whose presence shows that a folder is another root or its state directory."""
_MOUNT_INFO: Final = Path("/proc/self/mountinfo")
_OCTAL: Final = re.compile(rb"\\([0-7]{3})")
_ANOTHER: Final = "Name another folder."


class MirrorFolders:
    """The mirror folders of an open root; each is opened when it is available."""

    def __init__(self, journal: Journal, root: Path, state_directory: Path | None) -> None:
        self._journal = journal
        self._root = root
        self._state_directory = state_directory
        self._stores: list[DirectoryMirror] = []

    def open(self, row: MirrorRow) -> Store:
        """Return the store of a mirror, without opening the folder yet."""
        folder = Path(row.place)
        store = DirectoryMirror(folder, partial(self._check, folder))
        self._stores.append(store)
        return store

    def close(self) -> None:
        """Close every store. Idempotent."""
        for store in self._stores:
            store.close()

    def _check(self, folder: Path) -> None:
        row = self._journal.mirrors.get(str(folder))
        reason = "it was removed from the root" if row is None else None
        if row is not None and row.root is not None:
            # Neither create nor touch a folder without the marker: it may be the mount point of the mirror's missing disk.
            _, reason = presence(row, home_of(self._root))
        if reason is not None:
            raise SyncFailedError(None, reason)
        # One may have been mounted inside the other since.
        refuse_overlaps(self._root, folder, self._state_directory)


def home_of(root: Path) -> bytes:
    """Return the real path of a root, which distinguishes it from a copy that includes its state."""
    return os.fsencode(os.path.realpath(root))


def mirror_of(given: object) -> Path | Store:
    """Convert a caller's mirror argument into an absolute directory path or a store.

    Raises:
        InvalidArgumentError: It is neither; passing several mirrors is not supported.
    """
    if isinstance(given, str | os.PathLike):
        place = os.fspath(given)
        if isinstance(place, str) and place and "\0" not in place:
            return Path(os.path.abspath(place))
    elif isinstance(given, Store):
        return given
    raise InvalidArgumentError(f"The mirror is one directory or one store, not {type(given).__name__} {given!r:.60}")


def place_of(mirror: Path | Store) -> str:
    """Return a mirror's name in the root's journal, independent of how its path was written. Does not access a store."""
    return os.path.realpath(mirror) if isinstance(mirror, Path) else f"store {mirror.name}"


def refuse_overlaps(root: Path, mirror: Path | None, state: Path | None) -> None:
    """Raise an error if root, mirror or state directory overlap.

    Raises:
        InvalidArgumentError: Two of them are the same, or one contains another.
    """
    if mirror is not None and _overlap(root, mirror):
        raise InvalidArgumentError("Root and mirror must not be the same directory, nor one inside the other")
    if state is None:
        return
    if _overlap(root, state) and not _is_within(state, root / STATE_DIRECTORY):
        raise InvalidArgumentError(f"The state directory must lie outside the root, or be its {STATE_DIRECTORY}")
    if mirror is not None and _overlap(mirror, state):
        raise InvalidArgumentError("Mirror and state directory must not be the same, nor one inside the other")


def _overlap(first: Path, second: Path) -> bool:
    return _is_within(first, second) or _is_within(second, first)


def _is_within(inner: Path, outer: Path) -> bool:
    first, second = Path(os.path.realpath(inner)), Path(os.path.realpath(outer))
    if first.is_relative_to(second):
        return True
    mounts = _mounts()
    (disk, place), (other_disk, other_place) = _on_disk(first, mounts), _on_disk(second, mounts)
    return disk == other_disk and place.is_relative_to(other_place)


def _mounts() -> list[tuple[Path, str, Path]]:
    """Return each mount's mount point, its device, and the directory of the device that it shows (for bind mounts).

    Source: proc(5), /proc/pid/mountinfo.
    """
    try:
        lines = _MOUNT_INFO.read_bytes().splitlines()
    except OSError:
        return []  # not Linux
    rows = [[_OCTAL.sub(lambda found: bytes([int(found[1], 8)]), field) for field in line.split()] for line in lines]
    return [(Path(os.fsdecode(row[4])), row[2].decode(), Path(os.fsdecode(row[3]))) for row in rows]


def _on_disk(place: Path, mounts: list[tuple[Path, str, Path]]) -> tuple[str, Path]:
    """Return the device of a path and its path within the device, resolving mounts."""
    around = [mount for mount in mounts if place.is_relative_to(mount[0])]
    if not around:
        return "", place
    # The deepest mount counts; of several at one mount point the newest, which comes last.
    point, device, shown = max(reversed(around), key=lambda mount: len(mount[0].parts))
    return device, shown / place.relative_to(point)


class ListedMirror(Struct, frozen=True, kw_only=True):
    """One mirror recorded in a root's journal."""

    path: str
    """Its folder, or the name of a store."""
    added: bool
    """True if every opening of the root applies it; False if only openings that name it do."""
    state: MirrorPresence
    """"attached": available; "filling": available, but not complete yet; "away": not available."""
    behind: int
    """Number of paths not yet copied to it; while it is being filled, the number changed since."""
    reason: str | None = None
    """Why it is away."""


def add_mirror(
    root: Path, folder: AnyPath, *, state_directory: Path | None = None, adopt: bool = False
) -> ListedMirror:
    """Add a mirror that every opening of the root applies from now on. Blocks; the first synchronisation fills it.

    Args:
        root: The root.
        folder: An empty folder, or one that was this mirror before; created if it is missing.
        state_directory: Where the state of the root is, if not in `.filetools`.
        adopt: Accept a folder that holds other files or is a mirror of another root. Synchronisation makes it equal to the
            root; content removed from it is kept as versions.

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
            # Register it anew: neither a copy of the root nor the original may take this folder for its mirror.
            mirrors.remove(str(place))
        marker, names = _looked_at(place)
        is_same = known is not None and not is_moved and known.is_or_was(marker)
        if names and not (adopt or is_same):
            whose = "it holds files already" if marker is None else "it is, or was, a mirror already"
            raise _refusal(place, whose)
        row = mirrors.register(str(place))
        if not is_same:
            mirrors.renew(row)
            row = mirrors.register(str(place))
            _make(place, row.identity)
        mirrors.remember(row, home)
        return _listed(journal, mirrors.register(str(place)), home)


def remove_mirror(root: Path, folder: AnyPath, *, state_directory: Path | None = None) -> ListedMirror:
    """Remove a mirror, added or only named once, and its backlog. Its files stay. Blocks.

    Raises:
        InvalidArgumentError: The root has no such mirror.
        AccessDeniedError, DiskFullError, StateDamagedError, StateElsewhereError, LockTimeoutError: The state cannot be written.
    """
    name = os.fsdecode(folder)
    if _has_state(root, state_directory):
        with _journal(root, state_directory) as journal:
            spelled = map(journal.mirrors.get, (name, os.path.abspath(name), os.path.realpath(name)))
            row = next(filter(None, spelled), None)
            if row is not None:
                found = _listed(journal, row, home_of(root))
                journal.mirrors.remove(row.place)
                return found
    raise InvalidArgumentError(
        f"The root has no mirror {name!r}", suggested_action="See which it has with 'filetools mirror list'."
    )


def list_mirrors(root: Path, *, state_directory: Path | None = None) -> list[ListedMirror]:
    """Return the mirrors of a root, including those only named once, whose backlogs are kept as well. Blocks.

    Raises:
        AccessDeniedError, DiskFullError, StateDamagedError, StateElsewhereError, LockTimeoutError: The state cannot be used.
    """
    if not _has_state(root, state_directory):
        return []
    with _journal(root, state_directory) as journal:
        return [_listed(journal, row, home_of(root)) for row in journal.mirrors.all()]


def presence(row: MirrorRow, home: bytes) -> tuple[MirrorPresence, str | None]:
    """Return a mirror's state and, if it is away, the reason. Reads its folder and changes nothing.

    Args:
        row: The mirror's row in the journal.
        home: The root's real path, from `home_of`.
    """
    if row.root not in (None, home):
        return "away", ROOT_MOVED
    if not os.path.isabs(row.place):
        return "away", "it is a store, which only a program can name"
    try:
        marker = _marker(Path(row.place))
    except OSError as exc:
        return "away", exc.strerror or str(exc)
    if marker is None and not os.path.isdir(row.place):
        return "away", "its folder is not there"
    if marker is None and row.root is None:
        return "filling", None  # a mirror that is only named gets its marker when it is complete
    if marker is None:
        fill = f"'filetools mirror add {shlex.quote(row.place)}' fills it"
        return "away", f"its folder was emptied or its disk is not mounted; {fill}"
    if not row.is_or_was(marker):
        return "away", "another folder is at its place"
    return ("attached" if marker == row.identity and row.is_filled else "filling"), None


def _listed(journal: Journal, row: MirrorRow, home: bytes) -> ListedMirror:
    state, reason = presence(row, home)
    behind = journal.backlog.count(row.place)
    return ListedMirror(path=row.place, added=row.root is not None, state=state, behind=behind, reason=reason)


def _has_state(root: Path, state_directory: Path | None) -> bool:
    state = state_directory or root / STATE_PATH
    return not is_anothers(state) and state.is_dir()


def _journal(root: Path, state_directory: Path | None) -> closing[Journal]:
    return closing(Journal(prepare_state(root, state_directory).directory))


def _looked_at(place: Path) -> tuple[str | None, list[str]]:
    """Return a folder's marker and the names in it; None and an empty list if the folder is missing."""
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
    """Create the folder if it is missing, and write its marker."""
    try:
        with closing(DirectoryMirror(place)) as store:
            mark(store, identity)
    except SyncFailedError as exc:
        raise _refusal(place, getattr(exc.__cause__, "strerror", None) or str(exc.__cause__), _ANOTHER) from exc


def _refuse_state(place: Path) -> None:
    """Raise an error for folders that belong to a root, and for names that the journal cannot store."""
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
