"""The version of a file: a hash of its bytes. Separate from other facts, whose modules take long to load."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final

from filetools.models.words import VERSION_PREFIX


def version_of(content: bytes) -> str:
    """Return the version of a file with these bytes: "sha256:" and the hash in lower-case hex."""
    return VERSION_PREFIX + hashlib.sha256(content).hexdigest()


_PART_BYTES: Final = 1024 * 1024


def hashed_parts(read_at: Callable[[int, int], bytes]) -> tuple[bytes, int]:
    """Hash a file without holding it in memory; `read_at` is `Reader.read_at`. Returns the hash, and how many bytes it has."""
    digest, offset = hashlib.sha256(), 0
    while part := read_at(offset, _PART_BYTES):
        digest.update(part)
        offset += len(part)
    return digest.digest(), offset


def stat_version(identity: tuple[int, int, int, int, int]) -> str:
    """Return the version of an entry that is not hashed: a large file, or a link."""
    return "stat:" + "-".join(str(part) for part in identity)
