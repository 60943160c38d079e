"""The way of a hint to the recorder: what waits for whom, and in which order it is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.errors import StorageFailedError
from filetools.facade.facade import FileToolsFacade
from filetools.facade.hint_queue import HintQueue
from filetools.facade.told import NewestRecords
from filetools.facade.writers import Writers
from filetools.watch.hints import Hint
from tests.support.crashing import QUIET


class Recorder:
    """Keeps what it shall look at; fails as often as it is told to."""

    def __init__(self) -> None:
        self.looked_at: list[Hint] = []
        self.failures = 0
        self.again: list[Hint] = []

    def awaits(self, path: str) -> bool:
        return path == "awaited"

    async def record(self, hints: Sequence[Hint]) -> list[Hint]:
        if self.failures:
            self.failures -= 1
            raise StorageFailedError("the journal", "it is a test")
        self.looked_at += hints
        again, self.again = self.again, []
        return again


@pytest.fixture
async def files(tmp_path: Path) -> Any:
    async with filetools.open(tmp_path, settings=QUIET) as opened:
        yield opened


def queue_of(files: FileToolsFacade) -> tuple[HintQueue, Recorder, Writers]:
    recorder, writers = Recorder(), Writers(files._parts.workspace)
    return HintQueue(recorder, NewestRecords(files._parts), writers), recorder, writers  # type: ignore[arg-type]


async def test_hints_that_come_during_a_call_wait_for_its_end(files: FileToolsFacade) -> None:
    queue, recorder, writers = queue_of(files)
    with writers.at_work(["b.txt"]):
        queue.take([Hint("changed", "b.txt"), Hint("changed", "b.txt"), Hint("changed", "c.txt")])
        await queue.record()
        assert recorder.looked_at == [Hint("changed", "c.txt")]
    queue._release_all()
    await queue.record()
    assert recorder.looked_at[1:] == [Hint("changed", "b.txt")]
    assert queue.is_empty


async def test_hints_at_what_a_call_has_told_are_released_with_it(files: FileToolsFacade) -> None:
    queue, _, writers = queue_of(files)
    with writers.at_work(["a.txt", "b.txt"]):
        queue.take([Hint("changed", "a.txt"), Hint("changed", "b.txt")])
        await files.write_file("a.txt", "1")
        records = (await files.changes()).records
    queue.note(records)
    assert [*queue._held] == ["b.txt"]
    assert queue._waiting == []
    queue.close()


async def test_of_hints_that_say_different_things_during_a_call_none_is_lost(files: FileToolsFacade) -> None:
    queue, recorder, writers = queue_of(files)
    with writers.at_work(["b.txt"]):
        written, moved = Hint("changed", "b.txt"), Hint("moved", "b.txt", "a.txt")
        queue.take([written])
        queue.take([moved])
        await queue.record()
        assert recorder.looked_at == [written, moved]
        queue.take([moved])
        assert queue._waiting == []
        queue.take([Hint("deleted", "b.txt")])
        await queue.record()
        assert recorder.looked_at[2:] == [moved, Hint("deleted", "b.txt")]
        queue.close()


async def test_what_came_and_went_stays_known_while_it_waits(files: FileToolsFacade) -> None:
    queue, _, writers = queue_of(files)
    with writers.at_work(["b.txt"]):
        queue.take([Hint("deleted", "b.txt", came_and_went=True)])
        queue.take([Hint("deleted", "b.txt")])
        assert queue._held["b.txt"].came_and_went
        queue.close()


async def test_a_folder_below_one_that_a_call_is_taking_away_is_looked_at_though_one_was_told_of_there(
    files: FileToolsFacade,
) -> None:
    queue, recorder, writers = queue_of(files)
    await files.create_directory("a/b")
    await files.write_file("a/b/c.txt", "1")
    queue.note((await files.changes()).records)
    hints = [Hint("changed", "a/b", is_directory=True), Hint("changed", "a/b/c.txt")]
    queue.take(hints)
    assert queue.is_empty
    with writers.at_work(["a"]):
        queue.take(hints)
        await queue.record()
    assert recorder.looked_at == hints[:1]


async def test_a_hint_is_looked_at_though_it_is_no_news_where_something_passed_through(files: FileToolsFacade) -> None:
    queue, recorder, _ = queue_of(files)
    await files.write_file("awaited", "1")
    queue.note((await files.changes()).records)
    queue.take([Hint("changed", "awaited")])
    await queue.record()
    assert recorder.looked_at == [Hint("changed", "awaited")]


async def test_only_a_file_that_stands_as_it_was_told_is_known(files: FileToolsFacade) -> None:
    queue, _, _ = queue_of(files)
    root = Path(files.root_paths[-1])
    for path in ("a.txt", "gone.txt", "awaited", "saved.txt", "untold.txt"):
        await files.write_file(path, "1")
    queue.note([record for record in (await files.changes()).records if record.path != "untold.txt"])
    (root / "gone.txt").unlink()
    (root / "saved.txt").write_text("2")
    (root / "new.txt").write_text("1")
    paths = ("a.txt", "gone.txt", "awaited", "saved.txt", "untold.txt", "new.txt")
    assert [path for path in paths if queue.is_known(Hint("changed", path))] == ["a.txt"]
    # Whoever puts the same bytes there again has made a change.
    (root / "saved.txt").write_text("1")
    assert not queue.is_known(Hint("changed", "saved.txt"))


async def test_hints_that_could_not_be_recorded_are_tried_again(files: FileToolsFacade) -> None:
    queue, recorder, _ = queue_of(files)
    recorder.failures = 1
    queue.take([Hint("changed", "a.txt")])
    with pytest.raises(StorageFailedError):
        await queue.record()
    await queue.record()
    assert recorder.looked_at == [Hint("changed", "a.txt")]


async def test_what_is_to_be_looked_at_again_comes_before_what_came_meanwhile(files: FileToolsFacade) -> None:
    queue, recorder, _ = queue_of(files)
    recorder.again = [Hint("changed", "d")]
    queue.take([Hint("changed", "a.txt")])
    await queue.record()
    assert recorder.looked_at == [Hint("changed", "a.txt"), Hint("changed", "d")]
