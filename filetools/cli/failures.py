"""Errors in the words of the command line, and the exit code of each."""

from __future__ import annotations

import re
from typing import Any, Final

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
    "PATH_HIDDEN": REFUSED,
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


_HINTS: Final = {
    "INVALID_ARGUMENT": "Correct what the message names, then run the command again.",
    "FILE_NOT_FOUND": "Look for it with 'filetools ls'.",
    "DIR_NOT_FOUND": "Look for it with 'filetools ls', or make it with 'filetools mkdir'.",
    "FILE_EXISTS": "Choose another path; 'filetools mv' and 'filetools cp' replace a file with -f.",
    "IS_A_DIRECTORY": "Name a file; 'filetools ls' lists what is in the folder.",
    "DIR_NOT_EMPTY": "Pass -r to remove the folder with everything in it.",
    "FILE_TOO_LARGE": "Read a part with --offset and --limit.",
    "PATH_TRAVERSAL": "Name a path inside the workspace; --root says which it is.",
    "ABSOLUTE_PATH": "Name a path inside the workspace; --root says which it is.",
    "EDIT_NOT_FOUND": "Look at it with 'filetools read', and copy --old from it exactly.",
    "EDIT_AMBIGUOUS": "Give more of the text around the place with --old, or pass --all.",
    "VERSION_MISMATCH": "Look at it with 'filetools read', then run the command again.",
    "VERSION_GONE": "See what is kept with 'filetools versions'.",
    "FD_NOT_FOUND": "'filetools fd list' lists them; --actor selects the agent.",
    "RUN_NOT_FOUND": "'filetools runs' lists them.",
    "APPROVAL_REQUIRED": "Run the command at a terminal, where you are asked.",
    "STATE_ELSEWHERE": "Pass --state-dir with the folder that the root was first opened with.",
    "SYNC_FAILED": "'filetools mirror list' says what each mirror waits for.",
    "LOCK_TIMEOUT": "Run the command again when the other has finished.",
}
"""Hints where those of the library are meant for callers of its calls."""

_TOOLS: Final = {
    "append_file": "append",
    "copy_file": "cp",
    "create_directory": "mkdir",
    "delete_directory": "rm",
    "delete_file": "rm",
    "edit_file": "edit",
    "file_info": "info",
    "grep_files": "grep",
    "insert_lines": "edit",
    "list_files": "ls",
    "move_file": "mv",
    "read_file": "read",
    "search_files": "find",
    "undo_changes": "undo",
    "write_file": "write",
}
_OPTIONS: Final = {
    "expected_version": "--expected-version",
    "next_cursor": "--cursor",
    "hard_links='break' in the settings": "FILETOOLS_HARD_LINKS=break in the environment",
    "insert_lines or write_file": "'filetools append' or 'filetools write'",
    "literal=true": "-F",
    "multiline=true": "-U",
    "overwrite=true": "-f",
    "partial=True": "--partial",
    "recursive=true": "-r",
    "replace=True": "--replace",
    "state_dir": "--state-dir",
    "versions()": "'filetools versions'",
}
_PHRASES: Final = _OPTIONS | {name: f"'filetools {command}'" for name, command in _TOOLS.items()}
_PHRASE: Final = re.compile(
    "|".join(
        rf"(?<![\w./'-]){re.escape(phrase)}(?![\w/'=-]|\.\w)" for phrase in sorted(_PHRASES, key=len, reverse=True)
    )
)


def sentence_of(error: FileToolsError) -> str:
    """Return what went wrong, for somebody who sees commands and options."""
    if error.code == "PATH_TRAVERSAL":
        return f"{error.path!r} leads out of the workspace"
    message = error.message
    if "available" in error.details:
        return message  # it lists tools, to be named as they are
    if error.code == "INVALID_PATH":
        message = message.replace("Invalid path ''", "Invalid path '.'")
    # What people have named is theirs, even where it is spelt as a call of the library.
    parts = [message] if not error.path else re.split(f"({re.escape(error.path)})", message)
    return "".join(part if part == error.path else translated(part) for part in parts)


def hint_of(error: FileToolsError) -> str:
    """Return what to do next."""
    given = error.suggested_action or error.action
    if given == error.action and error.code in _HINTS:
        return _HINTS[error.code]
    return translated(given)


def envelope_of(error: FileToolsError) -> dict[str, Any]:
    """Return the envelope of a failed command; scripts and agents in a shell read its sentences, too."""
    from filetools.tools.envelope import failure_envelope  # only a failure in JSON needs it

    return failure_envelope(error) | {"error": sentence_of(error), "suggested_action": hint_of(error)}


def translated(text: str) -> str:
    """Return a sentence of the library with commands and options in the place of calls and arguments."""
    return _PHRASE.sub(lambda found: _PHRASES[found[0]], text)
