"""Hints about foreign changes, and the buffer that joins those which say the same.

A hint says where to look, not what is true: by the time it is read, the path may have changed again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Literal

HintKind = Literal["changed", "deleted", "moved"]


@dataclass(frozen=True, slots=True)
class Hint:
    """Something happened to a path outside filetools; whoever gets it looks at the path, and at the old one."""

    kind: HintKind
    """"changed": created, written, replaced, or not known better; "deleted"; "moved": it was at `old_path` before."""
    path: str
    """Relative to the root, "/"-separated; may hold surrogate escapes where the name on disk is not UTF-8."""
    old_path: str | None = None
    is_directory: bool = False
    is_listed: bool = False
    """Whether it was only met in a folder that came to its place: nothing is known to have happened to it by itself."""
    came_and_went: bool = field(default=False, compare=False)
    """Whether something stood there for an instant, or nothing did, since hints were taken last."""

    @property
    def is_plain(self) -> bool:
        """Whether it is about one file only, and what stands there says all there is to say."""
        return not (self.is_directory or self.is_listed or self.came_and_went or self.old_path is not None)


@dataclass(slots=True)
class Departure:
    """A name that was moved away and of which it is not yet known where to."""

    path: str
    is_directory: bool
    origin: str | None = None
    """Where the file was before, if the move to `path` has not been told either."""
    is_succeeded: bool = field(default=False)
    """Whether something else stands at the path by now."""
    had_changed: bool = False
    """Whether it had come, or been written, since hints were taken last."""


class HintBuffer:
    """Collects hints until they are taken; for each path the newest counts, and no path is ever forgotten.

    Not thread-safe; lives as long as the watcher.
    """

    def __init__(self) -> None:
        self._hints: dict[str, Hint] = {}
        self._departures: dict[str, Departure] = {}

    def __len__(self) -> int:
        return len(self._hints)

    def change(self, path: str, *, is_directory: bool = False, is_listed: bool = False) -> None:
        """Note that a path was made or written or, with `is_listed`, met in its folder."""
        self._succeed(path)
        waiting = self._hints.get(path)
        if waiting is None or waiting.kind == "deleted" or waiting.is_directory != is_directory:
            # What vanished, or moved away, and came back between two hints was changed, as far as anybody can tell.
            is_new = waiting is None
            self._put(Hint("changed", path, None, is_directory, is_listed and is_new, came_and_went=not is_new))
        elif waiting.is_listed and not is_listed:
            self._hints[path] = replace(waiting, is_listed=False)

    def delete(self, path: str, *, is_directory: bool = False) -> None:
        """Note that a path is gone."""
        self._succeed(path)
        self._put(Hint("deleted", path, is_directory=is_directory, came_and_went=path in self._hints))

    def depart(self, path: str, *, is_directory: bool = False) -> Departure:
        """Note that a path was moved away; `arrive` or `give_up` must follow."""
        self._succeed(path)
        waiting = self._hints.pop(path, None)
        origin = waiting.old_path if waiting is not None and waiting.kind == "moved" else None
        departure = Departure(path, is_directory, origin, had_changed=waiting is not None)
        self._departures[path] = departure
        return departure

    def arrive(self, departure: Departure, path: str) -> None:
        """Note where a departed name is now."""
        self._leave(departure)
        self._succeed(path)
        if departure.origin is not None:
            # The place in between may have held another file before, which the first move replaced.
            self._put_if_free(Hint("changed", departure.path, is_directory=departure.is_directory))
        source = departure.origin or departure.path
        if source == path:
            self._put(Hint("changed", path, is_directory=departure.is_directory))
        else:
            self._put(Hint("moved", path, source, departure.is_directory))

    def give_up(self, departure: Departure) -> None:
        """Note that a departed name did not arrive anywhere that is watched."""
        self._leave(departure)
        if not departure.is_succeeded:
            gone = Hint(
                "deleted", departure.path, is_directory=departure.is_directory, came_and_went=departure.had_changed
            )
            self._put_if_free(gone)
        if departure.origin is not None:
            self._put_if_free(Hint("changed", departure.origin, is_directory=departure.is_directory))

    def take(self, count: int) -> list[Hint]:
        """Remove and return the oldest hints, at most `count`."""
        if len(self._hints) <= count:
            taken = list(self._hints.values())
            self._hints.clear()
            return taken
        taken = list(islice(self._hints.values(), count))
        for hint in taken:
            del self._hints[hint.path]
        return taken

    def written(self) -> list[Hint]:
        """Return the hints that say no more than that something was written to a file, or replaced it."""
        return [hint for hint in self._hints.values() if hint.kind == "changed" and hint.is_plain]

    def forget(self, hint: Hint) -> None:
        """Remove a hint that tells nobody anything new, if it still waits."""
        if self._hints.get(hint.path) is hint:
            del self._hints[hint.path]

    def clear(self) -> None:
        """Forget everything, because everything will be looked at."""
        self._hints.clear()
        self._departures.clear()

    def _put(self, hint: Hint) -> None:
        replaced = self._hints.pop(hint.path, None)
        self._hints[hint.path] = hint
        if replaced is not None and replaced.old_path is not None and replaced.old_path != hint.old_path:
            self._put_if_free(Hint("changed", replaced.old_path, is_directory=replaced.is_directory))

    def _put_if_free(self, hint: Hint) -> None:
        self._hints.setdefault(hint.path, hint)

    def _succeed(self, path: str) -> None:
        departure = self._departures.get(path)
        if departure is not None:
            departure.is_succeeded = True

    def _leave(self, departure: Departure) -> None:
        if self._departures.get(departure.path) is departure:
            del self._departures[departure.path]
