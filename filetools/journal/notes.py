"""Marks that are not written yet: which records the files carry, as this process knows before the database does."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable, Set
from typing import Final

_APPLY: Final = "UPDATE records SET state = 'applied' WHERE number = ? AND state = 'pending' RETURNING key, old_key"
_APPLY_HEAD: Final = "UPDATE heads SET applied = 1 WHERE key = ? AND number = ?"
_log = logging.getLogger(__name__)


class Notes:
    """Numbers of applied records, kept until a transaction has written them. One a journal; any thread may call."""

    def __init__(self, on_visible: Callable[[], None]) -> None:
        self._on_visible = on_visible
        self._lock = threading.Lock()
        self._numbers: set[int] = set()

    def __contains__(self, number: int) -> bool:
        return number in self._numbers

    def __bool__(self) -> bool:
        return bool(self._numbers)

    def add(self, numbers: Iterable[int]) -> None:
        """Note that files carry these records."""
        with self._lock:
            self._numbers.update(numbers)

    def write(self, connection: sqlite3.Connection) -> Set[int]:
        """Write the notes inside somebody's transaction; after its commit give what is returned to `forget`."""
        with self._lock:
            numbers = frozenset(self._numbers)
        for number in numbers:
            for keys in connection.execute(_APPLY, (number,)).fetchall():
                for key in filter(None, keys):
                    connection.execute(_APPLY_HEAD, (key, number))
        return numbers

    def forget(self, numbers: Set[int], *, has_grown: bool = False) -> None:
        """Forget notes that a committed transaction has written, and say so if the feed has grown by them or else."""
        if numbers:
            with self._lock:
                self._numbers -= numbers
        if not numbers and not has_grown:
            return
        try:
            self._on_visible()
        except Exception:  # noqa: BLE001  # see below
            # Somebody else's code, and what it is told is recorded already: no commit may seem to fail for it.
            _log.exception("a listener of the journal failed")
