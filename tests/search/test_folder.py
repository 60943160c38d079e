from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filetools.search.folder import (
    MIN_CACHED_NAMES,
    SORTED_AT_ONCE,
    YOUNG_NS,
    FolderCache,
    Identity,
    SortedFolder,
    position_after,
    sort_key,
    sorted_folder,
)
from filetools.search.walk import is_addressable

WIDE = SortedFolder([], [str(number) for number in range(MIN_CACHED_NAMES)], {})
OLD: Identity = (1, 2, 1_000, 2_000)
TAKEN_NS = 2_000 + YOUNG_NS


def test_young_folder_is_not_remembered() -> None:
    cache = FolderCache()
    cache.put(OLD, WIDE, taken_ns=TAKEN_NS - 1)
    assert cache.get(OLD) is None


def test_small_folder_is_not_remembered() -> None:
    cache = FolderCache()
    cache.put(OLD, SortedFolder([], ["a"], {}), taken_ns=TAKEN_NS)
    assert not cache.is_used


def test_folder_wider_than_the_cache_is_not_remembered() -> None:
    cache = FolderCache(max_names=MIN_CACHED_NAMES - 1)
    cache.put(OLD, WIDE, taken_ns=TAKEN_NS)
    assert not cache.is_used


def test_folder_is_remembered_until_it_changes() -> None:
    cache = FolderCache()
    cache.put(OLD, WIDE, taken_ns=TAKEN_NS)
    assert cache.get(OLD) is WIDE
    assert cache.get((1, 2, 1_001, 2_000)) is None
    assert cache.get((1, 2, 1_000, 2_001)) is None
    assert cache.get((1, 3, 1_000, 2_000)) is None


def test_least_recently_used_folder_goes_first() -> None:
    cache = FolderCache(max_names=2 * MIN_CACHED_NAMES)
    identities: list[Identity] = [(1, inode, 0, 0) for inode in range(3)]
    cache.put(identities[0], WIDE, taken_ns=TAKEN_NS)
    cache.put(identities[1], WIDE, taken_ns=TAKEN_NS)
    cache.get(identities[0])
    cache.put(identities[2], WIDE, taken_ns=TAKEN_NS)
    assert [cache.get(identity) is WIDE for identity in identities] == [True, False, True]


NAMES = st.lists(st.text(alphabet="aAbBßéÉ.~\udcff", min_size=1, max_size=4), unique=True)


@given(NAMES)
def test_names_are_in_order(names: list[str]) -> None:
    assert list(sorted_folder([], names, {}).others) == sorted(names, key=sort_key)


def test_more_names_than_are_sorted_at_once_are_in_order() -> None:
    names = [
        f"{'Name' if number % 3 else 'name'}{number % (SORTED_AT_ONCE // 2)}" for number in range(3 * SORTED_AT_ONCE)
    ]
    assert list(sorted_folder([], names, {}).others) == sorted(names, key=sort_key)
    plain = [f"{number * 7919 % 100_003}" for number in range(3 * SORTED_AT_ONCE + 1)]
    assert sorted_folder(plain, [], {}).directories == sorted(plain)


@given(NAMES, st.text(alphabet="aAbBé", max_size=4))
def test_position_after_a_name_that_may_be_missing(names: list[str], name: str) -> None:
    ordered = sorted(names, key=sort_key)
    assert position_after(ordered, name) == sum(sort_key(other) <= sort_key(name) for other in names)


def test_own_names_are_left_out() -> None:
    names = [".filetools", "FILETO~1", ".Filetools", ".fileTools.", ".ft-0123456789abcdef", "~", "filetools", ".ft-x"]
    assert sorted_folder(names, [], {}).directories == [".ft-x", "filetools", "~"]


@given(st.lists(st.text(alphabet="aZ.~:\\ \t\x01é\udcff", min_size=1, max_size=3), unique=True))
def test_every_path_in_a_plain_folder_can_be_addressed(names: list[str]) -> None:
    folder = sorted_folder(names[:2], names[2:], {})
    if folder.is_plain:
        shown = [*folder.directories, *folder.others]
        assert all(is_addressable(f"{above}{name}") for above in ("", "a/") for name in shown)


@pytest.mark.parametrize("name", ["a b", "a.txt", ".hidden", "Ab-c_(1)+x", "a~"])
def test_a_folder_of_usual_names_is_plain(name: str) -> None:
    assert sorted_folder([".filetools"], [name], {}).is_plain
