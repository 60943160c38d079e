"""The version of a file: a hash of its bytes. Apart from what else is known of them, which takes long to load."""

from __future__ import annotations

import hashlib

from filetools.models.words import VERSION_PREFIX


def version_of(content: bytes) -> str:
    """Return the version of a file with these bytes: "sha256:" and the hash in lower-case hex."""
    return VERSION_PREFIX + hashlib.sha256(content).hexdigest()


def stat_version(identity: tuple[int, int, int, int, int]) -> str:
    """Return the version of what is not hashed: a file too large for it, or a link."""
    return "stat:" + "-".join(str(part) for part in identity)
