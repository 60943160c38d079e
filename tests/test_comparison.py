"""`make bench-peers` sees a layer that loses edits, and finds that filetools loses none."""

from __future__ import annotations

import pytest

from benchmarks.peers import Edits, NoResultError, edits


async def test_plain_files_lose_edits() -> None:
    # All eight read before the first one writes, so that one of eight edits is left in each round.
    assert await edits("unlocked", 1, rounds=3) == Edits(acknowledged=24, lost=21, refused=0)


async def test_filetools_loses_no_edit() -> None:
    assert await edits("filetools", 2, rounds=2) == Edits(acknowledged=16, lost=0, refused=0)


async def test_a_layer_that_cannot_be_opened_has_no_result() -> None:
    with pytest.raises(NoResultError):
        await edits("unheard-of", 1, rounds=1)
