"""The secrets of a root, in its state directory and readable by its owner alone: the token of the HTTP server, and keys."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

from filetools.errors import AccessDeniedError, InvalidArgumentError

TOKEN_FILE: Final = "token"  # noqa: S105 - the name of the file
_SHORTEST: Final = 16
_FOR_OTHERS: Final = 0o077
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def read_token(file: Path) -> str:
    """Return the token that a file holds.

    Raises:
        InvalidArgumentError: There is no such file, others can read it, or it holds no token.
    """
    try:
        with open(file, encoding="ascii") as opened:
            found = os.fstat(opened.fileno())
            token = opened.read().strip()
    except (OSError, UnicodeDecodeError) as exc:
        raise InvalidArgumentError(f"Cannot read a token from {file.name!r}: {exc.__class__.__name__}") from exc
    if os.name != "nt" and (found.st_mode & _FOR_OTHERS or found.st_uid not in (0, os.geteuid())):
        raise InvalidArgumentError(
            f"The token file {str(file)!r} can be read by other users, or belongs to one",
            suggested_action=f"Make a file of your own for it, then run: chmod 600 {file}",
        )
    if len(token) < _SHORTEST or not token.isprintable() or " " in token:
        raise InvalidArgumentError(f"{file.name!r} holds no token: one word of at least {_SHORTEST} characters")
    return token


def own_token(state_directory: Path, name: str = TOKEN_FILE) -> str:
    """Return the token of a root, made at the first need; several processes get the same.

    Args:
        state_directory: Where it is kept.
        name: The file; other secrets than the token have other names.

    Raises:
        AccessDeniedError: It cannot be made.
        InvalidArgumentError: What stands in its place is no token.
    """
    file = state_directory / name
    if not file.exists():
        temporary = state_directory / f"{name}-{secrets.token_hex(4)}"
        try:
            _write(temporary, secrets.token_urlsafe(32))
            with suppress(FileExistsError):  # another process was quicker, and its token counts
                os.link(temporary, file)
        except OSError as exc:
            raise AccessDeniedError(name, exc.strerror or "denied") from exc
        finally:
            temporary.unlink(missing_ok=True)
    return read_token(file)


def _write(file: Path, text: str) -> None:
    """Write a file whole that nobody else may ever read."""
    descriptor = os.open(file, _FLAGS, 0o600)
    with open(descriptor, "w", encoding="ascii") as opened:
        opened.write(text + "\n")
        opened.flush()
        os.fsync(descriptor)
