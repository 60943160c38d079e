"""Locates and creates the state directory of a root, keeps it private and unique, and manages the secrets in it."""

from __future__ import annotations

import copy
import errno
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from filetools.app.trust import REPOSITORY, claim, folders_of, is_anothers, own_folder, refuse_owner, write_whole
from filetools.durable import sync_directory
from filetools.errors import (
    AccessDeniedError,
    FileToolsError,
    InvalidArgumentError,
    NoRootError,
    NoStateError,
    StateDamagedError,
    StateElsewhereError,
)
from filetools.journal.storage.birth import DATABASE_NAME, POSITION_FILE
from filetools.models.words import STATE_DIRECTORY, STATE_PATH
from filetools.paths.explain import translate
from filetools.settings import read_of_tree

_ID: Final = "id"
_ROOT: Final = "root"
"""Holds the root's path, in a state directory whose root cannot store an ID."""
_MEMORY: Final = ("/dev/shm",)  # noqa: S108 - a unique directory is created in it
_ROOM_BYTES: Final = 1024 * 1024
"""Space for a new journal and some work."""
_REMEDIES: Final = {
    "DISK_FULL": "Free some space, then open it again.",
    "PERMISSION_DENIED": "Give read and write access to it, or name another state directory with state_dir.",
}
_ID_TEXT: Final = re.compile(rb"[0-9a-f]{32}")


_NOT_WRITABLE: Final = (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT)


class StateLocation(Struct, frozen=True, kw_only=True):
    """The directories of one root."""

    private: Path
    """`.filetools/state` in the root: temporary files, which must lie on the root's own file system."""
    directory: Path
    """Journal, locks and the rest; equal to `private` unless the caller moved it."""
    rules: Path | None
    """The user's folder with settings and permissions for this root; None if the root has no state of this user."""
    refusal: FileToolsError | None = None
    """Why nothing can be changed: the state cannot be written, or was not to be made. `directory` is then removed when the
    workspace is closed."""

    @property
    def has_begun(self) -> bool:
        """True if a journal exists."""
        return os.path.lexists(self.directory / DATABASE_NAME)


def lacks_state(root: Path, state_directory: Path | None = None) -> bool:
    """Return True if a root has no state yet, and one can be created.

    False also if another entry has its path, another user owns it, or nothing can be written: opening reports what is wrong.
    """
    private = root / STATE_PATH
    if blocking(private) is not None or is_anothers(private):
        return False
    place = next(each for each in (private, private.parent, root) if each.is_dir())
    if not os.access(place, os.R_OK | os.X_OK) or os.path.lexists(private / _ID):
        return False
    if os.path.lexists(private / DATABASE_NAME) and (state_directory is not None or own_folder(private) is not None):
        return False
    if state_directory is None:
        return os.access(place, os.W_OK)
    return not os.path.lexists(state_directory / DATABASE_NAME)


def prepare_state(root: Path, state_directory: Path | None, *, create: bool = True) -> StateLocation:
    """Create the state directory if it is missing and bind the root to it. One that came with the tree is not used.

    A read-only root needs no `.filetools` if its state lies elsewhere.

    Args:
        root: The directory.
        state_directory: Where its state lies, if not in the root.
        create: Create the state if the root has none.

    Raises:
        NoStateError: The root has no state of this user, and `create` is False.
        NoRootError: The root is not a directory.
        StateElsewhereError: The root keeps its state in another directory.
        StateUntrustedError: Another user owns the state directory, or can write it.
        AccessDeniedError, DiskFullError, StateDamagedError, StorageFailedError: It cannot be created.
    """
    if not root.is_dir():
        raise NoRootError(root.name)
    private = root / STATE_PATH
    directory = private if state_directory is None else state_directory
    if not create and is_anothers(directory):
        raise NoStateError("another user owns its state", "Keep yours elsewhere: name a folder with state_dir.")
    if not create and lacks_state(root, state_directory):
        raise NoStateError
    try:
        refuse_owner(directory)
        _make_private(directory)
        if directory != private:
            private, rules = _bound(root, private, directory), directory
        elif _read(directory / _ID) is not None:
            raise StateElsewhereError
        else:
            rules = own_folder(directory) or claim(directory)
    except FileToolsError:
        raise
    except OSError as exc:
        raise _explained(directory, exc) from exc
    return StateLocation(private=private, directory=directory, rules=rules)


