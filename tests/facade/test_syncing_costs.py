"""What syncing files behind the calls costs: few queries and transactions, however many records."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from filetools.facade.syncer import sync_files
from tests.facade.test_writing_costs import Counts
from tests.support.crashing import QUIET

RECORDS: Final = 40
FEW: Final = 6


async def test_many_records_are_synced_with_few_queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with filetools.open(tmp_path, settings=QUIET) as files:
        await files.write_file("one/a.txt", "made")
        # The keeper's first round, the only one, may come between, and takes some.
        rounds = [await counted(files, monkeypatch) for _ in range(3)]
    # The marks, the records, twice what became of folders, and the marks again.
    assert any(synced >= RECORDS and max(counts.values()) <= FEW for synced, counts in rounds), rounds


async def counted(files: FileToolsFacade, monkeypatch: pytest.MonkeyPatch) -> tuple[int, dict[str, int]]:
    """Return how many records were synced, and with how many queries and transactions."""
    for number in range(RECORDS):
        await files.write_file("one/a.txt", f"{number}")
    with monkeypatch.context() as patch:
        counts = Counts(patch)
        synced = sync_files(files._parts)
    return synced, {name: counts.found[name] for name in ("Readers.rows", "Writer.transact")}
