"""MIME types by name: they decorate what the bytes have already decided, and never decide the kind themselves."""

from __future__ import annotations

import mimetypes
import posixpath
from functools import lru_cache
from typing import Final

from filetools.content.signatures import signature_of

PLAIN_TEXT: Final = "text/plain"
OCTET_STREAM: Final = "application/octet-stream"

_TEXTS: Final = {
    ".jsonl": "application/jsonl",
    ".md": "text/markdown",
    ".py": "text/x-python",
    ".toml": "application/toml",
    ".ts": "text/typescript",
    ".tsx": "text/typescript",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".ipynb": "application/x-ipynb+json",
}
"""Texts that some versions of Python do not know, or take for a video."""
_TEXT_APPLICATIONS: Final = frozenset(
    {
        "application/ecmascript",
        "application/javascript",
        "application/json",
        "application/jsonl",
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
    ending = posixpath.splitext(name)[1]
    found = _TEXTS.get(ending.lower()) or _by_ending(ending)
    return found if found is not None and _is_text(found) else PLAIN_TEXT


def binary_mime_type(name: str) -> str:
    """Return the MIME type of a binary file without a known signature, by its name's ending."""
    found = _by_ending(posixpath.splitext(name)[1])
    return found if found is not None and not _is_text(found) else OCTET_STREAM


def mime_type_of(name: str, head: bytes = b"") -> str:
    """Return the MIME type of a file by its name's ending; where that tells nothing, by the signature in its first bytes."""
    ending = posixpath.splitext(name)[1]
    return _TEXTS.get(ending.lower()) or _by_ending(ending) or signature_of(head) or OCTET_STREAM


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
