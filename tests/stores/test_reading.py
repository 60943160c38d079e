"""Reading by descriptor: never a part for the whole, never waiting where that is promised."""

from __future__ import annotations

import os
import sys

import pytest

from filetools.stores.reading import signed
from tests.support.store_worlds import FILE, OTHER, LocalWorld

HALF = 2 * 1024 * 1024


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what is in memory")
def test_read_now_of_a_file_half_in_memory_never_gives_a_part(native: LocalWorld) -> None:
    content = os.urandom(2 * HALF)
    with (native.root / OTHER).open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), HALF, HALF, os.POSIX_FADV_DONTNEED)
    found = native.store.read_now(OTHER, 2 * HALF)
    # The system need not drop what it is advised to drop; a part is wrong in any case.
    assert found is None or found[0] == content
    assert native.store.read(OTHER)[0] == content


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


def test_inodes_of_64_bits_stay_different_as_numbers_of_the_database() -> None:
    assert [signed(number) for number in (5, 2**63 + 5, 2**64 - 1, 2**64 + 5)] == [5, 5 - 2**63, -1, 5]
