"""Tracks which state directories this user made: each has a folder in the user's configuration folder.

A state directory that came with a clone, an archive or a copy has no such folder, or one that names another path. Its
contents are set aside, in a subfolder, until `filetools trust` accepts them.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from filelock import FileLock

from filetools.durable import sync_directory, write_atomically
from filetools.errors import AccessDeniedError, StateUntrustedError
from filetools.journal.storage.birth import DATABASE_NAME, MARK_FILE, PARTS, connect, keep_mark, mark_of
from filetools.models.words import STATE_DIRECTORY
from filetools.settings import user_directory

_log = logging.getLogger(__name__)

_ROOTS: Final = "roots"
_PLACE: Final = "place.json"
_ASIDE: Final = "set-aside-"
REPOSITORY: Final = ".git"
"""Makes git treat a state directory as a repository."""
_STAYING: Final = frozenset({".gitignore", REPOSITORY})
_WRITABLE_BY_OTHERS: Final = 0o022
_SQLITE_IN_USE_BYTE: Final = 128
"""Each connection to a database holds a shared lock on this byte of its -shm file (WAL_DMS in SQLite's os_unix.c)."""
_LOCK_SECONDS: Final = 30.0
_FORGOTTEN_AFTER_SECONDS: Final = 90 * 86_400.0
"""Long enough to keep entries of disks that are not mounted at the moment."""


def own_folder(state: Path) -> Path | None:
    """Return the user's folder for a state directory; None if this user did not make it at this path.

    A moved directory is recognised by its inode, one restored from a backup by its path.

    Raises:
        StateUntrustedError: Others can write the directory.
    """
    mark = mark_of(state)
    if mark is None:
        return None
    folder = user_directory() / _ROOTS / mark
    try:
        known = json.loads((folder / _PLACE).read_bytes())
        found = _place_of(state)
    except (OSError, ValueError):
        return None
    if not isinstance(known, dict) or known.get("owner") != found["owner"]:
        return None
    if known != found:
        is_moved = (known.get("device"), known.get("inode")) == (found["device"], found["inode"])
        if not is_moved and known.get("path") != found["path"]:
            return None
        with suppress(OSError):  # a read-only user folder still records what is trusted
            write_whole(folder / _PLACE, json.dumps(found).encode())
    for each in folders_of(state) if os.name != "nt" else ():
        status = each.stat()
        if status.st_uid != found["owner"]:
            return None
        if status.st_mode & _WRITABLE_BY_OTHERS:
            raise StateUntrustedError(each, "other users can write it", f"Run: chmod 700 {each}")
    return folder


def claim(state: Path) -> Path:
    """Record a state directory as the user's own and return the user's folder for it. Contents it came with are set aside.

    Raises:
        StateUntrustedError: Another user owns it, or another program uses what would be set aside.
        AccessDeniedError: The user's configuration folder cannot be written.
        OSError: The state directory cannot be written.
    """
    with _locked():
        folder = own_folder(state)
        if folder is not None:
            return folder
        refuse_owner(state)
        if brought := brought_by(state):
            aside = _set_aside(state, brought)
            _log.warning(
                "%s was not made here by you: what it held is now in %r and is not used; 'filetools trust' accepts it",
                state, aside.name,
            )  # fmt: skip
        return _make_own(state)


def is_anothers(state: Path) -> bool:
    """Return True if another user owns a state directory or its parent folder, and this user has not accepted it."""
    there = [each.lstat() for each in folders_of(state) if os.path.lexists(each)]
    return os.name != "nt" and any(each.st_uid != os.geteuid() for each in there) and own_folder(state) is None


def refuse_owner(state: Path) -> None:
    """Raise an error if the state directory belongs to another user.

    Raises:
        StateUntrustedError: Another user owns it.
    """
    if is_anothers(state):
        remedy = "Keep the state elsewhere: name a folder with state_dir."
        raise StateUntrustedError(state, "another user owns it", remedy)


def brought_by(state: Path) -> list[str]:
    """Return the names in a state directory that are used only if this user made it."""
    return sorted(name for name in os.listdir(state) if name not in _STAYING and not name.startswith(_ASIDE))


def states_set_aside(state: Path) -> list[Path]:
    """Return the folders with state that was set aside, oldest first."""
    return sorted((each for each in state.glob(f"{_ASIDE}*") if _number_of(each)), key=_number_of)


def _number_of(aside: Path) -> int:
    number = aside.name.removeprefix(_ASIDE)
    return int(number) if number.isdecimal() else 0


def accept(state: Path, aside: Path) -> None:
    """Use the state that was set aside, and set the current state aside instead. Blocks.

    Raises:
        StateUntrustedError: Another program uses the state directory.
        OSError, sqlite3.Error: The exchange failed; nothing is lost.
    """
    with _locked():
        if brought := brought_by(state):
            _set_aside(state, brought)
        for name in os.listdir(aside):
            if name not in _STAYING | {MARK_FILE}:
                (aside / name).rename(state / name)
        _make_own(state)
        if (state / DATABASE_NAME).exists():
            with closing(connect(state / DATABASE_NAME)) as connection:
                keep_mark(connection, state)
        with suppress(OSError):
            (aside / MARK_FILE).unlink(missing_ok=True)
            aside.rmdir()


def _make_own(state: Path) -> Path:
    """Mark a directory as the user's. The user's side is written first: a mark without it counts as foreign."""
    mark = secrets.token_hex(16)
    roots = user_directory() / _ROOTS
    folder = roots / mark
    try:
        folder.mkdir(mode=0o700, parents=True)
        _forget_gone(roots)
        write_whole(folder / _PLACE, json.dumps(_place_of(state)).encode())
    except OSError as exc:
        raise _no_user_directory(exc) from exc
    for each in folders_of(state):
        each.chmod(0o700)
    write_whole(state / MARK_FILE, mark.encode())
    return folder


def _forget_gone(roots: Path) -> None:
    """Remove the folders of roots that disappeared long ago, unless they hold the user's settings."""
    before = time.time() - _FORGOTTEN_AFTER_SECONDS
    for folder in roots.iterdir():
        with suppress(OSError, ValueError, KeyError, TypeError):
            if folder.stat().st_mtime > before or os.listdir(folder) != [_PLACE]:
                continue
            if not os.path.lexists(json.loads((folder / _PLACE).read_bytes())["path"]):
                (folder / _PLACE).unlink()
                folder.rmdir()


def _set_aside(state: Path, names: list[str]) -> Path:
    _refuse_in_use(state)
    number = max(map(_number_of, states_set_aside(state)), default=0) + 1
    aside = state / f"{_ASIDE}{number}"
    aside.mkdir(mode=0o700)
    # The database last: if the process dies in between, the database is still untrusted and is set aside the next time.
    for name in sorted(names, key=lambda name: name.startswith(DATABASE_NAME)):
        (state / name).rename(aside / name)
    sync_directory(state)
    return aside


def _refuse_in_use(state: Path) -> None:
    """Raise an error if another process, such as one in a container, has the database open; it must not be moved then."""
    try:
        import fcntl
    except ImportError:  # Windows refuses the renaming itself
        return
    with suppress(FileNotFoundError), open(state / PARTS[2], "r+b") as shared:
        try:
            fcntl.lockf(shared, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _SQLITE_IN_USE_BYTE)
        except OSError as exc:
            raise StateUntrustedError(
                state,
                "another program works in it",
                f"End that program, or run: filetools trust --root {state.parent.parent}",
            ) from exc


def folders_of(state: Path) -> tuple[Path, ...]:
    """Return the folders that the user must own: write access to the outer one is enough to replace the inner one."""
    return (state.parent, state) if state.parent.name == STATE_DIRECTORY else (state,)


def _place_of(state: Path) -> dict[str, Any]:
    found = state.stat()
    return {
        "path": os.path.realpath(state), "device": found.st_dev, "inode": found.st_ino, "owner": found.st_uid,
    }  # fmt: skip


@contextmanager
def _locked() -> Iterator[None]:
    """Hold the lock under which one process at a time decides who owns a state directory."""
    folder = user_directory()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        held = FileLock(folder / f"{_ROOTS}.lock").acquire(timeout=_LOCK_SECONDS)
    except OSError as exc:  # also a timeout
        raise _no_user_directory(exc) from exc
    with held:
        yield


def _no_user_directory(error: OSError) -> AccessDeniedError:
    refused = AccessDeniedError(str(user_directory()), error.strerror or str(error))
    refused.suggested_action = (
        "filetools notes there which state directories are yours. Make it writable, name another folder with"
        " FILETOOLS_CONFIG_DIR, or keep the state elsewhere with state_dir."
    )
    return refused


def write_whole(file: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Write a file durably and atomically, with a mode that the umask narrows; by default only the user can read it."""
    write_atomically(file, content, mode=mode)
    sync_directory(file.parent)
