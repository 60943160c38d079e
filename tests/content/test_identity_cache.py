from __future__ import annotations

import pytest

from filetools.content.facts import ContentFacts, inspect
from filetools.content.identity_cache import IdentityCache

MS = 1_000_000
NOW = 1_700_000_000_000_000_000
FACTS, _ = inspect(b"abc")


def identity(inode: int, mtime_ns: int = 0, ctime_ns: int = 0) -> tuple[int, int, int, int, int]:
    return (1, inode, 3, mtime_ns, ctime_ns)


@pytest.mark.parametrize(
    ("mtime_ns", "ctime_ns"),
    [(NOW, NOW), (NOW - 20 * MS + 1, 0), (0, NOW - 20 * MS + 1), (NOW + 1, 0), (NOW - 19 * MS, NOW - 90 * MS)],
)
def test_facts_of_a_young_file_are_not_kept(mtime_ns: int, ctime_ns: int) -> None:
    cache = IdentityCache[ContentFacts]()
    cache.put(identity(1, mtime_ns, ctime_ns), FACTS, taken_ns=NOW)
    assert cache.get(identity(1, mtime_ns, ctime_ns)) is None


def test_facts_are_kept_from_twenty_milliseconds_on() -> None:
    cache = IdentityCache[ContentFacts]()
    cache.put(identity(1, NOW - 20 * MS, NOW - 20 * MS), FACTS, taken_ns=NOW)
    assert cache.get(identity(1, NOW - 20 * MS, NOW - 20 * MS)) is FACTS


@pytest.mark.parametrize("field", range(5))
def test_any_other_identity_misses(field: int) -> None:
    cache = IdentityCache[ContentFacts]()
    cache.put(identity(1), FACTS, taken_ns=NOW)
    other = list(identity(1))
    other[field] += 1
    assert cache.get((other[0], other[1], other[2], other[3], other[4])) is None


def test_the_least_recently_used_goes_first() -> None:
    cache = IdentityCache[ContentFacts](max_entries=2)
    for inode in (1, 2):
        cache.put(identity(inode), FACTS, taken_ns=NOW)
    cache.get(identity(1))
    cache.put(identity(3), FACTS, taken_ns=NOW)
    assert [cache.get(identity(inode)) is not None for inode in (1, 2, 3)] == [True, False, True]


def test_heavy_values_take_the_place_of_several() -> None:
    cache = IdentityCache[ContentFacts](max_entries=3)
    for inode in (1, 2):
        cache.put(identity(inode), FACTS, taken_ns=NOW)
    cache.put(identity(3), FACTS, taken_ns=NOW, weight=2)
    assert [cache.get(identity(inode)) is not None for inode in (1, 2, 3)] == [False, True, True]
    cache.put(identity(4), FACTS, taken_ns=NOW, weight=4)
    assert [cache.get(identity(inode)) for inode in (1, 2, 3, 4)] == [None] * 4


def test_what_depends_on_the_place_is_kept_for_each() -> None:
    cache = IdentityCache[ContentFacts]()
    cache.put(identity(1), FACTS, taken_ns=NOW, place="a")
    assert cache.get(identity(1), place="a") is FACTS
    assert cache.get(identity(1), place="b") is None
