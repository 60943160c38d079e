"""MIME types by name: they decorate what the bytes have already decided, and never decide the kind themselves."""

from __future__ import annotations

import mimetypes
import posixpath
from functools import lru_cache
from typing import Final

PLAIN_TEXT: Final = "text/plain"
OCTET_STREAM: Final = "application/octet-stream"

_TEXT_APPLICATIONS: Final = frozenset(
    {
        "application/ecmascript",
        "application/javascript",
        "application/json",
        "application/n-quads",
        "application/n-triples",
        "application/postscript",
        "application/sql",
        "application/toml",
        "application/trig",
        "application/x-csh",
        "application/x-javascript",
        "application/x-latex",
        "application/x-sh",
        "application/x-tex",
        "application/x-texinfo",
        "application/xml",
        "application/yaml",
    }
)


def text_mime_type(name: str) -> str:
    """Return the MIME type of a text file, "text/plain" unless its name's ending is known to mean another text."""
    found = _by_ending(posixpath.splitext(name)[1])
    return found if found is not None and _is_text(found) else PLAIN_TEXT


def binary_mime_type(name: str) -> str:
    """Return the MIME type of a binary file without a known signature, by its name's ending."""
    found = _by_ending(posixpath.splitext(name)[1])
    return found if found is not None and not _is_text(found) else OCTET_STREAM


@lru_cache(maxsize=1024)
def _by_ending(ending: str) -> str | None:
    # `guess_type` would parse the name as a URL and ask the machine's own tables; both would make answers differ.
    return _table().types_map[True].get(ending.lower())


@lru_cache(maxsize=1)
def _table() -> mimetypes.MimeTypes:
    return mimetypes.MimeTypes()


def _is_text(mime_type: str) -> bool:
    return (
        mime_type.startswith(("text/", "message/"))
        or mime_type.endswith(("+xml", "+json"))
        or mime_type in _TEXT_APPLICATIONS
    )
