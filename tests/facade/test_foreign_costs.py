"""What foreign changes cost, in counts: a batch is one question to the journal and one commit, each file one opening."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from filetools.facade import foreign_looks
from filetools.facade.foreign import ForeignRecorder
from filetools.journal.readers import Readers
from filetools.journal.writer import Writer
from filetools.paths.workspace import Workspace
from filetools.watch.hints import Hint
from tests.support.opened import clerk_of, watched


class Counts:
    """Counts calls from now on, those that read the journal by their statements."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.found: Counter[str] = Counter()
        counted = {
            Readers: ("row", "rows"),
            Writer: ("transact",),
            Workspace: ("stat", "open_file"),
        }  # fmt: skip
        for kind, names in counted.items():
            for name in names:
                monkeypatch.setattr(kind, name, self._counted(name, getattr(kind, name)))

    def _counted(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            self.found[arguments[1] if name in ("row", "rows") else name] += 1
            return method(*arguments, **options)

        return counted


async def costs_of_a_burst(root: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> Counter[str]:
    """Return what recording so many new files costs, and as many saves of them."""
    root.mkdir()
    async with watched(root, sync_after_seconds=3600.0) as (files, _):
        clerk_of(files)._watcher._handover.close()  # nobody else looks
        recorder = ForeignRecorder(files._parts, files._runner.tell)
        found: Counter[str] = Counter()
        for text in ("new", "saved again"):
            for number in range(count):
                (root / f"{number}.txt").write_text(f"{text} {number}")
            with monkeypatch.context() as patch:
                counts = Counts(patch)
                assert await recorder.record([Hint("changed", f"{number}.txt") for number in range(count)]) == []
            found += counts.found
        records = (await files.changes(limit=1000)).records
        assert sum(record.path[0].isdecimal() for record in records) == 2 * count
        return found


async def test_a_batch_asks_the_journal_once_and_opens_each_file_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign_looks, "WORK_SECONDS", 60.0)  # a busy machine must not cut the batches
    few, many = [await costs_of_a_burst(tmp_path / str(count), monkeypatch, count) for count in (20, 200)]
    assert many["open_file"] == 10 * few["open_file"] == 400
    # A look asks a file for its facts by the descriptor that it reads by.
    assert many["stat"] == few["stat"]
    assert many["transact"] == few["transact"] == 2
    # Views are asked for in portions, and others ask now and then; of each file by itself it would be 180 or 360 times more.
    assert {
        statement: count for statement, count in many.items() if " " in statement and count > few[statement] + 20
    } == {}
