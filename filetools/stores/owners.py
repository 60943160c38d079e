"""Names of temporary files that tell which process made them, and whether that process still lives."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import secrets
import time
from typing import Final

from filetools.stores.processes import is_alive, own_mark

ORPHAN_AGE_SECONDS: Final = 3600.0
"""Age from which a temporary file counts as left behind where its process cannot be looked up."""
FOREIGN_NAME: Final = re.compile(r"\.ft-[0-9a-f]{16}")
"""A temporary file that had to stand in the folder of its target."""
_OWNED_NAME: Final = re.compile(r"(\d+)-(\d+)-([0-9a-f]+)-([0-9a-f]+)-([0-9a-f]{8})[0-9a-f]{8}")
_open_owners: Final[set[tuple[int, str]]] = set()


class Owner:
    """Makes the names of one opened store; its files count as left behind once it is closed or its process is gone."""

    __slots__ = ("_counter", "_key", "_start")

    def __init__(self) -> None:
        self._counter = itertools.count()
        self._begin(os.getpid())

    def new_name(self) -> str:
        """Return a name for `.filetools/tmp` that nothing else has; also right in a forked child."""
        process = os.getpid()
        if process != self._key[0]:
            self._begin(process)
        return f"{self._start}{next(self._counter) & 0xFFFFFFFF:08x}"

    def close(self) -> None:
        """Give up all files that still carry this owner's names."""
        _open_owners.discard(self._key)

    def _begin(self, process: int) -> None:
        mark = secrets.token_hex(4)
        self._start = f"{process}-{own_mark(process)}-{mark}"
        self._key = (process, mark)
        _open_owners.add(self._key)


def new_foreign_name() -> str:
    """Return a name `.ft-<16 hex>` for a target's own folder."""
    return f".ft-{secrets.token_hex(8)}"


def foreign_name_for(purpose: str) -> str:
    """Return the name `.ft-<16 hex>` that belongs to a purpose, the same in each call."""
    return f".ft-{_digest(purpose, 8)}"


def foreign_trash_name(trash: str) -> str:
    """Return the name `.ft-<16 hex>` of what cannot reach the trash; no other temporary file's looks like it."""
    start = _digest(trash, 6)
    return f".ft-{start}{_digest(start, 2)}"


def is_foreign_trash(name: str) -> bool:
    """Whether a name `.ft-<16 hex>` is one that `foreign_trash_name` returns."""
    return _digest(name[4:16], 2) == name[16:]


def _digest(text: str, size: int) -> str:
    return hashlib.blake2b(os.fsencode(text), digest_size=size).hexdigest()


def is_left_behind(name: str, changed_ns: int) -> bool:
    """Whether the process or store that made a temporary file is gone.

    Args:
        name: A name from `.filetools/tmp`.
        changed_ns: When its inode last changed, renames included, for files whose maker cannot be looked up.
    """
    match = _OWNED_NAME.fullmatch(name)
    if match is None:
        return _is_old(changed_ns)
    process, started, boot, space, mark = int(match[1]), match[2], match[3], match[4], match[5]
    alive = is_alive(process, f"{started}-{boot}-{space}") if int(started) else None
    if alive is None:
        return _is_old(changed_ns)
    if alive and process == os.getpid():
        return (process, mark) not in _open_owners
    return not alive


def _is_old(changed_ns: int) -> bool:
    return time.time() - changed_ns / 1e9 > ORPHAN_AGE_SECONDS
