"""Reading by descriptor: never a part for the whole, never waiting where that is promised."""

from __future__ import annotations

import os
import sys

import pytest

from filetools.stores.reading import KEPT_BUFFER_BYTES, MOST_KEPT_BUFFERS, _idle, read_exactly
from filetools.stores.store import Facts
from tests.support.store_worlds import FILE, OTHER, LocalWorld, copied

HALF = 2 * 1024 * 1024


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what is in memory")
def test_read_now_of_a_file_half_in_memory_never_gives_a_part(native: LocalWorld) -> None:
    content = os.urandom(2 * HALF)
    with (native.root / OTHER).open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), HALF, HALF, os.POSIX_FADV_DONTNEED)
    found = native.store.read_now(OTHER, 2 * HALF, copied)
    # The system need not drop what it is advised to drop; a part is wrong in any case.
    assert found is None or found[0] == content
    assert native.store.read(OTHER)[0] == content


def test_memory_is_lent_to_one_reader_at_a_time(native: LocalWorld) -> None:
    native.save(OTHER, b"other")
    inner: list[bytes] = []

    def take(content: memoryview, _: Facts) -> bytes:
        if not inner:
            inner.append(b"")
            inner.append(native.store.read_lent(OTHER, 100, copied)[0])
        return bytes(content)

    assert [native.store.read_lent(FILE, 100, take), inner[1]] == [b"one", b"other"]
    assert native.store.read_lent(OTHER, 100, take) == b"other"


@pytest.mark.parametrize("size", [KEPT_BUFFER_BYTES, KEPT_BUFFER_BYTES + 1])
def test_files_of_any_size_are_lent(native: LocalWorld, size: int) -> None:
    content = os.urandom(size)
    native.save(OTHER, content)
    assert native.store.read_lent(OTHER, size, copied)[0] == content


@pytest.mark.parametrize("call", [None, lambda *_: 1])
def test_a_file_is_lent_whole_where_the_call_is_missing_or_gives_a_part(
    native: LocalWorld, monkeypatch: pytest.MonkeyPatch, call: object
) -> None:
    monkeypatch.setattr("filetools.stores.linux._PREADV", call)
    assert native.store.read_lent(FILE, 100, copied)[0] == b"one"


def test_memory_that_is_kept_for_reading_does_not_grow(native: LocalWorld) -> None:
    def nested(depth: int) -> int:
        return native.store.read_lent(FILE, 100, lambda content, _: nested(depth - 1) if depth else content.nbytes)

    assert nested(20) == 3
    assert len(_idle) <= MOST_KEPT_BUFFERS


def test_an_open_reader_tells_a_write_into_the_file_itself(native: LocalWorld) -> None:
    reader = native.store.open(FILE)
    native.save(OTHER, b"other")
    (native.root / OTHER).replace(native.root / FILE)  # which takes its name away, and leaves its bytes
    assert not reader.has_changed()
    reader.close()
    reader = native.store.open(FILE)
    with (native.root / FILE).open("ab") as strange:
        strange.write(b"!")
    assert reader.has_changed()
    reader.close()


@pytest.mark.parametrize(
    ("offset", "count", "expected"), [(0, 3, b"one"), (0, 99, b"one"), (1, 1, b"n"), (3, 1, b""), (0, 0, b"")]
)
def test_read_exactly_stops_at_the_end(native: LocalWorld, offset: int, count: int, expected: bytes) -> None:
    descriptor = os.open(native.root / FILE, os.O_RDONLY)
    assert read_exactly(descriptor, offset, count) == expected
    os.close(descriptor)