def own_directory(root: Path, state_directory: Path | None) -> Path | None:
    """Return the folder of the user's settings, permissions and secrets for a root; None if it has no state of this user."""
    if state_directory is not None:
        return state_directory if state_directory.is_dir() else None
    return own_folder(root / STATE_PATH)


def blocking(directory: Path) -> Path | None:
    """Return the link or file that occupies the path of a state directory or of its parent folder."""
    parts = (each for each in folders_of(directory) if os.path.lexists(each))
    return next((each for each in parts if each.is_symlink() or not each.is_dir()), None)


def planted_state() -> StateDamagedError:
    """Return the error for a link or file at the path of the state directory."""
    return StateDamagedError(
        "a link or a file is at the path of the state directory",
        suggested_action=f"Move {STATE_DIRECTORY!r} out of the way; filetools never touches what it did not make.",
    )


def is_id(content: bytes) -> bool:
    """Return True if the content is a valid ID, which binds a root to a state directory elsewhere."""
    return _ID_TEXT.fullmatch(content.strip()) is not None


def temporary_state(
    root: Path, state_directory: Path | None, refusal: FileToolsError, on_made: Callable[[Path], object]
) -> StateLocation:
    """Create a temporary state for one opening of a root that is only read.

    Args:
        root: The directory.
        state_directory: Where its state would lie, if not in the root.
        refusal: Why that state cannot be written, or is not made.
        on_made: Called with a directory that must be removed when the opening ends, however it ends.

    Raises:
        FileToolsError: `refusal`, if there is no space for a temporary state either.
    """
    if state_directory is not None and state_directory.exists() and not os.access(state_directory, os.R_OK | os.X_OK):
        raise refusal  # it may hold rules that restrict reading
    told, rules = copy.copy(refusal), own_directory(root, state_directory)
    # The default of a refusal speaks of a path in the workspace.
    remedy = _REMEDIES[refusal.code] if refusal.suggested_action == refusal.action else refusal.suggested_action
    told.suggested_action = f"The workspace is open for reading only. {remedy}"
    for parent in (tempfile.gettempdir(), *_MEMORY):
        with suppress(OSError):
            if shutil.disk_usage(parent).free > _ROOM_BYTES:
                directory = Path(tempfile.mkdtemp(prefix="filetools-", dir=parent))
                on_made(directory)
                return StateLocation(private=directory, directory=directory, rules=rules, refusal=told)
    raise refusal


