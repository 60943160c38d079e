"""Paths of a mirror that may hold something else than the journal thinks, whatever its debts say."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from filetools.paths import WorkspacePath


class Doubts:
    """A set of paths by key. Thread-safe; lives as long as the mirror."""

    def __init__(self, noted: Callable[[], None]) -> None:
        self._lock = threading.Lock()
        self._paths: dict[str, WorkspacePath] = {}
        self._noted = noted

    def note(self, places: Iterable[tuple[str, WorkspacePath]]) -> None:
        """Doubt these (key, path) pairs."""
        with self._lock:
            self._paths.update(places)
        self._noted()

    def all(self) -> dict[str, WorkspacePath]:
        """Return what is doubted now."""
        with self._lock:
            return dict(self._paths)

    def forget(self, keys: Iterable[str]) -> None:
        """Forget doubts that are debts by now."""
        with self._lock:
            for key in keys:
                self._paths.pop(key, None)
