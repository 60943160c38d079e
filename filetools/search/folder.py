"""The names of one folder in listing order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Final

from msgspec import Struct

from filetools.models.words import EntryType
from filetools.paths.ignore import NameFilter
from filetools.stores.private import is_ours

SORTED_AT_ONCE: Final = 8_192
"""Maximum number of names sorted in one call, which holds the GIL for a few milliseconds."""


class SortedFolder(Struct, frozen=True):
    """The sorted names of a folder, with subfolders separate. Immutable."""

    directories: Sequence[str]
    others: Sequence[str]
    kinds: Mapping[str, EntryType]
    """Types of the `others` that are not regular files."""

    def has_file(self, name: str) -> bool:
        """Return True if there is a regular file of exactly this name."""
        position = position_after(self.others, name)
        return position > 0 and self.others[position - 1] == name and name not in self.kinds


def sort_key(name: str) -> tuple[str, str]:
    """Return the sort key of a name: case-insensitive first, then exact."""
    return (name.casefold(), name)


def position_after(names: Sequence[str], name: str) -> int:
    """Return the number of sorted names up to and including this name, which may be missing."""
    position = position_before(names, name)
    return position + (position < len(names) and names[position] == name)


def position_before(names: Sequence[str], name: str) -> int:
    """Return the number of sorted names before this name, which may be missing."""
    return bisect_left(names, sort_key(name), key=sort_key)


def sorted_folder(kinds: Mapping[str, EntryType]) -> SortedFolder:
    """Build a folder from the names and types of its entries, in any order; filetools' own names are left out."""
    directories = [name for name, kind in kinds.items() if kind == "directory"]
    others = [name for name, kind in kinds.items() if kind != "directory"]
    special = {name: kind for name, kind in kinds.items() if kind not in ("file", "directory")}
    return SortedFolder(_sorted(directories), _sorted(others), special)


def _sorted(names: list[str]) -> list[str]:
    # Checking all names joined costs a tenth of checking each. A name of ours begins with a dot, has a tilde, or is not ASCII.
    joined = "/".join(names)
    if joined.startswith(".") or "/." in joined or "~" in joined or not joined.isascii():
        names = [name for name in names if not is_ours(name)]
    names = sorted_in_parts(names, None)
    # Sorting twice is faster than sorting pairs; the second sort is stable and keeps equal names in exact order.
    return names if joined.casefold() == joined else sorted_in_parts(names, str.casefold)


def sorted_in_parts(names: list[str], key: Callable[[str], str] | None) -> list[str]:
    """Sort names, stably, in parts, so that other threads can run in between."""
    if len(names) <= SORTED_AT_ONCE:
        return sorted(names, key=key)
    runs = [sorted(names[start : start + SORTED_AT_ONCE], key=key) for start in range(0, len(names), SORTED_AT_ONCE)]
    while len(runs) > 1:
        # Two runs in a row are merged by `sorted` in one linear pass.
        pairs = zip_longest(runs[::2], runs[1::2], fillvalue=())
        runs = [sorted([*first, *second], key=key) for first, second in pairs]
    return runs[0]


def combined(filters: Iterable[NameFilter | None]) -> NameFilter | None:
    """Return a filter that removes the names that any of the given filters removes; None if there are none."""
    present = [name_filter for name_filter in filters if name_filter is not None]
    if len(present) <= 1:
        return present[0] if present else None

    def name_filter(names: Sequence[str], is_directory: bool) -> Sequence[str]:
        for one in present:
            names = one(names, is_directory)
        return names

    return name_filter