def _make_private(directory: Path) -> None:
    if blocking(directory) is not None:
        raise planted_state()
    missing = [folder for folder in (directory, *directory.parents) if not folder.exists()]
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for folder in missing:
        # Make the name durable first: without it, a power cut loses everything written into the directory later.
        sync_directory(folder.parent)
    is_in_root = directory.parent.name == STATE_DIRECTORY
    ignore = (directory.parent if is_in_root else directory) / ".gitignore"
    if not os.path.lexists(ignore):  # a link of a clone may lead anywhere
        ignore.write_text("*\n", encoding="ascii")
    if is_in_root and not (directory / REPOSITORY).exists():
        # `git clean -fdx` deletes what is ignored, but skips folders that look like repositories of their own.
        for name in ("objects", "refs"):
            (directory / REPOSITORY / name).mkdir(parents=True, exist_ok=True)
        (directory / REPOSITORY / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")


def _bound(root: Path, private: Path, directory: Path) -> Path:
    """Bind the root to the state directory, each to only one, and return the directory for temporary files."""
    place = os.fsencode(os.path.realpath(root))
    try:
        _make_private(private)
        _bind(private, directory)
        is_writable = os.access(private, os.W_OK | os.X_OK)
    except OSError as exc:
        if exc.errno not in _NOT_WRITABLE:  # our own errors have no errno
            raise
        is_writable = False
    if _read(directory / _ROOT) not in (None, place) or _read(private / _ID) not in (None, _read(directory / _ID)):
        raise StateElsewhereError
    if not is_writable and _read(private / _ID) is None:
        # An ID cannot be written into the root, so the path must identify it.
        write_whole(directory / _ROOT, place)
    return private if is_writable else directory


def _bind(private: Path, directory: Path) -> None:
    """Give both sides the same id."""
    bound, known = _read(private / _ID), _read(directory / _ID)
    for each in (bound, known):
        if each is not None and not is_id(each):
            raise StateDamagedError("its id is unreadable")
    if bound is None and not (_read(private / POSITION_FILE) and (private / DATABASE_NAME).exists()):
        known = known or secrets.token_hex(16).encode("ascii")
        # The root last: a crash between the two leaves a directory that no root is bound to yet.
        write_whole(directory / _ID, known)
        write_whole(private / _ID, known)
    elif bound is None or bound != known:
        raise StateElsewhereError


def _read(file: Path) -> bytes | None:
    try:
        return read_of_tree(file).strip()
    except (FileNotFoundError, ValueError):
        return None


def _explained(directory: Path, error: OSError) -> FileToolsError:
    if error.errno in (errno.ENOTDIR, errno.EEXIST, errno.ELOOP, errno.EISDIR):
        return planted_state()
    if error.errno == errno.ENOENT:
        return InvalidArgumentError(
            f"The state directory cannot be made: {str(directory)!r}",
            suggested_action="Choose a state_dir in a writable folder.",
        )
    return translate(f"the state directory {str(directory)!r}", error)


TOKEN_FILE: Final = "token"  # noqa: S105 - the name of the file
_SHORTEST: Final = 16
_FOR_OTHERS: Final = 0o077


def read_token(file: Path) -> str:
    """Read a token from a file.

    Raises:
        InvalidArgumentError: The file does not exist, others can read it, or it does not contain a token.
    """
    try:
        with open(file, encoding="ascii") as opened:
            found = os.fstat(opened.fileno())
            token = opened.read().strip()
    except (OSError, UnicodeDecodeError) as exc:
        raise InvalidArgumentError(
            f"Cannot read a token from {file.name!r}: {getattr(exc, 'strerror', None) or 'it is not text'}"
        ) from exc
    if os.name != "nt" and (found.st_mode & _FOR_OTHERS or found.st_uid not in (0, os.geteuid())):
        raise InvalidArgumentError(
            f"The token file {str(file)!r} can be read by other users, or belongs to one",
            suggested_action=f"Make a file of your own for it, then run: chmod 600 {file}",
        )
    if len(token) < _SHORTEST or not token.isprintable() or " " in token:
        raise InvalidArgumentError(f"{file.name!r} holds no token: one word of at least {_SHORTEST} characters")
    return token


def own_token(state_directory: Path, name: str = TOKEN_FILE) -> str:
    """Return the token of a root, created on first use; all processes get the same one.

    Args:
        state_directory: The directory that holds it.
        name: The file name; other secrets use other names.

    Raises:
        AccessDeniedError: It cannot be created.
        InvalidArgumentError: The file is not a valid token.
    """
    file = state_directory / name
    if not file.exists():
        temporary = state_directory / f"{name}-{secrets.token_hex(4)}"
        try:
            write_whole(temporary, f"{secrets.token_urlsafe(32)}\n".encode())
            with suppress(FileExistsError):  # another process was quicker, and its token counts
                os.link(temporary, file)
        except OSError as exc:
            raise AccessDeniedError(name, exc.strerror or "denied") from exc
        finally:
            temporary.unlink(missing_ok=True)
    return read_token(file)
