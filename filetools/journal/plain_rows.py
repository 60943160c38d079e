"""Records of many paths, kept so that Python's search for garbage leaves them out.

That search visits every object that could refer to another one, again and again, while all threads wait: with a record for each
of 100,000 paths, for a tenth of a second. It learns to leave out plain tuples of texts and numbers, but never records, nor
texts of a class of their own such as `WorkspacePath`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping, MutableMapping
from typing import Any, TypeVar

R = TypeVar("R", bound=tuple[Any, ...])
Values = tuple[Any, ...]


class PlainRows(MutableMapping[str, R]):
    """Named tuples by key; one is made whenever it is asked for, and equal to what was put there.

    Args:
        make: Returns the record of a tuple: the method `_make` of its class.
        plain: Tuples by key, to be changed through this mapping only.
    """

    __slots__ = ("_make", "plain")

    def __init__(self, make: Callable[[Iterable[Any]], R], plain: dict[str, Values]) -> None:
        self._make = make
        self.plain = plain
        """The tuples, for those who compare whole trees."""

    @classmethod
    def of(cls, make: Callable[[Iterable[Any]], R], rows: Mapping[str, R]) -> PlainRows[R]:
        """Return records as they are kept here: the same object if they are already."""
        return rows if isinstance(rows, PlainRows) else cls(make, {key: tuple(row) for key, row in rows.items()})

    def __getitem__(self, key: str) -> R:
        """Return a record."""
        return self._make(self.plain[key])

    def __setitem__(self, key: str, row: R) -> None:
        """Keep a record."""
        self.plain[key] = tuple(row)

    def __delitem__(self, key: str) -> None:
        """Drop a record."""
        del self.plain[key]

    def __contains__(self, key: object) -> bool:
        """Whether there is a record of a key."""
        return key in self.plain

    def __iter__(self) -> Iterator[str]:
        """Yield the keys."""
        return iter(self.plain)

    def __len__(self) -> int:
        """Return how many records there are."""
        return len(self.plain)

    def keys(self) -> KeysView[str]:
        """Return the keys, which are compared with others at once."""
        return self.plain.keys()
