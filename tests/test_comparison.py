"""`make bench-peers` sees a layer that loses edits, and finds that filetools loses none."""

from __future__ import annotations

import pytest

from benchmarks.peers import CALLS, SIZE_BYTES, Edits, NoResultError, edits, is_whole, times, torn


async def test_plain_files_lose_edits() -> None:
    # All eight read before the first one writes, so that one of eight edits is left in each round.
    assert await edits("unlocked", 1, rounds=3) == Edits(acknowledged=24, lost=21, refused=0)


@pytest.mark.parametrize("processes", [1, 2])
async def test_filetools_loses_no_edit(processes: int) -> None:
    assert await edits("filetools", processes, rounds=2) == Edits(acknowledged=16, lost=0, refused=0)


async def test_a_layer_that_cannot_be_opened_has_no_result() -> None:
    with pytest.raises(NoResultError):
        await edits("unheard-of", 1, rounds=1)


async def test_a_file_of_filetools_is_whole_after_a_kill() -> None:
    assert await torn("filetools", kills=2) == 0
    assert is_whole(b"a" * SIZE_BYTES)
    assert not is_whole(b"b" * (SIZE_BYTES // 2) + b"a" * (SIZE_BYTES - SIZE_BYTES // 2))
    assert not is_whole(b"a" * (SIZE_BYTES - 1))


async def test_every_call_is_timed() -> None:
    found = await times(["filetools", "unlocked"], turns=1)

    assert list(found) == list(CALLS)
    assert all(list(layers) == ["filetools", "unlocked"] and min(layers.values()) > 0 for layers in found.values())
