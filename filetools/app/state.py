"""The state directory of a root: where it lies, that it is private, and that a root has only one."""

from __future__ import annotations

import errno
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from filetools.errors import (
    AccessDeniedError,
    DiskFullError,
    FileToolsError,
    StateDamagedError,
    StateElsewhereError,
    WorkspaceGoneError,
)
from filetools.settings import STATE_DIRECTORY

_ID: Final = "id"
_ID_TEXT: Final = re.compile(rb"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The directories of one root."""

    private: Path
    """`.filetools` in the root: temporary files, which must lie on the root's own file system."""
    directory: Path
    """Journal, locks and the rest; the same unless the caller moved it."""


def prepare_state(root: Path, state_directory: Path | None) -> State:
    """Make the state directory if it is missing, and bind the root to it.

    Raises:
        WorkspaceGoneError: The root is no directory.
        StateElsewhereError: The root keeps its state in another directory.
        AccessDeniedError, DiskFullError, StateDamagedError: It cannot be made.
    """
    if not root.is_dir():
        raise WorkspaceGoneError(f"{root.name!r} is not a directory")
    private = root / STATE_DIRECTORY
    directory = private if state_directory is None else state_directory
    try:
        _make_private(private)
        if directory != private:
            _make_private(directory)
        _bind(private, directory)
    except FileToolsError:
        raise
    except OSError as exc:
        raise _explained(exc) from exc
    return State(private=private, directory=directory)


def _make_private(directory: Path) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if directory.is_symlink():
        raise StateDamagedError("a link stands in the place of the state directory")
    ignore = directory / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="ascii")


def _bind(private: Path, directory: Path) -> None:
    """One root, one state directory: both sides carry the same id where they are apart."""
    bound = _read_id(private)
    if directory == private:
        if bound is not None:
            raise StateElsewhereError
        return
    known = _read_id(directory)
    if bound is None and not (private / "journal.db").exists():
        known = known or secrets.token_hex(16)
        # The root last: whoever dies between the two leaves a directory that no root is bound to yet.
        _write_id(directory, known)
        _write_id(private, known)
    elif bound is None or bound != known:
        raise StateElsewhereError


def _read_id(directory: Path) -> str | None:
    try:
        text = (directory / _ID).read_bytes().strip()
    except FileNotFoundError:
        return None
    if not _ID_TEXT.fullmatch(text):
        raise StateDamagedError("its id is unreadable")
    return text.decode("ascii")


def _write_id(directory: Path, bound: str) -> None:
    """Write it whole or not at all."""
    temporary = directory / f"{_ID}-{secrets.token_hex(4)}"
    temporary.write_text(bound, encoding="ascii")
    temporary.replace(directory / _ID)


def _explained(error: OSError) -> FileToolsError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFullError("the state directory")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return AccessDeniedError("the state directory", error.strerror or "denied")
    return StateDamagedError(error.strerror or str(error))
