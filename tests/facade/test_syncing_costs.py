"""What syncing files behind the calls costs: few queries and transactions, however many records."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

import filetools
from filetools.facade.syncer import sync_files
from tests.facade.test_writing_costs import Counts
from tests.support.crashing import QUIET

RECORDS: Final = 40
FEW: Final = 6


async def test_many_records_are_synced_with_few_queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with filetools.open(tmp_path, settings=QUIET) as files:
        await files.write_file("one/a.txt", "made")
        for _ in range(3):  # until the keeper's first round, the only one, is over, it may have synced some already
            for number in range(RECORDS):
                await files.write_file("one/a.txt", f"{number}")
            with monkeypatch.context() as patch:
                counts = Counts(patch)
                if (synced := sync_files(files._parts)) >= RECORDS:
                    break
    assert synced >= RECORDS
    # The marks, the records, twice what became of folders, and the marks again.
    assert counts.found["Readers.rows"] <= FEW
    assert counts.found["Writer.transact"] <= FEW
