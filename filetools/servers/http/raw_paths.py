"""Paths of files in URLs: taken from the bytes that were sent, percent-decoded once, never guessed at."""

from __future__ import annotations

import re
from typing import Annotated, Final
from urllib.parse import quote, unquote_to_bytes

from fastapi import Depends, Path

from filetools.errors import InvalidPathError

FILES: Final = "/v1/files/"
_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_HIDDEN_SEPARATOR: Final = re.compile(r"%(?:2f|5c|00)|\\", re.IGNORECASE)
_ESCAPED_TWICE: Final = re.compile(r"%(?:2f|5c|00|25)|(?:^|/)(?:%2e|\.){2}(?:/|$)", re.IGNORECASE)
# What RFC 3986 lets stand in a path; all else is escaped.
_SAFE: Final = "/!$&'()*+,;=:@-._~"


def decoded_path(raw_path: str) -> str:
    """Return the path in the workspace that a part of a URL names.

    Args:
        raw_path: As it was sent, percent-encoded.

    Raises:
        InvalidPathError: It hides a separator or a NUL, is encoded twice, is malformed or not UTF-8.
    """
    if _ESCAPE.search(raw_path):
        raise InvalidPathError(raw_path, "a percent sign without two digits")
    try:
        path = unquote_to_bytes(raw_path).decode("utf-8")
    except UnicodeDecodeError as exc:
        raise InvalidPathError(raw_path, "not UTF-8") from exc
    if _HIDDEN_SEPARATOR.search(raw_path):
        raise InvalidPathError(path, "a separator or a NUL in disguise")
    if "%" in path and _ESCAPED_TWICE.search(path):
        raise InvalidPathError(path, "it is percent-encoded twice")
    return path


def file_location(path: str) -> str:
    """Return the path of a URL that names a file."""
    return FILES + quote(path, safe=_SAFE)


def _path_of(path: Annotated[str, Path(description="Path in the workspace; slashes stay as they are.")]) -> str:
    # Routes are matched against what was sent, so this is it.
    return decoded_path(path)


FilePath = Annotated[str, Depends(_path_of)]
"""A parameter of a route: the path in the workspace that its URL names."""
