"""Exit codes: what a script learns of a failure without reading it."""

from __future__ import annotations

from typing import Final

from filetools.errors import FileToolsError

FAILED: Final = 1
DIFFERS: Final = 1
USAGE: Final = 2
CONFLICT: Final = 3
LOCKED: Final = 4
REFUSED: Final = 5
INTERRUPTED: Final = 130

_CODES: Final = {
    "INVALID_ARGUMENT": USAGE,
    "UNKNOWN_TOOL": USAGE,
    "VERSION_MISMATCH": CONFLICT,
    "EDIT_CONFLICT": CONFLICT,
    "CHANGED_MEANWHILE": CONFLICT,
    "LOCK_TIMEOUT": LOCKED,
    "FILE_BUSY": LOCKED,
    "PERMISSION_DENIED": REFUSED,
    "APPROVAL_REQUIRED": REFUSED,
    "APPROVAL_DENIED": REFUSED,
    "TOOL_BLOCKED": REFUSED,
    "HARD_LINKED": REFUSED,
    "INVALID_PATH": REFUSED,
    "ABSOLUTE_PATH": REFUSED,
    "PATH_TRAVERSAL": REFUSED,
    "PATH_TOO_LONG": REFUSED,
    "SYMLINK_NOT_ALLOWED": REFUSED,
    "SYMLINK_ESCAPE": REFUSED,
}


def exit_code_of(error: FileToolsError) -> int:
    """Return the exit code of a failure; a batch fails as its cause does."""
    return exit_code(error.code, error.details.get("cause"))


def exit_code(code: str, cause: object = None) -> int:
    """Return the exit code of an error code.

    Args:
        code: Code of the error.
        cause: Code of what made a batch fail, where it is one.
    """
    return _CODES.get(cause if isinstance(cause, str) else code, FAILED)
