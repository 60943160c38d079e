"""What `make bench-peers` finds is there: it sees a layer that loses edits, and the documents say what one run has told."""

from __future__ import annotations

import pytest

from benchmarks.compare_peers import (
    CALLS,
    PAGES,
    SIZE_BYTES,
    Edits,
    NoResultError,
    edits,
    is_whole,
    section,
    times,
    torn,
)
from benchmarks.page import made_by_peers


async def test_a_layer_that_reads_and_writes_with_no_lock_is_seen_to_lose_edits() -> None:
    # All eight have read before the first writes, so that one of eight is left of each round.
    assert await edits("unlocked", 1, rounds=3) == Edits(acknowledged=24, lost=21, refused=0)


@pytest.mark.parametrize("processes", [1, 2])
async def test_filetools_loses_none(processes: int) -> None:
    assert await edits("filetools", processes, rounds=2) == Edits(acknowledged=16, lost=0, refused=0)


async def test_a_layer_that_acknowledges_nothing_has_no_result() -> None:
    with pytest.raises(NoResultError):
        await edits("a-layer-that-nobody-has", 1, rounds=1)


async def test_a_file_of_filetools_is_whole_after_a_kill() -> None:
    assert await torn("filetools", kills=2) == 0


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a" * SIZE_BYTES, True),
        (b"b" * (SIZE_BYTES // 2) + b"a" * (SIZE_BYTES - SIZE_BYTES // 2), False),
        (b"a" * (SIZE_BYTES - 1), False),
        (b"", False),
    ],
    ids=["one write", "half of two", "cut off", "empty or missing"],
)
def test_a_file_is_torn_unless_one_write_has_written_it_all(content: bytes, expected: bool) -> None:
    assert is_whole(content) is expected


async def test_every_call_is_timed_and_what_it_gives_is_checked() -> None:
    found = await times(["filetools", "unlocked"], turns=1)

    assert list(found) == list(CALLS)
    assert [list(each) for each in found.values()] == [["filetools", "unlocked"]] * len(CALLS)
    assert all(each is not None and each > 0 for layers in found.values() for each in layers.values())


def test_a_section_has_a_row_a_layer_in_both_tables() -> None:
    told = section([["a 1", "0 of 2", "0", "0 of 2", "0", "0"]], [["a 1", *("1.5" for _ in CALLS)]])

    lines = [line for line in told.splitlines() if line.startswith("| ")]
    assert [line.count(" | ") for line in lines] == [5, 5, 5, len(CALLS), len(CALLS), len(CALLS)]
    assert [line.split(" | ")[0] for line in lines] == ["| ", "| ---", "| a 1"] * 2


def test_all_documents_tell_of_the_same_run() -> None:
    told = {made_by_peers(path.read_text(encoding="utf-8")) for path in PAGES}
    assert len(told) == 1
    names = [line.split(" | ")[0].removeprefix("| ") for line in told.pop().splitlines() if line.startswith("| ")]
    layers = [name.rpartition(" ")[0] for name in names if name not in ("", "---")]
    peers = [
        "MCP filesystem server",
        "deepagents",
        "pydantic-ai-harness, shared tools",
        "pydantic-ai-harness, agents' runs",
    ]
    assert layers[0] == "filetools"
    assert set(peers) < set(layers)
