"""What `make bench-peers` counts is there: it sees a layer that loses edits, and the documents say what one run has told."""

from __future__ import annotations

import pytest

from benchmarks.compare_peers import PAGES, SIZE_BYTES, Edits, NoResultError, edits, is_whole, made, torn


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


def test_the_readme_and_the_page_tell_of_the_same_run() -> None:
    page, readme = (made(path.read_text(encoding="utf-8")) for path in PAGES)
    assert readme == page
    rows = [line for line in readme.splitlines() if line.startswith("| ")]
    names = [row.split(" | ")[0].removeprefix("| ") for row in rows[2:]]
    peers = [
        "MCP filesystem server",
        "deepagents",
        "pydantic-ai-harness, shared tools",
        "pydantic-ai-harness, agents' runs",
    ]
    assert [name.rpartition(" ")[0] for name in names] == ["filetools", *peers, "no lock"]
