from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filetools.content.formats import TextFormat
from filetools.content.line_index import SPACING_BYTES, LineIndex, LineIndexCache, line_end

NOW = 1_700_000_000_000_000_000
OLD = (1, 2, 3, NOW - 1_000_000_000, NOW - 900_000_000)  # not a whole second, which says that no fractions are kept
UTF8 = TextFormat(encoding="utf-8", bom=b"")
UTF16 = TextFormat(encoding="utf-16-le", bom=b"")


def test_index_of_a_young_file_is_not_kept() -> None:
    cache = LineIndexCache()
    young = (1, 2, 3, NOW - 1_000_000, 0)
    assert cache.index_of(young, UTF8, taken_ns=NOW) is not cache.index_of(young, UTF8, taken_ns=NOW)


def test_index_is_kept_by_identity_and_format() -> None:
    cache = LineIndexCache()
    index = cache.index_of(OLD, UTF8, taken_ns=NOW)
    assert cache.index_of(OLD, UTF8, taken_ns=NOW) is index
    assert cache.index_of(OLD, UTF16, taken_ns=NOW) is not index
    assert cache.index_of((1, 2, 3, 0, 0), UTF8, taken_ns=NOW) is not index


def test_least_recently_used_index_goes_first() -> None:
    cache = LineIndexCache(max_entries=2)
    files = [(1, inode, 3, 0, 0) for inode in range(3)]
    kept = [cache.index_of(identity, UTF8, taken_ns=NOW) for identity in files]
    assert cache.index_of(files[2], UTF8, taken_ns=NOW) is kept[2]
    assert cache.index_of(files[1], UTF8, taken_ns=NOW) is kept[1]
    assert cache.index_of(files[0], UTF8, taken_ns=NOW) is not kept[0]


def test_places_are_learnt_in_order_only() -> None:
    index = LineIndex()
    index.learn(2 * SPACING_BYTES, 9)
    index.learn(SPACING_BYTES - 1, 4)
    assert index.before(100) == (0, 0)
    index.learn(SPACING_BYTES, 5)
    index.learn(2 * SPACING_BYTES, 5)
    index.learn(3 * SPACING_BYTES, 8)
    assert [index.before(number) for number in (1, 5, 6, 8, 9)] == [
        (0, 0),
        (0, 0),
        (2 * SPACING_BYTES, 5),
        (2 * SPACING_BYTES, 5),
        (3 * SPACING_BYTES, 8),
    ]


def test_places_of_an_enormous_file_are_thinned_and_stay_right() -> None:
    index = LineIndex()
    for place in range(1, 100_001):
        index.learn(place * SPACING_BYTES, place * 10)
    for number in (1, 10, 11, 123_456, 999_999, 1_000_000):
        position, ends = index.before(number)
        assert ends == position // SPACING_BYTES * 10 < number
        assert number - ends <= 10 * 32 + 10
    assert len(index._counts) <= 8192


def test_threads_learning_at_once_leave_no_wrong_place() -> None:
    index = LineIndex()
    start = threading.Barrier(4)

    def work() -> None:
        start.wait()
        for place in range(1, 20_001):
            index.learn(place * SPACING_BYTES, place)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(2, 20_000, 7):
        position, ends = index.before(number)
        assert position == ends * SPACING_BYTES


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "cp037"])
@given(text=st.text(alphabet=st.sampled_from("\n\n\r\u0a0a\u0a00\u0100\u0a05a\U00010a0a"), max_size=50))
def test_ends_are_counted_and_placed_in_whole_units(encoding: str, text: str) -> None:
    text = text if encoding != "cp037" else text.encode("ascii", "ignore").decode()
    end = line_end("\n", TextFormat(encoding=encoding, bom=b""))
    content = text.encode(encoding)
    assert end.count(content) == text.count("\n")
    assert end.is_in(content) == ("\n" in text)
    places = [len(text[: place + 1].encode(encoding)) for place, char in enumerate(text) if char == "\n"]
    assert [end.after(content, number) for number in range(1, len(places) + 1)] == places
