"""Addresses of resources: `filetools:///files/…`, `/versions/…`, `/buffers/…`, and `file://` below the root."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote, unquote, urlsplit

from msgspec import Struct

from filetools.errors import InvalidPathError

SCHEME: Final = "filetools"
FILES: Final = "filetools:///files/"
VERSIONS: Final = "filetools:///versions/"
BUFFERS: Final = "filetools:///buffers/"
DESCRIPTORS: Final = "filetools:///fds/"
Kind = Literal["file", "version", "buffer", "descriptor"]
_KINDS: Final[dict[str, Kind]] = {
    "files": "file",
    "versions": "version",
    "buffers": "buffer",
    "fds": "descriptor",
}
# What RFC 3986 lets stand in a path; all else is escaped.
_SAFE: Final = "/!$&'()*+,;=:@-._~"


class Address(Struct, frozen=True):
    """What an address names."""

    kind: Kind
    name: str
    """A path in the workspace, the hash of a version, a handle, or the id of a descriptor."""


def file_address(path: str) -> str:
    """Return the address of a file or folder."""
    return FILES + quote(path, safe=_SAFE)


def descriptor_address(fd: str) -> str:
    """Return the address of a descriptor."""
    return DESCRIPTORS + quote(fd, safe="")


def local_address(root: Path, path: str) -> str:
    """Return the `file://` address of a file or folder below a root."""
    return f"{root.as_uri()}/{quote(path, safe=_SAFE)}" if path else root.as_uri()


def parse_address(uri: str, root: Path | None = None) -> Address:
    """Return what an address names.

    Args:
        uri: The address.
        root: The root, if `file://` addresses below it are understood.

    Raises:
        InvalidPathError: It is none of ours.
    """
    parts = urlsplit(uri)
    path = _decoded(parts.path, uri)
    if parts.query or parts.fragment:
        # A name with "?" or "#" arrives escaped; unescaped they would name another file than meant.
        raise InvalidPathError(uri, "a resource has neither query nor fragment")
    if parts.scheme == SCHEME and not parts.netloc:
        kind, slash, name = path.removeprefix("/").partition("/")
        if slash and kind in _KINDS:
            return Address(_KINDS[kind], name)
    if parts.scheme == "file" and parts.netloc in ("", "localhost") and root is not None:
        place = Path(path)
        if place.is_relative_to(root):
            return Address("file", "" if place == root else place.relative_to(root).as_posix())
    raise InvalidPathError(uri, "no resource of this workspace has this address")


def _decoded(text: str, uri: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError as exc:
        raise InvalidPathError(uri, "not UTF-8") from exc
